"""The packages for Debian and Ubuntu: the program under /usr/lib, the files for the desktop, and dependencies.

The plugins for Intel GPUs and NPUs are a package of their own: they are a sixth of the program.
"""

import lzma
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from headstart import __version__
from headstart.errors import HeadstartError
from headstart.ui.help.licences import Component
from installer import bill, freezing, stamps
from installer.freezing import Frozen
from installer.linux import desktop
from installer.linux.tarball import XZ

PACKAGE = "headstart"
ACCELERATORS = f"{PACKAGE}-accelerators"
PROGRAM = Path("usr/lib/headstart")
_DOCUMENTS = Path("usr/share/doc")
_MAINTAINER = "The Headstart developers <headstart@localhost>"
_ELF = b"\x7fELF"
_ACCELERATOR_FILES = ("libopenvino_intel_gpu_plugin.so", "libopenvino_intel_npu_plugin.so", "cache.json")
_COMMON = {
    "Apache-2.0": "Apache-2.0",
    "LGPL-3.0-only": "LGPL-3",
    "GPL-2.0-only": "GPL-2",
    "GPL-3.0-only": "GPL-3",
}
_FIELDS = """\
Package: {package}
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {kilobytes}
"""
_CONTROL = f"""\
{_FIELDS}Depends: {{depends}}
Recommends: fonts-noto-cjk | fonts-wqy-microhei, fonts-noto-color-emoji
Suggests: {ACCELERATORS}, python3-venv
Section: utils
Priority: optional
Description: chat offline with a language model that gets a head start
 Headstart runs language models on this computer with OpenVINO, without a
 network. A small model or the text written so far guesses a few words ahead;
 the large model checks all guesses at once and keeps what it would have
 written itself.
"""
_ACCELERATORS_CONTROL = f"""\
{_FIELDS}Depends: {PACKAGE} (= {{version}}) | {PACKAGE} (= {{version}}+model)
Recommends: intel-opencl-icd
Section: utils
Priority: optional
Description: Intel GPUs and NPUs for Headstart
 OpenVINO's plugins for the GPUs and NPUs of Intel. Without them Headstart
 runs on the processor, as it does on every computer.
"""
_COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Headstart
Comment: The package holds the libraries named below, whose licences lie in
 /usr/lib/headstart/_internal/*.dist-info. Those of Qt are used unaltered and
 can be replaced by others of the same interface. libicudata, the data of ICU,
 lacks what Qt does not use; any libicudata of the same version replaces it.

Files: *
Copyright: The Headstart developers
License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.
"""


class PackagingError(HeadstartError):
    """A tool that makes packages is not installed, or failed."""


def stage(frozen: Frozen, folder: Path, version: str, epoch: int) -> tuple[Path, Path]:
    """Make the trees of the program and of the accelerators in `folder`, which is replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    root = folder / "root"
    freezing.without_system_libraries(frozen, root / PROGRAM)
    accelerators = _split(root, folder / "accelerators")
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/headstart").symlink_to("../lib/headstart/headstart")
    desktop.write_files(root / "usr/share", epoch)
    compress(root / "usr/share/man/man1/headstart.1")
    _document(root / _DOCUMENTS / PACKAGE, version, epoch)
    (root / "DEBIAN").mkdir()
    shutil.copy(desktop.FILES / "postrm", root / "DEBIAN/postrm")
    (root / "DEBIAN/postrm").chmod(0o755)
    _control(root, _CONTROL, PACKAGE, version, depends=dependencies(root / PROGRAM, folder / "shlibs"))
    return root, accelerators


def _split(root: Path, tree: Path) -> Path:
    """Move the plugins for accelerators into `tree`, the package of their own."""
    for path in [path for path in (root / PROGRAM).rglob("*") if path.name in _ACCELERATOR_FILES]:
        target = tree / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    (tree / _DOCUMENTS).mkdir(parents=True)
    (tree / _DOCUMENTS / ACCELERATORS).symlink_to(PACKAGE)
    (tree / "DEBIAN").mkdir()
    _control(tree, _ACCELERATORS_CONTROL, ACCELERATORS, __version__)
    return tree


def pack(root: Path, output: Path, epoch: int) -> Path:
    """Make the .deb in `output`."""
    files = sorted(path for path in (root / "usr").rglob("*") if path.is_file() and not path.is_symlink())
    sums = [f"{_md5(path)}  {path.relative_to(root).as_posix()}\n" for path in files]
    (root / "DEBIAN/md5sums").write_text("".join(sums), encoding="utf-8")
    fields = dict(re.findall(r"^(\w+): (.+)$", (root / "DEBIAN/control").read_text(encoding="utf-8"), re.MULTILINE))
    package = output / f"{fields['Package']}_{fields['Version']}_{fields['Architecture']}.deb"
    stamps.settle(root, epoch)
    plain = ("-Znone", "--no-uniform-compression")
    _run("dpkg-deb", "--root-owner-group", *plain, "--build", str(root), str(package))
    _compress_files(package)
    return package


def _compress_files(package: Path) -> None:
    """Compress the files in a package. dpkg-deb reads xz with a filter for machine code, but cannot write it."""
    with tempfile.TemporaryDirectory(dir=package.parent) as work:
        _run("ar", "x", str(package), folder=Path(work))
        with Path(work, "data.tar").open("rb") as files, lzma.open(f"{work}/data.tar.xz", "wb", filters=XZ) as packed:
            shutil.copyfileobj(files, packed)
        package.unlink()
        _run("ar", "rcD", str(package), "debian-binary", "control.tar.gz", "data.tar.xz", folder=Path(work))


def dependencies(program: Path, work: Path) -> str:
    """Return the packages whose libraries the program needs and does not bring, by dpkg-shlibdeps."""
    (work / "debian").mkdir(parents=True)
    (work / "debian/control").write_text(f"Source: {PACKAGE}\n\nPackage: {PACKAGE}\nArchitecture: any\n")
    own = sorted({str(path.parent) for path in program.rglob("*.so*")})
    programs = [str(path) for path in sorted(program.rglob("*")) if _is_elf(path)]
    command = ["dpkg-shlibdeps", "--ignore-missing-info", "-O", *(f"-l{folder}" for folder in own)]
    output = _run(*command, *(f"-e{path}" for path in programs), folder=work)
    return output.partition("shlibs:Depends=")[2].strip()


def _control(root: Path, template: str, package: str, version: str, depends: str = "") -> None:
    text = template.format(
        package=package,
        version=version,
        architecture=_run("dpkg", "--print-architecture"),
        maintainer=_MAINTAINER,
        kilobytes=sum(path.lstat().st_size for path in (root / "usr").rglob("*") if not path.is_dir()) // 1024,
        depends=depends,
    )
    (root / "DEBIAN/control").write_text(text, encoding="utf-8")


def compress(path: Path) -> None:
    """Compress a file, without its name and time."""
    _run("gzip", "-9n", str(path))


def _is_elf(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or path.name in _ACCELERATOR_FILES:
        return False
    with path.open("rb") as stream:
        return stream.read(len(_ELF)) == _ELF


def _document(folder: Path, version: str, epoch: int) -> None:
    folder.mkdir(parents=True)
    (folder / "copyright").write_text(_COPYRIGHT + "".join(map(_stanza, bill.program_parts()[1:])), encoding="utf-8")
    date = _run("date", "-u", "-R", "-d", f"@{epoch}")
    log = f"{PACKAGE} ({version}) stable; urgency=medium\n\n  * See the notes on releases in the source.\n\n"
    (folder / "changelog").write_text(f"{log} -- {_MAINTAINER}  {date}\n", encoding="utf-8")
    compress(folder / "changelog")


def _stanza(part: Component) -> str:
    texts = [text for name, text in _COMMON.items() if name in part.licence]
    place = f" See /usr/share/common-licenses/{texts[0]}." if texts else " See the folder named above."
    name = part.licence or "unstated"
    copyright_ = f"the authors of {part.name} {part.version}"
    return f"\nFiles: usr/lib/headstart/_internal/*{part.name}*\nCopyright: {copyright_}\nLicense: {name}\n{place}\n"


def _md5(path: Path) -> str:
    return _run("md5sum", str(path)).split()[0]


def _run(*command: str, folder: Path | None = None) -> str:
    """Return the output of a tool of Debian. Raises PackagingError."""
    if not shutil.which(command[0]):
        raise PackagingError(f"{command[0]} is not here; on Debian: apt-get install dpkg-dev gzip coreutils.")
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}  # errors are told by their English word
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if process.returncode:
        errors = "\n".join(line for line in process.stderr.splitlines() if "error:" in line)  # amid pages of warnings
        raise PackagingError(f"{command[0]} failed: {errors or process.stderr.strip()[-2000:]}")
    return process.stdout.strip()
