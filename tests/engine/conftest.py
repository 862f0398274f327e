"""Fixtures of the engine's tests: tiny tokenizers, built once per run in a process of their own."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from headstart.engine.tokenizer import Tokenizer
from tests.engine import tiny_tokenizers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tokenizer_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with one tokenizer folder per kind of `tiny_tokenizers`; copy before altering."""
    folder = tmp_path_factory.mktemp("tokenizers")
    command = [sys.executable, "-m", "tests.engine.tiny_tokenizers", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def tokenizers(tokenizer_folders: Path) -> Mapping[str, Tokenizer]:
    """One of each usual kind, by its name."""
    return {kind: Tokenizer(tokenizer_folders / kind) for kind in tiny_tokenizers.KINDS}


@pytest.fixture(params=tiny_tokenizers.KINDS)
def tokenizer(request: pytest.FixtureRequest, tokenizers: Mapping[str, Tokenizer]) -> Tokenizer:
    """Each of the usual kinds in turn."""
    return tokenizers[request.param]


@pytest.fixture(scope="session")
def byte_level(tokenizers: Mapping[str, Tokenizer]) -> Tokenizer:
    """The kind that Qwen and Llama 3 use."""
    return tokenizers[tiny_tokenizers.BYTE_LEVEL]
