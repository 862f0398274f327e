"""Text in pictures, on their own and on the pages of PDF files, as a stand-in for the model reads it."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter

from headstart.chat.files import attachments
from headstart.chat.files.attachments import NOTHING_READABLE
from headstart.chat.folders import folder_files
from headstart.chat.folders.folder_files import NoTextError, Unit
from headstart.errors import AttachmentError
from tests.chat.files.test_pdf_text import HELLO_PDF

INK = (200, 0, 0)  # the colour of pictures that show text


def recognize(picture: Image.Image) -> str:
    """Return a text for a picture of the colour INK; it names the shape."""
    red, green, _ = np.asarray(picture)[1, 1].tolist()
    is_text = abs(red - INK[0]) < 8 and green < 100
    return f"walrus {'wide' if picture.width > picture.height else 'tall'}" if is_text else ""


def _picture(colour: tuple[int, int, int] = INK, size: tuple[int, int] = (120, 60)) -> Image.Image:
    return Image.new("RGB", size, colour)


def _text(path: Path) -> str:
    return attachments.attach(path, recognize=recognize).text


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tiff", "a.webp", "a.bmp", "a.gif"])
def test_text_of_a_picture_is_attached(tmp_path: Path, name: str) -> None:
    _picture().save(tmp_path / name)
    assert _text(tmp_path / name) == "walrus wide"


def test_all_pages_of_a_tiff_file_are_read(tmp_path: Path) -> None:
    _picture().save(tmp_path / "a.tif", save_all=True, append_images=[_picture(size=(60, 120))])
    pages: list[tuple[int, int]] = []
    text = attachments.attach(tmp_path / "a.tif", lambda *page: pages.append(page), recognize).text
    assert text == "walrus wide\n\nwalrus tall"
    assert pages == [(1, 2), (2, 2)]


def test_photo_is_turned_as_its_camera_says(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # Orientation: to be turned by 90 degrees
    _picture().save(tmp_path / "a.jpg", exif=exif)
    assert _text(tmp_path / "a.jpg") == "walrus tall"


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "1", "L", "I;16", "CMYK"])
def test_any_kind_of_pixels_is_given_as_colours(tmp_path: Path, mode: str) -> None:
    Image.new(mode, (60, 60)).save(tmp_path / "a.tif")
    assert attachments.attach(tmp_path / "a.tif", recognize=lambda picture: picture.mode).text == "RGB"


def test_picture_without_text_is_refused(tmp_path: Path) -> None:
    _picture((0, 0, 255)).save(tmp_path / "a.png")
    with pytest.raises(AttachmentError, match=r"^a\.png shows no text that can be read"):
        _text(tmp_path / "a.png")


def test_picture_names_the_model_that_is_missing(tmp_path: Path) -> None:
    _picture().save(tmp_path / "a.png")
    with pytest.raises(AttachmentError, match=r"^a\.png is a picture, .*headstart models add pp-ocrv6"):
        attachments.attach(tmp_path / "a.png")


def test_damaged_picture_is_refused(tmp_path: Path) -> None:
    _picture().save(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes((tmp_path / "a.png").read_bytes()[:60])
    with pytest.raises(AttachmentError, match="cannot be read here; save it as PNG or JPEG"):
        _text(tmp_path / "a.png")


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A PDF with a page of text and a picture of text, a scan, and a page with a picture of no text."""
    pictures = tmp_path / "pictures.pdf"
    _picture().save(pictures, save_all=True, append_images=[_picture((0, 0, 255))])
    (tmp_path / "hello.pdf").write_bytes(HELLO_PDF)
    writer = PdfWriter()
    writer.append(tmp_path / "hello.pdf")
    writer.pages[0].merge_page(PdfReader(pictures).pages[0])
    writer.append(pictures)
    writer.write(tmp_path / "mixed.pdf")
    return tmp_path / "mixed.pdf"


def test_pages_have_their_text_and_that_of_their_pictures(mixed: Path) -> None:
    assert _text(mixed) == f"Hello tiger\n\nwalrus wide\n\nwalrus wide\n\n{NOTHING_READABLE}"


def test_words_that_a_page_has_are_not_read_again(mixed: Path) -> None:
    text = attachments.attach(mixed, recognize=lambda _picture: "hello Tiger").text
    assert text.startswith("Hello tiger\n\nhello Tiger\n\n")  # the second is that of the scan


def test_scan_names_the_model_that_is_missing(tmp_path: Path) -> None:
    _picture().save(tmp_path / "a.pdf")
    with pytest.raises(AttachmentError, match=r"^a\.pdf holds pictures of pages but no text.*pp-ocrv6"):
        attachments.attach(tmp_path / "a.pdf")


def test_text_in_pictures_is_found_in_folders(mixed: Path, tmp_path: Path) -> None:
    pages = [(piece.text, piece.unit, piece.place) for piece in folder_files.pieces(mixed, recognize=recognize)]
    both = "Hello tiger\n\nwalrus wide"
    assert pages == [(both, Unit.PAGE, 1), ("walrus wide", Unit.PAGE, 2), ("", Unit.PAGE, 3)]
    _picture().save(tmp_path / "a.png")
    assert [piece.text for piece in folder_files.pieces(tmp_path / "a.png", recognize=recognize)] == ["walrus wide"]
    with pytest.raises(NoTextError):
        list(folder_files.pieces(tmp_path / "a.png"))
