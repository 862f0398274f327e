"""What the memory gives, and the weights that a step reads of it."""

from pathlib import Path

import pytest

from bench.research.memory_limit import bytes_each_step, read_bandwidth


def test_bandwidth_counts_all_threads() -> None:
    assert read_bandwidth(threads=2, size=3 * 2**20, passes=2) > 1e8


def test_the_weights_of_a_step_leave_out_tables_of_which_it_takes_a_row(tiny_target: Path) -> None:
    rows, width = 640, 64
    table = rows * width * 2
    all_weights = (tiny_target / "openvino_model.bin").stat().st_size
    read = bytes_each_step(tiny_target)
    # The head is as large as the embedding, and is read. Some small constants share their bytes in the file.
    assert read == pytest.approx(all_weights - table, abs=4096)
