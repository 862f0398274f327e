"""The package for any other Linux: a shell script that carries the program and unpacks itself."""

import lzma
import platform
import shutil
import tarfile
from pathlib import Path

from headstart import __version__
from installer import stamps
from installer.linux import desktop

STUB = Path(__file__).with_name("self_extract.sh")
# Calls in machine code get the same target address everywhere first: a sixth less for OpenVINO.
XZ = ({"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 6})


def pack(program: Path, work: Path, output: Path, epoch: int) -> Path:
    """Make the .run file in `output`; `work` is replaced."""
    shutil.rmtree(work, ignore_errors=True)
    tree = work / "headstart"
    shutil.copytree(program, tree, symlinks=True)
    desktop.write_files(tree / "share", epoch)
    shutil.copyfile(desktop.FILES / "uninstall.sh", tree / "uninstall.sh")
    stamps.settle(tree, epoch)
    archive = work / "payload.tar.xz"
    write_archive(tree, archive)
    package = output / f"headstart-{__version__}-linux-{platform.machine()}.run"
    stub = head(STUB.read_text(encoding="utf-8"), stamps.digest(archive))
    with package.open("wb") as stream, archive.open("rb") as payload:
        stream.write(stub)
        shutil.copyfileobj(payload, stream)
    package.chmod(0o755)
    return package


def head(stub: str, checksum: str) -> bytes:
    """Return the script before the payload, which starts on the line after it."""
    assert stub.endswith("\n")
    values = {"VERSION": __version__, "MACHINE": platform.machine(), "SUM": checksum}
    values["LINES"] = str(stub.count("\n") + 1)
    for name, value in values.items():
        stub = stub.replace(f"@{name}@", value)
    return stub.encode()


def write_archive(tree: Path, archive: Path) -> None:
    """Pack everything in `tree`, in the order of names and owned by root."""
    with lzma.open(archive, "wb", filters=XZ) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(tree.rglob("*")):
            tar.add(path, arcname=path.relative_to(tree).as_posix(), recursive=False, filter=_unowned)


def _unowned(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member
