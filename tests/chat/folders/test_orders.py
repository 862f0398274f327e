"""Random orders of what may happen to folders: their index has what a new index of the same files would have."""

import logging
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from headstart.chat.conversation import Excerpt
from headstart.chat.folders import folder_files, folder_index
from headstart.chat.folders.folder_files import CancelledError, FileSection, TextReader
from headstart.chat.folders.folder_index import FileReader, FolderIndex, FolderState, IsWanted
from headstart.chat.folders.vectors import StoredVectors
from tests.chat.files.office_files import WORKBOOK, packed, word_file, word_paragraph
from tests.chat.files.test_pdf_text import pdf_of
from tests.chat.folders.test_folders import DirectReader, TopicEmbedder

_STEPS = 60
_EVERYTHING = 1000  # passages
_READ = """
import functools, sys
from headstart.chat.folders import folder_files
folder_files.serve(sys.stdin, functools.partial(print, flush=True))
"""
_WORD = re.compile(rb"[wn]xkq(\d+)qkx")  # which no noise has
_STEMS = ("note", "über ß", "渡船", "CamelCase 2025-05", "100% 'a'", "new\nline", "v" * 200, "a.b", "Note")
_NO_TEXT = (os.fsdecode(b"caf\xe9"),) if sys.platform == "linux" else ()  # elsewhere, names are Unicode
_SUFFIXES = (
    *[".txt", ".md", ".csv", ".docx", ".xlsx", ".pdf"] * 3,
    *["", ".TXT", ".rst", ".html", ".json", ".png", ".mp3", ".bin", ".part"],
)
DISK_ACTIONS = (
    *["add", "change"] * 4,
    *["rename", "delete"] * 2,
    *["change_within_the_moment", "append", "cut", "empty", "damage", "swap", "overwrite", "copy", "touch", "hide"],
    *["rename_folder", "move_folder", "remake_folder", "take_folder_away", "file_to_folder", "folder_to_file", "link"],
)
_ACTIONS = (
    *DISK_ACTIONS,
    *["update"] * 4,
    *["update_small", "update_in_part", "restart", "embed"] * 2,
    *["lock", "unlock", "keep", "check"],
)


pytestmark = pytest.mark.skipif(os.name == "nt", reason="names are shorter there, and what is read cannot be moved")


