"""The packages that Headstart runs on, as wheels for Windows in pinned versions.

pip reads the conditions of requirements (`; sys_platform == "win32"`) with the eyes of the system it runs on. So they
are read here, and pip is asked for one wheel of each package, without what that requires. Nothing of a wheel is read
before its SHA-256 is found in the lock, which `python -m installer.windows.locking` writes.
"""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping
from email import message_from_bytes
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from headstart.errors import HeadstartError
from installer import contents, environment, locking, stamps

PINS = Path(__file__).with_name("pins.txt")
PYTHON = "3.13"
LOCK = locking.LOCKS / f"program-cp{PYTHON.replace('.', '')}-win_amd64.txt"
_SYSTEM = {
    "os_name": "nt",
    "sys_platform": "win32",
    "platform_system": "Windows",
    "platform_machine": "AMD64",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "implementation_version": f"{PYTHON}.0",
    "python_version": PYTHON,
    "python_full_version": f"{PYTHON}.0",
    "extra": "",
}
_LEFT_OUT = "openvino-telemetry"

# Of Microsoft's C++; kept once, beside the programs, where every library finds them.
RUNTIME = (
    "concrt140.dll",
    "msvcp140.dll",
    "msvcp140_1.dll",
    "msvcp140_2.dll",
    "msvcp140_codecvt_ids.dll",
    "vcruntime140.dll",
    "vcruntime140_1.dll",
)
RUNTIME_FROM = "shiboken6"

_QT = ("Core", "DBus", "Gui", "Network", "Svg", "Widgets")
_OF_QT = {*(f"Qt{name}.pyd" for name in _QT), *(f"Qt6{name}.dll" for name in _QT), "pyside6.abi3.dll"}
_QT_PLUGINS = {
    "iconengines/qsvgicon.dll",
    "imageformats/qgif.dll",
    "imageformats/qico.dll",
    "imageformats/qjpeg.dll",
    "imageformats/qsvg.dll",
    "imageformats/qwebp.dll",
    "platforms/qoffscreen.dll",
    "platforms/qwindows.dll",
    "styles/qmodernwindowsstyle.dll",
}
_QT_MODULES_OUT = ("PySide6/QtAsyncio/", "PySide6/scripts/", "PySide6/support/generate_pyi.py")
# 100 MB that only compile for NPUs, which by default is done by the NPU's driver.
_NPU_COMPILER = "openvino/libs/openvino_intel_npu_compiler.dll"
# What the package for MCP servers needs of pywin32. It goes into one folder, where a frozen program looks for it.
_OF_PYWIN32 = {
    "win32/lib/pywintypes.py",
    "win32/lib/win32con.py",
    "win32/win32api.pyd",
    "win32/win32job.pyd",
    f"pywin32_system32/pywintypes{PYTHON.replace('.', '')}.dll",
}
_PYWIN32 = {"PyWin32.chm", "adodbapi", "isapi", "pythoncom.py", "pythonwin", "pywin32.pth", "pywin32.version.txt"}
_PYWIN32 |= {"pywin32_system32", "win32", "win32com", "win32comext"}
_TESTS = {"tests", "test", "_examples"}
_LIBRARIES = (".dll", ".pyd")


class WheelError(HeadstartError):
    """A package cannot be had for Windows."""


def pins() -> dict[str, str]:
    """Version by name, as they are for Windows."""
    lines = [line for path in (environment.PINS, PINS) for line in path.read_text(encoding="utf-8").splitlines()]
    found = (Requirement(line.partition(" --hash")[0]) for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in found if _holds(pin)}


def fetch(root: Path, folder: Path) -> tuple[Path, ...]:
    """The wheels of everything that the project in `root` requires, in `folder`; what is there is not fetched again.

    Raises WheelError, also for a wheel that is not the one in the lock, and CalledProcessError.
    """
    lock = {(each.name, each.version): each.sha256 for each in locking.read(LOCK)}
    return gather(root, folder, lambda wheel: _require(wheel, lock))


def gather(
    root: Path, folder: Path, check: Callable[[Path], None], variables: Mapping[str, str] = os.environ
) -> tuple[Path, ...]:
    """Gather the wheels. `check` sees each of them before anything else does; `variables` are those of pip."""
    folder.mkdir(parents=True, exist_ok=True)
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions, had, wanted_next = pins(), dict[str, Path](), _names(project["dependencies"])
    while wanted_next:
        unpinned = sorted(wanted_next - versions.keys())
        if unpinned:
            raise WheelError(f"{', '.join(unpinned)}: add to installer/windows/pins.txt the version that was run.")
        _download({name: versions[name] for name in wanted_next}, folder, variables)
        new = {name: _there(folder, name, versions[name]) for name in wanted_next}
        had |= {name: wheel for name, wheel in new.items() if wheel}
        for wheel in filter(None, new.values()):
            check(wheel)
        wanted_next = {name for wheel in had.values() for name in requirements(wheel)} - had.keys()
    return tuple(had[name] for name in sorted(had))


