"""Steps of programs against NumPy, and whole programs against their steps one by one."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from ctypes import c_int32, c_void_p, pointer
from typing import Any

import numpy as np
import pytest

from headstart.engine.kernels.library import (
    Activation,
    Format,
    KernelProgram,
    KernelStep,
    Kind,
    Library,
    Matrix,
    Ticket,
)
from headstart.engine.kernels.operation import CompiledSteps, Layout
from tests.engine.kernels.reference import (
    FORMATS,
    GROUPS,
    Doubles,
    Floats,
    Packed,
    each_isa,
    gelu_tanh,
    linear,
    normalized,
    packed,
    product,
    random_weights,
    run,
    silu,
)
from tests.support.waiting import wait_until

EPSILON = 1e-5
TOKENS = (1, 3, 9, 40)


def floats(*shape: int, seed: int = 0) -> Floats:
    """Return random numbers of about 1."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def matrices(
    kernels: Library, *rows: int, cols: int = 256, format_: Format = Format.INT4, alternate: bool = False
) -> Packed:
    """Return random matrices of so many rows each, packed one after the other."""
    random = np.random.default_rng(sum(rows))
    return packed(
        kernels, [random_weights(random, format_, GROUPS[format_], each, cols) for each in rows], alternate=alternate
    )


def simple(
    kind: Kind, input_: int, output: int, width: int, *, residual: int = -1, gain: Floats | None = None
) -> KernelStep:
    """Return a step without a matrix."""
    step = KernelStep(
        kind, 0, input_, residual, 1, epsilon=EPSILON, gain=gain.ctypes.data if gain is not None else None
    )
    step.outputs[0], step.rows[0] = output, width
    return step


def gated(matrix: Matrix, activation: Activation, input_: int, output: int, rows: int) -> KernelStep:
    """Return a step of kind GATED."""
    step = KernelStep(Kind.GATED, activation, input_, -1, 1, matrix=matrix)
    step.outputs[0], step.rows[0] = output, rows
    return step


@pytest.mark.parametrize("width", [1, 15, 16, 100, 576, 1536])
def test_norm_equals_numpy(kernels: Library, width: int) -> None:
    gain, first = floats(width, seed=1), None
    for tokens in TOKENS:
        x = floats(tokens, width) * np.float32(30)
        for isa in each_isa(kernels):
            (found,) = run(kernels, [simple(Kind.NORM, 0, 1, width, gain=gain)], [width, width], [x], 1, threads=2)
            assert np.allclose(found, normalized(x, gain, EPSILON), rtol=2e-6, atol=1e-6), isa
            first = found if first is None else first
            assert np.array_equal(found[0], first[0]), isa


@pytest.mark.parametrize(("format_", "group"), FORMATS)
def test_product_with_a_gain_equals_the_norm(kernels: Library, format_: Format, group: int) -> None:
    gain, rows, cols = floats(512, seed=1), 70, 512
    matrix = packed(kernels, [random_weights(np.random.default_rng(0), format_, group, rows, cols)])
    step = linear(matrix.matrix, 0, {1: rows})
    step.gain, step.epsilon = gain.ctypes.data, EPSILON
    for tokens in TOKENS:
        x = floats(tokens, cols)
        (norm,) = run(kernels, [simple(Kind.NORM, 0, 1, cols, gain=gain)], [cols, cols], [x], 1)
        for isa in each_isa(kernels):
            (found,) = run(kernels, [step], [cols, rows], [x], 1, threads=2)
            assert np.array_equal(found, product(kernels, matrix, rows, norm)), isa


def test_several_outputs_equal_several_products(kernels: Library) -> None:
    rows, cols = (100, 33, 64), 256
    together = matrices(kernels, *rows)
    apart = np.random.default_rng(sum(rows))
    alone = [packed(kernels, [random_weights(apart, Format.INT4, GROUPS[Format.INT4], each, cols)]) for each in rows]
    for tokens in TOKENS:
        x = floats(tokens, cols)
        found = run(kernels, [linear(together.matrix, 0, dict(enumerate(rows, 1)))], [cols, *rows], [x], 3, threads=2)
        for each, width, output in zip(alone, rows, found, strict=True):
            assert np.array_equal(output, product(kernels, each, width, x))


