"""Texts that a target wrote or read, with its hidden states: the training data of a head.

They are pairs of files in one folder, each written whole or not at all, so that an interrupted run can continue.
"""

import contextlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine.runners.paged import PagedRunner
from headstart.library import vocabulary
from headstart_export import answers, process
from headstart_export.answers import Hidden
from headstart_export.progress import Advance, ignore

PROMPTS_FILE = Path(__file__).parent / "head_prompts.toml"
AT_ONCE = 2 * answers.AT_ONCE  # texts in a file: the most that an interruption loses
MAX_ANSWER_TOKENS = 160  # tokens of an answer
TRIAL = 96  # tokens of an answer that tests the head
PER_ANSWER = 1.5  # tokens to read for each that is learned from, roughly: prompts are read too
TRIALS = "trials"
STATES = 4  # hidden states of a token: three that the head reads, and the one that the target's output head reads
_PIECE_TOKENS = 256  # tokens of a piece of text that the target reads
_CONTEXT_TOKENS = 8  # tokens of a piece that are not guessed
_READ_EVERY = 5  # one file in so many holds texts that were read, not answers
_MINUTES = 240


@dataclass(frozen=True)
class Text:
    """A text. `states`: [len(ids), STATES * hidden size]. The head guesses the tokens after the first `given`."""

    kind: str
    ids: list[int]
    given: int
    states: Hidden


def prompts() -> list[str]:
    """Return the prompts for training, all classes mixed, always in the same order."""
    return answers.combined(_groups())


def trials() -> list[tuple[str, str]]:
    """Return the prompts that test the head, each with its class."""
    return [(kind, prompt) for kind, group in _groups().items() for prompt in group["trials"]]


def _groups() -> dict[str, Any]:
    return tomllib.loads(PROMPTS_FILE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class FeatureStore:
    """The files of one target. `layers`: the layers whose hidden states are stored."""

    folder: Path
    target: Path
    layers: tuple[int, ...]

    def write_trials(self) -> None:
        """Have the target answer the prompts that test the head."""
        if not self._states(TRIALS).is_file():
            kinds, prompts = zip(*trials(), strict=True)
            self._ask(TRIALS, kinds, prompts, ignore, tokens=TRIAL, temperature=0.0)

    def has(self, number: int) -> bool:
        return self._states(f"{number:04}").is_file()

    def write(self, number: int, pieces: Sequence[Sequence[int]], advance: Advance) -> int:
        """Write file `number` unless it exists: answers, or `pieces` of texts. Return its number of tokens to learn
        from.

        `advance` counts the tokens of this file.
        """
        name = f"{number:04}"
        if not self.has(number):
            turn, place = divmod(number, _READ_EVERY)
            if place == _READ_EVERY - 1 and pieces:
                self._read(name, [pieces[(turn * AT_ONCE + index) % len(pieces)] for index in range(AT_ONCE)], advance)
            else:
                self._answer(name, number - turn if pieces else number, advance)
        return sum(len(answer) for _, _, answer in self._load(name))

    def _answer(self, name: str, number: int, advance: Advance) -> None:
        """Write answers. Half of the first answers to each prompt are greedy; all others are sampled, as in a chat."""
        all_prompts = prompts()
        files = -(-len(all_prompts) // AT_ONCE)
        repeat, place = divmod(number, files)
        temperature = 0.0 if repeat < 2 and number % 2 == repeat else answers.TEMPERATURE
        batch = all_prompts[place * AT_ONCE : (place + 1) * AT_ONCE]
        options = {"tokens": MAX_ANSWER_TOKENS, "temperature": temperature, "seed": number * AT_ONCE}
        self._ask(name, ["answer"] * len(batch), batch, advance, **options)

    def _ask(self, name: str, kinds: Sequence[str], prompts: Sequence[str], advance: Advance, **options: float) -> None:
        failure = "The model cannot write with OpenVINO ({reason}), so no head can learn from it."
        request: dict[str, Any] = {"folder": str(self.target), "questions": prompts, **options}
        with self._file(name) as (half, texts):
            request["states"] = str(half), self.layers
            written = process.call(answers.write, minutes=_MINUTES, failure=failure, advance=advance, **request)
            texts += [(kind, *text) for kind, text in zip(kinds, written, strict=True)]

    def _read(self, name: str, pieces: Sequence[Sequence[int]], advance: Advance) -> None:
        failure = "The model's hidden states cannot be read ({reason}), so no head can learn from them."
        with self._file(name) as (half, texts):
            request: dict[str, Any] = {"folder": str(self.target), "layers": self.layers, "texts": pieces}
            process.call(read, minutes=_MINUTES, failure=failure, advance=advance, states=str(half), **request)
            texts += [("found", ids[:_CONTEXT_TOKENS], ids[_CONTEXT_TOKENS:]) for ids in pieces]

    @contextlib.contextmanager
    def _file(self, name: str) -> Iterator[tuple[Path, list[object]]]:
        """Context manager with the path for a file's states and the list for its texts, which are saved at the end."""
        half, texts = self.folder / f".{name}.npy", list[object]()
        yield half, texts
        self._texts(name).write_text(json.dumps(texts), encoding="utf-8")
        half.replace(self._states(name))

    def texts(self, names: Iterable[str]) -> Iterator[Text]:
        """Yield the texts of finished files, whose states are mapped from the disk."""
        for name in names:
            states, start = np.load(self._states(name), mmap_mode="r"), 0
            for kind, prompt, answer in self._load(name):
                ids = [*prompt, *answer]
                yield Text(kind, ids, len(prompt), states[start : start + len(ids)])
                start += len(ids)

    def finished(self) -> list[str]:
        """Return the names of the finished files."""
        return sorted(path.stem for path in self.folder.glob("[0-9]*.npy") if self._texts(path.stem).is_file())

    def _texts(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _states(self, name: str) -> Path:
        return self.folder / f"{name}.npy"

    def _load(self, name: str) -> list[tuple[str, list[int], list[int]]]:
        return [
            (kind, prompt, answer) for kind, prompt, answer in json.loads(self._texts(name).read_text(encoding="utf-8"))
        ]


def pieces(folder: Path, texts: Iterable[str], max_pieces: int) -> list[list[int]]:
    """Return texts as pieces of ids of the target in `folder`, without pieces that are too short to learn from."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / vocabulary.FILE_NAME))
    tokenizer.no_truncation()
    selected: list[list[int]] = []
    for text in texts:
        start = len(text) // 3  # not at the start, which is alike in texts of a kind
        ids = tokenizer.encode(text[start : start + 8 * _PIECE_TOKENS], add_special_tokens=False).ids[:_PIECE_TOKENS]
        if len(ids) >= 2 * _CONTEXT_TOKENS:
            selected.append(ids)
        if len(selected) == max_pieces:
            break
    return selected


def read(folder: str, layers: list[int], texts: list[list[int]], states: str) -> None:
    """Read texts with the target's own graph, and write their hidden states into a file."""
    settings, longest = answers.settings_of(Path(folder)), max(map(len, texts))
    runner = PagedRunner.load(
        Path(folder), "CPU", settings, longest, edit=lambda model: answers.with_states(model, layers)
    )
    states_of_texts, tokens = [], 0
    for ids in texts:
        runner.rollback(0)
        runner.forward(ids)
        assert runner.hidden is not None
        states_of_texts.append(answers.in_16_bits(runner.hidden[: len(ids)]))
        tokens += len(ids)
        process.tell(tokens, sum(map(len, texts)))
    with Path(states).open("wb") as stream:
        np.save(stream, np.concatenate(states_of_texts))
