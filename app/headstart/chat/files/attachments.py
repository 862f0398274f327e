"""The text of a file that goes with a message, and the errors of files that are refused."""

import csv
import io
import mimetypes
import re
import zipfile
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from headstart.chat.conversation import TABLE_ENDINGS, Attachment
from headstart.chat.files import document_text, open_document_text, pdf_text, pictures, spreadsheet_text
from headstart.chat.files.office_parts import ReadPicture
from headstart.chat.files.pictures import Recognize
from headstart.chat.files.text_encoding import readings
from headstart.errors import AttachmentError, ModelMissingError, Translatable

LARGEST = 2_000_000  # bytes; about half a million tokens, which no context here can hold
_WIDEST = 4  # bytes of a character in the widest encoding
_HEAD = 4096  # bytes that tell a kind


class ReadingOption(NamedTuple):
    """One way to read a file."""

    name: str  # for the chip; empty for the usual way, text in UTF-8
    attachment: Attachment


class DocumentKind(Enum):
    """A kind of file whose text a process of its own extracts: it may be slow, or be made to do harm."""

    PDF = "pdf"
    WORD = "docx"
    BOOK = "epub"
    NOTEBOOK = "ipynb"
    PAGE = "html"
    SPREADSHEET = "xlsx"
    SLIDES = "pptx"
    OPEN = "odt"
    RICH = "rtf"
    MAIL = "eml"
    MAILBOX = "mbox"
    PICTURE = "png"
    RECORDING = "wav"


