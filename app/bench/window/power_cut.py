"""The loss of what you type in a power cut, or in a crash on a disk that cannot be written.

PYTHONPATH=app python app/bench/window/power_cut.py [--typing 16] [--edit]

Runs the window with the toy engine under `strace`, sends a question, then types without a pause for so many seconds:
prints the seconds from the question, and from the first key, until the history's log was flushed to the disk. Then
puts the history on a disk of its own, which gets read-only or full while you type, kills the window ten seconds after
the first key, and starts it again on the disk that can be written: prints how many of the characters are back. That
needs the right to mount; without it, or without strace, the part is null. --edit types into the question, which is
edited. Prints JSON.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest

from bench.window.profile import HOME, arguments, make_application, opened
from headstart.chat import standby
from headstart.chat.history.store import UNSENT, open_store

_KEY_MS = 100  # between two keys
_SETTLE_S = 3  # seconds after the last key
_CRASH_S = 10.0  # seconds from the first key to the kill
_DISK = 32 * 2**20  # bytes
_FLUSH = re.compile(r"(?P<at>\d+\.\d+) (?P<call>fsync|fdatasync|pwrite64)\(\d+<[^>]*history\.db-wal>")


def type_at_the_window(seconds: float, *, edits: bool) -> None:
    """Send a question, then type for so many seconds; print the time of each as a line of JSON."""
    application = make_application()
    with opened(application) as program:
        program.maintenance.start()
        edit = program.window.chat.composer.edit
        keys = QTimer(application, interval=_KEY_MS)

        def press() -> None:
            QTest.keyClicks(edit, "x")
            tell("key")

        def begin() -> None:
            QTest.keyClicks(edit, "hello")
            tell("sent")
            QTest.keyClick(edit, Qt.Key.Key_Return)

        keys.timeout.connect(press)
        QTimer.singleShot(0, begin)
        keys_end, end = round(seconds * 1000), round((seconds + _SETTLE_S) * 1000)
        answered = program.chat_controller.answered
        if edits:
            answered.connect(program.chat_controller.edit_last)
        answered.connect(lambda _: keys.start())
        answered.connect(lambda _: QTimer.singleShot(keys_end, application, keys.stop))
        answered.connect(lambda _: QTimer.singleShot(end, application, application.quit))
        application.exec()


def tell(what: str) -> None:
    """Print an event and its time."""
    print(json.dumps([what, time.time()]), flush=True)


@contextmanager
def window(home: Path, seconds: float, *before: str, edits: bool) -> "Iterator[subprocess.Popen[str]]":
    """Context manager with a process of `type_at_the_window`, behind the words of another command."""
    command = [*before, sys.executable, __file__, "--child", str(seconds), *["--edit"] * edits]
    variables = {**os.environ, HOME: str(home)}
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        yield process


def measure_flushes(home: Path, seconds: float, *, edits: bool) -> dict[str, float] | None:
    """Return the seconds until a question and the first keys are on the disk; None without strace."""
    if not shutil.which("strace"):
        return None
    trace = home / "trace"
    words = ("strace", "-f", "-y", "-ttt", "-s", "0", "-e", "trace=fsync,fdatasync,pwrite64", "-o", str(trace))
    with window(home / "home", seconds, *words, edits=edits) as process:
        assert process.stdout
        times: dict[str, list[float]] = {"sent": [], "key": []}
        for line in process.stdout:
            what, when = json.loads(line)
            times[what].append(when)
    calls = [(float(match["at"]), match["call"] != "pwrite64") for match in _FLUSH.finditer(trace.read_text("utf-8"))]

    def flushed(begin: float) -> float:
        written = next(at for at, is_flush in calls if at >= begin and not is_flush)
        return next(at for at, is_flush in calls if at >= written and is_flush)

    first, last = times["key"][0], times["key"][-1]
    return {
        "question_s": round(flushed(times["sent"][0]) - times["sent"][0], 2),
        "first_key_s": round(flushed(first) - first, 2),
        "typed_s": round(last - first, 1),
        "keys": len(times["key"]),
    }


@contextmanager
def disk(image: Path, place: Path) -> Iterator[bool]:
    """Context manager with the file system of an image at `place`; False if nothing may be mounted."""
    place.mkdir(exist_ok=True)
    mount = ["mount", "-o", "loop", str(image), str(place)]
    is_there = not subprocess.run(mount, capture_output=True, check=False).returncode
    try:
        yield is_there
    finally:
        if is_there:
            subprocess.run(["umount", str(place)], check=True)


def fill(place: Path) -> None:
    """Take all room of a disk."""
    with suppress(OSError), (place / "rest").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def lock(place: Path) -> None:
    """Make a disk read-only as the system does after a fault of the disk."""
    subprocess.run(["mount", "-o", "remount,abort", str(place)], check=True)


def measure_crash(place: Path, spoil: Callable[[Path], None], *, edits: bool) -> dict[str, int] | None:
    """Return how many characters were typed before a kill, and how many are back; None if nothing may be mounted."""
    image = place.with_suffix(".image")
    with image.open("wb") as file:
        file.truncate(_DISK)
    if not shutil.which("mkfs.ext4") or subprocess.run(["mkfs.ext4", "-q", str(image)], check=False).returncode:
        return None
    with disk(image, place) as is_there:
        if not is_there:
            return None
        typed, begun = 0, 0.0
        with window(place / "home", 4 * _CRASH_S, edits=edits) as process:
            assert process.stdout
            for line in process.stdout:
                what, when = json.loads(line)
                typed += what == "key"
                if what == "key" and not begun:
                    begun = when
                    spoil(place)
                if begun and when > begun + _CRASH_S:
                    process.kill()
                    break
    with disk(image, place):
        (place / "rest").unlink(missing_ok=True)
        with closing(open_store(place / "home" / "history")) as store:
            standby.bring_back(store)
            texts = [store.recall(UNSENT) or ""]
            for chat in store.chats():
                texts += [chat.draft, *(edit.text for edit in store.edits(chat.id).values())]
        return {"typed": typed, "back": max(text.count("x") for text in texts)}


def main() -> None:
    """Measure, and print."""
    parser = arguments(__doc__)
    parser.add_argument("--typing", type=float, default=16.0, metavar="S", help="seconds without a pause")
    parser.add_argument("--edit", action="store_true", help="edit the question instead of writing the next one")
    parser.add_argument("--child", type=float, metavar="S", help="be the window")
    given = parser.parse_args()
    if given.child is not None:
        type_at_the_window(given.child, edits=given.edit)
        return
    with tempfile.TemporaryDirectory() as name:
        found: dict[str, Any] = {"power cut": measure_flushes(Path(name), given.typing, edits=given.edit)}
        for fault, spoil in {"read-only": lock, "full": fill}.items():
            found[f"crash on a {fault} disk"] = measure_crash(Path(name) / fault, spoil, edits=given.edit)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
