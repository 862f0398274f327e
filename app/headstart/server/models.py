"""The models that requests can name: a single one that is loaded, or several that are loaded on demand."""

import os
import re
import shlex
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib.metadata import version
from typing import Protocol

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Engine, Event, Request, Sampling
from headstart.engine.protocol import ModelInfo
from headstart.errors import HeadstartError, MemoryBudgetError
from headstart.library import library
from headstart.library.library import Model, Pair
from headstart.server.errors import INVALID, Fault, RefusedError, invalid
from headstart.server.running_servers import ModelProcess

_PREFIXES = ("openai/", "anthropic/", "ollama/", "local/", "headstart/")  # which some clients put before every name
_SUFFIX = ":latest"  # which others put behind it
_MAX_NAME_CHARS = 300  # of a name that is looked for
NO_ALIASES: Mapping[str, str] = {}


class Task(StrEnum):
    """The kind of work that a model does."""

    ANSWERS = "writes answers"
    VECTORS = "turns texts into vectors"
    TRANSCRIPTS = "writes down speech"


@dataclass(frozen=True)
class Served:
    """A model that requests can name."""

    id: str
    context: int = 0  # tokens; 0: unknown
    build: str = ""  # from `build_id`
    dimensions: int = 0  # of the vectors that an embedding model makes; 0: the model writes answers
    arithmetic: str = ""  # see ModelInfo; known once the model is loaded
    is_batch_invariant: bool = True  # likewise
    size: int = 0  # of its files, in bytes; 0: unknown
    sampling: Sampling | None = None  # its author's values; None: unknown
    languages: int = 0  # that it writes down speech in; 0: it does something else

    @property
    def task(self) -> Task:
        if self.languages:
            return Task.TRANSCRIPTS
        return Task.VECTORS if self.dimensions else Task.ANSWERS


def build_id(entry: Model | Pair) -> str:
    """Return a hash of the model's weights and the version of OpenVINO."""
    manifest = entry.manifest if isinstance(entry, Model) else entry.target.manifest
    files = sorted((name, file.sha256) for name, file in manifest.files.items())
    return repr((version("openvino"), files))


def served(name: str, info: ModelInfo) -> Served:
    """Return the description of a loaded model. A model that is not installed has no `build`."""
    try:
        build = build_id(library.find(name))
    except HeadstartError:
        build = ""
    return Served(name, info.context, build, 0, info.arithmetic, info.is_batch_invariant, sampling=info.sampling)


class TextGenerator(Protocol):
    """Writer of answers: an Engine, or a share of one."""

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]: ...


class ModelRegistry(Protocol):
    """The models that requests can name. `open` and `release` are called on the thread that answers."""

    def listed(self) -> Sequence[Served]: ...

    def known(self, model: Served) -> Served:
        """Return the model with what loading it has shown."""

    def open(self, model: Served, report: Callable[[], None]) -> TextGenerator:
        """Return the writer of a model's answers; call `report` before it is loaded. Raises what loading raises."""

    def parallel(self, model: Served) -> int | None:
        """Return how many answers an open model writes at the same time; None: as many as the server allows."""

    def loaded(self) -> Sequence[ModelProcess]:
        """Return the models in memory. May be called on any thread."""

    def latest(self, task: Task) -> str | None:
        """Return the id of the model for a task that is being loaded, or was used last of those in memory."""

    def release(self) -> None:
        """Free models that can be loaded again, because no request has come for a while."""


def find(models: ModelRegistry, name: str, aliases: Mapping[str, str] = NO_ALIASES) -> Served:
    """Return the model that a request names, in any case. Raises RefusedError, which names the models.

    `aliases` has further names, or patterns of names, and the models that they stand for.
    """
    listed = _listed(models)
    by_id = {model.id.casefold(): model for model in listed}
    wanted = list(_spellings(name.strip()[:_MAX_NAME_CHARS].casefold()))
    for each in wanted:
        if each in by_id:
            return by_id[each]
    for alias, target in sorted(aliases.items(), key=lambda item: is_pattern(item[0])):
        if target.casefold() in by_id and any(map(_pattern(alias).fullmatch, wanted)):
            return by_id[target.casefold()]
    named = [model.id for model in listed] + [alias for alias in aliases if not is_pattern(alias)]
    sentence = (
        f"The model {name[:80]!r} is not served here: ask for {', '.join(map(repr, named))}, or start the server with "
        f"`--alias {shlex.quote(f'{name[:80]}={named[0]}')}`, so that it answers to this name."
    )
    raise RefusedError(404, Fault(sentence, INVALID, "model", "model_not_found"))


def _listed(models: ModelRegistry) -> Sequence[Served]:
    """Return the models that requests can name. Raises RefusedError if there is none any more."""
    listed = models.listed()
    if not listed:
        sentence = "No model is installed on the computer of the server: add one there with `headstart models add`."
        raise RefusedError(404, Fault(sentence, INVALID, "model", "model_not_found"))
    return listed


def is_pattern(alias: str) -> bool:
    return "*" in alias


def _pattern(alias: str) -> re.Pattern[str]:
    return re.compile(re.escape(alias.casefold()).replace(r"\*", ".*"))


