"""Answers of a finished model to a fixed set of prompts, from which tables and drafts are made.

Many answers are written at once, as one pass over a token of each takes far less time than a pass for each. What all
prompts begin with is read once. A model that OpenVINO cannot run with paged attention writes one after the other.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.runners import precision
from headstart.engine.runners.graph import add_taps
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.stateful import StatefulRunner
from headstart.errors import Translatable
from headstart.library import manifest
from headstart_export import process
from headstart_export.progress import Advance

PROMPTS_FILE = Path(__file__).parent / "counting_prompts.toml"
AT_ONCE = 54  # answers written together: half of the first prompts, many times the tokens per second of one
TEMPERATURE = 0.8  # some variety, as users have it
_TOKENS = 64  # longest answer: more prompts teach more than longer answers
_MAX_MORE_PROMPTS = 330  # more prompts; 720 made the table of SmolLM2 hardly better
_WORK = 3_800_000_000_000  # parameters times tokens to write: about a minute on two cores
_MINUTES = 120
_SOFTNESS = 2.0  # temperature at which alternatives count; 1 and 1.5 left more of other texts' tokens out, 3 as many
_MORE = "more"

Text = tuple[list[int], list[int]]  # a prompt and its answer, as ids
Counts = NDArray[np.float64]  # [2, logit rows]: times each token was written, and the sum of its softened chances
Hidden = NDArray[np.float16]  # of each token the states of some layers and what the output head reads, side by side
Row = NDArray[np.float32]  # the logits of one place: [vocabulary]
_READ = 1024  # tokens of prompts that are read in one pass
_HOPELESS = -30.0  # logits below the highest, at a temperature of 1, from which a token is never drawn


def prompts() -> list[str]:
    """Return the handwritten prompts of the fixed set."""
    return [prompt for name, group in _groups().items() if name != _MORE for prompt in group["prompts"]]


def more_prompts() -> list[str]:
    """Return the generated prompts of the fixed set, all kinds mixed."""
    return combined(_groups()[_MORE])


def combined(groups: Mapping[str, Any]) -> list[str]:
    """Combine each task of a group with each of its subjects, and mix the groups evenly."""
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


def written(folder: Path, parameters: int, counts: Path, advance: Advance, *, only_few: bool = False) -> list[Text]:
    """Return the texts that a finished model writes in minutes: answers to `prompts`, and to `more_prompts` if it is
    small.

    `only_few`: only to `prompts`.

    It runs in a process of its own, which saves `Counts` of the answers to `prompts` in the file `counts`. Raises
    ExportError when it fails.
    """
    failure = Translatable("The model cannot write answers with OpenVINO ({reason}).")
    questions = prompts()
    counted = len(questions)
    if not only_few:
        questions += more_prompts()[: min(max(_WORK // (parameters * _TOKENS) - len(questions), 0), _MAX_MORE_PROMPTS)]
    request: dict[str, Any] = {"folder": str(folder), "tokens": _TOKENS, "temperature": TEMPERATURE}
    request |= {"counts": str(counts), "counted": counted}
    texts = process.call(write, minutes=_MINUTES, failure=failure, advance=advance, questions=questions, **request)
    return [(prompt, answer) for prompt, answer in texts]


def write(
    folder: str,
    questions: Sequence[str],
    tokens: int,
    temperature: float,
    seed: int = 0,
    counts: str = "",
    counted: int = 0,
    states: tuple[str, Sequence[int]] | None = None,
) -> list[Text]:
    """Return prompts with a finished model's answers, as ids. Answer n is drawn with the seed `seed` + n, if at all.

    `counts`: a file for `Counts` of the first `counted` answers. `states`: one for the `Hidden` states of all tokens
    behind these layers, text by text; the last token of each answer is left out, as nothing has read it.
    """
    import openvino_genai as genai

    tokenizer = genai.Tokenizer(folder)
    messages = [[{"role": "user", "content": question}] for question in questions]
    texts = [tokenizer.apply_chat_template(each, True) for each in messages]  # noqa: FBT003
    prompt_ids = [tokenizer.encode(text, add_special_tokens=False).input_ids.data[0].tolist() for text in texts]
    written_to, layers = states or ("", ())
    found = [
        _AnswerInProgress(ids, np.random.default_rng(seed + number), number < counted)
        for number, ids in enumerate(prompt_ids)
    ]
    writer = _AnswersWriter(Path(folder), temperature, found, tokens, layers)
    for done in writer.write():
        process.tell(done, len(prompt_ids) * tokens)
    if counts:
        np.save(counts, writer.counts)
    if layers:
        with Path(written_to).open("wb") as stream:
            np.save(stream, np.concatenate([state for answer in found for state in answer.states]))
    return [(answer.prompt, answer.written[:-1] if layers else answer.written) for answer in found]


def with_states(model: Any, layers: Sequence[int]) -> None:
    """Make a model, as it was read, output hidden states, too. Raises RuntimeError for missing layers."""
    if layers and not add_taps(model, layers, with_head=True):
        raise RuntimeError("its layers were not found")


def settings_of(folder: Path) -> precision.Properties:
    """Return the properties with which the app runs a model: own kernels, or harmless groups of activations."""
    stored = manifest.read_model(folder).precision
    own = precision.own_kernels() if precision.OWN in precision.candidates(stored, "CPU") else None
    return own or precision.plain(stored.activation_group)


def in_16_bits(states: NDArray[np.float32]) -> Hidden:
    largest = np.finfo(np.float16).max
    clipped: Hidden = np.clip(states, -largest, largest).astype(np.float16)
    return clipped


@dataclass
class _AnswerInProgress:
    """An answer in progress. `rng` draws its tokens; `states`: of the prompt and of the answer, in pieces."""

    prompt: list[int]
    rng: np.random.Generator
    is_counted: bool
    written: list[int] = field(default_factory=list)
    states: list[Hidden] = field(default_factory=list)


class _AnswersWriter:
    """A finished model that writes several answers at once. `counts`: of the answers that are to be counted."""

    def __init__(
        self, folder: Path, temperature: float, answers: Sequence[_AnswerInProgress], tokens: int, layers: Sequence[int]
    ) -> None:
        """Compile the model, with room for `tokens` of each answer. `layers`: whose states are wanted, if any."""
        self._answers, self._tokens, self._temperature = answers, tokens, temperature
        prompts = [answer.prompt for answer in answers]
        places = enumerate([*zip(*prompts, strict=False)][:-1])  # the last token of a prompt is read for its logits
        self._shared = next((at for at, each in places if len(set(each)) > 1), min(map(len, prompts)) - 1)
        context = max(map(len, prompts)) + tokens
        settings: precision.Properties = {"PERFORMANCE_HINT": "LATENCY"}
        if layers:  # those of the graph that will run; what is still being exported has no manifest to tell
            settings = settings_of(folder)
        self._sequences: list[PagedRunner] | list[StatefulRunner]
        try:
            first = PagedRunner.load(
                folder, "CPU", settings, context, edit=lambda model: with_states(model, layers),
                sequences=min(AT_ONCE, len(answers)),
            )  # fmt: skip
            self._sequences = [first, *first.others]
        except RuntimeError:
            if layers:
                raise
            self._sequences = [StatefulRunner(folder, "CPU", settings, context)]
        self.counts: Counts = np.zeros((2, self._sequences[0].vocabulary))
        generation = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
        self._stop = set(generation["eos_token_id"])

    def write(self) -> Iterator[int]:
        """Write all answers, with their final ids. Yield after each pass how many tokens are written or spared."""
        beginning = self._read_beginning()
        free, waiting, done = [*self._sequences], [*reversed(self._answers)], 0
        writing: list[tuple[Any, _AnswerInProgress]] = []  # with the sequence of each
        while waiting or writing:
            new = 0
            while waiting and free and (not new or new + len(waiting[-1].prompt) <= _READ):
                answer = waiting.pop()
                answer.states += beginning
                new += len(answer.prompt)
                writing.append((free.pop(), answer))
            ids = [answer.written[-1:] or answer.prompt[self._shared :] for _, answer in writing]
            going_on = []
            for (sequence, answer), (row, states) in zip(writing, self._read(writing, ids), strict=True):
                if states is not None:
                    answer.states.append(in_16_bits(states))
                self._go_on(answer, row)
                if answer.written[-1] in self._stop or len(answer.written) == self._tokens:
                    sequence.rollback(self._shared)
                    free.append(sequence)
                    done += self._tokens
                else:
                    going_on.append((sequence, answer))
            writing = going_on
            yield done + sum(len(answer.written) for _, answer in writing)

    def _read_beginning(self) -> list[Hidden]:
        """Make all sequences read the common beginning of the prompts. Return its states, if they are wanted."""
        first, *others = self._sequences
        shared = self._answers[0].prompt[: self._shared]
        if not shared:
            return []
        first.forward(shared)
        for other in others:
            other.restore(shared, first.save(0, len(shared)))
        hidden = first.hidden if isinstance(first, PagedRunner) else None
        return [] if hidden is None else [in_16_bits(hidden[: len(shared)])]

    def _read(
        self, writing: Sequence[tuple[Any, _AnswerInProgress]], ids: Sequence[list[int]]
    ) -> Iterable[tuple[Row, NDArray[np.float32] | None]]:
        """Return the logits after the ids of each sequence, and their states if they are wanted."""
        sequences = [sequence for sequence, _ in writing]
        first = self._sequences[0]
        if isinstance(first, PagedRunner):
            passes = first.forward_together([*zip(sequences, ids, strict=True)])
            return [(each.logits[0], each.hidden) for each in passes if each.logits is not None]
        return [(sequence.forward(each)[0], None) for sequence, each in zip(sequences, ids, strict=True)]

    def _go_on(self, answer: _AnswerInProgress, logits: Row) -> None:
        """Choose the next token."""
        below = logits - logits.max()
        token = int(below.argmax())
        if self._temperature:
            likely = np.flatnonzero(below > _HOPELESS * self._temperature)
            sums = np.cumsum(np.exp(below[likely].astype(np.float64) / self._temperature))
            drawn = int(sums.searchsorted(answer.rng.random() * sums[-1], side="right"))
            token = int(likely[min(drawn, sums.size - 1)])
        if answer.is_counted:
            chances = np.exp(below / np.float32(_SOFTNESS))
            self.counts[0, token] += 1
            self.counts[1] += chances / chances.sum()
        answer.written.append(token)
