"""The actions of a person at the window, and what a person sees there."""

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import NamedTuple

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QTreeWidget, QWidget
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Role, State
from headstart.ui.composer.attachments import AttachmentChip
from headstart.ui.program import Program
from headstart.ui.settings.preferences_dialog import PreferencesDialog
from headstart.ui.settings.settings_form import SettingEditor
from headstart.ui.settings.side_panel import SidePanel
from headstart.ui.transcript.message import MessageAction, MessageContent
from headstart.ui.widgets.layouts import Page
from tests.support.waiting import PATIENCE

WAIT = int(1000 * PATIENCE)
_START = """
import sys
from pathlib import Path
from headstart.ui.application import SingleInstance
folder, file, quick = sys.argv[1:]
sys.exit(SingleInstance(Path(folder)).claim(Path(file) if file else None, quick=bool(quick)))
"""


class Power(NamedTuple):
    """The battery of the system."""

    power_plugged: bool


def shown(app: Program) -> list[MessageContent]:
    """Return the messages on screen."""
    return app.window.chat.transcript.contents()


def texts(app: Program) -> list[str]:
    """Return the texts of the messages on screen."""
    return [content.text.strip() for content in shown(app)]


def write(app: Program, text: str) -> None:
    """Type and press Enter."""
    QTest.keyClicks(app.window.chat.composer.edit, text)
    QTest.keyClick(app.window.chat.composer.edit, Qt.Key.Key_Return)


def ask(qtbot: QtBot, app: Program, text: str) -> None:
    """Type, send, and wait for the end of the answer."""
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        write(app, text)


def begin(qtbot: QtBot, app: Program, text: str) -> None:
    """Ask, and wait until the answer has begun to show."""
    write(app, text)
    qtbot.waitUntil(lambda: len(shown(app)) >= 2 and len(shown(app)[-1].text) > 20, timeout=WAIT)


def second_start(folder: Path, file: Path | None = None, *, quick: bool = False) -> bool:
    """Start the window again, in another process; return whether that is the only window."""
    started = subprocess.Popen([sys.executable, "-P", "-c", _START, str(folder), str(file or ""), "quick" * quick])
    while started.poll() is None:
        QTest.qWait(10)
    assert started.returncode in {False, True}
    return bool(started.returncode)


def settle(qtbot: QtBot, owner: QObject) -> None:
    """Wait until none of an object's single-shot timers is running."""
    timers = owner.findChildren(QTimer)
    qtbot.waitUntil(lambda: not any(each.isActive() and each.isSingleShot() for each in timers), timeout=WAIT)


def stored(app: Program) -> list[tuple[str, State]]:
    """Return text and state of the open chat's messages in the history."""
    chat = app.chat_controller.session.chat.id
    return [(message.text.strip(), message.state) for message in app.store.conversation(chat).path]


def chat_rows(app: Program) -> list[str]:
    """Return the rows of the sidebar."""
    model = app.window.sidebar.list.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def click_chat(app: Program, title: str, keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Click the row with this title."""
    app.chats.refresh()
    listing = app.window.sidebar.list
    listing.setFocus()
    index = listing.model().index(chat_rows(app).index(title), 0)
    listing.scrollTo(index)
    QTest.mouseClick(listing.viewport(), Qt.MouseButton.LeftButton, keys, listing.visualRect(index).center())


def chips(app: Program) -> list[str]:
    """Return the words of the chips on screen."""
    found = app.window.chat.composer.findChildren(AttachmentChip)
    return [chip.accessibleName() for chip in found if not chip.isHidden()]


def words(widget: QWidget) -> str:
    """Return the visible words of a widget."""
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if not label.isHidden())


def button(part: QWidget, name: str) -> QPushButton:
    """Return the button with this text or name."""
    buttons = part.findChildren(QPushButton)
    return next(each for each in buttons if name in (each.text(), each.accessibleName(), each.objectName()))


def setting(app: Program, name: str) -> SettingEditor:
    """Return the editor of a setting of the open chat."""
    return next(form._editors[name] for form in filled_panel(app).forms if name in form.names)


def filled_panel(app: Program) -> SidePanel:
    """Return the panel with the settings of the open chat and all its editors, though it may be closed or folded."""
    for form in app.window.panel.forms:
        form.build()
    return app.window.panel


def preferences(app: Program) -> PreferencesDialog:
    """Open the preferences, and return them."""
    app.window.actions_by_name["preferences"].trigger()
    return app.window.findChildren(PreferencesDialog)[-1]


def press(part: QWidget, name: str) -> None:
    """Click a button that is there."""
    found = button(part, name)
    assert not found.isHidden()
    found.click()


def open_pages(app: Program) -> list[Page]:
    """Open every page except the chat, and return them."""
    opened = []
    for name in ("models", "race", "bench", "tune", "server"):
        app.window.actions_by_name[name].trigger()
        page = app.window.pages.currentWidget()
        assert isinstance(page, Page)
        opened.append(page)
    return opened


def cells(table: QTreeWidget) -> list[list[str]]:
    """Return the texts of a table, row by row."""
    items = [table.topLevelItem(row) for row in range(table.topLevelItemCount())]
    return [[item.text(column) for column in range(table.columnCount())] for item in items if item]


class ChatPerson:
    """A person who acts at random: the actions with chats."""

    app: Program
    random: Random

    def cancel_edit(self) -> None:
        composing = self.app.chat_controller.composing
        if composing._state.editing is not None:
            composing.cancel_edit()

    def regenerate(self) -> None:
        answers = [each for each in self.app.chat_controller.session.path if each.role is Role.ASSISTANT]
        if answers:
            self.app.chat_controller.session.regenerate(self.random.choice(answers).id)

    def resume(self) -> None:
        last = self.app.chat_controller.session.conversation.last
        if last and last.role is Role.ASSISTANT:
            self.app.chat_controller.session.resume(last.id)

    def delete_message(self) -> None:
        path = self.app.chat_controller.session.path
        if path:
            message = self.random.choice(path).id
            self.app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, message)

    def undo(self) -> None:
        self.app.undo_stack.undo()

    def stop(self) -> None:
        self.app.chat_controller.stop()

    def open_new(self) -> None:
        self.app.chats.open_new()

    def open_chat(self) -> None:
        chats = self.app.store.chats()
        if chats:
            self.app.chats.open(self.random.choice(chats).id)

    def restart_engine(self) -> None:
        self.app.loader.reload(self.app.settings.now)
