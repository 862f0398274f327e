"""`headstart-export distil`: the words of the command and of its result. Knows nothing of how it is done."""

import argparse
import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headstart import manifest
from headstart.errors import ExportError
from headstart.manifest import Acceptance, Training
from headstart_export import order as orders
from headstart_export import recipe as recipes
from headstart_export.order import ModelOrder, PairOrder, Words

DEFAULT_SHARE = 3  # a draft of a third of the layers


@dataclass(frozen=True)
class Plan:
    """What is to be made, and how. `layers`: of the draft; 0: a third of the target's."""

    order: PairOrder
    layers: int
    texts: int
    tokens: int
    passes: int
    rate: float
    seed: int


def parser() -> argparse.ArgumentParser:
    """The words behind `distil`."""
    made = argparse.ArgumentParser(
        prog="headstart-export distil",
        description="Make a draft for a model that has no small sibling: a copy with fewer layers, trained on texts "
        "that the model itself writes. The result is a pair. An interrupted training goes on when run again.",
    )
    made.add_argument("source", help="the target: recipe of one model, hub id, Hugging Face folder, or .gguf file")
    made.add_argument("--layers", type=_whole, default=0, metavar="N", help="of the draft (default: a third)")
    made.add_argument("--texts", type=_whole, default=384, metavar="N", help="to learn from (default: 384)")
    made.add_argument("--tokens", type=_whole, default=128, metavar="N", help="of the longest (default: 128)")
    made.add_argument("--passes", type=_whole, default=3, metavar="N", help="through all texts (default: 3)")
    made.add_argument("--rate", type=_positive, default=1e-3, metavar="X", help="of learning (default: 0.001)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="another one: other texts, another order")
    made.add_argument("--weights", choices=recipes.PRECISIONS, help="precision (default: the recipe's, else int8)")
    made.add_argument("--draft-weights", choices=recipes.PRECISIONS, default="int8", help="default: int8")
    made.add_argument("--revision", help="branch, tag or commit on the hub")
    made.add_argument("--output", type=Path, metavar="DIR", help="default: the library, under the pair's name")
    made.add_argument("--force", action="store_true", help="replace the output if it exists, once the new one is done")
    made.add_argument("--json", action="store_true", help="print JSON on standard output")
    made.add_argument("--trust-remote-code", action="store_true", help="run Python code that comes with the model")
    made.add_argument("--verbose", action="store_true", help="show what the libraries underneath print")
    return made


def understand(options: argparse.Namespace) -> Plan:
    """What is meant. Raises ExportError when the source is unknown or a pair."""
    trust = options.trust_remote_code
    words = Words(options.source, weights=options.weights, revision=options.revision, trust_remote_code=trust)
    target = orders.understand(words)
    if isinstance(target, PairOrder):
        raise ExportError(f"{options.source} is the recipe of a pair, which has a draft; name one of its models.")
    name = f"distil{options.layers or ''}"
    recipe = dataclasses.replace(target.recipe, name=f"{target.name}-{name}")
    draft = ModelOrder(recipe, options.draft_weights, "draft", target.code, "shallow")
    order = PairOrder(f"{target.name}+{name}", dataclasses.replace(target, role="target"), draft)
    numbers = (options.texts, options.tokens, options.passes, options.rate, options.seed)
    return Plan(order, options.layers, *numbers)


def in_a_line(training: Training) -> str:
    """What came of it."""
    found = training.compressed
    assert found is not None
    return (
        f"The target takes {_share(found)} of the draft's guesses: {_share(training.after)} before compression, "
        f"{_share(training.before)} before training; {found.tokens_per_round:.2f} tokens a round of 4 candidates."
    )


def as_json(output: Path) -> str:
    """The pair's manifest and what came of the training, as one object."""
    pair = json.loads((output / manifest.FILE_NAME).read_text(encoding="utf-8"))
    return json.dumps(
        {"output": str(output), "manifest": pair, "training": dataclasses.asdict(of(output))}, ensure_ascii=False
    )


def of(output: Path) -> Training:
    """The training that a finished pair's draft had."""
    made = manifest.read_model(output / manifest.DRAFT_FOLDER).self_draft
    assert made is not None
    assert made.training is not None
    return made.training


def _share(found: Acceptance) -> str:
    return f"{found.rate:.1%}"


def _number(convert: Callable[[str], float], text: str, words: str) -> float:
    try:
        value = convert(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no {words} above 0")
    return value


def _whole(text: str) -> int:
    return int(_number(int, text, "whole number"))


def _positive(text: str) -> float:
    return _number(float, text, "number")
