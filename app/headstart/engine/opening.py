"""Opening models: which engine runs one, and what it can be asked."""

import logging
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import psutil

from headstart import __version__, paths
from headstart import manifest as manifests
from headstart.computer import is_on_battery
from headstart.engine import devices, memory
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.bench.race import SWEEP, USUAL, Heat
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Engine, EngineKind, LoadOptions, Phase, Request
from headstart.engine.measurements import Measurements
from headstart.engine.memory import free_memory
from headstart.engine.protocol import (
    Bench,
    BenchHeat,
    BenchPlanned,
    BenchReport,
    BenchSoFar,
    BenchStage,
    Description,
    Device,
    Facts,
    Loading,
)
from headstart.engine.runtime import openvino, openvino_genai
from headstart.engine.tuning import store
from headstart.engine.tuning.messages import Findings, Stage, Tune, TuneDecided, TuneReport, TuneStep, TuningStep
from headstart.errors import HeadstartError, RemoteError, SettingsError, Translatable

if TYPE_CHECKING:
    from headstart.engine.backends.embedding import EmbeddingEngine
    from headstart.engine.backends.genai.engine import GenaiEngine
    from headstart.engine.local import LocalEngine
    from headstart.engine.validation import Trial

_SECONDS = "seconds"
_TRIAL_CONTEXT = 2048  # tokens that a trial reads at most

_log = logging.getLogger(__name__)

Tell = Callable[[Loading], None]
RunBench = Callable[[Bench, Callable[[BenchReport], None], CancelEvent], Mapping[str, Any]]
CountTokens = Callable[[Request | None, str], int]


@dataclass(frozen=True)
class Opened:
    """A loaded engine. `count`: tokens of what a request has it read and of a plain text, from any thread.

    `bench` carries out a Bench order, reports progress and returns the result, or raises RaceCancelled when stopped.
    `idle` is entered when there was no request for a while, and left when one comes. `read_ahead` reads
    the prompt of a request that may come, a little at each step; None: this engine cannot. `store_one` does a little of
    what may be done between two requests, and says whether there is more. `forget`: see Forget. `others`: engines over
    the same model for answers at the same time.
    """

    engine: Engine
    facts: Facts
    count: CountTokens
    bench: RunBench
    idle: Callable[[], AbstractContextManager[object]] = nullcontext
    read_ahead: Callable[[Request], Iterator[None]] | None = None
    store_one: Callable[[], bool] = lambda: False
    forget: Callable[[Collection[str]], None] = lambda _: None
    others: Sequence[Engine] = ()


class Models(Protocol):
    """Where engines come from."""

    def open(self, options: LoadOptions, tell: Tell) -> Opened:
        """Load a model; `tell` is called with each phase. Raises a HeadstartError."""
        ...

    def describe(self) -> Description:
        """The machine."""
        ...

    def tune(self, order: Tune, tell: Callable[[TuneReport], None], cancel: CancelEvent) -> Findings:
        """Find out how models run fastest here, and keep that. Raises a HeadstartError, or RaceCancelled."""
        ...

    def recall(self, options: LoadOptions) -> Findings | None:
        """What was kept and counts."""
        ...

    def forget(self, options: LoadOptions) -> None:
        """Drop it."""
        ...


