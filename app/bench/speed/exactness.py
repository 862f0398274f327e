"""Compares texts that must be equal: after a change, with and without guesses, in random histories.

python app/bench/speed/exactness.py record FILE MODEL, and later compare FILE MODEL
python app/bench/speed/exactness.py guesses MODEL [--prompts 3] [--tokens 96]
python app/bench/speed/exactness.py histories MODEL [--histories 1000] [--first 0] [--tokens 24] [--stock]

`record` writes down the token ids of twenty answers; `compare` writes them again after a change that must not alter
texts, on the same machine: another processor may round otherwise. `guesses` asks prompts of all classes, greedily and
at temperature 0.8, each without guesses and then in automatic mode behind what the first answer read.

`histories` is a fuzz: a history asks, edits, branches, cuts, cancels, restarts from disk, goes on where an answer broke
off, loses its cache and asks several chats at once; with penalties, biases, grammars, tools and long contexts. Each
answer is written again by an engine that guesses nothing and has forgotten everything, and both must have the same
tokens, chosen from the same logits to the bit.

All print JSON, and end with 1 where an answer differs.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

from msgspec import structs

from headstart.engine.answer_writer import AnswerWriter
from headstart.engine.bench.prompts import KINDS, USUAL_KINDS, read_prompts
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Finish,
    FinishReason,
    Keep,
    LoadOptions,
    Message,
    Mode,
    Prefill,
    Round,
    Sampling,
    Speculation,
    Tool,
    Tools,
)
from headstart.engine.kernels.fusion import KERNELS
from headstart.engine.local import LocalEngine, load
from headstart.engine.opening import resolve
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import plain
from headstart.engine.runners.runner import common_prefix
from headstart.engine.sampling import Row
from headstart.library import library

PARALLEL = 3  # chats that may be answered at the same time
_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 12}, "count": {"type": "integer"}},
        "required": ["name", "count"],
        "additionalProperties": False,
    }
)
_TOOLS = Tools((Tool("note", _SCHEMA, "Take a note."),))
_GRAMMAR = 'start: ("yes" | "no" | "maybe so, " )+'


@dataclass
class RandomChat:
    """A conversation, and the name of the folder in which its prompts may be cached."""

    name: str
    messages: list[Message] = field(default_factory=list)


@dataclass
class Report:
    """The comparison so far. `differing`: which answers differ, with their seeds."""

    histories: int = 0
    answers: int = 0
    tokens: int = 0
    guesses: int = 0
    accepted: int = 0
    reused: int = 0  # tokens of prompts that were not read again
    differing: list[str] = field(default_factory=list)


@dataclass
class HistoryAnswer:
    """Tokens, and a digest of the logits from which each was chosen."""

    tokens: list[int] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    reason: FinishReason | None = None
    guesses: int = 0
    accepted: int = 0
    reused: int | None = None  # tokens of the prompt that were not read again


def write(
    engine: LocalEngine, request: ConversationRequest, written: Sequence[int] = (), cancel: CancelEvent | None = None
) -> HistoryAnswer:
    """Answer a request, behind `written` tokens of its answer."""
    answer, cancel = HistoryAnswer(), cancel or CancelEvent()

    def note(row: Row, _token: int) -> None:
        answer.digests.append(blake2b(row.tobytes(), digest_size=16).digest())

    models, runner = engine.slot.models, engine.target.runner
    sequence = AnswerWriter(request, models.text, engine.context).sequence(cancel)
    sequence = replace(sequence, written=tuple(written), on_logits=note)  # rows are no part of an answer
    with runner.at_work() if isinstance(runner, PagedRunner) else nullcontext():
        for event in engine.slot.decoder.run(sequence):
            if isinstance(event, Round):
                answer.tokens += [token.id for token in event.tokens]
                answer.guesses += event.drafted
                answer.accepted += event.accepted
            elif isinstance(event, Prefill):
                answer.reused = event.done if answer.reused is None else answer.reused
            elif isinstance(event, FinishReason):
                answer.reason = event
    engine.slot.prefixes[0].keep()
    return answer


class Fuzz:
    """Random histories for an engine that guesses, against one that does not."""

    def __init__(self, engine: LocalEngine, reference: LocalEngine, tokens: int, texts: Sequence[str]) -> None:
        """`tokens`: the longest answer. `texts`: the questions."""
        self._engines = [engine, *engine.others]
        self._reference = reference
        self._tokens, self._texts = tokens, texts
        self._room = engine.context - 2 * tokens
        self.report = Report()

    def run(self, seed: int) -> None:
        """Run one history."""
        chance = random.Random(seed)  # noqa: S311 - no secret
        chats = [RandomChat(f"chat{number}") for number in range(PARALLEL)]
        for step in range(chance.randrange(2, 6)):
            self._disturb(chance)
            several = chance.random() < 0.25 and len(self._engines) > 1
            asked = chance.sample(chats, len(self._engines)) if several else [chance.choice(chats)]
            requests = [self._request(chance, chat) for chat in asked]
            halves = [chance.random() < 0.2 for _ in asked]
            expected = [self._expected(request) for request in requests]
            written = [
                each.tokens[: len(each.tokens) // 2] if half else []
                for each, half in zip(expected, halves, strict=True)
            ]
            with ThreadPoolExecutor(len(asked)) as pool:
                answers = list(pool.map(self._answer, self._engines, requests, written))
            for chat, request, plain_answer, answer in zip(asked, requests, expected, answers, strict=True):
                self._compare(f"history {seed}, step {step}: {request.speculation.mode}", plain_answer, answer)
                text = self._reference.tokenizer.decode_many([plain_answer.tokens])[0] or "Yes."
                chat.messages.append(Message("assistant", text))
        self.report.histories += 1

    def _request(self, chance: random.Random, chat: RandomChat) -> ConversationRequest:
        """Continue a chat, edit it, branch off, or begin it again."""
        if chat.messages and chance.random() < 0.35:
            del chat.messages[2 * chance.randrange(len(chat.messages) // 2 + 1) :]
        text = chance.choice(self._texts)
        if chance.random() < 0.3:
            text = f"{text}\n\n{chance.choice(self._texts)}" * chance.randrange(1, 4)
        chat.messages.append(Message("user", text))
        request = ConversationRequest(
            tuple(chat.messages),
            max_new_tokens=chance.randrange(1, self._tokens + 1),
            sampling=Sampling(
                temperature=chance.choice([0.0, 0.0, 0.8, 1.2]),
                top_p=chance.choice([1.0, 0.9]),
                top_k=chance.choice([0, 20]),
                min_p=chance.choice([0.0, 0.05]),
                repetition_penalty=chance.choice([1.0, 1.0, 1.1]),
                frequency_penalty=chance.choice([0.0, 0.0, 0.3]),
                presence_penalty=chance.choice([0.0, 0.0, 0.2]),
                seed=chance.randrange(2**32),
            ),
            speculation=chance.choice([Speculation(), Speculation(), Speculation(Mode.FIXED, chance.randrange(1, 16))]),
            prediction=chance.choice(["", "", chance.choice(self._texts)]),
            keep=Keep(chat.name, 2**30) if chance.random() < 0.5 else None,
        )
        if chance.random() < 0.2:
            bias = {chance.randrange(self._reference.target.runner.vocabulary): 3.0}
            request = structs.replace(request, sampling=replace(request.sampling, logit_bias=bias))
        form = chance.random()
        if form < 0.1:
            request = structs.replace(request, schema=_SCHEMA)
        elif form < 0.2:
            request = structs.replace(request, grammar=_GRAMMAR)
        elif form < 0.3:
            request = structs.replace(request, tools=_TOOLS)
        while len(self._reference.tokenizer.prompt_of(request, sys.maxsize)) > self._room:
            del chat.messages[:2]
            chat.messages = chat.messages or [Message("user", "Say something.")]
            request = structs.replace(request, messages=tuple(chat.messages))
        return request

    def _expected(self, request: ConversationRequest) -> HistoryAnswer:
        self._reference.forget_all()
        return write(
            self._reference, structs.replace(request, speculation=Speculation(Mode.OFF), prediction="", keep=None)
        )

    def _answer(self, engine: LocalEngine, request: ConversationRequest, written: Sequence[int]) -> HistoryAnswer:
        """Return the whole answer; the part that was `written` before is not compared."""
        answer = write(engine, request, written)
        tokens, digests = [*written, *answer.tokens], [*[b""] * len(written), *answer.digests]
        return replace(answer, tokens=tokens, digests=digests)

    def _disturb(self, chance: random.Random) -> None:
        """Disturb the engine in a way that must not change the next answers."""
        engine = self._engines[0]
        match chance.randrange(7):
            case 0:  # an answer is cancelled amid a pass
                cancel = CancelEvent()
                timer = threading.Timer(chance.random() * 0.1, cancel.set)
                timer.start()
                write(engine, self._request(chance, RandomChat("cancelled")), cancel=cancel)
                timer.join()
            case 1:  # the program is started again: what was kept on disk is all there is
                while engine.store_one():
                    pass
                engine.forget_all()
            case 2:
                engine.forget([f"chat{chance.randrange(PARALLEL)}"])
            case 3:  # there is room for little
                for prefixes in engine.slot.prefixes:
                    prefixes._max_bytes = chance.choice([0, 2**20, 2**24])  # noqa: SLF001
            case 4:  # something is read ahead, and not to its end
                ahead = engine.read_ahead(self._request(chance, RandomChat("ahead")))
                for _ in range(chance.randrange(4)):
                    next(ahead, None)
            case _:
                for prefixes in engine.slot.prefixes:
                    prefixes._max_bytes = 2**28  # noqa: SLF001

    def _compare(self, name: str, expected: HistoryAnswer, answer: HistoryAnswer) -> None:
        self.report.answers += 1
        self.report.tokens += len(expected.tokens)
        self.report.guesses += answer.guesses
        self.report.accepted += answer.accepted
        self.report.reused += answer.reused or 0
        count = len(expected.tokens)
        known = [place for place, digest in enumerate(answer.digests[:count]) if digest]
        is_same = expected.tokens == answer.tokens and expected.reason == answer.reason
        is_same &= all(expected.digests[place] == answer.digests[place] for place in known)
        if not is_same:
            pairs = zip(expected.digests, answer.digests, strict=False)
            place = next((place for place, (one, other) in enumerate(pairs) if other and one != other), count)
            self.report.differing.append(f"{name}, at token {place}")


def texts() -> list[str]:
    """Return the texts of the prompts of all classes."""
    return [prompt.text for prompt in read_prompts(2, KINDS)]


_RECORDED_TOKENS, _RECORDED_PROMPTS = 32, 5
_RECORDED_SAMPLINGS = (
    Sampling(temperature=0.0),
    Sampling(temperature=0.8, top_p=0.95, seed=7),
    Sampling(temperature=1.0, top_k=40, min_p=0.02, repetition_penalty=1.1, frequency_penalty=0.2, seed=8),
    Sampling(temperature=0.7, top_p=0.8, top_k=20, presence_penalty=0.3, seed=9),
)


def _answer(engine: LocalEngine, request: ConversationRequest) -> list[int]:
    """Return the token ids of an answer."""
    *_, last = engine.generate(request)
    assert isinstance(last, Finish)
    return list(last.token_ids)


def _load(model: str) -> LocalEngine:
    choice = library.choose(model)
    return load(resolve(LoadOptions(choice.target.folder, choice.draft_folder)))


def _recorded(model: str) -> dict[str, list[int]]:
    """Return token ids by prompt and way of sampling; speculation and plain decoding take turns."""
    found = {}
    with closing(_load(model)) as engine:
        for prompt in read_prompts(_RECORDED_PROMPTS, USUAL_KINDS)[:_RECORDED_PROMPTS]:
            for number, sampling in enumerate(_RECORDED_SAMPLINGS):
                speculation = Speculation() if number % 2 else Speculation(Mode.FIXED, num_assistant_tokens=4)
                request = ConversationRequest(
                    prompt.messages, max_new_tokens=_RECORDED_TOKENS, sampling=sampling, speculation=speculation
                )
                found[f"{prompt.id} {number}"] = _answer(engine, request)
    return found


def record(given: argparse.Namespace) -> int:
    """Write the answers to a file."""
    given.file.write_text(json.dumps(_recorded(given.model), indent=0), encoding="utf-8")
    return 0


def compare(given: argparse.Namespace) -> int:
    """Compare the answers with those of a file."""
    known, answers = json.loads(given.file.read_text(encoding="utf-8")), _recorded(given.model)
    differing = [name for name in known if answers.get(name) != known[name]]
    print(json.dumps({"answers": len(known), "differing": differing}))
    return 1 if differing or not known else 0


def guesses(given: argparse.Namespace) -> int:
    """Compare answers with guesses and without."""
    tokens, answers, differing = 0, 0, dict[str, int]()
    with closing(_load(given.model)) as engine:
        for prompt in read_prompts(given.prompts, KINDS):
            for sampling in _RECORDED_SAMPLINGS[:2]:
                plain_answer, guessed = (
                    _answer(
                        engine,
                        ConversationRequest(
                            prompt.messages,
                            max_new_tokens=given.tokens,
                            sampling=sampling,
                            speculation=Speculation(mode),
                        ),
                    )
                    for mode in (Mode.OFF, Mode.AUTO)
                )
                tokens, answers = tokens + len(plain_answer), answers + 1
                if plain_answer != guessed:
                    place = common_prefix(plain_answer, guessed)
                    differing[f"{prompt.id} at {sampling.temperature}"] = place
            print(prompt.id, file=sys.stderr, flush=True)
    print(json.dumps({"answers": answers, "tokens": tokens, "first difference at token": differing}, indent=1))
    return 1 if differing else 0


def histories(given: argparse.Namespace) -> int:
    """Compare random histories."""
    choice = library.choose(given.model)
    properties = {**plain(), KERNELS: ""} if given.stock else {}
    options = LoadOptions(choice.target.folder, context=4096, properties=properties, parallel=2)
    guessing = replace(options, draft=choice.draft_folder)
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(load(resolve(guessing))) as engine,
        closing(load(resolve(options))) as reference,
    ):
        engine.keep_in(Path(folder))
        fuzz = Fuzz(engine, reference, given.tokens, texts())
        for seed in range(given.first, given.first + given.histories):
            fuzz.run(seed)
            print(seed, len(fuzz.report.differing), file=sys.stderr, flush=True)
    print(json.dumps({"model": choice.name, **vars(fuzz.report)}, indent=1))
    return 1 if fuzz.report.differing else 0


def main() -> int:
    """Return 0 if all answers are equal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for run in (record, compare, guesses, histories):
        command = commands.add_parser(run.__name__, help=run.__doc__)
        command.set_defaults(run=run)
        if run in (record, compare):
            command.add_argument("file", type=Path)
        command.add_argument("model", help="a folder, or the name of an installed model or pair")
        if run is guesses:
            command.add_argument("--prompts", type=int, default=3, help="of each class")
            command.add_argument("--tokens", type=int, default=96)
        if run is histories:
            command.add_argument("--histories", type=int, default=1000)
            command.add_argument("--first", type=int, default=0, help="seed of the first")
            command.add_argument("--tokens", type=int, default=24, help="of the longest answer")
            command.add_argument("--stock", action="store_true", help="with OpenVINO's own kernels")
    given = parser.parse_args()
    code: int = given.run(given)
    return code


if __name__ == "__main__":
    sys.exit(main())
