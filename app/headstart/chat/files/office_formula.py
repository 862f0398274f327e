"""Formulas of office files in one line."""

import re
from xml.etree import ElementTree as ET

_SIMPLE = re.compile(r"\w*|.")
_INTEGRAL = "∫"  # the sign of an operator that names none


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
