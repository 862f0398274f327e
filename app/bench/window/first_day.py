"""The first day by keyboard alone, and what a screen reader hears of it. Prints a table.

PYTHONPATH=app python app/bench/window/first_day.py, after `apt-get install xvfb openbox xdotool at-spi2-core
python3-pyatspi`. The window runs under Xvfb on a profile of its own, first without a model, then with a toy engine.
Names, roles and announcements come over AT-SPI, as they come to Orca. The exit code is 1 where a step is silent, or
changes nothing.
"""

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_DISPLAY, _SIZE = ":87", "1280x900x24"
_SYSTEM_PYTHON = "/usr/bin/python3"  # which has pyatspi
_PATIENCE_S, _QUIET_S = 15.0, 0.6  # until the first word of a step; after its last one
_START_S = 60.0
_LISTENER = """
import json, pyatspi

def show(event):
    try:
        if event.type.startswith("object:announcement"):
            heard = {"text": str(event.any_data), "role": ""}
        elif event.type.startswith("object:state-changed:focused") and event.detail1:
            source = event.source
            heard = {"text": source.name or source.description, "role": source.getRoleName()}
        elif event.type.startswith("window:activate"):
            heard = {"text": event.source.name, "role": "window"}
        else:
            return
    except Exception as error:
        heard = {"text": "", "role": f"? {error}"}
    print(json.dumps(heard), flush=True)

pyatspi.Registry.registerEventListener(show, "object:state-changed:focused", "object:announcement", "window:activate")
print(json.dumps({"text": "ready", "role": ""}), flush=True)
pyatspi.Registry.start()
"""


class Step(NamedTuple):
    """One action of a person. `keys` are those of xdotool; a text is typed after them."""

    does: str
    keys: tuple[str, ...] = ()
    text: str = ""
    expects: str = ""  # a part of what is spoken


def without_model() -> list[Step]:
    """Yield the steps of the first start: the offered models, and the way to one."""
    tabs = [Step(f"Tab {number}", ("Tab",)) for number in range(1, 7)]
    return [Step("first start", expects="Headstart"), *tabs]


def with_model(folder: Path) -> list[Step]:
    """Yield the steps of a question, a project, a folder, and an approval."""
    edit = json.dumps({"path": "notes.txt", "old": "two", "new": "2"})
    return [
        Step("start"),
        Step("question", ("ctrl+l",), "hello\n", "complete"),
        Step("models", ("ctrl+m",)),
        Step("back to the chat", ("ctrl+l",), "", "Message"),
        Step("palette", ("ctrl+k",)),
        Step("nothing to find", (), "xyz", "xyz"),
        Step("leave it", ("Escape",)),
        Step("search", ("ctrl+shift+f",)),
        Step("to the projects", ("Tab",), "", "project"),
        Step("new project", ("space",)),
        Step("its name and instructions", (), "Garden\t"),
        Step("save it", ("shift+Tab", "Return")),
        Step("palette again", ("ctrl+k",)),
        Step("find the folder", (), "working f", "Working Folder"),
        Step("working folder", ("Return",)),
        Step("choose", ("space",)),
        Step("name the folder", (), f"{folder}\n"),
        Step("close the dialog", ("Escape",)),
        Step("ask for a change", ("ctrl+l",), f"toy: call edit_file {edit}\n", "The model wants to"),
        Step("to the answers", ("shift+Tab",), "", "Do not allow"),
        Step("back to the change", ("shift+Tab",) * 4, "", "What would change"),
        Step("allow", ("Tab",), "", "Allow"),
        Step("press it", ("space",), "", "complete"),
    ]


