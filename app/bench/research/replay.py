"""A replay of recorded answers by the policy and by other rules of drafting, without a model.

PYTHONPATH=app python -m bench.research.replay TRACE...

A trace is a file of `python -m bench.research.trace MODEL FILE --depth 8`. The oracles know which candidates will be
accepted: they show how much is left to gain.
"""

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.research.recordings import GuessedText, RecordedAnswer, TraceError, read_recordings, run_length
from headstart.engine.drafters.base import Draft, ShouldContinue
from headstart.engine.engine import Drafter, Origin, Speculation, Timing
from headstart.engine.policy.cost_model import Costs
from headstart.engine.policy.loss_budget import Pace
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import Outcome, RoundState
from headstart.engine.runners.runner import common_prefix


class SimulatedMachine:
    """Milliseconds of passes, with a relative scatter."""

    def __init__(self, costs: Costs, scatter: float = 0.0, seed: int = 1) -> None:
        self.costs = costs
        self._scatter, self._rng = scatter, random.Random(seed)  # noqa: S311 - noise, no secret
        self._last = 0  # tokens of the target's last pass

    def verifying(self, context: int, tokens: int) -> float:
        """Return the milliseconds of a pass of the target."""
        target = self.costs.target
        switch_ms = target.switch_ms if tokens != self._last else 0.0
        self._last = tokens
        return (target.ms(tokens, context) + switch_ms) * self.pace(context)

    def drafting(self, drafter: str, context: int, candidates: int, uncached: int) -> float:
        """Return the milliseconds of drafting, with `uncached` tokens to read first."""
        if not candidates:
            return 0.0
        step_ms, catch_up_ms = self.costs.drafting(drafter, uncached, context)
        return (candidates * step_ms + catch_up_ms) * self.pace(context)

    def pace(self, _context: int) -> float:
        """Return how many times as long as usual a pass takes."""
        return self._rng.gauss(1.0, self._scatter) if self._scatter else 1.0


class AnswerReplay:
    """One answer: its progress, and what each model has read."""

    def __init__(self, text: GuessedText, machine: SimulatedMachine, others: Sequence[GuessedText] = ()) -> None:
        """`others`: the same text with the guesses of other drafters."""
        self.text, self.machine = text, machine
        self.at, self.ms = 0, 0.0
        self._texts = {each.drafter: each for each in (text, *others)}
        self._read = dict.fromkeys(self._texts, 0)  # tokens

    @property
    def ended(self) -> bool:
        return self.at >= len(self.text)

    @property
    def context(self) -> int:
        """Tokens so far, prompt included."""
        return self.text.prompt + self.at

    @property
    def remaining(self) -> int:
        """Tokens that may be written."""
        return (self.text.limit or len(self.text)) - self.at

    def state(self, *, draft: bool = True) -> RoundState:
        """Return the state at the start of the next round."""
        offer = self.text.offers[self.at]
        free_drafts: dict[str, Draft] = {Origin.NGRAM: offer.at(self.at)} if offer else {}
        uncached_tokens = {name: self._uncached(name) for name in self._texts} if draft else {}
        return RoundState(self.context, self.remaining, free_drafts, uncached_tokens)

    def _uncached(self, drafter: str) -> int:
        return self.context - self._read[drafter] if self._texts[drafter].reads_text else 1

    def propose(self, should_continue: ShouldContinue, drafter: str = "") -> Draft:
        """Draft as `Drafter.propose` does."""
        text, drafted = self._texts[drafter or self.text.drafter], 0
        while should_continue(text.drafted(self.at, drafted)):
            drafted += 1
        return text.drafted(self.at, drafted)

    def play(self, checked: Draft, drafted: int = 0, size: int = 0, drafter: str = "") -> tuple[list[int], Timing]:
        """Check a draft of which a model drafted `drafted` tokens. Return the chosen tokens and the times."""
        context, machine, drafter = self.context, self.machine, drafter or self.text.drafter
        held = common_prefix(checked.tokens, range(self.at, self.at + len(checked.tokens)))
        chosen = list(range(self.at, self.at + held + 1))
        if checked.branch_taken(chosen) is not None:
            chosen.append(chosen[-1] + 1)
        timing = Timing(
            verify_ms=machine.verifying(context, max(size, 1 + checked.size)),
            draft_ms=machine.drafting(drafter, context, drafted, self._uncached(drafter)),
        )
        if drafted:  # of its own candidates a draft model has read all but the last, and forgets the wrong ones
            keeps = drafter != Origin.HEAD  # a head reads them again, with the target's hidden states
            self._read[drafter] = context + (min(drafted - 1, held) if keeps else 0)
        self.at += len(chosen)
        self.ms += timing.total_ms
        return chosen, timing


