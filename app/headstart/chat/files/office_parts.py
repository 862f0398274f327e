"""The parts of an office file, such as a drawing, and the text of those that it shows: diagrams, charts, pictures."""

import posixpath
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from xml.etree import ElementTree as ET

from headstart.chat.files import number_format
from headstart.chat.files.office_formula import in_one_line, local_name

LARGEST_PART = 12_000_000  # bytes of markup
_LARGEST_PICTURE = 50_000_000  # bytes
_SHOWN = frozenset({"blip", "imagedata", "chart", "relIds"})  # what is seen without a text
# From the content of a picture file to its text; empty if there is none, or it was read before.
ReadPicture = Callable[[bytes], str]


def no_picture(_content: bytes) -> str:
    """Read no picture."""
    return ""


class OfficePart(NamedTuple):
    """A part of an office file that another part refers to."""

    kind: str
    name: str


def related(archive: zipfile.ZipFile, name: str) -> dict[str, OfficePart]:
    """Return the parts that a part refers to, by id."""
    folder, file = posixpath.split(name)
    try:
        root = _parsed(archive, f"{folder}/_rels/{file}.rels")
    except KeyError:
        return {}
    return {
        link.get("Id", ""): OfficePart(
            link.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join(folder, link.get("Target", ""))).lstrip("/"),
        )
        for link in root
    }


def _parsed(archive: zipfile.ZipFile, name: str) -> ET.Element:
    if archive.getinfo(name).file_size > LARGEST_PART:
        raise ValueError
    return ET.fromstring(archive.read(name))  # noqa: S314 - expat bounds entities


def shown_texts(
    archive: zipfile.ZipFile, parts: Iterable[OfficePart], read_picture: ReadPicture, *, has_values: bool = True
) -> Iterator[str]:
    """Yield the text of each diagram, chart and picture; of charts without `has_values` only the titles."""
    for kind, name in small(archive, parts):
        if kind == "diagramData":
            yield "\n".join(paragraphs(root_of(archive, name)))
        elif kind in ("chart", "chartEx"):
            root = root_of(archive, name)
            yield "\n".join([*paragraphs(root), *(_values(root) if has_values else ())])
        elif kind == "image":
            yield read_picture(archive.read(name))


def small(archive: zipfile.ZipFile, parts: Iterable[OfficePart]) -> Iterator[OfficePart]:
    """Yield the parts that are in the file, and no larger than one can be."""
    sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    for part in parts:
        largest = _LARGEST_PICTURE if part.kind == "image" else LARGEST_PART
        if sizes.get(part.name, largest + 1) <= largest:
            yield part


def root_of(archive: zipfile.ZipFile, name: str) -> ET.Element:
    """Return the markup of a part, each thing in one of its forms only."""
    root = _parsed(archive, name)
    keep_one_form(root)
    return root


def keep_one_form(root: ET.Element) -> None:
    """Keep of all forms of a thing, which are for programs of different age, the first that shows something."""
    for each in list(root.iter()):
        if local_name(each) == "AlternateContent":
            each[:] = [next(filter(_shows, each), each[-1])] if len(each) else []


def _shows(element: ET.Element) -> bool:
    return any(local_name(each) in _SHOWN or (local_name(each) == "t" and each.text) for each in element.iter())


def paragraphs(root: ET.Element) -> list[str]:
    """Return the texts of the paragraphs of a drawing, and the rows of its tables."""
    return list(filter(None, _lines(root)))


def _lines(element: ET.Element) -> Iterator[str]:
    for child in element:
        match local_name(child):
            case "p":
                yield "".join(map(_run, child)).strip()
            case "tr":
                yield " | ".join(" ".join(paragraphs(cell)) for cell in child).rstrip(" |")
            case _:
                yield from _lines(child)


def _run(element: ET.Element) -> str:
    """Return the text of a part of a paragraph; of fields, such as the number of the slide, nothing."""
    match local_name(element):
        case "br":
            return " "
        case "fld":
            return ""
        case _:
            return in_one_line(element)


def _values(root: ET.Element) -> Iterator[str]:
    """Yield the series of a chart, such as `Rain: May = 31 mm; June = 12 mm`."""
    is_1904 = any(each.get("val", "1") in ("1", "true") for each in root.iterfind("{*}date1904"))
    for series in root.iterfind(".//{*}ser"):
        name = "".join(each.text or "" for each in series.iterfind("{*}tx//{*}v"))
        values = _points(series, ("val", "yVal"), is_1904=is_1904)
        places = _points(series, ("cat", "xVal"), is_1904=is_1904)
        yield _series(name, places, values)
    for data in root.iterfind(".//{*}chartData/{*}data"):  # of the newer kinds of charts, such as waterfalls
        yield _series("", _points(data, ("strDim",)), _points(data, ("numDim",)))


def _series(name: str, places: dict[str, str], values: dict[str, str]) -> str:
    points = (f"{places[key]} = {value}" if key in places else value for key, value in values.items())
    return ": ".join(filter(None, (name, "; ".join(points))))


def _points(series: ET.Element, names: tuple[str, ...], *, is_1904: bool = False) -> dict[str, str]:
    """Return the values of a series, or the names of their places, by their number."""
    found = dict[str, str]()
    levels = (level for child in series if local_name(child) in names for level in child.iter())
    for level in levels:
        code = level.get("formatCode") or level.findtext("{*}formatCode")  # of numbers alone
        for point in level.iterfind("{*}pt"):
            text, key = point.findtext("{*}v") or point.text or "", point.get("idx", "")
            if code:
                text = _number(text, code, is_1904=is_1904)
            found[key] = f"{text} {found[key]}" if key in found else text  # a place in several levels
    return found


def _number(text: str, code: str, *, is_1904: bool) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    return number_format.shown(number, code, is_1904=is_1904) or number_format.plain(number)
