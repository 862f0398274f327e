"""What the doctor says of software, computer, folders, models, engine and window: each sentence made to appear."""

import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from headstart import computer, paths
from headstart.doctor import engine_process, folders, machine, models, software, window
from headstart.doctor.finding import Finding, Level
from tests.model_folders import write_model, write_pair


def _said(findings: Iterable[Finding], level: Level) -> list[str]:
    return [f"{found.text} -> {found.remedy}" for found in findings if found.level is level]


def test_this_installation_is_sound_and_sends_nothing() -> None:
    found = list(software.check(software.runtime_fault()))
    assert {finding.level for finding in found} == {Level.OK}
    assert "openvino-genai 20" in found[0].text
    assert found[-1].text.endswith("none of it is in this process.")


def test_loaded_telemetry_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not software.runtime_fault()
    monkeypatch.setitem(sys.modules, "openvino_telemetry", ModuleType("openvino_telemetry"))
    (said,) = _said(software.check(""), Level.PROBLEM)
    assert said.startswith("OpenVINO's telemetry is loaded (openvino_telemetry)")


def test_a_runtime_that_does_not_load_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ImportError("libtbb.so.12:\ncannot open")

    monkeypatch.setattr("headstart.engine.runtime.openvino", fail)
    fault = software.runtime_fault()
    assert _said(software.check(fault), Level.PROBLEM) == [
        "OpenVINO does not load (libtbb.so.12: cannot open). -> Install Headstart again."
    ]


def test_packages_of_two_releases_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"openvino": "2026.4.1", "openvino-genai": "2026.3.0.0"}
    monkeypatch.setattr(software, "package_versions", lambda: versions)
    (said,) = _said(software.check(""), Level.PROBLEM)
    assert said.startswith("OpenVINO's packages are of different releases (2026.3.0, 2026.4.1).")


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
    monkeypatch.setattr(computer, "_CPU_FILE", tmp_path / "cpuinfo")
    assert computer.instruction_sets() == sets
    assert computer.processor() == "A: B"


def test_a_system_that_counts_nothing_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("Performance counters may be disabled.")

    monkeypatch.setattr("psutil.swap_memory", refuse)
    assert not [text for text in _said(machine.check(), Level.NOTE) if "swapped" in text]


def test_an_old_processor_a_silent_one_and_swapping_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.swap_memory", lambda: SimpleNamespace(used=10**15))
    monkeypatch.setattr(computer, "instruction_sets", lambda: ())
    slow, swapped = _said(machine.check(), Level.NOTE)
    assert slow.endswith("Without AVX2 or NEON models are slow. -> Choose a small model.")
    assert "is swapped to disk" in swapped
    monkeypatch.setattr(computer, "instruction_sets", lambda: None)
    assert any("does not tell the instruction sets" in said for said in _said(machine.check(), Level.OK))


def test_huge_pages_are_told_where_the_system_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_HUGE_PAGES", tmp_path / "enabled")
    assert not [found for found in machine.check() if "huge" in found.text]
    (tmp_path / "enabled").write_text("always madvise [never]\n", encoding="ascii")
    assert [found.text for found in machine.check()][-1] == "Transparent huge pages: never."


def test_folders_are_named_with_their_room_and_none_is_made(headstart_home: Path) -> None:
    found = list(folders.check())
    assert {finding.level for finding in found} == {Level.OK}
    assert found[0].text.startswith(f"models: {headstart_home / 'models'}, not made yet, ")
    assert not headstart_home.exists()


@pytest.mark.parametrize(
    ("free", "level", "words"),
    [(10**9, Level.NOTE, "little for a model"), (10**6, Level.PROBLEM, "nothing can be saved")],
)
def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch, free: int, level: Level, words: str) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=free))
    assert words in _said(folders.check(), level)[0]


def test_a_folder_that_cannot_be_written_is_a_problem(monkeypatch: pytest.MonkeyPatch, headstart_home: Path) -> None:
    headstart_home.mkdir()
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    said = _said(folders.check(), Level.PROBLEM)
    assert len(said) == 6
    assert f"cannot be written: {headstart_home} does not let you" in said[0]


