"""Words in the drawings of office files: text boxes, diagrams and charts."""

import zipfile
from pathlib import Path

import pytest

from headstart.chat.files.attachments import attach
from tests.chat.files.office_files import (
    DRAWING,
    LINKS,
    SLIDES,
    packed,
    paragraph,
    relations,
    word_file,
    word_paragraph,
)  # fmt: skip

SPACES = (
    f'xmlns:r="{LINKS}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" {DRAWING} '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:wpg="http://schemas.microsoft.com/office/word/2010/wordprocessingGroup" '
    'xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
)


def shape(text: str) -> str:
    """Return the markup of a shape with a text box."""
    content = f"<w:txbxContent>{word_paragraph(text)}</w:txbxContent>"
    return f"<wps:wsp><wps:spPr/><wps:txbx>{content}</wps:txbx><wps:bodyPr/></wps:wsp>"


def drawing(inside: str) -> str:
    graphic = f"<a:graphic><a:graphicData>{inside}</a:graphicData></a:graphic>"
    return f'<w:drawing {SPACES}><wp:anchor><wp:docPr id="1" name="Box 1"/>{graphic}</wp:anchor></w:drawing>'


def picture(text: str, kind: str = "shape") -> str:
    """Return the markup of the same for programs before 2010."""
    content = f"<w:txbxContent>{word_paragraph(text)}</w:txbxContent>"
    return f"<w:pict {SPACES}><v:{kind}><v:textbox>{content}</v:textbox></v:{kind}></w:pict>"


def forms(*markup: str) -> str:
    """Return the markup of a thing in a new form, and in an old one if there are two."""
    fallback = "".join(f"<mc:Fallback>{each}</mc:Fallback>" for each in markup[1:])
    choice = f'<mc:Choice Requires="wps">{markup[0]}</mc:Choice>'
    return f"<mc:AlternateContent {SPACES}>{choice}{fallback}</mc:AlternateContent>"


GROUP = f"<wpg:wgp><wpg:grpSp>{shape('Gate')}</wpg:grpSp>{shape('Pier')}</wpg:wgp>"
BOXES = [
    (forms(drawing(shape("Gate")), picture("Gate")), "Gate"),
    (forms(drawing(shape("Gate"))), "Gate"),
    (forms(drawing(shape("Gate")), "<w:t>old</w:t>"), "Gate"),
    (forms(drawing("<wps:wsp/>"), "<w:t>old</w:t>"), "Seeold"),
    (drawing(shape("Gate")), "Gate"),
    (drawing(GROUP), "Gate\n\nPier"),
    (drawing(shape("Gate").replace("</w:r>", f"</w:r><w:r>{drawing(shape('Pier'))}</w:r>")), "Gate\n\nPier"),
    (picture("Gate"), "Gate"),
    (picture("Gate", "oval"), "Gate"),
    (f'<w:pict {SPACES}><v:shape><v:textpath string="Gate"/></v:shape></w:pict>', "Gate"),
]


@pytest.mark.parametrize(("markup", "text"), BOXES)
def test_text_box_of_a_word_document_is_read_once(tmp_path: Path, markup: str, text: str) -> None:
    see = word_paragraph("See").replace("</w:r>", f"{markup}</w:r>")
    path = word_file(tmp_path / "a.docx", f"{see}{word_paragraph('End')}")
    first = text if text.startswith("See") else f"See\n\n{text}"
    assert attach(path).text == f"{first}\n\nEnd"


