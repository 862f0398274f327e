"""Chances of acceptance: what is learned, how fast, and that no verdict is final."""

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.engine.policy.acceptance import DraftCalibration, NgramCalibration, RunnerUpCalibration
from headstart.engine.policy.stopping import mean
from tests.engine.rounds import restored


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


class TestDraft:
    """A draft model's candidates."""

    def test_starts_from_the_prior(self) -> None:
        calibration = DraftCalibration()
        assert calibration.predict(1, 0.5) == pytest.approx(sigmoid(0.3))
        assert calibration.predict(3, 0.9) == pytest.approx(sigmoid(0.3 + 0.9 * math.log(9)))

    @given(
        st.integers(1, 30), st.floats(0.0, 1.0), st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), max_size=40)
    )
    def test_chances_stay_chances(self, position: int, confidence: float, labels: list[tuple[float, bool]]) -> None:
        calibration = DraftCalibration()
        for place, (seen, accepted) in enumerate(labels):
            calibration.learn(1 + place % 12, seen, accepted=accepted)
        assert 0.0 < calibration.predict(position, confidence) < 1.0
        assert all(0.0 < chance < 1.0 for spread in calibration.outlook for _, chance in spread)

    def test_learns_how_a_draft_misjudges_itself(self) -> None:
        calibration, rng = DraftCalibration(), random.Random(3)
        for _ in range(2000):
            z = rng.gauss(0.5, 1.5)
            truth = sigmoid(-0.5 + 0.6 * z)
            calibration.learn(1, sigmoid(z), accepted=rng.random() < truth)
        for z in (-1.0, 0.5, 2.0):
            assert calibration.predict(1, sigmoid(z)) == pytest.approx(sigmoid(-0.5 + 0.6 * z), abs=0.1)

    def test_learns_that_later_positions_fare_worse(self) -> None:
        calibration, rng = DraftCalibration(), random.Random(4)
        for _ in range(400):
            calibration.learn(1, 0.8, accepted=rng.random() < 0.85)
            calibration.learn(4, 0.8, accepted=rng.random() < 0.6)
        assert calibration.predict(1, 0.8) - calibration.predict(4, 0.8) > 0.1

    def test_positions_beyond_the_last_share_it(self) -> None:
        calibration = DraftCalibration()
        calibration.learn(15, 0.7, accepted=False)
        assert calibration.predict(8, 0.7) == calibration.predict(12, 0.7)

    def test_a_few_failures_are_enough_to_doubt(self) -> None:
        calibration = DraftCalibration()
        before = calibration.predict(1, 0.7)
        for _ in range(6):
            calibration.learn(1, 0.7, accepted=False)
        assert calibration.predict(1, 0.7) < before / 2

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
        recent = [calibration.predict(1, confidence) for confidence in confidences[-20:]]
        assert mean(calibration.outlook[0]) == pytest.approx(sum(recent) / len(recent), abs=0.1)

    def test_no_verdict_is_final(self) -> None:
        calibration = DraftCalibration()
        optimism, prior = mean(calibration.outlook[0]), calibration.predict(1, 0.7)
        for _ in range(50):
            calibration.expect([0.3])
            calibration.learn(1, 0.7, accepted=False)
        for _ in range(1500):
            calibration.relax(1)
        assert mean(calibration.outlook[0]) == pytest.approx(optimism, abs=0.02)
        assert calibration.predict(1, 0.7) == pytest.approx(prior, abs=0.02)

    def test_relaxing_once_or_in_parts_is_the_same(self) -> None:
        whole, parts = DraftCalibration(), DraftCalibration()
        for calibration in (whole, parts):
            calibration.learn(1, 0.9, accepted=False)
        whole.relax(12)
        for _ in range(4):
            parts.relax(3)
        assert parts.predict(1, 0.6) == pytest.approx(whole.predict(1, 0.6))

    def test_keeps_learning_after_thousands_of_labels(self) -> None:
        calibration = DraftCalibration()
        for _ in range(3000):
            calibration.learn(1, 0.8, accepted=True)
        for _ in range(60):
            calibration.learn(1, 0.8, accepted=False)
        assert calibration.predict(1, 0.8) < 0.3

    def test_comes_back_from_storage(self) -> None:
        calibration = DraftCalibration()
        for position in (1, 2, 3, 9):
            calibration.learn(position, 0.4, accepted=position < 3)
        again = restored(DraftCalibration(), json.loads(json.dumps(calibration.to_json())))
        assert [again.predict(j, 0.6) for j in range(1, 10)] == [calibration.predict(j, 0.6) for j in range(1, 10)]

    @pytest.mark.parametrize(
        "data",
        [
            None,
            7,
            {},
            {"means": [0.9, 0.5], "places": [0.0] * 8, "recent": 0.5},
            {"means": [0.9, 0.5, "x"], "places": [0.0] * 8, "recent": 0.5},
            {"means": [0.9, 0.5, 1e9], "places": [0.0] * 8, "recent": 0.5},
            {"means": [0.9, 0.5, 0.3], "places": [0.0] * 3, "recent": 0.5},
            {"means": [0.9, 0.5, 0.3], "places": [0.0] * 8, "recent": float("nan")},
            {"means": [0.9, True, 0.3], "places": [0.0] * 8, "recent": 0.5},
        ],
    )
    def test_garbage_in_storage_is_the_prior(self, data: object) -> None:
        assert restored(DraftCalibration(), data).to_json() == DraftCalibration().to_json()


