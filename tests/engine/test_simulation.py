"""The whole policy on texts made up and recorded: what it reaches, what it beats, and what it never loses."""

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import cache
from pathlib import Path

import pytest

from bench.research import replay as rules
from bench.research.recordings import Recording, Text, read_recordings
from bench.research.replay import policy_ms
from headstart.engine.engine import Drafter, Speculation
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
TEXTS["story"] = [simulation.with_copies(text, copied=0, free=100, seed=7) for text in TEXTS["prose"]]
TEXTS["edit"] = [simulation.with_copies(text, copied=70, free=30, seed=7) for text in TEXTS["prose"]]


def mean(ratios: Iterable[float]) -> float:
    """Geometric."""
    values = list(ratios)
    return math.exp(sum(map(math.log, values)) / len(values))


def speedup(texts: Iterable[Text], ms: Callable[[Text], float]) -> float:
    """Geometric mean over texts, against plain decoding."""
    return mean(simulation.plain_ms(text) / ms(text) for text in texts)


def new_ms(text: Text, *, draft: bool = True) -> float:
    return adaptive_ms(new_policy(), text, Setting(draft=draft))


def best_ms(text: Text) -> float:
    return rules.best_fixed_ms(text, Machine)


@cache
def adaptive(name: str, *, draft: bool = True) -> float:
    return speedup(TEXTS[name], lambda text: new_ms(text, draft=draft))


@pytest.mark.parametrize("regime", REGIMES)
def test_reaches_the_best_fixed_length_chosen_with_hindsight(regime: str) -> None:
    assert adaptive(regime) >= 0.97 * speedup(TEXTS[regime], best_ms)


def test_gains_from_confidence_what_no_fixed_length_can() -> None:
    code = TEXTS["code"]
    assert (
        1.05 * speedup(code, best_ms) < adaptive("code") < speedup(code, lambda text: rules.oracle_ms(text, Machine()))
    )


@pytest.mark.parametrize("text", TEXTS["mixed"], ids=SEEDS)
def test_beats_every_other_rule_on_mixed_text(text: Text) -> None:
    others = (rules.two_up_one_down_ms(text, Machine()), rules.history_average_ms(text, Machine()))
    assert new_ms(text) < min(best_ms(text), *others)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("draft_ms", [12.0, 24.0, 40.0])
def test_never_falls_far_behind_plain_decoding(draft_ms: float, seed: int) -> None:
    text = simulation.write(REGIMES["hopeless"], seed)
    took = adaptive_ms(new_policy(draft_ms), text, Setting(Machine(draft_ms, seed=seed)))
    assert simulation.plain_ms(text) >= 0.97 * took


def test_finds_back_to_drafting_after_a_hopeless_passage() -> None:
    assert speedup([simulation.write([(HOPELESS, 250), (CODE, 400)], seed) for seed in SEEDS], new_ms) >= 1.1


def test_an_unlucky_start_is_soon_forgotten() -> None:
    texts = [simulation.write([(CODE, 250)], seed) for seed in range(80)]
    unlucky = [text for text in texts if sum(text.right[:6]) <= 3]
    assert len(unlucky) >= 3
    assert min(simulation.plain_ms(text) / new_ms(text) for text in unlucky) >= 1.35


def test_what_was_learned_does_not_hurt_the_next_answer() -> None:
    policy = new_policy()
    for text in TEXTS["mixed"]:
        adaptive_ms(policy, text)
    for name in ("code", "prose"):
        later = speedup(TEXTS[name], lambda text: adaptive_ms(deepcopy(policy), text))
        assert later >= 0.97 * adaptive(name)


def test_works_with_the_prices_of_another_machine() -> None:
    policy = Policy(Costs(Curve.shipped(60.0), Curve.shipped(20.0)))
    assert speedup(TEXTS["code"], lambda text: adaptive_ms(deepcopy(policy), text)) >= 0.95 * adaptive("code")


def test_follows_a_machine_that_slows_down() -> None:
    text, policy = TEXTS["code"][0], new_policy()
    took = adaptive_ms(policy, text, Setting(Machine(slower=2.0, turn=400)))
    assert policy.plain_ms == pytest.approx(2 * simulation.PLAIN_MS, rel=0.15)
    assert 1.5 / took >= 0.95 / new_ms(text)


def test_ngrams_alone_double_the_speed_of_editing_and_never_cost_much() -> None:
    assert adaptive("edit", draft=False) >= 2.0
    assert min(simulation.plain_ms(text) / new_ms(text, draft=False) for text in TEXTS["story"]) >= 0.98


