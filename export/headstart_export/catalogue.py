"""What there is to export, with its sizes, for people and for programs that ask. Touches no network."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from headstart_export import recipe as recipes
from headstart_export.recipe import HubSource, ModelRecipe, PackageSource, PairRecipe
from headstart_export.room import STORED, TOKENIZER


@dataclass(frozen=True)
class Item:
    """One recipe. Sizes are in bytes: the most that a source downloads and the result takes."""

    name: str
    kind: str  # "model" or "pair"
    title: str
    licence: str
    checked: str
    download: int
    result: int


def items() -> list[Item]:
    """Every recipe, by name."""
    return [_item(name) for name in recipes.names()]


def as_data() -> list[dict[str, object]]:
    """The same as JSON has it."""
    return [asdict(item) for item in items()]


def _item(name: str) -> Item:
    recipe = recipes.find(name)
    assert recipe is not None
    if isinstance(recipe, PairRecipe):
        target, draft = recipes.find_model(recipe.target), recipes.find_model(recipe.draft)
        parts = [(target, recipe.target_weights), (draft, recipe.draft_weights)]
    else:
        parts = [(recipe, recipe.weights)]
    return Item(
        name=name,
        kind="pair" if isinstance(recipe, PairRecipe) else "model",
        title=recipe.title,
        licence=", ".join(dict.fromkeys(part.licence or "" for part, _ in parts)),
        checked=recipe.checked,
        download=sum(_download(part) for part, _ in parts),
        result=_result(parts),
    )


def _download(recipe: ModelRecipe) -> int:
    return max(source.bytes for source in recipe.sources if isinstance(source, HubSource | PackageSource))


def _result(parts: Iterable[tuple[ModelRecipe, str]]) -> int:
    return sum(int(recipe.parameters * STORED[weights]) + TOKENIZER for recipe, weights in parts)
