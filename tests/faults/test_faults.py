"""A few rounds of every kind of fault, and a test for each find of the long version (`python -m tests.faults`)."""

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from PySide6.QtWidgets import QApplication

if sys.platform == "win32":
    pytest.skip("signals and limits of Unix are needed", allow_module_level=True)

from headstart.chat.history.backups import MAX_COPIES, back_up, is_due, keep_up, list_backups
from headstart.chat.history.store import open_store
from headstart.cli import main
from headstart.cli.editor import history_file
from headstart.cli.options import write_json
from headstart.errors import HistoryError, SettingsError
from headstart.library import import_folder
from headstart.settings import Settings, save
from headstart.ui.application import SingleInstance
from tests.faults import damage, keeping, kills
from tests.faults.kills import Where
from tests.faults.profile import Lost, PrintedLines, require_kept
from tests.ui.person import second_start

READ_ONLY = 1  # MS_RDONLY
KILLS = (
    kills.kill_window,
    kills.kill_editor,
    kills.kill_engine,
    kills.hang_engine,
    kills.stop_for_a_while,
    kills.start_twice,
)
OF_FILES = (
    damage.tear_file,
    damage.tear_log_of_changes,
    damage.fill_disk,
    damage.fill_disk_while_saving,
    damage.fill_disk_while_exporting,
    damage.fill_disk_while_keeping,
    damage.delete_while_keeping,
    damage.jump_clock,
)


@pytest.fixture
def home(headstart_home: Path) -> Path:
    headstart_home.mkdir()
    return headstart_home


@pytest.mark.slow
@pytest.mark.parametrize("attempt", KILLS)
def test_kill_loses_nothing(home: Path, attempt: Callable[[Where, Random], None]) -> None:
    attempt(Where(home), Random(7))


@pytest.mark.parametrize("attempt", OF_FILES)
def test_file_fault_loses_nothing(home: Path, attempt: Callable[[Path, Random], None]) -> None:
    for seed in range(12):
        attempt(home, Random(seed))


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_kill_leaves_whole_prefix_parts(home: Path, rounds: int) -> None:
    for seed in range(rounds):
        kills.kill_keeper(home, Random(seed))


def test_unwritable_prefix_parts_are_read_again(read_only: Path, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / "file").write_text("mine", encoding="utf-8")
    for root in (read_only / "prompts", home / "file"):
        caplog.clear()
        keeping.keep(root, 1, 10)
        assert len(caplog.records) == 1
    assert (home / "file").read_text(encoding="utf-8") == "mine"


def test_loss_is_noticed(home: Path) -> None:
    store = open_store(home / "history")
    chat = store.create_chat("empty")
    store.close()
    sent = {"is": "sent", "at": 0.0, "chat": chat.id, "text": "where am I?"}
    with pytest.raises(Lost, match="where am I"):
        require_kept(home, PrintedLines([sent]), 10.0)
    shown = {"is": "shown", "at": 0.0, "chat": chat.id, "message": 2, "length": 30, "sum": 0}
    with pytest.raises(Lost, match="30 characters were shown"):
        require_kept(home, PrintedLines([shown]), 10.0)
    require_kept(home, PrintedLines([shown]), 0.5)


@pytest.mark.parametrize("content", [b"", b"\0" * 40, b"garbage\n\xff\n"])
def test_damaged_lock_does_not_hinder_the_start(qapp: QApplication, home: Path, content: bytes) -> None:
    (home / "window.lock").write_bytes(content)
    instance = SingleInstance(home)
    assert instance.claim()
    assert not second_start(home)
    instance.release()


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder that not even root can write."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(0o500)
        yield folder
        folder.chmod(0o700)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", bytes(folder), b"tmpfs", READ_ONLY, b"size=64k"):
        pytest.skip(f"no file system can be mounted here: {os.strerror(ctypes.get_errno())}")
    yield folder
    libc.umount(bytes(folder))


def test_unwritable_home_is_reported(qapp: QApplication, read_only: Path) -> None:
    instance = SingleInstance(read_only / "none") if os.geteuid() == 0 else SingleInstance(read_only)
    assert instance.claim()
    assert instance.claim()
    with pytest.raises(HistoryError, match=r"cannot be (used|written)"):
        open_store(read_only / "history")
    with pytest.raises(SettingsError, match="cannot be saved"):
        save(Settings(theme="dark"), read_only / "settings.toml")
    instance.release()


@pytest.mark.slow
def test_terminal_answers_with_an_unwritable_home(
    read_only: Path, tiny_target: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADSTART_HOME", str(read_only))
    code = main(["chat", "--model", str(tiny_target), "--prompt", "a b c", "--max-new-tokens", "4", "--json"])
    assert code == 0
    assert len(json.loads(capsys.readouterr().out)["token_ids"]) == 4
    assert list(read_only.iterdir()) == []


def test_backup_of_a_future_day_does_not_stop_new_ones(home: Path) -> None:
    store = open_store(home / "history")
    store.create_chat("kept")
    for day in range(1, MAX_COPIES + 2):
        made = back_up(store._connection, home / "history", "daily")
        later = time.time() + day * 24 * 3600.0
        os.utime(made.path, (later, later))
    assert is_due(home / "history")
    made = keep_up(store.path.parent, store.key)  # type: ignore[assignment]
    store.close()
    assert made
    assert made.path.exists()
    assert len(list_backups(home / "history")) == MAX_COPIES
    assert not is_due(home / "history")


def test_typed_history_on_a_full_disk_costs_nothing(tmp_path: Path) -> None:
    kept = history_file(tmp_path / "typed")
    (tmp_path / "typed").unlink()
    (tmp_path / "typed").symlink_to("/dev/full")
    kept.append_string("hello")
    assert kept.get_strings() == ["hello"]


def test_unfinished_backup_is_removed(home: Path) -> None:
    store = open_store(home / "history")
    (home / "history" / "backups").mkdir(exist_ok=True)
    left = home / "history" / "backups" / "20260101-000000-daily.new"
    young = left.with_name("20260102-000000-daily.new")
    for file in (left, young):
        file.write_bytes(b"half")
    long_ago = time.time() - 2 * 24 * 3600.0
    os.utime(left, (long_ago, long_ago))
    back_up(store._connection, home / "history", "daily")
    store.close()
    assert young.exists()
    assert not left.exists()
    assert list_backups(home / "history")


def test_measurement_on_a_full_disk_keeps_the_older_one(home: Path) -> None:
    file = home / "bench.json"
    write_json(file, {"figures": 1})
    with damage.no_file_beyond(100), pytest.raises(SettingsError, match="cannot be written"):
        write_json(file, {"figures": list(range(100))})
    assert json.loads(file.read_text(encoding="utf-8")) == {"figures": 1}
    assert [path.name for path in home.iterdir()] == ["bench.json"]


def test_measurement_may_go_to_a_device(home: Path) -> None:
    file = home / "device"
    file.symlink_to("/dev/null")
    write_json(file, {"figures": 1})
    assert file.is_symlink()


def test_leftovers_of_killed_copies_are_removed(home: Path) -> None:
    models = home / "models"
    for name in (f".incoming-{os.getpid()}-a", ".incoming-999999999-b", ".incoming-c", "model"):
        (models / name).mkdir(parents=True)
    import_folder.sweep(models)
    assert sorted(path.name for path in models.iterdir()) == [f".incoming-{os.getpid()}-a", "model"]
    kills.kill_intake(home, Random(1))
