"""Calibration of acceptance, and prices of passes."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.engine.drafters.base import Draft
from headstart.engine.engine import Origin
from headstart.engine.policy.acceptance import DraftCalibration, FreeCalibration
from headstart.engine.policy.cost_model import Costs, Curve, LastPass
from headstart.engine.policy.stopping import mean
from tests.engine.policy.rounds import TARGET_MS, copied


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


class TestDraft:
    """A draft model's candidates."""

    @given(st.floats(0.0, 1.0), st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), max_size=40))
    def test_chances_stay_between_0_and_1(self, confidence: float, labels: list[tuple[float, bool]]) -> None:
        calibration = DraftCalibration()
        for seen, accepted in labels:
            calibration.learn(seen, accepted=accepted)
        assert 0.0 < calibration.predict(confidence) < 1.0
        assert all(0.0 < chance < 1.0 for spread in calibration.outlook for _, chance in spread)

    def test_calibration_learns_a_biased_draft(self) -> None:
        calibration, rng = DraftCalibration(), random.Random(3)
        for _ in range(2000):
            z = rng.gauss(0.5, 1.5)
            truth = sigmoid(-0.5 + 0.6 * z)
            calibration.learn(sigmoid(z), accepted=rng.random() < truth)
        for z in (-1.0, 0.5, 2.0):
            assert calibration.predict(sigmoid(z)) == pytest.approx(sigmoid(-0.5 + 0.6 * z), abs=0.1)

    def test_outlook_follows_the_confidences(self) -> None:
        calibration = DraftCalibration()
        for _ in range(15):
            calibration.expect([0.2, 0.99])
        first, further = map(mean, calibration.outlook)
        assert first < 0.45
        assert further > 0.8

    def test_calibration_learns_after_thousands_of_labels(self) -> None:
        calibration = DraftCalibration()
        for _ in range(3000):
            calibration.learn(0.8, accepted=True)
        for _ in range(60):
            calibration.learn(0.8, accepted=False)
        assert calibration.predict(0.8) < 0.3


class TestFree:
    """Candidates copied from earlier text, or looked up in a table."""

    def test_calibration_forgets_old_text(self) -> None:
        calibration = FreeCalibration()
        for held in [2] * 500 + [1] * 300:
            calibration.learn(copied(2, 4)[Origin.NGRAM], held, labels=2)
        assert calibration.chances(copied(2, 4)[Origin.NGRAM])[1] < 0.35

    def test_calibration_learns_a_table(self) -> None:
        calibration, offer = FreeCalibration(), Draft((7, 7), (0.9, 0.4))
        assert calibration.chances(offer) == pytest.approx([0.54, 0.24])
        for _ in range(100):
            calibration.learn(offer, accepted=1, labels=2)
        sure, unsure = calibration.chances(offer)
        assert sure > 0.9
        assert unsure < 0.1


