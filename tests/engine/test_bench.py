"""The benchmark: prompts, contestants, arithmetic, races of tiny models against peers, and advice."""

import dataclasses
import json
import math
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from headstart.engine.bench.measure import BenchPlan, Progress, genai, measure
from headstart.engine.bench.prompts import KINDS, MAX_PER_KIND, USUAL_KINDS, BenchPrompt, read_kinds, read_prompts
from headstart.engine.bench.race import (
    EVERYTHING,
    USUAL,
    Heat,
    RaceCancelled,
    TimedAnswer,
    own_modes,
    playable,
    race,
    read_contestants,
    speculation,
    turn_order,
)
from headstart.engine.bench.result import (
    ALL,
    BenchResult,
    Interval,
    Memory,
    PromptResult,
    Setting,
    Spread,
    advice,
    as_json,
    bootstrap_interval,
    geometric_mean,
    hindsight,
    judge,
    prompt_results,
    standings,
)
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Drafter, LoadOptions, Mode, Sampling, Speculation
from headstart.engine.hardware.devices import Machine
from headstart.engine.wire import from_data
from headstart.errors import SettingsError
from tests.engine.answers import load
from tests.stand_ins.fakes import ScriptedEngine

MACHINE = Machine("A Processor", 2, "Linux x86_64", "3.11", "0.1", "2026.4.1-22982-abc", "2026.4.1.0")
CODE, STORY = BenchPrompt("code-1", "code", "Write code."), BenchPrompt("story-1", "story", "Tell a story.")


def run_of(ms: float, tokens: tuple[int, ...] = (1, 2, 3, 4, 5), **changed: object) -> TimedAnswer:
    """Return an answer at so many milliseconds a token, with 100 ms to the first."""
    run = TimedAnswer(tokens, ttft_ms=100.0, decode_ms=ms * (len(tokens) - 1), prompt_tokens=7)
    return dataclasses.replace(run, **changed)  # type: ignore[arg-type]


def heats(prompt: BenchPrompt, **ms: tuple[float, ...]) -> list[Heat]:
    """Return a heat for each figure, by contestant ("_" stands for a space) and repeat."""
    return [
        Heat(prompt, name.replace("_", " "), repeat, run_of(value))
        for name, values in ms.items()
        for repeat, value in enumerate(values)
    ]


def test_bootstrap_interval_surrounds_the_mean_and_repeats() -> None:
    values = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0]
    interval = bootstrap_interval(values)
    assert interval is not None
    assert min(values) < interval.low < (geometric_mean(values) or 0.0) < interval.high < max(values)
    assert bootstrap_interval(values) == interval
    assert dataclasses.astuple(bootstrap_interval([2.0, 2.0]) or Interval(0, 0)) == pytest.approx((2.0, 2.0))
    assert bootstrap_interval([2.0]) is None


def test_turn_order_alternates() -> None:
    engine = ScriptedEngine()
    modes = own_modes(engine, 5, lambda: None)
    names = [mode.name for mode in modes]
    assert names == ["plain", "fixed 3", "fixed 5", "auto"]
    order = [heat.contestant for heat in race(modes, [CODE, STORY], repeats=2)]
    assert order == [*names, *names[::-1], *names[::-1], *names]
    assert [mode.name for mode in turn_order(modes, 3)] == names[::-1]


def test_modes_send_their_speculation_with_a_cold_cache() -> None:
    engine, forgotten = ScriptedEngine(), list[int]()
    list(race(own_modes(engine, 5, lambda: forgotten.append(len(engine.requests))), [CODE], repeats=1))
    asked = [(each.speculation.mode, each.speculation.num_assistant_tokens) for each in engine.requests]
    assert asked == [(Mode.OFF, None), (Mode.FIXED, 3), (Mode.FIXED, 5), (Mode.AUTO, None)]
    assert {(each.max_new_tokens, each.sampling, each.stop_on_repetition) for each in engine.requests} == {
        (5, Sampling(temperature=0.0), False)
    }
    assert forgotten == [0, 1, 2, 3]


