"""Exports that go wrong half way: a sentence, nothing half done, and a next run that cleans up."""

import ctypes
import json
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart.library import export_leftovers, manifest
from tests.export.conftest import Offline


@pytest.mark.parametrize(
    ("stage", "sentence"),
    [
        (
            "fails while compressing",
            "Something unexpected happened (RuntimeError: a test wants this step to fail); nothing half done was left. "
            "Add --verbose to see where, and report it.",
        ),
        ("compresses nothing", "The weights should have become int8, but the converted model says fp16; nothing was"),
    ],
)
def test_failed_step_leaves_nothing(
    offline: Offline, tiny_source: Path, tmp_path: Path, stage: str, sentence: str
) -> None:
    (outcome,) = offline.export([str(tiny_source), "--output", str(tmp_path / "model")], stage=stage)
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].startswith(f"headstart-export: {sentence}")
    assert list(tmp_path.iterdir()) == []


def test_model_without_a_peer_has_no_draft_vocab(offline: Offline, tiny_source: Path, tmp_path: Path) -> None:
    alone = [str(tiny_source), "--output", str(tmp_path / "alone"), "--json"]
    pair = [str(tiny_source), "--draft", str(tiny_source), "--draft-vocab", "300", "--output", str(tmp_path / "pair")]
    made, refused = offline.export(alone, pair, stage="writes nothing")
    assert made.code == 0, made.err
    assert "(a test)" in made.err
    assert made.result["manifest"]["table"] is None
    assert manifest.TABLE_FILE not in made.result["manifest"]["files"]
    assert refused.code == 1
    assert "--draft-vocab full" in refused.err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["alone"]


def compressing(
    offline: Offline, source: Path, output: Path, stage: str = "hangs while compressing"
) -> "subprocess.Popen[str]":
    """Start an export that hangs after most of its work."""
    process = offline.start("-m", "tests.export.staged", stage)
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(json.dumps([[str(source), "--output", str(output)]]))
    process.stdin.close()
    process.stdin = None
    assert any("HANGING" in line for line in process.stderr)
    return process


def test_interrupt_leaves_nothing(offline: Offline, tiny_source: Path, tmp_path: Path) -> None:
    process = compressing(offline, tiny_source, tmp_path / "model")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    ended = json.loads(out)
    assert ended["code"] == 130
    assert "interrupted" in ended["err"]
    assert list(tmp_path.iterdir()) == []


def test_killed_export_is_cleaned_up_by_the_next(
    offline: Offline, tiny_source: Path, tiny_gguf_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "model"
    process = compressing(offline, tiny_source, output)
    (outcome,) = offline.export([str(tiny_source), "--output", str(output)])
    assert outcome.code == 1
    assert f" {process.pid}" in outcome.err
    process.kill()
    process.communicate()
    (left,) = tmp_path.glob(f"{export_leftovers.PREFIX}*")
    assert any(left.rglob("openvino_model.bin"))
    (outcome,) = offline.export([str(tiny_gguf_file), "--output", str(output)])
    assert outcome.code == 0, outcome.err
    assert list(tmp_path.iterdir()) == [output]


def test_killed_import_of_a_gguf_file_is_cleaned_up_by_the_next(
    offline: Offline, tiny_gguf_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "model"
    process = compressing(offline, tiny_gguf_file, output, "hangs while importing")
    process.kill()
    process.communicate()
    assert list(tmp_path.glob(f"{export_leftovers.PREFIX}*"))
    (outcome,) = offline.export([str(tiny_gguf_file), "--output", str(output)])
    assert outcome.code == 0, outcome.err
    assert list(tmp_path.iterdir()) == [output]


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of so many kilobytes."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    place = tmp_path / "small"
    place.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", bytes(place), b"tmpfs", 0, f"size={request.param}k".encode()):
        pytest.skip(f"no file system can be mounted here: {os.strerror(ctypes.get_errno())}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(
    ("small_disk", "is_file"), [(200, False), (1600, False), (2600, False), (100, True)], indirect=["small_disk"]
)
def test_full_disk_is_a_sentence(
    offline: Offline, tiny_source: Path, tiny_gguf_file: Path, small_disk: Path, *, is_file: bool
) -> None:
    arguments = [str(tiny_gguf_file if is_file else tiny_source), "--output", str(small_disk / "model")]
    (outcome,) = offline.export(arguments, stage="does not ask for room")
    assert outcome.code == 1, outcome.err
    last = outcome.err.splitlines()[-1]
    assert str(small_disk) in last
    assert list(small_disk.iterdir()) == []


def test_hostile_gguf_files_leave_nothing(offline: Offline, tiny_gguf_file: Path, tmp_path: Path) -> None:
    content, chance = tiny_gguf_file.read_bytes(), random.Random(0)
    files = []
    for number in range(20):
        made = bytearray(content)
        for _ in range(6):
            made[chance.randrange(2000)] = chance.randrange(256)
        files.append(tmp_path / f"hostile-{number}.gguf")
        files[-1].write_bytes(made[: chance.randrange(len(made))])
    outcomes = offline.export(*([str(file), "--output", str(tmp_path / "model")] for file in files))
    for file, outcome in zip(files, outcomes, strict=True):
        assert outcome.code == 1, outcome.err
        (line,) = outcome.err.splitlines()
        assert line.startswith(f"headstart-export: {file.name} ")
    assert sorted(tmp_path.iterdir()) == sorted(files)
