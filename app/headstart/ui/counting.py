"""Which token count to ask for next: the newest, one at a time, with a pause between. Knows no engine."""

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from headstart.engine.protocol import CountTokens

_PAUSE = 250  # ms; counting at every key would take its processor time from an answer being written


class Counting(QObject):
    """Lets the first question through at once and of those that come meanwhile the last."""

    due = Signal(object)  # CountTokens

    def __init__(self, parent: QObject | None = None) -> None:
        """Nothing asked."""
        super().__init__(parent)
        self._open = False
        self._next: CountTokens | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self._go_on)

    def ask(self, question: CountTokens) -> None:
        """`due` follows, now or later, unless a newer question overtakes this one."""
        self._next = question
        self._go_on()

    def note_answer(self) -> None:
        """The question that was due is answered, well or badly."""
        self._open = False
        self._pause.start()

    def clear(self) -> None:
        """Forget all: nobody is there who could answer."""
        self._open, self._next = False, None
        self._pause.stop()

    @Slot()
    def _go_on(self) -> None:
        question = self._next
        if question and not self._open and not self._pause.isActive():
            self._open, self._next = True, None
            self.due.emit(question)
