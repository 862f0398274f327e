"""From a model folder to a warm runner: verified, proven to forget rejected tokens exactly, compiled."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from headstart import computer, paths
from headstart import manifest as manifests
from headstart.engine import devices, validation
from headstart.engine.engine import KvPrecision, LoadOptions, Precision
from headstart.engine.measurements import Measurements
from headstart.engine.memory import released
from headstart.engine.runners.graph import Ids
from headstart.engine.runners.head import HeadRunner
from headstart.engine.runners.hydra import HydraRunner
from headstart.engine.runners.paged import BranchingRunner, Edit, PagedRunner
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
from headstart.engine.runners.selftest import MAX_CONTEXT, ROOM, batch_invariance, fault
from headstart.engine.runners.stateful import StatefulRunner
from headstart.engine.runtime import openvino
from headstart.engine.validation import Subject, Trial, Verdict, limit_of
from headstart.errors import BrokenModelError, DeviceError, Translatable, UnfitError, listed

_log = logging.getLogger(__name__)

AnyRunner = PagedRunner | StatefulRunner
RunnerClass = type[PagedRunner] | type[StatefulRunner]
RUNNERS: Mapping[str, RunnerClass] = {
    "branching": BranchingRunner,
    "paged": PagedRunner,
    "stateful": StatefulRunner,
}
PROVEN = "proven runner"
_REFUSED = "runner refused"
_ROUNDS_A_PROMPT = 64  # that follow a prompt of validation.PROMPT tokens, where the fastest precision is chosen
_MAX_COST = 1.1  # of arithmetic whose passes agree to the bit, in times of the fastest


def proven_as_loaded(
    build: Callable[[RunnerClass], AnyRunner], measurements: Measurements, chosen: Properties
) -> AnyRunner | None:
    """The first kind of runner, if it compiles and proves exact in the arithmetic that it is to work in; remembered.

    None: find out what is wrong, and what else there is, with `proven_runner`. Our own kernels are then refused.
    """
    name, kind = next(iter(RUNNERS.items()))
    try:
        runner = build(kind)
        found = fault(runner)
    except (ImportError, RuntimeError) as error:
        found = first_line(error)
    if found:
        _log.info("%s does not prove right as it was loaded: %s", name, found)
        if hint_of(chosen) == OWN:
            validation.refuse(measurements, chosen, Translatable(found))
        return None
    measurements.put(PROVEN, name)
    return runner


def proven_runner(folder: Path, device: str, measurements: Measurements) -> RunnerClass:
    """The first kind whose rollback proves exact on this model and device; the result is remembered, also a failure.

    Raises BrokenModelError where none does on the processor, UnfitError where none does on another device.
    """
    known, refused = measurements.get(PROVEN), measurements.get(_REFUSED)
    if isinstance(known, str) and known in RUNNERS:
        return RUNNERS[known]
    if isinstance(refused, str):
        raise _unfit(folder, device, refused)
    reasons = []
    for name, kind in RUNNERS.items():
        try:
            found = fault(kind(folder, device, reference(), ROOM))
        except (ImportError, RuntimeError) as error:  # the transformation is no public part of OpenVINO
            reasons.append(f"{name}: {first_line(error)}")
            continue
        if not found:
            measurements.put(PROVEN, name)
            return kind
        reasons.append(f"{name}: {found}")
    _log.info("no runner fits %s on %s: %s", folder, device, reasons)
    if device == "CPU":
        raise refusal(folder, device, "; ".join(reasons))
    measurements.put(_REFUSED, "; ".join(reasons))
    raise _unfit(folder, device, "; ".join(reasons))


def _unfit(folder: Path, device: str, reason: str) -> UnfitError:
    return UnfitError(
        "{device} refuses {name} ({reason}). Try --device CPU.", device=device, name=folder.name, reason=reason
    )


def refusal(folder: Path, device: str, reason: str) -> BrokenModelError | DeviceError:
    """That the device does not take the model, with what to do."""
    if device == "CPU":
        return BrokenModelError(
            "{folder} cannot be loaded ({reason}). Export it again with headstart-export.", folder=folder, reason=reason
        )
    return DeviceError(
        "{device} refuses {name} ({reason}). Try --device CPU.", device=device, name=folder.name, reason=reason
    )


def first_line(error: Exception) -> str:
    """The reason in a message of OpenVINO, which begins with places in its source."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(("Exception from", "Check '"))]
    return lines[0] if lines else str(error)


