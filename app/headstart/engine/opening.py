"""The choice of an engine for a model, and loaded engines with their abilities."""

import logging
import platform
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from headstart import __version__, paths
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.bench.race import SWEEP, USUAL, Heat
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import ConversationRequest, Engine, EngineKind, LoadOptions, Phase
from headstart.engine.hardware import devices
from headstart.engine.hardware.machine import is_on_battery
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.hardware.runtime import openvino, openvino_genai
from headstart.engine.loading import memory
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.engine.loading.memory import free_memory
from headstart.engine.protocol import (
    Bench,
    BenchHeat,
    BenchPlanned,
    BenchReport,
    BenchSoFar,
    BenchStage,
    Description,
    Device,
    Loading,
    ModelInfo,
)
from headstart.engine.tuning import store
from headstart.engine.tuning.messages import Findings, Stage, Tune, TuneDecided, TuneReport, TuneStep, TuningStep
from headstart.errors import HeadstartError, RemoteError, SettingsError, Translatable

if TYPE_CHECKING:
    from headstart.engine.backends.embedding import EmbeddingEngine
    from headstart.engine.backends.genai.engine import GenaiEngine
    from headstart.engine.backends.transcription import TranscriptionEngine
    from headstart.engine.loading.validation import Trial
    from headstart.engine.local import LocalEngine

_SECONDS = "seconds"
_TRIAL_CONTEXT = 2048  # most tokens that a trial reads

_log = logging.getLogger(__name__)

Tell = Callable[[Loading], None]
RunBench = Callable[[Bench, Callable[[BenchReport], None], CancelEvent], Mapping[str, Any]]
CountTokens = Callable[[ConversationRequest | None, str], int]


@dataclass(frozen=True)
class LoadedEngine:
    engine: Engine
    model_info: ModelInfo
    count: CountTokens  # the tokens of a request's prompt plus those of a plain text; from any thread
    bench: RunBench  # carries out a Bench order, or raises RaceCancelled
    # Entered when there was no request for a while, and left when one comes.
    idle: Callable[[], AbstractContextManager[object]] = nullcontext
    # Reads the prompt of a request that may come, a little at each step; None: this engine cannot.
    read_ahead: Callable[[ConversationRequest], Iterator[None]] | None = None
    store_one: Callable[[], bool] = lambda: False  # does a little work between two requests; False: none is left
    forget: Callable[[Collection[str]], None] = lambda _: None  # see protocol.Forget
    others: Sequence[Engine] = ()  # engines over the same model, for answers at the same time


class ModelSource(Protocol):
    """A source of loaded engines."""

    def open(self, options: LoadOptions, tell: Tell) -> LoadedEngine:
        """Load a model; `tell` is called with each phase. Raises a HeadstartError."""

    def describe(self) -> Description:
        """Return what this machine has."""

    def tune(self, order: Tune, tell: Callable[[TuneReport], None], cancel: CancelEvent) -> Findings:
        """Find out how models run fastest here, and store it. Raises a HeadstartError, or RaceCancelled."""

    def recall(self, options: LoadOptions) -> Findings | None:
        """Return the stored result of tuning, if it still counts."""

    def forget(self, options: LoadOptions) -> None:
        """Drop the stored result of tuning."""


class LocalModels:
    """The model folders of this computer, and servers that the options name instead."""

    def open(self, options: LoadOptions, tell: Tell) -> LoadedEngine:
        if options.remote:
            return _open_remote(options, tell)
        clock = _LoadTime(options, tell)
        clock.tell(Phase.RUNTIME)
        openvino_genai()
        # Imported here: `describe` need not wait for numpy.
        from headstart.engine.backends.embedding import EmbeddingEngine  # noqa: PLC0415
        from headstart.engine.backends.transcription import TranscriptionEngine  # noqa: PLC0415
        from headstart.engine.local import LocalEngine  # noqa: PLC0415

        clock.tell(Phase.MODEL)
        resolved = resolve(options)
        engine = load(resolved, clock.tell)
        clock.end()
        if isinstance(engine, EmbeddingEngine | TranscriptionEngine):
            model_info = ModelInfo(engine.model.name, None, options.device, engine.context)
            return LoadedEngine(engine, model_info, engine.count, _no_bench)
        tokenizer, options, model_info = engine.tokenizer, resolved.options, _model_info(engine, resolved)

        def count(request: ConversationRequest | None, text: str) -> int:
            num_tokens = len(tokenizer.prompt_of(request, sys.maxsize)) if request else 0
            return num_tokens + (len(tokenizer.encode(text)) if text else 0)

        if not isinstance(engine, LocalEngine):
            return LoadedEngine(engine, model_info, count, _no_bench)
        return LoadedEngine(
            engine,
            model_info,
            count,
            bench=partial(_race, engine, options),
            idle=partial(_measuring, engine),
            read_ahead=engine.read_ahead,
            store_one=engine.store_one,
            forget=engine.forget,
            others=engine.others,
        )

    def describe(self) -> Description:
        present = tuple(Device(name, devices.full_name(name)) for name in devices.available())
        versions = {
            "headstart": __version__,
            "python": platform.python_version(),
            "openvino": openvino().get_version(),
            "openvino-genai": openvino_genai().get_version(),
        }
        return Description(present, versions)

    def tune(self, order: Tune, tell: Callable[[TuneReport], None], cancel: CancelEvent) -> Findings:
        from headstart.engine.tuning import search  # noqa: PLC0415 - as above

        def report(step: TuningStep | Stage) -> None:
            tell(TuneStep(order.ticket, step) if isinstance(step, TuningStep) else TuneDecided(order.ticket, step))

        tuned, findings = search.tune(order.request, report, cancel)
        store.keep(order.request.load, tuned, findings)
        return findings

    def recall(self, options: LoadOptions) -> Findings | None:
        return store.findings(options)

    def forget(self, options: LoadOptions) -> None:
        store.forget(options)