class Listener:
    """A program that hears the output of a screen reader."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([_SYSTEM_PYTHON, "-c", _LISTENER], stdout=subprocess.PIPE, text=True)
        self._heard: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self._heard.get(timeout=_START_S)

    def spoken(self, expects: str, patience: float) -> list[str]:
        """Return the speech from now on, until it pauses and `expects` was heard, or patience ends."""
        words, due = list[str](), time.monotonic() + patience
        while time.monotonic() < due:
            is_done = bool(words) and any(expects in each for each in words)
            try:
                heard = self._heard.get(timeout=_QUIET_S if is_done else due - time.monotonic())
            except queue.Empty:
                break
            line = ", ".join(filter(None, (heard["text"], heard["role"])))
            if heard["text"] and words[-1:] != [line]:
                words.append(line)
        return words

    def close(self) -> None:
        self._process.terminate()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._heard.put(json.loads(line))


def walk(steps: list[Step], home: Path, *, is_toy: bool) -> Iterator[tuple[Step, list[str]]]:
    """Yield each step with its speech."""
    listener = Listener()
    command = [sys.executable, __file__, "--window", *(["--toy"] if is_toy else [])]
    window = subprocess.Popen(command, env={**os.environ, "HEADSTART_HOME": str(home)})
    try:
        for number, step in enumerate(steps):
            for key in step.keys:
                subprocess.run(["xdotool", "key", "--clearmodifiers", key], check=True)
            if text := step.text.rstrip("\n"):
                subprocess.run(["xdotool", "type", "--delay", "15", text], check=True)
            if text != step.text:
                subprocess.run(["xdotool", "key", "Return"], check=True)
            yield step, listener.spoken(step.expects, _PATIENCE_S if number else _START_S)
    finally:
        window.terminate()
        listener.close()


def show_window(*, is_toy: bool) -> None:
    """Run the window until it is closed, with a toy engine or without a model."""
    from PySide6.QtWidgets import QApplication

    from bench.toy import PROGRAM
    from bench.window.profile import toy_model
    from headstart import paths
    from headstart.chat.history.store import open_store
    from headstart.ui.program import EngineSource, Program

    application = QApplication(sys.argv[:1])
    toy = EngineSource(PROGRAM, toy_model) if is_toy else EngineSource(PROGRAM)
    program = Program(application, open_store(paths.history_folder()), toy)
    program.start()
    program.window.show()
    application.exec()


@contextmanager
def _screen() -> Iterator[None]:
    with subprocess.Popen(["Xvfb", _DISPLAY, "-screen", "0", _SIZE]) as server:
        os.environ |= {"DISPLAY": _DISPLAY, "QT_QPA_PLATFORM": "xcb", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}
        os.environ.pop("WAYLAND_DISPLAY", None)
        try:
            yield
        finally:
            server.terminate()


def main() -> int:
    """Walk through the day."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--window", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--toy", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.window:
        show_window(is_toy=given.toy)
        return 0
    if not given.inside:  # a session bus of its own, on a screen of its own
        with _screen():
            return subprocess.run(
                ["dbus-run-session", "--", sys.executable, __file__, "--inside"], check=False
            ).returncode
    manager = subprocess.Popen(["openbox"], stderr=subprocess.DEVNULL)
    silent = list[str]()
    try:
        with tempfile.TemporaryDirectory(prefix="headstart-day-") as root:
            folder = Path(root, "garden")
            folder.mkdir()
            (folder / "notes.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
            days: list[tuple[str, list[Step], bool]] = [
                ("first start", without_model(), False),
                ("first day", with_model(folder), True),
            ]
            for title, steps, is_toy in days:
                print(f"## {title}\n\n| step | spoken |\n| --- | --- |")
                for step, words in walk(steps, Path(root, title), is_toy=is_toy):
                    is_heard = bool(words) and any(step.expects in each for each in words)
                    silent += [] if is_heard else [step.does]
                    print(f"| {step.does} | {' / '.join(words).replace('|', '¦') or '**nothing**'} |", flush=True)
                print()
            is_changed = (folder / "notes.txt").read_text(encoding="utf-8") == "one\n2\nthree\n"
            print(f"The file was {'changed' if is_changed else 'not changed'}.")
    finally:
        manager.terminate()
    print(f"Silent: {', '.join(silent) or 'no step'}")
    return int(bool(silent) or not is_changed)


if __name__ == "__main__":
    sys.exit(main())
