"""The text of a PDF file, page by page, or one sentence on why there is none."""

import logging
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstart.chat.files.pictures import Recognize, picture_text
from headstart.chat.files.text_encoding import unusable_share
from headstart.errors import AttachmentError, ModelMissingError, Translatable

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

LARGEST = 50_000_000  # bytes
MOST_PAGES = 500  # about a quarter of a million tokens, more than any context here
_MIN_LETTERS = 200  # of a page that is judged by itself
_MOST_UNUSABLE = 0.3  # of the letters of a text
_MAX_FIELD_DEPTH = 8  # of fields of a form in each other
_UNKNOWN_GLYPH = re.compile(r"\(cid:\d+\)|/(?:g|cid|glyph)\d{1,5}")  # names of glyphs in the place of letters
# What pypdf lets through of files that are not what they claim to be.
_DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, NotImplementedError, OSError,
    RecursionError, TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip


def open_pdf(path: Path, most_pages: int = MOST_PAGES) -> "PdfReader":
    """Open a document whose pages can be read. Raises AttachmentError."""
    from pypdf import PdfReader  # noqa: PLC0415 - only needed for a PDF
    from pypdf.errors import DependencyError, PyPdfError  # noqa: PLC0415

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of every oddity, also of those that do no harm
    _require_small(path)
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):  # many are encrypted without a password to open them
            raise _locked(path)
        count = len(reader.pages)
    except DependencyError:
        raise _locked(path) from None
    except (PyPdfError, *_DAMAGE):
        raise _damaged(path) from None
    if count > most_pages:
        raise AttachmentError(
            "{path} has {count:,} pages, and {most_pages} is the most; use those that matter as a file of their own.",
            path=path.name,
            count=count,
            most_pages=most_pages,
        )
    return reader


def pages(path: Path, reader: "PdfReader", start: int = 0, recognize: Recognize | None = None) -> Iterator[str]:
    """Yield the text of each page from `start` on, then that in its pictures, which `recognize` reads.

    Raises AttachmentError for a page that cannot be read, and before the last one if no page has text.
    One bad page refuses the file: you must not take half a document for the whole.
    """
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    text_so_far, has_pictures, count = "", False, len(reader.pages)
    if not count:
        raise _without_text(path)
    for number in range(start, count):
        try:
            page = reader.pages[number]
            text = page.extract_text()
        except (PyPdfError, *_DAMAGE):
            raise _damaged(path, Translatable(" on page {number}", number=number + 1)) from None
        text_so_far += text
        if _is_unusable(text):
            raise _without_letters(path, Translatable(" on page {number}", number=number + 1))
        text = text.replace("\t", " ").strip()  # where one glyph serves for both, a space is read as a tab
        filled_in = _filled_in(page)
        text = "\n\n".join(filter(None, (text, filled_in)))
        text_so_far += filled_in
        in_pictures = picture_text(page, text, recognize)
        has_pictures = has_pictures or in_pictures is not None
        text_so_far += in_pictures or ""
        if number + 1 == count and _is_unusable(text_so_far, min_letters=1):
            raise _without_letters(path)
        if number + 1 == count and not (start or text_so_far.strip()):
            raise _without_text(path, needs_model=has_pictures and recognize is None)
        yield "\n\n".join(filter(None, (text, in_pictures)))


def _filled_in(page: "PageObject") -> str:
    """Return what was filled into the fields of a form, and typed onto the page: its text has neither."""
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    lines = []
    try:
        for reference in page.annotations or ():
            annotation: Any = reference.get_object()
            value = _inherited(annotation, "/Contents" if annotation.get("/Subtype") == "/FreeText" else "/V")
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value or "").removeprefix("/")
            label = _inherited(annotation, "/TU") or _inherited(annotation, "/T")
            if annotation.get("/Subtype") == "/FreeText":
                lines.append(shown.strip())
            elif annotation.get("/Subtype") == "/Widget" and shown not in ("", "Off"):
                lines.append(f"{label}: {shown}")
    except (PyPdfError, *_DAMAGE):
        pass
    return "\n".join(filter(None, dict.fromkeys(lines)))  # a choice is one field and several circles


def _inherited(field: Any, key: str) -> Any:
    """Return a property of a field of a form, which may be that of a field above; None if there is none."""
    for _ in range(_MAX_FIELD_DEPTH):
        if key in field:
            return field[key]
        if "/Parent" not in field:
            break
        field = field["/Parent"]
    return None


def _is_unusable(text: str, min_letters: int = _MIN_LETTERS) -> bool:
    """Return whether most of a text is meaningless, as from fonts without a table of characters."""
    return len(text) >= min_letters and unusable_share(_UNKNOWN_GLYPH.sub("\ufffd", text)) > _MOST_UNUSABLE


def _without_letters(path: Path, where: str = "") -> AttachmentError:
    return AttachmentError(
        "{path} shows letters{where}, but does not say which ones they are, so its text comes out as signs without a "
        "meaning; have its text recognised (OCR) as for a scan, then use that.",
        path=path.name,
        where=where,
    )


def _without_text(path: Path, *, needs_model: bool = False) -> AttachmentError:
    if needs_model:
        return ModelMissingError(
            "{path} holds pictures of pages but no text, as scans do, and no model that reads text in pictures is "
            "installed; it can be read once you get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`).",
            model="PP-OCRv6",
            path=path.name,
        )
    return AttachmentError("{path} holds no text that can be read, not even in pictures.", path=path.name)


def _require_small(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise AttachmentError(
            "{path} cannot be read ({strerror}); check that it is there and that you may read it.",
            path=path.name,
            strerror=error.strerror,
        ) from None
    if size > LARGEST:
        raise AttachmentError(
            "{path} has {size:.1f} MB, and {largest:.0f} MB is the most for a PDF; use a part of it.",
            path=path.name,
            size=size / 1e6,
            largest=LARGEST / 1e6,
        )


def _locked(path: Path) -> AttachmentError:
    return AttachmentError(
        "{path} is encrypted; open it with its password, save a copy without one, and use that.", path=path.name
    )


def _damaged(path: Path, where: str = "") -> AttachmentError:
    return AttachmentError(
        "{path} is damaged{where} or no PDF; open it in a PDF viewer, save it again, and use that.",
        path=path.name,
        where=where,
    )
