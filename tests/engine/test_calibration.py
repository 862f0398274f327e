"""Chances of acceptance: what is learned, how fast, and that no verdict is final."""

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.engine.drafters.base import Draft
from headstart.engine.policy.acceptance import DraftCalibration, FreeCalibration
from headstart.engine.policy.stopping import mean
from tests.engine.rounds import restored


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


class TestDraft:
    """A draft model's candidates."""

    def test_starts_from_the_prior(self) -> None:
        calibration = DraftCalibration()
        assert calibration.predict(0.5) == pytest.approx(sigmoid(0.3))
        assert calibration.predict(0.9) == pytest.approx(sigmoid(0.3 + 0.9 * math.log(9)))

    @given(st.floats(0.0, 1.0), st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), max_size=40))
    def test_chances_stay_chances(self, confidence: float, labels: list[tuple[float, bool]]) -> None:
        calibration = DraftCalibration()
        for seen, accepted in labels:
            calibration.learn(seen, accepted=accepted)
        assert 0.0 < calibration.predict(confidence) < 1.0
        assert all(0.0 < chance < 1.0 for spread in calibration.outlook for _, chance in spread)

    def test_learns_how_a_draft_misjudges_itself(self) -> None:
        calibration, rng = DraftCalibration(), random.Random(3)
        for _ in range(2000):
            z = rng.gauss(0.5, 1.5)
            truth = sigmoid(-0.5 + 0.6 * z)
            calibration.learn(sigmoid(z), accepted=rng.random() < truth)
        for z in (-1.0, 0.5, 2.0):
            assert calibration.predict(sigmoid(z)) == pytest.approx(sigmoid(-0.5 + 0.6 * z), abs=0.1)

    def test_a_few_failures_are_enough_to_doubt(self) -> None:
        calibration = DraftCalibration()
        before = calibration.predict(0.7)
        for _ in range(6):
            calibration.learn(0.7, accepted=False)
        assert calibration.predict(0.7) < before / 2

    def test_the_outlook_follows_the_confidences(self) -> None:
        calibration = DraftCalibration()
        for _ in range(15):
            calibration.expect([0.2, 0.99])
        first, further = map(mean, calibration.outlook)
        assert first < 0.45
        assert further > 0.8

    def test_the_outlook_is_near_the_mean_of_the_chances(self) -> None:
        calibration, rng = DraftCalibration(), random.Random(5)
        confidences = [sigmoid(rng.gauss(1.0, 2.0)) for _ in range(300)]
        for confidence in confidences:
            calibration.expect([confidence])
        recent = [calibration.predict(confidence) for confidence in confidences[-20:]]
        assert mean(calibration.outlook[0]) == pytest.approx(sum(recent) / len(recent), abs=0.1)

    def test_no_verdict_is_final(self) -> None:
        calibration = DraftCalibration()
        optimism, prior = mean(calibration.outlook[0]), calibration.predict(0.7)
        for _ in range(50):
            calibration.expect([0.3])
            calibration.learn(0.7, accepted=False)
        for _ in range(1500):
            calibration.relax(1)
        assert mean(calibration.outlook[0]) == pytest.approx(optimism, abs=0.02)
        assert calibration.predict(0.7) == pytest.approx(prior, abs=0.02)

    def test_relaxing_once_or_in_parts_is_the_same(self) -> None:
        whole, parts = DraftCalibration(), DraftCalibration()
        for calibration in (whole, parts):
            calibration.learn(0.9, accepted=False)
        whole.relax(12)
        for _ in range(4):
            parts.relax(3)
        assert parts.predict(0.6) == pytest.approx(whole.predict(0.6))

    def test_keeps_learning_after_thousands_of_labels(self) -> None:
        calibration = DraftCalibration()
        for _ in range(3000):
            calibration.learn(0.8, accepted=True)
        for _ in range(60):
            calibration.learn(0.8, accepted=False)
        assert calibration.predict(0.8) < 0.3

    def test_comes_back_from_storage(self) -> None:
        calibration = DraftCalibration()
        for accepted in (True, True, False, False):
            calibration.learn(0.4, accepted=accepted)
        again = restored(DraftCalibration(), json.loads(json.dumps(calibration.to_json())))
        assert again.predict(0.6) == calibration.predict(0.6)

    @pytest.mark.parametrize(
        "data", [None, 7, {}, [0.9], [0.9, "x"], [0.9, 1e9], [0.9, float("nan")], [True, 0.3], [0.9, 0.3, 0.1]]
    )
    def test_garbage_in_storage_is_the_prior(self, data: object) -> None:
        assert restored(DraftCalibration(), data).to_json() == DraftCalibration().to_json()


def copy(length: int, match: int) -> Draft:
    return Draft((7,) * length, match_length=match)


class TestFree:
    """Candidates copied from earlier text, or looked up in a table."""

    def test_a_longer_match_is_trusted_more_and_a_copy_that_holds_goes_on(self) -> None:
        calibration = FreeCalibration()
        by_match = [calibration.chances(copy(1, match)) for match in (2, 3, 4, 6, 8)]
        by_place = calibration.chances(copy(8, 2))
        assert by_match == sorted(by_match)
        assert by_place == sorted(by_place)

    def test_learns_each_match_length_apart(self) -> None:
        calibration = FreeCalibration()
        before = calibration.chances(copy(1, 8))
        for _ in range(20):
            calibration.learn(copy(1, 2), held=0, labels=1)
        assert calibration.chances(copy(1, 2))[0] < 0.1
        assert calibration.chances(copy(1, 8)) == before

    def test_forgets_old_text(self) -> None:
        calibration = FreeCalibration()
        for held in [2] * 500 + [1] * 300:
            calibration.learn(copy(2, 4), held, labels=2)
        assert calibration.chances(copy(2, 4))[1] < 0.35

    def test_learns_what_a_table_is_worth(self) -> None:
        calibration, offer = FreeCalibration(), Draft((7, 7), (0.9, 0.4))
        assert calibration.chances(offer) == pytest.approx([0.54, 0.24])
        for _ in range(100):
            calibration.learn(offer, held=1, labels=2)
        sure, unsure = calibration.chances(offer)
        assert sure > 0.9
        assert unsure < 0.1

    def test_comes_back_from_storage(self) -> None:
        calibration = FreeCalibration()
        calibration.learn(copy(3, 5), held=2, labels=3)
        again = restored(FreeCalibration(), json.loads(json.dumps(calibration.to_json())))
        assert again.chances(copy(3, 5)) == calibration.chances(copy(3, 5))

    @pytest.mark.parametrize("data", [None, [], {"match 2 0": [-1.0, 2.0], "match 2 1": [3.0, 2.0], "chance 1": "x"}])
    def test_garbage_in_storage_is_the_prior(self, data: object) -> None:
        assert restored(FreeCalibration(), data).chances(copy(3, 5)) == FreeCalibration().chances(copy(3, 5))
