"""The logs: followed through rotation, filtered, searched, and free of what people write."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import qInstallMessageHandler
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from headstart import paths, settings_file
from headstart.engine.supervision import Journal
from headstart.ui import diary
from headstart.ui.log_view import LEVELS, LogFile, LogView
from headstart.ui.program import Program
from headstart.ui.widgets.theme import LIGHT
from tests.ui.person import ask

ENTRIES = """2026-01-01 10:00:00,000 INFO headstart.a: begins
2026-01-01 10:00:01,000 ERROR headstart.b: breaks
Traceback (most recent call last):
2026-01-01 10:00:02 WARNING headstart.c: of the engine, without fractions
"""
PRIVATE = "xylophone"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A log with three entries."""
    path = tmp_path / "window.log"
    path.write_text(ENTRIES, encoding="utf-8")
    return path


@pytest.fixture
def kept(headstart_home: Path) -> Iterator[Path]:
    """The window's log, written as in earnest."""
    before, level = list(logging.getLogger().handlers), logging.getLogger().level
    previous = qInstallMessageHandler(None)
    yield diary.keep()
    qInstallMessageHandler(previous)
    for handler in [each for each in logging.getLogger().handlers if each not in before]:
        logging.getLogger().removeHandler(handler)
        handler.close()
    logging.getLogger().setLevel(level)


def test_lines_have_the_level_of_their_entry(file: Path) -> None:
    lines = LogFile(file).news()
    assert [LEVELS[line.level] for line in lines] == ["INFO", "ERROR", "ERROR", "WARNING"]


def test_a_log_is_followed_line_by_line_and_through_rotation(file: Path) -> None:
    log = LogFile(file)
    log.news()
    with file.open("a", encoding="utf-8") as writer:
        writer.write("half")
        writer.flush()
        assert log.news() == ()
        writer.write(" and half\n")
    assert [line.text for line in log.news()] == ["half and half"]
    file.rename(file.with_suffix(".1"))
    assert log.news() == ()
    file.write_text("anew\n" * 100, encoding="utf-8")
    assert len(log.news()) == 100


def test_a_big_log_is_read_from_its_end_in_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    path.write_text("".join(f"line {number}\n" for number in range(10_000)), encoding="utf-8")
    lines = LogFile(path, first=100).news()
    assert 5 < len(lines) < 12
    assert lines[-1].text == "line 9999"
    assert all(line.text.startswith("line 99") for line in lines)


def test_a_missing_log_is_empty_and_may_come_later(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "later.log")
    assert log.news() == ()
    log.path.write_text("here\n", encoding="utf-8")
    assert [line.text for line in log.news()] == ["here"]


def test_the_window_filters_searches_follows_and_copies(qtbot: QtBot, file: Path, tmp_path: Path) -> None:
    view = LogView(LIGHT, {"Window": file, "Engine": tmp_path / "engine.log"})
    qtbot.addWidget(view)
    assert view.text.toPlainText() == ENTRIES.rstrip("\n")
    view.level.setCurrentIndex(2)
    assert view.text.toPlainText().splitlines() == ENTRIES.splitlines()[1:3]
    view.search.setText("TRACEBACK")
    assert view.text.toPlainText() == "Traceback (most recent call last):"
    with file.open("a", encoding="utf-8") as writer:
        writer.write("2026-01-01 10:00:03,000 CRITICAL headstart.d: a second traceback\n2026 INFO nothing\n")
    view._follow()
    assert len(view.text.toPlainText().splitlines()) == 2
    next(button for button in view.findChildren(type(view._button("", view.close))) if "Copy" in button.text()).click()
    assert QGuiApplication.clipboard().text() == view.text.toPlainText()
    view.file.setCurrentIndex(1)
    assert view.text.toPlainText() == ""


def test_both_logs_rotate(kept: Path, tmp_path: Path) -> None:
    log = logging.getLogger("headstart.test")
    for _ in range(3):
        log.info("x" * 600_000)
    assert sorted(path.name for path in kept.parent.iterdir()) == ["window.log", "window.log.1", "window.log.2"]
    journal = Journal(tmp_path / "engine.log")
    for _ in range(3):
        journal.write("x" * 1_100_000)
    assert {path.name for path in tmp_path.glob("engine.log*")} == {"engine.log", "engine.log.1", "engine.log.2"}


def test_what_people_write_is_in_no_log(qtbot: QtBot, kept: Path, app: Program) -> None:
    app.change(system_prompt=PRIVATE, prompts={"mine": PRIVATE})
    ask(qtbot, app, f"{PRIVATE} one")
    ask(qtbot, app, f"toy: refuse {PRIVATE}")
    app.chats.rename(app.chat_controller.session.chat.id, PRIVATE)
    app.chats.search(PRIVATE)
    settings = settings_file.default_path()
    settings.write_text(settings.read_text(encoding="utf-8") + f'\n[presets]\n"{PRIVATE}" = 1\n', encoding="utf-8")
    settings_file.load()
    logging.getLogger("headstart.test").info("the log is kept")
    logs = "".join(path.read_text(encoding="utf-8") for path in paths.logs_folder().iterdir())
    assert "the log is kept" in logs
    assert "presets must be a table of texts" in logs
    assert PRIVATE not in logs
