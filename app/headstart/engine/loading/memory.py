"""The memory that models take, the check that it is free, and errors when it runs out."""

import bisect
import ctypes
import errno
import math
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from headstart.engine.engine import KvPrecision, LoadOptions
from headstart.engine.hardware import devices
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.errors import MemoryBudgetError, OutOfMemoryError, Translatable
from headstart.library.manifest import Footprint, Manifest

DEFAULT_CONTEXT = 8192  # tokens; more only on request, as a full cache takes memory
# These figures fit the resident memory of fresh processes, measured by `app/bench/passes/memory.py`. Pages of the
# weight file that are only mapped are not counted: the system takes them back when it needs them.
_MIB = 2**20
# Python, OpenVINO and its tokenizers, and the tokenizer's tables for each token of the vocabulary.
_PROGRAM = 120 * _MIB
_PER_WORD = 330
# Repacked weights as a share of the files. The embedding is read in place, and stays mapped once it is read.
_WEIGHTS = 0.9
_GRAPH = 100 * _MIB  # per model: its compiled graph, and room to compute 256 tokens at a time
_READING = 4000  # times the root of its bytes: room to compute 1,024 tokens of a prompt at a time instead of 256
_PER_TOKEN = 8000  # per model and token of context, beside keys and values: scores of attention, tables of n-grams
_PREFIXES = 512 * _MIB  # most keys and values of earlier texts, for each model
_LOADING = 90 * _MIB  # more than an empty model takes, while precisions are compared at a first load
_CONTEXT_STEP = 256  # tokens
# Shares of 16-bit keys and values. OpenVINO's of 8 bits come with scales: 40 rows of keys for 32 tokens, and 8 bytes
# with each value. That makes 0.59 in heads of 64 numbers, 0.58 in heads of 128. Those of our own attention take 0.56.
_KV_SHARES = {8: 0.6, 16: 1.0, 32: 2.0}
_OWN_KV_SHARE = 0.57  # in 8 bits
_SHORTER = Translatable("a smaller context")

# OpenVINO raises a RuntimeError for all faults. Its text has the type that C++ threw, or the code of a driver.
_CODES = (
    "bad_alloc",
    "CL_OUT_OF_RESOURCES",
    "CL_OUT_OF_HOST_MEMORY",
    "CL_MEM_OBJECT_ALLOCATION_FAILURE",
    "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY",
    "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
)
_SHORT = 128 * 2**20  # bytes; if less is free, a failure means that memory ran out
_MAPS = Path("/proc/self/maps")
_DONTNEED = 4  # MADV_DONTNEED
_PERIOD = 0.1  # seconds between two releases
_Model = Manifest | Footprint


@dataclass(frozen=True)
class Need:
    """Bytes of memory by purpose."""

    weights: int
    context: int  # keys and values of all models and what else grows with the text, when the context is full
    program: int

    @property
    def resident(self) -> int:
        """Bytes that are held when the context is full."""
        return self.weights + self.context + self.program

    @property
    def loading(self) -> int:
        """Most bytes that are held before a first token."""
        return self.weights + self.program + _LOADING

    @property
    def total(self) -> int:
        """Bytes that must be free."""
        return max(self.resident, self.loading)


def kv_bits(kv_precision: str) -> int:
    """Return the bits of a number in the cache of keys and values."""
    return 8 if kv_precision == KvPrecision.U8 else 16


def context_of(model: _Model, requested: int | None) -> int:
    """Return the tokens of context that a model is loaded with. A draft may be made for fewer than its target."""
    return min(model.context_length, requested or DEFAULT_CONTEXT)


def need(models: Iterable[_Model], context: int | None = None, bits: int = 16, *, is_own: bool = True) -> Need:
    """Return the memory of a target, and of models beside it, at a context (None: the usual one).

    `is_own`: our own kernels compute the attention; others keep what fell out of a window.
    """
    manifests = tuple(models)
    return Need(
        weights=sum(_weights(model) for model in manifests),
        context=sum(_of_context(model, context_of(model, context), bits, is_own=is_own) for model in manifests),
        program=_PROGRAM + _PER_WORD * manifests[0].vocabulary,
    )


def bytes_beside_others(model: _Model, context: int | None, bits: int = 16, *, is_own: bool = True) -> int:
    """Return the bytes of one model beside loaded ones: its weights and its context."""
    return _weights(model) + _of_context(model, context_of(model, context), bits, is_own=is_own)


