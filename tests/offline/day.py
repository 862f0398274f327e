"""A day with the program and the model in HEADSTART_HOME: window, then terminal. Prints each thing that was done.

Run as a program, in a process that somebody watches.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QApplication

from headstart import paths
from headstart.chat.conversation import State
from headstart.chat.history.store import open_store
from headstart.engine import prompt_cache_files
from headstart.ui.application import SingleInstance, make_application, start_log
from headstart.ui.program import Program

_LIMIT = 120.0  # seconds for any one thing, on a machine that is traced and loaded
_QUESTION = "Hello lighthouse"
_TERMINAL = (
    ("models",),
    ("remote", "list"),
    ("doctor",),
    ("chat", "--prompt", "Hello", "--max-new-tokens", "8"),
)


def main() -> None:
    """Do everything of the day."""
    application = make_application()
    start_log()
    instance = SingleInstance(paths.data_folder())
    assert instance.claim()
    program = Program(application, open_store(paths.history_folder()))
    program.start()
    program.window.show()
    try:
        _use(program)
    finally:
        program.close()
        instance.release()
    for arguments in _TERMINAL:
        subprocess.run([sys.executable, "-m", "headstart", *arguments], check=True, stdout=subprocess.DEVNULL)
        _tell(" ".join(arguments[:2]))


def _use(program: Program) -> None:
    for name, act in (
        ("load", _load),
        ("chat", _chat),
        ("search", _search),
        ("exchange", _exchange),
        ("settings", _set),
    ):
        act(program)
        _tell(name)


def _load(program: Program) -> None:
    _until(lambda: program.loader.is_ready)


def _chat(program: Program) -> None:
    program.settings.change(max_new_tokens=16)
    for count in (2, 4):
        assert program.chat_controller.session.ask(_QUESTION)
        _until(lambda: not program.chat_controller.session.is_answering)
        path = program.chat_controller.session.path
        assert len(path) == count
        assert path[-1].state is State.COMPLETE, path[-1].stats
    _until(lambda: program.chat_controller.session.chat.id in prompt_cache_files.chats())


def _search(program: Program) -> None:
    program.window.sidebar.search.setText("lighthouse")
    _until(lambda: program.chats.current is not None and "lighthouse" in _rows(program))
    program.window.sidebar.search.clear()


def _exchange(program: Program) -> None:
    chat = program.chat_controller.session.chat.id
    files = [paths.data_folder() / f"chat{ending}" for ending in (".md", ".html", ".pdf", ".headstart.json")]
    for file in files:
        program.commands._import_export.write(chat, file)
        _until(partial(_is_written, file))
    program.import_file(str(files[-1]))
    assert len(program.store.chats()) == 1  # It was here already.


def _is_written(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 100


def _set(program: Program) -> None:
    program.settings.change(theme="dark", language="zh_CN")
    for name in ("preferences", "about", "models", "race", "bench", "tune"):
        program.window.actions_by_name[name].trigger()
        QApplication.processEvents()


def _rows(program: Program) -> str:
    model = program.window.sidebar.list.model()
    return " ".join(str(model.index(row, 0).data()) for row in range(model.rowCount()))


def _until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + _LIMIT
    while not holds():
        assert time.monotonic() < ends, "it takes too long"
        QApplication.processEvents()
        time.sleep(0.005)


def _tell(name: str) -> None:
    print(name, flush=True)


if __name__ == "__main__":
    main()
