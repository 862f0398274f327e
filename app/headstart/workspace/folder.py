"""One folder, and file operations that cannot leave it."""

import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path

from headstart.errors import WorkspaceError

MAX_FILE = 2_000_000  # bytes of a file that is read or written
MAX_ENTRIES = 200_000  # of a walk
_MAX_DEPTH = 64  # folders within each other
_FOLDER = getattr(os, "O_DIRECTORY", 0) | os.O_RDONLY
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_SECRETS = (
    *(".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.ovpn", "*.asc", "*.gpg"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".git-credentials", "credentials", "credentials.*"),
    *("secret", "secrets", "secret.*", "secrets.*", "service-account*.json", "service_account*.json", "token.json"),
    *(".ssh", ".gnupg", ".aws", ".kube", ".azure", ".docker", ".password-store"),
)
_NO_SECRETS = ("*.pub", ".env.example", ".env.sample", ".env.template")
_SECRET_WORDS = (b"PRIVATE KEY-----", b"PGP PRIVATE KEY BLOCK")
IS_SUPPORTED = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


class MissingError(WorkspaceError):
    """A path names nothing."""


class EntryKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"  # a device, a socket, a pipe


@dataclass(frozen=True)
class Entry:
    """An entry that a walk finds. `stamp` changes with every change of the file."""

    path: str  # in the folder, with slashes
    kind: EntryKind
    size: int
    stamp: tuple[int, ...]
    inode: tuple[int, int]
    links: int  # names that the file has, here and elsewhere


@dataclass(frozen=True)
class FileContent:
    """The content of a file and its rights."""

    data: bytes
    mode: int

    @property
    def is_secret(self) -> bool:
        """The content has a private key, whatever the name of the file is."""
        return any(word in self.data for word in _SECRET_WORDS)


def is_secret(path: str) -> bool:
    """Return whether a name in the path is one that keys and passwords have."""
    names = [name.casefold() for name in path.split("/") if name]
    return any(
        any(fnmatch(name, pattern) for pattern in _SECRETS)
        and not any(fnmatch(name, pattern) for pattern in _NO_SECRETS)
        for name in names
    )


