"""The self-test of our own kernels on this processor, made once in a process of its own."""

import functools
import hashlib
import logging
import os
import subprocess
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart import paths
from headstart.engine.hardware import machine
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.kernels.blocks import dequantize, random_blocks
from headstart.engine.kernels.library import (
    BLOCK,
    ISA,
    Activation,
    Format,
    Isa,
    KernelAttention,
    Kind,
    Library,
    Weights,
    library,
    path,
    use_isa,
)
from headstart.engine.kernels.operation import KvCache, Layout, PlannedStep, pack
from headstart.engine.kernels.states import Convolution, DeltaRule, StateUpdate
from headstart.engine.supervision import ending, program
from headstart.errors import Translatable

_log = logging.getLogger(__name__)

_FAULT = "fault"
_COMPILING = "pip install ziglang, then python installer/kernels.py"
_SECONDS = 60.0  # until a silent child is ended
_ROWS, _COLS, _GROUP, _STEP = 72, 256, 128, 32
_TOKENS = (1, 3, 9, 40)  # instructions for few, and for many
_MAX_ERROR = 1e-5  # of the largest result
_HEADS, _KV_HEADS, _SIZE, _WINDOW, _EPSILON = 4, 2, 64, 20, 1e-6
_LENGTH = 40  # tokens of a text: two blocks
_TAPS = 4  # tokens that a convolution sums
_MAX_ATTENTION_ERRORS = {16: 2e-3, 8: 5e-2}  # of the largest result, by the bits of keys and values


def identity() -> str:
    """Return the instruction set in use and the build, such as "AVX2 1a2b3c4d". Measurements are stored for each."""
    kernels = library()
    return f"{kernels.isa} {build()}" if kernels else ""


@functools.cache
def build() -> str:
    """Return a few digits of the library's hash."""
    return hashlib.sha256(path().read_bytes()).hexdigest()[:8]


def proven() -> Library | None:
    """Return the library if it passes the self-test on this processor; else None."""
    return None if unsupported_reason() else library()


@functools.cache
def unsupported_reason() -> Translatable:
    """Return the reason not to use our own kernels on this computer; empty if there is none.

    A child process tries them once for each build. An instruction set that fails there is left for the next one: a
    virtual machine may name one that it does not have.
    """
    kernels = library()
    if kernels is None:
        if _lacks_avx2():
            return Translatable("this processor lacks AVX2")
        if not path().exists():
            return Translatable("they were not compiled when Headstart was installed")
        if isa := os.environ.get(ISA):
            return Translatable(
                "they do not load, or have nothing for {isa}, which {variable} names", isa=isa, variable=ISA
            )
        return Translatable("they do not load on this computer")
    best, is_chosen = kernels.isa, ISA in os.environ
    try:
        reason = _find_fault()
        for isa in [] if is_chosen or not reason else reversed(kernels.isas[1 : kernels.isas.index(best)]):
            use_isa(Isa(isa))
            if not (fault := _find_fault()):
                _log.warning("the kernels use %s, as %s is at fault: %s", isa, best, reason)
                return fault
    except (OSError, subprocess.TimeoutExpired) as error:  # the machine may be too busy: try again next time
        reason = Translatable("they could not be tried ({error})", error=error)
    if kernels.isa != best:
        kernels.use(best)
        del os.environ[ISA]
    return reason


def _find_fault() -> Translatable:
    """Return the fault of the instruction set in use; empty if it has none. Raises OSError and TimeoutExpired."""
    subject = {"kernels": identity(), "processor": machine.cpu_signature()}
    measurements = Measurements(paths.measurements_folder(), "kernels", subject)
    stored = measurements.get(_FAULT)
    if isinstance(stored, str):
        return Translatable(stored)
    child = subprocess.run(program("--check-kernels"), capture_output=True, text=True, timeout=_SECONDS, check=False)
    fault = "" if child.returncode == 0 else child.stderr.strip()[-200:] or ending(child.returncode)
    measurements.put(_FAULT, fault)
    return Translatable(fault)


def remedy() -> Translatable:
    """Return what the user can do about `unsupported_reason`, as a clause."""
    if library() is None and _lacks_avx2():
        return Translatable("choose a small model, or a computer whose processor has AVX2")
    if library() is None and path().exists() and ISA in os.environ:
        return Translatable("unset {variable}", variable=ISA)
    return Translatable("install Headstart again with a C compiler at hand ({commands})", commands=_COMPILING)


def _lacks_avx2() -> bool:
    sets = machine.instruction_sets()
    return sets is not None and "AVX2" not in sets


def check() -> str:
    """Return the fault of the library, empty if it has none. A process of its own calls this, as it may crash."""
    kernels = library()
    return self_test(kernels) if kernels else "it does not load"


