"""From models to the fastest way to run them here: target, then drafts, then the draft's own settings."""

import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import psutil

from headstart import manifest as manifests
from headstart import paths
from headstart.engine import budget, devices, machine, precision, room, shortlist, tuned
from headstart.engine.bench.race import raise_if_set
from headstart.engine.engine import Numerics
from headstart.engine.loading import LoadedModel, Place, load_model, measure, pass_times
from headstart.engine.local import LocalEngine, draft_place, joined, target_place
from headstart.engine.runtime import openvino
from headstart.engine.tokenizer import Tokenizer
from headstart.engine.tuned import Tuned
from headstart.engine.tuning.answers import AnswerRace
from headstart.engine.tuning.candidates import Guesser, Hardware, Setting, heads, settings
from headstart.engine.tuning.findings import (
    ANSWER,
    DEFAULT,
    DRAFT,
    DRAFTS,
    TARGET,
    Findings,
    Stage,
    Trying,
    reasons,
    stage,
)
from headstart.engine.tuning.halving import Deadline, halve
from headstart.engine.tuning.messages import TuneWish
from headstart.engine.tuning.passes import DRAFT_PASSES, TARGET_PASSES, PassRace
from headstart.engine.validation import Trial
from headstart.errors import MemoryBudgetError

_PASS_TURNS = (3, 6, 12)  # pairs
_ANSWER_TURNS = (3, 4, 8)
_LEAST_DEFAULTS = 5  # runs of the default where there is nothing to compare it with
_LOOK = 0.2  # seconds between two looks at `cancel` while a child process works
_CONTEXT = 2048  # tokens; longer than any prompt here, shorter than what fills a memory
_TARGET_PART, _ANSWER_PART = 0.4, 0.7  # of the time that is left


@dataclass(frozen=True)
class Watch:
    """Who is told what goes on, and who may end it: soon after `cancel` is set, RaceCancelled is raised."""

    stage: Callable[[str], None]  # all of it, in words
    cancel: threading.Event = field(default_factory=threading.Event)
    trying: Callable[[Trying], None] = lambda _: None
    decided: Callable[[Stage], None] = lambda _: None


def tune(wish: TuneWish, watch: Watch) -> tuple[Tuned, Findings]:
    """Measure and decide. Keeps nothing: that is `tuned.keep`. Raises what loading raises, and RaceCancelled."""
    return _Tuning(wish, watch).run()


