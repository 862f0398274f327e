"""Web pages as Markdown: headings, lists, tables, code, links and quotes, without scripts and pictures."""

import re
from collections.abc import Callable
from html.parser import HTMLParser

_SKIPPED = frozenset({"script", "style", "template", "svg", "iframe", "object", "select", "button", "canvas", "audio"})
_CONTAINERS = ("ul", "ol", "blockquote")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = {
    "address", "article", "aside", "body", "center", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "footer", "form", "head", "header", "hr", "html", "li", "main", "nav", "p", "pre", "section", "summary",
    *_CONTAINERS, *_HEADINGS,
}  # fmt: skip
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "del": "~~", "s": "~~", "code": "`", "kbd": "`", "samp": "`"}
_READINGS = ("rt", "rp")  # beside a word, how it is read: between its letters, it would hide the word
_SPACE = re.compile(r"[ \t\n\r\f\v\xa0]+")
_LANGUAGE = re.compile(r"\blang(?:uage)?-([\w+#-]+)")
_MAX_DEPTH = 12  # of lists, quotes and marks in each other; deeper ones are ignored
_MAX_COLUMNS = 100
_NO_TAG = re.compile("<(?=[^<>]*(?:<|$))")  # or one with such a sign in a value, which is rare
_MAX_NO_TAGS = 1000
_LINKS = ("http://", "https://", "mailto:")


def to_markdown(page: str, picture_text: Callable[[str], str] = lambda _address: "") -> str:
    """Convert a web page to Markdown. Everything but markup is text; `picture_text` is given the address of each."""
    writer = _Writer(picture_text)
    # The parser takes hours for a tag that never ends, repeated.
    writer.feed(_NO_TAG.sub("&lt;", page) if len(_NO_TAG.findall(page)) > _MAX_NO_TAGS else page)
    writer.close()
    return writer.result()


