"""From the words on the command line to what is to be built, by export or by distil."""

import argparse
import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from headstart import manifest
from headstart.errors import ExportError
from headstart.manifest import Acceptance, Training
from headstart_export import recipe as recipes
from headstart_export.recipe import HubSource, LocalSource, ModelRecipe, PairRecipe

DEFAULT_WEIGHTS = "int8"
SELF_WEIGHTS = "int4"  # of a target's own copy: with the target's precision it would be as slow
OWN_COPY = "self"  # of --draft
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class ModelOrder:
    """One model to build. `code` permits the model's own Python code.

    `copy`: it is a copy of the pair's target, whole or with fewer layers; None: it is a model of its own.
    """

    recipe: ModelRecipe
    weights: str
    role: str
    code: bool = False
    copy: Literal["whole", "shallow"] | None = None

    @property
    def name(self) -> str:
        """What the model is called."""
        return self.recipe.name


@dataclass(frozen=True)
class PairOrder:
    """Two models to build into one folder."""

    name: str
    target: ModelOrder
    draft: ModelOrder
    draft_vocab: int = 0  # tokens that the draft guesses among; 0: all


Order = ModelOrder | PairOrder


@dataclass(frozen=True)
class Words:
    """The command line's part in it; None where nothing was said."""

    source: str
    draft: str | None = None
    weights: str | None = None
    draft_weights: str | None = None
    draft_vocab: str | None = None
    revision: str | None = None
    draft_revision: str | None = None
    trust_remote_code: bool = False


def understand(words: Words) -> Order:
    """What is meant. Raises ExportError when a source is unknown or options contradict each other."""
    named = recipes.find(words.source)
    if isinstance(named, PairRecipe):
        return _recipe_pair(named, words)
    target = _model(words.source, words)
    if words.draft is None:
        for name in ("draft_weights", "draft_vocab", "draft_revision"):
            if getattr(words, name):
                raise ExportError(f"--{name.replace('_', '-')} needs --draft, or the recipe of a pair.")
        return target
    if words.draft == OWN_COPY:
        draft = _own_copy(target, words)
    else:
        chosen = replace(words, revision=words.draft_revision, weights=words.draft_weights)
        draft = _model(words.draft, chosen, role="draft")
    name = f"{target.name}+{OWN_COPY if draft.copy else draft.name}"
    return PairOrder(name, replace(target, role="target"), draft, _draft_vocab(words, 0))


def _own_copy(target: ModelOrder, words: Words) -> ModelOrder:
    if words.draft_revision:
        raise ExportError(f"A draft of {target.name}'s own weights has its revision: leave out --draft-revision.")
    recipe = replace(target.recipe, name=f"{target.name}-{OWN_COPY}")
    return ModelOrder(recipe, words.draft_weights or SELF_WEIGHTS, "draft", target.code, "whole")


def _recipe_pair(pair: PairRecipe, words: Words) -> PairOrder:
    if words.draft:
        raise ExportError(f"{pair.name} is the recipe of a pair: it names both models, so --draft does not fit.")
    target = _at(recipes.find_model(pair.target), words.revision)
    draft = _at(recipes.find_model(pair.draft), words.draft_revision)
    return PairOrder(
        pair.name,
        ModelOrder(target, words.weights or pair.target_weights, "target", words.trust_remote_code),
        ModelOrder(draft, words.draft_weights or pair.draft_weights, "draft", words.trust_remote_code),
        _draft_vocab(words, pair.draft_vocab),
    )


def _draft_vocab(words: Words, usual: int) -> int:
    try:
        return usual if words.draft_vocab is None else recipes.rows(words.draft_vocab)
    except ValueError as error:
        raise ExportError(f"--{error}.") from None


def _model(source: str, words: Words, role: str | None = None) -> ModelOrder:
    recipe = recipes.find(source) or _unlisted(source)
    if isinstance(recipe, PairRecipe):
        raise ExportError(f"{source} is the recipe of a pair and cannot be a draft; name one of its models.")
    recipe = _at(recipe, words.revision)
    return ModelOrder(recipe, words.weights or recipe.weights, role or recipe.role, words.trust_remote_code)


def _at(recipe: ModelRecipe, revision: str | None) -> ModelRecipe:
    """The recipe at another revision, for which no mirror stands."""
    if not revision:
        return recipe
    found = tuple(replace(source, revision=revision) for source in recipe.sources if isinstance(source, HubSource))
    if not found:
        raise ExportError(f"A revision belongs to a model of the hub, but {recipe.title} does not come from there.")
    return replace(recipe, sources=found)


def _unlisted(source: str) -> ModelRecipe:
    if not source.strip():
        raise ExportError("A name is empty: name a recipe, a hub id, a Hugging Face folder or a .gguf file.")
    path = Path(source).expanduser()
    if path.exists():
        return _local(path.resolve())
    if _HUB_ID.fullmatch(source):
        return _plain_recipe(source.rpartition("/")[2].lower(), source, HubSource(source))
    raise ExportError(
        f"{source!r} is no recipe, no folder, no .gguf file and no hub id; "
        f"the recipes are {', '.join(recipes.names())}."
    )


def _local(path: Path) -> ModelRecipe:
    if path.is_file() and path.suffix.lower() != ".gguf":
        raise ExportError(f"{path.name} is neither a folder nor a .gguf file; name the model's folder.")
    name = (path.stem if path.is_file() else path.name).lower()
    return _plain_recipe(name, path.name, LocalSource(path))


def _plain_recipe(name: str, title: str, source: HubSource | LocalSource) -> ModelRecipe:
    return ModelRecipe(name, title, licence=None, role="any", weights=DEFAULT_WEIGHTS, sources=(source,))


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


def distil_parser() -> argparse.ArgumentParser:
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


def understand_distil(options: argparse.Namespace) -> Plan:
    """What is meant. Raises ExportError when the source is unknown or a pair."""
    trust = options.trust_remote_code
    words = Words(options.source, weights=options.weights, revision=options.revision, trust_remote_code=trust)
    target = understand(words)
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
