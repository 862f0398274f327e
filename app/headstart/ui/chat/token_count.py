"""Asks the engine how many tokens the conversation with the message being written has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from headstart.chat.conversation import Attachment
from headstart.engine.engine import Message
from headstart.ui.engine_link import EngineLink

_PAUSE = 250  # ms after the last key
_PATIENCE = 3000  # ms that a message may wait for its count; the engine counts again anyway


@dataclass(frozen=True)
class Count:
    """What was counted. The context must hold the tokens and at least one more, for the answer.

    `is_exact`: by the model that will answer, and not by another one that is in memory.
    """

    messages: tuple[Message, ...]
    tokens: int
    context: int
    parts: Mapping[Attachment, int] = field(default_factory=dict)
    is_exact: bool = True

    @property
    def fits(self) -> bool:
        """Whether there is room for an answer, as far as anybody knows."""
        return self.tokens < self.context or not self.is_exact


Then = Callable[[Count | None], None]


class TokenCount(QObject):
    """Counts one thing after the other: the whole, then attachments that are new."""

    counted = Signal(object)  # Count
    uncounted = Signal()  # a model that answers elsewhere counts nothing beforehand

    def __init__(self, link: EngineLink, parent: QObject | None = None) -> None:
        """Asks nothing yet."""
        super().__init__(parent)
        self._link = link
        self._messages: tuple[Message, ...] = ()
        self._attached: tuple[Attachment, ...] = ()
        self._known: dict[Attachment, int] = {}
        self._last: Count | None = None
        self._asked: tuple[int, Attachment | tuple[Message, ...]] | None = None
        self._then: Then | None = None
        self._is_exact = True
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self._ask)
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE)
        self._patience.timeout.connect(self._give_up)
        link.counted.connect(self._take)
        link.loaded.connect(self._count_anew)

    def count(self, messages: tuple[Message, ...], attached: tuple[Attachment, ...]) -> None:
        """`counted` follows soon, if a model is loaded and nothing newer is asked; `uncounted` if there is nothing."""
        self._messages, self._attached = messages, attached
        if self._is_elsewhere() or not messages:
            self.uncounted.emit()
        else:
            self._pause.start()

    def set_exact(self, exact: bool) -> None:
        """Whether the model in memory is the one that will answer."""
        if exact != self._is_exact:
            self._is_exact = exact
            if self._last and self._last.messages == self._messages:
                self._tell(self._last)

    def settle(self, messages: tuple[Message, ...], attached: tuple[Attachment, ...], then: Then) -> None:
        """Call `then` with the count of exactly these messages, or with None where nobody counts them in time."""
        if not self._link.facts or self._is_elsewhere() or not self._is_exact:
            then(None)
        elif self._last and self._last.messages == messages:
            then(self._last)
        else:
            self.count(messages, attached)
            self._pause.stop()
            self._then = then
            self._patience.start()
            self._ask()

    def forget(self) -> None:
        """Nobody waits any more for what `settle` was asked."""
        self._then = None
        self._patience.stop()

    def close(self) -> None:
        """Ask nothing more."""
        self.forget()
        self._pause.stop()
        self._link.disconnect(self)

    def _is_elsewhere(self) -> bool:
        return bool(self._link.facts and self._link.facts.server)

    @Slot()
    def _count_anew(self) -> None:
        self._known.clear()
        self._last = None
        if self._is_elsewhere():
            self.uncounted.emit()
        else:
            self._pause.start()

    @Slot()
    def _ask(self) -> None:
        if self._messages and (self._last is None or self._last.messages != self._messages):
            self._asked = (self._link.count_tokens(messages=self._messages), self._messages)
            return
        unknown = next((attachment for attachment in self._attached if attachment not in self._known), None)
        if unknown:
            self._asked = (self._link.count_tokens(unknown.text), unknown)
        elif self._last:
            self._tell(self._last)

    @Slot(int, int, int)
    def _take(self, ticket: int, tokens: int, context: int) -> None:
        if self._asked is None or self._asked[0] != ticket:
            return
        asked = self._asked[1]
        if isinstance(asked, Attachment):
            self._known[asked] = tokens
            self._ask()
            return
        self._tell(Count(asked, tokens, context))
        if any(attachment not in self._known for attachment in self._attached):
            self._ask()

    def _tell(self, count: Count) -> None:
        parts = {item: self._known[item] for item in self._attached if item in self._known}
        self._last = replace(count, parts=parts, is_exact=self._is_exact)
        self.counted.emit(self._last)
        then = self._then
        if then and count.messages == self._messages:
            self.forget()
            then(self._last)

    @Slot()
    def _give_up(self) -> None:
        then = self._then
        self.forget()
        if then:
            then(None)
