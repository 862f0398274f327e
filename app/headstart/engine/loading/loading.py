"""Loading of models: verified files, a runner that passes its self-test, the fastest precision that is proven."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from headstart import paths
from headstart.engine.engine import KvPrecision, Precision
from headstart.engine.hardware import devices, machine
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.hardware.runtime import openvino
from headstart.engine.kernels import selftest as kernels
from headstart.engine.loading import memory, validation
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.engine.loading.validation import Subject, Trial, Verdict, limit_of
from headstart.engine.runners.graph import Ids
from headstart.engine.runners.head import HeadEdit, HeadRunner
from headstart.engine.runners.hydra import HydraRunner
from headstart.engine.runners.paged import BranchingRunner, Edit, PagedRunner, UnmovableError
from headstart.engine.runners.precision import (
    OWN,
    VERIFY,
    Properties,
    candidates,
    hint_of,
    name_of,
    own_kernels,
    plain,
    properties,
    reference,
    warm_up,
)
from headstart.engine.runners.runner import Runner
from headstart.engine.runners.selftest import MAX_CONTEXT, ROOM, batch_invariance, self_test
from headstart.engine.runners.stateful import StatefulRunner
from headstart.errors import BrokenModelError, Translatable, UnfitError, UnreadableModelError, listed
from headstart.library import manifest as manifests
from headstart.library.manifest import Manifest, ModelSpec

_log = logging.getLogger(__name__)

AnyRunner = PagedRunner | StatefulRunner
LoadRunner = Callable[..., AnyRunner]
RUNNERS: Mapping[str, LoadRunner] = {
    "branching": BranchingRunner.load,
    "paged": PagedRunner.load,
    "stateful": StatefulRunner,
}
_WEIGHTS = "openvino_model.bin"
_MODEL_FILES = ("openvino_model.xml", _WEIGHTS)
_SMALL_FILE = 64 * 2**20  # bytes; smaller files are hashed at each load, larger ones only if they changed
PROVEN = "proven runner"
_REFUSED = "runner refused"
_ROUNDS_A_PROMPT = 64  # rounds for each prompt of validation.PROMPT tokens, for choosing the fastest precision
_MAX_COST = 1.1  # times the fastest: the price of arithmetic whose passes agree to the bit


@dataclass(frozen=True)
class VerifiedModel(ModelSpec):
    """A model whose files are intact, its device, and the measurements of both."""

    device: str  # by OpenVINO's name
    measurements: Measurements


@dataclass(frozen=True)
class RunnerConfig:
    """The way in which a model is run."""

    device: str
    context: int  # tokens
    rows: int | None = 0  # of the output head, by the model's list; 0: all, None: as exported
    properties: Properties = field(default_factory=dict)  # of OpenVINO; they replace the ones that loading chooses
    kv: KvPrecision = KvPrecision.AUTO
    precision: Precision = Precision.AUTO
    edit: Edit | None = None  # an edit of its graph
    sequences: int = 1  # answers at the same time, if the runner can
    decides: bool = True  # its logits decide the text, so all its passes should agree to the bit


@dataclass(frozen=True)
class LoadedModel:
    """A warm runner and its model."""

    runner: Runner
    source: VerifiedModel
    properties: Properties  # that it was compiled with
    notes: tuple[Translatable, ...] = ()  # sentences for the user about how it was loaded
    slowness: Translatable | None = None  # the note that our own kernels are not used, among `notes`
    is_batch_invariant: bool = False  # a token's logits have the same bits in every pass
    draft_vocab: Ids | None = None  # tokens that a trimmed output head scores

    @property
    def manifest(self) -> Manifest:
        return self.source.manifest

    @property
    def measurements(self) -> Measurements:
        return self.source.measurements

    @property
    def others(self) -> Sequence["LoadedModel"]:
        """The same model with its further sequences, for answers at the same time."""
        return [replace(self, runner=other) for other in self.runner.others]


@dataclass
class Watcher:
    """Callbacks of a load."""

    on_verified: Callable[[], None] = lambda: None  # all files are whole
    on_trial: Callable[[], None] = lambda: None  # a precision is tried
    on_decided: Callable[[], None] = lambda: None  # the precision is known


def load_model(spec: ModelSpec, config: RunnerConfig, watcher: Watcher | None = None) -> LoadedModel:
    """Verify, choose runner and precision, compile, warm up. Nothing is timed here: `measure` does that.

    Raises BrokenModelError for a damaged folder and DeviceError for a device that is absent or refuses the model.
    """
    watcher = watcher or Watcher()
    model = verify_files(spec, config.device)
    measurements = model.measurements
    watcher.on_verified()
    draft_vocab = read_shortlist(model, config.rows)
    hint = config.precision.value
    if config.precision is Precision.AUTO:
        hint = _fastest(measurements, candidates(model.manifest.precision, model.device))
    requested = {**properties(hint, config.kv), **config.properties}
    requested = {name: value for name, value in requested.items() if value}
    is_new = measurements.get(PROVEN) is None and measurements.get(_REFUSED) is None
    runner: AnyRunner | None = None
    chosen: Properties = requested
    notes: tuple[Translatable, ...] = ()
    if is_new and _needs_no_trial(requested, model.device) and config.context >= ROOM:
        watcher.on_decided()
        runner = _build_first(model, requested, config, draft_vocab)
    if runner is None:
        kind = select_runner(model)
        chosen, notes = _choose_arithmetic(model, requested, watcher)
        watcher.on_decided()
        try:
            with memory.released(model.folder / _WEIGHTS):
                runner = _build(kind, model.folder, model.device, chosen, config, draft_vocab)
                warm_up(runner)
        except RuntimeError as error:
            raise load_error(model, first_line(error)) from None
    slowness: Translatable | None = None
    if config.decides and config.precision is Precision.AUTO and (slowness := _note_without_kernels(model, chosen)):
        notes = (slowness,) if hint_of(requested) == OWN else (slowness, *notes)
    is_invariant = config.decides and _is_invariant(runner, measurements, chosen, watcher)
    return LoadedModel(runner, model, chosen, notes, slowness, is_invariant, runner.draft_vocab)


def _build_first(
    model: VerifiedModel, chosen: Properties, config: RunnerConfig, draft_vocab: Ids | None
) -> AnyRunner | None:
    """Build the first kind of runner, if it compiles and passes its self-test in its final form; store the result.

    If it fails, `select_runner` finds another one. Our own kernels are then refused.
    """
    name, kind = next(iter(RUNNERS.items()))
    try:
        with memory.released(model.folder / _WEIGHTS):
            runner = _build(kind, model.folder, model.device, chosen, config, draft_vocab)
            reason = self_test(runner)
    except (ImportError, RuntimeError) as error:
        reason = first_line(error)
    if reason:
        _log.info("%s does not prove right as it was loaded: %s", name, reason)
        if hint_of(chosen) == OWN:
            validation.refuse(model.measurements, chosen, Translatable(reason))
        return None
    model.measurements.put(PROVEN, name)
    return runner


def load_head(spec: ModelSpec, config: RunnerConfig) -> LoadedModel:
    """Load a head, test that it forgets rejected tokens if it keeps any, and warm it up.

    Raises BrokenModelError and DeviceError as `load_model` does.
    """
    model = verify_files(spec, config.device)
    is_hydra = model.manifest.is_hydra
    try:
        with memory.released(model.folder / _WEIGHTS):
            if is_hydra:
                runner: Any = HydraRunner.load(model.folder, model.device, plain(), config.sequences)
            else:
                more: Any = {"edit": HeadEdit(), "sequences": config.sequences}
                runner = HeadRunner.load(model.folder, model.device, plain(), config.context, **more)
            warm_up(runner)
        reason = self_test(runner) if config.context >= ROOM and not is_hydra else ""
    except RuntimeError as error:
        reason = _reason(error)
    if reason:
        raise load_error(model, reason)
    return LoadedModel(runner, model, plain())


def verify_files(spec: ModelSpec, device: str) -> VerifiedModel:
    """Check that every listed file has its size and content. A large file is read again only if it changed.

    Raises BrokenModelError and DeviceError.
    """
    folder, manifest, device = spec.folder, spec.manifest, devices.require(device)
    unlisted = [name for name in _MODEL_FILES if name not in manifest.files]
    if unlisted:
        raise BrokenModelError(
            "The manifest of {folder} does not list {names}; export the model again.",
            folder=folder,
            names=", ".join(unlisted),
        )
    driver = _processor() if device == "CPU" else {"driver": devices.driver(device)}
    subject = {
        "model": manifest.name,
        "weights": manifest.files[_WEIGHTS].sha256,
        "device": devices.full_name(device),
        **driver,
        "openvino": openvino().get_version(),
    }
    measurements = Measurements(paths.measurements_folder(), manifest.name, subject)
    seen = measurements.get("verified")
    seen = seen if isinstance(seen, dict) else {}
    stamps = {name: _stamp(folder / name) for name, file in manifest.files.items() if file.size > _SMALL_FILE}
    unchanged = {name for name, stamp in stamps.items() if stamp is not None and seen.get(name) == stamp}
    to_check = {name: file for name, file in manifest.files.items() if name not in unchanged}
    try:
        faults = manifests.damaged_files(folder, replace(manifest, files=to_check), hashes=True)
    except OSError as error:
        raise UnreadableModelError(error) from None
    if faults:
        raise BrokenModelError(
            "{name} is damaged: {names}. Export it again with {command}.",
            name=manifest.name,
            names=listed(faults),
            command=manifests.command_to_replace(folder, manifest),
        )
    if stamps != seen:
        measurements.put("verified", stamps)
    return VerifiedModel(folder, manifest, device, measurements)


def _processor() -> dict[str, str]:
    """Return the key of a processor's measurements, with the number of threads if not all cores may be used.

    What is right and fast with all cores may not be with one.
    """
    threads, cores = machine.threads().count, psutil.cpu_count(logical=False)
    return {"processor": machine.cpu_signature(), **({"threads": str(threads)} if cores and threads < cores else {})}


def select_runner(model: VerifiedModel) -> LoadRunner:
    """Return the first kind of runner that passes its self-test with this model. The result is stored, a failure too.

    Raises BrokenModelError if none passes on the processor, UnfitError if none passes on another device, and
    OutOfMemoryError.
    """
    folder, device, measurements = model.folder, model.device, model.measurements
    proven, refused = measurements.get(PROVEN), measurements.get(_REFUSED)
    if isinstance(proven, str) and proven in RUNNERS:
        return RUNNERS[proven]
    if isinstance(refused, str):
        raise load_error(model, refused)
    reasons = []
    for name, kind in RUNNERS.items():
        try:
            reason = self_test(kind(folder, device, reference(), ROOM))
        except (ImportError, RuntimeError) as error:  # the transformation is no public part of OpenVINO
            reason = _reason(error)
        if not reason:
            measurements.put(PROVEN, name)
            return kind
        reasons.append(f"{name}: {reason}")
    _log.info("no runner fits %s on %s: %s", folder, device, reasons)
    if device != "CPU":
        measurements.put(_REFUSED, "; ".join(reasons))
    raise load_error(model, "; ".join(reasons))


def unsupported_reason(model: VerifiedModel) -> str:
    """Return why Headstart's own engine cannot run this model there; empty if it can. The test is made once."""
    try:
        select_runner(model)
    except UnfitError as error:
        return error.reason
    return ""


