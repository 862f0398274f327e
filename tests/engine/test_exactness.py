"""Exactness: speculation never changes the text, and sampled text has the target's distribution."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from headstart.engine import sequence
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Drafter, FinishReason, Message, Mode, Origin, Round, Sampling, Speculation
from headstart.engine.local import LocalEngine
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.sampling import Sampler
from headstart.engine.speculative import Decoder
from tests.engine import goodness
from tests.engine.answers import CODE, LIST, PLAIN, Answer, Whimsical, ask, forget, request
from tests.stand_ins.toy import ToyRunner, toy_drafters

VOCABULARY = 24
TABLE = {1: 70.0, 2: 72.0, 4: 76.0, 8: 92.0, 16: 140.0}


def toy_decoder(*, draft: bool = True, blur: float = 0.7, context: int = 4096, seed: int = 3) -> Decoder:
    target = ToyRunner(VOCABULARY, context, seed)
    drafters = toy_drafters(target, ToyRunner(VOCABULARY, context, seed, blur) if draft else None)
    # Prices as on a real machine; the toy itself costs nothing.
    return Decoder(target, drafters, Policy(Costs(Curve(TABLE), {Origin.DRAFT: Curve({1: 20.0})} if draft else {})))


def write(
    decoder: Decoder, begun: sequence.Sequence, stop_after: int | None = None
) -> tuple[list[int], list[Round], FinishReason]:
    """Write an answer from its prompt on; `stop_after` cancels once so many tokens are there."""
    cancel, tokens, rounds = CancelEvent(), list[int](), list[Round]()
    reason = None
    for event in decoder.run(replace(begun, context_length=decoder.context, cancel=cancel)):
        if isinstance(event, Round):
            rounds.append(event)
            tokens += [token.id for token in event.tokens]
            if stop_after is not None and len(tokens) >= stop_after:
                cancel.set()
        elif isinstance(event, FinishReason):
            reason = event
    assert reason is not None
    return tokens, rounds, reason


def random_sequence(rng: random.Random, speculation: Speculation) -> sequence.Sequence:
    sampling = Sampling(
        temperature=rng.choice([0.0, 0.7, 1.0, 1.5]),
        top_k=rng.choice([0, 5]),
        top_p=rng.choice([1.0, 0.9]),
        min_p=rng.choice([0.0, 0.05]),
        repetition_penalty=rng.choice([1.0, 1.2]),
        presence_penalty=rng.choice([0.0, 0.4]),
        frequency_penalty=rng.choice([0.0, 0.3]),
        seed=rng.randrange(2**40),
    )
    prompt = tuple(rng.randrange(VOCABULARY) for _ in range(rng.randrange(1, 40)))
    stop_ids = frozenset(rng.sample(range(VOCABULARY), rng.choice([0, 0, 1])))
    bias = {rng.randrange(VOCABULARY): rng.choice([-100.0, 2.0]) for _ in range(rng.choice([0, 0, 4]))}
    return sequence.Sequence(
        prompt, rng.choice([1, 2, 7, 60, 90]), stop_ids, replace(sampling, logit_bias=bias), speculation, 4096
    )


def random_speculation(rng: random.Random) -> Speculation:
    mode = rng.choice([Mode.AUTO, Mode.AUTO, Mode.FIXED])
    count = rng.randrange(1, 17) if mode is Mode.FIXED else rng.choice([None, 1, 4, 16])
    return Speculation(mode, count, rng.choice([None, 0.0, 0.3, 0.9, 1.0]))


@pytest.mark.parametrize("trial", range(40))
def test_speculative_tokens_equal_plain_ones(trial: int) -> None:
    rng = random.Random(trial)
    begun = random_sequence(rng, PLAIN)
    plain, _, reason = write(toy_decoder(draft=False), begun)
    # One decoder answers all: what earlier answers left in caches and policy must not matter.
    decoder = toy_decoder(blur=rng.choice([0.0, 0.4, 1.0, 3.0]))
    for _ in range(4):
        speculation = random_speculation(rng)
        assert write(decoder, replace(begun, speculation=speculation))[0::2] == (plain, reason), speculation
    assert write(toy_decoder(draft=False), replace(begun, speculation=Speculation()))[0] == plain


@pytest.mark.parametrize("trial", range(10))
def test_cancelled_answers_leave_nothing_behind(trial: int) -> None:
    rng = random.Random(1000 + trial)
    decoder = toy_decoder()
    for _ in range(6):
        begun = random_sequence(rng, random_speculation(rng))
        plain, _, _ = write(toy_decoder(draft=False), replace(begun, speculation=PLAIN))
        stop_after = rng.choice([None, 0, 1, 5])
        tokens, rounds, reason = write(decoder, begun, stop_after)
        assert tokens == plain[: len(tokens)]
        if stop_after is not None and len(tokens) < len(plain):
            assert reason is FinishReason.CANCELLED
            assert len(tokens) <= stop_after + len(rounds[-1].tokens)
        for event in decoder.run(replace(begun)):  # a reader that goes away in the middle
            if isinstance(event, Round):
                break


@pytest.mark.parametrize("speculation", [PLAIN, Speculation(Mode.FIXED, 8), Speculation()])
def test_stop_ids_and_lengths_are_exact(speculation: Speculation) -> None:
    begun = sequence.Sequence((1, 2, 3), 60, frozenset(), Sampling(), speculation, 4096)
    tokens, _, reason = write(toy_decoder(), begun)
    assert (len(tokens), reason) == (60, FinishReason.LENGTH)
    for count in (1, 2, 17):
        assert write(toy_decoder(), replace(begun, max_new_tokens=count))[0::2] == (tokens[:count], FinishReason.LENGTH)
    for place in (0, 1, 7, 20):
        found = write(toy_decoder(), replace(begun, stop_ids=frozenset({tokens[place]})))
        assert found[0::2] == (tokens[: tokens.index(tokens[place])], FinishReason.STOP)


def test_lower_acceptance_threshold_accepts_more() -> None:
    sampling = Sampling(temperature=1.0, seed=5)
    fixed = Speculation(mode=Mode.FIXED, num_assistant_tokens=4)
    loose = Speculation(mode=Mode.FIXED, num_assistant_tokens=4, acceptance_threshold=0.05)
    exact_text, exact_rounds, _ = write(
        toy_decoder(blur=2.0), sequence.Sequence((1, 2), 300, frozenset(), sampling, fixed, 4096)
    )
    loose_text, loose_rounds, _ = write(
        toy_decoder(blur=2.0), sequence.Sequence((1, 2), 300, frozenset(), sampling, loose, 4096)
    )
    assert sum(done.accepted for done in loose_rounds) > sum(done.accepted for done in exact_rounds)
    assert loose_text != exact_text


SMALL = 4  # tokens of the vocabulary whose 64 texts of three tokens are counted
FEW, MANY = 1_000, 20_000


def small_text_probabilities(runner: ToyRunner, prompt: Sequence[int]) -> dict[tuple[int, ...], float]:
    """Return the probability of every text of three tokens, from the target's logits."""
    chances = {}
    for text in product(range(SMALL), repeat=3):
        chance = 1.0
        for place, token in enumerate(text):
            weights = np.exp(runner.row([*prompt, *text[:place]]).astype(np.float64))
            chance *= float(weights[token] / weights.sum())
        chances[text] = chance
    return chances


