"""What belongs into a package, how large it is, and that two builds give the same."""

from pathlib import Path

import pytest
from installer.parts import Part, parts, table

from installer import contents, environment, stamps


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("openvino/libs/libopenvino_ir_frontend.so.2641", ""),
        ("openvino/libs/libopenvino_intel_cpu_plugin.so", ""),
        ("openvino/libs/libopenvino_intel_gpu_plugin.so", ""),
        ("PySide6/Qt/plugins/platforms/libqxcb.so", ""),
        ("PySide6/Qt/plugins/platforms/libqoffscreen.so", ""),
        ("PySide6/Qt/translations/qtbase_zh_CN.qm", ""),
        ("headstart/ui/i18n/headstart_zh_TW.qm", ""),
        ("headstart/engine/bench/prompts/code.toml", ""),
        ("PySide6/Qt/lib/libQt6Core.so.6", "/home/me/env/lib/libQt6Core.so.6"),
        ("libxcb-cursor.so.0", "/usr/lib/x86_64-linux-gnu/libxcb-cursor.so.0.0.0"),
        ("libsqlite3.so.0", "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6"),
        ("libpython3.11.so.1.0", "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"),
        ("python3.11/lib-dynload/_json.so", "/usr/lib/python3.11/lib-dynload/_json.so"),
    ],
)
def test_what_is_needed_stays(name: str, source: str) -> None:
    assert contents.is_wanted(name, source)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("openvino/libs/libopenvino_pytorch_frontend.so.2641", ""),
        ("openvino_telemetry-2025.2.0.dist-info/METADATA", ""),
        ("PySide6/Qt/lib/libQt6Quick.so.6", ""),
        ("PySide6/Qt/plugins/platforms/libqeglfs.so", ""),
        ("PySide6/Qt/translations/qtbase_de.qm", ""),
        ("PySide6/Qt/plugins/imageformats/libqtiff.so", ""),
        ("PySide6/Qt/plugins/wayland-graphics-integration-client/libqt-plugin-wayland-egl.so", ""),
        ("numpy/_core/_umath_tests.cpython-311-x86_64-linux-gnu.so", ""),
        ("headstart/ui/i18n/headstart_zh_TW.ts", ""),
        ("libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"),
        ("libgtk-3.so.0", "/usr/lib/x86_64-linux-gnu/libgtk-3.so.0.2406.32"),
        ("libglib-2.0.so.0", "/lib/x86_64-linux-gnu/libglib-2.0.so.0.7400.6"),
    ],
)
def test_what_is_not_needed_goes(name: str, source: str) -> None:
    assert not contents.is_wanted(name, source)


def test_the_exporter_and_the_test_tools_are_kept_out() -> None:
    assert {"torch", "nncf", "headstart_export", "pytest", "openvino_telemetry"} <= set(contents.MODULES_OUT)


def test_every_module_is_named() -> None:
    assert {"headstart.ui.program", "headstart.engine.process.host", "headstart.cli"} <= set(contents.own_modules())


def test_the_systems_own_libraries_are_told_from_those_of_packages() -> None:
    files = [("libz.so.1", "/usr/lib/libz.so.1"), ("a.so", "/home/me/a.so"), ("libz.so.1", "/usr/lib/libz.so.1")]
    files += [("libpython3.13.so.1.0", "/usr/lib/libpython3.13.so.1.0")]
    assert contents.of_the_system(files) == ("libz.so.1",)


def test_the_largest_parts_come_first_and_the_rest_as_one(tmp_path: Path) -> None:
    for name, size in (("a", 1), ("b/c", 2_000_000), ("d", 1_500_000)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * size)
    (tmp_path / "link").symlink_to("d")
    found = parts(tmp_path)
    assert found == [Part(2_000_000, "b/c"), Part(1_500_000, "d"), Part(1, "a")]
    assert table(found, rows=1).splitlines() == [
        "    2.0 MB  b/c",
        "    1.5 MB  2 smaller files",
        "    3.5 MB  in all",
    ]


def test_times_and_rights_depend_on_nobody(tmp_path: Path) -> None:
    program, library = tmp_path / "headstart", tmp_path / "folder" / "libx.so.6"
    library.parent.mkdir(mode=0o700)
    program.write_bytes(b"1")
    library.write_bytes(b"2")
    program.chmod(0o700)
    library.chmod(0o700)
    (tmp_path / "link").symlink_to("headstart")
    stamps.settle(tmp_path, 1_700_000_000)
    assert [path.stat().st_mode & 0o777 for path in (program, library, library.parent)] == [0o755, 0o644, 0o755]
    assert {path.lstat().st_mtime for path in tmp_path.rglob("*")} == {1_700_000_000}


def test_checksums_are_those_of_the_files_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1")
    (tmp_path / "two").write_bytes(b"2")
    stamps.write_sums(tmp_path, ["two"])
    stamps.write_sums(tmp_path, ["one"])
    lines = (tmp_path / stamps.SUMS).read_text(encoding="utf-8").splitlines()
    assert lines == [f"{stamps.digest(tmp_path / name)}  {name}" for name in ("one", "two")]
    (tmp_path / "two").unlink()
    stamps.write_sums(tmp_path, [])
    assert len((tmp_path / stamps.SUMS).read_text(encoding="utf-8").splitlines()) == 1


def test_the_package_of_the_exporter_lies_beside_the_program(tmp_path: Path) -> None:
    program = tmp_path / "program"
    for folder in (program, tmp_path / "wheel"):
        folder.mkdir()
    (tmp_path / "wheel" / "headstart-0.1.0-py3-none-any.whl").touch()
    environment.put_wheel(tmp_path, program)
    assert [path.name for path in (program / "exporter").iterdir()] == ["headstart-0.1.0-py3-none-any.whl"]
