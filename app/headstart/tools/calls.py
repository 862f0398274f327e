"""Calls of tools in the text of an answer in progress."""

import itertools
import json
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from headstart.engine.engine import (
    CALL_BEGINS,
    CALL_ENDS,
    Event,
    FinishReason,
    Message,
    Prefill,
    Request,
    Step,
    written_call,
)

_BLOCK = "```json\n"  # models that are bad at the format put a call into such a block
_HEAD_BEGINS, _HEAD_ENDS = '{"name": "', '", "arguments": '
_HEAD = re.compile(rf'\s*(?:{_BLOCK})?{re.escape(_HEAD_BEGINS)}((?:[^"\\]|\\.)*)(".*)', re.DOTALL)


def events(generate: Callable[[Request], Iterator[Event]], request: Request) -> Iterator[Event]:
    """Yield the events of an answer that `generate` writes. Raises what `generate` raises.

    Models that are bad at the format call again and again instead of answering. If a call without its mark was answered
    before, it is dropped, and the model answers the same conversation without seeing the tools.
    """
    tools, answered = request.tools, _answered_calls(request.messages)
    if tools is None or tools.required or request.schema or not answered:
        yield from generate(request)
        return
    steps, held_back, text, is_repeated = generate(request), list[Event](), "", False
    for event in steps:
        if isinstance(event, Prefill) or (isinstance(event, Step) and event.thinking and not event.text):
            yield event
            continue
        held_back.append(event)
        if isinstance(event, Step):
            text += event.text
            written = _without_space(text)
            if any(call.startswith(written[: len(call)]) for call in answered):
                continue
        elif event.reason is FinishReason.STOP and any(_without_space(text).startswith(call) for call in answered):
            is_repeated = True
            continue
        break
    if is_repeated:
        yield from generate(replace(request, tools=replace(tools, hidden=True)))
        return
    yield from held_back
    yield from steps


def _answered_calls(messages: Sequence[Message]) -> list[str]:
    """Return the calls since the last message of the user, alone and in a block, without white space.

    Return an empty list if the last message is not a result.
    """
    if not messages or messages[-1].role != "tool":
        return []
    turns = itertools.takewhile(lambda turn: turn.role != "user", reversed(messages))
    calls = (written_call(call) for turn in turns for call in turn.calls)
    bare = [call.removeprefix(CALL_BEGINS).removesuffix(CALL_ENDS) for call in calls]
    return [_without_space(f"{before}{call}") for call in bare for before in ("", _BLOCK)]


def _without_space(text: str) -> str:
    return "".join(text.split())


@dataclass(frozen=True)
class CallPart:
    """A part of a call: first its name, then its arguments in pieces."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class CallReader:
    """Reader that separates the text of an answer from its calls, piece by piece.

    The grammar of the answer ensures the format of calls; see engine.grammar.
    """

    bare: bool = True  # the answer may begin with the JSON of a call
    calls: int = 0
    _held: str = ""  # may belong to a mark that is not complete yet
    _place: str = "start"
    _depth: int = 0
    _quoted: bool = False
    _escaped: bool = False

    def push(self, piece: str) -> tuple[str, list[CallPart]]:
        """Add a piece. Return the text and the parts of calls that are certain now."""
        self._held += piece
        text, parts = "", list[CallPart]()
        while True:
            before = self._place, self._held
            match self._place:
                case "start":
                    self._begin()
                case "text":
                    text += self._take_text()
                case "head":
                    parts += self._take_head()
                case "arguments":
                    parts += self._take_arguments()
            if before == (self._place, self._held):
                return text, parts

    def flush(self) -> str:
        """Return the rest of the text, after the end of the answer."""
        text, self._held = self._held, ""
        return text if self._place in {"start", "text"} and not self.calls else ""

    def _begin(self) -> None:
        """Find out whether the answer begins with a call that has no mark."""
        stripped = self._held.lstrip()
        beginnings = (_HEAD_BEGINS, f"{_BLOCK}{_HEAD_BEGINS}") if self.bare else ()
        if stripped.startswith(beginnings):
            self._place = "head"
        elif not any(beginning.startswith(stripped) for beginning in beginnings):
            self._place = "text"

    def _take_text(self) -> str:
        text, mark, rest = self._held.partition(CALL_BEGINS)
        if mark:
            self._held, self._place = rest, "head"
        else:
            num_held = next((n for n in range(len(CALL_BEGINS) - 1, 0, -1) if text.endswith(CALL_BEGINS[:n])), 0)
            text, self._held = text[: len(text) - num_held], text[len(text) - num_held :]
        return "" if self.calls else text  # between calls there are only marks

    def _take_head(self) -> list[CallPart]:
        match = _HEAD.match(self._held)
        if match is None or (_HEAD_ENDS.startswith(match[2]) and match[2] != _HEAD_ENDS):
            return []
        name = _text_in_json(match[1]) if match[2].startswith(_HEAD_ENDS) else None
        if name is None:  # JSON that is not a call
            self._place = "text"
            return []
        self._held, self._place = match[2].removeprefix(_HEAD_ENDS), "arguments"
        self.calls += 1
        return [CallPart(self.calls - 1, f"call_{secrets.token_hex(12)}", name)]

    def _take_arguments(self) -> list[CallPart]:
        """Return the arguments up to the end of the JSON object."""
        for at, character in enumerate(self._held):
            self._count(character)
            if not self._depth and not self._quoted:
                arguments, self._held, self._place = self._held[: at + 1], self._held[at + 1 :], "text"
                return [CallPart(self.calls - 1, arguments=arguments)]
        arguments, self._held = self._held, ""
        return [CallPart(self.calls - 1, arguments=arguments)] if arguments else []

    def _count(self, character: str) -> None:
        if self._escaped:
            self._escaped = False
        elif self._quoted:
            self._escaped, self._quoted = character == "\\", character != '"'
        elif character == '"':
            self._quoted = True
        else:
            self._depth += (character in "{[") - (character in "}]")


def _text_in_json(escaped: str) -> str | None:
    try:
        return str(json.loads(f'"{escaped}"', strict=False))
    except ValueError:
        return None
