"""`headstart --self-check`: is all there, does the window open, does an answer come?"""

import importlib
import os
import pkgutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

import headstart
from headstart import library
from headstart.chat.store import open_store
from headstart.engine import runtime
from headstart.library import Broken
from headstart.ui.application import make_application
from headstart.ui.chat.message import MessageContent, MessageState
from headstart.ui.program import Program

_QUESTION = "Say hello in one short sentence."
_LIMIT_MS = 180_000  # loading a model of some gigabytes from a slow disk takes a minute
_FAILED = 1


def run(others: Iterable[str] = ()) -> int:
    """0 when all is there and an answer came: of the installed model, or of the engine's process where there is none.

    `others`: a sentence for each fault of parts that the window does not use.
    """
    faults = (*_missing_modules(), *runtime.missing_parts(), *others)
    for fault in faults:
        print(f"headstart: {fault}")
    return _FAILED if faults else _ask()


def _missing_modules() -> list[str]:
    """A sentence for each module of ours that cannot be imported: a frozen program lacks what nobody saw."""
    faults = []
    for module in pkgutil.walk_packages(headstart.__path__, "headstart."):
        try:
            importlib.import_module(module.name)  # noqa: TID251 - each of ours in turn
        except ImportError as error:
            faults.append(f"{module.name} cannot be imported: {error}")
    return faults


def _ask() -> int:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = make_application()
    usable = any(not isinstance(entry, Broken) for entry in library.installed())
    with tempfile.TemporaryDirectory(prefix="headstart-check-") as folder:
        store = open_store(Path(folder))
        checked = Program(application, store)
        answers: list[MessageContent] = []
        told: list[str] = []
        checked.chat_controller.answered.connect(answers.append)
        checked.chat_controller.answered.connect(lambda _: application.exit())
        checked.chats.events.troubled.connect(lambda sentence, _cause: print(f"headstart: {sentence}"))
        checked.start()
        checked.window.show()
        if usable:
            QTimer.singleShot(0, checked, lambda: checked.chat_controller.session.send(_QUESTION))
        else:
            _ask_engine(checked, told, application)
        QTimer.singleShot(_LIMIT_MS, application.quit)
        application.exec()
        checked.close()
    return _verdict(answers, told)


def _ask_engine(checked: Program, told: list[str], application: QApplication) -> None:
    """Without a model it can say what this machine is, or why it cannot."""

    def note(sentence: str) -> None:
        told.append(sentence)
        application.exit()

    checked.link.described.connect(lambda found: note(", ".join(device.name for device in found.devices)))
    checked.link.failed.connect(lambda sentence, _: note(sentence))
    checked.link.describe()


def _verdict(answers: list[MessageContent], told: list[str]) -> int:
    if told:
        print(f"headstart: the window opened and the engine (no model is installed) answered: {told[0]}")
        return 0
    if not answers:
        print(f"headstart: no answer came within {_LIMIT_MS // 1000} s.")
        return _FAILED
    answer = answers[0]
    if answer.state is not MessageState.DONE or not answer.text.strip():
        print(f"headstart: the answer failed: {answer.notice}")
        return _FAILED
    print(f"headstart: the window opened and the installed model answered: {' '.join(answer.text.split())[:200]}")
    return 0
