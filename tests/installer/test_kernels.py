"""Compiling the kernels, their place in a wheel, and an install without them."""

import importlib.util
import os
import platform
import shutil
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from installer.kernels import COMPILER, FOLDER, LINUX, VARIABLE, WINDOWS

from installer import kernels

ROOT = Path(__file__).resolve().parents[2]
VNNI = ("-mavx512vnni", "-mprefer-vector-width=512")
OTHER = LINUX._replace(triple="x86_64-linux-musl")  # a target whose library has the same name

pytest.importorskip("hatchling", reason="hatchling, of the extra `test`, runs the hook")


class Said:
    """The output of a build."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one source for all processors and one for some, on Linux, with no target named."""
    sources = tmp_path / FOLDER / "source"
    (sources / "isa").mkdir(parents=True)
    for name in ("run.c", "isa/avx2.c", "run.h"):
        (sources / name).write_text("int one;\n", encoding="ascii")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(kernels, "TERMINAL", str(tmp_path / "no folder" / "terminal"))
    monkeypatch.setattr(kernels, "host_target", lambda: LINUX)
    return tmp_path


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Commands for a compiler that writes empty files."""
    told: list[Sequence[str]] = []

    def run(command: Sequence[str], folder: Path) -> None:
        told.append(command)
        (folder / command[command.index("-o") + 1]).touch()

    monkeypatch.setattr(kernels, "_run", run)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    return told


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def hook(root: Path, said: Said) -> Any:
    """The hook as Hatch creates it."""
    made: Any = kernels.get_build_hook()
    return made(str(root), {}, None, None, str(root), "wheel", said)


def _data() -> dict[str, Any]:
    return {"artifacts": [], "pure_python": True}


@pytest.mark.parametrize(
    ("source", "has_zig", "flags"),
    [
        ("run.c", True, [*kernels.COMPILE]),
        ("isa/avx2.c", True, [*kernels.COMPILE, "-march=x86_64_v3"]),
        ("isa/avx512vnni.c", True, [*kernels.COMPILE, "-march=x86_64_v4", *VNNI]),
        ("isa/avx512vnni.c", False, [*kernels.COMPILE, "-march=x86-64-v4", *VNNI]),
    ],
)
def test_compiler_flags_depend_on_file_and_compiler(source: str, flags: list[str], *, has_zig: bool) -> None:
    assert kernels.compile_flags(source, has_zig=has_zig) == flags


def test_every_instruction_set_has_a_processor() -> None:
    sources = (ROOT / FOLDER / "source").glob(f"{kernels.ISA}*.c")
    assert {path.stem for path in sources} == set(kernels.PROCESSORS)


def test_files_are_compiled_and_linked(root: Path, commands: list[Sequence[str]]) -> None:
    assert kernels.build(root / FOLDER, LINUX) == "manylinux_2_17_x86_64"
    first, second, link = commands
    assert [first[-1], second[-1]] == ["isa/avx2.c", "run.c"]
    assert all(command[command.index("-target") + 1] == LINUX.triple for command in commands)
    assert link[link.index("-target") + 2 :] == ["isa_avx2.o", "run.o", *kernels.LINK, "-o", LINUX.library]
    there = {path.name for path in (root / FOLDER).iterdir()}
    assert there == {"source", LINUX.library, f"{LINUX.library}.stamp"}


@pytest.mark.parametrize("changed", ["run.c", "run.h", "new.c"])
def test_current_library_is_not_rebuilt(changed: str, root: Path, hook: Any, commands: list[Sequence[str]]) -> None:
    assert hook.dependencies() == [COMPILER]
    for _ in range(2):
        kernels.build(root / FOLDER, LINUX)
        assert len(commands) == 3
        assert hook.dependencies() == []
    (root / FOLDER / "source" / changed).write_text("int two;\n", encoding="ascii")
    assert hook.dependencies() == [COMPILER]
    kernels.build(root / FOLDER, LINUX)
    assert len(commands) > 3


def test_library_of_another_target_is_replaced(root: Path, commands: list[Sequence[str]]) -> None:
    for target in (OTHER, LINUX):
        kernels.build(root / FOLDER, target)
    assert len(commands) == 3 + 3


@pytest.mark.parametrize("version", ["standard", "editable"])
@pytest.mark.usefixtures("commands")
def test_wheel_has_the_tag_of_its_system(version: str, hook: Any, root: Path) -> None:
    data = _data()
    hook.initialize(version, data)
    assert (root / FOLDER / LINUX.library).exists()
    wanted = {
        "artifacts": ["/app/headstart/engine/kernels/libheadstart_kernels.so"],
        "pure_python": False,
        "tag": "py3-none-manylinux_2_17_x86_64",
    }
    assert data == (wanted if version == "standard" else _data())


@pytest.mark.usefixtures("commands")
def test_wheel_of_windows_has_the_library_of_windows(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _data()
    monkeypatch.setenv(VARIABLE, WINDOWS.triple)
    hook.initialize("standard", data)
    assert data["artifacts"] == ["/app/headstart/engine/kernels/headstart_kernels.dll"]
    assert data["tag"] == "py3-none-win_amd64"


def _refuse(_command: Sequence[str], _folder: Path) -> None:
    raise ChildProcessError("the compiler failed at run.c")


def test_compile_error_leaves_a_warning_and_no_library(
    hook: Any, root: Path, said: Said, commands: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels.build(root / FOLDER, LINUX)
    (root / FOLDER / "source" / "run.c").write_text("int = 2;\n", encoding="ascii")
    monkeypatch.setattr(kernels, "_run", _refuse)
    data = _data()
    hook.initialize("standard", data)
    assert data == _data()
    assert ["run.c" in warning for warning in said.warnings] == [True]
    assert not (root / FOLDER / LINUX.library).exists()
    monkeypatch.setenv(VARIABLE, LINUX.triple)
    with pytest.raises(ChildProcessError):
        hook.initialize("standard", data)


def test_missing_compiler_is_a_warning(hook: Any, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    hook.initialize("standard", _data())
    assert "there is no compiler" in said.warnings[0]


def test_unwritable_folder_is_a_warning(hook: Any, root: Path, said: Said) -> None:
    shutil.rmtree(root / FOLDER)
    (root / FOLDER).touch()
    hook.initialize("standard", _data())
    assert len(said.warnings) == 1


def test_failed_build_is_reported_on_the_terminal(hook: Any, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.openpty()
    monkeypatch.setattr(kernels, "TERMINAL", os.ttyname(writer))
    monkeypatch.setattr(kernels, "_run", _refuse)
    hook.initialize("editable", _data())
    assert os.read(reader, 1000).decode().strip() == said.warnings[0]
    for end in (reader, writer):
        os.close(end)


@pytest.mark.parametrize("named", ["", "none"])
@pytest.mark.usefixtures("commands")
def test_unsupported_system_builds_nothing(named: str, hook: Any, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, named)
    if not named:
        monkeypatch.setattr(kernels, "host_target", lambda: None)
    data = _data()
    hook.initialize("standard", data)
    assert (data, hook.dependencies()) == (_data(), [])
    assert ["there are none for" in warning for warning in said.warnings] == ([] if named else [True])


@pytest.mark.parametrize(("system", "processor"), [("linux", "aarch64"), ("darwin", "arm64")])
def test_arm_has_no_library(system: str, processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    assert kernels.host_target() is None


def test_package_build_requires_the_same_compiler() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (line,) = [line for line in project["project"]["optional-dependencies"]["installer"] if "zig" in line]
    assert line.partition(";")[0] == COMPILER
    assert not [line for line in project["build-system"]["requires"] if "zig" in line]
