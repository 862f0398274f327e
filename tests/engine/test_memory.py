"""Mapped weight pages are given back; what is needed again is read again."""

import mmap
import sys
import threading
from pathlib import Path

import psutil
import pytest

from headstart.engine.memory import release, released

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are given back on Linux only")
SIZE = 64 * 2**20


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "openvino_model.bin"
    path.write_bytes(b"\x07" * SIZE)
    return path


def shared_bytes() -> int:
    return int(psutil.Process().memory_info().shared)


def test_pages_of_the_file_leave_memory_and_can_be_read_again(weights: Path) -> None:
    with weights.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        assert view[:].count(7) == SIZE
        before = shared_bytes()
        release(weights)
        assert before - shared_bytes() > 0.9 * SIZE
        assert view[SIZE // 2] == 7


def test_what_the_process_changed_stays(weights: Path) -> None:
    with weights.open("r+b") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as view:
        view[5] = 9
        release(weights)
        assert view[5] == 9


def fail_with_pages_read(view: mmap.mmap, weights: Path) -> None:
    with released(weights):
        assert view[:].count(7) == SIZE
        raise RuntimeError("refused")


def test_the_end_of_loading_releases_even_after_an_error(weights: Path) -> None:
    with weights.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        before = shared_bytes()
        with pytest.raises(RuntimeError, match="refused"):
            fail_with_pages_read(view, weights)
        assert shared_bytes() - before < 0.1 * SIZE
    assert not [thread for thread in threading.enumerate() if thread.name == "release-weights"]


def test_a_file_that_is_not_mapped_is_no_matter(tmp_path: Path) -> None:
    with released(tmp_path / "absent.bin"):
        pass
