"""Requests in the dialects of servers with OpenAI's API, and their other forms after a refusal."""

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from headstart.engine.engine import ConversationRequest, Message, Mode, Sampling, Tools
from headstart.parameters import declared

Body = dict[str, Any]
_SAMPLING = tuple(each.field for each in declared(Sampling))
SUPPORTED = {  # fields of a request; those that only save time may be ignored
    "messages", "max_new_tokens", "speculation", "stop", "prediction", "schema", "tools", "top_logprobs",
    "stop_on_repetition", "keep", "thinking", "thinking_budget", "effort",
}  # fmt: skip
_NUM_DRAFT, _CONFIDENCE = "num_assistant_tokens", "assistant_confidence_threshold"
_USUAL_LENGTH = 5  # draft tokens; the default of OpenVINO GenAI
_MAX_TOKENS, _MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"  # newer models of OpenAI: the second
# Fields that OpenAI's own service lacks, with their neutral value. They are sent unless a server refuses them, because
# servers have other defaults (a model's own repetition penalty, the forty likeliest tokens).
_NEUTRAL: Body = {
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "repeat_penalty": 1.0,
    "stream_options": {"include_usage": True},  # without it the figures are less exact
}
_TEMPLATE, _EFFORT = "chat_template_kwargs", "reasoning_effort"
# llama.cpp, vLLM and others take values of the chat template; DeepSeek, GLM and Kimi have a field of their own; OpenAI,
# OpenRouter, Groq and Ollama know the effort. Most ignore the others' fields, strict ones refuse them.
_SWITCHES = (_TEMPLATE, "thinking", _EFFORT)
_USUAL_EFFORT, _NO_EFFORT = "medium", "none"
BUDGETS = {  # by the owner that the list of models names
    "headstart": "thinking_budget_tokens",
    "llamacpp": "thinking_budget_tokens",
    "vllm": "thinking_token_budget",
}
_REASONING = "reasoning_content"
_MUST_RETURN = "must be passed back"  # DeepSeek, of thinking


class RemoteModel(Struct, frozen=True):
    """A model in a server's list. Servers have several names for the length of its context."""

    name: str = msgspec.field(name="id")
    max_model_len: int | None = None
    context_length: int | None = None
    context_window: int | None = None
    max_context_length: int | None = None
    owned_by: str | None = None

    @property
    def context(self) -> int:
        """Length of the context in tokens; 0 if unknown."""
        lengths = (self.max_model_len, self.context_length, self.context_window, self.max_context_length)
        return next((length for length in lengths if length and length > 0), 0)


class RemoteModels(Struct):
    data: list[RemoteModel]