def default(models: ModelRegistry, default_model: str, task: Task) -> Served:
    """Return the model for a request that names none: the one in memory, the `default_model` one, or the only one.

    Of several that write down speech, the one that knows most languages. Raises RefusedError, which names the models.
    """
    every = _listed(models)
    able = [model for model in every if model.task is task]
    listed = able or every
    for name in (models.latest(task), default_model):
        for model in listed:
            if model.id == name:
                return model
    if len(listed) == 1:
        return listed[0]
    if able and task is Task.TRANSCRIPTS:
        return max(able, key=lambda model: model.languages)
    names = ", ".join(repr(model.id) for model in listed)
    raise invalid(f"Several models are served here: name one in `model`, of {names}.", "model", "model_required")


def _spellings(name: str) -> Iterator[str]:
    """Yield a name as it is, then without the beginnings and the end that some clients add."""
    for each in dict.fromkeys([name, name.removesuffix(_SUFFIX)]):
        rest = each
        yield rest
        while prefix := next(filter(rest.startswith, _PREFIXES), None):
            rest = rest.removeprefix(prefix)
            yield rest


def require_context(model: Served, num_ctx: int | None) -> None:
    """Raise RefusedError if a request needs more context than the model has here."""
    if (num_ctx or 0) > model.context > 0:
        sentence = (
            f"The context of {model.id!r} has {model.context} tokens here: leave out `num_ctx`, or start the server "
        )
        raise invalid(f"{sentence}with a longer --context.", "num_ctx", "unsupported_value")


@dataclass(frozen=True)
class OpenModel:
    engine: Engine
    context: int = 0  # tokens; 0: unknown
    parallel: int = 1  # answers that it writes at the same time
    task: Task = Task.ANSWERS
    arithmetic: str = ""  # see ModelInfo
    is_batch_invariant: bool = True  # likewise
    since: float = field(default_factory=time.time)  # seconds since 1970


class OneModel:
    """A registry of one model, whose owner loads it and ends it."""

    def __init__(self, model: Served, engine: TextGenerator) -> None:
        self._model, self._engine = model, engine
        self._loaded = ModelProcess(model.id, time.time(), os.getpid())

    def listed(self) -> Sequence[Served]:
        return [self._model]

    def known(self, model: Served) -> Served:
        return model

    def open(self, _model: Served, _report: Callable[[], None]) -> TextGenerator:
        return self._engine

    def parallel(self, _model: Served) -> int | None:
        return None

    def loaded(self) -> Sequence[ModelProcess]:
        return [self._loaded]

    def latest(self, task: Task) -> str | None:
        return self._model.id if task is self._model.task else None

    def release(self) -> None:
        """Keep the model: its owner ends it."""


class LoadedModels:
    """A registry of models that are loaded when a request names them. The models used last stay in memory."""

    def __init__(
        self, find_all: Callable[[], Sequence[Served]], load: Callable[[str], OpenModel], max_open: int = 1
    ) -> None:
        """`find_all` lists the models that can be loaded; `max_open` of them may be in memory."""
        self._find_all, self._load, self._max_open = find_all, load, max_open
        self._open: OrderedDict[str, OpenModel] = OrderedDict()  # the least recently used first
        self._known: dict[str, Served] = {}  # by loading
        self._opening: Served | None = None

    def listed(self) -> Sequence[Served]:
        return list(map(self.known, self._find_all()))

    def known(self, model: Served) -> Served:
        details = self._known.get(model.id)
        if details is None:
            return model
        return replace(
            model,
            context=details.context or model.context,
            arithmetic=details.arithmetic,
            is_batch_invariant=details.is_batch_invariant,
        )

    def open(self, model: Served, report: Callable[[], None]) -> TextGenerator:
        """Open a model. Close the models used least recently, and as many more as the memory needs.

        Models for different tasks do not displace each other: many programs use one of each in turns.
        """
        if model.id not in self._open:
            report()
            self._opening = model
            same = [name for name, opened in self._open.items() if opened.task is model.task]
            for name in same[: max(0, len(same) + 1 - self._max_open)]:
                self._open.pop(name).engine.close()
            try:
                self._open[model.id] = replace(self._load_one(model.id), task=model.task)
            finally:
                self._opening = None
        self._open.move_to_end(model.id)
        return self._open[model.id].engine

    def parallel(self, model: Served) -> int | None:
        return self._open[model.id].parallel

    def loaded(self) -> Sequence[ModelProcess]:
        return [
            # An engine in a process of its own has a `pid`.
            ModelProcess(name, opened.since, getattr(opened.engine, "pid", None) or os.getpid())
            for name, opened in list(self._open.items())
        ]

    def latest(self, task: Task) -> str | None:
        opening = self._opening
        if opening and opening.task is task:
            return opening.id
        names = (name for name, opened in list(self._open.items()) if opened.task is task)
        return next(reversed(list(names)), None)

    def release(self) -> None:
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
                self._known[name] = Served(name, loaded.context, "", 0, loaded.arithmetic, loaded.is_batch_invariant)
                return loaded

    def _close_oldest(self) -> None:
        _, oldest = self._open.popitem(last=False)
        oldest.engine.close()
