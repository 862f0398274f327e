"""The effect of half and double of each tuned constant of the policy on recorded and made-up answers.

python app/bench/research/policy_constants.py [--markdown]

Run it in the root of the repository: the answers are those of the tests. Without a flag it prints JSON, with it the
table of app/docs/policy.md. A memory is halved and doubled as a half-life, a chance by its odds.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

_ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(_ROOT), str(_ROOT / "app")]

from tests.engine.policy import simulation  # noqa: E402

from bench.research.recordings import RecordedAnswer, read_recordings  # noqa: E402
from bench.research.replay import SimulatedMachine, fixed_ms, policy_ms  # noqa: E402
from headstart.engine.policy import acceptance, cost_model, loss_budget, plan, policy  # noqa: E402

MODULES = (acceptance, cost_model, loss_budget, plan, policy)
DATA = _ROOT / "tests" / "engine" / "data"
HAND = "chosen by hand"
SEEDS = (1, 2, 3)
SCATTER = 0.03  # of a pass
Value = float | tuple[float, ...]


@dataclass(frozen=True)
class Constant:
    """A tuned constant."""

    module: ModuleType
    name: str
    source: str = HAND
    kind: str = "number"  # or count, memory, chance

    @property
    def value(self) -> Value:
        """The value that ships."""
        value: Value = getattr(self.module, self.name)
        return value

    def scaled(self, factor: float) -> Value:
        """Return `factor` times the value; all of a tuple together."""
        value = self.value
        if isinstance(value, tuple):
            return tuple(self._scaled(each, factor) for each in value)
        return self._scaled(value, factor)

    def _scaled(self, value: float, factor: float) -> float:
        if self.kind == "memory":
            return float(value ** (1 / factor))
        if self.kind == "chance":
            odds = factor * value / (1 - value)
            return odds / (1 + odds)
        return max(1, round(value * factor)) if self.kind == "count" else value * factor


_MEASURED = "measured: 1.5B INT8 on an AMX Xeon, November 2026"
_LOSS = "the loss that is bounded for any text"
CONSTANTS = (
    Constant(acceptance, "_MEMORY", kind="memory"),
    Constant(acceptance, "_MIN_CHANCE", kind="chance"),
    Constant(acceptance, "_LOGIT_PRIOR"),
    Constant(acceptance, "_LOGIT_PRIOR_COUNT"),
    Constant(acceptance, "_LOGIT_MEMORY", kind="memory"),
    Constant(acceptance, "_PRIOR"),
    Constant(acceptance, "_DEVIATIONS"),
    Constant(acceptance, "_MATCH_CHANCES", kind="chance"),
    Constant(acceptance, "_PRIOR_COUNT"),
    Constant(cost_model, "_NOISE"),
    Constant(cost_model, "_SWITCH", "measured: 0.1 for 1.5B, 0.3 for 0.5B, 0.5 for 135M"),
    Constant(cost_model, "_INCREMENT", _MEASURED),
    Constant(cost_model, "_DRAFT_STEP", "measured: 0.26 and 0.34 for 0.5B beside 1.5B"),
    Constant(cost_model, "_CONTEXT"),
    Constant(cost_model, "_DEVIATIONS"),
    Constant(cost_model, "_COMMON_DRIFT", "test_calibration.py: without it, prices follow a change late"),
    Constant(cost_model, "_DRIFT"),
    Constant(cost_model, "_CLIP"),
    Constant(
        loss_budget,
        "_RETRY",
        "test_simulation.py: at double, hopeless text falls more than 3 % behind",
    ),
    Constant(loss_budget, "_FIRST_PAUSE", kind="count"),
    Constant(loss_budget, "_MAX_PAUSE", kind="count"),
    Constant(loss_budget, "_PAUSE_GROWTH", kind="count"),
    Constant(loss_budget, "_PACE_MEMORY", kind="memory"),
    Constant(loss_budget, "_PRIOR_STEPS"),
    Constant(loss_budget, "_DRAFT_ALLOWANCE", _LOSS),
    Constant(loss_budget, "_CHEAP_ALLOWANCE", _LOSS),
    Constant(plan, "_MAX_RATE"),
    Constant(plan, "_AMORTIZE_ROUNDS"),
    Constant(policy, "_PRIOR_LENGTHS", "a log-normal spread around 200"),
)


@contextmanager
def _set(constant: Constant, value: Value) -> Iterator[None]:
    """Set a constant and what is derived from it."""
    values: dict[str, object] = {constant.name: value}
    if constant.name in ("_CONTEXT", "_SWITCH"):
        places = {"_CONTEXT": 2, "_SWITCH": 3}
        means = [*cost_model.__dict__["_MEANS"]]
        means[places[constant.name]] = value
        values["_MEANS"] = tuple(means)
    before = {name: getattr(constant.module, name) for name in values}
    for name, each in values.items():
        setattr(constant.module, name, each)
    try:
        yield
    finally:
        for name, each in before.items():
            setattr(constant.module, name, each)


Play = Callable[[int], tuple[float, float]]  # seed -> milliseconds of plain decoding, of the policy


def _recorded(recording: RecordedAnswer) -> Play:
    def play(seed: int) -> tuple[float, float]:
        def machine() -> SimulatedMachine:
            return SimulatedMachine(recording.costs(), SCATTER, seed)

        return fixed_ms(recording.text, machine(), 0), policy_ms(
            recording.policy(fresh=True), recording.text, machine()
        )

    return play


def _made_up(parts: Sequence[tuple[simulation.Mixture, int]], copies: int = 0) -> Play:
    def play(seed: int) -> tuple[float, float]:
        text = simulation.write(parts, seed)
        text = simulation.with_copies(text, copies, 30, seed) if copies else text
        setting = simulation.Setting(simulation.Machine(seed=seed))
        return simulation.plain_ms(text), simulation.adaptive_ms(simulation.new_policy(), text, setting)

    return play


def _plays() -> list[Play]:
    code, prose, hopeless = simulation.CODE, simulation.PROSE, simulation.HOPELESS
    made_up = [_made_up([(code, 300)]), _made_up([(prose, 300)]), _made_up([(prose, 300)], copies=70)]
    made_up += [_made_up([(hopeless, 200)]), _made_up([(hopeless, 150), (code, 200)])]
    made_up += [_made_up([(hopeless, 1000), (code, 1000)])]  # long enough for all pauses
    return made_up + [_recorded(each) for file in sorted(DATA.glob("*.jsonl")) for each in read_recordings(file)]


def _speedups(plays: Sequence[Play], seed: int) -> list[float]:
    return [plain / took for plain, took in (play(seed) for play in plays)]


def _gain(base: Sequence[float], now: Sequence[float]) -> float:
    """Return the change of the geometric mean in per cent."""
    return 100.0 * (statistics.geometric_mean(b / a for a, b in zip(base, now, strict=True)) - 1)


def measure(constants: Sequence[Constant], seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    """Return the change of speed against the shipped values, in per cent."""
    plays = _plays()
    base = {seed: _speedups(plays, seed) for seed in seeds}
    rows = []
    for constant in constants:
        row: dict[str, Any] = {
            "file": f"{constant.module.__name__.rsplit('.', 1)[-1]}.py",
            "name": constant.name,
            "value": constant.value,
            "source": constant.source,
        }
        for word, factor in (("half", 0.5), ("double", 2.0)):
            with _set(constant, constant.scaled(factor)):
                gains = [_gain(base[seed], _speedups(plays, seed)) for seed in seeds]
            row[word] = {"mean": statistics.fmean(gains), "least": min(gains), "most": max(gains)}
        rows.append(row)
        print(constant.name, file=sys.stderr, flush=True)
    return {"answers": len(plays), "seeds": len(seeds), "constants": rows}


def _table(results: dict[str, Any]) -> str:
    lines = [
        "| file | constant | value | where it comes from | half | double |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in results["constants"]:
        value = ", ".join(
            f"{each:g}" for each in (row["value"] if isinstance(row["value"], tuple) else (row["value"],))
        )
        changes = [
            f"{change['mean']:+.1f} % ({change['least']:+.1f} to {change['most']:+.1f})"
            for change in (row["half"], row["double"])
        ]
        lines.append(f"| {row['file']} | `{row['name']}` | {value} | {row['source']} | {' | '.join(changes)} |")
    return "\n".join(lines)


def main() -> int:
    """Measure all constants, or the named ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="constants; all where none is named")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    constants = [each for each in CONSTANTS if not given.names or each.name in given.names]
    results = measure(constants)
    print(_table(results) if given.markdown else json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