_MODEL, _WEIGHTS = _MODEL_FILES = ("openvino_model.xml", "openvino_model.bin")
_SMALL_FILE = 64 * 2**20  # bytes; smaller files are hashed at each load, larger ones when they changed


@dataclass(frozen=True)
class Place:
    """Where and how a model is to run."""

    device: str
    context: int
    rows: int | None = 0  # of the output head, by the model's own list; 0: all, None: as many as it was exported for
    properties: Properties = field(default_factory=dict)  # of OpenVINO, before those chosen here
    kv: KvPrecision = KvPrecision.AUTO
    precision: Precision = Precision.AUTO
    edit: Edit | None = None  # of its graph
    sequences: int = 1  # answers written at the same time, where the runner can
    decides: bool = True  # whether its logits decide the text, so that all its passes should agree to the bit


@dataclass(frozen=True)
class LoadedModel:
    """A warm runner with what is known of it."""

    runner: Runner
    manifest: manifests.Manifest
    measurements: Measurements
    properties: Properties  # that it was compiled with
    notes: tuple[Translatable, ...] = ()  # what a person should know of how it was loaded, in sentences
    is_batch_invariant: bool = False  # whether a token's logits have the same bits in every pass
    kept: Ids | None = None  # tokens that a trimmed output head scores


@dataclass
class Watcher:
    """Callbacks of a load: all files are verified, a precision is tried out, the precision is decided."""

    when_whole: Callable[[], None] = lambda: None
    when_tried: Callable[[], None] = lambda: None
    when_settled: Callable[[], None] = lambda: None


def load_model(folder: Path, place: Place, measured: Path, watcher: Watcher | None = None) -> LoadedModel:
    """Verify, choose runner and precision, compile, warm up. Nothing is timed here: `measure` does that.

    Raises BrokenModelError for a damaged folder and DeviceError for a device that is absent or refuses the model.
    """
    watcher = watcher or Watcher()
    manifest, device, measurements = _whole(folder, place.device, measured)
    watcher.when_whole()
    kept = read_shortlist(folder, manifest, place.rows)
    hint = place.precision.value
    if place.precision is Precision.AUTO:
        hint = _fastest(measurements, candidates(manifest.precision, device))
    wanted = {**properties(hint, place.kv), **place.properties}
    wanted = {name: value for name, value in wanted.items() if value}
    is_new = measurements.get(PROVEN) is None and measurements.get(_REFUSED) is None
    if is_new and _is_trusted(wanted, device) and place.context >= ROOM:
        watcher.when_settled()
        with released(folder / _WEIGHTS):
            build = partial(_runner, folder=folder, device=device, chosen=wanted, place=place, kept=kept)
            runner = proven_as_loaded(build, measurements, wanted)
        if runner is not None:
            is_invariant = place.decides and _agrees(runner, measurements, wanted, watcher)
            return LoadedModel(runner, manifest, measurements, wanted, (), is_invariant, runner.kept)
    kind = proven_runner(folder, device, measurements)
    subject = _trial_subject(folder, manifest, device, measurements)
    chosen, notes = _arithmetic(subject, manifest.name, wanted, watcher)
    watcher.when_settled()
    try:
        with released(folder / _WEIGHTS):
            runner = _runner(kind, folder, device, chosen, place, kept)
            warm_up(runner)
    except RuntimeError as error:
        raise refusal(folder, device, first_line(error)) from None
    is_invariant = place.decides and _agrees(runner, measurements, chosen, watcher)
    return LoadedModel(runner, manifest, measurements, chosen, notes, is_invariant, runner.kept)


def load_head(folder: Path, place: Place, measured: Path) -> LoadedModel:
    """A head, proven to forget rejected tokens where it keeps any, and warm. Raises what `load_model` raises."""
    manifest, device, measurements = _whole(folder, place.device, measured)
    try:
        with released(folder / _WEIGHTS):
            if manifest.is_hydra:
                runner: Any = HydraRunner(folder, device, plain())
            else:
                runner = HeadRunner(folder, device, plain(), place.context)
            warm_up(runner)
        found = fault(runner) if place.context >= ROOM and not manifest.is_hydra else ""
    except RuntimeError as error:
        found = first_line(error)
    if found:
        raise refusal(folder, device, found)
    return LoadedModel(runner, manifest, measurements, plain())


