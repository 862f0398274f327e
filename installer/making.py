"""Builds a package, step by step, in the environment of the build. build.py starts it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from headstart import __version__
from headstart.errors import HeadstartError
from headstart.library import library, manifest
from headstart.library.manifest import Manifest
from headstart.ui.help.licences import Component
from installer import bill, environment, freezing, stamps
from installer.linux import deb, tarball
from installer.order import PackageOrder, Target, parser
from installer.windows import msi, payload, setup, tools


class NoSuchModelError(HeadstartError):
    """The model for a package is not installed, or damaged."""


class IncompleteBillError(HeadstartError):
    """The list of parts lacks one, or a licence."""


def main(arguments: list[str]) -> int:
    """Build a package. Return the exit code."""
    order = PackageOrder.from_arguments(parser(__doc__ or "").parse_args(arguments))
    try:
        packages = make(order, int(os.environ["SOURCE_DATE_EPOCH"]))
    except HeadstartError as error:
        print(f"build: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"build: {error.cmd[0]} failed with exit code {error.returncode}.", file=sys.stderr)
        return 1
    print("\n".join(f"made {path}" for path in packages))
    return 0


def make(order: PackageOrder, epoch: int) -> list[Path]:
    """Build and return the packages or, for the target `dir`, the folder. Print their sizes."""
    order.output.mkdir(parents=True, exist_ok=True)
    folder, packages = _make_for_windows(order, epoch) if order.target is Target.WINDOWS else _make_here(order, epoch)
    for path in filter(Path.is_file, packages):
        bill_name = order.output / f"{path.name}.cdx.json"
        shutil.copyfile(folder / bill.NAME, bill_name)
        stamps.write_sums(order.output, [path.name, bill_name.name])
        print(f"{path.stat().st_size / 1e6:.1f} MB in {path.name}")
    return packages


def _make_for_windows(order: PackageOrder, epoch: int) -> tuple[Path, list[Path]]:
    """Build the program for Windows, its setup and its MSI. They cannot run here, so their libraries are checked."""
    tools.require()
    work = order.work / "windows"
    program = work / "program"
    payload.stage(program, work)
    _complete(program, order, work, epoch, payload.parts(program), "Windows AMD64")
    return program, [pack(program, work / "launchers", order.output) for pack in (setup.pack, msi.pack)]


def _make_here(order: PackageOrder, epoch: int) -> tuple[Path, list[Path]]:
    """Build the program for this system, and its packages."""
    frozen = freezing.freeze(order.work)
    _complete(frozen.folder, order, order.work, epoch, bill.program_parts())
    check(frozen.folder, order.work / "checked")
    version = f"{__version__}+model" if order.model else __version__
    packages: list[Path] = []
    if order.target in {Target.DEB, Target.LINUX}:
        trees = deb.stage(frozen, order.work / "deb", version, epoch)
        check(trees[0] / deb.PROGRAM, order.work / "checked")
        packages += [deb.pack(tree, order.output, epoch) for tree in trees]
    if order.target in {Target.TARBALL, Target.LINUX}:
        packages.append(tarball.pack(frozen.folder, order.work / "tarball", order.output, epoch))
    if order.target is Target.DIR:
        output = order.output / "headstart"
        shutil.rmtree(output, ignore_errors=True)
        packages.append(Path(shutil.copytree(frozen.folder, output, symlinks=True)))
    return frozen.folder, packages


def _complete(
    folder: Path, order: PackageOrder, work: Path, epoch: int, parts: Sequence[Component], system: str = ""
) -> None:
    """Put the exporter's wheel, the model and the bill of materials beside the program, and set all times."""
    if gaps := bill.gaps(folder, parts):
        raise IncompleteBillError("The list of parts is not complete: {gaps}.", gaps="; ".join(gaps))
    environment.put_wheel(work, folder)
    manifests = put_model(order.model, folder / freezing.MODELS) if order.model else []
    (folder / bill.NAME).write_text(bill.bill(parts, manifests, epoch, system), encoding="utf-8")
    stamps.settle(folder, epoch)
    print(stamps.size_report(folder), flush=True)


def check(folder: Path, profile: Path) -> None:
    """Run the self-check of the program, with an empty profile. Raises CalledProcessError."""
    shutil.rmtree(profile, ignore_errors=True)
    command = [str(folder / freezing.WINDOW), "--profile", str(profile), "--self-check"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_"))}
    subprocess.run(command, env=environ, check=True)


def _find(name: str) -> library.Model | library.Pair:
    """Find the model at a path, or the only installed one whose name begins with `name`. Raises HeadstartError."""
    entries = [entry for entry in library.installed() if entry.name.startswith(name)]
    if Path(name).is_dir() or any(entry.name == name for entry in entries):
        return library.find(name if not Path(name).is_dir() else str(Path(name).resolve()))
    if len(entries) != 1:
        reason = f"several begin so: {', '.join(entry.name for entry in entries)}" if entries else "none is installed"
        raise NoSuchModelError(f"There is no one model {name!r} ({reason}); export it with headstart-export first.")
    return library.find(entries[0].name)


def put_model(name: str, models: Path) -> list[Manifest]:
    """Copy a model into the folder `models`, with its hashes checked. Return the manifests of its parts."""
    entry = _find(name)
    parts = [entry.target, entry.draft] if isinstance(entry, library.Pair) else [entry]
    for part in parts:
        faults = manifest.damaged_files(part.folder, part.manifest, hashes=True)
        if faults:
            raise NoSuchModelError(f"{part.name} is damaged ({'; '.join(faults)}); export it again.")
    shutil.copytree(entry.folder, models / entry.folder.name)
    return [part.manifest for part in parts]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
