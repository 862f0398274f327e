"""Compiles the kernels: a C library that lies beside the module that loads it. Hatch does this before it makes a wheel.

`python installer/kernels.py [--target x86_64-windows-gnu]` does it by hand. The compiler is Zig, from the package
`ziglang`, or else the system's `cc`, whose code is slower. Headstart runs without the library, too, but slower.
"""

import argparse
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("app/headstart/engine/kernels")
COMPILER = "ziglang>=0.17"
VARIABLE = "HEADSTART_KERNELS_TARGET"  # a target that a wheel must have the library for; or "none", for no library

COMPILE = ("-std=c11", "-O3", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-g0")
LINK = ("-shared", "-O3", "-s", "-pthread", "-lm")
# For isa_NAME.c: what NAME's processors have, which the library asks the processor for before it uses that file.
PROCESSORS = {
    "avx2": ("-march=x86-64-v3",),
    "avxvnni": ("-march=x86-64-v3", "-mavxvnni"),
    "avx512vnni": ("-march=x86-64-v4", "-mavx512vnni", "-mprefer-vector-width=512"),
}


class Target(NamedTuple):
    """A system: Zig's name for it, the library's file, and the platform in the name of a wheel."""

    triple: str
    library: str
    platform: str


LINUX = Target("x86_64-linux-gnu.2.17", "libheadstart_kernels.so", "manylinux_2_17_x86_64")
WINDOWS = Target("x86_64-windows-gnu", "headstart_kernels.dll", "win_amd64")
TARGETS = (
    LINUX,
    WINDOWS,
    Target("aarch64-linux-gnu.2.17", "libheadstart_kernels.so", "manylinux_2_17_aarch64"),
    Target("aarch64-macos.11.0", "libheadstart_kernels.dylib", "macosx_11_0_arm64"),
)


def own() -> Target | None:
    """Find the system that runs this; None where it has no library."""
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
    return next((target for target in TARGETS if target.triple.startswith(f"{machine}-{system}")), None)


def build(folder: Path, target: Target) -> str:
    """Compile `folder`/source to a library in `folder`, unless it is up to date. Returns the platform for a wheel.

    Raises OSError; no older library is left then.
    """
    if found := up_to_date(folder, target):
        return found
    (folder / target.library).unlink(missing_ok=True)
    has_zig = importlib.util.find_spec("ziglang") is not None
    if not has_zig and (target != own() or not shutil.which("cc")):
        raise FileNotFoundError("there is no compiler; `pip install ziglang` brings one")
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", target.triple] if has_zig else ["cc"]
    sources = folder / "source"
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as work:
        # Names without folders: the library tells nobody where it was built.
        objects = []
        for source in sorted(sources.glob("*.c")):
            flags = compile_flags(source.name, target, has_zig=has_zig)
            if flags:
                objects.append(f"{source.stem}.o")
                _run([*compiler, *flags, "-o", f"{work}/{source.stem}.o", "-c", source.name], sources)
        _run([*compiler, *objects, *LINK, "-o", target.library], Path(work))
        Path(work, target.library).replace(folder / target.library)
    built_for = target.platform if has_zig else re.sub(r"[-.]", "_", sysconfig.get_platform())
    _stamp(folder, target).write_text(f"{_digest(folder, target)} {built_for}", encoding="ascii")
    return built_for


def up_to_date(folder: Path, target: Target) -> str:
    """The platform that the library was built for; empty where there is none, or other sources or flags made it."""
    stamp = _stamp(folder, target)
    if not stamp.exists() or not (folder / target.library).exists():
        return ""
    digest, _, built_for = stamp.read_text(encoding="ascii").partition(" ")
    return built_for if digest == _digest(folder, target) else ""


def compile_flags(source: str, target: Target, *, has_zig: bool) -> list[str]:
    """The flags for a file; none at all for a file that the target's processors cannot run."""
    prefix, _, isa = Path(source).stem.partition("_")
    if prefix != "isa":
        return [*COMPILE]
    if not target.triple.startswith("x86_64"):
        return []
    return [*COMPILE, *(flag.replace("x86-64-", "x86_64_") if has_zig else flag for flag in PROCESSORS[isa])]


def _run(command: Sequence[str], folder: Path) -> None:
    if subprocess.run(command, cwd=folder, check=False).returncode:
        raise ChildProcessError(f"the compiler failed at {command[-1]}")


def _stamp(folder: Path, target: Target) -> Path:
    """The file that says which sources and flags made the library, and for which platform."""
    return folder / f"{target.library}.stamp"


def _digest(folder: Path, target: Target) -> str:
    digest = hashlib.sha256(target.triple.encode())
    for path in (Path(__file__), *sorted((folder / "source").glob("*.[ch]"))):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def get_build_hook() -> "type[BuildHookInterface[Any]]":
    """Hatch asks for the hook by this name. Nothing else here needs Hatchling."""
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface  # noqa: PLC0415

    class BuildHook(BuildHookInterface[Any]):
        def dependencies(self) -> list[str]:
            """Ask for Zig, a download of 100 MB, only where there is something to compile with it."""
            target = self._target()
            has_work = target and target.triple.startswith("x86_64") and not up_to_date(self._folder, target)
            return [COMPILER] if has_work else []

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            target = self._target()
            if target is None:
                return
            try:
                built_for = build(self._folder, target)
            except OSError as error:
                if os.environ.get(VARIABLE):
                    raise
                self.app.display_warning(f"The kernels were not built, so that Headstart will run slower: {error}.")
                return
            if version != "editable":
                build_data["artifacts"].append(f"/{(FOLDER / target.library).as_posix()}")
                build_data |= {"pure_python": False, "tag": f"py3-none-{built_for}"}

        @property
        def _folder(self) -> Path:
            return Path(self.root) / FOLDER

        def _target(self) -> Target | None:
            named = os.environ.get(VARIABLE)
            if named == "none":
                return None
            return {target.triple: target for target in TARGETS}[named] if named else own()

    return BuildHook


def main() -> int:
    """Build for this system, or for the target that was named. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    known = {target.triple: target for target in TARGETS}
    here = own()
    parser.add_argument("--target", choices=known, default=here.triple if here else None, required=here is None)
    target = known[parser.parse_args().target]
    folder = Path(__file__).resolve().parent.parent / FOLDER
    try:
        build(folder, target)
    except OSError as error:
        print(f"The kernels were not built: {error}.", file=sys.stderr)
        return 1
    print(folder / target.library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