def sampled_texts(speculation: Speculation, samples: int) -> Counter[tuple[int, ...]]:
    target, draft = ToyRunner(SMALL, 64, seed=9), ToyRunner(SMALL, 64, seed=9, blur=1.0)
    policy = Policy(Costs(Curve(TABLE), {Origin.DRAFT: Curve({1: 20.0})}))
    decoder = Decoder(target, toy_drafters(target, draft), policy)
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in range(samples):
        begun = sequence.Sequence((1, 2, 0), 3, frozenset(), Sampling(temperature=1.0, seed=seed), speculation, 64)
        counts[tuple(write(decoder, begun)[0])] += 1
    return counts


def p_value(counts: Counter[tuple[int, ...]]) -> float:
    expected = small_text_probabilities(ToyRunner(SMALL, 64, seed=9), (1, 2, 0))
    observed = [counts[text] for text in expected]
    return goodness.chi_square(observed, np.array(list(expected.values())) * counts.total())


@pytest.mark.parametrize("samples", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "speculation", [PLAIN, Speculation(mode=Mode.FIXED, num_assistant_tokens=2)], ids=["plain", "speculative"]
)
def test_sampled_texts_have_the_distribution_of_the_target(speculation: Speculation, samples: int) -> None:
    assert p_value(sampled_texts(speculation, samples)) > 1e-4


