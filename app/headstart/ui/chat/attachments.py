"""Files that go with a message: which ones can, and their text. Knows no widget."""

from pathlib import Path

from headstart.chat.conversation import Attachment
from headstart.errors import AttachmentError
from headstart.ui.spelling import decimal

LARGEST = 2_000_000  # bytes; about half a million tokens, more than any context here
MOST = 20  # files with one message
_PDF = b"%PDF-"
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


def read(path: Path) -> Attachment:
    """The text of a file. Raises AttachmentError with the reason and what to do instead."""
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise AttachmentError(f"{path.name} is a folder; drop the files in it instead.")
        if size > LARGEST:
            raise AttachmentError(
                f"{path.name} has {size / 1e6:.1f} MB, and {LARGEST / 1e6:.0f} MB is the most; attach a part of it."
            )
        content = path.read_bytes()
    except OSError as error:
        raise AttachmentError(f"{path.name} cannot be read ({error.strerror}); check that it is there.") from None
    return Attachment(path.name, _text(path.name, content))


def is_pdf(path: Path) -> bool:
    """By its name or its first bytes; what is no file is none."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return path.suffix.lower() == ".pdf" or file.read(len(_PDF)) == _PDF
    except OSError:
        return False


def require_short(attachment: Attachment) -> None:
    """Raises AttachmentError for a text that is longer than a text file may be."""
    length = len(attachment.text.encode(errors="replace"))
    if length > LARGEST:
        raise AttachmentError(
            f"{attachment.name} has {length / 1e6:.1f} MB of text, and {LARGEST / 1e6:.0f} MB is the most; attach a "
            "part of it."
        )


def size(attachment: Attachment) -> str:
    """For people."""
    length = len(attachment.text.encode(errors="replace"))
    return f"{decimal(length / 1000, 1)} kB" if length >= 1000 else f"{length} B"


def _text(name: str, content: bytes) -> str:
    encoding = next((found for mark, found in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        raise AttachmentError(_not_text(name)) from None
    if "\0" in text:
        raise AttachmentError(_not_text(name))
    if not text.strip():
        raise AttachmentError(f"{name} is empty; there is nothing to attach.")
    return text.replace("\r\n", "\n")


def _not_text(name: str) -> str:
    return f"{name} is no PDF and no text in UTF-8; attach text, Markdown, code or PDF, or save it as text first."