def requirements(wheel: Path) -> set[str]:
    """Names of what a wheel requires on Windows."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA") and name.count("/") == 1)
        said = message_from_bytes(archive.read(name))
    return _names(said.get_all("Requires-Dist") or ())


def unpack(wheels: Iterable[Path], folder: Path) -> None:
    """Put what is wanted of the wheels into `folder`, where Python looks for modules."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            places = ((name, _place(name)) for name in sorted(archive.namelist()))
            for name, place in ((name, place) for name, place in places if place and is_wanted(place)):
                _write(archive, name, folder / (PurePosixPath(place).name if place in _OF_PYWIN32 else place))


def is_wanted(path: str) -> bool:
    """Tell whether a file of a wheel belongs into the program; `path` is where Python would find it.

    `contents.py` decides for the parts that all systems share.
    """
    parts = PurePosixPath(path).parts
    if parts[0].endswith(".dist-info"):
        return True
    if path == _NPU_COMPILER or _TESTS & set(parts[:-1]) or _is_module_out(path):
        return False
    if parts[0] == "PySide6":
        return _is_wanted_of_qt(path, parts)
    if parts[0] in _PYWIN32:
        return path in _OF_PYWIN32
    if parts[0] == RUNTIME_FROM and path.endswith(".dll"):
        return parts[-1].startswith(RUNTIME_FROM)
    return path.endswith(".py") or contents.is_wanted(path)


def _is_wanted_of_qt(path: str, parts: tuple[str, ...]) -> bool:
    if parts[1] == "plugins":
        return "/".join(parts[2:]) in _QT_PLUGINS
    if parts[1] == "translations":
        return contents.is_wanted(path)
    if len(parts) == 2 and path.endswith(_LIBRARIES):
        return parts[1] in _OF_QT
    return path.endswith(".py") and not path.startswith(_QT_MODULES_OUT)


def _is_module_out(path: str) -> bool:
    places = [module.replace(".", "/") for module in contents.MODULES_OUT]
    return any(path.startswith((f"{place}/", f"{place}.")) for place in places)


def unpack_some(wheels: Iterable[Path], package: str, names: Iterable[str], folder: Path) -> None:
    """Put single files of one package into `folder`."""
    (wheel,) = (path for path in wheels if parse_wheel_filename(path.name)[0] == package)
    with zipfile.ZipFile(wheel) as archive:
        for name in names:
            _write(archive, f"{package}/{name}", folder / name)


def _place(name: str) -> str:
    """Return the place of a wheel's member below the folder of modules; empty for scripts, headers and folders."""
    parts = PurePosixPath(name).parts
    assert ".." not in parts
    assert not name.startswith("/")
    if name.endswith("/"):
        return ""
    if not parts[0].endswith(".data"):
        return name
    return "/".join(parts[2:]) if parts[1] in {"purelib", "platlib"} else ""


def _write(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(name) as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)


def _names(lines: Iterable[str]) -> set[str]:
    names = {canonicalize_name(need.name) for need in map(Requirement, lines) if _holds(need)}
    return {str(name) for name in names} - {_LEFT_OUT}


def _holds(need: Requirement) -> bool:
    return need.marker is None or need.marker.evaluate(dict(_SYSTEM))


def _there(folder: Path, name: str, version: str) -> Path | None:
    for wheel in sorted(folder.glob("*.whl")):
        its_name, its_version, _, _ = parse_wheel_filename(wheel.name)
        if (its_name, str(its_version)) == (name, version):
            return wheel
    return None


def _require(wheel: Path, lock: Mapping[tuple[str, str], str]) -> None:
    name, version, _, _ = parse_wheel_filename(wheel.name)
    known = lock.get((name, str(version)))
    if known is None:
        raise WheelError(
            f"{name} {version} is not in {LOCK.name}: `python -m installer.windows.locking` writes it anew."
        )
    if stamps.digest(wheel) != known:
        raise WheelError(f"{wheel} is not the wheel that {LOCK.name} names; delete it and try again.")


def _download(versions: Mapping[str, str], folder: Path, variables: Mapping[str, str]) -> None:
    missing = sorted(f"{name}=={version}" for name, version in versions.items() if not _there(folder, name, version))
    if not missing:
        return
    platform = ["--platform", "win_amd64", "--python-version", PYTHON, "--only-binary", ":all:"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *platform, "--dest", str(folder)]
    subprocess.run([*command, *missing], env={**variables, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}, check=True)