_PAGES = (".html", ".htm", ".xhtml")
_READERS: dict[DocumentKind, Callable[[Path, ReadPicture], str]] = {
    DocumentKind.WORD: document_text.word,
    DocumentKind.BOOK: document_text.book,
    DocumentKind.NOTEBOOK: document_text.notebook,
    DocumentKind.PAGE: document_text.page,
    DocumentKind.SPREADSHEET: spreadsheet_text.spreadsheet,
    DocumentKind.SLIDES: document_text.slides,
    DocumentKind.OPEN: open_document_text.open_document,
    DocumentKind.RICH: document_text.rich_text,
    DocumentKind.MAIL: document_text.mail,
    DocumentKind.MAILBOX: document_text.mailbox,
}
_BY_ENDING = {
    ".docx": DocumentKind.WORD,
    ".epub": DocumentKind.BOOK,
    ".xlsx": DocumentKind.SPREADSHEET,
    ".xlsm": DocumentKind.SPREADSHEET,
    ".xlsb": DocumentKind.SPREADSHEET,
    ".xls": DocumentKind.SPREADSHEET,
    ".ods": DocumentKind.SPREADSHEET,
    ".pptx": DocumentKind.SLIDES,
    ".odt": DocumentKind.OPEN,
    ".odp": DocumentKind.OPEN,
    ".rtf": DocumentKind.RICH,
    **dict.fromkeys((".eml", ".mht", ".mhtml"), DocumentKind.MAIL),  # browsers save a page like a mail
    ".mbox": DocumentKind.MAILBOX,
    ".ipynb": DocumentKind.NOTEBOOK,
    **dict.fromkeys(_PAGES, DocumentKind.PAGE),
}
# Files in a package that tell what it is.
_BY_MEMBER = {
    "word/document.xml": DocumentKind.WORD,
    "xl/workbook.xml": DocumentKind.SPREADSHEET,
    "xl/workbook.bin": DocumentKind.SPREADSHEET,
    "ppt/presentation.xml": DocumentKind.SLIDES,
    "META-INF/container.xml": DocumentKind.BOOK,
}
ILLUSTRATED_ENDINGS = (".pdf", *_BY_ENDING)
_ARCHIVES = (b"7z\xbc\xaf\x27\x1c", b"Rar!", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*")  # that are read here
_PICTURE_NAMES = (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".webp", ".bmp")
_IMAGES = (*_PICTURES, b"\0\0\1\0")
NOTHING_READABLE = "[This page holds nothing that can be read.]"
_HEARD = (b"ID3", b"OggS", b"fLaC")  # recordings that are written down here
_HEARD_NAMES = (".wav", ".mp3", ".flac", ".ogg", ".oga", ".opus")
_RECORDINGS = (*_HEARD, b"\x1aE\xdf\xa3")
Transcribe = Callable[[Path, Callable[[int, int], object]], str]  # tells the seconds that are done, and all; see attach
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"


def read(path: Path, largest: int = LARGEST) -> tuple[ReadingOption, ...]:
    """Return the ways to read a text file, the likeliest first. Raises AttachmentError with the remedy."""
    content = _content(path, largest)
    _require_text(path.name, content)
    found = readings(content)
    if not found:
        raise _not_text(path.name)
    if not found[0].text.strip():
        raise AttachmentError("{name} is empty; there is nothing to attach.", name=path.name)
    ways = [ReadingOption(reading.encoding, Attachment(path.name, reading.text)) for reading in found]
    require_short(ways[0].attachment, largest)
    is_table = path.suffix.lower() in TABLE_ENDINGS and len(found[0].text) <= LARGEST
    table = _table(found[0].text) if is_table else ""
    if table and len(table) <= LARGEST:
        ways.append(ReadingOption(Translatable("as a table"), Attachment(path.name, table)))
    return tuple(ways)


def attach(
    path: Path,
    on_page: Callable[[int, int], object] = lambda *_: None,
    recognize: Recognize | None = None,
    transcribe: Transcribe | None = None,
) -> Attachment:
    """Return the text of any file, read the likeliest way; for the parameters see `read_document`.

    Raises AttachmentError, and AudioError for a recording.
    """
    kind = document(path)
    if not kind:
        return read(path)[0].attachment
    return read_document(path, kind, on_page, recognize=recognize, transcribe=transcribe)


def document(path: Path) -> DocumentKind | None:
    """Return the kind of a file whose text has to be extracted; None for others, and for what cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        suffix = path.suffix.lower()
        if suffix == ".pdf" or head.startswith(b"%PDF-"):
            return DocumentKind.PDF
        if head.startswith(b"PK\3\4"):
            return _kind_of_archive(path)
        if head.startswith(b"{\\rtf"):
            return DocumentKind.RICH
        if head.startswith(_PICTURES) or suffix in _PICTURE_NAMES:
            return DocumentKind.PICTURE
        if head.startswith(_HEARD) or suffix in _HEARD_NAMES:
            return DocumentKind.RECORDING
        return _BY_ENDING.get(suffix)
    except OSError:
        pass
    return None


def read_document(
    path: Path,
    kind: DocumentKind,
    on_page: Callable[[int, int], object] = lambda *_: None,
    largest: int = LARGEST,
    recognize: Recognize | None = None,
    transcribe: Transcribe | None = None,
) -> Attachment:
    """Return the text of a document. Raises AttachmentError, and AudioError for a recording.

    `on_page` is given the page and the pages of a PDF, the pictures in another document, or seconds of a recording.
    `recognize` reads pictures; `transcribe` writes down recordings.
    """
    if kind is DocumentKind.PDF:
        reader = pdf_text.open_pdf(path)
        texts = []
        for number, text in enumerate(pdf_text.pages(path, reader, recognize=recognize), start=1):
            texts.append(text or NOTHING_READABLE)
            on_page(number, len(reader.pages))
        attachment = Attachment(path.name, "\n\n".join(texts))
    elif kind is DocumentKind.PICTURE:
        attachment = Attachment(path.name, pictures.read_picture(path, recognize, on_page))
    elif kind is DocumentKind.RECORDING:
        attachment = Attachment(path.name, _transcript(path, transcribe, on_page))
    else:
        attachment = Attachment(path.name, _illustrated_text(path, _READERS[kind], recognize, on_page))
    require_short(attachment, largest)
    return attachment


def _illustrated_text(
    path: Path,
    convert: Callable[[Path, ReadPicture], str],
    recognize: Recognize | None,
    on_picture: Callable[[int, int], object],
) -> str:
    embedded = pictures.EmbeddedPictures(path, recognize, on_picture)
    text = document_text.read(path, convert, embedded.read, embedded.refusal)
    if recognize and embedded.num_left:
        return f"{text}\n\n[{embedded.num_left} more pictures are not read.]"
    return text


def _transcript(path: Path, transcribe: Transcribe | None, on_progress: Callable[[int, int], object]) -> str:
    if transcribe is None:
        raise ModelMissingError(
            "{name} is a recording, and no model that writes down speech is installed; get Whisper on the page of "
            "models (`headstart models add whisper-base`), then attach it again.",
            model="Whisper",
            name=path.name,
        )
    text = transcribe(path, on_progress)
    if not text:
        raise AttachmentError("{name} holds no speech that can be heard; describe what it holds.", name=path.name)
    return text


def ways_to_read(path: Path, extracted: Attachment) -> tuple[ReadingOption, ...]:
    """Return the extracted text of a document, and the source of a web page as another way to read it."""
    if path.suffix.lower() not in _PAGES:
        return (ReadingOption("", extracted),)
    try:
        source = read(path)[0].attachment
    except AttachmentError:  # too long, or gone
        return (ReadingOption("", extracted),)
    return ReadingOption(Translatable("text of the page"), extracted), ReadingOption(Translatable("source"), source)


def require_short(attachment: Attachment, largest: int = LARGEST) -> None:
    """Raise AttachmentError for a text that is longer than a text file may be."""
    length = len(attachment.text.encode(errors="replace"))
    if length > largest:
        raise AttachmentError(
            "{name} has {length:.1f} MB of text, and {largest:.0f} MB is the most; attach a part of it.",
            name=attachment.name,
            length=length / 1e6,
            largest=largest / 1e6,
        )


def require_text(path: Path) -> None:
    """Raise AttachmentError if name or first bytes of a file are those of a picture, a recording or an archive."""
    kind = (mimetypes.guess_type(path.name, strict=False)[0] or "").partition("/")[0]
    if kind in ("image", "audio", "video") and path.suffix.lower() not in (".svg", ".ts"):
        raise _refusal(path.name, b"")
    try:
        with path.open("rb") as file:
            _require_text(path.name, file.read(_HEAD))
    except OSError as error:
        raise document_text.unreadable(path, error) from None


def _content(path: Path, largest: int) -> bytes:
    try:
        if path.is_dir():
            raise AttachmentError("{path} is a folder; drop the files in it instead.", path=path.name)
        with path.open("rb") as file:
            content = file.read(_WIDEST * largest + 1)
        if len(content) > _WIDEST * largest:
            _require_text(path.name, content)
            if not readings(content[: _HEAD // 4 * 4]):
                raise _not_text(path.name)
            document_text.require_small(path, largest)
    except OSError as error:
        raise document_text.unreadable(path, error) from None
    return content


def _kind_of_archive(path: Path) -> DocumentKind | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            kind = next((kind for member, kind in _BY_MEMBER.items() if member in names), None)
            if kind:
                return kind
            if "mimetype" in names and "content.xml" in names:
                return DocumentKind.SPREADSHEET if b"spreadsheet" in archive.read("mimetype") else DocumentKind.OPEN
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        pass
    return _BY_ENDING.get(path.suffix.lower())


def _require_text(name: str, content: bytes) -> None:
    """Raise AttachmentError for content whose first bytes are those of another kind of file."""
    if content.startswith((*_IMAGES, *_RECORDINGS, *_ARCHIVES, _OLD_OFFICE, b"PK\3\4", b"{\\rtf")):
        raise _refusal(name, content)


def _not_text(name: str) -> AttachmentError:
    return _refusal(name, b"")


def _refusal(name: str, content: bytes) -> AttachmentError:
    suffix, kind = Path(name).suffix.lower(), (mimetypes.guess_type(name, strict=False)[0] or "").partition("/")[0]
    if content.startswith(_IMAGES) or (kind == "image" and not content):
        return AttachmentError(
            "{name} is an image of a kind that cannot be read here; save it as PNG or JPEG, and attach that.",
            name=name,
        )
    if content.startswith(_RECORDINGS) or kind in ("audio", "video"):
        return AttachmentError(
            "{name} is a recording of a kind that cannot be read here; save it as WAV, MP3, FLAC, Ogg or Opus, and "
            "attach that.",
            name=name,
        )
    if refusal := _refusal_of_document(name, suffix, content):
        return refusal
    if content.startswith((b"PK\3\4", *_ARCHIVES)):
        return AttachmentError("{name} is an archive; unpack it and attach the files that matter.", name=name)
    return AttachmentError(
        "{name} is no text that can be read; attach text, Markdown, code, a web page, a notebook, .docx, EPUB or PDF, "
        "or save it as one of these first.",
        name=name,
    )


def _refusal_of_document(name: str, suffix: str, content: bytes) -> AttachmentError | None:
    if suffix in (".numbers",):
        return AttachmentError(
            "{name} is a spreadsheet; save its sheet as CSV in the program that made it, and attach that.", name=name
        )
    if suffix in (".ppt", ".key"):
        return AttachmentError(
            "{name} is a presentation; save it as PDF in the program that made it, and attach that.", name=name
        )
    if suffix == ".msg":
        return AttachmentError("{name} is a mail of a kind that cannot be read here; save it as .eml.", name=name)
    if suffix in (".doc", ".pages", ".wps", ".wpd") or content.startswith(_OLD_OFFICE):
        return AttachmentError(
            "{name} is a document of a kind that cannot be read here; save it as .docx or PDF, and attach that.",
            name=name,
        )
    if suffix in (".mobi", ".azw", ".azw3", ".fb2", ".djvu"):
        return AttachmentError(
            "{name} is a book of a kind that cannot be read here; convert it to EPUB or PDF, and attach that.",
            name=name,
        )
    return None


def _table(text: str) -> str:
    """Convert comma-, semicolon- or tab-separated values to a Markdown table; empty if the text is no table."""
    try:
        dialect = csv.Sniffer().sniff(text[:_HEAD], ",;\t|")
        dialect.doublequote = True  # the beginning may have none
        rows = [row for row in csv.reader(io.StringIO(text), dialect) if row]
    except csv.Error:
        return ""
    width = max(map(len, rows), default=0)
    if width < 2 or 3 * width * len(rows) > LARGEST:  # each cell takes three characters at least
        return ""
    return "\n".join(_lines(rows, width))


def _lines(rows: list[list[str]], width: int) -> Iterator[str]:
    for number, row in enumerate(rows):
        cells = (re.sub(r"\s*\n\s*", " ", cell).replace("|", "\\|") for cell in [*row, *[""] * (width - len(row))])
        yield f"| {' | '.join(cells)} |"
        if not number:
            yield f"|{' --- |' * width}"