class Folder:
    """A folder that stays open, so that another one under its name is not mistaken for it.

    Each part of a path is opened in the folder before it and never as a link: what is checked is what is used. Paths
    are relative, with slashes. Every method raises WorkspaceError.
    """

    def __init__(self, path: Path) -> None:
        if not IS_SUPPORTED:
            raise WorkspaceError("This system cannot confine file operations to a folder: use Linux or macOS.")
        self.path = path.expanduser().resolve()
        with _failing(str(path)):
            try:
                self._root = os.open(self.path, _FOLDER | _SAFE)
            except PermissionError as error:
                raise WorkspaceError(
                    "{path} cannot be opened ({reason}); choose another folder, or see that you may read this one.",
                    path=path,
                    reason=error.strerror,
                ) from error

    def close(self) -> None:
        """Close the folder. It may be closed twice."""
        root, self._root = self._root, -1
        if root >= 0:
            os.close(root)

    def clean(self, path: str) -> str:
        """Return a path in the form that all methods use; empty for the folder itself."""
        own = f"{self.path.as_posix().rstrip('/')}/"
        inside = f"{path}/".removeprefix(own) if path.startswith("/") else path
        parts = [part for part in inside.split("/") if part not in ("", ".")]
        if inside.startswith(("/", "~")) or ".." in parts or "\\" in inside:
            raise WorkspaceError("{path} is not in the folder: name files by their paths in it.", path=path)
        if any(unicodedata.category(sign) in {"Cc", "Cs"} for sign in inside):
            raise WorkspaceError("The path {path} has characters that no name here may have.", path=repr(path))
        if len(parts) > _MAX_DEPTH:
            raise WorkspaceError("The path {path} is too deep.", path=path)
        return "/".join(parts)

    def kind(self, path: str) -> EntryKind | None:
        """Return what is at a path; None if nothing is there."""
        if not path:
            return EntryKind.FOLDER
        try:
            with self._parent(path) as (parent, name):
                return _kind(os.lstat(name, dir_fd=parent))
        except MissingError:
            return None

    def read(self, path: str, limit: int = MAX_FILE) -> FileContent:
        """Return a file that is no link and has no more bytes than `limit`."""
        with self._parent(path) as (parent, name):
            descriptor = self._open_file(parent, name, path)
            with os.fdopen(descriptor, "rb") as file:
                state = os.fstat(descriptor)
                data = file.read(limit + 1)
        if len(data) > limit:
            raise WorkspaceError("{path} has more than {limit} bytes.", path=path, limit=f"{limit:,}")
        return FileContent(data, stat.S_IMODE(state.st_mode))

    def readable(self, path: str, limit: int = MAX_FILE) -> FileContent | None:
        """Return a file; None if there is none."""
        return self.read(path, limit) if self.kind(path) is not None else None

    def write(
        self, path: str, data: bytes, before: bytes | None, mode: int | None = None, limit: int = MAX_FILE
    ) -> None:
        """Replace a file at once, or make one where `before` is None. It must still have the content `before`.

        A new file takes the place of the old one, so that no link to the old one is written through.
        """
        self.check_writable(path)
        if len(data) > limit:
            raise WorkspaceError("{path} would have more than {limit} bytes.", path=path, limit=f"{limit:,}")
        with self._parent(path) as (parent, name):
            present = self.readable(path, limit)
            if (present.data if present else None) != before:
                raise WorkspaceError("{path} has changed meanwhile: read it again.", path=path)
            mode = mode if mode is not None else present.mode if present else None
            unfinished = f".headstart-{secrets.token_hex(8)}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE
            try:
                with os.fdopen(os.open(unfinished, flags, 0o666, dir_fd=parent), "wb") as file:
                    if mode is not None:
                        os.fchmod(file.fileno(), mode & 0o777)
                    file.write(data)
                os.replace(unfinished, name, src_dir_fd=parent, dst_dir_fd=parent)
            finally:
                with suppress(OSError):
                    os.unlink(unfinished, dir_fd=parent)

    def check_writable(self, path: str) -> None:
        """Raise WorkspaceError for what may not be written: a link, and a file with other names."""
        if not path:
            raise WorkspaceError("Name a file in the folder.")
        with suppress(MissingError), self._parent(path) as (parent, name):
            state = os.lstat(name, dir_fd=parent)
            if not stat.S_ISREG(state.st_mode):
                raise WorkspaceError("{path} is no file.", path=path)
            if state.st_nlink > 1:
                raise WorkspaceError("{path} is a hard link: it has another name, perhaps elsewhere.", path=path)

    def make(self, path: str) -> list[str]:
        """Make a folder and the folders above it. Return those that are new, outermost first."""
        made = list[str]()
        parts = path.split("/") if path else []
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            if self.kind(part) is None:
                with self._parent(part) as (parent, name):
                    os.mkdir(name, dir_fd=parent)
                made.append(part)
        if self.kind(path) is not EntryKind.FOLDER:
            raise WorkspaceError("{path} is no folder.", path=path)
        return made

    def move(self, source: str, target: str) -> None:
        """Move a file or a folder to a place where nothing is."""
        for path in (source, target):
            if not path:
                raise WorkspaceError("The folder itself is not moved.")
        if self.kind(source) not in (EntryKind.FILE, EntryKind.FOLDER):
            raise WorkspaceError("There is no file or folder {path}.", path=source)
        if self.kind(target) is not None:
            raise WorkspaceError("There is a {path} already.", path=target)
        with self._parent(source) as (old, old_name), self._parent(target) as (new, new_name):
            os.rename(old_name, new_name, src_dir_fd=old, dst_dir_fd=new)

    def remove(self, path: str) -> None:
        """Remove a file, a link or an empty folder."""
        with self._parent(path) as (parent, name):
            if _kind(os.lstat(name, dir_fd=parent)) is EntryKind.FOLDER:
                os.rmdir(name, dir_fd=parent)
            else:
                os.unlink(name, dir_fd=parent)

    def target(self, path: str) -> str:
        """Return where a link leads. It is not followed."""
        with self._parent(path) as (parent, name):
            return os.readlink(name, dir_fd=parent)

    def link(self, path: str, target: str) -> None:
        """Put back a link that was here."""
        with self._parent(path) as (parent, name):
            os.symlink(target, name, dir_fd=parent)

    def walk(self, path: str = "", skipped: frozenset[str] = frozenset()) -> Iterator[Entry]:
        """Yield the entries below the folder, folders before their content, without the content of `skipped` ones."""
        waiting, count = [path], 0
        while waiting:
            inside = waiting.pop()
            with suppress(OSError):  # it went away, or may not be listed
                folders = list[str]()
                for entry in self._entries(inside):
                    count += 1
                    if count > MAX_ENTRIES:
                        raise WorkspaceError("The folder has more than {count} files.", count=f"{MAX_ENTRIES:,}")
                    yield entry
                    if entry.kind is EntryKind.FOLDER and entry.path.rpartition("/")[2] not in skipped:
                        folders.append(entry.path)
                waiting += reversed(folders)

    def _entries(self, path: str) -> list[Entry]:
        with self._opened(path) as descriptor, os.scandir(descriptor) as found:
            entries = list[Entry]()
            for each in sorted(found, key=lambda each: each.name):
                with suppress(OSError, UnicodeEncodeError):
                    each.name.encode()
                    state = each.stat(follow_symlinks=False)
                    stamp = (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_mode)
                    inode = (state.st_dev, state.st_ino)
                    full = f"{path}/{each.name}" if path else each.name
                    entries.append(Entry(full, _kind(state), state.st_size, stamp, inode, state.st_nlink))
            return entries

    def _open_file(self, parent: int, name: str, path: str) -> int:
        descriptor = os.open(name, os.O_RDONLY | _SAFE, dir_fd=parent)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise WorkspaceError("{path} is no file.", path=path)
        return descriptor

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Open the parent folder of a path. Yield its descriptor and the last name of the path."""
        above, _, name = path.rpartition("/")
        with _failing(path), self._opened(above) as descriptor:
            yield descriptor, name

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        descriptor = os.dup(self._root)
        try:
            for name in path.split("/") if path else ():
                inner = os.open(name, _FOLDER | _SAFE, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)


@contextmanager
def _failing(path: str) -> Iterator[None]:
    """Context manager that turns errors of the system into sentences; a missing file is a MissingError."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingError("There is no {path}.", path=path or ".") from error
    except OSError as error:
        raise WorkspaceError("{path} cannot be used ({reason}).", path=path or ".", reason=error.strerror) from error


def _kind(state: os.stat_result) -> EntryKind:
    if stat.S_ISREG(state.st_mode):
        return EntryKind.FILE
    if stat.S_ISDIR(state.st_mode):
        return EntryKind.FOLDER
    return EntryKind.LINK if stat.S_ISLNK(state.st_mode) else EntryKind.OTHER
