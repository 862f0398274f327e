"""Makes a package, step by step, inside the environment of the build. Started by build.py."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from headstart import __version__
from headstart.errors import HeadstartError
from headstart.library import library, manifest
from headstart.library.manifest import Manifest
from headstart.ui.licences import Component
from installer import bill, environment, freezing, stamps
from installer.linux import deb, tarball
from installer.order import Order, Target, parser
from installer.windows import msi, payload, setup, tools


class NoSuchModelError(HeadstartError):
    """The model that a package should bring is not here."""


def main(arguments: list[str]) -> int:
    """Build what is asked for. Returns the exit code."""
    order = Order.of(parser(__doc__ or "").parse_args(arguments))
    try:
        made = make(order, int(os.environ["SOURCE_DATE_EPOCH"]))
    except HeadstartError as error:
        print(f"build: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"build: {error.cmd[0]} failed with exit code {error.returncode}.", file=sys.stderr)
        return 1
    print("\n".join(f"made {path}" for path in made))
    return 0


def make(order: Order, epoch: int) -> list[Path]:
    """The finished packages or, for the target `dir`, the folder. What it prints is for people."""
    order.output.mkdir(parents=True, exist_ok=True)
    folder, made = _make_for_windows(order, epoch) if order.target is Target.WINDOWS else _make_here(order, epoch)
    for path in filter(Path.is_file, made):
        beside = order.output / f"{path.name}.cdx.json"
        shutil.copyfile(folder / bill.NAME, beside)
        stamps.write_sums(order.output, [path.name, beside.name])
        print(f"{path.stat().st_size / 1e6:.1f} MB in {path.name}")
    return made


def _make_for_windows(order: Order, epoch: int) -> tuple[Path, list[Path]]:
    """The program for Windows, its setup and its MSI. None of it can be started here: what it lacks is looked for."""
    tools.require()
    work = order.work / "windows"
    program = work / "program"
    payload.stage(program, work)
    _complete(program, order, work, epoch, payload.parts(program), "Windows AMD64")
    return program, [pack(program, work / "launchers", order.output) for pack in (setup.pack, msi.pack)]


def _make_here(order: Order, epoch: int) -> tuple[Path, list[Path]]:
    """The program for the system that this is, and its packages."""
    frozen = freezing.freeze(order.work)
    _complete(frozen.folder, order, order.work, epoch, bill.packed())
    check(frozen.folder, order.work / "checked")
    version = f"{__version__}+model" if order.model else __version__
    match order.target:
        case Target.DEB:
            trees = deb.stage(frozen, order.work / "deb", version, epoch)
            check(trees[0] / deb.PROGRAM, order.work / "checked")
            return frozen.folder, [deb.pack(tree, order.output, epoch) for tree in trees]
        case Target.TARBALL:
            return frozen.folder, [tarball.pack(frozen.folder, order.work / "tarball", order.output, epoch)]
        case _:
            made = order.output / "headstart"
            shutil.rmtree(made, ignore_errors=True)
            return frozen.folder, [Path(shutil.copytree(frozen.folder, made, symlinks=True))]


def _complete(folder: Path, order: Order, work: Path, epoch: int, found: Iterable[Component], system: str = "") -> None:
    """Put the exporter's wheel, the model and the list of parts beside the program, and settle its times."""
    environment.put_wheel(work, folder)
    packed = put_model(order.model, folder / freezing.MODELS) if order.model else []
    (folder / bill.NAME).write_text(bill.bill(found, packed, epoch, system), encoding="utf-8")
    stamps.settle(folder, epoch)
    print(stamps.sizes(folder), flush=True)


def check(folder: Path, profile: Path) -> None:
    """Let the program look itself over, with an empty profile. Raises CalledProcessError."""
    shutil.rmtree(profile, ignore_errors=True)
    command = [str(folder / freezing.WINDOW), "--profile", str(profile), "--self-check"]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_"))}
    subprocess.run(command, env=plain, check=True)


def _find(wanted: str) -> library.Model | library.Pair:
    """The folder at this path, or the one installed model whose name begins so. Raises HeadstartError."""
    entries = [entry for entry in library.installed() if entry.name.startswith(wanted)]
    if Path(wanted).is_dir() or any(entry.name == wanted for entry in entries):
        return library.find(wanted if not Path(wanted).is_dir() else str(Path(wanted).resolve()))
    if len(entries) != 1:
        found = f"several begin so: {', '.join(entry.name for entry in entries)}" if entries else "none is installed"
        raise NoSuchModelError(f"There is no one model {wanted!r} ({found}); export it with headstart-export first.")
    return library.find(entries[0].name)


def put_model(wanted: str, models: Path) -> list[Manifest]:
    """Copy the model into the folder `models` and compare every file with its hash. Returns what was copied."""
    entry = _find(wanted)
    parts = [entry.target, entry.draft] if isinstance(entry, library.Pair) else [entry]
    for part in parts:
        faults = manifest.damaged_files(part.folder, part.manifest, hashes=True)
        if faults:
            raise NoSuchModelError(f"{part.name} is damaged ({'; '.join(faults)}); export it again.")
    shutil.copytree(entry.folder, models / entry.folder.name)
    return [part.manifest for part in parts]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