class Disk:
    """Folders in which anything may happen. Each content has a word of its own, and each name, too."""

    def __init__(self, root: Path, dice: random.Random) -> None:
        self.root, self.random = root, dice
        self.folders = [root / "one", root / "one" / "inner", root / "two"]
        self.locked = set[str]()
        self.count = 10
        for folder in self.folders:
            folder.mkdir(parents=True, exist_ok=True)
            self.add()

    def word(self, kind: str = "w") -> str:
        self.count += 1
        return f"{kind}xkq{self.count}qkx"

    def paths(self, *, folders: bool = False) -> list[Path]:
        """Return all files, or all folders below those of the project."""
        return sorted(
            path
            for path in self.root.rglob("*")
            if path.is_dir() is folders and not path.is_symlink() and path.parent != self.root
        )

    def any_file(self) -> Path | None:
        paths = self.paths()
        return self.random.choice(paths) if paths else None

    def any_folder(self) -> Path:
        return self.random.choice(
            [path for path in self.folders if path.is_dir()] + self.paths(folders=True) or [self.root / "two"]
        )

    def new_path(self, suffix: str = "") -> Path:
        name = f"{self.random.choice((*_STEMS, *_NO_TEXT))} {self.word('n')}{suffix or self.random.choice(_SUFFIXES)}"
        folder = self.any_folder()
        if self.random.random() < 0.1:
            folder = folder / self.word("n")
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def write(self, path: Path) -> None:
        """Write a file of the kind that its name says, or of another one."""
        kind = path.suffix.lower() if self.random.random() < 0.8 else self.random.choice(_SUFFIXES)
        word, subject = self.word(), self.random.choice(("motor", "apple", "rain", "stone"))
        num_lines = self.random.choice((1, 1, 3, 30, 60))
        lines = [f"{word} {subject} and row {number}" for number in range(num_lines)]
        if kind == ".docx":
            word_file(
                path, "".join(word_paragraph(line, "Heading1" if not n % 20 else "") for n, line in enumerate(lines))
            )
        elif kind == ".xlsx":
            packed(path, {name: text.replace("Paddle", lines[0]) for name, text in WORKBOOK.items()})
        elif kind == ".pdf":
            is_scan = self.random.random() < 0.3
            path.write_bytes(pdf_of(*("" if is_scan else line for line in lines[:5])))
        elif kind in (".bin", ".mp3"):
            path.write_bytes(word.encode() + bytes(range(256)) * 40)
        elif kind == ".md":
            path.write_text("\n".join(f"{'# ' * (not n % 7)}{line}" for n, line in enumerate(lines)), encoding="utf-8")
        elif kind == ".csv":
            path.write_text("\n".join([f"name,{word}", *lines]), encoding="utf-8")
        elif kind == ".html":
            path.write_text(f"<html><body><h1>Head</h1><p>{'<p>'.join(lines)}</body></html>", encoding="utf-8")
        else:
            path.write_text("\n".join(lines), encoding="utf-8")

    # Actions

    def add(self) -> None:
        self.write(self.new_path())

    def change(self) -> None:
        if path := self.any_file():
            self.write(path)

    def change_within_the_moment(self) -> None:
        """Change a text, but neither its length nor its time."""
        path = self.any_file()
        if path and (found := _WORD.search(path.read_bytes())):
            state = path.stat()
            path.write_bytes(path.read_bytes().replace(found[1], bytes(reversed(found[1]))))
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    def append(self) -> None:
        if path := self.any_file():
            with path.open("a", encoding="utf-8") as file:
                file.write(f"\n{self.word()} more")

    def cut(self) -> None:
        if path := self.any_file():
            os.truncate(path, path.stat().st_size // 2)

    def empty(self) -> None:
        if path := self.any_file():
            os.truncate(path, 0)

    def damage(self) -> None:
        if path := self.any_file():
            content = bytearray(path.read_bytes())
            for _ in range(min(3, len(content))):
                content[self.random.randrange(len(content))] = self.random.randrange(256)
            path.write_bytes(content)

    def rename(self) -> None:
        """Rename or move a file, often with its ending."""
        if path := self.any_file():
            place = self.new_path(path.suffix if self.random.random() < 0.6 else "")
            if self.random.random() < 0.2:
                place = path.with_name(path.name.swapcase())
            path.rename(place)

    def swap(self) -> None:
        one, other = self.any_file(), self.any_file()
        if one and other and one != other:
            between = self.root / "between"
            one.rename(between)
            other.rename(one)
            between.rename(other)

    def overwrite(self) -> None:
        one, other = self.any_file(), self.any_file()
        if one and other:
            one.replace(other)

    def copy(self) -> None:
        if path := self.any_file():
            shutil.copy2(path, self.new_path(path.suffix))

    def touch(self) -> None:
        """Change the time of a file, maybe to one that is out of this world."""
        if path := self.any_file():
            with suppress(OSError):  # the disk has no such times
                os.utime(path, ns=(0, self.random.choice((0, 1, -(10**18), 10**18, 2**34 * 10**9))))

    def delete(self) -> None:
        if path := self.any_file():
            path.unlink()

    def hide(self) -> None:
        if path := self.any_file():
            path.rename(path.with_name(f".{self.word('n')}"))

    def link(self) -> None:
        target = self.random.choice((self.any_file(), self.any_folder(), self.root, self.root / "nowhere"))
        if target:
            with suppress(OSError):  # needs a privilege on Windows
                self.new_path().symlink_to(target)

    def rename_folder(self) -> None:
        self.move_folder(self.word("n"))

    def move_folder(self, name: str = "") -> None:
        folder = self.any_folder()
        place = self.any_folder() / (name or folder.name)
        if not (place.exists() or place.is_relative_to(folder) or folder in self.folders):
            folder.rename(place)

    def remake_folder(self) -> None:
        folder = self.any_folder()
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)

    def take_folder_away(self) -> None:
        """Take one of the project's folders away, or bring it back."""
        folder = self.random.choice(self.folders)
        away = self.root.with_name(f"away {folder.name}")
        if away.exists() and not folder.exists() and folder.parent.exists():
            away.rename(folder)
        elif folder.exists() and not away.exists():
            folder.rename(away)

    def file_to_folder(self) -> None:
        if path := self.any_file():
            path.unlink()
            path.mkdir()
            self.write(path / f"in it {self.word('n')}.txt")

    def folder_to_file(self) -> None:
        folder = self.any_folder()
        if folder not in self.folders:
            shutil.rmtree(folder)
            self.write(folder)

    def lock(self) -> None:
        """Let nobody read a file or list a folder."""
        self.locked.add(str(self.random.choice((self.any_file(), self.any_folder()))))

    def unlock(self) -> None:
        self.locked.clear()

    def bring_back(self) -> None:
        """Let everything be read."""
        self.locked.clear()
        for folder in self.folders:
            folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def _locks(locked: set[str]) -> Iterator[None]:
    """Context manager that locks what is named: the superuser may read whatever has no permission."""
    with pytest.MonkeyPatch.context() as patch:
        usual_open, usual_scan, usual_access = Path.open, os.scandir, os.access

        def require(path: object) -> None:
            if str(path).rstrip("/") in locked:
                raise PermissionError(13, "Permission denied", str(path))

        def open_(path: Path, *values: object, **more: object) -> object:
            require(path)
            return usual_open(path, *values, **more)  # type: ignore[call-overload]

        def scan(path: Path) -> object:
            require(path)
            return usual_scan(path)

        patch.setattr(Path, "open", open_)
        patch.setattr(os, "scandir", scan)
        patch.setattr(
            os, "access", lambda path, mode: usual_access(path, mode) and not (mode == os.R_OK and str(path) in locked)
        )
        yield


