"""Compiles the kernels: a C library beside the module that loads it. Hatch calls this before it builds a wheel.

`python installer/kernels.py [--target x86_64-windows-gnu]` does the same by hand. The compiler is Zig, from the package
`ziglang`, or else the system's `cc`, whose code is slower. Without the library, Headstart runs, but slower.
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("app/headstart/engine/kernels")
COMPILER = "ziglang>=0.17"
TERMINAL = "/dev/tty"  # of the person who installs: pip swallows what a build prints
VARIABLE = "HEADSTART_KERNELS_TARGET"  # the target that a wheel must have the library for; "none": build no library

ISA = "isa/"  # the folder of what is compiled once for each instruction set
COMPILE = ("-std=c11", "-O3", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-g0")
LINK = ("-shared", "-O3", "-s", "-pthread", "-lm")
# Flags for isa/NAME.c. The library asks the processor for the instruction set before it uses the code.
PROCESSORS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "avx2": ("-march=x86-64-v3",),
    "avxvnni": ("-march=x86-64-v3", "-mavxvnni"),
    "avx512vnni": ("-march=x86-64-v4", "-mavx512vnni", "-mprefer-vector-width=512"),
    "amx": ("-march=x86-64-v4", "-mavx512vnni", "-mprefer-vector-width=512", "-mamx-tile", "-mamx-int8"),
}


class KernelTarget(NamedTuple):
    """A system: Zig's name for it, the library's file, and the platform in the name of a wheel."""

    triple: str
    library: str
    platform: str


LINUX = KernelTarget("x86_64-linux-gnu.2.17", "libheadstart_kernels.so", "manylinux_2_17_x86_64")
WINDOWS = KernelTarget("x86_64-windows-gnu", "headstart_kernels.dll", "win_amd64")
TARGETS = (LINUX, WINDOWS)  # for other processors there are no instruction sets


def host_target() -> KernelTarget | None:
    """Return the target of this system; None if there is no library for it."""
    machine = {"AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    system = {"win32": "windows"}.get(sys.platform, sys.platform)
    return next((target for target in TARGETS if target.triple.startswith(f"{machine}-{system}")), None)


def build(folder: Path, target: KernelTarget) -> str:
    """Compile `folder`/source to a library in `folder`, unless it is up to date. Return the platform for a wheel.

    Raises OSError; an older library is removed then.
    """
    if built_for := up_to_date(folder, target):
        return built_for
    (folder / target.library).unlink(missing_ok=True)
    has_zig = importlib.util.find_spec("ziglang") is not None
    if not has_zig and (target != host_target() or not shutil.which("cc")):
        raise FileNotFoundError("there is no compiler; `pip install ziglang` brings one")
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", target.triple] if has_zig else ["cc"]
    sources = folder / "source"
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as work:
        # Names without folders, so that the library does not contain the path of the build.
        names = sorted(source.relative_to(sources).with_suffix("").as_posix() for source in sources.rglob("*.c"))
        objects = {name: f"{name.replace('/', '_')}.o" for name in names}

        def compile_source(name: str) -> None:
            flags = compile_flags(f"{name}.c", has_zig=has_zig)
            _run([*compiler, *flags, "-o", f"{work}/{objects[name]}", "-c", f"{name}.c"], sources)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_source, sorted(names, key=lambda name: not name.startswith(ISA))))  # longest first
        _run([*compiler, *objects.values(), *LINK, "-o", target.library], Path(work))
        Path(work, target.library).replace(folder / target.library)
    built_for = target.platform if has_zig else re.sub(r"[-.]", "_", sysconfig.get_platform())
    _stamp(folder, target).write_text(f"{_digest(folder, target)} {built_for}", encoding="ascii")
    return built_for


def up_to_date(folder: Path, target: KernelTarget) -> str:
    """Return the platform that the library was built for; empty if it is missing, or its sources or flags changed."""
    stamp = _stamp(folder, target)
    if not stamp.exists() or not (folder / target.library).exists():
        return ""
    digest, _, built_for = stamp.read_text(encoding="ascii").partition(" ")
    return built_for if digest == _digest(folder, target) else ""


def compile_flags(source: str, *, has_zig: bool) -> list[str]:
    """Return the flags for a file in the folder of the sources, as Zig or another compiler spells them."""
    isa = PROCESSORS[Path(source).stem] if source.startswith(ISA) else ()
    return [*COMPILE, *(flag.replace("x86-64-", "x86_64_") if has_zig else flag for flag in isa)]


def _run(command: Sequence[str], folder: Path) -> None:
    if subprocess.run(command, cwd=folder, check=False).returncode:
        raise ChildProcessError(f"the compiler failed at {command[-1]}")


def _stamp(folder: Path, target: KernelTarget) -> Path:
    """Return the path of the stamp, which has the hash of sources and flags, and the platform."""
    return folder / f"{target.library}.stamp"


def _digest(folder: Path, target: KernelTarget) -> str:
    digest = hashlib.sha256(target.triple.encode())
    for path in (Path(__file__), *sorted((folder / "source").rglob("*.[ch]"))):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def get_build_hook() -> "type[BuildHookInterface[Any]]":
    """Return the hook; Hatch calls this function. Nothing else in this module needs Hatchling."""
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface  # noqa: PLC0415

    class BuildHook(BuildHookInterface[Any]):
        def dependencies(self) -> list[str]:
            """Return Zig, a download of 100 MB, if there is something to compile with it."""
            target = self._target()
            return [COMPILER] if target and not up_to_date(self._folder, target) else []

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            target = self._target()
            if target is None:
                if not os.environ.get(VARIABLE):
                    self._warn(f"there are none for {platform.system()} on {platform.machine()}")
                return
            try:
                built_for = build(self._folder, target)
            except OSError as error:
                if os.environ.get(VARIABLE):
                    raise
                self._warn(str(error))
                return
            if version != "editable":
                build_data["artifacts"].append(f"/{(FOLDER / target.library).as_posix()}")
                build_data |= {"pure_python": False, "tag": f"py3-none-{built_for}"}

        def _warn(self, reason: str) -> None:
            """Warn in pip's log, and on the terminal, where `pip install -q` shows nothing of a log."""
            warning = f"Headstart's kernels were not built, so answers will be about half as fast: {reason}."
            self.app.display_warning(warning)
            with suppress(OSError), open(TERMINAL, "w", encoding="utf-8") as terminal:  # noqa: PTH123 - a device
                print(warning, file=terminal)

        @property
        def _folder(self) -> Path:
            return Path(self.root) / FOLDER

        def _target(self) -> KernelTarget | None:
            triple = os.environ.get(VARIABLE)
            if triple == "none":
                return None
            return {target.triple: target for target in TARGETS}[triple] if triple else host_target()

    return BuildHook


def main() -> int:
    """Build the library for this system, or for --target. Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    targets = {target.triple: target for target in TARGETS}
    host = host_target()
    parser.add_argument("--target", choices=targets, default=host.triple if host else None, required=host is None)
    target = targets[parser.parse_args().target]
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