def policy_ms(
    policy: Policy,
    text: GuessedText,
    machine: SimulatedMachine,
    bounds: Speculation | None = None,
    *,
    draft: bool = True,
    others: Sequence[GuessedText] = (),
) -> float:
    """Return the milliseconds to write the text with the policy, as the decoding loop uses it."""
    replay = AnswerReplay(text, machine, others)
    policy.begin_answer(bounds or Speculation())
    while not replay.ended:
        play_round(policy, replay, draft=draft)
    return replay.ms


def play_round(policy: Policy, replay: AnswerReplay, *, draft: bool = True) -> Outcome:
    """Play one round with the policy."""
    session = policy.begin_round(replay.state(draft=draft))
    plan = session.plan
    guessed = plan.free_draft or replay.propose(session.should_continue, plan.drafter)
    drafted = len(guessed.confidences) if plan.is_drafted else 0
    selection = session.select(guessed)
    drafter = plan.drafter if plan.is_drafted else ""
    outcome = Outcome(plan, selection, *replay.play(selection.checked, drafted, selection.size, drafter))
    policy.observe(outcome)
    return outcome


FIXED_LENGTHS = range(1, 9)
_FIRST = 5  # first length of an adaptive rule
_LONGEST = 15
_MOST_CHECKED = 31  # candidates of a round: the longest line, and as many branches beside it
_RECENT = 8  # rounds of the history average

NextLength = Callable[[int, int, int], int]  # from the length, what was drafted, what was accepted


def ruled_ms(text: GuessedText, machine: SimulatedMachine, length: int, following: NextLength) -> float:
    """Return the milliseconds with a draft length that follows a rule."""
    replay = AnswerReplay(text, machine)
    while not replay.ended:
        drafted = min(length, replay.remaining - 1)
        chosen, _ = replay.play(text.drafted(replay.at, drafted).beginning(drafted), drafted)
        length = following(length, drafted, len(chosen) - 1)
    return replay.ms


def fixed_ms(text: GuessedText, machine: SimulatedMachine, length: int) -> float:
    """Return the milliseconds with the same draft length in every round; 0 is plain decoding."""
    return ruled_ms(text, machine, length, lambda same, _drafted, _accepted: same)


def two_up_one_down_ms(text: GuessedText, machine: SimulatedMachine) -> float:
    """Apply the rule of Hugging Face's assisted generation: two longer if all are accepted, else one shorter."""
    return ruled_ms(
        text, machine, _FIRST, lambda k, drafted, hit: min(k + 2, _LONGEST) if hit == drafted else max(k - 1, 1)
    )


def history_average_ms(text: GuessedText, machine: SimulatedMachine) -> float:
    """Draft one token more than the last rounds accepted in the mean."""
    history = [4] * _RECENT

    def following(_length: int, _drafted: int, accepted: int) -> int:
        history.append(accepted)
        return min(round(sum(history[-_RECENT:]) / _RECENT) + 1, _LONGEST)

    return ruled_ms(text, machine, _FIRST, following)


@dataclass(frozen=True)
class Foresight:
    """The drafters of an oracle, which knows what will be accepted."""

    draft: bool = True
    ngram: bool = True
    tail: bool = True  # n-grams behind a draft


@dataclass(frozen=True)
class Move:
    """A round that wastes nothing."""

    drafter: str
    drafted: int  # tokens that a model guesses
    accepted: int  # tokens that are checked, all right


