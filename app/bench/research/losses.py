"""Divides the time that the policy loses against an oracle by cause, round by round, on recorded answers.

PYTHONPATH=app python -m bench.research.losses TRACE... [--price MODEL=TOKENS:MS,...]... [--after TRACE...]
    [--tokens N] [--kinds] [--rounds NAME]

A trace is a file of `python -m bench.research.trace MODEL FILE --depth 8 --drafter NAME`. The guesses of several
drafters at the same answer, each recorded in a file of its own, are joined.

The oracle knows which guesses will hold, and every model has read the text already. rest(i) are the least milliseconds
from place i on. A round of the policy that takes t ms from place i to place j loses t + rest(j) - rest(i), and all
losses of an answer add up to its time less the oracle's. A loss is divided in the order in which it came about:

- changes of size: padding, and a pass of another size
- reading: a model reads what it lacks of the text
- branches: choices that were checked beside the line, less what they brought
- nothing held: guesses in a round in which not one held
- too long: guesses behind the last one that held
- too short: the drafter of the round would have had more right guesses
- text not read: the best drafter has yet to read the text, so there was a plain step, or a worse drafter
- paused, no gain expected: a plain step, though the best drafter had read the text
- late switch: the drafter of the round was the best one of the round before
- wrong drafter: any other round with a drafter whose right guesses are worth less than another one's

A share is a part of the policy's time, as a mean over answers: speed over the oracle's speed is 1 less all shares.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, geometric_mean

from bench.research.recordings import RecordedAnswer, TraceError, joined, read_recordings
from bench.research.replay import AnswerReplay, Move, Oracle, SimulatedMachine, fixed_ms, play_round
from headstart.engine.bench.result import bootstrap_interval
from headstart.engine.engine import Origin, Speculation
from headstart.engine.policy.cost_model import BULK
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import Outcome

FIRST = 8  # tokens of an answer whose rounds count as first
CAUSES = (
    "changes of size",
    "reading",
    "branches",
    "nothing held",
    "too long",
    "too short",
    "text not read: no guess",
    "text not read: a worse drafter",
    "paused",
    "no gain expected",
    "late switch",
    "wrong drafter",
)
Prices = Mapping[str, Mapping[int, float]]  # milliseconds by tokens of a pass, by model


@dataclass(frozen=True)
class PlayedRound:
    """A round of the policy, beside what the oracle would have done."""

    at: int  # place
    outcome: Outcome
    best: Move
    losses: Mapping[str, float]  # milliseconds by cause


@dataclass(frozen=True)
class PlayedAnswer:
    """An answer of the policy."""

    recording: RecordedAnswer
    ms: float
    oracle_ms: float
    plain_ms: float
    rounds: Sequence[PlayedRound]

    def shares(self, until: int | None = None) -> Counter[str]:
        """Return the shares of the answer's time that were lost, by cause. `until`: only before this place."""
        shares = Counter[str]()
        for each in self.rounds:
            if until is None or each.at < until:
                shares.update({cause: ms / self.ms for cause, ms in each.losses.items()})
        return shares


def play(recording: RecordedAnswer, policy: Policy) -> PlayedAnswer:
    """Play an answer with a policy."""
    costs = recording.costs()
    oracle = Oracle((recording.text, *recording.others), costs)
    machine = SimulatedMachine(costs)
    replay = AnswerReplay(recording.text, machine, recording.others)
    policy.begin_answer(Speculation())
    rounds: list[PlayedRound] = []
    before = Origin.TARGET.value  # the best drafter of the last round
    while not replay.ended:
        at, state = replay.at, policy.state
        paused = {name for name, account in state.budget.accounts.items() if account.is_paused}
        outcome = play_round(policy, replay, draft=recording.has_draft)
        best = min(oracle.moves(at), key=lambda move: oracle.ms(at, move))
        losses = dict(_losses(oracle, at, outcome, best, before, paused))
        rounds.append(PlayedRound(at, outcome, best, losses))
        before = best.drafter
    plain_ms = fixed_ms(recording.text, SimulatedMachine(costs), 0)
    return PlayedAnswer(recording, replay.ms, oracle.rest[0], plain_ms, rounds)


def _losses(
    oracle: Oracle, at: int, outcome: Outcome, best: Move, before: str, paused: set[str]
) -> Iterator[tuple[str, float]]:
    """Yield (cause, milliseconds) of a round; all together are its time plus rest(its end) less rest(its beginning)."""
    name = outcome.drafter
    drafted, line, held = len(outcome.confidences), len(outcome.selection.checked.tokens), outcome.accepted_in_line
    as_played = oracle.price(at, name, drafted, outcome.verified)
    in_line = oracle.price(at, name, drafted, line)
    trimmed = oracle.ms(at, Move(name, min(drafted, held), held))
    own = min(oracle.ms(at, move) for move in oracle.moves(at) if move.drafter in (name, Origin.TARGET))
    reading_ms = _reading_ms(oracle, at, outcome)
    yield "reading", reading_ms
    yield "changes of size", outcome.ms - reading_ms - as_played
    yield "branches", as_played - in_line + oracle.rest[at + outcome.tokens] - oracle.rest[at + held + 1]
    wasted = in_line - oracle.price(at, name, min(drafted, held), held)
    yield ("too long" if held else "nothing held"), wasted
    is_plain, is_read = name == Origin.TARGET, outcome.state.uncached_tokens.get(best.drafter, 0) <= BULK
    if is_plain:
        choice = "paused" if best.drafter in paused else "no gain expected"
    else:
        yield "too short", trimmed - own
        choice = "late switch" if name == before else "wrong drafter"
    if not is_read:
        choice = f"text not read: {'no guess' if is_plain else 'a worse drafter'}"
    yield choice, (trimmed if is_plain else own) - oracle.rest[at]


