"""Fetches weights from the Hugging Face hub, at one revision. Knows nothing of conversion."""

import contextlib
import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headstart import manifest
from headstart.errors import ExportError, HeadstartError
from headstart_export import quiet
from headstart_export.recipe import HubSource

REACH = 5.0  # seconds to wait for a first answer
FILES = ("*.json", "*.jinja", "*.safetensors", "tokenizer.model", "LICENSE*", "README.md")
OTHERS = ("*/*", "consolidated*")  # other formats of the same weights


class HubUnreachableError(HeadstartError):
    """The hub does not answer, or has no such repository for this user; another source may do."""


def fetch(source: HubSource, *, code: bool) -> tuple[Path, str]:
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