def fast_properties(folder: Path, device: str, measured: Path, kv: KvPrecision = KvPrecision.AUTO) -> Properties:
    """Properties of OpenVINO's fastest arithmetic that is known to be right. Raises what loading raises."""
    manifest, device, measurements = _whole(folder, device, measured)
    hints = [hint for hint in candidates(manifest.precision, device) if hint != OWN]
    return properties(_fastest(measurements, hints), kv)


def measure(folder: Path, device: str, trial: Trial, measurements: Measurements | None = None) -> None:
    """Try every precision of a model on a device, and time its passes, in a child process of `trial`.

    What is known already is not tried again. `measurements`: of a model that is loaded. Raises what loading raises.
    """
    if measurements is None:
        manifest, device, measurements = _whole(folder, device, paths.measurements_folder())
    else:
        manifest, device = manifests.read_model(folder), devices.require(device)
    proven_runner(folder, device, measurements)
    subject = _trial_subject(folder, manifest, device, measurements)
    hints = candidates(manifest.precision, device)
    trial.run(subject, [properties(hint) for hint in hints])


def measure_all(options: LoadOptions, trial: Trial) -> None:
    """The same for a target and its draft."""
    measure(options.target, options.device, trial)
    if options.draft:
        measure(options.draft, options.draft_device or options.device, trial)


