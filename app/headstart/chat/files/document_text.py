"""The text of documents that are no plain text as Markdown: office files, web pages, e-books, mail and notebooks."""

import base64
import binascii
import email.policy
import json
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from functools import partial
from mailbox import mbox
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET
from xml.parsers.expat import ExpatError

from headstart.chat.files import html_text
from headstart.chat.files.office_parts import (
    OfficePart,
    ReadPicture,
    no_picture,
    paragraphs,
    related,
    root_of,
    shown_texts,
)
from headstart.chat.files.text_encoding import readings
from headstart.chat.files.word_markup import readable
from headstart.errors import AttachmentError

LARGEST = 50_000_000  # bytes of a file
LARGEST_UNPACKED = 12_000_000  # bytes of markup in an archive; XML in memory takes up to 150 times as much
LARGEST_SHEETS = 200_000_000  # likewise in a spreadsheet, which is read row by row
LARGEST_PAGE = 8_000_000  # bytes of a web page
_PRESENTATION = "ppt/presentation.xml"
_TERMINAL = re.compile(r"\x1b\[[0-9;]*m")
DAMAGE = (
    ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError,
    ET.ParseError, ExpatError, EOFError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def require_small(path: Path, largest: int = LARGEST) -> None:
    """Raise AttachmentError for a file that is too large or cannot be looked at."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from None
    if size > largest:
        raise AttachmentError(
            "{path} has {size:.1f} MB, and {largest:.0f} MB is the most; use a part of it.",
            path=path.name,
            size=size / 1e6,
            largest=largest / 1e6,
        )


def unreadable(path: Path, error: OSError) -> AttachmentError:
    """Return the error of a file that cannot be opened."""
    return AttachmentError(
        "{path} cannot be read ({strerror}); check that it is there and that you may read it.",
        path=path,
        strerror=error.strerror,
    )


def without_text(path: Path) -> AttachmentError:
    """Return the error of a document that has no text."""
    return AttachmentError("{path} has no text; there is nothing to read.", path=path.name)


def read(
    path: Path,
    convert: Callable[[Path, ReadPicture], str],
    read_picture: ReadPicture = no_picture,
    refusal: Callable[[Path], AttachmentError] = without_text,
) -> str:
    """Return the text of a document by one of the functions below. Raises AttachmentError, or `refusal` for none."""
    require_small(path)
    try:
        text = convert(path, read_picture)
    except DAMAGE:
        raise AttachmentError(
            "{path} is damaged or not what its name says; open it in the program that made it, save it again, and "
            "use that.",
            path=path.name,
        ) from None
    if not text.strip():
        raise refusal(path)
    return text.strip("\n")


def word(path: Path, read_picture: ReadPicture = no_picture) -> str:
    """Return the text of a .docx file, and of its pictures."""
    import mammoth  # noqa: PLC0415 - only needed for a Word document
    from mammoth.images import img_element  # noqa: PLC0415

    with zipfile.ZipFile(path) as archive:
        require_unpacked_small(path, archive)
        copy = readable(archive, read_picture)
    result = mammoth.convert_to_html(copy, convert_image=img_element(lambda _image: {"src": ""}))
    return html_text.to_markdown(result.value)


def page(path: Path, read_picture: ReadPicture = no_picture) -> str:
    """Return the text of a web page, and of the pictures in it."""
    require_small(path, LARGEST_PAGE)
    return html_text.to_markdown(_decoded(path.read_bytes()), lambda address: _data_text(address, read_picture))


def _data_text(address: str, read_picture: ReadPicture) -> str:
    """Return the text of a picture that its address holds; empty for other addresses."""
    head, _, data = address.partition(",")
    is_picture = head.startswith("data:image/") and head.endswith(";base64")
    return _base64_text(data, read_picture) if is_picture else ""


def _base64_text(data: str, read_picture: ReadPicture) -> str:
    try:
        return read_picture(base64.b64decode(unquote(data)))
    except binascii.Error:
        return ""


def _decoded(content: bytes) -> str:
    """Decode bytes in their likeliest encoding. Raises ValueError if they are not text."""
    for reading in readings(content):
        return reading.text
    raise ValueError


def book(path: Path, read_picture: ReadPicture = no_picture) -> str:
    """Return the text of an .epub file and of its pictures, chapter by chapter."""
    with zipfile.ZipFile(path) as archive:
        require_unpacked_small(path, archive)
        chapters = list(_chapters(archive))
        if _locked(archive) & set(chapters):
            raise AttachmentError(
                "{path} is protected against copying, so it cannot be read; use a copy without protection.",
                path=path.name,
            )

        def picture_text(folder: str, address: str) -> str:
            part = OfficePart("image", posixpath.normpath(posixpath.join(folder, unquote(address))))
            return "".join(shown_texts(archive, [part], read_picture))

        texts = [
            html_text.to_markdown(_decoded(archive.read(name)), partial(picture_text, posixpath.dirname(name)))
            for name in chapters
        ]
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


def require_unpacked_small(path: Path, archive: zipfile.ZipFile, largest: int = LARGEST_UNPACKED) -> None:
    """Raise AttachmentError for an archive whose markup would fill the memory. Declared sizes are upper bounds."""
    markup = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx")
    size = sum(entry.file_size for entry in archive.infolist() if entry.filename.lower().endswith(markup))
    if size > largest:
        raise AttachmentError(
            "{path} has {size:.0f} MB of text and markup when it is unpacked, and {largest:.0f} MB is the most; use "
            "a part of it.",
            path=path.name,
            size=size / 1e6,
            largest=largest / 1e6,
        )


def slides(path: Path, read_picture: ReadPicture = no_picture) -> str:
    """Return the text of a .pptx file, slide by slide, with their diagrams, charts, pictures and notes."""
    with zipfile.ZipFile(path) as archive:
        require_unpacked_small(path, archive)
        texts, has_text = [], False
        for number, name in enumerate(_slides_in_order(archive), start=1):
            lines = paragraphs(root_of(archive, name))
            title = f": {lines[0]}" if lines else ""
            parts = related(archive, name).values()
            shown = filter(None, shown_texts(archive, parts, read_picture))
            lines = [*lines[1:], *shown, *_notes(archive, parts)]
            has_text = has_text or bool(title or lines)
            texts.append("\n".join([f"# Slide {number}{title}", "", *lines]))
    return "\n\n".join(texts) if has_text else ""


def _notes(archive: zipfile.ZipFile, parts: Iterable[OfficePart]) -> Iterator[str]:
    """Yield the paragraphs of the notes below a slide."""
    for kind, name in parts:
        if kind == "notesSlide" and name in archive.namelist():
            yield from paragraphs(root_of(archive, name))


def _slides_in_order(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the slides as they are shown; names may have another order."""
    named = {name for name in archive.namelist() if re.fullmatch(r"ppt/slides/slide\d+\.xml", name)}
    parts = related(archive, _PRESENTATION)
    entries = ET.fromstring(archive.read(_PRESENTATION)).iterfind(".//{*}sldIdLst/{*}sldId")  # noqa: S314
    ids = (next((value for key, value in entry.items() if key.endswith("}id")), "") for entry in entries)
    shown = [parts[each].name for each in ids if each in parts]
    return [name for name in shown if name in named] or sorted(named, key=_number)


def _number(name: str) -> int:
    return int("".join(filter(str.isdigit, name)))


def rich_text(path: Path, _read_picture: ReadPicture = no_picture) -> str:
    """Return the text of an .rtf file, without its pictures."""
    from striprtf.striprtf import rtf_to_text  # noqa: PLC0415 - only needed for RTF

    text = rtf_to_text(path.read_bytes().decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    return str(text)


def mail(path: Path, read_picture: ReadPicture = no_picture) -> str:
    """Return an .eml file, or a web page that was saved as one, as text, with the names of attached files."""
    return _message(BytesParser(policy=email.policy.default).parsebytes(path.read_bytes()), read_picture)


def mailbox(path: Path, read_picture: ReadPicture = no_picture) -> str:
    """Return the messages of an .mbox file."""

    def parse(file: Any) -> Any:
        return BytesParser(policy=email.policy.default).parse(file)

    with closing(mbox(path, factory=parse, create=False)) as messages:
        found: list[Any] = [messages[key] for key in messages.iterkeys()]
        return "\n\n".join(_message(each, read_picture) for each in found)


def _message(message: EmailMessage, read_picture: ReadPicture) -> str:
    body = message.get_body(("plain", "html"))
    pictures = _pictures_of(message)

    def picture_text(address: str) -> str:
        content = pictures.get(address)
        return read_picture(content) if content else _data_text(address, read_picture)

    texts, names = [_text_of_part(body, picture_text)] if body else [], []
    is_mixed = message.get_content_subtype() == "mixed"
    for part in message.iter_attachments():
        if part.get_content_type() == "message/rfc822":  # forwarded
            texts.append(_message(part.get_content(), read_picture))
        elif name := part.get_filename():
            names.append(name)
        elif is_mixed and part.get_content_type() in ("text/plain", "text/html"):  # goes on behind a picture
            texts.append(_text_of_part(part, picture_text))
    # The text without markup, if there is one, does not say where they are; one that was read is empty.
    texts += (read_picture(content) for address, content in pictures.items() if address.startswith("cid:"))
    heads = [f"{name}: {message[name]}" for name in ("From", "To", "Cc", "Date") if message[name]]
    attached = [f"Attached: {', '.join(names)}"] if names else []
    return "\n".join([f"# {message['Subject'] or ''}", "", *heads, "", "\n\n".join(filter(None, texts)), *attached])


def _pictures_of(message: EmailMessage) -> dict[str, bytes]:
    """Return the content of the pictures in a message, by the addresses that its text has for them."""
    found = dict[str, bytes]()
    for part in message.walk():
        content: Any = part.get_payload(decode=True) if part.get_content_maintype() == "image" else None
        for address in (f"cid:{str(part['Content-ID'] or '').strip(' <>')}", str(part["Content-Location"] or "")):
            if content and address not in ("cid:", ""):
                found[address] = content
    return found


def _text_of_part(part: MIMEPart, picture_text: Callable[[str], str]) -> str:
    """Return the text of a part of a message, whatever encoding it names; empty for what is no text."""
    content: Any = part.get_payload(decode=True) or b""
    try:
        text = content.decode(part.get_content_charset("ascii"))
    except (LookupError, UnicodeError):
        text = next((reading.text for reading in readings(content)), "")
    is_page = part.get_content_subtype() == "html"
    return (html_text.to_markdown(text, picture_text) if is_page else text).strip()


def notebook(path: Path, read_picture: ReadPicture = no_picture) -> str:
    """Return the cells of a Jupyter notebook and their outputs that are text, or pictures of text."""
    notebook = json.loads(_decoded(path.read_bytes()))
    language = notebook.get("metadata", {}).get("kernelspec", {}).get("language", "python")
    cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]  # until 2015
    return "\n\n".join(part for cell in cells for part in _cell(cell, language, read_picture))


def _cell(cell: Mapping[str, Any], language: str, read_picture: ReadPicture) -> Iterator[str]:
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
        for kind in ("png", "jpeg"):
            picture = _base64_text(_joined(shown.get(f"image/{kind}", shown.get(kind, ""))), read_picture)
            yield from filter(None, [picture])


def _joined(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def _fenced(text: str, language: str) -> str:
    fence = "`" * (max((len(run) for run in re.findall("`{3,}", text)), default=2) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
