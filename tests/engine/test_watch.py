"""When a silent engine counts as hung, in made-up seconds: by what it does, and not for a computer that slept."""

from pathlib import Path

import pytest

from headstart.engine.engine import (
    EngineKind,
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Origin,
    Prefill,
    Remote,
    Request,
    Round,
    Step,
    Tally,
    Timing,
)
from headstart.engine.process.watch import _PASS, LOOK, Doing, Patience, Silence, Watch
from headstart.engine.protocol import (
    Bench,
    BenchSize,
    Cancel,
    Counted,
    CountTokens,
    Facts,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    Prefilled,
    Ready,
    Stepped,
    TurnEnded,
    TurnTaken,
)
from headstart.engine.runners.runner import PREFILL_CHUNK
from headstart.errors import Translatable

QUESTION = Generate(1, Request((Message("user", "hello"),)))
STEP = Stepped(1, Step("a", Round((), 0, 0, Origin.TARGET, Timing())))
END = Finished(1, Finish(FinishReason.STOP, Tally().stats(plain_ms=None, ledger_ms=0.0, context_length=0), ()))
P = Patience()


class Engine:
    """A watch with the time in our hands; the process uses `share` of a core."""

    def __init__(self, facts: Facts | None = None, share: float = 0.0) -> None:
        self.now = self.used = 0.0
        self.share = share
        self.watch = Watch(P, lambda: self.now)
        self.watch.note_report(Ready(1, "1"))
        self.watch.note_order(Load(LoadOptions(Path("nowhere"))))
        self.watch.note_report(Loaded(facts or Facts("toy", None, "CPU", "fast", 100)))

    def silent(self, seconds: float) -> Silence | None:
        """What the looks of so many seconds say."""
        ends = self.now + seconds
        while self.now < ends:
            self.now += LOOK
            self.used += LOOK * self.share
            found = self.watch.look(lambda: self.used)
            if found:
                return found
        return None

    def hangs_after(self) -> float:
        """Seconds until it counts as hung."""
        found = self.silent(10**6)
        assert found
        return found.seconds


def test_an_engine_without_work_may_be_silent() -> None:
    engine = Engine()
    assert engine.watch.is_idle
    engine.watch.note_order(CountTokens(1))
    engine.watch.note_order(Cancel(1))
    assert engine.silent(10**5) is None


def test_a_silent_round_is_a_hang_and_a_sentence() -> None:
    engine = Engine()
    engine.watch.note_order(QUESTION)
    engine.watch.note_report(STEP)
    assert engine.silent(P.round) is None
    found = engine.silent(2 * LOOK)
    assert found == Silence(Doing.WRITE, P.round + LOOK)
    assert found.sentence == (
        "The engine gave no sign for 61 seconds while writing the answer, so it was ended; "
        "it starts again when it is needed."
    )


def test_every_sign_begins_the_wait_anew() -> None:
    engine = Engine()
    engine.watch.note_order(QUESTION)
    for _ in range(5):
        engine.watch.note_report(STEP)
        assert engine.silent(P.round - LOOK) is None
    engine.watch.note_report(END)
    assert engine.silent(10**5) is None


def test_tokens_that_are_counted_beside_it_are_no_sign() -> None:
    engine = Engine()
    engine.watch.note_order(QUESTION)
    engine.silent(P.round - LOOK)
    engine.watch.note_report(Counted(1, 2, 3))
    engine.watch.note_report(Failed("SettingsError", Translatable("No."), order="CountTokens"))
    assert engine.hangs_after() == pytest.approx(P.round + LOOK)


def test_an_answer_of_the_local_server_counts_as_work() -> None:
    engine = Engine()
    engine.watch.note_report(TurnTaken(Prefill(0, 100)))
    assert not engine.watch.is_idle
    engine.watch.note_order(QUESTION)  # which waits for its turn
    for _ in range(5):
        assert engine.silent(P.round) is None
        engine.watch.note_report(TurnTaken())
    assert engine.silent(P.round + 2 * LOOK)
    engine.watch.note_report(TurnEnded())
    assert engine.silent(P.round) is None
    engine.watch.note_report(END)
    assert engine.watch.is_idle
    assert engine.silent(10**5) is None


