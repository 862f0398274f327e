"""Other tests again, with a library that sees each access beyond an array, and each undefined operation."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headstart.engine.kernels import library
from tests.conftest import kept
from tests.engine.kernels import conftest

TESTS = ("test_products.py", "test_programs.py", "test_attention.py", "test_fuzz.py")
NAME = "libheadstart_kernels.so"
SOURCE = Path(library.__file__).parent / "source"
CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
FLAGS = ["-std=c11", "-O1", "-g", "-fPIC", "-ffp-contract=off", "-fvisibility=hidden"]
PROCESSORS = {
    "isa_avx2": ["-march=x86-64-v3"],
    "isa_avxvnni": ["-march=x86-64-v3", "-mavxvnni"],
    "isa_avx512vnni": ["-march=x86-64-v4", "-mavx512vnni"],
    "isa_amx": ["-march=x86-64-v4", "-mavx512vnni", "-mamx-tile", "-mamx-int8"],
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


@pytest.fixture(scope="module")
def sanitized() -> Path:
    """The kernels with sanitizers, compiled once per machine for each state of their sources."""

    def build(folder: Path) -> None:
        folder.mkdir()
        compiling = []
        for source in SOURCE.glob("*.c"):
            processor = PROCESSORS.get(source.stem, [])
            # Tile instructions are not checked anyway, and with the checks this file takes many minutes to compile.
            checks = [] if source.stem == "isa_amx" else CHECKS
            command = ["gcc", *FLAGS, *checks, *processor, "-c", str(source), "-o", str(folder / f"{source.stem}.o")]
            compiling.append(subprocess.Popen(command))
        assert not any(process.wait() for process in compiling)
        objects = map(str, folder.glob("*.o"))
        subprocess.run(["gcc", "-shared", *CHECKS, *objects, "-lm", "-lpthread", "-o", str(folder / NAME)], check=True)

    version = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    return kept(f"sanitized-{version}", [Path(__file__), *sorted(SOURCE.iterdir())], build) / NAME


@pytest.mark.slow
def test_sanitizers_find_nothing(runtime: str, sanitized: Path) -> None:
    environment = {
        **os.environ,
        conftest.LIBRARY: str(sanitized),
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    # Sanitizers end the process, so nothing is captured. Other conftest.py files import OpenVINO, which they stop.
    options = ["-s", "-m", "not slow", "-n0", "-p", "no:cacheprovider", "--noconftest", "-p", conftest.__name__]
    command = [sys.executable, "-m", "pytest", "-q", *options, *(str(Path(__file__).with_name(name)) for name in TESTS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
