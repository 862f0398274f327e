"""A hub that is played here: what a process that ended had fetched is not fetched again."""

import hashlib
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

COMMIT = "c0ffee" * 6 + "c0ff"
PIECE = 10 << 20  # what the hub's library writes at once
WEIGHTS = random.Random(0).randbytes(2 * PIECE + 4711)
HASH = hashlib.sha256(WEIGHTS).hexdigest()
FETCH = f"""
import sys
from headstart_export import sources
from headstart_export.recipe import HubSource
source = HubSource("org/model", "{COMMIT}", "model.gguf", "{HASH}")
path, commit = sources.fetch_from_hub(source, lambda *bytes: print(*bytes, flush=True), code=False)
print(path)
"""


class Hub(ThreadingHTTPServer):
    """Has one file; stops sending behind the first piece while `is_slow`."""

    is_slow = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.begun: list[int] = []  # where what was asked for begins
        self.closing = threading.Event()


class Answer(BaseHTTPRequestHandler):
    """A handler that describes a large file as the hub does."""

    server: Hub

    def do_HEAD(self) -> None:
        self._describe(0)

    def do_GET(self) -> None:
        begin = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        self.server.begun.append(begin)
        self._describe(begin)
        if self.server.is_slow:
            self.wfile.write(WEIGHTS[begin : begin + PIECE])
            self.server.closing.wait()
        else:
            self.wfile.write(WEIGHTS[begin:])

    def _describe(self, begin: int) -> None:
        self.send_response(206 if begin else 200)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{HASH}"')
        self.send_header("Content-Length", str(len(WEIGHTS) - begin))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Silent."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.closing.set()
    made.shutdown()
    made.server_close()
    thread.join()


def fetch(hub: Hub, cache: Path) -> subprocess.Popen[str]:
    variables = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HUB_CACHE": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-c", FETCH], env=os.environ | variables, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )


@pytest.mark.slow
def test_killed_download_is_resumed(hub: Hub, tmp_path: Path) -> None:
    with fetch(hub, tmp_path) as first:
        assert first.stdout
        assert first.stdout.readline() == f"{PIECE} {len(WEIGHTS)}\n"
        first.kill()
    hub.is_slow = False
    with fetch(hub, tmp_path) as second:
        *_, last, path = second.communicate()[0].splitlines()
    assert (hub.begun, last) == ([0, PIECE], f"{len(WEIGHTS)} {len(WEIGHTS)}")
    assert Path(path).read_bytes() == WEIGHTS
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.slow
def test_damaged_part_is_dropped(hub: Hub, tmp_path: Path) -> None:
    hub.is_slow = False
    blobs = tmp_path / "models--org--model" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{HASH}.partial").write_bytes(bytes(PIECE))
    with fetch(hub, tmp_path) as process:
        path = process.communicate()[0].splitlines()[-1]
    assert hub.begun == [PIECE, 0]
    assert Path(path).read_bytes() == WEIGHTS
