"""Times reading and writing behind long texts, beside llama.cpp with flash attention off and on.

`python app/bench/speed/depth.py MODEL --gguf FILE --llama PYTHON` prints JSON, and a table to standard error. PYTHON
has the package xllamacpp; `--llama-server PATH` names a server of your own build. Everybody reads the same random
tokens up to each depth and writes there, all in turns. What was read stays: the tokens a second of a prompt are those
of all parts up to the depth. Nothing is guessed.

- 16 bits, 8 bits: Headstart with keys and values of so many
- flash off, flash on: llama.cpp, `--flash-attn`, keys and values in f16
- checked: a pass of Headstart that checks three guesses, four tokens

`--shape NAME` makes the model instead: a GGUF file of Qwen3's 4B or 8B with fewer layers and random weights, the
vocabulary of `--gguf`. Speed needs no sense.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from bench.speed import llama, local_engine
from headstart.engine.engine import KvPrecision
from headstart.engine.hardware import devices, machine
from headstart.engine.kernels.blocks import random_blocks
from headstart.engine.kernels.library import Format, Isa, use_isa
from headstart.engine.kernels.selftest import proven
from headstart.engine.runners.paged import BranchingRunner
from headstart.engine.runners.precision import OWN, probe_ids, properties
from headstart.library import exporter, library

_PART = 1024  # tokens that are read at a time, as by the engine
_WRITTEN = 8  # tokens of a turn
_CHECKED = 4
_ROOM = 64  # tokens beyond the greatest depth
_FLASH = ("off", "on")


@dataclass(frozen=True)
class Shape:
    """The sizes of a decoder with Qwen3's layers."""

    width: int
    hidden: int
    heads: int
    kv_heads: int
    head: int
    layers: int  # of the whole model


SHAPES = {"qwen3-4b": Shape(2560, 9728, 32, 8, 128, 36), "qwen3-8b": Shape(4096, 12288, 32, 8, 128, 36)}


@dataclass(frozen=True)
class Contestant:
    """One way to read a text and write behind it; both methods return milliseconds."""

    read: Callable[[Sequence[int], int], float]  # all tokens, of which so many were read before
    write: Callable[[Sequence[int]], float]  # a token
    check: Callable[[Sequence[int]], float] | None = None  # a pass


def main() -> int:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="a model folder, or the name of an installed model")
    parser.add_argument("--shape", choices=SHAPES, help="make the model instead")
    parser.add_argument("--layers", type=int, default=4, help="of such a model")
    parser.add_argument("--depths", default="512,2048,8192,16384,32768", help="tokens, with commas")
    parser.add_argument("--turns", type=int, default=5, help="of writing at a depth")
    parser.add_argument(
        "--gguf", type=Path, required=True, help="the file that llama.cpp reads; the vocabulary of --shape"
    )
    peer = parser.add_mutually_exclusive_group()
    peer.add_argument("--llama", type=Path, metavar="PYTHON", help="a Python that has xllamacpp")
    peer.add_argument("--llama-server", type=Path, help="or llama.cpp's server, as llama_server.sh builds it")
    parser.add_argument("--bits", default="16,8", help="of Headstart's keys and values, with commas")
    parser.add_argument("--isa", type=Isa, help="compute with this instruction set, not with the processor's best")
    given = parser.parse_args()
    depths = [int(depth) for depth in given.depths.split(",")]
    if given.isa:
        use_isa(given.isa)
    if proven() is None:
        sys.exit("our own kernels are not used on this computer")
    with ExitStack() as stack:
        file, folder = given.gguf, None
        if given.shape:
            made = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            file, folder = made / f"{given.shape}.gguf", made / given.shape
            write_shape(file, SHAPES[given.shape], given.layers, given.gguf, max(depths) + _ROOM)
            _import(file, folder)
        elif given.model:
            folder = Path(given.model) if Path(given.model).is_dir() else library.choose(given.model).target.folder
        else:
            parser.error("name a model, or a shape")
        contestants: dict[str, Contestant] = {}
        for bits in given.bits.split(","):
            kv = KvPrecision.U8 if bits == "8" else KvPrecision.AUTO
            runner = BranchingRunner.load(folder, "CPU", properties(OWN, kv), max(depths) + _ROOM)
            contestants[f"{bits} bits"] = _own(runner)
            vocabulary = runner.vocabulary
        if given.llama or given.llama_server:
            server = (given.llama_server,) if given.llama_server else llama.package(given.llama)
            for flash in _FLASH:
                contestants[f"flash {flash}"] = stack.enter_context(_llama(server, file, max(depths) + _ROOM, flash))
        found = _time(contestants, depths, given.turns, vocabulary)
    report = {"processor": machine.processor(), "instruction set": given.isa or "best", "threads": devices.cores()}
    report |= {"model": given.shape or folder.name, "layers": given.layers if given.shape else "all", "depths": found}
    print(json.dumps(report, indent=1))
    _show(found)
    return 0


Figures = dict[int, dict[str, dict[str, float]]]  # by depth and contestant


