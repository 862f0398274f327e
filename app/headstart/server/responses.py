"""OpenAI's Responses API: requests, replies and events. Nothing is stored."""

import itertools
import json
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from headstart.engine.engine import Call, Finish, Message, Request, Scored, Stats, Tools
from headstart.server import fields
from headstart.server.bodies import (
    AnswerRequest,
    Content,
    Effort,
    FlatSchema,
    FunctionTool,
    JsonObjectFormat,
    Likeliest,
    Name,
    Parallel,
    Parameters,
    Part,
    TextFormat,
)
from headstart.server.errors import invalid
from headstart.server.fields import Unsupported
from headstart.server.history import History
from headstart.server.replies import AnswerChunk, Block, BlockFormatter, logprobs_of
from headstart.server.requests import (
    FUNCTION,
    Defaults,
    given,
    length_of,
    noted_text,
    noted_texts,
    schema_of,
    texts_of,
    to_request,
    tool_of,
    tools_of,
    with_effort,
)
from headstart.tools.calls import CallReader, whole_arguments

_WITH_LOGPROBS = "message.output_text.logprobs"
# Calls that a client answers, and their results. Other items hold no text that a model could read.
_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_call"}
_CALLS |= {"computer_call"}
_OUTPUTS = {f"{call}_output" for call in _CALLS}


@dataclass(frozen=True)
class Item:
    """A message, thinking, a call or the result of a call. Items of other types are ignored."""

    type: str = "message"
    role: Literal["user", "assistant", "system", "developer"] | None = None
    content: Content | None = None
    name: Name | None = None
    id: str | None = None
    call_id: str | None = None
    arguments: str | dict[str, Any] | None = None
    input: str | None = None  # of a tool that takes a text
    action: dict[str, Any] | None = None  # of a shell or a computer
    operation: dict[str, Any] | None = None  # of a patch
    output: Any = None
    status: str | None = None  # the result of a patch


@dataclass(frozen=True)
class FlatTool:
    """A tool that an answer may call. Tools of other types than `function` are left out: nobody can call them here."""

    type: str = FUNCTION
    name: Name | None = None
    description: str | None = None
    parameters: Parameters | None = None
    strict: bool | None = None


@dataclass(frozen=True)
class FlatChoice:
    """The tool that an answer must call."""

    type: str = FUNCTION
    name: Name | None = None


@dataclass(frozen=True)
class AnswerText:
    """The form of an answer."""

    format: TextFormat | JsonObjectFormat | FlatSchema | None = None


@dataclass(frozen=True)
class Reasoning:
    """The effort of thinking."""

    effort: Effort | None = None


