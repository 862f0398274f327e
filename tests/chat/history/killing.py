"""Kills an encryption or a decryption before its lines, and looks whether the history is whole. Needs fork.

`python -m tests.chat.history.killing FOLDER` does so before each line, with a number before each of so many.
"""

import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from types import FrameType

import headstart
from headstart.chat.conversation import Conversation
from headstart.chat.history import backups, database, encryption, key_file
from headstart.chat.history.store import Store, open_store

PASSPHRASE = "seven brave crabs"  # noqa: S105 - of nobody
CHEAP = key_file.Cost(64, 1, 1)
WORD = b"needleword"
CHATS = 12
_TRACED = {"encryption.py", "key_file.py", "backups.py"}
_VISITS = 3  # of a line: loops over rows are all alike


def fill(folder: Path) -> None:
    """Create a plain history with a backup, and with a damaged history put aside."""
    with closing(open_store(folder)) as store:
        for number in range(CHATS):
            chat = store.create_chat(f"{WORD.decode()} {number}")
            store.save(chat.id, Conversation(), Conversation().ask(f"{WORD.decode()} {number}?"))
        backups.keep_up(store.path.parent, store.key)
    shutil.copy(folder / database.FILE_NAME, folder / "damaged-1.db")


def opened(folder: Path) -> Store:
    """Return the history, plain or encrypted."""
    encryption.settle(folder)
    key = encryption.unlock(folder, PASSPHRASE) if encryption.is_encrypted(folder) else None
    return open_store(folder, key)


def readable(folder: Path) -> set[str]:
    """Return the names of files in which the secret word is readable."""
    return {path.name for path in folder.rglob("*") if path.is_file() and WORD in path.read_bytes()}


def faults(folder: Path) -> list[str]:
    """Return what is wrong with a history after a kill."""
    with closing(opened(folder)) as store:
        found = [] if len(store.search(WORD.decode())) == 2 * CHATS else ["chats are lost"]
        if store.key:
            found += [f"{name} is not encrypted" for name in readable(folder)]
    left = {path.name for path in folder.iterdir()} & {encryption.MARK, encryption.UNFINISHED}
    keys = [] if store.key else [path.name for path in folder.rglob(key_file.FILE_NAME)]
    return [*found, *left, *keys]


def kill_before_lines(template: Path, change: Callable[[Path, str], object], step: int) -> tuple[int, list[str]]:
    """Begin a change again and again, and kill it `step` lines later each time, until it ends.

    Return the number of kills, and the faults that they left.
    """
    scratch, found = template.with_name("scratch"), []
    for kills in count():
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(template, scratch)
        if not _is_killed(kills * step, lambda: change(scratch, PASSPHRASE)):
            break
        found += [f"kill {kills}: {fault}" for fault in faults(scratch)]
    return kills, found


def _is_killed(line: int, change: Callable[[], object]) -> bool:
    child = os.fork()
    if not child:
        _die_before(line)
        change()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def _die_before(wanted: int) -> None:
    visits: Counter[tuple[str, int]] = Counter()
    counted = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal counted
        place = frame.f_code.co_filename, frame.f_lineno
        ours = place[0].startswith(str(Path(headstart.__file__).parent)) and Path(place[0]).name in _TRACED
        if event == "line" and ours:
            visits[place] += 1
            if visits[place] <= _VISITS:
                if counted == wanted:
                    os.kill(os.getpid(), signal.SIGKILL)
                counted += 1
        return trace if ours else None

    sys.settrace(trace)  # type: ignore[arg-type]


def main(folder: Path, step: int) -> None:
    """Test both directions. Print the number of kills and every fault."""
    key_file.COST = CHEAP
    # A kill takes nothing from the system's cache, and the disk may be slow.
    os.fsync = lambda fd: None
    plain, encrypted = folder / "plain", folder / "encrypted"
    fill(plain)
    shutil.copytree(plain, encrypted)
    encryption.encrypt(encrypted, PASSPHRASE)
    with closing(opened(encrypted)) as store:
        backups.keep_up(store.path.parent, store.key)
    for template, change in ((plain, encryption.encrypt), (encrypted, encryption.decrypt)):
        kills, found = kill_before_lines(template, change, step)
        print(change.__name__, kills, *found, sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 1)