def body_of(request: ConversationRequest, model: str) -> Body:
    """Return the body of a request. Parameters that are left to the model are left to the server."""
    sampling = request.sampling
    if not sampling.temperature and "temperature" not in sampling.automatic:
        sampling = sampling.settled(Sampling())  # greedy decoding needs no other parameter
    body: Body = {
        "model": model,
        "messages": list(_messages(request.messages)),
        "stream": True,
        "stream_options": {"include_usage": True},
        _MAX_TOKENS: request.max_new_tokens,
        **{name: getattr(sampling, name) for name in _SAMPLING if name not in sampling.automatic},
    }
    if "repetition_penalty" in body:
        body["repeat_penalty"] = sampling.repetition_penalty  # llama.cpp's name for it
    if request.stop:
        body["stop"] = list(request.stop)
    if request.tools:
        body |= _tools(request.tools)
    if request.schema:
        form = {"name": "answer", "schema": json.loads(request.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if request.top_logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    if request.messages[-1].role == "assistant":  # vLLM needs this to continue an answer; llama.cpp does not
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    if request.speculation.mode is not Mode.OFF:  # OpenVINO Model Server's names; other servers have none
        fixed = {name: getattr(request.speculation, name) for name in (_NUM_DRAFT, _CONFIDENCE)}
        body |= {name: value for name, value in fixed.items() if value is not None}
    return body | _switches(request)


def _switches(request: ConversationRequest) -> Body:
    """Return the fields that switch thinking; see `_SWITCHES`."""
    effort = {_EFFORT: request.effort} if request.effort else {}
    if request.thinking is None:
        return effort | ({_TEMPLATE: effort} if effort else {})
    values = {"enable_thinking": request.thinking, "thinking": request.thinking}
    if request.thinking:
        return {_TEMPLATE: values | effort, "thinking": {"type": "enabled"}, **effort}
    return {_TEMPLATE: values, "thinking": {"type": "disabled"}, _EFFORT: _NO_EFFORT}


def _messages(messages: Sequence[Message]) -> Iterator[Body]:
    """Yield the conversation. Results get the ids of the calls, which they follow in order.

    Thinking is sent where tools were called: DeepSeek demands it there, its older models refuse it elsewhere, and chat
    templates leave out what they do not need.
    """
    numbers, open_calls = 0, deque[str]()
    for message, before in zip(messages, (None, *messages), strict=False):
        entry: Body = {"role": message.role, "content": message.content}
        follows_result = before is not None and before.role == "tool"
        if message.thinking and (message.calls or follows_result or message is messages[-1]):
            entry[_REASONING] = message.thinking
        if message.calls:
            ids = [
                f"call{numbers + place:05}" for place in range(len(message.calls))
            ]  # Mistral requires nine characters
            numbers, open_calls = numbers + len(ids), deque(ids)
            functions = ({"name": call.name, "arguments": call.arguments} for call in message.calls)
            calls = [
                {"id": id_, "type": "function", "function": function}
                for id_, function in zip(ids, functions, strict=True)
            ]
            entry |= {"content": message.content or None, "tool_calls": calls}
        if message.role == "tool":
            entry["tool_call_id"] = open_calls.popleft() if open_calls else ""
        yield entry


def _tools(tools: Tools) -> Body:
    """Return the request fields for the tools that an answer may call."""
    offered = [
        {
            "type": "function",
            "function": {"name": tool.name, "parameters": json.loads(tool.parameters)}
            | ({"description": tool.description} if tool.description else {})
            | ({"strict": True} if tool.strict else {}),
        }
        for tool in tools.offered
    ]
    choice = {"type": "function", "function": {"name": tools.only}} if tools.only else "required"
    chosen = {"tool_choice": choice} if tools.only or tools.required else {}
    return {"tools": offered, "parallel_tool_calls": tools.parallel, **chosen}


def mended_body(body: Body, message: str) -> Body | None:
    """Return another body after a refusal that names a field which may change, or None.

    A strict server may refuse unknown fields; OpenVINO Model Server needs the length of its draft.
    """
    if _MAX_COMPLETION_TOKENS in message and _MAX_TOKENS in body:
        return {_MAX_COMPLETION_TOKENS if name == _MAX_TOKENS else name: value for name, value in body.items()}
    if _NUM_DRAFT in message and _NUM_DRAFT not in body and _CONFIDENCE not in body:
        return body | {_NUM_DRAFT: _USUAL_LENGTH}
    droppable = [name for name, neutral in _NEUTRAL.items() if name in body and body[name] == neutral]
    if any(name in message for name in droppable):
        return _without(body, droppable)
    if _REASONING in message and _MUST_RETURN not in message and any(_REASONING in turn for turn in body["messages"]):
        return body | {"messages": [_without(turn, [_REASONING]) for turn in body["messages"]]}
    if "enable_thinking" in message and "continue_final_message" in body and _TEMPLATE not in body:
        return body | {_TEMPLATE: {"enable_thinking": False}}  # llama.cpp continues an answer only so
    return _mended_switches(body, message)


def _mended_switches(body: Body, message: str) -> Body | None:
    """Return a body without the refused switches for thinking; None if none would be left."""
    named = [name for name in switches_in(message) if name in body]
    if not named:
        return None
    left = _without(body, named)
    if any(name in left for name in _SWITCHES):
        return left
    is_on = body.get("thinking") == {"type": "enabled"} or body.get(_TEMPLATE, {}).get("enable_thinking")
    return left | {_EFFORT: _USUAL_EFFORT} if is_on and _EFFORT not in body else None


def switches_in(message: str) -> list[str]:
    return [name for name in _SWITCHES if re.search(rf"\b{name}\b", message)]


def _without(body: Body, names: Sequence[str]) -> Body:
    return {name: value for name, value in body.items() if name not in names}