class LocalModels:
    """Model folders of this computer, run by Headstart's own engine, and servers that were named instead of one."""

    def open(self, options: LoadOptions, tell: Tell) -> Opened:
        """See Models.open."""
        if options.remote:
            return _open_remote(options, tell)
        clock = _LoadTime(options, tell)
        clock.tell(Phase.RUNTIME)
        openvino_genai()
        from headstart.engine.local import LocalEngine  # noqa: PLC0415 - numpy, which `describe` need not wait for

        clock.tell(Phase.MODEL)
        if vectors := load_embedding(options):
            clock.end()
            facts = Facts(vectors.model.name, None, options.device, vectors.context)
            return Opened(vectors, facts, vectors.count, _no_bench)
        options = settled(options)
        engine = load(options, clock.tell)
        clock.end()
        tokenizer = engine.tokenizer
        bench = partial(_race, engine, options) if isinstance(engine, LocalEngine) else _no_bench
        facts = _facts(engine, options)

        def count(request: Request | None, text: str) -> int:
            asked = len(tokenizer.prompt_of(request, sys.maxsize)) if request else 0
            return asked + (len(tokenizer.encode(text)) if text else 0)

        if not isinstance(engine, LocalEngine):
            return Opened(engine, facts, count, bench)
        idle = partial(_measuring, engine, options)
        opened = Opened(engine, facts, count, bench, idle, engine.read_ahead, engine.store_one, engine.forget)
        return replace(opened, others=engine.others)

    def describe(self) -> Description:
        """See Models.describe."""
        present = tuple(Device(name, devices.full_name(name)) for name in devices.available())
        versions = {
            "headstart": __version__,
            "python": platform.python_version(),
            "openvino": openvino().get_version(),
            "openvino-genai": openvino_genai().get_version(),
        }
        return Description(present, *machine_memory(), versions)

    def tune(self, order: Tune, tell: Callable[[TuneReport], None], cancel: CancelEvent) -> Findings:
        """See Models.tune."""
        from headstart.engine.tuning import search  # noqa: PLC0415 - as above

        def told(what: TuningStep | Stage) -> None:
            tell(TuneStep(order.ticket, what) if isinstance(what, TuningStep) else TuneDecided(order.ticket, what))

        chosen, found = search.tune(order.request, told, cancel)
        store.keep(order.request.load, chosen, found)
        return found

    def recall(self, options: LoadOptions) -> Findings | None:
        """See Models.recall."""
        return store.findings(options)

    def forget(self, options: LoadOptions) -> None:
        """See Models.forget."""
        store.forget(options)


def load_embedding(options: LoadOptions) -> "EmbeddingEngine | None":
    """A model that turns texts into vectors; None for one that writes. Raises what loading raises."""
    if not manifests.read_model(options.target).embedding:
        return None
    from headstart.engine.backends import embedding  # noqa: PLC0415 - few need it

    return embedding.load(options)


def _facts(engine: "LocalEngine | GenaiEngine", options: LoadOptions) -> Facts:
    target, *drafting = engine.models
    misreading = manifests.misreading(options.target, target)  # a draft reads the target's tokens
    is_batch_invariant = getattr(engine, "is_batch_invariant", False)
    varies = Translatable(
        "{model} computes a little differently here when it reads several tokens at once: where two words are almost "
        "equally likely, guesses may change which one you get.",
        model=target.name,
    )
    return Facts(
        target.name,
        next((model.name for model in drafting if not (model.is_eagle or model.is_hydra)), None),
        options.device,
        engine.context,
        engine=engine.kind.value,
        reason=engine.reason,
        notes=(*filter(None, [misreading, None if is_batch_invariant else varies]), *getattr(engine, "notes", ())),
        sampling=engine.sampling,
        head=next((model.name for model in drafting if model.is_eagle or model.is_hydra), None),
        parallel=1 + len(getattr(engine, "others", ())),
        arithmetic=getattr(engine, "arithmetic", ""),
        is_batch_invariant=is_batch_invariant,
    )


class _LoadTime:
    """Reports the phases of a load with the seconds that it took last time, and remembers those of this time."""

    def __init__(self, options: LoadOptions, tell: Tell) -> None:
        folders = [str(folder) for folder in (options.target, options.draft) if folder]
        how = [options.device, options.draft_device, options.engine]
        subject = {"models": folders, "how": how, "headstart": __version__}
        self._kept = Measurements(paths.measurements_folder(), f"{options.target.name}-loading", subject)
        self._tell, self._started, self._usual = tell, time.monotonic(), True

    def tell(self, phase: Phase) -> None:
        """A step begins."""
        self._usual &= phase is not Phase.PROOF  # which is made once
        seconds = self._kept.get(_SECONDS)
        self._tell(Loading(phase, seconds if isinstance(seconds, float) else None))

    def end(self) -> None:
        """The model is loaded."""
        if self._usual:
            self._kept.put(_SECONDS, time.monotonic() - self._started)