def test_a_file_in_a_folders_place_is_a_problem(headstart_home: Path) -> None:
    headstart_home.mkdir()
    (headstart_home / "models").touch()
    (said,) = _said(folders.check(), Level.PROBLEM)
    assert said.endswith("is a file. -> Move that file away.")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_chats_that_others_can_list_are_told() -> None:
    paths.history_folder().mkdir(parents=True)
    paths.history_folder().chmod(0o755)
    (said,) = _said(folders.check(), Level.NOTE)
    assert f"chmod 700 {paths.history_folder()}" in said
    paths.history_folder().chmod(0o700)
    assert not _said(folders.check(), Level.NOTE)


def test_without_a_model_the_first_export_is_named() -> None:
    assert _said(models.check(), Level.NOTE) == [
        "No model is installed yet. -> Run `headstart-export smollm2-135m-instruct` to get a small one."
    ]


def test_the_largest_pair_that_fits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "free_memory", lambda: 10**11)
    write_model(paths.models_folder() / "single")
    write_pair(paths.models_folder() / "couple")
    found = list(models.check())
    assert {finding.level for finding in found} == {Level.OK}
    assert found[-1].text == "The largest pair that fits into free memory is couple."


def test_models_that_do_not_fit_are_told_with_the_context_that_would(monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(paths.models_folder() / "single")
    monkeypatch.setattr(models, "free_memory", lambda: 1_850_000_000)
    (said,) = _said(models.check(), Level.NOTE)
    assert "takes about 1.9 GB with 4096 tokens, but 1.9 GB is free." in said
    assert said.endswith("no context is short enough.")
    monkeypatch.setattr("headstart.engine.budget.largest_context", lambda _models, _free: 1024)
    assert _said(models.check(), Level.NOTE)[0].endswith("; --context 1024 would fit.")


def test_broken_models_and_mismatched_pairs_are_problems() -> None:
    (write_model(paths.models_folder() / "broken") / "openvino_model.bin").unlink()
    write_pair(paths.models_folder() / "couple")
    draft = paths.models_folder() / "couple" / "draft"
    for file in draft.iterdir():
        file.unlink()
    draft.rmdir()
    write_model(draft, {"x": 0, "y": 1})
    broken, couple = _said(models.check(), Level.PROBLEM)
    assert broken.startswith("broken cannot be used (broken is damaged: ")
    assert couple.startswith("couple is no pair: draft couple/draft does not fit couple/target: id 0 is ")


def test_the_engine_answers_without_a_model() -> None:
    (found,) = engine_process.check()
    assert found.text.startswith("Its process starts, answers without a model and ends (")


@pytest.mark.parametrize(
    ("command", "words"),
    [(("/no/such/program",), "cannot be started"), ((sys.executable, "-c", ""), "stopped unexpect")],
)
def test_an_engine_that_does_not_start_is_a_problem(command: tuple[str, ...], words: str) -> None:
    (said,) = _said(engine_process.check(command), Level.PROBLEM)
    assert words in said


def test_a_missing_library_of_the_window_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _break_qt(monkeypatch, "libEGL.so.1: cannot open shared object file: No such file or directory")
    monkeypatch.setenv("DISPLAY", ":0")
    assert _said(window.check(), Level.PROBLEM) == [
        "The window cannot open: the system has no libEGL.so.1. -> Install libEGL.so.1 (Debian, Ubuntu: apt install "
        "libegl1), or use `headstart chat`."
    ]


def test_without_qt_the_window_is_said_not_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    _break_qt(monkeypatch, "No module named 'PySide6'")
    monkeypatch.setenv("DISPLAY", ":0")
    (said,) = _said(window.check(), Level.PROBLEM)
    assert said.startswith("The window cannot open (No module named 'PySide6'). -> Install Headstart again")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_without_a_display_nothing_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    _break_qt(monkeypatch, "libodd.so.9: cannot open shared object file")
    missing, display = _said(window.check(), Level.NOTE)
    assert missing.endswith("Install libodd.so.9, or use `headstart chat`.")
    assert display.startswith("There is no display")


def test_qt_loads_here_and_a_plugin_that_does_not_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("headstart.ui.window_check.x11_fault", lambda: "libxcb-cursor.so.0: cannot open shared object")
    found = list(window.check())
    assert found[0].text.startswith("Qt 6.")
    assert "apt install libxcb-cursor0" in found[1].remedy
    assert found[1].level is Level.PROBLEM


def _break_qt(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """Importing the window's part fails with `reason`, whatever was imported before."""

    class Broken(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise ImportError(reason)

    monkeypatch.delitem(sys.modules, "headstart.ui.window_check", raising=False)
    monkeypatch.setitem(sys.modules, "headstart.ui", Broken("headstart.ui"))
