"""Files that go with a message: which ones can, and their text. Knows no widget."""

from pathlib import Path

from headstart.chat.conversation import Attachment
from headstart.errors import AttachmentError

LARGEST = 2_000_000  # bytes; about half a million tokens, more than any context here
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
    return f"{name} is not a text in UTF-8; attach text, Markdown or code, or save it as text first."
