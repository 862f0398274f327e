"""Access checks: the Host, the Origin and the key of a request."""

import ipaddress
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from headstart.server import keys
from headstart.server.refusal import FORBIDDEN, INVALID, Fault, RefusedError

_OPEN_PATHS = {"", "/openapi.json", "/health", "/v1/health"}  # no secrets: the documentation says the same
_OWN_SITE = {"", "none", "same-origin"}
_MOST_TOLD = 20  # refusals of others go to the log, but strangers choose what they are
CLIENT = "headstart.client"  # where the scope of a request has who asks: the address and the key

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Access:
    """What a request needs. `hosts` and `origins` are allowed beside the usual ones; `keys` are digests."""

    keys: tuple[str, ...]
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    any_address: bool = False  # a server for other computers is called by addresses that it does not know
    _told: set[str] = field(default_factory=set)

    def page_refusal(self, scope: Scope) -> RefusedError | None:
        """The refusal of a request that a web page may have sent.

        A page that was made to resolve to this computer (DNS rebinding) names its own site in Host; a page elsewhere
        names itself in Origin. An address in Host is safe: no name was looked up.
        """
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:  # a proxy may go by the other one
            sentence = "A request has one length: leave out `Content-Length` or `Transfer-Encoding`."
            return RefusedError(400, Fault(sentence, INVALID, code="two_lengths"), {"connection": "close"})
        host = headers.get("host", "")
        if not self._is_known(host):
            sentence = f"This server is not called {host[:80]!r}: use its address, or start it with "
            self._tell_once(f"A request for the host {host[:80]!r} was refused: --allow-host NAME lets it in.")
            return RefusedError(403, Fault(f"{sentence}--allow-host.", FORBIDDEN, code="host_not_allowed"))
        origin = headers.get("origin")
        from_elsewhere = origin is None and headers.get("sec-fetch-site", "") not in _OWN_SITE
        if from_elsewhere or (origin is not None and origin not in self.origins):
            page = (origin or "another site")[:80]
            self._tell_once(f"A page of {page!r} was refused: --allow-origin ORIGIN lets pages in.")
            sentence = f"Web pages may not use this server ({page}): "
            remedy = "allow one with `headstart serve --allow-origin`."
            return RefusedError(403, Fault(sentence + remedy, FORBIDDEN, code="origin_not_allowed"))
        return None

    def key_refusal(self, scope: Scope) -> RefusedError | None:
        """The refusal of a request without a key; else the scope gets who asks."""
        headers = Headers(scope=scope)
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            key = headers.get("x-api-key", "") or headers.get("api-key", "")  # as Anthropic's and Azure's clients do
        fitting = [str(number) for number, kept in enumerate(self.keys) if keys.fits(key.strip(), kept)]
        address, _ = scope.get("client") or ("", 0)
        scope[CLIENT] = " ".join([address, *fitting])
        if fitting or scope["path"].removesuffix("/") in _OPEN_PATHS:
            return None
        sentence = (  # litellm knows it by how it begins
            "Incorrect API key provided, or none: send `Authorization: Bearer KEY` with the key that `headstart serve` "
            "showed when it made the key, or one that it was given; `headstart serve --new-key` makes another one."
        )
        return RefusedError(401, Fault(sentence, INVALID, code="invalid_api_key"), {"www-authenticate": "Bearer"})

    def _tell_once(self, sentence: str) -> None:
        """For the user of this computer: the developer of a page sees no reply that was refused."""
        if sentence not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(sentence)
            _log.warning("%s", sentence)

    def _is_known(self, host: str) -> bool:
        """Whether a Host header names this computer, whatever the port."""
        name, colon, port = host.rpartition(":")
        name = (name if colon and port.isdecimal() else host).lower().rstrip(".")
        if name == "localhost" or name in self.hosts:
            return True
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return self.any_address or address.is_loopback


class Guard:
    """Passes a request on, or answers with the refusal."""

    def __init__(self, app: ASGIApp, refusal: Callable[[Scope], RefusedError | None]) -> None:
        """`refusal` says why `app` must not get a request."""
        self._app, self._refusal = app, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        refusal = self._refusal(scope)
        await (refusal.response() if refusal else self._app)(scope, receive, send)
