"""The tokens that a draft guesses among: counted where a finished target writes, then ranked.

Minutes of writing name only a few thousand tokens, but at each place the target also says what else it might have
written, which names the others. In the ranking most trust goes to these, less to the order of ids (merges were made by
frequency, and counts name few of the words that each text has for itself), a little to text at hand (code and
documentation of Python and its packages), which names identifiers.
"""

import re
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILE_NAME = "draft_vocab.npy"
LONGEST = 65536  # entries written at least, so that other lengths can be tried

# Of several shares tried, these left the fewest tokens of other texts out of 64k rows: 1.1 % of what the target wrote
# to other prompts, 2.2 % in the mean of answers, JavaScript, Markdown, Chinese and licences; without ids it was 3.4 %.
_WRITTEN, _CHANCES, _FOUND, _MERGED = 0.32, 0.4, 0.08, 0.2
_FLATNESS = 1000  # of the share by id, 1 / (id + this)
_PATTERNS = ("*.dist-info/METADATA", "*/*.py", "*/*/*.py", "*/*.md", "*/*.rst")
_FILES_EACH = 300  # of a pattern
_LONGEST_TEXT = 20_000  # characters of one file
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")

Shares = NDArray[np.float64]  # [vocabulary], or one more axis before


def rank(tokenizer: Any, counts: Shares, found: Iterable[str]) -> list[int]:
    """Return all ids of the vocabulary: first those that must not be missing, then by expected share."""
    pieces = {index: piece for piece, index in tokenizer.get_vocab().items()}
    size = max(pieces) + 1
    written, chances = (_shares(each[:size]) for each in counts)
    merged = _shares(1 / (np.arange(size) + _FLATNESS))
    expected = _WRITTEN * written + _CHANCES * chances + _MERGED * merged
    expected += _FOUND * _shares(_counted(tokenizer, found, size))
    special = set(tokenizer.added_tokens_decoder)
    missed = [index not in special and not _is_basic(pieces.get(index, ""), tokenizer) for index in range(size)]
    order = np.lexsort((np.arange(size), -expected, np.array(missed)))
    return [int(index) for index in order if int(index) in pieces]


def write(ranked: list[int], rows: int, folder: Path) -> None:
    """Write the beginning of a ranking into a model folder."""
    np.save(folder / FILE_NAME, np.array(ranked[: max(rows, LONGEST)], np.int32))


def texts_at_hand() -> Iterator[str]:
    """Documentation and code of the packages of this Python; the same ones at each call."""
    for root in (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")):
        for pattern in _PATTERNS:
            for path in sorted(root.glob(pattern))[:_FILES_EACH]:
                yield path.read_text(encoding="utf-8", errors="replace")[:_LONGEST_TEXT]


def _counted(tokenizer: Any, texts: Iterable[str], size: int) -> Shares:
    counts = np.zeros(size)
    for text in texts:
        np.add.at(counts, tokenizer(text, add_special_tokens=False).input_ids, 1.0)
    return counts


def _shares(counts: Shares) -> Shares:
    shares: Shares = counts / max(float(counts.sum()), 1.0)
    return shares


def _is_basic(piece: str, tokenizer: Any) -> bool:
    """Bytes, digits and white space: whatever cannot be written otherwise is written with these."""
    text = tokenizer.convert_tokens_to_string([piece])
    return len(piece) == 1 or bool(_BYTE.fullmatch(piece)) or text.isspace() or text.isdigit()
