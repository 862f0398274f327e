"""The workspace and the progress of an export, for its steps."""

import errno
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import ExportError, NotEnoughSpaceError
from headstart_export import answers
from headstart_export.answers import Text
from headstart_export.progress import Progress
from headstart_export.workspace import ExportWorkspace

FULL = 1 << 20  # a disk with fewer free bytes is what made a write fail


@dataclass(frozen=True)
class Job:
    """The place of an export's work, and the reporter of its progress."""

    space: ExportWorkspace
    cache: Path
    progress: Progress

    @property
    def counts_file(self) -> Path:
        """The file of `answers.Counts`."""
        return self.space.scratch / "counts.npy"


def write_answers(folder: Path, parameters: int, job: Job, *, only_few: bool) -> list[Text]:
    """Return the model's answers to prompts, fewer of a large model; none, with a note, if it cannot write them."""
    try:
        with job.progress.step("Having the model write, to count what it usually says") as advance:
            return answers.written(folder, parameters, job.counts_file, advance, only_few=only_few)
    except ExportError as error:
        job.progress.note(f"{error} It goes without what is made of them.")
        return []


def read_config(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return data


@contextmanager
def explain_full_disk(output: Path, cache: Path) -> Iterator[None]:
    """Context manager that raises NotEnoughSpaceError for a full disk, which libraries report in many words."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, ExportError) as error:
        full = [place for place in (output.parent, cache) if place.exists() and shutil.disk_usage(place).free < FULL]
        out_of_space = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
        if full or out_of_space:
            raise NotEnoughSpaceError(
                "The disk at {place} became full; nothing half done was left. "
                "Make room and run the command again: what was fetched is kept.",
                place=full[0] if full else output.parent,
            ) from None
        raise
    except MemoryError:
        raise ExportError("The memory was used up; close other programs, or export a smaller model.") from None
