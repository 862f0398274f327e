"""Texts that a target wrote or read, with its hidden states at their tokens, for a head to learn from.

Everything lies in one folder, in pairs of files that are written whole or not at all, so that a stopped run goes on.
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
AT_ONCE = 2 * answers.AT_ONCE  # texts of a file: what an interruption costs
LONGEST = 160  # tokens of an answer
TRIAL = 96  # tokens of an answer that the head is tried on
PER_ANSWER = 1.5  # tokens to read for each that is learned from, about: prompts are read too
TRIALS = "trials"
STATES = 4  # of each token: three that the head reads, and the one that the target's output head reads
_PIECE = 256  # tokens of a text that was found
_SEEN = 8  # of these that are not guessed
_READ_EVERY = 5  # one file in so many holds texts that were found
_MINUTES = 240


@dataclass(frozen=True)
class Text:
    """One text. `states` are [len(ids), STATES * hidden size]; the head guesses what comes behind the first `given`."""

    kind: str
    ids: list[int]
    given: int
    states: Hidden


def prompts() -> list[str]:
    """Return the prompts whose answers are learned from, all classes mixed; the same ones at each call."""
    return answers.combined(_groups())


def trials() -> list[tuple[str, str]]:
    """Class and prompt of those that the head is tried on."""
    return [(kind, prompt) for kind, group in _groups().items() for prompt in group["trials"]]


def _groups() -> dict[str, Any]:
    return tomllib.loads(PROMPTS_FILE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Store:
    """The files of one target. `layers`: whose hidden states are kept."""

    folder: Path
    target: Path
    layers: tuple[int, ...]

    def write_trials(self) -> None:
        """Have the target answer what the head is tried on."""
        if not self._states(TRIALS).is_file():
            kinds, asked = zip(*trials(), strict=True)
            self._ask(TRIALS, kinds, asked, ignore, tokens=TRIAL, temperature=0.0)

    def has(self, number: int) -> bool:
        return self._states(f"{number:04}").is_file()

    def write(self, number: int, found: Sequence[Sequence[int]], advance: Advance) -> int:
        """Make file `number` unless it is there: answers to prompts, or pieces of `found` texts; its learned tokens.

        `advance` hears of the tokens of this file.
        """
        name = f"{number:04}"
        if not self.has(number):
            turn, place = divmod(number, _READ_EVERY)
            if place == _READ_EVERY - 1 and found:
                self._read(name, [found[(turn * AT_ONCE + index) % len(found)] for index in range(AT_ONCE)], advance)
            else:
                self._answer(name, number - turn if found else number, advance)
        return sum(len(answer) for _, _, answer in self._load(name))

    def _answer(self, name: str, number: int, advance: Advance) -> None:
        """Half of the first answers to a prompt are the likeliest ones; all others are drawn, as users have it."""
        asked = prompts()
        files = -(-len(asked) // AT_ONCE)
        again, place = divmod(number, files)
        temperature = 0.0 if again < 2 and number % 2 == again else answers.TEMPERATURE
        some = asked[place * AT_ONCE : (place + 1) * AT_ONCE]
        ways = {"tokens": LONGEST, "temperature": temperature, "seed": number * AT_ONCE}
        self._ask(name, ["answer"] * len(some), some, advance, **ways)

    def _ask(self, name: str, kinds: Sequence[str], asked: Sequence[str], advance: Advance, **ways: float) -> None:
        failure = "The model cannot write with OpenVINO ({reason}), so no head can learn from it."
        request: dict[str, Any] = {"folder": str(self.target), "asked": asked, **ways}
        with self._file(name) as (half, texts):
            request["states"] = str(half), self.layers
            written = process.call(answers.write, minutes=_MINUTES, failure=failure, advance=advance, **request)
            texts += [(kind, *text) for kind, text in zip(kinds, written, strict=True)]

    def _read(self, name: str, pieces: Sequence[Sequence[int]], advance: Advance) -> None:
        failure = "The model's hidden states cannot be read ({reason}), so no head can learn from them."
        with self._file(name) as (half, texts):
            request: dict[str, Any] = {"folder": str(self.target), "layers": self.layers, "texts": pieces}
            process.call(read, minutes=_MINUTES, failure=failure, advance=advance, states=str(half), **request)
            texts += [("found", ids[:_SEEN], ids[_SEEN:]) for ids in pieces]

    @contextlib.contextmanager
    def _file(self, name: str) -> Iterator[tuple[Path, list[object]]]:
        """Return where to write the states of a file and its texts. The file is there once both are."""
        half, texts = self.folder / f".{name}.npy", list[object]()
        yield half, texts
        self._texts(name).write_text(json.dumps(texts), encoding="utf-8")
        half.replace(self._states(name))

    def texts(self, names: Iterable[str]) -> Iterator[Text]:
        """The texts of some files that are finished; their states stay on the disk until they are used."""
        for name in names:
            states, start = np.load(self._states(name), mmap_mode="r"), 0
            for kind, prompt, answer in self._load(name):
                ids = [*prompt, *answer]
                yield Text(kind, ids, len(prompt), states[start : start + len(ids)])
                start += len(ids)

    def finished(self) -> list[str]:
        """The names of the files that can be learned from."""
        return sorted(path.stem for path in self.folder.glob("[0-9]*.npy") if self._texts(path.stem).is_file())

    def _texts(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _states(self, name: str) -> Path:
        return self.folder / f"{name}.npy"

    def _load(self, name: str) -> list[tuple[str, list[int], list[int]]]:
        return [
            (kind, prompt, answer) for kind, prompt, answer in json.loads(self._texts(name).read_text(encoding="utf-8"))
        ]


def pieces(folder: Path, texts: Iterable[str], most: int) -> list[list[int]]:
    """At most so many pieces of texts as the ids of the target in `folder`, none of them too short to learn from."""
    from tokenizers import Tokenizer  # noqa: PLC0415

    tokenizer = Tokenizer.from_file(str(folder / vocabulary.FILE_NAME))
    tokenizer.no_truncation()
    found: list[list[int]] = []
    for text in texts:
        start = len(text) // 3  # texts of a kind often begin alike
        ids = tokenizer.encode(text[start : start + 8 * _PIECE], add_special_tokens=False).ids[:_PIECE]
        if len(ids) >= 2 * _SEEN:
            found.append(ids)
        if len(found) == most:
            break
    return found


def read(folder: str, layers: list[int], texts: list[list[int]], states: str) -> None:
    """Read texts with the graph that will run, and write their hidden states into a file."""
    settings, longest = answers.settings_of(Path(folder)), max(map(len, texts))
    runner = PagedRunner(Path(folder), "CPU", settings, longest, edit=lambda model: answers.with_states(model, layers))
    found, done = [], 0
    for ids in texts:
        runner.rollback(0)
        runner.forward(ids)
        assert runner.hidden is not None
        found.append(answers.in_16_bits(runner.hidden[: len(ids)]))
        done += len(ids)
        process.tell(done, sum(map(len, texts)))
    with Path(states).open("wb") as stream:
        np.save(stream, np.concatenate(found))
