"""Text recognition in pictures and in the pictures of PDF files, by a model that the caller provides."""

import re
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
_MIN_SIDE = 40  # pixels of a picture in a PDF; smaller ones are ornaments
_KNOWN = 0.6  # share of a picture's words in the page's text, from which on the text is the picture's
_WORD = re.compile(r"\w+")
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
