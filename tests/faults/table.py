"""Counts what was tried and what was lost, and shows it as a table. Knows no fault."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from headstart.errors import HeadstartError
from tests.faults.profile import Lost

Try = Callable[[Random], None]


@dataclass
class Row:
    """One kind of fault."""

    name: str
    promise: str
    tried: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, attempt: Try, seed: int) -> None:
        """One more round; its seed finds it again."""
        self.tried += 1
        try:
            attempt(Random(seed))
        except (Lost, HeadstartError, OSError, AssertionError) as error:
            self.faults.append(f"seed {seed}: {type(error).__name__}: {error}")


def markdown(rows: list[Row]) -> str:
    """For the README."""
    lines = [f"| {row.name} | {row.promise} | {row.tried} | {len(row.faults)} |" for row in rows]
    total = f"| **all** | | **{sum(row.tried for row in rows)}** | **{sum(len(row.faults) for row in rows)}** |"
    return "\n".join(["| fault | afterwards | tried | lost |", "| --- | --- | ---: | ---: |", *lines, total])


def as_json(rows: list[Row], seed: int, seconds: float) -> str:
    """For programs, with every fault."""
    kinds = [{"name": row.name, "tried": row.tried, "lost": len(row.faults), "faults": row.faults} for row in rows]
    return json.dumps({"seed": seed, "seconds": round(seconds, 1), "faults": kinds}, indent=1)
