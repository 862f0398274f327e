"""PDF files that are read, and those that are refused with a sentence."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from pypdf import PdfWriter

from headstart import cli
from headstart.chat.files import pdf_text
from headstart.chat.files.pdf_text import MOST_PAGES, open_pdf, pages
from headstart.errors import AttachmentError, Translatable
from tests.support.junk import fuzz, scarred

# A page that shows "Hello" in a font that every reader has, with wrong offsets that a reader must find again.
HELLO_PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 40>>stream
BT /F 24 Tf 20 200 Td (Hello tiger) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
startxref
0
%%EOF
"""


# A form: a field with a label, one without, a choice of two, an empty one, and words typed onto the page.
FIELDS = b"""
6 0 obj<</Subtype/Widget/FT/Tx/T(name)/TU(Family name)/V(Okafor)>>endobj
7 0 obj<</Subtype/Widget/Parent 8 0 R/AS/Mon>>endobj
8 0 obj<</FT/Btn/T(day)/V/Mon/Kids[7 0 R 9 0 R]>>endobj
9 0 obj<</Subtype/Widget/Parent 8 0 R/AS/Off>>endobj
10 0 obj<</Subtype/Widget/FT/Tx/T(town)>>endobj
11 0 obj<</Subtype/Widget/FT/Btn/T(paid)/V/Off>>endobj
12 0 obj<</Subtype/FreeText/Contents(Paid in May)>>endobj
13 0 obj<</Subtype/Widget/FT/Ch/T(toppings)/V[(salt)(lime)]>>endobj
trailer"""
FORM_PDF = HELLO_PDF.replace(b"/Contents", b"/Annots[6 0 R 7 0 R 9 0 R 10 0 R 11 0 R 12 0 R 13 0 R]/Contents")
FORM_PDF = FORM_PDF.replace(b"\ntrailer", FIELDS)


def pdf_of(*texts: str) -> bytes:
    """Return a PDF whose pages show these texts; an empty one is that of an empty page."""
    pages = [f"{4 + 2 * number} 0 R" for number in range(len(texts))]
    parts = [
        "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj",
        f"2 0 obj<</Type/Pages/Kids[{' '.join(pages)}]/Count {len(pages)}>>endobj",
        "3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj",
    ]
    for number, text in enumerate(texts):
        stream = f"BT /F 24 Tf 20 200 Td ({text}) Tj ET\n" if text else "\n"
        own = 4 + 2 * number
        parts += [
            f"{own} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents {own + 1} 0 R"
            "/Resources<</Font<</F 3 0 R>>>>>>endobj",
            f"{own + 1} 0 obj<</Length {len(stream)}>>stream\n{stream}endstream endobj",
        ]
    return "\n".join(["%PDF-1.4", *parts, "trailer<</Root 1 0 R>>", "startxref", "0", "%%EOF", ""]).encode()


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    """A PDF file that says hello."""
    path = tmp_path / "hello.pdf"
    path.write_bytes(HELLO_PDF)
    return path


def _blank(path: Path, count: int = 1, locked_with: str = "") -> Path:
    writer = PdfWriter()
    for _ in range(count):
        writer.add_blank_page(300, 300)
    if locked_with:
        writer.encrypt(locked_with, algorithm="RC4-128")
    writer.write(path)
    return path


def test_pdf_text_is_printed(hello: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["dev", "text", str(hello)]) == 0
    assert capsys.readouterr().out == "Hello tiger\n"


def test_form_is_read_as_it_was_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "form.pdf"
    path.write_bytes(FORM_PDF)
    expected = "Hello tiger\n\nFamily name: Okafor\nday: Mon\nPaid in May\ntoppings: salt, lime"
    assert list(pages(path, open_pdf(path))) == [expected]


def test_pdf_text_is_sent_as_lines(hello: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "headstart", "dev", "text", "--lines", hello],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert [json.loads(line) for line in run.stdout.splitlines()] == [{"page": 1, "pages": 1}, {"text": "Hello tiger"}]


def test_pdf_error_is_sent_as_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["dev", "text", "--lines", str(tmp_path / "gone.pdf")]) == 1
    assert "cannot be read" in Translatable.from_data(json.loads(capsys.readouterr().out)["error"])