def test_text_box_in_a_table_stays_in_its_cell(tmp_path: Path) -> None:
    cells = "".join(
        f"<w:tc><w:p><w:r><w:t>{name}</w:t>{drawing(shape('Pier'))}</w:r></w:p></w:tc>" for name in ("Gate", "Quay")
    )
    path = word_file(tmp_path / "a.docx", f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>")
    assert attach(path).text.splitlines()[0] == "| Gate Pier | Quay Pier |"


def test_text_box_of_a_footnote_is_read(tmp_path: Path) -> None:
    reference = '<w:p><w:r><w:t>Fee</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
    path = word_file(tmp_path / "a.docx", reference)
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    note = f'<w:footnote w:id="2"><w:p><w:r>{drawing(shape("Gate"))}</w:r></w:p></w:footnote>'
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/footnotes.xml", f"<w:footnotes {w}>{note}</w:footnotes>")
        archive.writestr("word/_rels/document.xml.rels", relations(r1=("footnotes", "footnotes.xml")))
    assert "Gate" in attach(path).text


def series(name: str, places: str, values: str, code: str) -> str:
    def points(text: str) -> str:
        return "".join(
            f'<c:pt idx="{number}"><c:v>{each}</c:v></c:pt>' for number, each in enumerate(text.split()) if each != "-"
        )

    title = f"<c:tx><c:strRef><c:strCache>{points(name)}</c:strCache></c:strRef></c:tx>"
    numbers = f"<c:numRef><c:numCache><c:formatCode>{code}</c:formatCode>{points(values)}</c:numCache></c:numRef>"
    names = f"<c:cat><c:strRef><c:strCache>{points(places)}</c:strCache></c:strRef></c:cat>" if places else ""
    return f"<c:ser>{title}{names}<c:val>{numbers}</c:val></c:ser>"


CHART = (
    f"<c:chartSpace {SPACES}><c:chart><c:title><c:tx><c:rich>{paragraph('Harbour')}</c:rich></c:tx></c:title>"
    f"<c:plotArea><c:barChart>{series('Fees', 'May 007', '0.125 0.2', '0.0%')}{series('Boats', '', '4 - 6', 'General')}"
    "</c:barChart></c:plotArea></c:chart></c:chartSpace>"
)
CHART_LINES = ["Harbour", "Fees: May = 12.5%; 007 = 20.0%", "Boats: 4; 6"]
NEW_CHART = (
    '<cx:chartSpace xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex"><cx:chartData><cx:data id="0">'
    '<cx:strDim type="cat"><cx:lvl ptCount="2"><cx:pt idx="0">Start</cx:pt><cx:pt idx="1">End</cx:pt></cx:lvl>'
    '</cx:strDim><cx:numDim type="val"><cx:lvl ptCount="2" formatCode="0.0"><cx:pt idx="0">3</cx:pt>'
    '<cx:pt idx="1">5.25</cx:pt></cx:lvl></cx:numDim></cx:data></cx:chartData></cx:chartSpace>'
)
DIAGRAM = f"<dgm:dataModel {SPACES}><dgm:pt><dgm:t>{paragraph('Ship')}</dgm:t></dgm:pt></dgm:dataModel>"


def test_diagram_and_chart_of_a_word_document_are_read(tmp_path: Path) -> None:
    shown = '<dgm:relIds r:dm="r1" r:lo="r2"/>', '<c:chart r:id="r3"/>'
    body = "".join(word_paragraph(f"Plan {number}").replace("</w:r>", f"{drawing(each)}</w:r>")
                   for number, each in enumerate(shown, start=1))  # fmt: skip
    path = word_file(tmp_path / "a.docx", body)
    links = relations(
        r1=("diagramData", "diagrams/data1.xml"), r2=("diagramLayout", "gone.xml"), r3=("chart", "charts/chart1.xml")
    )
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/_rels/document.xml.rels", links)
        archive.writestr("word/diagrams/data1.xml", DIAGRAM)
        archive.writestr("word/charts/chart1.xml", CHART)
    assert attach(path).text.split("\n\n") == ["Plan 1", "Ship", "Plan 2", "\n".join(CHART_LINES)]


def test_charts_of_slides_are_read(tmp_path: Path) -> None:
    links = relations(
        r1=("notesSlide", "/ppt/notesSlides/notesSlide1.xml"),
        r2=("chart", "../charts/chart1.xml"),
        r3=("chartEx", "../charts/chart2.xml"),
    )
    charts = {"ppt/charts/chart1.xml": CHART, "ppt/charts/chart2.xml": NEW_CHART}
    path = packed(tmp_path / "a.pptx", {**SLIDES, "ppt/slides/_rels/slide1.xml.rels": links, **charts})
    lines = attach(path).text.splitlines()
    assert lines[-5:] == [*CHART_LINES, "Start = 3.0; End = 5.3", "Smile"]


def test_table_on_a_slide_is_read_row_by_row(tmp_path: Path) -> None:
    rows = [["Fee", "2024", ""], ["Gate", "", "31"], ["", "", ""]]
    cells = [[f"<a:tc><a:txBody>{paragraph(each)}</a:txBody></a:tc>" for each in row] for row in rows]
    table = "".join(f"<a:tr>{''.join(row)}</a:tr>" for row in cells)
    slide = f"<s {DRAWING}>{paragraph('Risks')}<a:tbl><a:tblGrid/>{table}</a:tbl>{paragraph('End')}</s>"
    path = packed(tmp_path / "a.pptx", {**SLIDES, "ppt/slides/slide1.xml": slide})
    assert attach(path).text.endswith("# Slide 2: Risks\n\nFee | 2024\nGate |  | 31\nEnd\nSmile")


def test_sentence_for_old_programs_is_not_read_from_slides(tmp_path: Path) -> None:
    chart = '<cx:chart xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex" r:id="r3"/>'
    slide = f"<s>{paragraph('Risks')}{forms(chart, paragraph('This chart is not available.'))}</s>".replace(
        "<s>", f"<s {DRAWING}>"
    )
    path = packed(tmp_path / "a.pptx", {**SLIDES, "ppt/slides/slide1.xml": slide})
    assert attach(path).text.endswith("# Slide 2: Risks\n\nSmile")
