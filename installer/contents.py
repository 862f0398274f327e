"""The contents of the frozen program, by module and file name."""

import pkgutil
from collections.abc import Iterable
from pathlib import PurePath

# The default patterns of PyInstaller miss versioned names, and with them the reader of models.
LIBRARIES = ("*.dll", "*.dylib", "lib*.so", "lib*.so.*")
NATIVE_PACKAGES = ("openvino", "openvino_genai", "openvino_tokenizers")
# Names for debuggers weigh more than the rest of these; most libraries of the wheels have none, or break without.
STRIPPED = (
    "libpython3*.so*",
    "python3.*/lib-dynload/*.so",
    "sqlcipher3/*.so",
    "cryptography/hazmat/bindings/*.so",
    "numpy/_core/_multiarray_umath.*.so",
    "psutil/*.so",
    "PySide6/Qt/lib/libicu[iu]*",
)
KERNELS = "libheadstart_kernels"  # a library that Python takes for a module where its name ends in .so
METADATA = "headstart"  # its own and, by what it requires, that of every package: the list of licences reads it

# Never in any program of ours: the exporter with what it needs, tests, other toolkits, and OpenVINO's telemetry.
MODULES_OUT = (
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

# Readers of formats that Headstart does not load, and plugins that it refuses to choose.
_OPENVINO_OUT = (
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
_QT_OUT = (
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
# What tests need, and a way to be faster at what is done once for a line of the terminal.
_OTHERS_OUT = (
    "numpy/_core/_multiarray_tests",
    "numpy/_core/_operand_flag_tests",
    "numpy/_core/_rational_tests",
    "numpy/_core/_struct_ufunc_tests",
    "numpy/_core/_umath_tests",
    "wcwidth/_wcwidth_c",
)
# Of the libraries that the building system lends, those that another Linux may lack or have in other versions. All
# the rest every desktop has, and its other libraries (those for graphics above all) rely on it being the newest.
_LENT = (
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
_OF_PYTHON = ("libpython3", "lib-dynload/", "python3.")  # comes along even where the system's own Python is frozen
_ENDINGS_OUT = (".ts", ".pyi", ".pyx", ".pxd", ".h", ".cmake", ".pc", ".lib", "/RECORD", "/direct_url.json")
_LANGUAGES = ("qtbase_en", "qtbase_zh_CN", "qtbase_zh_TW")


def is_wanted(name: str, source: str = "") -> bool:
    """Tell whether a file belongs into the program; `name` is its path inside it, `source` where it comes from."""
    path = PurePath(name).as_posix()
    if "openvino_telemetry" in path:  # not even its name: the list of licences goes by what is there
        return False
    if path.endswith(_ENDINGS_OUT):
        return False
    if _is_lent(path, source):
        return path.startswith(_LENT)
    if "/translations/" in path:
        return any(language in path for language in _LANGUAGES)
    return not any(part in path for part in (*_OPENVINO_OUT, *_QT_OUT, *_OTHERS_OUT))


def own_modules() -> list[str]:
    """Every module of the application: the self-check imports them all."""
    import headstart  # noqa: PLC0415 - only in the environment of the build

    names = [module.name for module in pkgutil.walk_packages(headstart.__path__, "headstart.")]
    return [name for name in names if not name.endswith(f".{KERNELS}")]


def of_the_system(files: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The names inside the program of what came from the building system; `files` are (name, source) pairs.

    A package for that very system leaves them out and names their packages instead.
    """
    return tuple(sorted({name for name, source in files if _is_lent(name, source)}))


def _is_lent(path: str, source: str) -> bool:
    return source.startswith(_SYSTEM_FOLDERS) and not path.startswith(_OF_PYTHON)