class _Story:
    """An index of folders, and what happens to both at random."""

    def __init__(self, home: Path, disk: Disk, reader: TextReader | None = None) -> None:
        """`reader` reads the files in processes of its own; without one, this process reads them."""
        self.home, self.disk, self.random, self.reader = home, disk, disk.random, reader
        self.kept = [str(folder) for folder in disk.folders]
        self.index = self._open()
        self.index.keep(self.kept)
        self.embedder = _Embedder(self.meanwhile)
        self.vectors: StoredVectors | None = None
        self.done: list[str] = []
        self.is_quiet = True  # nothing happens while files are read
        self.is_wanted = True

    def _open(self) -> FolderIndex:
        return FolderIndex(self.home, None)

    def close(self) -> None:
        self.index.__exit__()
        if self.reader:
            self.reader.close()

    def act(self) -> None:
        """Carry out a random action."""
        name = self.random.choice(_ACTIONS)
        self.done.append(name)
        if hasattr(self.disk, name):
            getattr(self.disk, name)()
            return
        with _locks(self.disk.locked):
            getattr(self, name)()

    def meanwhile(self) -> None:
        """Let something happen while a file is read or a vector is computed."""
        chance = self.random.random()
        if self.is_quiet or chance > 0.35:
            return
        name = self.random.choice(DISK_ACTIONS) if chance < 0.3 else "keep_elsewhere" if chance < 0.32 else "kill"
        self.done.append(f"({name})")
        locked = set(self.disk.locked)
        self.disk.locked.clear()  # for others
        (getattr(self, name, None) or getattr(self.disk, name))()
        self.disk.locked |= locked

    def read(self, path: Path, start: int, is_wanted: IsWanted) -> Iterator[FileSection]:
        """Yield the text of a file, as a reader does; something may happen before each piece."""
        self.meanwhile()
        pieces = self.reader.read(path, start, is_wanted) if self.reader else folder_files.pieces(path, start)
        for piece in pieces:
            if not is_wanted():
                raise CancelledError
            yield piece
            self.meanwhile()

    def kill(self) -> None:
        """End the processes that read."""
        for process in (self.reader._small, self.reader._large) if self.reader else ():
            if process._process:
                process._process.kill()

    def keep_elsewhere(self) -> None:
        """Have a question on another thread change which folders are kept."""
        self._choose()
        with self._open() as index:
            index.keep(self.kept)

    def _choose(self) -> None:
        folders = [str(folder) for folder in self.disk.folders]
        self.kept = self.random.sample(folders, self.random.randint(1, len(folders)))

    def keep(self) -> None:
        self._choose()
        self.index.keep(self.kept)

    def update(self, most: int = _EVERYTHING, *, large: bool = True) -> None:
        self.is_quiet = self.random.random() < 0.5
        folder = self.random.choice(self.kept)
        count = 0
        self.is_wanted = True
        for count, _ in enumerate(self.index.update(folder, self, lambda: self.is_wanted, large=large), start=1):
            self.is_wanted = count < most
        self.is_quiet, self.is_wanted = True, True

    def update_small(self) -> None:
        self.update(large=False)

    def update_in_part(self) -> None:
        self.update(self.random.randint(0, 4))

    def embed(self) -> None:
        self.is_quiet = False
        for _ in range(self.random.randint(1, 5)):
            self.index.embed(self.kept, self.embedder)
        self.is_quiet = True

    def restart(self) -> None:
        self.index.__exit__()
        self.index, self.vectors = self._open(), None
        self.index.keep(self.kept)
        self.index.try_again()

    def settle(self) -> None:
        """Read all that can be read, as in some time without a change."""
        self.disk.bring_back()
        self.index.keep(self.kept)
        self.index.try_again()
        self._settle(self.index, self)
        self.vectors = self.index.ready(self.embedder, self.vectors)

    def _settle(self, index: FolderIndex, reader: FileReader) -> None:
        for folder in self.kept:
            all(index.update(folder, reader))
        while index.embed(self.kept, self.embedder):
            pass

    def check(self) -> None:
        """Compare the index with a new one."""
        self.settle()
        place = self.home.with_name("new")
        with FolderIndex(place, None) as new:
            new.keep(self.kept)
            self._settle(new, DirectReader())
            for folder in self.kept:
                assert self._shown(self.index, folder) == self._shown(new, folder), self.done
            words = [f"wxkq{number}qkx" for number in range(self.disk.count + 1)]
            for word in (*words, "row", "more", "note", "head"):
                assert self._found(self.index, word) == self._found(new, word), self.done
            for question in ("which engine", "which fruit"):
                found = self._found(self.index, question, self.embedder, self.vectors)
                assert found == self._found(new, question, self.embedder), self.done
            for index in (new, self.index):
                index.erase()
        self.restart()
        assert _left(self.home) <= _left(place), self.done
        shutil.rmtree(place)

    def _shown(self, index: FolderIndex, folder: str) -> FolderState:
        state = index.state(folder)
        assert state.embedded == state.passages, self.done
        return replace(state, is_english=True)

    def _found(
        self,
        index: FolderIndex,
        question: str,
        embedder: TopicEmbedder | None = None,
        vectors: StoredVectors | None = None,
    ) -> list[Excerpt]:
        found = index.find(self.kept, question, embedder, _EVERYTHING, vectors)
        return sorted(each._replace(name="") for each in found)  # a file in two folders has the name in either


