"""Other rules of drafting, to be beaten on replayed texts, and oracles that show what is left. Knows no policy."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from headstart.engine.bench.recorded import Text, run_length
from headstart.engine.bench.replay import Machine, Replay

FIXED_LENGTHS = range(1, 9)
_FIRST = 5  # length that an adaptive rule begins with
_LONGEST = 15
_RECENT = 8  # rounds that the history average looks back on

NextLength = Callable[[int, int, int], int]  # from the length, what was drafted, what was accepted


def ruled_ms(text: Text, machine: Machine, length: int, following: NextLength) -> float:
    """Milliseconds with a draft length that follows a rule."""
    replay = Replay(text, machine)
    while not replay.ended:
        drafted = min(length, replay.remaining - 1)
        held = run_length(text.right[replay.at : replay.at + drafted])
        replay.play(drafted, held, drafted)
        length = following(length, drafted, held)
    return replay.ms


def fixed_ms(text: Text, machine: Machine, length: int) -> float:
    """Milliseconds with the same draft length in every round; 0 is plain decoding."""
    return ruled_ms(text, machine, length, lambda same, _drafted, _accepted: same)


def two_up_one_down_ms(text: Text, machine: Machine) -> float:
    """The rule of Hugging Face's assisted generation: two longer when all were accepted, else one shorter."""
    return ruled_ms(
        text, machine, _FIRST, lambda k, drafted, hit: min(k + 2, _LONGEST) if hit == drafted else max(k - 1, 1)
    )


def history_average_ms(text: Text, machine: Machine) -> float:
    """One more than the mean of what the last rounds accepted."""
    history = [4] * _RECENT

    def following(_length: int, _drafted: int, accepted: int) -> int:
        history.append(accepted)
        return min(round(sum(history[-_RECENT:]) / _RECENT) + 1, _LONGEST)

    return ruled_ms(text, machine, _FIRST, following)


@dataclass(frozen=True)
class Foresight:
    """What an oracle may use: it knows which candidates of these will be accepted."""

    draft: bool = True
    ngram: bool = True
    tail: bool = True  # n-grams behind a draft


def oracle_ms(text: Text, machine: Machine, foresight: Foresight | None = None) -> float:
    """The least milliseconds of all: each round drafts and verifies exactly what will be accepted."""
    rest = [0.0]  # rest[i]: the last i places
    for at in reversed(range(len(text))):
        context = text.prompt + at
        verify = machine.costs.verify(len(text) - at, context)
        step_ms, _ = machine.costs.drafting(1, context)
        rest.append(
            min(
                drafted * step_ms + verify[k] + rest[-1 - k]
                for drafted, k in _moves(text, at, foresight or Foresight())
            )
        )
    return rest[-1]


def _moves(text: Text, at: int, foresight: Foresight) -> Iterator[tuple[int, int]]:
    """(drafted, accepted) of every round from here that wastes nothing."""
    most = min(len(text) - at - 1, _LONGEST)
    runs: list[tuple[int, int]] = [(0, _held(text, at))] if foresight.ngram else []
    if foresight.draft:
        hits = run_length(text.right[at : at + most])
        runs += [(k, k + (_held(text, at + k) if foresight.tail else 0)) for k in range(1, hits + 1)]
    yield 0, 0
    for drafted, reach in runs:
        yield from ((drafted, k) for k in range(max(drafted, 1), min(reach, most) + 1))


def _held(text: Text, at: int) -> int:
    offer = text.offers[at] if at < len(text) else None
    return offer.held if offer else 0


def best_fixed_ms(text: Text, machine: Callable[[], Machine], lengths: Sequence[int] = FIXED_LENGTHS) -> float:
    """Milliseconds with the fixed length that suits this text best, plain decoding included."""
    return min(fixed_ms(text, machine(), length) for length in (0, *lengths))
