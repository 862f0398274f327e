"""The tokens that a draft guesses among: counted in the texts of a finished target, then ranked.

Minutes of writing contain only a few thousand tokens, but at each place the target also gives probabilities to other
tokens. The ranking trusts these most; then what was written; then the order of ids, since merges were made by
frequency; and a little the code and documentation of the installed Python packages, which have identifiers.
"""

import re
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILE_NAME = "draft_vocab.npy"
MIN_ENTRIES = 65536  # entries in the file at least, so that other lengths can be tried

# Of several weights tried, these left the fewest tokens of other texts out of 64k rows: 1.1 % of the target's answers
# to other prompts, 2.2 % in the mean of answers, JavaScript, Markdown, Chinese and licences; without ids it was 3.4 %.
_WRITTEN, _ALTERNATIVES, _TEXTS, _BY_ID = 0.32, 0.4, 0.08, 0.2
_FLATNESS = 1000  # the share by id is 1 / (id + this)
_PATTERNS = ("*.dist-info/METADATA", "*/*.py", "*/*/*.py", "*/*.md", "*/*.rst")
_MAX_FILES = 300  # for each pattern
_MAX_CHARACTERS = 20_000  # characters of one file
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")

Shares = NDArray[np.float64]  # [vocabulary], or one more axis before


def rank(tokenizer: Any, counts: Shares, texts: Iterable[str]) -> list[int]:
    """Return all ids of the vocabulary, ranked: first the indispensable ones, then by expected share.

    `counts`: [2, vocabulary], of written tokens and of their alternatives. `texts`: further ones to count.
    """
    pieces = {index: piece for piece, index in tokenizer.get_vocab().items()}
    size = max(pieces) + 1
    written_shares, alternative_shares = (_shares(row[:size]) for row in counts)
    id_shares = _shares(1 / (np.arange(size) + _FLATNESS))
    expected = _WRITTEN * written_shares + _ALTERNATIVES * alternative_shares + _BY_ID * id_shares
    expected += _TEXTS * _shares(_count_tokens(tokenizer, texts, size))
    special = set(tokenizer.added_tokens_decoder)
    is_optional = [index not in special and not _is_basic(pieces.get(index, ""), tokenizer) for index in range(size)]
    order = np.lexsort((np.arange(size), -expected, np.array(is_optional)))
    return [int(index) for index in order if int(index) in pieces]


def write(ranked: list[int], rows: int, folder: Path) -> None:
    """Write the first `rows` ids of a ranking into a model folder."""
    np.save(folder / FILE_NAME, np.array(ranked[: max(rows, MIN_ENTRIES)], np.int32))


def listed_tokens(path: Path) -> list[int]:
    """Return the tokens that the repository lists for a recipe, by rising id. The file has a bit for each token."""
    flags = np.unpackbits(np.load(path))
    return [int(index) for index in np.flatnonzero(flags)]


def texts_at_hand() -> Iterator[str]:
    """Yield documentation and code of the installed packages, in a fixed order."""
    for root in (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")):
        for pattern in _PATTERNS:
            for path in sorted(root.glob(pattern))[:_MAX_FILES]:
                yield path.read_text(encoding="utf-8", errors="replace")[:_MAX_CHARACTERS]


def _count_tokens(tokenizer: Any, texts: Iterable[str], size: int) -> Shares:
    counts = np.zeros(size)
    for text in texts:
        np.add.at(counts, tokenizer(text, add_special_tokens=False).input_ids, 1.0)
    return counts


def _shares(counts: Shares) -> Shares:
    shares: Shares = counts / max(float(counts.sum()), 1.0)
    return shares


def _is_basic(piece: str, tokenizer: Any) -> bool:
    """Return True if a piece is a byte, a digit or white space, from which any text can be written."""
    text = tokenizer.convert_tokens_to_string([piece])
    return len(piece) == 1 or bool(_BYTE.fullmatch(piece)) or text.isspace() or text.isdigit()
