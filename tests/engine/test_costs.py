"""Prices of passes: the table, the filter that follows the machine, storage."""

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.engine.policy.cost_model import Costs, Curve

TABLE = {1: 71.0, 2: 72.0, 3: 73.0, 4: 75.0, 6: 82.0, 8: 92.0, 12: 110.0, 16: 140.0}


class TestCurve:
    """Milliseconds of one pass."""

    def test_gives_what_was_measured(self) -> None:
        curve = Curve(TABLE)
        assert [curve.ms(size) for size in TABLE] == pytest.approx(list(TABLE.values()))

    def test_interpolates_between_and_goes_on_beyond(self) -> None:
        curve = Curve(TABLE)
        assert curve.ms(5) == pytest.approx(78.5)
        assert curve.ms(14) == pytest.approx(125.0)
        assert curve.ms(20) == pytest.approx(140.0 + 4 * 7.5)
        assert curve.ms(1000) == pytest.approx(140.0 + 984 * 7.5)

    def test_a_flat_end_of_the_table_does_not_make_long_passes_free(self) -> None:
        assert Curve({1: 10.0, 16: 40.0, 32: 40.0}).ms(64) > 60.0

    def test_a_row_agrees_with_single_questions(self) -> None:
        curve = Curve(TABLE)
        curve.observe(4, 900, 95.0)
        assert curve.row(16, 900) == pytest.approx([curve.ms(m, 900) for m in range(1, 17)])

    @given(st.lists(st.tuples(st.integers(1, 17), st.floats(1.0, 2000.0)), max_size=30))
    def test_stays_monotone_whatever_is_observed(self, seen: list[tuple[int, float]]) -> None:
        curve = Curve(TABLE)
        for tokens, ms in seen:
            curve.observe(tokens, 100, ms)
        row = curve.row(17, 100)
        assert all(a <= b + 1e-9 for a, b in pairwise(row))
        assert row[0] >= 0.0

    def test_follows_a_machine_that_slows_down(self) -> None:
        curve, rng = Curve(TABLE), random.Random(1)
        for _ in range(25):
            tokens = rng.choice((1, 4, 6))
            curve.observe(tokens, 100, 1.6 * TABLE[tokens] * rng.gauss(1, 0.03))
        assert curve.ms(1, 100) == pytest.approx(1.6 * 71.0, rel=0.07)
        assert curve.ms(6, 100) == pytest.approx(1.6 * 82.0, rel=0.07)

    def test_a_single_hiccup_moves_little(self) -> None:
        curve = Curve(TABLE)
        for _ in range(20):
            curve.observe(1, 0, 71.0)
        curve.observe(1, 0, 2000.0)
        assert curve.ms(1) == pytest.approx(71.0, rel=0.05)

    def test_learns_what_a_longer_context_costs(self) -> None:
        curve, rng = Curve(TABLE), random.Random(2)
        for context in [start + step for start in (100, 3000, 200, 4000) * 2 for step in range(50)]:
            curve.observe(1, context, 71.0 * (1 + 0.12 * context / 1000) * rng.gauss(1, 0.03))
        assert curve.ms(1, 4000) == pytest.approx(71.0 * 1.48, rel=0.05)
        assert curve.ms(1, 100) == pytest.approx(71.0 * 1.012, rel=0.05)

    def test_a_table_too_steep_is_corrected_by_what_is_seen(self) -> None:
        curve = Curve({1: 71.0, 2: 80.0, 4: 98.0, 8: 134.0})
        for _ in range(30):
            curve.observe(1, 0, 71.0)
            curve.observe(4, 0, 84.5)
        assert curve.ms(1) == pytest.approx(71.0, rel=0.03)
        assert curve.ms(4) == pytest.approx(84.5, rel=0.03)
        assert curve.ms(8) == pytest.approx(102.5, rel=0.05)

    def test_a_run_of_passes_is_told_apart_from_one(self) -> None:
        curve = Curve({1: 20.0, 8: 34.0})
        for _ in range(30):
            curve.observe(8, 0, 34.0 + 3 * 20.0, singles=3)
        assert curve.ms(1) == pytest.approx(20.0, rel=0.02)
        assert curve.ms(8) == pytest.approx(34.0, rel=0.02)

    def test_a_change_of_size_is_told_apart_from_a_slow_machine(self) -> None:
        curve, rng, last = Curve({1: 9.0, 4: 12.0, 8: 14.5}), random.Random(4), 0
        for _ in range(200):
            tokens = rng.choice((1, 1, 1, 4, 8))
            ms = curve._table[tokens] + (4.4 if tokens != last else 0.0)
            curve.observe(tokens, 0, ms * rng.gauss(1, 0.03), switches=tokens != last)
            last = tokens
        assert curve.ms(1) == pytest.approx(9.0, rel=0.05)
        assert curve.switch_ms == pytest.approx(4.4, rel=0.2)

    @pytest.mark.parametrize("ms", [0.0, -3.0, float("inf"), float("nan")])
    def test_ignores_what_no_clock_says(self, ms: float) -> None:
        curve = Curve(TABLE)
        curve.observe(1, 0, ms)
        assert curve.ms(1) == 71.0

    def test_comes_back_from_storage(self) -> None:
        curve = Curve(TABLE)
        for _ in range(10):
            curve.observe(3, 500, 99.0)
        restored = Curve.from_json(json.loads(json.dumps(curve.to_json())))
        assert restored is not None
        assert restored.switch_ms == pytest.approx(curve.switch_ms)
        assert restored.row(16, 700) == pytest.approx(curve.row(16, 700))

    @pytest.mark.parametrize(
        "data",
        [
            None,
            [],
            "x",
            {},
            {"table": {}, "factors": [1, 1, 0, 0]},
            {"table": {"a": 1}, "factors": [1, 1, 0, 0]},
            {"table": {"1": -1}, "factors": [1, 1, 0, 0]},
            {"table": {"1": float("nan")}, "factors": [1, 1, 0, 0]},
            {"table": {"0": 5.0}, "factors": [1, 1, 0, 0]},
            {"table": {"1": 5.0}, "factors": [1, None, 0, 0]},
            {"table": {"1": 5.0}, "factors": [1, 1, 0]},
        ],
    )
    def test_garbage_in_storage_is_no_curve(self, data: object) -> None:
        assert Curve.from_json(data) is None


