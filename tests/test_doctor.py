"""`headstart doctor`: each of its sentences made to appear, the report, its exit code, and that it names nobody."""

import dataclasses
import getpass
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from headstart import __version__, paths
from headstart.cli import main
from headstart.cli.checks import doctor
from headstart.cli.checks.doctor import Finding, Level
from headstart.engine.hardware import machine
from headstart.engine.kernels import selftest
from headstart.library import manifest
from headstart.library.export_leftovers import OWNER_FILE, Unfinished
from tests.stand_ins.model_folders import describe, write_model, write_pair
from tests.stand_ins.openvino_core import CPU, GPU, NO_OPENCL, FakeCore, plug_in

Captured = pytest.CaptureFixture[str]
SECTIONS = ["software", "computer", "devices", "folders", "models", "engine", "window"]


def failing(error: Exception) -> Callable[[], object]:
    """Return a function that raises an error."""

    def fail() -> object:
        raise error

    return fail


def _said(findings: Iterable[Finding], level: Level) -> list[str]:
    return [f"{found.text} -> {found.remedy}" for found in findings if found.level is level]


def test_this_installation_is_sound() -> None:
    found = list(doctor.check_software(doctor.runtime_fault()))
    assert {finding.level for finding in found} == {Level.OK}
    assert "openvino-genai 20" in found[0].text


@pytest.mark.parametrize(
    ("system", "names", "newest"),
    [
        (
            "linux",
            ("headstart_0.9.0_amd64.deb", "headstart_0.10.0+model_amd64 (1).deb"),
            "headstart_0.10.0+model_amd64 (1).deb",
        ),
        ("linux", ("headstart-99.0.0-linux-x86_64.run",), "headstart-99.0.0-linux-x86_64.run"),
        ("linux", ("headstart_0.0.1_amd64.deb", f"headstart_{__version__}_amd64.deb"), ""),
        ("linux", ("headstart-accelerators_99.0.0_amd64.deb", "headstart_99.0.0_amd64.deb.part"), ""),
        ("linux", ("headstart-99.0.0-windows-x86_64.msi", "headstart-99.0.0.tar.gz", "headstart.deb"), ""),
        ("win32", ("headstart-99.0.0-windows-x86_64-setup.exe",), "headstart-99.0.0-windows-x86_64-setup.exe"),
        ("win32", ("headstart_99.0.0_amd64.deb",), ""),
        ("freebsd", ("headstart_99.0.0_amd64.deb",), ""),
    ],
)
def test_newer_package_among_the_downloads_is_a_note(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str, names: tuple[str, ...], newest: str
) -> None:
    for name in names:
        (tmp_path / name).touch()
    monkeypatch.setattr("platformdirs.user_downloads_path", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", system)
    notes = _said(doctor.check_software(""), Level.NOTE)
    assert [str(tmp_path / newest) in note for note in notes] == [True] * bool(newest)


def test_missing_downloads_folder_is_no_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("platformdirs.user_downloads_path", lambda: tmp_path / "nothing")
    assert not _said(doctor.check_software(""), Level.NOTE)


def test_loaded_telemetry_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino_telemetry", ModuleType("openvino_telemetry"))
    (said,) = _said(doctor.check_software(""), Level.PROBLEM)
    assert "(openvino_telemetry)" in said


def test_unloadable_runtime_is_named_and_other_checks_run(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(
        "headstart.engine.hardware.runtime.openvino", failing(ImportError("libtbb.so.12:\ncannot open"))
    )
    assert main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {each["section"] for each in found} == set(SECTIONS) - {"devices"}
    (problem,) = [each for each in found if each["section"] == "software" and each["level"] == "problem"]
    assert "(libtbb.so.12: cannot open)" in problem["text"]
    assert problem["remedy"]


def test_packages_of_two_releases_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "package_versions", lambda: {"openvino": "2026.4.1", "openvino-genai": "2026.3.0.0"})
    (said,) = _said(doctor.check_software(""), Level.PROBLEM)
    assert "(2026.3.0, 2026.4.1)" in said


@pytest.mark.parametrize(
    ("line", "sets"),
    [
        ("flags\t\t: fpu avx2 avx512f avx512_vnni amx_tile amx_int8", ("AVX2", "AVX-512", "VNNI", "AMX")),
        ("flags : avx2 avx_vnni", ("AVX2", "VNNI")),
        ("Features\t: fp asimd asimddp i8mm sve", ("NEON", "DOTPROD", "I8MM", "SVE")),
        ("flags : fpu sse2", ()),
        ("bogomips : 1", None),
    ],
)
def test_instruction_sets_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, sets: tuple[str, ...] | None
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nmodel name : A: B\n{line}\n", encoding="utf-8")
    monkeypatch.setattr(machine, "_CPU_FILE", tmp_path / "cpuinfo")
    assert machine.instruction_sets() == sets
    assert machine.processor() == "A: B"


def test_missing_swap_counters_are_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.swap_memory", failing(RuntimeError("Performance counters may be disabled.")))
    assert not [text for text in _said(doctor.check_computer(), Level.NOTE) if "swapped" in text]


def test_old_processor_and_swapping_are_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.swap_memory", lambda: SimpleNamespace(used=10**15))
    monkeypatch.setattr(machine, "instruction_sets", lambda: ())
    slow, swapped = _said(doctor.check_computer(), Level.NOTE)
    assert "AVX2" in slow
    assert "swapped" in swapped
    monkeypatch.setattr(machine, "instruction_sets", lambda: None)
    assert any("instruction sets" in said for said in _said(doctor.check_computer(), Level.OK))


def test_huge_pages_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "_HUGE_PAGES", tmp_path / "enabled")
    assert not [found for found in doctor.check_computer() if "huge" in found.text]
    (tmp_path / "enabled").write_text("always madvise [never]\n", encoding="ascii")
    assert [found.text for found in doctor.check_computer()][-1] == "Transparent huge pages: never."


