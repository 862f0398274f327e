"""How long the memory needs for a step of a model: the bytes that every token reads, over what the memory gives.

PYTHONPATH=app python app/bench/research/memory_limit.py MODEL_FOLDER...

The limit of a plain step (Williams et al. 2009, roofline): it reads all weights once. The bandwidth is measured as
STREAM does (McCalpin 1995), in numpy: arrays far larger than the caches, a thread for each core, the fastest of several
passes. On a shared machine it varies: run it several times and take the best.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine.devices import cores
from headstart.engine.runtime import core

_BYTES = 256 * 2**20  # of one thread's array
_PASSES = 5
# What stands between a compressed constant and the one who uses it.
_UNPACKING = {"Convert", "Multiply", "Subtract", "Reshape", "Transpose", "Unsqueeze"}


def main() -> None:
    """Print the bandwidth, and the bytes and the limit of each model."""
    parser = argparse.ArgumentParser(description="How long the memory needs for a step of a model.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="MODEL_FOLDER")
    folders = parser.parse_args().folders
    threads = cores()
    read = read_bandwidth(threads)
    print(f"{threads} threads read {read / 1e9:.1f} GB/s")
    for folder in folders:
        size = bytes_each_step(folder)
        print(
            f"{folder.name}: every step reads {size / 2**20:.0f} MiB of weights, at least {1000 * size / read:.1f} ms"
        )


def read_bandwidth(threads: int, size: int = _BYTES, passes: int = _PASSES) -> float:
    """Bytes a second of all threads together; takes about a second, and `size` bytes for each thread."""
    arrays = [np.ones(size // 4, np.float32) for _ in range(threads)]
    # A maximum lets go of the interpreter; a sum would be bound by its arithmetic.
    return sum(array.nbytes for array in arrays) / _best([partial(np.max, array) for array in arrays], passes)


def _best(tasks: Sequence[Callable[[], object]], passes: int) -> float:
    """Seconds of the fastest pass of all tasks side by side."""
    best = float("inf")
    with ThreadPoolExecutor(len(tasks)) as pool:
        for _ in range(passes):
            started = time.perf_counter()
            for done in [pool.submit(task) for task in tasks]:
                done.result()
            best = min(best, time.perf_counter() - started)
    return best


def bytes_each_step(folder: Path) -> int:
    """All weights but tables of which a step takes a row: an embedding counts only where it is the output head, too."""
    model = core().read_model(folder / "openvino_model.xml")
    return sum(_size(node) for node in model.get_ops() if node.get_type_name() == "Constant" and _is_read(node))


def _is_read(constant: Any) -> bool:
    return any(not _takes_a_row(port) for output in constant.outputs() for port in _uses(output))


def _uses(output: Any) -> list[Any]:
    """The inputs that a constant feeds once it is unpacked."""
    found = []
    for port in output.get_target_inputs():
        node = port.get_node()
        if node.get_type_name() in _UNPACKING:
            found += [use for each in node.outputs() for use in _uses(each)]
        else:
            found.append(port)
    return found


def _takes_a_row(port: Any) -> bool:
    return bool(port.get_node().get_type_name() == "Gather" and port.get_index() == 0)


def _size(constant: Any) -> int:
    return int(constant.get_byte_size())


if __name__ == "__main__":
    main()