def pass_times(measurements: Measurements, hints: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
    """Milliseconds by precision, of those that proved right and were timed.

    They are those of one token, of a verification, and a round's share of a prompt that is read once.
    """
    found = {hint: validation.known(measurements, properties(hint)) for hint in hints}
    return {
        hint: {
            **{f"{tokens} tokens": verdict.ms[tokens] for tokens in (1, VERIFY)},
            "prompt": verdict.prompt_ms / _ROUNDS_A_PROMPT,
        }
        for hint, verdict in found.items()
        if verdict and not verdict.reason and verdict.ms
    }


def builder(kind: str, folder: Path, device: str) -> Callable[[Properties, int], AnyRunner]:
    """A function that compiles a model with properties and a context; `kind` is a name in RUNNERS."""
    return lambda chosen, context: _runner(RUNNERS[kind], folder, device, chosen, Place(device, context), None)


def require_whole(folder: Path, device: str, measured: Path) -> None:
    """Raises BrokenModelError where a file is missing or damaged."""
    _whole(folder, device, measured)


def obstacle(folder: Path, device: str, measured: Path) -> str:
    """Why Headstart's own engine cannot run this model there, by a check that is made once; empty where it can.

    Raises BrokenModelError for a damaged folder and DeviceError for a device that is absent.
    """
    _, device, measurements = _whole(folder, device, measured)
    try:
        proven_runner(folder, device, measurements)
    except UnfitError as error:
        return error.reason
    return ""


def read_shortlist(folder: Path, manifest: manifests.Manifest, rows: int | None = None) -> Ids | None:
    """Ids of the `rows` most frequent tokens, rising, which a draft's trimmed output head scores; None: the whole head.

    `rows` None: as exported; 0: all.

    Raises BrokenModelError for a list that does not fit the model.
    """
    listed = manifest.shortlist
    if listed is None or rows == 0:
        return None
    try:
        ranked = np.load(folder / listed.file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
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


def _whole(folder: Path, device: str, measured: Path) -> tuple[manifests.Manifest, str, Measurements]:
    """What a model's manifest says, the device by OpenVINO's name, and what was measured of the two.

    Every listed file is there with its size and content; a large one is read again only when it changed.
    Raises BrokenModelError and DeviceError.
    """
    manifest, device = manifests.read_model(folder), devices.require(device)
    unlisted = [name for name in _MODEL_FILES if name not in manifest.files]
    if unlisted:
        raise BrokenModelError(
            "The manifest of {folder} does not list {names}; export the model again.",
            folder=folder,
            names=", ".join(unlisted),
        )
    driver = {"processor": computer.stepping()} if device == "CPU" else {"driver": devices.driver(device)}
    subject = {
        "model": manifest.name,
        "weights": manifest.files[_WEIGHTS].sha256,
        "device": devices.full_name(device),
        **driver,
        "openvino": openvino().get_version(),
    }
    measurements = Measurements(measured, manifest.name, subject)
    seen = measurements.get("verified")
    seen = seen if isinstance(seen, dict) else {}
    stamps = {name: _stamp(folder / name) for name, file in manifest.files.items() if file.size > _SMALL_FILE}
    trusted = {name for name, stamp in stamps.items() if stamp is not None and seen.get(name) == stamp}
    doubted = {name: file for name, file in manifest.files.items() if name not in trusted}
    try:
        faults = manifests.damaged_files(folder, replace(manifest, files=doubted), hashes=True)
    except OSError as error:
        faults = [Translatable("it cannot be read ({error})", error=error)]
    if faults:
        raise BrokenModelError(
            "{name} is damaged: {names}. Export it again with headstart-export.",
            name=manifest.name,
            names=listed(faults),
        )
    if stamps != seen:
        measurements.put("verified", stamps)
    return manifest, device, measurements


def _runner(
    kind: RunnerClass, folder: Path, device: str, chosen: Properties, place: Place, kept: Ids | None
) -> AnyRunner:
    # Where a branch holds, its keys are moved; 8-bit ones cannot be, as they share a scale with their neighbours.
    scaled = kind is BranchingRunner and chosen.get("KV_CACHE_PRECISION") == KvPrecision.U8.value
    kind = PagedRunner if scaled else kind
    further: tuple[Any, ...] = () if kind is StatefulRunner else (place.edit, place.sequences)
    return kind(folder, device, chosen, place.context, kept, *further)


def _trial_subject(folder: Path, manifest: manifests.Manifest, device: str, measurements: Measurements) -> Subject:
    limit = limit_of(manifest.quality.mean_kl if manifest.quality else None)
    return Subject(folder, device, measurements.get(PROVEN), limit, manifest.size_bytes / 1e9, measurements)


def _is_trusted(chosen: Properties, device: str) -> bool:
    """Whether no trial is needed."""
    trusted = (plain(), reference(), own_kernels())
    return device == "CPU" and chosen in trusted


def _arithmetic(
    subject: Subject, model: str, wanted: Properties, watcher: Watcher
) -> tuple[Properties, tuple[Translatable, ...]]:
    """What to compile with, and a sentence where that is not what was asked for. All but f32 must be proven first.

    Raises BrokenModelError or DeviceError where nothing is left.
    """
    why = ""
    for chosen in (wanted, plain(), reference()):
        found = validation.known(subject.measurements, chosen)
        if found is None and not _is_trusted(chosen, subject.device):
            watcher.when_tried()
            Trial().run(subject, [chosen], timed=False)
            found = validation.known(subject.measurements, chosen) or Verdict(Translatable("it could not be tried"))
        if found is None or not found.reason:
            name, instead = name_of(wanted), name_of(chosen)
            note = Translatable(
                "{model} does not run in {name} here, as {why}; it runs in {instead}.",
                model=model,
                name=name,
                why=why,
                instead=instead,
            )
            return chosen, (note,) if why else ()
        why = why or found.reason
    raise refusal(subject.folder, subject.device, Translatable("{why}, in f32 too", why=why))


def _fastest(measurements: Measurements, hints: Sequence[str]) -> str:
    """Return the proven precision with the least time for a token, a verification and reading prompts.

    One whose passes agree to the bit may take a little more.
    What was never tried is taken for the fastest if it is our own kernels, or else f32.
    """
    if OWN in hints and validation.known(measurements, own_kernels()) is None:
        return OWN
    ms = {hint: sum(figures.values()) for hint, figures in pass_times(measurements, hints).items()}
    if not ms:
        return "f32"
    agreeing = [hint for hint in ms if validation.is_batch_invariant(measurements, properties(hint))]
    fastest, agreed = min(ms, key=ms.__getitem__), min(agreeing, key=ms.__getitem__, default="")
    return agreed if agreed and ms[agreed] <= _MAX_COST * ms[fastest] else fastest


def _agrees(runner: AnyRunner, measurements: Measurements, chosen: Properties, watcher: Watcher) -> bool:
    """Return whether a token's logits have the same bits in every pass; tried once, with padding and without branches.

    The runner then pads, or gives up branches, where that needs it.
    """
    known = validation.invariance(measurements, chosen)
    if runner.context >= ROOM and (known is None or known.context < min(runner.context, MAX_CONTEXT)):
        watcher.when_tried()
        known = batch_invariance(runner)
        validation.note_invariance(measurements, chosen, known)
        watcher.when_settled()
    return known is not None and known.apply(runner)


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]
