"""Tuning: a few candidates, each timed beside the default.

A candidate answers the same prompts as the default, in turns, so that what slows the machine slows both. All are timed
a little, the fastest one longer. It replaces the default if its median gain is worth a setting and a sign test rules
out chance; a gain within noise changes nothing.
"""

import math
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import psutil

from headstart.engine.bench.prompts import read_prompts
from headstart.engine.bench.race import OwnMode, raise_if_set
from headstart.engine.bench.result import Spread, paired, spread
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import LoadOptions, Speculation
from headstart.engine.hardware import devices
from headstart.engine.hardware.runtime import openvino
from headstart.engine.loading import memory
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.engine.loading.loading import LoadedModel, RunnerConfig, load_model, measure_all, pass_times
from headstart.engine.loading.validation import Trial as PrecisionTrial
from headstart.engine.local import LocalEngine, Models, begin, draft_config, target_config
from headstart.engine.runners import precision
from headstart.engine.text.tokenizer import Tokenizer
from headstart.engine.tuning import store
from headstart.engine.tuning.messages import (
    ANSWER,
    DEFAULT,
    DRAFTS,
    MIN_GAIN,
    TARGET,
    Findings,
    Row,
    Stage,
    TuneRequest,
    TuningStep,
)
from headstart.engine.tuning.store import Tuned
from headstart.errors import DeviceError, HeadstartError, MemoryBudgetError, SettingsError, Translatable
from headstart.library.manifest import ModelSpec

FIRST_PAIRS, MORE_PAIRS = 3, 9  # answers of the default and of a candidate
_CHANCE = 0.05  # chance of taking a setting that gains nothing, over all candidates of a stage
_PRECISION_SHARE = 0.4  # most of all the time
_TARGET_SHARE = 0.5  # of the time after the precisions; the rest is for drafts
_MIN_ANSWERS = 5  # of the default if there is nothing to compare it with
_CONTEXT = 2048  # tokens; longer than any prompt here, but small in memory
_TOKENS = 24  # longest answer
_KINDS = ("code", "story", "explanation", "math", "roleplay")  # classes of short prompts
_CLOSE = 1.15  # times the fastest measured precision; a slower one is not tried

Clock = Callable[[], float]
Pair = tuple[float, float]  # milliseconds a token of the default and of the candidate
Compare = Callable[[str, int], Pair | None]  # of a candidate, on the prompt of this number; None: too short to tell
Tell = Callable[[TuningStep | Stage], object]


@dataclass(frozen=True)
class Hardware:
    logical: int  # cores that this process may use
    physical: int  # at most as many
    devices: tuple[str, ...]
    pinning: bool  # whether threads can be tied to cores


def settings(
    hardware: Hardware, load: LoadOptions, precisions: tuple[str, str] | None = None, *, is_device_chosen: bool = False
) -> dict[str, LoadOptions]:
    """Return other ways to run the target, by name. `is_device_chosen`: the user chose the device.

    `precisions`: the precision in use, and another that is about as fast.
    """
    others = () if is_device_chosen else tuple(name for name in hardware.devices if name != load.device.upper())
    candidates = {f"on {name}": replace(load, device=name) for name in others}
    chosen = {f"in {precisions[1]}": precision.differing(precisions[1], precisions[0])} if precisions else {}
    if load.device.upper() == "CPU":
        chosen |= _threads(hardware)
    return candidates | {name: replace(load, properties=properties) for name, properties in chosen.items()}