def test_speedups_are_medians_and_geometric_means() -> None:
    more = dataclasses.replace(CODE, id="code-2")
    results = prompt_results(
        [
            *heats(CODE, plain=(70.0, 80.0, 90.0), auto=(35.0, 20.0, 90.0)),
            *heats(more, plain=(80.0,), auto=(80.0,)),
            *heats(STORY, plain=(80.0,), auto=(160.0,)),
        ]
    )
    assert [result.scores["auto"].speedup for result in results] == [
        Spread(2.0, 1.0, 4.0), Spread(1.0, 1.0, 1.0), Spread(0.5, 0.5, 0.5)
    ]  # fmt: skip
    assert (results[0].kind, results[0].prompt_tokens) == ("code", 7)
    standing = standings(results, ["auto"])["auto"]
    means = {kind: found.mean for kind, found in standing.decoding.items()}
    assert means == {ALL: pytest.approx(1.0), "code": pytest.approx(2.0**0.5), "story": pytest.approx(0.5)}
    worst = [(found.worst, found.worst_ratio) for found in standing.decoding.values()]
    assert worst == [("story-1", Spread(0.5, 0.5, 0.5)), ("code-2", Spread(1.0, 1.0, 1.0)), worst[0]]


def test_hindsight_takes_the_best_setting_of_each_peer() -> None:
    results = prompt_results(
        [
            *heats(CODE, plain=(80.0,), auto=(20.0,), genai_3=(40.0,), genai_5=(10.0,), hf_plain=(200.0,)),
            *heats(STORY, plain=(80.0,), auto=(80.0,), genai_3=(80.0,), genai_5=(800.0,), hf_plain=(160.0,)),
        ]
    )
    genai, hugging_face = hindsight(results, ["genai 3", "genai 5", "hf plain"])
    means = {kind: found.mean for kind, found in genai.decoding.items()}
    assert means == {ALL: pytest.approx(0.5**0.5), "code": pytest.approx(0.5), "story": pytest.approx(1.0)}
    assert (genai.peer, genai.decoding[ALL].worst) == ("genai", "code-1")
    assert genai.total["code"].mean == pytest.approx((100.0 + 4 * 10.0) / (100.0 + 4 * 20.0))
    assert hugging_face.decoding[ALL].mean == pytest.approx(20.0**0.5)
    assert hindsight(results, []) == ()


def test_hindsight_without_auto_is_empty() -> None:
    assert hindsight(prompt_results(heats(CODE, plain=(80.0,), genai_3=(40.0,))), ["genai 3"]) == ()


def test_standing_has_the_worst_prompt_and_the_first_token() -> None:
    more = dataclasses.replace(CODE, id="code-2")
    results = prompt_results([*heats(CODE, plain=(80.0,), auto=(20.0,)), *heats(more, plain=(80.0,), auto=(80.0,))])
    standing = standings(results, ["auto"])["auto"]
    found = standing.decoding[ALL]
    assert found.fifth_percentile == pytest.approx(1.15)
    assert found.interval is not None
    assert dataclasses.astuple(found.interval) == pytest.approx((1.0, 4.0))
    first = (100.0 + 4 * 80.0) / (100.0 + 4 * 20.0)
    assert standing.total["code"] == standing.total[ALL]
    assert standing.total[ALL].mean == pytest.approx(first**0.5)
    assert (standing.total[ALL].worst, standing.total[ALL].worst_ratio) == ("code-2", Spread(1.0, 1.0, 1.0))


def raced(
    *extra: Heat, prompts: int = 20, repeats: int = 3, noise: float = 0.01, auto: float = 60.0
) -> tuple[PromptResult, ...]:
    """Return a race of plain decoding, twice, and auto on some prompts, on a slightly uneven machine."""
    draw = random.Random(3)
    usual = [
        Heat(BenchPrompt(f"usual-{number}", "usual", "?"), name, repeat, run_of(ms * math.exp(draw.gauss(0.0, noise))))
        for number in range(prompts)
        for repeat in range(repeats)
        for name, ms in (("plain", 80.0), ("auto", auto), ("plain again", 80.0))
    ]
    return prompt_results([*usual, *extra])