@pytest.mark.parametrize("in_place", [False, True])
def test_bias_and_residual_are_added_in_that_order(kernels: Library, in_place: bool) -> None:
    rows, cols = 100, 256
    matrix, bias = matrices(kernels, rows), np.zeros(128, np.float32)
    bias[:rows] = floats(rows, seed=2) * np.float32(1e4)
    for tokens in TOKENS:
        x, residual = floats(tokens, cols), floats(tokens, rows, seed=3)
        expected = product(kernels, matrix, rows, x) + bias[:rows] + residual
        step = linear(matrix.matrix, 0, {1 if in_place else 2: rows}, residual=1)
        step.bias = bias.ctypes.data
        results = run(kernels, [step], [cols, rows, rows], [x, residual], 1, threads=2)
        assert np.array_equal(residual if in_place else results[0], expected)


def test_add_equals_numpy(kernels: Library) -> None:
    a, b = floats(9, 100), floats(9, 100, seed=1)
    (found,) = run(kernels, [simple(Kind.ADD, 0, 2, 100, residual=1)], [100] * 3, [a, b], 1, threads=3)
    assert np.array_equal(found, a + b)


@pytest.mark.parametrize(("activation", "function"), [(Activation.SILU, silu), (Activation.GELU_TANH, gelu_tanh)])
def test_gate_equals_numpy(kernels: Library, activation: Activation, function: Callable[[Doubles], Doubles]) -> None:
    rows, cols = 70, 256
    both = matrices(kernels, rows, rows, alternate=True)
    random = np.random.default_rng(2 * rows)
    gate, up = (
        packed(kernels, [random_weights(random, Format.INT4, GROUPS[Format.INT4], rows, cols)]) for _ in range(2)
    )
    for factor in (0.01, 1, 100, 1e6):
        x = floats(40, cols) * np.float32(factor)
        with np.errstate(over="ignore"):
            expected = function(product(kernels, gate, rows, x).astype(np.float64)) * product(kernels, up, rows, x)
        first = None
        for isa in each_isa(kernels):
            (found,) = run(kernels, [gated(both.matrix, activation, 0, 1, rows)], [cols, rows], [x], 1, threads=2)
            assert np.allclose(found, expected, rtol=2e-6, atol=1e-6 * np.abs(expected).max()), isa
            first = found if first is None else first
            assert np.array_equal(found, first), isa


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("activation", [Activation.SILU, Activation.GELU_TANH])
def test_nan_goes_through_a_layer(kernels: Library, activation: Activation, bad: float) -> None:
    cols, inner = 256, 128
    both, down = matrices(kernels, inner, inner, alternate=True), matrices(kernels, cols, cols=inner)
    gain = np.ones(cols, np.float32)
    steps = [gated(both.matrix, activation, 0, 2, inner), linear(down.matrix, 2, {1: cols})]
    steps[0].gain, steps[0].epsilon = gain.ctypes.data, EPSILON
    x = floats(3, cols)
    x[1, 7] = bad
    for isa in each_isa(kernels):
        (found,) = run(kernels, steps, [cols, cols, inner], [x], 1)
        assert not np.isfinite(found[1]).any(), isa
        assert np.isfinite(found[[0, 2]]).all(), isa


@pytest.mark.parametrize("format_", [Format.INT8, Format.INT4])
def test_layer_equals_its_steps(kernels: Library, format_: Format) -> None:
    hidden, inner = 256, 640
    output, down = (matrices(kernels, hidden, cols=cols, format_=format_) for cols in (hidden, inner))
    both, qkv = (
        matrices(kernels, inner, inner, format_=format_, alternate=True),
        matrices(kernels, hidden, 64, 64, format_=format_),
    )
    gains = floats(2, hidden, seed=1)
    # Buffers: 0 attention's result, 1 hidden, 2 to 5 results, then scratch.
    widths = [hidden, hidden, hidden, hidden, 64, 64, hidden, inner]
    steps = [
        linear(output.matrix, 0, {6: hidden}, residual=1),
        gated(both.matrix, Activation.SILU, 6, 7, inner),
        linear(down.matrix, 7, {2: hidden}, residual=6),
        linear(qkv.matrix, 2, {3: hidden, 4: 64, 5: 64}),
    ]
    for step, gain in ((steps[1], gains[0]), (steps[3], gains[1])):
        step.gain, step.epsilon = gain.ctypes.data, EPSILON
    x, residual = floats(max(TOKENS), hidden), floats(max(TOKENS), hidden, seed=2)
    (middle,) = run(kernels, [linear(output.matrix, 0, {2: hidden}, residual=1)], [hidden] * 3, [x, residual], 1)
    step = gated(both.matrix, Activation.SILU, 0, 1, inner)
    step.gain, step.epsilon = gains[0].ctypes.data, EPSILON
    (wide,) = run(kernels, [step], [hidden, inner], [middle], 1)
    (after,) = run(
        kernels, [linear(down.matrix, 0, {2: hidden}, residual=1)], [inner, hidden, hidden], [wide, middle], 1
    )
    for isa in each_isa(kernels):
        for tokens in TOKENS:
            for threads in (1, 2, 3):
                found = run(kernels, steps, widths, [x[:tokens], residual[:tokens]], 4, threads)
                assert np.array_equal(found[0], after[:tokens]), (isa, tokens, threads)
        step = linear(qkv.matrix, 0, {1: hidden, 2: 64, 3: 64})
        step.gain, step.epsilon = gains[1].ctypes.data, EPSILON
        for one, other in zip(run(kernels, [step], [hidden, hidden, 64, 64], [after], 3), found[1:], strict=True):
            assert np.array_equal(one, other), isa


