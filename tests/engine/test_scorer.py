"""Log probabilities of tokens."""

import random
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray
from scipy.special import log_softmax

from headstart.engine.answer_writer import AnswerText, Scorer
from headstart.engine.engine import ConversationRequest, Mode, Origin, Sampling, Scored, Speculation
from headstart.engine.local import LocalEngine
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.sampling import Row
from headstart.engine.speculative import Decoder
from headstart.engine.text.detokenizer import TokenTexts
from headstart.engine.text.grammar import TokenBytes
from headstart.engine.text.tokenizer import Tokenizer
from tests.engine.answers import CODE, LIST, PLAIN, Answer, ask, forget, request
from tests.engine.runners.test_branching import Eager
from tests.engine.test_exactness import TABLE, VOCABULARY, random_sequence, random_speculation, toy_decoder, write
from tests.engine.text.tiny_tokenizers import KINDS, SAMPLES
from tests.stand_ins.toy import BranchingToy, ToyRunner, toy_drafters

FIXED = Speculation(Mode.FIXED, 4)
SAMPLINGS = (Sampling(), Sampling(temperature=0.7, top_k=9, repetition_penalty=1.3, presence_penalty=0.4, seed=3))
BESIDE = 4
NOISE = 1e-3  # as in test_runner: what other batchings make


def spell(token: int) -> bytes:
    return bytes([token])


def decode(batch: list[list[int]]) -> list[str]:
    return [bytes(ids).decode("utf-8", "replace") for ids in batch]


TEXTS = TokenTexts(decode, b"a", 256)


def scored(query: ConversationRequest) -> ConversationRequest:
    return structs.replace(query, top_logprobs=BESIDE)


def tokens_of(given: Answer) -> list[Scored]:
    return [each for step in given.steps for each in step.scored]


def test_logprobs_are_the_softmax_of_the_row() -> None:
    row: Row = np.random.default_rng(1).normal(0.0, 4.0, 256).astype(np.float32)
    expected: NDArray[np.float64] = log_softmax(row.astype(np.float64))
    scorer, text = Scorer(spell, 20), AnswerText(TEXTS)
    scorer.note(row, 65)
    text.push([65])
    (scores,) = scorer.new_scores(text)
    assert (scores.token.spelling, scores.start) == ((65,), 0)
    assert scores.token.logprob == pytest.approx(expected[65], abs=1e-6)
    order = np.argsort(-row, kind="stable")[:20]
    assert [each.spelling for each in scores.top_logprobs] == [(token,) for token in order]
    assert [each.logprob for each in scores.top_logprobs] == pytest.approx(list(expected[order]), abs=1e-6)
    assert scorer.new_scores(text, ended=True) == ()


def test_logprobs_are_given_once_a_token_is_certain() -> None:
    row: Row = np.zeros(256, np.float32)
    scorer, text = Scorer(spell, 0), AnswerText(TEXTS, ("END",))
    scores: list[list[bytes]] = []
    for token in "é1 EN. 2END3".encode():
        scorer.note(row, token)
        text.push([token])
        scores.append([bytes(each.token.spelling) for each in scorer.new_scores(text)])
        if text.ended:
            break
    assert scores[:2] == [[], [b"\xc3", b"\xa9"]]  # half a character is none
    assert scores[4:7] == [[], [], [b"E", b"N", b"."]]  # they might have been the stop string
    assert b"".join(chain(*scores)) == "é1 EN. 2".encode()
    assert scorer.new_scores(text, ended=True) == ()


