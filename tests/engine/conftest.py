"""Fixtures of the engine's tests: tiny tokenizers, and engines over tiny models, each made once per run."""

import dataclasses
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from headstart.engine import answer_writer
from headstart.engine.engine import LoadOptions
from headstart.engine.local import LocalEngine
from headstart.engine.text.tokenizer import Tokenizer
from headstart.library import manifest
from tests.conftest import built_once
from tests.engine.answers import load
from tests.engine.text import tiny_tokenizers


@pytest.fixture(scope="session")
def tokenizer_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with one tokenizer folder per kind of `tiny_tokenizers`; copy before altering."""
    built = built_once("tests.engine.text.tiny_tokenizers")
    return Path(shutil.copytree(built, tmp_path_factory.mktemp("tokenizers") / "kinds"))


@pytest.fixture(scope="session")
def tokenizers(tokenizer_folders: Path) -> Mapping[str, Tokenizer]:
    """A tokenizer of each usual kind, by its name."""
    return {kind: Tokenizer(tokenizer_folders / kind) for kind in tiny_tokenizers.KINDS}


@pytest.fixture(params=tiny_tokenizers.KINDS)
def tokenizer(request: pytest.FixtureRequest, tokenizers: Mapping[str, Tokenizer]) -> Tokenizer:
    """Each of the usual kinds of tokenizers in turn."""
    return tokenizers[request.param]


@pytest.fixture(scope="session")
def byte_level(tokenizers: Mapping[str, Tokenizer]) -> Tokenizer:
    """The kind of tokenizer of Qwen and Llama 3."""
    return tokenizers[tiny_tokenizers.BYTE_LEVEL]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> int:
    """Treat a few repeated tokens of any answer as a repetition."""
    tokens = 10

    class Hasty:
        def __init__(self) -> None:
            self._count = 0

        def add(self, _token: int, _text: str = "") -> int:
            self._count += 1
            return 4 if self._count >= tokens else 0

    monkeypatch.setattr(answer_writer, "Repetition", Hasty)
    return tokens


@pytest.fixture(scope="session")
def pair_engine(tiny_target: Path, tiny_draft: Path, tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return _loaded(LoadOptions(tiny_target, tiny_draft), tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def lone_engine(tiny_target: Path, tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """The tiny target, with n-grams only."""
    return _loaded(LoadOptions(tiny_target), tmp_path_factory.mktemp("home"))


@pytest.fixture
def altered(tmp_path: Path) -> Callable[..., Path]:
    """A function that copies a model folder and changes its manifest: `altered(folder, context_length=100)`."""

    def alter(folder: Path, **fields: object) -> Path:
        copy = Path(shutil.copytree(folder, tmp_path / "altered" / folder.name))
        manifest.write(copy, dataclasses.replace(manifest.read_model(copy), **fields))  # type: ignore[arg-type]
        return copy

    return alter


@pytest.fixture
def measured(headstart_home: Path) -> Path:
    """The folder of measurements, which does not exist yet."""
    return headstart_home / "measured"


def _loaded(options: LoadOptions, home: Path) -> LocalEngine:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_HOME", str(home))
        return load(options)