def drafts(load: LoadOptions, others: Mapping[str, Path], rows: int | None = None) -> dict[str, LoadOptions]:
    """Return other ways to draft, by name. `rows`: the size of the draft's trimmed output head; None: it is whole."""
    candidates = {
        f"the draft {name}": replace(load, draft=folder) for name, folder in others.items() if folder != load.draft
    }
    if load.draft is None:
        return candidates
    if rows:
        candidates[f"the draft with {rows // 2} rows"] = replace(load, draft_vocab=rows // 2)
        candidates["the draft with all rows"] = replace(load, draft_vocab=0)
    return candidates | {"no draft model": replace(load, draft=None)}


@dataclass
class CandidateTimes:
    """The times of one candidate. A ratio above 1 is faster than the default."""

    name: str
    base: list[float] = field(default_factory=list)
    mine: list[float] = field(default_factory=list)
    failure: Translatable = field(default_factory=Translatable)  # why it cannot run

    @property
    def spread(self) -> Spread | None:
        """The ratios of the default's time to the candidate's, pair by pair; None before the first."""
        return spread(paired(self.base, self.mine))

    @property
    def median(self) -> float:
        """The median of the ratios; 0 before the first."""
        return self.spread.median if self.spread else 0.0

    @property
    def wins(self) -> int:
        """The pairs in which the candidate was faster."""
        return sum(mine < base for base, mine in zip(self.base, self.mine, strict=True))

    def proves(self, rivals: int) -> bool:
        """Return True if its gain among `rivals` is worth a setting and beyond chance (one-sided sign test)."""
        pairs = len(self.base)
        chance = sum(math.comb(pairs, wins) for wins in range(self.wins, pairs + 1)) / 2**pairs
        return not self.failure and self.median >= MIN_GAIN and chance <= _CHANCE / rivals


def search(
    names: Sequence[str], compare: Compare, deadline: float, load_seconds: float = 0.0, clock: Clock = time.monotonic
) -> list[CandidateTimes]:
    """Time all, then the fastest longer, so that all is done before the clock shows `deadline`.

    `load_seconds`: expected for a candidate. A candidate that cannot run is skipped.
    """
    trials = [CandidateTimes(name) for name in names]
    took = {True: load_seconds, False: 0.0}  # the most for a candidate's first comparison, and for another

    def extend(trial: CandidateTimes, pairs: int) -> None:
        try:
            for number in range(len(trial.base), len(trial.base) + pairs):
                began = clock()
                if began >= deadline or began + took[number == 0] > deadline:
                    return
                pair = compare(trial.name, number)
                took[number == 0] = max(took[number == 0], clock() - began)
                if pair is not None:
                    trial.base.append(pair[0])
                    trial.mine.append(pair[1])
        except HeadstartError as error:
            trial.failure = error.text
        except RuntimeError as error:
            trial.failure = Translatable(str(error).strip().splitlines()[0])

    for trial in trials:
        extend(trial, FIRST_PAIRS)
    best = max(trials, key=lambda trial: trial.median, default=None)
    if best and best.median > 1.0 and not best.failure:
        extend(best, MORE_PAIRS)
    return trials


def decide_stage(subject: str, trials: Sequence[CandidateTimes], ms: Mapping[str, float]) -> Stage:
    """Return the stage that these trials decide. `ms` has the times by name; "" is the default."""

    def row(name: str) -> dict[str, float]:
        return {ANSWER: ms[name]} if name in ms else {}

    proven = [trial for trial in trials if trial.proves(len(trials))]
    best = max(proven, key=lambda trial: trial.median, default=None)
    rows = [
        Row(each.name, row(each.name), each.spread, each.wins, len(each.base), each is best, each.failure)
        for each in trials
    ]
    return Stage(subject, (Row(DEFAULT, row(""), chosen=best is None), *rows))


def tune(request: TuneRequest, tell: Tell, cancel: CancelEvent | None = None) -> tuple[Tuned, Findings]:
    """Measure and decide how the target runs, then which draft is used. `store.keep` stores the result.

    Raises what loading raises, and RaceCancelled soon after `cancel` is set.
    """
    started, cancel = time.monotonic(), cancel or CancelEvent()
    end = started + request.seconds
    load = replace(request.load, unset=(), context=request.load.context or _CONTEXT)
    resolved = replace(ResolvedOptions.read(load), head=None)
    if resolved.draft and resolved.draft.manifest.is_eagle:
        raise SettingsError(
            "Tuning cannot measure {name}, an EAGLE-3 head; choose no draft, or a draft model.",
            name=resolved.draft.manifest.name,
        )
    target, draft = resolved.target.manifest, resolved.draft.manifest if resolved.draft else None
    memory.require(resolved)
    tell(TuningStep(TARGET))
    _try_precisions(resolved, request.seconds * _PRECISION_SHARE, cancel)
    race = _AnswerRace(load, cancel)
    hint, other = _precisions(race.default.target)
    others = settings(_hardware(), load, (hint, other) if other else None, is_device_chosen=request.is_device_chosen)
    left = end - time.monotonic()
    after = (1.0 - _TARGET_SHARE) * left if load.draft or request.drafts else 0.0  # time for the drafts
    first = _stage(TARGET, hint, race, others, end - after, tell)
    load = others.get(first.chosen.name, load)
    tell(TuningStep(DRAFTS))
    again: _AnswerRace | None = race
    if load != race.load:
        seconds = race.seconds
        del race, again  # their memory is needed for the other
        again = _AnswerRace(load, cancel) if time.monotonic() + seconds < end else None
    guessing = drafts(load, request.drafts, draft.shortlist.rows if draft and draft.shortlist else None)
    second = _stage(DRAFTS, "", again, guessing, end, tell)
    load = guessing.get(second.chosen.name, load)
    findings = Findings(
        target=target.name,
        draft=draft.name if draft else None,
        device=devices.full_name(load.device),
        openvino=openvino().get_version(),
        seconds=time.monotonic() - started,
        stages=(first, second),
        when=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    weights = store.weights(load.draft) if load.draft else None
    return Tuned(load.device, load.properties, load.draft, weights, load.draft_vocab), findings


class _AnswerRace:
    """A race between the default and one candidate at a time. Both share the models that they run alike."""

    def __init__(self, load: LoadOptions, cancel: CancelEvent) -> None:
        started = time.monotonic()
        self.load = load
        self.times: dict[str, list[float]] = {}  # milliseconds a token by candidate; "" is the default
        self._cancel = cancel
        self._tokenizer = Tokenizer(load.target)
        self._prompts = read_prompts(2, _KINDS)
        self._models: list[tuple[Path, RunnerConfig, LoadedModel]] = []  # of the default
        self.default = self._engine(load)
        self._modes = {"": self._mode("", self.default)}
        self.seconds = time.monotonic() - started  # until it could be timed

    def compare(self, name: str, load: LoadOptions, number: int) -> Pair | None:
        """Return the times of the default and of a candidate.

        Raises HeadstartError or RuntimeError if a candidate cannot be loaded.
        """
        if name not in self._modes:
            self._modes = {"": self._modes[""]}  # the memory of the one before is needed
            self._modes[name] = self._mode(name, self._engine(load, is_candidate=True))
        spent = {draft: self.answer(number, draft) for draft in (("", name) if number % 2 else (name, ""))}
        base, mine = spent[""], spent[name]
        return None if base is None or mine is None else (base, mine)

    def answer(self, number: int, name: str = "") -> float | None:
        """Return the milliseconds a token of one answer; None if it is too short."""
        raise_if_set(self._cancel)
        spent = self._modes[name].answer(self._prompts[number % len(self._prompts)]).ms_per_token
        if spent is not None:
            self.times.setdefault(name, []).append(spent)
        return spent

    def _mode(self, name: str, engine: LocalEngine) -> OwnMode:
        mode = OwnMode(name, engine, Speculation(), _TOKENS, engine.forget_all, self._cancel)
        mode.answer(self._prompts[0])  # not counted: kernels of new sizes are made, and confidences learned
        return mode

    def _engine(self, load: LoadOptions, *, is_candidate: bool = False) -> LocalEngine:
        resolved = replace(ResolvedOptions.read(load), head=None)
        target = self._model(resolved.target, target_config(resolved), is_candidate=is_candidate)
        if is_candidate and (news := [note for note in target.notes if note not in self.default.target.notes]):
            raise DeviceError(news[0])  # it was refused, and something else was loaded
        draft = None
        if resolved.draft:
            draft = self._model(resolved.draft, draft_config(resolved.draft, load), is_candidate=is_candidate)
        return begin(Models.of(target, self._tokenizer, draft))

    def _model(self, spec: ModelSpec, config: RunnerConfig, *, is_candidate: bool) -> LoadedModel:
        for folder, used, model in self._models:
            if (folder, used) == (spec.folder, config):
                return model
        needed, free = memory.bytes_beside_others(spec.manifest, config.context), memory.free_memory()
        if is_candidate and needed > free:
            raise MemoryBudgetError(
                "It takes about {wanted} of memory, but {free} is free: close other programs and tune again.",
                wanted=memory.amount(needed),
                free=memory.amount(free),
            )
        model = load_model(spec, config)
        if not is_candidate:
            self._models.append((spec.folder, config, model))
        return model


def _stage(
    subject: str, hint: str, race: _AnswerRace | None, candidates: Mapping[str, LoadOptions], end: float, tell: Tell
) -> Stage:
    """Measure and decide one stage; without a race, the time has run out."""
    tell(TuningStep(subject, hint, tuple(candidates)))
    if race is None:
        stage = decide_stage(subject, [CandidateTimes(name) for name in candidates], {})
    else:
        for number in range(0 if candidates or race.times else _MIN_ANSWERS):
            race.answer(number)
        trials = search(
            list(candidates), lambda name, number: race.compare(name, candidates[name], number), end, race.seconds
        )
        stage = decide_stage(subject, trials, {name: statistics.median(times) for name, times in race.times.items()})
    tell(stage)
    return stage


def _try_precisions(resolved: ResolvedOptions, seconds: float, cancel: CancelEvent) -> None:
    """Measure the precisions that loads choose from, within the time. Raises what loading raises, and RaceCancelled."""
    trial = PrecisionTrial()
    timer = threading.Timer(seconds, trial.stop)
    timer.start()
    try:
        with cancel.calling(trial.stop):
            measure_all(resolved, trial, again=True)
    finally:
        timer.cancel()
    raise_if_set(cancel)


def _precisions(target: LoadedModel) -> tuple[str, str | None]:
    """Return the precision of the target, and another one that was measured to be about as fast."""
    hint = precision.hint_of(target.properties)
    figures = pass_times(target.measurements, precision.candidates(target.manifest.precision, "CPU"))
    sums = {name: sum(times.values()) for name, times in figures.items()}
    close = [name for name in sums if name != hint and sums[name] <= _CLOSE * sums.get(hint, 0.0)]
    return hint, min(close, key=lambda name: sums[name], default=None)


def _threads(hardware: Hardware) -> dict[str, Mapping[str, str]]:
    """Return numbers of threads to try.

    OpenVINO takes every physical core; fewer may relieve the memory bus, more may fill it.
    """
    half, candidates = hardware.physical // 2, dict[str, Mapping[str, str]]()
    if half:
        candidates["1 thread" if half == 1 else f"{half} threads"] = {"INFERENCE_NUM_THREADS": str(half)}
    if hardware.logical > hardware.physical:
        candidates[f"{hardware.logical} threads, two a core"] = {
            "INFERENCE_NUM_THREADS": str(hardware.logical),
            "ENABLE_HYPER_THREADING": "YES",
        }
    if hardware.pinning:
        candidates["threads not tied to cores"] = {"ENABLE_CPU_PINNING": "NO"}
    return candidates


def _hardware() -> Hardware:
    logical = devices.cores()
    physical = min(logical, psutil.cpu_count(logical=False) or logical)
    return Hardware(logical, physical, devices.available(), pinning=sys.platform != "darwin")
