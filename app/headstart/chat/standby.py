"""A copy of the history that is used while the history's own folder cannot be written."""

# The copy lies where temporary files may, under a name that belongs to the folder, and is never made anew while it is
# there: it may have what the history has not. Once the history can be written, the copy goes back into it.

import hashlib
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from headstart.chat.conversation import Chat, ChatMessage
from headstart.chat.history import database, key_file
from headstart.chat.history.database import Key
from headstart.chat.history.store import UNBEGUN, UNSENT, Store, open_store
from headstart.errors import DamagedHistoryError, HistoryError, StandbyError

_NAME = "headstart-chats-"  # of a copy's folder; its history's place follows
_ORIGIN = "origin"  # a file with the state of the history when it was copied
_ROOM = 16 * 2**20  # bytes that stay free beside a copy
_PROBE = 2**16  # bytes that are written to see whether there is room
_log = logging.getLogger(__name__)


def open_copy(folder: Path, key: Key | None) -> Store | None:
    """Open the copy of a history, and make it if there is none; return None if there is no place for it."""
    if folder.name.startswith(_NAME):  # the copy itself
        return None
    try:
        place = _existing(folder) or _make(folder)
        if place is None:
            return None
        copy = open_store(place, key)
        if not (place / _ORIGIN).exists():
            (place / _ORIGIN).write_text(copy.fingerprint(), encoding="ascii")
    except (HistoryError, OSError) as error:
        _log.warning("no copy of %s: %s", folder, error)
        return None
    return copy


def bring_back(store: Store) -> bool:
    """Write what the copy of a history has into that history, and remove the copy; return whether there was one.

    If the history has changed since it was copied, what is new comes from the copy, as from an imported file. Raises
    StandbyError for a copy that cannot be read, and HistoryError for a history that cannot be written; the copy stays.
    """
    place = _existing(store.path.parent)
    if place is None:
        return False
    try:
        copy = open_store(place, store.key)
    except HistoryError as error:
        raise _unreadable(place) from error
    try:
        with closing(copy), database.translate_errors(place / database.FILE_NAME):
            _merge(copy, store, place / _ORIGIN)
    except DamagedHistoryError as error:  # in rows of the copy: the history was checked when it was opened
        raise _unreadable(place) from error
    shutil.rmtree(place, ignore_errors=True)
    return True


def drop(copy: Store) -> None:
    """Close a copy and remove it: the history has all that it has."""
    copy.close()
    shutil.rmtree(copy.path.parent, ignore_errors=True)


def _merge(copy: Store, store: Store, origin: Path) -> None:
    """Merge a copy into its history. If no file says what it was copied from, treat the history as changed."""
    if origin.is_file() and origin.read_text(encoding="ascii") == store.fingerprint():
        copy.copy_into(store)
        return
    chats = (*copy.chats(), *copy.chats(archived=True))
    projects = (copy.project(group.name) for group in copy.projects())
    bundles = [(replace(chat, source=chat.id), copy.conversation(chat.id)) for chat in chats]
    here = {chat.id: kept for chat in chats if (kept := store.chat(chat.id))}
    store.import_chats(bundles, filter(None, projects))
    for chat in chats:  # what is not sent yet; a chat that was changed since has its own
        if here.get(chat.id, chat).updated <= chat.updated and store.chat(chat.id):
            _bring_unsent(chat, copy, store)
    if (unsent := copy.recall(UNSENT)) and not store.recall(UNSENT):
        store.remember(UNSENT, unsent)
        store.save_draft_files(None, copy.draft_files(None))
    for project in ("", *(group.name for group in copy.projects())):
        name = UNBEGUN.format(project)
        if (unbegun := copy.recall(name)) and not store.recall(name):
            store.remember(name, unbegun)


def _bring_unsent(chat: Chat, copy: Store, store: Store) -> None:
    """Save the draft of a chat and the unsent versions of its messages."""
    files = copy.draft_files(chat.id)
    if chat.draft:
        store.save_draft(chat.id, chat.draft)
    store.save_settings(chat.id, chat.settings)
    if chat.draft or files:
        store.save_draft_files(chat.id, files)
    ids = {_identity(message): id_ for id_, message in store.conversation(chat.id).messages.items()}
    messages, before = copy.conversation(chat.id).messages, store.edits(chat.id)
    edits = {ids.get(_identity(messages[id_])): edit for id_, edit in copy.edits(chat.id).items()}
    store.save_edits(chat.id, before, before | {id_: edit for id_, edit in edits.items() if id_ is not None})


def _identity(message: ChatMessage) -> tuple[float, str]:
    """Return what a message has in both histories; its id may differ."""
    return message.created, message.text


def _unreadable(place: Path) -> StandbyError:
    return StandbyError(
        "What you wrote while your chats could not be saved is in {path}, but it cannot be read; delete that folder if "
        "you do not need it.",
        path=place,
    )


def can_write(folder: Path) -> bool:
    """Return whether files in a folder can be written and have room."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBE))
            file.flush()
    except OSError:
        return False
    return True


def places() -> Iterator[Path]:
    """Yield the folders for temporary files; those that outlast a restart of the computer come first."""
    for name in ("/var/tmp", tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):  # noqa: S108
        if name and Path(name).is_dir():
            yield Path(name)


def _copies(folder: Path) -> Iterator[Path]:
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    for place in places():
        yield place / f"{_NAME}{name}"


def _existing(folder: Path) -> Path | None:
    """Return the folder of the copy, if it is there and nobody else's."""
    for path in _copies(folder):
        if path.is_dir() and not path.is_symlink() and _is_own(path) and (path / database.FILE_NAME).exists():
            return path
    return None


def _is_own(path: Path) -> bool:
    state = path.stat()
    return not hasattr(os, "getuid") or (state.st_uid == os.getuid() and not stat.S_IMODE(state.st_mode) & 0o077)


def _make(folder: Path) -> Path | None:
    """Copy a history to the first place that has room for it."""
    files = [path for path in _parts(folder) if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    for path in _copies(folder):
        try:
            if shutil.disk_usage(path.parent).free < 2 * size + _ROOM:
                continue
            shutil.rmtree(path, ignore_errors=True)  # the rest of an attempt
            path.mkdir(mode=0o700)
            for file in files[::-1]:  # the history itself comes last: what has it is whole
                shutil.copyfile(file, path / file.name)
        except OSError as error:
            _log.warning("%s: %s", path, error)
            continue
        return path
    return None


def _parts(folder: Path) -> list[Path]:
    """Return the files of a history, the one with the chats first."""
    names = (database.FILE_NAME, database.FILE_NAME + database.SIDE_FILES[0], key_file.FILE_NAME)
    return [folder / name for name in names]
