"""The C library of matrix products, by ctypes. It lies beside this file if it could be built."""

import ctypes
import functools
import mmap
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, Structure, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.errors import SettingsError

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

_ABI = 9
_REASONS = {-1: "the steps or the sequences of a program do not fit together", -3: "the run was cancelled"}
BLOCK = 32  # rows that are packed together
OUTPUTS = 4  # of a step, at most
_NAMES = {"win32": "headstart_kernels.dll", "darwin": "libheadstart_kernels.dylib"}
_HUGE_PAGE = 2 * 2**20  # bytes
_LINE = 64  # bytes
ISA = "HEADSTART_ISA"  # the variable that names an instruction set instead of the processor's best


class Isa(StrEnum):
    """Instruction sets that have kernels, by the library's names."""

    AVX2 = "AVX2"
    AVX_VNNI = "AVX-VNNI"
    AVX512_VNNI = "AVX512-VNNI"
    AMX = "AMX"


class Format(IntEnum):
    """Forms of stored weights; headstart_kernels.h describes each."""

    INT8 = 1
    INT4 = 2
    INT4_MIN = 3
    Q4_0 = 16
    Q4_1 = 17
    Q5_0 = 18
    Q5_1 = 19
    Q8_0 = 20
    IQ4_NL = 21
    IQ4_XS = 22
    Q2_K = 23
    Q3_K = 24
    Q4_K = 25
    Q5_K = 26
    Q6_K = 27
    F16 = 28
    BF16 = 29

    @property
    def is_gguf(self) -> bool:
        """True for a type of GGUF files, whose name it has."""
        return self >= Format.Q4_0


class Kind(IntEnum):
    """Kinds of steps; headstart_kernels.h says what each computes."""

    LINEAR = 1
    GATED = 2
    NORM = 3
    ADD = 4
    ATTENTION = 5
    GATE = 6


class Activation(IntEnum):
    """Activation function of the gate."""

    NONE = 0
    SILU = 1
    GELU_TANH = 2


class Matrix(Structure):
    """The hk_matrix of the library: packed weights [rows, cols]."""

    _fields_ = (
        ("format", c_int32),
        ("group", c_int32),
        ("rows", c_int32),
        ("cols", c_int32),
        ("data", c_void_p),
    )


class KernelAttention(Structure):
    """The hk_attention of the library: its cache is bytes [blocks, kv_heads, Library.kv_record_size(size, bits)]."""

    _fields_ = (
        ("heads", c_int32),
        ("kv_heads", c_int32),
        ("size", c_int32),
        ("key", c_int32),
        ("value", c_int32),
        ("cosine", c_int32),
        ("sine", c_int32),
        ("factor", c_int32),
        ("bits", c_int32),
        ("window", c_int32),
        ("scale", c_float),
        ("cap", c_float),
        ("epsilon", c_float),
        ("query_gain", c_void_p),
        ("key_gain", c_void_p),
        ("sinks", c_void_p),
        ("key_order", c_void_p),
        ("cache", c_void_p),
        ("blocks", c_int32),
    )


class Sequences(Structure):
    """The hk_sequences of the library: the sequences of a pass's tokens."""

    _fields_ = (
        ("count", c_int32),
        ("past", c_void_p),
        ("begins", c_void_p),
        ("blocks", c_void_p),
        ("block_begins", c_void_p),
        ("mask", c_void_p),
        ("mask_begins", c_void_p),
        ("window_blocks", c_void_p),
    )


class KernelRecurrence(Structure):
    """The hk_recurrence of the library: a layer that keeps a state."""

    _fields_ = (
        ("tokens", c_int32),
        ("width", c_int32),
        ("taps", c_int32),
        ("heads", c_int32),
        ("key_heads", c_int32),
        ("size", c_int32),
        ("weights", c_void_p),
        ("decays", c_void_p),
        ("biases", c_void_p),
        ("x", c_void_p),
        ("before", c_void_p),
        ("after", c_void_p),
        ("mixed", c_void_p),
        ("out", c_void_p),
    )


class KernelStep(Structure):
    """The hk_step of the library."""

    _fields_ = (
        ("kind", c_int32),
        ("activation", c_int32),
        ("input", c_int32),
        ("residual", c_int32),
        ("count", c_int32),
        ("outputs", c_int32 * OUTPUTS),
        ("rows", c_int32 * OUTPUTS),
        ("epsilon", c_float),
        ("gain", c_void_p),
        ("bias", c_void_p),
        ("matrix", Matrix),
        ("attention", POINTER(KernelAttention)),
    )


