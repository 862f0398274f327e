"""Layers that keep a state: what they compute, and that every place of a text is found again to the bit."""

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from headstart.engine.kernels.library import Library, library
from headstart.engine.kernels.states import (
    Convolution,
    DeltaRule,
    SequencePart,
    States,
    StateUpdate,
    kept_bytes,
    update_memories,
)

Floats = NDArray[np.float32]

HEADS, KEY_HEADS, SIZE, TAPS, TOKENS = 4, 2, 8, 4, 700
CHANNELS = (2 * KEY_HEADS + HEADS) * SIZE
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.standard_normal((CHANNELS, TAPS)).astype(np.float32)
DECAYS, BIASES = -RANDOM.random(HEADS).astype(np.float32), RANDOM.standard_normal(HEADS).astype(np.float32)
RULES: dict[str, StateUpdate] = {
    "convolution": Convolution(WEIGHTS),
    "delta rule": DeltaRule(WEIGHTS, DECAYS, BIASES, KEY_HEADS),
    # A memory of which few copies are kept.
    "large delta rule": DeltaRule(RANDOM.standard_normal((4 * 192, 2)).astype(np.float32), DECAYS[:2], BIASES[:2], 1),
}
if own := library():
    WIDE = RANDOM.standard_normal((CHANNELS * 4, TAPS)).astype(np.float32)
    RULES["delta rule of our own kernels"] = DeltaRule(WIDE, DECAYS, BIASES, KEY_HEADS, own, threads=2)


