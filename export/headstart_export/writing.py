"""Has a finished target answer prompts, in a process of its own. Knows nothing of what the texts are for.

`python -m headstart_export.writing` reads one JSON request on standard input and writes the texts as JSON.
"""

import dataclasses
import json
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart_export import own_process, quiet

PROMPTS_FILE = Path(__file__).parent / "counting_prompts.toml"
AT_ONCE = 32  # answers written together: many times the tokens per second of one
_MINUTES = 120
_CACHE_GB = 2

Text = tuple[list[int], list[int]]  # a prompt and its answer, as ids


@dataclass(frozen=True)
class Request:
    """Which model is to answer which prompts. Answer n is drawn with the seed `seed` + n; at temperature 0 none is."""

    folder: str
    prompts: list[str]
    tokens: int  # longest answer
    temperature: float
    seed: int = 0


def prompts() -> list[str]:
    """All prompts of the committed set."""
    groups = tomllib.loads(PROMPTS_FILE.read_text(encoding="utf-8"))
    return [prompt for group in groups.values() for prompt in group["prompts"]]


def write(request: Request, output: Path) -> list[Text]:
    """Have a child process write, and keep the texts in `output`. Raises ExportError when it fails."""
    failure = "The target cannot write the texts that its draft is to learn from ({}); --texts asks for fewer."
    own_process.ask("writing", dataclasses.asdict(request), str(output), minutes=_MINUTES, failure=failure)
    return read(output)


def read(path: Path) -> list[Text]:
    """Texts that were kept. Raises ValueError for what is none."""
    return [([*prompt], [*answer]) for prompt, answer in json.loads(path.read_text(encoding="utf-8"))]


def answers(request: Request) -> list[Text]:
    """Prompts and answers as ids, written in this process."""
    import openvino_genai as genai  # noqa: PLC0415

    scheduler = genai.SchedulerConfig()
    scheduler.cache_size = _CACHE_GB
    scheduler.max_num_seqs = AT_ONCE
    pipeline = genai.ContinuousBatchingPipeline(request.folder, scheduler, "CPU")
    asked = [_encoded(pipeline.get_tokenizer(), prompt) for prompt in request.prompts]
    ways = [_configuration(genai, request, number) for number in range(len(asked))]
    results = pipeline.generate(asked, ways)
    written = [[int(token) for token in result.m_generation_ids[0]] for result in results]
    return [(ids.data[0].tolist(), answer) for ids, answer in zip(asked, written, strict=True)]


def _encoded(tokenizer: Any, prompt: str) -> Any:
    text = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True)
    return tokenizer.encode(text, add_special_tokens=False).input_ids


def _configuration(genai: Any, request: Request, number: int) -> Any:
    if not request.temperature:
        return genai.GenerationConfig(max_new_tokens=request.tokens, do_sample=False)
    return genai.GenerationConfig(
        max_new_tokens=request.tokens,
        do_sample=True,
        temperature=request.temperature,
        rng_seed=request.seed + number,
    )


def main() -> None:
    """Answer the request on standard input; the file named on the command line is there whole or not at all."""
    quiet.prepare()
    output = Path(sys.argv[1])
    half = output.with_name(f".{output.name}.new")
    half.write_text(json.dumps(answers(Request(**json.load(sys.stdin)))), encoding="utf-8")
    half.replace(output)


if __name__ == "__main__":
    main()