@pytest.mark.parametrize("noise", [0.002, 0.01, 0.1])
def test_noise_breaks_no_promise(noise: float) -> None:
    found = judge(raced(noise=noise, auto=80.0))
    assert found is not None
    assert found.kept is True
    assert found.noise_decoding is not None
    assert found.noise_decoding.low < 1.0 < found.noise_decoding.high
    assert bool(found.slower) == (noise > 0.01)
    assert all(each.is_noise for each in found.slower)


def test_prompt_slower_in_every_repeat_breaks_the_promise() -> None:
    slow = heats(STORY, plain=(80.0, 81.0, 80.0), plain_again=(80.0, 80.0, 81.0), auto=(95.0, 94.0, 96.0))
    found = judge(raced(*slow))
    assert found is not None
    assert (found.kept, [each.prompt for each in found.slower]) == (False, ["story-1"])
    assert found.slower[0].speedup.median == pytest.approx((100.0 + 4 * 80.0) / (100.0 + 4 * 95.0))
    assert found.limit is not None
    assert 94 / 100 < found.limit < 1.0


@pytest.mark.parametrize(
    "auto",
    [
        (79.0, 160.0, 160.0),  # two slow answers, and one that was not
        (82.0, 83.0, 82.0),  # slower, but within what counts as equal
    ],
)
def test_prompt_slower_in_some_repeats_breaks_no_promise(auto: tuple[float, ...]) -> None:
    found = judge(raced(*heats(STORY, plain=(80.0,) * 3, plain_again=(80.0,) * 3, auto=auto)))
    assert found is not None
    assert found.kept is True


def test_uneven_plain_decoding_breaks_no_promise() -> None:
    uneven = heats(STORY, plain=(80.0, 80.0, 80.0), plain_again=(120.0, 80.0, 80.0), auto=(120.0, 100.0, 100.0))
    found = judge(raced(*uneven))
    assert found is not None
    assert [(each.prompt, each.is_noise) for each in found.slower] == [("story-1", True)]


def test_limit_falls_with_the_noise() -> None:
    quiet, uneven = (judge(raced(noise=noise)) for noise in (0.01, 0.1))
    assert quiet is not None
    assert uneven is not None
    assert quiet.limit is not None
    assert uneven.limit is not None
    assert uneven.limit < 0.95 < quiet.limit < 1.0


def test_one_repeat_judges_nothing() -> None:
    slow = heats(STORY, plain=(80.0,), plain_again=(80.0,), auto=(160.0,))
    found = judge(raced(*slow, repeats=1))
    assert found is not None
    assert (found.kept, found.limit) == (None, None)
    assert found.slower[0].is_noise is None
    kept = judge(raced(repeats=1))
    assert kept is not None
    assert kept.kept is True


def simulated(seed: int, auto: float) -> tuple[PromptResult, ...]:
    """Return a race on an uneven machine: single slow answers, slow minutes, and every tenth prompt four times as
    uneven.

    Auto has this speedup on one prompt and is as fast as plain decoding on the others.
    """
    draw, slow, found = random.Random(seed), 0, list[Heat]()
    names = ("plain", "fixed 3", "fixed 5", "auto", "plain again")
    for number in range(60):
        prompt = BenchPrompt(f"p-{number}", "p", "?")
        for repeat in range(3):
            for name in names[:: 1 if (number + repeat) % 2 == 0 else -1]:
                slow = draw.randint(8, 38) if draw.random() < 0.005 else slow - 1
                ms = 80.0 * math.exp(draw.gauss(0.0, 0.015 if number % 10 else 0.06)) * (1.7 if slow > 0 else 1.0)
                ms *= draw.uniform(1.1, 2.0) if draw.random() < 0.03 else 1.0
                ms /= auto if (number, name) == (1, "auto") else 1.0
                found.append(Heat(prompt, name, repeat, run_of(ms, ttft_ms=ms)))
    return prompt_results(found)


