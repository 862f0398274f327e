"""The command of a build, its environment and its pins, the models it packs, and the list of what is inside."""

import importlib.util
import json
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from installer.order import Target
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from headstart.errors import HeadstartError
from headstart.library.manifest import read_model
from headstart.ui.help.licences import Component
from installer import bill, environment, making

ROOT = Path(__file__).resolve().parents[2]
EPOCH = 1_700_000_000
PARTS = (
    Component("Headstart", "1.2.3", "Apache-2.0", "", ()),
    Component("Python", "3.11.7", "PSF-2.0", "https://www.python.org", ()),
    Component("PySide6_Essentials", "6.11.3", "LGPL-3.0-only OR GPL-2.0-only", "", ()),
    Component("odd", "1", "Some, Licence", "", ()),
)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [(["--help"], 0, list(Target)), (["--target", "macos"], 1, ["was not run; see installer/macos/README.md"])],
)
def test_build_prints_its_results(arguments: list[str], code: int, said: list[str]) -> None:
    command = [sys.executable, str(ROOT / "installer" / "build.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert all(text in done.stdout + done.stderr for text in said)
    assert (ROOT / "installer" / "macos" / "README.md").is_file()


def test_build_environment_is_clean() -> None:
    given = {
        "PATH": "/bin",
        "PYTHONPATH": "/secret",
        "SOURCE_DATE_EPOCH": "5",
        "LC_ALL": "zh_CN",
        "PYTHONHASHSEED": "7",
    }
    made = environment.variables(ROOT, given)
    assert made == {"PATH": "/bin", "SOURCE_DATE_EPOCH": "5", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    assert int(environment.variables(ROOT, {"PATH": "/usr/bin:/bin"})["SOURCE_DATE_EPOCH"]) > EPOCH


def test_pins_satisfy_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"]["installer"])]
    lines = [line for line in environment.PINS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    pins = {}
    for pin in map(Requirement, lines):
        (exact,) = pin.specifier
        assert exact.operator == "=="
        if pin.marker is None or pin.marker.evaluate():
            pins[canonicalize_name(pin.name)] = exact.version
    wanted = [need for need in asked if need.marker is None or need.marker.evaluate()]
    pinned = {str(need): pins.get(canonicalize_name(need.name), "") for need in wanted}
    unmet = [str(need) for need in wanted if not need.specifier.contains(pinned[str(need)] or "0")]
    assert not unmet, "installer/pins.txt wants a pin of the version that was run, and of what it brings"


def test_sbom_has_versions_and_licences(tiny_target: Path) -> None:
    manifest = read_model(tiny_target)
    text = bill.bill(PARTS, [manifest], EPOCH)
    assert text == bill.bill(PARTS, [manifest], EPOCH)
    document = json.loads(text)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    assert document["metadata"]["component"]["version"] == "1.2.3"
    named = {part["name"]: part for part in document["components"]}
    assert named["Python"]["licenses"] == [{"license": {"id": "PSF-2.0"}}]
    assert named["PySide6_Essentials"]["licenses"] == [{"expression": "LGPL-3.0-only OR GPL-2.0-only"}]
    assert named["PySide6_Essentials"]["purl"] == "pkg:pypi/pyside6-essentials@6.11.3"
    assert named["odd"]["licenses"] == [{"license": {"name": "Some, Licence"}}]
    assert named[manifest.name]["type"] == "machine-learning-model"


def test_package_without_an_entry_or_a_licence_is_a_gap(tmp_path: Path) -> None:
    text = tmp_path / "LICENSE"
    text.write_text("free", encoding="utf-8")
    for name in ("PySide6_Essentials-6.11.3", "stray-1"):
        (tmp_path / f"{name}.dist-info").mkdir()
    (tmp_path / "odd_context-6.dist-info").mkdir()
    parts = [*(replace(part, texts=(text,)) for part in PARTS), Component("odd.context", "6", "MIT", "", (text,))]
    assert bill.gaps(tmp_path, parts) == ["stray is not listed"]
    assert bill.gaps(tmp_path, [*parts, Component("stray", "1", "MIT", "", ())]) == ["stray has no licence"]
    assert bill.gaps(tmp_path, [*parts, Component("stray", "1", "", "", (text,))]) == ["stray has no licence"]


@pytest.mark.slow
def test_sbom_is_valid(tiny_target: Path) -> None:
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415 - takes seconds
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    packed = [part.name for part in bill.program_parts()]
    assert "openvino-telemetry" not in packed
    assert packed.count(bill.COMPILER) == (importlib.util.find_spec(bill.COMPILER) is not None)
    text = bill.bill((*bill.program_parts(), *PARTS[3:]), [read_model(tiny_target)], EPOCH)
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert fault is None, fault
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.replace('"library"', '"book"')) is not None


def test_model_is_packed_whole(tiny_target: Path, headstart_home: Path, tmp_path: Path) -> None:
    (headstart_home / "models").mkdir(parents=True)
    (headstart_home / "models" / "tiny-target").symlink_to(tiny_target)
    (packed,) = making.put_model("tiny", tmp_path / "models")
    assert packed == read_model(tmp_path / "models" / "tiny-target")
    assert [manifest.name for manifest in making.put_model(str(tiny_target), tmp_path / "others")] == [packed.name]


def test_missing_model_is_named(headstart_home: Path, tmp_path: Path) -> None:
    with pytest.raises(HeadstartError, match="none is installed"):
        making.put_model("smollm2", tmp_path)


def test_program_that_fails_its_self_check_is_not_packed(tmp_path: Path) -> None:
    program = tmp_path / "headstart"
    program.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(subprocess.CalledProcessError):
        making.check(tmp_path, tmp_path / "profile")
