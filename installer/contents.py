"""The contents of the frozen program, by module and file name."""

import pkgutil
from collections.abc import Iterable
from pathlib import PurePath

# PyInstaller's default patterns miss versioned names, and so OpenVINO's reader of models.
LIBRARIES = ("*.dll", "*.dylib", "lib*.so", "lib*.so.*")
NATIVE_PACKAGES = ("openvino", "openvino_genai", "openvino_tokenizers")
# Mostly symbols for debuggers. Other libraries of the wheels have no symbols, or break without them.
STRIPPED = (
    "libpython3*.so*",
    "python3.*/lib-dynload/*.so",
    "sqlcipher3/*.so",
    "cryptography/hazmat/bindings/*.so",
    "numpy/_core/_multiarray_umath.*.so",
    "psutil/*.so",
    "PySide6/Qt/lib/libicu[iu]*",
)
KERNELS = "libheadstart_kernels"  # Python takes the library for a module if its name ends in .so
METADATA = "headstart"  # the list of licences reads it, with that of all requirements

# The exporter and its requirements, tests, other toolkits, and OpenVINO's telemetry.
EXCLUDED_MODULES = (
    "headstart_export",
    "torch",
    "transformers",
    "nncf",
    "optimum",
    "pytest",
    "hypothesis",
    "mypy",
    "_pytest",
    "matplotlib",
    "pandas",
    "scipy",
    "PIL",
    "setuptools",
    "pip",
    "pkg_resources",
    "tkinter",
    "_tkinter",
    "unittest",
    "readline",
    "curses",
    "_curses",
    "sqlite3.test",
    "pydoc",
    "pydoc_data",
    "doctest",
    "lib2to3",
    "ensurepip",
    "idlelib",
    "openvino_telemetry",
    "openvino.tools",
    "openvino.torch",
    "openvino.frontend.pytorch",
    "openvino.frontend.tensorflow",
    "openvino.frontend.jax",
    "openvino.preprocess.torchvision",
    "numpy.f2py",
    "numpy.testing",
    "numpy.distutils",
    "PySide6.QtQml",
    "PySide6.QtQuick",
)

# Readers of formats that Headstart does not load, and devices that it does not offer.
_EXCLUDED_OPENVINO = (
    "_gguf_frontend",
    "_jax_frontend",
    "_onnx_frontend",
    "_paddle_frontend",
    "_pytorch_frontend",
    "_tensorflow_frontend",
    "_tensorflow_lite_frontend",
    "openvino_auto_",
    "openvino_hetero_",
    "libopenvino_c.",
    "tbbmalloc_proxy",
    "openvino/frontend/",
)
_EXCLUDED_QT = (
    "Qt6Qml",
    "Qt6Quick",
    "Qt6Pdf",
    "Qt6VirtualKeyboard",
    "Qt6EglF",
    "virtualkeyboard",
    "qeglfs",
    "egldeviceintegrations",
    "qlinuxfb",
    "qminimalegl",
    "qvnc",
    "qvkkhrdisplay",
    "libqpdf",
    "qmltooling",
    "networkinformation",
    "/tls/",
    "libqgtk3",
    "libqtuiotouchplugin",
    "libqevdev",
    "wayland-graphics-integration",  # for windows drawn by a graphics card; ours are drawn by the processor
    "Qt6OpenGL.",
    "/imageformats/libqicns",
    "/imageformats/libqtga",
    "/imageformats/libqtiff",
    "/imageformats/libqwbmp",
    "/imageformats/libqwebp",
)
# Tests, and a compiled part of wcwidth that gains nothing here.
_EXCLUDED_OTHERS = (
    "numpy/_core/_multiarray_tests",
    "numpy/_core/_operand_flag_tests",
    "numpy/_core/_rational_tests",
    "numpy/_core/_struct_ufunc_tests",
    "numpy/_core/_umath_tests",
    "wcwidth/_wcwidth_c",
)
# System libraries that another Linux may lack or have in other versions. Every desktop has the others, and its own
# libraries, for graphics above all, need them in their newest version.
_BUNDLED = (
    "libbz2.",
    "libcrypto.",
    "libffi.",
    "liblzma.",
    "libsqlite3.",
    "libssl.",
    "libuuid.",
    "libxcb-",
    "libxkbcommon",
)
_SYSTEM_FOLDERS = ("/usr/lib/", "/lib/", "/usr/lib64/", "/lib64/")
_PYTHON = ("libpython3", "lib-dynload/", "python3.")  # bundled even if the system's own Python is frozen
_EXCLUDED_SUFFIXES = (".ts", ".pyi", ".pyx", ".pxd", ".h", ".cmake", ".pc", ".lib", "/RECORD", "/direct_url.json")
_LANGUAGES = ("qtbase_en", "qtbase_zh_CN", "qtbase_zh_TW")


def is_wanted(name: str, source: str = "") -> bool:
    """Tell whether a file belongs into the program. `name`: its path in there; `source`: its path on this system."""
    path = PurePath(name).as_posix()
    if "openvino_telemetry" in path:  # nor its metadata, which the list of licences reads
        return False
    if path.endswith(_EXCLUDED_SUFFIXES):
        return False
    if _is_system_library(path, source):
        return path.startswith(_BUNDLED)
    if "/translations/" in path:
        return any(language in path for language in _LANGUAGES)
    return not any(part in path for part in (*_EXCLUDED_OPENVINO, *_EXCLUDED_QT, *_EXCLUDED_OTHERS))


def own_modules() -> list[str]:
    """Return the names of all modules of the application; the self-check imports each."""
    import headstart  # noqa: PLC0415 - only in the environment of the build

    names = [module.name for module in pkgutil.walk_packages(headstart.__path__, "headstart.")]
    return [name for name in names if not name.endswith(f".{KERNELS}")]


def system_libraries(files: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the names of the files that were copied from the building system; `files` are (name, source) pairs.

    A package for that very system depends on their packages instead.
    """
    return tuple(sorted({name for name, source in files if _is_system_library(name, source)}))


def _is_system_library(path: str, source: str) -> bool:
    return source.startswith(_SYSTEM_FOLDERS) and not path.startswith(_PYTHON)