@pytest.mark.parametrize("name", ["story", "edit"])
def test_with_a_draft_the_better_of_both_is_reached(name: str) -> None:
    assert adaptive(name) >= 0.97 * max(adaptive(name, draft=False), adaptive("prose"))


def test_failing_drafts_do_not_silence_ngrams() -> None:
    hopeless = simulation.write([(HOPELESS, 600)], seed=3)
    text = simulation.with_copies(hopeless, copied=70, free=30, seed=3)
    assert new_ms(text, draft=False) >= 0.95 * new_ms(text)


# Qwen2.5-Coder-1.5B INT8 with its 0.5B INT4 draft on 2 cores, `--trace-depth 8`, the last story sampled.
FILE = Path(__file__).parent / "data" / "qwen2.5-coder.jsonl"
RECORDINGS = read_recordings(FILE)
# The same pair, with what the draft would have guessed instead.
BRANCHED_FILE = FILE.with_name("qwen2.5-coder-runners-up.jsonl")
BRANCHED = (
    *("code", "edit", "explanation", "summary", "story"),
    *("sampled story", "sampled role play"),
    *("translation", "role play"),
)
NAMES = ("code", "edit", "explanation", "summary", "story", "sampled story")


def machine(recording: Recording) -> rules.Machine:
    return rules.Machine(recording.costs())


def plain_ms(recording: Recording) -> float:
    return rules.fixed_ms(recording.text, machine(recording), 0)


def auto_ms(recording: Recording, *, fresh: bool = False, bounds: Speculation | None = None) -> float:
    return policy_ms(recording.policy(fresh=fresh), recording.text, machine(recording), bounds)


def recorded_speedup(rule: Callable[[Recording], float]) -> float:
    return mean(plain_ms(recording) / rule(recording) for recording in RECORDINGS)


@pytest.mark.parametrize("fresh", [False, True])
def test_beats_every_fixed_length_and_every_other_rule_over_all(*, fresh: bool) -> None:
    others: list[Callable[[Recording], float]] = [
        *(lambda recording, k=k: rules.fixed_ms(recording.text, machine(recording), k) for k in rules.FIXED_LENGTHS),
        lambda recording: rules.two_up_one_down_ms(recording.text, machine(recording)),
        lambda recording: rules.history_average_ms(recording.text, machine(recording)),
    ]
    assert recorded_speedup(lambda recording: auto_ms(recording, fresh=fresh)) > 1.05 * max(
        map(recorded_speedup, others)
    )


@pytest.mark.parametrize(("name", "least"), [("code", 1.0), ("edit", 1.3), ("explanation", 0.94), ("summary", 1.1)])
def test_keeps_up_with_the_length_that_hindsight_would_fix_for_each_text(name: str, least: float) -> None:
    recording = RECORDINGS[NAMES.index(name)]
    assert rules.best_fixed_ms(recording.text, lambda: machine(recording)) / auto_ms(recording) >= least


@pytest.mark.parametrize(("places", "least"), [(15, 0.8), (30, 1.0), (60, 1.03), (130, 1.05)])
def test_loses_little_however_early_an_answer_ends_and_nothing_later(places: int, least: float) -> None:
    for recording in RECORDINGS:
        text = recording.text.beginning(places)
        plain = rules.fixed_ms(text, machine(recording), 0) + recording.ttft_ms
        assert plain / (policy_ms(recording.policy(), text, machine(recording)) + recording.ttft_ms) >= least


def test_both_drafters_together_beat_each_alone_where_a_text_copies() -> None:
    edit = RECORDINGS[NAMES.index("edit")]
    alone = [auto_ms(edit, bounds=Speculation(drafter=drafter)) for drafter in (Drafter.DRAFT, Drafter.NGRAM)]
    assert auto_ms(edit) < min(alone)


def test_branches_pay_where_the_draft_errs_and_cost_little_elsewhere() -> None:
    gains = dict(zip(BRANCHED, map(gain_of_branches, read_recordings(BRANCHED_FILE)), strict=True))
    assert mean(gains.values()) > 1.03
    assert mean(gains[name] for name in ("story", "sampled story", "sampled role play", "role play")) > 1.05
    assert min(gains.values()) > 0.97


def gain_of_branches(recording: Recording) -> float:
    """In the mean of some scatters: one pass more or less decides where all later rounds begin."""

    def ms(text: Text, seed: int) -> float:
        return policy_ms(recording.policy(), text, rules.Machine(recording.costs(), scatter=0.05, seed=seed))

    return mean(ms(recording.text.without_runners_up(), seed) / ms(recording.text, seed) for seed in range(4))
