"""What a finished model answers to a committed set of prompts: tables and drafts are made from it."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headstart.errors import Translatable
from headstart_export import process

PROMPTS_FILE = Path(__file__).parent / "counting_prompts.toml"
AT_ONCE = 32  # answers written together: many times the tokens per second of one
TEMPERATURE = 0.8  # some variety, as users have it
_TOKENS = 64  # longest answer: more prompts teach more than longer answers
_MOST_MORE = 330  # more prompts; 720 made the table of SmolLM2 hardly better
_WORK = 3_800_000_000_000  # parameters times tokens to write: about a minute on two cores
_MINUTES = 120
_CACHE_GB = 2
_MORE = "more"

Text = tuple[list[int], list[int]]  # a prompt and its answer, as ids


def prompts() -> list[str]:
    """The prompts of the committed set that were written one by one."""
    return [prompt for name, group in _groups().items() if name != _MORE for prompt in group["prompts"]]


def more_prompts() -> list[str]:
    """Those that are made of a task and a subject each, all kinds mixed."""
    return combined(_groups()[_MORE])


def combined(groups: Mapping[str, Any]) -> list[str]:
    """Each task of a group with each of its subjects, all groups mixed in their proportions from the start."""
    placed = []
    for group in groups.values():
        tasks, subjects = group["tasks"], group["subjects"]
        count = len(tasks) * len(subjects)
        for number in range(count):
            turn, task = divmod(number, len(tasks))
            prompt = tasks[task].format(subjects[(turn + task) % len(subjects)])
            placed.append(((number + 0.5) / count, prompt))
    return [prompt for _, prompt in sorted(placed)]


def _groups() -> dict[str, Any]:
    return tomllib.loads(PROMPTS_FILE.read_text(encoding="utf-8"))


def written(folder: Path, parameters: int) -> list[Text]:
    """What a finished model with so many parameters writes in minutes: answers to `prompts`, maybe to more of them.

    In a process of its own. Raises ExportError when it fails.
    """
    failure = Translatable("The model cannot write answers with OpenVINO GenAI ({reason}).")
    asked = prompts()
    asked += more_prompts()[: min(max(_WORK // (parameters * _TOKENS) - len(asked), 0), _MOST_MORE)]
    request: dict[str, Any] = {"tokens": _TOKENS, "temperature": TEMPERATURE}
    texts = process.call(write, minutes=_MINUTES, failure=failure, folder=str(folder), asked=asked, **request)
    return [(prompt, answer) for prompt, answer in texts]


def write(folder: str, asked: Sequence[str], tokens: int, temperature: float, seed: int = 0) -> list[Text]:
    """Prompts and what a finished model answers, as ids. Answer n is drawn with the seed `seed` + n, if at all."""
    import openvino_genai as genai  # noqa: PLC0415

    scheduler = genai.SchedulerConfig()
    scheduler.cache_size = _CACHE_GB
    scheduler.max_num_seqs = AT_ONCE
    pipeline = genai.ContinuousBatchingPipeline(folder, scheduler, "CPU")
    tokenizer = pipeline.get_tokenizer()
    texts = [tokenizer.apply_chat_template([{"role": "user", "content": prompt}], True) for prompt in asked]  # noqa: FBT003
    given = [tokenizer.encode(text, add_special_tokens=False).input_ids for text in texts]
    sampling = {"do_sample": True, "temperature": temperature} if temperature else {"do_sample": False}
    ways = [
        genai.GenerationConfig(max_new_tokens=tokens, rng_seed=seed + number, **sampling)
        for number in range(len(given))
    ]
    results = pipeline.generate(given, ways)
    written = [[int(token) for token in result.m_generation_ids[0]] for result in results]
    return [(ids.data[0].tolist(), answer) for ids, answer in zip(given, written, strict=True)]