def _race(
    engine: "LocalEngine", load: LoadOptions, order: Bench, tell: Callable[[BenchReport], None], cancel: CancelEvent
) -> Mapping[str, Any]:
    """Carry out a Bench order with an engine that was loaded with these options."""
    from headstart.engine.bench.measure import BenchPlan, Progress, genai, measure  # noqa: PLC0415 - as above
    from headstart.engine.bench.result import as_json  # noqa: PLC0415

    size, ticket = order.size, order.ticket
    progress = Progress(
        stage=lambda sentence: tell(BenchStage(ticket, sentence)),
        heat=lambda heat: tell(bench_heat(ticket, heat)),
        planned=lambda heats: tell(BenchPlanned(ticket, heats)),
        cancel=cancel,
        result=lambda result: tell(BenchSoFar(ticket, as_json(result))),
    )
    contestants = size.contestants or (SWEEP if size.sweep else USUAL)
    prompts = read_prompts(size.prompts, size.kinds)
    plan = BenchPlan(load, prompts, size.tokens, size.repeats, contestants, order.before)
    return as_json(measure(engine, plan, (genai(engine, load),) if size.with_peer else (), progress))


def bench_heat(ticket: int, heat: Heat) -> BenchHeat:
    """A heat without its tokens."""
    prompt, run = heat.prompt, heat.run
    return BenchHeat(ticket, prompt.id, prompt.kind, heat.contestant, heat.repeat, run.ms_per_token, len(run.tokens))


@contextmanager
def _measuring(engine: "LocalEngine", options: LoadOptions) -> Iterator[None]:
    """While inside, each precision of the loaded models is tried and timed, until everything is known."""
    from headstart.engine.validation import Trial  # noqa: PLC0415 - as above

    trial = Trial()
    thread = threading.Thread(target=_measure, args=(engine, options, trial), daemon=True, name="measuring")
    thread.start()
    try:
        yield
    finally:
        trial.stop()
        thread.join()


def _measure(engine: "LocalEngine", options: LoadOptions, trial: "Trial") -> None:
    """Nothing on battery, and nothing that the free memory does not hold beside what is loaded."""
    from headstart.engine.loading import measure  # noqa: PLC0415 - as above

    if is_on_battery():
        return
    places = ((options.target, options.device), (options.draft, options.draft_device or options.device))
    for model, (folder, device) in zip((engine.target, engine.draft), places, strict=True):
        if model is None or folder is None or memory.share(model.manifest, _TRIAL_CONTEXT) > free_memory():
            continue
        try:
            measure(folder, device, trial, model.measurements)
        except (HeadstartError, OSError) as error:
            _log.warning("the precisions of %s cannot be tried: %s", model.manifest.name, error)


def _open_remote(options: LoadOptions, tell: Tell) -> Opened:
    """A model of a server. What only a model of this computer can do is refused."""
    from headstart.engine.backends import remote  # noqa: PLC0415 - HTTP, which few need

    tell(Loading(Phase.SERVER))
    engine = remote.load(options)
    name = engine.remote.name

    def count(_request: Request | None, _text: str) -> int:
        raise RemoteError("{name} does not count tokens beforehand; ask, and it says what is too long.", name=name)

    def bench(_order: Bench, _tell: Callable[[BenchReport], None], _cancel: CancelEvent) -> NoReturn:
        raise RemoteError(
            "A benchmark measures this computer, but {name} is another one: choose a model that is here.", name=name
        )

    facts = Facts(engine.model.name, None, "", engine.model.context, name)
    return Opened(engine, facts, count, bench)


def _no_bench(_order: Bench, _tell: Callable[[BenchReport], None], _cancel: CancelEvent) -> NoReturn:
    raise SettingsError(
        "A benchmark times Headstart's own engine, and OpenVINO GenAI beside it: load the model on a CPU, and run it "
        "again."
    )


