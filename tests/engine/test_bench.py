"""The benchmark: its arithmetic, its order, a whole race of tiny models against the peer, and what passes cost."""

import dataclasses
import json
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from headstart.engine.bench.measure import BenchPlan, ForwardPlan, Progress, genai, measure, measure_forward
from headstart.engine.bench.prompts import BenchPrompt, read_prompts
from headstart.engine.bench.race import Heat, RaceCancelled, Run, own_modes, race, turn_order
from headstart.engine.bench.result import (
    Interval,
    Memory,
    Spread,
    as_json,
    bootstrap_interval,
    geometric_mean,
    paired,
    percentile,
    prompt_results,
    spread,
    standings,
    versus_best_peer,
    versus_hindsight,
)
from headstart.engine.cancelling import CancelEvent
from headstart.engine.devices import peak_rss
from headstart.engine.engine import LoadOptions, Mode, Numerics, Sampling
from headstart.engine.local import load
from tests.fakes import ScriptedEngine

CODE, STORY = BenchPrompt("code-1", "code", "Write code."), BenchPrompt("story-1", "story", "Tell a story.")


def run_of(ms: float, tokens: tuple[int, ...] = (1, 2, 3, 4, 5), **changed: object) -> Run:
    """An answer at so many milliseconds a token, 100 ms to the first."""
    run = Run(tokens, ttft_ms=100.0, decode_ms=ms * (len(tokens) - 1), prompt_tokens=7)
    return dataclasses.replace(run, **changed)  # type: ignore[arg-type]


def heats(prompt: BenchPrompt, **ms: tuple[float, ...]) -> list[Heat]:
    """A heat for each figure, by contestant ("_" stands for a space) and repeat."""
    return [
        Heat(prompt, name.replace("_", " "), repeat, run_of(value))
        for name, values in ms.items()
        for repeat, value in enumerate(values)
    ]


def test_ratios_pair_the_runs_of_one_repeat() -> None:
    assert paired([10.0, 20.0, 30.0], [5.0, 40.0, 10.0]) == [2.0, 0.5, 3.0]
    assert paired([10.0, None, 30.0], [None, 4.0, 10.0]) == [3.0]
    assert spread([2.0, 0.5, 3.0]) == Spread(2.0, 0.5, 3.0)
    assert spread([]) is None


def test_the_geometric_mean_treats_twice_and_half_alike() -> None:
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert geometric_mean([]) is None


def test_percentiles_lie_between_neighbours() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([1.0, 2.0], 0.05) == pytest.approx(1.05)
    assert percentile([4.0], 0.05) == 4.0
    assert percentile([], 0.05) is None


def test_the_bootstrap_surrounds_the_mean_and_says_the_same_each_time() -> None:
    values = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0]
    interval = bootstrap_interval(values)
    assert interval is not None
    assert min(values) < interval.low < (geometric_mean(values) or 0.0) < interval.high < max(values)
    assert bootstrap_interval(values) == interval
    assert dataclasses.astuple(bootstrap_interval([2.0, 2.0]) or Interval(0, 0)) == pytest.approx((2.0, 2.0))
    assert bootstrap_interval([2.0]) is None


def test_three_prompts_of_each_of_five_classes_are_raced_unless_more_is_asked_for() -> None:
    prompts = read_prompts(3)
    assert Counter(prompt.kind for prompt in prompts) == dict.fromkeys(
        ("code", "edit", "explanation", "summary", "story"), 3
    )
    assert [prompt.id for prompt in read_prompts(1)] == [prompt.id for prompt in prompts[:5]]
    assert len({prompt.text for prompt in prompts}) == len({prompt.id for prompt in prompts}) == 15


def test_the_order_turns_around_from_repeat_to_repeat_and_prompt_to_prompt() -> None:
    engine = ScriptedEngine()
    modes = own_modes(engine, 5, lambda: None)
    names = [mode.name for mode in modes]
    assert names == ["plain", "fixed 3", "fixed 5", "auto"]
    order = [heat.contestant for heat in race(modes, [CODE, STORY], repeats=2)]
    assert order == [*names, *names[::-1], *names[::-1], *names]
    assert [mode.name for mode in turn_order(modes, 3)] == names[::-1]