@pytest.mark.slow
def test_judge_finds_slowness_in_simulated_races() -> None:
    noise = [_blamed(simulated(seed, auto=1.0)) for seed in range(60)]
    slowness = [_blamed(simulated(seed, auto=0.8)) for seed in range(60)]
    assert sum(bool(prompts) for prompts in noise) <= 6
    assert sum("p-1" in prompts for prompts in slowness) >= 42


def _blamed(results: Sequence[PromptResult]) -> set[str]:
    found = judge(results)
    assert found is not None
    return {each.prompt for each in found.slower if each.is_noise is False}


def test_promise_includes_the_first_token() -> None:
    plain, late = run_of(80.0), run_of(70.0, ttft_ms=300.0)
    runs = {"plain": plain, "plain again": plain, "auto": late}
    found = judge(raced(*(Heat(STORY, name, repeat, run) for name, run in runs.items() for repeat in range(3))))
    assert found is not None
    assert [each.prompt for each in found.slower] == ["story-1"]
    assert found.kept is False


def test_shorter_answer_is_not_slower_for_its_first_token() -> None:
    runs = {"plain": run_of(80.0, tuple(range(40)), ttft_ms=8000.0)}
    runs |= {"plain again": runs["plain"], "auto": run_of(70.0, tuple(range(10)), ttft_ms=8000.0)}
    results = raced(*(Heat(STORY, name, repeat, run) for name, run in runs.items() for repeat in range(3)))
    speedup = results[-1].scores["auto"].total_speedup
    assert speedup is not None
    assert speedup.median == pytest.approx((8000.0 + 39 * 80.0) / (8000.0 + 39 * 70.0))


def test_promise_needs_a_second_plain_contestant() -> None:
    assert judge(prompt_results(heats(CODE, plain=(80.0,), auto=(160.0,)))) is None
    assert judge(()) is None


def test_different_texts_are_marked() -> None:
    runs = {"plain": run_of(70.0), "auto": run_of(70.0), "fixed 3": run_of(70.0, (1, 2, 9, 4, 5))}
    runs["fixed 5"] = run_of(70.0, (1, 2, 3, 4))
    (result,) = prompt_results([Heat(CODE, name, 0, run) for name, run in runs.items()])
    told = {name: (score.equals_plain, score.first_difference) for name, score in result.scores.items()}
    assert told == {"plain": (True, None), "auto": (True, None), "fixed 3": (False, 2), "fixed 5": (False, 4)}


def test_scores_are_over_all_repeats() -> None:
    parts = ({"draft": 10.0, "verify": 60.0, "other": 10.0}, {"draft": 50.0, "verify": 60.0, "other": 10.0})
    runs = [
        run_of(20.0, parts=part, drafted=10, accepted=count, rounds=1, origins={"draft": count})
        for part, count in zip(parts, (2, 3), strict=True)
    ]
    both = [Heat(CODE, name, repeat, run) for name in ("plain", "auto") for repeat, run in enumerate(runs)]
    score = prompt_results(both)[0].scores["auto"]
    assert score.share == pytest.approx({"draft": 0.3, "verify": 0.6, "other": 0.1})
    assert (score.acceptance_rate, score.mean_accepted_length, score.origins) == (0.25, 4.0, {"draft": 5})


def test_short_answers_have_no_speed() -> None:
    short = [Heat(STORY, name, 0, run_of(0.0, tokens=(1,))) for name in ("plain", "auto")]
    results = prompt_results([*heats(CODE, plain=(80.0,), auto=(40.0,)), *short])
    assert results[1].scores["auto"].speedup is None
    standing = standings(results, ["auto"])["auto"]
    assert standing.decoding[ALL].mean == pytest.approx(2.0)
    assert (standing.decoding["story"].mean, standing.decoding["story"].worst) == (None, None)


