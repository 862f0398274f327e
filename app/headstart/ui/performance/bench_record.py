"""A benchmark that was run: kept in a file until the next one, and written as a table of figures. Draws nothing."""

import csv
import io
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart import own_folder
from headstart.engine.bench.result import BenchResult
from headstart.engine.wire import from_data

_log = logging.getLogger(__name__)
_COLUMNS = (
    "class", "prompt", "contestant", "repeat", "ms_per_token", "total_ms_per_token", "ttft_ms", "output_tokens",
    "speedup_median", "speedup_low", "speedup_high", "same_text_as_plain",
)  # fmt: skip


@dataclass(frozen=True)
class BenchRecord:
    """When it ended, as ISO 8601, and what came of it: as data, which is kept whole, and as values."""

    when: str
    data: Mapping[str, Any]
    result: BenchResult


def record(when: str, data: Mapping[str, Any]) -> BenchRecord:
    """From the result as the engine's process sends it. Raises ValueError where it is none."""
    return BenchRecord(when, data, from_data(BenchResult, data))


def read(path: Path) -> BenchRecord | None:
    """What was kept; None where there is nothing, or nothing that this version understands."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return record(str(kept["when"]), kept["result"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        _log.warning("%s is ignored: %r", path, error)
        return None


def keep(path: Path, kept: BenchRecord) -> None:
    """Put it in the place of the one before; a folder that cannot be written is logged: the figures are on screen."""
    temporary = path.with_suffix(".new")
    try:
        own_folder.make(path.parent)
        temporary.write_text(as_json(kept), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        _log.warning("the benchmark is not kept: %s", error)


def as_json(kept: BenchRecord) -> str:
    """Everything, and when it was measured."""
    return json.dumps({"when": kept.when, "result": kept.data}, indent=1, ensure_ascii=False) + "\n"


def as_csv(kept: BenchRecord) -> str:
    """A row for each answer."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(_COLUMNS)
    table.writerows(_rows(kept.result))
    return text.getvalue()


def _rows(result: BenchResult) -> Iterator[tuple[object, ...]]:
    for prompt in result.prompts:
        for name, score in prompt.scores.items():
            spread = score.speedup
            speedups = (spread.median, spread.low, spread.high) if spread else (None, None, None)
            times = zip(score.ms_per_token, score.total_ms_per_token, score.ttft_ms, score.output_tokens, strict=True)
            for repeat, figures in enumerate(times, start=1):
                yield (prompt.kind, prompt.id, name, repeat, *figures, *speedups, score.equals_plain)
