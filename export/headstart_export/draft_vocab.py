"""The tokens that a draft guesses among: counted where a finished target writes, then ranked.

The target reads its answers to a committed set of prompts again: minutes of writing name only a few thousand tokens,
but at each place the model also says what else it might have written, which names the others. In the ranking most trust
goes to these, less to the order of ids (merges were made by frequency, and counts name few of the words that each text
has for itself), a little to text at hand (code and documentation of Python and its packages), which names identifiers.
"""

import re
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.errors import Translatable
from headstart_export import process, quality
from headstart_export.answers import Text
from headstart_export.convert import MODEL_FILE

_MINUTES = 120
_SOFTNESS = 2.0  # temperature at which alternatives count; 1 and 1.5 left more of other texts' tokens out, 3 as many
_TOKENS = 64  # of an answer: reading takes as long as writing
_ROWS = 32  # positions at once

Counts = NDArray[np.float64]  # [2, logit rows]: times each token was written, and the sum of its softened chances


def count(folder: Path, texts: Sequence[Text], output: Path) -> Counts:
    """Count what a model wrote, and what it might have, in a process of its own. Raises ExportError when it fails."""
    failure = Translatable(
        "The target cannot read the texts whose tokens are counted ({reason}); --draft-vocab full does without."
    )
    begun = [(prompt, answer[:_TOKENS]) for prompt, answer in texts]
    process.call(_count, minutes=_MINUTES, failure=failure, folder=str(folder), texts=begun, output=str(output))
    counts: Counts = np.load(output)
    return counts


def _count(folder: str, texts: list[Text], output: str) -> None:
    np.save(output, _read_again(folder, texts))


def _read_again(folder: str, texts: list[Text]) -> Counts:
    import openvino  # noqa: PLC0415

    model = openvino.Core().compile_model(Path(folder) / MODEL_FILE, "CPU")
    session = model.create_infer_request()
    counts = np.zeros((2, model.output("logits").partial_shape[2].get_length()))
    for prompt, answer in texts:
        session.reset_state()
        np.add.at(counts[0], answer, 1.0)
        logits = quality.read(session, prompt + answer)[len(prompt) - 1 : -1]
        for start in range(0, len(answer), _ROWS):
            counts[1] += _chances(logits[start : start + _ROWS]).sum(axis=0)
    return counts


def _chances(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / np.float32(_SOFTNESS))
    chances: NDArray[np.float32] = weights / weights.sum(axis=1, keepdims=True)
    return chances


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
    """All ids of the vocabulary: those that must not be missing first, then by expected share."""
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
