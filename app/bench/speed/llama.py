"""llama.cpp's server, started and asked by the benchmarks of other programs.

It is its own program, or one around the package xllamacpp (`llama_package.py`).
"""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import httpx

from headstart.engine.bench.genai_peer import PeerOptions
from headstart.engine.bench.race import TimedAnswer
from headstart.engine.hardware import devices
from headstart.errors import PeerError

_HOST = "127.0.0.1"
_START = 180.0  # seconds to load
_ANSWER = 600.0
_POLL = 0.1
_GRACE = 10.0  # seconds to end by itself
_PACKAGE = Path(__file__).with_name("llama_package.py")

Command = Sequence[str | Path]


def package(python: Path) -> Command:
    """Return the command of the server in the package xllamacpp, which `python` has."""
    return (python, _PACKAGE)


@contextmanager
def serve(
    server: Command, target: Path, context: int, flags: Sequence[str] = (), slots: int = 1
) -> Iterator[httpx.Client]:
    """Context manager with a running server. Raises PeerError if it does not start."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port = probe.getsockname()[1]
    command = [*map(str, server), "--model", str(target), "--host", _HOST, "--port", str(port)]
    command += ["--threads", str(devices.cores())]
    command += ["--ctx-size", str(slots * context), "--parallel", str(slots), *flags]
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=_without_path())
        except OSError as error:
            raise PeerError(
                "llama.cpp stays out: {server} cannot be started ({reason}).",
                server=server[0],
                reason=error.strerror,
            ) from None
        try:
            with httpx.Client(base_url=f"http://{_HOST}:{port}", timeout=_ANSWER, trust_env=False) as client:
                _await_ready(process, client, log)
                yield client
        finally:
            end(process)


def _without_path() -> dict[str, str]:
    """Return an environment for another Python, in which it does not find this one's modules."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _await_ready(process: "subprocess.Popen[bytes]", client: httpx.Client, log: IO[bytes]) -> None:
    deadline = time.monotonic() + _START
    while time.monotonic() < deadline:
        if process.poll() is not None:
            log.seek(0)
            lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
            words = lines[-1] if lines else "it said nothing"
            raise PeerError("llama.cpp stays out: its server ended ({words}).", words=words)
        with suppress(httpx.TransportError):  # it does not listen yet
            if client.get("/health").is_success:
                return
        time.sleep(_POLL)
    raise PeerError("llama.cpp stays out: its server was not ready after {seconds:.0f} s.", seconds=_START)


def complete(client: httpx.Client, options: PeerOptions, ids: list[int], **caching: object) -> TimedAnswer:
    """Answer the prompt `ids`, timed by the server's own figures, without HTTP. Raises PeerError."""
    order = {"prompt": ids, "n_predict": options.tokens, "temperature": 0, "return_tokens": True, **caching}
    try:
        response = client.post("/completion", json=order)
    except httpx.HTTPError as error:
        raise PeerError(
            "llama.cpp's server does not answer ({error}); leave it out and try again.", error=error
        ) from None
    if not response.is_success:
        raise PeerError(
            "llama.cpp's server answered with status {status}; leave it out and try again.", status=response.status_code
        )
    said = response.json()
    times = said["timings"]
    return TimedAnswer(
        tokens=tuple(token for token in said["tokens"] if token not in options.stop_ids),
        ttft_ms=times["prompt_ms"],
        decode_ms=times["predicted_ms"],  # without the first token: of an answer of one it is 0
        prompt_tokens=len(ids),
        drafted=times.get("draft_n", 0),
        accepted=times.get("draft_n_accepted", 0),
        reused=len(ids) - times["prompt_n"],
    )


def end(process: "subprocess.Popen[bytes] | subprocess.Popen[str]") -> None:
    """End a process by closing its input, if it reads any."""
    if process.stdin:
        with suppress(OSError):
            process.stdin.close()
    else:
        process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