def test_two_threads_may_run_at_once(kernels: Library) -> None:
    rows, x = 320, floats(4, 256)
    matrix = matrices(kernels, rows)
    expected, found = product(kernels, matrix, rows, x), [x] * 200

    def fill(first: int) -> None:
        for i in range(first, len(found), 2):
            found[i] = product(kernels, matrix, rows, x, threads=2)

    threads = [threading.Thread(target=fill, args=(first,)) for first in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(each, expected) for each in found)


FORKING = """
import ctypes, os, sys
from headstart.engine.kernels.library import Library
from tests.engine.kernels.test_programs import floats, matrices, product
kernels = Library(ctypes.CDLL(sys.argv[1]))
matrix, x = matrices(kernels, 320), floats(4, 256)
expected = product(kernels, matrix, 320, x, threads=2).tobytes()
child = os.fork()
same = product(kernels, matrix, 320, x, threads=2).tobytes() == expected
if child == 0:
    os._exit(0 if same else 1)
sys.exit(0 if same and os.waitpid(child, 0)[1] == 0 else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_child_has_its_own_threads(kernels: Library) -> None:
    subprocess.run(
        [sys.executable, "-c", FORKING, kernels._functions._name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
        check=True,
    )


def changed(step: KernelStep, **fields: Any) -> KernelStep:
    """Return a copy of a step with other fields; `matrix_...`: of its matrix."""
    copy = KernelStep.from_buffer_copy(step)
    for name, value in fields.items():
        if name.startswith("matrix_"):
            setattr(copy.matrix, name.removeprefix("matrix_"), value)
        else:
            setattr(copy, name, value)
    return copy


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": 0},
        {"kind": 99},
        {"input": 1},
        {"input": -1},
        {"input": 3},
        {"residual": 0},
        {"residual": 3},
        {"count": 0},
        {"count": 5},
        {"outputs": (c_int32 * 4)(0)},
        {"outputs": (c_int32 * 4)(-1)},
        {"outputs": (c_int32 * 4)(7)},
        {"rows": (c_int32 * 4)(96)},
        {"rows": (c_int32 * 4)(0)},
        {"kind": Kind.GATED, "activation": Activation.SILU},
        {"kind": Kind.GATED, "matrix_rows": 1000},
        {"kind": Kind.NORM},
        {"kind": Kind.ADD},
        {"matrix_rows": 64},
        {"matrix_cols": 192},
        {"matrix_group": 96},
        {"matrix_format": 9},
        {"matrix_data": None},
    ],
)
def test_unfit_step_is_refused(kernels: Library, fields: dict[str, Any]) -> None:
    matrix, x = matrices(kernels, 100), floats(2, 256)
    step = linear(matrix.matrix, 0, {1: 100})
    run(kernels, [step], [256, 100, 100], [x], 2)
    with pytest.raises(RuntimeError, match="do not fit"):
        run(kernels, [changed(step, **fields)], [256, 100, 100], [x], 2)


def test_run_is_cancelled_from_another_thread(kernels: Library) -> None:
    rows = 2048
    matrix, x = matrices(kernels, rows, cols=2048, format_=Format.INT8), floats(4096, 2048)
    steps = [linear(matrix.matrix, 0, {1: rows}) for _ in range(40)]  # minutes in plain C
    best = kernels.isa
    kernels.use(kernels.isas[0])
    try:
        ticket = Ticket()
        threading.Timer(0.3, ticket.cancel).start()
        with pytest.raises(RuntimeError, match="cancelled"):
            run(kernels, steps, [2048, rows], [x], 1, ticket=ticket)
    finally:
        kernels.use(best)
    few = x[:3]
    assert np.isfinite(product(kernels, matrix, rows, few)).all()  # the next run is whole


def test_run_that_was_cancelled_before_it_began_writes_nothing(kernels: Library) -> None:
    matrix, x, out = matrices(kernels, 100), floats(2, 256), np.full((2, 100), np.nan, np.float32)
    ticket, other = Ticket(), Ticket()
    ticket.cancel()
    with pytest.raises(RuntimeError, match="cancelled"):
        run(kernels, [linear(matrix.matrix, 0, {1: 100})], [256, 100], [x, out], 0, ticket=ticket)
    assert np.isnan(out).all()
    run(kernels, [linear(matrix.matrix, 0, {1: 100})], [256, 100], [x, out], 0, ticket=other)  # it is not meant
    assert np.isfinite(out).all()


def test_passes_of_two_models_at_once_have_tickets_of_their_own(kernels: Library) -> None:
    layout = Layout([64], inputs=1, outputs=0)
    first, second = (CompiledSteps(kernels, layout, []) for _ in range(2))
    x = floats(1, 64)
    with first.tickets.ticketed() as one, second.tickets.ticketed() as other:
        one.cancel()  # in between two runs
        second.run([x])
        with pytest.raises(RuntimeError, match="cancelled"):
            first.run([x])
        other.cancel()
        with pytest.raises(RuntimeError, match="cancelled"):
            second.run([x])
    with first.tickets.ticketed():
        first.run([x])  # the next pass is not meant
    second.run([x])


def test_run_that_begins_inside_another_has_its_own_sequences_and_ticket() -> None:
    def places(past: int) -> list[Any]:
        return [np.array(values, np.int32) for values in ([past], [0, 1], [0], [0, 1])]

    class Nesting:
        """A library whose first run begins one of another model."""

        def __init__(self) -> None:
            self.runs: list[tuple[int, bool]] = []

        def run(self, program: KernelProgram, *_arguments: object) -> None:
            if not self.runs:
                self.runs.append((-1, False))
                inner.run([x], places(7))
            self.runs.append((c_int32.from_address(program.sequences.contents.past).value, bool(program.cancelled)))

    library, x = Nesting(), floats(1, 64)
    outer, inner = (CompiledSteps(library, Layout([64], inputs=1, outputs=0), []) for _ in range(2))  # type: ignore[arg-type]
    with outer.tickets.ticketed():
        outer.run([x], places(3))
    assert library.runs[1:] == [(7, False), (3, True)]


@pytest.mark.parametrize(("tokens", "threads"), [(0, 1), (-1, 1), (1, 0), (1, -1), (2**31 - 1, 1)])
def test_unfit_numbers_of_tokens_and_threads_are_refused(kernels: Library, tokens: int, threads: int) -> None:
    x = floats(1, 100)
    steps = (KernelStep * 1)(simple(Kind.ADD, 0, 0, 100, residual=0))
    program = KernelProgram(steps, 1, pointer(c_int32(100)), 1, 1)
    with pytest.raises(RuntimeError, match="do not fit"):
        kernels.run(program, tokens, (c_void_p * 1)(x.ctypes.data), threads)


def test_empty_program_runs(kernels: Library) -> None:
    assert run(kernels, [], [100], [floats(2, 100)], 0) == []


def test_scratch_grows_and_shrinks(kernels: Library) -> None:
    matrix = matrices(kernels, 100)
    first = product(kernels, matrix, 100, floats(1, 256))
    for tokens in (1000, 2, 40_000, 1, 64):
        found = product(kernels, matrix, 100, floats(tokens, 256), threads=2)
        assert np.array_equal(found[:1], first)
        assert np.isfinite(found).all()


def test_idle_helper_threads_sleep(kernels: Library) -> None:
    def are_asleep() -> bool:
        before = time.process_time()
        time.sleep(0.2)
        return time.process_time() - before < 0.1

    product(kernels, matrices(kernels, 320), 320, floats(4, 256), threads=3)
    wait_until(are_asleep)