@pytest.mark.slow
def test_distribution_test_finds_a_planted_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Acceptance of what the draft likes, an unsound verification, is far from the target's distribution."""
    monkeypatch.setattr(
        Sampler, "choose", lambda self, row, position, run=(): self.guess(row * 1.1, position, run).token
    )
    assert p_value(sampled_texts(Speculation(mode=Mode.FIXED, num_assistant_tokens=2), MANY // 2)) < 1e-9


SPECULATIONS = {
    "auto": Speculation(),
    "auto, at most 4": Speculation(num_assistant_tokens=4),
    "auto, confident": Speculation(assistant_confidence_threshold=0.5),
    **{f"fixed {count}": Speculation(Mode.FIXED, count) for count in (1, 3, 8, 16)},
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
    """Return parameters for all choices; most are marked slow."""
    return [
        pytest.param(value, id=name, marks=() if name in QUICK else pytest.mark.slow) for name, value in choices.items()
    ]


any_speculation = pytest.mark.parametrize("speculation", each(SPECULATIONS))
any_sampling = pytest.mark.parametrize("sampling", each(SAMPLINGS))
greedy_and_warm = pytest.mark.parametrize("sampling", [SAMPLINGS["greedy"], SAMPLINGS["warm"]], ids=["greedy", "warm"])


@any_sampling
@any_speculation
def test_pair_answers_as_its_target(pair_engine: LocalEngine, speculation: Speculation, sampling: Sampling) -> None:
    expected = plain(pair_engine, LIST, sampling)
    given = ask(forget(pair_engine), request(LIST, sampling=sampling, speculation=speculation))
    assert given.essence == expected.essence
    if speculation.mode is Mode.FIXED and speculation.assistant_confidence_threshold is None:
        assert given.stats.drafted > given.stats.accepted > 0


@any_sampling
@any_speculation
def test_ngrams_answer_as_the_target(lone_engine: LocalEngine, speculation: Speculation, sampling: Sampling) -> None:
    given = ask(forget(lone_engine), request(CODE, sampling=sampling, speculation=speculation))
    assert given.essence == plain(lone_engine, CODE, sampling).essence


@greedy_and_warm
def test_ngrams_do_draft(lone_engine: LocalEngine, sampling: Sampling) -> None:
    alone = replace(SPECULATIONS["fixed 8"], drafter=Drafter.NGRAM)
    given = ask(forget(lone_engine), request(CODE * 3, sampling=sampling, speculation=alone, tokens=200))
    assert given.stats.drafted > 0
    assert {step.round.drafter for step in given.steps} == {Origin.TARGET, Origin.NGRAM}
    assert given.essence == ask(forget(lone_engine), request(CODE * 3, sampling=sampling, tokens=200)).essence


@any_sampling
@pytest.mark.parametrize("seed", range(3))
def test_policy_changes_no_token(
    pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, sampling: Sampling, seed: int
) -> None:
    expected = plain(pair_engine, CODE, sampling)
    monkeypatch.setattr(pair_engine.slot.decoder, "_policy", Whimsical(seed))
    given = ask(forget(pair_engine), request(CODE, sampling=sampling, speculation=Speculation()))
    assert given.essence == expected.essence
    assert Origin.DRAFT in {step.round.drafter for step in given.steps}


@greedy_and_warm
@pytest.mark.parametrize("mode", ["auto", "fixed 8"])
def test_edited_conversation_answers_as_a_fresh_one(pair_engine: LocalEngine, mode: str, sampling: Sampling) -> None:
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


@any_speculation
def test_stop_string_ends_the_answer_wherever_it_falls(pair_engine: LocalEngine, speculation: Speculation) -> None:
    """The strings are from the plain answer: inside tokens, over their edges, over the edges of rounds."""
    sampling = SAMPLINGS["warm"]
    whole = plain(pair_engine, LIST, sampling).text
    for start, length in [(1, 1), (9, 3), (26, 6), (61, 25), (len(whole) - 3, 3)]:
        stop = ("\0never", whole[start : start + length])
        given = ask(forget(pair_engine), request(LIST, sampling=sampling, speculation=speculation, stop=stop))
        assert given.text == whole[: whole.index(stop[1])]
        assert given.reason is FinishReason.STOP
        assert given.ids == plain(pair_engine, LIST, sampling, stop=stop).ids


def test_stop_string_leaves_the_cache_for_the_next_turn(pair_engine: LocalEngine) -> None:
    speculation, whole = SPECULATIONS["fixed 8"], plain(pair_engine, LIST, Sampling()).text
    given = ask(forget(pair_engine), request(LIST, speculation=speculation, stop=(whole[40:44],)))
    conversation = [Message("user", LIST), Message("assistant", given.text), Message("user", "Go on.")]
    following = ask(pair_engine, request(conversation, speculation=speculation, tokens=40))
    assert following.stats.reused_tokens > 20
    assert following.essence == cold(pair_engine, conversation, Sampling()).essence


@any_speculation
def test_full_context_ends_the_answer(
    pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, speculation: Speculation
) -> None:
    expected = plain(pair_engine, LIST, Sampling())
    room = expected.stats.prompt_tokens + 50
    for model in (pair_engine.target, pair_engine.draft):
        assert model is not None
        monkeypatch.setattr(model.runner, "context", room)
    given = ask(forget(pair_engine), request(LIST, speculation=speculation, tokens=500))
    assert given.reason is FinishReason.CONTEXT
    assert given.ids == expected.ids[:50]
    assert given.stats.context_used == given.stats.context_length == room


@pytest.mark.parametrize("room", [40, 100])
def test_draft_with_less_context_goes_on_drafting(
    pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    assert pair_engine.draft is not None
    expected = plain(pair_engine, LIST, Sampling(), tokens=120)
    monkeypatch.setattr(pair_engine.draft.runner, "context", room)
    given = ask(forget(pair_engine), request(LIST, speculation=SPECULATIONS["fixed 8"], tokens=120))
    assert given.essence == expected.essence
    assert len(pair_engine.draft.runner.tokens) <= room
    assert Origin.DRAFT in {step.round.drafter for step in given.steps[len(given.steps) // 2 :]}


@cache
def plain(engine: LocalEngine, prompt: str, sampling: Sampling, tokens: int = 64, stop: tuple[str, ...] = ()) -> Answer:
    """Return the answer token by token from a cold start; call it before an engine is patched."""
    given = ask(forget(engine), request(prompt, sampling=sampling, speculation=PLAIN, tokens=tokens, stop=stop))
    assert given.stats.drafted == 0
    return given


def cold(engine: LocalEngine, conversation: list[Message], sampling: Sampling) -> Answer:
    """Return the answer to a conversation token by token, without a cache."""
    return ask(forget(engine), request(conversation, sampling=sampling, speculation=PLAIN, tokens=40))
