"""The project's wheel: built twice, in two folders and at two times, it has the same bytes."""

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from installer import kernels
from tests.conftest import KERNEL_SOURCES, proven_once, sources_of

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    "app/headstart",
    "export/headstart_export",
    "installer/kernels.py",
    "models",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
EPOCH = "1700000000"


def _copy(folder: Path) -> Path:
    """Copy the source tree with other times, and without built files."""
    for name in SOURCES:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            built = shutil.ignore_patterns("__pycache__", "*.stamp", *([] if name != "models" else ["[!.]*[!l]"]))
            shutil.copytree(source, target, ignore=built, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(source, target)
    return folder


def _built(folder: Path, mask: str, target: str = "none") -> Path:
    variables = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, kernels.VARIABLE: target}
    code = f"import os, sys; os.umask({mask}); from hatchling.cli import hatchling; sys.exit(hatchling())"
    command = [sys.executable, "-c", code, "build", "-t", "wheel", "-d", "out"]
    subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=True)
    (wheel,) = (folder / "out").glob("*.whl")
    return wheel


def test_two_builds_of_the_wheel_are_equal(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling, of the extra `test`, builds the wheel")
    first = _built(_copy(tmp_path / "one"), "0o022")
    second = _built(_copy(tmp_path / "another" / "place"), "0o077")
    assert first.read_bytes() == second.read_bytes()
    assert first.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(first) as wheel:
        names = set(wheel.namelist())
        assert {info.date_time for info in wheel.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    assert {
        "headstart/cli/program.py",
        "headstart_export/cli.py",
        "headstart_export/recipes/qwen2.5-coder.toml",
    } <= names
    assert not [name for name in names if name.endswith((".pyc", ".bin", ".safetensors", ".so", ".c", ".h"))]


@pytest.mark.slow
def test_two_builds_of_the_kernels_are_equal(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling, of the extra `test`, builds the wheel")
    target = kernels.host_target()
    has_zig = importlib.util.find_spec("ziglang") is not None
    if not target or not (has_zig or shutil.which("cc")):
        pytest.skip("there is no compiler")
    compiler = [sys.executable, "-m", "ziglang", "version"] if has_zig else ["cc", "-dumpfullversion"]
    version = subprocess.run(compiler, capture_output=True, text=True, check=True).stdout.strip()
    sources = [*KERNEL_SOURCES, *sources_of("installer/kernels.py", "pyproject.toml"), Path(__file__)]
    proven_once(f"two-builds-{version}", sources, lambda: _prove_equal_builds(tmp_path, target))


def _prove_equal_builds(tmp_path: Path, target: kernels.KernelTarget) -> None:
    places = tmp_path / "one", tmp_path / "another" / "place"
    for place in places:
        _copy(place)
        hook = place / "installer" / "kernels.py"
        hook.write_text(hook.read_text(encoding="utf-8").replace('"-O3"', '"-O1"'), encoding="utf-8")  # compiled sooner
    first, second = (_built(place, mask, target.triple) for place, mask in zip(places, ("0o022", "0o077"), strict=True))
    assert first.read_bytes() == second.read_bytes()
    assert "-py3-none-any" not in first.name
    with zipfile.ZipFile(first) as wheel:
        (name,) = [name for name in wheel.namelist() if "headstart_kernels" in name]
        library = wheel.extract(name, tmp_path)
    assert str(tmp_path).encode() not in Path(library).read_bytes()
    assert ctypes.CDLL(library).hk_abi() > 0
