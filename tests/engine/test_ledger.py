"""The ledger's promise: whatever happens, little is lost against plain decoding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.engine.ledger import Ledger

ALLOWANCE = 170.0


def test_a_pause_begins_where_the_allowance_is_spent() -> None:
    ledger = Ledger(ALLOWANCE)
    ledger.book(tokens=1, ms=170.0, price_ms=70.0)
    assert ledger.open
    ledger.book(tokens=1, ms=140.0, price_ms=70.0)
    assert (ledger.open, ledger.balance_ms, ledger.pauses) == (False, -170.0, 1)


def test_after_eight_tokens_it_tries_again_and_may_lose_forty_more() -> None:
    ledger = Ledger(ALLOWANCE)
    ledger.book(tokens=1, ms=70.0 + ALLOWANCE, price_ms=70.0)
    ledger.wait(7)
    assert not ledger.open
    ledger.wait(1)
    assert ledger.open
    assert ledger.allowance_ms == ALLOWANCE + 40.0


def test_pauses_double_up_to_128_tokens() -> None:
    ledger = Ledger(ALLOWANCE)
    lengths: list[int] = []
    for _ in range(7):
        ledger.book(tokens=0, ms=1000.0, price_ms=70.0)
        waited = 0
        while ledger.pauses == len(lengths) + 1 and not ledger.open:
            ledger.wait(1)
            waited += 1
        lengths.append(waited)
    assert lengths == [8, 16, 32, 64, 128, 128, 128]


def test_gains_are_kept_for_later_tries() -> None:
    ledger = Ledger(ALLOWANCE)
    ledger.book(tokens=10, ms=300.0, price_ms=70.0)
    ledger.book(tokens=1, ms=600.0, price_ms=70.0)
    assert ledger.open


def test_an_investment_is_allowed_on_top() -> None:
    ledger = Ledger(ALLOWANCE)
    ledger.invest(500.0)
    ledger.book(tokens=1, ms=600.0, price_ms=70.0)
    assert ledger.open


@given(
    price=st.floats(1.0, 500.0),
    rounds=st.lists(st.tuples(st.integers(1, 17), st.floats(0.0, 5000.0), st.booleans()), max_size=300),
)
def test_the_loss_is_bounded_for_any_rounds_and_prices(price: float, rounds: list[tuple[int, float, bool]]) -> None:
    ledger, total, tokens, longest = Ledger(ALLOWANCE), 0.0, 0, 0.0
    for gained, ms, wanted in rounds:
        if wanted and ledger.open:
            ledger.book(gained, ms, price)
            tokens, total, longest = tokens + gained, total + ms, max(longest, ms)
        else:
            ledger.wait(1)
            tokens, total = tokens + 1, total + price
        assert total <= price * tokens + ledger.allowance_ms + longest + 1e-6
    assert ledger.pauses <= 6 + tokens / 128
    assert ledger.allowance_ms <= ALLOWANCE + 40.0 * ledger.pauses


@pytest.mark.parametrize("loss", [1.0, 30.0, 300.0])
def test_a_drafter_that_always_loses_costs_less_and_less(loss: float) -> None:
    ledger, lost = Ledger(ALLOWANCE), 0.0
    for _ in range(3000):
        if ledger.open:
            ledger.book(1, 70.0 + loss, 70.0)
            lost += loss
        else:
            ledger.wait(1)
    assert lost <= ALLOWANCE + 40.0 * ledger.pauses + loss
    assert ledger.pauses <= 5 + 3000 / 128
