"""Times products of each weight format, or attention behind a context, beside a pure read of the same bytes.

`python app/bench/passes/kernels.py` prints JSON, and a table to standard error: GB/s, and the time in multiples of a
read. Random weights, many times what the caches hold, are packed and multiplied by the library, as in a step of a
model. With `--attention`, its keys and values are as many instead. Each figure has a read of its own just before it,
with as many threads, because memory changes its speed. Products also have their multiplications alone, as many with
numbers in registers: no product takes less than the longer of the two, its limit. Two processors that share a core
multiply hardly more than one. The table has medians over turns; the JSON also has the geometric mean of the ratios,
with a 95 % bootstrap interval. `--set` builds the library with other constants and times it in turns with the library
as it is; `--library` does so with one of another checkout.
"""

import argparse
import ctypes
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_int32, c_void_p, pointer
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.speed import local_engine
from headstart.engine.bench.result import bootstrap_interval, geometric_mean
from headstart.engine.hardware import devices, machine
from headstart.engine.kernels.blocks import random_blocks
from headstart.engine.kernels.library import (
    BLOCK,
    Bytes,
    Format,
    KernelAttention,
    KernelProgram,
    KernelStep,
    Kind,
    Library,
    Matrix,
    Sequences,
    Weights,
    large_pages,
    path,
)

_GROUPS = {"INT4": 128, "INT4_MIN": 32}  # columns, the usual ones; other formats have none
_BUILT = "as it is"
_HEADS = re.compile(r"(\d+)/(\d+)x(\d+)@(\d+)")
_ROOM = 1024  # tokens of a pass, at most
_PARTS = 64  # of a measurement of multiplications: some milliseconds
_FILLING = 0x3C  # keys and values of usual size
_ROOT = Path(__file__).resolve().parents[3]
_THP_DISABLE = 41  # of prctl


@dataclass(frozen=True)
class Case:
    """A timed case. `format`: of weights, or the heads of attention. `build`: the constants that differ, or _BUILT."""

    format: str
    isa: str
    threads: int
    tokens: int
    build: str


@dataclass(frozen=True)
class Timed:
    """Times of a case, turn by turn, of the reads just before, and of the multiplications alone (attention: none)."""

    case: Case
    size: int  # bytes
    ms: Sequence[float]
    read_ms: Sequence[float]
    multiply_ms: Sequence[float]

    def report(self) -> dict[str, Any]:
        limits = [max(pair) for pair in zip(self.read_ms, self.multiply_ms, strict=True)]
        return asdict(self.case) | {
            "bytes": self.size,
            "ms": _spread(self.ms),
            "read ms": _spread(self.read_ms),
            "multiplications alone ms": _spread(self.multiply_ms),
            "GB/s": self.size / float(np.median(self.ms)) / 1e6,
            "GB/s of a read": self.size / float(np.median(self.read_ms)) / 1e6,
            "times a read": self._times(self.read_ms),
            "times the limit": self._times(limits),
        }

    def _times(self, others: Sequence[float]) -> dict[str, float | None]:
        each = [mine / other for mine, other in zip(self.ms, others, strict=True)]
        interval = bootstrap_interval(each)
        return {
            "median": float(np.median(each)),
            "mean": geometric_mean(each),
            "from": interval.low if interval else None,
            "to": interval.high if interval else None,
        }