class TestNgram:
    """Candidates copied from earlier text."""

    def test_a_longer_match_is_trusted_more_and_a_copy_that_holds_goes_on(self) -> None:
        calibration = NgramCalibration()
        by_match = [calibration.predict(match, 1) for match in (2, 3, 4, 6, 8)]
        by_place = [calibration.predict(2, place) for place in range(1, 9)]
        assert by_match == sorted(by_match)
        assert by_place == sorted(by_place)

    def test_learns_each_match_length_apart(self) -> None:
        calibration = NgramCalibration()
        before = calibration.predict(8, 1)
        for _ in range(20):
            calibration.learn(2, 1, accepted=False)
        assert calibration.predict(2, 1) < 0.07
        assert calibration.predict(8, 1) == before

    def test_forgets_old_text(self) -> None:
        calibration = NgramCalibration()
        for _ in range(500):
            calibration.learn(4, 2, accepted=True)
        for _ in range(60):
            calibration.learn(4, 2, accepted=False)
        assert calibration.predict(4, 2) < 0.35

    def test_no_verdict_is_final(self) -> None:
        calibration = NgramCalibration()
        prior = calibration.predict(3, 1)
        for _ in range(30):
            calibration.learn(3, 1, accepted=False)
        calibration.relax(1500)
        assert calibration.predict(3, 1) == pytest.approx(prior, abs=0.01)

    def test_comes_back_from_storage(self) -> None:
        calibration = NgramCalibration()
        calibration.learn(5, 3, accepted=False)
        again = restored(NgramCalibration(), json.loads(json.dumps(calibration.to_json())))
        assert again.to_json() == calibration.to_json()

    @pytest.mark.parametrize(
        "data", [None, {}, {"hits": [], "misses": []}, {"hits": [[0.0] * 8] * 5, "misses": [[-1.0] * 8] * 5}]
    )
    def test_garbage_in_storage_is_the_prior(self, data: object) -> None:
        assert restored(NgramCalibration(), data).to_json() == NgramCalibration().to_json()


class TestRunnersUp:
    """Shares are nearly chances; one factor learns how nearly."""

    def test_believes_a_draft_at_first(self) -> None:
        assert 0.25 < RunnerUpCalibration().predict(0.3) < 0.3

    @pytest.mark.parametrize("true", [0.5, 1.3])
    def test_learns_how_much_the_shares_are_worth(self, true: float) -> None:
        calibration, rng = RunnerUpCalibration(), random.Random(3)
        for _ in range(2000):
            share = rng.uniform(0.05, 0.4)
            calibration.learn([share], came=rng.random() < true * share)
        assert calibration.predict(0.2) == pytest.approx(0.2 * true, rel=0.25)

    def test_comes_back_from_storage(self) -> None:
        calibration = RunnerUpCalibration()
        calibration.learn([0.3, 0.1], came=True)
        again = restored(RunnerUpCalibration(), json.loads(json.dumps(calibration.to_json())))
        assert again.to_json() == calibration.to_json()

    @pytest.mark.parametrize("data", [None, {}, {"hits": -1.0, "promised": 2.0}, {"hits": "x", "promised": 1.0}])
    def test_garbage_in_storage_is_the_prior(self, data: object) -> None:
        assert restored(RunnerUpCalibration(), data).to_json() == RunnerUpCalibration().to_json()
