"""The loop of an answer that calls tools: what to ask the model next, and what it called. It runs nothing itself."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from headstart.chat.conversation import ToolCall, Turn
from headstart.engine.engine import Call, Message, Origin, Piece, Request, Round, Step, Timing, Tool, Tools
from headstart.tools.calls import CallReader

MOST_CALLS = 10  # in one answer
MOST_CHARACTERS = 12_000  # of a result: about 3,000 tokens, so that a few of them fit the usual context


@dataclass(frozen=True)
class Result:
    """What a call gave, or, where it `failed`, why it gave nothing. Always a text that the model can read."""

    text: str
    failed: bool = False


REFUSED = Result("The user did not allow this call.", failed=True)
STOPPED = Result("The user stopped this call.", failed=True)


def unknown(call: Call) -> Result:
    """Of a call of what nobody offers."""
    return Result(f"There is no tool {call.name}.", failed=True)


def engine_turns(turns: Iterable[Turn]) -> tuple[Message, ...]:
    """The turns of a conversation as the engine has them."""
    return tuple(Message(turn.role, turn.content, _calls(turn)) for turn in turns)


def _calls(turn: Turn) -> tuple[Call, ...]:
    return (Call(turn.call.name, turn.call.arguments),) if turn.call else ()


def offering(request: Request, tools: Iterable[Tool]) -> Request:
    """The request with tools that its answer may call, one at a time, so that a person sees each before the next."""
    offered = tuple(tools)
    return replace(request, tools=Tools(offered)) if offered else request


@dataclass
class ToolLoop:
    """One answer: ask `request`, give every Step to `take`, then `end`; where that names a call, `give` its result and
    ask the new `request`.

    `calls` are those of the answer so far, and `text` is what is shown of it; a continued answer begins with both.
    """

    request: Request
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    most_calls: int = MOST_CALLS
    _reader: CallReader | None = field(init=False)
    _begun: int = field(init=False)  # where the text of this round begins
    _written: str = field(init=False, default="")  # in this round
    _name: str = field(init=False, default="")  # of the call
    _arguments: str = field(init=False, default="")

    def __post_init__(self) -> None:
        """The first round."""
        self._begin()

    def take(self, step: Step) -> Step:
        """The step with what is to be shown of it: the text without the call."""
        if self._reader is None:
            self.text += step.text
            return step
        whole = "".join(piece.text for piece in step.pieces) == step.text
        pieces = step.pieces if whole else (Piece(step.text, step.round.drafter),)
        shown = tuple(Piece(text, piece.origin) for piece in pieces if (text := self._push(piece.text)))
        return replace(step, text="".join(piece.text for piece in shown), pieces=shown)

    def end(self) -> tuple[Step | None, Call | None]:
        """Text that was held back, if any, and the call that the model now waits for, if any."""
        rest = self._shown(self._reader.flush()) if self._reader else ""
        plain = Round((), 0, 0, Origin.TARGET, Timing())
        step = Step(rest, plain, (Piece(rest, Origin.TARGET),)) if rest else None
        return step, Call(self._name, self._arguments) if self._name and _is_object(self._arguments) else None

    def give(self, call: Call, result: Result) -> ToolCall:
        """Go on with the result of the call; after too many the model has to answer with what it knows."""
        kept = _short(result)
        made = ToolCall(len(self.text), call.name, call.arguments, kept.text, kept.failed)
        self.calls = (*self.calls, made)
        messages, before = self.request.messages, ""
        if messages[-1].role == "assistant":  # the answer was continued
            messages, before = messages[:-1], messages[-1].content
        said = Message("assistant", before + self._written, (call,))
        tools = self.request.tools if len(self.calls) < self.most_calls else None
        self.request = replace(self.request, messages=(*messages, said, Message("tool", kept.text)), tools=tools)
        self._begin()
        return made

    def _begin(self) -> None:
        self._reader = CallReader(bare=not self.request.schema) if self.request.tools else None
        self._begun, self._written, self._name, self._arguments = len(self.text), "", "", ""

    def _push(self, piece: str) -> str:
        assert self._reader
        text, parts = self._reader.push(piece)
        for part in parts:
            if part.index == 0:  # the engine writes one call; servers may write more
                self._name += part.name
                self._arguments += part.arguments
        return self._shown(text)

    def _shown(self, text: str) -> str:
        """After a call a paragraph begins."""
        self._written += text
        if text and self.text and len(self.text) == self._begun and self.request.messages[-1].role == "tool":
            text = f"\n\n{text.lstrip()}" if text.strip() else ""
        self.text += text
        return text


def _is_object(arguments: str) -> bool:
    """Whether the arguments came to their end: an answer may end within a call."""
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _short(result: Result) -> Result:
    if len(result.text) <= MOST_CHARACTERS:
        return result
    cut = f"(Headstart cut this result of {len(result.text):,} characters after {MOST_CHARACTERS:,}.)"
    return replace(result, text=f"{result.text[:MOST_CHARACTERS]}\n{cut}")
