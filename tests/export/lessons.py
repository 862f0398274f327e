"""Trains a copy of a tiny model, at once and in two parts; it loads torch, so no test does that itself.

`python -m tests.export.lessons SOURCE FOLDER` prints what came of it as JSON.
"""

import contextlib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headstart_export import convert, distillation
from headstart_export.answers import Text
from headstart_export.distillation import Plan

STOP = 5  # steps before the interruption
KEPT = (0, 1, 5)


def texts(count: int) -> Iterator[Text]:
    """Random ones: what is learned is what the target makes of them."""
    drawn = random.Random(7)
    for _ in range(count):
        ids = [drawn.randrange(3, 600) for _ in range(24)]
        yield ids[:8], ids[8:]


def interrupt(said: str) -> None:
    """As a user does, after some steps."""
    if f" {STOP} of" in said:
        raise KeyboardInterrupt


def weights(draft: Any) -> dict[str, Any]:
    """All of them, by name."""
    return {name: value.detach().clone() for name, value in draft.named_parameters()}


def difference(first: dict[str, Any], second: dict[str, Any]) -> dict[str, float]:
    """The largest of each matrix."""
    return {name: float((first[name] - second[name]).abs().max()) for name in first}


def learn(teacher: Any, plan: Plan, state: Path, *, stops: bool) -> tuple[Any, list[float]]:
    """Train a fresh copy to the end, in two parts if it `stops`: then nothing but the file is handed on."""
    learned = list(texts(10))
    if stops:
        with contextlib.suppress(KeyboardInterrupt):
            distillation.train(teacher, distillation.reduced(teacher, KEPT), learned, plan, state, interrupt)
    draft = distillation.reduced(teacher, KEPT)
    return draft, distillation.train(teacher, draft, learned, plan, state, lambda _said: None)


def main() -> None:
    """Print the findings."""
    teacher = convert.load_weights(Path(sys.argv[1]), code=False).float()
    folder = Path(sys.argv[2])
    plan = Plan(layers=3, texts=10, tokens=16, passes=4, rate=2e-3, seed=1)
    untrained, before = weights(distillation.reduced(teacher, KEPT)), weights(teacher)
    distillation.SAVE_EVERY = -1.0  # after each step
    whole, losses = learn(teacher, plan, folder / "whole", stops=False)
    parts, resumed = learn(teacher, plan, folder / "parts", stops=True)
    print(
        json.dumps(
            {
                "losses": [losses, resumed],
                "changed": difference(weights(whole), untrained),
                "target changed": max(difference(weights(teacher), before).values()),
                "resumed differs": max(difference(weights(whole), weights(parts)).values()),
            }
        )
    )


if __name__ == "__main__":
    main()
