"""Models with our own operations against the same models without them: which are replaced, and what then comes out."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.engine.engine import KvPrecision, LoadOptions, Mode, Sampling, Speculation
from headstart.engine.hardware.runtime import openvino
from headstart.engine.kernels.fusion import KERNELS, Compiled, compile_model, fuse
from headstart.engine.kernels.library import Library
from headstart.engine.kernels.selftest import identity
from headstart.engine.local import LocalEngine
from headstart.engine.runners import paged
from headstart.engine.runners.graph import add_taps
from headstart.engine.runners.paged import BranchingRunner, PagedRunner
from headstart.engine.runners.precision import OWN, probe_ids, properties, reference
from headstart.engine.runners.runner import Branch, Logits
from tests.engine.answers import LIST, ask, forget, load, request

EXACT = reference()
WITH_KERNELS = properties(OWN)
COLS, ROWS, GROUP = 256, 96, 128


@pytest.fixture(scope="module")
def runner(tiny_quantized: Path) -> BranchingRunner:
    return BranchingRunner.load(tiny_quantized, "CPU", WITH_KERNELS, 512)


def read(runner: PagedRunner, ids: Sequence[int], *cuts: int, branch: int | None = None) -> Logits:
    """Return the logits after each token, read in passes of these lengths; `branch`: beside each second token."""
    runner.rollback(0)
    rows, start = [], 0
    for cut in cuts:
        branches = [Branch(1, branch)] if branch is not None and cut > 1 else []
        rows.append(runner.forward(ids[start : start + cut], branches, rows=cut)[:cut].copy())
        start += cut
    runner.rollback(0)
    return np.concatenate(rows)


def test_fusion_keeps_the_logits(tiny_quantized: Path, runner: BranchingRunner) -> None:
    exact = BranchingRunner.load(tiny_quantized, "CPU", EXACT, 128)
    ids = probe_ids(exact.vocabulary, 80, seed=1)
    expected, found = (read(each, ids, 60, 20) for each in (exact, runner))
    assert np.abs(found - expected).max() < 0.2 * expected.std()
    assert np.abs(found - expected).mean() < 0.03 * expected.std()
    assert np.abs(found - expected).max() > 0  # activations are rounded, so it is not OpenVINO's arithmetic


@pytest.mark.parametrize(
    "cuts",
    [[1] * 70, [2] * 35, [3] * 23 + [1], [16, 16, 16, 16, 6], [31, 33, 6], [64, 1, 1, 4]],
    ids=lambda cuts: "-".join(map(str, cuts[:2])),
)
def test_logits_have_the_same_bits_however_many_tokens_a_pass_reads(runner: BranchingRunner, cuts: list[int]) -> None:
    ids = probe_ids(runner.vocabulary, 70, seed=2)
    assert np.array_equal(read(runner, ids, *cuts), read(runner, ids, 70))


def test_branches_change_no_bit_of_the_others(runner: BranchingRunner) -> None:
    ids = probe_ids(runner.vocabulary, 70, seed=3)
    assert np.array_equal(read(runner, ids, 30, *[4] * 10, branch=5), read(runner, ids, 70))


def test_branch_that_is_kept_has_the_bits_of_its_place(runner: BranchingRunner) -> None:
    ids = probe_ids(runner.vocabulary, 70, seed=4)
    expected = read(runner, ids, 70)
    runner.forward(ids[:63])
    found = runner.forward([ids[63], 7, 8, 9], [Branch(2, 11), Branch(1, ids[64])], rows=4).copy()
    runner.rollback(64, branch=1)  # place 65 is at the border of a block
    after = runner.forward(ids[65:70], rows=5).copy()
    assert np.array_equal(found[5], expected[64])
    assert np.array_equal(after, expected[65:70])
    runner.rollback(0)


def test_saved_blocks_come_back_with_the_same_bits(runner: BranchingRunner) -> None:
    ids = probe_ids(runner.vocabulary, 290, seed=5)
    expected = read(runner, ids, 290)
    runner.forward(ids[:256])
    saved = runner.save(0, 256)
    runner.rollback(0)
    runner.forward(probe_ids(runner.vocabulary, 200, seed=6))  # something else lies there meanwhile
    runner.rollback(0)
    assert runner.restore(ids[:256], saved)
    assert np.array_equal(runner.forward(ids[256:], rows=34), expected[256:])
    runner.rollback(0)


def test_sequences_in_one_pass_do_not_touch_each_other(tiny_quantized: Path, runner: BranchingRunner) -> None:
    several = BranchingRunner.load(tiny_quantized, "CPU", WITH_KERNELS, 128, sequences=3)
    texts = [probe_ids(several.vocabulary, length, seed=length) for length in (40, 1, 33)]
    together = several.forward_together(list(zip([several, *several.others], texts, strict=True)))
    for made, text in zip(together, texts, strict=True):
        assert made.logits is not None
        assert np.array_equal(made.logits[-1], read(runner, text, len(text))[-1])


@pytest.fixture(scope="module")
def runner_of_8_bits(tiny_quantized: Path) -> BranchingRunner:
    return BranchingRunner.load(tiny_quantized, "CPU", properties(OWN, KvPrecision.U8), 512)


def test_cache_of_8_bits_takes_half_and_keeps_the_logits(
    runner: BranchingRunner, runner_of_8_bits: BranchingRunner
) -> None:
    halves = [sum(cache.nbytes for cache in each.model.caches) for each in (runner_of_8_bits, runner)]
    assert halves[0] <= 0.55 * halves[1]
    ids = probe_ids(runner.vocabulary, 60, seed=1)
    expected, found = (read(each, ids, 50, 10) for each in (runner, runner_of_8_bits))
    assert 0 < np.abs(found - expected).mean() < 0.1 * expected.std()


@pytest.mark.parametrize("branches", [True, False])
@pytest.mark.parametrize(("kv_bits", "operations"), [(16, 2), (8, 2), (0, 4)])
def test_fusion_leaves_few_operations(
    tiny_quantized: Path, kernels: Library, *, branches: bool, kv_bits: int, operations: int
) -> None:
    """All layers, and the head. With OpenVINO's attention, what lies around it in two layers."""
    model = paged._paged_model(tiny_quantized, None, allow_qq_bias=branches)
    assert len(fuse(model, kernels, 2, kv_bits=kv_bits)) == operations
    kinds = [node.get_type_name() for node in model.get_ordered_ops()]
    assert kinds.count("HeadstartKernel") == operations
    assert kinds.count("PagedAttentionExtension") == (0 if kv_bits else 2)
    assert sum("cache" in port.any_name for port in model.inputs) == (0 if kv_bits else 4)


