"""From a round in tokens to a step with its text. Knows no engine."""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from headstart.engine.engine import Origin, Piece, Round, Step, Timing
from headstart.engine.scorer import Scorer
from headstart.engine.text import AnswerText

_NOTHING_RUN = Round((), 0, 0, Origin.TARGET, Timing())


def step_of(done: Round, text: AnswerText, scorer: Scorer | None = None) -> Step:
    """Text of a round; the round is cut where a stop string ends the answer, and its clock includes this work."""
    started = time.perf_counter()
    progress = text.push([token.id for token in done.tokens])
    tokens = done.tokens[: progress.tokens_used]
    labelled = zip((token.origin for token in tokens), progress.texts, strict=True)
    pieces = tuple(
        Piece("".join(part for _, part in run), origin) for origin, run in groupby(labelled, key=lambda pair: pair[0])
    )
    spent = (time.perf_counter() - started) * 1000.0
    timing = replace(done.timing, other_ms=done.timing.other_ms + spent)
    return Step(
        progress.text,
        replace(done, tokens=tokens, timing=timing),
        tuple(piece for piece in pieces if piece.text),
        scorer.tell(text) if scorer else (),
    )


def rest_of(text: AnswerText, scorer: Scorer | None = None) -> Iterator[Step]:
    """At the end of an answer: a step with what was held back, as it might have begun a stop string; or none."""
    rest = text.finish()
    scored = scorer.tell(text, ended=True) if scorer else ()
    if rest or scored:
        yield Step(rest, _NOTHING_RUN, (Piece(rest, Origin.TARGET),) if rest else (), scored)
