"""The head and the foot of pages: letterheads, numbers of contracts, stamps."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from headstart.chat.files.attachments import attach
from tests.chat.files.office_files import RELATIONS, TYPES, W, packed, relations, word_paragraph
from tests.chat.files.test_embedded_pictures import OPEN_SPACES, WIDE, picture
from tests.chat.files.test_office_drawings import SPACES, drawing, shape
from tests.chat.files.test_pictures import recognize

BODY = word_paragraph("Dear Ines")
LINKED = "".join(f'<w:hyperlink r:id="r1"><w:r><w:t>{text}</w:t></w:r></w:hyperlink>' for text in ("www", ".x"))
STAMP = '<w:pict><v:shape><v:textpath string="Draft"/><v:imagedata r:id="r1"/></v:shape></w:pict>'


def section(*references: str, more: str = "") -> str:
    return f"<w:sectPr>{''.join(references)}{more}</w:sectPr>"


def reference(kind: str, link: str, page: str = "default") -> str:
    return f'<w:{kind}Reference w:type="{page}" r:id="{link}"/>'


def letter(path: Path, end: str, margins: Mapping[str, str]) -> Path:
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": RELATIONS,
        "word/document.xml": f"<w:document {W} {SPACES}><w:body>{BODY}{end}</w:body></w:document>",
        "word/_rels/document.xml.rels": relations(**{key: ("header", f"{key}.xml") for key in [*margins, "gone"]}),
        "word/media/a.png": WIDE,
    }
    for key, text in margins.items():
        files[f"word/{key}.xml"] = f"<w:hdr {W} {SPACES}>{text}</w:hdr>"
        files[f"word/_rels/{key}.xml.rels"] = relations(r1=("image", "media/a.png"))
    return packed(path, files)


HEAD, FOOT = reference("header", "h"), reference("footer", "f")
ACME, NUMBER = word_paragraph("ACME"), word_paragraph("7")
MARGINS = [
    (section(HEAD, FOOT), {"h": ACME, "f": word_paragraph("No. 7")}, "ACME\n\nDear Ines\n\nNo. 7"),
    (section(HEAD, FOOT), {"h": ACME, "f": NUMBER}, "ACME\n\nDear Ines"),
    (section(HEAD, reference("header", "g", "even")), {"h": ACME, "g": ACME}, "ACME\n\nDear Ines"),
    (section(HEAD, reference("header", "g", "even")), {"h": ACME, "g": word_paragraph("Even")},
     "ACME\n\nEven\n\nDear Ines"),
    (section(reference("header", "h", "first")), {"h": ACME}, "Dear Ines"),
    (section(reference("header", "h", "first"), more="<w:titlePg/>"), {"h": ACME}, "ACME\n\nDear Ines"),
    (section(reference("header", "gone")), {}, "Dear Ines"),
    (section(HEAD), {"h": f"<w:p><w:r>{drawing(shape('ACME'))}</w:r></w:p>"}, "ACME\n\nDear Ines"),
    (section(HEAD), {"h": f"<w:p>{LINKED}</w:p>"}, "www.x\n\nDear Ines"),
    (section(FOOT), {"f": f"<w:p><w:r>{STAMP}</w:r></w:p>"}, "Dear Ines\n\nDraft\n\nwalrus wide"),
    (section(HEAD), {"h": f"<w:p><w:r>{drawing(picture('r1'))}</w:r></w:p>"}, "walrus wide\n\nDear Ines"),
]  # fmt: skip


@pytest.mark.parametrize(("end", "margins", "text"), MARGINS)
def test_margins_of_a_word_document_are_read_once(
    tmp_path: Path, end: str, margins: Mapping[str, str], text: str
) -> None:
    assert attach(letter(tmp_path / "a.docx", end, margins), recognize=recognize).text == text


def test_margins_of_an_open_document_are_read_once(tmp_path: Path) -> None:
    heads = "".join(
        f"<style:{kind}><text:p>{text}</text:p></style:{kind}>"
        for kind, text in [("header", "ACME"), ("footer", "No. 7"), ("footer", "7"), ("header-left", "even")]
    )
    page = f"<style:master-page>{heads}</style:master-page>"
    files: dict[str, str | bytes] = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"<o {OPEN_SPACES}><text:p>Dear Ines</text:p></o>",
        "styles.xml": f'<o {OPEN_SPACES} xmlns:style="urn:style">{page}{page}</o>',
    }
    assert attach(packed(tmp_path / "a.odt", files)).text == "ACME\n\nDear Ines\n\nNo. 7"
