"""Models of servers with OpenAI's API."""

import asyncio
import json
import socket
import ssl
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import ExitStack, aclosing, closing
from typing import Any

import httpx
import msgspec
import truststore
from msgspec import Struct

from headstart import __version__, keys
from headstart.engine.cancelling import CancelEvent
from headstart.engine.detokenizer import StopStrings
from headstart.engine.engine import (
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Mode,
    Origin,
    Piece,
    Remote,
    Request,
    Round,
    Sampling,
    Stats,
    Step,
    Timing,
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
_DELAYS = (0.5, 1.0, 2.0)  # seconds before another try
_LONGEST_DELAY = 20.0  # seconds that a busy server may ask for
_HERE = ("localhost", "127.0.0.1", "::1")  # never by way of a proxy
_EXCERPT = 200  # characters of what a server said
_ROUND = Round((), 0, 0, Origin.UNKNOWN, Timing())  # a server reports neither tokens nor rounds
_SAMPLING = tuple(each.field for each in declared(Sampling))
_LENGTH, _CONFIDENCE = "num_assistant_tokens", "assistant_confidence_threshold"
_USUAL_LENGTH = 5  # draft tokens, as OpenVINO GenAI has it
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
    key = keys.find(options.remote.name)
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

    def __init__(self, remote: Remote, key: str | None = None, delays: tuple[float, ...] = _DELAYS) -> None:
        """Raises as `load`. `delays`: seconds before another try."""
        self.remote = remote
        self._delays = delays
        self._client = _client(remote, key)
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # any wait in it can be cancelled
        with ExitStack() as undoing:
            undoing.callback(self.close)
            self.model = self._runner.run(self._choose())
            undoing.pop_all()

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate. Also raises RemoteError; the events before it are the part of the answer to keep."""
        if request.is_text or request.tokens_only or request.is_bound or request.bias or request.likeliest is not None:
            raise SettingsError(
                "{name} is only asked to answer conversations: for a text to be written on, a JSON "
                "schema, tools or logprobs choose a model of this computer.",
                name=self.remote.name,
            )
        cancel = cancel or CancelEvent()
        answer, stops = _Answer(self.remote), StopStrings(request.stop)  # some servers send the stop string, too
        with closing(self._stream(_body(request, self.model.name), cancel)) as stream:
            for data in stream:
                text, at_stop = stops.push(answer.read(data))
                yield from _steps(text)
                if at_stop:
                    answer.reason = FinishReason.STOP
                    break
        yield from _steps(stops.flush())
        if not (answer.has_ended or answer.reason or cancel.is_set()):
            raise _break(self.remote)
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

    def _stream(self, body: _Body, cancel: CancelEvent) -> Generator[bytes, None, None]:
        """The data of an answer; if cancelled, ends early and closes the connection."""
        arriving, loop = self._receive(body), self._runner.get_loop()

        async def following() -> bytes | None:
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

    async def _receive(self, body: _Body) -> AsyncGenerator[bytes, None]:
        async with aclosing(await self._post(body)) as response:
            if response.status_code != httpx.codes.OK:
                raise refusal(self.remote, response)
            lines = LineSplitter()  # splits at \n alone: JSON may hold every other kind of line end
            try:
                async for part in response.aiter_bytes():
                    for line in lines.push(part):
                        field, _, data = line.partition(b":")
                        if field == b"data" and data.strip():  # not the comments that keep a connection alive
                            yield data.strip()
            except httpx.RequestError:
                raise _break(self.remote) from None

    async def _post(self, body: _Body) -> httpx.Response:
        """If the server refuses a field that changes nothing, the request is sent again without it."""
        while True:
            response = await self._send("POST", "/chat/completions", body)
            other = _after_refusal(body, response.text) if response.status_code in (400, 422) else None
            if other is None:
                return response
            body = other

    async def _send(self, method: str, path: str, body: _Body | None = None) -> httpx.Response:
        """The reply, whose stream has not begun; a temporary refusal is tried again."""
        for delay in (*self._delays, None):
            wait = delay
            try:
                response = await self._client.send(self._client.build_request(method, path, json=body), stream=True)
                if method == "GET" or response.status_code != httpx.codes.OK:
                    await response.aread()
            except httpx.RequestError as error:
                if wait is None or not _may_pass(error):
                    raise _unreachable(self.remote, error) from None
            else:
                if wait is None or not _is_overburdened(response.status_code):
                    return response
                wished = response.headers.get("retry-after", "")
                wait = min(float(wished), _LONGEST_DELAY) if wished.isdecimal() else wait
            await asyncio.sleep(wait)
        raise AssertionError("the last try returns or raises")


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
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_new_tokens,
        **{name: getattr(sampling, name) for name in _SAMPLING if name not in sampling.automatic},
    }
    if "repetition_penalty" in body:
        body["repeat_penalty"] = sampling.repetition_penalty  # llama.cpp's name for it
    if request.stop:
        body["stop"] = list(request.stop)
    if request.messages[-1].role == "assistant":  # vLLM's way to have an answer written on; llama.cpp needs none
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    if request.speculation.mode is not Mode.OFF:  # OpenVINO Model Server's names; others have nothing to set
        fixed = {name: getattr(request.speculation, name) for name in (_LENGTH, _CONFIDENCE)}
        body |= {name: value for name, value in fixed.items() if value is not None}
    return body


def _after_refusal(body: _Body, complaint: str) -> _Body | None:
    """Another body after a refusal that names a field which may be changed; None if there is none.

    A strict server may refuse unknown fields; OpenVINO Model Server needs the length of its draft.
    """
    if _LENGTH in complaint and _LENGTH not in body and _CONFIDENCE not in body:
        return body | {_LENGTH: _USUAL_LENGTH}
    spared = [name for name, neutral in _NEUTRAL.items() if name in body and body[name] == neutral]
    if any(name in complaint for name in spared):
        return {name: value for name, value in body.items() if name not in spared}
    return None


class _Models(Struct):
    data: list[RemoteModel]


class _Delta(Struct):
    content: str | None = None
    reasoning_content: str | None = None  # of llama.cpp, vLLM and others
    reasoning: str | None = None  # of OpenRouter and others


class _Choice(Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


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
        self._chunks = 0

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
            self.reason = FinishReason.LENGTH if choice.finish_reason == "length" else FinishReason.STOP
        text = self._text(choice.delta or _Delta())
        if text:
            self._last = time.perf_counter()
            self._first = self._first if self._chunks else self._last
            self._chunks += 1
        return text

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

    def _text(self, delta: _Delta) -> str:
        thought, text = delta.reasoning_content or delta.reasoning or "", delta.content or ""
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


def _steps(text: str) -> Iterator[Step]:
    if text:
        yield Step(text, _ROUND, (Piece(text, Origin.UNKNOWN),))


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
