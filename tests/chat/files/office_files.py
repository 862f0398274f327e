"""Small office files that tests make."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
SHEET_XML = """<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">
<c r="A1" t="inlineStr"><is><t>Part</t></is></c><c r="B1" t="inlineStr"><is><t>Count</t></is></c></row><row r="2">
<c r="A2" t="inlineStr"><is><t>Paddle</t></is></c><c r="B2"><v>31</v></c><c r="C2"><v>0.30000000000000004</v></c></row>
</sheetData></worksheet>"""
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORKBOOK = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'spreadsheetml.sheet.main+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    f'xmlns:r="{LINKS}"><sheets><sheet name="Stock" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{LINKS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/worksheets/sheet1.xml": SHEET_XML,
}
DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'


def packed(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def word_file(path: Path, body: str) -> Path:
    document_xml = f"<w:document {W}><w:body>{body}</w:body></w:document>"
    return packed(path, {"[Content_Types].xml": TYPES, "_rels/.rels": RELATIONS, "word/document.xml": document_xml})


def word_paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def relations(**parts: tuple[str, str]) -> str:
    """Return the XML that relates parts of an office file: kind and name, by id."""
    inner = "".join(
        f'<Relationship Id="{key}" Type="{LINKS}/{kind}" Target="{name}"/>' for key, (kind, name) in parts.items()
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inner}</Relationships>'
    )


def paragraph(*runs: str) -> str:
    return f"<a:p>{''.join(f'<a:r><a:t>{run}</a:t></a:r>' for run in runs)}</a:p>"


SLIDES = {
    "ppt/presentation.xml": f'<p xmlns:r="{LINKS}"><sldIdLst><sldId id="256" r:id="r2"/><sldId id="257" r:id="r1"/>'
    "</sldIdLst></p>",
    "ppt/_rels/presentation.xml.rels": relations(r1=("slide", "slides/slide1.xml"), r2=("slide", "slides/slide2.xml")),
    "ppt/slides/slide1.xml": f"<s {DRAWING}>{paragraph('Risks')}<a:p><a:fld><a:t>2</a:t></a:fld></a:p></s>",
    "ppt/slides/slide2.xml": f"<s {DRAWING}>{paragraph('La', 'unch')}<a:p><a:r><a:t>In</a:t></a:r><a:br/><a:r><a:t>May"
    "</a:t></a:r></a:p></s>",
    "ppt/slides/_rels/slide2.xml.rels": relations(r1=("diagramData", "../diagrams/data1.xml")),
    "ppt/slides/_rels/slide1.xml.rels": relations(r1=("notesSlide", "/ppt/notesSlides/notesSlide1.xml")),
    "ppt/diagrams/data1.xml": f"<s {DRAWING}>{paragraph('Ship')}{paragraph('Sell')}</s>",
    "ppt/notesSlides/notesSlide1.xml": f"<s {DRAWING}>{paragraph('Smile')}</s>",
}
