"""The rows around the text of a message: author, offers, actions, versions, statistics. Knows no text of messages."""

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QFont, QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from headstart.ui.chat.message import WARMER, MessageAction, MessageContent, MessageState
from headstart.ui.spelling import decimal
from headstart.ui.widgets.elided_label import ElidedLabel
from headstart.ui.widgets.icons import show_icon
from headstart.ui.widgets.stylesheet import dress, sheet
from headstart.ui.widgets.theme import SMALL, TINY, Theme


def author(content: MessageContent) -> str:
    """The name to show above a message."""
    roles = {
        "user": QCoreApplication.translate("Header", "You"),
        "assistant": QCoreApplication.translate("Header", "Assistant"),
        "system": QCoreApplication.translate("Header", "System prompt"),
    }
    return content.author or roles.get(content.role, content.role)


class Header(QWidget):
    """Who speaks. A click selects the message, with Shift a range."""

    clicked = Signal(bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._author = QLabel(self)
        self._state = QLabel(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        row.addWidget(self._author)
        row.addWidget(self._state)
        row.addStretch(1)

    def show_content(self, content: MessageContent) -> None:
        """Author and state."""
        self._author.setText(author(content))
        waits = bool(content.notice)  # below, it says for what
        writing = "" if waits else self.tr("writing…")
        states = {MessageState.STREAMING: writing, MessageState.STOPPED: self.tr("stopped")}
        self._state.setText(states.get(content.state, ""))

    def set_looks(self, theme: Theme, font: QFont) -> None:
        """Colours and font."""
        bold = QFont(font)
        bold.setBold(True)
        self._author.setFont(bold)
        _wear(self._author, theme.text)
        self._state.setFont(_small(font))
        _wear(self._state, theme.muted)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        if event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit(bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))


class Footer(QWidget):
    """What can be done with a message, which version it is and what it cost."""

    copy_clicked = Signal()
    edit_clicked = Signal()
    regenerate_clicked = Signal()
    more_clicked = Signal()
    version_chosen = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme: Theme | None = None
        self._version = 1
        self._copy = self._button("copy", self.tr("Copy message"))
        self._edit = self._button("edit", self.tr("Edit message"))
        self._regenerate = self._button("regenerate", self.tr("Regenerate answer"))
        self._more = self._button("more", self.tr("More actions"))
        self._previous = self._button("previous", self.tr("Previous version"))
        self._count = QLabel(self)
        self._next = self._button("next", self.tr("Next version"))
        self._stats = ElidedLabel(self)
        self._stats.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._lay_out()
        self._connect()

    def more_button(self) -> QToolButton:
        """Where a menu of further actions belongs."""
        return self._more

    def buttons(self) -> list[QToolButton]:
        """All buttons from left to right."""
        return [self._copy, self._edit, self._regenerate, self._more, self._previous, self._next]

    def show_content(self, content: MessageContent) -> None:
        """Fit buttons and texts to a message."""
        busy = content.state is MessageState.STREAMING
        self._version = content.version
        for button in (self._edit, self._regenerate, self._more):
            button.setEnabled(not busy)
        self._regenerate.setVisible(content.role == "assistant")
        for widget in (self._previous, self._count, self._next):
            widget.setVisible(content.versions > 1)
        self._count.setText(f"{content.version}/{content.versions}")
        self._count.setAccessibleName(
            self.tr("Version {number} of {count}").format(number=content.version, count=content.versions)
        )
        self._previous.setEnabled(not busy and content.version > 1)
        self._next.setEnabled(not busy and content.version < content.versions)
        self._stats.show_text(*content.stats.split("\n", 1))

    def set_looks(self, theme: Theme, font: QFont) -> None:
        """Colours and font."""
        self._theme = theme
        for button in self.buttons():
            show_icon(button, button.objectName(), theme.muted, font=font)
        for label in (self._count, self._stats):
            label.setFont(_small(font))
            _wear(label, theme.muted)

    def _button(self, name: str, label: str) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(name)
        button.setAutoRaise(True)
        button.setToolTip(label)
        button.setAccessibleName(label)
        return button

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(TINY)
        for widget in (self._copy, self._edit, self._regenerate, self._more):
            row.addWidget(widget)
        row.addSpacing(SMALL)
        row.addWidget(self._previous)
        row.addWidget(self._count)
        row.addWidget(self._next)
        row.addWidget(self._stats, 1)

    def _connect(self) -> None:
        self._copy.clicked.connect(self.copy_clicked)
        self._edit.clicked.connect(self.edit_clicked)
        self._regenerate.clicked.connect(self.regenerate_clicked)
        self._more.clicked.connect(self.more_clicked)
        self._previous.clicked.connect(lambda: self.version_chosen.emit(self._version - 1))
        self._next.clicked.connect(lambda: self.version_chosen.emit(self._version + 1))


class Offers(QWidget):
    """Buttons for what a person may want after a message that did not end well."""

    chosen = Signal(object)  # MessageAction

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, TINY, 0, TINY)
        row.setSpacing(SMALL)
        words = {
            MessageAction.ANSWER: self.tr("Answer"),
            MessageAction.CONTINUE: self.tr("Continue"),
            MessageAction.REGENERATE: self.tr("Try again"),
            MessageAction.REGENERATE_WARMER: self.tr("Try again at temperature {}").format(decimal(WARMER, 1)),
            MessageAction.GO_ON: self.tr("Go on anyway"),
        }
        self._buttons = {offer: self._button(offer, text) for offer, text in words.items()}
        for button in self._buttons.values():
            row.addWidget(button)
        row.addStretch(1)

    def buttons(self) -> list[QPushButton]:
        """From left to right."""
        return list(self._buttons.values())

    def show_offers(self, offers: tuple[MessageAction, ...]) -> None:
        """These, and no others."""
        for offer, button in self._buttons.items():
            button.setVisible(offer in offers)

    def set_looks(self, theme: Theme, font: QFont) -> None:
        """Colours and font: no style sheet reaches the transcript, which would take its time."""
        self.setFont(font)
        self.setStyleSheet(sheet(theme, font))

    def _button(self, offer: MessageAction, text: str) -> QPushButton:
        button = QPushButton(text, self)
        dress(button, "plain")
        button.clicked.connect(lambda: self.chosen.emit(offer))
        return button


def _small(font: QFont) -> QFont:
    made = QFont(font)
    made.setPointSizeF(font.pointSizeF() * 0.88)
    return made


def _wear(label: QLabel, colour: str) -> None:
    palette = label.palette()
    palette.setColor(label.foregroundRole(), colour)
    label.setPalette(palette)