def test_each_mode_asks_for_what_it_is_named_after_from_a_cold_cache() -> None:
    engine, forgotten = ScriptedEngine(), list[int]()
    list(race(own_modes(engine, 5, lambda: forgotten.append(len(engine.requests))), [CODE], repeats=1))
    asked = [(each.speculation.mode, each.speculation.num_assistant_tokens) for each in engine.requests]
    assert asked == [(Mode.OFF, None), (Mode.FIXED, 3), (Mode.FIXED, 5), (Mode.AUTO, None)]
    assert {(each.max_new_tokens, each.sampling, each.stop_on_repetition) for each in engine.requests} == {
        (5, Sampling(temperature=0.0), False)
    }
    assert forgotten == [0, 1, 2, 3]


def test_speed_counts_from_the_first_token_and_in_total() -> None:
    run = run_of(20.0)
    assert (run.ms_per_token, run.total_ms_per_token) == (20.0, 36.0)
    short = run_of(0.0, tokens=(1,))
    assert (short.ms_per_token, short.total_ms_per_token) == (None, 100.0)
    assert run_of(0.0, tokens=()).total_ms_per_token is None


def test_a_speedup_is_the_median_over_the_repeats_with_its_range() -> None:
    (result,) = prompt_results(heats(CODE, plain=(70.0, 80.0, 90.0), auto=(35.0, 20.0, 90.0)))
    assert result.scores["auto"].speedup == Spread(2.0, 1.0, 4.0)
    assert result.scores["plain"].speedup == Spread(1.0, 1.0, 1.0)
    assert (result.kind, result.prompt_tokens) == ("code", 7)


def test_standings_are_geometric_means_over_prompts_and_classes() -> None:
    results = prompt_results(
        [
            *heats(CODE, plain=(80.0,), auto=(20.0,)),
            *heats(dataclasses.replace(CODE, id="code-2"), plain=(80.0,), auto=(80.0,)),
            *heats(STORY, plain=(80.0,), auto=(160.0,)),
        ]
    )
    standing = standings(results, ["auto"])["auto"]
    assert standing.by_kind == {"code": pytest.approx(2.0), "story": pytest.approx(0.5)}
    assert standing.overall == pytest.approx(2.0 ** (1 / 3))
    assert standing.across == Spread(1.0, 0.5, 4.0)


def test_the_peer_is_judged_by_the_one_setting_that_is_best_over_all_prompts() -> None:
    results = prompt_results(
        [
            *heats(CODE, plain=(80.0,), auto=(20.0,), genai_3=(40.0,), genai_5=(10.0,)),
            *heats(STORY, plain=(80.0,), auto=(80.0,), genai_3=(80.0,), genai_5=(800.0,)),
        ]
    )
    versus = versus_best_peer(results, ["genai 3", "genai 5"])
    assert versus is not None
    assert versus.peer == "genai 3"
    assert versus.ratio == pytest.approx(2.0**0.5)
    assert versus.across == Spread(1.5, 1.0, 2.0)
    assert versus_best_peer(results, []) is None


def test_in_hindsight_each_prompt_has_the_best_setting_of_each_program() -> None:
    results = prompt_results(
        [
            *heats(CODE, plain=(80.0,), auto=(20.0,), genai_3=(40.0,), genai_5=(10.0,), hf_plain=(200.0,)),
            *heats(STORY, plain=(80.0,), auto=(80.0,), genai_3=(80.0,), genai_5=(800.0,), hf_plain=(160.0,)),
        ]
    )
    genai, hugging_face = versus_hindsight(results, ["genai 3", "genai 5", "hf plain"])
    assert (genai.peer, genai.across) == ("genai", Spread(0.75, 0.5, 1.0))
    assert genai.ratio == pytest.approx(0.5**0.5)
    assert genai.by_kind == {"code": pytest.approx(0.5), "story": pytest.approx(1.0)}
    assert genai.interval is not None
    assert hugging_face.ratio == pytest.approx(20.0**0.5)
    assert versus_hindsight(results, []) == ()


