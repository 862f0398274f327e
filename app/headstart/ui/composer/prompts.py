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

from headstart.ui.composer.composer import MessageEdit
from headstart.ui.translation import translate
from headstart.ui.widgets.labels import muted
from headstart.ui.widgets.layouts import Dialog, beside, stacked, two_columns
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import MEDIUM, TINY

CURSOR, CLIPBOARD, SELECTION = "cursor", "clipboard", "selection"
_PLACEHOLDER = re.compile(rf"\{{({CURSOR}|{CLIPBOARD}|{SELECTION})\}}")
_INVALID_IN_NAMES = re.compile(r"[\s/]+")
_TYPED_NAME = re.compile(r"/[^\s/]*\Z")


@dataclass(frozen=True)
class FilledPrompt:
    text: str
    cursor: int  # where the user continues to write


def built_in_prompts() -> dict[str, str]:
    """Return the built-in prompts by name, in the language of the window."""
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
    """Return all prompts, sorted by name. An empty text in `own` removes a built-in prompt."""
    prompts = {**built_in_prompts(), **own}
    return {name: prompts[name] for name in sorted(prompts, key=str.casefold) if prompts[name]}


def own_prompts(prompts: Mapping[str, str]) -> dict[str, str]:
    """Return what to save so that `library` returns these prompts again."""
    built_in = built_in_prompts()
    changed = {name: text for name, text in prompts.items() if built_in.get(name) != text}
    return {**changed, **{name: "" for name in built_in if name not in prompts}}


def prompt_name(text: str) -> str:
    """Turn a typed text into a name that can follow a slash."""
    return _INVALID_IN_NAMES.sub("-", text.strip().strip("/").strip())


def typed_name(text: str) -> str | None:
    """Return the beginning of a name if the message is "/" and that beginning, else None."""
    return text[1:] if _TYPED_NAME.match(text) else None


def matching_names(names: Iterable[str], typed: str) -> list[str]:
    """Return the names that begin with a typed text, then the others that contain it."""
    query = typed.casefold()
    matches = [name for name in names if query in name.casefold()]
    return sorted(matches, key=lambda name: not name.casefold().startswith(query))


def fill(prompt: str, clipboard: str = "", selection: str = "") -> FilledPrompt:
    """Fill every placeholder, but not those within the inserted texts."""
    values = {CLIPBOARD: clipboard, SELECTION: selection, CURSOR: ""}
    text, cursor, done = "", None, 0
    for place in _PLACEHOLDER.finditer(prompt):
        text += prompt[done : place.start()] + values[place[1]]
        done = place.end()
        if place[1] == CURSOR and cursor is None:
            cursor = len(text)
    text += prompt[done:]
    return FilledPrompt(text, len(text) if cursor is None else cursor)


_MAX_ROWS = 8
_WIDTH = 520
_MOVE_KEYS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
_ACCEPT_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab)
_NAME = Qt.ItemDataRole.UserRole


