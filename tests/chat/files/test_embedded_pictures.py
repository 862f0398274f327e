"""Pictures of text within office files and books, as a stand-in for the model reads them."""

import base64
import io
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from headstart.chat.files import attachments, pictures
from headstart.chat.folders import folder_files
from headstart.errors import AttachmentError, ModelMissingError
from tests.chat.files.office_files import (
    RELATIONS,
    SHEET_XML,
    SLIDES,
    TYPES,
    WORKBOOK,
    W,
    packed,
    relations,
    word_paragraph,
)  # fmt: skip
from tests.chat.files.test_attachments import BOOK
from tests.chat.files.test_office_drawings import CHART, SPACES, drawing, forms, shape
from tests.chat.files.test_pictures import INK, recognize
from tests.support.junk import fuzz, scarred

Files = Mapping[str, str | bytes]


def content(size: tuple[int, int] = (120, 60), kind: str = "PNG", colour: tuple[int, int, int] = INK) -> bytes:
    """Return a picture file; its shape says which text it shows."""
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, kind)
    return file.getvalue()


WIDE, TALL = content(), content((60, 120), "JPEG")
SMALL, BLUE = content((39, 90)), content(colour=(0, 0, 255))
OTHERS = {"c.emf": b"\1\0\0\0\x6c\0\0\0", "d.svg": b"<svg/>", "e.png": WIDE[:60], "f.png": SMALL}


def picture(link: str) -> str:
    return f'<pic:pic xmlns:pic="urn:pic"><pic:blipFill><a:blip r:embed="{link}"/></pic:blipFill></pic:pic>'


def seen(text: str, markup: str) -> str:
    return word_paragraph(text).replace("</w:r>", f"{markup}</w:r>")


def word_files(body: str, links: Mapping[str, tuple[str, str]], media: Files) -> Files:
    return {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": RELATIONS,
        "word/document.xml": f"<w:document {W} {SPACES}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": relations(**links),
        **{f"word/media/{name}": each for name, each in media.items()},
    }


IMAGES = {f"r{number}": ("image", f"media/{name}") for number, name in enumerate(["a.png", "b.jpg", *OTHERS], start=1)}
MEDIA = {"a.png": WIDE, "b.jpg": TALL, **OTHERS}
GROUP = f"<wpg:wgp>{''.join(map(picture, IMAGES))}</wpg:wgp>"
OLD = '<w:pict><v:shape><v:imagedata r:id="r2"/></v:shape></w:pict>'
BODIES = [
    (seen("One", drawing(picture("r1"))) + seen("Two", drawing(picture("r2"))),
     "One\n\nwalrus wide\n\nTwo\n\nwalrus tall"),
    (seen("One", drawing(GROUP)) + seen("Two", drawing(picture("r1"))), "One\n\nwalrus wide\n\nwalrus tall\n\nTwo"),
    (seen("One", forms(drawing(picture("r1")), OLD)), "One\n\nwalrus wide"),
    (seen("One", OLD), "One\n\nwalrus tall"),
    (seen("One", drawing(shape("Box").replace("</w:r>", f"{drawing(picture('r2'))}</w:r>"))),
     "One\n\nBox\n\nwalrus tall"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "text"), BODIES, ids=["paragraphs", "group", "forms", "old", "in a box"])
def test_pictures_of_a_word_document_are_read_where_they_are(tmp_path: Path, body: str, text: str) -> None:
    path = packed(tmp_path / "a.docx", word_files(body, IMAGES, MEDIA))
    assert attachments.attach(path, recognize=recognize).text == text


def slides(first: str, second: str) -> Files:
    links = relations(r1=("notesSlide", "/ppt/notesSlides/notesSlide1.xml"), r2=("image", f"../media/{second}"))
    return {
        **SLIDES,
        "ppt/slides/_rels/slide2.xml.rels": relations(
            r1=("image", f"../media/{first}"), r2=("image", "http://x/y.png")
        ),
        "ppt/slides/_rels/slide1.xml.rels": links,
        **{f"ppt/media/{name}": each for name, each in MEDIA.items()},
    }