def test_folders_are_reported_and_not_created(headstart_home: Path) -> None:
    found = list(doctor.check_folders())
    assert {finding.level for finding in found} == {Level.OK}
    assert found[0].text.startswith(f"models: {headstart_home / 'models'}, not made yet, ")
    assert not headstart_home.exists()


@pytest.mark.parametrize(
    ("free", "level", "words"),
    [(10**9, Level.NOTE, "little for a model"), (10**6, Level.PROBLEM, "nothing can be saved")],
)
def test_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch, free: int, level: Level, words: str) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=free))
    assert words in _said(doctor.check_folders(), level)[0]


def test_unwritable_folder_is_a_problem(monkeypatch: pytest.MonkeyPatch, headstart_home: Path) -> None:
    headstart_home.mkdir()
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    said = _said(doctor.check_folders(), Level.PROBLEM)
    assert len(said) == 6
    assert str(headstart_home) in said[0]


def test_file_in_place_of_a_folder_is_a_problem(headstart_home: Path) -> None:
    headstart_home.mkdir()
    (headstart_home / "models").touch()
    (said,) = _said(doctor.check_folders(), Level.PROBLEM)
    assert str(headstart_home / "models") in said


def test_leftovers_of_exports_are_reported_and_removed(headstart_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = headstart_home / "models"
    dead, alive = (Unfinished(models / f".headstart-export-qwen-3-{letters}") for letters in ("abc_1234", "xyz_1234"))
    for each in (dead, alive):
        (each.root / "result").mkdir(parents=True)
        (each.root / "result" / "model.bin").write_bytes(bytes(10**6))
    (dead.replaced).mkdir()
    (dead.root / OWNER_FILE).write_text("{}", encoding="utf-8")
    alive.own()
    (said,) = _said(doctor.check_folders(), Level.NOTE)
    assert all(part in said for part in ("qwen-3", "1 MB", str(dead.root), "`headstart doctor --clean`"))
    monkeypatch.setattr(doctor, "examine", doctor.check_folders)
    assert main(["doctor"]) == 0
    assert dead.root.exists()
    assert main(["doctor", "--clean"]) == 0
    assert not dead.root.exists()
    assert alive.root.exists()
    assert (models / "qwen-3").is_dir()  # the older export that was being replaced


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_readable_history_folder_is_a_note() -> None:
    paths.history_folder().mkdir(parents=True)
    paths.history_folder().chmod(0o755)
    (said,) = _said(doctor.check_folders(), Level.NOTE)
    assert f"chmod 700 {paths.history_folder()}" in said
    paths.history_folder().chmod(0o700)
    assert not _said(doctor.check_folders(), Level.NOTE)


def test_empty_library_names_the_first_export() -> None:
    (said,) = _said(doctor.check_models(), Level.NOTE)
    assert "`headstart models add smollm2-135m-instruct`" in said


def test_largest_fitting_pair_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "free_memory", lambda: 10**11)
    write_model(paths.models_folder() / "single")
    write_pair(paths.models_folder() / "couple")
    found = list(doctor.check_models())
    assert {finding.level for finding in found} == {Level.OK}
    assert found[-1].text.endswith(" couple.")


