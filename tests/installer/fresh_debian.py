"""A Debian that has nothing yet, in a folder, with programs run in it that see no network. Knows no package of ours."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_MIRROR = "http://deb.debian.org/debian"
_RELEASE = "bookworm"
_X11 = Path("/tmp/.X11-unix")  # noqa: S108 - where X11 has its sockets everywhere
PERSON = "person"


def missing() -> str:
    """Why there can be none on this machine; empty where there can."""
    if os.geteuid() != 0:
        return "a fresh Debian needs root (chroot and mount)"
    lacking = [name for name in ("mmdebstrap", "unshare", "chroot", "mount", "ip") if not shutil.which(name)]
    return f"a fresh Debian needs {', '.join(lacking)}" if lacking else ""


class FreshDebian:
    """Use `fresh_debian`."""

    def __init__(self, root: Path) -> None:
        """`root` has a Debian with apt."""
        self.root = root

    def fetch(self, package: Path) -> None:
        """Have apt fetch what a package depends on, and install none of it; the only step that may use a network."""
        shutil.copy(package, self.root / "root" / "package.deb")
        self._run(["chroot", str(self.root), "apt-get", "update", "-q"])
        self._run(["chroot", str(self.root), *_install("--download-only")])

    def install(self) -> None:
        """Install the package, without a network."""
        self._run(["unshare", "--net", "chroot", str(self.root), *_install()])
        self._run(["chroot", str(self.root), "useradd", "--create-home", PERSON])

    def remove(self, name: str) -> str:
        """Remove a package for good. Returns what apt said."""
        return self._run(["unshare", "--net", "chroot", str(self.root), "apt-get", "purge", "-y", "-q", name])

    def command(self, *words: str, **variables: str) -> list[str]:
        """The command line that has the person run a program inside, without a network."""
        known = {"HOME": f"/home/{PERSON}", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **variables}
        plain = ["env", "-i", *(f"{name}={value}" for name, value in known.items())]
        inside = ["chroot", f"--userspec={PERSON}:{PERSON}", str(self.root), *plain, *words]
        # The computer's own address is no network, and its own server answers there.
        return ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *inside]

    def run(self, *words: str) -> str:
        """Run it to its end. Returns what it printed."""
        return self._run(self.command(*words))

    def _run(self, command: list[str]) -> str:
        environment = {"PATH": os.environ["PATH"], "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout


@contextlib.contextmanager
def fresh_debian(folder: Path) -> Iterator[FreshDebian]:
    """Made in `folder`, with the screens of this machine in it; gone from its mounts at the end."""
    root = folder / "debian"
    subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", _RELEASE, str(root), _MIRROR], check=True)
    mounts = {Path("/proc"): root / "proc", _X11: root / _X11.relative_to("/")}
    with contextlib.ExitStack() as stack:
        for source, place in mounts.items():
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--bind", str(source), str(place)], check=True)
            stack.callback(subprocess.run, ["umount", str(place)], check=True)
        yield FreshDebian(root)


def _install(*options: str) -> list[str]:
    return ["apt-get", "install", "-y", "-q", "--no-install-recommends", *options, "/root/package.deb"]
