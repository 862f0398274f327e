"""The tables of spreadsheets, with their comments, and the words in their drawings and pictures."""

import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from headstart.chat.files import number_format
from headstart.chat.files.document_text import LARGEST_SHEETS, require_unpacked_small
from headstart.chat.files.number_format import Cell
from headstart.chat.files.office_formula import local_name
from headstart.chat.files.office_parts import (
    LARGEST_PART,
    ReadPicture,
    no_picture,
    paragraphs,
    related,
    root_of,
    shown_texts,
    small,
)  # fmt: skip
from headstart.chat.files.open_document_text import CONTENT, OpenBlocks

_WORKBOOK = "xl/workbook.xml"
_FORMULA_WITHOUT_VALUE = re.compile(rb'<c\b(?![^>]* t="str")[^>]*><f\b[^>]*>[^<]*</f>(?:<v ?/>|<v></v>)?</c>')
_PLACE = rb'<(?:\w+:)?c (?=[^>]*?\br="([A-Z]{1,3})(\d{1,7})")'
_STYLED = re.compile(_PLACE + rb'[^>]*?\bs="(\d+)"')
_ERROR = re.compile(  # not that of a picture, which other programs show
    _PLACE + rb'(?![^>]*? vm=)[^>]*?\bt="e"[^>]*>(?:<(?:\w+:)?f\b[^>]*(?:/>|>[^<]*</[^>]*>))?<(?:\w+:)?v>([^<]+)<'
)
_MOST_DECIMALS = 10


class _Sheet(NamedTuple):
    start: tuple[int, int]  # row and column of the first cell
    rows: list[list[Cell]]

    def value(self, row: int, column: int) -> Cell:
        """Return the value of a cell; empty outside the table."""
        row, column = row - self.start[0], column - self.start[1]
        is_inside = 0 <= row < len(self.rows) and 0 <= column < len(self.rows[row])
        return self.rows[row][column] if is_inside else ""

    def show(self, row: int, column: int, text: str | None) -> None:
        """Put a text in the place of a value; None leaves it."""
        row, column = row - self.start[0], column - self.start[1]
        if text is not None and 0 <= row < len(self.rows) and 0 <= column < len(self.rows[row]):
            self.rows[row][column] = text


def spreadsheet(path: Path, read_picture: ReadPicture = no_picture) -> str:
    """Return the tables of an .xlsx, .xls, .xlsb or .ods file, and what stands in their drawings."""
    from python_calamine import CalamineError, CalamineWorkbook  # noqa: PLC0415 - only needed for a spreadsheet

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            require_unpacked_small(path, archive, LARGEST_SHEETS)
    try:
        with path.open("rb") as file, closing(CalamineWorkbook.from_filelike(file)) as book:
            found = {name: book.get_sheet_by_name(name) for name in book.sheet_names}
            sheets = {name: _Sheet(sheet.start or (0, 0), sheet.to_python()) for name, sheet in found.items()}
    except CalamineError as error:
        raise ValueError from error
    beside, in_cells, num_formulas = dict[str, list[str]](), list[str](), 0
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if _WORKBOOK in archive.namelist():
                book_root = root_of(archive, _WORKBOOK)
                parts = _parts(archive, book_root)
                beside = {name: list(_beside(archive, part, read_picture)) for name, part in parts.items()}
                in_cells += _pictures_in_cells(archive, read_picture)
                codes, is_1904 = _codes(archive), _counts_from_1904(book_root)
                for name in sheets.keys() & parts.keys():
                    markup = archive.read(parts[name])
                    _show_formats(sheets[name], markup, codes, is_1904=is_1904)
                    num_formulas += len(_FORMULA_WITHOUT_VALUE.findall(markup))
            elif CONTENT in archive.namelist():
                beside = _read_open(archive, sheets, read_picture)
    return "\n\n".join([*_texts(sheets, beside, num_formulas), *filter(None, in_cells)])


def _texts(sheets: dict[str, _Sheet], beside: dict[str, list[str]], num_formulas: int) -> Iterator[str]:
    for name in dict.fromkeys([*sheets, *beside]):
        table = _table(sheets[name].rows) if name in sheets else ""
        text = "\n\n".join(filter(None, (table, "\n".join(filter(None, beside.get(name, ()))))))
        if text:
            yield f"# {name}\n\n{text}"
    if num_formulas:
        yield f"[{num_formulas} cells hold formulas whose values are not in this file.]"


def _table(rows: Sequence[Sequence[Cell]]) -> str:
    lines = ([number_format.plain(cell) for cell in row] for row in rows)
    return "\n".join(" | ".join(line).rstrip(" |") for line in lines if any(line))


def _parts(archive: zipfile.ZipFile, book_root: ET.Element) -> dict[str, str]:
    """Return the names of the parts that hold the sheets, by the names of the sheets."""
    links = related(archive, _WORKBOOK)
    found = {}
    for sheet in book_root.iterfind("{*}sheets/{*}sheet"):
        key = next((value for name, value in sheet.items() if name.endswith("}id")), "")
        if key in links and links[key].name in archive.namelist():
            found[sheet.get("name", "")] = links[key].name
    return found


def _pictures_in_cells(archive: zipfile.ZipFile, read_picture: ReadPicture) -> Iterator[str]:
    """Yield the texts of pictures that are values of cells; for old programs, the cells hold an error."""
    for part in related(archive, _WORKBOOK).values():
        if part.kind == "richValueRel":
            yield from shown_texts(archive, related(archive, part.name).values(), read_picture)


def _counts_from_1904(book_root: ET.Element) -> bool:
    return any(each.get("date1904") in ("1", "true") for each in book_root.iterfind("{*}workbookPr"))