def test_graph_without_branches_gives_the_same_bits(tiny_quantized: Path, runner: BranchingRunner) -> None:
    plain = PagedRunner.load(tiny_quantized, "CPU", WITH_KERNELS, 512)
    ids = probe_ids(runner.vocabulary, 40, seed=8)
    assert np.array_equal(read(plain, ids, 33, 1, 6), read(runner, ids, 40))


def test_fused_model_gives_hidden_states(tiny_quantized: Path) -> None:
    def tap(model: Any) -> None:
        assert add_taps(model, [0, 1], with_head=True)

    def hidden(chosen: Any) -> Any:
        runner = BranchingRunner.load(tiny_quantized, "CPU", chosen, 64, edit=tap)
        runner.forward(probe_ids(runner.vocabulary, 20, seed=1))
        assert runner.hidden is not None
        return runner.hidden[:20].copy()

    expected, found = hidden(EXACT), hidden(WITH_KERNELS)
    assert found.shape == expected.shape == (20, 3 * COLS)
    assert np.abs(found - expected).mean() < 0.03 * expected.std()


@pytest.fixture(scope="module")
def engine(tiny_quantized: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_HOME", str(tmp_path_factory.mktemp("home")))
        with closing(load(LoadOptions(tiny_quantized))) as loaded:
            yield loaded


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.8, seed=5)], ids=["greedy", "sampled"])
def test_guessing_and_what_was_read_before_change_no_token(engine: LocalEngine, sampling: Sampling) -> None:
    guessing = Speculation(mode=Mode.FIXED, num_assistant_tokens=4)
    expected = ask(forget(engine), request(LIST, sampling=sampling, tokens=80))
    for speculation in (guessing, Speculation(), Speculation(mode=Mode.OFF)):
        again = ask(engine, request(LIST, sampling=sampling, speculation=speculation, tokens=80))
        assert again.ids == expected.ids


