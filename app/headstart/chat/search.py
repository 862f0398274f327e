"""Words of texts and queries for full-text search, and their positions."""

import functools
import re
import unicodedata
from typing import NamedTuple

# Raise it when `words` changes its result: an index with another number is rebuilt.
VERSION = 2
AROUND = 60  # characters shown on each side of a hit

# These scripts have no spaces, so each character is a word, and a typed word is a phrase of characters. Thai and Lao,
# Burmese and Khmer are among them.
CJK = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
CJK_LETTER = re.compile(f"([{CJK}])")
RUN = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+")
# Full-text search drops symbols, so pictures get names. The selector after some of them only chooses colour.
_PICTURE = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
_SELECTOR = re.compile("[\ufe0e\ufe0f]")
# Accents, and the points of Hebrew and Arabic, which full-text search takes for spaces. Many leave them out.
_MARK = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0670]")
_QUOTED = re.compile(r'"([^"]*)"|(\S+)')
_SEARCHABLE = re.compile(r"[^\W_]")
_CASED = re.compile("[a-z]")
_VARIANTS = (range(0x2010, 0x2070), range(0xFE10, 0xFE70), range(0xFF01, 0xFF5F))  # blocks of Unicode
_SPACE = re.compile(r"\s+")
_TABLE = re.compile(r"\s*\|[\s|:-]*|\s+")
_SIGN = re.compile(r"[^\w\s\ufe0e\ufe0f]|_")


class Range(NamedTuple):
    """Code points `start` to `end` of a text."""

    start: int
    end: int


class Snippet(NamedTuple):
    """A stretch of a text around its first hit, on one line, and the hits in it."""

    text: str
    ranges: tuple[Range, ...]


def words(text: str) -> str:
    """Return `text` for the index: CJK characters apart, pictures by name, letters without accents, of normal width."""
    flat = _SELECTOR.sub("", plain(text))
    text = _PICTURE.sub(lambda match: f" picture{ord(match[0]):x} ", flat)
    return " ".join(CJK_LETTER.split(text))


