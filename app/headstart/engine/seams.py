"""Keeps control tokens out of texts that people wrote: finds where to cut so that none can be read. Knows no model."""

import itertools
import re
from collections.abc import Iterable, Sequence

# A character that Unicode reserves for a program's own use; no text should have it, and no harm is done if one does.
_SEAM = "\ufdd0"
_WORD = re.compile(r"[\w\s▁]*")


class Seams:
    """Cuts every occurrence of some token texts after its first character.

    Encoded piece by piece, such a text cannot give these tokens, and the pieces still join to the same text.
    A token text of one character cannot be cut and is left alone.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        """`tokens` are the texts that must not be read as tokens."""
        self._tokens = frozenset(text for text in tokens if len(text) > 1)
        self._lengths = sorted({len(text) for text in self._tokens})
        self._beginnings = frozenset(text[0] for text in self._tokens)

    def mark(self, text: str, seam: str) -> str:
        """`text` with `seam` where it must be cut."""
        # One by one, because an occurrence may begin inside another; some models have thousands of such tokens.
        starts = [at for at, character in enumerate(text) if character in self._beginnings and self._at(text, at)]
        edges = [0, *(at + 1 for at in starts), len(text)]
        return seam.join(text[start:end] for start, end in itertools.pairwise(edges))

    def cut(self, text: str) -> list[str]:
        """The pieces of `text`, joined equal to it."""
        seam = unused_seam([text])
        return self.mark(text, seam).split(seam)

    def _at(self, text: str, start: int) -> bool:
        return any(text[start : start + length] in self._tokens for length in self._lengths)


def markers(added: Iterable[str], special: Iterable[str]) -> frozenset[str]:
    """The added tokens that a writer must not get by typing their text: all but plain words and white space.

    Some tokenizers keep runs of spaces or newlines as added tokens; these control nothing.
    """
    return frozenset(special) | {text for text in added if not _WORD.fullmatch(text)}


def unused_seam(texts: Sequence[str]) -> str:
    """A string that occurs in none of the texts, nor across a border with itself."""
    longest = max((len(run) for text in texts for run in re.findall(f"{_SEAM}+", text)), default=0)
    return _SEAM * (longest + 1)
