"""Answers that keep to a JSON schema: which tokens may follow, by llguidance."""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from headstart import vocabulary
from headstart.engine.runners.runner import common_prefix
from headstart.engine.sampling import Allowed
from headstart.errors import SettingsError

# Without a bound a small model may write blanks for ever.
_BLANKS: Any = {"whitespace_pattern": r"[\x20\x0A]{0,16}"}


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


def form(schema: str, spelling: Spelling) -> "Form":
    """The form of one answer. Raises SettingsError for what is no JSON schema, or one that cannot be kept to."""
    from llguidance import LLMatcher  # noqa: PLC0415 - few answers have a form

    try:
        grammar = LLMatcher.grammar_from_json_schema(json.loads(schema), overrides=_BLANKS)
    except ValueError as error:
        raise _unusable(str(error)) from None
    matcher = LLMatcher(spelling.native, grammar, log_level=0)
    if matcher.is_error():
        raise _unusable(matcher.get_error())
    return Form(matcher, spelling.stop_ids)


class Form:
    """Which tokens may come next in one answer; see sampling.Constraint.

    The same text is asked about twice, where a draft guesses and where the target checks, and each time it is a token
    longer than before: so what the grammar has read stays read, and a mask is kept until its text is given up.
    """

    def __init__(self, matcher: Any, stop_ids: frozenset[int]) -> None:
        """Nothing is written yet."""
        self._matcher = matcher
        self._stop_ids = stop_ids
        self._ahead: list[int] = []  # what the matcher has read behind the answer
        self._masks: dict[tuple[int, ...], Allowed | None] = {}

    def allowed(self, run: Sequence[int]) -> Allowed | None:
        """Whether each token may follow the answer and `run`; None where `run` is no part of an answer."""
        key = tuple(run)
        if key not in self._masks:
            self._masks[key] = None if self._stop_ids.intersection(run) else self._mask(run)
        return self._masks[key]

    def commit(self, token: int) -> None:
        """The answer goes on with it."""
        if self._ahead[:1] == [token]:
            del self._ahead[0]
        else:
            self._give_up(0)
            kept = self._matcher.consume_token(token)
            assert kept, f"token {token} was not allowed"
        self._masks = {run[1:]: mask for run, mask in self._masks.items() if run[:1] == (token,)}

    def _mask(self, run: Sequence[int]) -> Allowed | None:
        held = common_prefix(self._ahead, run)
        self._give_up(held)
        following = list(run[held:])
        self._ahead += following[: self._matcher.try_consume_tokens(following)]
        if len(self._ahead) < len(run):
            return None
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        return np.unpackbits(bits, bitorder="little").view(np.bool_)

    def _give_up(self, held: int) -> None:
        self._matcher.rollback(len(self._ahead) - held)
        del self._ahead[held:]


def _unusable(reason: str) -> SettingsError:
    first = " ".join(reason.split())[:200]
    return SettingsError(
        "The answer cannot be kept to this JSON schema ({first}): leave that part of it out.", first=first
    )
