"""LaTeX formulas set in type, and the object of a document that paints one."""

import functools
import re
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

if TYPE_CHECKING:
    from ziafont.svgpath import SVGOpType

OBJECT = QTextFormat.ObjectTypes.UserObject.value + 1
SIGN = "\ufffc"  # stands in a document where an object is
_LATEX = QTextFormat.Property.UserProperty.value + 10  # of the object's format, without the signs around it
_DISPLAY = _LATEX + 1

_LONGEST = 4000  # characters; a formula that a person can read has a few hundred
_MOST = 2000  # parts; about a quarter of a millisecond each
_LARGEST = 60  # times the size of the letters; what is larger was set wrongly
_SIZE = 24.0  # at which formulas are set; they are scaled when they are painted
_X_HEIGHT = 0.473  # of the mathematical font, in its size
_NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'
_COLOUR = "#010203"  # replaced by the colour of the text
_DELIMITERS = {"$$": 2, "\\[": 2, "\\(": 2}
# What the library leaves out, numbers through the program, or sets without space.
_REWRITTEN = (
    (re.compile(r"\\(?:nonumber|notag)(?![A-Za-z])|\\label\s*\{[^{}]*\}"), ""),
    (re.compile(r"\\tag\*?\s*\{([^{}]*)\}"), r"\\qquad\\text{(\1)}"),
    (re.compile(r"\\begin\s*\{alignat\*?\}\s*\{\d\}"), r"\\begin{align*}"),
    (re.compile(r"\\end\s*\{alignat\*?\}"), r"\\end{align*}"),
    (re.compile(r"\\(begin|end)\s*\{(align|gather|equation|multline)\}"), r"\\\1{\2*}"),
    (re.compile(r"\\begin\s*\{eqnarray\*?\}"), r"\\begin{array}{rcl}"),
    (re.compile(r"\\end\s*\{eqnarray\*?\}"), r"\\end{array}"),
    (
        re.compile(r"\\mathop\s*\{\s*\\(?:mathrm|rm|text|operatorname)\s*\{?([A-Za-z ]+)\}?\s*\}"),
        r"\\operatorname*{\1}",
    ),
    (re.compile(r"\\bmod(?![A-Za-z])"), r"\\;\\mathrm{mod}\\;"),
)
_SHALLOW = 0.26  # of the size: no deeper than the letters around it
_MARGIN = 24  # pixels beside a formula with lines of its own
_BINARY = frozenset("∪∩∧∨∖⊕⊗⊙")  # the library would set them as letters
_LARGE = frozenset("∑∏∐⋃⋂⨁⨂⋁⋀")
_ROWS = frozenset(("math", "mrow", "mtd", "mtr"))
_COMMAND = re.compile(r"\\[A-Za-z]")


@dataclass(frozen=True)
class Formula:
    """A picture of a formula. Its measures are in sizes of its letters; `ascent` and `depth` count from the line."""

    svg: str
    width: float
    ascent: float
    depth: float

    @property
    def height(self) -> float:
        """From its deepest to its highest point."""
        return self.ascent + self.depth


def latex_of(written: str) -> str:
    r"""A formula without the signs that delimit it: "$x$" gives "x"."""
    around = _DELIMITERS.get(written[:2], 1)
    return written[around:-around].strip()


@functools.lru_cache(maxsize=1000)
def typeset(latex: str, *, display: bool) -> Formula | None:
    """Nothing if this is no LaTeX, or such as the library does not know."""
    if len(latex) > _LONGEST:
        return None
    try:
        return _set(latex, display=display)
    except Exception:  # noqa: BLE001 - the library trips over what a model invents in any way that Python has
        return None


def _set(latex: str, *, display: bool) -> Formula | None:
    from ziamath.tex import tex2mml  # noqa: PLC0415
    from ziamath.zmath import Math  # noqa: PLC0415 - takes a third of a second, which chats without formulas need not spend

    _prepare()
    for pattern, instead in _REWRITTEN:
        latex = pattern.sub(instead, latex)
    element = ET.fromstring(tex2mml(latex, inline=not display).replace(_NAMESPACE, ""))  # noqa: S314 - what the library just wrote
    for node in element.iter():
        _mend(node, display=display)
    is_known = not any(_COMMAND.match(node.text or "") for node in element.iter())
    if not is_known or _effort(element) > _MOST:
        return None
    element.set("mathcolor", _COLOUR)
    for character in "".join(element.itertext()):
        _provide(character)
    made = Math(element, size=_SIZE, margin=0)
    box, svg = made.node.bbox, made.svgxml()
    svg.set("fill", _COLOUR)
    measures = (box.xmax - box.xmin, box.ymax, -box.ymin)
    found = Formula(ET.tostring(svg, encoding="unicode"), *(measure / _SIZE for measure in measures))
    return found if found.width > 0 and 0 < found.height < _LARGEST else None


