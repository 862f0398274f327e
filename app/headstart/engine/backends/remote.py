"""Models of servers with OpenAI's API."""

import asyncio
import email.utils
import json
import socket
import ssl
import time
from collections import deque
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator
from contextlib import ExitStack, aclosing, closing
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
from headstart.errors import (
    ContextOverflowError,
    HeadstartError,
    ModelNotFoundError,
    RemoteError,
    SettingsError,
    Translatable,
)
from headstart.parameters import declared

_Body = dict[str, Any]
_CONNECT = 10.0  # seconds to reach a server
_SILENCE = 600.0  # seconds of silence while a server reads a long prompt
_PAUSE = 120.0  # seconds of silence in the middle of an answer
_DELAYS = (0.5, 1.0, 2.0)  # seconds before another try
_PATIENCE = 60.0  # seconds that a busy server may ask to wait, all tries together
_HERE = ("localhost", "127.0.0.1", "::1")  # never by way of a proxy
_EXCERPT = 200  # characters of what a server said
_ROUND = Round((), 0, 0, Origin.UNKNOWN, Timing())  # a server reports neither tokens nor rounds
_REASONS = {"length": FinishReason.LENGTH, "content_filter": FinishReason.CONTENT_FILTER}  # all others: STOP
_SAMPLING = tuple(each.field for each in declared(Sampling))
_LENGTH, _CONFIDENCE = "num_assistant_tokens", "assistant_confidence_threshold"
_USUAL_LENGTH = 5  # draft tokens, as OpenVINO GenAI has it
_MOST, _MOST_OF_OPENAI = "max_tokens", "max_completion_tokens"  # OpenAI's newer models know the second only
# Fields that OpenAI's own service lacks, with the value that changes nothing. They are sent wherever they are accepted,
# because servers have other defaults (a model's own repetition penalty, the forty likeliest tokens).
_NEUTRAL: _Body = {
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "repeat_penalty": 1.0,
    "stream_options": {"include_usage": True},  # without it the figures are less exact
}


def load(options: LoadOptions) -> "RemoteEngine":
    """Check that the server has the model. Raises RemoteError, ModelNotFoundError, SettingsError."""
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

    @property
    def context(self) -> int:
        """Its length in tokens; 0 if unknown."""
        told = (self.max_model_len, self.context_length, self.context_window, self.max_context_length)
        return next((length for length in told if length and length > 0), 0)


