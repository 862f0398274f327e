"""What was measured survives the process, for its subject only; damage costs a measurement, never an error."""

import logging
from pathlib import Path

import pytest

from headstart.engine.measurements import Measurements

SUBJECT = {"model": "tiny", "device": "CPU", "openvino": "2026.4.1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Not yet there, nor is its parent."""
    return tmp_path / "data" / "measured"


def test_a_value_is_there_again(folder: Path) -> None:
    Measurements(folder, "tiny", SUBJECT).put("precision", {"hint": "f32", "ms": [1.5, 2]})
    later = Measurements(folder, "tiny", SUBJECT)
    assert later.get("precision") == {"hint": "f32", "ms": [1.5, 2]}
    assert later.get("runner") is None


def test_values_are_kept_beside_each_other_and_replaced(folder: Path) -> None:
    measurements = Measurements(folder, "tiny", SUBJECT)
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        measurements.put(key, value)
    later = Measurements(folder, "tiny", SUBJECT)
    assert (later.get("a"), later.get("b")) == (3, 2)
    assert [path.suffix for path in folder.iterdir()] == [".json"]


@pytest.mark.parametrize("key", SUBJECT)
def test_another_subject_knows_nothing_of_it(folder: Path, key: str) -> None:
    Measurements(folder, "tiny", SUBJECT).put("a", 1)
    assert Measurements(folder, "tiny", SUBJECT | {key: "another"}).get("a") is None
    assert Measurements(folder, "tiny", SUBJECT).get("a") == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"{",
        b"[]",
        b"7",
        b"null",
        b"{}",
        b'{"values": [1, 2]}',
        b'{"values": null}',
        b'{"subject": {}, "values": {"a": 1',
    ],
)
def test_a_damaged_file_counts_as_empty_and_is_replaced(folder: Path, content: bytes) -> None:
    Measurements(folder, "tiny", SUBJECT).put("a", 1)
    (path,) = folder.iterdir()
    path.write_bytes(content)
    measurements = Measurements(folder, "tiny", SUBJECT)
    assert measurements.get("a") is None
    measurements.put("a", 2)
    assert Measurements(folder, "tiny", SUBJECT).get("a") == 2


def test_a_place_that_cannot_be_written_is_logged_and_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    occupied = tmp_path / "measured"
    occupied.write_text("not a folder")
    measurements = Measurements(occupied, "tiny", SUBJECT)
    with caplog.at_level(logging.WARNING):
        measurements.put("a", 1)
    assert "measurements are not kept" in caplog.text
    assert measurements.get("a") == 1
    assert occupied.read_text() == "not a folder"


@pytest.mark.parametrize("name", ["org/model", "..\\..\\model", "../../model", "a:b*c?", "x" * 300, "", "模型"])
def test_any_name_gives_one_file_in_the_folder(folder: Path, name: str) -> None:
    Measurements(folder, name, SUBJECT).put("a", 1)
    (path,) = folder.iterdir()
    assert path.is_file()
    assert not set(path.name) & set('\\/:*?"<>|')
    assert Measurements(folder, name, SUBJECT).get("a") == 1