def _model_info(engine: "LocalEngine | GenaiEngine", resolved: ResolvedOptions) -> ModelInfo:
    target, *drafting = engine.models
    thinking = engine.tokenizer.thinking
    is_batch_invariant = engine.is_batch_invariant
    varies = Translatable(
        "{model} computes a little differently here when it reads several tokens at once: where two words are almost "
        "equally likely, guesses may change which one you get.",
        model=target.name,
    )
    return ModelInfo(
        target.name,
        next((model.name for model in drafting if not (model.is_eagle or model.is_hydra)), None),
        resolved.options.device,
        engine.context,
        engine=engine.kind.value,
        reason=engine.reason,
        notes=(*([] if is_batch_invariant else [varies]), *engine.notes),
        slowness=engine.slowness,
        sampling=engine.sampling,
        head=next((model.name for model in drafting if model.is_eagle or model.is_hydra), None),
        parallel=1 + len(engine.others),
        arithmetic=engine.arithmetic,
        is_batch_invariant=is_batch_invariant,
        thinking=thinking.support if thinking else None,
    )


class _LoadTime:
    """A report of a load's phases, each with the seconds that the last load took."""

    def __init__(self, options: LoadOptions, tell: Tell) -> None:
        folders = [str(folder) for folder in (options.target, options.draft) if folder]
        how = [options.device, options.draft_device, options.engine]
        subject = {"models": folders, "how": how, "headstart": __version__}
        self._measurements = Measurements(paths.measurements_folder(), f"{options.target.name}-loading", subject)
        self._tell, self._started, self._is_usual = tell, time.monotonic(), True

    def tell(self, phase: Phase) -> None:
        self._is_usual &= phase is not Phase.PROOF  # trials are made once
        seconds = self._measurements.get(_SECONDS)
        self._tell(Loading(phase, seconds if isinstance(seconds, float) else None))

    def end(self) -> None:
        """Store how long the load took."""
        if self._is_usual:
            self._measurements.put(_SECONDS, time.monotonic() - self._started)


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
    """Return a heat without its tokens."""
    prompt, run = heat.prompt, heat.run
    return BenchHeat(ticket, prompt.id, prompt.kind, heat.contestant, heat.repeat, run.ms_per_token, len(run.tokens))


@contextmanager
def _measuring(engine: "LocalEngine") -> Iterator[None]:
    """Try and time each precision of the loaded models while inside, until everything is known."""
    from headstart.engine.loading.validation import Trial  # noqa: PLC0415 - as above

    trial = Trial()
    thread = threading.Thread(target=_measure, args=(engine, trial), daemon=True, name="measuring")
    thread.start()
    try:
        yield
    finally:
        trial.stop()
        thread.join()


def _measure(engine: "LocalEngine", trial: "Trial") -> None:
    """Measure what fits into free memory beside the loaded models; nothing on battery."""
    from headstart.engine.loading.loading import measure  # noqa: PLC0415 - as above

    if is_on_battery():
        return
    for model in filter(None, (engine.target, engine.draft)):
        if memory.bytes_beside_others(model.manifest, _TRIAL_CONTEXT) > free_memory():
            continue
        try:
            measure(model.source, trial)
        except (HeadstartError, OSError) as error:
            _log.warning("the precisions of %s cannot be tried: %s", model.manifest.name, error)