def load_error(model: VerifiedModel, reason: str) -> BrokenModelError | UnfitError:
    """Return the error for a device that does not take the model."""
    if model.device == "CPU":
        return BrokenModelError(
            "{folder} cannot be loaded ({reason}). Export it again with {command}.",
            folder=model.folder,
            reason=reason,
            command=manifests.command_to_replace(model.folder, model.manifest),
        )
    return UnfitError(
        "{device} refuses {name} ({reason}). Try --device CPU.",
        device=model.device,
        name=model.folder.name,
        reason=reason,
    )


def first_line(error: Exception) -> str:
    """Return the reason in a message of OpenVINO, which begins with places in its source."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(("Exception from", "Check '"))]
    return lines[0] if lines else str(error)


def _reason(error: Exception) -> str:
    """Return why a model does not load. Raises OutOfMemoryError if memory ran out: then the model is not at fault."""
    if fault := memory.instead_of(error, loading=True):
        raise fault from error
    return first_line(error)


def fast_properties(model: VerifiedModel, kv: KvPrecision = KvPrecision.AUTO) -> Properties:
    """Return the properties of OpenVINO's fastest arithmetic that is known to be right."""
    hints = [hint for hint in candidates(model.manifest.precision, model.device) if hint != OWN]
    return properties(_fastest(model.measurements, hints), kv)


