"""Calls of tools in the text of an answer in progress."""

import itertools
import json
import re
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from headstart.engine.engine import (
    CALL_BEGINS,
    CALL_ENDS,
    Call,
    Event,
    FinishReason,
    Message,
    Prefill,
    Request,
    Step,
    without_blanks,
    written_call,
)

MAX_DEPTH = 100  # of JSON that is given to a chat template
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_JSON_PARTS = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
_HALF_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_NAME = re.compile(r'(?:[^"\\\n]|\\.)*')
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

    The grammar of the answer ensures the format of calls; see engine.grammar. A call that repeats an earlier one of the
    same answer is left out.
    """

    bare: bool = True  # the answer may begin with the JSON of a call
    calls: int = 0  # that began
    _held: str = ""  # may belong to a mark that is not complete yet
    _place: str = "start"
    _mark: str = ""  # before the head
    _depth: int = 0
    _quoted: bool = False
    _escaped: bool = False
    _made: list[Call] = field(default_factory=list)
    _call: Call = field(default_factory=lambda: Call("", ""))  # the last one so far
    _kept_back: list[CallPart] | None = None  # while it may repeat another one

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
                    text += self._refuse_head()
                    parts += self._take_head()
                case "arguments":
                    parts += self._take_arguments()
            if before == (self._place, self._held):
                return text, parts

    def flush(self) -> str:
        """Return the rest of the text, after the end of the answer."""
        text, self._held = self._held, ""
        return text if self._place in {"start", "text"} and not self.calls else ""

    @property
    def is_open(self) -> bool:
        """The last call that began is not whole."""
        return self._place == "arguments" and self._kept_back is None

    @property
    def whole_calls(self) -> int:
        return self.calls - self.is_open

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
            self._held, self._place, self._mark = rest, "head", mark
        else:
            num_held = next((n for n in range(len(CALL_BEGINS) - 1, 0, -1) if text.endswith(CALL_BEGINS[:n])), 0)
            text, self._held = text[: len(text) - num_held], text[len(text) - num_held :]
        return "" if self.calls else text  # between calls there are only marks

    def _refuse_head(self) -> str:
        """Return the mark if no call follows it: the text speaks of marks, or begins with other JSON."""
        if _may_be_head(self._held):
            return ""
        text, self._place, self._mark = self._mark, "text", ""
        return "" if self.calls else text

    def _take_head(self) -> list[CallPart]:
        match = _HEAD.match(self._held) if self._place == "head" else None
        name = _text_in_json(match[1]) if match and match[2].startswith(_HEAD_ENDS) else None
        if match is None or name is None:
            return []
        self._held, self._place = match[2].removeprefix(_HEAD_ENDS), "arguments"
        self._call = Call(name, "")
        may_repeat = any(call.name == name for call in self._made)
        self._kept_back = [] if may_repeat else None
        return self._certain(CallPart(self.calls, f"call_{secrets.token_hex(12)}", name))

    def _take_arguments(self) -> list[CallPart]:
        """Return the arguments up to the end of the JSON object."""
        for at, character in enumerate(self._held):
            self._count(character)
            if not self._depth and not self._quoted:
                arguments, self._held, self._place = self._held[: at + 1], self._held[at + 1 :], "text"
                break
        else:
            arguments, self._held = self._held, ""
        if not arguments:
            return []
        self._call = replace(self._call, arguments=self._call.arguments + arguments)
        parts = self._certain(CallPart(self._index, arguments=arguments))
        if self._place == "text":
            self._made.append(self._call)
        return parts

    @property
    def _index(self) -> int:
        """The number of the call in progress."""
        return self.calls if self._kept_back is not None else self.calls - 1

    def _certain(self, part: CallPart) -> list[CallPart]:
        """Return a part of a call and those before it, once the call repeats no other one."""
        if self._kept_back is not None:
            self._kept_back.append(part)
            arguments = without_blanks(self._call.arguments)
            before = [without_blanks(call.arguments) for call in self._made if call.name == self._call.name]
            if self._place == "text" and arguments in before:
                self._kept_back = None
                return []
            if self._place == "arguments" and any(each.startswith(arguments) for each in before):
                return []
        parts, self._kept_back = self._kept_back or [part], None
        self.calls += any(each.name for each in parts)
        return parts

    def _count(self, character: str) -> None:
        if self._escaped:
            self._escaped = False
        elif self._quoted:
            self._escaped, self._quoted = character == "\\", character != '"'
        elif character == '"':
            self._quoted = True
        else:
            self._depth += (character in "{[") - (character in "}]")


def _may_be_head(text: str) -> bool:
    """Return whether a text is the head of a call, or its beginning."""
    text = text.lstrip()
    if _BLOCK.startswith(text):
        return True
    text = text.removeprefix(_BLOCK)
    if not text.startswith(_HEAD_BEGINS):
        return _HEAD_BEGINS.startswith(text)
    name = _NAME.match(text, len(_HEAD_BEGINS))
    assert name, "it may be empty"
    end = text[name.end() :].removesuffix("\\")[: len(_HEAD_ENDS)]
    return _HEAD_ENDS.startswith(end) and (end != _HEAD_ENDS or _text_in_json(name[0]) is not None)


def _text_in_json(escaped: str) -> str | None:
    try:
        return str(json.loads(f'"{escaped}"', strict=False))
    except ValueError:
        return None


def whole_arguments(text: str) -> str:
    """Return the arguments of a call as a JSON object: cut-off ones end where they were cut, others become a text."""
    if not text.strip():
        return "{}"
    for whole in (text, *_endings(text)):
        try:
            arguments = json.loads(whole)
            json.dumps(arguments, allow_nan=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(arguments, dict) and depth(whole) <= MAX_DEPTH:
            return whole
    return json.dumps({"arguments": text})


def _endings(text: str) -> Iterator[str]:
    """Yield what a JSON object that was cut off may have been: with its last value, and without it."""
    open_, string, places = "", "", deque[tuple[int, str]](maxlen=2)
    for part in _JSON_PARTS.finditer(text):
        string = part[0]
        if string in "{[":
            open_ = ("}" if string == "{" else "]") + open_
            places.append((part.end(), open_))
        elif string in "}]":
            open_ = open_[1:]
        elif string == ",":
            places.append((part.start(), open_))
        if len(open_) > MAX_DEPTH:
            return
    if open_ and string[0] == '"' and not _STRING.fullmatch(string):
        text = _HALF_ESCAPE.sub(r"\1", text) + '"'
    if open_:
        yield f"{text}{open_}"
        yield from (f"{text[:end]}{closing}" for end, closing in reversed(places))


def depth(text: str) -> int:
    """Return how deeply valid JSON is nested."""
    depths = itertools.accumulate((part[0] in "{[") - (part[0] in "}]") for part in _JSON_PARTS.finditer(text))
    return max(depths, default=0)
