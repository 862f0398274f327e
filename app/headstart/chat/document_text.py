"""The text of documents that are no plain text: Word, web pages, e-books and notebooks, as Markdown."""

import json
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET
from xml.parsers.expat import ExpatError

from headstart.chat import html_text
from headstart.chat.text_encoding import readings
from headstart.errors import AttachmentError

LARGEST = 50_000_000  # bytes of a file
LARGEST_UNPACKED = 12_000_000  # bytes of markup in an archive; XML in memory takes up to 150 times as much
LARGEST_PAGE = 8_000_000  # bytes of a web page
_TERMINAL = re.compile(r"\x1b\[[0-9;]*m")
_DAMAGE = (
    ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError,
    ET.ParseError, ExpatError, EOFError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_word(path: Path) -> str:
    """Return the text of a .docx file. Raises AttachmentError."""
    return _read(path, _word)


def read_page(path: Path) -> str:
    """Return the text of a web page. Raises AttachmentError."""
    return _read(path, _page)


def read_book(path: Path) -> str:
    """Return the text of an .epub file, chapter by chapter. Raises AttachmentError."""
    return _read(path, _book)


def read_notebook(path: Path) -> str:
    """Return the cells of a Jupyter notebook and their outputs that are text. Raises AttachmentError."""
    return _read(path, _notebook)


def require_small(path: Path, largest: int = LARGEST) -> None:
    """Raise AttachmentError for a file that is too large or cannot be looked at."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from None
    if size > largest:
        raise AttachmentError(
            "{path} has {size:.1f} MB, and {largest:.0f} MB is the most; attach a part of it.",
            path=path.name,
            size=size / 1e6,
            largest=largest / 1e6,
        )


def unreadable(path: Path, error: OSError) -> AttachmentError:
    """Return the error of a file that cannot be opened."""
    return AttachmentError(
        "{path} cannot be read ({strerror}); check that it is there.", path=path, strerror=error.strerror
    )


def _read(path: Path, convert: Callable[[Path], str]) -> str:
    require_small(path)
    try:
        text = convert(path)
    except _DAMAGE:
        raise AttachmentError(
            "{path} is damaged or not what its name says; open it in the program that made it, save it again, and "
            "attach that.",
            path=path.name,
        ) from None
    if not text.strip():
        raise AttachmentError("{path} has no text; there is nothing to attach.", path=path.name)
    return text.strip("\n")


def _word(path: Path) -> str:
    import mammoth  # noqa: PLC0415 - only needed for a Word document
    from mammoth.images import img_element  # noqa: PLC0415

    with zipfile.ZipFile(path) as archive:
        _require_unpacked_small(path, archive)
    with path.open("rb") as file:
        result = mammoth.convert_to_html(file, convert_image=img_element(lambda _image: {"src": ""}))
    return html_text.to_markdown(result.value)


def _page(path: Path) -> str:
    require_small(path, LARGEST_PAGE)
    return html_text.to_markdown(_decoded(path.read_bytes()))


def _decoded(content: bytes) -> str:
    """Return a text in its likeliest encoding. Raises ValueError for what is no text."""
    for reading in readings(content):
        return reading.text
    raise ValueError


def _book(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        _require_unpacked_small(path, archive)
        chapters = list(_chapters(archive))
        if _locked(archive) & set(chapters):
            raise AttachmentError(
                "{path} is protected against copying, so it cannot be read; attach a copy without protection.",
                path=path.name,
            )
        texts = [html_text.to_markdown(_decoded(archive.read(name))) for name in chapters]
    return "\n\n".join(filter(None, texts))


def _chapters(archive: zipfile.ZipFile) -> Iterator[str]:
    """Yield the names of the pages of a book in the order of reading."""
    names = set(archive.namelist())
    try:
        container = ET.fromstring(archive.read("META-INF/container.xml"))  # noqa: S314 - expat bounds entities
        package = container.find(".//{*}rootfile").attrib["full-path"]  # type: ignore[union-attr]
        root = ET.fromstring(archive.read(package))  # noqa: S314
    except (AttributeError, LookupError, ET.ParseError):  # a book without its contents still has pages
        yield from (name for name in archive.namelist() if name.lower().endswith((".xhtml", ".html", ".htm")))
        return
    folder = posixpath.dirname(package)
    items = {item.get("id"): item.get("href", "") for item in root.iterfind(".//{*}manifest/{*}item")}
    for entry in root.iterfind(".//{*}spine/{*}itemref"):
        name = posixpath.normpath(posixpath.join(folder, unquote(items.get(entry.get("idref"), ""))))
        if name in names:
            yield name


def _locked(archive: zipfile.ZipFile) -> set[str]:
    """Return the names of the encrypted files."""
    try:
        root = ET.fromstring(archive.read("META-INF/encryption.xml"))  # noqa: S314
    except KeyError:
        return set()
    return {unquote(element.get("URI", "")) for element in root.iter() if element.get("URI")}


def _require_unpacked_small(path: Path, archive: zipfile.ZipFile) -> None:
    """Raise AttachmentError for an archive whose markup would fill the memory. Its files cannot be larger than said."""
    markup = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx")
    size = sum(entry.file_size for entry in archive.infolist() if entry.filename.lower().endswith(markup))
    if size > LARGEST_UNPACKED:
        raise AttachmentError(
            "{path} has {size:.0f} MB of text and markup when it is unpacked, and {largest:.0f} MB is the most; attach "
            "a part of it.",
            path=path.name,
            size=size / 1e6,
            largest=LARGEST_UNPACKED / 1e6,
        )


def _notebook(path: Path) -> str:
    notebook = json.loads(_decoded(path.read_bytes()))
    language = notebook.get("metadata", {}).get("kernelspec", {}).get("language", "python")
    cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]  # until 2015
    return "\n\n".join(part for cell in cells for part in _cell(cell, language))


def _cell(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    text = _joined(cell.get("source", cell.get("input", ""))).strip("\n")
    if cell.get("cell_type") != "code":
        yield from filter(None, [text])
        return
    if text:
        yield _fenced(text, language)
    for output in cell.get("outputs", ()):
        shown = output.get("data", output)  # the file format of 2015 has no `data`
        result = next((shown[kind] for kind in ("text", "text/markdown", "text/plain") if kind in shown), "")
        error = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
        printed = "\n".join(error) if output.get("output_type") in ("error", "pyerr") else _joined(result)
        if printed.strip():
            yield _fenced(_TERMINAL.sub("", printed).strip("\n"), "")


def _joined(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def _fenced(text: str, language: str) -> str:
    fence = "`" * (max((len(run) for run in re.findall("`{3,}", text)), default=2) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
