"""Text recognition in pictures and in the pictures of PDF files, by a model that the caller provides."""

import hashlib
import io
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from headstart.chat.files import document_text
from headstart.errors import AttachmentError, ModelMissingError

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdf import PageObject

MAX_PIXELS = 100_000_000
MAX_FRAMES = 200  # of a TIFF file
MAX_PAGE_PICTURES = 20
MAX_PICTURES = 200  # of a document without pages
_FORMATS = ("PNG", "JPEG", "GIF", "TIFF", "BMP", "WEBP")
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".webp")
_MIN_SIDE = 40  # pixels of a picture in a document; smaller ones are ornaments
_KNOWN = 0.6  # share of a picture's words in the page's text, from which on the text is the picture's
_WORD = re.compile(r"\w+")
_WORDS = re.compile(r"(?:\w[^\w\n]*){3}")  # in one line; single letters are read in the lines of a drawing
Recognize = Callable[["Image"], str]  # from a picture to its text; empty if nothing can be read


def read_picture(
    path: Path, recognize: Recognize | None, on_page: Callable[[int, int], object] = lambda *_: None
) -> str:
    """Return the text in a picture, or in the pages of a TIFF file. Raises AttachmentError.

    `on_page` is called with the number of each page, and the number of all.
    """
    if recognize is None:
        raise ModelMissingError(
            "{name} is a picture, and no model that reads text in pictures is installed; get PP-OCRv6 on the page of "
            "models (`headstart models add pp-ocrv6`), then attach it again.",
            model="PP-OCRv6",
            name=path.name,
        )
    document_text.require_small(path)
    texts = []
    for number, (frame, count) in enumerate(_frames(path), start=1):
        texts.append(recognize(frame))
        on_page(number, count)
    text = "\n\n".join(filter(None, texts))
    if not text:
        raise AttachmentError("{name} shows no text that can be read; describe what it shows.", name=path.name)
    return text


def _frames(path: Path) -> Iterator[tuple["Image", int]]:
    """Yield the frames of a file, each with how many there are."""
    from PIL import Image, ImageOps, ImageSequence  # noqa: PLC0415 - only needed for a picture

    try:
        with Image.open(path) as file:
            count = (
                min(getattr(file, "n_frames", 1), MAX_FRAMES) if file.format == "TIFF" else 1
            )  # others are animations
            for frame in islice(ImageSequence.Iterator(file), count):
                _require_pixels(path.name, frame)
                yield flat(ImageOps.exif_transpose(frame)), count
    except AttachmentError:
        raise
    except (OSError, SyntaxError, ValueError, EOFError, ArithmeticError, LookupError, Image.DecompressionBombError):
        raise AttachmentError(
            "{name} is a picture that cannot be read here; save it as PNG or JPEG, and attach that.", name=path.name
        ) from None


def _require_pixels(name: str, picture: "Image") -> None:
    if picture.width * picture.height > MAX_PIXELS:
        raise AttachmentError(
            "{name} has {count:.0f} million pixels, and {most:.0f} million is the most; save it smaller, and attach "
            "that.",
            name=name,
            count=picture.width * picture.height / 1e6,
            most=MAX_PIXELS / 1e6,
        )


def flat(picture: "Image") -> "Image":
    """Return a picture in RGB with 8 bits a channel, on white where it was transparent."""
    from PIL import Image  # noqa: PLC0415

    if picture.mode.startswith("I;16"):
        return picture.point(lambda value: value / 256, "L").convert("RGB")
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        paper = Image.new("RGBA", picture.size, "white")
        return Image.alpha_composite(paper, picture.convert("RGBA")).convert("RGB")
    return picture.convert("RGB")


class EmbeddedPictures:
    """The pictures in a document, each of which is read once: a logo may be on every page."""

    def __init__(
        self, path: Path, recognize: Recognize | None, on_picture: Callable[[int, int], object] = lambda *_: None
    ) -> None:
        """`on_picture` is called with the number of each picture that was read, and about how many there are."""
        self._recognize, self._on_picture = recognize, on_picture
        self._seen = set[bytes]()
        self._num_read = self.num_left = 0
        self._count = _num_pictures(path)

    def read(self, content: bytes) -> str:
        """Return the text of a picture file; empty for an ornament, a kind that is not read, and one that was read."""
        digest = hashlib.sha256(content).digest()
        picture = None if digest in self._seen else self._decoded(content)
        self._seen.add(digest)
        if picture is None or self._recognize is None:
            return ""
        self._num_read += 1
        text = self._recognize(picture)
        self._on_picture(self._num_read, max(self._count, self._num_read))
        return text if _WORDS.search(text) else ""

    def _decoded(self, content: bytes) -> "Image | None":
        """Return a picture that is to be read; None for one that is small, huge, too many, or a drawing."""
        from PIL import Image, ImageOps  # noqa: PLC0415

        try:
            with Image.open(io.BytesIO(content), formats=_FORMATS) as file:
                if min(file.size) < _MIN_SIDE or file.width * file.height > MAX_PIXELS:
                    return None
                if self._recognize is None or self._num_read == MAX_PICTURES:
                    self.num_left += 1
                    return None
                return flat(ImageOps.exif_transpose(file))
        except (*document_text.DAMAGE, SyntaxError, struct.error, Image.DecompressionBombError):
            return None

    def refusal(self, path: Path) -> AttachmentError:
        """Return the error of a document without text: the model that is missing, if there are pictures."""
        if self._recognize or not self.num_left:
            return document_text.without_text(path)
        return ModelMissingError(
            "{path} holds pictures but no text, and no model that reads text in pictures is installed; it can be read "
            "once you get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`).",
            model="PP-OCRv6",
            path=path.name,
        )


def _num_pictures(path: Path) -> int:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.lower().endswith(_ENDINGS)]
    except (OSError, zipfile.BadZipFile):
        return 0
    return min(len(names), MAX_PICTURES)


def picture_text(page: "PageObject", text: str, recognize: Recognize | None) -> str | None:
    """Return the text in a page's pictures that its own `text` does not have; None if the page has no pictures.

    A scan whose text was recognised before has it below the picture, so the same words are not added again.
    """
    found, has_pictures = list[str](), False
    for picture in _page_pictures(page):
        has_pictures = True
        if recognize is None:
            break
        found.append(recognize(picture.rotate(-page.rotation, expand=True)))
    words = set(_WORD.findall(text.casefold()))
    new = [each for each in found if each and _known_share(each, words) < _KNOWN]
    return "\n\n".join(new) if has_pictures else None


def _known_share(text: str, words: set[str]) -> float:
    found = _WORD.findall(text.casefold())
    return sum(word in words for word in found) / max(len(found), 1)


def _page_pictures(page: "PageObject") -> Iterator["Image"]:
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    try:
        names = list(page.images.keys())[:MAX_PAGE_PICTURES]
    except (PyPdfError, *document_text.DAMAGE):
        return
    for name in names:
        try:
            picture = page.images[name].image
        except (PyPdfError, *document_text.DAMAGE, SyntaxError):  # one of a kind that cannot be decoded
            continue
        if picture and min(picture.size) >= _MIN_SIDE and picture.width * picture.height <= MAX_PIXELS:
            yield flat(picture)
