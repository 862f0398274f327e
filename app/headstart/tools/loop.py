"""The loop of an answer that calls tools: the next request to the model, and the calls so far. It runs no tools."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from msgspec import structs

from headstart.chat.conversation import ToolCall, Turn
from headstart.engine.engine import Call, ConversationRequest, Message, Origin, Piece, Round, Step, Timing, Tool, Tools
from headstart.tools.calls import CallPart, CallReader, reader_of

MAX_CALLS = 10  # in one answer
MAX_RESULT_CHARACTERS = 12_000  # about 3,000 tokens, so that a few results fit the usual context


@dataclass(frozen=True)
class ToolResult:
    """The result of a call, or why there is none if it `failed`. The text is written for the model."""

    text: str
    failed: bool = False


REFUSED = ToolResult("The user did not allow this call.", failed=True)
STOPPED = ToolResult("The user stopped this call.", failed=True)


def unknown(call: Call) -> ToolResult:
    """Return the result of a call of a tool that does not exist."""
    return ToolResult(f"There is no tool {call.name}.", failed=True)


def engine_turns(turns: Iterable[Turn]) -> tuple[Message, ...]:
    """Translate the turns of a conversation into the engine's messages."""
    return tuple(
        Message(
            turn.role, turn.content, (Call(turn.call.name, turn.call.arguments),) if turn.call else (), turn.thinking
        )
        for turn in turns
    )


def offering(request: ConversationRequest, tools: Iterable[Tool]) -> ConversationRequest:
    """Add tools to a request. Its answer may call one at a time, so that you see each call before the next."""
    offered = tuple(tools)
    return structs.replace(request, tools=Tools(offered)) if offered else request


@dataclass
class ToolLoop:
    """One answer with calls of tools.

    Send `request` to the model, pass every Step to `take`, then call `end`. If that returns a call, pass its result to
    `give` and send the new `request`.
    """

    request: ConversationRequest
    text: str = ""  # shown so far; a continued answer begins with its text
    calls: tuple[ToolCall, ...] = ()  # so far; a continued answer begins with its calls
    thinking: str = ""  # so far, of all rounds; a continued answer begins with its thinking
    max_calls: int = MAX_CALLS
    _reader: CallReader | None = field(init=False)
    _round_start: int = field(init=False)  # length of the text before this round
    _written: str = field(init=False, default="")  # text of this round
    _thought: str = field(init=False, default="")  # thinking of this round
    _name: str = field(init=False, default="")  # of the call
    _arguments: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self._begin()

    def take(self, step: Step) -> Step:
        """Filter a step: return it with the text to show, without calls."""
        thought = tuple(self._think(piece) for piece in step.pieces if piece.is_thinking)
        pieces = tuple(piece for piece in step.pieces if not piece.is_thinking)
        if self._reader is None:
            self.text += step.text
            return replace(step, pieces=thought + pieces) if thought else step
        whole = "".join(piece.text for piece in pieces) == step.text
        pieces = pieces if whole else (Piece(step.text, step.round.drafter),)
        visible = tuple(Piece(text, piece.origin) for piece in pieces if (text := self._push(piece.text)))
        return replace(step, text="".join(piece.text for piece in visible), pieces=thought + visible)

    def end(self) -> tuple[Step | None, Call | None]:
        """Return the text that was held back and the call whose result the model waits for; None if there is none."""
        rest = self._show(self._take_parts(*self._reader.finish())) if self._reader else ""
        plain = Round((), 0, 0, Origin.TARGET, Timing())
        step = Step(rest, plain, (Piece(rest, Origin.TARGET),)) if rest else None
        return step, Call(self._name, self._arguments) if self._name and _is_object(self._arguments) else None

    def give(self, call: Call, result: ToolResult) -> ToolCall:
        """Add the result of a call. After too many calls the model must answer without tools."""
        shortened = _shorten(result)
        tool_call = ToolCall(
            len(self.text), call.name, call.arguments, shortened.text, shortened.failed, len(self.thinking)
        )
        self.calls = (*self.calls, tool_call)
        messages, before = self.request.messages, Message("assistant", "")
        if messages[-1].role == "assistant":  # the answer was continued
            messages, before = messages[:-1], messages[-1]
        content, thinking = before.content + self._written, before.thinking + self._thought
        message = Message("assistant", content, (call,), thinking)
        tools = self.request.tools if len(self.calls) < self.max_calls else None
        self.request = structs.replace(
            self.request, messages=(*messages, message, Message("tool", shortened.text)), tools=tools
        )
        self._begin()
        return tool_call

    def _begin(self) -> None:
        self._reader = reader_of(self.request)
        self._round_start, self._written, self._thought = len(self.text), "", ""
        self._name, self._arguments = "", ""

    def _think(self, piece: Piece) -> Piece:
        """Add a piece of thinking. It begins a new paragraph after a call."""
        before = "\n\n" if self.thinking and not self._thought and self.request.messages[-1].role == "tool" else ""
        self._thought += piece.text
        self.thinking += before + piece.text
        return replace(piece, text=before + piece.text)

    def _push(self, piece: str) -> str:
        assert self._reader
        return self._show(self._take_parts(*self._reader.push(piece)))

    def _take_parts(self, text: str, parts: Iterable[CallPart]) -> str:
        """Add parts of a call; return the text beside them."""
        for part in parts:
            if part.index == 0:  # the engine writes one call; servers may write more
                self._name += part.name
                self._arguments += part.arguments
        return text

    def _show(self, text: str) -> str:
        """Add text to show. It begins a new paragraph after a call."""
        self._written += text
        if text and self.text and len(self.text) == self._round_start and self.request.messages[-1].role == "tool":
            text = f"\n\n{text.lstrip()}" if text.strip() else ""
        self.text += text
        return text


def _is_object(arguments: str) -> bool:
    """Return whether the arguments are complete; an answer may end within a call."""
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _shorten(result: ToolResult) -> ToolResult:
    if len(result.text) <= MAX_RESULT_CHARACTERS:
        return result
    cut = f"(Headstart cut this result of {len(result.text):,} characters after {MAX_RESULT_CHARACTERS:,}.)"
    return replace(result, text=f"{result.text[:MAX_RESULT_CHARACTERS]}\n{cut}")
