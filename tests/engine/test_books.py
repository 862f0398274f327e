"""What a round is charged to whom: hiccups, the prompt, and the way back to plain steps."""

import pytest

from headstart.engine.books import Books
from headstart.engine.costs import Costs, Curve
from headstart.engine.engine import Origin
from headstart.engine.rounds import Outcome, Plan, Situation

PLAIN_MS, SWITCH_MS = 60.0, 6.0
HERE = Situation(context=0, remaining=100, draft_lag=1)


@pytest.fixture
def costs() -> Costs:
    """A flat machine on which a change of size costs a tenth of a step."""
    known = Costs(Curve({1: PLAIN_MS, 16: PLAIN_MS}, SWITCH_MS), Curve({1: 15.0}, switch_ms=0.0))
    known.assume_around(0.0)
    return known


def drafted(ms: float, accepted: int = 1) -> Outcome:
    return Outcome(accepted + 1, 1, accepted, verify_ms=ms - 15.0, draft_ms=15.0, confidences=(0.9,))


def plain(ms: float) -> Outcome:
    return Outcome(1, 0, 0, verify_ms=ms)


def enter(books: Books, costs: Costs, drafter: Origin, outcome: Outcome) -> None:
    books.enter(Plan(drafter, outcome.verified), HERE, outcome, costs)


def test_plain_steps_earn_and_lose_nothing(costs: Costs) -> None:
    books = Books()
    for ms in (66.0, 60.0, 85.0, 60.0):
        enter(books, costs, Origin.TARGET, plain(ms))
    assert books.earned_ms == 0.0
    assert books.emitted == 4


def test_the_first_round_is_compared_with_a_plain_step_behind_a_prompt(costs: Costs) -> None:
    books = Books()
    enter(books, costs, Origin.DRAFT, drafted(81.0))
    assert books.earned_ms == pytest.approx(PLAIN_MS + SWITCH_MS + PLAIN_MS - 81.0)


def test_the_way_back_to_plain_steps_is_charged_to_who_guessed(costs: Costs) -> None:
    books = Books()
    enter(books, costs, Origin.TARGET, plain(66.0))
    enter(books, costs, Origin.NGRAM, Outcome(1, 1, 0, verify_ms=66.0))
    assert books.earned_ms == pytest.approx(PLAIN_MS - 66.0)
    enter(books, costs, Origin.TARGET, plain(66.0))
    enter(books, costs, Origin.TARGET, plain(60.0))
    assert books.earned_ms == pytest.approx(PLAIN_MS - 66.0 - SWITCH_MS)
    assert books.accounts[Origin.DRAFT].earned_ms == 0.0


def test_a_hiccup_is_booked_only_in_part(costs: Costs) -> None:
    books = Books()
    enter(books, costs, Origin.TARGET, plain(66.0))
    enter(books, costs, Origin.DRAFT, drafted(5000.0))
    assert books.earned_ms > -200.0


def test_ngrams_have_a_pace_of_their_own(costs: Costs) -> None:
    books = Books()
    for _ in range(30):
        enter(books, costs, Origin.NGRAM, Outcome(11, 10, 10, verify_ms=100.0))
        enter(books, costs, Origin.DRAFT, drafted(80.0))
    slow = books.pace.within(0.0, 1 / PLAIN_MS, 1.0)
    fast = books.ngram_pace.within(0.0, 1 / PLAIN_MS, 1.0)
    assert slow == pytest.approx(2 / 80, rel=0.1)
    assert fast == pytest.approx(11 / 100, rel=0.15)


def test_the_share_of_ngrams_needs_some_tokens_to_count(costs: Costs) -> None:
    books = Books()
    enter(books, costs, Origin.NGRAM, Outcome(2, 1, 1, verify_ms=60.0))
    assert books.ngram_share < 0.25
    for _ in range(20):
        enter(books, costs, Origin.NGRAM, Outcome(11, 10, 10, verify_ms=100.0))
    assert books.ngram_share > 0.9
