"""Trains the head of a tiny exported model, and compares it with its runner; no test loads torch itself.

`python -m tests.export.heads.head_lessons MODEL FOLDER` prints what came of it as JSON. MODEL is an exported folder.
"""

import contextlib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from openvino import Model

from headstart.engine.hardware.runtime import core
from headstart.engine.runners.hydra import HeadPass, HydraRunner
from headstart.engine.runners.precision import plain
from headstart_export import process
from headstart_export.conversion import convert
from headstart_export.heads import features, hydra, network, training
from headstart_export.heads.features import Text
from headstart_export.heads.hydra import TargetWeights
from headstart_export.heads.network import Head, HeadSizes
from headstart_export.heads.training import Plan, Trainer

ROWS = 200
CHAIN = 4
STOP = 5  # changes before the interruption
LAYERS = (2, 5, 7)


def texts(folder: Path, count: int, seed: int) -> Iterator[Text]:
    """Return random texts with predictable endings, and the states of the model in `folder`."""
    drawn = random.Random(seed)
    states = folder / f"{seed}.npy"
    ids = [[drawn.randrange(3, 3 + ROWS) for _ in range(40)] for _ in range(count)]
    features.read(sys.argv[1], list(LAYERS), ids, str(states))
    start = 0
    for each in ids:
        yield Text("answer", each, 6, np.load(states)[start : start + len(each)])
        start += len(each)


def made(target: Path, learned: list[Text]) -> Head:
    """Return an untrained head."""
    torch.manual_seed(1)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    head = Head(HeadSizes(config, 96, ROWS))
    network.begin(head, TargetWeights(target), np.arange(3, 3 + ROWS), learned)
    return head


def chain(folder: Path, text: Text, start: int) -> list[list[float]]:
    """Return the logits of a chain behind `start`, as the engine runs a finished head."""
    model = core().read_model(folder / convert.MODEL_FILE)
    matrix = next(node for node in model.get_ordered_ops() if node.get_type_name() == "MatMul")
    first = core().compile_model(Model([matrix.output(0)], model.get_parameters()[:1]), "CPU", plain())
    hidden = first(text.states[None, start : start + 1].astype(np.float32))[0][0]
    runner, logits = HydraRunner.load(folder, "CPU", plain(), sequences=2), list[list[float]]()
    assert runner.listed.tolist() == list(range(3, 3 + ROWS))
    for token in text.ids[start + 1 : start + 1 + CHAIN]:
        beside = [HeadPass(token, given, number) for number, given in enumerate((0 * hidden, hidden))]
        runner.batcher._read(beside, None)
        scores, hidden = runner.read(token, hidden)
        assert beside[1].logits is not None
        assert np.abs(beside[1].logits - scores).max() < 1e-3
        logits.append(scores[0].tolist())
    return logits


def unrolled(head: Head, text: Text, start: int) -> list[list[float]]:
    """Return the logits of a chain as training computes them."""
    with torch.inference_mode():
        return [
            (normed[start - text.given + 1] @ head.rows.float().T).tolist() for normed, _ in head.unroll([text], CHAIN)
        ]


def learn(target: Path, learned: list[Text], trials: list[Text], path: Path, *, stops: bool) -> Trainer:
    """Train to the end, in two parts if it `stops`; then only the file is handed on."""
    plan, step = Plan(passes=3, seconds=1e9, rate=3e-3), Trainer._step

    def interrupted(trainer: Trainer, batch: Any) -> None:
        if trainer._state.changes == STOP:
            raise KeyboardInterrupt
        step(trainer, batch)

    if stops:
        Trainer._step = interrupted  # type: ignore[assignment, method-assign]
        with contextlib.suppress(KeyboardInterrupt):
            Trainer(made(target, learned), learned, trials, plan, path).learn(lambda _said: None)
        Trainer._step = step  # type: ignore[method-assign]
    trainer = Trainer(made(target, learned), learned, trials, plan, path)
    trainer.learn(lambda _said: None)
    return trainer


def main() -> None:
    """Print the results."""
    process.prepare()
    target, folder = Path(sys.argv[1]), Path(sys.argv[2])
    learned, trials = list(texts(folder, 60, 1)), list(texts(folder, 4, 2))
    training.SAVE_EVERY = -1.0  # after each change
    whole = learn(target, learned, trials, folder / "whole.pt", stops=False)
    parts = learn(target, learned, trials, folder / "parts.pt", stops=True)
    weights = zip(whole.head.parameters(), parts.head.parameters(), strict=True)
    before, after = (float(training._loss(head, learned)) for head in (made(target, learned), whole.head))
    head = network.weights_of(whole.head)
    hydra.save(head, folder / convert.MODEL_FILE)
    hydra.save_lean(head, folder / "lean")
    lean = hydra.load_lean(folder / "lean" / hydra.LEAN_FILE, target)
    hydra.save(lean, folder / "lean" / convert.MODEL_FILE)
    print(
        json.dumps(
            {
                "losses": [before, after],
                "marks": [len(trainer.learning_curve) for trainer in (whole, parts)],
                "resumed differs": max(float((a - b).abs().max()) for a, b in weights),
                "chains": [
                    unrolled(whole.head, trials[0], 20),
                    *(chain(each, trials[0], 20) for each in (folder, folder / "lean")),
                ],
            }
        )
    )


if __name__ == "__main__":
    main()