def _reading_ms(oracle: Oracle, at: int, outcome: Outcome) -> float:
    """Return the milliseconds in which the drafter read the text."""
    if not outcome.confidences:
        return 0.0
    drafted = len(outcome.confidences)
    return outcome.timing.draft_ms - oracle.price(at, outcome.drafter, drafted, 0) + oracle.price(at, "", 0, 0)


def _interval(ratios: Sequence[float]) -> str:
    bounds = bootstrap_interval(ratios)
    mean = f"{geometric_mean(ratios):.3f}x"
    return f"{mean} ({bounds.low:.3f}-{bounds.high:.3f})" if bounds else mean


def table(answers: Sequence[PlayedAnswer]) -> list[str]:
    """Return the table of causes, as Markdown: shares of the policy's time, and those of the first tokens."""
    shares, first = [each.shares() for each in answers], [each.shares(FIRST) for each in answers]
    whole = fmean(sum(share.values()) for share in shares)
    rows = [
        (cause, fmean(share[cause] for share in shares), fmean(share[cause] for share in first)) for cause in CAUSES
    ]
    return [
        f"| where the time goes | of auto's time | of the whole loss | of it in the first {FIRST} tokens |",
        "| :-- | --: | --: | --: |",
        *(
            f"| {cause} | {share:.1%} | {share / whole:.0%} | {early:.1%} |"
            for cause, share, early in sorted(rows, key=lambda row: -row[1])
        ),
        f"| all | {whole:.1%} | 100% | {fmean(sum(share.values()) for share in first):.1%} |",
    ]


def speeds(answers: Sequence[PlayedAnswer]) -> str:
    """Return a line with the speed over plain decoding, of auto and of the oracle, and how much auto reaches."""
    auto, oracle = [a.plain_ms / a.ms for a in answers], [a.plain_ms / a.oracle_ms for a in answers]
    reached = [a.oracle_ms / a.ms for a in answers]
    worst = min(range(len(auto)), key=auto.__getitem__)
    return (
        f"{len(answers)} answers: auto {_interval(auto)} of plain decoding, worst {auto[worst]:.3f} "
        f"{answers[worst].recording.name}; {sum(each < 0.97 for each in auto)} below 0.97; "
        f"oracle {_interval(oracle)}; auto reaches {_interval(reached)} of it"
    )


def read_prices(texts: Sequence[str]) -> Prices:
    """Read prices such as target=1:52.2,2:58.3."""
    prices: dict[str, dict[int, float]] = defaultdict(dict)
    for text in texts:
        model, _, table_text = text.partition("=")
        for point in table_text.split(","):
            tokens, _, ms = point.partition(":")
            prices[model][int(tokens)] = float(ms)
    return prices


def read(traces: Sequence[Path], prices: Prices, tokens: int | None = None) -> list[RecordedAnswer]:
    """Read recordings, joined by answer. Raises TraceError."""
    recordings = joined([recording for trace in traces for recording in read_recordings(trace)])
    if prices:
        recordings = [recording.priced(prices) for recording in recordings]
    if tokens:
        recordings = [each.beginning(tokens) for each in recordings if len(each.text) >= tokens - 1]
    return recordings


def learned_from(recordings: Sequence[RecordedAnswer], policy: Policy) -> Policy:
    """Return a policy that has written these answers, but does not know how long answers are, as these are cut off."""
    for recording in recordings:
        play(recording, policy)
    learned = policy.to_json()
    del learned["lengths"]
    return Policy.from_json(learned) or policy


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE", help="a file written with --depth")
    parser.add_argument("--price", action="append", default=[], help="of passes: model=tokens:ms,tokens:ms")
    parser.add_argument("--tokens", type=int, help="cut each answer off after so many; shorter ones are left out")
    parser.add_argument(
        "--after", nargs="+", type=Path, default=[], metavar="TRACE", help="begin with what was learned from these"
    )
    parser.add_argument("--kinds", action="store_true", help="print the speeds of each kind of prompt, too")
    parser.add_argument("--rounds", metavar="NAME", help="print every round of the answer to this prompt, too")
    given = parser.parse_args(arguments)
    try:
        recordings = read(given.traces, read_prices(given.price), given.tokens)
        earlier = read(given.after, read_prices(given.price))
    except (TraceError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    if not recordings:
        print("no answer is as long", file=sys.stderr)
        return 1
    if earlier:
        learned = learned_from(earlier, earlier[0].policy()).to_json()
        recordings = [replace(recording, learned={**learned, "costs": recording.prices}) for recording in recordings]
    answers = [play(recording, recording.policy()) for recording in recordings]
    if given.kinds:
        for kind in dict.fromkeys(each.recording.kind for each in answers):
            print(kind, speeds([each for each in answers if each.recording.kind == kind]))
    for answer in answers:
        if answer.recording.name == given.rounds:
            print("\n".join(_round_lines(answer)))
    print("\n".join([speeds(answers), *table(answers)]))
    return 0


def _round_lines(answer: PlayedAnswer) -> Iterator[str]:
    for each in answer.rounds:
        outcome, best = each.outcome, each.best
        lost = ", ".join(f"{cause} {ms:.0f}" for cause, ms in each.losses.items() if abs(ms) >= 1)
        yield (
            f"{each.at:>4} {outcome.drafter:>7} guessed {len(outcome.confidences)} checked {outcome.verified} "
            f"held {outcome.accepted} {outcome.ms:.0f} ms; best {best.drafter} {best.accepted}; lost: {lost}"
        )


if __name__ == "__main__":
    sys.exit(main())
