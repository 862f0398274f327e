"""The errors of servers, and what to do about them."""

import email.utils
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

import httpx

from headstart.engine.backends.remote.dialects import Body, switches_in
from headstart.engine.engine import Remote
from headstart.errors import ContextOverflowError, HeadstartError, ModelNotFoundError, RemoteError, Translatable

_MAX_EXCERPT = 200  # characters of a server's message
MENDABLE = (httpx.codes.BAD_REQUEST, httpx.codes.UNPROCESSABLE_ENTITY)  # another body may be accepted


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