@dataclass(frozen=True, kw_only=True)
class ResponsesRequest(AnswerRequest):
    """Body of POST /v1/responses."""

    unsupported: ClassVar[Unsupported] = fields.ANSWERS | fields.RESPONSES

    input: str | Annotated[list[Item], Meta(min_length=1)]
    instructions: str | None = None
    text: AnswerText | None = None
    reasoning: Reasoning | None = None
    tools: list[FlatTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | FlatChoice | None = None
    parallel_tool_calls: Parallel | None = None
    include: list[str] | None = None
    top_logprobs: Likeliest | None = None
    metadata: dict[str, str] | None = None


@dataclass(frozen=True)
class InputTokens:
    """Reply to POST /v1/responses/input_tokens."""

    input_tokens: int
    object: Literal["response.input_tokens"] = "response.input_tokens"


def responses_to_request(body: ResponsesRequest, defaults: Defaults) -> Request:
    """Translate a request. Raises RefusedError."""
    messages = [Message("user", body.input)] if isinstance(body.input, str) else _messages(body.input)
    system = [Message("system", body.instructions)] if body.instructions else []
    format_ = body.text.format if body.text else None
    schemas = {"text": schema_of(format_)}
    request = to_request(body, defaults, (*system, *messages), length_of(body, defaults.length), _tools(body), schemas)
    with_logprobs = body.top_logprobs is not None or _WITH_LOGPROBS in (body.include or ())
    request = replace(request, likeliest=(body.top_logprobs or 0) if with_logprobs else None)
    return with_effort(request, body.reasoning.effort) if body.reasoning else request


def _messages(items: Iterable[Item]) -> Sequence[Message]:
    """Translate the items of a conversation. A call belongs to the answer before it. Raises RefusedError."""
    history, answer, ids = History(), Message("assistant", ""), list[str | None]()
    for number, item in enumerate(items):
        place = f"input[{number}]"
        is_call = item.type in _CALLS
        continues = is_call or (item.type == "message" and item.role == "assistant" and _is_thinking(answer))
        if not continues and _is_read(item):
            _add_answer(history, answer, ids)
            answer, ids = Message("assistant", ""), []
        match item:
            case Item("reasoning", content=content):
                answer = replace(answer, thinking=noted_text(content or ""))
            case Item("message", role="assistant", content=content) if content is not None:
                answer = Message.of_parts("assistant", noted_texts(content), thinking=answer.thinking)
            case Item("message", role=str(role), content=content) if content is not None:
                texts = texts_of(content, f"{place}.content")
                history.add(Message.of_parts("system" if role == "developer" else role, texts))
            case Item() if is_call:
                answer = replace(answer, calls=(*answer.calls, _call(item, place)))
                ids.append(item.call_id or item.id)
                if item.output is not None:  # of a tool that OpenAI's server called
                    _add_answer(history, answer, ids)
                    answer = Message("assistant", "")
                    history.add_result(_output(item.output), place, ids[-1], "id", item.name)
                    ids = []
            case Item(type_) if type_ in _OUTPUTS and (item.output is not None or item.status is not None):
                result = _output(item.status if item.output is None else item.output)
                history.add_result(result, place, item.call_id or item.id, "call_id")
            case Item("item_reference"):
                sentence = f"Nothing is stored here: send the item that `{place}`, an item_reference, stands for."
                raise invalid(sentence, "input", "unsupported_value")
            case Item("message" | "function_call_output"):
                needed = "`role` and `content`" if item.type == "message" else "`output`"
                raise invalid(f"`{place}` is a {item.type}: it needs {needed}.", "input")
    _add_answer(history, answer, ids)
    return history.messages()


def _is_read(item: Item) -> bool:
    return item.type in {"message", "reasoning", *_CALLS, *_OUTPUTS}


def _add_answer(history: History, answer: Message, ids: Sequence[str | None]) -> None:
    if answer.content or answer.calls or answer.thinking:
        history.add(answer, ids)


def _is_thinking(answer: Message) -> bool:
    """Return whether this is nothing, or thinking whose answer is yet to come."""
    return not answer.content and not answer.calls


def _call(item: Item, place: str) -> Call:
    """Translate a call, also of a tool that is no function. Raises RefusedError."""
    if item.type == "function_call":
        if item.name is None:
            raise invalid(f"`{place}` is a function_call: it needs `name`.", "input")
        text = json.dumps(item.arguments) if isinstance(item.arguments, dict) else item.arguments or ""
        return Call(item.name, whole_arguments(text))
    given_text = {"input": item.arguments if item.input is None else item.input}
    arguments = next(value for value in (item.action, item.operation, given_text) if value is not None)
    return Call(item.name or item.type.removesuffix("_call"), whole_arguments(json.dumps(arguments)))


def _output(output: Any) -> str:
    """Return the text of a result, with notes in place of images and files."""
    if isinstance(output, str):
        return output
    try:
        return noted_text(msgspec.convert(output if isinstance(output, list) else [output], list[Part]))
    except msgspec.ValidationError:
        return json.dumps(output, ensure_ascii=False)


def left_out_of_responses(body: ResponsesRequest) -> list[str]:
    """Return the types of the tools and items of a request that have no place here."""
    items = [] if isinstance(body.input, str) else body.input
    tools = [tool.type for tool in body.tools or () if tool.type != FUNCTION]
    return [*tools, *(item.type for item in items if not _is_read(item))]


def _functions(body: ResponsesRequest) -> list[FunctionTool]:
    """Return the tools that an answer may call. Raises RefusedError."""
    return [
        FunctionTool(given(tool.name, f"tools[{place}]", "name"), tool.description, tool.parameters, tool.strict)
        for place, tool in enumerate(body.tools or ())
        if tool.type == FUNCTION
    ]


def _tools(body: ResponsesRequest) -> Tools | None:
    choice = body.tool_choice
    others = [tool for tool in body.tools or () if tool.type != FUNCTION]
    tools = tools_of(
        tuple(map(tool_of, _functions(body))),
        required=choice == "required",
        only=(choice.name or choice.type) if isinstance(choice, FlatChoice) else "",
        parallel=bool(body.parallel_tool_calls),
        left_out=[name for tool in others for name in (tool.type, tool.name) if name],
    )
    return None if choice == "none" else tools


class ResponsesFormatter(BlockFormatter):
    """Formatter of an answer as a response with items of text and calls, or as the events that build it."""

    def __init__(self, body: ResponsesRequest, request: Request, reader: CallReader | None) -> None:
        """`request` is the translation of `body`; `reader` finds calls, None if there cannot be any."""
        super().__init__(reader)
        self._numbers = itertools.count()
        self._id = secrets.token_hex(12)
        echoed = {name: getattr(body, name) for name in ("model", "instructions", "temperature", "top_p", "metadata")}
        self._response: dict[str, Any] = msgspec.to_builtins(echoed) | {
            "id": f"resp_{self._id}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "output": [],
            "usage": None,
            "store": False,
            "background": False,
            "previous_response_id": None,
            "max_output_tokens": request.max_new_tokens,
            "text": msgspec.to_builtins(body.text or AnswerText(TextFormat())),
            "tools": [each for each in msgspec.to_builtins(body.tools or []) if each["type"] == FUNCTION],
            "tool_choice": msgspec.to_builtins(body.tool_choice or "auto"),
            "parallel_tool_calls": bool(body.parallel_tool_calls),
            "truncation": "disabled",
        }

    def reply(self, end: Finish) -> dict[str, Any]:
        is_whole = self.is_complete(end)
        return self._response | {
            "status": _status(is_whole=is_whole),
            "incomplete_details": None if is_whole else {"reason": "max_output_tokens"},
            "output": [self._item(block, _status(is_whole=block.is_whole)) for block in self.blocks],
            "usage": _usage(end.stats),
        }

    def first_events(self) -> Iterable[dict[str, Any]]:
        yield {"type": "response.created", "response": self._response}
        yield from self.ping()

    def ping(self) -> Iterable[dict[str, Any]]:
        yield {"type": "response.in_progress", "response": self._response}

    def start_block(self, block: Block) -> Iterable[dict[str, Any]]:
        item = self._item(block, "in_progress")
        if block.name or block.is_thinking:
            yield {"type": "response.output_item.added", "output_index": block.index, "item": item}
        else:
            yield {"type": "response.output_item.added", "output_index": block.index, "item": item | {"content": []}}
            yield {"type": "response.content_part.added", **self._place(block), "part": _part(block)}

    def extend_block(self, block: Block, chunk: AnswerChunk) -> Iterable[dict[str, Any]]:
        place = {**self._place(block), "delta": chunk.text}
        if block.name:
            yield {"type": "response.function_call_arguments.delta", **place}
        elif block.is_thinking:
            yield {"type": "response.reasoning_text.delta", **place}
        else:
            yield {"type": "response.output_text.delta", **place, "logprobs": _logprobs(chunk.scored or ())}

    def end_block(self, block: Block) -> Iterable[dict[str, Any]]:
        place, item = self._place(block), self._item(block, _status(is_whole=block.is_whole))
        if block.name and block.is_whole:
            arguments = {"name": block.name, "arguments": block.text}
            yield {"type": "response.function_call_arguments.done", **place, **arguments}
        elif block.is_thinking:
            yield {"type": "response.reasoning_text.done", **place, "text": block.text}
        elif not block.name:
            part = _part(block)
            text = {"text": block.text, "logprobs": part["logprobs"]}
            yield {"type": "response.output_text.done", **place, **text}
            yield {"type": "response.content_part.done", **place, "part": part}
        yield {"type": "response.output_item.done", "output_index": block.index, "item": item}

    def end_reply(self, end: Finish) -> Iterable[dict[str, Any]]:
        response = self.reply(end)
        yield {"type": f"response.{response['status']}", "response": response}

    def encode(self, event: object) -> bytes:
        """Return an event with its name and number as bytes of the stream."""
        return super().encode(msgspec.to_builtins(event) | {"sequence_number": next(self._numbers)})

    def _item(self, block: Block, status: str) -> dict[str, Any]:
        if block.name:
            call = {"call_id": block.id, "name": block.name, "arguments": block.text}
            return {"type": "function_call", "id": self._item_id(block), **call, "status": status}
        if block.is_thinking:
            content = [{"type": "reasoning_text", "text": block.text}] if block.text else []
            thinking = {"summary": list[Any](), "content": content}
            return {"type": "reasoning", "id": self._item_id(block), **thinking, "status": status}
        message = {"role": "assistant", "content": [_part(block)]}
        return {"type": "message", "id": self._item_id(block), **message, "status": status}

    def _item_id(self, block: Block) -> str:
        return f"{'fc' if block.name else 'rs' if block.is_thinking else 'msg'}_{self._id}_{block.index}"

    def _place(self, block: Block) -> dict[str, Any]:
        place = {"item_id": self._item_id(block), "output_index": block.index}
        return place if block.name else place | {"content_index": 0}


def _part(block: Block) -> dict[str, Any]:
    return {"type": "output_text", "text": block.text, "annotations": [], "logprobs": _logprobs(block.scored)}


def _logprobs(scored: tuple[Scored, ...]) -> Any:
    return msgspec.to_builtins(logprobs_of(scored))


def _status(*, is_whole: bool) -> str:
    return "completed" if is_whole else "incomplete"


def _usage(stats: Stats) -> dict[str, Any]:
    return {
        "input_tokens": stats.prompt_tokens,
        "input_tokens_details": {"cached_tokens": stats.reused_tokens, "cache_write_tokens": 0},
        "output_tokens": stats.output_tokens,
        "output_tokens_details": {"reasoning_tokens": stats.thinking_tokens},
        "total_tokens": stats.prompt_tokens + stats.output_tokens,
    }
