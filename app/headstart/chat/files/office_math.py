"""Formulas of office files (Office Math) as text in one line, such as (a+b)/2 or x^2."""

import io
import re
import zipfile
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

MARK = b"<m:oMath"
_FORMULA = re.compile(rb"<m:oMath\b[^>]*>.*?</m:oMath>", re.DOTALL)
_AROUND = re.compile(rb"</?m:oMathPara\b[^>]*>|<m:oMathParaPr\b.*?</m:oMathParaPr>", re.DOTALL)
_SIMPLE = re.compile(r"\w*|.")
_INTEGRAL = "∫"  # the sign of an operator that names none


def with_formulas_as_text(document: zipfile.ZipFile, part: str) -> io.BytesIO:
    """Return a copy of a Word document with the formulas of a part as text."""
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w") as archive:
        for name in document.namelist():
            content = document.read(name)
            archive.writestr(name, _replaced(content) if name == part else content)
    copy.seek(0)
    return copy


def _replaced(content: bytes) -> bytes:
    formulas = [line(each) for each in ET.fromstring(content).iter() if local_name(each) == "oMath"]  # noqa: S314
    if len(formulas) != len(_FORMULA.findall(content)):
        return content
    texts = iter(f'<w:r><w:t xml:space="preserve">{escape(each)}</w:t></w:r>'.encode() for each in formulas)
    return _AROUND.sub(b"", _FORMULA.sub(lambda _: next(texts), content))


def line(element: ET.Element) -> str:
    """Return a formula, or a part of one, in one line."""

    def part(name: str, *, is_grouped: bool = True) -> str:
        text = "".join(line(child) for child in element if local_name(child) == name)
        return f"({text})" if is_grouped and not _SIMPLE.fullmatch(text) else text

    limits = "".join(f"{mark}{text}" for mark, name in (("_", "sub"), ("^", "sup")) if (text := part(name)))
    match local_name(element):
        case "t":
            return element.text or ""
        case "f":
            return f"{part('num')}/{part('den')}"
        case "sSub" | "sSup" | "sSubSup":
            return f"{part('e')}{limits}"
        case "rad":
            return f"{part('deg')}√{part('e')}"
        case "nary":
            return f"{_sign(element, 'chr', _INTEGRAL)}{limits} {part('e', is_grouped=False)}"
        case "d":
            inside = ", ".join(line(child) for child in element if local_name(child) == "e")
            return f"{_sign(element, 'begChr', '(')}{inside}{_sign(element, 'endChr', ')')}"
        case _:
            return "".join(map(line, element))


def _sign(element: ET.Element, kind: str, usual: str) -> str:
    """Return the sign of an operator or a bracket: the value of a property."""
    found = (each for each in element.iterfind("*/*") if local_name(each) == kind)
    return next((value for each in found for value in each.attrib.values()), usual)


def local_name(element: ET.Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]
