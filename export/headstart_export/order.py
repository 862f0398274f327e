"""From the words on the command line to what is to be built."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from headstart.errors import ExportError
from headstart_export import recipe as recipes
from headstart_export.recipe import HubSource, LocalSource, ModelRecipe, PairRecipe

DEFAULT_WEIGHTS = "int8"
SELF_WEIGHTS = "int4"  # of a target's own copy: with the target's precision it would be as slow
OWN_COPY = "self"  # of --draft
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class ModelOrder:
    """One model to build. `code` permits the model's own Python code. `copy`: it is a copy of the pair's target."""

    recipe: ModelRecipe
    weights: str
    role: str
    code: bool = False
    copy: bool = False

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
                raise ExportError("--{option} needs --draft, or the recipe of a pair.", option=name.replace("_", "-"))
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
        raise ExportError(
            "A draft of {target}'s own weights has its revision: leave out --draft-revision.", target=target.name
        )
    recipe = replace(target.recipe, name=f"{target.name}-{OWN_COPY}")
    return ModelOrder(recipe, words.draft_weights or SELF_WEIGHTS, "draft", target.code, copy=True)


def _recipe_pair(pair: PairRecipe, words: Words) -> PairOrder:
    if words.draft:
        raise ExportError(
            "{pair} is the recipe of a pair: it names both models, so --draft does not fit.", pair=pair.name
        )
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
        raise ExportError("--{error}.", error=error) from None


def _model(source: str, words: Words, role: str | None = None) -> ModelOrder:
    recipe = recipes.find(source) or _unlisted(source)
    if isinstance(recipe, PairRecipe):
        raise ExportError(
            "{source} is the recipe of a pair and cannot be a draft; name one of its models.", source=source
        )
    recipe = _at(recipe, words.revision)
    return ModelOrder(recipe, words.weights or recipe.weights, role or recipe.role, words.trust_remote_code)


def _at(recipe: ModelRecipe, revision: str | None) -> ModelRecipe:
    """The recipe at another revision, for which no mirror stands."""
    if not revision:
        return recipe
    found = tuple(replace(source, revision=revision) for source in recipe.sources if isinstance(source, HubSource))
    if not found:
        raise ExportError(
            "A revision belongs to a model of the hub, but {title} does not come from there.", title=recipe.title
        )
    return replace(recipe, sources=found)


def _unlisted(source: str) -> ModelRecipe:
    if not source.strip():
        raise ExportError("A name is empty: name a recipe, a hub id, a Hugging Face folder or a .gguf file.")
    path = Path(source).expanduser()
    if path.exists():
        path = path.resolve()
        if path.is_file() and path.suffix.lower() != ".gguf":
            raise ExportError("{path} is neither a folder nor a .gguf file; name the model's folder.", path=path.name)
        return _plain_recipe((path.stem if path.is_file() else path.name).lower(), path.name, LocalSource(path))
    if _HUB_ID.fullmatch(source):
        return _plain_recipe(source.rpartition("/")[2].lower(), source, HubSource(source))
    raise ExportError(
        "{source!r} is no recipe, no folder, no .gguf file and no hub id; the recipes are {names}.",
        source=source,
        names=", ".join(recipes.names()),
    )


def _plain_recipe(name: str, title: str, source: HubSource | LocalSource) -> ModelRecipe:
    return ModelRecipe(name, title, licence=None, role="any", weights=DEFAULT_WEIGHTS, sources=(source,))
