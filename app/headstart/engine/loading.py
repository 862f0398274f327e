"""From a model folder to a warm runner."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from headstart import computer, paths
from headstart import manifest as manifests
from headstart.engine import devices, validation
from headstart.engine.engine import KvPrecision, LoadOptions, Numerics, Precision
from headstart.engine.measurements import Measurements
from headstart.engine.memory import released
from headstart.engine.runners.graph import Ids
from headstart.engine.runners.paged import BranchingRunner, PagedRunner
from headstart.engine.runners.precision import VERIFY, Properties, candidates, name_of, plain, properties, warm_up
from headstart.engine.runners.proof import (
    PROVEN,
    ROOM,
    RUNNERS,
    AnyRunner,
    RunnerClass,
    first_line,
    is_undecided,
    proven_as_loaded,
    proven_runner,
    refusal,
)
from headstart.engine.runners.runner import Runner
from headstart.engine.runtime import openvino
from headstart.engine.validation import Subject, Trial, Verdict, limit_of
from headstart.errors import BrokenModelError, Translatable, UnfitError, listed

_MODEL, _WEIGHTS = _MODEL_FILES = ("openvino_model.xml", "openvino_model.bin")
_SMALL_FILE = 64 * 2**20  # bytes; smaller files are hashed at each load, larger ones when they changed


@dataclass(frozen=True)
class Place:
    """Where and how a model is to run."""

    device: str
    numerics: Numerics
    context: int
    rows: int | None = 0  # of the output head, by the model's own list; 0: all, None: as many as it was exported for
    properties: Properties = field(default_factory=dict)  # of OpenVINO, before those chosen here; not where exact
    kv: KvPrecision = KvPrecision.AUTO
    precision: Precision = Precision.AUTO


@dataclass(frozen=True)
class LoadedModel:
    """A warm runner with what is known of it."""

    runner: Runner
    manifest: manifests.Manifest
    measurements: Measurements
    properties: Properties  # that it was compiled with
    notes: tuple[Translatable, ...] = ()  # what a person should know of how it was loaded, in sentences
    kept: Ids | None = None  # tokens that a trimmed output head scores


@dataclass
class Watcher:
    """Who is told of a load: every file is verified; a precision is tried before it is used; it is settled."""

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
    if place.numerics is Numerics.EXACT:
        wanted = properties(Numerics.EXACT)
    else:
        hint = place.precision.value
        if place.precision is Precision.AUTO:
            hint = _fastest(measurements, candidates(manifest.precision.activation_group))
        wanted = {**properties(Numerics.FAST, hint, place.kv), **place.properties}
    if _is_trusted(wanted, device) and is_undecided(measurements) and place.context >= ROOM:
        watcher.when_settled()
        with released(folder / _WEIGHTS):
            build = partial(_runner, folder=folder, device=device, chosen=wanted, context=place.context, kept=kept)
            runner = proven_as_loaded(build, measurements)
        if runner is not None:
            return LoadedModel(runner, manifest, measurements, wanted, (), runner.kept)
    kind = proven_runner(folder, device, measurements)
    subject = _trial_subject(folder, manifest, device, measurements)
    chosen, notes = _arithmetic(subject, manifest.name, wanted, watcher)
    watcher.when_settled()
    try:
        with released(folder / _WEIGHTS):
            runner = _runner(kind, folder, device, chosen, place.context, kept)
            warm_up(runner)
    except RuntimeError as error:
        raise refusal(folder, device, first_line(error)) from None
    return LoadedModel(runner, manifest, measurements, chosen, notes, runner.kept)


def fast_properties(folder: Path, device: str, measured: Path, kv: KvPrecision = KvPrecision.AUTO) -> Properties:
    """What a model is loaded with for the fastest arithmetic that is known to be right. Raises what loading raises."""
    manifest, _, measurements = _whole(folder, device, measured)
    return properties(Numerics.FAST, _fastest(measurements, candidates(manifest.precision.activation_group)), kv)


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
    hints = candidates(manifest.precision.activation_group)
    trial.run(subject, [properties(Numerics.FAST, hint) for hint in hints])


def measure_all(options: LoadOptions, trial: Trial) -> None:
    """The same for a target and its draft."""
    measure(options.target, options.device, trial)
    if options.draft:
        measure(options.draft, options.draft_device or options.device, trial)


def pass_times(measurements: Measurements, hints: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
    """Milliseconds of one token and of a verification by precision: of those that proved right and were timed."""
    found = {hint: validation.known(measurements, properties(Numerics.FAST, hint)) for hint in hints}
    return {
        hint: {f"{tokens} tokens": verdict.ms[tokens] for tokens in (1, VERIFY)}
        for hint, verdict in found.items()
        if verdict and not verdict.reason and verdict.ms
    }


def builder(kind: str, folder: Path, device: str) -> Callable[[Properties, int], AnyRunner]:
    """Compiles a model with properties and a context, for whoever tries it out; `kind` as `proof.RUNNERS` has it."""
    return lambda chosen, context: _runner(RUNNERS[kind], folder, device, chosen, context, None)


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
    kind: RunnerClass, folder: Path, device: str, chosen: Properties, context: int, kept: Ids | None
) -> AnyRunner:
    # Where a branch holds, its keys are moved; 8-bit ones cannot be, as they share a scale with their neighbours.
    scaled = kind is BranchingRunner and chosen.get("KV_CACHE_PRECISION") == KvPrecision.U8.value
    return (PagedRunner if scaled else kind)(folder, device, chosen, context, kept)


def _trial_subject(folder: Path, manifest: manifests.Manifest, device: str, measurements: Measurements) -> Subject:
    limit = limit_of(manifest.quality.mean_kl if manifest.quality else None)
    return Subject(folder, device, measurements.get(PROVEN), limit, manifest.size_bytes / 1e9, measurements)


def _is_trusted(chosen: Properties, device: str) -> bool:
    """Whether no trial is needed."""
    return device == "CPU" and chosen in (plain(), properties(Numerics.EXACT))


def _arithmetic(
    subject: Subject, model: str, wanted: Properties, watcher: Watcher
) -> tuple[Properties, tuple[Translatable, ...]]:
    """What to compile with, and a sentence where that is not what was asked for. All but f32 must be proven first.

    Raises BrokenModelError or DeviceError where nothing is left.
    """
    why = ""
    for chosen in (wanted, plain(), properties(Numerics.EXACT)):
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
    """Of the precisions that are proven, the one with the least time for a token and a verification; f32 untried."""
    figures = pass_times(measurements, hints)
    return min(figures, key=lambda hint: sum(figures[hint].values())) if figures else "f32"


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]