class _Writer(HTMLParser):
    """A parser that writes blocks of Markdown."""

    def __init__(self, picture_text: Callable[[str], str]) -> None:
        super().__init__(convert_charrefs=True)
        self._picture_text = picture_text
        self._written: list[str] = []
        self._inline: list[tuple[str, str, list[str]]] = [("", "", [])]  # open elements: tag, address, parts
        self._containers: list[str] = []  # of _CONTAINERS, those that are open
        self._numbers: list[int] = []  # of the last item in each
        self._marker = ""  # of the item that begins
        self._follows_item = self._quoted = False
        self._skipped = self._table_depth = 0
        self._is_code = self._is_title = self._is_reading = False
        self._language = self._title = ""
        self._heading = 0  # level; 0 outside
        self._rows: list[list[str]] = []

    def result(self) -> str:
        """Return the Markdown of all that was fed."""
        if self._table_depth:
            self._end_table()
        self._flush()
        text, title = "".join(self._written).strip("\n"), _SPACE.sub(" ", self._title).strip()
        has_heading = any(block.lstrip("\n").startswith("# ") for block in self._written)
        return f"# {title}\n\n{text}".strip() if title and not has_heading else text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in _SKIPPED:
            self._skipped += 1
        elif self._skipped:
            return
        elif tag == "title":
            self._is_title = True
        elif tag in _READINGS:
            self._is_reading = True
        elif tag == "br":
            self._add(" " if self._table_depth else "\n")
        elif tag == "img":
            self._add_picture(values.get("alt", ""), values.get("src", ""))
        elif tag == "input" and values.get("type") in ("checkbox", "radio"):
            self._add("☒ " if "checked" in values else "☐ ")
        elif (tag == "a" or tag in _MARKS) and len(self._inline) <= _MAX_DEPTH:
            self._inline.append((tag, values.get("href", ""), []))
        elif tag in ("table", "tr", "td", "th"):
            self._begin_part_of_table(tag)
        elif tag in _BLOCKS:
            self._begin_block(tag)
        if self._is_code and (language := _LANGUAGE.search(values.get("class", ""))):
            self._language = language[1]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin and end an element; one that cannot have content, such as `<br>`, is not ended."""
        self.handle_starttag(tag, attrs)
        if tag not in ("br", "img", "hr", "input"):
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """End an element, and those in it that were left open."""
        if tag in _SKIPPED:
            self._skipped = max(self._skipped - 1, 0)
        elif self._skipped:
            return
        elif tag == "title":
            self._is_title = False
        elif tag in ("ruby", *_READINGS):
            self._is_reading = False
        elif tag == "a" or tag in _MARKS:
            self._end_inline(tag)
        elif tag == "table" and self._table_depth:
            self._table_depth -= 1
            if not self._table_depth:
                self._end_table()
        elif self._table_depth:
            self._add(" ")
        elif tag in _BLOCKS:
            self._end_block(tag)

    def handle_data(self, data: str) -> None:
        if self._is_title:
            self._title += data
        elif not (self._skipped or self._is_reading):
            self._add(data if self._is_code else _SPACE.sub(" ", data))

    def _add(self, text: str) -> None:
        self._inline[-1][2].append(text)

    def _add_picture(self, description: str, address: str) -> None:
        self._add(f"[{description}]" if description else "")
        if text := self._picture_text(address):
            self._add(f" {' '.join(text.split())} " if self._table_depth else f"\n{text}\n")

    def _begin_block(self, tag: str) -> None:
        self._is_reading = False
        if self._table_depth:
            self._add(" ")
            return
        self._flush()
        if tag in _CONTAINERS and not self._containers:
            self._follows_item = False
        if tag in _CONTAINERS and len(self._containers) < _MAX_DEPTH:
            self._containers.append(tag)
            self._numbers.append(0)
        elif tag == "li":
            self._marker = "- "
            if self._containers and self._containers[-1] == "ol":
                self._numbers[-1] += 1
                self._marker = f"{self._numbers[-1]}. "
        elif tag == "hr":
            self._write("---")
        self._is_code = tag == "pre"
        self._heading = int(tag[1]) if tag in _HEADINGS else 0

    def _end_block(self, tag: str) -> None:
        self._flush()
        self._is_code, self._heading = False, 0
        if tag in _CONTAINERS:
            while tag in self._containers:
                self._numbers.pop()
                if self._containers.pop() == tag:
                    break
        if tag in (*_CONTAINERS, "li"):
            self._marker = ""
        self._quoted = "blockquote" in self._containers

    def _begin_part_of_table(self, tag: str) -> None:
        if tag == "table":
            self._table_depth += 1
            if self._table_depth == 1:
                self._flush()
                self._rows = []
                return
        if self._table_depth > 1:  # a table in a cell
            self._add(" ")
        elif self._table_depth:
            self._end_cell()
            if tag == "tr" or not self._rows:
                self._rows.append([])
            if tag != "tr":
                self._rows[-1].append("")

    def _end_cell(self) -> None:
        """Add the text since the last border to the last cell; before the first one it is a caption."""
        text = " ".join(self._taken().split())
        if self._rows and self._rows[-1]:
            self._rows[-1][-1] = text
        elif text:
            self._write(text)

    def _end_table(self) -> None:
        self._end_cell()
        self._table_depth = 0
        rows = [row[:_MAX_COLUMNS] for row in self._rows if any(row)]
        width = max(map(len, rows), default=0)
        if width == 1:  # it only lays out
            for (cell,) in rows:
                self._write(cell)
        elif rows:
            full = [[cell.replace("|", "\\|") for cell in row] + [""] * (width - len(row)) for row in rows]
            lines = [f"| {' | '.join(row)} |" for row in full]
            self._write("\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]]))

    def _end_inline(self, tag: str) -> None:
        """Close the innermost element of this name, and the elements that are open in it."""
        if any(name == tag for name, _, _ in self._inline):
            while self._close() != tag:
                pass

    def _close(self) -> str:
        """Put the marks of the last open element around its text, but not around the spaces at its ends."""
        tag, address, parts = self._inline.pop()
        text = "".join(parts)
        inner = text.strip()
        start = text.find(inner) if inner else len(text)
        if inner and tag == "a":
            marked = f"[{inner}]({address})" if address.startswith(_LINKS) and address != inner else inner
        else:
            marked = f"{_MARKS[tag]}{inner}{_MARKS[tag]}" if inner and not self._is_code else inner
        self._add(f"{text[:start]}{marked}{text[start + len(inner) :]}")
        return tag

    def _taken(self) -> str:
        """Return the text since the last block, and clear it."""
        while len(self._inline) > 1:
            self._close()
        text = "".join(self._inline[0][2])
        self._inline[0][2].clear()
        return text

    def _flush(self) -> None:
        """Write the paragraph, heading or code that was collected."""
        text = self._taken()
        if self._is_code:
            code = text.strip("\n")
            fence = "`" * (max((len(run) for run in re.findall("`{3,}", code)), default=2) + 1)
            text = f"{fence}{self._language}\n{code}\n{fence}" if code.strip() else ""
            self._language = ""
        else:
            lines = (" ".join(line.split()) for line in text.split("\n"))
            text = "\n".join(line for line in lines if line)
        if text and self._heading:
            text = f"{'#' * self._heading} {' '.join(text.split())}"
        if text:
            self._write(text)

    def _write(self, text: str) -> None:
        """Write a block at its place in lists and quotes."""
        rest = "".join("> " if name == "blockquote" else "  " for name in self._containers)
        first = rest.removesuffix("  ") + self._marker if self._marker else rest
        lines = text.split("\n")
        gap = "\n" if self._marker and self._follows_item else f"\n{rest.rstrip()}\n" if self._quoted else "\n\n"
        self._written.append(gap)
        self._written.append("\n".join([first + lines[0], *(rest + line for line in lines[1:])]))
        self._follows_item = bool(self._containers) and self._containers[-1] != "blockquote"
        self._quoted = "blockquote" in self._containers
        self._marker = ""
