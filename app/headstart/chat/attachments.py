"""The text of a file that goes with a message, and the errors of files that are refused."""

import mimetypes
from pathlib import Path

from headstart.chat.conversation import Attachment
from headstart.errors import AttachmentError

LARGEST = 2_000_000  # bytes; about half a million tokens, which no context here can hold
_PDF = b"%PDF-"
_ENCODINGS_BY_MARK = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


def read(path: Path) -> Attachment:
    """Return the text of a file. Raises AttachmentError with the reason and the remedy."""
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise AttachmentError("{path} is a folder; drop the files in it instead.", path=path.name)
        if size > LARGEST and _is_image(path.name):
            raise _not_text(path.name)
        if size > LARGEST:
            raise AttachmentError(
                "{path} has {size:.1f} MB, and {largest:.0f} MB is the most; attach a part of it.",
                path=path.name,
                size=size / 1e6,
                largest=LARGEST / 1e6,
            )
        content = path.read_bytes()
    except OSError as error:
        raise AttachmentError(
            "{path} cannot be read ({strerror}); check that it is there.", path=path, strerror=error.strerror
        ) from None
    return Attachment(path.name, _text(path.name, content))


def is_pdf(path: Path) -> bool:
    """Return whether the name or the first bytes of a file are those of a PDF."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return path.suffix.lower() == ".pdf" or file.read(len(_PDF)) == _PDF
    except OSError:
        return False


def require_short(attachment: Attachment) -> None:
    """Raise AttachmentError for a text that is longer than a text file may be."""
    length = len(attachment.text.encode(errors="replace"))
    if length > LARGEST:
        raise AttachmentError(
            "{name} has {length:.1f} MB of text, and {largest:.0f} MB is the most; attach a part of it.",
            name=attachment.name,
            length=length / 1e6,
            largest=LARGEST / 1e6,
        )


def _text(name: str, content: bytes) -> str:
    encoding = next((encoding for mark, encoding in _ENCODINGS_BY_MARK.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        raise _not_text(name) from None
    if "\0" in text:
        raise _not_text(name)
    if not text.strip():
        raise AttachmentError("{name} is empty; there is nothing to attach.", name=name)
    return text.replace("\r\n", "\n")


def _is_image(name: str) -> bool:
    return (mimetypes.guess_type(name, strict=False)[0] or "").startswith("image/")


def _not_text(name: str) -> AttachmentError:
    if _is_image(name):
        return AttachmentError("{name} is an image. Images are not supported: these models read text only.", name=name)
    return AttachmentError(
        "{name} is neither a PDF nor text in UTF-8; attach text, Markdown, code or PDF, or save it as text first.",
        name=name,
    )
