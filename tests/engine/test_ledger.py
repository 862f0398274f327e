"""The ledger's promise: whatever happens, little is lost against plain decoding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.engine.policy.loss_budget import Ledger

ALLOWANCE = 2.5  # plain steps
PLAIN_MS = 70.0


def lose(ledger: Ledger, steps: float) -> None:
    """A round that costs so many plain steps more than it gives."""
    ledger.book(tokens=1, ms=(1 + steps) * PLAIN_MS, plain_ms=PLAIN_MS)


def test_a_pause_begins_where_the_allowance_is_spent() -> None:
    ledger = Ledger(ALLOWANCE)
    lose(ledger, 1.5)
    assert (ledger.open, ledger.credit) == (True, 1.0)
    lose(ledger, 1.0)
    assert (ledger.open, ledger.balance, ledger.pauses) == (False, -2.5, 1)
    assert ledger.earned_ms == -2.5 * PLAIN_MS


def test_after_sixteen_tokens_it_tries_again_and_may_lose_another_step() -> None:
    ledger = Ledger(ALLOWANCE)
    lose(ledger, ALLOWANCE)
    ledger.wait(15)
    assert not ledger.open
    ledger.wait(1)
    assert ledger.open
    assert ledger.credit == pytest.approx(1.0)


def test_a_large_debt_prolongs_the_pause() -> None:
    ledger = Ledger(ALLOWANCE)
    lose(ledger, ALLOWANCE + 3.0)
    ledger.wait(16)
    assert (ledger.open, ledger.pauses) == (False, 2)


def test_pauses_grow_up_to_256_tokens() -> None:
    assert pauses(Ledger(ALLOWANCE), 5) == [16, 64, 256, 256, 256]


def test_gains_are_kept_for_later_tries() -> None:
    ledger = Ledger(ALLOWANCE)
    ledger.book(tokens=10, ms=4 * PLAIN_MS, plain_ms=PLAIN_MS)
    lose(ledger, ALLOWANCE + 5.0)
    assert ledger.open


def test_an_investment_is_allowed_on_top() -> None:
    ledger = Ledger(ALLOWANCE)
    ledger.invest(7.0)
    lose(ledger, ALLOWANCE + 6.0)
    assert ledger.open


def pauses(ledger: Ledger, count: int) -> list[int]:
    """How long the next pauses are."""
    lengths: list[int] = []
    for _ in range(count):
        lose(ledger, ledger.credit)
        lengths.append(0)
        while not ledger.open:
            ledger.wait(1)
            lengths[-1] += 1
    return lengths


@given(
    rounds=st.lists(
        st.tuples(st.integers(1, 17), st.floats(0.0, 5000.0), st.floats(1.0, 500.0), st.booleans()), max_size=300
    )
)
def test_the_loss_is_bounded_for_any_rounds_and_prices(rounds: list[tuple[int, float, float, bool]]) -> None:
    ledger, spent, tokens, longest = Ledger(ALLOWANCE), 0.0, 0, 0.0
    for gained, ms, price, wanted in rounds:
        if wanted and ledger.open:
            ledger.book(gained, ms, price)
            tokens, spent, longest = tokens + gained, spent + ms / price, max(longest, ms / price)
        else:
            ledger.wait(1)
            tokens, spent = tokens + 1, spent + 1.0
        assert spent <= tokens + ledger.allowance + longest + 1e-6
    assert ledger.pauses <= 3 + tokens / 16


@pytest.mark.parametrize("loss", [0.02, 0.4, 4.0])
def test_a_drafter_that_always_loses_costs_less_and_less(loss: float) -> None:
    ledger, lost = Ledger(ALLOWANCE), 0.0
    for _ in range(3000):
        if ledger.open:
            lose(ledger, loss)
            lost += loss
        else:
            ledger.wait(1)
    assert ledger.pauses <= 3 + 3000 / 256
    assert lost <= ALLOWANCE + 2.0 * ledger.pauses + loss
    assert lost <= 0.015 * 3000
