"""The recipes of models and pairs to get by name, with their cost and what was measured of them."""

from functools import cache
from pathlib import Path

import msgspec

from headstart.errors import Translatable
from headstart.library.manifest import FAST, Footprint, Manifest

TASKS = 30  # of app/bench/files/folder_tasks.py


class CatalogueEntry(msgspec.Struct, frozen=True):
    """A model or pair to get by name. Sizes are in bytes, of the largest download and result."""

    name: str
    kind: str  # "model" or "pair"; the next fields of a pair, up to `tasks`, are those of its target
    title: str
    licence: str
    checked: str
    role: str
    purpose: str  # "chat", "completion", "embedding", "recognition" or "transcription"
    parameters: int
    tasks: int | None  # that it did right of thirty small ones on a folder; None: not measured
    notes: tuple[str, ...]
    download: int
    needs_pytorch: bool
    result: int
    result_int4: int
    loaded: tuple[Footprint, ...]  # its models, at most, the target first

    @property
    def fast_name(self) -> str:
        """The exporter's name for this model with INT4 weights."""
        return self.name + FAST

    @property
    def writes(self) -> bool:
        """Return whether it continues texts."""
        return self.purpose in {"chat", "completion"}

    @property
    def has_smaller_form(self) -> bool:
        """Return whether INT4 makes it smaller: it does not if it has the 4-bit blocks of a GGUF file."""
        return self.result_int4 < self.result

    @property
    def tasks_done(self) -> Translatable:
        """A sentence about its calls of tools; empty if they were not measured."""
        if self.tasks is None:
            return Translatable()
        if self.tasks * 2 < TASKS:
            return Translatable(
                "Calls tools badly: {done} of {tasks} small tasks on a folder were done right.",
                done=self.tasks,
                tasks=TASKS,
            )
        return Translatable(
            "Calls tools: {done} of {tasks} small tasks on a folder were done right.", done=self.tasks, tasks=TASKS
        )


@cache
def entries() -> tuple[CatalogueEntry, ...]:
    """Return all recipes.

    The file is the output of `headstart-export --list --json`, so that the list is there before the exporter is.
    """
    path = Path(__file__).with_name("catalogue.json")
    return msgspec.json.decode(path.read_bytes(), type=tuple[CatalogueEntry, ...])


def find(model: Manifest) -> CatalogueEntry | None:
    """Return the recipe that made a model with these weights."""
    return next((entry for entry in entries() if entry.name == model.name and entry.kind == "model"), None)