@functools.cache
def _prepare() -> None:
    """Have the library write what Qt can read, in a time that grows with the length of a formula."""
    from ziamath.config import config  # noqa: PLC0415
    from ziamath.nodes.mrow import Mrow  # noqa: PLC0415

    config.svg2 = False  # Qt does not know how SVG 2 uses symbols

    # WORKAROUND ziamath 0.13: a row sets all that is in it twice, to see how high its brackets are, and so does each
    # row in it: 2 to the power of their depth. A class with the tag of another takes its place.
    class _Row(Mrow, tag="mrow"):
        def _get_height_nostretch(self, line: list[ET.Element], **more: object) -> tuple[float, float]:
            return super()._get_height_nostretch(line, **more) if any(map(_stretches, line)) else (0.0, 0.0)


def _stretches(node: ET.Element) -> bool:
    """Whether this has brackets, or other signs, that are as high as the row in which they stand."""
    from ziamath import operators  # noqa: PLC0415

    if node.tag == "mo":
        known = (operators.get_params(node.text or "", form) for form in ("prefix", "infix", "postfix"))
        return node.get("stretchy") != "false" and (
            node.get("stretchy") is not None or any(each.get("stretchy", "false") != "false" for each in known)
        )
    return node.tag not in _ROWS and any(map(_stretches, node))


def _effort(node: ET.Element) -> int:
    """How many parts the library has to set."""
    inside = 1 + sum(map(_effort, node))
    return 2 * inside if node.tag in _ROWS and any(map(_stretches, node)) else inside


def _mend(node: ET.Element, *, display: bool) -> None:
    """What the library sets as a letter is a sign between two others, and what stands below a sum stays in reach."""
    if node.tag == "mi" and node.text in _BINARY:
        node.tag = "mo"
    elif display and node.tag == "msub" and node[0].text in _LARGE:
        node.tag = "munder"


def _provide(character: str) -> None:
    """Have the mathematical font take a letter that it lacks, such as a Chinese one, from the fonts of the system."""
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
    """Gives formulas their room in a document, and paints them in the colour of the text around them."""

    @staticmethod
    def format_of(written: str, base: QTextCharFormat, *, display: bool) -> QTextCharFormat | None:
        """What makes `SIGN` a formula, given with its delimiters; nothing if it cannot be set in type."""
        latex = latex_of(written)
        formula = typeset(latex, display=display)
        if formula is None:
            return None
        made = QTextCharFormat(base)
        made.setObjectType(OBJECT)
        made.setProperty(_LATEX, latex)
        made.setProperty(_DISPLAY, display)
        if _is_deep(formula) and not display:
            made.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
        return made

    def intrinsicSize(self, document: QTextDocument, _position: int, form: QTextFormat) -> QSizeF:  # noqa: N802
        """The room for a formula; what hardly reaches below the line stands on it and takes no room there."""
        formula, size, display = _shown(document, form)
        if display:
            height = formula.height
        elif _is_deep(formula):
            middle = _middle(form) / size
            height = 2 * max(formula.ascent - middle, formula.depth + middle)
        else:
            height = formula.ascent
        return QSizeF(formula.width * size, height * size)

    def drawObject(  # noqa: N802
        self, painter: QPainter, rect: QRectF | QRect, document: QTextDocument, _position: int, form: QTextFormat
    ) -> None:
        """Paint a formula with its foot on that of the letters."""
        formula, size, display = _shown(document, form)
        room = QRectF(rect)
        line = room.bottom()
        if display:
            line -= formula.depth * size
        elif _is_deep(formula):
            line = room.center().y() + _middle(form)
        colour = form.toCharFormat().foreground().color().name()
        place = QRectF(room.left(), line - formula.ascent * size, formula.width * size, formula.height * size)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _renderer(formula.svg, colour).render(painter, place)
        painter.restore()


def _is_deep(formula: Formula) -> bool:
    return formula.depth > _SHALLOW


def _middle(form: QTextFormat) -> float:
    """How far the middle of an object that Qt aligns by its middle is above the line."""
    return QFontMetrics(form.toCharFormat().font()).xHeight() / 4


def _shown(document: QTextDocument, form: QTextFormat) -> tuple[Formula, float, bool]:
    """A formula, its size in pixels, and whether it has lines of its own: there it shrinks to the width of the text."""
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