class Oracle:
    """The least milliseconds of an answer: each round drafts and verifies exactly what will be accepted.

    Every model is supposed to have read the text already.
    """

    def __init__(self, texts: Sequence[GuessedText], costs: Costs, foresight: Foresight | None = None) -> None:
        """`texts`: the same text with the guesses of each model."""
        self._texts = {text.drafter: text for text in texts}
        self._text, self._foresight = texts[0], foresight or Foresight()
        contexts = [self._text.prompt + at for at in range(len(self._text))]
        self._verify = [costs.verify(_MOST_CHECKED + 1, context) for context in contexts]  # by place, by candidates
        self._step_ms = {name: [costs.drafting(name, 1, context)[0] for context in contexts] for name in self._texts}
        # Milliseconds of all places from each on. A round may go on behind the end.
        self.rest = [0.0] * (len(self._text) + 1 + _MOST_CHECKED)
        for at in reversed(range(len(self._text))):
            self.rest[at] = min(self.ms(at, move) for move in self.moves(at))

    def price(self, at: int, drafter: str, drafted: int, checked: int) -> float:
        """Return the milliseconds of a round."""
        drafting_ms = drafted * self._step_ms[drafter][at] if drafted else 0.0
        return drafting_ms + self._verify[at][checked]

    def ms(self, at: int, move: Move) -> float:
        """Return the milliseconds of a round and of the least that can follow it."""
        return self.price(at, move.drafter, move.drafted, move.accepted) + self.rest[at + move.accepted + 1]

    def moves(self, at: int) -> Iterator[Move]:
        """Yield every round from a place that wastes nothing, a plain step first."""
        text, foresight = self._text, self._foresight
        most = min(len(text) - at - 1, _LONGEST)
        yield Move(Origin.TARGET, 0, 0)
        if foresight.ngram:
            yield from (Move(Origin.NGRAM, 0, k) for k in range(1, min(_held(text, at), most) + 1))
        for name, guessed in self._texts.items() if foresight.draft else ():
            for drafted in range(1, run_length(guessed.right[at : at + most]) + 1):
                reach = drafted + (_held(text, at + drafted) if foresight.tail else 0)
                yield from (Move(name, drafted, k) for k in range(drafted, min(reach, most) + 1))


def oracle_ms(text: GuessedText, machine: SimulatedMachine, foresight: Foresight | None = None) -> float:
    """Return the least milliseconds of an answer, as `Oracle` finds them."""
    return Oracle((text,), machine.costs, foresight).rest[0]


def _held(text: GuessedText, at: int) -> int:
    offer = text.offers[at] if at < len(text) else None
    return offer.held if offer else 0


def best_fixed_ms(text: GuessedText, machine: Callable[[], SimulatedMachine]) -> float:
    """Return the milliseconds with the best fixed length of this text, plain decoding included."""
    return min(fixed_ms(text, machine(), length) for length in (0, *FIXED_LENGTHS))


_PLAYS = 3  # of a text, until its calibration is known
_PACES = [1 + step / 5 for step in range(11)]  # times the rate of plain decoding


class _Foreseeing(Policy):
    """A policy without a loss budget, with a constant worth of time."""

    pace = 1.0  # times the rate of plain decoding

    def begin_answer(self, speculation: Speculation, expected_tokens: int | None = None) -> None:
        super().begin_answer(speculation, expected_tokens)
        self._budget.pace = _Steady(self.pace / self.plain_ms)
        self._budget.used.update((Origin.DRAFT, Origin.HEAD))
        for name in (Origin.DRAFT, Origin.HEAD, Origin.NGRAM, Origin.TABLE):
            self._budget.accounts[name].balance = math.inf


class _Steady(Pace):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self._rate = rate

    def within(self, _least: float, _expected: float, _most: float) -> float:
        return self._rate


def calibrated_ms(recording: RecordedAnswer) -> float:
    """Return the least that the policy's rule can reach: with the calibration of this very text and the best pace."""
    policy = recording.policy()
    for _ in range(_PLAYS):
        _policy_ms(policy, recording)
    learned, results = policy.to_json(), []
    for pace in _PACES:
        foreseeing = _Foreseeing.from_json(learned)
        assert foreseeing is not None, "a policy reads what it wrote"
        foreseeing.pace, foreseeing.costs = pace, recording.costs()
        results.append(_policy_ms(foreseeing, recording))
    return min(results)


def best_mix_ms(recording: RecordedAnswer) -> float:
    """Return the milliseconds with the drafters, together or alone, that suit this text best."""
    return min(
        _policy_ms(recording.policy(), recording, Speculation(drafter=drafter))
        for drafter in (Drafter.ANY, Drafter.DRAFT, Drafter.HEAD, Drafter.NGRAM)
    )


AUTO, CALIBRATED = "auto", "auto with hindsight"
Rule = Callable[[RecordedAnswer], float]  # milliseconds


def _machine(recording: RecordedAnswer) -> SimulatedMachine:
    return SimulatedMachine(recording.costs())


