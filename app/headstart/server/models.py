"""The models that requests can name: the one that is loaded, or those that are loaded when they are named."""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from headstart import library
from headstart.computer import package_version
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Engine, Event, Request
from headstart.engine.protocol import Facts
from headstart.errors import HeadstartError, MemoryBudgetError
from headstart.library import Model, Pair
from headstart.server.refusal import INVALID, Fault, RefusedError
from headstart.server.running import Loaded

_PREFIX = "openai/"  # which some clients put before the name of every model


@dataclass(frozen=True)
class Served:
    """A model that requests can name. `context` in tokens, 0 if unknown; `build`: see `build_of`.

    `dimensions` of the vectors that it turns texts into; 0: it writes answers. `arithmetic`, `is_batch_invariant`: see
    Facts; known once the model is loaded.
    """

    id: str
    context: int = 0
    build: str = ""
    dimensions: int = 0
    arithmetic: str = ""
    is_batch_invariant: bool = True


def build_of(entry: Model | Pair) -> str:
    """What its answers depend on beside a request and the arithmetic: weights, OpenVINO."""
    manifest = entry.manifest if isinstance(entry, Model) else entry.target.manifest
    files = sorted((name, file.sha256) for name, file in manifest.files.items())
    return repr((package_version("openvino"), files))


def served(name: str, facts: Facts) -> Served:
    """A model that is loaded; one that is not installed has no build."""
    try:
        build = build_of(library.find(name))
    except HeadstartError:
        build = ""
    return Served(name, facts.context, build, 0, facts.arithmetic, facts.is_batch_invariant)


class Writer(Protocol):
    """Writes answers: an Engine, or a share of one."""

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        ...


class Models(Protocol):
    """What requests can name; `open` and `release` are called on the thread that answers."""

    def listed(self) -> Sequence[Served]:
        """All of them."""
        ...

    def known(self, model: Served) -> Served:
        """The same model, with what loading it has shown."""
        ...

    def open(self, model: Served, tell: Callable[[str], None]) -> Writer:
        """What writes its answers; `tell` is called where it has to be loaded first. Raises what loading raises."""
        ...

    def parallel(self, model: Served) -> int | None:
        """Answers that an open model writes at the same time; None: as many as the server allows."""
        ...

    def loaded(self) -> Sequence[Loaded]:
        """Those in memory; may be called on any thread."""
        ...

    def release(self) -> None:
        """Nobody has asked for a while."""
        ...


def find(models: Models, name: str) -> Served:
    """The model that a request names, in capitals or not. Raises RefusedError, which names those that there are."""
    listed = models.listed()
    wanted = name.casefold().removeprefix(_PREFIX)
    for model in listed:
        if model.id.casefold() == wanted:
            return model
    names = ", ".join(repr(model.id) for model in listed)
    sentence = f"The model {name[:80]!r} is not served here: ask for {names}."
    raise RefusedError(404, Fault(sentence, INVALID, "model", "model_not_found"))


@dataclass(frozen=True)
class OpenModel:
    """A model in memory. `context` in tokens, 0 if unknown; `parallel`: answers that it writes at the same time.

    `makes_vectors`: it writes no answers. `since`: seconds since 1970.
    """

    engine: Engine
    context: int = 0
    parallel: int = 1
    makes_vectors: bool = False
    arithmetic: str = ""
    is_batch_invariant: bool = True
    since: float = field(default_factory=time.time)


class OneModel:
    """A model that somebody else has loaded."""

    def __init__(self, model: Served, engine: Writer) -> None:
        """`engine` writes its answers."""
        self._model, self._engine = model, engine
        self._loaded = Loaded(model.id, time.time(), os.getpid())

    def listed(self) -> Sequence[Served]:
        """See Models."""
        return [self._model]

    def known(self, model: Served) -> Served:
        """See Models."""
        return model

    def open(self, _model: Served, _tell: Callable[[str], None]) -> Writer:
        """See Models."""
        return self._engine

    def parallel(self, _model: Served) -> int | None:
        """See Models."""
        return None

    def loaded(self) -> Sequence[Loaded]:
        """See Models."""
        return [self._loaded]

    def release(self) -> None:
        """It belongs to somebody else."""


class LoadedModels:
    """Models that are loaded when a request names them. Those used last stay in memory."""

    def __init__(
        self, find_all: Callable[[], Sequence[Served]], load: Callable[[str], OpenModel], keep: int = 1
    ) -> None:
        """`find_all`: what could be loaded. `keep`: most in memory."""
        self._find_all, self._load, self._keep = find_all, load, keep
        self._open: OrderedDict[str, OpenModel] = OrderedDict()  # the least recently used first
        self._shown: dict[str, Served] = {}  # by loading

    def listed(self) -> Sequence[Served]:
        """See Models. How much a model holds is known for sure once it was loaded."""
        return list(map(self.known, self._find_all()))

    def known(self, model: Served) -> Served:
        """See Models."""
        shown = self._shown.get(model.id)
        if shown is None:
            return model
        return replace(
            model,
            context=shown.context or model.context,
            arithmetic=shown.arithmetic,
            is_batch_invariant=shown.is_batch_invariant,
        )

    def open(self, model: Served, tell: Callable[[str], None]) -> Writer:
        """See Models. Others make room: those used least recently, and as many as memory asks for.

        What writes answers and what makes vectors take turns in many programs: neither is in the way of the other.
        """
        if model.id not in self._open:
            tell(f"loading {model.id}")
            makes_vectors = bool(model.dimensions)
            same = [name for name, each in self._open.items() if each.makes_vectors == makes_vectors]
            for name in same[: max(0, len(same) + 1 - self._keep)]:
                self._open.pop(name).engine.close()
            self._open[model.id] = replace(self._load_one(model.id), makes_vectors=makes_vectors)
        self._open.move_to_end(model.id)
        return self._open[model.id].engine

    def parallel(self, model: Served) -> int | None:
        """See Models."""
        return self._open[model.id].parallel

    def loaded(self) -> Sequence[Loaded]:
        """See Models. An engine in a process of its own says which."""
        held = list(self._open.items())
        return [Loaded(name, each.since, getattr(each.engine, "pid", None) or os.getpid()) for name, each in held]

    def release(self) -> None:
        """Free them all."""
        while self._open:
            self._close_oldest()

    close = release

    def _load_one(self, name: str) -> OpenModel:
        while True:
            try:
                loaded = self._load(name)
            except MemoryBudgetError:
                if not self._open:
                    raise
                self._close_oldest()
            else:
                self._shown[name] = Served(
                    name,
                    loaded.context,
                    arithmetic=loaded.arithmetic,
                    is_batch_invariant=loaded.is_batch_invariant,
                )
                return loaded

    def _close_oldest(self) -> None:
        _, oldest = self._open.popitem(last=False)
        oldest.engine.close()