def cache(models: Iterable[_Model], context: int | None, bits: int, *, is_own: bool = True) -> int:
    """Return the bytes of the keys and values of all models, and of their states, when the context is full."""
    return sum(_cache_bytes(model, context_of(model, context), bits, is_own=is_own) for model in models)


def prefix_cache_bytes(free: int) -> int:
    """Return the bytes that one model may take for keys and values of earlier texts, of `free` bytes beside it."""
    return max(0, min(_PREFIXES, free // 8))


def room(models: Iterable[_Model], context: int | None, bits: int, free: int) -> int:
    """Return the tokens to make room for in OpenVINO's cache: a context, and earlier texts as `free` bytes allow."""
    manifests = tuple(models)
    left = free - need(manifests, context, bits, is_own=False).total
    return context_of(manifests[0], context) + prefix_cache_bytes(left) // _kv_bytes(manifests[0], bits)


def largest_context(models: Iterable[_Model], free: int, bits: int = 16) -> int | None:
    """Return the longest context with which the models fit into `free` bytes; None if none does."""
    manifests = tuple(models)
    bare = need(manifests, 1, bits)
    if bare.total > free:
        return None
    left = free - bare.weights - bare.program
    contexts = range(_CONTEXT_STEP, left // _PER_TOKEN + 1, _CONTEXT_STEP)
    fitting = bisect.bisect_right(
        contexts, left, key=lambda tokens: sum(_of_context(model, tokens, bits, is_own=True) for model in manifests)
    )
    return fitting * _CONTEXT_STEP or None


def _weights(model: _Model) -> int:
    return round(model.size_bytes * _WEIGHTS + _READING * math.sqrt(model.size_bytes)) + _GRAPH


def _of_context(model: _Model, tokens: int, bits: int, *, is_own: bool) -> int:
    """Return the bytes that grow with a text of so many tokens."""
    return _cache_bytes(model, tokens, bits, is_own=is_own) + tokens * _PER_TOKEN


def _cache_bytes(model: _Model, tokens: int, bits: int, *, is_own: bool) -> int:
    """Return the bytes of the keys and values of a text, and of its states."""
    size = tokens * _kv_bytes(model, bits)
    if not model.window and not model.states:
        return size
    from headstart.engine.kernels.states import kept_bytes  # noqa: PLC0415 - they load NumPy
    from headstart.engine.kernels.windows import kept_tokens  # noqa: PLC0415
    from headstart.engine.runners.runner import PREFILL_CHUNK  # noqa: PLC0415

    if model.window and is_own and _has_own_kernels():
        fallen = max(tokens - kept_tokens(model.window, PREFILL_CHUNK), 0)
        size -= fallen * round(model.window_kv_bytes_per_token * _kv_share(bits))
    return size + sum(kept_bytes(state.size, state.width, tokens, PREFILL_CHUNK) for state in model.states)


def _kv_bytes(model: _Model, bits: int) -> int:
    """Return the bytes of keys and values per token."""
    return round(model.kv_bytes_per_token * _kv_share(bits))


def _kv_share(bits: int) -> float:
    return _OWN_KV_SHARE if bits == 8 and _has_own_kernels() else _KV_SHARES[bits]


def _has_own_kernels() -> bool:
    from headstart.engine.kernels.library import library  # noqa: PLC0415 - it loads NumPy

    return library() is not None


def require(resolved: ResolvedOptions, *, is_own: bool = True) -> None:
    """Raise MemoryBudgetError with both numbers and the ways out, unless the user wants to try anyway.

    `is_own`: see `need`.
    """
    options = resolved.options
    if options.ignore_memory:
        return
    bits = kv_bits(options.kv_precision)
    models = tuple(spec.manifest for spec, _ in resolved.models)
    on_devices, counted = Counter[str](), 0  # bytes on devices that have memory of their own; what `need` says of them
    for spec, device in resolved.models:
        if devices.memory(device) is not None:
            on_devices[device] += bytes_beside_others(spec.manifest, options.context, bits, is_own=False)
            counted += bytes_beside_others(spec.manifest, options.context, bits, is_own=is_own)
    for device, needed in on_devices.items():
        size = devices.memory(device) or 0
        if needed > size:
            raise _over_budget(
                models,
                options,
                needed,
                Translatable("{device} has {size}", device=device, size=amount(size)),
                _SHORTER,
            )
    head = resolved.head
    all_models = (*models, head.manifest) if head and head != resolved.draft else models
    shared = [models[0], head.manifest] if head else models[:1]  # by answers at the same time
    others = (options.parallel - 1) * cache(shared, options.context, bits, is_own=is_own)
    needed, free = need(all_models, options.context, bits, is_own=is_own).total + others - counted, free_memory()
    if needed > free:
        present = Translatable("{free} is free", free=amount(free))
        raise _over_budget(
            models, options, needed, present, _SHORTER if on_devices else _fitting(all_models, free, bits)
        )


def free_memory(ending: int = 0) -> int:
    """Return the bytes that a program could take without swapping once the process `ending` (0: none) has ended."""
    reserved = 0
    if ending:
        with suppress(psutil.Error):  # it has ended already
            reserved = int(psutil.Process(ending).memory_info().rss)
    return int(psutil.virtual_memory().available) + reserved


def amount(size: int) -> str:
    """Format a number of bytes for people."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _fitting(models: tuple[Manifest, ...], free: int, bits: int) -> Translatable:
    """Return the contexts that fit into `free` bytes as a way out."""
    fitting, in_8_bits = (largest_context(models, free, each) for each in (bits, 8))
    if not fitting:
        return _SHORTER
    if bits == 8 or not in_8_bits or not _has_own_kernels():
        return Translatable("a smaller context ({fitting} tokens would fit)", fitting=fitting)
    return Translatable(
        "a smaller context ({fitting} tokens would fit, {more} with a cache precision of 8 bits)",
        fitting=fitting,
        more=in_8_bits,
    )


def _over_budget(
    models: tuple[Manifest, ...],
    options: LoadOptions,
    needed: int,
    present: Translatable,
    shorter: Translatable,
) -> MemoryBudgetError:
    names: str = models[0].name
    if len(models) > 1:
        names = Translatable("{target} and {draft}", target=models[0].name, draft=models[1].name)
    context = context_of(models[0], options.context)
    lighter = Translatable("a smaller draft or none") if len(models) > 1 else Translatable("INT4 weights")
    return MemoryBudgetError(
        "Loading {names} with {context} tokens of context takes about {wanted} of memory, but {present}: "
        "choose {shorter}, {lighter}, or a smaller model.",
        names=names,
        context=context,
        wanted=amount(needed),
        present=present,
        shorter=shorter,
        lighter=lighter,
    )


def instead_of(error: BaseException, *, loading: bool) -> OutOfMemoryError | None:
    """Return the error to show if `error` means that memory ran out; None for all other errors."""
    if not any(_is_out_of_memory(cause) for cause in _chain(error)):
        return None
    if loading:
        return OutOfMemoryError(
            "Memory ran out while the model was loaded: close other programs, choose a smaller context, or a smaller "
            "model."
        )
    return OutOfMemoryError(
        "Memory ran out, so the engine starts again: close other programs, start a new chat, or choose a smaller "
        "context."
    )


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError | OutOfMemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and (
        any(code in str(error) for code in _CODES) or psutil.virtual_memory().available < _SHORT or _is_at_its_limit()
    )


def _is_at_its_limit() -> bool:
    """Return True if limits of this process, as `ulimit` sets them, leave it little. Few faults then say why."""
    if not sys.platform.startswith("linux"):
        return False
    import resource  # noqa: PLC0415 - Windows has none

    taken = psutil.Process().memory_info()
    limits = ((resource.RLIMIT_DATA, taken.data), (resource.RLIMIT_AS, taken.vms))
    soft = ((resource.getrlimit(limit)[0], size) for limit, size in limits)
    return any(most != resource.RLIM_INFINITY and most - size < _SHORT for most, size in soft)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


@contextmanager
def released(weights: Path) -> Iterator[None]:
    """Keep giving back the pages of `weights` that this process has mapped but not changed, while inside."""
    if not sys.platform.startswith("linux"):
        yield
        return
    is_done = threading.Event()

    def keep_releasing() -> None:
        while not is_done.wait(_PERIOD):
            release(weights)

    thread = threading.Thread(target=keep_releasing, daemon=True, name="release-weights")
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()
        release(weights)


def release(weights: Path) -> None:
    """Release the mapped pages of `weights`, once.

    OpenVINO maps the file and then repacks it, so a model would take its memory twice. A page that is needed again is
    read from the file. Linux only.
    """
    libc, name = ctypes.CDLL(None), str(weights.resolve())
    for line in _MAPS.read_text(encoding="utf-8", errors="replace").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5] == name and "w" not in fields[1]:
            start, end = (int(address, 16) for address in fields[0].split("-"))
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _DONTNEED)