class PromptPopup(QFrame):
    """A list of prompts above `anchor`. The focus stays in the message box, whose keys are filtered for the list."""

    chosen = Signal(str)  # name
    library_requested = Signal()

    def __init__(self, edit: MessageEdit, anchor: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        set_style_class(self, "card")
        self._edit, self._anchor = edit, anchor
        self._prompts: dict[str, str] = {}
        self._dismissed = ""  # the text at which Esc was pressed
        self.list = two_columns(self.tr("Prompts"), self, widened=1)
        stacked(self, self.list, margin=TINY)
        edit.installEventFilter(self)
        anchor.installEventFilter(self)
        edit.textChanged.connect(self._update)
        edit.focused.connect(self._on_focused)
        self.list.itemClicked.connect(self._accept)
        self.hide()

    def set_prompts(self, prompts: dict[str, str]) -> None:
        self._prompts = prompts

    def names(self) -> list[str]:
        """Return the names in the list; the last one, "", opens the library."""
        items = (self.list.topLevelItem(row) for row in range(self.list.topLevelItemCount()))
        return [item.data(0, _NAME) for item in items if item]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._anchor and event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        if watched is not self._edit or self.isHidden() or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        if event.type() == QEvent.Type.ShortcutOverride and event.key() == Qt.Key.Key_Escape:
            event.accept()  # else Esc stops an answer
            return True
        return event.type() == QEvent.Type.KeyPress and self._handle_key(event)

    def _handle_key(self, event: QKeyEvent) -> bool:
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self._dismissed = self._edit.text()
            self.hide()
        elif key in _MOVE_KEYS:
            self._move(_MOVE_KEYS[Qt.Key(key)])
        elif self._is_accept_key(event):
            self._accept()
        else:
            return False
        return True

    def _is_accept_key(self, event: QKeyEvent) -> bool:
        """Return whether a key accepts: Enter or Tab the selected prompt, a space the one whose full name is typed."""
        is_full_name = event.key() == Qt.Key.Key_Space and typed_name(self._edit.text()) in self._prompts
        return is_full_name or (event.key() in _ACCEPT_KEYS and not event.modifiers())

    def _move(self, by: int) -> None:
        here = self.list.currentItem()
        row = self.list.indexOfTopLevelItem(here) if here else 0
        self._select((row + by) % self.list.topLevelItemCount())

    def _select(self, row: int) -> None:
        item = self.list.topLevelItem(row)
        assert item
        self.list.setCurrentItem(item)

    @Slot()
    def _accept(self) -> None:
        item = self.list.currentItem()
        name = item.data(0, _NAME) if item else ""
        self.hide()
        if name:
            self.chosen.emit(name)
        else:
            self.library_requested.emit()

    @Slot(bool)
    def _on_focused(self, focused: bool) -> None:
        if focused:
            self._update()
        else:
            self.hide()

    @Slot()
    def _update(self) -> None:
        """Show the prompts that match the typed text, or hide."""
        typed = typed_name(self._edit.text())
        names = [] if typed is None else matching_names(self._prompts, typed)
        if not self._edit.text().startswith(self._dismissed):
            self._dismissed = ""
        if not self._edit.hasFocus() or typed is None or (typed and not names) or self._dismissed:
            self.hide()
            return
        self._fill(names)
        self._place()
        self.show()
        self.raise_()

    def _fill(self, names: Iterable[str]) -> None:
        self.list.clear()
        rows = [(name, f"/{name}", " ".join(fill(self._prompts[name]).text.split())) for name in names]
        for name, title, remark in [*rows, ("", self.tr("Edit prompts…"), "")]:
            item = QTreeWidgetItem([title, remark])
            item.setData(0, _NAME, name)
            item.setForeground(1, self.palette().placeholderText())
            self.list.addTopLevelItem(item)
        self._select(0)

    def _place(self) -> None:
        parent = self.parentWidget()
        assert parent
        rows = min(self.list.topLevelItemCount(), _MAX_ROWS)
        self.list.setFixedHeight(rows * self.list.sizeHintForRow(0) + TINY)
        corner = self._anchor.mapTo(parent, QPoint(0, 0))
        height = self.list.height() + 2 * TINY + 2 * self.frameWidth()
        self.setGeometry(corner.x(), corner.y() - height - TINY, min(_WIDTH, self._anchor.width()), height)


_SIZE = QSize(680, 440)
_TEXT = Qt.ItemDataRole.UserRole


class PromptDialog(Dialog):
    """Dialog that edits the prompts."""

    saved = Signal(object)  # dict[str, str]: all prompts by name

    def __init__(self, prompts: Mapping[str, str], selection: str, parent: QWidget | None = None) -> None:
        """`selection` is the text for "New from selection", or empty."""
        super().__init__(self.tr("Prompts"), parent)
        self._selection = selection
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Prompts"))
        self.name = QLineEdit(self)
        self.name.setAccessibleName(self.tr("Name"))
        self.text = QPlainTextEdit(self)
        self.text.setAccessibleName(self.tr("Text of the prompt"))
        self.text.setTabChangesFocus(True)
        set_style_class(self.text, "field")
        self._error = QLabel(self)
        set_style_class(self._error, "danger")
        self.add_button = self._button(self.tr("New"))
        self.import_button = self._button(self.tr("New from selection"))
        self.remove_button = self._button(self.tr("Remove"))
        self.restore_button = self._button(self.tr("Bring back the built-in ones"))
        self._cancel, self.save_button = self._button(self.tr("Cancel")), self._button(self.tr("Save"), "primary")
        self._lay_out()
        self._connect()
        for name, text in prompts.items():
            self._add_item(name, text)
        self.list.setCurrentRow(0)
        self._check()

    def prompts(self) -> dict[str, str]:
        """Return the prompts as edited so far."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return {item.text(): item.data(_TEXT) for item in items}

    def _add_item(self, name: str, text: str) -> QListWidgetItem:
        item = QListWidgetItem(name, self.list)
        item.setData(_TEXT, text)
        return item

    def _connect(self) -> None:
        self.list.currentItemChanged.connect(self._show)
        self.name.textEdited.connect(self._on_name_edited)
        self.text.textChanged.connect(self._on_text_edited)
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
    def _on_name_edited(self, typed: str) -> None:
        self.list.currentItem().setText(prompt_name(typed))
        self._check()

    @Slot()
    def _on_text_edited(self) -> None:
        self.list.currentItem().setData(_TEXT, self.text.toPlainText())
        self._check()

    def _add(self, text: str) -> None:
        self.list.setCurrentItem(self._add_item(self._free_name(), text))
        self.name.setFocus()
        self.name.selectAll()

    def _free_name(self) -> str:
        used, stem = self.prompts(), prompt_name(self.tr("prompt"))
        return next(name for name in (stem, *(f"{stem}-{n}" for n in range(2, len(used) + 3))) if name not in used)

    @Slot()
    def _remove(self) -> None:
        self.list.takeItem(self.list.currentRow())
        self._show()

    @Slot()
    def _restore(self) -> None:
        here = {self.list.item(row).text(): self.list.item(row) for row in range(self.list.count())}
        for name, text in built_in_prompts().items():
            (here.get(name) or self._add_item(name, text)).setData(_TEXT, text)
        self._show()

    def _check(self) -> None:
        error = self._find_error()
        self._error.setText(error)
        self._error.setVisible(bool(error))
        self.save_button.setEnabled(not error)
        self.import_button.setEnabled(bool(self._selection))
        self.import_button.setToolTip("" if self._selection else self.tr("Select text in the chat or in the message."))

    def _find_error(self) -> str:
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
        set_style_class(button, kind)
        return button

    def _lay_out(self) -> None:
        buttons = (self.add_button, self.import_button, self.remove_button, self.restore_button)
        left = stacked(None, self.list, *buttons, growing=self.list)
        self.list.setFixedWidth(max(220, self.restore_button.sizeHint().width()))
        places = self.tr(
            "Typed as /name at the beginning of a message. {cursor} is where you continue to write; {selection} and "
            "{clipboard} put in the text selected in the chat or copied."
        )
        right = stacked(None)
        for label, field in ((self.tr("Name"), self.name), (self.tr("Text"), self.text)):
            right.addWidget(QLabel(label, self))
            right.addWidget(field)
        right.addWidget(muted(places, self))
        right.addWidget(self._error)
        foot = beside(None, self._cancel, self.save_button)
        foot.insertStretch(0, 1)
        right.addLayout(foot)
        beside(self, left, right, margin=MEDIUM, spacing=MEDIUM, growing=right)
        self.set_size(_SIZE)
