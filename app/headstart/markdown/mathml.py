"""Formulas in LaTeX, converted to MathML."""

import re
import xml.etree.ElementTree as ET

_MAX_LENGTH = 4000  # characters; readable formulas have a few hundred
_NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'
_DELIMITERS = {"$$": 2, "\\[": 2, "\\(": 2}
# LaTeX that the library omits, numbers across the whole program or sets without space.
_REWRITES = (
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
_BINARY = frozenset("∪∩∧∨∖⊕⊗⊙")  # the library sets them as letters
_LARGE = frozenset("∑∏∐⋃⋂⨁⨂⋁⋀")
_COMMAND = re.compile(r"\\[A-Za-z]")


def strip_delimiters(written: str) -> str:
    r"""Remove the delimiters of a formula: "$x$" gives "x"."""
    around = _DELIMITERS.get(written[:2], 1)
    return written[around:-around].strip()


def to_mathml(latex: str, *, display: bool) -> ET.Element | None:
    """Return a formula as MathML without a namespace; None if it is not LaTeX or the library does not support it."""
    if len(latex) > _MAX_LENGTH:
        return None
    try:
        element = _convert(latex, display=display)
    except Exception:  # noqa: BLE001 - the library raises anything for invented LaTeX
        return None
    return None if any(_COMMAND.match(node.text or "") for node in element.iter()) else element


def _convert(latex: str, *, display: bool) -> ET.Element:
    from ziamath.tex import tex2mml  # noqa: PLC0415 - takes a third of a second

    for pattern, instead in _REWRITES:
        latex = pattern.sub(instead, latex)
    element = ET.fromstring(tex2mml(latex, inline=not display).replace(_NAMESPACE, ""))  # noqa: S314 - written by the library
    for node in element.iter():
        _fix_node(node, display=display)
    return element


def _fix_node(node: ET.Element, *, display: bool) -> None:
    """Turn letters that are binary operators into operators, and put the index of a displayed sum below it."""
    if node.tag == "mi" and node.text in _BINARY:
        node.tag = "mo"
    elif display and node.tag == "msub" and node[0].text in _LARGE:
        node.tag = "munder"