def _show_formats(sheet: _Sheet, markup: bytes, codes: Mapping[int, str], *, is_1904: bool) -> None:
    """Show the values of cells by their formats, and errors: they are empty."""
    for match in _STYLED.finditer(markup) if codes else ():
        code = codes.get(int(match[3]))
        if code is not None:
            row, column = _place(match)
            sheet.show(row, column, number_format.shown(sheet.value(row, column), code, is_1904=is_1904))
    for match in _ERROR.finditer(markup):
        sheet.show(*_place(match), match[3].decode())


def _place(match: "re.Match[bytes]") -> tuple[int, int]:
    """Return row and column of a cell such as B7, counted from 0."""
    column = 0
    for letter in match[1]:
        column = column * 26 + letter - ord("A") + 1
    return int(match[2]) - 1, column - 1


def _codes(archive: zipfile.ZipFile) -> dict[int, str]:
    """Return the formats of the styles of cells, by number, that are more than the usual one."""
    name = next((part.name for part in related(archive, _WORKBOOK).values() if part.kind == "styles"), "")
    if name not in archive.namelist() or archive.getinfo(name).file_size > LARGEST_PART:
        return {}
    root = root_of(archive, name)
    known = dict(number_format.BUILT_IN)
    for each in root.iterfind("{*}numFmts/{*}numFmt"):
        known[int(each.get("numFmtId", 0))] = each.get("formatCode", "")
    kinds = (int(each.get("numFmtId", 0)) for each in root.iterfind("{*}cellXfs/{*}xf"))
    return {number: known[kind] for number, kind in enumerate(kinds) if known.get(kind, "General") != "General"}


def _beside(archive: zipfile.ZipFile, sheet: str, read_picture: ReadPicture) -> Iterator[str]:
    """Yield the comments on a sheet, such as `[B7: Late.]`, and what stands in its drawings."""
    parts = related(archive, sheet).values()
    for part in small(archive, parts):
        if part.kind in ("comments", "threadedComment"):
            yield from _comments(root_of(archive, part.name))
        elif part.kind == "drawing":
            yield from paragraphs(root_of(archive, part.name))
            inside = related(archive, part.name).values()
            yield from shown_texts(archive, inside, read_picture, has_values=False)


def _comments(root: ET.Element) -> Iterator[str]:
    authors = [each.text or "" for each in root.iterfind("{*}authors/{*}author")]
    for comment in root.iterfind(".//{*}*[@ref]"):
        author = comment.get("authorId", "")
        if author.isdecimal() and authors[int(author)].startswith("tc="):  # tells old programs of a newer comment
            continue
        text = " ".join("".join(comment.itertext()).split())
        if text:
            yield f"[{comment.get('ref')}: {text}]"


def _read_open(archive: zipfile.ZipFile, sheets: dict[str, _Sheet], read_picture: ReadPicture) -> dict[str, list[str]]:
    """Show the numbers of an .ods file with as many digits as it displays, and percent and currencies.

    Return the comments on each sheet, and what stands in its drawings.
    """
    beside, blocks = defaultdict[str, list[str]](list), OpenBlocks(archive, read_picture)
    name, row = "", 0
    with archive.open(CONTENT) as file:
        for event, element in ET.iterparse(file, ("start", "end")):  # noqa: S314 - expat bounds entities
            kind = local_name(element)
            if kind == "table" and event == "start":
                name, row = _value(element, "name"), 0
            elif kind == "shapes" and event == "end":
                beside[name] += blocks.within(element)
            elif kind == "table-row" and event == "end":
                for column, cell in _cells(element):
                    if name in sheets:
                        _show_displayed(sheets[name], row, column, cell, _repeated(element, "rows"))
                    for each in cell:
                        if local_name(each) == "annotation":
                            beside[name].append(f"[{_letters(column)}{row + 1}: {' '.join(blocks.within(each))}]")
                        elif local_name(each) != "p":
                            beside[name] += blocks.within([each])
                row += _repeated(element, "rows")
                element.clear()
    return beside


def _cells(row: ET.Element) -> Iterator[tuple[int, ET.Element]]:
    """Yield the cells of a row, each with its column."""
    column = 0
    for cell in row:
        yield column, cell
        column += _repeated(cell, "columns")


def _show_displayed(sheet: _Sheet, row: int, column: int, cell: ET.Element, num_rows: int) -> None:
    text = _displayed(cell)
    if text and sheet.rows:
        height, width = min(num_rows, len(sheet.rows)), min(_repeated(cell, "columns"), len(sheet.rows[0]))
        for down, right in product(range(height), range(width)):
            sheet.show(row + down, column + right, text)


def _letters(column: int) -> str:
    """Return the name of a column, such as AB."""
    return (_letters(column // 26 - 1) if column >= 26 else "") + chr(ord("A") + column % 26)


def _repeated(element: ET.Element, unit: str) -> int:
    return int(_value(element, f"number-{unit}-repeated") or 1)


def _value(element: ET.Element, name: str) -> str:
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _displayed(cell: ET.Element) -> str | None:
    """Return a number with the decimals of its text, whose signs are those of some country; None if it has others."""
    kind = _value(cell, "value-type")
    if kind not in ("float", "percentage", "currency"):
        return None
    digits = re.sub(r"\D", "", "".join("".join(each.itertext()) for each in cell if local_name(each) == "p"))
    end = {"percentage": "%", "currency": f'" {_value(cell, "currency")}"'}.get(kind, "")
    for decimals in range(_MOST_DECIMALS + 1):
        text = number_format.shown(float(_value(cell, "value")), f"0.{'0' * decimals}{end}")
        if text and re.sub(r"\D", "", text) == digits:
            return text
    return None
