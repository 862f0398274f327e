"""Errors of the API: an HTTP status and an object in OpenAI's format."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec
from starlette.responses import Response

from headstart.errors import ChatTemplateError, ContextOverflowError, EngineLostError, HeadstartError, SettingsError

INVALID, SERVER, BUSY, FORBIDDEN = "invalid_request_error", "server_error", "rate_limit_error", "permission_error"
_RETRY = {"retry-after": "1"}


@dataclass(frozen=True)
class Fault:
    """Description of an error. `message` is one sentence with the remedy; `param` is the wrong field."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


@dataclass(frozen=True)
class FaultBody:
    """Body of every refusal; `type` is for Anthropic's clients."""

    error: Fault
    type: Literal["error"] = "error"


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

    def response(self) -> Response:
        return Response(self.body, self.status, self.headers, "application/json")


def invalid(message: str, param: str | None = None, code: str | None = None) -> RefusedError:
    """Return the refusal of a request that cannot be answered as it is."""
    return RefusedError(400, Fault(message, INVALID, param, code))


def stopping() -> RefusedError:
    """Return the refusal of every request while the server is shutting down."""
    sentence = "The server is being stopped: ask again after it has been started again."
    return RefusedError(503, Fault(sentence, SERVER, code="stopping"))


def to_refusal(error: HeadstartError) -> RefusedError:
    """Return the refusal that reports `error` to a client."""
    match error:
        case RefusedError():
            return error
        case ContextOverflowError():
            return invalid(str(error), code="context_length_exceeded")
        case SettingsError() | ChatTemplateError():
            return invalid(str(error))
        case EngineLostError():
            return RefusedError(503, Fault(str(error), SERVER, code="engine_lost"), _RETRY)
        case _:
            return RefusedError(500, Fault(str(error), SERVER))