def test_without_auto_nothing_is_compared_with_peers() -> None:
    results = prompt_results(heats(CODE, plain=(80.0,), genai_3=(40.0,)))
    assert versus_best_peer(results, ["genai 3"]) is None
    assert versus_hindsight(results, ["genai 3"]) == ()


def test_a_standing_tells_the_worst_and_what_the_first_token_costs() -> None:
    more = dataclasses.replace(CODE, id="code-2")
    results = prompt_results([*heats(CODE, plain=(80.0,), auto=(20.0,)), *heats(more, plain=(80.0,), auto=(80.0,))])
    standing = standings(results, ["auto"])["auto"]
    assert standing.fifth_percentile == pytest.approx(1.15)
    assert standing.interval is not None
    assert dataclasses.astuple(standing.interval) == pytest.approx((1.0, 4.0))
    first = (100.0 + 4 * 80.0) / (100.0 + 4 * 20.0)
    assert standing.total_across is not None
    assert dataclasses.astuple(standing.total_across) == pytest.approx(((first + 1.0) / 2, 1.0, first))
    assert standing.total_by_kind == {"code": pytest.approx(first**0.5)}


def test_other_texts_than_plain_ones_are_told() -> None:
    runs = {"plain": run_of(70.0), "auto": run_of(70.0), "fixed 3": run_of(70.0, (1, 2, 9, 4, 5))}
    runs["fixed 5"] = run_of(70.0, (1, 2, 3, 4))
    (result,) = prompt_results([Heat(CODE, name, 0, run) for name, run in runs.items()])
    told = {name: (score.equals_plain, score.first_difference) for name, score in result.scores.items()}
    assert told == {"plain": (True, None), "auto": (True, None), "fixed 3": (False, 2), "fixed 5": (False, 4)}


def test_shares_acceptance_and_origins_are_over_all_repeats() -> None:
    parts = ({"draft": 10.0, "verify": 60.0, "other": 10.0}, {"draft": 50.0, "verify": 60.0, "other": 10.0})
    runs = [
        run_of(20.0, parts=part, drafted=10, accepted=count, rounds=1, origins={"draft": count})
        for part, count in zip(parts, (2, 3), strict=True)
    ]
    both = [Heat(CODE, name, repeat, run) for name in ("plain", "auto") for repeat, run in enumerate(runs)]
    score = prompt_results(both)[0].scores["auto"]
    assert score.share == pytest.approx({"draft": 0.3, "verify": 0.6, "other": 0.1})
    assert (score.acceptance_rate, score.mean_accepted_length, score.origins) == (0.25, 5.0, {"draft": 5})


def test_answers_too_short_for_a_speed_count_for_nothing() -> None:
    short = [Heat(STORY, name, 0, run_of(0.0, tokens=(1,))) for name in ("plain", "auto")]
    results = prompt_results([*heats(CODE, plain=(80.0,), auto=(40.0,)), *short])
    assert results[1].scores["auto"].speedup is None
    standing = standings(results, ["auto"])["auto"]
    assert standing.overall == pytest.approx(2.0)
    assert standing.by_kind["story"] is None


def test_memory_beyond_the_models_is_told_where_the_system_tells() -> None:
    assert Memory(weights=100, kv=10, peak_rss=150).beyond == 40
    assert Memory(weights=100, kv=10, peak_rss=None).beyond is None
    peak = peak_rss()
    assert peak is None or peak > 20 * 2**20


