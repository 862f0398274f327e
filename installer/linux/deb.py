"""The packages for Debian and Ubuntu: the program under /usr/lib, what the desktop is told, and what it depends on.

What only computers with an Intel GPU or NPU can use is a package of its own: it is a sixth of the program.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from headstart import __version__
from headstart.errors import HeadstartError
from headstart.ui.licences import Component
from installer import bill, freezing, stamps
from installer.freezing import Frozen
from installer.linux import desktop

PACKAGE = "headstart"
ACCELERATORS = f"{PACKAGE}-accelerators"
PROGRAM = Path("usr/lib/headstart")
_DOCUMENTS = Path("usr/share/doc")
_MAINTAINER = "The Headstart developers <headstart@localhost>"
_ELF = b"\x7fELF"
_OF_ACCELERATORS = ("libopenvino_intel_gpu_plugin.so", "libopenvino_intel_npu_plugin.so", "cache.json")
_COMMON = {"Apache-2.0": "Apache-2.0", "LGPL-3.0-only": "LGPL-3", "GPL-2.0-only": "GPL-2", "GPL-3.0-only": "GPL-3"}
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
_CONTROL_OF_ACCELERATORS = f"""\
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
 can be replaced by others of the same interface.

Files: *
Copyright: The Headstart developers
License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.
"""


class PackagingError(HeadstartError):
    """A packer is not installed, or refused."""


def stage(frozen: Frozen, folder: Path, version: str, epoch: int) -> tuple[Path, Path]:
    """The trees of the program and of the accelerators, in `folder`, which is replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    root = folder / "root"
    freezing.without_system_libraries(frozen, root / PROGRAM)
    accelerators = _split(root, folder / "accelerators")
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/headstart").symlink_to("../lib/headstart/headstart")
    desktop.put(root / "usr/share", epoch)
    compress(root / "usr/share/man/man1/headstart.1")
    _document(root / _DOCUMENTS / PACKAGE, version, epoch)
    (root / "DEBIAN").mkdir()
    shutil.copy(desktop.FILES / "postrm", root / "DEBIAN/postrm")
    (root / "DEBIAN/postrm").chmod(0o755)
    _control(root, _CONTROL, PACKAGE, version, depends=dependencies(root / PROGRAM, folder / "shlibs"))
    return root, accelerators


def _split(root: Path, other: Path) -> Path:
    """Move what is of accelerators into the tree of a package of its own."""
    for path in [path for path in (root / PROGRAM).rglob("*") if path.name in _OF_ACCELERATORS]:
        moved = other / path.relative_to(root)
        moved.parent.mkdir(parents=True, exist_ok=True)
        path.rename(moved)
    (other / _DOCUMENTS).mkdir(parents=True)
    (other / _DOCUMENTS / ACCELERATORS).symlink_to(PACKAGE)
    (other / "DEBIAN").mkdir()
    _control(other, _CONTROL_OF_ACCELERATORS, ACCELERATORS, __version__)
    return other


def pack(root: Path, output: Path, epoch: int) -> Path:
    """The .deb in `output`."""
    files = sorted(path for path in (root / "usr").rglob("*") if path.is_file() and not path.is_symlink())
    sums = [f"{_md5(path)}  {path.relative_to(root).as_posix()}\n" for path in files]
    (root / "DEBIAN/md5sums").write_text("".join(sums), encoding="utf-8")
    fields = dict(re.findall(r"^(\w+): (.+)$", (root / "DEBIAN/control").read_text(encoding="utf-8"), re.MULTILINE))
    made = output / f"{fields['Package']}_{fields['Version']}_{fields['Architecture']}.deb"
    stamps.settle(root, epoch)
    _said("dpkg-deb", "--root-owner-group", "-Zzstd", "-z19", "--build", str(root), str(made))
    return made


def dependencies(program: Path, work: Path) -> str:
    """The packages whose libraries the program asks for and does not bring, as dpkg-shlibdeps knows them here."""
    (work / "debian").mkdir(parents=True)
    (work / "debian/control").write_text(f"Source: {PACKAGE}\n\nPackage: {PACKAGE}\nArchitecture: any\n")
    own = sorted({str(path.parent) for path in program.rglob("*.so*")})
    asked = [str(path) for path in sorted(program.rglob("*")) if _is_asked(path)]
    command = ["dpkg-shlibdeps", "--ignore-missing-info", "-O", *(f"-l{folder}" for folder in own)]
    found = _said(*command, *(f"-e{path}" for path in asked), folder=work)
    return found.partition("shlibs:Depends=")[2].strip()


def _control(root: Path, form: str, package: str, version: str, depends: str = "") -> None:
    text = form.format(
        package=package,
        version=version,
        architecture=_said("dpkg", "--print-architecture"),
        maintainer=_MAINTAINER,
        kilobytes=sum(path.lstat().st_size for path in (root / "usr").rglob("*") if not path.is_dir()) // 1024,
        depends=depends,
    )
    (root / "DEBIAN/control").write_text(text, encoding="utf-8")


def compress(path: Path) -> None:
    """Compress as `gzip -9n` does: no name, no time."""
    _said("gzip", "-9n", str(path))


def _is_asked(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or path.name in _OF_ACCELERATORS:
        return False
    with path.open("rb") as stream:
        return stream.read(len(_ELF)) == _ELF


def _document(folder: Path, version: str, epoch: int) -> None:
    folder.mkdir(parents=True)
    (folder / "copyright").write_text(_COPYRIGHT + "".join(map(_stanza, bill.packed()[1:])), encoding="utf-8")
    when = _said("date", "-u", "-R", "-d", f"@{epoch}")
    log = f"{PACKAGE} ({version}) stable; urgency=medium\n\n  * See the notes on releases in the source.\n\n"
    (folder / "changelog").write_text(f"{log} -- {_MAINTAINER}  {when}\n", encoding="utf-8")
    compress(folder / "changelog")


def _stanza(part: Component) -> str:
    known = [text for name, text in _COMMON.items() if name in part.licence]
    full = f" See /usr/share/common-licenses/{known[0]}." if known else " See the folder named above."
    name = part.licence or "unstated"
    copyright_ = f"the authors of {part.name} {part.version}"
    return f"\nFiles: usr/lib/headstart/_internal/*{part.name}*\nCopyright: {copyright_}\nLicense: {name}\n{full}\n"


def _md5(path: Path) -> str:
    return _said("md5sum", str(path)).split()[0]


def _said(*command: str, folder: Path | None = None) -> str:
    """Return what a program of Debian prints. Raises PackagingError."""
    if not shutil.which(command[0]):
        raise PackagingError(f"{command[0]} is not here; on Debian: apt-get install dpkg-dev gzip coreutils.")
    done = subprocess.run(command, cwd=folder, env=dict(os.environ), capture_output=True, text=True, check=False)
    if done.returncode:
        raise PackagingError(f"{command[0]} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout.strip()
