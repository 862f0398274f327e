"""The contents of the frozen program, by module and file name."""

import pkgutil
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path, PurePath

# PyInstaller's default patterns miss versioned names, and so OpenVINO's reader of models.
LIBRARIES = ("*.dll", "*.dylib", "lib*.so", "lib*.so.*")
NATIVE_PACKAGES = ("openvino", "openvino_genai", "openvino_tokenizers")
# Mostly symbols for debuggers. Other libraries of the wheels have no symbols, or break without them.
STRIPPED = (
    "libpython3*.so*",
    "python3.*/lib-dynload/*.so",
    "*.cpython-3*.so",
    "_miniaudio.abi3.so",
    "_soundfile_data/*.so",
    "sqlcipher3/*.so",
    "charset_normalizer/*.so",
    "cryptography/hazmat/bindings/*.so",
    "msgspec/*.so",
    "numpy/_core/_multiarray_umath.*.so",
    "numpy/fft/*.so",
    "numpy/linalg/*.so",
    "numpy/random/*.so",
    "psutil/*.so",
    "python_calamine/*.so",
    "regex/*.so",
    "rpds/*.so",
    "safetensors/*.so",
    "tokenizers/*.so",
    "yaml/*.so",
    "zstandard/*.so",
    "PySide6/Qt/lib/libicu[iu]*",
)
KERNELS = "libheadstart_kernels"  # Python takes the library for a module if its name ends in .so
METADATA = "headstart"  # the list of licences reads it, with that of all requirements

# PyTorch and what needs it, tests, other toolkits, OpenVINO's telemetry, and what the import of a GGUF file does not
# take of its packages.
EXCLUDED_MODULES = (
    "headstart_export.heads.network",
    "headstart_export.heads.training",
    "torch",
    "nncf",
    "optimum",
    "hf_xet",
    "huggingface_hub.cli",
    "huggingface_hub.inference",
    "fsspec",
    "requests",
    "urllib3",
    "typer",
    "shellingham",
    "annotated_doc",
    "pytest",
    "hypothesis",
    "mypy",
    "_pytest",
    "matplotlib",
    "pandas",
    "scipy",
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

# All that tokenizers and chat templates need of transformers, a fiftieth of it.
TRANSFORMERS = (
    "transformers._typing",
    "transformers.convert_slow_tokenizer",
    "transformers.dependency_versions_check",
    "transformers.dependency_versions_table",
    "transformers.dynamic_module_utils",
    "transformers.integrations.ggml",
    "transformers.modeling_gguf_pytorch_utils",
    "transformers.tokenization_utils_base",
    "transformers.tokenization_utils_tokenizers",
    "transformers.utils.auto_docstring",
    "transformers.utils.chat_parsing_utils",
    "transformers.utils.chat_template_utils",
    "transformers.utils.constants",
    "transformers.utils.doc",
    "transformers.utils.dummy_mistral_common_objects",
    "transformers.utils.dummy_pt_objects",
    "transformers.utils.dummy_sentencepiece_and_tokenizers_objects",
    "transformers.utils.dummy_torchvision_objects",
    "transformers.utils.dummy_vision_objects",
    "transformers.utils.generic",
    "transformers.utils.hub",
    "transformers.utils.import_utils",
    "transformers.utils.kernel_config",
    "transformers.utils.logging",
    "transformers.utils.peft_utils",
    "transformers.utils.versions",
)
# Any model of transformers, never imported: importing transformers fails if there is no file of a model.
MODEL_FILE = "models/gpt2/configuration_gpt2.py"

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
# Data of ICU that Qt does not ask for: ends of words, names of currencies, languages, regions, units and zones, spelled
# numbers, other scripts, names of characters, and what calendars and numbers look like (`_LOCALE`); Qt has its own. It
# takes old encodings, the order of words, time zones, and small and capital letters from ICU.
_EXCLUDED_UNICODE = ("brkitr/", "curr/", "lang/", "rbnf/", "region/", "translit/", "unit/", "zone/", "unames.icu")
_EXCLUDED_UNICODE_SUFFIXES = (".cfu", ".spp")
_LOCALE = re.compile(r"[a-z]{2,3}(_\w+)?\.res")
# Tests, a compiled part of wcwidth that gains nothing here, a library that transformers asks the system for, heads,
# which are in the exporter's wheel, zstandard for another Python, and of pillow colour profiles, Tk and AVIF.
_EXCLUDED_OTHERS = (
    "headstart_export/recipes/heads/",
    "libcudart.",
    "numpy/_core/_multiarray_tests",
    "numpy/_core/_operand_flag_tests",
    "numpy/_core/_rational_tests",
    "numpy/_core/_struct_ufunc_tests",
    "numpy/_core/_umath_tests",
    "PIL/_avif",
    "PIL/_imagingcms",
    "PIL/_imagingtk",
    "pillow.libs/libavif",
    "pillow.libs/liblcms2",
    "wcwidth/_wcwidth_c",
    "zstandard/_cffi",
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
    if path.endswith(_EXCLUDED_SUFFIXES) or is_excluded_metadata(path):
        return False
    if _is_system_library(path, source):
        return path.startswith(_BUNDLED)
    if "/translations/" in path:
        return any(language in path for language in _LANGUAGES)
    return not any(part in path for part in (*_EXCLUDED_OPENVINO, *_EXCLUDED_QT, *_EXCLUDED_OTHERS))


def is_wanted_unicode(name: str) -> bool:
    """Tell whether an item of ICU's data, such as `coll/de.res`, belongs into the program."""
    return not (
        name.startswith(_EXCLUDED_UNICODE) or name.endswith(_EXCLUDED_UNICODE_SUFFIXES) or _LOCALE.fullmatch(name)
    )


def is_excluded_metadata(path: str) -> bool:
    """Tell whether a file is of the metadata of an excluded package, which the list of licences must not show."""
    package, _, ending = PurePath(path).parts[0].partition("-")
    return ending.endswith(".dist-info") and package.lower() in EXCLUDED_MODULES


def own_modules() -> list[str]:
    """Return the names of all modules of the application and of the exporter without PyTorch."""
    import headstart  # noqa: PLC0415 - only in the environment of the build
    import headstart_export  # noqa: PLC0415

    names = [
        module.name
        for package in (headstart, headstart_export)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    return [name for name in names if not name.endswith(f".{KERNELS}") and name not in EXCLUDED_MODULES]


def excluded_transformers() -> list[str]:
    """Return the names of all other modules of transformers."""
    found = find_spec("transformers")
    assert found
    assert found.origin
    folder = Path(found.origin).parent
    files = (path.relative_to(folder.parent).as_posix() for path in folder.rglob("*.py"))
    names = (file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in files)
    return [name for name in names if not is_wanted_transformers(name)]


def is_wanted_transformers(module: str) -> bool:
    """Tell whether a module of transformers belongs into the program, itself or as a package."""
    return any(f"{name}.".startswith(f"{module}.") for name in TRANSFORMERS)


def system_libraries(files: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the names of the files that were copied from the building system; `files` are (name, source) pairs.

    A package for that very system depends on their packages instead.
    """
    return tuple(sorted({name for name, source in files if _is_system_library(name, source)}))


def _is_system_library(path: str, source: str) -> bool:
    return source.startswith(_SYSTEM_FOLDERS) and not path.startswith(_PYTHON)
