"""Times passes of a model: our own matrix products, OpenVINO's, llama.cpp's, and the least that the memory allows.

`python app/bench/passes.py MODEL` prints JSON, and a table to standard error. All take turns, size by size, so that
what slows the machine slows all alike. A ratio is the geometric mean over turns, with a 95 % bootstrap interval.

- read: all packed weights, by as many threads; nothing that multiplies them can be faster
- products: what our operations compute, without the rest of the graph
- own, stock: whole passes of the app's runner behind a context, with our products and with OpenVINO's fastest layout
- llama: a token of llama.cpp, of the file that --gguf names (`pip install xllamacpp`, into an environment of its own)
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench import local_engine
from headstart.engine import devices
from headstart.engine.bench.result import bootstrap_interval, geometric_mean
from headstart.engine.kernels.fusion import fuse
from headstart.engine.kernels.library import Bytes, Library
from headstart.engine.kernels.operation import Piece
from headstart.engine.kernels.selftest import proven
from headstart.engine.runners.paged import BranchingRunner
from headstart.engine.runners.precision import OWN, in_32_bits, probe_ids, properties
from headstart.engine.runtime import core
from headstart.library import library
from headstart.library.manifest import read_model

_REPEATS = 3  # passes of one size in a turn, of which the first is not counted
_LLAMA = """
import json, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.warmup = sys.argv[1], 2048, 1, True
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[2])
server = xllamacpp.Server(params)
order = {"prompt": "word " * int(sys.argv[3]), "max_tokens": 5, "ignore_eos": True, "cache_prompt": True}
for _ in sys.stdin:
    answer = server.handle_completions(order)
    answer = json.loads(answer) if isinstance(answer, str) else answer
    print("ms", answer["timings"]["predicted_per_token_ms"], flush=True)
"""


def main() -> int:
    """Time, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder, or the name of an installed model")
    parser.add_argument("--sizes", default="1,2,4,6,8,12", help="tokens a pass, with commas")
    parser.add_argument("--context", type=int, default=256, help="tokens before a pass")
    parser.add_argument("--prompt", type=int, default=512, help="tokens of a prompt that is read, too; 0: none")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--gguf", type=Path, help="the file that llama.cpp reads")
    parser.add_argument("--llama", default=sys.executable, help="a Python that has xllamacpp")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    folder = Path(given.model) if Path(given.model).is_dir() else library.choose(given.model).target.folder
    kernels, threads = proven(), devices.cores()
    if kernels is None:
        sys.exit("our own kernels are not used on this computer")
    model = core().read_model(folder / "openvino_model.xml")
    pieces = fuse(model, kernels, threads)
    for piece in pieces:
        piece.threads = threads
    weights = [room for piece in pieces for room in piece.weights]
    stock = in_32_bits(read_model(folder).precision.activation_group)
    context = given.context + max(*sizes, given.prompt)
    runners = {
        name: BranchingRunner(folder, "CPU", properties(hint), context)
        for name, hint in (("own", OWN), ("stock", stock))
    }
    for runner in runners.values():
        runner.forward(probe_ids(runner.vocabulary, given.context, seed=0))
    ways: dict[str, dict[int, Callable[[], float]]] = {
        "read": {1: _reading(kernels, weights, threads)},
        "products": {size: _products(pieces, size) for size in sizes},
        **{name: {size: _passes(runner, size) for size in sizes} for name, runner in runners.items()},
    }
    if given.prompt:
        for name, runner in runners.items():
            ways[name][given.prompt] = _passes(runner, given.prompt)
    times: dict[str, dict[int, list[float]]] = {name: {size: [] for size in by} for name, by in ways.items()}
    child = _llama(given.llama, given.gguf, threads, given.context) if given.gguf else None
    times |= {"llama": {1: []}} if child else {}
    for turn in range(given.turns):
        for size in (*sizes, given.prompt):
            for name, by in ways.items():
                if size in by and (size != given.prompt or turn % 5 == 0):
                    times[name][size].append(by[size]())
        if child:
            times["llama"][1].append(_token_of(child))
        print(f"turn {turn + 1} of {given.turns}", file=sys.stderr, flush=True)
    if child:
        child.terminate()
    report = _report(times, sum(room.nbytes for room in weights))
    report |= {"model": folder.name, "instruction set": kernels.isa, "threads": threads, "stock": stock}
    print(json.dumps(report, indent=1))
    _show(times)
    return 0


def _ms(call: Callable[[], object]) -> float:
    """Milliseconds of the faster of some calls, the first of which is not counted."""
    best = np.inf
    for number in range(_REPEATS):
        started = time.perf_counter()
        call()
        if number:
            best = min(best, time.perf_counter() - started)
    return float(best) * 1000.0


def _reading(kernels: Library, weights: Sequence[Bytes], threads: int) -> Callable[[], float]:
    def run() -> None:
        for room in weights:
            kernels.read(room, threads)

    return lambda: _ms(run)


def _products(pieces: Sequence[Piece], tokens: int) -> Callable[[], float]:
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


def _llama(python: str, file: Path, threads: int, context: int) -> "subprocess.Popen[str]":
    command = [python, "-c", _LLAMA, str(file), str(threads), str(context)]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    _token_of(child)  # loads the model and reads the prompt
    return child


def _token_of(child: "subprocess.Popen[str]") -> float:
    assert child.stdin
    assert child.stdout
    child.stdin.write("\n")
    child.stdin.flush()
    for line in child.stdout:
        if line.startswith("ms "):
            return float(line.split()[1])
    sys.exit("llama.cpp ended")


def _report(times: dict[str, dict[int, list[float]]], read: int) -> dict[str, object]:
    read_ms = float(np.median(times["read"][1]))
    ms = {
        name: {
            size: {"median": float(np.median(found)), "least": min(found), "passes": len(found)}
            for size, found in by.items()
        }
        for name, by in times.items()
    }
    pairs = [("own", "stock"), ("own", "llama"), ("products", "read"), ("own", "read")]
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
    """Return the time of the first in multiples of the second, turn by turn."""
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
