"""The order of tokens in a draft vocabulary, and the texts behind it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.engine.bench.prompts import KINDS, MAX_PER_KIND, read_prompts
from headstart_export import answers, draft_vocab
from headstart_export.sources import recipe
from tests.stand_ins import tiny

SIZE, ROWS = 600, 640


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """The tokenizer of the tiny models."""
    return tiny.make_tokenizer(SIZE)


def counts_of(**shares: dict[int, float]) -> Any:
    """Return counts of some tokens, by row."""
    counts = np.zeros((2, ROWS))
    for row, name in enumerate(("written", "chances")):
        for token, count in shares.get(name, {}).items():
            counts[row, token] = count
    return counts


def needed(tokenizer: Any) -> set[int]:
    """Return the indispensable tokens: markers, bytes, white space, numbers."""
    pieces = {index: tokenizer.decode([index]) for index in range(SIZE)}
    plain = {index for index, text in pieces.items() if text.isspace() or text.isdigit()}
    return {0, 1, 2} | plain | {index for piece, index in tokenizer.get_vocab().items() if len(piece) == 1}


def test_every_token_is_ranked_once(tokenizer: Any) -> None:
    ranked = draft_vocab.rank(tokenizer, counts_of(), [])
    assert sorted(ranked) == list(range(SIZE))
    first = needed(tokenizer)
    assert len(first) > 256
    assert set(ranked[: len(first)]) == first
    assert ranked[len(first) :] == sorted(ranked[len(first) :])  # nothing was counted: low ids first


def test_words_of_the_target_are_ranked_first(tokenizer: Any) -> None:
    free = sorted(set(range(SIZE)) - needed(tokenizer))
    often, seldom, possible, found = free[-1], free[-2], free[-3], free[-4]
    counts = counts_of(written={often: 9.0, seldom: 1.0, 639: 50.0}, chances={possible: 0.05, often: 0.95})
    ranked = draft_vocab.rank(tokenizer, counts, [tokenizer.decode([found])])
    assert tokenizer(tokenizer.decode([found])).input_ids == [found]
    place = len(needed(tokenizer))
    assert ranked[place] == often
    assert set(ranked[place + 1 : place + 4]) == {seldom, possible, found}
    assert ranked[place + 4] == free[0]


@pytest.mark.parametrize(("rows", "written"), [(100, 70_000), (66_000, 70_000)])
def test_draft_vocab_is_long_enough_for_trials(tmp_path: Path, rows: int, written: int) -> None:
    draft_vocab.write(list(range(written)), rows, tmp_path)
    found = np.load(tmp_path / draft_vocab.FILE_NAME)
    assert found.tolist() == list(range(max(rows, draft_vocab.MIN_ENTRIES)))


def test_local_texts_are_the_same_each_time() -> None:
    texts = list(draft_vocab.texts_at_hand())
    assert sum(map(len, texts)) > 1_000_000
    assert texts == list(draft_vocab.texts_at_hand())


def test_prompts_are_varied_and_not_those_of_the_benchmark() -> None:
    prompts, more = answers.prompts(), answers.more_prompts()
    assert len(set(prompts)) == len(prompts) > 100
    assert len({*prompts, *more}) == len(prompts) + len(more) > 800
    for some in (prompts, more[:200]):  # the kinds are mixed early
        assert sum(any("\u4e00" <= character <= "\u9fff" for character in prompt) for prompt in some) >= 20
    measured = [message.content for prompt in read_prompts(MAX_PER_KIND, KINDS) for message in prompt.messages]
    assert len(measured) > 30
    assert not set(measured) & {*prompts, *more}


def test_tokens_of_a_recipe_are_committed() -> None:
    pair = recipe.parse_order(recipe.Arguments("qwen2.5-coder"))
    assert isinstance(pair, recipe.PairOrder)
    tokens = draft_vocab.listed_tokens(recipe.folder() / "draft_vocab" / f"{pair.draft_tokens}.npy")
    assert len(tokens) == pair.draft_vocab
    assert tokens == sorted(set(tokens))