def test_peers_read_the_same_prompt_and_write_the_same_text(tiny_target: Path, tiny_draft: Path) -> None:
    options = LoadOptions(tiny_target, tiny_draft, context=256)
    engine = load(options)
    plan = BenchPlan(options, (CODE,), tokens=16, repeats=1)
    (prompt,) = measure(engine, plan, (genai(engine, options),), Progress(lambda _: None, lambda _: None)).prompts
    engine.close()
    assert all(score.equals_plain for score in prompt.scores.values())
    assert prompt.scores["genai 3"].acceptance_rate is not None


def test_cancelled_race_ends_between_heats(tiny_target: Path) -> None:
    options = LoadOptions(tiny_target, context=256)
    engine, cancel, seen, planned = load(options), CancelEvent(), list[Heat](), list[int]()

    def note(heat: Heat) -> None:
        seen.append(heat)
        if len(seen) == 5:
            cancel.set()

    plan = BenchPlan(options, (CODE, STORY), tokens=8, repeats=2)
    with pytest.raises(RaceCancelled):
        measure(engine, plan, (), Progress(lambda _: None, note, planned.append, cancel))
    engine.close()
    assert (len(seen), planned) == (5, [16])


def test_resumed_race_runs_the_remaining_prompts(tiny_target: Path) -> None:
    options = LoadOptions(tiny_target, context=256)
    engine, cancel, kept, seen = load(options), CancelEvent(), list[BenchResult](), list[Heat]()

    def keep(result: BenchResult) -> None:
        kept.append(result)
        cancel.set()

    plan = BenchPlan(options, (CODE, STORY), tokens=4, repeats=1, contestants=("plain", "auto", "plain again"))
    cut = Progress(lambda _: None, lambda _: None, cancel=cancel, result=keep)
    with pytest.raises(RaceCancelled):
        measure(engine, plan, (), cut)
    before: BenchResult = from_data(BenchResult, json.loads(json.dumps(as_json(kept[-1]))))
    going_on = Progress(lambda _: None, seen.append)
    result = measure(engine, dataclasses.replace(plan, before=before), (), going_on)
    assert [heat.prompt.id for heat in seen] == ["story-1"] * 3
    assert [prompt.id for prompt in result.prompts] == ["code-1", "story-1"]
    assert result.prompts[0] == before.prompts[0]
    assert result.standings["auto"].total.keys() == {ALL, "code", "story"}
    assert result.promise is not None
    with pytest.raises(SettingsError, match="had other models, settings, contestants or another version"):
        measure(engine, dataclasses.replace(plan, before=before, tokens=5), (), going_on)
    engine.close()


def test_cancelled_race_ends_in_an_answer() -> None:
    cancel, rounds = CancelEvent(), list[int]()

    def stop(_: int, number: int) -> None:
        rounds.append(number)
        if number == 3:
            cancel.set()

    (plain, *_) = own_modes(ScriptedEngine(("word " * 2000,), before_round=stop), 2000, lambda: None, cancel)
    with pytest.raises(RaceCancelled):
        plain.answer(CODE)
    assert rounds == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "kinds"), [("all", KINDS), ("story", ("story",)), ("math, code,math", ("math", "code"))]
)
def test_kinds_are_read_from_a_list(text: str, kinds: tuple[str, ...]) -> None:
    assert read_kinds(text) == kinds
    assert {prompt.kind for prompt in read_prompts(1, kinds)} == set(kinds)


def test_revision_prompt_ends_with_the_user() -> None:
    for prompt in read_prompts(1000, ("revision",)):
        assert [message.role for message in prompt.messages] == ["user", "assistant", "user"]
        assert prompt.messages[-1].content == prompt.text
    assert [message.role for message in CODE.messages] == ["user"]


def test_shared_text_is_in_each_prompt() -> None:
    for prompt in read_prompts(1000, ("article", "retrieval")):
        assert not re.search("^<.*>$", prompt.text, re.MULTILINE), "a text is named that the file lacks"
        assert prompt.kind == "retrieval" or len(prompt.text) > 1000


def test_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"no class 'poem'; the classes are code, edit, .*, or all\."):
        read_kinds("code,poem")
    assert set(USUAL_KINDS) < set(KINDS)


