"""Colours of code, origins and found words: layout only, never part of the text."""

import pytest
from PySide6.QtGui import QFont, QTextDocument
from PySide6.QtWidgets import QApplication

from headstart.markdown.parser import parse
from headstart.ui.markdown.document import DocumentWriter, Formats
from headstart.ui.markdown.highlighting import START, Highlighter, lex_line, lexer
from headstart.ui.widgets.theme import DARK, LIGHT


class _Coloured:
    def __init__(self, source: str) -> None:
        self.document = QTextDocument()
        self.document.documentLayout()  # without one a document tells its highlighter nothing
        self.highlighter = Highlighter(self.document, LIGHT)
        self.writer = DocumentWriter(self.document, Formats(LIGHT, QFont("DejaVu Sans", 10)))
        self.writer.show(parse(source), 0)

    def foreground(self, text: str) -> str:
        """Return the colour over the first occurrence of a text."""
        position = self.document.find(text).selectionStart()
        return next((colour for start, end, colour, _ in self.layers() if start <= position < end), "")

    def layers(self) -> list[tuple[int, int, str, str]]:
        """Return (start, end, foreground, background) of each overlay."""
        found = []
        block = self.document.begin()
        while block.isValid():
            for part in block.layout().formats():
                look, start = part.format, block.position() + part.start
                ink = look.foreground().color().name() if look.hasProperty(look.Property.ForegroundBrush) else ""
                ground = look.background().color().name() if look.hasProperty(look.Property.BackgroundBrush) else ""
                found.append((start, start + part.length, ink, ground))
            block = block.next()
        return found


def _own_looks(document: QTextDocument) -> list[tuple[str, int, str]]:
    """Return the text with its own colours, as it would be copied."""
    found, block = [], document.begin()
    while block.isValid():
        found += [(block.text(), part.start, part.format.background().color().name()) for part in block.textFormats()]
        block = block.next()
    return found


def _kinds(language: str, *lines: str) -> list[dict[str, str]]:
    source, stack, found = lexer(language), START, []
    assert source
    for line in lines:
        parts, stack = lex_line(source, line, stack)
        found.append({line[part.start : part.start + part.length]: part.kind for part in parts})
    return found


@pytest.mark.parametrize("language", ["js", "c", "cpp", "java", "go", "rust", "css", "php", "sql", "kotlin", "csharp"])
def test_comments_span_lines(language: str) -> None:
    opening = "<?php /* one" if language == "php" else "/* one"
    first, second, third = _kinds(language, opening, "two = 2", "end */")
    assert any(kind.startswith("Comment") for text, kind in first.items() if "one" in text)
    assert all(kind.startswith("Comment") for text, kind in second.items() if text.strip())
    assert all(kind.startswith("Comment") for text, kind in third.items() if text.strip())


def test_strings_span_lines_except_in_json() -> None:
    _, second, third = _kinds("python", 'x = """one', "two", '""" + y')
    assert second["two"].startswith("Literal.String")
    assert third["y"] == "Name"
    assert _kinds("json", '  "a": [1, true]')[0]['"a"'] == "Name.Tag"
    assert lexer("no-such-language") is None


def test_code_has_the_colours_of_the_theme(qapp: QApplication) -> None:
    shown = _Coloured("```python\ndef f(x):\n    return 'a' # 🎉 note\n```")
    assert shown.foreground("def") == LIGHT.code["Keyword"]
    assert shown.foreground("'a'") == LIGHT.code["Literal.String"]
    assert shown.foreground("note") == LIGHT.code["Comment"]
    shown.highlighter.set_theme(DARK)
    shown.writer.restyle(Formats(DARK, QFont("DejaVu Sans", 10)))
    assert shown.foreground("def") == DARK.code["Keyword"]


def test_colours_follow_growing_code(qapp: QApplication) -> None:
    shown = _Coloured("```js\n/* a")
    shown.writer.show(parse("```js\n/* a\nb */ const x"), 0)
    assert shown.foreground("b") == LIGHT.code["Comment"]
    assert shown.foreground("const") == LIGHT.code["Keyword"]


def test_origins_keep_the_colours_of_code(qapp: QApplication) -> None:
    shown = _Coloured("```python\ndef f(x): pass\n```")
    at = shown.document.find("def").selectionStart()
    before = _own_looks(shown.document)
    shown.highlighter.set_origins(lambda _start, _end: [(at + 1, at + 5, "draft")])
    ground = LIGHT.origins["draft"].background
    assert [(a - at, b - at, ink) for a, b, ink, paper in shown.layers() if paper == ground] == [
        (1, 3, LIGHT.code["Keyword"]),
        (3, 4, ""),
        (4, 5, LIGHT.code["Name.Function"]),
    ]
    assert _own_looks(shown.document) == before
    shown.highlighter.set_origins(None)
    assert not any(paper for *_, paper in shown.layers())
