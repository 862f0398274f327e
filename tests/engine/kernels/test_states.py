"""Layers that keep a state: what they compute, and that every place of a text is found again to the bit."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from headstart.engine.kernels.library import KernelRecurrence, Library, library
from headstart.engine.kernels.states import Convolution, DeltaRule, SequencePart, States, StateUpdate, kept_bytes

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
    RULES["delta rule of our own kernels"] = DeltaRule(WIDE, DECAYS, BIASES, KEY_HEADS, own)
    RULES["convolution of our own kernels"] = Convolution(WEIGHTS, own)
for each_rule in RULES.values():
    each_rule.threads = 2


def inputs(rule: StateUpdate, seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((TOKENS, rule.width)).astype(np.float32)


def outputs(rule: StateUpdate, x: Floats) -> Floats:
    out = np.empty((len(x), rule.output_width), np.float32)
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
        out = np.empty((len(x), rule.output_width), np.float32)
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
        states.run(0, x[start : start + 7], np.empty((7, rule.output_width), np.float32))
    assert [states.known(0, place) for place in (700, 699, 640)] == [700, 699, 640]
    assert 0 < states.known(0, 600) <= 600


def assert_kernels_agree(kernels: Library, make: Callable[[Library | None], StateUpdate], tokens: int) -> None:
    """Compare each instruction set, in some threads, with NumPy, and all of them with each other to the bit."""
    expected, chance, found = make(None), np.random.default_rng(1), list[tuple[Floats, Floats]]()
    x = chance.standard_normal((tokens, expected.width)).astype(np.float32)
    begun = chance.standard_normal(expected.start().size).astype(np.float32)
    right = np.empty((tokens, expected.output_width), np.float32)
    after, before = expected.advance(begun, x, right), kernels.isa
    try:
        for threads, isa in enumerate(kernels.isas, start=1):
            kernels.use(isa)
            rule, out, untouched = make(kernels), np.full_like(right, np.nan), begun.copy()
            rule.threads = threads
            found.append((rule.advance(begun, x, out), out))
            assert np.array_equal(begun, untouched)
            assert np.allclose(out, right, rtol=1e-4, atol=1e-5), isa
            assert np.allclose(found[-1][0], after, rtol=1e-4, atol=1e-5), isa
            assert all(map(np.array_equal, found[0], found[-1])), isa
    finally:
        if before:
            kernels.use(before)


@pytest.mark.parametrize("tokens", [1, 2, 50])
@pytest.mark.parametrize(("heads", "key_heads", "size", "taps"), [(4, 2, 32, 4), (3, 1, 64, 2), (2, 2, 160, 60)])
def test_kernels_compute_the_delta_rule_as_numpy(
    kernels: Library, heads: int, key_heads: int, size: int, taps: int, tokens: int
) -> None:
    chance = np.random.default_rng(1)
    weights = (chance.standard_normal(((2 * key_heads + heads) * size, taps)) * taps**-0.5).astype(np.float32)
    decays, biases = -chance.random(heads).astype(np.float32), chance.standard_normal(heads).astype(np.float32) * 9

    def make(library: Library | None) -> DeltaRule:
        rule = DeltaRule(weights, decays, biases, key_heads, library)
        assert library is None or library.has_recurrence(rule.layer)
        return rule

    assert_kernels_agree(kernels, make, tokens)


@pytest.mark.parametrize("tokens", [1, 2, 50])
@pytest.mark.parametrize(("width", "taps"), [(1, 2), (257, 3), (1024, 4), (40, 60)])
def test_kernels_compute_the_convolution_as_numpy(kernels: Library, width: int, taps: int, tokens: int) -> None:
    weights = np.random.default_rng(1).standard_normal((width, taps)).astype(np.float32)
    assert_kernels_agree(kernels, lambda library: Convolution(weights, library), tokens)


@pytest.mark.parametrize(
    "sizes",
    [
        (384, 4, 4, 2, 48),  # a size that is no multiple of 32
        (320, 4, 4, 3, 32),  # heads that share keys unevenly
        (64, 4, 2, 0, 32),
        (160, 4, 1, 2, 32),
        (1632, 4, 1, 1, 544),
        (255, 4, 4, 2, 32),  # a width of other heads
        (64, 1, 0, 0, 0),
        (0, 4, 0, 0, 0),
        (64, 4, 0, 2, 32),
    ],
)
def test_unsupported_layer_is_known(kernels: Library, sizes: tuple[int, ...]) -> None:
    assert not kernels.has_recurrence(KernelRecurrence(0, *sizes))
    nothing = np.zeros((1, 0), np.float32)
    with pytest.raises(RuntimeError):
        kernels.recur(KernelRecurrence(0, *sizes), nothing, nothing, nothing, 1)


def test_kernels_let_numbers_that_are_not_finite_pass(kernels: Library) -> None:
    """A later token of the same heads is spoiled, too; others are not."""
    rule = DeltaRule(WEIGHTS.repeat(4, 0), DECAYS, BIASES, KEY_HEADS, kernels)
    x = np.random.default_rng(1).standard_normal((3, rule.width)).astype(np.float32)
    x[1, -1] = np.nan  # of the last head
    out = outputs(rule, x).reshape(3, HEADS, -1)
    assert np.isnan(out[1:, -1]).all()
    assert np.isfinite(out[:, :-1]).all()
    assert np.isfinite(out[0]).all()


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("count", [1, 7, 1024])
def test_states_of_a_text_take_what_is_estimated(name: str, count: int) -> None:
    rule, tokens = RULES[name], 1024 if count < 7 else 2048
    states, x = States([rule]), np.tile(inputs(rule, 0), (2, 1))[:1024]
    most = 0
    for start in range(0, tokens - count + 1, count):
        states.begin([SequencePart(0, start, count)])
        states.run(0, x[:count], np.empty((count, rule.output_width), np.float32))
        most = max(most, sum(each.nbytes for each in states._layers[0][0]._states.values()))
    estimated = kept_bytes(rule.start().size, rule.width, tokens, 1024)
    most += states._layers[0][0]._rows.nbytes
    assert most <= estimated
    assert count > 1 or most > 0.6 * estimated
