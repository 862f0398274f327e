"""What a head learns from: texts that its target wrote or read, and the target's hidden states at their tokens.

Everything lies in one folder, in pairs of files that are written whole or not at all, so that a stopped run goes on.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart import vocabulary
from headstart.engine.runners.graph import HIDDEN_STATES, add_taps, output_head
from headstart_export import answers, process, quality
from headstart_export.convert import MODEL_FILE

PROMPTS_FILE = Path(__file__).parent / "head_prompts.toml"
AT_ONCE = 128  # texts of a file: what an interruption costs
LONGEST = 160  # tokens of an answer
TRIAL = 96  # tokens of an answer that the head is tried on
PER_ANSWER = 1.5  # tokens to read for each that is learned from, about: prompts are read too
TRIALS = "trials"
STATES = 4  # of each token: three that the head reads, and the one that the target's output head reads
_PIECE = 256  # tokens of a text that was found
_SEEN = 8  # of these that are not guessed
_READ_EVERY = 5  # one file in so many holds texts that were found
_MINUTES = 240

Hidden = NDArray[np.float16]


@dataclass(frozen=True)
class Text:
    """One text. `states` are [len(ids), STATES * hidden size]; the head guesses what comes behind the first `given`."""

    kind: str
    ids: list[int]
    given: int
    states: Hidden


def prompts() -> list[str]:
    """Those that the target answers to be learned from, all classes mixed; the same ones at each call."""
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
        asked = trials()
        if not self._texts(TRIALS).is_file():
            written = self._answers([prompt for _, prompt in asked], TRIAL, 0.0, 0)
            self._save(TRIALS, [(kind, *text) for (kind, _), text in zip(asked, written, strict=True)])
        self._read(TRIALS)

    def has(self, number: int) -> bool:
        """Whether file `number` is there."""
        return self._states(f"{number:04}").is_file()

    def write(self, number: int, found: Sequence[Sequence[int]]) -> int:
        """Make file `number` unless it is there: answers to prompts, or pieces of `found` texts; its learned tokens."""
        name = f"{number:04}"
        if not self._texts(name).is_file():
            turn, place = divmod(number, _READ_EVERY)
            if place == _READ_EVERY - 1 and found:
                pieces = [found[(turn * AT_ONCE + index) % len(found)] for index in range(AT_ONCE)]
                self._save(name, [("found", list(ids[:_SEEN]), list(ids[_SEEN:])) for ids in pieces])
            else:
                self._save(name, self._asked(number - turn if found else number))
        self._read(name)
        return sum(len(answer) for _, _, answer in self._load(name))

    def _asked(self, number: int) -> list[tuple[str, list[int], list[int]]]:
        """Half of the first answers to a prompt are the likeliest ones; all others are drawn, as users have it."""
        asked = prompts()
        files = -(-len(asked) // AT_ONCE)
        again, place = divmod(number, files)
        temperature = 0.0 if again < 2 and number % 2 == again else answers.TEMPERATURE
        written = self._answers(asked[place * AT_ONCE : (place + 1) * AT_ONCE], LONGEST, temperature, number * AT_ONCE)
        return [("answer", prompt, answer) for prompt, answer in written if answer]

    def _answers(self, asked: list[str], tokens: int, temperature: float, seed: int) -> list[answers.Text]:
        failure = "The model cannot write with OpenVINO ({reason}), so no head can learn from it."
        ways: dict[str, Any] = {"tokens": tokens, "temperature": temperature, "seed": seed}
        written = process.call(
            answers.write, minutes=_MINUTES, failure=failure, folder=str(self.target), asked=asked, **ways
        )
        return [(prompt, answer) for prompt, answer in written]

    def _read(self, name: str) -> None:
        if not self._states(name).is_file():
            failure = "The model's hidden states cannot be read ({reason}), so no head can learn from them."
            places: dict[str, Any] = {"texts": str(self._texts(name)), "states": str(self._states(name))}
            layers = list(self.layers)
            process.call(read, minutes=_MINUTES, failure=failure, folder=str(self.target), layers=layers, **places)

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

    def _save(self, name: str, texts: Sequence[object]) -> None:
        half = self.folder / f".{name}.new"
        half.write_text(json.dumps(texts), encoding="utf-8")
        half.replace(self._texts(name))


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


def read(folder: str, layers: list[int], texts: str, states: str) -> None:
    """Read the texts of a file with the graph that will run, and write its hidden states."""
    session = _tapped(Path(folder), layers).create_infer_request()
    content = json.loads(Path(texts).read_text(encoding="utf-8"))
    half = Path(states).with_name(f".{Path(states).name}.new")
    with half.open("wb") as stream:
        np.save(stream, np.concatenate([_states_of(session, prompt + answer) for _, prompt, answer in content]))
    half.replace(states)


def _tapped(folder: Path, layers: Sequence[int]) -> Any:
    """The target without its output head: its results are the layers' states, and what the head would read."""
    import openvino  # noqa: PLC0415

    model = openvino.Core().read_model(folder / MODEL_FILE)
    head, logits = output_head(model), model.get_results()[0]
    if head is None or not add_taps(model, layers):
        raise RuntimeError("its layers were not found")
    model.add_results([openvino.opset13.result(head.input_value(0))])
    model.remove_result(logits)
    return openvino.Core().compile_model(model, "CPU", quality.SETTINGS)


def _states_of(session: Any, ids: list[int]) -> Hidden:
    session.reset_state()
    places = np.arange(len(ids), dtype=np.int64)[None]
    inputs = {
        "input_ids": np.array([ids], np.int64),
        "attention_mask": np.ones_like(places),
        "position_ids": places,
        "beam_idx": np.zeros(1, np.int32),
    }
    wanted = {name for port in session.model_inputs for name in port.names}
    session.infer({name: value for name, value in inputs.items() if name in wanted})
    taps, last = session.get_tensor(HIDDEN_STATES).data[0], session.get_output_tensor(1).data[0]
    largest = np.finfo(np.float16).max
    states: Hidden = np.clip(np.concatenate([taps, last], axis=1), -largest, largest).astype(np.float16)
    return states
