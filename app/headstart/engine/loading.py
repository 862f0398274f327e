"""From a model folder to a warm runner. Knows nothing of drafting or text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from headstart import manifest as manifests
from headstart.engine import bigram, devices, shortlist
from headstart.engine.branching import BranchingRunner
from headstart.engine.engine import KvPrecision, Numerics
from headstart.engine.head import Ids, compile_alone
from headstart.engine.measurements import Measurements
from headstart.engine.memory import released
from headstart.engine.paged import PagedRunner
from headstart.engine.precision import Properties, candidates, fastest_hint, properties, warm_up
from headstart.engine.proof import AnyRunner, first_line, proven_runner, refusal
from headstart.engine.runner import Runner
from headstart.engine.runtime import core, openvino
from headstart.engine.shortlist import Head, RestHead
from headstart.errors import BrokenModelError, UnfitError

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


@dataclass(frozen=True)
class LoadedModel:
    """A warm runner with what is known of it."""

    runner: Runner
    manifest: manifests.Manifest
    measurements: Measurements
    properties: Properties  # that it was compiled with
    kept: Ids | None = None  # tokens that a trimmed output head scores
    rest: RestHead | None = None  # scores the others
    table: bigram.BigramDrafter | None = None  # of likely next tokens


def load_model(
    folder: Path, place: Place, measured: Path, when_whole: Callable[[], None] = lambda: None
) -> LoadedModel:
    """Verify, choose runner and precision (measured once for model, device and versions), compile, warm up.

    `when_whole` is called once every file is verified.
    Raises BrokenModelError for a damaged folder and DeviceError for a device that is absent or refuses the model.
    """
    manifest = manifests.read_model(folder)
    device = devices.require(place.device)
    measurements = _verified(folder, manifest, device, measured)
    when_whole()
    kept = shortlist.read(folder, manifest, place.rows)
    table = bigram.read(folder, manifest)
    build = _builder(folder, device, measurements, kept)
    try:
        with released(folder / _WEIGHTS):
            runner, chosen = _compile(build, place, measurements, _precisions(manifest))
    except RuntimeError as error:
        raise refusal(folder, device, first_line(error)) from None
    rest = None if runner.kept is None else _rest(folder, runner, device, chosen)
    return LoadedModel(runner, manifest, measurements, chosen, runner.kept, rest, table)


def fast_properties(folder: Path, device: str, measured: Path, kv: KvPrecision = KvPrecision.AUTO) -> Properties:
    """What a model is loaded with for the fastest arithmetic; loads it only where that is unknown. Raises the same."""
    manifest, device = manifests.read_model(folder), devices.require(device)
    measurements = _verified(folder, manifest, device, measured)
    try:
        build = _builder(folder, device, measurements, None)
        hint = fastest_hint(build, measurements, _precisions(manifest))
    except RuntimeError as error:
        raise refusal(folder, device, first_line(error)) from None
    return properties(Numerics.FAST, hint, kv)


def require_whole(folder: Path, device: str, measured: Path) -> None:
    """Raises BrokenModelError where a file is missing or damaged."""
    _verified(folder, manifests.read_model(folder), devices.require(device), measured)


def obstacle(folder: Path, device: str, measured: Path) -> str:
    """Why Headstart's own engine cannot run this model there, by a check that is made once; empty where it can.

    Raises BrokenModelError for a damaged folder and DeviceError for a device that is absent.
    """
    manifest, device = manifests.read_model(folder), devices.require(device)
    try:
        proven_runner(folder, device, _verified(folder, manifest, device, measured))
    except UnfitError as error:
        return error.reason
    return ""


def subject(folder: Path, device: str) -> dict[str, object]:
    """What a measurement of this model on this device rests on. Raises BrokenModelError and DeviceError."""
    return _subject(folder, manifests.read_model(folder), devices.require(device))


def _verified(folder: Path, manifest: manifests.Manifest, device: str, measured: Path) -> Measurements:
    measurements = Measurements(measured, manifest.name, _subject(folder, manifest, device))
    verify(folder, manifest, measurements)
    return measurements


def _builder(folder: Path, device: str, measurements: Measurements, kept: Ids | None) -> Callable[..., AnyRunner]:
    kind = proven_runner(folder, device, measurements)

    def build(chosen: Properties, context: int = 128) -> AnyRunner:
        # Where a branch holds, its keys are moved; 8-bit ones cannot be, as they share a scale with their neighbours.
        scaled = kind is BranchingRunner and chosen.get("KV_CACHE_PRECISION") == KvPrecision.U8.value
        return (PagedRunner if scaled else kind)(folder, device, chosen, context, kept)

    return build


def _precisions(manifest: manifests.Manifest) -> Sequence[str]:
    return candidates(manifest.precision.activation_group)


def _compile(
    build: Callable[..., AnyRunner], place: Place, measurements: Measurements, precisions: Sequence[str]
) -> tuple[AnyRunner, Properties]:
    """Raises RuntimeError where the device refuses the model."""
    hint = fastest_hint(build, measurements, precisions) if place.numerics is Numerics.FAST else "f32"
    chosen = properties(place.numerics, hint, place.kv)
    if place.numerics is Numerics.FAST:
        chosen = {**chosen, **place.properties}
    runner = build(chosen, place.context)
    warm_up(runner)
    return runner, chosen


def _rest(folder: Path, runner: AnyRunner, device: str, chosen: Properties) -> RestHead:
    def build() -> Head:
        assert runner.kept is not None, "only a trimmed head lacks rows"
        others = np.setdiff1d(np.arange(runner.vocabulary), runner.kept, assume_unique=True)
        logits = compile_alone(core().read_model(folder / _MODEL), others, device, chosen)
        return lambda: logits(runner.hidden[-1:])[0]

    return RestHead(build)


def verify(folder: Path, manifest: manifests.Manifest, measurements: Measurements) -> None:
    """Every listed file is there with its size and content. A large file is read again only when it changed."""
    seen = measurements.get("verified")
    seen = seen if isinstance(seen, dict) else {}
    stamps = {name: _stamp(folder / name) for name, file in manifest.files.items() if file.size > _SMALL_FILE}
    trusted = {name for name, stamp in stamps.items() if stamp is not None and seen.get(name) == stamp}
    doubted = {name: file for name, file in manifest.files.items() if name not in trusted}
    try:
        faults = manifests.damaged_files(folder, replace(manifest, files=doubted), hashes=True)
    except OSError as error:
        faults = [f"it cannot be read ({error})"]
    if faults:
        raise BrokenModelError(
            f"{manifest.name} is damaged: {'; '.join(faults)}. Export it again with headstart-export."
        )
    if stamps != seen:
        measurements.put("verified", stamps)


def _subject(folder: Path, manifest: manifests.Manifest, device: str) -> dict[str, object]:
    unlisted = [name for name in _MODEL_FILES if name not in manifest.files]
    if unlisted:
        raise BrokenModelError(f"The manifest of {folder} does not list {', '.join(unlisted)}; export the model again.")
    driver = {} if device == "CPU" else {"driver": devices.driver(device)}
    return {
        "model": manifest.name,
        "weights": manifest.files[_WEIGHTS].sha256,
        "device": devices.full_name(device),
        **driver,
        "openvino": openvino().get_version(),
    }


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]
