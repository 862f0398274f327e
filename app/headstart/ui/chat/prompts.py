"""The library of prompts, its popup and its dialog."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QPoint, QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QTreeWidgetItem,
    QWidget,
)

from headstart.ui.chat.composer import MessageEdit
from headstart.ui.translation import translate
from headstart.ui.widgets.labels import muted
from headstart.ui.widgets.layouts import Dialog, beside, stacked, two_columns
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import MEDIUM, TINY

CURSOR, CLIPBOARD, SELECTION = "cursor", "clipboard", "selection"
_PLACE = re.compile(rf"\{{({CURSOR}|{CLIPBOARD}|{SELECTION})\}}")
_NOT_IN_NAMES = re.compile(r"[\s/]+")
_CALL = re.compile(r"/[^\s/]*\Z")


@dataclass(frozen=True)
class Filled:
    """A prompt with its places filled; `cursor` is where the writer goes on."""

    text: str
    cursor: int


def built_in() -> dict[str, str]:
    """Prompts by name, in the language of the window."""
    return {
        translate("Prompts", "summarise"): translate(
            "Prompts",
            "Summarise the following text in five points at most. Keep names and numbers.\n\n{selection}{cursor}",
        ),
        translate("Prompts", "translate"): translate(
            "Prompts", "Translate the following text into English. Give only the translation.\n\n{selection}{cursor}"
        ),
        translate("Prompts", "rewrite"): translate(
            "Prompts",
            "Rewrite the following text so that it is clear and correct. Keep its meaning, its language and about its "
            "length.\n\n{selection}{cursor}",
        ),
        translate("Prompts", "explain"): translate(
            "Prompts",
            "Explain step by step what this code does, and point out what looks wrong.\n\n"
            "```\n{selection}{cursor}\n```",
        ),
        translate("Prompts", "tests"): translate(
            "Prompts",
            "Write unit tests for this code. Cover ordinary cases, limits and errors.\n\n```\n{selection}{cursor}\n```",
        ),
    }


def library(own: Mapping[str, str]) -> dict[str, str]:
    """All prompts by name in order; of one's own, an empty text takes a built-in prompt away."""
    found = {**built_in(), **own}
    return {name: found[name] for name in sorted(found, key=str.casefold) if found[name]}


def own_part(prompts: Mapping[str, str]) -> dict[str, str]:
    """What must be kept so that `library` gives these prompts again."""
    given = built_in()
    changed = {name: text for name, text in prompts.items() if given.get(name) != text}
    return {**changed, **{name: "" for name in given if name not in prompts}}


def named(text: str) -> str:
    """A name that can stand behind the stroke, made of what a person typed."""
    return _NOT_IN_NAMES.sub("-", text.strip().strip("/").strip())


def called(text: str) -> str | None:
    """The beginning of a name, where the message is "/" and nothing but that beginning."""
    return text[1:] if _CALL.match(text) else None


def matching(names: Iterable[str], typed: str) -> list[str]:
    """Names that begin with what was typed, then those that hold it."""
    wanted = typed.casefold()
    found = [name for name in names if wanted in name.casefold()]
    return sorted(found, key=lambda name: not name.casefold().startswith(wanted))


def filled(prompt: str, clipboard: str = "", selection: str = "") -> Filled:
    """With every place filled, once: what is put in may hold such words itself."""
    values = {CLIPBOARD: clipboard, SELECTION: selection, CURSOR: ""}
    text, cursor, done = "", None, 0
    for place in _PLACE.finditer(prompt):
        text += prompt[done : place.start()] + values[place[1]]
        done = place.end()
        if place[1] == CURSOR and cursor is None:
            cursor = len(text)
    text += prompt[done:]
    return Filled(text, len(text) if cursor is None else cursor)


_MOST_ROWS = 8
_WIDTH = 520
_MOVES = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
_TAKES = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab)
_NAME = Qt.ItemDataRole.UserRole