class RemoteEngine:
    """A model of a server. A step is the text of one chunk; token ids are unknown."""

    def __init__(
        self, remote: Remote, key: str | None = None, delays: tuple[float, ...] = _DELAYS, pause: float = _PAUSE
    ) -> None:
        """Raises as `load`. `delays`: seconds before another try; `pause`: the longest in mid-answer, in seconds."""
        self.remote = remote
        self._delays, self._pause = delays, pause
        self._complaints: list[str] = []  # of refusals that another body mended
        self._client = _client(remote, key)
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # any wait in it can be cancelled
        with ExitStack() as undoing:
            undoing.callback(self.close)
            self.model = self._runner.run(self._choose())
            undoing.pop_all()

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate. Also raises RemoteError; the events before it are the part of the answer to keep."""
        if request.is_text or request.tokens_only or request.grammar or request.bias:
            raise SettingsError(
                "{name} is only asked to answer conversations: for a text to be written on or a grammar "
                "choose a model of this computer.",
                name=self.remote.name,
            )
        cancel = cancel or CancelEvent()
        answer, stops = _Answer(self.remote), StopStrings(request.stop)  # some servers send the stop string, too
        shown = 0  # characters
        with closing(self._stream(_body(request, self.model.name), answer, cancel)) as stream:
            for data in stream:
                if isinstance(data, Prefill):
                    yield data
                    continue
                text, at_stop = stops.push(answer.read(data))
                shown += len(text)
                yield from _steps(text, answer.scored(shown))
                if at_stop:
                    answer.reason = FinishReason.STOP
                    break
        rest = stops.flush()
        yield from _steps(rest, answer.scored(shown + len(rest)))
        if not (answer.has_ended or answer.reason or cancel.is_set()):
            raise _break(self.remote)
        if not cancel.is_set():
            yield from _steps(answer.calls(request.tools))
        usual = FinishReason.CANCELLED if cancel.is_set() else FinishReason.STOP
        yield Finish(answer.reason or usual, answer.stats(self.model.context), ())

    def close(self) -> None:
        """See Engine.close; harmless twice."""
        if not self._client.is_closed:
            self._runner.run(self._client.aclose())
            self._runner.close()  # ends what still goes on

    async def _choose(self) -> RemoteModel:
        """The chosen model."""
        response = await self._send("GET", "/models")
        if response.status_code not in (httpx.codes.OK, httpx.codes.NOT_FOUND):
            raise refusal(self.remote, response)
        name, wanted = self.remote.name, self.remote.model
        try:
            known = msgspec.convert(response.json(), _Models, strict=False).data
        except (ValueError, RecursionError, msgspec.ValidationError):
            if wanted:  # a server without a list may have the model all the same
                return RemoteModel(wanted)
            raise RemoteError(
                "{name} does not list its models at {url}/models; check the address (it often ends in "
                "/v1), or name a model: remote:{name}/MODEL.",
                name=name,
                url=self.remote.url,
            ) from None
        fitting = [model for model in known if wanted in (None, model.name)]
        if len(fitting) == 1:
            return fitting[0]
        names = ", ".join(model.name for model in known) or "none"
        if wanted:
            raise ModelNotFoundError(
                "{name} has no model {wanted!r}; it has {names}.", name=name, wanted=wanted, names=names
            )
        raise ModelNotFoundError(
            "{name} has these models: {names}; name one of them: remote:{name}/MODEL.", name=name, names=names
        )

    def _stream(self, body: _Body, answer: "_Answer", cancel: CancelEvent) -> Generator[bytes | Prefill, None, None]:
        """The data of an answer; if cancelled, ends early and closes the connection."""
        arriving, loop = self._receive(body, answer), self._runner.get_loop()

        async def following() -> bytes | Prefill | None:
            waiting = asyncio.current_task()
            assert waiting
            with cancel.calling(lambda: loop.call_soon_threadsafe(waiting.cancel)):
                try:
                    return await anext(arriving, None)
                except asyncio.CancelledError:
                    if not cancel.is_set():  # but Ctrl+C
                        raise
                    return None

        try:
            while (data := self._runner.run(following())) and not cancel.is_set():
                yield data
        finally:
            if not self._client.is_closed:
                self._runner.run(arriving.aclose())

    async def _receive(self, body: _Body, answer: "_Answer") -> AsyncGenerator[bytes | Prefill, None]:
        async for tried in self._post(body):
            if isinstance(tried, Prefill):
                yield tried
                continue
            async with aclosing(tried) as response:
                if response.status_code != httpx.codes.OK:
                    raise refusal(self.remote, response)
                async with aclosing(self._lines(response, answer)) as lines:
                    async for line in lines:
                        field, _, data = line.partition(b":")
                        if field == b"data" and data.strip():  # not the comments that keep a connection alive
                            yield data.strip()

    async def _lines(self, response: httpx.Response, answer: "_Answer") -> AsyncGenerator[bytes, None]:
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
            raise _break(self.remote) from None
        except TimeoutError:
            raise RemoteError(
                "{name} has sent nothing for {seconds} s in the middle of the answer; what came of it is kept: "
                "continue it, or ask again.",
                name=self.remote.name,
                seconds=round(self._pause),
            ) from None

    async def _post(self, body: _Body) -> AsyncGenerator[Prefill | httpx.Response, None]:
        """If the server refuses a field that may be changed, the request is sent again in another way."""
        for complaint in self._complaints:
            body = _after_refusal(body, complaint) or body
        while True:
            other = None
            async for tried in self._tries("POST", "/chat/completions", body):
                if isinstance(tried, httpx.Response) and tried.status_code in (400, 422):
                    other = _after_refusal(body, tried.text)
                    self._complaints += [tried.text] * (other is not None)
                if other is None:
                    yield tried
            if other is None:
                return
            body = other

    async def _send(self, method: str, path: str) -> httpx.Response:
        async for tried in self._tries(method, path):
            if isinstance(tried, httpx.Response):
                return tried
        raise AssertionError("the last try is a response or raises")

    async def _tries(
        self, method: str, path: str, body: _Body | None = None
    ) -> AsyncGenerator[Prefill | httpx.Response, None]:
        """The reply, whose stream has not begun. Before it, a note of each time that a busy server asked to wait."""
        patience = _PATIENCE
        for delay in (*self._delays, None):
            try:
                response = await self._client.send(self._client.build_request(method, path, json=body), stream=True)
                if method == "GET" or response.status_code != httpx.codes.OK:
                    await response.aread()
            except httpx.RequestError as error:
                if delay is None or not _may_pass(error):
                    raise _unreachable(self.remote, error) from None
                wait = delay
            else:
                named = _named_wait(response)
                if delay is None or not _is_overburdened(response.status_code) or (named or 0) > patience:
                    yield response
                    return
                wait = delay if named is None else named
                patience -= named or 0
                if named:
                    yield Prefill(0, 0, _about_wait(self.remote, named))
            await asyncio.sleep(wait)


def refusal(remote: Remote, response: httpx.Response) -> HeadstartError:
    """The error of a refused request; the response must have been read."""
    name, status = remote.name, response.status_code
    words = _complaint_of(response)
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
        case 429 if seconds := _named_wait(response):
            sentence = Translatable(
                "{name} is busy{in_brackets} and asks you to wait {seconds} s; then try again.",
                **named,
                seconds=round(seconds),
            )
        case 429:
            sentence = Translatable("{name} is busy{in_brackets}; try again in a while.", **named)
        case _ if _is_overburdened(status):
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


def _client(remote: Remote, key: str | None) -> httpx.AsyncClient:
    """Sends nothing yet. Trusts the system's certificates, which include a company's own authority."""
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
        timeout=httpx.Timeout(_SILENCE, connect=_CONNECT),
        verify=context,
        trust_env=httpx.URL(remote.url).host not in _HERE,
    )


def _body(request: Request, model: str) -> _Body:
    """The body of a request. What is left to the model is left to the server."""
    sampling = request.sampling
    if not sampling.temperature and "temperature" not in sampling.automatic:
        sampling = sampling.settled(Sampling())  # greedy is greedy there, too
    body: _Body = {
        "model": model,
        "messages": list(_messages(request.messages)),
        "stream": True,
        "stream_options": {"include_usage": True},
        _MOST: request.max_new_tokens,
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
    if request.messages[-1].role == "assistant":  # vLLM's way to have an answer written on; llama.cpp needs none
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    if request.speculation.mode is not Mode.OFF:  # OpenVINO Model Server's names; others have nothing to set
        fixed = {name: getattr(request.speculation, name) for name in (_LENGTH, _CONFIDENCE)}
        body |= {name: value for name, value in fixed.items() if value is not None}
    return body


def _messages(messages: Iterable[Message]) -> Iterator[_Body]:
    """The conversation. Results have the numbers of the calls, in whose order they stand."""
    numbers, open_calls = 0, deque[str]()
    for message in messages:
        told: _Body = {"role": message.role, "content": message.content}
        if message.calls:
            ids = [f"call{numbers + place:05}" for place in range(len(message.calls))]  # Mistral wants nine signs
            numbers, open_calls = numbers + len(ids), deque(ids)
            functions = ({"name": call.name, "arguments": call.arguments} for call in message.calls)
            calls = [
                {"id": one, "type": "function", "function": each} for one, each in zip(ids, functions, strict=True)
            ]
            told |= {"content": message.content or None, "tool_calls": calls}
        if message.role == "tool":
            told["tool_call_id"] = open_calls.popleft() if open_calls else ""
        yield told


def _tools(tools: Tools) -> _Body:
    """What the answer may call, and how."""
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


def _after_refusal(body: _Body, complaint: str) -> _Body | None:
    """Another body after a refusal that names a field which may be changed; None if there is none.

    A strict server may refuse unknown fields; OpenVINO Model Server needs the length of its draft.
    """
    if _MOST_OF_OPENAI in complaint and _MOST in body:
        return {_MOST_OF_OPENAI if name == _MOST else name: value for name, value in body.items()}
    if _LENGTH in complaint and _LENGTH not in body and _CONFIDENCE not in body:
        return body | {_LENGTH: _USUAL_LENGTH}
    spared = [name for name, neutral in _NEUTRAL.items() if name in body and body[name] == neutral]
    if any(name in complaint for name in spared):
        return {name: value for name, value in body.items() if name not in spared}
    return None


class _Models(Struct):
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


class _Delta(Struct):
    content: str | None = None
    refusal: str | None = None  # of OpenAI's models, in place of an answer
    tool_calls: list[_CallPart] | None = None
    reasoning_content: str | None = None  # of llama.cpp, vLLM and others
    reasoning: str | None = None  # of OpenRouter and others


class _Choice(Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Details(Struct):
    cached_tokens: int | None = None  # of the prompt, that the server need not read again
    accepted_prediction_tokens: int | None = None
    rejected_prediction_tokens: int | None = None


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


class _Answer:
    """An answer so far. Thinking that a server sends separately is put before the answer, in tags."""

    def __init__(self, remote: Remote) -> None:
        self.reason: FinishReason | None = None
        self.has_ended = False  # the server said that nothing follows
        self._remote = remote
        self._is_thinking = False
        self._usage, self._timings = _Usage(), _Timings()
        self._started = self._first = self._last = time.perf_counter()
        self._chunks = self._length = 0
        self._called: dict[int, list[str]] = {}  # by index: name, arguments
        self._scored: list[Scored] = []  # not told yet

    @property
    def has_begun(self) -> bool:
        """Whether some of it came."""
        return bool(self._chunks or self._called)

    def read(self, data: bytes) -> str:
        """The text of a chunk. Raises RemoteError."""
        if data == b"[DONE]":
            self.has_ended = True
            return ""
        try:
            chunk = msgspec.convert(json.loads(data), _Chunk, strict=False)
            complaint = _complaint(chunk.error)
        except (ValueError, RecursionError, msgspec.ValidationError):
            raise self._broken_off("what came is not OpenAI's protocol") from None
        if chunk.error:
            raise self._broken_off(complaint or "it gives no reason")
        self._usage, self._timings = chunk.usage or self._usage, chunk.timings or self._timings
        choice = chunk.choices[0] if chunk.choices else _Choice()
        if choice.finish_reason:
            self.reason = _REASONS.get(choice.finish_reason, FinishReason.STOP)
        delta = choice.delta or _Delta()
        for part in delta.tool_calls or ():
            function, known = part.function or _Function(), self._called.setdefault(part.index, ["", ""])
            known[0], known[1] = known[0] + (function.name or ""), known[1] + (function.arguments or "")
        text = self._text(delta)
        self._score(choice.logprobs, text)
        self._length += len(text)
        if text:
            self._last = time.perf_counter()
            self._first = self._first if self._chunks else self._last
            self._chunks += 1
        return text

    def scored(self, shown: int) -> tuple[Scored, ...]:
        """The tokens that are new among those of the first `shown` characters."""
        told = tuple(each for each in self._scored if each.start < shown)
        del self._scored[: len(told)]
        return told

    def calls(self, tools: Tools | None) -> str:
        """What it calls, as a text in the format of calls. Raises RemoteError for what it may not call."""
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
        if self.reason is FinishReason.LENGTH:  # it ended within the last one
            calls = [call for call in calls if _is_object(call.arguments)]
        if not all(_is_object(call.arguments) for call in calls):
            raise self._broken_off("the arguments of a tool are not a JSON object")
        return "\n".join(written_call(call) for call in (calls if tools and tools.parallel else calls[:1]))

    def stats(self, context: int) -> Stats:
        """The known figures. If a server counts no tokens, each chunk counts as one, which is the least.

        `context` is the model's. Only the server could know the gain of speculation.
        """
        prompt = self._usage.prompt_tokens or 0
        written = self._usage.completion_tokens or self._chunks
        read, guesses = self._usage.prompt_tokens_details, self._usage.completion_tokens_details or _Details()
        accepted = guesses.accepted_prediction_tokens or self._timings.draft_n_accepted or 0
        drafted = self._timings.draft_n or accepted + (guesses.rejected_prediction_tokens or 0)
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
        )

    def _score(self, told: _Logprobs | None, text: str) -> None:
        """Note how likely the tokens of a chunk were. Where one begins is only known of the first."""
        start = self._length
        for each in (told.content if told else None) or ():
            likeliest = tuple(map(_likelihood, each.top_logprobs or ()))
            self._scored.append(Scored(_likelihood(each), start, likeliest))
            start = min(start + len(each.token), self._length + len(text))

    def _text(self, delta: _Delta) -> str:
        thought, text = delta.reasoning_content or delta.reasoning or "", delta.content or delta.refusal or ""
        opened = "<think>\n" if thought and not self._is_thinking else ""
        closed = "\n</think>\n\n" if text and (self._is_thinking or thought) else ""
        self._is_thinking = bool(self._is_thinking or thought) and not text
        return opened + thought + closed + text

    def _broken_off(self, detail: str) -> RemoteError:
        return RemoteError(
            "{name} broke off the answer ({detail}); ask again, or look into the log of that server.",
            name=self._remote.name,
            detail=detail,
        )


def _steps(text: str, scored: tuple[Scored, ...] = ()) -> Iterator[Step]:
    if text or scored:
        yield Step(text, _ROUND, (Piece(text, Origin.UNKNOWN),) if text else (), scored)


def _likelihood(told: _Logprob) -> Likelihood:
    return Likelihood(tuple(told.token.encode() if told.bytes is None else told.bytes), told.logprob)


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _break(remote: Remote) -> RemoteError:
    return RemoteError(
        "The connection to {name} broke in the middle of the answer; what came of it is kept: "
        "continue it, or ask again.",
        name=remote.name,
    )


def _unreachable(remote: Remote, error: httpx.RequestError) -> RemoteError:
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


def _may_pass(error: httpx.RequestError) -> bool:
    """Whether the same may work in a moment: a server is starting, or has just closed the connection."""
    if isinstance(error, httpx.ConnectError):
        return not any(isinstance(cause, ssl.SSLError | socket.gaierror) for cause in _causes(error))
    return isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)


def _named_wait(response: httpx.Response) -> float | None:
    """Seconds until a busy server wants to be asked again, if it says so: a number, or a date."""
    named = response.headers.get("retry-after", "")
    if named.isdecimal():
        return min(float(named), 86400.0)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(named).timestamp() - time.time())
    except ValueError:
        return None


def _about_wait(remote: Remote, seconds: float) -> Translatable:
    return Translatable(
        "{name} is busy and asks you to wait; it is asked again in {seconds} s.",
        name=remote.name,
        seconds=round(seconds),
    )


def _is_overburdened(status: int) -> bool:
    """Whether the same may be answered in a moment."""
    return status == httpx.codes.TOO_MANY_REQUESTS or status >= httpx.codes.INTERNAL_SERVER_ERROR


def _is_about_context(words: str) -> bool:
    return "context" in words and any(word in words for word in ("length", "exceed", "window", "size", "tokens"))


def _complaint_of(response: httpx.Response) -> str:
    try:
        return _complaint(response.json())
    except (ValueError, RecursionError):
        return ""


def _complaint(data: Any) -> str:
    """The server's own message, however it is wrapped; empty if there is none."""
    if isinstance(data, dict):
        return next(filter(None, (_complaint(data.get(name)) for name in ("error", "message", "detail", "msg"))), "")
    if isinstance(data, list):
        return "; ".join(filter(None, map(_complaint, data)))[:_EXCERPT]
    return " ".join(data.split())[:_EXCERPT].rstrip(".") if isinstance(data, str) else ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            yield from cause.exceptions
        cause = cause.__cause__ or cause.__context__
