"""The parts of Word documents that mammoth leaves out, as text: formulas, fields, margins, text boxes and pictures."""

import io
import re
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from headstart.chat.files.office_formula import in_one_line, local_name
from headstart.chat.files.office_parts import ReadPicture, keep_one_form, related, shown_texts, small

_PARTS = re.compile(r"word/(?:document\d*|footnotes|endnotes)\.xml")
_FORMULA = re.compile(rb"<m:oMath\b[^>]*>.*?</m:oMath>", re.DOTALL)
_AROUND_FORMULA = re.compile(rb"</?m:oMathPara\b[^>]*>|<m:oMathParaPr\b.*?</m:oMathParaPr>", re.DOTALL)
# Elements whose content is plain text, and those that stand for how it is read and shown.
_AROUND_TEXT = re.compile(
    rb"</?w:(?:fldSimple|bdo|dir|ruby|rubyBase)\b[^>]*>|<w:(rt|rubyPr)\b[^>/]*>.*?</w:\1>", re.DOTALL
)
_DRAWINGS = ("drawing", "pict", "object")
_DRAWN = re.compile(rb"<(?:\w+:)?(?:drawing|pict|object|headerReference|footerReference)\b")
_LETTER = re.compile(r"[^\W\d_]")
_LINK = re.compile("/relationships}")
_COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_FORMS, _FALLBACK = f"{_COMPATIBLE}AlternateContent", f"{_COMPATIBLE}Fallback"


def readable(document: zipfile.ZipFile, read_picture: ReadPicture) -> io.BytesIO:
    """Return a copy of a Word document, without pictures but with their text, of which mammoth reads all."""
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w") as archive:
        for name in document.namelist():
            if not name.endswith((".xml", ".rels")):
                continue
            content = document.read(name)
            if _PARTS.fullmatch(name):
                content = _plain(content)
                if _DRAWN.search(content):
                    root = _with_boxes(content, document, name, read_picture)
                    _add_margins(root, document, name, read_picture)
                    content = ET.tostring(root)
            archive.writestr(name, content)
    copy.seek(0)
    return copy


def _plain(content: bytes) -> bytes:
    return _AROUND_TEXT.sub(b"", _with_lines(content) if _FORMULA.search(content) else content)


def _with_lines(content: bytes) -> bytes:
    """Replace each formula by a run of text."""
    formulas = [in_one_line(each) for each in ET.fromstring(content).iter() if local_name(each) == "oMath"]  # noqa: S314
    if len(formulas) != len(_FORMULA.findall(content)):
        return content
    texts = iter(f'<w:r><w:t xml:space="preserve">{escape(each)}</w:t></w:r>'.encode() for each in formulas)
    return _AROUND_FORMULA.sub(b"", _FORMULA.sub(lambda _: next(texts), content))


def _with_boxes(content: bytes, document: zipfile.ZipFile, name: str, read_picture: ReadPicture) -> ET.Element:
    """Put the text boxes of each drawing behind its run, and in boxes of their own what diagrams and pictures say."""
    root = ET.fromstring(content)  # noqa: S314
    keep_one_form(root)
    for forms in root.iter(_FORMS):
        for form in forms:
            form.tag = _FALLBACK  # the one that mammoth reads
    parts, parents = related(document, name), {child: parent for parent in root.iter() for child in parent}
    for drawing in [each for each in root.iter() if local_name(each) in _DRAWINGS]:
        inside = list(_inside(drawing))
        boxes = [each for each in inside if local_name(each) == "txbxContent"]
        for box in boxes:
            parents[box].remove(box)
        links = (value for each in inside for key, value in each.items() if _LINK.search(key))
        texts = [each.get("string", "") for each in inside if local_name(each) == "textpath"]  # letters as an ornament
        texts += shown_texts(document, (parts[link] for link in links if link in parts), read_picture)
        boxes += [_box(root, text) for text in texts if text]
        if boxes:
            behind = ET.Element(f"{_namespace(root)}pict")
            behind.extend(boxes)
            parents[drawing].append(behind)
    return root


def _add_margins(root: ET.Element, document: zipfile.ZipFile, name: str, read_picture: ReadPicture) -> None:
    """Put what stands at the head of pages before the text, and what stands at their foot behind it, each once."""
    parts, body, seen = related(document, name), root.find("{*}body"), set[str]()
    margins = dict[str, list[ET.Element]](headerReference=[], footerReference=[])
    for reference in [each for section in root.iter(f"{_namespace(root)}sectPr") for each in _references(section)]:
        links = (value for key, value in reference.items() if _LINK.search(key))
        for part in small(document, (parts[link] for link in links if link in parts)):
            margin = _with_boxes(_plain(document.read(part.name)), document, part.name, read_picture)
            text = "".join(each.text or "" for each in margin.iter(f"{_namespace(root)}t"))
            if text not in seen and _LETTER.search(text):  # more than the number of the page
                margins[local_name(reference)] += margin
            seen.add(text)
    for each in [each for blocks in margins.values() for block in blocks for each in block.iter()]:
        each.attrib = {key: value for key, value in each.items() if not _LINK.search(key)}  # they are another part's
    if body is not None:
        body[:] = [*margins["headerReference"], *body, *margins["footerReference"]]


def _references(section: ET.Element) -> Iterator[ET.Element]:
    """Yield the heads and feet of pages of a section; one of the first page counts only if the section has it."""
    has_first = any(local_name(each) == "titlePg" for each in section)
    for each in section:
        is_shown = has_first or each.get(f"{_namespace(section)}type") != "first"
        if is_shown and local_name(each) in ("headerReference", "footerReference"):
            yield each


def _inside(drawing: ET.Element) -> Iterator[ET.Element]:
    """Yield the elements of a drawing, without those in its text boxes."""
    for child in drawing:
        yield child
        if local_name(child) != "txbxContent":
            yield from _inside(child)


def _box(root: ET.Element, text: str) -> ET.Element:
    """Return a text box with lines."""
    box = ET.Element(f"{_namespace(root)}txbxContent")
    run = ET.SubElement(ET.SubElement(box, f"{_namespace(root)}p"), f"{_namespace(root)}r")
    for number, line in enumerate(text.split("\n")):
        if number:
            ET.SubElement(run, f"{_namespace(root)}br")
        ET.SubElement(run, f"{_namespace(root)}t").text = line
    return box


def _namespace(root: ET.Element) -> str:
    return root.tag[: root.tag.find("}") + 1]
