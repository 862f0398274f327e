"""The encrypted history: nothing of it can be read without its passphrase, and no change of kind loses anything."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headstart.chat.conversation import Attachment, Conversation, Edit
from headstart.chat.history import backups, database, encryption, key_file
from headstart.chat.history.reader import open_reader
from headstart.chat.history.store import Store, open_store
from headstart.errors import DamagedHistoryError, HistoryError, LockedHistoryError, WrongPassphraseError
from tests.chat.history import killing
from tests.chat.history.killing import CHATS, PASSPHRASE, WORD
from tests.source.source_tree import ROOT

pytest.importorskip("sqlcipher3", reason="sqlcipher3 is not installed")

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder is made in it, for hundreds of histories one after the other


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make one guess of a passphrase take no time."""
    monkeypatch.setattr(key_file, "COST", killing.CHEAP)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A plain history with a backup, and with a damaged history put aside."""
    killing.fill(tmp_path / "history")
    return tmp_path / "history"


@pytest.fixture
def encrypted(folder: Path) -> Path:
    """An encrypted history."""
    encryption.encrypt(folder, PASSPHRASE)
    return folder


@pytest.fixture
def store(encrypted: Path) -> Iterator[Store]:
    """The open history."""
    with closing(killing.opened(encrypted)) as opened:
        yield opened


def test_encrypted_history_works_like_a_plain_one(store: Store) -> None:
    folder = store.path.parent
    assert backups.keep_up(store.path.parent, store.key)
    chat = store.create_chat("the walrus speaks")
    file = Attachment("notes.txt", f"{WORD.decode()} in a file")
    store.save(chat.id, Conversation(), Conversation().ask("what about cabbages", attachments=(file,)))
    store.save_draft(chat.id, f"{WORD.decode()} unsent")
    store.save_draft_files(None, [file])
    store.save_edits(chat.id, {}, {1: Edit(f"{WORD.decode()} changed", (file,))})
    assert [hit.chat.title for hit in store.search("cabbag")] == ["the walrus speaks"]
    assert [hit.file for hit in store.search("file")] == ["notes.txt"]
    with closing(open_reader(folder, store.key)) as reader:
        assert len(reader.search(WORD.decode(), limit=1000)) == 2 * CHATS + 1
        assert reader.draft_files(None) == (file,)
        assert reader.edits(chat.id)[1].files == (file,)
    assert killing.readable(folder) == set()  # the log of writes, which is there now, included
    assert store.path.with_name(f"{database.FILE_NAME}-wal").stat().st_size


def test_wrong_passphrase_opens_nothing(encrypted: Path) -> None:
    with pytest.raises(LockedHistoryError, match="is encrypted; open it in the window"):
        open_store(encrypted)
    with pytest.raises(WrongPassphraseError, match="This is not the passphrase"):
        encryption.unlock(encrypted, PASSPHRASE + "s")
    with pytest.raises(sqlite3.DatabaseError, match="not a database"), closing(_plainly(encrypted)) as connection:
        connection.execute("SELECT * FROM chat")
    assert PASSPHRASE not in (encrypted / key_file.FILE_NAME).read_text(encoding="ascii")


def _plainly(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / database.FILE_NAME)


def test_daily_backup_is_encrypted_and_can_be_cancelled(
    encrypted: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "_PAGES", 1)
    looks = iter([True, True, True])
    assert backups.keep_up(encrypted, store.key, lambda: next(looks, False)) is None
    assert backups.list_backups(encrypted) == ()
    assert list(backups.home(encrypted).glob("*.new*")) == []
    made = backups.keep_up(encrypted, store.key)
    assert made
    assert killing.readable(encrypted) == set()
    with closing(database.open_file(made.path, store.key)) as copy:
        assert copy.execute("SELECT count(*) FROM chat").fetchone()[0] == CHATS


def test_key_of_a_history_is_in_no_repr(encrypted: Path) -> None:
    key = encryption.unlock(encrypted, PASSPHRASE)
    assert key.raw.hex() not in f"{key!r} {key}"
    assert repr(key.raw) not in f"{key!r} {key}"


def test_encryption_deletes_plain_files_and_decryption_the_key(folder: Path) -> None:
    assert {"history.db", "damaged-1.db"} < killing.readable(folder)
    encryption.encrypt(folder, PASSPHRASE)
    assert {path.name for path in folder.iterdir()} == {"history.db", "history.key", "backups"}
    assert list((folder / "backups").iterdir()) == []
    encryption.decrypt(folder, PASSPHRASE)
    assert {path.name for path in folder.iterdir()} == {"history.db", "backups"}
    assert killing.faults(folder) == []
    with closing(_plainly(folder)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.skipif(sys.platform == "win32", reason="rights are other ones there")
def test_encrypted_files_are_private(store: Store) -> None:
    backups.keep_up(store.path.parent, store.key)
    made = [path for path in store.path.parent.rglob("*") if path.is_file()]
    assert {"history.db", "history.key"} <= {path.name for path in made}
    assert [path.name for path in made if path.stat().st_mode & 0o077] == []


def test_new_passphrase_replaces_the_old_one(encrypted: Path) -> None:
    with closing(killing.opened(encrypted)) as store:
        backup = backups.keep_up(store.path.parent, store.key)
    encryption.change_passphrase(encrypted, PASSPHRASE, "another one")
    with pytest.raises(WrongPassphraseError):
        encryption.unlock(encrypted, PASSPHRASE)
    key = encryption.unlock(encrypted, "another one")
    backups.restore(encrypted, backup, key)
    with closing(open_store(encrypted, key)) as store:
        assert len(store.search(WORD.decode())) == 2 * CHATS
    assert killing.readable(encrypted) == set()


def test_passphrase_guess_takes_the_stated_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    path = tmp_path / key_file.FILE_NAME
    key_file.lock(path, key_file.new_key(), PASSPHRASE)
    said = json.loads(path.read_text(encoding="ascii"))
    assert said["cost"] == {"memory": 256 * 1024, "passes": 3, "lanes": 4}


def test_short_passphrase_is_refused(folder: Path, store: Store) -> None:
    with pytest.raises(HistoryError, match="at least 8 characters"):
        encryption.change_passphrase(folder, PASSPHRASE, "short")
    assert encryption.unlock(folder, PASSPHRASE) == store.key


def test_passphrase_is_normalized(encrypted: Path) -> None:
    encryption.change_passphrase(encrypted, PASSPHRASE, "cr\u00e8me brul\u00e9e")
    encryption.unlock(encrypted, "cre\u0300me brule\u0301e")


def test_key_file_is_restored_from_its_copy(encrypted: Path) -> None:
    path = encrypted / key_file.FILE_NAME
    key = encryption.unlock(encrypted, PASSPHRASE)
    content = path.read_bytes()
    for spoilt in (content[:-40], content.replace(b"a", b"b"), b"", b"{}", b"[" * 100_000, b"\xff", None):
        path.unlink()
        if spoilt is not None:
            path.write_bytes(spoilt)
        assert encryption.is_encrypted(encrypted)
        assert encryption.unlock(encrypted, PASSPHRASE) == key
        assert path.read_bytes() == content
    path.write_bytes(b"{}")
    (encrypted / "backups" / key_file.FILE_NAME).unlink()
    with pytest.raises(HistoryError, match="The key of the chat history is damaged: put a copy"):
        encryption.unlock(encrypted, PASSPHRASE)


def test_key_file_cannot_request_all_memory(encrypted: Path) -> None:
    path = encrypted / key_file.FILE_NAME
    said = json.loads(path.read_text(encoding="ascii"))
    del said["check"]
    said["cost"]["memory"] = 2**40
    path.write_text(json.dumps({**said, "check": key_file._checksum(said)}), encoding="ascii")
    with pytest.raises(HistoryError, match="is damaged"):
        encryption.unlock(encrypted, PASSPHRASE)


def test_damaged_page_is_reported_and_replaced_by_a_backup(encrypted: Path) -> None:
    with closing(killing.opened(encrypted)) as store:
        key, backup = store.key, backups.keep_up(store.path.parent, store.key)
    path = encrypted / database.FILE_NAME
    content = bytearray(path.read_bytes())
    content[3 * 4096 + 100] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedHistoryError):
        open_store(encrypted, key)
    backups.restore(encrypted, backup, key)
    assert killing.faults(encrypted) == []
    backups.restore(encrypted, None, key)
    with closing(open_store(encrypted, key)) as store:
        assert store.chats() == ()
        store.create_chat(WORD.decode())
        assert store.key
    assert killing.readable(encrypted) == set()


def test_plain_backup_cannot_replace_an_encrypted_history(folder: Path) -> None:
    (backup,) = backups.list_backups(folder)
    kept = shutil.copy(backup.path, folder.parent)
    key = encryption.encrypt(folder, PASSPHRASE)
    shutil.copy(kept, backup.path)
    with pytest.raises(DamagedHistoryError):
        backups.restore(folder, backup, key)
    assert encryption.is_encrypted(folder)


_ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "app")])}
_HOLDING = """
import sys
from pathlib import Path
from tests.chat.history import killing

