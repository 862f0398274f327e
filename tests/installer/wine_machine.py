"""A computer with Windows in a folder, as Wine plays it: programs run on it. Knows no package of ours."""

import contextlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

_LONGEST = 900  # seconds for one program on a loaded machine


def missing() -> str:
    """Why there can be none on this machine; empty where there can."""
    lacking = [name for name in ("wine", "wineboot", "wineserver") if not shutil.which(name)]
    return f"Windows is played by {', '.join(lacking)}, which is not installed" if lacking else ""


class WineMachine:
    """Use `wine_machine`."""

    def __init__(self, folder: Path, environment: Mapping[str, str], overrides: str) -> None:
        """`overrides`: libraries that are to be taken from beside programs, in Wine's words."""
        self.drive = folder / "drive_c"
        self.person = self.drive / "users" / pwd.getpwuid(os.getuid()).pw_name
        self.local = self.person / "AppData" / "Local"
        self.environment = {
            **environment,
            "WINEPREFIX": str(folder),
            "WINEARCH": "win64",
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": f"mscoree=;mshtml=;winemenubuilder.exe=;{overrides}",
        }

    def place(self, path: Path) -> str:
        """What a program on the machine calls a file on its drive."""
        return "C:\\" + str(path.relative_to(self.drive)).replace("/", "\\")

    def start(self, program: Path | str, *words: str) -> subprocess.Popen[bytes]:
        """Start a program and leave it to itself."""
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(["wine", str(program), *words], env=self.environment, stdout=nowhere, stderr=nowhere)

    def run(self, program: Path | str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            ["wine", str(program), *words],
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LONGEST,
            check=False,
        )

    def registered(self, key: str, name: str = "") -> str:
        """A value of the person's registry; empty where there is none."""
        done = self.run("reg", "query", f"HKCU\\{key}", *(["/v", name] if name else ["/ve"]))
        return done.stdout.partition("REG_SZ")[2].strip() if done.returncode == 0 else ""


@contextlib.contextmanager
def wine_machine(folder: Path, environment: Mapping[str, str], overrides: str = "") -> Iterator[WineMachine]:
    """A new one in `folder`; what still runs on it at the end is ended."""
    machine = WineMachine(folder, environment, overrides)
    subprocess.run(["wineboot", "--init"], env=machine.environment, capture_output=True, timeout=_LONGEST, check=True)
    try:
        yield machine
    finally:
        subprocess.run(["wineserver", "-k"], env=machine.environment, timeout=60, check=False)