def main() -> int:
    """Time, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--formats", type=_formats, default=list(Format), help="with commas")
    parser.add_argument(
        "--attention",
        type=_words,
        default=[],
        metavar="HEADS/KV_HEADSxSIZE@DEPTH",
        help="such as 12/2x128@8192, with commas",
    )
    parser.add_argument("--bits", type=_numbers, default=[16, 8], help="of keys and values, with commas")
    parser.add_argument("--isas", type=_words, help="instruction sets; default: all that this processor has")
    parser.add_argument("--tokens", type=_numbers, default=[1, 2, 4, 8, 16, 64], help="with commas")
    parser.add_argument("--threads", type=_numbers, default=sorted({1, devices.cores()}), help="with commas")
    parser.add_argument("--rows", type=int, default=8960)
    parser.add_argument("--cols", type=int, default=1536)
    parser.add_argument("--mb", type=int, default=256, help="packed weights of a step; the least, several matrices")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--small-pages", action="store_true", help="weights in pages of 4 KiB (Linux)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE,..",
        help="compare a build in which constants of the C sources have other values; may be repeated",
    )
    parser.add_argument("--library", type=Path, help="compare with this library, of the same interface")
    parser.add_argument("--json", type=Path, help="write the JSON to this file instead")
    given = parser.parse_args()
    if given.small_pages and ctypes.CDLL(None).prctl(_THP_DISABLE, 1, 0, 0, 0):
        sys.exit("this system cannot switch large pages off")
    with tempfile.TemporaryDirectory() as folder:
        builds = {_BUILT: Library(ctypes.CDLL(str(path())))}
        builds |= {change: _changed(change, Path(folder, str(number))) for number, change in enumerate(given.set)}
        if given.library:
            builds["--library"] = Library(ctypes.CDLL(str(given.library)))
        isas = given.isas or list(builds[_BUILT].isas[1:])
        timed = []
        for rooms in _rooms(builds[_BUILT], given):
            cases = [
                Case(rooms.name, isa, threads, tokens, build)
                for threads in given.threads
                for isa in isas
                for tokens in given.tokens
                for build in builds
            ]
            timed += rooms.time(cases, builds, given.turns)
            _show(timed[-len(cases) :], header=len(timed) == len(cases))
    shape = {"rows": given.rows, "cols": given.cols, "turns": given.turns, "small pages": given.small_pages}
    report = {"processor": machine.processor(), "stepping": machine.cpu_signature(), **shape}
    text = json.dumps(report | {"cases": [each.report() for each in timed]}, indent=1)
    if given.json:
        given.json.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return 0


def _rooms(library: Library, given: argparse.Namespace) -> "Iterator[Rooms]":
    size = given.mb * 10**6
    for heads in given.attention:
        for bits in given.bits:
            yield Attentions(library, heads, bits, size)
    for format_ in () if given.attention else given.formats:
        yield Products(library, format_, given.rows, given.cols, size)


class Rooms:
    """Several steps of one kind, each over its own memory."""

    def __init__(
        self, library: Library, name: str, steps: Any, room: Bytes, widths: Sequence[int], weights: int = 0
    ) -> None:
        self.name, self._library, self._room, self._weights = name, library, room, weights
        self._steps, self._widths = steps, (c_int32 * len(widths))(*widths)

    def program(self, _tokens: int) -> KernelProgram:
        return KernelProgram(self._steps, len(self._steps), self._widths, len(self._widths), len(self._widths))

    def time(self, cases: Sequence[Case], builds: dict[str, Library], turns: int) -> list[Timed]:
        """Time all cases in turns. The first turn is not counted."""
        random = np.random.default_rng(0)
        sizes = {case.tokens for case in cases}
        programs = {tokens: self.program(tokens) for tokens in sizes}
        buffers = {
            tokens: [random.standard_normal((tokens, width)).astype(np.float32) for width in self._widths]
            for tokens in sizes
        }
        times: list[tuple[list[float], list[float], list[float]]] = [([], [], []) for _ in cases]
        for turn in range(turns + 1):
            for case, (own, reads, alone) in zip(cases, times, strict=True):
                build, arrays = builds[case.build], buffers[case.tokens]
                build.use(case.isa)
                addresses = (c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
                read = _ms(partial(self._library.read, self._room, case.threads))
                run = _ms(partial(build.run, programs[case.tokens], case.tokens, addresses, case.threads))
                if turn:
                    own.append(run)
                    reads.append(read)
                    alone.append(self._weights * case.tokens / _products_a_ms(self._library, case))
        return [Timed(case, self._room.nbytes, *found) for case, found in zip(cases, times, strict=True)]


class Products(Rooms):
    """Packed matrices of one format, with which a step multiplies one after the other."""

    def __init__(self, library: Library, format_: Format, rows: int, cols: int, size: int) -> None:
        weights, block = _random_weights(format_, rows, cols), 0
        block = library.block_size(weights)
        if not block:
            sys.exit(f"{format_.name} has no matrix of {cols} columns")
        each = block * weights.blocks
        count = -(-size // each)
        room, steps = large_pages(each * count), (KernelStep * count)()
        for number, step in enumerate(steps):
            library.pack(weights, room[number * each :], block)
            step.kind, step.input, step.residual, step.count = Kind.LINEAR, 0, -1, 1
            step.outputs[0], step.rows[0] = 1, rows
            at = room.ctypes.data + number * each
            step.matrix = Matrix(format_, weights.group, weights.blocks * BLOCK, cols, at)
        super().__init__(library, format_.name, steps, room, (cols, rows), rows * cols * count)


class Attentions(Rooms):
    """Attention of several layers behind a context, each with its own keys and values."""

    def __init__(self, library: Library, name: str, bits: int, size: int) -> None:
        match = _HEADS.fullmatch(name)
        if not match:
            sys.exit(f"{name} is not HEADS/KV_HEADSxSIZE@DEPTH")
        self._kept: dict[int, Sequence[NDArray[np.int32]]] = {}
        heads, kv_heads, numbers, self._depth = map(int, match.groups())
        self._blocks = np.arange(self._depth // BLOCK + _ROOM // BLOCK, dtype=np.int32)
        each = len(self._blocks) * kv_heads * library.kv_record_size(numbers, bits)
        count = -(-size // each)
        room, steps = large_pages(each * count), (KernelStep * count)()
        room[:] = _FILLING
        for number, step in enumerate(steps):
            attention = KernelAttention(heads, kv_heads, numbers, 1, 2, -1, -1, -1, bits, scale=numbers**-0.5)
            attention.cache, attention.blocks = room.ctypes.data + number * each, len(self._blocks)
            step.kind, step.input, step.residual, step.count = Kind.ATTENTION, 0, -1, 1
            step.outputs[0], step.attention = 3, pointer(attention)
        widths = [numbers * each for each in (heads, kv_heads, kv_heads, heads)]
        super().__init__(library, f"{name} {bits}", steps, room, widths)

    def program(self, tokens: int) -> KernelProgram:
        program = super().program(tokens)
        places: Sequence[Any] = ([self._depth], [0, tokens], self._blocks, [0, len(self._blocks)], [], [0, 0])
        arrays = self._kept[tokens] = [np.array(values, np.int32) for values in places]
        program.sequences = pointer(Sequences(1, *(array.ctypes.data for array in arrays)))
        return program


def _random_weights(format_: Format, rows: int, cols: int) -> Weights:
    random, group = np.random.default_rng(0), _GROUPS.get(format_.name, 0)

    def halves(columns: int) -> NDArray[np.float16]:
        return random.uniform(0.001, 0.02, (rows, columns)).astype(np.float16)

    def codes(width: int) -> Bytes:
        return random.integers(0, 256, (rows, width), np.uint8)

    if format_ is Format.INT8:
        return Weights(format_, group, rows, cols, codes(cols), halves(1), codes(1))
    if format_ in (Format.INT4, Format.INT4_MIN):
        minimums: NDArray[Any] | None = halves(cols // group) if format_ is Format.INT4_MIN else None
        return Weights(format_, group, rows, cols, codes(cols // 2), halves(cols // group), minimums)
    return Weights(format_, group, rows, cols, random_blocks(format_.name, rows, cols, random))


def _changed(changes: str, folder: Path) -> Library:
    """Build the library in `folder` with changed constants, such as "AHEAD=1024,SPAN=8"."""
    sys.path.append(str(_ROOT))
    from installer import kernels

    target = kernels.host_target()
    if target is None:
        sys.exit("the library cannot be built for this system")
    sources = shutil.copytree(path().with_name("source"), folder / "source")
    for change in changes.split(","):
        name, _, value = change.partition("=")
        pattern, found = re.compile(rf"\b({re.escape(name)}(?: =)?) -?\d+\b"), 0
        for source in sources.rglob("*.[ch]"):
            text, count = pattern.subn(rf"\g<1> {value}", source.read_text(encoding="utf-8"))
            source.write_text(text, encoding="utf-8")
            found += count
        if not found:
            sys.exit(f"the C sources have no constant {name}")
    kernels.build(folder, target)
    return Library(ctypes.CDLL(str(folder / target.library)))


def _ms(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000.0


def _products_a_ms(library: Library, case: Case) -> float:
    """Return how many products a millisecond the processor makes of numbers in registers."""
    library.use(case.isa)
    started = time.perf_counter()
    products = library.multiply(_PARTS, case.threads)
    return products / (time.perf_counter() - started) / 1000.0


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": float(np.median(values)), "least": min(values)}


def _show(timed: Sequence[Timed], *, header: bool) -> None:
    """Print a line for each set, number of threads and build, with a column for each number of tokens."""
    lines: dict[tuple[str, int, str], list[Timed]] = {}
    for each in timed:
        lines.setdefault((each.case.isa, each.case.threads, each.case.build), []).append(each)
    if header:
        tokens = sorted({each.case.tokens for each in timed})
        print("GB/s, and the time in multiples of a read and of the limit", file=sys.stderr)
        columns = (f"{number:>19}" for number in tokens)
        print(f"{'format':20}{'set':12}{'threads':>7} {'build':16}{'read':>6}", *columns, file=sys.stderr)
    for (isa, threads, build), found in lines.items():
        read = found[0].size / float(np.median([ms for each in found for ms in each.read_ms])) / 1e6
        reports = [each.report() for each in sorted(found, key=lambda each: each.case.tokens)]
        cells = (
            f"{report['GB/s']:6.1f} {report['times a read']['median']:6.2f}{report['times the limit']['median']:6.2f}"
            for report in reports
        )
        print(
            f"{timed[0].case.format:20}{isa:12}{threads:>7} {build:16}{read:6.1f}", *cells, file=sys.stderr, flush=True
        )


def _formats(text: str) -> list[Format]:
    try:
        return [Format[name] for name in text.split(",")]
    except KeyError as error:
        raise argparse.ArgumentTypeError(f"there is no format {error}") from None


def _words(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


if __name__ == "__main__":
    local_engine.restart()
    sys.exit(main())
