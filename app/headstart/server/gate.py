"""Who may ask at all: programs that call this computer by its name, show the key, and are no web page."""

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headstart.server import keys
from headstart.server.refusal import FORBIDDEN, INVALID, Fault, RefusedError

OPEN_PATHS = frozenset({"/openapi.json"})  # says nothing that the documentation does not
_OWN_SITE = frozenset({"", "none", "same-origin"})


@dataclass(frozen=True)
class Doors:
    """What is let in. `hosts` and `origins` are those that were named beside the usual ones; `key` is a digest."""

    key: str
    hosts: frozenset[str] = field(default_factory=frozenset)
    origins: frozenset[str] = field(default_factory=frozenset)
    any_address: bool = False  # whoever listens beyond this computer is called by addresses that it does not know


class Gate:
    """Refuses what a web page may have sent.

    A page that was made to resolve to this computer (DNS rebinding) names its own site in Host; a page elsewhere names
    itself in Origin. An address in Host is safe: no name was looked up.
    """

    def __init__(self, app: ASGIApp, doors: Doors) -> None:
        """`app` gets what passes."""
        self._app = app
        self._doors = doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (_response(refusal) if refusal else self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> RefusedError | None:
        host = headers.get("host", "")
        if not _is_known(host, self._doors):
            sentence = f"This server does not go by the name {host[:80]!r}: call it by its address, or start it with "
            return RefusedError(403, Fault(f"{sentence}--allow-host.", FORBIDDEN, code="host_not_allowed"))
        origin = headers.get("origin")
        from_elsewhere = origin is None and headers.get("sec-fetch-site", "") not in _OWN_SITE
        if from_elsewhere or (origin is not None and origin not in self._doors.origins):
            sentence = f"Web pages may not ask here ({(origin or 'another site')[:80]}): "
            remedy = "allow one with `headstart serve --allow-origin`."
            return RefusedError(403, Fault(sentence + remedy, FORBIDDEN, code="origin_not_allowed"))
        return None


class KeyCheck:
    """Refuses who does not show the key."""

    def __init__(self, app: ASGIApp, doors: Doors) -> None:
        """`app` gets what passes."""
        self._app = app
        self._doors = doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        admitted = scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._has_key(Headers(scope=scope))
        await (self._app if admitted else _response(_unknown()))(scope, receive, send)

    def _has_key(self, headers: Headers) -> bool:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return keys.fits(key.strip(), self._doors.key) and scheme.lower() == "bearer"


def _unknown() -> RefusedError:
    sentence = (
        "The key is missing or wrong: send `Authorization: Bearer KEY` with the key that `headstart serve` showed "
        "when it made it; `headstart serve --new-key` makes another."
    )
    return RefusedError(401, Fault(sentence, INVALID, code="invalid_api_key"), {"www-authenticate": "Bearer"})


def _is_known(host: str, doors: Doors) -> bool:
    """Whether a Host header names this computer, whatever the port."""
    name = _without_port(host).lower().rstrip(".")
    if name == "localhost" or name in doors.hosts:
        return True
    address = _address(name.strip("[]"))
    return address is not None and (doors.any_address or address.is_loopback)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def names(given: Collection[str]) -> frozenset[str]:
    """Host names as they are compared."""
    return frozenset(name.lower().rstrip(".") for name in given)


def _response(refusal: RefusedError) -> Response:
    return Response(refusal.body, refusal.status, refusal.headers, "application/json")
