"""Rounds in which files are cut short, hold garbage or cannot grow, and clocks jump. Raises Lost."""

import resource
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random
from unittest import mock

from headstart.chat.conversation import Conversation
from headstart.chat.documents import write_export
from headstart.chat.history.backups import is_due, keep_up, list_backups
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.store import open_store
from headstart.errors import HeadstartError
from tests.faults import keeping
from tests.faults.files import TITLE, Written, files
from tests.faults.profile import Lost

_PAGE = 4096
_YEARS = 10 * 365 * 24 * 3600.0


def tear_file(home: Path, chance: Random) -> None:
    """Cut a file short or zero a part of it, as a power cut does; require a report or a repair, and later writes."""
    file = chance.choice(files(home))
    file.write(home)
    before = file.read(home)
    path = file.path(home)
    path.write_bytes(_torn(path.read_bytes(), chance))
    with suppress(HeadstartError):
        file.read(home)
    file.write(home)
    _require_same(file, before, file.read(home))


def tear_log_of_changes(home: Path, chance: Random) -> None:
    """Require all older changes of a history whose newest ones were not yet on the disk."""
    source, copy = home / "growing", home / "cut"
    for folder in (source, copy):
        shutil.rmtree(folder, ignore_errors=True)
    store = open_store(source)
    chat = store.create_chat("growing")
    tree = Conversation()
    for number in range(6):
        after = tree.ask(f"question {number} " + "word " * chance.randrange(400))
        store.save(chat.id, tree, after)
        tree = after
    shutil.copytree(source, copy)
    store.close()
    log = copy / f"{FILE_NAME}-wal"
    log.write_bytes(log.read_bytes()[: chance.randrange(log.stat().st_size + 1)])
    with closing(open_store(copy)) as found:
        texts = [m.text for chat in found.chats() for m in found.conversation(chat.id).messages.values()]
    if texts != [message.text for message in tree.messages.values()][: len(texts)]:
        raise Lost("older changes are gone")


def fill_disk(home: Path, chance: Random) -> None:
    """Require the old content where a file cannot grow, and the new one once there is room."""
    file = chance.choice(files(home))
    file.write(home)
    before = file.read(home)
    with no_file_beyond(chance.choice([0, 10, 100, 1000, chance.randrange(2 * _PAGE)])), suppress(*file.refusals):
        file.write(home)
    _require_same(file, before, file.read(home))
    file.write(home)
    _require_same(file, before, file.read(home))


def fill_disk_while_saving(home: Path, chance: Random) -> None:
    """Fill the disk while a message is saved; require a refusal, all older messages, and later saves."""
    shutil.rmtree(home / "filling", ignore_errors=True)
    store = open_store(home / "filling")
    chat = store.create_chat(TITLE)
    kept = tree = Conversation()
    for number in range(8):
        after = tree.ask(f"question {number} " + "word " * 500)
        limit = chance.choice([None, 0, chance.randrange(20 * _PAGE)])
        try:
            with no_file_beyond(limit):
                store.save(chat.id, kept, after)
        except HeadstartError:
            continue
        kept = tree = after
    after = kept.ask("the last one")
    store.save(chat.id, kept, after)
    store.close()
    with closing(open_store(home / "filling")) as found:
        if found.conversation(chat.id).messages != after.messages:
            raise Lost("a message that was saved is gone")


def fill_disk_while_exporting(home: Path, chance: Random) -> None:
    """Fill the disk during an export; require the earlier file."""
    path = home / "exported.md"
    write_export(path, "the old one")
    with no_file_beyond(chance.randrange(1, 3000)), suppress(HeadstartError):
        write_export(path, "the new one " * 300)
    if path.read_text(encoding="utf-8") not in ("the old one", "the new one " * 300):
        raise Lost("half an export stands in its place")
    if list(home.glob(".new-*")):
        raise Lost("half an export was left")


def fill_disk_while_keeping(home: Path, chance: Random) -> None:
    """Fill the disk while parts are stored; require whole parts, and none of the last one."""
    root, seed = home / "prompts", chance.randrange(10**6)
    shutil.rmtree(root, ignore_errors=True)
    for limit in (None, chance.randrange(keeping.HEAVY), None):
        with no_file_beyond(limit):
            keeping.keep(root, seed, 10)
        if list(root.rglob("*.new")):
            raise Lost("half a part was left")
        keeping.require_sound(root, seed)


def delete_while_keeping(home: Path, chance: Random) -> None:
    """Delete chats while their parts are looked up, read or written; require that they are read again."""
    root, seed = home / "prompts", chance.randrange(10**6)
    shutil.rmtree(root, ignore_errors=True)
    ended = threading.Event()

    def delete() -> None:
        while not ended.wait(0.002):
            for folder in root.glob("*/chat1"):
                shutil.rmtree(folder, ignore_errors=True)

    other = threading.Thread(target=delete)
    other.start()
    try:
        for _ in range(3):
            keeping.keep(root, seed, 15)
    finally:
        ended.set()
        other.join()
    keeping.require_sound(root, seed)


def jump_clock(home: Path, chance: Random) -> None:
    """Let the clock jump; require the order of messages, all chats, and backups."""
    shutil.rmtree(home / "jumping", ignore_errors=True)
    store = open_store(home / "jumping")
    tree, now = Conversation(), time.time()
    chat = store.create_chat("jumping")
    for number in range(6):
        now += chance.uniform(-_YEARS, _YEARS)
        with mock.patch("time.time", return_value=now):
            after = tree.ask(f"question {number}")
            store.save(chat.id, tree, after)
            store.create_chat(f"chat {number}")
            keep_up(store.path.parent, store.key)
        tree = after
    found = [message.text for message in store.conversation(chat.id).path]
    listed = {each.title for each in store.chats()}
    keep_up(store.path.parent, store.key)
    due, backups = is_due(home / "jumping"), list_backups(home / "jumping")
    store.close()
    if found != [f"question {number}" for number in range(6)] or len(listed) != 7:
        raise Lost("messages or chats are in disorder")
    if due or not backups:
        raise Lost("no backup is made any more")


@contextmanager
def no_file_beyond(size: int | None) -> Iterator[None]:
    """Context manager in which this process can write only so many bytes of a file, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft if size is None else size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _torn(data: bytes, chance: Random) -> bytes:
    at = chance.choice([0, 1, len(data) // 2, len(data) - 1, chance.randrange(len(data))])
    at_page = at - at % _PAGE
    return chance.choice(
        [
            data[:at],
            data[:at_page],
            data[:at] + bytes(len(data) - at),
            data[:at_page] + bytes(len(data) - at_page),
            bytes(len(data)),
            chance.randbytes(len(data)),
        ]
    )


def _require_same(file: Written, before: object, after: object) -> None:
    if after != before and not (FILE_NAME in file.name and TITLE in str(after)):
        raise Lost(f"{file.name} is not what it was")