Graph = Callable[[Any, Any], Any]  # operations and input to output


def constant(values: Any) -> Any:
    return openvino().opset13.constant(values)


def weights(kind: str, rows: int = ROWS, cols: int = COLS, seed: int = 0) -> Any:
    """Return compressed weights as exporters write them. "u4 f16": with fractional zero points."""
    kind, _, points = kind.partition(" ")
    ov, random = openvino(), np.random.default_rng(seed)
    ops = ov.opset13
    width = GROUP if "4" in kind else cols
    shape = [rows, cols // width, width] if "4" in kind else [rows, cols]
    scales = random.uniform(0.001, 0.01, [*shape[:-1], 1]).astype(np.float16)
    raw = random.integers(0, 256, rows * cols // (2 if "4" in kind else 1)).astype(np.uint8)
    tensor = ov.Tensor(raw, ov.Shape(shape), getattr(ov.Type, kind))
    values = ops.convert(ov.op.Constant(tensor, shared_memory=False), np.float16)
    if kind == "u8":
        zeros = random.integers(100, 150, [rows, 1]).astype(np.uint8)
        values = ops.subtract(values, ops.convert(constant(zeros), np.float16))
    if points:
        values = ops.subtract(values, constant(random.uniform(-3, 18, [*shape[:-1], 1]).astype(np.float16)))
    elif kind == "u4":
        packed = random.integers(0, 256, rows * cols // width // 2).astype(np.uint8)
        zeros = ov.op.Constant(ov.Tensor(packed, ov.Shape([*shape[:-1], 1]), ov.Type.u4), shared_memory=False)
        values = ops.subtract(values, ops.convert(zeros, np.float16))
    values = ops.multiply(values, constant(scales))
    if "4" in kind:
        values = ops.reshape(values, constant(np.array([rows, cols])), special_zero=False)
    return ops.convert(values, np.float32)


def linear(ops: Any, x: Any, kind: str = "u8", rows: int = ROWS, cols: int = COLS, seed: int = 0) -> Any:
    return ops.matmul(x, weights(kind, rows, cols, seed), transpose_a=False, transpose_b=True)


def biased(ops: Any, x: Any) -> Any:
    return ops.add(linear(ops, x), constant(np.linspace(-1, 1, ROWS, dtype=np.float32).reshape(1, 1, ROWS)))


def residual(ops: Any, x: Any) -> Any:
    return ops.add(x, linear(ops, x, rows=COLS))


def gated(ops: Any, x: Any) -> Any:
    gate = ops.swish(linear(ops, x, rows=128, seed=1))
    return linear(ops, ops.multiply(gate, linear(ops, x, rows=128, seed=2)), cols=128)


def gated_apart(ops: Any, x: Any) -> Any:
    """Build a gated product with weights of two kinds, which do not fit into one matrix."""
    return ops.multiply(linear(ops, x, kind="u8"), ops.swish(linear(ops, x, kind="i4")))


def norm(ops: Any, x: Any, power: float = 2.0, width: int = COLS) -> Any:
    mean = ops.reduce_mean(ops.power(x, constant(np.float32(power))), constant(np.array([-1])), keep_dims=True)
    root = ops.sqrt(ops.add(mean, constant(np.float32(1e-6))))
    scaled = ops.multiply(x, ops.divide(constant(np.float32(1)), root))
    return ops.multiply(constant(np.linspace(0.5, 1.5, width, dtype=np.float32)), scaled)


def normalized(ops: Any, x: Any) -> Any:
    return linear(ops, norm(ops, x))


def twice_read(ops: Any, x: Any) -> Any:
    """Build a norm that is an output, too, beside the product that reads it."""
    normal = norm(ops, x)
    return ops.concat([linear(ops, normal), normal], -1)


def joined(ops: Any, x: Any) -> Any:
    return ops.concat([linear(ops, x, rows=rows, seed=rows) for rows in (32, 50, 7, 96, 33)], -1)


def split(ops: Any, x: Any) -> Any:
    """Build a path that leaves one operation and enters another."""
    first = linear(ops, x, rows=COLS, seed=1)
    return ops.add(linear(ops, ops.tanh(first), rows=COLS, seed=2), first)


CASES: dict[str, tuple[Graph, int]] = {
    **{kind: (partial(linear, kind=kind), 1) for kind in ("i8", "u8", "i4", "u4", "u4 f16")},
    "bias": (biased, 1),
    "residual": (residual, 1),
    "gated": (gated, 1),
    "gated, weights of two kinds": (gated_apart, 1),
    "norm": (normalized, 1),
    "norm that is read twice": (twice_read, 1),
    "products of the same values": (joined, 1),
    "something unknown between": (split, 2),
}


def model_of(graph: Graph) -> Any:
    ov = openvino()
    x = ov.opset13.parameter([-1, 1, COLS], np.float32, name="x")
    return ov.Model([ov.opset13.result(graph(ov.opset13, x))], [x], "model")


def answer(compiled: Compiled, tokens: int) -> Any:
    request = compiled.model.create_infer_request()
    x = np.random.default_rng(tokens).standard_normal((tokens, 1, COLS)).astype(np.float32)
    return request.infer([x])[0].copy()


@pytest.mark.parametrize("name", CASES)
def test_replaced_nodes_compute_the_same(name: str) -> None:
    graph, _ = CASES[name]
    exact = compile_model(model_of(graph), "CPU", EXACT)
    own = compile_model(model_of(graph), "CPU", {**WITH_KERNELS, KERNELS: identity()})
    for tokens in (1, 2, 5, 1, 40):
        expected, found = answer(exact, tokens), answer(own, tokens)
        assert found.shape == expected.shape
        assert np.abs(found - expected).mean() < 0.02 * expected.std()
        assert np.abs(found - expected).max() < 0.1 * expected.std()


@pytest.mark.parametrize("name", CASES)
def test_fusion_replaces_every_supported_node(name: str, kernels: Library) -> None:
    graph, operations = CASES[name]
    model = model_of(graph)
    assert len(fuse(model, kernels, 2)) == operations
    kinds = [node.get_type_name() for node in model.get_ordered_ops()]
    assert "MatMul" not in kinds
    assert kinds.count("HeadstartKernel") == operations


def spread(ops: Any, x: Any, values: Sequence[int], scales: Sequence[int], kind: Any = np.float16) -> Any:
    """Build a product whose weights are spread over rows or columns that their constant lacks."""
    numbers = ops.convert(constant(np.ones(values, np.int8)), kind)
    factors = constant(np.full(scales, 1 / 3 if kind is np.float32 else 0.5, kind))
    matrix = ops.convert(ops.multiply(numbers, factors), np.float32)
    return ops.matmul(x, matrix, transpose_a=False, transpose_b=True)


UNKNOWN: dict[str, Graph] = {
    "one row of weights for all": partial(spread, values=[1, COLS], scales=[ROWS, 1]),
    "one column of weights for all": partial(spread, values=[ROWS, 1], scales=[1, COLS]),
    "a scale for each column": partial(spread, values=[COLS, COLS], scales=[1, COLS]),
    "a scale for all": partial(spread, values=[ROWS, COLS], scales=[1, 1]),
    "scales that f16 does not hold": partial(spread, values=[ROWS, COLS], scales=[ROWS, 1], kind=np.float32),
    "weights in full": lambda ops, x: ops.matmul(
        x, constant(np.zeros((ROWS, COLS), np.float32)), transpose_a=False, transpose_b=True
    ),
    "a width that no group divides": lambda ops, x: linear(
        ops, ops.slice(x, *map(constant, ([0], [100], [1], [-1]))), cols=100
    ),
    "a norm of another power": lambda ops, x: norm(ops, x, power=3.0),
    "no product at all": lambda ops, x: ops.add(norm(ops, x), x),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_nodes_are_unchanged(name: str, kernels: Library) -> None:
    model = model_of(UNKNOWN[name])
    before = [node.get_type_name() for node in model.get_ordered_ops()]
    assert not fuse(model, kernels, 2)
    assert [node.get_type_name() for node in model.get_ordered_ops()] == before