def machine_memory() -> tuple[int, int]:
    """Bytes of memory in all, and those that a program could take in this one's place without swapping."""
    total = int(psutil.virtual_memory().total)
    return total, min(total, free_memory(os.getpid()))


@dataclass(frozen=True)
class EngineChoice:
    """An engine, and a sentence on why, where the user did not ask for it."""

    kind: EngineKind
    reason: str = ""


def load(options: LoadOptions, tell: Callable[[Phase], None] = lambda _: None) -> "LocalEngine | GenaiEngine":
    """What is left open is as it was tuned. Raises what either engine raises for a model that it cannot load."""
    # Imported here: a front end that reads its help need not wait for them.
    from headstart.engine.backends.genai.engine import load as load_genai  # noqa: PLC0415
    from headstart.engine.local import load as load_own  # noqa: PLC0415

    options = settled(options)
    choice = chosen(options)
    if choice.kind is EngineKind.HEADSTART:
        return load_own(options, tell)
    engine = load_genai(options)
    engine.reason = choice.reason
    if choice.reason:
        _log.info("%s", choice.reason)
    return engine


def chosen(options: LoadOptions) -> EngineChoice:
    """The engine for options that leave nothing open. A graphics card is checked the first time."""
    draft = manifests.read_model(options.draft) if options.draft else None
    return choose(options, draft.name if draft and draft.is_eagle else None, lambda: _against(options))


def settled(options: LoadOptions) -> LoadOptions:
    """With nothing left open, and a device in place of AUTO. Raises DeviceError where none of those listed is there."""
    options = store.applied(options)
    if devices.leaves_choice(options.device):
        options = replace(options, device=devices.require(options.device))
    if options.draft_device and devices.leaves_choice(options.draft_device):
        options = replace(options, draft_device=devices.require(options.draft_device, devices.DRAFT_DEVICE))
    return options


def _against(options: LoadOptions) -> str:
    """What a check of rolling back found on the devices of target and draft; processors need none here."""
    from headstart.engine.loading import obstacle  # noqa: PLC0415

    places = [(options.target, options.device)]
    if options.draft:
        places.append((options.draft, options.draft_device or options.device))
    found = (
        obstacle(folder, device, paths.measurements_folder())
        for folder, device in places
        if devices.kind(device) != "CPU"
    )
    return next((reason for reason in found if reason), "")


def choose(options: LoadOptions, head: str | None, check: Callable[[], str]) -> EngineChoice:
    """The engine that the user asked for, or that suits the devices and the draft. Raises SettingsError.

    `head`: the name of the draft where it is an EAGLE-3 head. `check` returns why Headstart's own engine cannot use the
    devices; empty: it can.
    """
    kinds = {devices.kind(place) for place in (options.device, options.draft_device or options.device)}
    if options.engine is EngineKind.GENAI:
        return EngineChoice(EngineKind.GENAI)
    against = ""
    elsewhere = head is not None and kinds != {"CPU"}
    if elsewhere:
        against = f"Headstart's own engine uses the EAGLE-3 head {head} on a processor only"
    elif "NPU" in kinds:
        against = "Headstart's own engine cannot use an NPU"
    if options.engine is EngineKind.HEADSTART:
        if elsewhere:
            raise SettingsError(
                "Headstart's own engine uses the EAGLE-3 head {head} on a processor only: leave out --engine "
                "headstart, or use --device CPU.",
                head=head,
            )
        if against:
            raise SettingsError(
                "An NPU compiles a fixed prompt length in, while Headstart's own engine feeds passes of any length: "
                "leave out --engine headstart, or use --device CPU."
            )
        return EngineChoice(EngineKind.HEADSTART)
    if not against and kinds != {"CPU"} and (found := check()):
        against = f"Headstart's own engine failed a check of this device ({found})"
    if against:
        return EngineChoice(EngineKind.GENAI, f"OpenVINO GenAI runs this model because {against}.")
    return EngineChoice(EngineKind.HEADSTART)