@pytest.mark.parametrize("trial", range(10))
@pytest.mark.parametrize("branches", [False, True])
def test_on_logits_gets_the_row_of_each_token(trial: int, *, branches: bool) -> None:
    rng = random.Random(trial)
    seen: list[tuple[Row, int]] = []
    sequence = replace(
        random_sequence(rng, random_speculation(rng)), on_logits=lambda row, token: seen.append((row.copy(), token))
    )
    target, draft = BranchingToy(VOCABULARY, seed=3), ToyRunner(VOCABULARY, seed=3, blur=1.0)
    branching = Decoder(
        target, toy_drafters(target, draft), Eager(Costs(Curve(TABLE), {Origin.DRAFT: Curve({1: 20.0})}))
    )
    if branches:
        sequence = replace(sequence, speculation=Speculation(), max_new_tokens=90, stop_ids=frozenset())
    tokens, _, _ = write(branching if branches else toy_decoder(blur=rng.choice([0.4, 1.0])), sequence)
    assert (target.taken > 3) == branches
    assert [token for _, token in seen[: len(tokens)]] == tokens
    for place, (row, _) in enumerate(seen[: len(tokens)]):
        assert np.array_equal(row, target.row([*sequence.prompt, *tokens[:place]]))


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "sampled"])
@pytest.mark.parametrize("speculation", [PLAIN, FIXED, Speculation()], ids=["plain", "fixed", "auto"])
def test_scores_are_the_logprobs_of_the_model(
    pair_engine: LocalEngine, sampling: Sampling, speculation: Speculation
) -> None:
    query = request(LIST, sampling=sampling, speculation=speculation)
    unscored = ask(forget(pair_engine), query)
    given = ask(forget(pair_engine), scored(query))
    assert given.essence == unscored.essence
    assert not tokens_of(unscored)
    scores = tokens_of(given)
    expected = single_passes(pair_engine, query, given.ids)
    assert [each.token.logprob for each in scores] == pytest.approx(
        [rows[token] for rows, token in zip(expected, given.ids, strict=True)], abs=NOISE
    )
    for each, rows in zip(scores, expected, strict=True):
        assert [other.logprob for other in each.top_logprobs] == pytest.approx(
            sorted(rows)[: -BESIDE - 1 : -1], abs=NOISE
        )


def single_passes(engine: LocalEngine, query: ConversationRequest, ids: tuple[int, ...]) -> list[NDArray[np.float64]]:
    """Return the log-probabilities before each token, from passes over one token each."""
    runner = forget(engine).target.runner
    parts = [engine.tokenizer.prompt(query.messages), *([token] for token in ids[:-1])]
    rows = [log_softmax(runner.forward(part)[0].astype(np.float64)) for part in parts]
    runner.rollback(0)
    return rows


@pytest.mark.parametrize("question", [LIST, CODE, "Größe 你好 🚀"])
def test_bytes_join_to_the_text_and_starts_point_into_it(pair_engine: LocalEngine, question: str) -> None:
    given = ask(forget(pair_engine), scored(request(question, sampling=Sampling(temperature=1.5, seed=4))))
    scores = tokens_of(given)
    assert len(scores) == len(given.ids)
    control = {token for token in given.ids if not pair_engine.tokenizer.decode([token])}
    shown = [each for each, token in zip(scores, given.ids, strict=True) if token not in control]
    assert b"".join(bytes(each.token.spelling) for each in shown).decode("utf-8", "replace") == given.text
    for each in shown:
        data = bytes(each.token.spelling)
        if data.isascii():  # before it there may be half a character, which is one only now
            assert given.text[each.start :].lstrip("\N{REPLACEMENT CHARACTER}").startswith(data.decode())


def test_tokens_of_a_stop_string_have_no_logprobs(pair_engine: LocalEngine) -> None:
    whole = ask(forget(pair_engine), request(LIST))
    stop = whole.text[20:24]
    for speculation in (PLAIN, FIXED):
        given = ask(forget(pair_engine), scored(request(LIST, stop=(stop,), speculation=speculation)))
        assert len(tokens_of(given)) == len(given.ids) < len(whole.ids)


@pytest.mark.parametrize("kind", KINDS)
def test_token_bytes_of_every_tokenizer_kind(tokenizer_folders: Path, kind: str) -> None:
    tokenizer, spelling = Tokenizer(tokenizer_folders / kind), TokenBytes(tokenizer_folders / kind, 900, [2])
    for text in SAMPLES:
        data = b"".join(map(spelling.decode, tokenizer.encode(text)))
        assert data.removeprefix(b" ") == text.encode().removeprefix(b" ")
