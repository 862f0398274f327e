"""What of the wheels belongs into the program for Windows, by path.

`contents.py` decides for the parts that all systems share. PyInstaller takes of Qt what is imported; here it is named.
"""

from pathlib import PurePosixPath

from installer import contents

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
_TESTS = {"tests", "test", "_examples"}
_LIBRARIES = (".dll", ".pyd")


def is_wanted(path: str) -> bool:
    """Whether a file of a wheel belongs into the program; `path` is where Python would find it."""
    parts = PurePosixPath(path).parts
    if parts[0].endswith(".dist-info"):
        return True
    if path == _NPU_COMPILER or _TESTS & set(parts[:-1]) or _is_module_out(path):
        return False
    if parts[0] == "PySide6":
        return _is_wanted_of_qt(path, parts)
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