def inputs(rule: StateUpdate, seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((TOKENS, rule.width)).astype(np.float32)


def outputs(rule: StateUpdate, x: Floats) -> Floats:
    out = np.empty((len(x), rule.given), np.float32)
    rule.advance(rule.start(), x, out)
    return out


def test_convolution_sums_each_token_with_those_before_it() -> None:
    x = inputs(RULES["convolution"], 1)
    padded = np.concatenate([np.zeros((TAPS - 1, CHANNELS), np.float32), x])
    expected = np.stack([(padded[place : place + TAPS] * WEIGHTS.T).sum(0) for place in range(TOKENS)])
    assert np.allclose(outputs(RULES["convolution"], x), expected, atol=1e-5)


def test_delta_rule_reads_back_what_it_stored_for_a_key() -> None:
    """Without decay, and with full correction, a query gives the last value of its key."""
    last = np.zeros((CHANNELS, TAPS), np.float32)
    last[:, -1] = 1.0
    rule = DeltaRule(last, np.full(HEADS, -1.0, np.float32), np.zeros(HEADS, np.float32), KEY_HEADS)
    tokens = np.full((2, rule.width), -100.0, np.float32)  # its activation makes 0 of it
    tokens[:, CHANNELS + HEADS :] = 100.0
    keys, values = slice(KEY_HEADS * SIZE, 2 * KEY_HEADS * SIZE), slice(2 * KEY_HEADS * SIZE, CHANNELS)
    tokens[0, keys], tokens[0, values] = 50.0, 3.0
    tokens[1, : KEY_HEADS * SIZE] = 50.0
    expected = 3.0 / (1.0 + np.exp(-3.0)) / np.sqrt(SIZE)
    assert np.allclose(outputs(rule, tokens)[1], expected, rtol=1e-3)


@pytest.mark.parametrize("name", RULES)
def test_random_texts_are_continued_to_the_bit(name: str) -> None:
    """Passes of all sizes, refused guesses, kept branches, cut and restored texts, of two sequences at once."""
    rule, chance = RULES[name], random.Random(0)
    states = States([rule])
    texts = [inputs(rule, seed)[:0] for seed in (0, 1)]
    saved: list[tuple[Floats, Floats]] = []  # a text, and its state
    for _ in range(12 if "large" in name else 80):
        number = chance.randrange(2)
        text, others = texts[number], []
        match chance.randrange(6):
            case 0:
                text = text[: chance.choice([len(text) - 1, len(text) - 40, chance.randrange(len(text) + 1)])]
                states.truncate(number, len(text))
            case 1 if saved:
                text, state = chance.choice(saved)
                states.truncate(number, 0)
                states.restore(number, len(text), state)
        known = states.known(number, len(text))
        new = inputs(rule, chance.randrange(100))[: chance.choice([1, 1, 2, 5, 40, 300])]
        branches = sorted(chance.sample(range(1, len(new)), min(2, len(new) - 1))) if len(new) < 40 else []
        others = list(inputs(rule, 7)[: len(branches)])
        x = np.concatenate([text[known:], new, *(other[None] for other in others)])
        whole = np.concatenate([text, new])
        out = np.empty((len(x), rule.given), np.float32)
        places = [len(text) - known + place for place in branches]
        states.begin([SequencePart(number, known, len(whole) - known, places)])
        states.run(0, x, out)
        assert np.array_equal(out[: len(whole) - known], outputs(rule, whole)[known:])
        for place, other, row in zip(branches, others, out[len(whole) - known :], strict=True):
            beside = np.concatenate([whole[: len(text) + place], other[None]])
            assert np.array_equal(row, outputs(rule, beside)[-1])
        if branches and chance.random() < 0.5:
            which = chance.randrange(len(branches))
            whole = np.concatenate([whole[: len(text) + branches[which]], others[which][None]])
            states.truncate(number, len(whole) - 1)
            states.keep(number, len(whole) - 1, which)
        elif chance.random() < 0.5:
            whole = whole[: len(text) + chance.randrange(len(new)) + 1]
            states.truncate(number, len(whole))
        state = states.save(number, len(whole))
        saved = [*saved[-5:], (whole, state)] if len(state) else saved  # behind a cut it may be unknown
        texts[number] = whole[:0] if len(whole) > TOKENS else whole
        states.truncate(number, len(texts[number]))


@pytest.mark.parametrize("name", RULES)
def test_last_tokens_need_not_be_read_again(name: str) -> None:
    rule = RULES[name]
    x, states = inputs(rule, 0), States([rule])
    for start in range(0, 700, 7):
        states.begin([SequencePart(0, start, 7)])
        states.run(0, x[start : start + 7], np.empty((7, rule.given), np.float32))
    assert [states.known(0, place) for place in (700, 699, 640)] == [700, 699, 640]
    assert 0 < states.known(0, 600) <= 600


@pytest.mark.parametrize("tokens", [1, 50])
@pytest.mark.parametrize(("heads", "key_heads", "size"), [(4, 2, 32), (3, 1, 64), (2, 2, 160)])
def test_kernels_compute_the_delta_rule_as_numpy(
    kernels: Library, heads: int, key_heads: int, size: int, tokens: int
) -> None:
    chance = np.random.default_rng(1)
    mixed = chance.standard_normal((tokens, 2 * key_heads + heads, size)) * size**-0.5
    arrays = [each.astype(np.float32) for each in (mixed, *chance.random((2, tokens, heads)))]
    begun = chance.standard_normal((heads, size, size)).astype(np.float32)
    right, expected = np.empty((tokens, heads * size), np.float32), begun.copy()
    update_memories(key_heads, arrays, expected, right)
    found = []
    before = kernels.isa
    for threads, isa in enumerate(kernels.isas, start=1):
        kernels.use(isa)
        memory, out = begun.copy(), np.full_like(right, np.nan)
        kernels.delta_rule(key_heads, arrays, memory, out, threads)
        found.append((memory, out))
        assert np.allclose(out, right, atol=1e-5), isa
        assert np.allclose(memory, expected, atol=1e-5), isa
        assert all(map(np.array_equal, found[0], found[-1])), isa
    if before:
        kernels.use(before)


@pytest.mark.parametrize("sizes", [(4, 2, 48), (3, 2, 32), (2, 0, 32), (1, 2, 32), (1, 1, 544)])
def test_unsupported_delta_rule_is_known(kernels: Library, sizes: tuple[int, int, int]) -> None:
    assert not kernels.has_delta_rule(*sizes)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("count", [1, 7, 1024])
def test_states_of_a_text_take_what_is_estimated(name: str, count: int) -> None:
    rule, tokens = RULES[name], 1024 if count < 7 else 2048
    states, x = States([rule]), np.tile(inputs(rule, 0), (2, 1))[:1024]
    most = 0
    for start in range(0, tokens - count + 1, count):
        states.begin([SequencePart(0, start, count)])
        states.run(0, x[:count], np.empty((count, rule.given), np.float32))
        most = max(most, sum(each.nbytes for each in states._layers[0][0]._states.values()))
    estimated = kept_bytes(rule.start().size, rule.width, tokens, 1024)
    most += states._layers[0][0]._rows.nbytes
    assert most <= estimated
    assert count > 1 or most > 0.6 * estimated