def plain(text: str) -> str:
    """Return a text with letters of normal width, without accents and points."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _MARK.sub("", unicodedata.normalize("NFKD", text)))


def full_text_query(query: str) -> str:
    """Return the FTS5 expression of a query: all words, each as a beginning; "quoted words" exactly.

    Everything typed is text, never an operator. Empty if there are no words to look up.
    """
    phrases = [_phrase(term) for term in _terms(query)]
    return " ".join(phrase for phrase in phrases if phrase)


def any_word_query(question: str) -> str:
    """Return the FTS5 expression for any word of a question, CJK characters in pairs; empty if it has none."""
    runs = RUN.findall(plain(question))
    terms = dict.fromkeys(term for run in runs for term in (pairs(run) if CJK_LETTER.match(run) else [run]))
    return " OR ".join(f'"{term}"' for term in terms)


def pairs(run: str) -> list[str]:
    """Return the phrases of two characters in a run of CJK characters."""
    return [" ".join(run[start : start + 2]) for start in range(max(1, len(run) - 1))]


def literals(query: str) -> tuple[str, ...]:
    """Return the parts of a query with signs that the index drops ("C++", "a.b()"), which `holds` looks for."""
    chunks = (chunk for term in _terms(query) for chunk in term.text.split())
    return tuple(_normalize(chunk) for chunk in chunks if _SIGN.search(_PICTURE.sub("", chunk)))


def holds(text: str, literal: str) -> bool:
    """Return whether a text has one of `literals`.

    Rare signs must be looked for in every message, so this does no more to a text than the literal needs.
    """
    if not literal.isascii():
        return literal in _normalize(text)
    for variant, plain in () if text.isascii() else _variants(literal):
        text = text.replace(variant, plain)
    return literal in (text.lower() if _CASED.search(literal) else text)


def ranges(text: str, query: str) -> tuple[Range, ...]:
    """Return the positions of the words of a query in a text, in order and without overlap."""
    pattern = _pattern(query)
    return tuple(Range(*match.span()) for match in pattern.finditer(_fold(text))) if pattern else ()


def snippet(text: str, query: str) -> Snippet:
    """Return the text around the first hit; the beginning of the text if there is none."""
    pattern = _pattern(query)
    first = pattern.search(_fold(text)) if pattern else None
    start = max(first.start() - AROUND, 0) if first else 0
    end = min((first.end() if first else 0) + AROUND, len(text))
    gaps = _SPACE if "|" in query else _TABLE  # the bars of a table's cells mean nothing on one line
    excerpt = ("…" if start else "") + gaps.sub(" ", text[start:end]) + ("…" if end < len(text) else "")
    return Snippet(excerpt, ranges(excerpt, query))


class _Term(NamedTuple):
    text: str
    whole: bool  # quoted: exact, not the beginning of a word


def _terms(query: str) -> list[_Term]:
    terms = [_Term(quoted or bare, bool(quoted)) for quoted, bare in _QUOTED.findall(query.replace("\0", " "))]
    return [_Term(term.text.replace('"', " ").strip(), term.whole) for term in terms if term.text.strip('" ')]


def _phrase(term: _Term) -> str:
    spaced = " ".join(words(term.text).split())
    if not _SEARCHABLE.search(spaced):
        return ""
    ends_inside_word = not term.whole and not CJK_LETTER.match(spaced[-1])
    return f'"{spaced}"' + ("*" if ends_inside_word else "")


def _pattern(query: str) -> re.Pattern[str] | None:
    parts = [_term_pattern(term) for term in _terms(query)]
    # The longest first: of two alternatives that match, a regular expression takes the earlier.
    return re.compile("|".join(sorted(parts, key=len, reverse=True))) if parts else None


def _term_pattern(term: _Term) -> str:
    body = r"\s+".join(re.escape(word) for word in _fold(term.text).split())
    begins_word = _is_letter(term.text[0])
    ends_word = term.whole and _is_letter(term.text[-1])
    return (rf"(?<![^\W_{CJK}])" if begins_word else "") + body + (rf"(?![^\W_{CJK}])" if ends_word else "")


def _is_letter(character: str) -> bool:
    return bool(_SEARCHABLE.match(character)) and not CJK_LETTER.match(character)


def _normalize(text: str) -> str:
    """Return a text for comparison. Its length may differ."""
    if text.isascii():
        return text.lower()
    # Every message may have to be normalized for one query, and the check is faster.
    normalized = text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)
    return normalized.lower().replace("’", "'").replace("“", '"').replace("”", '"')


@functools.cache
def _variants(literal: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of a character and the signs or letters of an ASCII literal that it stands for.

    The characters are wide and small forms, curly quotes, and "…".
    """
    return tuple((variant, plain) for variant, plain in _ascii_variants() if set(plain) & set(literal))


@functools.cache
def _ascii_variants() -> tuple[tuple[str, str], ...]:
    flat = [(chr(code), _normalize(chr(code))) for block in _VARIANTS for code in block]
    return tuple((variant, plain) for variant, plain in flat if plain.isascii() and not plain.isspace())


class _FoldTable(dict[int, str]):
    """Table from each character to one small letter without accent, which keeps all positions."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        self[code] = letter if CJK_LETTER.match(letter) else unicodedata.normalize("NFD", letter)[0].lower()[0]
        return self[code]


_QUOTES = {ord("’"): "'", ord("“"): '"', ord("”"): '"'}
_WIDE = {code + 0xFEE0: chr(code).lower() for code in range(0x21, 0x7F) if chr(code).isalnum()}
_FOLD_TABLE = _FoldTable(_QUOTES | _WIDE)
_NEEDS_FOLDING = re.compile("[{}]".format("".join(map(chr, _QUOTES | _WIDE))))


def _fold(text: str) -> str:
    lower = text.lower()
    # Most texts have nothing to fold, and then this is twenty times faster.
    plain = len(lower) == len(text) and unicodedata.is_normalized("NFD", text) and not _NEEDS_FOLDING.search(text)
    return lower if plain else text.translate(_FOLD_TABLE)