class _Tuning:
    """The state between the stages."""

    def __init__(self, wish: TuneWish, watch: Watch) -> None:
        load = replace(wish.load, open=(), numerics=Numerics.FAST, context=wish.load.context or _CONTEXT)
        self._wish, self._watch, self._load = wish, watch, load
        self._started = time.monotonic()
        self._deadline = Deadline(wish.seconds)
        self._measured = paths.measurements_folder()
        self._stages: list[Stage] = []

    def run(self) -> tuple[Tuned, Findings]:
        """All stages, each with what the ones before it chose."""
        self._require_room()
        watch = self._watch
        self._tell(Trying(TARGET))
        self._try_precisions(self._load.target, self._load.device)
        target = load_model(self._load.target, target_place(self._load), self._measured)
        self._decide_target(target)
        raise_if_set(watch.cancel)
        if self._load.properties or self._load.device != self._wish.load.device:
            del target  # its memory is needed for the other
            target = load_model(self._load.target, target_place(self._load), self._measured)
        self._decide_draft(target)
        del target
        raise_if_set(watch.cancel)
        if self._load.draft is not None:
            self._decide_draft_settings(self._load.draft)
        why = reasons(self._stages)
        return self._chosen(why), self._findings(why)

    def _require_room(self) -> None:
        draft = manifests.read_model(self._load.draft) if self._load.draft else None
        room.require(manifests.read_model(self._load.target), draft, self._load)

    def _decide_target(self, target: LoadedModel) -> None:
        name, chosen = self._race_passes(TARGET, self._load.target, target, target_place(self._load), TARGET_PASSES)
        if name != DEFAULT:
            self._load = replace(self._load, device=chosen.device, properties=chosen.properties)

    def _decide_draft_settings(self, folder: Path) -> None:
        self._tell(Trying(DRAFT))
        place = draft_place(folder, self._load)
        self._try_precisions(folder, place.device)
        name, chosen = self._race_passes(DRAFT, folder, load_model(folder, place, self._measured), place, DRAFT_PASSES)
        if name != DEFAULT:
            elsewhere = None if chosen.device == self._load.device else chosen.device
            self._load = replace(self._load, draft_device=elsewhere, draft_properties=chosen.properties)

    def _try_precisions(self, folder: Path, device: str) -> None:
        """What a later load chooses among. Raises what loading raises, and RaceCancelled."""
        trial = Trial()
        with ThreadPoolExecutor(1, "trial") as beside:
            done = beside.submit(measure, folder, device, trial)
            while not wait([done], timeout=_LOOK).done:
                if self._watch.cancel.is_set():
                    trial.stop()
            done.result()
        raise_if_set(self._watch.cancel)

    def _race_passes(
        self, subject: str, folder: Path, default: LoadedModel, place: Place, passes: tuple[int, ...]
    ) -> tuple[str, Setting]:
        hint = precision.hint_of(default.properties)
        figures = pass_times(default.measurements, precision.candidates(default.manifest.precision.activation_group))
        candidates = settings(_hardware(), place.device.upper(), figures, hint, placed=self._wish.placed)
        race = PassRace(folder, default, place, candidates, self._measured, passes, self._watch.cancel)
        self._tell(Trying(subject, hint, tuple(candidates)))
        for _ in range(0 if candidates else _LEAST_DEFAULTS):
            race.sample_default()
        share = self._deadline.part(_TARGET_PART if subject == TARGET else 1.0)
        trials = halve(list(candidates), race.compare, share, _PASS_TURNS)
        ms = {name: _by_tokens(race.medians(name)) for name in ["", *candidates]}
        decided = self._note(stage(subject, trials, ms))
        return decided, candidates.get(decided, Setting(place.device, place.properties))

    def _decide_draft(self, target: LoadedModel) -> None:
        self._tell(Trying(DRAFTS))
        candidates = self._guessers()
        engines: dict[str, Callable[[], LocalEngine]] = {"": partial(self._engine, target, Guesser(self._load.draft))}
        engines |= {name: partial(self._engine, target, guesser) for name, guesser in candidates.items()}
        race = AnswerRace(engines, self._watch.cancel)
        self._tell(Trying(DRAFTS, against=tuple(candidates)))
        for number in range(0 if candidates else _LEAST_DEFAULTS):
            race.sample_default(number)
        trials = halve(list(candidates), race.compare, self._deadline.part(_ANSWER_PART), _ANSWER_TURNS)
        medians = {name: race.median(name) for name in engines}
        ms = {name: {ANSWER: median} for name, median in medians.items() if median is not None}
        chosen = candidates.get(self._note(stage(DRAFTS, trials, ms)))
        if chosen is not None:
            self._load = replace(self._load, draft=chosen.folder, draft_vocab=chosen.rows)

    def _guessers(self) -> dict[str, Guesser]:
        default = self._load.draft
        found = {
            f"the draft {name}": Guesser(folder) for name, folder in self._wish.drafts.items() if folder != default
        }
        if default is not None:
            listed = manifests.read_model(default).shortlist
            ranked = shortlist.read(default, manifests.read_model(default), sys.maxsize) if listed else None
            found |= heads(default, None if ranked is None else ranked.size, listed.rows if listed else None)
            found["no draft model"] = Guesser(None)
        return found

    def _engine(self, target: LoadedModel, guesser: Guesser) -> LocalEngine:
        draft = self._draft(guesser) if guesser.folder else None
        return joined(target, draft, Tokenizer(self._load.target))

    def _draft(self, guesser: Guesser) -> LoadedModel:
        assert guesser.folder is not None
        wanted, free = budget.share(manifests.read_model(guesser.folder), self._load.context), room.free_memory()
        if wanted > free:
            raise MemoryBudgetError(
                f"It takes about {room.amount(wanted)} of memory, but {room.amount(free)} is free: "
                "close other programs and tune again."
            )
        place = replace(draft_place(guesser.folder, self._load), rows=guesser.rows)
        return load_model(guesser.folder, place, self._measured)

    def _tell(self, trying: Trying) -> None:
        self._watch.stage(trying.sentence)
        self._watch.trying(trying)

    def _note(self, decided: Stage) -> str:
        self._stages.append(decided)
        self._watch.decided(decided)
        self._watch.stage(reasons([decided])[0])
        return decided.chosen.name

    def _chosen(self, why: tuple[str, ...]) -> Tuned:
        load = self._load
        return Tuned(
            device=load.device,
            properties=load.properties,
            draft=load.draft,
            draft_weights=tuned.weights(load.draft) if load.draft else None,
            draft_device=load.draft_device,
            draft_properties=load.draft_properties,
            draft_vocab=load.draft_vocab,
            reasons=why,
        )

    def _findings(self, why: tuple[str, ...]) -> Findings:
        draft = self._wish.load.draft
        return Findings(
            target=manifests.read_model(self._load.target).name,
            draft=manifests.read_model(draft).name if draft else None,
            device=devices.full_name(self._load.device),
            openvino=openvino().get_version(),
            seconds=time.monotonic() - self._started,
            stages=tuple(self._stages),
            reasons=why,
            when=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def _hardware() -> Hardware:
    logical = machine.cores()
    physical = min(logical, psutil.cpu_count(logical=False) or logical)
    return Hardware(logical, physical, devices.available(), pinning=sys.platform != "darwin")


def _by_tokens(medians: Mapping[int, float]) -> Mapping[str, float]:
    return {"1 token" if tokens == 1 else f"{tokens} tokens": ms for tokens, ms in medians.items()}