@pytest.mark.parametrize(
    ("count", "password", "reason"),
    [
        (1, "tiger", r"^a\.pdf is encrypted; .* save a copy without one"),
        (1, "", r"^a\.pdf holds no text that can be read"),
        (MOST_PAGES + 1, "", r"^a\.pdf has 501 pages, and 500 is the most"),
    ],
)
def test_pdf_without_text_is_refused(tmp_path: Path, count: int, password: str, reason: str) -> None:
    path = _blank(tmp_path / "a.pdf", count, password)
    with pytest.raises(AttachmentError, match=reason):
        list(pages(path, open_pdf(path)))


def test_pdf_without_text_is_refused_before_its_last_page(tmp_path: Path) -> None:
    path = _blank(tmp_path / "a.pdf", 3)
    texts = pages(path, open_pdf(path))
    assert [next(texts), next(texts)] == ["", ""]
    with pytest.raises(AttachmentError):
        next(texts)


def test_too_large_pdf_is_refused_with_numbers(hello: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hello.open("r+b") as file:
        file.truncate(pdf_text.LARGEST + 10_000_000)
    with pytest.raises(AttachmentError, match=r"has 60\.0 MB, and 50 MB is the most for a PDF"):
        open_pdf(hello)


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"%PDF-1.4\n", HELLO_PDF[:150], HELLO_PDF.replace(b"Pages", b"Dress")]
)
def test_damaged_pdf_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    with pytest.raises(AttachmentError, match=r"^a\.pdf is damaged"):
        list(pages(path, open_pdf(path)))


@fuzz("PDF files")
@given(scarred(HELLO_PDF))
def test_any_damaged_pdf_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    with suppress(AttachmentError):
        list(pages(path, open_pdf(path)))


def test_damaged_page_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(HELLO_PDF.replace(b"/Length 40", b"/Length 40/Filter/None"))
    with pytest.raises(AttachmentError, match="is damaged on page 1"):
        list(pages(path, open_pdf(path)))


def _written_with(path: Path, signs: str, letters: bytes) -> Path:
    """Make a PDF that shows `letters` (hexadecimal digits) in a font whose table of characters gives `signs`."""
    table = "".join(f"<{number:02x}> <{ord(sign):04x}>\n" for number, sign in enumerate(signs, start=0x41))
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <00> <ff> "
        f"endcodespacerange {len(signs)} beginbfchar\n{table}endbfchar endcmap end end"
    ).encode()
    content = b"BT /F 24 Tf 20 200 Td <" + letters + b"> Tj ET"
    path.write_bytes(
        HELLO_PDF.replace(b"/Length 40", b"/Length %d" % len(content))
        .replace(b"BT /F 24 Tf 20 200 Td (Hello tiger) Tj ET", content)
        .replace(b"/BaseFont/Helvetica>>endobj", b"/BaseFont/Helvetica/ToUnicode 6 0 R>>endobj\n"
                 b"6 0 obj<</Length %d>>stream\n%s\nendstream endobj" % (len(cmap), cmap))
    )  # fmt: skip
    return path


@pytest.mark.parametrize("signs", ["\ue041\ue042\ue043", "\x01\x02\x03", "\ufffd\ufffd\ufffd"])
def test_pdf_whose_letters_have_no_meaning_is_told_from_a_scan(tmp_path: Path, signs: str) -> None:
    path = _written_with(tmp_path / "a.pdf", signs, b"414243" * 20)
    with pytest.raises(AttachmentError, match=r"^a\.pdf shows letters, but does not say which ones they are.*OCR"):
        list(pages(path, open_pdf(path)))


def test_unusable_page_is_named(tmp_path: Path) -> None:
    path = _written_with(tmp_path / "a.pdf", "\ue041\ue042\ue043", b"414243" * 100)
    with pytest.raises(AttachmentError, match="shows letters on page 1, but"):
        list(pages(path, open_pdf(path)))


def test_pdf_with_a_few_signs_of_its_own_is_read(tmp_path: Path) -> None:
    path = _written_with(tmp_path / "a.pdf", "a\ue042c", b"414343434342" * 50)
    assert list(pages(path, open_pdf(path))) == ["acccc\ue042" * 50]