class PromptPopup(QFrame):
    """Lies above `anchor`. The keyboard stays in the message box; the keys that the list needs are taken from it."""

    chosen = Signal(str)  # name
    library_requested = Signal()

    def __init__(self, edit: MessageEdit, anchor: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        set_style_class(self, "card")
        self._edit, self._anchor = edit, anchor
        self._prompts: dict[str, str] = {}
        self._waved_away = ""  # what was typed when a person pressed Esc
        self.list = two_columns(self.tr("Prompts"), self, widened=1)
        stacked(self, self.list, margin=TINY)
        edit.installEventFilter(self)
        anchor.installEventFilter(self)
        edit.textChanged.connect(self._follow)
        edit.focused.connect(self._note_focus)
        self.list.itemClicked.connect(self._take)
        self.hide()

    def set_prompts(self, prompts: dict[str, str]) -> None:
        """Names with what is shown beside each."""
        self._prompts = prompts

    def names(self) -> list[str]:
        """What is offered now, the last being the way to the library."""
        items = (self.list.topLevelItem(row) for row in range(self.list.topLevelItemCount()))
        return [item.data(0, _NAME) for item in items if item]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if watched is self._anchor and event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        if watched is not self._edit or self.isHidden() or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        if event.type() == QEvent.Type.ShortcutOverride and event.key() == Qt.Key.Key_Escape:
            event.accept()  # else it would stop an answer
            return True
        return event.type() == QEvent.Type.KeyPress and self._obey(event)

    def _obey(self, event: QKeyEvent) -> bool:
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self._waved_away = self._edit.text()
            self.hide()
        elif key in _MOVES:
            self._move(_MOVES[Qt.Key(key)])
        elif self._takes(event):
            self._take()
        else:
            return False
        return True

    def _takes(self, event: QKeyEvent) -> bool:
        """Enter and Tab take the one that is marked, a space the one whose whole name is typed."""
        whole = event.key() == Qt.Key.Key_Space and called(self._edit.text()) in self._prompts
        return whole or (event.key() in _TAKES and not event.modifiers())

    def _move(self, by: int) -> None:
        here = self.list.currentItem()
        row = self.list.indexOfTopLevelItem(here) if here else 0
        self._mark((row + by) % self.list.topLevelItemCount())

    def _mark(self, row: int) -> None:
        item = self.list.topLevelItem(row)
        assert item
        self.list.setCurrentItem(item)

    @Slot()
    def _take(self) -> None:
        item = self.list.currentItem()
        name = item.data(0, _NAME) if item else ""
        self.hide()
        if name:
            self.chosen.emit(name)
        else:
            self.library_requested.emit()

    @Slot(bool)
    def _note_focus(self, focused: bool) -> None:
        if focused:
            self._follow()
        else:
            self.hide()

    @Slot()
    def _follow(self) -> None:
        """Show what fits what is typed."""
        typed = called(self._edit.text())
        found = [] if typed is None else matching(self._prompts, typed)
        if not self._edit.text().startswith(self._waved_away):
            self._waved_away = ""
        if not self._edit.hasFocus() or typed is None or not (found or not typed) or self._waved_away:
            self.hide()
            return
        self._fill(found)
        self._place()
        self.show()
        self.raise_()

    def _fill(self, names: Iterable[str]) -> None:
        self.list.clear()
        rows = [(name, f"/{name}", " ".join(filled(self._prompts[name]).text.split())) for name in names]
        for name, title, remark in [*rows, ("", self.tr("Edit prompts…"), "")]:
            item = QTreeWidgetItem([title, remark])
            item.setData(0, _NAME, name)
            item.setForeground(1, self.palette().placeholderText())
            self.list.addTopLevelItem(item)
        self._mark(0)

    def _place(self) -> None:
        parent = self.parentWidget()
        assert parent
        rows = min(self.list.topLevelItemCount(), _MOST_ROWS)
        self.list.setFixedHeight(rows * self.list.sizeHintForRow(0) + TINY)
        corner = self._anchor.mapTo(parent, QPoint(0, 0))
        height = self.list.height() + 2 * TINY + 2 * self.frameWidth()
        self.setGeometry(corner.x(), corner.y() - height - TINY, min(_WIDTH, self._anchor.width()), height)


_SIZE = QSize(680, 440)
_TEXT = Qt.ItemDataRole.UserRole


class PromptDialog(Dialog):
    """Emits all prompts when they shall be saved."""

    saved = Signal(object)  # {name: text}

    def __init__(self, prompts: Mapping[str, str], selection: str, parent: QWidget | None = None) -> None:
        """`selection` is a text that a new prompt can be made of, or empty."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Prompts"))
        self._selection = selection
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Prompts"))
        self.name = QLineEdit(self)
        self.name.setAccessibleName(self.tr("Name"))
        self.text = QPlainTextEdit(self)
        self.text.setAccessibleName(self.tr("Text of the prompt"))
        self.text.setTabChangesFocus(True)
        set_style_class(self.text, "field")
        self._fault = QLabel(self)
        set_style_class(self._fault, "danger")
        self.add_button = self._button(self.tr("New"))
        self.import_button = self._button(self.tr("New from selection"))
        self.remove_button = self._button(self.tr("Remove"))
        self.restore_button = self._button(self.tr("Bring back the built-in ones"))
        self._cancel, self.save_button = self._button(self.tr("Cancel")), self._button(self.tr("Save"), "primary")
        self._lay_out()
        self._connect()
        for name, text in prompts.items():
            self._insert(name, text)
        self.list.setCurrentRow(0)
        self._check()

    def prompts(self) -> dict[str, str]:
        """As they are in the dialog now."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return {item.text(): item.data(_TEXT) for item in items}

    def _insert(self, name: str, text: str) -> QListWidgetItem:
        item = QListWidgetItem(name, self.list)
        item.setData(_TEXT, text)
        return item

    def _connect(self) -> None:
        self.list.currentItemChanged.connect(self._show)
        self.name.textEdited.connect(self._rename)
        self.text.textChanged.connect(self._rewrite)
        self.add_button.clicked.connect(lambda: self._add(""))
        self.import_button.clicked.connect(lambda: self._add(self._selection))
        self.remove_button.clicked.connect(self._remove)
        self.restore_button.clicked.connect(self._restore)
        self._cancel.clicked.connect(self.reject)
        self.save_button.clicked.connect(self._save)

    @Slot()
    def _show(self) -> None:
        item = self.list.currentItem()
        for field in (self.name, self.text, self.remove_button):
            field.setEnabled(item is not None)
        with QSignalBlocker(self.text):
            self.name.setText(item.text() if item else "")
            self.text.setPlainText(item.data(_TEXT) if item else "")
        self._check()

    @Slot(str)
    def _rename(self, typed: str) -> None:
        self.list.currentItem().setText(named(typed))
        self._check()

    @Slot()
    def _rewrite(self) -> None:
        self.list.currentItem().setData(_TEXT, self.text.toPlainText())
        self._check()

    def _add(self, text: str) -> None:
        self.list.setCurrentItem(self._insert(self._free_name(), text))
        self.name.setFocus()
        self.name.selectAll()

    def _free_name(self) -> str:
        taken, stem = self.prompts(), named(self.tr("prompt"))
        return next(name for name in (stem, *(f"{stem}-{n}" for n in range(2, len(taken) + 3))) if name not in taken)

    @Slot()
    def _remove(self) -> None:
        self.list.takeItem(self.list.currentRow())
        self._show()

    @Slot()
    def _restore(self) -> None:
        here = {self.list.item(row).text(): self.list.item(row) for row in range(self.list.count())}
        for name, text in built_in().items():
            (here.get(name) or self._insert(name, text)).setData(_TEXT, text)
        self._show()

    def _check(self) -> None:
        fault = self._find_fault()
        self._fault.setText(fault)
        self._fault.setVisible(bool(fault))
        self.save_button.setEnabled(not fault)
        self.import_button.setEnabled(bool(self._selection))
        self.import_button.setToolTip("" if self._selection else self.tr("Select text in the chat or in the message."))

    def _find_fault(self) -> str:
        names = [self.list.item(row).text() for row in range(self.list.count())]
        twice = next((name for name in names if names.count(name) > 1), None)
        empty = next((name for name, text in self.prompts().items() if not text.strip()), None)
        if "" in names:
            return self.tr("Every prompt needs a name.")
        if twice is not None:
            return self.tr("Two prompts are called /{}; give one another name.").format(twice)
        return "" if empty is None else self.tr("/{} has no text yet.").format(empty)

    @Slot()
    def _save(self) -> None:
        self.saved.emit(self.prompts())
        self.accept()

    def _button(self, label: str, kind: str = "plain") -> QPushButton:
        button = QPushButton(label, self)
        button.setAutoDefault(False)
        set_style_class(button, kind)
        return button

    def _lay_out(self) -> None:
        buttons = (self.add_button, self.import_button, self.remove_button, self.restore_button)
        left = stacked(None, self.list, *buttons, growing=self.list)
        self.list.setFixedWidth(max(220, self.restore_button.sizeHint().width()))
        places = self.tr(
            "Typed as /name at the beginning of a message. {cursor} is where you go on writing; {selection} and "
            "{clipboard} put in the text selected in the chat or copied."
        )
        right = stacked(None)
        for label, field in ((self.tr("Name"), self.name), (self.tr("Text"), self.text)):
            right.addWidget(QLabel(label, self))
            right.addWidget(field)
        right.addWidget(muted(places, self))
        right.addWidget(self._fault)
        foot = beside(None, self._cancel, self.save_button)
        foot.insertStretch(0, 1)
        right.addLayout(foot)
        beside(self, left, right, margin=MEDIUM, spacing=MEDIUM, growing=right)
        self.resize(_SIZE)
