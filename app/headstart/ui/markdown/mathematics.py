"""LaTeX formulas as readable Unicode text."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType


def _table(names: str, characters: str) -> dict[str, str]:
    """Space-separated names, one character each."""
    return dict(zip(names.split(), characters, strict=True))


_GREEK = _table(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega varepsilon vartheta varpi varrho varsigma varphi Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi "
    "Omega",
    "αβγδϵζηθικλμνξπρστυϕχψωεϑϖϱςφΓΔΘΛΞΠΣΥΦΨΩ",
)
_MATH_SYMBOLS_RELATIONS = _table(
    "leq le geq ge neq ne approx equiv sim simeq cong propto ll gg prec succ in notin ni subset subseteq supset "
    "supseteq mid parallel perp vdash models to rightarrow leftarrow gets leftrightarrow Rightarrow Leftarrow "
    "Leftrightarrow implies iff mapsto longrightarrow Longrightarrow uparrow downarrow hookrightarrow leqslant "
    "geqslant coloneqq triangleq doteq asymp longleftarrow impliedby",
    "≤≤≥≥≠≠≈≡∼≃≅∝≪≫≺≻∈∉∋⊂⊆⊃⊇∣∥⊥⊢⊨→→←←↔⇒⇐⇔⟹⟺↦⟶⟹↑↓↪≤≥≔≜≐≍⟵⟸",
)
_OPERATORS = _table(
    "times cdot div pm mp ast star circ bullet oplus otimes odot cup cap setminus wedge land vee lor neg lnot sum "
    "prod coprod int iint iiint oint partial nabla infty forall exists nexists emptyset varnothing angle degree "
    "prime hbar ell Re Im aleph wp top bot dagger ddagger cdots ldots dots vdots ddots therefore because triangle "
    "square blacksquare checkmark langle rangle lceil rceil lfloor rfloor lVert rVert Vert lvert rvert vert "
    "backslash bigcup bigcap bigoplus bigotimes bigvee bigwedge diamond dotsc dotsb qed Box surd",
    "×·÷±∓∗⋆∘•⊕⊗⊙∪∩∖∧∧∨∨¬¬∑∏∐∫∬∭∮∂∇∞∀∃∄∅∅∠°′ℏℓℜℑℵ℘⊤⊥†‡⋯…⋯⋮⋱∴∵△□■✓⟨⟩⌈⌉⌊⌋‖‖‖|||\\⋃⋂⨁⨂⋁⋀⋄…⋯∎□√",
)
_OTHERS = {
    "|": "‖",
    "{": "{",
    "}": "}",
    "lbrace": "{",
    "rbrace": "}",
    "bmod": " mod ",
    "mod": " mod ",
    "colon": ":",
    "imath": "ı",
    "jmath": "ȷ",
}
SYMBOLS = MappingProxyType({**_GREEK, **_MATH_SYMBOLS_RELATIONS, **_OPERATORS, **_OTHERS})

_FUNCTIONS = (
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp lim max min sup inf arg det dim ker deg "
    "gcd lcm Pr hom limsup liminf argmax argmin softmax sgn tr rank var Var Cov"
)
FUNCTIONS = frozenset(_FUNCTIONS.split())

SUPERSCRIPTS = MappingProxyType(
    dict(
        zip(
            "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWαβγδεθφχ",
            "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵅᵝᵞᵟᵋᶿᵠᵡ",
            strict=True,
        )
    )
)
SUBSCRIPTS = MappingProxyType(
    dict(
        zip(
            "0123456789+-−=()aehijklmnoprstuvxβγρφχ",
            "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ",
            strict=True,
        )
    )
)

ACCENTS = MappingProxyType(
    {
        "hat": "\u0302",
        "widehat": "\u0302",
        "bar": "\u0304",
        "overline": "\u0304",
        "tilde": "\u0303",
        "widetilde": "\u0303",
        "vec": "\u20d7",
        "overrightarrow": "\u20d7",
        "dot": "\u0307",
        "ddot": "\u0308",
        "check": "\u030c",
        "underline": "\u0332",
    }
)


def _alphabet(capital: int, small: int, exceptions: dict[str, str]) -> dict[int, str]:
    """Letters of a mathematical alphabet whose A and a have these code points; 0: it has none."""
    table = {ord("A") + index: chr(capital + index) for index in range(26)}
    if small:
        table |= {ord("a") + index: chr(small + index) for index in range(26)}
    return table | {ord(letter): shown for letter, shown in exceptions.items()}


_DOUBLE = dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True))
_SCRIPT = dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True))
_FRAKTUR = dict(zip("CHIRZ", "ℭℌℑℜℨ", strict=True))
ALPHABETS = MappingProxyType(
    {
        "mathbb": _alphabet(0x1D538, 0x1D552, _DOUBLE),
        "mathcal": _alphabet(0x1D49C, 0, _SCRIPT),
        "mathscr": _alphabet(0x1D49C, 0, _SCRIPT),
        "mathfrak": _alphabet(0x1D504, 0x1D51E, _FRAKTUR),
        "mathbf": _alphabet(0x1D400, 0x1D41A, {}),
    }
)


_TOKEN = re.compile(r"\\(?:[A-Za-z]+\*?|.|$)|[{}^_&~']|\s+|[^\\{}^_&~'\s]", re.S)
_DEPTH = 40  # deeper nesting is shown as written
_SPACES = {",": " ", ";": " ", ":": " ", " ": " ", "quad": "  ", "qquad": "    ", "!": "", "thinspace": " "}
_SILENT = {
    "left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr", "middle",
    "displaystyle", "textstyle", "scriptstyle", "limits", "nolimits", "boldsymbol", "mathstrut", "nonumber", "notag",
    "hline", "bm", "mathord", "mathrm", "mathit", "mathsf", "mathtt", "operatorname", "operatorname*", "mathop",
    "mathnormal", "ensuremath", "boxed", "underbrace", "overbrace", "rm", "it",
}  # fmt: skip
_TEXT = {"text", "textbf", "textit", "textrm", "texttt", "textsf", "textnormal", "mbox", "hbox"}
_FRACTIONS = {"frac", "dfrac", "tfrac", "cfrac"}
_OPENERS = {"matrix": "", "pmatrix": "(", "bmatrix": "[", "Bmatrix": "{", "vmatrix": "|", "Vmatrix": "‖", "cases": "{"}
_CLOSERS = {"pmatrix": ")", "bmatrix": "]", "Bmatrix": "}", "vmatrix": "|", "Vmatrix": "‖"}
_AS = {"&": "\u2003", "~": " ", "'": "′", "-": "−"}  # a wide space keeps columns apart
_ATOM = re.compile(r"√?(?:\d[\d.,]*|\w)[²³¹⁰-₟ᵢ-ᵪ′°]*$|[^\W\d_]{3,}$|\S$")
_RELATIONS = frozenset("=≠≈≡≤≥<>∈∉⊂⊆∼≅∝→⇒⇔↦⟹+±×·÷∪∩∧∨≪≫⟺↔←")


def readable(latex: str) -> str:
    r"""`latex` (no dollars) as text: "\frac{a}{b}" gives "a/b", "x^2" gives "x²"; unknown commands keep their name."""
    return _tidy(_Formula(latex).run())


class _Formula:
    """One pass over the tokens of a formula."""

    def __init__(self, latex: str) -> None:
        self._tokens = _TOKEN.findall(latex)
        self._at = 0
        self._depth = 0

    def run(self) -> str:
        parts = []
        while self._at < len(self._tokens):
            parts.append(self._sequence(None))
            self._at += 1  # an unmatched closing brace or \end
        return "".join(parts)

    def _sequence(self, closing: str | None) -> str:
        r"""Everything up to `closing` ("}", "]" or "\end"), which stays unread."""
        parts: list[str] = []
        while self._at < len(self._tokens):
            piece = self._tokens[self._at]
            if piece == closing or (piece in {"}", "\\end"} and (closing or piece == "}")):
                break
            if piece in {"^", "_"}:
                self._at += 1
                parts.append(_script(piece, self._argument(), "".join(parts)))
            else:
                parts.append(self._item())
        return "".join(parts)

    def _item(self) -> str:
        piece = self._next()
        if piece == "{":
            return self._group("}")
        if piece.startswith("\\"):
            return self._command(piece[1:])
        if piece in _AS:
            return _AS[piece]
        if piece.isspace():
            return " "
        return f" {piece} " if piece in _RELATIONS else piece

    def _next(self) -> str:
        piece = self._tokens[self._at] if self._at < len(self._tokens) else ""
        self._at += 1
        return piece

    def _group(self, closing: str) -> str:
        self._depth += 1
        inside = "".join(self._verbatim(closing)) if self._depth > _DEPTH else self._sequence(closing)
        self._depth -= 1
        self._at += 1
        return inside

    def _verbatim(self, closing: str) -> Iterator[str]:
        """Tokens as written up to `closing`, groups inside skipped over."""
        level = 0
        while self._at < len(self._tokens):
            piece = self._tokens[self._at]
            level += (piece == "{") - (piece == "}" and closing == "}")
            if piece == closing and level <= 0 - (closing == "}"):
                return
            yield piece
            self._at += 1

    def _argument(self) -> str:
        while self._at < len(self._tokens) and self._tokens[self._at].isspace():
            self._at += 1
        if self._at >= len(self._tokens) or self._tokens[self._at] in {"}", "&"}:
            return ""
        return self._item().strip()

    def _raw_argument(self) -> str:
        if self._at >= len(self._tokens) or self._tokens[self._at] != "{":
            return self._next()
        self._at += 1
        text = "".join(self._verbatim("}"))
        self._at += 1
        return text

    def _optional(self) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at] == "[":
            self._at += 1
            return self._group("]")
        return ""

    def _command(self, name: str) -> str:
        if name in SYMBOLS:
            symbol = SYMBOLS[name]
            return f" {symbol} " if symbol in _RELATIONS else symbol
        if name in ALPHABETS:
            return self._argument().translate(ALPHABETS[name])
        if name in ACCENTS:
            return _accented(self._argument(), ACCENTS[name])
        structure = self._structures.get(name)
        return structure(self) if structure else self._plain(name)

    def _letter_space(self, name: str) -> str:
        follows = self._tokens[self._at : self._at + 1]
        return f" {name} " if follows and (follows[0].isalnum() or follows[0].startswith("\\")) else name

    def _plain(self, name: str) -> str:
        if name in _SPACES:
            return _SPACES[name]
        if name in _SILENT:
            if name in {"left", "right"} and self._tokens[self._at : self._at + 1] == ["."]:
                self._at += 1
            return ""
        if name in FUNCTIONS:
            return self._letter_space(name)
        return f"\\{name}" if name.isalpha() else name

    def _break(self) -> str:
        return "\n"

    def _tag(self) -> str:
        return f"  ({self._raw_argument()})"

    def _forget(self) -> str:
        self._raw_argument()
        return ""

    def _modulo(self) -> str:
        return f" (mod {self._argument()})"

    def _binomial(self) -> str:
        return f"C({self._argument()}, {self._argument()})"

    def _fraction(self) -> str:
        above, below = self._argument(), self._argument()
        return f"{_wrapped(above)}/{_wrapped(below)}"

    def _root(self) -> str:
        degree = self._optional()
        sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(degree) or f"{_script('^', degree, '')}√"
        inside = self._argument()
        return sign + (inside if len(inside) == 1 or inside.isdigit() else f"({inside})")

    def _environment(self) -> str:
        name = self._raw_argument().rstrip("*")
        if name in {"array", "tabular"}:
            self._raw_argument()
        inside = self._sequence("\\end")
        if self._at < len(self._tokens):
            self._at += 1
            self._raw_argument()
        if name not in _OPENERS:
            return inside.replace(_AS["&"], " ")
        rows = [row.strip() for row in inside.split("\n") if row.strip()]
        glue = "\n  " if name == "cases" else "; "
        return f"{_OPENERS[name]}{glue.join(rows)}{_CLOSERS.get(name, '')}"

    _structures: Mapping[str, Callable[["_Formula"], str]] = {
        **dict.fromkeys(_TEXT, _raw_argument),
        **dict.fromkeys(_FRACTIONS, _fraction),
        **dict.fromkeys(("\\", "newline", "cr"), _break),
        **dict.fromkeys(("label", "end"), _forget),
        "binom": _binomial,
        "sqrt": _root,
        "begin": _environment,
        "tag": _tag,
        "pmod": _modulo,
    }


def _script(sign: str, text: str, before: str) -> str:
    if not text:
        return sign
    table = SUPERSCRIPTS if sign == "^" else SUBSCRIPTS
    if text in {"′", "′′", "°", "∘"} and sign == "^":
        return "°" if text in {"∘", "°"} else text
    compact = text.replace(" ", "")
    if all(character in table for character in compact):
        return "".join(table[character] for character in compact)
    if before.rstrip().endswith(("lim", "max", "min", "sup", "inf", "arg")) or len(text) > 1:
        return f"{sign}({text})"
    return sign + text


def _wrapped(text: str) -> str:
    return text if _ATOM.match(text) else f"({text})"


def _accented(text: str, mark: str) -> str:
    marked = f"{text[:1]}{mark}{text[1:]}" if text.isalpha() else text
    return unicodedata.normalize("NFC", marked)


def _tidy(text: str) -> str:
    lines = (re.sub(r"[ \t]+", " ", line).strip(" ") for line in text.split("\n"))
    joined = "\n".join(line for line in lines if line)
    return re.sub(r"(?<=[(\[]) | (?=[)\],;.])| (?=\u2003)|(?<=\u2003) ", "", joined)
