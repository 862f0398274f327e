"""The program for Windows, its setup, its MSI and its launchers; nothing is started."""

import ctypes
import importlib.util
import json
import shutil
import struct
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest
from installer.order import PackageOrder, Target
from installer.windows import launchers, msi, payload, setup, tools, wheels

from headstart import __version__, cli
from installer import bill, icons, kernels, making

ROOT = Path(__file__).resolve().parents[2]
START = ROOT / "installer" / "programs" / "start.py"
WIX = "{http://schemas.microsoft.com/wix/2006/wi}"


def wheel(folder: Path, name: str, *requires: str, **files: str) -> Path:
    """A small wheel."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    lines = "".join(f"Requires-Dist: {line}\n" for line in requires)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{lines}"
        )
        for file, text in files.items():
            archive.writestr(file, text)
    return path


def needs(*programs: str) -> None:
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")


def test_markers_are_evaluated_for_windows(tmp_path: Path) -> None:
    made = wheel(
        tmp_path,
        "key",
        'pywin32-ctypes; sys_platform == "win32"',
        'SecretStorage; sys_platform == "linux"',
        'old; python_version < "3.12"',
        'tests; extra == "test"',
        "openvino-telemetry",
        "Some_Name>=1",
    )
    assert wheels.requirements(made) == {"pywin32-ctypes", "some-name"}


def test_unpinned_requirement_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["not-pinned"]\n', encoding="utf-8")
    with pytest.raises(wheels.WheelError, match=r"not-pinned: add to installer/windows/pins\.txt"):
        wheels.fetch(tmp_path, tmp_path / "downloads")


def test_wheel_is_unpacked_in_part(tmp_path: Path) -> None:
    files = {
        "key/a.py": "a",
        "key/tests/b.py": "b",
        "key/a.pyi": "",
        "key-1.0.data/purelib/c.py": "c",
        "key-1.0.data/scripts/d": "d",
        "win32/win32job.pyd": "e",
        "win32/win32print.pyd": "f",
    }
    wheels.unpack([wheel(tmp_path, "key", **files)], tmp_path / "lib")
    there = {path.relative_to(tmp_path / "lib").as_posix() for path in (tmp_path / "lib").rglob("*") if path.is_file()}
    assert there == {"key/a.py", "c.py", "win32job.pyd", "key-1.0.dist-info/METADATA"}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("openvino/libs/openvino_intel_cpu_plugin.dll", True),
        ("openvino/libs/cache.json", True),
        ("openvino/frontend/__init__.py", True),
        ("PySide6/QtWidgets.pyd", True),
        ("PySide6/plugins/platforms/qwindows.dll", True),
        ("PySide6/translations/qtbase_zh_CN.qm", True),
        ("shiboken6/shiboken6.abi3.dll", True),
        ("numpy.libs/libscipy_openblas64_-63c.dll", True),
        ("transformers/utils/generic.py", True),
        ("transformers/models/gpt2/configuration_gpt2.py", True),
        ("transformers-5.5.4.dist-info/METADATA", True),
        ("headstart_export/pipeline/gguf_import.py", True),
        ("transformers/trainer.py", False),
        ("transformers/models/llama/__init__.py", False),
        ("hf_xet/hf_xet.pyd", False),
        ("hf_xet-1.8.0.dist-info/METADATA", False),
        ("headstart_export/heads/training.py", False),
        ("openvino/libs/openvino_intel_npu_compiler.dll", False),
        ("openvino/libs/openvino_pytorch_frontend.dll", False),
        ("openvino/torch/__init__.py", False),
        ("numpy/_core/tests/test_array.py", False),
        ("PySide6/Qt6Qml.dll", False),
        ("PySide6/designer.exe", False),
        ("PySide6/plugins/sqldrivers/qsqlite.dll", False),
        ("PySide6/translations/qtbase_de.qm", False),
        ("shiboken6/msvcp140.dll", False),
    ],
)
def test_unneeded_files_of_windows_are_removed(path: str, *, wanted: bool) -> None:
    assert wheels.is_wanted(path) is wanted


def test_list_of_parts_matches_the_folder(tmp_path: Path) -> None:
    for name, requires in (("headstart", ["key", "openvino-telemetry"]), ("key", ["other"]), ("other", [])):
        place = tmp_path / ("app" if name == "headstart" else "lib")
        wheels.unpack([wheel(tmp_path, name, *requires)], place)
    found = payload.parts(tmp_path)
    assert [part.name for part in found if part.name != bill.COMPILER] == ["Headstart", "Python", "key", "other"]
    document = json.loads(bill.bill(found, [], 1_700_000_000, "Windows AMD64"))
    assert document["metadata"]["properties"] == [{"name": "system", "value": "Windows AMD64"}]
    assert {part["name"]: part["version"] for part in document["components"]}["Python"].startswith(wheels.PYTHON)


def test_missing_parts_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(tools.BuildToolError) as refused:
        tools.require()
    assert str(refused.value).endswith("apt-get install binutils-mingw-w64-x86-64 gcc-mingw-w64-x86-64 nsis wixl.")


@pytest.mark.installer
def test_launchers_import_only_libraries_of_windows(tmp_path: Path) -> None:
    needs(tools.COMPILER, tools.RESOURCES, tools.DUMP)
    work = launchers.make(tmp_path, tmp_path / "work")
    assert {path.name for path in tmp_path.glob("*.*")} == {launcher.file for launcher in launchers.LAUNCHERS}
    assert (work / launchers.CLOSING).is_file()
    tools.require_libraries(tmp_path)
    headers = {name: tools.run(tools.DUMP, "-p", tmp_path / name) for name in ("headstart.exe", "headstart.com")}
    assert "(Windows GUI)" in headers["headstart.exe"]
    assert "(Windows CUI)" in headers["headstart.com"]
    before = (tmp_path / "headstart.exe").read_bytes()
    launchers.make(tmp_path, tmp_path / "again")
    assert (tmp_path / "headstart.exe").read_bytes() == before


@pytest.mark.installer
def test_kernels_import_only_libraries_of_windows(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="ziglang, of the extra `installer`, compiles for Windows")
    needs(tools.DUMP)
    shutil.copytree(ROOT / kernels.FOLDER / "source", tmp_path / "source")
    kernels.build(tmp_path, kernels.WINDOWS)
    assert (tmp_path / kernels.WINDOWS.library).read_bytes()[:2] == b"MZ"
    tools.require_libraries(tmp_path)


def test_missing_library_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.pyd").touch()
    (tmp_path / "b.dll").touch()
    names = ("KERNEL32.dll", "B.dll", "api-ms-win-crt-math-l1-1-0.dll", "Qt6Foo.dll")
    said = "".join(f"\tDLL Name: {name}\n" for name in names)
    monkeypatch.setattr(tools, "run", lambda *_words: said)
    with pytest.raises(tools.BuildToolError, match=r"lacks Qt6Foo\.dll, for a\.pyd, Qt6Foo\.dll, for b\.dll"):
        tools.require_libraries(tmp_path)


def test_icon_has_all_sizes() -> None:
    drawn = [bytes([size % 256]) * 3 for size in icons.ICO_SIZES]
    made = icons.to_ico(drawn)
    assert struct.unpack_from("<HHH", made) == (0, 1, len(icons.ICO_SIZES))
    for at, png in enumerate(drawn):
        length, place = struct.unpack_from("<II", made, 6 + 16 * at + 8)
        assert made[place : place + length] == png


@pytest.mark.parametrize(
    ("version", "numbers"), [("0.1.0", (0, 1, 0, 0)), ("1.2", (1, 2, 0, 0)), ("1.2.3.dev4", (1, 2, 3, 0))]
)
def test_version_has_four_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert launchers.numbers(version) == numbers


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder like an installed program."""
    folder = tmp_path / "program"
    for name in ("headstart.exe", "lib/b.py", "lib/a.py", "lib/sub/c.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, encoding="utf-8")
    return folder


def test_exporter_is_packed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packed: list[str] = []
    built = tmp_path / "windows" / "wheel" / "headstart-0.1.0-py3-none-win_amd64.whl"
    built.parent.mkdir(parents=True)
    built.touch()
    monkeypatch.setattr(tools, "require", lambda: None)

    def stage(folder: Path, _work: Path) -> None:
        (folder / "runtime").mkdir(parents=True)
        (folder / "runtime" / "LICENSE.txt").write_text("free", encoding="utf-8")

    monkeypatch.setattr(payload, "stage", stage)

    def pack(folder: Path, *_rest: Path) -> Path:
        packed.append(setup.listing(folder))
        return folder

    for kind in (setup, msi):
        monkeypatch.setattr(kind, "pack", pack)
    making.make(PackageOrder(Target.WINDOWS, "", tmp_path / "dist", tmp_path), 1_700_000_000)
    assert len(packed) == 2
    assert all(built.name in listed for listed in packed)
    assert "$INSTDIR\\exporter" in setup.SCRIPT.read_text(encoding="utf-8")  # an older one must not stay beside it


def test_setup_lists_files_in_order(program: Path) -> None:
    lines = [line.strip() for line in setup.listing(program).splitlines()]
    put = [line for line in lines if line.startswith(("SetOutPath", "File"))]
    assert put == [
        'SetOutPath "$INSTDIR"',
        f'File "{program}/headstart.exe"',
        'SetOutPath "$INSTDIR\\lib"',
        f'File "{program}/lib/a.py"',
        f'File "{program}/lib/b.py"',
        'SetOutPath "$INSTDIR\\lib\\sub"',
        f'File "{program}/lib/sub/c.py"',
    ]
    assert [line for line in lines if line.startswith("Delete")] == ['Delete "$INSTDIR\\headstart.exe"']


@pytest.mark.installer
def test_setup_is_built(program: Path, tmp_path: Path) -> None:
    needs(tools.COMPILER, tools.RESOURCES, tools.SETUP)
    work = launchers.make(program, tmp_path / "work")
    made = setup.pack(program, work, tmp_path)
    assert made.name == f"headstart-{__version__}-windows-x86_64-setup.exe"
    assert made.read_bytes()[:2] == b"MZ"
    (tmp_path / "again").mkdir()
    assert setup.pack(program, work, tmp_path / "again").read_bytes() == made.read_bytes()


def test_msi_has_every_file_once(program: Path) -> None:
    root = ET.fromstring(msi.document(program, "../program"))  # noqa: S314 - our own text
    files = [element.attrib["Source"] for element in root.iter(f"{WIX}File")]
    assert files == [f"../program/{name}" for name in ("headstart.exe", "lib/a.py", "lib/b.py", "lib/sub/c.py")]
    components = list(root.iter(f"{WIX}Component"))
    assert all(len(part.findall(f"{WIX}RegistryValue[@KeyPath='yes']")) == 1 for part in components)
    assert {part.attrib["Id"] for part in components} == {ref.attrib["Id"] for ref in root.iter(f"{WIX}ComponentRef")}
    names = [element.attrib["Id"] for element in root.iter() if "Id" in element.attrib]
    assert all(len(name) <= 72 for name in names)


def test_msi_is_built(program: Path, tmp_path: Path) -> None:
    needs(tools.MSI)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / launchers.ICON).write_bytes(icons.to_ico([b"x"] * len(icons.ICO_SIZES)))
    made = msi.pack(program, tmp_path / "work", tmp_path)
    assert made.read_bytes()[:4] == bytes.fromhex("d0cf11e0")


