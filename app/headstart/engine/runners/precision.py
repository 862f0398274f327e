"""The precisions of a model on a device as OpenVINO's properties, and the times of their passes."""

import time
from collections.abc import Mapping, Sequence

import numpy as np

from headstart.engine.engine import KvPrecision, Precision
from headstart.engine.kernels import selftest
from headstart.engine.kernels.fusion import KERNELS
from headstart.engine.runners.runner import Runner
from headstart.library import manifest as manifests

Properties = Mapping[str, str]

HINTS = (Precision.F32.value, Precision.BF16.value, Precision.F16.value)
OWN = "f32, own kernels"  # our own library computes products of compressed weights and, if it can, attention
_GROUPED = "f32, groups of "  # activations that share a scale in INT8; 32 is usual
_GROUP, _USUAL_GROUP = "DYNAMIC_QUANTIZATION_GROUP_SIZE", "32"
_REPEATS = 5
VERIFY = 6  # tokens of a typical verification


def reference() -> Properties:
    """Return OpenVINO properties that round neither activations nor keys and values; trials compare with them."""
    in_full = {"KV_CACHE_PRECISION": "f32", "INFERENCE_PRECISION_HINT": "f32", _GROUP: "0"}
    return {"PERFORMANCE_HINT": "LATENCY", **in_full}


def properties(hint: str = "f32", kv: KvPrecision = KvPrecision.AUTO) -> Properties:
    """Return OpenVINO properties of a compiled model. The cache has 16 bits: rejected tokens spoil one of 8."""
    own = "bf16" if hint == "bf16" else "f16"
    common = {"PERFORMANCE_HINT": "LATENCY", "KV_CACHE_PRECISION": own if kv is KvPrecision.AUTO else kv.value}
    if hint == OWN:
        return {**common, "INFERENCE_PRECISION_HINT": "f32", KERNELS: selftest.identity()}
    if hint.startswith(_GROUPED):
        group = hint.removeprefix(_GROUPED)
        return {**common, "INFERENCE_PRECISION_HINT": "f32", _GROUP: group}
    return {**common, "INFERENCE_PRECISION_HINT": hint}


def hint_of(chosen: Properties) -> str:
    """Return the name of the precision that these properties give."""
    if chosen.get(KERNELS):
        return OWN
    group = chosen.get(_GROUP, _USUAL_GROUP)
    return chosen["INFERENCE_PRECISION_HINT"] if group == _USUAL_GROUP else f"{_GROUPED}{group}"


def plain(activation_group: int | None = None) -> Properties:
    """Return plain f32, the first choice for every device and model.

    `activation_group`: round activations in groups of this many numbers, another than the usual one.
    """
    return properties(in_32_bits(activation_group))


def own_kernels() -> Properties:
    """Return plain f32 with our own kernels."""
    return properties(OWN)


def name_of(chosen: Properties) -> str:
    """Return the name for people: the precision, and further differences from plain f32."""
    if chosen == reference():
        return "unrounded f32"
    hint = hint_of(chosen)
    usual = properties(hint)
    further = [f"{name}={value}" for name, value in chosen.items() if name != _GROUP and usual.get(name) != value]
    return ", ".join([hint, *further])


def without_defaults(chosen: Properties) -> dict[str, str]:
    """Return the properties without OpenVINO's own defaults."""
    return {name: value for name, value in chosen.items() if (name, value) != (_GROUP, _USUAL_GROUP)}


def differing(other: str, hint: str) -> Properties:
    """Return the properties that turn those of `hint` into those of `other`; an empty value removes one."""
    usual, others = ({_GROUP: _USUAL_GROUP, **properties(name)} for name in (hint, other))
    return {name: others.get(name, "") for name in usual | others if usual.get(name) != others.get(name)}


def candidates(stored: manifests.Precision, device: str) -> Sequence[str]:
    """Return the names of the precisions to try on a device for a model whose weights are stored like this."""
    grouped = [] if stored.activation_group is None else [in_32_bits(stored.activation_group)]
    own = [OWN] if device == "CPU" and stored.weights != "fp16" and selftest.proven() else []
    return (*own, *HINTS, *grouped)


def in_32_bits(activation_group: int | None) -> str:
    """Return the name of f32 with such groups of activations; None: the usual ones."""
    return HINTS[0] if activation_group is None else f"{_GROUPED}{activation_group}"


def pass_ms(runner: Runner, tokens: int, repeats: int = _REPEATS) -> float:
    """Return the milliseconds of a pass over `tokens` tokens, the fastest of `repeats`. The cache stays as it was."""
    length = len(runner.tokens)
    ids = probe_ids(runner.vocabulary, tokens, seed=tokens)
    best = np.inf
    for _ in range(repeats):
        started = time.perf_counter()
        runner.forward(ids, rows=tokens)
        best = min(best, (time.perf_counter() - started) * 1000.0)
        runner.rollback(length)
    return float(best)


def switch_ms(runner: Runner, repeats: int = _REPEATS) -> float:
    """Return the extra milliseconds of a pass that follows one of another size, as a median."""
    differences = []
    for tokens in (min(VERIFY, runner.context), 1) * repeats:
        first = pass_ms(runner, tokens, repeats=1)
        differences.append(first - pass_ms(runner, tokens, repeats=1))
    return max(float(np.median(differences)), 0.0)


def probe_ids(vocabulary: int, count: int, seed: int) -> Sequence[int]:
    """Return some fixed token ids to measure and check with."""
    return [int(token) for token in np.random.default_rng(seed).integers(0, vocabulary, count)]


def warm_up(runner: Runner) -> None:
    """Make the first pass, which repacks weights and takes a second more."""
    runner.forward(probe_ids(runner.vocabulary, 1, seed=0))
    runner.rollback(0)
