"""The form of a recipe's weights for this computer: precise, or fast (INT4) where only that fits into the memory."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart.engine.loading.memory import need
from headstart.errors import ExportError
from headstart.library import manifest
from headstart.library.manifest import FAST, Footprint, StateSize
from headstart_export.checks import quality
from headstart_export.conversion import quantize
from headstart_export.progress import megabytes
from headstart_export.sources import recipe
from headstart_export.sources.recipe import LocalSource, ModelRecipe, Order, PairOrder, PairRecipe, Recipe
from headstart_export.workspace import stored


@dataclass(frozen=True)
class Form:
    """The chosen form. `reason`: a sentence that names it, the reason and the flag for the other."""

    weights: str
    reason: str
    is_for_memory: bool = False  # fast, as the precise form does not fit


def parts(named: Recipe) -> Sequence[tuple[ModelRecipe, str]]:
    """Return the models of a recipe, the target first, with the weights that they have by default."""
    if isinstance(named, PairRecipe):
        target, draft = recipe.find_model(named.target), recipe.find_model(named.draft)
        return (target, named.target_weights), (draft, named.draft_weights)
    return ((named, named.weights),)


def size(model: ModelRecipe, weights: str) -> int:
    """Return the bytes that a model takes on the disk at most, with its head."""
    return stored(model, weights, model.parameters) + model.head_bytes


def loaded(models: Sequence[tuple[ModelRecipe, str]]) -> tuple[Footprint, ...]:
    """Return at most what decides the memory of models with these weights, the target first, and of its head."""
    target = models[0][0]
    known = [_footprint(recipe, stored(recipe, weights, recipe.parameters)) for recipe, weights in models]
    return (*known, *([_head_footprint(target)] if target.head else []))


def _footprint(recipe: ModelRecipe, size_bytes: int) -> Footprint:
    known = recipe.memory
    return Footprint(
        size_bytes,
        known.vocabulary,
        known.context_length,
        known.kv_bytes_per_token,
        known.window,
        known.window_kv_bytes_per_token,
        tuple(StateSize(size, width) for layers, size, width in known.states for _ in range(layers)),
    )


def _head_footprint(recipe: ModelRecipe) -> Footprint:
    return Footprint(recipe.head_bytes, recipe.memory.vocabulary, recipe.memory.context_length)


def choose(named: Recipe, free: int, installed: Collection[str]) -> Form:
    """Choose the precise form, unless only the fast one fits into `free` bytes of memory.

    A model with the 4-bit blocks of its file is as small as its fast form, or smaller, so that is not spoken of.
    """
    target, *others = parts(named)
    precise, name, fast_name = target[1], named.name, named.name + FAST
    if fast_name in installed:
        return Form(
            quantize.INT4, f"{name} is here in its fast form ({fast_name}); --weights {precise} takes the precise one."
        )

    def memory(weights: str) -> int:
        return need(loaded([(target[0], weights), *others])).total

    needed, room = _gigabytes(memory(precise)), _gigabytes(free)
    is_smallest = memory(precise) <= memory(quantize.INT4)
    other = "" if is_smallest else f"; --weights {quantize.INT4} takes the fast form"
    if memory(precise) <= free:
        fit = f"it fits into the memory ({needed} at most of {room} that are free)"
        return Form(precise, f"{name} in its precise form ({precise}), as {fit}{other}.")
    if memory(quantize.INT4) <= free and not is_smallest:
        reason = f"{fast_name}, the fast form, as the precise one takes up to {needed} of memory and {room} are free"
        return Form(quantize.INT4, f"{reason}; --weights {precise} takes the precise one.", is_for_memory=True)
    both = "it does not fit" if is_smallest else "neither form fits"
    reason = f"{both} into the memory ({needed} at most, and {room} are free)"
    return Form(precise, f"{name} in its precise form ({precise}), though {reason}{other}.")


def cost(order: Order) -> str | None:
    """Return a sentence about the download and the disk space of an order; None if the sources do not state them."""
    models = (order.target, order.draft) if isinstance(order, PairOrder) else (order,)
    download = disk = 0
    for model in models:
        source = model.recipe.sources[0]
        if isinstance(source, LocalSource) or not (source.bytes and model.recipe.parameters):
            return None
        download += source.bytes + model.recipe.further_bytes
        disk += size(model.recipe, model.weights)
    words = f"{order.name}: {megabytes(download)} to download, at most {megabytes(disk)} on the disk"
    return words + (", and no PyTorch." if all(model.may_be_imported for model in models) else ".")


def require_quality(folder: Path) -> None:
    """Raise ExportError if an exported model, or the target of a pair, is further from its source than it may be."""
    exported = manifest.read(folder)
    if isinstance(exported, manifest.PairManifest):
        exported = manifest.read_model(folder / exported.target)
    if exported.quality and exported.quality.top1_agreement < quality.FLOOR:
        raise ExportError(
            "{name} fits into the memory in 4 bits only, and agrees so with its source on {agreement} of the tokens, "
            "below {floor}; close other programs, take another model, or take it all the same with --weights int4.",
            name=folder.name.removesuffix(FAST),
            agreement=f"{exported.quality.top1_agreement:.1%}",
            floor=f"{quality.FLOOR:.0%}",
        )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
