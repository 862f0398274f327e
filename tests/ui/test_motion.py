"""Nothing moves by itself where the settings or the desktop forbid it, and everything does where they do not."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from headstart.ui.program import Program
from headstart.ui.widgets.progress import BusyBar

ROOT = Path(__file__).resolve().parents[2]


def _moving(app: Program) -> list[BusyBar]:
    bars = app.window.findChildren(BusyBar)
    assert bars
    return [bar for bar in bars if bar.maximum() == 0]


def test_the_setting_holds_everything_still_and_lets_it_go(qapp: QApplication, app: Program) -> None:
    effect = Qt.UIEffect.UI_AnimateMenu
    flash, animated = qapp.cursorFlashTime(), qapp.isEffectEnabled(effect)
    assert _moving(app)
    app.settings.change(reduced_motion=True)
    assert not _moving(app)
    assert (qapp.cursorFlashTime(), qapp.isEffectEnabled(effect)) == (0, False)
    assert app.race._still
    app.settings.change(reduced_motion=False)
    assert _moving(app)
    assert (qapp.cursorFlashTime(), qapp.isEffectEnabled(effect)) == (flash, animated)


def test_a_closed_window_leaves_the_cursor_as_it_was(qapp: QApplication, qtbot: QtBot, app: Program) -> None:
    flash = qapp.cursorFlashTime()
    app.settings.change(reduced_motion=True)
    app.window.close()
    assert qapp.cursorFlashTime() == flash


def test_the_desktop_is_heard_too(app: Program) -> None:
    app.motion._note_change("org.gnome.desktop.interface", "enable-animations", value=False)
    assert app.motion.reduced
    assert not _moving(app)
    app.motion._note_change("org.gnome.desktop.interface", "cursor-size", value=True)
    assert app.motion.reduced
    app.motion._note_change("org.gnome.desktop.interface", "enable-animations", value=True)
    assert not app.motion.reduced


@pytest.mark.skipif(not shutil.which("dbus-run-session"), reason="no bus can be started")
def test_the_portal_is_asked_and_tells_of_changes() -> None:
    command = ["dbus-run-session", "--", sys.executable, "-m", "tests.ui.desktop_bus", "motion"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [True, False]