SHEET = {
    **WORKBOOK,
    "xl/worksheets/_rels/sheet1.xml.rels": relations(r1=("drawing", "../drawings/drawing1.xml")),
    "xl/drawings/drawing1.xml": "<d/>",
    "xl/drawings/_rels/drawing1.xml.rels": relations(r1=("image", "../media/a.png")),
    "xl/media/a.png": WIDE,
}
IN_CELL = {
    **WORKBOOK,
    "xl/_rels/workbook.xml.rels": relations(
        rId1=("worksheet", "worksheets/sheet1.xml"), r2=("richValueRel", "richData/richValueRel.xml")
    ),
    "xl/worksheets/sheet1.xml": SHEET_XML.replace("</row>\n</", '<c r="D2" t="e" vm="1"><v>#VALUE!</v></c></row></'),
    "xl/richData/richValueRel.xml": "<r/>",
    "xl/richData/_rels/richValueRel.xml.rels": relations(r1=("image", "../media/a.png")),
    "xl/media/a.png": WIDE,
}
TEXT, DRAW, TABLE, OFFICE = (
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{kind}:1.0"'
    for name, kind in [("text", "text"), ("draw", "drawing"), ("table", "table"), ("office", "office")]
)
OPEN_SPACES = f'{TEXT} {DRAW} {TABLE} {OFFICE} xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:svg="urn:svg"'


def frame(*inside: str) -> str:
    return f"<draw:frame>{''.join(inside)}</draw:frame>"


def image(name: str) -> str:
    return f'<draw:image xlink:href="{name}"/>'


BILL = "<svg:desc>A bill</svg:desc>"
CHART_OBJECT = '<draw:object xlink:href="./Object 1"/>'
OPEN = {
    "mimetype": "application/vnd.oasis.opendocument.text",
    "content.xml": f"<o {OPEN_SPACES}><text:p>Scan{frame(image('Pictures/a.png'), BILL)}</text:p>"
    f"<text:p>{frame(CHART_OBJECT, image('Pictures/b.jpg'))}</text:p>"
    '<text:p><draw:frame><draw:object xlink:href="Object 2"/></draw:frame></text:p></o>',
    "Object 1/content.xml": f"<o {OPEN_SPACES}><text:p>Rain</text:p>{frame(CHART_OBJECT)}</o>",
    "Object 2/content.xml": '<math xmlns="urn:m"><mi>a</mi><annotation>a over b</annotation></math>',
    "Pictures/a.png": WIDE,
    "Pictures/b.jpg": TALL,
}
OPEN_SHEET = {
    "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
    "META-INF/manifest.xml": '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
    "content.xml": f"<office:document-content {OPEN_SPACES}><office:body><office:spreadsheet>"
    f'<table:table table:name="Stock"><table:shapes>{frame(image("Pictures/a.png"))}</table:shapes><table:table-row>'
    '<table:table-cell table:number-columns-repeated="27"/><table:table-cell office:value-type="string">'
    f"<office:annotation><text:p>Late</text:p></office:annotation><text:p>Gate</text:p>{frame(image('Pictures/b.jpg'))}"
    "</table:table-cell></table:table-row></table:table></office:spreadsheet></office:body></office:document-content>",
    "Pictures/a.png": WIDE,
    "Pictures/b.jpg": TALL,
}
PAGES = '<html><body><p>Look<img src="../im%20ages/a.png" alt="here"/>now</p><table><tr>'
PAGES += (
    '<td>x<img src="../im%20ages/b.jpg"/></td><td>y</td></tr></table><img src="http://x/y.png"/><img/></body></html>'
)
ILLUSTRATED = {**BOOK, "OEBPS/text/one 1.xhtml": PAGES, "OEBPS/im ages/a.png": WIDE, "OEBPS/im ages/b.jpg": TALL}
DOCUMENTS = [
    ("a.pptx", slides("a.png", "b.jpg"),
     "# Slide 1: Launch\n\nIn May\nwalrus wide\n\n# Slide 2: Risks\n\nwalrus tall\nSmile"),
    ("logo.pptx", slides("a.png", "a.png"), "# Slide 1: Launch\n\nIn May\nwalrus wide\n\n# Slide 2: Risks\n\nSmile"),
    ("a.xlsx", SHEET, "# Stock\n\nPart | Count\nPaddle | 31 | 0.3\n\nwalrus wide"),
    ("cell.xlsx", IN_CELL, "# Stock\n\nPart | Count\nPaddle | 31 | 0.3\n\nwalrus wide"),
    ("a.odt", OPEN, "Scan\n[A bill]\n\nwalrus wide\n\nRain\n\na over b"),
    ("a.ods", OPEN_SHEET, "# Stock\n\nGate\n\nwalrus wide\n[AB1: Late]\nwalrus tall"),
    ("a.epub", ILLUSTRATED, "Look[here]\nwalrus wide\nnow\n\n| x walrus tall | y |\n| --- | --- |\n\nThe end."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "files", "text"), DOCUMENTS, ids=[each[0] for each in DOCUMENTS])
