"""Times passes of a model: our own matrix products, OpenVINO's, llama.cpp's, and the least that the memory allows.

`python app/bench/passes/passes.py MODEL` prints JSON, and a table to standard error. All take turns, size by size, so
that what slows the machine slows all alike. A ratio is the geometric mean over turns, with a 95 % bootstrap interval.

- read: all packed weights, by as many threads; nothing that multiplies them can be faster
- multiply: as many products of numbers in registers, which is as fast as the processor multiplies; two processors that
  share a core multiply hardly more than one
- products: what our operations compute, without the rest of the graph
- own, stock: whole passes of the app's runner behind a context, with our products and with OpenVINO's fastest layout;
  --isa leaves stock out, as OpenVINO uses no set but the processor's best
- llama: a token of llama.cpp, of the file that --gguf names. The package xllamacpp, in an environment of its own, is
  built for AVX2; `llama_server.sh` builds a server for each set that --isa takes.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from ctypes import c_uint8
from pathlib import Path

import numpy as np

from bench.speed import llama, local_engine
from headstart.engine.bench.result import bootstrap_interval, geometric_mean
from headstart.engine.hardware import devices
from headstart.engine.hardware.runtime import core
from headstart.engine.kernels.fusion import fuse
from headstart.engine.kernels.library import Bytes, Isa, Library, use_isa
from headstart.engine.kernels.operation import CompiledSteps
from headstart.engine.kernels.selftest import proven
from headstart.engine.runners.paged import BranchingRunner
from headstart.engine.runners.precision import OWN, in_32_bits, probe_ids, properties
from headstart.library import library
from headstart.library.manifest import read_model

_REPEATS = 3  # passes of one size in a turn, of which the first is not counted
_PARTS = 64  # of a measurement of multiplications: some milliseconds
_LLAMA_TOKENS = 5  # of an answer of llama.cpp
_LLAMA_ROOM = 256  # tokens beyond the context


def main() -> int:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder, or the name of an installed model")
    parser.add_argument("--sizes", default="1,2,4,6,8,12", help="tokens a pass, with commas")
    parser.add_argument("--context", type=int, default=256, help="tokens before a pass")
    parser.add_argument("--prompt", type=int, default=512, help="tokens of a prompt that is read, too; 0: none")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--gguf", type=Path, help="the file that llama.cpp reads")
    parser.add_argument("--llama", type=Path, default=sys.executable, help="a Python that has xllamacpp")
    parser.add_argument("--llama-server", type=Path, help="or llama.cpp's server, as llama_server.sh builds it")
    parser.add_argument("--isa", type=Isa, help="compute with this instruction set, not with the processor's best")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    folder = Path(given.model) if Path(given.model).is_dir() else library.choose(given.model).target.folder
    if given.isa:
        use_isa(given.isa)
    kernels, threads = proven(), devices.cores()
    if kernels is None:
        sys.exit("our own kernels are not used on this computer")
    model = core().read_model(folder / "openvino_model.xml")
    pieces = fuse(model, kernels, threads)
    for piece in pieces:
        piece.threads = threads
    rooms = [room for piece in pieces for room in piece.weights]
    stock = in_32_bits(read_model(folder).precision.activation_group)
    context = given.context + max(*sizes, given.prompt)
    runners = {
        name: BranchingRunner.load(folder, "CPU", properties(hint), context)
        for name, hint in (("own", OWN), ("stock", stock))
        if name == "own" or not given.isa
    }
    for runner in runners.values():
        runner.forward(probe_ids(runner.vocabulary, given.context, seed=0))
    ways: dict[str, dict[int, Callable[[], float]]] = {
        "read": {1: _reading(kernels, rooms, threads)},
        "multiply": {size: _multiplying(kernels, pieces, size) for size in (*sizes, given.prompt) if size},
        "products": {size: _products(pieces, size) for size in sizes},
        **{name: {size: _passes(runner, size) for size in sizes} for name, runner in runners.items()},
    }
    if given.prompt:
        for name, runner in runners.items():
            ways[name][given.prompt] = _passes(runner, given.prompt)
    with ExitStack() as servers:
        if given.gguf:
            server = (given.llama_server,) if given.llama_server else llama.package(given.llama)
            ways["llama"] = {1: servers.enter_context(_llama(server, given.gguf, given.context))}
        times: dict[str, dict[int, list[float]]] = {name: {size: [] for size in by} for name, by in ways.items()}
        for turn in range(given.turns):
            for size in (*sizes, given.prompt):
                for name, by in ways.items():
                    if size in by and (size != given.prompt or turn % 5 == 0):
                        times[name][size].append(by[size]())
            print(f"turn {turn + 1} of {given.turns}", file=sys.stderr, flush=True)
    report = _report(times, sum(room.nbytes for room in rooms))
    report |= {"model": folder.name, "instruction set": kernels.isa, "threads": threads, "stock": stock}
    print(json.dumps(report, indent=1))
    _show(times)
    return 0


def _ms(call: Callable[[], object]) -> float:
    """Return the milliseconds of the faster of some calls; the first call is not counted."""
    best = np.inf
    for number in range(_REPEATS):
        started = time.perf_counter()
        call()
        if number:
            best = min(best, time.perf_counter() - started)
    return float(best) * 1000.0


def _reading(kernels: Library, rooms: Sequence[Bytes], threads: int) -> Callable[[], float]:
    """Read all rooms, neighbours in memory at once, because threads wait for each other after a read."""
    joined: list[tuple[int, int]] = []
    for start, size in sorted((room.ctypes.data, room.nbytes) for room in rooms):
        if joined and sum(joined[-1]) == start:
            joined[-1] = joined[-1][0], joined[-1][1] + size
        else:
            joined.append((start, size))

    memory = [np.ctypeslib.as_array((c_uint8 * size).from_address(start)) for start, size in joined]

    def run() -> None:
        for each in memory:
            kernels.read(each, threads)

    return lambda: _ms(run)


def _multiplying(kernels: Library, pieces: Sequence[CompiledSteps], tokens: int) -> Callable[[], float]:
    products, threads = tokens * sum(piece.products for piece in pieces), pieces[0].threads

    def alone() -> float:
        started = time.perf_counter()
        made = kernels.multiply(_PARTS, threads)
        return (time.perf_counter() - started) * 1000.0 * products / made

    return alone


def _products(pieces: Sequence[CompiledSteps], tokens: int) -> Callable[[], float]:
    random = np.random.default_rng(0)
    buffers = [
        [random.standard_normal((tokens, width)).astype(np.float32) for width in piece.widths] for piece in pieces
    ]

    def run() -> None:
        for piece, arrays in zip(pieces, buffers, strict=True):
            piece.run(arrays)

    return lambda: _ms(run)


def _passes(runner: BranchingRunner, tokens: int) -> Callable[[], float]:
    start, ids = len(runner.tokens), probe_ids(runner.vocabulary, tokens, seed=tokens)
    rows = tokens if tokens <= 32 else 1

    def run() -> None:
        runner.rollback(start)
        runner.forward(ids, rows=rows)
        runner.rollback(start)

    return lambda: _ms(run)


@contextmanager
def _llama(server: llama.Command, file: Path, context: int) -> Iterator[Callable[[], float]]:
    """Context manager with a running server. It gives a function that returns the milliseconds of a token."""
    with llama.serve(server, file, context + _LLAMA_ROOM) as client:
        order = {"prompt": "word " * context, "n_predict": _LLAMA_TOKENS, "ignore_eos": True, "cache_prompt": True}

        def token() -> float:
            return float(client.post("/completion", json=order).json()["timings"]["predicted_per_token_ms"])

        token()  # reads the prompt
        yield token


def _report(times: dict[str, dict[int, list[float]]], read: int) -> dict[str, object]:
    read_ms = float(np.median(times["read"][1]))
    ms = {
        name: {
            size: {"median": float(np.median(found)), "least": min(found), "passes": len(found)}
            for size, found in by.items()
        }
        for name, by in times.items()
    }
    pairs = [("own", "stock"), ("own", "llama"), ("products", "read"), ("own", "read"), ("products", "multiply")]
    ratios = {
        f"{first} to {second}": {
            size: _ratio(found, times[second][1 if second == "read" else size])
            for size, found in times[first].items()
            if size in times[second] or (second == "read" and size in times["products"])
        }
        for first, second in pairs
        if second in times
    }
    return {"bytes read": read, "GB/s of a read": read / read_ms / 1e6, "ms": ms, "ratios": ratios}


def _ratio(first: Sequence[float], second: Sequence[float]) -> dict[str, float | None]:
    """Return the first times divided by the second, turn by turn."""
    each = [mine / other for mine, other in zip(first, second, strict=False)]
    interval = bootstrap_interval(each)
    return {
        "mean": geometric_mean(each),
        "from": interval.low if interval else None,
        "to": interval.high if interval else None,
    }


def _show(times: dict[str, dict[int, list[float]]]) -> None:
    sizes = sorted({size for by in times.values() for size in by})
    print(f"{'ms, median (least)':>20}", *(f"{size:>15}" for size in sizes), file=sys.stderr)
    for name, by in times.items():
        cells = (f"{np.median(by[size]):.1f} ({min(by[size]):.1f})" if by.get(size) else "" for size in sizes)
        print(f"{name:>20}", *(f"{cell:>15}" for cell in cells), file=sys.stderr)


if __name__ == "__main__":
    local_engine.restart()
    sys.exit(main())
