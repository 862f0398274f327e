"""`headstart-export head`: trains a Hydra head for an exported model on this computer.

The target answers prompts and reads texts; from its hidden states the head learns to guess the next tokens. Texts,
states and the state of the training are kept until the head is done, so that an interrupted run can continue.
"""

import argparse
import dataclasses
import hashlib
import json
import math
import random
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart.engine.runners.graph import HIDDEN_STATES, MIN_LAYERS, tapped_layers
from headstart.engine.runners.head import MAPPING, NEXT
from headstart.errors import ExportError, NotEnoughSpaceError
from headstart.library import manifest
from headstart.library.manifest import LearnedHead, Manifest
from headstart_export import draft_vocab, table, workspace
from headstart_export.checks import quality
from headstart_export.conversion import convert
from headstart_export.heads import features
from headstart_export.heads.features import FeatureStore, Text
from headstart_export.progress import Progress, megabytes

if TYPE_CHECKING:
    from headstart_export.heads.training import Trainer

_WRITING_SHARE = 0.6  # share of the hours for writing, at most; the others are for training
_STEPS = 4  # write, train, try, move
_PARTS = 1000  # units of progress in a step
_MAX_PIECES = 2000  # of texts to read
_SCALE_TEXTS = 64  # texts that the usual size of each channel is measured on
_PER_WEIGHT = 24  # bytes for each learned weight: itself, gradient, two moments, mean, and a temporary copy


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headstart-export head",
        description="Make a Hydra head for an exported model: a small network that learns on this computer what the "
        "model says next, and becomes a part of it. An interrupted call goes on when run again.",
    )
    add = parser.add_argument
    add("model", metavar="NAME", help="installed model, pair (its target), or folder")
    add("--rows", type=_count, default=16384, metavar="N", help="tokens that it guesses among (16384)")
    add("--neurons", type=_count, default=2048, metavar="N", help="of its network (at most: 2048)")
    add("--force", action="store_true", help="replace an older head, once the new one is done")
    add("--lean", type=Path, metavar="DIR", help="also write what it learned, for a recipe")
    add("--hours", type=_positive, default=8.0, metavar="X", help="that it may take (default: 8)")
    add("--tokens", type=_count, default=1_000_000, metavar="N", help="to learn from (default: 1000000)")
    add("--passes", type=_count, default=3, metavar="N", help="through all of them (default: 3)")
    add("--text", nargs="+", type=Path, default=[], metavar="PATH", help="read these texts too, not others")
    add("--seed", type=int, default=0, metavar="N", help="another one: another order")
    add("--keep", type=Path, metavar="DIR", help="where texts and states are kept, and stay afterwards")
    add("--json", action="store_true", help="print JSON on standard output")
    add("--verbose", action="store_true", help="show what the libraries underneath print")
    parser.set_defaults(trust_remote_code=False)
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError("must be above 0")
    return number


def run(options: argparse.Namespace, cache: Path, progress: Progress) -> Path:
    """Make the head, and return its folder. Raises HeadstartError, and leaves nothing half done."""
    begun, target = time.monotonic(), table.model_folder(options.model)
    described = manifest.read_model(target)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    output = target / manifest.HEAD_FOLDER
    workspace.refuse_existing(output, replace=options.force)
    if int(config.get("num_hidden_layers", 0)) < MIN_LAYERS:
        raise ExportError("{model} has fewer than {least} layers, too few for a head.",
                          model=described.name, least=MIN_LAYERS)  # fmt: skip
    progress.expect(_STEPS)
    store = _open_store(options, described, target, cache)
    hidden = int(config["hidden_size"])
    learning = features.STATES * hidden**2 + 5 * hidden * _neurons(options, config)
    memory = workspace.LIBRARIES + _PER_WEIGHT * learning + 2 * hidden * options.rows
    _require_room(options, f"a head for {described.name}", hidden, memory, store.folder, progress)
    _gather(options, store, begun, progress)
    trainer = _train(options, store, config, begun, progress)
    _finish(options, trainer, store, described, output, progress)
    described = manifest.read_model(target)  # its table may have been counted anew meanwhile
    manifest.write(target, dataclasses.replace(described, files=manifest.hash_files(target)))
    if not options.keep:
        shutil.rmtree(store.folder, ignore_errors=True)
    return output


def _unlist(head: Path) -> None:
    """Remove a head from its model's list of files, so that the model is not called damaged without it."""
    target = head.parent
    described = manifest.read_model(target)
    files = {name: file for name, file in described.files.items() if not name.startswith(f"{head.name}/")}
    manifest.write(target, dataclasses.replace(described, files=files))


def _open_store(options: argparse.Namespace, described: Manifest, target: Path, cache: Path) -> FeatureStore:
    """Open the store for exactly this target and these texts."""
    parts = [described.files[convert.MODEL_FILE].sha256, *map(str, options.text)]
    folder = options.keep or cache / "heads" / hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    layers = int(json.loads((target / "config.json").read_text(encoding="utf-8"))["num_hidden_layers"])
    return FeatureStore(Path(folder), target, tapped_layers(layers))


def _neurons(options: argparse.Namespace, config: dict[str, Any]) -> int:
    return min(int(options.neurons), int(config["intermediate_size"]))


def _require_room(
    options: argparse.Namespace, what: str, hidden: int, memory: int, folder: Path, progress: Progress
) -> None:
    """Report the time and space needed; `hidden`: size of the target's states. Raises NotEnoughSpaceError."""
    disk = int(options.tokens * features.PER_ANSWER * features.STATES * hidden * 2)
    progress.note(
        f"Making {what} takes up to {options.hours:g} h, {megabytes(disk)} of disk in {folder} "
        f"and {megabytes(memory)} of memory."
    )
    free = shutil.disk_usage(folder).free
    existing = sum(path.stat().st_size for path in folder.glob("*.npy"))
    if disk - existing > free:
        raise NotEnoughSpaceError(
            "Learning needs {wanted} at {place}, but only {free} is free; make room, or ask for fewer --tokens.",
            wanted=megabytes(disk - existing),
            place=folder,
            free=megabytes(free),
        )
    workspace.require_memory(what, memory)


