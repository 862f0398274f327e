"""The Unicode characters behind LaTeX command names: tables only."""

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
_RELATIONS = _table(
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
SYMBOLS = MappingProxyType({**_GREEK, **_RELATIONS, **_OPERATORS, **_OTHERS})

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