@pytest.fixture
def start() -> ModuleType:
    """The module that the launchers run."""
    spec = importlib.util.spec_from_file_location("start", START)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore what `start.py` changes."""
    monkeypatch.setattr(sys, "frozen", False, raising=False)
    monkeypatch.setattr(sys, "executable", sys.executable)
    monkeypatch.setattr(sys, "argv", ["start.py", "command", "--version"])


@pytest.mark.usefixtures("installed")
def test_launched_program_knows_that_it_is_installed(start: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "start", lambda: 7)
    assert start.main() == 7
    assert sys.argv == ["start.py", "--version"]
    assert getattr(sys, "frozen", False) is True
    assert sys.executable == str(START.parents[1] / "headstart.exe")


@pytest.mark.usefixtures("installed")
def test_launched_exporter_gets_its_words(start: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["start.py", "exporter", "check", "name"])
    monkeypatch.setattr("headstart_export.__main__.main", lambda: sys.argv[1:] == ["check", "name"])
    assert start.main() is True


@pytest.mark.usefixtures("installed")
def test_unprintable_output_is_shown_in_a_box(start: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def fail() -> int:
        print("headstart: it is so.", file=sys.stderr)
        return 1

    class _Screen:
        def MessageBoxW(self, _owner: int, text: str, _title: str, _kind: int) -> None:  # noqa: N802 - Windows' own
            shown.append(text)

    windows = type("Windows", (), {"user32": _Screen()})
    monkeypatch.setattr(ctypes, "windll", windows, raising=False)
    monkeypatch.setattr(cli, "start", fail)
    monkeypatch.setattr(sys, "stderr", None)
    assert start.main() == 1
    assert shown == ["headstart: it is so."]


def test_program_without_stdout_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert cli.main([], window=lambda _arguments: 0) == 0
