"""`headstart-export parallel`: the draft of an exported pair learns to guess several tokens in one pass.

It learns from the same texts and states of the target as a head does (head.py). What it learned goes into a folder,
with which the pair is exported again.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from headstart import manifest, paths
from headstart.errors import ExportError
from headstart_export import convert, features, head, recipe, sources, table, weights, workspace
from headstart_export.progress import Progress

_STEPS = 4  # get, load, write, train
_TOKENS = 300_000


def parser() -> argparse.ArgumentParser:
    """The options of `parallel`."""
    made = argparse.ArgumentParser(
        prog="headstart-export parallel",
        description="Have the draft of an exported pair learn to guess several tokens in one pass, from what its "
        "target says. An export of the pair takes what was learned with --parallel. An interrupted call goes on when "
        "run again.",
    )
    made.add_argument("model", metavar="PAIR", help="installed pair, or its folder")
    made.add_argument("--output", type=Path, required=True, metavar="DIR", help="where to write what was learned")
    made.add_argument(
        "--draft", metavar="SOURCE", help="recipe, hub id, folder or .gguf file of the draft (default: as it is called)"
    )
    made.add_argument("--rank", type=head.whole, default=32, metavar="N", help="of the matrices that learn (32)")
    head.add_learning_options(made, tokens=_TOKENS, passes=1)
    return made


def run(options: argparse.Namespace, cache: Path, progress: Progress) -> Path:
    """Have it learn; return the folder with what it learned. Raises HeadstartError; nothing half done stays there."""
    begun, target = time.monotonic(), table.model_folder(options.model)
    folder = _pair(options.model) / manifest.DRAFT_FOLDER
    draft = manifest.read_model(folder)
    described = manifest.read_model(target)
    workspace.refuse_existing(options.output, replace=False)
    order = recipe.understand(recipe.Arguments(options.draft or draft.name))
    if not isinstance(order, recipe.ModelOrder) or draft.is_eagle:
        raise ExportError("{name} is no draft model of its own; name one with --draft.", name=order.name)
    from headstart_export import parallel_model  # noqa: PLC0415 - with the libraries it needs

    parallel_model.free_rows(draft.logit_rows, draft.tokenizer.vocabulary)
    progress.expect(_STEPS)
    fetched = sources.fetch(order.recipe, cache, progress)
    store = head.opened(options, described, target, cache)
    hidden = int(json.loads((target / "config.json").read_text(encoding="utf-8"))["hidden_size"])
    memory = workspace.LIBRARIES + 6 * weights.inspect(fetched.path, code=order.recipe.native).parameters
    head.require_room(options, f"a parallel draft for {described.name}", hidden, memory, store.folder, progress)
    head.gather(options, store, begun, progress)
    with progress.step(f"Loading {order.recipe.title}") as advance:
        model = convert.load_weights(fetched.path, advance, code=order.recipe.native)
    _learn(options, store, model, _guessed(folder, draft), begun, progress)
    name = folder.parent.name
    progress.note(f"Export the pair with it: headstart-export {name} --parallel {options.output} --force")
    return Path(options.output)


def _pair(name: str) -> Path:
    """The folder of a pair. Raises ExportError for what is none."""
    installed = paths.models_folder() / name
    folder = installed if installed.is_dir() else Path(name)
    if not isinstance(manifest.read(folder), manifest.PairManifest):
        raise ExportError("{name} is no pair, so it has no draft; export one with --draft.", name=name)
    return folder


def _guessed(folder: Path, draft: manifest.Manifest) -> Any:
    """The tokens that a draft guesses among, by rising id."""
    listed = draft.shortlist
    return np.sort(np.load(folder / listed.file)[: listed.rows]) if listed else np.arange(draft.logit_rows)


def _learn(
    options: argparse.Namespace, store: features.Store, model: Any, chosen: Any, begun: float, progress: Progress
) -> None:
    import torch  # noqa: PLC0415

    from headstart_export import head_model, head_training, parallel_model  # noqa: PLC0415 - with the libraries it needs

    with progress.step("Training the draft"):
        torch.manual_seed(options.seed)
        texts, trials = list(store.texts(store.finished())), list(store.texts([features.TRIALS]))
        rows = head_model.TargetWeights(store.target).rows_of_head(chosen)
        model = model.to(torch.bfloat16 if head_training.in_16_bits() else torch.float32)
        student = parallel_model.Student(model, rows, chosen, options.rank)
        seconds = max(60.0, options.hours * 3600 - (time.monotonic() - begun))
        plan = head_training.Plan(options.passes, seconds, rate=5e-4, seed=options.seed)
        trainer = head_training.Trainer(student, texts, trials, plan, store.folder / "parallel.pt")
        trainer.learn(progress.note)
    with workspace.opened(options.output, replace=False) as space:
        parallel_model.save_lean(student, space.result)
        told = [vars(mark) for mark in trainer.marks]
        (space.result / "curve.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        space.move_into_place()