@pytest.mark.slow
@pytest.mark.parametrize("with_draft", [True, False])
def test_a_whole_race_of_tiny_models(tiny_target: Path, tiny_draft: Path, with_draft: bool) -> None:
    options = LoadOptions(tiny_target, tiny_draft if with_draft else None, context=256)
    engine = load(options)
    stages, seen = list[str](), list[Heat]()
    plan = BenchPlan(options, (CODE, STORY), tokens=12, repeats=2)
    result = measure(engine, plan, (genai(engine, options),), Progress(stages.append, seen.append))
    engine.close()
    own = ["plain", "fixed 3", "fixed 5", "auto"]
    peers = ["genai plain", "genai 3", "genai 5"] if with_draft else ["genai plain"]
    assert list(result.standings) == [*own, *peers]
    assert len(seen) == 2 * 2 * len(result.standings)
    assert len(stages) == 2
    for prompt in result.prompts:
        lengths = {name: score.output_tokens for name, score in prompt.scores.items()}
        assert lengths == dict.fromkeys(result.standings, (12, 12))
    assert result.auto_vs_best_static_peer is not None
    data = json.loads(json.dumps(as_json(result)))
    assert (data["setting"]["draft"] is not None) == with_draft
    assert data["machine"]["cores"] >= 1
    assert data["prompts"][0]["scores"]["auto"]["share"].keys() == {"draft", "verify", "other"}


def test_each_side_reads_the_same_prompt_and_writes_the_same_text_in_exact_numerics(
    tiny_target: Path, tiny_draft: Path
) -> None:
    options = LoadOptions(tiny_target, tiny_draft, context=256, numerics=Numerics.EXACT)
    engine = load(options)
    plan = BenchPlan(options, (CODE,), tokens=16, repeats=1)
    (prompt,) = measure(engine, plan, (genai(engine, options),), Progress(lambda _: None, lambda _: None)).prompts
    engine.close()
    assert all(score.equals_plain for score in prompt.scores.values())
    assert prompt.scores["genai 3"].acceptance_rate is not None


@pytest.mark.parametrize("at", [0, 5])
def test_a_cancelled_race_ends_between_its_heats(tiny_target: Path, at: int) -> None:
    options = LoadOptions(tiny_target, context=256)
    engine = load(options)
    cancel, seen, planned = CancelEvent(), list[Heat](), list[int]()

    def note(heat: Heat) -> None:
        seen.append(heat)
        if len(seen) == at:
            cancel.set()

    if not at:
        cancel.set()
    plan = BenchPlan(options, (CODE, STORY), tokens=8, repeats=2)
    with pytest.raises(RaceCancelled):
        measure(engine, plan, (), Progress(lambda _: None, note, planned.append, cancel))
    engine.close()
    assert len(seen) == at
    assert planned == ([16] if at else [])


def test_a_cancel_ends_an_answer_of_a_race_before_its_end() -> None:
    cancel = CancelEvent()
    engine = ScriptedEngine(("word " * 200,), pause=0.01)
    (plain, *_) = own_modes(engine, 400, lambda: None, cancel)
    threading.Timer(0.05, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(RaceCancelled):
        plain.answer(CODE)
    assert time.monotonic() - started < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("with_draft", [True, False])
def test_passes_of_tiny_models_are_timed(tiny_target: Path, tiny_draft: Path, with_draft: bool) -> None:
    options = LoadOptions(tiny_target, tiny_draft if with_draft else None, context=256)
    engine, stages = load(options), list[str]()
    plan = ForwardPlan(options, tokens=(1, 2, 64, 512), contexts=(100, 16, 256), repeats=2)
    result = measure_forward(engine, plan, stages.append)
    assert [model.role for model in result.models] == (["target", "draft"] if with_draft else ["target"])
    for model in result.models:
        assert list(model.by_tokens) == [1, 2, 64]  # 512 do not fit
        assert list(model.by_context) == [16, 100]
        assert all(0.0 < timed.least <= timed.median for timed in model.by_tokens.values())
    assert not engine.target.runner.tokens
    assert any("number of tokens" in stage for stage in stages)
    data = json.loads(json.dumps(dataclasses.asdict(result)))
    assert set(data["models"][0]["by_context"]) == {"16", "100"}
    engine.close()
