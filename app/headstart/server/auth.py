"""Access checks: the Host, the Origin and the key of a request."""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from headstart.server import keys
from headstart.server.errors import FORBIDDEN, INVALID, REFUSAL, Fault, Notices, RefusedError

_OPEN_PATHS = {"", "/v1", "/openapi.json", "/health", "/v1/health"}  # no secrets there; the documentation agrees
_OWN_SITE = {"", "none", "same-origin"}
CLIENT = "headstart.client"  # key in the scope of a request: the client's address and the numbers of its keys


@dataclass(frozen=True)
class Access:
    """The conditions that a request must meet."""

    keys: tuple[str, ...]  # digests
    hosts: frozenset[str] = frozenset()  # allowed beside the names of this computer
    origins: frozenset[str] = frozenset()  # allowed beside programs and the server's own pages; `*` is any part
    any_address: bool = False  # for a server for other computers, which does not know all of its addresses
    has_page: bool = False  # the server has a page of its own, which may ask it
    notices: Notices = field(default_factory=Notices)

    @cached_property
    def origin_regex(self) -> str:
        """A regular expression for the allowed origins; empty if there are none."""
        return "|".join(re.escape(origin).replace(r"\*", "[^/:]*") for origin in sorted(self.origins))

    def page_refusal(self, scope: Scope) -> RefusedError | None:
        """Return the refusal of a request that a web page may have sent; None if it may pass.

        A page that was made to resolve to this computer (DNS rebinding) names its own site in Host; a page elsewhere
        names itself in Origin. An address in Host is safe: no name was looked up.
        """
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:  # a proxy may follow the other one
            sentence = "A request has one length: leave out `Content-Length` or `Transfer-Encoding`."
            return RefusedError(400, Fault(sentence, INVALID, code="two_lengths"), {"connection": "close"})
        host = headers.get("host", "")
        if not self._is_own_host(host):
            sentence = f"This server is not called {host[:80]!r}: use its address, or start it with "
            self.notices.warn(f"A request for the host {host[:80]!r} was refused: --allow-host NAME lets it in.")
            return RefusedError(403, Fault(f"{sentence}--allow-host.", FORBIDDEN, code="host_not_allowed"))
        origin = headers.get("origin")
        if self.has_page and origin == f"http://{host}":  # the host is this computer: see above
            return None
        from_elsewhere = origin is None and headers.get("sec-fetch-site", "") not in _OWN_SITE
        if from_elsewhere or (origin is not None and not self._allows(origin)):
            page = (origin or "another site")[:80]
            self.notices.warn(f"A page of {page!r} was refused: --allow-origin ORIGIN lets pages in.")
            sentence = f"Web pages may not use this server ({page}): "
            remedy = "allow one with `headstart serve --allow-origin`."
            return RefusedError(403, Fault(sentence + remedy, FORBIDDEN, code="origin_not_allowed"))
        return None

    def key_refusal(self, scope: Scope) -> RefusedError | None:
        """Return the refusal of a request without a key; None if it may pass.

        Stores the client's address and keys in the scope.
        """
        headers = Headers(scope=scope)
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            key = headers.get("x-api-key", "") or headers.get("api-key", "")  # from Anthropic's and Azure's clients
        matching = [str(number) for number, stored in enumerate(self.keys) if keys.matches(key.strip(), stored)]
        address, _ = scope.get("client") or ("", 0)
        scope[CLIENT] = " ".join([address, *matching])
        if matching or scope["path"].removesuffix("/") in _OPEN_PATHS:
            return None
        sentence = (  # litellm recognises the first words
            "Incorrect API key provided, or none: send `Authorization: Bearer KEY` with the key that `headstart serve` "
            "showed when it made the key, or one that it was given; `headstart serve --new-key` makes another one."
        )
        return RefusedError(401, Fault(sentence, INVALID, code="invalid_api_key"), {"www-authenticate": "Bearer"})

    def _allows(self, origin: str) -> bool:
        return bool(self.origins and re.fullmatch(self.origin_regex, origin))

    def _is_own_host(self, host: str) -> bool:
        """Return whether a Host header names this computer, with any port."""
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
    """Middleware that passes a request on, or answers with a refusal."""

    def __init__(self, app: ASGIApp, refusal: Callable[[Scope], RefusedError | None]) -> None:
        """`refusal` returns why `app` must not get a request; None if it may."""
        self._app, self._refusal = app, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[REFUSAL] = refusal = self._refusal(scope)
        await (refusal.response(scope) if refusal else self._app)(scope, receive, send)
