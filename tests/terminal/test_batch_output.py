"""The file of answers: what is kept of an earlier run, and what a full disk leaves."""

import errno
import json
import os
import sys
from pathlib import Path

import pytest

from headstart.errors import BatchError, SettingsError
from headstart.terminal.batch_order import arranged
from headstart.terminal.batch_output import Answers, Earlier, resume

FIRST = b'{"id": 1, "text": "a", "finish_reason": "stop"}\n'
SECOND = '{"id": "2", "text": "größer", "finish_reason": "length"}\n'.encode()
FAILED = b'{"id": null, "line": 3, "error": "it is not JSON."}\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


def test_a_first_run_finds_nothing_and_makes_nothing(file: Path) -> None:
    assert resume(file) == Earlier()
    assert not file.exists()


def test_whole_answers_are_found_and_left_alone(file: Path) -> None:
    file.write_bytes(FIRST + SECOND)
    before = file.stat()
    assert resume(file) == Earlier(frozenset({1, "2"}))
    assert file.stat() == before


@pytest.mark.parametrize("torn", [SECOND[:length] for length in (1, 5, 20, len(SECOND) - 2)] + [b'{"id"\0\0\0'])
def test_a_torn_last_line_is_dropped(file: Path, torn: bytes) -> None:
    file.write_bytes(FIRST + torn)
    assert resume(file) == Earlier(frozenset({1}), torn=True)
    assert file.read_bytes() == FIRST


def test_an_answer_that_lacks_only_its_line_feed_is_whole(file: Path) -> None:
    file.write_bytes(FIRST + SECOND[:-1])
    assert resume(file) == Earlier(frozenset({1, "2"}))
    assert file.read_bytes() == FIRST + SECOND


def test_errors_are_dropped_to_be_tried_again(file: Path) -> None:
    file.write_bytes(FIRST + FAILED + SECOND)
    assert resume(file) == Earlier(frozenset({1, "2"}), errors=1)
    assert file.read_bytes() == FIRST + SECOND


@pytest.mark.parametrize(
    "content", [b"my diary\n", b"my diary", FIRST + b"{}\n" + SECOND, b'{"id": 1, "prompt": "Hi"}\n', b"\xff\n", b"[]"]
)
def test_a_file_of_something_else_is_refused_and_left_alone(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(SettingsError, match="holds something else than answers"):
        resume(file)
    assert file.read_bytes() == content


def test_lines_are_added_whole(file: Path) -> None:
    with Answers(file) as answers:
        answers.add({"id": 1, "text": "a\u2028ö\n"})
        assert file.read_text(encoding="utf-8").endswith("\n")
        answers.add({"id": 2, "text": "b"})
    lines = file.read_bytes().split(b"\n")
    assert [json.loads(line)["text"] for line in lines[:-1]] == ["a\u2028ö\n", "b"]
    assert lines[-1] == b""


def test_a_full_disk_is_a_sentence_and_takes_no_earlier_answer(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Answers(file) as answers:
        answers.add({"id": 1, "text": "a"})
        before = file.read_bytes()
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(BatchError, match=r"cannot be written \(No space left on device\); .* are whole"):
            answers.add({"id": 2, "text": "b"})
    assert file.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a file's size are Unix's")
def test_a_line_that_fits_only_in_part_is_taken_back(file: Path) -> None:
    import resource  # noqa: PLC0415 - exists on Unix only
    import signal  # noqa: PLC0415

    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with Answers(file) as answers:
            answers.add({"id": 1, "text": "a"})
            before = file.read_bytes()
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
            with pytest.raises(BatchError, match="File too large"):
                answers.add({"id": 2, "text": "b" * 100})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, previous)
    assert file.read_bytes() == before


def test_what_is_kept_is_not_lost_where_it_cannot_be_written_anew(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file.write_bytes(FIRST + FAILED)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BatchError, match="No space left"):
        resume(file)
    assert file.read_bytes() == FIRST + FAILED
    assert list(file.parent.iterdir()) == [file]


def test_a_folder_that_is_gone_is_named(file: Path) -> None:
    with pytest.raises(BatchError, match="cannot be written"):
        Answers(file / "deeper")


def test_prompts_that_begin_alike_stand_together_and_others_as_they_came() -> None:
    shared = "system\n" + "x" * 300
    assert arranged(["z", f"{shared} b", "a", f"{shared} a c", f"{shared} a b", "b"]) == [0, 4, 3, 1, 2, 5]
    assert arranged([]) == []
