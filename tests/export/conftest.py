"""Fixtures of the export tests: small packages, small GGUF files, and the export tool run without a network."""

import json
import lzma
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headstart_export.progress import Plain
from tests.conftest import USER_ENVIRONMENT
from tests.export import tiny_gguf

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).resolve().parents[2]

# Python runs this at the start of every process of an offline export, those it starts included.
NO_NETWORK = """
import socket

def refuse(*_arguments, **_options):
    raise OSError("a test forbids the network")

socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
"""


@dataclass(frozen=True)
class Outcome:
    """How one run of the export tool ended."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        """What `--json` printed."""
        return json.loads(self.out)


Offline = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="session")
def start_offline(tmp_path_factory: pytest.TempPathFactory) -> Offline:
    """Start `python ARGUMENTS...` where any attempt to reach the network fails, in a home of its own."""
    folder = tmp_path_factory.mktemp("offline")
    (folder / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    environment = {
        **USER_ENVIRONMENT,
        "HF_HUB_OFFLINE": "1",
        "HEADSTART_HOME": str(folder / "home"),
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
    }

    def start(*arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *arguments],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return start


@pytest.fixture(scope="session")
def export_offline(start_offline: Offline) -> Callable[..., Outcome]:
    """Run `headstart-export ARGUMENTS...` to its end, without a network."""

    def run(*arguments: str) -> Outcome:
        process = start_offline("-m", "headstart_export", *arguments)
        out, err = process.communicate(timeout=600)
        return Outcome(process.returncode, out, err)

    return run


@pytest.fixture
def spoken(capsys: pytest.CaptureFixture[str]) -> Plain:
    """A reporter that says its lines to standard error, for `capsys` to read."""
    return Plain(sys.stderr)


@pytest.fixture
def make_wheel() -> Callable[[Path, str, dict[str, bytes]], Path]:
    """Write the wheel of "name==version" with these members into a folder."""

    def make(folder: Path, package: str, members: dict[str, bytes]) -> Path:
        name, version = package.replace("-", "_").split("==")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}-{version}-py3-none-any.whl"
        info = f"{name}-{version}.dist-info"
        described = {
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": b"",
        }
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in {**members, **described}.items():
                archive.writestr(member, content)
        return path

    return make


@pytest.fixture(scope="session")
def gpt2_vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file with GPT-2's vocabulary and no weights, written by llama.cpp's own tools."""
    path = tmp_path_factory.mktemp("vocabulary") / "gpt-2.gguf"
    path.write_bytes(lzma.decompress((DATA / "ggml-vocab-gpt-2.gguf.xz").read_bytes()))
    return path


@pytest.fixture(scope="session")
def tiny_gguf_file(tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny target's weights and tokenizer as a GGUF file."""
    path = tmp_path_factory.mktemp("gguf") / "tiny-target.gguf"
    tiny_gguf.write(tiny_source, path)
    return path
