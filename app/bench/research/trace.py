"""Records answers round by round as JSON lines: what each round was planned from, did and cost.

PYTHONPATH=app python -m bench.research.trace MODEL FILE [--depth N] [--drafter NAME] [--classes NAMES]
    [--prompts N] [--skip N] [--tokens N]

With `--depth` the policy is set aside: every round drafts so many tokens, and token ids are written, so that replay.py
can play any rule on what was recorded. A recording holds the guesses of one drafter: record a second file of the same
prompts for another one. Each line is an object with the field `is`:

- header: format and version, models with hashes, devices and properties, depth of a recording, what the policy knew;
- answer: an answer begins: name and length of its prompt, its longest length, how it is sampled, bounds of
  speculation;
- round: tokens in the context and tokens that may follow, what n-grams offered and how much of it held, what was
  planned, drafted, verified and accepted, whether a branch held, milliseconds by part, lambda, plain step and ledger
  behind it;
- end: why the answer ended, its statistics, what the policy's prices are now.

Token ids are in `answer` those of the prompt, in `end` those written, in `round` what the draft would have guessed
instead of each candidate, with shares.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TextIO

from headstart import __version__
from headstart.engine.bench.prompts import KINDS, read_kinds, read_prompts
from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.base import Draft
from headstart.engine.engine import (
    ConversationRequest,
    Drafter,
    Finish,
    LoadOptions,
    Origin,
    Sampling,
    Speculation,
    Stats,
)
from headstart.engine.local import LocalEngine, load
from headstart.engine.opening import resolve
from headstart.engine.policy.plan import DraftSession, PolicyState
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import DraftPlan, Outcome, RoundState
from headstart.engine.runners.runner import Branch
from headstart.library import library

FORMAT = 1
MAX_DEPTH = 15
_DIGITS = 4  # of chances and milliseconds behind the point


class Trace:
    """A file that grows by a line for each round of an engine's answers."""

    def __init__(self, engine: LocalEngine, file: TextIO, depth: int | None = None) -> None:
        """Write the header. With a `depth`, every round drafts that many tokens, and nothing learned is kept."""
        self._engine, self._file = engine, file
        self._with_tokens = depth is not None
        self._number = 0  # of the answer
        policy = engine.policy
        if depth is not None:
            policy = Recorder.from_json(policy.to_json()) or Recorder(policy.costs)
            policy.depth = depth
            engine.record_with(policy)
        setting = {"target": engine.target.measurements.subject, "properties": engine.target.properties}
        for name, model in engine.drafting.items():
            setting |= {name: model.measurements.subject, f"{name} properties": model.properties}
        header = {"format": FORMAT, "headstart": __version__, **setting, "depth": depth, "policy": policy.to_json()}
        self._write("header", header)
        policy.observers.append(self._round)

    def answer(self, request: ConversationRequest, cancel: CancelEvent | None = None, name: str = "") -> Finish:
        """Let the engine answer, and record it. `name`: of the prompt."""
        self._number += 1
        prompt = self._engine.tokenizer.prompt_of(request, self._engine.context)
        line = {
            "number": self._number,
            "name": name,
            "prompt_tokens": len(prompt),
            "max_new_tokens": request.max_new_tokens,
            "sampling": asdict(request.sampling.settled(self._engine.sampling)),
            "speculation": asdict(request.speculation),
        }
        self._write("answer", line | self._tokens(prompt))
        *_, finish = self._engine.generate(request, cancel)
        assert isinstance(finish, Finish), "an engine ends every answer with Finish"
        figures = {
            **_plain(finish.stats),
            "reason": finish.reason,
            "costs": self._engine.policy.costs.to_json(),
        }
        self._write("end", figures | self._tokens(finish.token_ids))
        return finish

    def _round(self, outcome: Outcome) -> None:
        state, timing, policy = outcome.state, outcome.timing, self._engine.policy
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
            "plain_ms": _short(policy.plain_ms),
            "ledger_ms": _short(policy.ledger_ms),
        }
        if self._with_tokens:
            ranks = outcome.selection.guessed.runners_up
            line["runners_up"] = [[[each.token, _short(each.confidence)] for each in others] for others in ranks]
        self._write("round", line)

    def _tokens(self, tokens: Sequence[int]) -> dict[str, list[int]]:
        return {"ids": list(tokens)} if self._with_tokens else {}

    def _write(self, kind: str, fields: Mapping[str, Any]) -> None:
        self._file.write(json.dumps({"is": kind, **fields}, separators=(",", ":")) + "\n")


class Recorder(Policy):
    """A policy that drafts equally far in every round, so that a replay knows what any rule would have met.

    It drafts one candidate more than it verifies: so the draft's guess is known for every token of the text, for the
    target's own token behind a round whose candidates all held, too.
    """

    depth = 8

    def plan(self, state: RoundState) -> DraftPlan:
        """Plan to draft with the draft model, if there is one."""
        plan, limit = super().plan(state), min(self.depth + 1, state.remaining - 1)
        model = next(iter(plan.state.uncached_tokens), None) if limit > 0 else None
        drafter, limit = (model, limit) if model else (Origin.TARGET, 0)
        return DraftPlan(plan.state, drafter, limit, plan.prices)

    def begin_round(self, state: RoundState) -> DraftSession:
        """Return a session that verifies `depth` tokens."""
        return RecordingSession(self.plan(state), self.state, self.depth)


class RecordingSession(DraftSession):
    """A session that drafts up to the limit and verifies all candidates but the last, without branches."""

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Record greedy answers to the benchmark's prompts. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder, or the name of an installed model or pair")
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--depth", type=int, choices=range(1, MAX_DEPTH + 1), metavar="N", help="draft N in every round"
    )
    parser.add_argument("--classes", type=read_kinds, default=KINDS, metavar="NAMES", help="with commas (default: all)")
    parser.add_argument("--prompts", type=int, default=1, metavar="N", help="of each class (default: 1)")
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="leave out so many prompts of each class")
    parser.add_argument("--drafter", type=Drafter, choices=Drafter, default=Drafter.ANY, help="who drafts")
    parser.add_argument("--tokens", type=int, default=160, metavar="N", help="longest answer (default: 160)")
    given = parser.parse_args(arguments)
    choice = library.choose(given.model)
    options = LoadOptions(choice.target.folder, choice.draft_folder)
    with given.file.open("w", encoding="utf-8") as file, closing(load(resolve(options))) as engine:
        trace = Trace(engine, file, given.depth)
        for prompt in read_prompts(given.skip + given.prompts, given.classes)[given.skip * len(given.classes) :]:
            engine.forget_all()
            trace.answer(
                ConversationRequest(
                    prompt.messages,
                    max_new_tokens=given.tokens,
                    sampling=Sampling(temperature=0.0),
                    speculation=Speculation(drafter=given.drafter),
                    stop_on_repetition=False,
                ),
                name=prompt.id,
            )
            print(prompt.id, file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
