"""Models of servers with OpenAI's API."""

import asyncio
import email.utils
import json
import re
import socket
import ssl
import time
from collections import deque
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import ExitStack, aclosing, closing
from dataclasses import replace
from typing import Any

import httpx
import msgspec
import truststore
from msgspec import Struct

from headstart import __version__, api_keys
from headstart.engine.cancelling import CancelEvent
from headstart.engine.detokenizer import StopStrings
from headstart.engine.engine import (
    Call,
    Event,
    Finish,
    FinishReason,
    Likelihood,
    LoadOptions,
    Message,
    Mode,
    Origin,
    Piece,
    Prefill,
    Remote,
    Request,
    Round,
    Sampling,
    Scored,
    Stats,
    Step,
    Timing,
    Tools,
    written_call,
)
from headstart.engine.protocol import LineSplitter
from headstart.engine.thinking import THINK, ThinkingReader
from headstart.errors import (
    ContextOverflowError,
    HeadstartError,
    ModelNotFoundError,
    RemoteError,
    SettingsError,
    Translatable,
)
from headstart.parameters import declared

Body = dict[str, Any]
_CONNECT_S = 10.0  # seconds to reach a server
_READ_S = 600.0  # seconds of silence while a server reads a long prompt
_PAUSE_S = 120.0  # seconds of silence in the middle of an answer
_RETRY_DELAYS_S = (0.5, 1.0, 2.0)  # before another try
_MAX_WAIT_S = 60.0  # for all tries together, that a busy server may ask for
_LOOPBACK = ("localhost", "127.0.0.1", "::1")  # never reached through a proxy
_MAX_EXCERPT = 200  # characters of a server's message
MENDABLE = (httpx.codes.BAD_REQUEST, httpx.codes.UNPROCESSABLE_ENTITY)  # another body may be accepted
_ROUND = Round((), 0, 0, Origin.UNKNOWN, Timing())  # a server reports neither tokens nor rounds
_REASONS = {"length": FinishReason.LENGTH, "content_filter": FinishReason.CONTENT_FILTER}  # all others: STOP
_SAMPLING = tuple(each.field for each in declared(Sampling))
SUPPORTED = {  # fields of a request; those that only save time may be ignored
    "messages", "max_new_tokens", "speculation", "stop", "prediction", "schema", "tools", "likeliest",
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
_NO_MARK = "\ufdd1"  # which no text has: Unicode reserves it


def load(options: LoadOptions) -> "RemoteEngine":
    """Return a model of a server. Raises RemoteError, ModelNotFoundError and SettingsError."""
    assert options.remote, "the caller asks for a remote model"
    key = api_keys.find(options.remote.name)
    return RemoteEngine(options.remote, key.secret if key else None)


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


class RemoteEngine:
    """A model of a server. A step is the text of one chunk; token ids are unknown."""

    def __init__(
        self,
        remote: Remote,
        key: str | None = None,
        delays: tuple[float, ...] = _RETRY_DELAYS_S,
        pause: float = _PAUSE_S,
    ) -> None:
        """Connect to a server. `delays` and `pause` are in seconds. Raises what `load` raises."""
        self.remote = remote
        self._delays, self._pause = delays, pause
        self._refusals: list[str] = []  # messages of refusals that another body mended
        self._client = _client(remote, key)
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # any wait in it can be cancelled
        with ExitStack() as undoing:
            undoing.callback(self.close)
            self.model = self._runner.run(self._choose())
            undoing.pop_all()

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """Yield the events of an answer. Also raises RemoteError; the events before it remain valid."""
        if request.beyond(SUPPORTED):
            raise SettingsError(
                "{name} is only asked to answer conversations: for a text to be written on or a grammar "
                "choose a model of this computer.",
                name=self.remote.name,
            )
        cancel = cancel or CancelEvent()
        last = request.messages[-1]
        answer = RemoteAnswer(self.remote, last if last.role == "assistant" else None)
        stops = StopStrings(request.stop)  # some servers send the stop string
        shown, is_noted = 0, request.thinking is not False
        with closing(self._stream(self._body(request), answer, cancel)) as stream:
            for data in stream:
                if isinstance(data, Prefill):
                    yield data
                    continue
                thinking, text = answer.read(data)
                if thinking and not is_noted:
                    is_noted = True
                    yield Prefill(0, 0, thinks_note(self.remote))
                text, at_stop = stops.push(text)
                shown += len(text)
                yield from steps_of(text, answer.scored(shown), thinking)
                if at_stop:
                    answer.reason = FinishReason.STOP
                    break
            else:
                thinking, text = answer.finish()
                text, _ = stops.push(text)
                text += stops.flush()
                yield from steps_of(text, answer.scored(shown + len(text)), thinking)
        if not (answer.has_ended or answer.reason or cancel.is_set()):
            raise connection_broke(self.remote)
        if not cancel.is_set():
            yield from steps_of(answer.calls(request.tools))
        default = FinishReason.CANCELLED if cancel.is_set() else FinishReason.STOP
        yield Finish(answer.reason or default, answer.stats(self.model.context), (), stop_text=stops.found)

    def close(self) -> None:
        """Close the connections. Closing again does nothing."""
        if not self._client.is_closed:
            self._runner.run(self._client.aclose())
            self._runner.close()  # cancels its tasks

    def _body(self, request: Request) -> Body:
        """Return the body of a request. Raises SettingsError if the server cannot limit thinking."""
        body = body_of(request, self.model.name)
        if request.thinking_budget is not None:
            field = BUDGETS.get(self.model.owned_by or "")
            if field is None:
                raise SettingsError(
                    "{name} is not known to limit thinking: leave out the thinking budget, or choose a model of this "
                    "computer.",
                    name=self.remote.name,
                )
            body[field] = request.thinking_budget
        return body

    async def _choose(self) -> RemoteModel:
        """Return the requested model, or the server's only one."""
        response = await self._send("GET", "/models")
        if response.status_code not in (httpx.codes.OK, httpx.codes.NOT_FOUND):
            raise refusal(self.remote, response)
        name, requested = self.remote.name, self.remote.model
        try:
            models = msgspec.convert(response.json(), RemoteModels, strict=False).data
        except (ValueError, RecursionError, msgspec.ValidationError):
            if requested:  # a server without a list may still have the model
                return RemoteModel(requested)
            raise RemoteError(
                "{name} does not list its models at {url}/models; check the address (it often ends in "
                "/v1), or name a model: remote:{name}/MODEL.",
                name=name,
                url=self.remote.url,
            ) from None
        fitting = [model for model in models if requested in (None, model.name)]
        if len(fitting) == 1:
            return fitting[0]
        names = ", ".join(model.name for model in models) or "none"
        if requested:
            raise ModelNotFoundError(
                "{name} has no model {wanted!r}; it has {names}.", name=name, wanted=requested, names=names
            )
        raise ModelNotFoundError(
            "{name} has these models: {names}; name one of them: remote:{name}/MODEL.", name=name, names=names
        )

    def _stream(self, body: Body, answer: "RemoteAnswer", cancel: CancelEvent) -> Generator[bytes | Prefill, None, None]:
        """Yield the data of an answer. A cancelled answer ends early and closes the connection."""
        arriving, loop = self._receive(body, answer), self._runner.get_loop()

        async def following() -> bytes | Prefill | None:
            waiting = asyncio.current_task()
            assert waiting
            with cancel.calling(lambda: loop.call_soon_threadsafe(waiting.cancel)):
                try:
                    return await anext(arriving, None)
                except asyncio.CancelledError:
                    if not cancel.is_set():  # Ctrl+C
                        raise
                    return None

        try:
            while (data := self._runner.run(following())) and not cancel.is_set():
                yield data
        finally:
            if not self._client.is_closed:
                self._runner.run(arriving.aclose())

    async def _receive(self, body: Body, answer: "RemoteAnswer") -> AsyncGenerator[bytes | Prefill, None]:
        async for result in self._post(body):
            if isinstance(result, Prefill):
                yield result
                continue
            async with aclosing(result) as response:
                if response.status_code != httpx.codes.OK:
                    raise last_refusal(self.remote, body, response)
                async with aclosing(self._lines(response, answer)) as lines:
                    async for line in lines:
                        field, _, data = line.partition(b":")
                        if field == b"data" and data.strip():  # skip comments, which keep a connection alive
                            yield data.strip()

    async def _lines(self, response: httpx.Response, answer: "RemoteAnswer") -> AsyncGenerator[bytes, None]:
        lines = LineSplitter()  # splits at \n alone: JSON may hold every other kind of line end
        parts = aiter(response.aiter_bytes())
        try:
            while True:
                async with asyncio.timeout(self._pause if answer.has_begun else None):
                    part = await anext(parts, None)
                if part is None:
                    return
                for line in lines.push(part):
                    yield line
        except httpx.RequestError:
            raise connection_broke(self.remote) from None
        except TimeoutError:
            raise RemoteError(
                "{name} has sent nothing for {seconds} s in the middle of the answer; what came of it is kept: "
                "continue it, or ask again.",
                name=self.remote.name,
                seconds=round(self._pause),
            ) from None

    async def _post(self, body: Body) -> AsyncGenerator[Prefill | httpx.Response, None]:
        """Send a request; send it again in another form if the server refuses a field that may change."""
        for message in self._refusals:
            body = mended_body(body, message) or body
        while True:
            mended = None
            async for result in self._attempts("POST", "/chat/completions", body):
                if isinstance(result, httpx.Response) and result.status_code in MENDABLE:
                    mended = mended_body(body, result.text)
                    self._refusals += [result.text] * (mended is not None)
                if mended is None:
                    yield result
            if mended is None:
                return
            body = mended

    async def _send(self, method: str, path: str) -> httpx.Response:
        async for result in self._attempts(method, path):
            if isinstance(result, httpx.Response):
                return result
        raise AssertionError("the last try is a response or raises")

    async def _attempts(
        self, method: str, path: str, body: Body | None = None
    ) -> AsyncGenerator[Prefill | httpx.Response, None]:
        """Yield a note for each wait of a busy server, then the response, whose stream has not begun."""
        wait_left = _MAX_WAIT_S
        for delay in (*self._delays, None):
            try:
                response = await self._client.send(self._client.build_request(method, path, json=body), stream=True)
                if method == "GET" or response.status_code != httpx.codes.OK:
                    await response.aread()
            except httpx.RequestError as error:
                if delay is None or not is_retryable_error(error):
                    raise unreachable(self.remote, error) from None
                wait = delay
            else:
                named = retry_after(response)
                if delay is None or not is_retryable_status(response.status_code) or (named or 0) > wait_left:
                    yield response
                    return
                wait = delay if named is None else named
                wait_left -= named or 0
                if named:
                    yield Prefill(0, 0, wait_note(self.remote, named))
            await asyncio.sleep(wait)


def refusal(remote: Remote, response: httpx.Response) -> HeadstartError:
    """Return the error of a refused request. The response must have been read."""
    name, status = remote.name, response.status_code
    words = _error_message(response)
    in_brackets, after_comma = (f" ({words})", f", {words}") if words else ("", "")
    named: dict[str, object] = {
        "name": name, "url": remote.url, "model": remote.model, "status": status, "words": words,
        "in_brackets": in_brackets, "after_comma": after_comma,
        "command": f"`headstart remote add {name} {remote.url} --key`",
    }  # fmt: skip
    error: type[HeadstartError] = RemoteError
    match status:
        case 401 | 403 if "Authorization" in response.request.headers:
            sentence = Translatable("{name} refuses the key{in_brackets}; give another one with {command}.", **named)
        case 401 | 403:
            sentence = Translatable("{name} wants a key{in_brackets}; give it with {command}.", **named)
        case 301 | 302 | 303 | 307 | 308:
            target = response.headers.get("location", "another address")
            sentence = Translatable(
                "{name} has moved to {target}; if you trust that, add it again with that address.",
                **named,
                target=target,
            )
        case 404 if "model" in words.lower():
            error = ModelNotFoundError
            named["command"] = f"`headstart remote check {name}`"
            sentence = Translatable(
                "{name} does not know the model {model!r}{in_brackets}; {command} lists what it has.", **named
            )
        case 404:
            sentence = Translatable(
                "There is no such API at {url}{in_brackets}; check the address of {name}: it often ends in /v1.",
                **named,
            )
        case 429 if seconds := retry_after(response):
            sentence = Translatable(
                "{name} is busy{in_brackets} and asks you to wait {seconds} s; then try again.",
                **named,
                seconds=round(seconds),
            )
        case 429:
            sentence = Translatable("{name} is busy{in_brackets}; try again in a while.", **named)
        case _ if is_retryable_status(status):
            sentence = Translatable(
                "{name} failed (status {status}{after_comma}); try again, or look into that server's log.", **named
            )
        case _ if _is_about_context(words.lower()):
            error = ContextOverflowError
            sentence = Translatable(
                "The conversation is too long for {name} ({words}): start a new chat, or allow shorter answers.",
                **named,
            )
        case _:
            sentence = Translatable(
                "{name} does not take this request (status {status}{after_comma}); change what it names.", **named
            )
    return error(sentence)


def last_refusal(remote: Remote, body: Body, response: httpx.Response) -> HeadstartError:
    """Return the error of a request that was refused in every form."""
    if response.status_code in MENDABLE and "thinking" in body and switches_in(response.text):
        return RemoteError("{name} has no switch for thinking: leave the choice to it.", name=remote.name)
    return refusal(remote, response)


def _client(remote: Remote, key: str | None) -> httpx.AsyncClient:
    """Return a client that trusts the system's certificates, which include a company's own authority."""
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if remote.certificate:
        try:
            context.load_verify_locations(remote.certificate)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                "The certificate {certificate} cannot be used ({error}); name a file in PEM form.",
                certificate=remote.certificate,
                error=error,
            ) from None
    headers = {"User-Agent": f"headstart/{__version__}"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return httpx.AsyncClient(
        base_url=remote.url,
        headers=headers,
        timeout=httpx.Timeout(_READ_S, connect=_CONNECT_S),
        verify=context,
        trust_env=httpx.URL(remote.url).host not in _LOOPBACK,
    )


def body_of(request: Request, model: str) -> Body:
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
    if request.likeliest is not None:
        body |= {"logprobs": True, "top_logprobs": request.likeliest}
    if request.messages[-1].role == "assistant":  # vLLM needs this to continue an answer; llama.cpp does not
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    if request.speculation.mode is not Mode.OFF:  # OpenVINO Model Server's names; other servers have none
        fixed = {name: getattr(request.speculation, name) for name in (_NUM_DRAFT, _CONFIDENCE)}
        body |= {name: value for name, value in fixed.items() if value is not None}
    return body | _switches(request)


def _switches(request: Request) -> Body:
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
    """Return the fields of the tools that an answer may call."""
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


class RemoteModels(Struct):
    data: list[RemoteModel]


class _Function(Struct):
    name: str | None = None
    arguments: str | None = None


class _CallPart(Struct):
    index: int = 0
    function: _Function | None = None


class _Logprob(Struct):
    token: str = ""
    logprob: float = 0.0
    bytes: list[int] | None = None
    top_logprobs: list["_Logprob"] | None = None


class _Logprobs(Struct):
    content: list[_Logprob] | None = None


class _Part(Struct):  # Mistral's
    type: str = ""
    text: str = ""
    thinking: list["_Part"] | None = None


class _Delta(Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None  # OpenAI: in place of an answer
    tool_calls: list[_CallPart] | None = None
    reasoning_content: str | None = None  # llama.cpp, vLLM and others
    reasoning: str | None = None  # OpenRouter and others


class _Choice(Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Details(Struct):
    cached_tokens: int | None = None  # of the prompt
    accepted_prediction_tokens: int | None = None
    rejected_prediction_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None


class _Timings(Struct):  # llama.cpp's
    draft_n: int | None = None
    draft_n_accepted: int | None = None


class _Chunk(Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    timings: _Timings | None = None
    error: Any = None


class RemoteAnswer:
    """An answer so far. Thinking comes in a field of its own, or in tags at the beginning of the text."""

    def __init__(self, remote: Remote, continued: Message | None) -> None:
        """`continued` is the answer that goes on, if one does."""
        self.reason: FinishReason | None = None
        self.has_ended = False  # the server announced the end
        self._remote = remote
        self._is_in_section = bool(continued and continued.thinking and not continued.content)
        self._reader = ThinkingReader(THINK.begins, THINK.ends)
        if continued and continued.content:
            self._reader.resume()
        self._apart: ThinkingReader | None = None  # of thinking that has a field of its own
        self._usage, self._timings = _Usage(), _Timings()
        self._started = self._first = self._last = time.perf_counter()
        self._chunks = self._thoughts = 0  # all of them, and those that end within thinking
        self._length = 0  # characters of the content
        self._left_out: int | None = None  # characters before the answer proper; None: it has not begun
        self._called: dict[int, list[str]] = {}  # by index: name, arguments
        self._scored: list[Scored] = []  # not returned yet; `start` counts from the beginning of the content

    @property
    def has_begun(self) -> bool:
        return bool(self._chunks or self._called)

    def read(self, data: bytes) -> tuple[str, str]:
        """Return the thinking and the text of a chunk. Raises RemoteError."""
        if data == b"[DONE]":
            self.has_ended = True
            return "", ""
        try:
            chunk = msgspec.convert(json.loads(data), _Chunk, strict=False)
            message = message_in(chunk.error)
        except (ValueError, RecursionError, msgspec.ValidationError):
            raise self._broken_off("what came is not OpenAI's protocol") from None
        if chunk.error:
            raise self._broken_off(message or "it gives no reason")
        self._usage, self._timings = chunk.usage or self._usage, chunk.timings or self._timings
        choice = chunk.choices[0] if chunk.choices else _Choice()
        if choice.finish_reason:
            self.reason = _REASONS.get(choice.finish_reason, FinishReason.STOP)
        delta = choice.delta or _Delta()
        for part in delta.tool_calls or ():
            function, called = part.function or _Function(), self._called.setdefault(part.index, ["", ""])
            called[0], called[1] = called[0] + (function.name or ""), called[1] + (function.arguments or "")
        thought, content = _parts(delta)
        if not thought:
            self._score(choice.logprobs, content)
        self._length += len(content)
        if thought or content:
            self._last = time.perf_counter()
            self._first = self._first if self._chunks else self._last
            self._chunks += 1
        thinking, text = self._separate(thought, content)
        self._thoughts += bool(thought or self._reader.is_thinking)
        return thinking, self._begun(text)

    def finish(self) -> tuple[str, str]:
        """Return the thinking and the text that were held back."""
        thinking, text = (self._apart or self._reader).finish()
        return thinking, self._begun(text)

    def _separate(self, thought: str, content: str) -> tuple[str, str]:
        """Return the thinking and the text of a chunk without the white space around thinking."""
        if thought and not self._apart and self._left_out is None:
            self._apart = ThinkingReader(_NO_MARK, _NO_MARK, is_open=True)
            if self._is_in_section:
                self._apart.resume()
        if self._apart is None:
            thinking, text = self._reader.push(content)
            return thought + thinking, text
        if self._apart.is_thinking:
            thought, _ = self._apart.push(thought)
            if content:  # the answer begins, also if it quotes the tags
                self._apart.push(_NO_MARK)
        return thought, self._apart.push(content)[1] if content else ""

    def _begun(self, text: str) -> str:
        if text and self._left_out is None:
            self._left_out = self._length - len(text)
        return text

    def scored(self, shown: int) -> tuple[Scored, ...]:
        """Return the new tokens among those of the first `shown` characters of the answer proper."""
        if self._left_out is None:
            return ()
        begin, end = self._left_out, self._left_out + shown
        fresh = tuple(replace(score, start=score.start - begin) for score in self._scored if begin <= score.start < end)
        self._scored = [score for score in self._scored if score.start >= end]
        return fresh

    def calls(self, tools: Tools | None) -> str:
        """Return the tool calls as text. Raises RemoteError for a call of an unknown tool."""
        if not self._called:
            return ""
        names = {tool.name for tool in tools.callable} if tools else set[str]()
        calls = [Call(name, arguments or "{}") for _, (name, arguments) in sorted(self._called.items())]
        unknown = next((call.name for call in calls if call.name not in names), None)
        if unknown is not None:
            raise RemoteError(
                "{name} wants to call the tool {tool!r}, which it was not offered; what it wrote besides is kept: "
                "ask again, or turn off the tools of that server.",
                name=self._remote.name,
                tool=unknown,
            )
        if self.reason is FinishReason.LENGTH:  # the last call may be incomplete
            calls = [call for call in calls if _is_object(call.arguments)]
        if not all(_is_object(call.arguments) for call in calls):
            raise self._broken_off("the arguments of a tool are not a JSON object")
        return "\n".join(written_call(call) for call in (calls if tools and tools.parallel else calls[:1]))

    def stats(self, context: int) -> Stats:
        """Return the known figures; `context` is the model's. Each chunk counts as a token if the server counts none.

        Only the server could know the gain of speculation.
        """
        prompt = self._usage.prompt_tokens or 0
        written = self._usage.completion_tokens or self._chunks
        read, guesses = self._usage.prompt_tokens_details, self._usage.completion_tokens_details or _Details()
        accepted = guesses.accepted_prediction_tokens or self._timings.draft_n_accepted or 0
        drafted = self._timings.draft_n or accepted + (guesses.rejected_prediction_tokens or 0)
        thinking = self._thoughts if guesses.reasoning_tokens is None else guesses.reasoning_tokens
        return Stats(
            prompt_tokens=prompt,
            reused_tokens=(read.cached_tokens if read else None) or 0,
            output_tokens=written,
            rounds=max(0, written - 1 - accepted) if drafted else 0,
            drafted=drafted,
            accepted=accepted,
            ttft_ms=(self._first - self._started) * 1000.0,
            decode_ms=(self._last - self._first) * 1000.0,
            by_origin={Origin.UNKNOWN.value: written} if written else {},
            by_part={},
            ledger_ms=0.0,
            plain_ms=None,
            context_used=prompt + written if prompt else 0,
            context_length=context,
            thinking_tokens=min(thinking, written),
        )

    def _score(self, logprobs: _Logprobs | None, text: str) -> None:
        """Note the log-probabilities of a chunk's tokens. Only the start of its first token is known."""
        start = self._length
        for item in (logprobs.content if logprobs else None) or ():
            likeliest = tuple(map(_likelihood, item.top_logprobs or ()))
            self._scored.append(Scored(_likelihood(item), start, likeliest))
            start = min(start + len(item.token), self._length + len(text))

    def _broken_off(self, detail: str) -> RemoteError:
        return RemoteError(
            "{name} broke off the answer ({detail}); ask again, or look into the log of that server.",
            name=self._remote.name,
            detail=detail,
        )


def _parts(delta: _Delta) -> tuple[str, str]:
    """Return the thinking and the content of a chunk."""
    thought, content = delta.reasoning_content or delta.reasoning or "", delta.content or delta.refusal or ""
    if isinstance(content, str):
        return thought, content
    thoughts = (inner.text for part in content for inner in part.thinking or ())
    return thought + "".join(thoughts), "".join(part.text for part in content)


def steps_of(text: str, scored: tuple[Scored, ...] = (), thinking: str = "") -> Iterator[Step]:
    if text or scored or thinking:
        pieces = (Piece(thinking, Origin.UNKNOWN, is_thinking=True), Piece(text, Origin.UNKNOWN))
        yield Step(text, _ROUND, tuple(piece for piece in pieces if piece.text), scored)


def _likelihood(entry: _Logprob) -> Likelihood:
    return Likelihood(tuple(entry.token.encode() if entry.bytes is None else entry.bytes), entry.logprob)


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def connection_broke(remote: Remote) -> RemoteError:
    return RemoteError(
        "The connection to {name} broke in the middle of the answer; what came of it is kept: "
        "continue it, or ask again.",
        name=remote.name,
    )


def unreachable(remote: Remote, error: httpx.RequestError) -> RemoteError:
    named: dict[str, object] = {"name": remote.name, "url": remote.url}
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return RemoteError(
                "The certificate of {name} at {url} is not trusted ({fault}); if it is your own, add the "
                "server again with --certificate FILE, the authority that signed it.",
                fault=cause.verify_message or cause,
                **named,
            )
        if isinstance(cause, ssl.SSLError):
            return RemoteError(
                "{name} does not speak TLS as expected at {url} ({reason}); check the port, or whether "
                "the address begins with http://.",
                reason=(cause.reason or type(cause).__name__).lower().replace("_", " "),
                **named,
            )
        if isinstance(cause, socket.gaierror):
            return RemoteError(
                "No computer is found by the address of {name}, {url}; check the spelling and your network.", **named
            )
    detail = str(error).strip().rstrip(".") or type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        detail = Translatable("no answer in time")
    elif any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error)):
        detail = Translatable("the connection is refused")
    return RemoteError(
        "{name} cannot be reached at {url} ({detail}); check that the server runs there and that "
        "this computer has a network.",
        detail=detail,
        **named,
    )


def is_retryable_error(error: httpx.RequestError) -> bool:
    """Return whether another try may work: a server is starting, or has just closed the connection."""
    if isinstance(error, httpx.ConnectError):
        return not any(isinstance(cause, ssl.SSLError | socket.gaierror) for cause in _causes(error))
    return isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)


def retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that a busy server asks to wait, given as a number or a date, or None."""
    named = response.headers.get("retry-after", "")
    if named.isdecimal():
        return min(float(named), 86400.0)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(named).timestamp() - time.time())
    except ValueError:
        return None


def wait_note(remote: Remote, seconds: float) -> Translatable:
    return Translatable(
        "{name} is busy and asks you to wait; it is asked again in {seconds} s.",
        name=remote.name,
        seconds=round(seconds),
    )


def thinks_note(remote: Remote) -> Translatable:
    return Translatable(
        "{name} thinks although it was asked not to: its model has no switch for that, or another one.",
        name=remote.name,
    )


def is_retryable_status(status: int) -> bool:
    """Return whether the same request may be answered in a moment."""
    return status == httpx.codes.TOO_MANY_REQUESTS or status >= httpx.codes.INTERNAL_SERVER_ERROR


def _is_about_context(words: str) -> bool:
    return "context" in words and any(word in words for word in ("length", "exceed", "window", "size", "tokens"))


def _error_message(response: httpx.Response) -> str:
    try:
        return message_in(response.json())
    except (ValueError, RecursionError):
        return ""


def message_in(data: Any) -> str:
    """Return the server's own message, however it is wrapped, or ""."""
    if isinstance(data, dict):
        return next(filter(None, (message_in(data.get(name)) for name in ("error", "message", "detail", "msg"))), "")
    if isinstance(data, list):
        return "; ".join(filter(None, map(message_in, data)))[:_MAX_EXCERPT]
    return " ".join(data.split())[:_MAX_EXCERPT].rstrip(".") if isinstance(data, str) else ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            yield from cause.exceptions
        cause = cause.__cause__ or cause.__context__
