"""A local stand-in for the hub, which speaks Hugging Face's protocol for given files."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "c0ffee" * 6 + "c0ff"
PIECE = 10 << 20  # what the hub's library writes at once


class Hub(ThreadingHTTPServer):
    """A hub with large files. Their content comes from another path, as from the hub's content network."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.files: dict[tuple[str, str], bytes] = {}  # by repository and name
        self.commit = COMMIT
        self.damaged = False  # sends other bytes than it states
        self.gated = False
        self.refusals: list[str] = []  # what `Retry-After` says in the next answers, which refuse
        self.breaks: list[int] = []  # bytes after which the next connections end
        self.is_stuck = False  # sends nothing behind the first piece
        self.begun: list[int] = []  # where what was asked for begins
        self.sent = 0  # bytes of files
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def found(self, path: str) -> bytes | None:
        """Return the file of a path, by name and revision or by its hash."""
        place, _, rest = path.strip("/").partition("/resolve/")
        revision, _, name = rest.partition("/")
        if revision in {"main", self.commit}:
            return self.files.get((place, name))
        by_hash = {_sha256(content): content for content in self.files.values()}
        return by_hash.get(place.removeprefix("content/"))


@cache
def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextmanager
def running() -> Iterator[Hub]:
    """Context manager with a running hub."""
    hub = Hub()
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.closing.set()
        hub.shutdown()
        hub.server_close()
        thread.join()


class _Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        if content := self._answer():
            self._send(content)

    def _answer(self) -> bytes | None:
        """Send the headers. Return the content if it is requested."""
        hub = self.server
        if self.path == "/":
            self._say(200)
            return None
        if hub.refusals:
            self._say(429, {"Retry-After": hub.refusals.pop(0)})
            return None
        content = hub.found(self.path)
        if hub.gated or content is None:
            self._say(403 if hub.gated else 404, {"X-Error-Code": "GatedRepo" if hub.gated else "EntryNotFound"})
            return None
        if "/resolve/" in self.path:
            sha256 = _sha256(content)
            stated = {"X-Repo-Commit": hub.commit, "X-Linked-ETag": f'"{sha256}"', "X-Linked-Size": str(len(content))}
            self._say(302, {"Location": f"{hub.url}/content/{sha256}", **stated})
            return None
        return content

    def _send(self, content: bytes) -> None:
        hub = self.server
        begin = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        hub.begun.append(begin)
        self._say(206 if begin else 200, {"Content-Length": str(len(content) - begin)})
        if hub.damaged:
            content = bytes(len(content))
        end = PIECE if hub.is_stuck else hub.breaks.pop(0) if hub.breaks else len(content)
        part = content[begin : begin + end]
        hub.sent += len(part)  # before the client has all of it, and looks
        self.wfile.write(part)
        if hub.is_stuck:
            hub.closing.wait()
        self.close_connection = True

    def _say(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": "0", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""