class KernelProgram(Structure):
    """The hk_program of the library: steps over buffers of f32 [tokens, width].

    The first `externals` buffers belong to the caller.
    """

    _fields_ = (
        ("steps", POINTER(KernelStep)),
        ("step_count", c_int32),
        ("widths", POINTER(c_int32)),
        ("buffer_count", c_int32),
        ("externals", c_int32),
        ("sequences", POINTER(Sequences)),
        ("cancelled", POINTER(c_int32)),
    )


@dataclass(frozen=True)
class Weights:
    """Quantized weights as a model file has them; headstart_kernels.h gives the shapes of each format."""

    format: Format
    group: int  # columns that share a scale; 0: all of a row
    rows: int
    cols: int
    values: NDArray[Any]
    scales: NDArray[np.float16] | None = None
    zeros: NDArray[Any] | None = None

    @property
    def blocks(self) -> int:
        """The number of blocks of rows. The last one may be padded."""
        return -(-self.rows // BLOCK)


class Library:
    """The functions of the library, for whatever instruction set is in use."""

    def __init__(self, functions: ctypes.CDLL) -> None:
        """Bind the functions. Raises AttributeError if the library lacks one."""
        self._functions = functions
        functions.hk_isa_name.argtypes, functions.hk_isa_name.restype = [c_int], c_char_p
        functions.hk_isa_supported.argtypes = functions.hk_set_isa.argtypes = [c_int]
        functions.hk_block_size.argtypes, functions.hk_block_size.restype = [c_int] * 3, c_size_t
        functions.hk_pack.argtypes = [*[c_int] * 4, *[c_void_p] * 3, c_int, c_int, c_void_p, c_size_t]
        functions.hk_unpack.argtypes = [POINTER(Matrix), c_int, c_void_p]
        functions.hk_kv_record_size.argtypes, functions.hk_kv_record_size.restype = [c_int] * 2, c_size_t
        functions.hk_move_kv.argtypes, functions.hk_move_kv.restype = [POINTER(KernelAttention), *[c_int] * 4], None
        functions.hk_read.argtypes, functions.hk_read.restype = [c_void_p, c_size_t, c_int], c_uint64
        functions.hk_multiply.argtypes, functions.hk_multiply.restype = [c_int] * 2, c_int64
        functions.hk_recur.argtypes = [POINTER(KernelRecurrence), c_int]
        functions.hk_run.argtypes = [POINTER(KernelProgram), c_int, POINTER(c_void_p), c_int]

    @property
    def isas(self) -> Sequence[str]:
        """Return the instruction sets that this processor and this build have, the slowest (plain C) first."""
        names = []
        number = 0
        while name := self._functions.hk_isa_name(number):
            if self._functions.hk_isa_supported(number):
                names.append(name.decode())
            number += 1
        return names

    @property
    def isa(self) -> str:
        """The instruction set in use; empty if the processor has only plain C."""
        number = self._functions.hk_isa()
        return self._functions.hk_isa_name(number).decode() if number > 0 else ""

    def use(self, isa: str) -> None:
        """Use one of `isas` from the next run on."""
        number = 0
        while (name := self._functions.hk_isa_name(number)) and name.decode() != isa:
            number += 1
        if not self._functions.hk_set_isa(number):
            raise ValueError(f"{isa} is not an instruction set of this processor")

    def block_size(self, weights: Weights) -> int:
        """Return the bytes of a packed block of rows; 0 for sizes that are not supported."""
        return int(self._functions.hk_block_size(weights.format, weights.group, weights.cols))

    def pack(self, weights: Weights, out: Bytes, stride: int, first: int = 0, last: int | None = None) -> None:
        """Pack blocks `first` to `last`, each to `out[block * stride:]`."""
        last = weights.blocks if last is None else last
        assert weights.rows <= weights.blocks * BLOCK
        assert out.size >= (last - 1) * stride + self.block_size(weights)
        arrays = [weights.values, weights.scales, weights.zeros]
        pointers = [None if array is None else np.ascontiguousarray(array) for array in arrays]
        failed = self._functions.hk_pack(
            weights.format,
            weights.group,
            weights.rows,
            weights.cols,
            *(None if array is None else array.ctypes.data for array in pointers),
            first,
            last,
            out.ctypes.data,
            stride,
        )
        assert not failed

    def unpack(self, matrix: Matrix) -> NDArray[np.float32]:
        """Return the dequantized weights [rows, cols]."""
        out = np.empty((matrix.rows, matrix.cols), np.float32)
        for row in range(matrix.rows):
            self.unpack_row(matrix, row, out[row].ctypes.data)
        return out

    def unpack_row(self, matrix: Matrix, row: int, address: int) -> None:
        """Write the dequantized weights of a row, f32 [cols], to an address."""
        failed = self._functions.hk_unpack(matrix, row, address)
        assert not failed

    def kv_record_size(self, size: int, bits: int) -> int:
        """Return the bytes of the keys and values of a block and head; 0 for sizes that are not supported."""
        return int(self._functions.hk_kv_record_size(size, bits))

    def move_kv(self, attention: KernelAttention, place: tuple[int, int], target: tuple[int, int]) -> None:
        """Copy a token's keys and values to another place of the cache; a place is a block, and a token of it."""
        self._functions.hk_move_kv(attention, *place, *target)

    def run(self, program: KernelProgram, tokens: int, externals: "ctypes.Array[c_void_p]", threads: int) -> None:
        """Run a program; `externals` are the addresses of its first buffers.

        Raises RuntimeError if steps or sequences do not fit together or the run was cancelled, and MemoryError.
        """
        failed = self._functions.hk_run(program, tokens, externals, threads)
        if failed in _REASONS:
            raise RuntimeError(_REASONS[failed])
        if failed:
            raise MemoryError

    def has_recurrence(self, layer: KernelRecurrence) -> bool:
        """Return True if layers of these sizes are supported."""
        return not self._functions.hk_recur(KernelRecurrence.from_buffer_copy(layer), 1)

    def recur(self, layer: KernelRecurrence, x: Floats, state: Floats, out: Floats, threads: int) -> Floats:
        """Compute a layer for some tokens, x [tokens, width + 2 * heads]. Return the state behind them.

        `layer` has sizes and constants. Raises RuntimeError for sizes that are not supported.
        """
        after = np.empty_like(state)
        mixed = np.empty_like(x) if layer.heads else x[:0]
        assert all(array.flags.c_contiguous and array.dtype == np.float32 for array in (x, state, out))
        layer.tokens = len(x)
        layer.x, layer.before, layer.after = x.ctypes.data, state.ctypes.data, after.ctypes.data
        layer.mixed, layer.out = mixed.ctypes.data, out.ctypes.data
        if self._functions.hk_recur(layer, threads):
            raise RuntimeError("the sizes of a layer that keeps a state are not supported")
        return after

    def read(self, memory: Bytes, threads: int) -> None:
        """Read all of a memory area, to measure how fast memory can be read."""
        self._functions.hk_read(memory.ctypes.data, memory.size, threads)

    def multiply(self, parts: int, threads: int) -> int:
        """Multiply in registers, to measure how fast the processor multiplies. Return the number of products."""
        return int(self._functions.hk_multiply(parts, threads))


def path() -> Path:
    """Return the path of the library file, which may not exist."""
    return Path(__file__).with_name(_NAMES.get(sys.platform, "libheadstart_kernels.so"))


@functools.cache
def library() -> Library | None:
    """Return the library; None if it is absent, of another version, or has nothing for this processor."""
    try:
        functions = ctypes.CDLL(str(path()))
        if functions.hk_abi() != _ABI:
            return None
        loaded = Library(functions)
        if isa := os.environ.get(ISA):
            loaded.use(isa)
    except (OSError, AttributeError, ValueError):
        return None
    return loaded if loaded.isa else None


def use_isa(isa: Isa) -> None:
    """Use an instruction set in this process and in those that it starts. OpenVINO goes on using the best.

    Call it before a model is loaded. Raises SettingsError if the processor lacks the set.
    """
    kernels = library()
    if kernels is None or isa not in kernels.isas:
        raise SettingsError("There are no kernels with {isa} for this processor; leave out --isa.", isa=isa.value)
    kernels.use(isa)
    os.environ[ISA] = isa


class Ticket:
    """A pass over a model. Cancelling it ends its runs, those that are yet to begin, too; they raise RuntimeError."""

    def __init__(self) -> None:
        self.cancelled = c_int32(0)

    def cancel(self) -> None:
        self.cancelled.value = 1


class Tickets:
    """The ticket of the pass in progress over a compiled model, which runs one pass at a time."""

    def __init__(self) -> None:
        self.current: Ticket | None = None

    @contextmanager
    def ticketed(self) -> Iterator[Ticket]:
        """Context manager for one pass, whose runs begin inside; it gives the pass's ticket."""
        self.current = ticket = Ticket()
        try:
            yield ticket
        finally:
            self.current = None


def large_pages(size: int) -> Bytes:
    """Return zeroed memory for weights, in large pages if the system has them. It begins at a page."""
    if hasattr(mmap, "MADV_HUGEPAGE"):
        room = mmap.mmap(-1, size + _HUGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared memory gets none
        room.madvise(mmap.MADV_HUGEPAGE)
    else:
        room = mmap.mmap(-1, size + _HUGE_PAGE)
    values = np.frombuffer(room, np.uint8)
    start = -values.ctypes.data % _HUGE_PAGE
    return values[start : start + size]
