"""The package that unpacks itself, with the whole program: installed for one user, used, installed again, removed."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.foreign_servers import GGUF

ROOT = Path(__file__).resolve().parents[2]
KERNELS = "_internal/headstart/engine/kernels/libheadstart_kernels.so"
PACKAGE = os.environ.get("HEADSTART_TEST_RUN", "")  # to be used instead of building

pytestmark = [
    pytest.mark.installer,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a package for Linux"),
]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    if PACKAGE:
        return Path(PACKAGE)
    order = ["--target", "tarball", "--output", str(tmp_path / "dist")]
    subprocess.run([sys.executable, str(ROOT / "installer" / "build.py"), *order], check=True)
    return next((tmp_path / "dist").glob("headstart-*.run"))


@pytest.mark.usefixtures("real_smollm2")  # its export leaves the GGUF file in the cache
def test_tarball_installs_for_one_user_and_answers(package: Path, tmp_path: Path) -> None:
    home = tmp_path / "my home"
    home.mkdir()

    def run(*command: str) -> str:
        known = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        done = subprocess.run(command, env=known, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    program, data = home / ".local/bin/headstart", home / ".local/share/headstart"
    run("sh", str(package))
    assert run(str(program), "--version").startswith("headstart 0.")
    assert ctypes.CDLL(str(home / ".local/opt/headstart" / KERNELS)).hk_abi() > 0
    run(str(program), "--self-check")
    assert run(str(program), "run", str(GGUF), "--max-new-tokens", "12", "Hi")
    assert "the window opened and the installed model answered: " in run(str(program), "--self-check")
    kept = sorted(path.relative_to(data) for path in data.rglob("*") if path.is_file())
    assert kept
    run("sh", str(package))
    said = run("sh", str(home / ".local/opt/headstart/uninstall.sh"))
    assert str(data) in said
    assert not program.exists()
    assert not (home / ".local/opt/headstart").exists()
    assert sorted(path.relative_to(data) for path in data.rglob("*") if path.is_file()) == kept