@pytest.mark.parametrize(("kind", "tokens"), [(EngineKind.HEADSTART, _PASS), (EngineKind.GENAI, 4000)])
def test_a_long_prompt_may_take_its_time(kind: EngineKind, tokens: int) -> None:
    engine = Engine(Facts("toy", None, "CPU", "fast", 8192, engine=kind.value))
    engine.watch.note_order(QUESTION)
    engine.watch.note_report(Prefilled(1, Prefill(0, 4000)))
    assert engine.hangs_after() == pytest.approx(P.round + P.token * tokens + LOOK, abs=LOOK)
    assert _PASS >= PREFILL_CHUNK


def test_a_draft_may_read_the_prompt_in_any_round() -> None:
    engine = Engine(Facts("toy", "draft", "CPU", "fast", 8192))
    engine.watch.note_order(QUESTION)
    engine.watch.note_report(Prefilled(1, Prefill(0, 400)))
    engine.watch.note_report(STEP)
    assert engine.hangs_after() == pytest.approx(P.round + 400 * P.token + LOOK, abs=LOOK)


def test_a_process_that_computes_is_slow_before_it_is_hung() -> None:
    engine = Engine(share=0.5)
    engine.watch.note_order(QUESTION)
    assert engine.hangs_after() == pytest.approx(P.computing * P.round + LOOK)


def test_large_models_may_take_longer_to_load(tmp_path: Path) -> None:
    with (tmp_path / "model.bin").open("wb") as stream:
        stream.truncate(10**9)
    for folder, allowed in ((tmp_path, P.load + P.gigabyte), (tmp_path / "none", P.load)):
        engine = Engine()
        engine.watch.note_order(Load(LoadOptions(folder)))
        found = engine.silent(10**5)
        assert found == Silence(Doing.LOAD, allowed + LOOK)


def test_a_benchmark_may_be_silent_for_a_heat() -> None:
    engine = Engine()
    engine.watch.note_order(Bench(1, BenchSize(1, 2, 1, with_peer=False)))
    assert engine.silent(10**5) == Silence(Doing.MEASURE, P.measuring + LOOK)


def test_other_computers_have_limits_of_their_own() -> None:
    engine = Engine(Facts("far", None, "", "", 0, server="office"))
    engine.watch.note_order(QUESTION)
    assert engine.silent(5000) is None
    engine.watch.note_report(END)
    engine.watch.note_order(Load(LoadOptions(Path("far"), remote=Remote("office", "https://office/v1"))))
    assert engine.silent(5000) is None


def test_a_computer_that_slept_or_a_stopped_window_is_no_hang() -> None:
    engine = Engine()
    engine.watch.note_order(QUESTION)
    engine.watch.note_report(STEP)
    for _ in range(10):
        engine.now += 8 * 3600.0  # this side stood still as well
        assert engine.silent(LOOK) is None
    assert engine.silent(P.round / 2) is None
    assert engine.silent(P.round)


def test_a_clock_that_goes_back_gives_no_sign_and_takes_none() -> None:
    engine = Engine()
    engine.watch.note_order(QUESTION)
    assert engine.silent(10 * LOOK) is None
    engine.now -= 5.0
    assert engine.silent(P.round - 20 * LOOK) is None
    assert engine.silent(P.round)


def test_what_failed_is_not_waited_for() -> None:
    engine = Engine()
    engine.watch.note_order(QUESTION)
    engine.watch.note_report(Failed("EngineLostError", Translatable("No."), order="Generate", generation=1))
    assert engine.watch.is_idle
    engine.watch.note_order(QUESTION)
    engine.watch.note_report(Failed("ProtocolError", Translatable("Unreadable.")))
    assert engine.watch.is_idle


def test_a_program_that_says_nothing_at_its_start_hangs() -> None:
    engine = Engine()
    engine.watch = Watch(P, lambda: engine.now)
    engine.watch.note_order(QUESTION)
    assert engine.silent(10**4) == Silence(Doing.START, P.start + LOOK)