def _time(contestants: dict[str, Contestant], depths: Sequence[int], turns: int, vocabulary: int) -> Figures:
    ids = list(probe_ids(vocabulary, max(depths), seed=0))
    reading = dict.fromkeys(contestants, 0.0)
    found: Figures = {}
    before = 0
    for depth in depths:
        text = ids[:depth]
        for name, each in contestants.items():
            reading[name] += each.read(text, before)
        written: dict[str, list[float]] = {name: [] for name in contestants}
        checked: dict[str, list[float]] = {name: [] for name, each in contestants.items() if each.check}
        for _ in range(turns):
            for name, each in contestants.items():
                written[name].append(each.write(text))
                if each.check:
                    checked[name].append(each.check(text))
        found[depth] = {
            name: {
                "reading, tokens/s": 1000 * depth / reading[name],
                "writing, tokens/s": 1000 / float(np.median(written[name])),
                "ms a token": float(np.median(written[name])),
                **({"ms checked": float(np.median(checked[name]))} if name in checked else {}),
            }
            for name in contestants
        }
        before = depth
        print(f"{depth}: {json.dumps(found[depth])}", file=sys.stderr, flush=True)
    return found


def _own(runner: BranchingRunner) -> Contestant:
    def read(ids: Sequence[int], before: int) -> float:
        started = time.perf_counter()
        for start in range(before, len(ids), _PART):
            runner.forward(ids[start : start + _PART])
        return (time.perf_counter() - started) * 1000

    def passes(ids: Sequence[int], tokens: int, times: int) -> float:
        took = []
        for _ in range(times):
            started = time.perf_counter()
            runner.forward(ids[:tokens], rows=tokens)
            took.append(time.perf_counter() - started)
            runner.rollback(len(ids))
        return float(np.mean(took)) * 1000

    return Contestant(
        read, lambda ids: passes(ids, 1, _WRITTEN), lambda ids: passes(ids, _CHECKED, _WRITTEN // _CHECKED)
    )


@contextmanager
def _llama(server: llama.Command, file: Path, context: int, flash: str) -> Iterator[Contestant]:
    with llama.serve(server, file, context, ("--flash-attn", flash)) as client:
        client.timeout = httpx.Timeout(None)

        def complete(ids: Sequence[int], tokens: int) -> dict[str, float]:
            order = {"prompt": list(ids), "n_predict": tokens, "ignore_eos": True, "cache_prompt": True}
            timings: dict[str, float] = client.post("/completion", json=order).raise_for_status().json()["timings"]
            return timings

        yield Contestant(
            lambda ids, _before: complete(ids, 1)["prompt_ms"],
            lambda ids: complete(ids, _WRITTEN + 1)["predicted_ms"] / _WRITTEN,  # the first token belongs to the prompt
        )


def write_shape(file: Path, shape: Shape, layers: int, vocabulary: Path, context: int) -> None:
    """Write a GGUF file of random Q4_K weights, values and output in Q6_K, with another file's tokenizer."""
    import gguf

    reader, writer = gguf.GGUFReader(vocabulary), gguf.GGUFWriter(file, "qwen3")
    for name, field in reader.fields.items():
        if name.startswith("tokenizer."):
            kinds = [*field.types, None]
            writer.add_key_value(name, field.contents(), kinds[0], kinds[1])
    writer.add_name(file.stem)
    writer.add_license("mit")
    writer.add_block_count(layers)
    writer.add_context_length(context)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head)
    writer.add_value_length(shape.head)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    generator = np.random.default_rng(0)

    def add(name: str, rows: int, cols: int, format_: Format = Format.Q4_K) -> None:
        blocks = random_blocks(format_.name, rows, cols, generator)
        writer.add_tensor(f"{name}.weight", blocks, raw_dtype=gguf.GGMLQuantizationType[format_.name])

    words = len(reader.fields["tokenizer.ggml.tokens"].data)
    add("token_embd", words, shape.width, Format.Q6_K)  # is the output, too
    writer.add_tensor("output_norm.weight", np.ones(shape.width, np.float32))
    for number in range(layers):
        block = f"blk.{number}"
        queries, keys = shape.heads * shape.head, shape.kv_heads * shape.head
        add(f"{block}.attn_q", queries, shape.width)
        add(f"{block}.attn_k", keys, shape.width)
        add(f"{block}.attn_v", keys, shape.width, Format.Q6_K)
        add(f"{block}.attn_output", shape.width, queries)
        add(f"{block}.ffn_gate", shape.hidden, shape.width)
        add(f"{block}.ffn_up", shape.hidden, shape.width)
        add(f"{block}.ffn_down", shape.width, shape.hidden, Format.Q6_K if number % 2 else Format.Q4_K)
        for name, width in (
            ("attn", shape.width),
            ("ffn", shape.width),
            ("attn_q", shape.head),
            ("attn_k", shape.head),
        ):
            writer.add_tensor(f"{block}.{name}_norm.weight", np.ones(width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _import(file: Path, folder: Path) -> None:
    """Make a model folder of a GGUF file, without checks."""
    program = exporter.importer()
    if program is None:
        sys.exit("the importer is not installed")
    words = (str(file), "--output", str(folder), exporter.DEFER_CHECKS)
    subprocess.run([*program, *words], check=True, stdout=sys.stderr)


def _show(found: Figures) -> None:
    for key in ("reading, tokens/s", "writing, tokens/s", "ms checked"):
        names = [name for name, figures in next(iter(found.values())).items() if key in figures]
        print(f"\n| {key} | {' | '.join(names)} |", file=sys.stderr)
        print(f"| --: |{' --: |' * len(names)}", file=sys.stderr)
        for depth, by_name in found.items():
            cells = " | ".join(f"{by_name[name][key]:.1f}" for name in names)
            print(f"| {depth:,} | {cells} |", file=sys.stderr)


if __name__ == "__main__":
    local_engine.restart()
    sys.exit(main())
