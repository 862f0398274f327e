"""The promise, end to end on tiny models in exact numerics: however it was drafted, the answer is the plain one."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from headstart.engine.engine import FinishReason, Message, Mode, Origin, Sampling, Speculation
from headstart.engine.local import LocalEngine
from tests.engine.answers import CODE, LIST, PLAIN, Answer, Whimsical, ask, forget, request

SPECULATIONS = {
    "auto": Speculation(),
    "auto, at most 4": Speculation(num_assistant_tokens=4),
    "auto, confident": Speculation(assistant_confidence_threshold=0.5),
    "fixed 1": Speculation(Mode.FIXED, 1),
    "fixed 3": Speculation(Mode.FIXED, 3),
    "fixed 8": Speculation(Mode.FIXED, 8),
    "fixed 16": Speculation(Mode.FIXED, 16),
    "fixed 8, confident": Speculation(Mode.FIXED, 8, assistant_confidence_threshold=0.7),
    "fixed 3, never confident": Speculation(Mode.FIXED, 3, assistant_confidence_threshold=1.0),
}
SAMPLINGS = {
    "greedy": Sampling(),
    "warm": Sampling(temperature=0.8, seed=7),
    "cut": Sampling(temperature=1.2, top_k=20, top_p=0.9, min_p=0.02, seed=11),
    "penalised": Sampling(temperature=0.7, repetition_penalty=1.3, presence_penalty=0.4, frequency_penalty=0.2, seed=3),
    "greedy, penalised": Sampling(repetition_penalty=1.1, frequency_penalty=0.5),
}
QUICK = {"auto", "fixed 3", "fixed 8, confident", "greedy", "warm", "penalised"}


def each(choices: Mapping[str, object]) -> list[Any]:
    """All of them; but for a few, they are slow."""
    return [
        pytest.param(value, id=name, marks=() if name in QUICK else pytest.mark.slow) for name, value in choices.items()
    ]


any_speculation = pytest.mark.parametrize("speculation", each(SPECULATIONS))
any_sampling = pytest.mark.parametrize("sampling", each(SAMPLINGS))
greedy_and_warm = pytest.mark.parametrize("sampling", [SAMPLINGS["greedy"], SAMPLINGS["warm"]], ids=["greedy", "warm"])


@any_sampling
@any_speculation
def test_the_pair_answers_as_the_target_alone(
    pair_engine: LocalEngine, speculation: Speculation, sampling: Sampling
) -> None:
    expected = plain(pair_engine, LIST, sampling)
    given = ask(forget(pair_engine), request(LIST, sampling=sampling, speculation=speculation))
    assert given.essence == expected.essence
    if speculation.mode is Mode.FIXED and speculation.assistant_confidence_threshold is None:
        assert given.stats.drafted > given.stats.accepted > 0


@any_sampling
@any_speculation
def test_ngrams_alone_answer_as_the_target_alone(
    lone_engine: LocalEngine, speculation: Speculation, sampling: Sampling
) -> None:
    given = ask(forget(lone_engine), request(CODE, sampling=sampling, speculation=speculation))
    assert given.essence == plain(lone_engine, CODE, sampling).essence


@greedy_and_warm
def test_ngrams_do_draft(lone_engine: LocalEngine, sampling: Sampling) -> None:
    wanted = request(CODE * 3, sampling=sampling, speculation=SPECULATIONS["fixed 8"], tokens=200)
    given = ask(forget(lone_engine), wanted)
    assert given.stats.drafted > 0
    assert {step.round.drafter for step in given.steps} == {Origin.TARGET, Origin.NGRAM}
    assert given.essence == ask(forget(lone_engine), request(CODE * 3, sampling=sampling, tokens=200)).essence


@any_sampling
@pytest.mark.parametrize("seed", range(3))
def test_no_decision_of_any_policy_changes_the_answer(
    pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, sampling: Sampling, seed: int
) -> None:
    expected = plain(pair_engine, CODE, sampling)
    monkeypatch.setattr(pair_engine._decoder, "_policy", Whimsical(seed))
    given = ask(forget(pair_engine), request(CODE, sampling=sampling, speculation=Speculation()))
    assert given.essence == expected.essence
    assert Origin.DRAFT in {step.round.drafter for step in given.steps}


@greedy_and_warm
@pytest.mark.parametrize("mode", ["auto", "fixed 8"])
def test_a_conversation_with_reused_and_edited_turns(pair_engine: LocalEngine, mode: str, sampling: Sampling) -> None:
    """Each turn builds on the cache of the one before; the last edits the first message."""
    forget(pair_engine)
    speculation, conversation, reused = SPECULATIONS[mode], [Message("user", LIST)], []
    for following in ("And in other words?", "Shorter, please.", None):
        given = ask(pair_engine, request(conversation, sampling=sampling, speculation=speculation, tokens=40))
        reused.append(given.stats.reused_tokens)
        conversation += [Message("assistant", given.text), Message("user", following or "")]
        assert given.essence == cold(pair_engine, conversation[:-2], sampling).essence
        ask(forget(pair_engine), request(conversation[:-2], sampling=sampling, speculation=speculation, tokens=40))
    assert 0 == reused[0] < reused[1] < reused[2]
    edited = [Message("user", LIST.replace("conditions", "limits")), *conversation[1:-1]]
    given = ask(pair_engine, request(edited, sampling=sampling, speculation=speculation, tokens=40))
    assert 10 < given.stats.reused_tokens < reused[1]
    assert given.essence == cold(pair_engine, edited, sampling).essence


@greedy_and_warm
def test_the_same_request_again_gives_the_same(pair_engine: LocalEngine, sampling: Sampling) -> None:
    wanted = request(LIST, sampling=sampling, speculation=SPECULATIONS["fixed 8"])
    first = ask(forget(pair_engine), wanted)
    again = ask(pair_engine, wanted)
    assert again.essence == first.essence
    assert (first.stats.reused_tokens, again.stats.reused_tokens) == (0, again.stats.prompt_tokens - 1)


@any_speculation
@greedy_and_warm
def test_a_stop_string_ends_the_answer_wherever_it_falls(
    pair_engine: LocalEngine, speculation: Speculation, sampling: Sampling
) -> None:
    """Strings of the plain answer from everywhere: inside tokens, over their edges, over the edges of rounds."""
    whole = plain(pair_engine, LIST, sampling).text
    for start, length in [(1, 1), (9, 3), (26, 6), (61, 25), (len(whole) - 3, 3)]:
        stop = ("\0never", whole[start : start + length])
        given = ask(forget(pair_engine), request(LIST, sampling=sampling, speculation=speculation, stop=stop))
        assert given.text == whole[: whole.index(stop[1])]
        assert given.reason is FinishReason.STOP
        assert given.ids == plain(pair_engine, LIST, sampling, stop=stop).ids


@any_speculation
def test_after_a_stop_string_the_cache_serves_the_next_turn(pair_engine: LocalEngine, speculation: Speculation) -> None:
    whole = plain(pair_engine, LIST, Sampling()).text
    given = ask(forget(pair_engine), request(LIST, speculation=speculation, stop=(whole[40:44],)))
    conversation = [Message("user", LIST), Message("assistant", given.text), Message("user", "Go on.")]
    following = ask(pair_engine, request(conversation, speculation=speculation, tokens=40))
    assert following.stats.reused_tokens > 20
    assert following.essence == cold(pair_engine, conversation, Sampling()).essence


@any_speculation
def test_a_stop_id_ends_the_answer_without_being_part_of_it(
    pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, speculation: Speculation
) -> None:
    ids = plain(pair_engine, LIST, Sampling()).ids
    for place in (0, 1, 7, 20, 33):
        monkeypatch.setattr(pair_engine, "_stop_ids", frozenset({ids[place]}))
        given = ask(forget(pair_engine), request(LIST, speculation=speculation))
        assert given.ids == ids[: ids.index(ids[place])]
        assert given.reason is FinishReason.STOP


@any_speculation
@pytest.mark.parametrize("tokens", [1, 2, 3, 17])
def test_the_length_asked_for_is_kept_to_the_token(
    pair_engine: LocalEngine, speculation: Speculation, tokens: int
) -> None:
    given = ask(forget(pair_engine), request(LIST, speculation=speculation, tokens=tokens))
    assert given.ids == plain(pair_engine, LIST, Sampling()).ids[:tokens]
    assert given.reason is FinishReason.LENGTH


@any_speculation
def test_a_full_context_ends_the_answer_at_the_same_token(
    pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, speculation: Speculation
) -> None:
    expected = plain(pair_engine, LIST, Sampling())
    room = expected.stats.prompt_tokens + 50
    for model in (pair_engine.target, pair_engine.draft):
        assert model is not None
        monkeypatch.setattr(model.runner, "context", room)
    given = ask(forget(pair_engine), request(LIST, speculation=speculation, tokens=500))
    assert given.reason is FinishReason.CONTEXT
    assert given.ids == expected.ids[:51]  # the last one needs no place
    assert given.stats.context_used == given.stats.context_length == room


@pytest.mark.parametrize("room", [40, 70, 100, 130])
def test_a_draft_with_less_context_than_the_target_stops_helping_where_it_ends(
    pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    assert pair_engine.draft is not None
    expected = plain(pair_engine, LIST, Sampling(), tokens=120)
    monkeypatch.setattr(pair_engine.draft.runner, "context", room)
    given = ask(forget(pair_engine), request(LIST, speculation=SPECULATIONS["fixed 8"], tokens=120))
    assert given.essence == expected.essence
    assert len(pair_engine.draft.runner.tokens) <= room
    drafters = {step.round.drafter for step in given.steps}
    assert (Origin.DRAFT in drafters) == (given.stats.prompt_tokens + 17 <= room)


@cache
def plain(engine: LocalEngine, prompt: str, sampling: Sampling, tokens: int = 64, stop: tuple[str, ...] = ()) -> Answer:
    """The answer token by token, from a cold start; to be asked before an engine is patched."""
    given = ask(forget(engine), request(prompt, sampling=sampling, speculation=PLAIN, tokens=tokens, stop=stop))
    assert given.stats.drafted == 0
    return given


def cold(engine: LocalEngine, conversation: list[Message], sampling: Sampling) -> Answer:
    """The answer to a conversation token by token, nothing reused."""
    return ask(forget(engine), request(conversation, sampling=sampling, speculation=PLAIN, tokens=40))
