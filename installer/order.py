"""The command line of a build."""

import argparse
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Target(StrEnum):
    """The form of a package."""

    DIR = "dir"
    DEB = "deb"
    TARBALL = "tarball"
    LINUX = "linux"  # both of them
    WINDOWS = "windows"
    MACOS = "macos"


@dataclass(frozen=True)
class PackageOrder:
    target: Target
    model: str  # the beginning of an installed model's name, or a folder; empty: none
    output: Path
    work: Path

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace) -> "PackageOrder":
        return cls(Target(arguments.target), arguments.with_model, arguments.output.resolve(), arguments.work.resolve())


def parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="installer/build.py", description=description.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument(
        "--target",
        choices=[target.value for target in Target],
        default=Target.DIR.value,
        help="the form of the package; dir is the program in a folder (default)",
    )
    parser.add_argument(
        "--with-model",
        metavar="MODEL",
        default="",
        help="put a model into the package: a folder, or the beginning of an installed model's name such as smollm2",
    )
    parser.add_argument(
        "--output", metavar="DIR", type=Path, default=ROOT / "dist", help="where packages go (default: dist)"
    )
    parser.add_argument(
        "--work",
        metavar="DIR",
        type=Path,
        default=ROOT / "build" / "installer",
        help="the build's own folder, kept to be quicker the next time (default: build/installer)",
    )
    return parser
