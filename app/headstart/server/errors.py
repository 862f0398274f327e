"""Errors of the API: an HTTP status and an object in the format of OpenAI, or of Anthropic on its routes."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from starlette.responses import Response
from starlette.types import Scope

from headstart.errors import (
    AudioError,
    ChatTemplateError,
    ContextOverflowError,
    EngineLostError,
    HeadstartError,
    SettingsError,
)

INVALID, SERVER, BUSY, FORBIDDEN = "invalid_request_error", "server_error", "rate_limit_error", "permission_error"
_RETRY = {"retry-after": "1"}
MESSAGES = "/v1/messages"  # what the paths of Anthropic's API begin with
_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}
_MAX_LOGGED = 20  # sentences; their text comes from clients

_log = logging.getLogger(__name__)
REQUEST_ID = "headstart.request_id"  # key in the scope of a request: its id, which every reply has
REFUSAL = "headstart.refusal"  # key in the scope of a request: the RefusedError that answered it, or None


@dataclass(frozen=True)
class Fault:
    """Description of an error. `message` is one sentence with the remedy; `param` is the wrong field."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


@dataclass(frozen=True)
class FaultBody:
    """Body of a refusal."""

    error: Fault
    type: Literal["error"] = "error"


@dataclass(frozen=True)
class MessagesFault:
    """Description of an error in Anthropic's words."""

    type: str
    message: str


@dataclass(frozen=True)
class MessagesFaultBody:
    """Body of a refusal in Anthropic's format."""

    error: MessagesFault
    request_id: str
    type: Literal["error"] = "error"


@dataclass(frozen=True)
class OllamaFault:
    """Body of every refusal below /api/."""

    error: str


class RefusedError(HeadstartError):
    """A request that the server does not answer."""

    def __init__(self, status: int, fault: Fault, headers: Mapping[str, str] | None = None) -> None:
        """`headers` are sent with the reply."""
        super().__init__(fault.message)
        self.status = status
        self.fault = fault
        self.headers = headers

    @property
    def body(self) -> bytes:
        return msgspec.json.encode(FaultBody(self.fault))

    def described(self, scope: Scope) -> FaultBody | MessagesFaultBody | OllamaFault:
        """Return the body in the format of the API that a request is for."""
        path: str = scope["path"]
        if path.startswith("/api/"):
            return OllamaFault(self.fault.message)
        if not path.startswith(MESSAGES):
            return FaultBody(self.fault)
        usual = "invalid_request_error" if self.status < 500 else "api_error"
        fault = MessagesFault(_ANTHROPIC_TYPES.get(self.status, usual), self.fault.message)
        return MessagesFaultBody(fault, scope.get(REQUEST_ID, ""))

    def response(self, scope: Scope) -> Response:
        """Return the reply in the format of the API that a request is for."""
        body = msgspec.json.encode(self.described(scope))
        return Response(body, self.status, self.headers, "application/json")


@dataclass(frozen=True)
class Notices:
    """Sentences for whoever runs the server, about requests whose clients show nothing. Each is logged once."""

    _logged: set[str] = field(default_factory=set)

    def warn(self, sentence: str) -> None:
        if sentence not in self._logged and len(self._logged) < _MAX_LOGGED:
            self._logged.add(sentence)
            _log.warning("%s", sentence)


def invalid(message: str, param: str | None = None, code: str | None = None) -> RefusedError:
    """Return the refusal of a request that cannot be answered as it is."""
    return RefusedError(400, Fault(message, INVALID, param, code))


def too_large(limit: int, what: str, headers: Mapping[str, str] | None = None) -> RefusedError:
    """Return the refusal of a request with more than `limit` bytes; `what` says of what, and the remedy."""
    sentence = f"The request has more than {limit / 2**20:.3g} MiB of {what}."
    return RefusedError(413, Fault(sentence, INVALID, code="too_large"), headers)


def stopping() -> RefusedError:
    """Return the refusal of every request while the server is shutting down."""
    sentence = "The server is being stopped: ask again after it has been started again."
    return RefusedError(503, Fault(sentence, SERVER, code="stopping"))


def to_refusal(error: HeadstartError, path: str, max_context: int = 0) -> RefusedError:
    """Return the refusal that reports `error` to a client of the API with this path.

    `max_context` is the longest context that the model allows, in tokens; 0: unknown.
    """
    match error:
        case RefusedError():
            return error
        case ContextOverflowError():
            return invalid(_overflow(error, path, max_context), code="context_length_exceeded")
        case SettingsError() | ChatTemplateError() | AudioError():
            return invalid(str(error))
        case EngineLostError():
            return RefusedError(503, Fault(str(error), SERVER, code="engine_lost"), _RETRY)
        case _:
            return RefusedError(500, Fault(str(error), SERVER))


def _overflow(error: ContextOverflowError, path: str, max_context: int) -> str:
    """Return a sentence in the words that programs look for before they shorten a conversation."""
    is_messages = path.startswith(MESSAGES)
    match error.text.values:
        case {"count": int(count), "room": int(room), **others} if not others:
            pass
        case _:
            return f"prompt is too long: {error}" if is_messages else str(error)
    if max_context > room:
        remedy = f"start the server again with a longer `--context`; this model allows up to {max_context}."
    elif max_context:
        remedy = "the model allows no more, so take another one for longer conversations."
    else:
        remedy = "start the server again with a longer `--context`."
    if is_messages:
        return f"prompt is too long: {count} tokens > {room} maximum. Shorten the conversation, or {remedy}"
    limit = f"This model's maximum context length is {room} tokens here with the answer"
    return f"{limit}, but the conversation has {count}. Shorten the conversation, or {remedy}"
