"""`python -m installer.windows.locking` writes the lock of the wheels for Windows, with their hashes.

It fetches them all anew, some 200 MB: a build takes from then on what it saw, and nothing else.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from packaging.utils import parse_wheel_filename

from installer import locking, stamps
from installer.locking import Locked
from installer.windows import wheels


def main() -> None:
    """Write it in the place of the one before."""
    with tempfile.TemporaryDirectory(prefix="headstart-lock-") as folder:
        found = wheels.gather(locking.ROOT, Path(folder), lambda _wheel: None, locking.variables())
        wheels.LOCK.write_text(text(found), encoding="utf-8")
    print(wheels.LOCK)


def text(found: Iterable[Path]) -> str:
    """The lock of these wheels."""
    origin = f"headstart on {wheels.LOCK.stem}, written by `python -m installer.windows.locking` with the wheels."
    return locking.written(origin, map(_locked, found))


def _locked(wheel: Path) -> Locked:
    name, version, _, _ = parse_wheel_filename(wheel.name)
    return Locked(name, str(version), stamps.digest(wheel))


if __name__ == "__main__":
    main()
