"""The logs: a folder one command opens, bounded by rotation, and free of what people write."""

import errno
import logging
import os
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl, qInstallMessageHandler
from PySide6.QtGui import QDesktopServices
from pytestqt.qtbot import QtBot

from headstart import paths, settings
from headstart.engine.supervision import Journal
from headstart.ui import application
from headstart.ui.program import Program
from tests.ui.person import ask

PRIVATE = "xylophone"


@pytest.fixture
def kept(headstart_home: Path) -> Iterator[Path]:
    """The window's log, written in the usual way."""
    before, level = list(logging.getLogger().handlers), logging.getLogger().level
    previous = qInstallMessageHandler(None)
    yield application.start_log()
    qInstallMessageHandler(previous)
    for handler in [each for each in logging.getLogger().handlers if each not in before]:
        logging.getLogger().removeHandler(handler)
        handler.close()
    logging.getLogger().setLevel(level)


def test_command_opens_the_log_folder(app: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    app.window.actions_by_name["logs"].trigger()
    assert [Path(url.toLocalFile()) for url in opened] == [paths.logs_folder()]
    assert paths.logs_folder().is_dir()


def test_both_logs_rotate(kept: Path, tmp_path: Path) -> None:
    log = logging.getLogger("headstart.test")
    for _ in range(3):
        log.info("x" * 600_000)
    assert sorted(path.name for path in kept.parent.iterdir()) == ["window.log", "window.log.1", "window.log.2"]
    journal = Journal(tmp_path / "engine.log")
    for _ in range(3):
        journal.write("x" * 1_100_000)
    assert {path.name for path in tmp_path.glob("engine.log*")} == {"engine.log", "engine.log.1", "engine.log.2"}


def test_log_on_a_full_disk_prints_nothing(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_record: logging.LogRecord) -> bool:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (writer,) = [each for each in logging.getLogger().handlers if isinstance(each, RotatingFileHandler)]
    log = logging.getLogger("headstart.test")
    with monkeypatch.context() as fault:
        fault.setattr(writer, "shouldRollover", fail)
        log.info("lost")
    log.info("kept")
    assert kept.read_text(encoding="utf-8").endswith("kept\n")
    assert capsys.readouterr().err == ""


def test_messages_are_in_no_log(qtbot: QtBot, kept: Path, app: Program) -> None:
    app.settings.change(system_prompt=PRIVATE, prompts={"mine": PRIVATE})
    ask(qtbot, app, f"{PRIVATE} one")
    ask(qtbot, app, f"toy: refuse {PRIVATE}")
    app.chats.rename(app.chat_controller.session.chat.id, PRIVATE)
    app.chats.search(PRIVATE)
    path = settings.default_path()
    path.write_text(path.read_text(encoding="utf-8") + f'\n[presets]\n"{PRIVATE}" = 1\n', encoding="utf-8")
    settings.load()
    logging.getLogger("headstart.test").info("the log is kept")
    logs = "".join(path.read_text(encoding="utf-8") for path in paths.logs_folder().iterdir())
    assert "the log is kept" in logs
    assert "presets must be a table of texts" in logs
    assert PRIVATE not in logs