def test_pictures_of_a_document_are_read_where_they_are(tmp_path: Path, name: str, files: Files, text: str) -> None:
    path = packed(tmp_path / name, files)
    assert attachments.attach(path, recognize=recognize).text == text
    assert "".join(piece.text for piece in folder_files.pieces(path, recognize=recognize)) == text
    assert "walrus" not in attachments.attach(path).text


DATA = base64.b64encode(WIDE).decode()
MAIL = f"""Subject: Bill
MIME-Version: 1.0
Content-Type: multipart/related; boundary=z

--z
Content-Type: text/html

<p>See <img src="cid:bill@x"> and <img src="https://x.org/b.png"><img src="https://x.org/c.png"></p>
--z
Content-Type: image/png
Content-ID: <bill@x>
Content-Transfer-Encoding: base64

{DATA}
--z
Content-Type: image/jpeg
Content-Location: https://x.org/b.png
Content-Transfer-Encoding: base64

{base64.b64encode(TALL).decode()}
--z--
"""
PLOT = {"output_type": "display_data", "data": {"image/png": [DATA[:40] + "\n", DATA[40:]], "text/plain": "<Figure>"}}
NOTEBOOK = {"cells": [{"cell_type": "code", "source": "plot()", "outputs": [PLOT]}]}
PLAIN = MAIL.replace("text/html", "text/plain").replace('<img src="cid:bill@x">', "[cid:bill@x]")
TEXTS = [
    ("a.eml", MAIL, "# Bill\n\n\nSee\nwalrus wide\nand\nwalrus tall"),
    ("plain.eml", re.sub(r"</?p>| and <.*", "", PLAIN), "# Bill\n\n\nSee [cid:bill@x]\n\nwalrus wide"),
    ("a.ipynb", json.dumps(NOTEBOOK), "```python\nplot()\n```\n\n```\n<Figure>\n```\n\nwalrus wide"),
    ("a.html", f'See<img src="data:image/png;base64,{DATA}"><img src="data:image/png;base64,A">', "See\nwalrus wide"),
]


@pytest.mark.parametrize(("name", "source", "text"), TEXTS, ids=[each[0] for each in TEXTS])
def test_pictures_within_a_text_are_read_where_they_are(tmp_path: Path, name: str, source: str, text: str) -> None:
    (tmp_path / name).write_text(source, encoding="utf-8")
    assert attachments.attach(tmp_path / name, recognize=recognize).text == text


@pytest.mark.parametrize("name", OTHERS)
def test_picture_that_cannot_be_read_is_passed_over(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / "a.pptx", slides(name, "b.jpg"))
    assert attachments.attach(path, recognize=recognize).text.count("walrus") == 1


@pytest.mark.parametrize(("text", "is_kept"), [("1\no\n口", False), ("TM", False), ("6.15%", True)])
def test_letters_that_a_drawing_seems_to_have_are_no_text(tmp_path: Path, text: str, *, is_kept: bool) -> None:
    path = packed(tmp_path / "a.pptx", slides("a.png", "a.png"))
    assert (text in attachments.attach(path, recognize=lambda _picture: text).text) == is_kept


