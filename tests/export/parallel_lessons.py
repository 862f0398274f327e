"""A tiny draft that learns to guess several tokens in one pass; no test loads torch itself.

`python -m tests.export.parallel_lessons SOURCE FOLDER` prints what came of it as JSON. SOURCE is a Hugging Face folder.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headstart_export import convert, features, head_training, parallel_model, process
from headstart_export.features import Text
from headstart_export.head_training import Plan, Trainer
from headstart_export.parallel_model import MASKS, Student

ROWS, TOKENS, HIDDEN = 200, 600, 48


def made(source: Path) -> Student:
    """A student whose adapters change something already."""
    torch.manual_seed(1)
    model = convert.load_weights(source, code=False).float()
    student = Student(model, torch.randn(ROWS, HIDDEN), np.arange(3, 3 + ROWS), rank=4)
    for name, weight in student.named_parameters():
        if name.endswith(".second"):
            weight.data.normal_(0, 0.05)
    return student


def texts(count: int) -> list[Text]:
    """Texts in which each token follows from the one before it, and states that say so."""
    drawn, generator = random.Random(2), np.random.default_rng(2)
    known = np.eye(ROWS, HIDDEN, dtype=np.float16) * 8
    found = []
    for _ in range(count):
        ids = [drawn.randrange(3, 3 + HIDDEN)]
        while len(ids) < 30:
            ids.append(3 + (ids[-1] - 3 + 7) % HIDDEN)
        states = generator.normal(0, 0.1, (30, features.STATES * HIDDEN)).astype(np.float16)
        states[:-1, -HIDDEN:] = known[np.array(ids[1:]) - 3]
        found.append(Text("answer", ids, 4, states))
    return found


def scores(student: Student, several: list[Text], which: int, anchor: int) -> list[Any]:
    """Return what the student expects at each place of a chain behind `anchor`, beside other texts."""
    student.eval()
    several = several[: which + 1]
    before = sum(len(text.ids) - MASKS - text.given for text in several[:-1])
    with torch.inference_mode():
        return [
            (hidden[before + anchor - several[-1].given] @ student.rows.T).tolist()
            for hidden, _ in student.unroll(several, 1 + MASKS)
        ]


def main() -> None:
    """Print the findings."""
    process.prepare()
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    student, several = made(source), texts(6)
    parallel_model.save_lean(student, folder / "lesson")
    model = convert.load_weights(source, code=False).float()
    masks = parallel_model.merge(folder / "lesson", model, TOKENS)
    text, anchor = several[2], 11
    with torch.inference_mode():
        logits = model(torch.tensor([[*text.ids[: anchor + 1], *masks]])).logits[0, -1 - MASKS :, 3 : 3 + ROWS]
    learning = made(source)
    learning.at_once = 50
    head_training._FLAT = -1.0  # it goes on whatever it learns
    learning.target_rows = torch.eye(ROWS, HIDDEN)
    student.target_rows = learning.target_rows
    before = float(head_training._loss(student.train(), several))
    trainer = Trainer(learning, several, several, Plan(passes=40, seconds=1e9, rate=5e-3), folder / "training.pt")
    trainer.learn(lambda _said: None)
    print(
        json.dumps(
            {
                "student": scores(student, several, 2, anchor),
                "merged": logits.tolist(),
                "masks": masks,
                "losses": [before, float(head_training._loss(learning.train(), several))],
                "places": len(trainer.marks[-1].acceptance["answer"]),
            }
        )
    )


if __name__ == "__main__":
    main()