def _open_remote(options: LoadOptions, tell: Tell) -> LoadedEngine:
    """Connect to a server's model. Refuses options that only a model of this computer can have."""
    from headstart.engine.backends.remote import engine as remote  # noqa: PLC0415 - HTTP, which few need

    tell(Loading(Phase.SERVER))
    engine = remote.load(options)
    name = engine.remote.name

    def count(_request: ConversationRequest | None, _text: str) -> int:
        raise RemoteError("{name} does not count tokens beforehand; ask, and it says what is too long.", name=name)

    def bench(_order: Bench, _tell: Callable[[BenchReport], None], _cancel: CancelEvent) -> NoReturn:
        raise RemoteError(
            "A benchmark measures this computer, but {name} is another one: choose a model that is here.", name=name
        )

    model_info = ModelInfo(engine.model.name, None, "", engine.model.context, name)
    return LoadedEngine(engine, model_info, count, bench)


def _no_bench(_order: Bench, _tell: Callable[[BenchReport], None], _cancel: CancelEvent) -> NoReturn:
    raise SettingsError(
        "A benchmark times Headstart's own engine, and OpenVINO GenAI beside it: load the model on a CPU, and run it "
        "again."
    )


def resolve(options: LoadOptions) -> ResolvedOptions:
    """Decide what `options` leave open as it was tuned here, name a device for AUTO, and read the manifests.

    Raises DeviceError if no device that AUTO lists is present, and BrokenModelError.
    """
    options = store.fill_unset(options)
    if devices.leaves_choice(options.device):
        options = replace(options, device=devices.require(options.device))
    if options.draft_device and devices.leaves_choice(options.draft_device):
        options = replace(options, draft_device=devices.require(options.draft_device, devices.DRAFT_DEVICE))
    return ResolvedOptions.read(options)


@dataclass(frozen=True)
class EngineChoice:
    """An engine and, if the user did not ask for it, a sentence that says why."""

    kind: EngineKind
    reason: str = ""


def load(
    resolved: ResolvedOptions, tell: Callable[[Phase], None] = lambda _: None
) -> "LocalEngine | GenaiEngine | EmbeddingEngine | TranscriptionEngine":
    """Load a model with the engine that suits it. Raises the errors of that engine."""
    # Imported here, as a front end that prints its help need not wait for them.
    from headstart.engine import local  # noqa: PLC0415
    from headstart.engine.backends import embedding, transcription  # noqa: PLC0415
    from headstart.engine.backends.genai import engine as genai  # noqa: PLC0415

    if resolved.target.manifest.embedding:
        return embedding.load(resolved)
    if resolved.target.manifest.transcription:
        return transcription.load(resolved)
    choice = choose_engine(resolved)
    if choice.kind is EngineKind.HEADSTART:
        return local.load(resolved, tell)
    engine = genai.load(resolved)
    engine.reason = choice.reason
    if choice.reason:
        _log.info("%s", choice.reason)
    return engine


def _objection(resolved: ResolvedOptions) -> str:
    """Return why Headstart's own engine cannot run on the devices; empty if it can. A graphics card is tested once."""
    from headstart.engine.loading.loading import unsupported_reason, verify_files  # noqa: PLC0415

    places = [(spec, device) for spec, device in resolved.models if devices.kind(device) != "CPU"]
    reasons = (unsupported_reason(verify_files(spec, device)) for spec, device in places)
    return next(filter(None, reasons), "")


def choose_engine(resolved: ResolvedOptions) -> EngineChoice:
    """Return the engine that the user asked for, or that suits the devices and the draft. Raises SettingsError."""
    draft, wish = resolved.draft, resolved.options.engine
    kinds = {devices.kind(device) for device in (resolved.options.device, resolved.draft_device)}
    if wish is EngineKind.GENAI:
        return EngineChoice(EngineKind.GENAI)
    head = draft.manifest.name if draft and draft.manifest.is_eagle and kinds != {"CPU"} else ""
    if wish is EngineKind.HEADSTART and head:
        raise SettingsError(
            "Headstart's own engine uses the EAGLE-3 head {head} on a processor only: leave out --engine "
            "headstart, or use --device CPU.",
            head=head,
        )
    if wish is EngineKind.HEADSTART and "NPU" in kinds:
        raise SettingsError(
            "An NPU compiles a fixed prompt length in, while Headstart's own engine feeds passes of any length: "
            "leave out --engine headstart, or use --device CPU."
        )
    reason = ""
    if head:
        reason = f"Headstart's own engine uses the EAGLE-3 head {head} on a processor only"
    elif "NPU" in kinds:
        reason = "Headstart's own engine cannot use an NPU"
    elif kinds != {"CPU"} and wish is not EngineKind.HEADSTART and (objection := _objection(resolved)):
        reason = f"Headstart's own engine failed a check of this device ({objection})"
    if reason:
        return EngineChoice(EngineKind.GENAI, f"OpenVINO GenAI runs this model because {reason}.")
    return EngineChoice(EngineKind.HEADSTART)
