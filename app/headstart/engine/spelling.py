"""The vocabulary of a model folder as llguidance reads it: bytes of tokens, and what grammars need. Knows no model."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from headstart import vocabulary


class Spelling:
    """Reads the vocabulary when it is first needed, which takes a second or two."""

    def __init__(self, folder: Path, width: int, stop_ids: Sequence[int]) -> None:
        """`width`: tokens that the model scores."""
        self.stop_ids = frozenset(stop_ids)
        self._folder = folder
        self._width = width

    @cached_property
    def native(self) -> Any:
        """The `llguidance.LLTokenizer`."""
        from llguidance import LLTokenizer  # noqa: PLC0415 - few answers need it

        path = str(self._folder / vocabulary.FILE_NAME)
        return LLTokenizer(path, n_vocab=self._width, eos_token=sorted(self.stop_ids))

    def spell(self, token: int) -> bytes:
        """What a token adds to a text, be it half a character; a control token gives its name."""
        spelt: bytes = self.native.decode_bytes([token])
        return spelt