def measure(model: VerifiedModel, trial: Trial, *, again: bool = False) -> None:
    """Try every precision of a model on its device, and time its passes, in a child process of `trial`.

    A precision that is known already is tried again only with `again`, and if other programs disturbed it. Raises
    BrokenModelError and DeviceError.
    """
    select_runner(model)
    hints = candidates(model.manifest.precision, model.device)
    trial.run(_trial_subject(model), [properties(hint) for hint in hints], again=again)


def measure_all(resolved: ResolvedOptions, trial: Trial, *, again: bool = False) -> None:
    """Measure the target and its draft, as `measure` does; an EAGLE-3 head runs in the precision of its target."""
    for spec, device in resolved.models:
        if not spec.manifest.is_eagle:
            measure(verify_files(spec, device), trial, again=again)


def pass_times(measurements: Measurements, hints: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
    """Return the measured milliseconds of each proven precision by kind of pass.

    The kinds: one token, a verification, and a round's share of a prompt that is read once.
    """
    verdicts = {hint: validation.find_verdict(measurements, properties(hint)) for hint in hints}
    return {
        hint: {
            **{f"{tokens} tokens": verdict.ms[tokens] for tokens in (1, VERIFY)},
            "prompt": verdict.prompt_ms / _ROUNDS_A_PROMPT,
        }
        for hint, verdict in verdicts.items()
        if verdict and not verdict.reason and verdict.ms
    }


def builder(kind: str, folder: Path, device: str) -> Callable[[Properties, int], AnyRunner]:
    """Return a function that compiles a model with properties and a context; `kind` is a name in RUNNERS."""
    return lambda chosen, context: _build(RUNNERS[kind], folder, device, chosen, RunnerConfig(device, context), None)


def read_shortlist(spec: ModelSpec, rows: int | None = None) -> Ids | None:
    """Return the ids of the `rows` most frequent tokens, rising, which a draft's trimmed output head scores.

    `rows` None: as exported; 0: all. None is the whole head. Raises BrokenModelError for a list that does not fit.
    """
    folder, manifest = spec.folder, spec.manifest
    listed = manifest.shortlist
    if listed is None or rows == 0:
        return None
    try:
        ranked = np.load(folder / listed.file, allow_pickle=False)
    except OSError as error:
        raise UnreadableModelError(error) from None
    except (ValueError, EOFError) as error:
        raise _broken(folder, Translatable("cannot be read ({error})", error=error)) from None
    if ranked.ndim != 1 or not ranked.size or not np.issubdtype(ranked.dtype, np.integer):
        raise _broken(folder, Translatable("is not a list of token ids"))
    if ranked.min() < 0 or ranked.max() >= manifest.logit_rows:
        raise _broken(
            folder, Translatable("names a token outside the model's {logit_rows}", logit_rows=manifest.logit_rows)
        )
    if np.unique(ranked).size != ranked.size:
        raise _broken(folder, Translatable("names a token twice"))
    ids: Ids = np.sort(ranked[: rows or listed.rows].astype(np.int64))
    return ids if ids.size < manifest.logit_rows else None


def _broken(folder: Path, fault: Translatable) -> BrokenModelError:
    return BrokenModelError(
        "The list of draft tokens in {folder} {fault}; export the model again.", folder=folder, fault=fault
    )


def _build(
    load: LoadRunner, folder: Path, device: str, chosen: Properties, config: RunnerConfig, draft_vocab: Ids | None
) -> AnyRunner:
    more: tuple[Any, ...] = () if load is StatefulRunner else (config.edit, config.sequences)
    try:
        return load(folder, device, chosen, config.context, draft_vocab, *more)
    except UnmovableError:
        return PagedRunner.load(folder, device, chosen, config.context, draft_vocab, *more)


def _trial_subject(model: VerifiedModel) -> Subject:
    manifest, measurements = model.manifest, model.measurements
    limit = limit_of(manifest.quality.mean_kl if manifest.quality else None)
    return Subject(model.folder, model.device, measurements.get(PROVEN), limit, manifest.size_bytes / 1e9, measurements)


def _needs_no_trial(chosen: Properties, device: str) -> bool:
    return device == "CPU" and chosen in (plain(), reference(), own_kernels())


def _choose_arithmetic(
    model: VerifiedModel, requested: Properties, watcher: Watcher
) -> tuple[Properties, tuple[Translatable, ...]]:
    """Return the properties to compile with, and a sentence if they are not the requested ones.

    All but f32 is tried first. Raises BrokenModelError or DeviceError if nothing is left.
    """
    reason = ""
    for chosen in (requested, plain(), reference()):
        verdict = validation.find_verdict(model.measurements, chosen)
        if verdict is None and not _needs_no_trial(chosen, model.device):
            watcher.on_trial()
            Trial().run(_trial_subject(model), [chosen], timed=False)
            verdict = validation.find_verdict(model.measurements, chosen) or Verdict(
                Translatable("it could not be tried")
            )
        if verdict is None or not verdict.reason:
            note = Translatable(
                "{model} does not run in {name} here, as {why}; it runs in {instead}.",
                model=model.manifest.name,
                name=name_of(requested),
                why=reason,
                instead=name_of(chosen),
            )
            return chosen, (note,) if reason else ()
        reason = reason or verdict.reason
    raise load_error(model, Translatable("{why}, in f32 too", why=reason))


def _note_without_kernels(model: VerifiedModel, chosen: Properties) -> Translatable | None:
    """Return a sentence if our own kernels could run the model on this processor, but are absent or refused."""
    if model.device != "CPU" or model.manifest.precision.weights == "fp16" or hint_of(chosen) == OWN:
        return None
    why, remedy = kernels.unsupported_reason(), kernels.remedy()
    if not why:
        verdict = validation.find_verdict(model.measurements, own_kernels())
        why, remedy = verdict.reason if verdict else Translatable(), Translatable("please report it")
    return why and Translatable(
        "Answers are about half as fast as they could be, as Headstart's own kernels are not used ({why}); {remedy}.",
        why=why,
        remedy=remedy,
    )


def _fastest(measurements: Measurements, hints: Sequence[str]) -> str:
    """Return the proven precision with the least time for a token, a verification and reading prompts.

    A precision whose passes agree to the bit may take a little more. Without a trial on a quiet machine it is our own
    kernels, unless they were refused, or f32.
    """
    own = validation.find_verdict(measurements, own_kernels())
    if OWN in hints and (own is None or own.is_disturbed):
        return OWN
    ms = {hint: sum(figures.values()) for hint, figures in pass_times(measurements, hints).items()}
    if not ms:
        return "f32"
    agreeing = [hint for hint in ms if validation.is_batch_invariant(measurements, properties(hint))]
    fastest, agreed = min(ms, key=ms.__getitem__), min(agreeing, key=ms.__getitem__, default="")
    return agreed if agreed and ms[agreed] <= _MAX_COST * ms[fastest] else fastest


def _is_invariant(runner: AnyRunner, measurements: Measurements, chosen: Properties, watcher: Watcher) -> bool:
    """Return True if a token's logits have the same bits in every pass. It is tried once, and stored.

    If it takes padding, or no branches, the runner works so from here on.
    """
    invariance = validation.find_invariance(measurements, chosen)
    if runner.context >= ROOM and (invariance is None or invariance.context < min(runner.context, MAX_CONTEXT)):
        watcher.on_trial()
        invariance = batch_invariance(runner)
        validation.store_invariance(measurements, chosen, invariance)
        watcher.on_decided()
    return invariance is not None and invariance.apply(runner)


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]