class _Embedder(TopicEmbedder):
    def __init__(self, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def embed(self, texts: Sequence[str], *, are_questions: bool = False) -> Sequence[bytes]:
        """Return a vector for each text; something may happen before."""
        self.meanwhile()
        return super().embed(texts, are_questions=are_questions)


def _left(home: Path) -> set[bytes]:
    """Return the words and names that are in any file beside the history."""
    return {found[0] for path in home.iterdir() for found in _WORD.finditer(path.read_bytes())}


@pytest.fixture(autouse=True)
def long_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every file compared by its content, however busy the machine is."""
    monkeypatch.setattr(folder_index, "MOMENT_S", 1e12)


@pytest.fixture
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small files have what large ones have in life."""
    for name, value in (("SMALL", 2000), ("PIECE", 300), ("LARGEST", 9000)):
        monkeypatch.setattr(folder_files, name, value)
    monkeypatch.setattr(folder_index, "SMALL", 2000)


def _tell(folder: Path, seed: int, caplog: pytest.LogCaptureFixture, reader: TextReader | None = None) -> None:
    disk = Disk(folder / "disk", random.Random(seed))
    with closing(_Story(folder / "history", disk, reader)) as story:
        for _ in range(_STEPS):
            story.act()
        story.check()
        assert not [record for record in caplog.records if record.levelno >= logging.WARNING], story.done


@pytest.mark.usefixtures("small_sizes")
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))])
def test_index_is_as_a_new_one(tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    _tell(tmp_path, seed, caplog)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_index_of_processes_that_are_killed_is_as_a_new_one(
    tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_files, "_NICE", 0)
    _tell(tmp_path, seed, caplog, TextReader((sys.executable, "-P", "-c", _READ)))
