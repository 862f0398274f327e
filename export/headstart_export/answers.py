"""What a finished model answers to a committed set of prompts: tables and drafts are made from it.

Many answers are written at once, as one pass over a token of each takes far less time than a pass for each. What all
prompts begin with is read once.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.runners.graph import HIDDEN_STATES, add_taps, output_head
from headstart.errors import Translatable
from headstart_export import process, quality
from headstart_export.convert import MODEL_FILE
from headstart_export.progress import Advance

PROMPTS_FILE = Path(__file__).parent / "counting_prompts.toml"
AT_ONCE = 54  # answers written together: half of the first prompts, many times the tokens per second of one
TEMPERATURE = 0.8  # some variety, as users have it
_TOKENS = 64  # longest answer: more prompts teach more than longer answers
_MOST_MORE = 330  # more prompts; 720 made the table of SmolLM2 hardly better
_WORK = 3_800_000_000_000  # parameters times tokens to write: about a minute on two cores
_MINUTES = 120
_SOFTNESS = 2.0  # temperature at which alternatives count; 1 and 1.5 left more of other texts' tokens out, 3 as many
_MORE = "more"

Text = tuple[list[int], list[int]]  # a prompt and its answer, as ids
Counts = NDArray[np.float64]  # [2, logit rows]: times each token was written, and the sum of its softened chances
Hidden = NDArray[np.float16]  # of each token the states of some layers and what the output head reads, side by side
Ids = NDArray[np.int64]
_READ_BY_HEAD = "read_by_head"  # output: what the output head reads


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


def written(folder: Path, parameters: int, counts: Path, advance: Advance) -> list[Text]:
    """What a finished model with so many parameters writes in minutes: answers to `prompts`, maybe to more of them.

    In a process of its own, which saves `Counts` of the answers to `prompts` in the file `counts`. Raises ExportError
    when it fails.
    """
    failure = Translatable("The model cannot write answers with OpenVINO ({reason}).")
    asked = prompts()
    counted = len(asked)
    asked += more_prompts()[: min(max(_WORK // (parameters * _TOKENS) - len(asked), 0), _MOST_MORE)]
    request = {"folder": str(folder), "tokens": _TOKENS, "temperature": TEMPERATURE}
    request |= {"counts": str(counts), "counted": counted}
    texts = process.call(write, minutes=_MINUTES, failure=failure, advance=advance, asked=asked, **request)
    return [(prompt, answer) for prompt, answer in texts]


def write(
    folder: str,
    asked: Sequence[str],
    tokens: int,
    temperature: float,
    seed: int = 0,
    counts: str = "",
    counted: int = 0,
    states: tuple[str, Sequence[int]] | None = None,
) -> list[Text]:
    """Prompts and what a finished model answers, as ids. Answer n is drawn with the seed `seed` + n, if at all.

    `counts`: a file for `Counts` of the first `counted` answers. `states`: one for the `Hidden` states of all
    tokens behind these layers, text by text; the last token of each answer is left out, as nothing has read it.
    """
    import openvino_genai as genai  # noqa: PLC0415

    tokenizer = genai.Tokenizer(folder)
    texts = [tokenizer.apply_chat_template([{"role": "user", "content": prompt}], True) for prompt in asked]  # noqa: FBT003
    given = [tokenizer.encode(text, add_special_tokens=False).input_ids.data[0].tolist() for text in texts]
    written_to, layers = states or ("", ())
    writer = _Writer(Path(folder), temperature, layers)
    found: dict[int, list[int]] = {}
    read: dict[int, Hidden] = {}
    by_length = sorted(range(len(given)), key=lambda number: len(given[number]))  # so that little is padding
    for start in range(0, len(given), AT_ONCE):
        numbers = by_length[start : start + AT_ONCE]
        luck = [np.random.default_rng(seed + number) for number in numbers]
        is_counted = [number < counted for number in numbers]
        for place in writer.write([given[number] for number in numbers], luck, is_counted, tokens):
            process.tell(start * tokens + place * len(numbers), len(given) * tokens)
        found |= zip(numbers, writer.answers, strict=True)
        if layers:
            read |= zip(numbers, map(np.concatenate, writer.states), strict=True)
    if counts:
        np.save(counts, writer.counts)
    if layers:
        with Path(written_to).open("wb") as stream:
            np.save(stream, np.concatenate([read[number] for number in range(len(given))]))
    return [(ids, found[number][:-1] if layers else found[number]) for number, ids in enumerate(given)]


def give_states(model: Any, layers: Sequence[int]) -> None:
    """Let a model as it was read give `Hidden` states, too. Raises RuntimeError where there are no such layers."""
    import openvino  # noqa: PLC0415

    head = output_head(model)
    if head is None or not add_taps(model, layers):
        raise RuntimeError("its layers were not found")
    read = head.input_value(0)
    read.get_tensor().add_names({_READ_BY_HEAD})
    model.add_results([openvino.opset13.result(read)])


def states_of(session: Any) -> Hidden:
    """Those of the last pass: [texts, tokens, states]."""
    largest = np.finfo(np.float16).max
    both = [session.get_tensor(name).data for name in (HIDDEN_STATES, _READ_BY_HEAD)]
    states: Hidden = np.clip(np.concatenate(both, axis=-1), -largest, largest).astype(np.float16)
    return states


class _Writer:
    """A finished model that answers several prompts at once. `counts`: of those answers that are to be counted.

    `states`: of each prompt and answer, in pieces, if there are `layers` to read.
    """

    def __init__(self, folder: Path, temperature: float, layers: Sequence[int] = ()) -> None:
        """Compile it, so that it gives the logits of the last place alone."""
        import openvino  # noqa: PLC0415

        core = openvino.Core()
        model = core.read_model(folder / MODEL_FILE)
        self.counts: Counts = np.zeros((2, model.output("logits").partial_shape[2].get_length()))
        self.answers: list[list[int]] = []
        self.states: list[list[Hidden]] = []
        self._layers = layers
        self._sums = np.empty(self.counts.shape[1])  # kept, as making it anew for each token takes longer than the sums
        self._temperature = temperature
        generation = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
        self._stop = generation["eos_token_id"]
        if layers:
            give_states(model, layers)
        if head := output_head(model):
            last = openvino.opset13.slice(head.input_value(0), *([number] for number in (-1, 2**31 - 1, 1, 1)))
            head.input(0).replace_source_output(last.output(0))
        settings = quality.SETTINGS if layers else {}
        self._session = core.compile_model(model, "CPU", settings).create_infer_request()
        self._inputs = {name for port in self._session.model_inputs for name in port.names}

    def write(
        self,
        prompts: Sequence[list[int]],
        luck: Sequence[np.random.Generator],
        is_counted: Sequence[bool],
        tokens: int,
    ) -> Iterator[int]:
        """Put at most so many tokens for each prompt into `answers`, stop ids included; yield how many are there."""
        self._session.reset_state()
        self.answers, self.states = [[] for _ in prompts], [[] for _ in prompts]
        shortest = [*zip(*prompts, strict=False)][:-1]  # the last token of a prompt is read for its logits
        shared = next((place for place, each in enumerate(shortest) if len(set(each)) > 1), len(shortest))
        rows, width = len(prompts), max(map(len, prompts)) - shared
        beams = np.arange(rows)
        if shared:
            self._read(np.array([prompts[0][:shared]]), np.ones((1, shared), np.int64), beams[:1])
            if self._layers:
                self.states = [[states_of(self._session)[0]] for _ in prompts]
            beams = np.zeros_like(beams)
        ids, mask = np.zeros((rows, width), np.int64), np.ones((rows, shared + width), np.int64)
        for row, prompt in enumerate(prompts):
            padding = width + shared - len(prompt)
            ids[row, padding:], mask[row, shared : shared + padding] = prompt[shared:], 0
        living = list(range(rows))
        for place in range(tokens):
            logits = self._read(ids, mask, beams)
            if self._layers:
                for number, read in zip(living, states_of(self._session), strict=True):
                    self.states[number].append(read[shared - len(prompts[number]) :])  # without what is padding
            chosen = []
            for row, number in zip(logits, living, strict=True):
                below = row - row.max()
                token = self._choose(below, luck[number])
                if is_counted[number]:
                    self._count(below, token)
                self.answers[number].append(token)
                chosen.append(token)
            yield place + 1
            beams = np.flatnonzero(~np.isin(chosen, self._stop))
            if not beams.size:
                return
            living, ids = [living[row] for row in beams], np.array(chosen)[beams, None]
            mask = np.pad(mask[beams], ((0, 0), (0, 1)), constant_values=1)

    def _read(self, ids: Ids, mask: Ids, beams: Ids) -> NDArray[np.float32]:
        """Logits of what follows the last of the ids: [rows, vocabulary]. `beams`: whose past each row goes on with."""
        inputs = {
            "input_ids": ids,
            "attention_mask": mask,
            "position_ids": np.maximum(mask.cumsum(axis=1) - 1, 0)[:, -ids.shape[1] :],
            "beam_idx": beams.astype(np.int32),
        }
        self._session.infer({name: value for name, value in inputs.items() if name in self._inputs})
        logits: NDArray[np.float32] = self._session.get_tensor("logits").data[:, -1]
        return logits

    def _choose(self, below: NDArray[np.float32], luck: np.random.Generator) -> int:
        """The next token. `below`: the logits, less the highest."""
        if not self._temperature:
            return int(below.argmax())
        sums = np.cumsum(np.exp(below / np.float32(self._temperature)), out=self._sums)
        return min(int(sums.searchsorted(luck.random() * sums[-1], side="right")), sums.size - 1)

    def _count(self, below: NDArray[np.float32], token: int) -> None:
        """Count a token, and what it might have been."""
        chances = np.exp(below / np.float32(_SOFTNESS))
        self.counts[0, token] += 1
        self.counts[1] += chances / chances.sum()
