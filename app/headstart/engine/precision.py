"""Which arithmetic a model runs with on a device: asked for by the user, measured once. Knows nothing of drafting."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from headstart.engine.engine import KvPrecision, Numerics
from headstart.engine.measurements import Measurements
from headstart.engine.runner import Runner

Properties = Mapping[str, str]
Build = Callable[[Properties], Runner]  # compiles the model with these properties

_log = logging.getLogger(__name__)

HINTS = ("f32", "bf16", "f16")
_GROUPED = "f32, groups of "  # activations that share a scale when they are rounded to INT8, more than the usual 32
_GROUP, _USUAL_GROUP = "DYNAMIC_QUANTIZATION_GROUP_SIZE", "32"
_REPEATS = 5
VERIFY = 6  # tokens of a typical verification; with 1 it spans what decoding does
_KEY = "precision"


def properties(numerics: Numerics, hint: str = "f32", kv: KvPrecision = KvPrecision.AUTO) -> Properties:
    """OpenVINO properties of a compiled model. A 16-bit cache by itself: rejected tokens spoil an 8-bit one."""
    own = "bf16" if hint == "bf16" else "f16"
    common = {"PERFORMANCE_HINT": "LATENCY", "KV_CACHE_PRECISION": own if kv is KvPrecision.AUTO else kv.value}
    if numerics is Numerics.EXACT:
        # Without dynamic quantisation of activations a token's logits do not depend on how many are computed with it.
        return {**common, "INFERENCE_PRECISION_HINT": "f32", _GROUP: "0"}
    if hint.startswith(_GROUPED):
        group = hint.removeprefix(_GROUPED)
        return {**common, "INFERENCE_PRECISION_HINT": "f32", _GROUP: group}
    return {**common, "INFERENCE_PRECISION_HINT": hint}


def hint_of(chosen: Properties) -> str:
    """The name of the precision that these properties give."""
    group = chosen.get(_GROUP, _USUAL_GROUP)
    return chosen["INFERENCE_PRECISION_HINT"] if group == _USUAL_GROUP else f"{_GROUPED}{group}"


def differing(other: str, hint: str) -> Properties:
    """What to add to the properties of `hint`, so that they are those of `other`."""
    usual, wanted = ({_GROUP: _USUAL_GROUP, **properties(Numerics.FAST, name)} for name in (hint, other))
    return {name: value for name, value in wanted.items() if usual[name] != value}


def candidates(activation_group: int | None) -> Sequence[str]:
    """The precisions to try, by name. `activation_group`: the largest that the model's export found harmless."""
    return HINTS if activation_group is None else (*HINTS, f"{_GROUPED}{activation_group}")


def fastest_hint(build: Build, measurements: Measurements, hints: Sequence[str] = HINTS) -> str:
    """The precision with the least time for one token and for a verification, measured once for the subject.

    Raises RuntimeError where the device refuses all of them; the caller words it.
    """
    known = measurements.get(_KEY)
    if isinstance(known, dict) and known.get("hint") in hints and known.get("tried") == list(hints):
        return str(known["hint"])
    figures = {hint: figure for hint in hints if (figure := _figures(build, hint))}
    if not figures:
        raise RuntimeError("it runs in none of the precisions f32, bf16 and f16")
    winner = min(figures, key=lambda hint: sum(figures[hint].values()))
    measurements.put(_KEY, {"hint": winner, "tried": list(hints), "ms": figures})
    return winner


def measured(measurements: Measurements) -> Mapping[str, Mapping[str, float]]:
    """What `fastest_hint` measured: milliseconds by precision and number of tokens; empty where it was not asked."""
    known = measurements.get(_KEY)
    figures = known.get("ms") if isinstance(known, dict) else None
    return figures if isinstance(figures, dict) else {}


def pass_ms(runner: Runner, tokens: int, repeats: int = _REPEATS) -> float:
    """Milliseconds of a pass over `tokens` tokens behind those in the cache, the fastest of `repeats`; undone after."""
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
    """Milliseconds that a pass costs more when the one before it had another number of tokens, the median."""
    differences = []
    for tokens in (min(VERIFY, runner.context), 1) * repeats:
        first = pass_ms(runner, tokens, repeats=1)
        differences.append(first - pass_ms(runner, tokens, repeats=1))
    return max(float(np.median(differences)), 0.0)


def probe_ids(vocabulary: int, count: int, seed: int) -> Sequence[int]:
    """Some fixed token ids to measure and check with."""
    return [int(token) for token in np.random.default_rng(seed).integers(0, vocabulary, count)]


def warm_up(runner: Runner) -> None:
    """The first pass repacks weights and costs a second more; take it before anyone waits."""
    runner.forward(probe_ids(runner.vocabulary, 1, seed=0))
    runner.rollback(0)


def _figures(build: Build, hint: str) -> dict[str, float] | None:
    try:
        runner = build(properties(Numerics.FAST, hint))
        warm_up(runner)
    except RuntimeError as error:
        _log.info("precision %s is not to be had here: %s", hint, error)
        return None
    return {f"{tokens} tokens": pass_ms(runner, tokens) for tokens in (1, VERIFY)}
