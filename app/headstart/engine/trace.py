"""Traces: what every round was planned from, did and cost, as JSON lines; and the policy that recordings need.

The lines of a file, each an object with the field `is`:

- header: format and version, models with hashes, devices and properties, depth of a recording, what the policy knew;
- answer: an answer begins: the length of its prompt, its longest length, how it is sampled, bounds of speculation;
- round: tokens in the context and tokens that may follow, what n-grams offered and how much of it held, what was
  planned, drafted, verified and accepted, whether a branch held, milliseconds by part, lambda, plain step and ledger
  behind it;
- end: why the answer ended, its statistics, what the policy's prices are now.

Token ids are written only where a recording was asked for: in `answer` those of the prompt, in `end` those written, in
`round` what the draft would have guessed instead of each candidate, with shares.
"""

import contextlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TextIO

from headstart import __version__
from headstart.engine.drafters.base import Draft
from headstart.engine.engine import FinishReason, Origin, Stats, Tracing
from headstart.engine.policy.plan import DraftSession, PolicyState
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import DraftPlan, Outcome, RoundState
from headstart.engine.runners.runner import Branch
from headstart.engine.sequence import Job
from headstart.errors import SettingsError

FORMAT = 1
_log = logging.getLogger(__name__)
_DIGITS = 4  # of chances and milliseconds behind the point


class Trace:
    """A file that grows by a line for each round."""

    def __init__(self, tracing: Tracing, setting: Mapping[str, Any], policy: Policy) -> None:
        """Begin the file anew with its header, and watch the policy. Raises SettingsError."""
        self._policy = policy
        self._with_tokens = tracing.depth is not None
        self._file = _opened(tracing.file)
        self._number = 0  # of the answer
        self._is_torn = False
        self._write(
            "header",
            {"format": FORMAT, "headstart": __version__, **setting, "depth": tracing.depth, "policy": policy.to_json()},
        )
        policy.observers.append(self._round)

    def begin(self, job: Job) -> None:
        """An answer begins."""
        self._number += 1
        line = {
            "number": self._number,
            "prompt_tokens": len(job.prompt),
            "max_new_tokens": job.max_new_tokens,
            "sampling": asdict(job.sampling),
            "speculation": asdict(job.speculation),
        }
        self._write("answer", line | self._tokens(job.prompt))

    def end(self, reason: FinishReason, stats: Stats, tokens: Sequence[int]) -> None:
        """It is finished; the file is up to date."""
        figures = {**_plain(stats), "reason": reason, "costs": self._policy.costs.to_json()}
        self._write("end", figures | self._tokens(tokens))
        self._keep(self._file.flush)

    def close(self) -> None:
        """Write the rest."""
        self._policy.observers.remove(self._round)
        with contextlib.suppress(OSError):
            self._file.close()

    def _round(self, outcome: Outcome) -> None:
        state, timing = outcome.state, outcome.timing
        offer = state.free_drafts.get(Origin.NGRAM)
        line = {
            "context": state.context,
            "remaining": state.remaining,
            "lags": dict(state.uncached_tokens),
            "offer": [len(offer.tokens), offer.match_length, outcome.matching(offer)] if offer else None,
            "drafter": outcome.drafter,
            "planned": outcome.plan.limit,
            "confidences": [_short(confidence) for confidence in outcome.confidences],
            "verified": outcome.verified,
            "accepted": outcome.accepted,
            "branched": outcome.is_branch_taken,
            "matched": outcome.matched,
            "tokens": outcome.tokens,
            "ms": [_short(ms) for ms in (timing.draft_ms, timing.verify_ms, timing.other_ms)],
            "rate": _short(1000.0 * outcome.plan.prices.rate),
            "plain_ms": _short(self._policy.plain_ms),
            "ledger_ms": _short(self._policy.ledger_ms),
        }
        self._write("round", line | self._runners_up(outcome))

    def _runners_up(self, outcome: Outcome) -> dict[str, Any]:
        if not self._with_tokens:
            return {}
        ranks = [
            [[each.token, _short(each.confidence)] for each in others]
            for others in outcome.selection.guessed.runners_up
        ]
        return {"runners_up": ranks}

    def _tokens(self, tokens: Sequence[int]) -> dict[str, list[int]]:
        return {"ids": list(tokens)} if self._with_tokens else {}

    def _write(self, kind: str, fields: Mapping[str, Any]) -> None:
        line = json.dumps({"is": kind, **fields}, separators=(",", ":")) + "\n"
        self._keep(lambda: self._file.write(line))

    def _keep(self, write: Callable[[], object]) -> None:
        """A disk that is full costs the trace, not the answer."""
        if self._is_torn:
            return
        try:
            write()
        except OSError as error:
            self._is_torn = True
            _log.warning("%s ends here: %s", self._file.name, error)


class Recorder(Policy):
    """Drafts equally far in every round, so that a replay knows what any rule would have met.

    It drafts one candidate more than it verifies: so the draft's guess is known for every token of the text, for the
    target's own token behind a round whose candidates all held, too.
    """

    depth = 8

    def plan(self, state: RoundState) -> DraftPlan:
        """Have the draft model draft, if there is one."""
        plan, limit = super().plan(state), min(self.depth + 1, state.remaining - 1)
        model = next(iter(plan.state.uncached_tokens), None) if limit > 0 else None
        drafter, limit = (model, limit) if model else (Origin.TARGET, 0)
        return DraftPlan(plan.state, drafter, limit, plan.prices)

    def begin_round(self, state: RoundState) -> DraftSession:
        """Return a session that verifies `depth` tokens."""
        return RecordingSession(self.plan(state), self.state, self.depth)


class RecordingSession(DraftSession):
    """Drafts up to the limit and verifies all candidates but the last, without branches: the text tells about these."""

    def __init__(self, plan: DraftPlan, policy: PolicyState, depth: int) -> None:
        super().__init__(plan, policy)
        self._depth = depth

    def should_continue(self, draft: Draft) -> bool:
        return len(draft.confidences) < self.plan.limit

    def _num_to_verify(self, draft: Draft) -> tuple[int, float]:
        return min(len(draft.confidences), self._depth), 0.0

    def _branches(self, _draft: Draft, _count: int) -> Sequence[Branch]:
        return ()


def _plain(stats: Stats) -> dict[str, Any]:
    figures = {each.name: getattr(stats, each.name) for each in fields(stats)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in figures.items()}


def _short(figure: float) -> float:
    return round(figure, _DIGITS)


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise SettingsError(
            "{path} cannot be written ({strerror}); choose another place.", path=path, strerror=error.strerror
        ) from None
