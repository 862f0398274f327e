"""The contents and the size of a package, and equal builds."""

from pathlib import Path

import pytest

from installer import contents, stamps


@pytest.mark.parametrize(
    ("name", "source", "wanted"),
    [
        ("openvino/libs/libopenvino_ir_frontend.so.2641", "", True),
        ("openvino/libs/libopenvino_intel_cpu_plugin.so", "", True),
        ("headstart/engine/kernels/libheadstart_kernels.so", "/home/me/env/libheadstart_kernels.so", True),
        ("PySide6/Qt/plugins/platforms/libqxcb.so", "", True),
        ("PySide6/Qt/translations/qtbase_zh_CN.qm", "", True),
        ("headstart/ui/i18n/headstart_zh_TW.qm", "", True),
        ("PySide6/Qt/lib/libQt6Core.so.6", "/home/me/env/lib/libQt6Core.so.6", True),
        ("headstart_export/recipes/smollm2-135m-instruct.toml", "", True),
        ("transformers-5.5.4.dist-info/METADATA", "", True),
        ("libxcb-cursor.so.0", "/usr/lib/x86_64-linux-gnu/libxcb-cursor.so.0.0.0", True),
        ("libpython3.11.so.1.0", "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", True),
        ("openvino/libs/libopenvino_pytorch_frontend.so.2641", "", False),
        ("hf_xet-1.8.0.dist-info/METADATA", "", False),
        ("openvino_telemetry-2025.2.0.dist-info/METADATA", "", False),
        ("PySide6/Qt/lib/libQt6Quick.so.6", "", False),
        ("PySide6/Qt/translations/qtbase_de.qm", "", False),
        ("libcudart.so", "/usr/local/cuda/lib/libcudart.so", False),
        ("numpy/_core/_umath_tests.cpython-311-x86_64-linux-gnu.so", "", False),
        ("headstart/ui/i18n/headstart_zh_TW.ts", "", False),
        ("headstart_export/recipes/heads/smollm2-135m-instruct/head.safetensors", "", False),
        ("libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", False),
        ("libglib-2.0.so.0", "/lib/x86_64-linux-gnu/libglib-2.0.so.0.7400.6", False),
    ],
)
def test_unneeded_files_are_removed(name: str, source: str, *, wanted: bool) -> None:
    assert contents.is_wanted(name, source) is wanted


def test_every_module_is_named() -> None:
    named = contents.own_modules()
    assert {"headstart.ui.program", "headstart.engine.process.host", "headstart.cli"} <= set(named)
    assert {"headstart_export.cli", "headstart_export.pipeline.gguf_import"} <= set(named)
    assert "headstart_export.heads.training" not in named
    assert not [name for name in named if contents.KERNELS in name]


@pytest.mark.parametrize(
    ("module", "wanted"),
    [
        ("transformers", True),
        ("transformers.utils", True),
        ("transformers.utils.generic", True),
        ("transformers.util", False),
        ("transformers.models", False),
        ("transformers.trainer", False),
    ],
)
def test_little_of_transformers_is_wanted(module: str, *, wanted: bool) -> None:
    assert contents.is_wanted_transformers(module) is wanted


def test_system_libraries_are_recognized() -> None:
    files = [("libz.so.1", "/usr/lib/libz.so.1"), ("a.so", "/home/me/a.so"), ("libz.so.1", "/usr/lib/libz.so.1")]
    files += [("libpython3.13.so.1.0", "/usr/lib/libpython3.13.so.1.0")]
    assert contents.system_libraries(files) == ("libz.so.1",)


def test_largest_parts_come_first(tmp_path: Path) -> None:
    for name, size in (("a", 1), ("b/c", 2_000_000), ("d", 1_500_000)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * size)
    (tmp_path / "link").symlink_to("d")
    assert stamps.size_report(tmp_path, rows=1).splitlines() == [
        "    2.0 MB  b/c",
        "    1.5 MB  2 smaller files",
        "    3.5 MB  in all",
    ]


def test_times_and_modes_are_reproducible(tmp_path: Path) -> None:
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


def test_checksums_match_the_files(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1")
    (tmp_path / "two").write_bytes(b"2")
    stamps.write_sums(tmp_path, ["two"])
    stamps.write_sums(tmp_path, ["one"])
    lines = (tmp_path / stamps.SUMS).read_text(encoding="utf-8").splitlines()
    assert lines == [f"{stamps.digest(tmp_path / name)}  {name}" for name in ("one", "two")]
    (tmp_path / "two").unlink()
    stamps.write_sums(tmp_path, [])
    assert len((tmp_path / stamps.SUMS).read_text(encoding="utf-8").splitlines()) == 1
