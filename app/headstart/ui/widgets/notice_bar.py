"""One sentence above the composer that can be put away, with an action where there is one."""

from collections.abc import Callable
from enum import StrEnum

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QToolButton, QWidget

from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.labels import button, label
from headstart.ui.widgets.layouts import set_margins
from headstart.ui.widgets.stylesheet import dress, mark
from headstart.ui.widgets.theme import SMALL, TINY


class Cause(StrEnum):
    """What a sentence is about; it goes when that has changed."""

    MODEL = "model"  # which is missing, or was not loaded
    BUSY = "busy"  # the engine
    MESSAGE = "message"  # being written, and its files
    EDIT = "edit"  # of a message that was sent
    SETTINGS = "settings"
    FILE = "file"  # that was to be written or read
    TAGS = "tags"
    REACH = "reach"  # of what is written


class NoticeBar(QFrame):
    """Hidden until there is something to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "bar")
        self._act: Callable[[], object] | None = None
        self._cause: Cause | None = None
        self._label = label("", self, selectable=True)
        self._action = button(self.tr("Undo"), self)
        self._close = QToolButton(self)
        self._close.setIcon(icon("close"))
        self._close.setAccessibleName(self.tr("Dismiss"))
        self._close.setToolTip(self.tr("Dismiss"))
        dress(self._close, "flat")
        row = QHBoxLayout(self)
        set_margins(row, start=SMALL, top=TINY, end=TINY, bottom=TINY)
        row.setSpacing(SMALL)
        row.addWidget(self._label, 1)
        row.addWidget(self._action)
        row.addWidget(self._close)
        self._close.clicked.connect(self.hide)
        self._action.clicked.connect(self._run)
        self.hide()

    @property
    def text(self) -> str:
        """What is said; empty when nothing is."""
        return "" if self.isHidden() else self._label.text()

    def say(
        self,
        sentence: str,
        action: str = "",
        act: Callable[[], object] | None = None,
        *,
        bad: bool = False,
        cause: Cause | None = None,
    ) -> None:
        """Show a sentence, and a button called `action` that does `act`. It goes with its cause, if that is known."""
        self._act, self._cause = act, cause
        self._label.setText(sentence)
        self._label.setAccessibleName(sentence)
        self._action.setText(action)
        self._action.setVisible(bool(action))
        mark(self, "severity", "danger" if bad else "")
        self.show()

    def retract(self, cause: Cause) -> None:
        """What was said for this cause does not hold any more."""
        if cause is self._cause:
            self.hide()

    @Slot()
    def _run(self) -> None:
        self.hide()
        if self._act:
            self._act()
