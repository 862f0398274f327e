"""Files of chats: those of Headstart and of other programs, as JSON, JSON lines or the archive that was downloaded."""

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from headstart.chat.conversation import Project
from headstart.chat.imports import chatgpt, claude, jan, llama_cpp, lm_studio, open_webui
from headstart.chat.imports.tree import EMPTY, NOT_CHATS, JsonRecord, LeftOut
from headstart.chat.json_chats import (
    MAX_BYTES,
    MAX_CHATS,
    Bundle,
    Imported,
    MalformedError,
    is_own,
    read_own,
    require_few,
)
from headstart.errors import ExchangeError, Translatable, listed

PROGRAMS = (chatgpt.PROGRAM, claude.PROGRAM, open_webui.PROGRAM, lm_studio.PROGRAM, llama_cpp.PROGRAM, jan.PROGRAM)
ENDINGS = (".json", ".jsonl", ".zip")
_OTHER_FILES = Translatable("other files of the archive")
_DAMAGED_FILES = Translatable("damaged files of the archive")
_MAX_FILES = 100_000  # in an archive
# Files of exports that have no chats: accounts, ratings, memories.
_ASIDE = ("user", "users", "message_feedback", "model_comparisons", "shared_conversations", "memories", "manifest")


def read_chats(path: Path) -> tuple[Bundle, ...]:
    """Return the chats of `read_file`. Raises ExchangeError."""
    return read_file(path).chats


def read_file(path: Path) -> Imported:
    """Read a file of Headstart or of another program. Chats get new ids. Raises ExchangeError with one sentence."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES and path.suffix.lower() != ".zip":
            raise _too_large(size)
        beside = {}
        thread = path.with_name(jan.THREAD)
        if path.name == jan.MESSAGES and thread.is_file():
            beside = {jan.THREAD: thread.read_bytes()}
        with path.open("rb") as file:
            if file.read(4) == b"PK\3\4":
                return _imported(dict(_unpacked(path)))
        return _imported({path.name: path.read_bytes(), **beside})
    except OSError as error:
        raise ExchangeError(
            "{path} cannot be read ({strerror}); choose a file that you may open.",
            path=path.name,
            strerror=error.strerror,
        ) from error
    except MalformedError as error:
        raise ExchangeError(
            "{path} was not imported because {reason}; choose what Headstart, ChatGPT, Claude, Open WebUI, LM Studio, "
            "Jan or llama.cpp exported: a .json, .jsonl or .zip file.",
            path=path.name,
            reason=error.text,
        ) from error


def parse(data: bytes) -> Imported:
    """Return the chats and projects in the bytes of a JSON file. Raises MalformedError."""
    return _imported({"": data})


def _imported(files: Mapping[str, bytes]) -> Imported:
    left_out = LeftOut()
    documents = dict(_documents(files, left_out))
    chats: list[Bundle] = []
    projects: list[Project] = []
    programs: list[str] = []
    for name, content in jan.with_threads(documents).items():
        if isinstance(content, Mapping) and is_own(content):
            own = read_own(content)
            chats += own.chats
            projects += own.projects
            programs.append(own.program)
        elif (program := _read(content, chats, left_out)) is not None:
            programs.append(program)
        elif (found := claude.projects(content)) is not None:
            projects += found
            programs.append(claude.PROGRAM.name)
        elif len(documents) == 1:
            raise MalformedError("it is not an export of chats")
        elif Path(name).stem not in _ASIDE:
            left_out.add(_OTHER_FILES)
    require_few(len(chats), MAX_CHATS, Translatable("chats"))
    if not chats and not projects:
        if not left_out.kinds:
            raise MalformedError("there is no chat in it")
        raise MalformedError("there is no chat in it that can be read: {left_out}", left_out=listed(left_out.kinds))
    return Imported(tuple(chats), tuple(projects), " + ".join(dict.fromkeys(programs)), left_out.kinds)


def _read(content: object, chats: list[Bundle], left_out: LeftOut) -> str | None:
    """Add the chats of a document. Return the program that wrote it; None if it is not known."""
    for program in PROGRAMS:
        entries = program.entries(content)
        if entries is None:
            continue
        require_few(len(entries), MAX_CHATS, Translatable("chats"))
        for entry in entries:
            try:
                chat = program.read(JsonRecord(entry), left_out)
            except MalformedError as error:
                left_out.add(Translatable("chats of which {reason}", reason=error.text))
                continue
            if chat is None:
                left_out.add(NOT_CHATS)
            elif not chat[1].messages:
                left_out.add(EMPTY)
            else:
                source = f"{program.name} {chat[0].source}" if chat[0].source else ""
                chats.append((replace(chat[0], source=source), chat[1]))
        return program.name
    return None


def _documents(files: Mapping[str, bytes], left_out: LeftOut) -> Iterator[tuple[str, Any]]:
    """Yield the files that may have chats, and count the others. Raises MalformedError for the only file."""
    for name, data in files.items():
        if len(files) > 1 and not name.lower().endswith(ENDINGS[:2]):
            left_out.add(_OTHER_FILES)
            continue
        try:
            content = _decoded(data)
        except MalformedError:
            if len(files) == 1:
                raise
            left_out.add(_DAMAGED_FILES)
            continue
        is_line = name.lower().endswith(".jsonl") and not isinstance(content, list)
        yield name, [content] if is_line else content


def _unpacked(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of an archive's files. A file that cannot hold chats has empty contents."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir() and _is_content(entry.filename)]
            require_few(len(entries), _MAX_FILES, Translatable("files"))
            texts = [entry for entry in entries if entry.filename.lower().endswith(ENDINGS[:2])]
            size = sum(entry.file_size for entry in texts)  # none can be larger than it says
            if size > MAX_BYTES:
                raise _too_large(size)
            if not texts:
                raise MalformedError("there is no chat in it")
            for entry in entries:
                yield entry.filename, archive.read(entry) if entry in texts else b""
    except RuntimeError as error:  # zipfile's own for a password
        raise MalformedError("it is an archive with a password") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise MalformedError("it is a damaged archive") from error


def _is_content(name: str) -> bool:
    return not name.startswith("__MACOSX/") and not Path(name).name.startswith("._") and not name.endswith(".html")


def _too_large(size: int) -> MalformedError:
    return MalformedError(
        "it has {size:,} MB and at most {most_bytes} MB are read", size=size >> 20, most_bytes=MAX_BYTES >> 20
    )


def _decoded(data: bytes) -> Any:
    """Return a JSON document, or the list of those that stand on a line each. Raises MalformedError."""
    try:
        text = data.decode("utf-8-sig")
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except ValueError:
            lines = [line for line in io.StringIO(text) if line.strip()]
            if len(lines) < 2 or not lines[1].lstrip().startswith("{"):
                raise
            return [json.loads(line, parse_constant=_refuse_constant) for line in lines]
    except UnicodeDecodeError as error:
        raise MalformedError("it is not UTF-8 text") from error
    except RecursionError as error:
        raise MalformedError("its parts are nested too deeply") from error
    except ValueError as error:
        raise MalformedError("it is not JSON ({error})", error=error) from error


def _refuse_constant(constant: str) -> NoReturn:
    raise MalformedError("{constant} in it is not a number", constant=constant)