class TestCosts:
    """Prices of a round."""

    def test_catching_up_is_what_a_longer_first_pass_costs_more(self) -> None:
        costs = Costs(Curve(TABLE), Curve({1: 20.0, 5: 28.0, 16: 50.0}, switch_ms=0.0))
        assert costs.drafting(1, 0) == pytest.approx((20.0, 0.0))
        assert costs.drafting(5, 0) == pytest.approx((20.0, 8.0))

    def test_reading_more_than_a_token_changes_the_size_there_and_back(self) -> None:
        costs = Costs(Curve(TABLE), Curve({1: 20.0, 5: 28.0}, switch_ms=3.0))
        assert costs.drafting(5, 0) == pytest.approx((20.0, 14.0))

    def test_a_round_of_guesses_changes_the_size_and_a_plain_step_does_not(self) -> None:
        costs = Costs(Curve(TABLE, switch_ms=6.0))
        assert costs.verify(3, 0) == pytest.approx([71.0, 78.0, 79.0])

    def test_a_draft_that_nobody_measured_is_guessed_from_the_target(self) -> None:
        step_ms, _ = Costs(Curve(TABLE)).drafting(1, 0)
        assert 0.2 * 71.0 < step_ms < 0.4 * 71.0

    def test_come_back_from_storage(self) -> None:
        costs = Costs(Curve(TABLE), Curve({1: 20.0, 5: 28.0}))
        costs.target.observe(4, 100, 83.0)
        restored = Costs.from_json(json.loads(json.dumps(costs.to_json())))
        assert restored is not None
        assert restored.verify(8, 50) == pytest.approx(costs.verify(8, 50))
        assert restored.drafting(4, 50) == pytest.approx(costs.drafting(4, 50))

    @pytest.mark.parametrize("data", [None, 3, {"target": 1}, {"target": {}, "draft": {}}])
    def test_garbage_in_storage_is_none(self, data: object) -> None:
        assert Costs.from_json(data) is None
