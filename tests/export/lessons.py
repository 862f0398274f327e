"""Trains a copy of a tiny model in several ways, for tests of the training alone; it loads torch, so they do not.

`python -m tests.export.lessons SOURCE FOLDER` prints what came of it as JSON.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart_export import convert, distillation
from headstart_export.distillation import Course
from headstart_export.writing import Text

STOP = 5  # steps before the interruption
KEPT = (0, 1, 5)


def texts(count: int) -> Iterator[Text]:
    """Random ones: what is learned is what the target makes of them."""
    drawn = random.Random(7)
    for _ in range(count):
        ids = [drawn.randrange(3, 600) for _ in range(24)]
        yield ids[:8], ids[8:]


def interrupt(done: int, _total: int) -> None:
    """As a user does, after some steps."""
    if done == STOP:
        raise KeyboardInterrupt


def nothing(_done: int, _total: int) -> None:
    """Let it go on."""


def weights(draft: Any) -> dict[str, Any]:
    """All of them, by name."""
    return {name: value.detach().clone() for name, value in draft.named_parameters()}


def difference(first: dict[str, Any], second: dict[str, Any]) -> dict[str, float]:
    """The largest of each matrix."""
    return {name: float((first[name] - second[name]).abs().max()) for name in first}


def astray(teacher: Any, course: Course, folder: Path) -> str:
    """What is said when numbers run away."""
    draft = distillation.reduced(teacher, KEPT)
    draft.model.layers[0].mlp.up_proj.weight.data.fill_(float("nan"))
    try:
        distillation.train(teacher, draft, course, folder, nothing)
    except ExportError as error:
        return str(error)
    return "nothing"


def learn(teacher: Any, course: Course, folder: Path, *, stops: bool = False) -> tuple[Any, list[float]]:
    """Train a fresh copy to the end, in two parts if it `stops`: then nothing but the folder is handed on."""
    folder.mkdir()
    if stops:
        try:
            distillation.train(teacher, distillation.reduced(teacher, KEPT), course, folder, interrupt)
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("was not interrupted")
    draft = distillation.reduced(teacher, KEPT)
    return draft, distillation.train(teacher, draft, course, folder, nothing)


def learn_from_damage(teacher: Any, course: Course, folder: Path) -> list[float]:
    """The losses where a state was kept that cannot be read."""
    folder.mkdir()
    (folder / "training.pt").write_bytes(b"no state")
    return distillation.train(teacher, distillation.reduced(teacher, KEPT), course, folder, nothing)


def main() -> None:
    """Print the findings."""
    teacher = convert.load_weights(Path(sys.argv[1]), code=False).float()
    folder = Path(sys.argv[2])
    course = Course(list(texts(10)), passes=4, rate=2e-3, seed=1)
    untrained, before = weights(distillation.reduced(teacher, KEPT)), weights(teacher)
    distillation.SAVE_EVERY = -1.0  # after each step
    whole, losses = learn(teacher, course, folder / "whole")
    parts, resumed = learn(teacher, course, folder / "parts", stops=True)
    anew = learn_from_damage(teacher, course, folder / "damaged")
    other, _ = learn(teacher, Course(course.texts, course.passes, course.rate, seed=2), folder / "other")
    print(
        json.dumps(
            {
                "steps": course.steps,
                "losses": [losses, resumed, anew],
                "changed": difference(weights(whole), untrained),
                "target changed": max(difference(weights(teacher), before).values()),
                "resumed differs": max(difference(weights(whole), weights(parts)).values()),
                "other seed differs": max(difference(weights(whole), weights(other)).values()),
                "places": [len(guessed) for guessed in distillation.guesses(whole, course.texts)],
                "astray": astray(teacher, course, folder),
            }
        )
    )


if __name__ == "__main__":
    main()
