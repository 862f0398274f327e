"""The index of a project's folders: what it reads, how it follows the files, what it finds, and that it forgets."""

import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from headstart.chat.conversation import AnswerOutcome, Attachment, Conversation, Excerpt, Project, turns
from headstart.chat.folders import folder_files, folder_index
from headstart.chat.folders.folder_files import CancelledError, FileSection, NoTextError, TextReader, Unit, list_files
from headstart.chat.folders.folder_index import CUT, LOCKED, MISSING, FolderIndex, FolderState, windows
from headstart.chat.history import database, encryption, erasing, key_file
from headstart.chat.history.database import FOLDERS_NAME
from headstart.chat.history.store import open_store
from headstart.chat.imports.files import parse
from headstart.chat.json_chats import to_json
from headstart.errors import AttachmentError, HistoryError
from tests.chat.files.office_files import SLIDES, packed
from tests.chat.files.test_pdf_text import pdf_of
from tests.chat.history import killing
from tests.support.rights import usual_rights
from tests.support.waiting import PATIENCE

END = "zqxjvk"  # of every secret word
TOPICS = ("engine motor", "fruit apple", "weather rain")


class DirectReader:
    """Reads files in this process, and notes which."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def read(self, path: Path, start: int, _is_wanted: folder_index.IsWanted) -> Iterator[FileSection]:
        """Yield the text of a file."""
        self.paths.append(path.name)
        yield from folder_files.pieces(path, start)


class TopicEmbedder:
    """A vector has a number for each topic that the text names."""

    name = "topics"

    def __init__(self) -> None:
        self.count = 0

    def embed(self, texts: Sequence[str], *, are_questions: bool = False) -> Sequence[bytes]:
        """Return a vector for each text."""
        self.count += len(texts)
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        vector = np.array([sum(word in text for word in topic.split()) for topic in TOPICS] + [0.1], "<f4")
        return bytes((vector / np.linalg.norm(vector)).tobytes())


@pytest.fixture(autouse=True)
def usual_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine read files as fast as it tests."""
    monkeypatch.setattr(folder_files, "_NICE", 0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of the history."""
    return tmp_path / "history"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with three files, one of them in a sub-folder."""
    folder = tmp_path / "papers"
    write(folder / "boat.md", "The boat leaves at noon.")
    write(folder / "deep" / "walrus.txt", "one\ntwo\n\nThe walrus sleeps by day.")
    write(folder / "tiger.txt", "Tigers were charged in pounds.")
    return folder


@pytest.fixture
def reader() -> DirectReader:
    return DirectReader()


@pytest.fixture
def index(home: Path, files: Path) -> Iterator[FolderIndex]:
    """An empty index of the folder."""
    with FolderIndex(home, None) as opened:
        opened.keep([str(files)])
        yield opened


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def update(index: FolderIndex, folder: Path, reader: folder_index.FileReader) -> FolderState:
    """Return the state after an update."""
    return list(index.update(str(folder), reader))[-1]


def names(index: FolderIndex, folder: Path, question: str) -> list[str]:
    """Return the titles of what is found."""
    return [excerpt.title for excerpt in index.find([str(folder)], question)]


def embed_all(index: FolderIndex, folder: Path, embedder: TopicEmbedder) -> None:
    while index.embed([str(folder)], embedder):
        pass


def secret(number: int) -> str:
    return " ".join(f"{number:04d}{word:04x}{END}" for word in range(400))


def words_left(home: Path) -> int:
    """Return how many secret words are in any file of the data folder."""
    return sum(path.read_bytes().count(END.encode()) for path in home.rglob("*") if path.is_file())


def test_passages_are_found_with_file_and_line(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    assert update(index, files, reader) == FolderState(str(files), files=3, passages=3)
    (found,) = index.find([str(files)], "when does the walrus sleep?", most=1)
    assert found.title == "papers/deep/walrus.txt, line 1"
    assert found.path == str(files / "deep" / "walrus.txt")
    assert found.text == "one\ntwo\n\nThe walrus sleeps by day."
    assert index.find([str(files)], "?!") == []
    assert index.find([], "walrus") == []


def test_line_is_that_of_the_passage(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    write(files / "long.txt", "\n".join(f"line {number} of nothing" for number in range(1, 400)) + "\nthe heron")
    update(index, files, reader)
    (found,) = index.find([str(files)], "heron", most=1)
    lines = (files / "long.txt").read_text(encoding="utf-8").splitlines()
    assert lines[found.line - 1] == found.text.splitlines()[0]
    assert found.line > 300


def test_page_is_that_of_the_passage(index: FolderIndex, files: Path) -> None:
    class Pages:
        def read(self, _path: Path, _start: int, _is_wanted: folder_index.IsWanted) -> Iterator[FileSection]:
            yield FileSection("apples", Unit.PAGE, 1, 1, 0.3)
            yield FileSection("pears", Unit.PAGE, 2, 2, 0.6)
            yield FileSection("plums", Unit.PAGE, 3)

    update(index, files, Pages())
    assert {name.partition(", ")[2] for name in names(index, files, "pears")} == {"page 2"}


def test_second_update_reads_nothing(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    update(index, files, reader)
    reader.paths.clear()
    assert update(index, files, reader).files == 3
    assert reader.paths == []


def test_added_changed_and_removed_files_are_followed(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    update(index, files, reader)
    write(files / "new.txt", "A heron stands.")
    write(files / "tiger.txt", "Lions were charged instead.")
    (files / "boat.md").unlink()
    reader.paths.clear()
    assert update(index, files, reader).files == 3
    assert sorted(reader.paths) == ["new.txt", "tiger.txt"]
    assert names(index, files, "heron") == ["papers/new.txt, line 1"]
    assert names(index, files, "lions") == ["papers/tiger.txt, line 1"]
    assert names(index, files, "pounds boat noon") == []


def test_renamed_and_touched_files_keep_their_vectors(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    embedder = TopicEmbedder()
    update(index, files, reader)
    embed_all(index, files, embedder)
    count = embedder.count
    (files / "deep").rename(files / "deeper")
    (files / "boat.md").rename(files / "tiger.md")
    os.utime(files / "tiger.txt", (1, 1))
    state = update(index, files, reader)
    assert (state.files, state.passages, state.embedded) == (3, 3, 3)
    embed_all(index, files, embedder)
    assert embedder.count == count
    assert names(index, files, "walrus") == ["papers/deeper/walrus.txt, line 1"]
    assert names(index, files, "boat") == ["papers/tiger.md, line 1"]


def test_two_files_that_swap_their_names_keep_their_texts(
    index: FolderIndex, files: Path, reader: DirectReader
) -> None:
    update(index, files, reader)
    (files / "boat.md").rename(files / "x")
    (files / "tiger.txt").rename(files / "boat.md")
    (files / "x").rename(files / "tiger.txt")
    update(index, files, reader)
    assert names(index, files, "noon") == ["papers/tiger.txt, line 1"]
    assert names(index, files, "pounds") == ["papers/boat.md, line 1"]


def test_missing_folder_keeps_its_index(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    update(index, files, reader)
    away = files.rename(files.with_name("away"))
    state = update(index, files, reader)
    assert (state.problem, state.files) == (MISSING, 3)
    assert names(index, files, "walrus")
    away.rename(files)
    assert update(index, files, reader).problem == ""


def test_what_is_no_text_is_skipped_and_counted(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    (files / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (files / "b.bin").write_bytes(bytes(range(256)) * 40)
    (files / "empty.txt").touch()
    for hidden in (".git/config", ".hidden", "node_modules/a.js"):
        write(files / hidden, "the walrus in hiding")
    state = update(index, files, reader)
    assert (state.files, state.skipped, state.unreadable) == (3, 6, {})
    assert len(names(index, files, "walrus")) == 1
    reader.paths.clear()
    update(index, files, reader)
    assert reader.paths == []


def test_large_files_are_skipped(
    index: FolderIndex, files: Path, reader: DirectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_files, "LARGEST", 30)
    state = update(index, files, reader)
    assert (state.files, state.skipped) == (2, 1)


def test_links_are_not_followed(index: FolderIndex, files: Path, reader: DirectReader, tmp_path: Path) -> None:
    write(tmp_path / "outside.txt", "a secret outside")
    try:
        (files / "loop").symlink_to(files, target_is_directory=True)
    except OSError:
        pytest.skip("links need a privilege here")
    (files / "link.txt").symlink_to(tmp_path / "outside.txt")
    state = update(index, files, reader)
    assert (state.files, state.skipped) == (3, 2)
    assert names(index, files, "secret outside") == []


def test_folder_of_too_many_files_is_cut(
    index: FolderIndex, files: Path, reader: DirectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_files, "MAX_FILES", 2)
    state = update(index, files, reader)
    assert (state.files, state.problem) == (2, CUT)


def test_unreadable_files_are_named_and_tried_again(index: FolderIndex, files: Path) -> None:
    class Refusing(DirectReader):
        def read(self, path: Path, start: int, is_wanted: folder_index.IsWanted) -> Iterator[FileSection]:
            if path.name == "tiger.txt":
                raise AttachmentError("{name} is damaged.", name=path.name)
            return super().read(path, start, is_wanted)

    state = update(index, files, Refusing())
    assert (state.files, state.unreadable) == (2, {"tiger.txt": "tiger.txt is damaged."})
    write(files / "tiger.txt", "Repaired tigers.")
    assert update(index, files, DirectReader()).unreadable == {}


def test_file_without_permission_is_read_once_it_is_allowed(
    index: FolderIndex, files: Path, reader: DirectReader
) -> None:
    (files / "tiger.txt").chmod(0)
    with usual_rights():
        (reason,) = update(index, files, reader).unreadable.values()
        assert reason.startswith("tiger.txt cannot be opened (Permission denied); see that you may read it")
        (files / "tiger.txt").chmod(0o600)
        assert update(index, files, reader).unreadable == {}


def test_folder_without_permission_keeps_what_was_read_of_it(
    index: FolderIndex, files: Path, reader: DirectReader
) -> None:
    update(index, files, reader)
    files.chmod(0)
    with usual_rights():
        state = update(index, files, reader)
        assert (state.problem, state.files) == (LOCKED, 3)
        files.chmod(0o700)
        assert update(index, files, reader).problem == ""


def test_folder_that_cannot_be_listed_keeps_what_was_read_of_it(
    index: FolderIndex, files: Path, reader: DirectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    update(index, files, reader)
    scandir = os.scandir

    def refusing(path: Path) -> object:
        if path.name == "deep":
            raise PermissionError
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert update(index, files, reader).unreadable.keys() == {"deep/"}
    assert names(index, files, "walrus")
    monkeypatch.undo()
    assert update(index, files, reader).unreadable == {}


def test_folders_in_a_folder_that_cannot_be_listed_are_not_named(
    index: FolderIndex, files: Path, reader: DirectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(files / "deep" / "deeper" / "a.txt", "a heron")
    scandir, locked = os.scandir, {"deeper"}

    def refusing(path: Path) -> object:
        if path.name in locked:
            raise PermissionError
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert update(index, files, reader).unreadable.keys() == {"deep/deeper/"}
    locked.add("deep")
    assert update(index, files, reader).unreadable.keys() == {"deep/"}


def test_file_that_cannot_be_opened_is_tried_again(
    index: FolderIndex, files: Path, reader: DirectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual: Callable[..., object] = Path.open

    def refusing(path: Path, *values: str) -> object:
        if path.name == "tiger.txt":
            raise PermissionError(13, "another program has it open")
        return usual(path, *values)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refusing)
        assert update(index, files, reader).unreadable.keys() == {"tiger.txt"}
    assert update(index, files, reader).unreadable == {}
    assert names(index, files, "pounds") == ["papers/tiger.txt, line 1"]


def test_file_that_is_deleted_while_it_is_read_is_not_named(index: FolderIndex, files: Path) -> None:
    class Deleting(DirectReader):
        def read(self, path: Path, start: int, is_wanted: folder_index.IsWanted) -> Iterator[FileSection]:
            if path.name == "tiger.txt":
                path.unlink()
                raise AttachmentError("{name} is gone.", name=path.name)
            return super().read(path, start, is_wanted)

    state = update(index, files, Deleting())
    assert (state.files, state.unreadable) == (2, {})


def test_file_is_read_again_under_a_name_with_another_ending(
    index: FolderIndex, files: Path, reader: DirectReader
) -> None:
    write(files / "notes.pdf", "zebras in a text")
    write(files / "page.part", "<p>gnus &amp; hares</p>")
    assert update(index, files, reader).unreadable.keys() == {"notes.pdf"}
    (files / "notes.pdf").rename(files / "notes.txt")
    (files / "page.part").rename(files / "page.html")
    assert update(index, files, reader).unreadable == {}
    assert names(index, files, "zebras") == ["papers/notes.txt, line 1"]
    assert [excerpt.text for excerpt in index.find([str(files)], "gnus")] == ["gnus & hares"]


def test_change_within_a_moment_is_seen(
    index: FolderIndex, files: Path, reader: DirectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_index, "MOMENT_S", PATIENCE)
    for text in ("The boat leaves at four.", "The boat leaves at five.", "The boat leaves at nine."):
        before = (files / "boat.md").stat()
        write(files / "boat.md", text)
        os.utime(files / "boat.md", ns=(before.st_atime_ns, before.st_mtime_ns))  # as a disk that counts in seconds
        update(index, files, reader)
        assert [excerpt.text for excerpt in index.find([str(files)], "boat")] == [text]
    reader.paths.clear()
    update(index, files, reader)
    assert reader.paths == []


def test_files_of_any_time_are_read_and_listed(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    for name, time in (("boat.md", 2**34 * 10**9), ("tiger.txt", -(2**31) * 10**9)):
        try:
            os.utime(files / name, ns=(0, time))
        except OSError:
            pytest.skip("this file system has no such times")
    assert update(index, files, reader).files == 3
    assert "3 files" in index.find([str(files)], "list all files")[0].text


def test_file_that_changes_while_it_is_read_is_read_later(index: FolderIndex, files: Path) -> None:
    class Writing(DirectReader):
        def read(self, path: Path, start: int, is_wanted: folder_index.IsWanted) -> Iterator[FileSection]:
            read = list(super().read(path, start, is_wanted))
            if path.name == "boat.md":
                write(path, "The boat leaves at midnight, and nobody knows why.")
            return iter(read)

    assert update(index, files, Writing()).files == 2
    assert names(index, files, "boat") == []
    assert update(index, files, DirectReader()).files == 3
    assert names(index, files, "midnight") == ["papers/boat.md, line 1"]


def test_update_goes_on_where_it_was_cut_off(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    next(index.update(str(files), reader))
    reader.paths.clear()
    assert update(index, files, reader).files == 3
    assert len(reader.paths) == 2


@pytest.mark.parametrize(
    ("name", "line", "heading"), [("parts.csv", "part,price\n", "part,price"), ("parts.md", "# Corvo\n", "Corvo")]
)
def test_update_that_was_cut_off_keeps_what_the_rest_stands_under(
    index: FolderIndex, files: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: str, heading: str
) -> None:
    class CutOffReader(DirectReader):
        def read(self, path: Path, start: int, is_wanted: folder_index.IsWanted) -> Iterator[FileSection]:
            yield from itertools.islice(super().read(path, start, is_wanted), 2)
            raise CancelledError

    monkeypatch.setattr(folder_files, "PIECE", 100)
    write(files / name, line + "\n".join(f"bolt {number},{number}" for number in range(100)))
    list(index.update(str(files), CutOffReader()))
    update(index, files, DirectReader())
    (found,) = index.find([str(files)], "bolt 99", most=1)
    assert found.heading == heading


def test_heading_in_the_last_passage_of_a_piece_holds_for_the_next(
    index: FolderIndex, files: Path, reader: DirectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_files, "PIECE", 100)
    write(files / "long.md", f"# Corvo\n\n{'a word ' * 8}\n\n# Faial\n\n{'some words ' * 8}the heron")
    update(index, files, reader)
    (found,) = index.find([str(files)], "heron")
    assert found.heading == "Faial"


def test_scan_that_was_read_in_two_parts_is_named(index: FolderIndex, files: Path) -> None:
    class CutOffReader(DirectReader):
        def read(self, path: Path, start: int, is_wanted: folder_index.IsWanted) -> Iterator[FileSection]:
            yield from itertools.islice(super().read(path, start, is_wanted), 1)
            raise CancelledError

    (files / "scan.pdf").write_bytes(pdf_of("", "", ""))
    list(index.update(str(files), CutOffReader()))
    assert "get PP-OCRv6" in update(index, files, DirectReader()).unreadable["scan.pdf"]


def test_folder_that_is_back_is_not_missing_while_it_is_read(
    index: FolderIndex, files: Path, reader: DirectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    update(index, files, reader)
    away = files.rename(files.with_name("away"))
    update(index, files, reader)
    away.rename(files)
    monkeypatch.setattr(folder_index, "SMALL", 100)
    write(files / "long.txt", "The heron stands. " * 10)
    assert list(index.update(str(files), reader, large=False)) == []
    assert index.problem(str(files)) == folder_index.UNREAD


def test_folder_that_is_removed_while_it_is_read_leaves_nothing(
    index: FolderIndex, home: Path, files: Path, tmp_path: Path
) -> None:
    other = tmp_path / "photos"
    for number in range(30):
        write(other / f"{number}.png", "no picture")
    write(other / "a.txt", "a text")
    index.keep([str(files), str(other)])
    update(index, other, DirectReader())

    class Removing(DirectReader):
        def read(self, path: Path, start: int, is_wanted: folder_index.IsWanted) -> Iterator[FileSection]:
            yield from super().read(path, start, is_wanted)
            with FolderIndex(home, None) as elsewhere:
                elsewhere.keep([str(other)])

    all(index.update(str(files), Removing()))
    assert index.find([str(files), str(other)], "walrus boat tigers") == []
    assert index.state(str(other)).files == 1


def test_folder_with_a_locked_one_is_removed_while_it_is_read(
    index: FolderIndex, home: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refusing(path: Path) -> object:
        if path.name == "deep":
            raise PermissionError
        return scandir(path)

    class Removing(DirectReader):
        def read(self, path: Path, start: int, is_wanted: folder_index.IsWanted) -> Iterator[FileSection]:
            with FolderIndex(home, None) as elsewhere:
                elsewhere.keep([])
            return super().read(path, start, is_wanted)

    monkeypatch.setattr(os, "scandir", refusing)
    assert update(index, files, Removing()).files == 0


def test_vector_of_a_text_that_is_gone_is_not_that_of_the_next(
    index: FolderIndex, home: Path, files: Path, reader: DirectReader
) -> None:
    class Slow(TopicEmbedder):
        def embed(self, texts: Sequence[str], *, are_questions: bool = False) -> Sequence[bytes]:
            if not self.count:  # a question reads what has changed while vectors are computed
                write(files / "new.txt", "The motor is loud.")
                with FolderIndex(home, None) as elsewhere:
                    update(elsewhere, files, reader)
            return super().embed(texts, are_questions=are_questions)

    shutil.rmtree(files)
    write(files / "new.txt", "An apple falls.")
    update(index, files, reader)
    embedder = Slow()
    embed_all(index, files, embedder)
    assert index.state(str(files)).embedded == 1
    assert names(index, files, "which engine") == []
    assert index.find([str(files)], "which engine", embedder)
    assert index.find([str(files)], "which fruit", embedder) == []


def test_update_that_is_not_wanted_ends(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    assert list(index.update(str(files), reader, lambda: False)) == []
    assert reader.paths == []
    assert list(index.update("/a/folder/of/nobody", reader)) == []


def test_other_words_are_found_by_vectors(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    write(files / "car.txt", "The motor is loud.")
    write(files / "garden.txt", "An apple falls.")
    update(index, files, reader)
    embedder = TopicEmbedder()
    assert index.find([str(files)], "engine") == []
    embed_all(index, files, embedder)
    found = index.find([str(files)], "which engine", embedder)
    assert found[0].title == "papers/car.txt, line 1"
    assert index.find([str(files)], "apple motor", embedder)[0].title.startswith("papers/")
    state = index.state(str(files))
    assert state.passages == state.embedded == 5


def test_vectors_of_another_model_are_made_anew(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    update(index, files, reader)
    embedder = TopicEmbedder()
    embed_all(index, files, embedder)
    embedder.name = "others"
    assert index.find([str(files)], "walrus", embedder)[0].title.startswith("papers/deep")
    assert index.embed([str(files)], embedder)
    embed_all(index, files, embedder)
    assert index.state(str(files)).embedded == 3


def test_vectors_in_memory_follow_the_index(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    embedder, vectors = TopicEmbedder(), None
    paths = {name: files / f"{name}.txt" for name in ("car", "ship", "garden")}
    for text in ("The motor is loud.", "The motor is loud, and rain falls.", "An apple falls."):
        for path in paths.values():
            write(path, text)
        paths["ship"].unlink()
        update(index, files, reader)
        embed_all(index, files, embedder)
        vectors = index.ready(embedder, vectors)
        for question in ("which engine", "which weather", "which fruit"):
            kept = index.find([str(files)], question, embedder, vectors=vectors)
            assert kept == index.find([str(files)], question, embedder)
    assert {excerpt.name for excerpt in kept} == {"papers/car.txt", "papers/garden.txt"}


def test_vectors_in_memory_are_those_of_their_index(
    index: FolderIndex, home: Path, files: Path, reader: DirectReader, tmp_path: Path
) -> None:
    embedder = TopicEmbedder()
    write(files / "boat.md", "The motor is loud.")
    update(index, files, reader)
    embed_all(index, files, embedder)
    vectors = index.ready(embedder)
    with FolderIndex(tmp_path / "other", None) as other:
        other.keep([str(files)])
        write(files / "boat.md", "An apple falls.")
        update(other, files, reader)
        embed_all(other, files, embedder)
        vectors = other.ready(embedder, vectors)
        assert other.find([str(files)], "which engine", embedder, vectors=vectors) == []
        assert other.find([str(files)], "which fruit", embedder, vectors=vectors)


def test_windows_cover_a_passage_and_overlap() -> None:
    text = " ".join(f"word{number}" for number in range(150))
    parts = windows(text)
    assert len(parts) > 4
    assert all(len(part) <= folder_index.WINDOW for part in parts)
    assert all(word in " ".join(parts) for word in text.split())
    assert windows("short") == ["short"]


def test_folders_are_kept_apart(home: Path, tmp_path: Path, reader: DirectReader) -> None:
    for name in ("a", "b"):
        write(tmp_path / name / "same.txt", f"The walrus of {name}.")
    with FolderIndex(home, None) as index:
        index.keep([str(tmp_path / name) for name in ("a", "b")])
        for name in ("a", "b"):
            update(index, tmp_path / name, reader)
        assert names(index, tmp_path / "b", "walrus") == ["b/same.txt, line 1"]
        both = index.find([str(tmp_path / "a"), str(tmp_path / "b")], "walrus")
        assert {excerpt.name for excerpt in both} == {"a/same.txt", "b/same.txt"}


def test_passage_in_two_folders_is_found_once(home: Path, files: Path, reader: DirectReader) -> None:
    with FolderIndex(home, None) as index:
        index.keep([str(files), str(files / "deep")])
        for folder in (files, files / "deep"):
            update(index, folder, reader)
        assert len(index.find([str(files), str(files / "deep")], "walrus")) == 1


@pytest.mark.parametrize("encrypted", ["", "encrypted"])
def test_removed_folder_leaves_no_word(home: Path, tmp_path: Path, reader: DirectReader, encrypted: str) -> None:
    key = database.Key(bytes(range(32))) if encrypted else None
    if encrypted:
        pytest.importorskip("sqlcipher3", reason="sqlcipher3 is not installed")
    kept, gone = tmp_path / "kept", tmp_path / "gone"
    for number in range(20):
        write(kept / f"{number}.txt", f"kept words {number} " * 200)
        write(gone / f"{secret(1)[:30]}-{number}.txt", secret(number))
    with FolderIndex(home, key) as index:
        index.keep([str(kept), str(gone)])
        for folder in (kept, gone):
            update(index, folder, reader)
        embed_all(index, gone, TopicEmbedder())
        assert bool(words_left(home)) is not bool(encrypted)
        index.keep([str(kept)])
        assert words_left(home) == 0
        assert len(index.find([str(kept)], "words")) == 5
    assert words_left(home) == 0


def test_removed_file_leaves_no_word(index: FolderIndex, home: Path, files: Path, reader: DirectReader) -> None:
    for number in range(20):
        write(files / f"{number}.txt", secret(number))
    update(index, files, reader)
    for number in range(20):
        (files / f"{number}.txt").write_text("changed", encoding="utf-8") if number % 2 else (
            files / f"{number}.txt"
        ).unlink()
    update(index, files, reader)
    index.erase()
    assert words_left(home) == 0


def test_renamed_file_leaves_no_word_of_its_name_and_of_the_file_in_its_place(
    index: FolderIndex, home: Path, files: Path, reader: DirectReader
) -> None:
    write(files / f"{END}.txt", "one text")
    write(files / "two.txt", "another text")
    write(files / "three.txt", secret(3))
    update(index, files, reader)
    (files / f"{END}.txt").rename(files / "one.txt")
    (files / "two.txt").replace(files / "three.txt")
    update(index, files, reader)
    index.erase()
    assert words_left(home) == 0


def test_nothing_is_erased_for_names_that_are_no_text(
    index: FolderIndex, home: Path, files: Path, reader: DirectReader
) -> None:
    try:
        Path(os.fsdecode(os.fsencode(files) + b"/caf\xe9.txt")).write_text("coffee", encoding="utf-8")
    except OSError:
        pytest.skip("this file system has only names in Unicode")
    for _ in range(2):
        assert update(index, files, reader).unreadable.keys() == {"caf?.txt"}
    assert erasing._order(index._connection) is None


def test_erasing_that_was_cut_off_is_made_up_for(home: Path, tmp_path: Path, reader: DirectReader) -> None:
    gone = tmp_path / "gone"
    write(gone / "a.txt", secret(1))
    with FolderIndex(home, None) as index:
        index.keep([str(gone)])
        update(index, gone, reader)
        with database.transaction(index._connection):
            index._connection.execute("DELETE FROM folder")
            erasing.add_order(index._connection)
        shutil.copytree(home, tmp_path / "crashed", ignore=shutil.ignore_patterns("*-shm"))
    with FolderIndex(tmp_path / "crashed", None) as index:
        index.erase()
    assert words_left(tmp_path / "crashed") == 0


def test_encrypted_index_needs_its_key_and_other_kinds_are_made_anew(
    home: Path, files: Path, reader: DirectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sqlcipher3", reason="sqlcipher3 is not installed")
    monkeypatch.setattr(key_file, "COST", killing.CHEAP)
    write(files / "secret.txt", secret(3))
    with closing(open_store(home)) as store:
        store.add_project(Project("papers", folders=(str(files),)))
    with FolderIndex(home, None) as index:
        index.keep([str(files)])
        update(index, files, reader)
    assert words_left(home)
    key = encryption.encrypt(home, killing.PASSPHRASE)
    assert words_left(home) == 0
    assert not (home / FOLDERS_NAME).exists()
    with FolderIndex(home, key) as index:
        index.keep([str(files)])
        assert update(index, files, reader).files == 4
        assert names(index, files, "walrus")
    assert words_left(home) == 0
    with FolderIndex(home, None) as index:  # as after the loss of a mark: nothing readable, nothing lost but time
        assert index.find([str(files)], "walrus") == []


@pytest.mark.parametrize("damage", ["noise", "cut", "version"])
def test_damaged_or_foreign_index_is_made_anew(home: Path, files: Path, reader: DirectReader, damage: str) -> None:
    with FolderIndex(home, None) as index:
        index.keep([str(files)])
        update(index, files, reader)
        if damage == "version":
            index._connection.execute("PRAGMA user_version = 999")
    path = home / FOLDERS_NAME
    if damage == "noise":
        path.write_bytes(b"\xa5" * path.stat().st_size)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:50])
    with FolderIndex(home, None) as index:
        index.keep([str(files)])
        assert update(index, files, reader).files == 3


def test_damage_that_is_seen_late_is_mended_by_the_next_use(home: Path, files: Path, reader: DirectReader) -> None:
    for number in range(30):
        write(files / f"{number}.txt", " ".join(f"word{number}x{word}" for word in range(1500)))
    with FolderIndex(home, None) as index:
        index.keep([str(files)])
        update(index, files, reader)
    path = home / FOLDERS_NAME
    content = bytearray(path.read_bytes())
    half = len(content) // 2
    content[half : half + 160_000] = b"\xa5" * 160_000
    path.write_bytes(content)
    for number in range(30):
        write(files / f"{number}.txt", "other words")
    with FolderIndex(home, None) as index:
        index.keep([str(files)])
        with pytest.raises(HistoryError, match="made anew"):
            update(index, files, reader)
    for _ in range(2):
        with FolderIndex(home, None) as index:
            index.keep([str(files)])
            assert update(index, files, reader).files == 33
            assert names(index, files, "walrus")


def test_full_disk_is_said_and_loses_nothing(index: FolderIndex, files: Path, reader: DirectReader) -> None:
    update(index, files, reader)
    index._connection.execute(f"PRAGMA max_page_count = {index._connection.execute('PRAGMA page_count').fetchone()[0]}")
    write(files / "big.txt", " ".join(f"word{number}" for number in range(100_000)))
    with pytest.raises(HistoryError, match="disk is full"):
        update(index, files, reader)
    assert names(index, files, "walrus")
    index._connection.execute("PRAGMA max_page_count = 1000000")
    assert update(index, files, reader).files == 4


def test_index_is_for_its_owner_only(index: FolderIndex, home: Path) -> None:
    if os.name != "nt":
        assert (home / FOLDERS_NAME).stat().st_mode & 0o077 == 0
    assert index.path == home / FOLDERS_NAME


READING = (sys.executable, "-P", "-m", "headstart", "dev", "text", "--lines", "-")
# A process that reads pages: it takes long for each, or hangs at the third one.
PAGES = """
import json, sys, time
for line in sys.stdin:
    path, start = json.loads(line)
    for page in range(start + 1, 6):
        time.sleep({seconds})
        if page == 3 and {hangs}:
            time.sleep(1000)
        print(json.dumps([f"page {{page}}", "page", page, page % 5, page / 5]), flush=True)
"""
# A process that reads many pictures before it has a text, longer than a silent one is waited for.
BUSY = """
import json, sys, time
for line in sys.stdin:
    for picture in range(7):
        time.sleep(0.5)
        print(json.dumps("busy"), flush=True)
    print(json.dumps(["the end", "", 1, 0, 1.0]), flush=True)
"""
# A process that is killed at its first file.
DYING = """
import json, pathlib, sys
for line in sys.stdin:
    died = pathlib.Path(sys.argv[1])
    if not died.exists():
        died.touch()
        raise SystemExit
    print(json.dumps(["the text", "line", 1, 0, 1.0]), flush=True)
"""


def texts(reader: TextReader, path: Path, start: int = 0) -> list[str]:
    return [piece.text for piece in reader.read(path, start)]


def test_reading_process_reads_and_refuses(files: Path) -> None:
    with closing(TextReader(READING)) as reader:
        assert texts(reader, files / "boat.md") == ["The boat leaves at noon."]
        with pytest.raises(AttachmentError):
            texts(reader, files / "none.txt")
        (files / "a.bin").write_bytes(bytes(range(256)) * 40)
        with pytest.raises(NoTextError):
            texts(reader, files / "a.bin")
        assert texts(reader, files / "boat.md") == ["The boat leaves at noon."]


def test_reading_process_that_hangs_or_dies_is_ended(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = itertools.chain([1], itertools.repeat(0))
    with (
        closing(TextReader((sys.executable, "-c", "import time; time.sleep(100)"))) as hanging,
        pytest.raises(CancelledError),
    ):
        list(hanging.read(files / "boat.md", 0, lambda: bool(next(wanted))))
    monkeypatch.setattr(folder_files, "SILENCE_S", 0.2)
    for program in ("import time; time.sleep(100)", "raise SystemExit"):
        with closing(TextReader((sys.executable, "-c", program))) as reader, pytest.raises(AttachmentError):
            texts(reader, files / "boat.md")


def test_reading_goes_on_after_a_pause_and_another_file(
    files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "pages.py"
    program.write_text(PAGES.format(seconds=0.01, hangs=False), encoding="utf-8")
    monkeypatch.setattr(folder_files, "SMALL", 30)
    with closing(TextReader((sys.executable, str(program)))) as reader:
        begun = itertools.islice(reader.read(files / "deep" / "walrus.txt"), 2)
        assert [piece.text for piece in begun] == ["page 1", "page 2"]
        assert len(texts(reader, files / "boat.md")) == 5
        assert texts(reader, files / "deep" / "walrus.txt", 2) == ["page 3", "page 4", "page 5"]


def test_page_that_takes_for_ever_is_left_out(files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "pages.py"
    program.write_text(PAGES.format(seconds=0.0, hangs=True), encoding="utf-8")
    monkeypatch.setattr(folder_files, "SILENCE_S", 1.0)
    with closing(TextReader((sys.executable, str(program)))) as reader:
        assert texts(reader, files / "boat.md") == ["page 1", "page 2", "", "page 4", "page 5"]


def test_there_is_a_last_piece_where_nothing_is_left(files: Path) -> None:
    """Whoever waits for pieces would wait long: behind a last page that is left out, or in a text that is shorter."""
    (files / "two.pdf").write_bytes(pdf_of("one", "two"))
    assert list(folder_files.pieces(files / "two.pdf", 2)) == [FileSection("", Unit.PAGE, 2)]
    assert list(folder_files.pieces(files / "boat.md", 1000)) == [FileSection("", Unit.LINE, 1)]


def test_file_behind_a_scan_has_its_own_text(files: Path) -> None:
    (files / "scan.pdf").write_bytes(pdf_of("", ""))
    with closing(TextReader(READING)) as reader:
        for _ in range(2):
            with pytest.raises(AttachmentError):
                texts(reader, files / "scan.pdf")
            assert texts(reader, files / "boat.md") == ["The boat leaves at noon."]
            assert texts(reader, files / "tiger.txt") == ["Tigers were charged in pounds."]


def test_file_is_tried_again_if_the_process_that_read_it_died(files: Path, tmp_path: Path) -> None:
    program = tmp_path / "dying.py"
    program.write_text(DYING, encoding="utf-8")
    with closing(TextReader((sys.executable, str(program), str(tmp_path / "died")))) as reader:
        assert texts(reader, files / "boat.md") == ["the text"]


def test_file_at_which_the_process_died_is_tried_again_later(
    index: FolderIndex, files: Path, reader: DirectReader
) -> None:
    (files / "tiger.txt").write_text("a line of tigers\n" * 20, encoding="utf-8")
    with closing(TextReader((sys.executable, "-c", "raise SystemExit"))) as dying:
        state = update(index, files, dying)
    assert "lack of memory" in state.unreadable["tiger.txt"]
    assert len(state.unreadable) == 3
    assert update(index, files, reader).files == 0, "not each time"
    index.try_again()
    state = update(index, files, reader)
    assert (state.files, state.unreadable) == (3, {})
    assert names(index, files, "tigers") == ["papers/tiger.txt, line 1"]


def test_reason_of_an_unreadable_file_comes_from_the_process_that_read_it(index: FolderIndex, files: Path) -> None:
    (files / "notes.pdf").write_text("zebras in a text", encoding="utf-8")
    (files / "scan.pdf").write_bytes(pdf_of("", ""))
    with closing(TextReader(READING)) as reader:
        reasons = update(index, files, reader).unreadable
    assert reasons["notes.pdf"].startswith("notes.pdf is damaged or no PDF; open it in a PDF viewer")
    assert reasons["scan.pdf"].startswith("scan.pdf holds no text that can be read")


def test_process_that_reads_picture_after_picture_is_waited_for(
    files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "busy.py"
    program.write_text(BUSY, encoding="utf-8")
    monkeypatch.setattr(folder_files, "SILENCE_S", 2.5)
    wanted = itertools.chain([1] * 3, itertools.repeat(0))
    with closing(TextReader((sys.executable, str(program)))) as reader:
        with pytest.raises(CancelledError):
            list(reader.read(files / "boat.md", 0, lambda: bool(next(wanted))))
        assert texts(reader, files / "boat.md") == ["the end"], "the same process went on"


def test_reading_process_takes_paths_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "a b\n„ü“.txt"
    if os.name == "nt":
        path = tmp_path / "a b „ü“.txt"
    write(path, "text")
    lines = list[str]()
    folder_files.serve([json.dumps([str(path), 0])], lines.append)
    (line,) = lines
    assert json.loads(line) == ["text", "line", 1, 0, 1.0]


def test_long_text_comes_in_pieces_with_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_files, "PIECE", 100)
    lines = [f"line {number}" for number in range(1, 100)]
    write(tmp_path / "long.txt", "\n".join(lines))
    pieces = list(folder_files.pieces(tmp_path / "long.txt"))
    assert "".join(piece.text for piece in pieces).splitlines() == lines
    assert all(piece.text.startswith(f"line {piece.place}\n") for piece in pieces)
    assert list(folder_files.pieces(tmp_path / "long.txt", pieces[2].next)) == pieces[3:]
    assert pieces[-1].next == 0


def test_file_that_takes_long_is_left_for_later_whatever_its_size(
    index: FolderIndex, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CutOffReader(DirectReader):
        def read(self, path: Path, start: int, is_wanted: folder_index.IsWanted) -> Iterator[FileSection]:
            yield from itertools.islice(super().read(path, start, is_wanted), 2)
            raise CancelledError

    monkeypatch.setattr(folder_files, "PIECE", 100)
    write(files / "long.txt", "\n".join(f"line {number}" for number in range(1, 100)))
    list(index.update(str(files), CutOffReader()))
    write(files / "new.txt", "The newt is new.")
    question, rest = DirectReader(), DirectReader()
    assert list(index.update(str(files), question, large=False))
    assert "long.txt" not in question.paths
    assert names(index, files, "newt") == ["papers/new.txt, line 1"]
    assert update(index, files, rest).problem == ""
    assert rest.paths == ["long.txt"]
    assert names(index, files, "99") == ["papers/long.txt, line 98"]


def test_question_reads_one_page_of_a_file_of_many_and_then_the_other_files(
    index: FolderIndex, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_files, "PIECE", 10)
    write(files / "long.txt", "\n".join(f"line {number}" for number in range(1, 200)))
    question, rest = DirectReader(), DirectReader()
    assert list(index.update(str(files), question, large=False))
    assert question.paths[0] == "long.txt"  # the newest
    assert len(question.paths) > 1
    assert index.problem(str(files)) == folder_index.UNREAD
    assert names(index, files, "boat")
    assert not names(index, files, "199")
    assert update(index, files, rest).problem == ""
    assert rest.paths == ["long.txt"]
    assert names(index, files, "199") == ["papers/long.txt, line 199"]


def test_index_is_made_once_by_several_threads(home: Path) -> None:
    def make(_: int) -> bool:
        with FolderIndex(home, None) as opened:
            return opened.state("any").files == 0

    home.mkdir()
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(make, range(16)))


def test_listing_can_be_cancelled(files: Path) -> None:
    with pytest.raises(CancelledError):
        list_files(files, lambda: False)


def test_name_that_is_no_text_is_named(files: Path) -> None:
    name = os.fsencode(files) + b"/caf\xe9.txt"
    try:
        Path(os.fsdecode(name)).write_text("coffee", encoding="utf-8")
    except OSError:
        pytest.skip("this file system has only names in Unicode")
    assert list_files(files).unreadable.keys() == {"caf?.txt"}


EXCERPT = Excerpt("/home/me/papers/a.pdf", "papers/a.pdf", 3, 0, "By day.")


def test_request_names_the_passages_once() -> None:
    first = Conversation().ask("When?", excerpts=[EXCERPT]).begin_answer().finish(2, AnswerOutcome("By day."))
    second = first.ask("Why?", excerpts=[EXCERPT])
    texts = [turn.content for turn in turns(second.path) if turn.role == "user"]
    lead = "Passages of my files that may help. Say which file you use."
    assert texts[0] == f"{lead}\n\npapers/a.pdf, page 3:\n```\nBy day.\n```\n\nWhen?"
    assert texts[1] == "Why?"


@pytest.mark.parametrize(
    ("name", "head", "heading"), [("parts.csv", "part,price", "part,price"), ("parts.md", "# Corvo\n", "Corvo")]
)
def test_model_reads_under_what_a_passage_stands(
    index: FolderIndex, files: Path, reader: DirectReader, name: str, head: str, heading: str
) -> None:
    rows = [f"bolt {number},{number}" for number in range(1, 400)]
    write(files / name, "\n".join([head, *rows, "lantern,7"]))
    update(index, files, reader)
    (found,) = index.find([str(files)], "lantern")
    (turn,) = turns(Conversation().ask("", excerpts=[found]).path)
    assert f"{found.title} ({heading}):\n" in turn.content


def test_excerpts_and_folders_are_stored_and_exported(home: Path) -> None:
    project = Project("papers", {"system_prompt": "Be brief."}, (Attachment("a", "b"),), ("/home/me/papers",))
    tree = Conversation().ask("When?", excerpts=[EXCERPT])
    with closing(open_store(home)) as store:
        store.add_project(project)
        assert store.project("papers") == project
        assert store.project_folders() == store.project_folders("papers") == ("/home/me/papers",)
        assert store.project_folders("none") == ()
        store.change_project("papers", Project("other", folders=("/x",)))
        assert store.project_folders() == ("/x",)
        chat = store.create_chat()
        store.save(chat.id, Conversation(), tree)
        assert store.conversation(chat.id) == tree
    ((_, read),) = parse(to_json([(chat, tree)]).encode()).chats
    (message,) = read.path
    assert message.excerpts == (EXCERPT._replace(path=""),)


@pytest.mark.parametrize(
    ("text", "is_english"),
    [
        ("The ferry leaves at nine, and the boat is not there for two days.", True),
        (
            "def find(self, name):\n    # Return the path of the file with that name.\n    return self._files[name]",
            True,
        ),
        ("Die Fähre legt um neun Uhr ab, und das Boot ist zwei Tage lang nicht da.", False),
        ("渡船九点出发，船有两天不在。", False),
    ],
)
def test_language_of_a_folder_is_told(
    index: FolderIndex, reader: DirectReader, tmp_path: Path, text: str, *, is_english: bool
) -> None:
    write(tmp_path / "other" / "a.txt", text)
    index.keep([str(tmp_path / "other")])
    assert update(index, tmp_path / "other", reader).is_english is is_english


def test_pictures_are_read_again_with_a_model_that_reads_them(
    index: FolderIndex, files: Path, reader: DirectReader
) -> None:
    (files / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    packed(files / "plan.pptx", SLIDES)
    index.follow_recognition("")
    update(index, files, reader)
    reader.paths.clear()
    for _ in range(2):
        index.follow_recognition("pp-ocrv6")
        update(index, files, reader)
    assert sorted(reader.paths) == ["a.png", "plan.pptx"]
