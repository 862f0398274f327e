"""Typesetting of LaTeX formulas, and the text object that paints them in a document."""

import functools
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QRect, QRectF, QSizeF
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPyTextObject,
    QTextCharFormat,
    QTextDocument,
    QTextFormat,
    QTransform,
)
from PySide6.QtSvg import QSvgRenderer

from headstart.markdown.mathml import strip_delimiters, to_mathml

if TYPE_CHECKING:
    from ziafont.svgpath import SVGOpType

OBJECT = QTextFormat.ObjectTypes.UserObject.value + 1
SIGN = "\ufffc"  # the character of an object in a document
_LATEX = QTextFormat.Property.UserProperty.value + 10  # property of the object's format: LaTeX without delimiters
_DISPLAY = _LATEX + 1

_MAX_PARTS = 2000  # about a quarter of a millisecond each
_MAX_HEIGHT = 60  # in sizes of the letters; what is higher was typeset wrongly
_SIZE = 24.0  # of the typeset letters; painting scales them
_X_HEIGHT = 0.473  # of the mathematical font, relative to its size
_COLOUR = "#010203"  # replaced by the colour of the text
_SHALLOW_DEPTH = 0.26  # relative to the size: the depth of ordinary letters
_MARGIN = 24  # pixels beside a displayed formula
_ROWS = frozenset(("math", "mrow", "mtd", "mtr"))


@dataclass(frozen=True)
class Formula:
    """A picture of a formula. Lengths are relative to the size of its letters."""

    svg: str
    width: float
    ascent: float  # above the base line
    depth: float  # below it

    @property
    def height(self) -> float:
        return self.ascent + self.depth


@functools.lru_cache(maxsize=1000)
def typeset(latex: str, *, display: bool) -> Formula | None:
    """Typeset a formula; return None if it is not LaTeX or the library does not support it."""
    element = to_mathml(latex, display=display)
    if element is None:
        return None
    try:
        return _typeset(element)
    except Exception:  # noqa: BLE001 - the library raises anything for invented LaTeX
        return None


def _typeset(element: ET.Element) -> Formula | None:
    from ziamath.zmath import Math  # noqa: PLC0415 - takes a third of a second

    _patch_library()
    if _num_parts(element) > _MAX_PARTS:
        return None
    element.set("mathcolor", _COLOUR)
    for character in "".join(element.itertext()):
        _add_glyph(character)
    math = Math(element, size=_SIZE, margin=0)
    box, svg = math.node.bbox, math.svgxml()
    svg.set("fill", _COLOUR)
    measures = (box.xmax - box.xmin, box.ymax, -box.ymin)
    formula = Formula(ET.tostring(svg, encoding="unicode"), *(measure / _SIZE for measure in measures))
    return formula if formula.width > 0 and 0 < formula.height < _MAX_HEIGHT else None


@functools.cache
def _patch_library() -> None:
    """Make the library write SVG that Qt can read, in a time proportional to the length of a formula."""
    from ziamath.config import config  # noqa: PLC0415
    from ziamath.nodes.mrow import Mrow  # noqa: PLC0415

    config.svg2 = False  # Qt does not support the symbols of SVG 2

    # WORKAROUND ziamath 0.13: a row typesets its content twice to measure its brackets, and so does each row inside it:
    # 2 to the power of the depth. A class with the tag of another replaces it.
    class _Row(Mrow, tag="mrow"):
        def _get_height_nostretch(self, line: list[ET.Element], **more: object) -> tuple[float, float]:
            return super()._get_height_nostretch(line, **more) if any(map(_is_stretchy, line)) else (0.0, 0.0)


def _is_stretchy(node: ET.Element) -> bool:
    """Return whether a node has brackets or other signs that are as high as their row."""
    from ziamath import operators  # noqa: PLC0415

    if node.tag == "mo":
        forms = (operators.get_params(node.text or "", form) for form in ("prefix", "infix", "postfix"))
        return node.get("stretchy") != "false" and (
            node.get("stretchy") is not None or any(each.get("stretchy", "false") != "false" for each in forms)
        )
    return node.tag not in _ROWS and any(map(_is_stretchy, node))


def _num_parts(node: ET.Element) -> int:
    """Return the number of parts that the library has to typeset."""
    inside = 1 + sum(map(_num_parts, node))
    return 2 * inside if node.tag in _ROWS and any(map(_is_stretchy, node)) else inside


