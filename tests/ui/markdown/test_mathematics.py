"""Formulas set in type: what can be set, how it stands in the line, what is copied, and what stays text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from headstart.markdown.parser import MarkdownStream, parse
from headstart.ui.markdown.document import DocumentWriter, Formats
from headstart.ui.markdown.mathematics import SIGN, typeset
from headstart.ui.transcript.message import MessageContent
from headstart.ui.transcript.message_view import MessageView
from headstart.ui.widgets import theme
from headstart.ui.widgets.theme import DARK, LIGHT, Theme
from tests.support.junk import fuzz

COMMON = (
    r"E = mc^2",
    r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",
    r"\sum_{n=1}^{\infty} \frac{1}{n^2} = \frac{\pi^2}{6}",
    r"\int_0^\infty e^{-x^2}\,dx",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
    r"\begin{bmatrix} 1 & 2 & 3 \\ 4 & 5 & 6 \end{bmatrix}",
    r"f(x) = \begin{cases} x & x \ge 0 \\ -x & \text{otherwise} \end{cases}",
    r"\begin{align} a &= b + c \\ d &= e - f \end{align}",
    r"\begin{aligned} a &= b \\ &= c \end{aligned}",
    r"\begin{eqnarray} a &=& b \\ c &=& d \end{eqnarray}",
    r"\left[ \sum_{i} x_i \right]",
    r"\left. \frac{df}{dx} \right|_{x=0}",
    r"\hat{\theta} = \arg\max_\theta \mathcal{L}(\theta)",
    r"\mathop{\mathrm{argmin}}_{x} f(x)",
    r"\underbrace{a + b}_{n\text{ terms}} \quad \boxed{x = 42}",
    r"a \equiv b \pmod{n}, \quad a \bmod b",
    r"E = mc^2 \tag{1} \label{eq:energy}",
    r"\text{速度} = \frac{\text{距离}}{\text{时间}}",
    r"\nabla \times \mathbf{B} = \mu_0 \mathbf{J}",
    r"90^\circ, \; 50\%, \; \{1, 2\}, \; \$5",
)


@pytest.mark.parametrize("display", [False, True])
@pytest.mark.parametrize("latex", COMMON)
def test_usual_formulas_are_typeset(qapp: QApplication, latex: str, display: bool) -> None:
    formula = typeset(latex, display=display)
    assert formula
    assert 1 < formula.width < 30
    assert 0.4 < formula.height < 6


@pytest.mark.parametrize(
    "latex", ["", r"\frac{a}{", "x^{", r"\left(x\right", r"\foo{x}", r"\ce{H2O}", "x & y", "x" * 5000]
)
def test_unsupported_formula_is_refused(qapp: QApplication, latex: str) -> None:
    assert typeset(latex, display=True) is None


def test_formula_loses_no_text(qapp: QApplication) -> None:
    """The library drops the name of an operator in an operator, and draws no letter that its font lacks."""
    named, bare = (typeset(latex, display=True) for latex in (r"\mathop{\mathrm{argmin}}_{x} f", r"{}_{x} f"))
    assert named
    assert bare
    assert named.width > bare.width + 1
    # The mathematical font lacks these, DejaVu has them. A machine need not have a Chinese font.
    first, other = (typeset(rf"\text{{{letter}}}", display=True) for letter in "աբ")
    assert first
    assert other
    assert first.svg != other.svg


@fuzz("formulas")
@given(st.text(alphabet="\\{}^_&$ab1+ frcsqtbeginend[]|'~-", max_size=60))
def test_any_formula_is_typeset_or_refused(qapp: QApplication, latex: str) -> None:
    formula = typeset(latex, display=True)
    assert formula is None or formula.width > 0


@pytest.mark.parametrize(
    ("latex", "is_set"),
    [
        ("{" * 2000 + "x" + "}" * 1990, False),
        (r"\frac" * 700 + "ab", False),
        (r"\left(" * 40 + "x" + r"\right)" * 40, False),
        ("x^2+" * 900 + "1", False),
        (r"\frac{" * 60 + "x" + "}{y}" * 60, True),
    ],
)
def test_nested_formula_ends(qapp: QApplication, latex: str, is_set: bool) -> None:
    # The library by itself would take 2 to the power of 60 steps for the last.
    assert (typeset(latex, display=True) is not None) == is_set


def _document(source: str, look: Theme = LIGHT, width: float = 400) -> QTextDocument:
    document = QTextDocument()
    font = QFont("DejaVu Sans", 20)
    document.setDefaultFont(font)
    document.setDocumentMargin(0)
    document.setTextWidth(width)
    DocumentWriter(document, Formats(look, font)).show(parse(source))
    return document


def _ink(document: QTextDocument, colour: str, room: QRectF) -> set[tuple[int, int]]:
    """Return the number of pixels near a colour in the painted document."""
    size = document.size().toSize()
    image = QImage(size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    document.drawContents(painter)
    painter.end()
    wanted = QColor(colour).lightness()
    area = room.toRect().intersected(image.rect())
    return {
        (x, y)
        for x in range(area.left(), area.right() + 1)
        for y in range(area.top(), area.bottom() + 1)
        if image.pixelColor(x, y).alpha() > 200 and abs(image.pixelColor(x, y).lightness() - wanted) < 40
    }


@pytest.mark.parametrize("look", [LIGHT, DARK])
@pytest.mark.parametrize("formula", ["$H$", r"$\frac{1}{1}H$"])
def test_formula_has_baseline_and_colour_of_the_text(qapp: QApplication, look: Theme, formula: str) -> None:
    document = _document(f"H {formula}", look)
    left = QFontMetricsF(document.defaultFont()).horizontalAdvance("H")
    everything = QRectF(0, 0, 400, 400)
    letter = _ink(document, look.text, QRectF(0, 0, left, 400))
    drawn = _ink(document, look.text, everything) - letter
    assert letter
    assert drawn
    right = max(x for x, _ in drawn)
    foot = max(y for x, y in drawn if x > right - 6)  # the H at the end
    assert abs(foot - max(y for _, y in letter)) <= 1


def test_wide_formula_shrinks(qapp: QApplication) -> None:
    written = "$$" + " + ".join(f"a_{{{n}}}" for n in range(60)) + "$$"
    document = _document(written)
    assert document.idealWidth() <= 400
    assert document.size().width() <= 400


@pytest.mark.parametrize("cut", [1, 3])
def test_open_formula_is_text(qapp: QApplication, cut: int) -> None:
    document = QTextDocument()
    writer, stream = DocumentWriter(document, Formats(LIGHT, QFont())), MarkdownStream()
    source = r"so $\frac{a}{b}$ is"
    for at in range(0, len(source), cut):
        stream_first = stream.append(source[at : at + cut])
        writer.show(stream.blocks, stream_first, stream.source)
        closed = stream.source.count("$") == 2
        assert (SIGN in document.toPlainText()) == closed
        assert closed or document.toPlainText() == stream.source.rstrip()


def test_unsupported_formula_is_shown_as_written(qapp: QApplication) -> None:
    assert _document(r"so $\foo{x}$ is").toPlainText() == r"so $\foo{x}$ is"
    assert _document("$$\n\\foo{x}\n$$").toPlainText() == "$$\n\\foo{x}\n$$"


def test_formulas_are_copied_as_latex(qtbot: QtBot) -> None:
    source = "**So** $E = mc^2$ and \\(a_i\\):\n\n$$\n\\frac{a}{b}\n$$\n\n- $x$"
    view = MessageView(LIGHT, theme.text_font(10))
    qtbot.addWidget(view)
    view.set_message(MessageContent("a", "assistant", source))
    view.set_width(700)
    text = view._text
    text.selectAll()
    assert SIGN in text.toPlainText()
    assert text.selected_text() == "So $E = mc^2$ and \\(a_i\\):\n$$\n\\frac{a}{b}\n$$\n$x$"
    assert text.selected_markdown() == source
    assert view.plain_text() == "So $E = mc^2$ and \\(a_i\\):\n\n$$\n\\frac{a}{b}\n$$\n\n- $x$"
