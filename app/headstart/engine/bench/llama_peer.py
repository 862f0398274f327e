"""llama.cpp's server as a peer: started on this computer's own loopback, asked over HTTP in tokens."""

import http.client
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstart.engine.bench.peers import PeerOptions
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Run
from headstart.errors import PeerError

PEER = "llama"
SWEPT = (2, 4, 8, 16)  # draft lengths; the server stops sooner by itself where its draft is unsure
_HOST = "127.0.0.1"
_START = 180.0  # seconds to load
_ANSWER = 600.0
_POLL = 0.1
_GRACE = 10.0


@dataclass(frozen=True)
class Files:
    """The server's program and the models in its own format; without both of the first there is no such peer."""

    server: Path | None
    target: Path | None
    draft: Path | None = None


@dataclass(frozen=True)
class LlamaMode:
    """One draft length; 0 is plain decoding."""

    name: str
    length: int
    source: "LlamaSource"
    options: PeerOptions

    def answer(self, prompt: BenchPrompt) -> Run:
        """See Contestant.answer. The times are the server's own figures, without HTTP."""
        ids = self.options.encode(prompt)
        said = self.source.complete(
            {
                "prompt": ids,
                "n_predict": self.options.tokens,
                "temperature": 0,
                "cache_prompt": False,
                "return_tokens": True,
                "speculative.n_min": 0,
                "speculative.n_max": self.length,
            }
        )
        times = said["timings"]
        tokens = tuple(token for token in said["tokens"] if token not in self.options.stop_ids)
        # llama.cpp counts the first token to decoding: one token's share of it goes back to where others have it.
        first = times["predicted_ms"] / max(times["predicted_n"], 1)
        return Run(
            tokens=tokens,
            ttft_ms=times["prompt_ms"] + first,
            decode_ms=times["predicted_ms"] - first,
            prompt_tokens=len(ids),
            drafted=times.get("draft_n", 0),
            accepted=times.get("draft_n_accepted", 0),
        )


@dataclass
class LlamaSource:
    """The server with its models, started when the race is."""

    files: Files
    words: str = "llama.cpp's server"
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _port: int = field(default=0, init=False)
    _log: Path = field(default_factory=Path, init=False)
    _started: ExitStack = field(default_factory=ExitStack, init=False)

    def open(self, options: PeerOptions) -> Sequence[LlamaMode]:
        """See PeerSource.open."""
        if self.files.server is None or self.files.target is None:
            raise PeerError(
                "llama.cpp stays out: name its server with --llama-server PATH and a model with --gguf FILE."
            )
        self._port = _free_port()
        self._log = Path(self._started.enter_context(tempfile.TemporaryDirectory())) / "llama-server.log"
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(self._command(options), stdout=log, stderr=log)
        except OSError as error:
            raise PeerError(f"llama.cpp stays out: {self.files.server} cannot be started ({error.strerror}).") from None
        self._started.callback(_end, self._process)
        self._await_ready()
        lengths = (0, *SWEPT) if self.files.draft else (0,)
        return tuple(LlamaMode(f"{PEER} {length or 'plain'}", length, self, options) for length in lengths)

    def complete(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """One answer. Raises PeerError when the server fails."""
        status, said = self._call("POST", "/completion", json.dumps(order))
        if status != http.HTTPStatus.OK:
            raise PeerError(f"llama.cpp's server answered with status {status}; leave it out and try again.")
        answer: dict[str, Any] = json.loads(said)
        return answer

    def close(self) -> None:
        """See PeerSource.close."""
        self._started.close()

    def _command(self, options: PeerOptions) -> list[str]:
        files = self.files
        command = [str(files.server), "--model", str(files.target), "--host", _HOST, "--port", str(self._port)]
        command += ["--ctx-size", str(options.context), "--parallel", "1"]
        return [*command, "--model-draft", str(files.draft)] if files.draft else command

    def _await_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _START
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise PeerError(f"llama.cpp stays out: its server ended ({self._last_words()}).")
            try:
                if self._call("GET", "/health")[0] == http.HTTPStatus.OK:
                    return
            except PeerError:
                pass  # it does not listen yet
            time.sleep(_POLL)
        raise PeerError(f"llama.cpp stays out: its server was not ready after {_START:.0f} s.")

    def _call(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(_HOST, self._port, timeout=_ANSWER)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise PeerError(f"llama.cpp's server does not answer ({error}); leave it out and try again.") from None
        finally:
            connection.close()

    def _last_words(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port