def _policy_ms(policy: Policy, recording: RecordedAnswer, bounds: Speculation | None = None) -> float:
    """Return the milliseconds to write a recorded answer with the policy and all drafters that were recorded."""
    machine, draft = _machine(recording), recording.has_draft
    return policy_ms(policy, recording.text, machine, bounds, draft=draft, others=recording.others)


def _fixed(length: int) -> Rule:
    return lambda recording: fixed_ms(recording.text, _machine(recording), length)


def _oracle(foresight: Foresight) -> Rule:
    return lambda recording: Oracle((recording.text, *recording.others), recording.costs(), foresight).rest[0]


def _auto(*, fresh: bool) -> Rule:
    return lambda recording: _policy_ms(recording.policy(fresh=fresh), recording)


def _without_branches(recording: RecordedAnswer) -> float:
    return policy_ms(recording.policy(), recording.text.without_runners_up(), _machine(recording))


SIMPLE = (*(f"fixed {length}" for length in FIXED_LENGTHS), "two up, one down", "history average")  # no foresight
WITH_DRAFT: Mapping[str, Rule] = {
    **{f"fixed {length}": _fixed(length) for length in FIXED_LENGTHS},
    "best fixed length": lambda recording: best_fixed_ms(recording.text, lambda: _machine(recording)),
    "best mix": best_mix_ms,
    "two up, one down": lambda recording: two_up_one_down_ms(recording.text, _machine(recording)),
    "history average": lambda recording: history_average_ms(recording.text, _machine(recording)),
    CALIBRATED: calibrated_ms,
    "oracle, draft only": _oracle(Foresight(ngram=False, tail=False)),
    "oracle": _oracle(Foresight()),
}
WITHOUT_DRAFT: Mapping[str, Rule] = {"oracle": _oracle(Foresight(draft=False))}


def speedups(recording: RecordedAnswer) -> dict[str, float]:
    """Return the speed of the policy, as it was and as a new one, and of every other rule, over plain decoding."""
    plain = fixed_ms(recording.text, _machine(recording), 0)
    others = WITH_DRAFT if recording.has_draft else WITHOUT_DRAFT
    contestants = {AUTO: _auto(fresh=False), f"{AUTO}, new pair": _auto(fresh=True), **others}
    if recording.text.runners_up:
        contestants[f"{AUTO}, no branches"] = _without_branches
    return {name: plain / rule(recording) for name, rule in contestants.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each rule. Return the exit code."""
    parser = argparse.ArgumentParser(description="Play rules of drafting on recorded answers, without a model.")
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE", help="a file written with --depth")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to this file")
    parser.add_argument("--markdown", action="store_true", help="print a row for each file")
    given = parser.parse_args(arguments)
    try:
        recordings = [recording for trace in given.traces for recording in read_recordings(trace)]
    except TraceError as error:
        print(error, file=sys.stderr)
        return 1
    figures = {recording.name: speedups(recording) for recording in recordings}
    print("\n".join(table(figures) if given.markdown else lines(figures)))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


_COLUMNS = (AUTO, f"{AUTO}, new pair", "best fixed length", "best mix", CALIBRATED, "oracle")


def table(figures: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a row of Markdown for each file: geometric means over its answers, times plain decoding."""
    by_file: dict[str, list[Mapping[str, float]]] = {}
    for name, by_rule in figures.items():
        by_file.setdefault(name.rpartition(" ")[0], []).append(by_rule)
    rows = [*by_file.items(), ("all", list(figures.values()))]
    means = [[name, *(f"{_mean(answers, rule):.2f}" for rule in _COLUMNS)] for name, answers in rows]
    head = ["", *_COLUMNS]
    return [f"| {' | '.join(cells)} |" for cells in (head, [":--", *["--:"] * len(_COLUMNS)], *means)]


def _mean(answers: Sequence[Mapping[str, float]], rule: str) -> float:
    return statistics.geometric_mean([by_rule[rule] for by_rule in answers if rule in by_rule])


def lines(figures: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a line for each rule: the mean of all answers over plain decoding, the worst and the best."""
    values: dict[str, list[float]] = {}
    for by_rule in figures.values():
        for rule, speedup in by_rule.items():
            values.setdefault(rule, []).append(speedup)
    width = max(map(len, values), default=0)
    return [
        f"{len(figures)} answers, times plain decoding: geometric mean (worst to best)",
        *(
            f"  {rule:<{width}}  {statistics.geometric_mean(each):.2f}x ({min(each):.2f} to {max(each):.2f})"
            for rule, each in values.items()
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
