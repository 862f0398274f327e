"""Fixtures of the export tests: small packages, small GGUF files, and the export tool run without a network."""

import dataclasses
import io
import json
import lzma
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headstart_export.progress import PlainProgress
from tests.conftest import EXPORTER, USER_ENVIRONMENT, kept, sources_of
from tests.export.gguf import tiny_gguf

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).resolve().parents[2]
OUTCOMES = "outcomes.json"
# What an export runs beside the exporter, and what makes the tiny models.
RUN_BY_EXPORTER = (
    *(f"app/headstart/engine/{name}" for name in ("hardware", "kernels", "runners", "text/jinja.py")),
    "app/headstart/errors.py",
    "tests/stand_ins/tiny.py",
    "tests/export/conftest.py",
    "tests/export/staged.py",
    "tests/export/gguf/tiny_gguf.py",
)

# Python runs this at the start of every process of an offline export, those it starts included.
NO_NETWORK = """
import socket

def refuse(*_arguments, **_options):
    raise OSError("a test forbids the network")

socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
"""
NO_CONVERTERS = """
import sys

for name in ("torch", "nncf", "optimum", "accelerate"):
    sys.modules[name] = None
"""


@dataclass(frozen=True)
class Outcome:
    """The end of a run of the exporter."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        """Return what `--json` printed."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Exports:
    """Outcomes by name, and the folder of what was exported."""

    folder: Path
    outcomes: dict[str, Outcome]


@dataclass(frozen=True)
class Offline:
    """A starter of Python programs without a network, in a home of their own."""

    environment: dict[str, str]

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start `python ARGUMENTS...` with pipes on all three streams."""
        return subprocess.Popen(
            [sys.executable, *arguments],
            env=self.environment,
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def export(self, *runs: list[str], stage: str = "as it is") -> list[Outcome]:
        """Run the export tool for each list of arguments, all in one process; `stage` as in `staged.py`."""
        process = self.start("-m", "tests.export.staged", stage)
        out, err = process.communicate(json.dumps(runs), timeout=1800)
        assert process.returncode == 0, err
        return [Outcome(**line) for line in map(json.loads, out.splitlines())]


def kept_exports(
    name: str, offline: Offline, runs: Callable[[Path, Path], dict[str, list[str]]], refused: set[str], *tests: str
) -> Exports:
    """Export once per machine for each state of the exporter and of the files `tests`.

    `runs` gets the folder of the hub's cache and that of the results, and returns the arguments of each run by its
    name. Those of `refused` must fail, and no others, else nothing is kept.
    """

    def make(folder: Path) -> None:
        arguments = runs(folder / "hub", folder / "made")
        apart = Offline({**offline.environment, "HF_HUB_CACHE": str(folder / "hub")})
        outcomes = dict(zip(arguments, apart.export(*arguments.values()), strict=True))
        failed = {key: outcome.err for key, outcome in outcomes.items() if outcome.code}
        assert failed.keys() == refused, failed
        content = {key: dataclasses.asdict(outcome) for key, outcome in outcomes.items()}
        (folder / OUTCOMES).write_text(json.dumps(content), encoding="utf-8")

    folder = kept(name, sources_of(*EXPORTER, *RUN_BY_EXPORTER, *tests), make)
    content = json.loads((folder / OUTCOMES).read_text(encoding="utf-8"))
    return Exports(folder / "made", {key: Outcome(**outcome) for key, outcome in content.items()})


@pytest.fixture(scope="session")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Offline:
    """A runner of exports in which every attempt to reach the network fails, in child processes too."""
    folder = tmp_path_factory.mktemp("offline")
    (folder / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    return Offline(
        {
            **USER_ENVIRONMENT,
            "HF_HUB_OFFLINE": "1",
            "HEADSTART_HOME": str(folder / "home"),
            "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT), *_search_path()]),
        }
    )


def _search_path() -> list[str]:
    """Return the entries of PYTHONPATH: the packages under test may lie in another tree than those installed."""
    return [place for place in USER_ENVIRONMENT.get("PYTHONPATH", "").split(os.pathsep) if place]


@dataclass
class Spoken:
    """A progress reporter that records its lines."""

    text: io.StringIO = field(default_factory=io.StringIO)

    @property
    def progress(self) -> PlainProgress:
        """Return the reporter for the code under test."""
        return PlainProgress(self.text)

    @property
    def lines(self) -> list[str]:
        """Return the lines printed so far."""
        return self.text.getvalue().splitlines()


@pytest.fixture
def spoken() -> Spoken:
    """A record of an export's progress."""
    return Spoken()


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
    return _unpacked("gpt-2", tmp_path_factory)


@pytest.fixture(scope="session")
def phi3_vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vocabulary of Phi 3, which is SentencePiece's."""
    return _unpacked("phi-3", tmp_path_factory)


def _unpacked(name: str, folders: pytest.TempPathFactory) -> Path:
    path = folders.mktemp("vocabulary") / f"{name}.gguf"
    path.write_bytes(lzma.decompress((DATA / f"ggml-vocab-{name}.gguf.xz").read_bytes()))
    return path


@pytest.fixture(scope="session")
def tiny_gguf_file(tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny target's weights and tokenizer as a GGUF file."""
    path = tmp_path_factory.mktemp("gguf") / "tiny-target.gguf"
    tiny_gguf.write(tiny_source, path)
    return path
