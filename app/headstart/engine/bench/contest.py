"""Which rule of drafting would have written recorded answers fastest. Loads no model."""

from collections.abc import Callable, Mapping

from headstart.engine.bench import rules
from headstart.engine.bench.replay import Machine, policy_ms
from headstart.engine.bench.rules import Foresight
from headstart.engine.bench.traces import Recording

AUTO = "auto"
Rule = Callable[[Recording], float]  # milliseconds


def _machine(recording: Recording) -> Machine:
    return Machine(recording.costs())


def _fixed(length: int) -> Rule:
    return lambda recording: rules.fixed_ms(recording.text, _machine(recording), length)


def _oracle(foresight: Foresight) -> Rule:
    return lambda recording: rules.oracle_ms(recording.text, _machine(recording), foresight)


def _auto(*, fresh: bool) -> Rule:
    return lambda recording: policy_ms(
        recording.policy(fresh=fresh), recording.text, _machine(recording), draft=recording.has_draft
    )


def _without_branches(recording: Recording) -> float:
    return policy_ms(recording.policy(), recording.text.without_runners_up(), _machine(recording))


WITH_DRAFT: Mapping[str, Rule] = {
    **{f"fixed {length}": _fixed(length) for length in rules.FIXED_LENGTHS},
    "two up, one down": lambda recording: rules.two_up_one_down_ms(recording.text, _machine(recording)),
    "history average": lambda recording: rules.history_average_ms(recording.text, _machine(recording)),
    "oracle, draft only": _oracle(Foresight(ngram=False, tail=False)),
    "oracle": _oracle(Foresight()),
}
WITHOUT_DRAFT: Mapping[str, Rule] = {"oracle": _oracle(Foresight(draft=False))}


def speedups(recording: Recording) -> dict[str, float]:
    """Of the automatic policy (as it was, and knowing nothing yet) and of every other rule, over plain decoding."""
    plain = rules.fixed_ms(recording.text, _machine(recording), 0)
    others = WITH_DRAFT if recording.has_draft else WITHOUT_DRAFT
    contestants = {AUTO: _auto(fresh=False), f"{AUTO}, new pair": _auto(fresh=True), **others}
    if recording.text.runners_up:
        contestants[f"{AUTO}, no branches"] = _without_branches
    return {name: plain / rule(recording) for name, rule in contestants.items()}