def _gather(options: argparse.Namespace, store: FeatureStore, begun: float, progress: Progress) -> None:
    """Collect texts and hidden states until there are enough tokens, or the time for it is over."""
    max_seconds = _WRITING_SHARE * options.hours * 3600
    with progress.step("Having the model write, and reading its hidden states") as advance:
        number = tokens = 0
        share = 0.0

        def tell(more: int, _all: int) -> None:
            nonlocal share  # it never falls, though answers may be shorter than expected
            share = max(share, (tokens + more) / options.tokens, (time.monotonic() - begun) / max_seconds)
            advance(round(_PARTS * min(share, 1.0)), _PARTS)

        pieces = _text_pieces(store.target, options.text)
        store.write_trials()
        while tokens < options.tokens and (not number or time.monotonic() - begun < max_seconds):
            tokens += store.write(number, pieces, tell)
            number += 1
    if not tokens:
        raise ExportError("The model answers nothing, so there is nothing to learn from; choose another.")


def _text_pieces(target: Path, paths: list[Path]) -> list[list[int]]:
    """Return pieces of texts that the model did not write, as users often ask about such texts."""
    texts: Iterable[str] = table.texts(paths) if paths else draft_vocab.texts_at_hand()
    pieces = features.pieces(target, texts, _MAX_PIECES)
    random.Random(0).shuffle(pieces)  # noqa: S311 - the same order at each call
    return pieces


def _train(
    options: argparse.Namespace, store: FeatureStore, config: dict[str, Any], begun: float, progress: Progress
) -> "Trainer":
    import torch

    from headstart_export.heads import hydra, network, training

    with progress.step("Training the head"):
        torch.manual_seed(options.seed)
        names = store.finished()
        texts, trials = list(store.texts(names)), list(store.texts([features.TRIALS]))
        head = network.Head(network.HeadSizes(config, _neurons(options, config), options.rows))
        chosen = _chosen(store, texts, options.rows)
        network.begin(head, hydra.TargetWeights(store.target), chosen, texts[:_SCALE_TEXTS])
        seconds = max(60.0, options.hours * 3600 - (time.monotonic() - begun))
        plan = training.Plan(options.passes, seconds, seed=options.seed)
        trainer = training.Trainer(head, texts, trials, plan, store.folder / "training.pt")
        trainer.learn(progress.note)
    return trainer


def _chosen(store: FeatureStore, texts: list[Text], rows: int) -> Any:
    """Return the tokens that the head guesses among, by rising id. A resumed training gets the same ones."""
    path = store.folder / f"chosen-{rows}.npy"
    if not path.is_file():
        tokenizer = convert.load_tokenizer(store.target)
        counts = np.zeros((2, len(tokenizer)))
        for text in texts:
            np.add.at(counts[0], text.ids[text.given :], 1.0)
        counts[1] = counts[0]
        ranked = draft_vocab.rank(tokenizer, counts, draft_vocab.texts_at_hand())
        np.save(path, np.sort(np.array(ranked[:rows], np.int64)))
    return np.load(path)


def _finish(
    options: argparse.Namespace,
    trainer: "Trainer",
    store: FeatureStore,
    described: Manifest,
    output: Path,
    progress: Progress,
) -> None:
    """Write the head, measure it, and write its manifest."""
    from headstart_export.heads import hydra, network

    head = network.weights_of(trainer.head)
    names, trials = store.finished(), list(store.texts([features.TRIALS]))
    if options.lean:
        hydra.save_lean(head, options.lean)
    with workspace.opened(output, replace=options.force) as space:
        with progress.step("Trying the finished head on what the model wrote"):
            hydra.save(head, space.result / convert.MODEL_FILE)
            acceptance = measure_acceptance(space.result, trials)
            learned = LearnedHead(
                layers=store.layers,
                texts=sum(1 for _ in store.texts(names)),
                tokens=trainer.tokens,
                curve=trainer.learning_curve,
                compressed=acceptance,
            )
            hydra.describe(head, space.result, described, learned)
        with progress.step("Moving it into place"):
            _unlist(output)
            space.move_into_place(replace=options.force)
    last = trainer.learning_curve[-1].acceptance
    shown = ", ".join(
        f"{kind} {rate:.0%} (before compression {last[kind][0]:.0%})" for kind, rate in acceptance.items()
    )
    progress.note(f"The model takes the head's first guess: {shown}.")


def measure_acceptance(folder: Path, texts: list[Text]) -> dict[str, float]:
    """Return for each class the share of a finished head's first guesses that the target accepts."""
    import openvino

    session = openvino.Core().compile_model(folder / convert.MODEL_FILE, "CPU", quality.SETTINGS).create_infer_request()
    hits: dict[str, list[bool]] = {}
    for text in texts:
        places = slice(text.given - 1, len(text.ids) - 2)
        session.infer(
            {
                HIDDEN_STATES: text.states[None, places].astype(np.float32),
                NEXT: np.array(text.ids[text.given : -1], np.int64),
            }
        )
        rows = session.get_tensor("logits").data.argmax(axis=1)
        guessed = rows + session.get_tensor(MAPPING).data[rows]
        hits.setdefault(text.kind, []).extend((guessed == text.ids[text.given + 1 :]).tolist())
    return {kind: round(sum(outcomes) / max(1, len(outcomes)), 3) for kind, outcomes in hits.items()}
