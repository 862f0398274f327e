"""The policy on answers recorded from a real pair: code, an edit, an explanation, a summary, two stories."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from bench.research import replay as rules
from bench.research.recordings import Recording, Text, read_recordings
from bench.research.replay import Foresight, Machine, policy_ms, speedups
from headstart.engine.engine import Drafter, Mode, Speculation

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


def machine(recording: Recording) -> Machine:
    return Machine(recording.costs())


def plain_ms(recording: Recording) -> float:
    return rules.fixed_ms(recording.text, machine(recording), 0)


def auto_ms(recording: Recording, *, fresh: bool = False, bounds: Speculation | None = None) -> float:
    return policy_ms(recording.policy(fresh=fresh), recording.text, machine(recording), bounds)


def mean(ratios: Iterable[float]) -> float:
    values = list(ratios)
    return math.exp(sum(map(math.log, values)) / len(values))


def speedup(rule: Callable[[Recording], float]) -> float:
    """Geometric mean over plain decoding."""
    return mean(plain_ms(recording) / rule(recording) for recording in RECORDINGS)


def test_there_is_one_recording_of_each_kind() -> None:
    assert len(RECORDINGS) == len(NAMES)
    assert all(recording.has_draft for recording in RECORDINGS)


@pytest.mark.parametrize("fresh", [False, True])
def test_beats_every_fixed_length_and_every_other_rule_over_all(*, fresh: bool) -> None:
    others: list[Callable[[Recording], float]] = [
        *(lambda recording, k=k: rules.fixed_ms(recording.text, machine(recording), k) for k in rules.FIXED_LENGTHS),
        lambda recording: rules.two_up_one_down_ms(recording.text, machine(recording)),
        lambda recording: rules.history_average_ms(recording.text, machine(recording)),
    ]
    assert speedup(lambda recording: auto_ms(recording, fresh=fresh)) > 1.05 * max(map(speedup, others))


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


def test_plain_decoding_is_what_its_steps_cost() -> None:
    recording = RECORDINGS[0]
    assert auto_ms(recording, bounds=Speculation(Mode.OFF)) == pytest.approx(plain_ms(recording))


def test_branches_pay_where_the_draft_errs_and_cost_little_elsewhere() -> None:
    gains = dict(zip(BRANCHED, map(gain_of_branches, read_recordings(BRANCHED_FILE)), strict=True))
    assert mean(gains.values()) > 1.03
    assert mean(gains[name] for name in ("story", "sampled story", "sampled role play", "role play")) > 1.05
    assert min(gains.values()) > 0.97


def gain_of_branches(recording: Recording) -> float:
    """In the mean of some scatters: one pass more or less decides where all later rounds begin."""

    def ms(text: Text, seed: int) -> float:
        return policy_ms(recording.policy(), text, Machine(recording.costs(), scatter=0.05, seed=seed))

    return mean(ms(recording.text.without_runners_up(), seed) / ms(recording.text, seed) for seed in range(8))


def test_recordings_without_runners_up_are_played_without_branches() -> None:
    assert not any(recording.text.runners_up for recording in RECORDINGS)
    assert all("no branches" not in rule for rule in speedups(RECORDINGS[0]))
    assert "auto, no branches" in speedups(read_recordings(BRANCHED_FILE)[0])


def test_oracles_show_what_is_left() -> None:
    draft_only = speedup(lambda each: rules.oracle_ms(each.text, machine(each), Foresight(ngram=False, tail=False)))
    without_tails = speedup(lambda each: rules.oracle_ms(each.text, machine(each), Foresight(tail=False)))
    everything = speedup(lambda each: rules.oracle_ms(each.text, machine(each)))
    assert speedup(auto_ms) < draft_only < without_tails < everything