def _add_glyph(character: str) -> None:
    """Add a character that the mathematical font lacks, such as a Chinese one, from a font of the system."""
    from ziafont.fonttypes import AdvanceWidth, BBox  # noqa: PLC0415
    from ziafont.glyph import SimpleGlyph  # noqa: PLC0415
    from ziamath.zmath import loadedfonts  # noqa: PLC0415

    font = loadedfonts["default"]
    if character.isspace() or font.glyphindex(character):
        return
    face = QFont()
    face.setPixelSize(font.info.layout.unitsperem)
    face.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    path = QPainterPath()
    path.addText(0, 0, face, character)
    upright = QTransform.fromScale(1, -1).map(path)
    box = upright.boundingRect()
    widths = font.advwidths
    widths += widths[-1:] * (font.info.header.numglyphs - len(widths))
    number = len(widths)
    widths.append(AdvanceWidth(round(QFontMetricsF(face).horizontalAdvance(character)), 0))
    frame = BBox(box.left(), box.right(), box.top(), box.bottom())
    font._glyphs[number] = SimpleGlyph(number, list(_outline(upright)), frame, font)  # noqa: SLF001
    font._glyphids[character] = number  # noqa: SLF001


def _outline(path: QPainterPath) -> "Iterator[SVGOpType]":
    from ziafont.svgpath import Cubic, Lineto, Moveto, Point  # noqa: PLC0415

    parts = [path.elementAt(number) for number in range(path.elementCount())]
    points = [Point(part.x, part.y) for part in parts]
    for number, part in enumerate(parts):
        if part.isMoveTo():
            yield Moveto(points[number])
        elif part.isLineTo():
            yield Lineto(points[number])
        elif part.isCurveTo():
            yield Cubic(*points[number : number + 3])


class FormulaObject(QPyTextObject):
    """The text object of a formula, painted in the colour of the text around it."""

    @staticmethod
    def format_of(written: str, base: QTextCharFormat, *, display: bool) -> QTextCharFormat | None:
        """Return the format that makes `SIGN` the formula `written` (with delimiters); None if it cannot be typeset."""
        latex = strip_delimiters(written)
        formula = typeset(latex, display=display)
        if formula is None:
            return None
        fmt = QTextCharFormat(base)
        fmt.setObjectType(OBJECT)
        fmt.setProperty(_LATEX, latex)
        fmt.setProperty(_DISPLAY, display)
        if _is_deep(formula) and not display:
            fmt.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
        return fmt

    def intrinsicSize(self, document: QTextDocument, _position: int, form: QTextFormat) -> QSizeF:
        """Return the size of a formula. A shallow one stands on the line and takes no room below it."""
        formula, size, display = _layout(document, form)
        if display:
            height = formula.height
        elif _is_deep(formula):
            middle = _middle_height(form) / size
            height = 2 * max(formula.ascent - middle, formula.depth + middle)
        else:
            height = formula.ascent
        return QSizeF(formula.width * size, height * size)

    def drawObject(
        self, painter: QPainter, rect: QRectF | QRect, document: QTextDocument, _position: int, form: QTextFormat
    ) -> None:
        """Paint a formula on the base line of the text."""
        formula, size, display = _layout(document, form)
        room = QRectF(rect)
        line = room.bottom()
        if display:
            line -= formula.depth * size
        elif _is_deep(formula):
            line = room.center().y() + _middle_height(form)
        colour = form.toCharFormat().foreground().color().name()
        place = QRectF(room.left(), line - formula.ascent * size, formula.width * size, formula.height * size)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _renderer(formula.svg, colour).render(painter, place)
        painter.restore()


def _is_deep(formula: Formula) -> bool:
    return formula.depth > _SHALLOW_DEPTH


def _middle_height(form: QTextFormat) -> float:
    """Return how far above the base line Qt places the middle of an object with AlignMiddle."""
    return QFontMetrics(form.toCharFormat().font()).xHeight() / 4


def _layout(document: QTextDocument, form: QTextFormat) -> tuple[Formula, float, bool]:
    """Return a formula, the size of its letters in pixels, and True if it has a line of its own.

    A formula with a line of its own shrinks to the width of the text.
    """
    display = bool(form.property(_DISPLAY))
    formula = typeset(str(form.property(_LATEX)), display=display)
    assert formula
    metrics = QFontMetricsF(form.toCharFormat().font(), document.documentLayout().paintDevice())
    size = metrics.xHeight() / _X_HEIGHT
    room = document.textWidth() - 2 * _MARGIN
    if display and 0 < room < formula.width * size:
        size = room / formula.width
    return formula, size, display


@functools.lru_cache(maxsize=200)
def _renderer(svg: str, colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(svg.replace(_COLOUR, colour).encode()))
