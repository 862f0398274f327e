"""The locks: whole, hashed, of the pinned versions and of what the project asks for; how they are written and used."""

import sys
import tomllib
from pathlib import Path

import pytest
from installer.locking import LOCKS, PINS, Kind, Locked
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from installer import environment, locking

ROOT = Path(__file__).resolve().parents[2]
OF_LINUX = {"python_version": "3.11", "python_full_version": "3.11.0", "sys_platform": "linux", "os_name": "posix"}
FILES = {kind: LOCKS / f"{kind}-cp311-linux-x86_64.txt" for kind in Kind}


def _locked(kind: Kind) -> dict[str, str]:
    return {each.name: each.version for each in locking.read(FILES[kind])}


def _key(need: Requirement) -> str:
    return str(canonicalize_name(need.name))


def _fits(line: str) -> bool:
    need = Requirement(line)
    return need.marker is None or need.marker.evaluate(OF_LINUX)


@pytest.mark.parametrize("kind", Kind)
def test_a_lock_holds_what_the_project_asks_for(kind: Kind) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in kind.extras.split(","):
        asked += project["project"]["optional-dependencies"][extra]
    locked: dict[str, str] = _locked(kind)
    needs = [Requirement(line) for line in asked if _fits(line)]
    unmet = [str(need) for need in needs if not need.specifier.contains(locked.get(_key(need), "0"))]
    assert not unmet, "the locks are behind pyproject.toml: python -m installer.locking writes them"


@pytest.mark.parametrize("kind", Kind)
def test_a_lock_has_the_versions_of_the_pins(kind: Kind) -> None:
    lines = [line for line in PINS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    pins = {_key(Requirement(line)): line.partition("==")[2].split(";")[0] for line in lines if _fits(line)}
    locked = _locked(kind)
    assert {name: version for name, version in locked.items() if pins.get(name, version) != version} == {}
    if kind is Kind.PROGRAM:
        assert locked.keys() <= pins.keys(), "what is frozen is pinned for every system"


@pytest.mark.parametrize("kind", Kind)
def test_a_lock_says_how_it_was_written_and_no_address(kind: Kind) -> None:
    head, *lines = FILES[kind].read_text(encoding="utf-8").splitlines()
    assert "python -m installer.locking" in head
    assert len(locking.read(FILES[kind])) == len(lines) > 40
    names = [each.name for each in locking.read(FILES[kind])]
    assert names == sorted(set(names))
    assert "://" not in "".join([head, *lines])


def test_a_report_of_pip_becomes_a_lock_without_the_project_itself(tmp_path: Path) -> None:
    wheel = {"archive_info": {"hashes": {"sha256": "ab" * 32}}}
    report = {
        "install": [
            {"metadata": {"name": "Odd_Name.x", "version": "1.0"}, "download_info": wheel},
            {"metadata": {"name": "headstart", "version": "1"}, "download_info": {"dir_info": {}}},
        ]
    }
    file = tmp_path / "lock.txt"
    file.write_text(locking.text(Kind.TESTS, report), encoding="utf-8")
    assert locking.read(file) == (Locked("odd-name-x", "1.0", "ab" * 32),)
    file.write_text("odd==1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="odd==1"):
        locking.read(file)


def test_pins_go_before_further_versions() -> None:
    pins = "# pins\nPySide6_Essentials==6.11.3\nrich==15\n"
    assert locking.constraints(pins, "pyside6-essentials==7\nRich==1\npytest==9\n") == f"{pins}pytest==9\n"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What pip would be told."""
    told: list[tuple[str, ...]] = []
    monkeypatch.setattr(environment, "_pip", lambda _python, *words: told.append(words))
    monkeypatch.setattr(environment, "wheel", lambda work: work / "headstart.whl")
    monkeypatch.setattr("venv.create", lambda folder, **_: folder.mkdir())
    return told


def test_a_build_takes_nothing_but_what_is_locked(
    installed: list[tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "path", lambda kind: FILES[kind])
    environment.prepare(ROOT, tmp_path)
    assert installed == [
        ("install", "--require-hashes", "--no-deps", "--requirement", str(FILES[Kind.PROGRAM])),
        ("wheel", "--no-deps", "--wheel-dir", str(tmp_path / "wheel"), "--no-build-isolation", str(ROOT)),
        ("install", "--no-deps", "--force-reinstall", str(tmp_path / "headstart.whl")),
    ]


def test_a_python_without_a_lock_is_told_and_has_the_pins(
    installed: list[tuple[str, ...]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "platform", "amiga")
    environment.prepare(ROOT, tmp_path)
    assert installed[0] == ("install", f"{ROOT}[installer]")
    assert "amiga" in capsys.readouterr().err
