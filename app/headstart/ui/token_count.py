"""Asks the engine how many tokens the conversation with the message being written has. Knows no widget."""

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from headstart.chat.conversation import Attachment
from headstart.engine.engine import Message
from headstart.ui.engine_link import EngineLink

_PAUSE = 250  # ms after the last key


class TokenCount(QObject):
    """Counts one thing after the other: attachments that are new, then the whole."""

    counted = Signal(int, int, object)  # tokens of all, context, {attachment name: tokens}

    def __init__(self, link: EngineLink, parent: QObject | None = None) -> None:
        """Asks nothing yet."""
        super().__init__(parent)
        self._link = link
        self._messages: tuple[Message, ...] = ()
        self._attached: tuple[Attachment, ...] = ()
        self._known: dict[Attachment, int] = {}
        self._asked: tuple[int, Attachment | None] | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self._ask)
        link.counted.connect(self._take)
        link.loaded.connect(self._count_anew)

    def count(self, messages: tuple[Message, ...], attached: tuple[Attachment, ...]) -> None:
        """`counted` follows soon, if a model is loaded and nothing newer is asked."""
        self._messages, self._attached = messages, attached
        self._pause.start()

    def close(self) -> None:
        """Ask nothing more."""
        self._pause.stop()
        self._link.disconnect(self)

    @Slot()
    def _count_anew(self) -> None:
        self._known.clear()
        self._pause.start()

    @Slot()
    def _ask(self) -> None:
        unknown = next((attachment for attachment in self._attached if attachment not in self._known), None)
        if unknown:
            self._asked = (self._link.count_tokens(unknown.text), unknown)
        elif self._messages:
            self._asked = (self._link.count_tokens(messages=self._messages), None)

    @Slot(int, int, int)
    def _take(self, ticket: int, tokens: int, context: int) -> None:
        if self._asked is None or self._asked[0] != ticket:
            return
        attachment = self._asked[1]
        if attachment is None:
            parts = {item.name: self._known[item] for item in self._attached if item in self._known}
            self.counted.emit(tokens, context, parts)
        else:
            self._known[attachment] = tokens
            self._ask()
