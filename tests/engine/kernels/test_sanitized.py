"""Other tests again, with a library that sees each access beyond an array, and each undefined operation."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import KERNEL_SOURCES, kept, proven_once, sources_of
from tests.engine.kernels import conftest

TESTS = ("test_products.py", "test_programs.py", "test_attention.py", "test_fuzz.py")
HELPERS = ("tests/support/junk.py", "tests/support/waiting.py")
NAME = "libheadstart_kernels.so"
CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
FLAGS = ["-std=c11", "-O1", "-g", "-fPIC", "-ffp-contract=off", "-fvisibility=hidden"]
PROCESSORS = {
    "avx2": ["-march=x86-64-v3"],
    "avxvnni": ["-march=x86-64-v3", "-mavxvnni"],
    "avx512vnni": ["-march=x86-64-v4", "-mavx512vnni"],
    "amx": ["-march=x86-64-v4", "-mavx512vnni", "-mamx-tile", "-mamx-int8"],
}


@pytest.fixture(scope="module")
def runtime() -> str:
    """The shared library of the address sanitizer."""
    if not shutil.which("gcc"):
        pytest.skip("there is no gcc, which has sanitizers")
    command = ["gcc", "-print-file-name=libasan.so"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(found).is_absolute():
        pytest.skip("gcc has no address sanitizer here: install libasan")
    return found


def gcc_version() -> str:
    """Return the version of the compiler."""
    command = ["gcc", "-dumpfullversion"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def sanitized_kernels() -> Path:
    """Compile the kernels with sanitizers, once per machine for each state of their sources. Return the library."""

    def build(folder: Path) -> None:
        folder.mkdir()
        compiling = []
        for source in (path for path in KERNEL_SOURCES if path.suffix == ".c"):
            processor = PROCESSORS.get(source.stem, [])
            # Tile instructions are not checked anyway, and with the checks this file takes many minutes to compile.
            checks = [] if source.stem == "amx" else CHECKS
            command = ["gcc", *FLAGS, *checks, *processor, "-c", str(source), "-o", str(folder / f"{source.stem}.o")]
            compiling.append(subprocess.Popen(command))
        codes = [process.wait() for process in compiling]
        assert not any(codes)
        objects = map(str, folder.glob("*.o"))
        subprocess.run(["gcc", "-shared", *CHECKS, *objects, "-lm", "-lpthread", "-o", str(folder / NAME)], check=True)

    return kept(f"sanitized-{gcc_version()}", [Path(__file__), *KERNEL_SOURCES], build) / NAME


@pytest.mark.slow
def test_sanitizers_find_nothing(runtime: str) -> None:
    def prove() -> None:
        environment = {
            **os.environ,
            conftest.LIBRARY: str(sanitized_kernels()),
            "LD_PRELOAD": runtime,
            "ASAN_OPTIONS": "detect_leaks=0",
        }
        # Sanitizers end the process, so nothing is captured. Other conftest.py files import OpenVINO, which they stop.
        options = ["-s", "-m", "not slow", "-n0", "-p", "no:cacheprovider", "--noconftest", "-p", conftest.__name__]
        files = [str(Path(__file__).with_name(name)) for name in TESTS]
        command = [sys.executable, "-m", "pytest", "-q", *options, *files]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    sources = [*KERNEL_SOURCES, *sources_of("app/headstart/engine/kernels", "tests/engine/kernels", *HELPERS)]
    proven_once(f"sanitizers-{gcc_version()}", sources, prove)
