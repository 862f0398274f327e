"""The page for a chat on another device: one file, which may load and run nothing else."""

import base64
import hashlib
import re
import socket
from functools import cache
from importlib.resources import files

from starlette.responses import HTMLResponse

_PARTS = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)
_ELSEWHERE = "192.0.2.1"  # an address that nobody has (RFC 5737); nothing is sent there


@cache
def response() -> HTMLResponse:
    """Return the page. Its headers allow its own style and script, and requests to this server."""
    page = files("headstart.server").joinpath("page.html").read_text(encoding="utf-8")
    allowed = {kind: _csp_hash(text) for kind, text in _PARTS.findall(page)}
    rules = (
        "default-src 'none'",
        f"script-src {allowed['script']}",
        f"style-src {allowed['style']}",
        "connect-src 'self'",
        "img-src data:",  # the empty icon
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    headers = {
        "content-security-policy": "; ".join(rules),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }
    return HTMLResponse(page, headers=headers)


def _csp_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def address(host: str, port: int) -> str:
    """Return the address of the page; for a server on all addresses, the one that other devices know."""
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not used
        family = socket.AF_INET if host == "0.0.0.0" else socket.AF_INET6  # noqa: S104
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((_ELSEWHERE if family is socket.AF_INET else "2001:db8::1", 1))
                host = probe.getsockname()[0]
            except OSError:  # no network
                host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
