"""The room for an export: disk and memory that it needs, and a temporary folder beside the place of the result.

A process that dies leaves its folder behind; the next export into the same place removes it. Where the death fell
between taking the old result away and moving the new one in, the old one is put back first.
"""

import contextlib
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
from headstart_export import sources, weights
from headstart_export.progress import megabytes
from headstart_export.recipe import (
    HubSource,
    LocalSource,
    ModelOrder,
    Order,
    PackageSource,
    PairOrder,
)

# Bytes per weight in the finished model; int4 keeps embeddings and output head in int8, a large share of small models.
STORED = {"int8": 1.1, "int8-sym": 1.1, "int4": 0.85, "fp16": 2.1}
HALF = 2.1  # bytes per weight of the 16-bit model on the way
REFERENCE = 350 << 20  # bytes of the source's logits for the quality measure
TOKENIZER = 30 << 20  # bytes of a folder's tokenizer files

# From measured peaks of whole exports, pages of mapped files not counted: libraries, and what each weight adds.
LIBRARIES = 1300 << 20
PER_WEIGHT = 1.6
PER_WEIGHT_GGUF = 3.0
PER_WEIGHT_CALIBRATED = 8.0  # SmolLM2's took 1.6 GB in all: OpenVINO computes in 32 bits, beside what NNCF keeps


Need = tuple[Path, int]  # bytes that are wanted in one place on disk


@dataclass(frozen=True)
class Workspace(Unfinished):
    """A folder with `result` (which becomes the output) and `scratch` (intermediate files)."""

    @property
    def result(self) -> Path:
        return self.root / "result"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    def move_into_place(self) -> None:
        """Make the result the output; an older output goes only now."""
        for path in self.result.rglob("*"):  # on the disk before the files get their final name
            if path.is_file():
                with path.open("r+b") as stream:  # Windows syncs only what may be written
                    os.fsync(stream.fileno())
        try:
            if self.output.exists():
                self.output.rename(self.replaced)
            self.result.rename(self.output)
        except PermissionError:  # Windows, while a program has a file of it open
            raise ExportError(
                "{output} is in use; close what uses it and run the command again.", output=self.output
            ) from None


@contextlib.contextmanager
def opened(output: Path, *, replace: bool) -> Iterator[Workspace]:
    """A fresh workspace for `output`, gone at the end whatever happens. Raises ExportError where it may not be."""
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
    workspace, before = Workspace(root), tempfile.tempdir
    try:
        workspace.own()
        workspace.result.mkdir()
        workspace.scratch.mkdir()
        # Libraries put gigabytes into `tempfile`'s folder, which may be a small disk of its own.
        tempfile.tempdir = str(workspace.scratch)
        yield workspace
    finally:
        tempfile.tempdir = before
        workspace.remove()


def refuse_existing(output: Path, *, replace: bool) -> None:
    """Raise ExportError when something is there that may not be replaced: anything but an older export, if asked."""
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
    """Remove the workspaces of dead processes for this output. Raises ExportError while a living one works for it."""
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
        left.remove()


def require_room(order: Order, output: Path, cache: Path) -> None:
    """Raise NotEnoughSpaceError, with both numbers, when this order cannot be carried out here."""
    models = (order.target, order.draft) if isinstance(order, PairOrder) else (order,)
    counts = [parameters(model) for model in models]
    results = [int(count * STORED[model.weights]) + TOKENIZER for model, count in zip(models, counts, strict=True)]
    between = int(max(counts) * HALF) + REFERENCE  # files of the largest on the way
    disks: dict[int, list[Need]] = defaultdict(list)
    for place, wanted in ((output, sum(results)), (output, between), *_downloads(models, cache)):
        there = next(folder for folder in (place.absolute(), *place.absolute().parents) if folder.exists())
        disks[there.stat().st_dev].append((there, wanted))
    for needs in disks.values():
        place, wanted = needs[0][0], sum(size for _, size in needs)
        free = shutil.disk_usage(place).free
        if wanted > free:
            raise NotEnoughSpaceError(
                "Exporting {name} needs {wanted} of disk space at {place}, "
                "but only {free} is free; make room, or choose another --output.",
                name=order.name,
                wanted=megabytes(wanted),
                place=place,
                free=megabytes(free),
            )
    require_memory(order.name, max(map(memory, models, counts)))


def parameters(order: ModelOrder) -> int:
    """Return what the recipe says, or the source itself; 0 where only an unreachable hub could tell."""
    first = order.recipe.sources[0]
    if isinstance(first, LocalSource):
        return weights.inspect(first.path, code=order.code).parameters
    return order.recipe.parameters or (sources.size(first) // 2 if isinstance(first, HubSource) else 0)


def memory(order: ModelOrder, count: int) -> int:
    """Expected peak, in bytes, of exporting a model with `count` weights; of all its sources, the hungriest counts."""
    gguf = any(
        isinstance(source, PackageSource)
        or (isinstance(source, HubSource) and source.file is not None)
        or (isinstance(source, LocalSource) and source.path.is_file())
        for source in order.recipe.sources
    )
    each = PER_WEIGHT_CALIBRATED if order.calibrated else PER_WEIGHT_GGUF if gguf else PER_WEIGHT
    return LIBRARIES + int(count * each)


def _downloads(models: tuple[ModelOrder, ...], cache: Path) -> list[Need]:
    """One need per model and place; which source will answer is not known yet, so the hungriest of a place counts."""
    needs: list[Need] = []
    for recipe_sources in dict.fromkeys(model.recipe.sources for model in models):  # each is fetched once
        hungriest: dict[Path, int] = defaultdict(int)
        for source in recipe_sources:
            if isinstance(source, PackageSource):
                hungriest[cache] = max(hungriest[cache], sources.missing_bytes(source, cache))
            elif isinstance(source, HubSource):
                place = sources.cache_folder()
                hungriest[place] = max(hungriest[place], sources.size(source))
        needs += hungriest.items()
    return needs


def require_memory(name: str, wanted: int) -> None:
    """Raise NotEnoughSpaceError when fewer bytes are free."""
    free = int(psutil.virtual_memory().available)
    if wanted > free:
        raise NotEnoughSpaceError(
            "Exporting {name} needs about {wanted} of memory, but only {free} is free; "
            "close other programs, or export a smaller model.",
            name=name,
            wanted=megabytes(wanted),
            free=megabytes(free),
        )
