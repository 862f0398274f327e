"""LaTeX as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.ui.markdown.mathematics import readable
from tests.junk import fuzz

CASES = {
    r"E = mc^2": "E = mc²",
    r"\frac{-b \pm \sqrt{b^2 - 4ac}}{2a}": "(−b ± √(b² − 4ac))/(2a)",
    r"\sum_{i=1}^{n} x_i^2": "∑ᵢ₌₁ⁿ xᵢ²",
    r"\int_0^\infty e^{-x^2}\,dx": "∫₀^∞ e^(−x²) dx",
    r"\mathbb{R}^n \to \mathcal{F}": "ℝⁿ → ℱ",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}": "(1\u20032; 3\u20034)",
    r"f(x) = \begin{cases} x & x > 0 \\ -x & \text{otherwise} \end{cases}": "f(x) = {x\u2003x > 0\n−x\u2003otherwise",
    r"\begin{aligned} a &= b \\ &= c \end{aligned}": "a = b\n= c",
    r"\hat{y} = \sigma(W^T x)": "ŷ = σ(Wᵀ x)",
    r"\left( \frac{1}{2} \right)": "(1/2)",
    r"\text{a_b} \% \{1\}": "a_b % {1}",
    r"90^\circ": "90°",
    r"\foo{x}": "\\foox",
    r"\sqrt[3]{x+1}": "∛(x + 1)",
    r"\lim_{x \to 0} \sin x": "lim_(x → 0) sin x",
    r"O(n \log n)": "O(n log n)",
}


@pytest.mark.parametrize("latex", CASES)
def test_formulas_read_as_text(latex: str) -> None:
    assert readable(latex) == CASES[latex]


@fuzz("formulas")
@given(st.text(alphabet="\\{}^_&$ab1+ frcsqtbeginend[]|'~-", max_size=60))
def test_nothing_breaks_the_reader(latex: str) -> None:
    assert "\0" not in readable(latex)


def test_depth_is_bounded() -> None:
    assert readable("{" * 5000 + "x" + "}" * 5000)