class TestCurve:
    """Milliseconds of one pass."""

    def test_curve_interpolates_and_extrapolates(self) -> None:
        curve = Curve(TARGET_MS)
        assert curve.ms(5) == pytest.approx(78.5)
        assert curve.ms(14) == pytest.approx(125.0)
        assert curve.ms(20) == pytest.approx(140.0 + 4 * 7.5)
        assert curve.ms(1000) == pytest.approx(140.0 + 984 * 7.5)

    def test_flat_end_of_a_curve_is_extrapolated_upwards(self) -> None:
        assert Curve({1: 10.0, 16: 40.0, 32: 40.0}).ms(64) > 60.0

    @given(st.lists(st.tuples(st.integers(1, 17), st.floats(1.0, 2000.0)), max_size=30))
    def test_curve_stays_monotone(self, seen: list[tuple[int, float]]) -> None:
        curve = Curve(TARGET_MS)
        for tokens, ms in seen:
            curve.observe(tokens, 100, ms)
        row = curve.row(17, 100)
        assert all(a <= b + 1e-9 for a, b in pairwise(row))
        assert row[0] >= 0.0

    def test_single_outlier_moves_a_curve_little(self) -> None:
        curve = Curve(TARGET_MS)
        for _ in range(20):
            curve.observe(1, 0, 71.0)
        curve.observe(1, 0, 2000.0)
        assert curve.ms(1) == pytest.approx(71.0, rel=0.05)

    def test_observations_correct_a_steep_curve(self) -> None:
        curve = Curve({1: 71.0, 2: 80.0, 4: 98.0, 8: 134.0})
        for _ in range(30):
            curve.observe(1, 0, 71.0)
            curve.observe(4, 0, 84.5)
        assert curve.ms(1) == pytest.approx(71.0, rel=0.03)
        assert curve.ms(4) == pytest.approx(84.5, rel=0.03)
        assert curve.ms(8) == pytest.approx(102.5, rel=0.05)

    def test_curve_learns_the_price_of_context(self) -> None:
        curve, rng = Curve(TARGET_MS), random.Random(2)
        for context in [start + step for start in (100, 3000, 200, 4000) * 2 for step in range(50)]:
            curve.observe(1, context, 71.0 * (1 + 0.12 * context / 1000) * rng.gauss(1, 0.03))
        assert curve.ms(1, 4000) == pytest.approx(71.0 * 1.48, rel=0.05)
        assert curve.ms(1, 100) == pytest.approx(71.0 * 1.012, rel=0.05)

    def test_curve_learns_after_thousands_of_passes(self) -> None:
        curve, rng = Curve(TARGET_MS, switch_ms=0.0), random.Random(1)
        for steepness, passes in ((1.0, 6000), (3.0, 300)):
            for _ in range(passes):
                tokens = rng.choice((1, 1, 2, 4, 8))
                ms = TARGET_MS[1] + steepness * (TARGET_MS[tokens] - TARGET_MS[1])
                curve.observe(tokens, 200, ms * rng.gauss(1, 0.03))
        assert curve.ms(8) == pytest.approx(71.0 + 3 * 21.0, rel=0.1)

    def test_curve_separates_a_run_of_passes(self) -> None:
        curve = Curve({1: 20.0, 8: 34.0})
        for _ in range(30):
            curve.observe(8, 0, 34.0 + 3 * 20.0, further=3)
        assert curve.ms(1) == pytest.approx(20.0, rel=0.02)
        assert curve.ms(8) == pytest.approx(34.0, rel=0.02)

    def test_curve_separates_switches_from_slowness(self) -> None:
        curve, rng, last = Curve({1: 9.0, 4: 12.0, 8: 14.5}), random.Random(4), 0
        for _ in range(200):
            tokens = rng.choice((1, 1, 1, 4, 8))
            ms = curve._table[tokens] + (4.4 if tokens != last else 0.0)
            curve.observe(tokens, 0, ms * rng.gauss(1, 0.03), switches=tokens != last)
            last = tokens
        assert curve.ms(1) == pytest.approx(9.0, rel=0.05)
        assert curve.switch_ms == pytest.approx(4.4, rel=0.2)

    @pytest.mark.parametrize("ms", [0.0, -3.0, float("inf"), float("nan")])
    def test_curve_ignores_impossible_times(self, ms: float) -> None:
        curve = Curve(TARGET_MS)
        curve.observe(1, 0, ms)
        assert curve.ms(1) == 71.0


class TestCosts:
    """Prices of a round."""

    def test_other_size_costs_a_switch(self) -> None:
        costs = Costs(Curve(TARGET_MS, switch_ms=6.0), {Origin.DRAFT: Curve({1: 20.0, 5: 28.0}, switch_ms=3.0)})
        assert costs.verify(3, 0) == pytest.approx([71.0, 78.0, 79.0])
        assert costs.drafting(Origin.DRAFT, 5, 0) == pytest.approx((20.0, 14.0))

    def test_pass_is_filled_up_while_cheaper_than_a_switch(self) -> None:
        costs = Costs(Curve({1: 70.0, 4: 76.0, 8: 90.0}, switch_ms=10.0))
        assert costs.verify(6, 0, LastPass(4)) == pytest.approx([70.0, 76.0, 76.0, 76.0, 89.5, 93.0])
        assert [costs.size(tokens, 0, LastPass(4)) for tokens in (1, 2, 4, 5)] == [4, 4, 4, 5]
        assert costs.size(1, 0, LastPass(8)) == 1
        assert costs.size(1, 0, LastPass(4, spent_ms=5.0)) == 1

    @pytest.mark.parametrize(("switch_ms", "tokens"), [(0.0, 1), (3.0, 1), (5.0, 2)])
    def test_draft_reads_a_token_again_where_a_switch_costs_more(self, switch_ms: float, tokens: int) -> None:
        costs = Costs(Curve(TARGET_MS), {Origin.DRAFT: Curve({1: 20.0, 5: 28.0}, switch_ms)})
        assert costs.pass_of(Origin.DRAFT) == tokens
        step_ms, catch_up_ms = costs.drafting(Origin.DRAFT, 2, 0)
        assert step_ms == pytest.approx({1: 20.0, 2: 22.0}[tokens])
        assert catch_up_ms == pytest.approx({1: 2.0 + 2 * switch_ms, 2: 0.0}[tokens])

    def test_unmeasured_draft_is_priced_from_the_target(self) -> None:
        step_ms, _ = Costs(Curve(TARGET_MS)).drafting(Origin.DRAFT, 1, 0)
        assert 0.2 * 71.0 < step_ms < 0.4 * 71.0
