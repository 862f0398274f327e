"""What a round is charged to whom: the prompt, and the way back to plain steps."""

import pytest

from headstart.engine.drafters.base import Draft
from headstart.engine.engine import Origin, Timing
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.loss_budget import Books
from headstart.engine.policy.rounds import Outcome, Situation
from tests.engine.rounds import tokens

PLAIN_MS, SWITCH_MS = 60.0, 6.0
HERE = Situation(context=0, remaining=100, lag=1)


@pytest.fixture
def costs() -> Costs:
    """A flat machine on which a change of size costs a tenth of a step."""
    return Costs(Curve({1: PLAIN_MS, 16: PLAIN_MS}, SWITCH_MS), Curve({1: 15.0}, switch_ms=0.0))


def enter(books: Books, costs: Costs, drafter: Origin, ms: float, accepted: int = 0, checked: int = 1) -> None:
    """A round of so many milliseconds, of which a draft model takes 15."""
    draft_ms = 15.0 if drafter is Origin.DRAFT else 0.0
    draft = Draft(tokens(checked), (0.9,) * checked if draft_ms else ())
    timing = Timing(draft_ms, ms - draft_ms)
    books.enter(Outcome(HERE, drafter, draft, draft, range(accepted + 1), timing), costs)


def step(books: Books, costs: Costs, ms: float) -> None:
    """A plain one."""
    enter(books, costs, Origin.TARGET, ms, checked=0)


def test_plain_steps_earn_and_lose_nothing(costs: Costs) -> None:
    books = Books()
    for ms in (66.0, 60.0, 85.0, 60.0):
        step(books, costs, ms)
    assert books.earned_ms == 0.0
    assert books.emitted == 4


def test_the_first_round_is_compared_with_a_plain_step_behind_a_prompt(costs: Costs) -> None:
    books = Books()
    enter(books, costs, Origin.DRAFT, 81.0, accepted=1)
    assert books.earned_ms == pytest.approx(PLAIN_MS + SWITCH_MS + PLAIN_MS - 81.0)


def test_the_way_back_to_plain_steps_is_charged_to_who_guessed(costs: Costs) -> None:
    books = Books()
    step(books, costs, 66.0)
    enter(books, costs, Origin.NGRAM, 66.0)
    assert books.earned_ms == pytest.approx(PLAIN_MS - 66.0)
    step(books, costs, 66.0)
    step(books, costs, 60.0)
    assert books.earned_ms == pytest.approx(PLAIN_MS - 66.0 - SWITCH_MS)
    assert books.accounts[Origin.DRAFT].earned_ms == 0.0
