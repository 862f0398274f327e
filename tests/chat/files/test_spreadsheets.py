"""Spreadsheets as a person sees them: formats, errors, comments, text boxes and charts."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given

from headstart.chat.files.attachments import DocumentKind, attach, document
from headstart.errors import AttachmentError
from tests.chat.files.office_files import DRAWING, LINKS, WORKBOOK, packed, paragraph, relations
from tests.chat.files.test_office_drawings import CHART, DIAGRAM
from tests.support.junk import fuzz, scarred

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
CODES = {164: "0.0%", 165: "#,##0.00\\ [$€-407]", 166: "dd\\.mm\\.yyyy", 167: "ggge", 168: "# ?/?", 169: "[h]:mm"}
KINDS = [0, 9, 14, *CODES]  # the formats of the styles of cells, by number
FORMATS = "".join(f'<numFmt numFmtId="{key}" formatCode="{code}"/>' for key, code in CODES.items())
ENTRIES = "".join(f'<xf numFmtId="{kind}"/>' for kind in KINDS)
STYLES = f"<styleSheet {MAIN}><numFmts>{FORMATS}</numFmts><cellXfs>{ENTRIES}</cellXfs></styleSheet>"


def cell(place: str, value: float, kind: int = 0) -> str:
    return f'<c r="{place}" s="{KINDS.index(kind)}"><v>{value}</v></c>'


def workbook(path: Path, rows: str, parts: Mapping[str, str] = {}, properties: str = "") -> Path:
    book = WORKBOOK["xl/workbook.xml"].replace("<sheets>", f"{properties}<sheets>")
    links = relations(rId1=("worksheet", "worksheets/sheet1.xml"), rId2=("styles", "styles.xml"))
    files = {"xl/workbook.xml": book, "xl/_rels/workbook.xml.rels": links, "xl/styles.xml": STYLES}
    sheet = f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"
    return packed(path, {**WORKBOOK, **files, "xl/worksheets/sheet1.xml": sheet, **parts})


def test_cells_are_read_as_their_formats_show_them(tmp_path: Path) -> None:
    cells = [
        cell("B3", 0.25, 9), cell("C3", 0.1234, 164), cell("D3", 1234.5, 165), cell("E3", 45123, 14),
        cell("F3", 45123.5, 166), cell("G3", 45123, 167), cell("H3", 0.5, 168), cell("I3", 1.5, 169),
        cell("J3", 0.30000000000000004),
    ]  # fmt: skip
    others = (
        '<c r="B4" t="b"><v>1</v></c><c r="C4" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="D4" s="3" t="inlineStr"><is>'
    )
    others += '<t>n/a</t></is></c><c r="E4" s="3"/>'
    path = workbook(tmp_path / "a.xlsx", f'<row r="3">{"".join(cells)}</row><row r="4">{others}</row>')
    first, second = attach(path).text.splitlines()[2:]
    assert first.split(" | ") == [
        "25%", "12.3%", "1234.50 €", "2023-07-16", "2023-07-16", "2023-07-16", "0.5", "36:00", "0.3"
    ]  # fmt: skip
    assert second == "TRUE | #DIV/0! | n/a"


def test_days_of_a_file_count_from_1904_if_it_says_so(tmp_path: Path) -> None:
    row = f'<row r="1">{cell("A1", 43661, 14)}{cell("B1", 43661, 167)}</row>'
    path = workbook(tmp_path / "a.xlsx", row, properties='<workbookPr date1904="1"/>')
    assert attach(path).text.splitlines()[-1] == "2023-07-16 | 2023-07-16"


def test_cells_without_places_stay_as_they_are(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", '<row><c s="1"><v>0.25</v></c><c><v>2</v></c></row>')
    assert attach(path).text.splitlines()[-1] == "0.25 | 2"


def test_cells_of_unknown_styles_stay_as_they_are(tmp_path: Path) -> None:
    styles = {"xl/styles.xml": f"<styleSheet {MAIN}/>"}
    path = workbook(tmp_path / "a.xlsx", f'<row r="1">{cell("A1", 0.25, 9)}</row>', styles)
    assert attach(path).text.splitlines()[-1] == "0.25"


COMMENTS = (
    f"<comments {MAIN}><authors><author>Ines</author><author>tc={{1}}</author></authors><commentList>"
    '<comment ref="B2" authorId="0"><text><r><t>Late,\n</t></r><r><t>ask Bo</t></r></text></comment>'
    '<comment ref="B3" authorId="1"><text><t>Your version cannot show it</t></text></comment></commentList></comments>'
)
THREAD = (
    '<ThreadedComments xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments">'
    '<threadedComment ref="B3"><text>Paid?</text></threadedComment>'
    '<threadedComment ref="B3"><text>Yes</text></threadedComment></ThreadedComments>'
)
SHAPES = (
    f'<xdr:wsDr xmlns:xdr="x" {DRAWING} xmlns:r="{LINKS}"><xdr:sp><xdr:txBody>{paragraph("Fees rise")}'
    "</xdr:txBody></xdr:sp></xdr:wsDr>"
)
BESIDE = {
    "xl/worksheets/_rels/sheet1.xml.rels": relations(
        r1=("comments", "../comments1.xml"), r2=("threadedComment", "../threadedComments/threadedComment1.xml"),
        r3=("drawing", "../drawings/drawing1.xml"),
    ),
    "xl/comments1.xml": COMMENTS,
    "xl/threadedComments/threadedComment1.xml": THREAD,
    "xl/drawings/drawing1.xml": SHAPES,
    "xl/drawings/_rels/drawing1.xml.rels": relations(
        r1=("chart", "../charts/chart1.xml"), r2=("diagramData", "../diagrams/data1.xml"), r3=("image", "gone.png")
    ),
    "xl/charts/chart1.xml": CHART,
    "xl/diagrams/data1.xml": DIAGRAM,
}  # fmt: skip
BESIDE_TEXT = "[B2: Late, ask Bo]\n[B3: Paid?]\n[B3: Yes]\nFees rise\nHarbour\nShip"


@pytest.mark.parametrize(
    ("row", "text"),
    [(f'<row r="1">{cell("A1", 3)}</row>', f"# Stock\n\n3\n\n{BESIDE_TEXT}"), ("", f"# Stock\n\n{BESIDE_TEXT}")],
    ids=["table", "no table"],
)
def test_comments_and_drawings_stand_behind_the_table(tmp_path: Path, row: str, text: str) -> None:
    assert attach(workbook(tmp_path / "a.xlsx", row, BESIDE)).text == text


def test_sheet_that_is_a_chart_is_read(tmp_path: Path) -> None:
    book = WORKBOOK["xl/workbook.xml"].replace("</sheets>", '<sheet name="Plot" sheetId="2" r:id="rId3"/></sheets>')
    links = relations(rId1=("worksheet", "worksheets/sheet1.xml"), rId3=("chartsheet", "chartsheets/sheet1.xml"))
    parts = {
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": links,
        "xl/chartsheets/sheet1.xml": f'<chartsheet {MAIN} xmlns:r="{LINKS}"><drawing r:id="r1"/></chartsheet>',
        "xl/chartsheets/_rels/sheet1.xml.rels": relations(r1=("drawing", "../drawings/drawing1.xml")),
        "xl/drawings/drawing1.xml": SHAPES,
    }
    path = packed(tmp_path / "a.xlsx", {**WORKBOOK, **parts})
    assert attach(path).text == "# Stock\n\nPart | Count\nPaddle | 31 | 0.3\n\n# Plot\n\nFees rise"


def open_spreadsheet(path: Path, rows: str) -> Path:
    prefix = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = f'xmlns:office="{prefix}:office:1.0" xmlns:table="{prefix}:table:1.0" xmlns:text="{prefix}:text:1.0"'
    sheet = f'<table:table table:name="Stock">{rows}</table:table>'
    body = f"<office:body><office:spreadsheet>{sheet}</office:spreadsheet></office:body>"
    files = {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "content.xml": f"<office:document-content {spaces}>{body}</office:document-content>",
        "META-INF/manifest.xml": f'<m:manifest xmlns:m="{prefix}:manifest:1.0"/>',
    }
    return packed(path, files)


def _open_cell(kind: str, value: str, text: str, more: str = "") -> str:
    given = f'office:date-value="{value}"' if kind == "date" else f'office:value="{value}"'
    return f'<table:table-cell office:value-type="{kind}" {given} {more}><text:p>{text}</text:p></table:table-cell>'


OPEN_CELLS = [
    (_open_cell("percentage", "0.125", "12,50\xa0%"), "12.50%"),
    (_open_cell("currency", "-1234.5", "-1.234,50 €", 'office:currency="EUR"'), "-1234.50 EUR"),
    (_open_cell("currency", "1200", "1.200 €"), "1200"),
    (_open_cell("float", "0.30000000000000004", "0,30"), "0.30"),
    (_open_cell("float", "0.5", "1/2"), "0.5"),
    (_open_cell("float", "12345", "1,23E+04"), "12345"),
    (_open_cell("date", "2023-07-16", "16.07.23"), "2023-07-16"),
    (_open_cell("percentage", "0.5", "50%", 'table:number-columns-repeated="2"'), "50% | 50%"),
    (_open_cell("percentage", "0.5", "50%<text:span>!</text:span>"), "50%"),
]


@pytest.mark.parametrize(("markup", "text"), OPEN_CELLS)
def test_cell_of_an_open_document_is_read_as_it_is_shown(tmp_path: Path, markup: str, text: str) -> None:
    blank = '<table:table-cell table:number-columns-repeated="2"/>'
    empty = f'<table:table-row table:number-rows-repeated="3">{blank}</table:table-row>'
    row = f"<table:table-row>{blank}{markup}{_open_cell('float', '7', '7')}</table:table-row>"
    path = open_spreadsheet(tmp_path / "a.ods", f"{empty}{row}{row}")
    assert document(path) is DocumentKind.SPREADSHEET
    assert attach(path).text == f"# Stock\n\n{text} | 7\n{text} | 7"


def test_row_that_is_repeated_is_read_as_it_is_shown(tmp_path: Path) -> None:
    half = _open_cell("percentage", "0.5", "50%", 'table:number-columns-repeated="2"')
    row = f'<table:table-row table:number-rows-repeated="3">{half}</table:table-row>'
    assert attach(open_spreadsheet(tmp_path / "a.ods", row)).text == "# Stock\n\n50% | 50%\n50% | 50%\n50% | 50%"


PARTS = [STYLES, COMMENTS, SHAPES, f'<row r="1">{cell("A1", 0.25, 9)}<c r="B1" t="e"><v>#N/A</v></c></row>']


@fuzz("parts of spreadsheets", 200)
@given(scarred("\0".join(PARTS).encode()))
def test_any_damaged_spreadsheet_is_read_or_refused(tmp_path: Path, damaged: bytes) -> None:
    styles, comments, shapes, row, *_ = *(part.decode(errors="replace") for part in damaged.split(b"\0")), *"    "
    parts = {"xl/styles.xml": styles, "xl/comments1.xml": comments, "xl/drawings/drawing1.xml": shapes}
    with suppress(AttachmentError):
        attach(workbook(tmp_path / "a.xlsx", row, {**BESIDE, **parts}))


@fuzz("OpenDocument spreadsheets")
@given(scarred("".join(markup for markup, _ in OPEN_CELLS).encode()))
def test_any_damaged_open_spreadsheet_is_read_or_refused(tmp_path: Path, damaged: bytes) -> None:
    with suppress(AttachmentError):
        attach(
            open_spreadsheet(
                tmp_path / "a.ods", f"<table:table-row>{damaged.decode(errors='replace')}</table:table-row>"
            )
        )
