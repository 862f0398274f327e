"""Statistics of an answer, from rounds whose figures are known."""

import itertools

import pytest

from headstart.engine.engine import Origin, Prefill, Round, Tally, Timing, Token

TARGET, DRAFT, NGRAM = Origin.TARGET, Origin.DRAFT, Origin.NGRAM


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is a quarter of a second after the one before."""
    readings = itertools.count()
    monkeypatch.setattr("headstart.engine.engine.time.perf_counter", lambda: next(readings) / 4)


def round_of(*origins: Origin, drafted: int = 0, accepted: int = 0, timing: Timing | None = None) -> Round:
    tokens = tuple(Token(place, origin) for place, origin in enumerate(origins))
    return Round(tokens, drafted, accepted, origins[0] if origins else TARGET, timing or Timing())


@pytest.mark.usefixtures("clock")
def test_rounds_are_added_up() -> None:
    counted = Tally()
    counted.read(Prefill(7, 30))
    counted.read(Prefill(30, 30))
    counted.add(round_of(TARGET, timing=Timing(other_ms=1.0)))
    counted.add(round_of(DRAFT, DRAFT, TARGET, drafted=4, accepted=2, timing=Timing(10.0, 20.0, 3.0)))
    counted.add(round_of(NGRAM, TARGET, drafted=3, accepted=1, timing=Timing(0.0, 22.0, 1.0)))
    stats = counted.stats(plain_ms=18.75, ledger_ms=-4.0, context_length=100)
    assert (stats.prompt_tokens, stats.reused_tokens, stats.output_tokens) == (30, 7, 6)
    assert (stats.rounds, stats.drafted, stats.accepted) == (2, 7, 3)  # the prompt's own pass is no round
    assert stats.by_origin == {"target": 3, "draft": 2, "n-gram": 1}
    assert stats.by_part == {"draft": 10.0, "verify": 42.0, "other": 5.0}
    assert (stats.ttft_ms, stats.decode_ms) == (250.0, 500.0)
    assert stats.plain_ms == pytest.approx((500.0 - 4.0) / 5)
    assert stats.ledger_ms == -4.0
    assert (stats.context_used, stats.context_length) == (36, 100)
    assert stats.tpot_ms == 100.0
    assert stats.tokens_per_second == 10.0
    assert stats.acceptance_rate == pytest.approx(3 / 7)
    assert stats.mean_accepted_length == 2.5
    assert stats.speedup == pytest.approx(496 / 500)


def test_an_answer_cancelled_before_its_first_token_has_no_rates() -> None:
    stats = Tally().stats(plain_ms=None, ledger_ms=0.0, context_length=100)
    assert (stats.prompt_tokens, stats.output_tokens, stats.rounds, stats.context_used) == (0, 0, 0, 0)
    assert stats.ttft_ms == stats.decode_ms == 0.0
    assert stats.tpot_ms is stats.tokens_per_second is stats.acceptance_rate is stats.speedup is None
    assert stats.mean_accepted_length is None


def test_one_token_has_no_time_between_tokens() -> None:
    counted = Tally()
    counted.add(round_of(TARGET))
    stats = counted.stats(plain_ms=70.0, ledger_ms=0.0, context_length=100)
    assert stats.tpot_ms is stats.tokens_per_second is stats.speedup is None
    assert (stats.rounds, stats.mean_accepted_length) == (0, None)


def test_no_more_of_a_context_is_used_than_there_is() -> None:
    counted = Tally()
    counted.read(Prefill(0, 99))
    counted.add(round_of(TARGET))
    counted.add(round_of(TARGET))  # the last token of a full context is written, but never read
    assert counted.stats(plain_ms=None, ledger_ms=0.0, context_length=100).context_used == 100


@pytest.mark.parametrize("ledger_ms", [-30.0, 0.0, 0.5, 900.0])
def test_the_speedup_tells_what_the_ledger_tells(ledger_ms: float) -> None:
    tally = Tally()
    for _ in range(3):  # the first is the prompt's own pass
        tally.add(Round((Token(1, Origin.NGRAM), Token(2, Origin.TARGET)), 1, 1, Origin.NGRAM, Timing(0.0, 10.0, 0.0)))
    stats = tally.stats(plain_ms=40.0, ledger_ms=ledger_ms, context_length=64)
    assert stats.speedup == pytest.approx(1 + ledger_ms / stats.decode_ms)


def test_without_guesses_a_plain_step_costs_what_the_policy_says() -> None:
    tally = Tally()
    for _ in range(3):
        tally.add(round_of(TARGET))
    assert tally.stats(plain_ms=40.0, ledger_ms=0.0, context_length=64).plain_ms == 40.0