def self_test(kernels: Library) -> str:
    """Return the first product or attention that differs from NumPy's by more than rounding; empty if none does."""
    random = np.random.default_rng(0)
    for weights, expected in _samples(random):
        layout = Layout([_COLS, _ROWS], inputs=1, outputs=1)
        step = PlannedStep(Kind.LINEAR, Activation.NONE, 0, -1, [1], [weights], [None], gain=None, epsilon=0.0)
        layout.steps.append(step)
        (piece,) = pack(kernels, [layout], threads=1)
        for tokens in _TOKENS:
            inputs = random.standard_normal((tokens, _COLS)).astype(np.float32)
            result = np.empty((tokens, _ROWS), np.float32)
            piece.run([inputs, result])
            right = _rounded(inputs) @ expected.T
            error = np.abs(result - right).max() / np.abs(right).max()
            if not error <= _MAX_ERROR:  # NaN included
                return f"{weights.format.name} differs by {error:.1g} for {tokens} tokens in {kernels.isa}"
    faults = (_attention_fault(kernels, bits, random) for bits in _MAX_ATTENTION_ERRORS)
    return next((fault for fault in faults if fault), "") or _state_fault(kernels, random)


def _attention_fault(kernels: Library, bits: int, random: np.random.Generator) -> str:
    """Return the fault of attention with norms, rotations, sinks and a window; empty if it is right."""
    widths = [_HEADS * _SIZE, *[_KV_HEADS * _SIZE] * 2, _SIZE, _SIZE]
    q, k, v, *_ = inputs = [random.standard_normal((_LENGTH, width)).astype(np.float32) for width in widths]
    angles = np.outer(np.arange(_LENGTH), np.tile(0.5 ** np.arange(_SIZE // 2), 2))
    inputs[3:] = [function(angles).astype(np.float32) for function in (np.cos, np.sin)]
    gains = random.uniform(0.5, 2.0, (2, _SIZE)).astype(np.float32)
    sinks = random.standard_normal(_HEADS).astype(np.float32)
    attention = KernelAttention(_HEADS, _KV_HEADS, _SIZE, 1, 2, 3, 4, -1, bits, _WINDOW, _SIZE**-0.5, 0.0, _EPSILON)
    attention.query_gain, attention.key_gain, attention.sinks = (each.ctypes.data for each in (*gains, sinks))
    order = np.concatenate([random.permutation(_SIZE) for _ in range(_KV_HEADS)]).astype(np.int16)
    attention.key_order = order.ctypes.data
    layout = Layout([*widths, widths[0]], inputs=len(widths), outputs=1)
    step = PlannedStep(Kind.ATTENTION, Activation.NONE, 0, -1, [5], [], [], gain=None, epsilon=0.0, attention=attention)
    layout.steps.append(step)
    (piece,) = pack(kernels, [layout], threads=1)
    cache = KvCache(kernels, piece.attentions, -(-_LENGTH // BLOCK))
    results = []
    for tokens in ([_LENGTH], [_LENGTH - 7, 1, 6]):
        past = 0
        for count in tokens:
            places = ([past], [0, count], range(len(cache.layers[0])), [0, len(cache.layers[0])])
            result = np.empty((count, widths[0]), np.float32)
            of_pass = [each[past : past + count].copy() for each in inputs]
            piece.run([*of_pass, result], [np.array(each, np.int32) for each in places])
            results.append(result)
            past += count
    whole, in_parts = results[0], np.concatenate(results[1:])
    right = _attended(_turned(q, gains[0], angles), _turned(k, gains[1], angles), v, sinks)
    error = np.abs(whole - right).max() / np.abs(right).max()
    if not error <= _MAX_ATTENTION_ERRORS[bits]:
        return f"attention in {bits} bits differs by {error:.1g} in {kernels.isa}"
    return "" if np.array_equal(whole, in_parts) else f"attention in {bits} bits depends on the pass in {kernels.isa}"


def _state_fault(kernels: Library, random: np.random.Generator) -> str:
    """Return what is wrong with layers that keep a state; empty if nothing is."""
    weights = random.standard_normal(((2 * _KV_HEADS + _HEADS) * _SIZE, _TAPS)).astype(np.float32)
    decays, biases = -random.random(_HEADS).astype(np.float32), random.standard_normal(_HEADS).astype(np.float32)
    rules: dict[str, tuple[StateUpdate, StateUpdate]] = {
        "a convolution": (Convolution(weights, kernels), Convolution(weights)),
        "the delta rule": (
            DeltaRule(weights, decays, biases, _KV_HEADS, kernels),
            DeltaRule(weights, decays, biases, _KV_HEADS),
        ),
    }
    for name, (rule, reference) in rules.items():
        x = random.standard_normal((_LENGTH, rule.width)).astype(np.float32)
        right = np.empty((_LENGTH, rule.output_width), np.float32)
        reference.advance(reference.start(), x, right)
        results = []
        for sizes in ([_LENGTH], [_LENGTH - 7, 1, 6]):
            result, state, past = np.empty_like(right), rule.start(), 0
            for count in sizes:
                part = slice(past, past + count)
                state, past = rule.advance(state, x[part], result[part]), past + count
            results.append(result)
        whole, in_parts = results
        error = np.abs(whole - right).max() / np.abs(right).max()
        if not error <= _MAX_ERROR:
            return f"{name} differs by {error:.1g} in {kernels.isa}"
        if not np.array_equal(whole, in_parts):
            return f"{name} depends on the pass in {kernels.isa}"
    return ""


def _turned(x: NDArray[Any], gain: NDArray[Any], angles: NDArray[Any]) -> NDArray[np.float64]:
    """Return heads [tokens, heads, size], normalized and rotated."""
    heads = x.reshape(_LENGTH, -1, _SIZE).astype(np.float64)
    heads = heads / np.sqrt((heads**2).mean(axis=2, keepdims=True) + _EPSILON) * gain
    low, high = np.split(heads, 2, axis=2)
    turned: NDArray[np.float64] = (
        heads * np.cos(angles)[:, None] + np.concatenate([-high, low], 2) * np.sin(angles)[:, None]
    )
    return turned


def _attended(q: NDArray[Any], k: NDArray[Any], v: NDArray[Any], sinks: NDArray[Any]) -> NDArray[np.float64]:
    keys, values = (np.repeat(each.reshape(_LENGTH, -1, _SIZE), _HEADS // _KV_HEADS, axis=1) for each in (k, v))
    scores = np.einsum("qhs,khs->hqk", q, keys) * _SIZE**-0.5
    distance = np.subtract.outer(np.arange(_LENGTH), np.arange(_LENGTH))
    weights = np.exp(np.where((distance >= 0) & (distance < _WINDOW), scores, -np.inf))
    weights /= weights.sum(axis=2, keepdims=True) + np.exp(sinks)[:, None, None]
    attended: NDArray[np.float64] = np.einsum("hqk,khs->qhs", weights, values)
    return attended.reshape(_LENGTH, -1)


def _samples(random: np.random.Generator) -> list[tuple[Weights, NDArray[np.float32]]]:
    """Yield weights in each format that exports use, with their dequantized values: [rows, cols]."""
    shape = _ROWS, _COLS
    scales = random.uniform(0.01, 0.02, (_ROWS, 1)).astype(np.float16)
    group_scales = random.uniform(0.01, 0.02, (_ROWS, _COLS // _GROUP)).astype(np.float16)
    zeros = random.integers(90, 160, _ROWS).astype(np.uint8)
    values = random.integers(0, 256, shape).astype(np.uint8)
    halves = random.integers(0, 16, shape).astype(np.uint8)
    packed = halves[:, ::2] | halves[:, 1::2] << np.uint8(4)
    signed = (halves.astype(np.int8) ^ 8) - 8  # two's complement of 4 bits
    of_columns = np.repeat(group_scales, _GROUP, axis=1)
    symmetric = Weights(Format.INT8, 0, *shape, values.view(np.int8), scales)
    asymmetric = Weights(Format.INT8, 0, *shape, values, scales, zeros)
    return [
        (symmetric, _times(values.view(np.int8), scales)),
        (asymmetric, _times(values.astype(np.int32) - zeros[:, None], scales)),
        (Weights(Format.INT4, _GROUP, *shape, packed, group_scales), _times(signed, of_columns)),
        *(_in_blocks(random, format_) for format_ in Format if format_.is_gguf),
    ]


def _in_blocks(random: np.random.Generator, format_: Format) -> tuple[Weights, NDArray[np.float32]]:
    blocks = random_blocks(format_.name, _ROWS, _COLS, random)
    return Weights(format_, 0, _ROWS, _COLS, blocks), dequantize(format_.name, blocks)


def _times(values: NDArray[Any], scales: NDArray[np.float16]) -> NDArray[np.float32]:
    return values.astype(np.float32) * scales.astype(np.float32)


def _rounded(inputs: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return activations as the library quantizes them: to 8 bits, with a scale for each 32 values."""
    groups = inputs.reshape(len(inputs), -1, _STEP)
    scale = np.abs(groups).max(axis=2, keepdims=True) / np.float32(127)
    rounded = np.rint(groups * (np.float32(1) / scale))
    product: NDArray[np.float64] = rounded.astype(np.float64) * scale
    return product.reshape(inputs.shape)
