"""Calls of tools in the text of an answer in progress."""

import itertools
import json
import re
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from headstart.engine.engine import (
    CALL_BEGINS,
    CALL_ENDS,
    Call,
    ConversationRequest,
    Event,
    FinishReason,
    GenerationRequest,
    Message,
    Prefill,
    Request,
    Step,
    Tool,
    without_blanks,
    written_call,
)
from headstart.engine.text import tool_calls
from headstart.engine.text.tool_calls import FENCE

MAX_DEPTH = 100  # of JSON that is given to a chat template
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_JSON_PARTS = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
_HALF_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_AFTER_UNMARKED = re.compile(r"\s*`{0,3}\s*")
_BLOCK = "```json"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def events(generate: Callable[[Request], Iterator[Event]], request: Request) -> Iterator[Event]:
    """Yield the events of an answer that `generate` writes. Raises what `generate` raises.

    Models that are bad at the format call again and again instead of answering. If a call without its mark was answered
    before, it is dropped, and the model answers the same conversation without seeing the tools.
    """
    tools = request.tools if isinstance(request, ConversationRequest) and not request.schema else None
    answered = _answered_calls(request.messages) if isinstance(request, ConversationRequest) else []
    if tools is None or tools.required or not answered:
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
        elif event.reason is FinishReason.STOP and _without_space(text).removesuffix(FENCE) in answered:
            is_repeated = True
            continue
        break
    if is_repeated:
        yield from generate(structs.replace(request, tools=replace(tools, hidden=True)))
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

    A call stands behind its mark, outside blocks of code, and names one of the tools. Without a mark it is the whole
    answer, alone or in a block: an object of name and arguments that fit the tool. All else is text. A call that
    repeats an earlier one of the same answer is left out.
    """

    tools: Sequence[Tool]
    bare: bool = True  # the answer may be the JSON of a call
    calls: int = 0  # that began
    _held: str = ""  # may belong to a mark or to a call that is not complete yet
    _place: str = "start"
    _seen: str = ""  # text before the first call, to find out whether a block of code is open
    _read: int = 0  # characters of a call without a mark whose braces are counted
    _end: int = 0  # of that call; 0: it is not complete
    _depth: int = 0
    _quoted: bool = False
    _escaped: bool = False
    _made: list[Call] = field(default_factory=list)
    _call: Call = field(default_factory=lambda: Call("", ""))  # the last one so far
    _kept_back: list[CallPart] | None = None  # while it may repeat another one

    def __post_init__(self) -> None:
        self._names = tuple(tool.name for tool in self.tools)
        self._place = "start" if self.bare else "text"

    def push(self, piece: str) -> tuple[str, list[CallPart]]:
        """Add a piece. Return the text and the parts of calls that are certain now."""
        self._held += piece
        text, parts = "", list[CallPart]()
        while True:
            before = self._place, self._held
            match self._place:
                case "start":
                    self._begin()
                case "unmarked":
                    self._read_unmarked()
                case "text":
                    text += self._take_text()
                case "head":
                    more, begun = self._take_head()
                    text, parts = text + more, parts + begun
                case "arguments":
                    parts += self._take_arguments()
            if before == (self._place, self._held):
                return text, parts

    def finish(self) -> tuple[str, list[CallPart]]:
        """Return the rest of the text or the call that the answer is, after its end."""
        held, self._held = self._held, ""
        if self._place == "unmarked" and self._end and (call := self._unmarked_call(held)):
            self.calls = 1
            return "", [CallPart(0, _new_id(), call.name), CallPart(0, arguments=call.arguments)]
        if self._place == "head":
            held = "" if held.strip() else CALL_BEGINS + held  # of a call that was cut off, or a mark at the end
        return held if self._place != "arguments" and not self.calls else "", []

    @property
    def is_open(self) -> bool:
        """The last call that began is not whole."""
        return self._place == "arguments" and self._kept_back is None

    @property
    def whole_calls(self) -> int:
        return self.calls - self.is_open

    def _begin(self) -> None:
        """Decide whether the answer may be a call without a mark."""
        is_open, rest = tool_calls.unmarked(self._held)
        if tool_calls.head(self._names).match(rest):
            self._place, self._read = "unmarked", len(self._held) - len(rest)
        elif not is_open and not tool_calls.may_be_head(rest, self._names):
            self._place = "text"

    def _read_unmarked(self) -> None:
        """Read to the end of the object. Further text turns all of it into text."""
        for at in range(self._read, len(self._held) if not self._end else 0):
            self._count(self._held[at])
            self._read = at + 1
            if not self._depth and not self._quoted and self._held[at] == "}":
                self._end = at + 1
                break
        if self._end and not _AFTER_UNMARKED.fullmatch(self._held, self._end):
            self._place = "text"

    def _unmarked_call(self, answer: str) -> Call | None:
        """Return the call that an answer is, if it is one."""
        _, text = tool_calls.unmarked(answer[: self._end])
        try:
            call = json.loads(text)
        except (ValueError, RecursionError):
            return None
        tool = next((tool for tool in self.tools if tool.name == call["name"]), None)
        if tool is None or call.keys() != {"name", "arguments"} or not isinstance(call["arguments"], dict):
            return None
        is_call = depth(text) <= MAX_DEPTH and _fits(call["arguments"], json.loads(tool.parameters))
        return Call(tool.name, json.dumps(call["arguments"], ensure_ascii=False)) if is_call else None

    def _take_text(self) -> str:
        text, mark, rest = self._held.partition(CALL_BEGINS)
        if mark and (self._seen + text).count(FENCE) % 2 == 0:
            self._held, self._place = rest, "head"
        elif mark:
            text, self._held = text + mark, rest
        else:
            num_held = next((n for n in range(len(CALL_BEGINS) - 1, 0, -1) if text.endswith(CALL_BEGINS[:n])), 0)
            text, self._held = text[: len(text) - num_held], text[len(text) - num_held :]
        if self.calls:
            return ""  # between calls there are only marks
        self._seen += text
        return text

    def _take_head(self) -> tuple[str, list[CallPart]]:
        """Return the mark as text if no call follows it, or the call that begins."""
        match = tool_calls.head(self._names).match(self._held)
        if match is None:
            if tool_calls.may_be_head(self._held, self._names):
                return "", []
            self._place = "text"
            self._seen += CALL_BEGINS
            return "" if self.calls else CALL_BEGINS, []
        name = json.loads(match[1])
        self._held, self._place = self._held[match.end() :], "arguments"
        self._call = Call(name, "")
        may_repeat = any(call.name == name for call in self._made)
        self._kept_back = [] if may_repeat else None
        return "", self._certain(CallPart(self.calls, _new_id(), name))

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


def reader_of(request: GenerationRequest) -> CallReader | None:
    """Return the reader of the answer to a request; None if it cannot call tools."""
    tools = request.tools if isinstance(request, ConversationRequest) else None
    return CallReader(tools.callable, bare=not request.schema) if tools else None


def _new_id() -> str:
    return f"call_{secrets.token_hex(12)}"


def _fits(value: Any, schema: Any) -> bool:
    """Return whether JSON data has the form of a schema: its types, its required and its declared names."""
    if not isinstance(schema, dict):
        return schema is not False
    kinds = schema.get("type", [])
    types = [_TYPES[kind] for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind in _TYPES]
    is_number = not isinstance(value, bool) or bool in types or not types
    if (types and not any(isinstance(value, kind) for kind in types)) or not is_number:
        return False
    if isinstance(schema.get("enum"), list) and value not in schema["enum"]:
        return False
    if isinstance(value, list):
        return all(_fits(item, schema.get("items")) for item in value)
    if not isinstance(value, dict):
        return True
    declared, others = schema.get("properties") or {}, schema.get("additionalProperties", False)
    return set(schema.get("required", ())) <= value.keys() and all(
        _fits(item, declared.get(name, others if declared else None)) for name, item in value.items()
    )


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
    """Yield the likely ends of a JSON object that was cut off: with its last value, and without it."""
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