def bare_slides(media: str) -> Files:
    return {**slides(media, media), "ppt/slides/slide1.xml": "<s/>", "ppt/slides/slide2.xml": "<s/>",
            "ppt/notesSlides/notesSlide1.xml": "<s/>"}  # fmt: skip


def test_document_of_pictures_alone_names_the_model_that_is_missing(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.pptx", bare_slides("a.png"))
    with pytest.raises(ModelMissingError) as caught:
        attachments.attach(path)
    assert caught.value.model == "PP-OCRv6"
    assert attachments.attach(path, recognize=recognize).text == "# Slide 1\n\nwalrus wide\n\n# Slide 2"


@pytest.mark.parametrize("name", ["c.emf", "f.png"])
def test_document_of_ornaments_needs_no_model(tmp_path: Path, name: str) -> None:
    with pytest.raises(AttachmentError) as caught:
        attachments.attach(packed(tmp_path / "a.pptx", bare_slides(name)))
    assert not isinstance(caught.value, ModelMissingError)


def many(count: int) -> Files:
    media = {f"{number}.png": content((100 + number, 60)) for number in range(count)}
    links = {f"r{number}": ("image", f"media/{name}") for number, name in enumerate(media)}
    return word_files("".join(seen("See", drawing(picture(link))) for link in links), links, media)


def test_pictures_of_a_document_are_bounded_and_the_others_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "MAX_PICTURES", 3)
    text = attachments.attach(packed(tmp_path / "a.docx", many(5)), recognize=recognize).text
    assert text.count("walrus") == 3
    assert text.endswith("\n\n[2 more pictures are not read.]")
    monkeypatch.setattr(pictures, "MAX_PICTURES", 0)
    with pytest.raises(AttachmentError) as caught:
        attachments.attach(packed(tmp_path / "a.pptx", bare_slides("a.png")), recognize=recognize)
    assert not isinstance(caught.value, ModelMissingError)


def test_each_picture_is_reported(tmp_path: Path) -> None:
    path, done = packed(tmp_path / "a.docx", many(3)), list[tuple[int, int]]()
    attachments.attach(path, lambda *report: done.append(report), recognize)
    assert done == [(1, 3), (2, 3), (3, 3)]
    lines = list[str]()
    folder_files.serve([f'["{path.as_posix()}", 0]'], lines.append, lambda: recognize)
    assert lines[:-1] == ['"busy"'] * 3


def test_text_that_names_a_picture_elsewhere_reaches_no_network(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.docx", word_files(seen("One", '<w:drawing><a:blip r:link="r1"/></w:drawing>'),
                  {"r1": ("image", "http://127.0.0.1:9/a.png")}, {}))  # fmt: skip
    assert attachments.attach(path, recognize=recognize).text == "One"


@fuzz("pictures", 300)
@pytest.mark.filterwarnings("ignore")  # Pillow's, of odd files
@given(st.one_of(*(scarred(content(kind=kind)) for kind in ("PNG", "JPEG", "GIF", "TIFF", "BMP", "WEBP"))))
def test_any_damaged_picture_is_read_or_passed_over(tmp_path: Path, damaged: bytes) -> None:
    pictures.EmbeddedPictures(tmp_path / "gone", lambda picture: picture.mode).read(damaged)


@fuzz("drawings", 200)
@given(scarred(b"".join([CHART.encode(), b"<!-- -->", *(f"<a>{each[0]}</a>".encode() for each in BODIES)])))
def test_any_damaged_drawing_is_read_or_refused(tmp_path: Path, damaged: bytes) -> None:
    chart, _, body = damaged.partition(b"<!-- -->")
    body = body.replace(b"<a>", b"").replace(b"</a>", b"")
    files = dict(word_files("BODY", {**IMAGES, "r9": ("chart", "chart.xml")}, MEDIA))
    files["word/document.xml"] = str(files["word/document.xml"]).encode().replace(b"BODY", body)
    path = packed(tmp_path / "a.docx", {**files, "word/chart.xml": chart})
    with suppress(AttachmentError):
        attachments.attach(path, recognize=recognize)
