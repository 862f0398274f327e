"""What goes wrong with a server, each in one sentence with its remedy. Knows no answer."""

import json
import socket
import ssl
from collections.abc import Iterable, Iterator

import httpx

from headstart.engine.engine import Remote
from headstart.engine.remote.reading import complaint
from headstart.errors import ContextOverflowError, HeadstartError, ModelNotFoundError, RemoteError

BUSY, BROKEN = 429, 500  # from the second on it is the server's own fault
_MOVED = frozenset({301, 302, 303, 307, 308})


def of_connection(remote: Remote, error: httpx.TransportError) -> RemoteError:
    """No answer was begun."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _untrusted(remote, cause)
        if isinstance(cause, ssl.SSLError):
            return RemoteError(
                f"{remote.name} does not speak TLS as expected at {remote.url} ({_reason(cause)}); "
                "check the port, or whether the address begins with http://."
            )
        if isinstance(cause, socket.gaierror):
            return RemoteError(
                f"No computer is found by the address of {remote.name}, {remote.url}; "
                "check the spelling and your network."
            )
    return RemoteError(
        f"{remote.name} cannot be reached at {remote.url} ({_brief(error)}); "
        "check that the server runs there and that this computer has a network."
    )


def of_break(remote: Remote) -> RemoteError:
    """An answer was begun."""
    return RemoteError(
        f"The connection to {remote.name} broke in the middle of the answer; what came of it is kept: "
        "continue it, or ask again."
    )


def of_strange_answer(remote: Remote, detail: str) -> RemoteError:
    """It speaks, but something else, or says that it failed."""
    return RemoteError(
        f"{remote.name} broke off the answer ({detail}); ask again, or look into the log of that server."
    )


def of_status(remote: Remote, response: httpx.Response, *, has_key: bool) -> HeadstartError:
    """It refuses. The body must have been read."""
    status, words = response.status_code, _words(response)
    if status in (401, 403):
        return _locked_out(remote, words, has_key=has_key)
    if status in _MOVED:
        target = response.headers.get("location", "another address")
        return RemoteError(f"{remote.name} has moved to {target}; if you trust that, add it again with that address.")
    if status == 404:
        return _not_there(remote, words)
    return (
        _overburdened(remote, status, words) if status == BUSY or status >= BROKEN else _misled(remote, status, words)
    )


def of_no_list(remote: Remote) -> RemoteError:
    """It has no list of models, or an odd one."""
    return RemoteError(
        f"{remote.name} does not tell its models at {remote.url}/models; check the address (it often ends in /v1), "
        f"or name a model: remote:{remote.name}/MODEL."
    )


def of_model(remote: Remote, known: Iterable[str]) -> ModelNotFoundError:
    """The list lacks it, or nothing says which of several."""
    names = ", ".join(known) or "none"
    if remote.model is None:
        return ModelNotFoundError(
            f"{remote.name} has these models: {names}; name one of them: remote:{remote.name}/MODEL."
        )
    return ModelNotFoundError(f"{remote.name} has no model {remote.model!r}; it has {names}.")


def is_passing(error: httpx.TransportError) -> bool:
    """Whether the same may go well in a moment: a server that is being started, or has just closed the connection."""
    lasting = (ssl.SSLError, socket.gaierror)
    refused = isinstance(error, httpx.ConnectError) and not any(isinstance(each, lasting) for each in _causes(error))
    return refused or isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)


def _untrusted(remote: Remote, cause: ssl.SSLCertVerificationError) -> RemoteError:
    return RemoteError(
        f"The certificate of {remote.name} at {remote.url} is not trusted ({cause.verify_message or _reason(cause)}); "
        f"if it is your own, add the server again with --certificate FILE, the authority that signed it."
    )


def _locked_out(remote: Remote, words: str, *, has_key: bool) -> RemoteError:
    command = f"`headstart remote add {remote.name} {remote.url} --key`"
    if has_key:
        return RemoteError(f"{remote.name} refuses the key{_in_brackets(words)}; give another one with {command}.")
    return RemoteError(f"{remote.name} wants a key{_in_brackets(words)}; give it with {command}.")


def _overburdened(remote: Remote, status: int, words: str) -> RemoteError:
    if status == BUSY:
        return RemoteError(f"{remote.name} is busy{_in_brackets(words)}; try again in a while.")
    return RemoteError(
        f"{remote.name} failed (status {status}{_after_comma(words)}); try again, or look into that server's log."
    )


def _misled(remote: Remote, status: int, words: str) -> HeadstartError:
    if _is_about_context(words):
        return ContextOverflowError(
            f"The conversation is too long for {remote.name} ({words}): start a new chat, or allow shorter answers."
        )
    return RemoteError(
        f"{remote.name} does not take this request (status {status}{_after_comma(words)}); change what it names."
    )


def _not_there(remote: Remote, words: str) -> HeadstartError:
    if "model" in words.lower():
        return ModelNotFoundError(
            f"{remote.name} does not know the model {remote.model!r}{_in_brackets(words)}; "
            f"`headstart remote check {remote.name}` lists what it has."
        )
    return RemoteError(
        f"There is no such API at {remote.url}{_in_brackets(words)}; check the address of {remote.name}: "
        "it often ends in /v1."
    )


def _is_about_context(words: str) -> bool:
    lowered = words.lower()
    return "context" in lowered and any(word in lowered for word in ("length", "exceed", "window", "size", "tokens"))


def _words(response: httpx.Response) -> str:
    try:
        return complaint(json.loads(response.content))
    except (ValueError, RecursionError):
        return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            yield from cause.exceptions
        cause = cause.__cause__ or cause.__context__


def _reason(cause: ssl.SSLError) -> str:
    return (cause.reason or type(cause).__name__).lower().replace("_", " ")


def _brief(error: httpx.TransportError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    refused = any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error))
    return "the connection is refused" if refused else str(error).strip().rstrip(".") or type(error).__name__


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""


def _after_comma(words: str) -> str:
    return f", {words}" if words else ""
