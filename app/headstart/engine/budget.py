"""How much memory a model or a pair will take, from their manifests alone. Asks no system and loads nothing.

The figures are fits to the resident memory of fresh processes, measured by `app/bench/memory.py`. Pages of the weight
file that are only mapped are not counted: the system takes them back when it needs them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from headstart.engine.engine import KvPrecision
from headstart.manifest import Manifest

DEFAULT_CONTEXT = 8192  # tokens; more only when asked for, as the cache takes memory when it fills
_MIB = 2**20
# Python, OpenVINO and its tokenizers; each token of the vocabulary adds to the tables of the tokenizer.
_PROGRAM = 120 * _MIB
_PER_WORD = 330
# Repacked weights as a share of the files: the embedding is read in place, and what of it was read stays mapped.
_WEIGHTS = 0.9
_GRAPH = 100 * _MIB  # per model: its compiled graph, and room to compute 256 tokens at a time
_PER_TOKEN = 8000  # per model and token of context, beside keys and values: scores of attention, tables of n-grams
_LOADING = 90 * _MIB  # above what a model without tokens takes, while precisions are compared at a first load
_CONTEXT_STEP = 256  # tokens
# Of 16-bit keys and values: 8-bit ones come with scales, 40 rows of keys for 32 tokens, and 8 bytes with each value.
# That makes 0.59 of it in heads of 64 numbers, 0.58 in those of 128.
_IN_8_BITS = 0.6


@dataclass(frozen=True)
class Need:
    """Bytes of memory, by what they are for."""

    weights: int
    context: int  # keys and values of all models and what else grows with the text, when the context is full
    program: int

    @property
    def resident(self) -> int:
        """What is held when the context is full."""
        return self.weights + self.context + self.program

    @property
    def loading(self) -> int:
        """The most that is held before a first token."""
        return self.weights + self.program + _LOADING

    @property
    def total(self) -> int:
        """What must be free for this to work."""
        return max(self.resident, self.loading)


def context_of(model: Manifest, wanted: int | None) -> int:
    """Tokens of context that a model is loaded with; each within its own, as a draft may be made for less."""
    return min(model.context_length, wanted or DEFAULT_CONTEXT)


def need(models: Iterable[Manifest], context: int | None = None, kv: KvPrecision = KvPrecision.AUTO) -> Need:
    """For a target, maybe with its draft after it, at a context (None: the usual one)."""
    known = tuple(models)
    return Need(
        weights=sum(_weights(model) for model in known),
        context=sum(_context(model, context, kv) for model in known),
        program=_PROGRAM + _PER_WORD * known[0].tokenizer.vocabulary,
    )


def share(model: Manifest, context: int | None, kv: KvPrecision = KvPrecision.AUTO) -> int:
    """What one model takes beside others that are loaded: its weights and its context."""
    return _weights(model) + _context(model, context, kv)


def cache(models: Iterable[Manifest], context: int | None, kv: KvPrecision) -> int:
    """Bytes of the keys and values of all models when the context is full."""
    return sum(context_of(model, context) * _kept(model, kv) for model in models)


def largest_context(models: Iterable[Manifest], free: int, kv: KvPrecision = KvPrecision.AUTO) -> int | None:
    """The longest context with which these fit into `free` bytes, in steps of 256; None where none does."""
    known = tuple(models)
    bare = need(known, 1, kv)
    if bare.total > free:
        return None
    per_token = sum(_per_token(model, kv) for model in known)
    return (free - bare.weights - bare.program) // per_token // _CONTEXT_STEP * _CONTEXT_STEP or None


def _weights(model: Manifest) -> int:
    return round(model.size_bytes * _WEIGHTS) + _GRAPH


def _context(model: Manifest, wanted: int | None, kv: KvPrecision) -> int:
    return context_of(model, wanted) * _per_token(model, kv)


def _per_token(model: Manifest, kv: KvPrecision) -> int:
    return _kept(model, kv) + _PER_TOKEN


def _kept(model: Manifest, kv: KvPrecision) -> int:
    """Bytes of keys and values a token."""
    return round(model.kv_bytes_per_token * (_IN_8_BITS if kv is KvPrecision.U8 else 1.0))
