"""Counts what was tried and what was lost, and shows it as a table. Knows no fault."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
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


def markdown(rows: Iterable[Row]) -> str:
    """For the README."""
    rows = [row for row in rows if row.tried]
    tried, lost = sum(row.tried for row in rows), sum(len(row.faults) for row in rows)
    lines = [
        f"| {row.name} | {row.promise} | {row.tried} | {row.tried - len(row.faults)} | {len(row.faults)} |"
        for row in rows
    ]
    total = f"| **all** | | **{tried}** | **{tried - lost}** | **{lost}** |"
    head = ["| fault | afterwards | tried | survived | lost |", "| --- | --- | ---: | ---: | ---: |"]
    return "\n".join([*head, *lines, total])


@dataclass(frozen=True)
class Result:
    """What pieces of a long run found together."""

    seeds: tuple[int, ...] = ()
    seconds: float = 0.0
    rows: tuple[Row, ...] = ()

    def with_piece(self, seed: int, seconds: float, rows: Iterable[Row]) -> "Result":
        """One more piece."""
        return self.with_result(Result((seed,), seconds, tuple(rows)))

    def with_result(self, other: "Result") -> "Result":
        """Both together."""
        found = {row.name: row for row in self.rows}
        for row in other.rows:
            earlier = found.get(row.name, Row(row.name, row.promise))
            tried, faults = earlier.tried + row.tried, earlier.faults + row.faults
            found[row.name] = Row(row.name, row.promise, tried, faults)
        return Result((*self.seeds, *other.seeds), self.seconds + other.seconds, tuple(found.values()))


def read(path: Path) -> Result:
    """What a file has; nothing where there is none yet."""
    if not path.exists():
        return Result()
    data = json.loads(path.read_text(encoding="utf-8"))
    rows = [Row(kind["name"], kind["promise"], kind["tried"], kind["faults"]) for kind in data["faults"]]
    return Result(tuple(data["seeds"]), data["seconds"], tuple(rows))


def write(path: Path, result: Result) -> None:
    """For programs, with every fault; whole or not at all."""
    kinds = [{**asdict(row), "lost": len(row.faults)} for row in result.rows]
    data = {"seeds": result.seeds, "seconds": round(result.seconds, 1), "faults": kinds}
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)
