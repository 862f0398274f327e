"""The text of OpenDocument files, and of the drawings in them."""

import posixpath
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from headstart.chat.files.document_text import require_unpacked_small
from headstart.chat.files.office_formula import local_name
from headstart.chat.files.office_parts import OfficePart, ReadPicture, no_picture, root_of, shown_texts

CONTENT, _STYLES = "content.xml", "styles.xml"


def open_document(path: Path, read_picture: ReadPicture = no_picture) -> str:
    """Return the text of an .odt or .odp file, and of its pictures."""
    with zipfile.ZipFile(path) as archive:
        require_unpacked_small(path, archive)
        blocks = OpenBlocks(archive, read_picture)
        head, foot = (list(_margin(archive, blocks, kind)) for kind in ("header", "footer"))
        texts = (*head, *blocks.within(root_of(archive, CONTENT)), *foot)
        return "\n\n".join(filter(None, map(str.strip, texts)))


def _margin(archive: zipfile.ZipFile, blocks: "OpenBlocks", kind: str) -> Iterator[str]:
    """Yield what stands at the head or the foot of pages, each text once; not the number of the page alone."""
    if _STYLES in archive.namelist():
        pages = root_of(archive, _STYLES).iterfind(".//{*}master-page")
        texts = (text for page in pages for text in blocks.within(page.iterfind(f"{{*}}{kind}")))
        yield from (text for text in dict.fromkeys(texts) if any(map(str.isalpha, text)))


class OpenBlocks:
    """The blocks of text of an OpenDocument file."""

    def __init__(self, archive: zipfile.ZipFile, read_picture: ReadPicture, *, is_embedded: bool = False) -> None:
        self._archive, self._read_picture, self._is_embedded = archive, read_picture, is_embedded

    def within(self, elements: Iterable[ET.Element]) -> Iterator[str]:
        """Yield the headings, paragraphs, rows of tables and things in frames."""
        for child in elements:
            match local_name(child):
                case "h":
                    level = next((value for name, value in child.items() if name.endswith("outline-level")), "1")
                    yield f"{'#' * min(int(level), 6)} {self._inline(child)}"
                case "p":
                    yield self._inline(child)
                case "table-row":
                    yield " | ".join(" ".join(self.within(cell)) for cell in child)
                case "frame":
                    yield from self._frame(child)
                case "image" | "object":
                    yield from self._linked(child)
                case "tracked-changes":
                    pass
                case _:
                    yield from self.within(child)

    def _inline(self, element: ET.Element) -> str:
        parts = [element.text or ""]
        for child in element:
            match local_name(child):
                case "tab" | "s":
                    parts.append(" ")
                case "line-break":
                    parts.append("\n")
                case "note":
                    parts.append(f" [{' '.join(self.within(child))}]")
                case "frame":
                    parts += (f"\n{text}\n" for text in self._frame(child))
                case "annotation":
                    pass
                case _:
                    parts.append(self._inline(child))
            parts.append(child.tail or "")
        return "".join(parts)

    def _frame(self, frame: ET.Element) -> Iterator[str]:
        """Yield the description of a thing, and the thing in the first of its forms that has text."""
        yield from (f"[{text}]" for each in frame.iterfind("{*}desc") if (text := (each.text or "").strip()))
        forms = ([text for text in self.within([form]) if text.strip()] for form in frame)
        yield from next(filter(None, forms), ())

    def _linked(self, link: ET.Element) -> Iterator[str]:
        """Yield the text of a picture, a chart or a formula that is a file of its own in the archive."""
        name = next((value for key, value in link.items() if key.endswith("}href")), "")
        if local_name(link) == "image":
            yield from shown_texts(self._archive, [OfficePart("image", posixpath.normpath(name))], self._read_picture)
            return
        name = posixpath.normpath(posixpath.join(name, CONTENT))
        if self._is_embedded or name not in self._archive.namelist():
            return
        root = root_of(self._archive, name)
        if local_name(root) == "math":
            yield root.findtext(".//{*}annotation") or " ".join("".join(root.itertext()).split())
        else:
            yield from OpenBlocks(self._archive, self._read_picture, is_embedded=True).within(root)
