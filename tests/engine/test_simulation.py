"""The whole policy against made-up texts: what it reaches, what it beats, and what it never loses."""

import math
from collections.abc import Iterable
from copy import deepcopy

import pytest

from bench.research import replay as rules
from bench.research.recordings import Text
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from tests.engine import simulation
from tests.engine.simulation import CODE, HOPELESS, PROSE, Machine, Mixture, Setting, adaptive_ms, new_policy

REGIMES: dict[str, list[tuple[Mixture, int]]] = {
    "code": [(CODE, 800)],
    "prose": [(PROSE, 800)],
    "mixed": [(CODE, 150), (PROSE, 150)] * 3,
    "hopeless": [(HOPELESS, 300)],
}
SEEDS = (0, 1, 2)
TEXTS = {name: [simulation.write(parts, seed) for seed in SEEDS] for name, parts in REGIMES.items()}


def speedup(milliseconds: Iterable[tuple[Text, float]]) -> float:
    """Geometric mean over texts, against plain decoding."""
    ratios = [simulation.plain_ms(text) / ms for text, ms in milliseconds]
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def adaptive(texts: list[Text]) -> float:
    return speedup((text, adaptive_ms(new_policy(), text)) for text in texts)


@pytest.mark.parametrize("regime", REGIMES)
def test_reaches_the_best_fixed_length_chosen_with_hindsight(regime: str) -> None:
    texts = TEXTS[regime]
    best = speedup((text, rules.best_fixed_ms(text, Machine)) for text in texts)
    assert adaptive(texts) >= 0.97 * best


def test_gains_from_confidence_what_no_fixed_length_can() -> None:
    code = TEXTS["code"]
    best = speedup((text, rules.best_fixed_ms(text, Machine)) for text in code)
    oracle = speedup((text, rules.oracle_ms(text, Machine())) for text in code)
    assert 1.05 * best < adaptive(code) < oracle


@pytest.mark.parametrize("text", TEXTS["mixed"], ids=SEEDS)
def test_beats_every_other_rule_on_mixed_text(text: Text) -> None:
    others = [rules.best_fixed_ms(text, Machine)]
    others += [rules.two_up_one_down_ms(text, Machine()), rules.history_average_ms(text, Machine())]
    assert adaptive_ms(new_policy(), text) < min(others)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("draft_ms", [12.0, 24.0, 40.0])
def test_never_falls_far_behind_plain_decoding(draft_ms: float, seed: int) -> None:
    text = simulation.write(REGIMES["hopeless"], seed)
    took = adaptive_ms(new_policy(draft_ms), text, Setting(Machine(draft_ms, seed=seed)))
    assert simulation.plain_ms(text) >= 0.97 * took


def test_finds_back_to_drafting_after_a_hopeless_passage() -> None:
    texts = [simulation.write([(HOPELESS, 250), (CODE, 400)], seed) for seed in SEEDS]
    assert adaptive(texts) >= 1.1


def test_an_unlucky_start_is_soon_forgotten() -> None:
    texts = [simulation.write([(CODE, 250)], seed) for seed in range(80)]
    unlucky = [text for text in texts if sum(text.right[:6]) <= 3]
    assert len(unlucky) >= 3
    assert min(simulation.plain_ms(text) / adaptive_ms(new_policy(), text) for text in unlucky) >= 1.35


def test_what_was_learned_does_not_hurt_the_next_answer() -> None:
    policy = new_policy()
    for text in TEXTS["mixed"]:
        adaptive_ms(policy, text)
    for name in ("code", "prose"):
        later = speedup((text, adaptive_ms(deepcopy(policy), text)) for text in TEXTS[name])
        assert later >= 0.97 * adaptive(TEXTS[name])


def test_works_with_the_prices_of_another_machine() -> None:
    texts = TEXTS["code"]
    policy = Policy(Costs(Curve.shipped(60.0), Curve.shipped(20.0)))
    untold = speedup((text, adaptive_ms(deepcopy(policy), text)) for text in texts)
    assert untold >= 0.95 * adaptive(texts)


def test_follows_a_machine_that_slows_down() -> None:
    text = TEXTS["code"][0]
    policy = new_policy()
    took = adaptive_ms(policy, text, Setting(Machine(slower=2.0, turn=400)))
    assert policy.plain_ms == pytest.approx(2 * simulation.PLAIN_MS, rel=0.15)
    assert 1.5 * simulation.plain_ms(text) / took >= 0.95 * adaptive([text])


STORY = [simulation.with_copies(text, copied=0, free=100, seed=7) for text in TEXTS["prose"]]
EDIT = [simulation.with_copies(text, copied=70, free=30, seed=7) for text in TEXTS["prose"]]


class TestNgrams:
    """Offers of an n-gram drafter, alone and beside a draft model."""

    def alone(self, texts: list[Text]) -> float:
        return speedup((text, adaptive_ms(new_policy(), text, Setting(draft=False))) for text in texts)

    def test_alone_they_double_the_speed_of_editing(self) -> None:
        assert self.alone(EDIT) >= 2.0

    def test_alone_they_never_cost_much(self) -> None:
        assert (
            min(simulation.plain_ms(text) / adaptive_ms(new_policy(), text, Setting(draft=False)) for text in STORY)
            >= 0.98
        )

    @pytest.mark.parametrize("texts", [STORY, EDIT], ids=["story", "edit"])
    def test_with_a_draft_the_better_of_both_is_reached(self, texts: list[Text]) -> None:
        assert adaptive(texts) >= 0.97 * max(self.alone(texts), adaptive(TEXTS["prose"]))

    def test_failing_drafts_do_not_silence_ngrams(self) -> None:
        hopeless = simulation.write([(HOPELESS, 600)], seed=3)
        text = simulation.with_copies(hopeless, copied=70, free=30, seed=3)
        assert adaptive([text]) >= 0.95 * self.alone([text])
