"""Finds words in the open chat and walks from one to the next."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QToolButton, QWidget

from headstart.chat.conversation import Attachment
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import SMALL, TINY

_MARKUP = r"[*_`~\\]*"


@dataclass(frozen=True)
class Match:
    """A found place: index of the message and [start, end) in its text, or in that of one of its files."""

    message: int
    start: int
    end: int
    file: int | None = None


class Written(Protocol):
    """What of a message is searched."""

    @property
    def text(self) -> str: ...
    @property
    def attached(self) -> Sequence[Attachment]: ...


Seek = Callable[[str], Iterable[tuple[int, int]]]


def seeker(wanted: str) -> Seek:
    """What finds every place of `wanted`. Addresses of links are searched too: they are part of what was written."""
    words = wanted.split()
    if not words:
        return lambda _: ()
    pattern = re.compile(rf"{_MARKUP}\s+{_MARKUP}".join(_pattern(word) for word in words), re.I)
    return lambda text: (found.span() for found in pattern.finditer(text))


def places(messages: Iterable[Written], seek: Seek) -> list[Match]:
    """Every place in the order it is read: the files of a message stand above its text."""
    return [match for index, message in enumerate(messages) for match in _in(message, index, seek)]


def _pattern(word: str) -> str:
    return _MARKUP.join(re.escape(letter) for letter in word)


def _in(message: Written, index: int, seek: Seek) -> Iterator[Match]:
    for number, file in enumerate(message.attached):
        yield from (Match(index, start, end, number) for start, end in seek(file.text))
    yield from (Match(index, start, end) for start, end in seek(message.text))


class FindBar(QFrame):
    """Hidden until asked for; Esc closes it."""

    wanted = Signal(str)  # "" ends the search
    next_requested = Signal()
    previous_requested = Signal()
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "bar")
        self.field = QLineEdit(self)
        self.field.setPlaceholderText(self.tr("Find in this chat"))
        self.field.setAccessibleName(self.tr("Find in this chat"))
        self._count = QLabel(self)
        dress(self._count, "muted")
        self._previous = self._button("up", self.tr("Previous match"))
        self._next = self._button("unfolded", self.tr("Next match"))
        self._close = self._button("close", self.tr("Close find"))
        row = QHBoxLayout(self)
        row.setContentsMargins(SMALL, TINY, TINY, TINY)
        row.addWidget(self.field, 1)
        for widget in (self._count, self._previous, self._next, self._close):
            row.addWidget(widget)
        self.field.textChanged.connect(self.wanted)
        self.field.returnPressed.connect(self.next_requested)
        self._next.clicked.connect(self.next_requested)
        self._previous.clicked.connect(self.previous_requested)
        self._close.clicked.connect(self.close_find)
        self.hide()

    def open_find(self) -> None:
        """Show and take the keyboard."""
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        self.wanted.emit(self.field.text())

    @Slot()
    def close_find(self) -> None:
        """Stop finding."""
        if not self.isHidden():
            self.hide()
            self.wanted.emit("")
            self.closed.emit()

    def show_found(self, current: int, count: int) -> None:
        """Which match of how many."""
        found = self.tr("{} of {}").format(current, count) if count else self.tr("no match")
        self._count.setText(found if self.field.text() else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and back:
            self.previous_requested.emit()
        else:
            super().keyPressEvent(event)

    def _button(self, name: str, label: str) -> QToolButton:
        button = QToolButton(self)
        button.setIcon(icon(name))
        button.setToolTip(label)
        button.setAccessibleName(label)
        dress(button, "flat")
        return button
