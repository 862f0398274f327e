"""Fuzz of exactness: random histories of chats, answered with guesses and without; all bits are compared.

`python app/bench/histories.py MODEL [--histories 1000] [--first 0] [--tokens 24] [--stock]`

A history asks, edits, branches, cuts, cancels, restarts from disk, goes on where an answer broke off, loses its cache
and asks several chats at once; with penalties, biases, grammars, tools and long contexts. Each answer is written again
by an engine that guesses nothing and has forgotten everything, and both must have the same tokens, chosen from the same
logits to the bit. It prints JSON, and ends with 1 where an answer differs.
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
from headstart.engine.bench.prompts import KINDS, read_prompts
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    FinishReason,
    Keep,
    LoadOptions,
    Message,
    Mode,
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
    """A conversation, and the folder name under which what it read may be kept."""

    name: str
    messages: list[Message] = field(default_factory=list)


@dataclass
class Report:
    """The comparison so far. `differing`: the places of answers that differ, with their seeds."""

    histories: int = 0
    answers: int = 0
    tokens: int = 0
    differing: list[str] = field(default_factory=list)


@dataclass
class HistoryAnswer:
    """Tokens, and a digest of the logits that each was chosen from."""

    tokens: list[int] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    reason: FinishReason | None = None


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
            elif isinstance(event, FinishReason):
                answer.reason = event
    engine.slot.prefixes[0].keep()
    return answer


class Fuzz:
    """Random histories for an engine that guesses, against one that does not."""

    def __init__(self, engine: LocalEngine, reference: LocalEngine, tokens: int, texts: Sequence[str]) -> None:
        """`tokens`: the longest answer. `texts`: what is asked."""
        self._engines = [engine, *engine.others]
        self._reference = reference
        self._tokens, self._texts = tokens, texts
        self._room = engine.context - 2 * tokens
        self.report = Report()

    def run(self, seed: int) -> None:
        """One history."""
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
        """Go on with a chat, edit it, branch off, or begin it anew."""
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
        """The whole answer; the part that was `written` before is not compared."""
        answer = write(engine, request, written)
        return HistoryAnswer([*written, *answer.tokens], [*[b""] * len(written), *answer.digests], answer.reason)

    def _disturb(self, chance: random.Random) -> None:
        """Do what should leave no trace in the next answers."""
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


def main() -> int:
    """Return 0 where all answers are the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder, or the name of an installed model or pair")
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--tokens", type=int, default=24, help="of the longest answer")
    parser.add_argument("--stock", action="store_true", help="with OpenVINO's own kernels")
    given = parser.parse_args()
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


if __name__ == "__main__":
    sys.exit(main())
