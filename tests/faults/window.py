"""The window on the profile in HEADSTART_HOME, asking one thing after another; prints what it shows as JSON lines.

`python -m tests.faults.window SEED PACE [SECONDS]`: with a pace the toy engine answers, else ("") the model that is
installed; an engine may be silent for so many seconds. With "edits" as the pace, messages of the chats are edited.
"""

import json
import random
import sys
import time
import zlib

from PySide6.QtCore import QObject, Qt, QTimer, Slot

from bench.toy import PROGRAM
from bench.window.profile import toy_model
from headstart import paths
from headstart.chat.history.store import open_store
from headstart.engine.process.watchdog import Timeouts
from headstart.ui.application import SingleInstance, make_application
from headstart.ui.program import EngineSource, Program

EDITS = "edits"  # instead of a pace
TAKEN = 3  # the exit code where another window has the profile
_AGAIN_MS = 20
_ANSWERS = 5  # in one chat, so that it fits a small context


class Asker(QObject):
    """Asks a question whenever no answer is in progress."""

    def __init__(self, program_: Program, seed: int, *, toy: bool) -> None:
        """Begin with the chat that was open last."""
        super().__init__()
        self._program, self._chance, self._toy = program_, random.Random(seed), toy
        self._seed = seed
        self._number = 0
        self._last = (0, 0)
        program_.link.loaded.connect(lambda _: tell("loaded", pid=program_.link.pid))
        program_.link.steps.connect(lambda *_: self._show(), type=_after())
        program_.link.crashed.connect(lambda sentence, _: tell("crashed", sentence=sentence))
        program_.link.failed.connect(lambda sentence, _: tell("failed", sentence=sentence))
        program_.chats.events.error_occurred.connect(lambda sentence, _cause: tell("troubled", sentence=sentence))
        self._timer = QTimer(self, interval=_AGAIN_MS)
        self._timer.timeout.connect(self._ask)
        self._timer.start()
        session = program_.chat_controller.session
        tell("open", chat=session.chat.id, texts=[message.text for message in session.path])

    @Slot()
    def _ask(self) -> None:
        session = self._program.chat_controller.session
        if session.is_answering or self._program.link.generation is not None:
            return
        self._number += 1
        if len(session.path) >= 2 * _ANSWERS or self._chance.random() < 0.2:
            tell("leaving")  # a chat without messages is open from now on, until the question is in it
            self._program.window.sidebar.new_requested.emit()
            session = self._program.chat_controller.session
        text = self._question()
        if session.ask(text):
            tell("sent", chat=session.chat.id, text=text)

    def _question(self) -> str:
        if not self._toy:
            return f"Tell me a long story about the number {self._seed * 1000 + self._number}."
        words = "word " * self._chance.randrange(5, 200)
        return f"question {self._seed}-{self._number} {words}".strip()

    def _show(self) -> None:
        session = self._program.chat_controller.session
        live = session.live
        if live and (live.message, len(live.text)) != self._last:
            self._last = (live.message, len(live.text))
            tell("shown", chat=session.chat.id, message=live.message, length=len(live.text), sum=checksum(live.text))


def checksum(text: str) -> int:
    """Return a checksum of a text."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def tell(kind: str, **what: object) -> None:
    """Print a line with the time by a clock that all processes share."""
    print(json.dumps({"is": kind, "at": time.monotonic(), **what}), flush=True)


def _after() -> Qt.ConnectionType:
    return Qt.ConnectionType.QueuedConnection  # what is shown by then is what a person sees


class Editor(QObject):
    """Types new versions of messages without a pause, now of this message, now of that, in all chats."""

    def __init__(self, program_: Program, seed: int) -> None:
        """Begin with the chat that was open last."""
        super().__init__()
        self._program, self._chance = program_, random.Random(seed)
        composer = program_.window.chat.composer
        tell("open", chat=self._chat, text=composer.text(), notice=program_.window.chat.notice.text)
        self._message = 0
        self._timer = QTimer(self, interval=_AGAIN_MS)
        self._timer.timeout.connect(self._type)
        self._timer.start()

    @property
    def _chat(self) -> str:
        return self._program.chat_controller.session.chat.id

    @Slot()
    def _type(self) -> None:
        controller, composer = self._program.chat_controller, self._program.window.chat.composer
        if self._chance.random() < 0.005:
            self._message = 0
            self._program.chats.open(self._chance.choice(self._program.store.chats()).id)
        if not self._message or self._chance.random() < 0.01:
            self._message = self._chance.choice(controller.session.path).id
            controller.composing.begin_edit(self._message)
        composer.edit.insertPlainText(self._chance.choice("abc \n"))
        tell("typed", chat=self._chat, message=self._message, text=composer.text())


def main() -> int:
    """Run until it is killed."""
    seed, pace = int(sys.argv[1]), sys.argv[2]
    timeouts = Timeouts(round=float(sys.argv[3]), token=0.0) if len(sys.argv) > 3 else None
    application = make_application()
    instance = SingleInstance(paths.data_folder())
    if not instance.claim():
        return TAKEN
    toy = EngineSource((*PROGRAM, "--pace", "0" if pace == EDITS else pace), toy_model, timeouts)
    engine = toy if pace else EngineSource(timeouts=timeouts)
    opened = Program(application, open_store(paths.history_folder()), engine)
    opened.start()
    opened.window.show()
    person = Editor(opened, seed) if pace == EDITS else Asker(opened, seed, toy=bool(pace))
    try:
        return application.exec()
    finally:
        opened.close()
        instance.release()
        person.deleteLater()


if __name__ == "__main__":
    sys.exit(main())