store = killing.opened(Path(sys.argv[1]))
print("open", flush=True)
input()
store.close()
"""


@pytest.mark.parametrize("change", [encryption.encrypt, encryption.decrypt])
def test_history_open_elsewhere_is_not_changed(
    folder: Path, change: Callable[[Path, str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    if change is encryption.decrypt:
        encryption.encrypt(folder, PASSPHRASE)
    before = (folder / database.FILE_NAME).read_bytes()[:16]
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDING, folder], stdin=-1, stdout=-1, text=True, env=_ENVIRONMENT
    ) as other:
        assert other.stdout
        assert other.stdin
        assert other.stdout.readline() == "open\n"
        with pytest.raises(HistoryError, match="Another program is using the chat history"):
            change(folder, PASSPHRASE)
        other.stdin.write("\n")
    assert (folder / database.FILE_NAME).read_bytes()[:16] == before
    assert killing.faults(folder) == []


@pytest.mark.parametrize("change", [encryption.encrypt, encryption.decrypt])
def test_differing_copy_replaces_nothing(
    folder: Path, change: Callable[[Path, str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    if change is encryption.decrypt:
        encryption.encrypt(folder, PASSPHRASE)
        killing.opened(folder).close()
    attach = encryption._attach

    def spoiling(connection: sqlite3.Connection, path: Path, key: database.Key | None) -> None:
        attach(connection, path, key)
        if path.stat().st_size:
            connection.execute("UPDATE other.chat SET updated = 0 WHERE rank = 7")

    monkeypatch.setattr(encryption, "_attach", spoiling)
    with pytest.raises(DamagedHistoryError, match="chat"):
        change(folder, PASSPHRASE)
    assert encryption.is_encrypted(folder) is (change is encryption.decrypt)
    assert killing.faults(folder) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the length of files is not bounded there")
@pytest.mark.parametrize("change", [encryption.encrypt, encryption.decrypt])
def test_full_disk_leaves_the_history_unchanged(folder: Path, change: Callable[[Path, str], object]) -> None:
    import resource  # noqa: PLC0415 - only there

    with closing(open_store(folder)) as store:
        chat = store.create_chat("long")
        store.save(chat.id, Conversation(), Conversation().ask("word " * 200_000))
    if change is encryption.decrypt:
        encryption.encrypt(folder, PASSPHRASE)
    bounds = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, bounds[1]))
    try:
        with pytest.raises(HistoryError, match=r"could not be used|cannot be used|is full"):
            change(folder, PASSPHRASE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, bounds)
    assert encryption.is_encrypted(folder) is (change is encryption.decrypt)
    assert killing.faults(folder) == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is not forked there")
def test_kill_at_any_line_leaves_a_whole_history() -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as scratch:
        command = [sys.executable, "-m", "tests.chat.history.killing", scratch, "4"]
        done = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, check=True)
    encrypting, kills, decrypting, more = done.stdout.split("\n", 3)
    assert (encrypting, decrypting) == ("encrypt", "decrypt"), done.stdout
    assert int(kills) > 30
    assert int(more) > 30


def test_interrupted_search_raises_nothing(store: Store) -> None:
    with closing(open_reader(store.path.parent, store.key)) as reader:
        thread = threading.Timer(0.0, reader.interrupt)
        thread.start()
        for _ in range(50):
            assert len(list(reader.message_hits(WORD.decode()))) <= CHATS
        thread.join()


def test_missing_packages_are_named(encrypted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "has_cipher", lambda: False)
    with pytest.raises(HistoryError, match="pip install sqlcipher3 cryptography"):
        encryption.unlock(encrypted, PASSPHRASE)
    with pytest.raises(HistoryError, match="pip install sqlcipher3 cryptography"):
        open_store(encrypted)
