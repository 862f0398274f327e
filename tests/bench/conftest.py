"""Fixtures of the tests of programs that measure."""

import stat
import sys
from pathlib import Path

import pytest


@pytest.fixture
def llama_server(tmp_path: Path) -> Path:
    """A stand-in for llama.cpp's server; it writes its processes' numbers beside itself."""
    program = tmp_path / "llama-server"
    script = Path(__file__).with_name("fake_llama_server.py")
    program.write_text(f'#!/bin/sh\necho $$ >> "$0.pids"\nexec "{sys.executable}" "{script}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    return program