def test_contestants_are_read_by_name() -> None:
    asked = {name: speculation(name) for name in EVERYTHING}
    assert asked["plain"] == Speculation(Mode.OFF)
    assert asked["fixed 7"] == Speculation(Mode.FIXED, 7)
    assert asked["ngram"] == Speculation(drafter=Drafter.NGRAM)
    assert asked["draft"] == Speculation(drafter=Drafter.DRAFT)
    assert asked["threshold 0.4"] == Speculation(Mode.FIXED, 16, 0.4)
    assert asked["auto"] == Speculation()
    assert len(set(asked.values())) == len(EVERYTHING)


def test_plain_contestant_is_always_first() -> None:
    assert read_contestants("auto, fixed-3,auto") == ("plain", "auto", "fixed 3")
    assert set(USUAL) < set(EVERYTHING)


@pytest.mark.parametrize("text", ["quick", "", "fixed", "fixed-x", "threshold-", "auto,fixed-3-4"])
def test_unknown_contestant_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"There is no contestant .*; it must be plain, auto, ngram"):
        read_contestants(text)


def test_missing_model_cannot_draft_alone() -> None:
    names = ("plain", "draft", "eagle", "threshold 0.4", "fixed 3", "ngram", "auto")
    assert playable(names, {"draft", "eagle"}) == names
    assert playable(names, {"eagle"}) == ("plain", "eagle", "threshold 0.4", "fixed 3", "ngram", "auto")
    assert playable(names, ()) == ("plain", "fixed 3", "ngram", "auto")


def result(draft: str | None = "small", **kinds: dict[str, float]) -> BenchResult:
    """A race with these speedups by class and contestant ("_" stands for a space)."""
    prompts = prompt_results(
        [
            Heat(
                BenchPrompt(f"{kind}-1", kind, kind),
                name.replace("_", " "),
                0,
                TimedAnswer((1, 2), 0.0, 100.0 / speedup, 7),
            )
            for kind, speedups in kinds.items()
            for name, speedup in ({"plain": 1.0} | speedups).items()
        ]
    )
    names = list(prompts[0].scores)
    setting = Setting("big", draft, {}, None, tokens=2, repeats=1)
    return BenchResult(MACHINE, setting, prompts, standings(prompts, names), Memory(0, 0, None))


def test_advice_has_the_range_of_best_lengths() -> None:
    speeds = {"plain": 1.0, "fixed_1": 1.5, "fixed_3": 1.99, "fixed_4": 1.8, "fixed_5": 2.2, "fixed_6": 2.18}
    (code,) = advice(result(code=speeds | {"fixed_8": 2.21, "auto": 2.3, "genai_7": 9.0}))
    assert (code.method, code.lengths, code.words) == ("draft", (5, 8), "draft, 5-8")
    assert code.speedup == pytest.approx(2.21)
    assert code.auto == pytest.approx(2.3)


def test_advice_is_given_for_each_kind() -> None:
    given = advice(
        result(
            code={"fixed_5": 2.0, "ngram": 1.1, "auto": 2.1},
            edit={"fixed_5": 2.0, "ngram": 3.0, "auto": 3.1},
            story={"fixed_5": 0.9, "ngram": 1.01, "auto": 1.0},
            math={"fixed_5": 1.2, "ngram": 1.0, "auto": 1.25},
        )
    )
    assert [(each.kind, each.words, round(each.speedup, 6), round(each.auto or 0.0, 6)) for each in given] == [
        ("code", "draft, 5", 2.0, 2.1),
        ("edit", "n-gram", 3.0, 3.1),
        ("story", "off", 1.0, 1.0),
        ("math", "draft, 5", 1.2, 1.25),
    ]


def test_advice_without_a_draft_is_about_ngrams() -> None:
    (edit,) = advice(result(None, edit={"fixed_3": 1.4, "fixed_5": 1.7}))
    assert edit.words == "n-gram, 5"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_enough_prompts(kind: str) -> None:
    prompts = read_prompts(1000, (kind,))
    assert len({prompt.text for prompt in prompts}) == len(prompts) == MAX_PER_KIND