def test_too_large_model_is_a_note_with_a_context(monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(paths.models_folder() / "single")
    monkeypatch.setattr(doctor, "free_memory", lambda: 2_000_000_000)
    (said,) = _said(doctor.check_models(), Level.NOTE)
    assert all(figure in said for figure in ("2.1 GB", "4096 tokens", "2.0 GB"))
    assert "--context" not in said
    monkeypatch.setattr("headstart.engine.loading.memory.largest_context", lambda _models, _free: 1024)
    assert "--context 1024 " in _said(doctor.check_models(), Level.NOTE)[0]


def test_blocks_that_were_rounded_are_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "free_memory", lambda: 10**11)
    folder = write_model(paths.models_folder() / "imported")
    model = describe(folder)
    for mode, level in ((None, Level.NOTE), (manifest.BLOCKS, Level.OK)):
        manifest.write(folder, dataclasses.replace(model, precision=manifest.Precision("gguf", mode)))
        assert next(iter(doctor.check_models())).level is level


def test_broken_models_and_mismatched_pairs_are_problems() -> None:
    (write_model(paths.models_folder() / "broken") / "openvino_model.bin").unlink()
    write_pair(paths.models_folder() / "couple")
    draft = paths.models_folder() / "couple" / "draft"
    for file in draft.iterdir():
        file.unlink()
    draft.rmdir()
    write_model(draft, {"x": 0, "y": 1})
    broken, couple = _said(doctor.check_models(), Level.PROBLEM)
    assert broken.startswith("broken ")
    assert all(part in couple for part in ("couple/draft", "couple/target", "id 0"))


def test_engine_starts_and_takes_an_order() -> None:
    found, kernels = doctor.check_engine()
    assert found.level is kernels.level is Level.OK
    assert selftest.proven() is not None


def test_unused_kernels_are_a_note_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "unsupported_reason", lambda: "they were not compiled")
    _, kernels = doctor.check_engine()
    assert kernels.level is Level.NOTE
    assert "they were not compiled" in kernels.text
    assert "half as fast" in kernels.text
    assert "compiler" in kernels.remedy


@pytest.mark.parametrize(
    ("command", "words"),
    [(("/no/such/program",), "cannot be started"), ((sys.executable, "-c", ""), "stopped unexpect")],
)
def test_engine_that_does_not_start_is_a_problem(command: tuple[str, ...], words: str) -> None:
    (said,) = _said(doctor.check_engine(command), Level.PROBLEM)
    assert words in said


def test_missing_library_of_the_window_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _break_qt(monkeypatch, "libEGL.so.1: cannot open shared object file: No such file or directory")
    monkeypatch.setenv("DISPLAY", ":0")
    (said,) = _said(doctor.check_window(), Level.PROBLEM)
    assert "no libEGL.so.1." in said
    assert "apt install libegl1 " in said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_missing_display_is_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    _break_qt(monkeypatch, "libodd.so.9: cannot open shared object file")
    missing, display = _said(doctor.check_window(), Level.NOTE)
    assert "Install libodd.so.9," in missing
    assert "no display" in display


def test_unloadable_qt_plugin_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("headstart.ui.display.x11_fault", lambda: "libxcb-cursor.so.0: cannot open shared object")
    found = list(doctor.check_window())
    assert found[0].text.startswith("Qt 6.")
    assert "libxcb-cursor0 libxcb-icccm4" in found[1].remedy
    assert found[1].level is Level.PROBLEM


