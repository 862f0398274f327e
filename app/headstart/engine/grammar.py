"""Answers that keep to a JSON schema: which tokens may follow, by llguidance. Knows no model and no probability."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from headstart.engine.sampling import Allowed
from headstart.engine.spelling import Spelling
from headstart.errors import SettingsError

# Without a bound a small model may write blanks for ever.
_BLANKS: Any = {"whitespace_pattern": r"[\x20\x0A]{0,16}"}


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
    """Follows one answer and tells what may come next; see sampling.Constraint."""

    def __init__(self, matcher: Any, stop_ids: frozenset[int]) -> None:
        """Nothing is written yet."""
        self._matcher = matcher
        self._stop_ids = stop_ids

    def allowed(self, run: Sequence[int]) -> Allowed | None:
        """Whether each token may follow the answer and `run`; None where nobody will ask: `run` is no part of one."""
        if self._stop_ids.intersection(run):
            return None
        known = self._matcher.try_consume_tokens(list(run))
        bits = self._matcher.compute_bitmask() if known == len(run) else None
        self._matcher.rollback(known)
        return None if bits is None else np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little").view(np.bool_)

    def commit(self, token: int) -> None:
        """The answer goes on with it."""
        kept = self._matcher.consume_token(token)
        assert kept, f"token {token} was not allowed"


def _unusable(reason: str) -> SettingsError:
    first = " ".join(reason.split())[:200]
    return SettingsError(f"The answer cannot be kept to this JSON schema ({first}): leave that part of it out.")
