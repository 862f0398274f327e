"""Scores answers again on the same target, one token a pass. Knows not how they were decoded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headstart.engine.comparison import ENDED, Findings, Judged, Verdict, findings, judge, scores, shift
from headstart.engine.engine import Sampling
from headstart.engine.runners.runner import PREFILL_CHUNK, Runner
from headstart.engine.sampling import Row

BATCHES = (4, 6, 12)  # tokens in a pass: what fixed lengths of 3 and 5 and a long n-gram check at once


@dataclass(frozen=True)
class Answered:
    """One answer in tokens. `ended`: by a stop id, which is not among them."""

    name: str
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    ended: bool
    sampling: Sampling


class Auditor:
    """Judges answers with one runner; the same tokens are scored once, however many modes wrote them."""

    def __init__(self, runner: Runner, stop_ids: frozenset[int]) -> None:
        """`runner` is the target's; its cache is empty afterwards."""
        self._runner = runner
        self._stop_ids = stop_ids
        self._known: dict[tuple[object, ...], tuple[Verdict, ...]] = {}
        self._judged: list[Judged] = []
        self._shifts: list[float] = []

    def judge(self, answer: Answered) -> Judged:
        """Score every token of an answer, and its end, after the tokens before it."""
        key = (answer.prompt, answer.tokens, answer.ended, answer.sampling)
        if key not in self._known:
            self._known[key] = self._score(answer)
        judged = Judged(answer.name, self._known[key])
        self._judged.append(judged)
        return judged

    def findings(self) -> Findings:
        """What all answers judged so far show, against the noise measured on their texts."""
        return findings(self._judged, self._shifts)

    def _score(self, answer: Answered) -> tuple[Verdict, ...]:
        written = (*answer.tokens, ENDED) if answer.ended else answer.tokens
        if not written:
            return ()
        verdicts = tuple(
            judge(scores(row, len(answer.prompt) + place, answer.sampling), written[place], self._stop_ids)
            for place, row in enumerate(self._rows(answer, len(written), batch=1))
        )
        for batch in BATCHES:
            rows = self._rows(answer, len(written), batch)
            for place, (row, verdict) in enumerate(zip(rows, verdicts, strict=True)):
                self._shifts.append(shift(verdict, scores(row, len(answer.prompt) + place, answer.sampling)))
        return verdicts

    def _rows(self, answer: Answered, count: int, batch: int) -> Iterator[Row]:
        """The logits before each of `count` written tokens, `batch` tokens a pass: `count` times [vocabulary]."""
        runner = self._runner
        *before, last = answer.prompt
        fed = [last, *answer.tokens][:count]
        runner.rollback(0)
        for part in _parts(before, PREFILL_CHUNK):
            runner.forward(part)
        for part in _parts(fed, batch):
            yield from runner.forward(part, rows=len(part))
        runner.rollback(0)


def _parts(tokens: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(tokens), size):
        yield tokens[start : start + size]