def _break_qt(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """Make imports of the window's part fail with `reason`."""

    class Broken(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise ImportError(reason)

    monkeypatch.delitem(sys.modules, "headstart.ui.display", raising=False)
    monkeypatch.setitem(sys.modules, "headstart.ui", Broken("headstart.ui"))


@pytest.fixture(autouse=True)
def nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hide accelerators, unless a test creates their device files here."""
    patterns = {kind: f"{tmp_path}/{kind}*" for kind in ("GPU", "NPU")}
    monkeypatch.setattr(doctor, "_DEVICE_NODES", patterns)
    return tmp_path


def _told(monkeypatch: pytest.MonkeyPatch, core: FakeCore) -> list[Finding]:
    plug_in(monkeypatch, core)
    return list(doctor.check_devices())


def test_machine_without_accelerators_has_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _told(monkeypatch, FakeCore({"CPU": CPU}, {"GPU": NO_OPENCL}, absent={"NPU"}))
    assert {finding.level for finding in found} == {Level.OK}
    described, judged, gpu, npu = (finding.text for finding in found)
    assert all(part in described for part in ("CPU: A Processor;", "2026.4.1-1", "FP32, INT8"))
    assert judged.startswith("CPU ")
    assert gpu.startswith("No GPU (libOpenCL.so.1: ")
    assert npu.startswith("No NPU (its plugin is not installed)")


@pytest.mark.parametrize(("machine", "seen"), [("AMD64", "yes"), ("arm64", "not yet on this kind of processor")])
def test_report_says_what_was_run_on_real_hardware(monkeypatch: pytest.MonkeyPatch, machine: str, seen: str) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert _told(monkeypatch, FakeCore({"CPU": CPU}))[1].text.endswith(f"Run on real hardware: {seen}.")


def test_gpu_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _told(monkeypatch, FakeCore({"CPU": CPU, "GPU.0": GPU}))
    parts = ("GPU.0: A Graphics Card (dGPU);", "2026.4.1-1", "driver 25.9", "12.0 GB", "FP16, GPU_HW_MATMUL")
    assert all(part in found[2].text for part in parts)
    assert found[3].level is Level.NOTE
    assert "--device GPU.0" in found[3].remedy
    assert not [finding for finding in found if finding.text.startswith("No GPU")]


def test_device_without_properties_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _told(monkeypatch, FakeCore({"CPU": CPU, "GPU": {}, "XPU": {}}, {"XPU": "", "GPU": ""}))
    assert found[2].text.startswith("GPU: GPU;")
    assert found[5].text.startswith("XPU ")


def test_accelerator_without_a_driver_has_a_remedy(monkeypatch: pytest.MonkeyPatch, nodes: Path) -> None:
    (nodes / "GPU128").touch()
    (nodes / "NPU0").touch()
    gpu, npu = _told(monkeypatch, FakeCore({"CPU": CPU}, {"GPU": NO_OPENCL}))[2:]
    assert (gpu.level, npu.level) == (Level.NOTE, Level.NOTE)
    assert "libOpenCL.so.1" in gpu.text
    assert "compute runtime" in gpu.remedy
    assert "Level Zero" in npu.remedy


def test_inaccessible_accelerator_is_named(monkeypatch: pytest.MonkeyPatch, nodes: Path) -> None:
    (nodes / "GPU128").touch()
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    gpu = _told(monkeypatch, FakeCore({"CPU": CPU}))[2]
    assert f"may not open {nodes / 'GPU128'}" in gpu.text
    assert "render" in gpu.remedy


def test_missing_cpu_device_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _told(monkeypatch, FakeCore({}, {"CPU": "Exception from core.cpp:1:\n"}))[0]
    assert found.level is Level.PROBLEM
    assert "CPU" in found.text


def test_failing_device_list_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headstart.engine.hardware.devices.core", failing(RuntimeError("no plugins.xml\nat all")))
    (found,) = doctor.check_devices()
    assert found.level is Level.PROBLEM
    assert "(no plugins.xml at all)" in found.text


def _find(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> None:
    monkeypatch.setattr("headstart.cli.checks.doctor.examine", lambda: iter(findings))


def test_examination_runs_here_and_creates_no_folder(headstart_home: Path, capsys: Captured) -> None:
    code = main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert list(dict.fromkeys(found["section"] for found in report["findings"])) == SECTIONS
    assert code == int(report["problems"] > 0)
    assert report["notes"] == sum(found["level"] == "note" for found in report["findings"])
    assert not headstart_home.exists()


def test_report_is_readable_and_problems_set_the_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    _find(monkeypatch, Finding("a", Level.OK, "Fine."), Finding("a", Level.NOTE, "Odd\x1b\nthing.", "Look."))
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert shown == "a\n  ok     Fine.\n  note   Odd␛ thing.\n         -> Look.\n0 problems, 1 note.\n"
    _find(monkeypatch, Finding("a", Level.PROBLEM, "Broken.", "Mend it."))
    assert main(["doctor"]) == main(["doctor", "--json"]) == 1
    assert "1 problem, 0 notes." in capsys.readouterr().out


def test_report_hides_the_user(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    text = "/home/ada/.local, /home/ada: /media/ada/disk, /home/ada2 and canada"
    _find(monkeypatch, Finding("a", Level.NOTE, text, "chmod 700 /home/ada/x"))
    main(["doctor"])
    out = capsys.readouterr().out
    assert "~/.local, ~: /media/USER/disk, /home/ada2 and canada" in out
    assert "chmod 700 ~/x" in out


def test_report_of_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/"))
    monkeypatch.setattr(getpass, "getuser", failing(KeyError("uid not found")))
    _find(monkeypatch, Finding("a", Level.OK, "/data is there."))
    assert main(["doctor"]) == 0
    assert "/data is there." in capsys.readouterr().out
