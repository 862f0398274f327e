"""The lock of the wheels for Windows: `python -m installer.windows.locking` writes it.

It fetches all wheels anew, some 200 MB; a build accepts these and no others.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from packaging.utils import parse_wheel_filename

from installer import locking, stamps
from installer.locking import Locked
from installer.windows import wheels


def main() -> None:
    """Write the lock, in place of the old one."""
    with tempfile.TemporaryDirectory(prefix="headstart-lock-") as folder:
        fetched = wheels.gather(locking.ROOT, Path(folder), lambda _wheel: None, locking.variables())
        wheels.LOCK.write_text(text(fetched), encoding="utf-8")
    print(wheels.LOCK)


def text(files: Iterable[Path]) -> str:
    """Return the lock of these wheels."""
    origin = f"headstart on {wheels.LOCK.stem}, written by `python -m installer.windows.locking` with the wheels."
    return locking.lock_text(origin, map(_locked, files))


def _locked(wheel: Path) -> Locked:
    name, version, _, _ = parse_wheel_filename(wheel.name)
    return Locked(name, str(version), stamps.digest(wheel))


if __name__ == "__main__":
    main()
