"""What INT4 weights cost a model by each way to make them: agreement with the source, KL, size, time and memory.

PYTHONPATH=app:export python app/bench/research/int4_ways.py smollm2-135m-instruct --scratch FOLDER [--ways NAME ...]

The model must be installed in INT8: its answers are what INT4 is calibrated on. Converted weights and answers stay in
the scratch folder for the next call. Prints the rows of a table in Markdown as they are measured; Linux only. Time and
peak memory are those of compressing: the sum of all cores, and pages of mapped files counted.
"""

import argparse
import json
import multiprocessing
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from headstart import paths
from headstart.errors import Translatable
from headstart_export import answers, convert, process, progress, quality, quantize, recipe, sources
from headstart_export.pipeline import TEXT_LIMIT

WAYS: dict[str, tuple[str, quantize.Int4]] = {
    "INT8": ("int8", quantize.USUAL),
    "INT4": ("int4", quantize.USUAL),
    "INT4 in groups of 64": ("int4", quantize.Int4(group_size=64)),
    "INT4 in groups of 32": ("int4", quantize.Int4(group_size=32)),
    "INT4 of 80 %": ("int4", quantize.Int4(ratio=0.8)),
    "INT4 of 60 %": ("int4", quantize.Int4(ratio=0.6)),
    "INT4, AWQ and scale estimation": ("int4", quantize.Int4("awq")),
    "INT4, GPTQ too": ("int4", quantize.Int4("gptq")),
    "INT4 of 80 %, AWQ and scale estimation": ("int4", quantize.Int4("awq", 0.8)),
}
HEADER = """\
| way | agrees | KL | KL of the weights alone | perplexity | weights | processor time | peak memory |
| --- | --- | --- | --- | --- | --- | --- | --- |"""
_FAILED = Translatable("It failed ({reason}).")
_TOKENS = 64  # of an answer, as an export has them
_TEXTS = 128


def main() -> None:
    """Measure each way in a process of its own, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", help="a recipe, installed in INT8")
    parser.add_argument("--scratch", type=Path, required=True, help="a folder for what is made on the way")
    parser.add_argument("--answers", metavar="NAME", help="installed model that answers (default: the same)")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), metavar="NAME")
    given = parser.parse_args()
    folder = paths.models_folder() / (given.answers or given.model)
    process.prepare()
    with Path("/dev/null").open("w", encoding="utf-8") as nowhere, process.muted(nowhere):
        ids, texts = _prepare(recipe.find_model(given.model), folder, given.scratch)
    print(HEADER, flush=True)
    for name in given.ways:
        print(_measure(name, given.scratch, ids, texts), flush=True)


def _prepare(made: recipe.ModelRecipe, folder: Path, scratch: Path) -> tuple[list[int], list[list[int]]]:
    """The fixed text, and the model's answers, as ids; its 16-bit weights are in `scratch`."""
    kept = scratch / "prepared.json"
    if not kept.is_file():
        fetched = sources.fetch(made, paths.cache_folder(), progress.reporter(sys.stderr))
        loaded = convert.load_weights(fetched.path, code=False)
        ids = quality.text_ids(convert.load_tokenizer(fetched.path), TEXT_LIMIT)
        scratch.mkdir(parents=True, exist_ok=True)
        quality.write_reference(loaded, ids, scratch / "reference.npy")
        convert.to_openvino(loaded, scratch / "half")
        asked = (answers.prompts() + answers.more_prompts())[:_TEXTS]
        request: dict[str, Any] = {"folder": str(folder), "asked": asked, "tokens": _TOKENS}
        written = process.call(answers.write, minutes=60, failure=_FAILED, temperature=answers.TEMPERATURE, **request)
        kept.write_text(json.dumps([ids, [prompt + answer for prompt, answer in written]]), encoding="utf-8")
    ids, texts = json.loads(kept.read_text(encoding="utf-8"))
    return ids, texts


def _measure(name: str, scratch: Path, ids: list[int], texts: list[list[int]]) -> str:
    with tempfile.TemporaryDirectory(dir=scratch) as folder, multiprocessing.get_context("spawn").Pool(1) as pool:
        result = Path(folder)
        seconds, peak = pool.apply(_compress, (name, scratch / "half", result, texts))
        found = quality.run(result, scratch / "reference.npy", ids).quality
        size = sum(path.stat().st_size for path in result.glob("*.bin"))
    assert found is not None
    return (
        f"| {name} | {found.top1_agreement:.1%} | {found.mean_kl:.4f} | {found.weights_kl:.4f} | "
        f"x {found.perplexity_ratio:.3f} | {progress.megabytes(size)} | {seconds:.0f} s | {progress.megabytes(peak)} |"
    )


def _compress(name: str, source: Path, target: Path, texts: list[list[int]]) -> tuple[float, int]:
    """Processor seconds that it took, and the peak memory of this process in bytes."""
    weights, int4 = WAYS[name]
    process.prepare()
    started = time.process_time()
    with Path("/dev/null").open("w", encoding="utf-8") as nowhere, process.muted(nowhere):
        read, written = source / convert.MODEL_FILE, target / convert.MODEL_FILE
        quantize.compress(read, weights, written, int4=int4, texts=texts)
    seconds = time.process_time() - started
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert peak is not None
    return seconds, 1024 * int(peak[1])


if __name__ == "__main__":
    main()
