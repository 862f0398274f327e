"""The parts of Word documents that mammoth leaves out, as text: formulas, simple fields, and words with a reading."""

import io
import re
import zipfile
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

_PARTS = re.compile(r"word/(?:document\d*|footnotes|endnotes)\.xml")
_FORMULA = re.compile(rb"<m:oMath\b[^>]*>.*?</m:oMath>", re.DOTALL)
_AROUND_FORMULA = re.compile(rb"</?m:oMathPara\b[^>]*>|<m:oMathParaPr\b.*?</m:oMathParaPr>", re.DOTALL)
# Elements whose content is plain text, and those that stand for how it is read and shown.
_AROUND_TEXT = re.compile(
    rb"</?w:(?:fldSimple|bdo|dir|ruby|rubyBase)\b[^>]*>|<w:(rt|rubyPr)\b[^>/]*>.*?</w:\1>", re.DOTALL
)
_SIMPLE = re.compile(r"\w*|.")
_INTEGRAL = "∫"  # the sign of an operator that names none


def readable(document: zipfile.ZipFile) -> io.BytesIO:
    """Return a copy of a Word document, without pictures, of which mammoth reads all."""
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w") as archive:
        for name in document.namelist():
            if not name.endswith((".xml", ".rels")):
                continue
            content = document.read(name)
            archive.writestr(name, _plain(content) if _PARTS.fullmatch(name) else content)
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


def in_one_line(element: ET.Element) -> str:
    """Return a formula of an office file, or a part of one, in one line, such as (a+b)/2 or x^2."""

    def part(name: str, *, is_grouped: bool = True) -> str:
        text = "".join(in_one_line(child) for child in element if local_name(child) == name)
        return f"({text})" if is_grouped and not _SIMPLE.fullmatch(text) else text

    def limits() -> str:
        return "".join(f"{mark}{text}" for mark, name in (("_", "sub"), ("^", "sup")) if (text := part(name)))

    match local_name(element):
        case "t":
            return element.text or ""
        case "f":
            return f"{part('num')}/{part('den')}"
        case "sSub" | "sSup" | "sSubSup":
            return f"{part('e')}{limits()}"
        case "rad":
            return f"{part('deg')}√{part('e')}"
        case "nary":
            return f"{_sign(element, 'chr', _INTEGRAL)}{limits()} {part('e', is_grouped=False)}"
        case "d":
            inside = ", ".join(in_one_line(child) for child in element if local_name(child) == "e")
            return f"{_sign(element, 'begChr', '(')}{inside}{_sign(element, 'endChr', ')')}"
        case _:
            return "".join(map(in_one_line, element))


def _sign(element: ET.Element, kind: str, usual: str) -> str:
    """Return the sign of an operator or a bracket: the value of a property."""
    found = (each for each in element.iterfind("*/*") if local_name(each) == kind)
    return next((value for each in found for value in each.attrib.values()), usual)


def local_name(element: ET.Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]
