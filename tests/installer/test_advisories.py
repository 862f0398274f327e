"""Asking for known weaknesses: what pip-audit tells, and every way in which it tells nothing."""

import json
import sys
from pathlib import Path

import pytest
from installer.advisories import ask
from installer.windows import wheels

from installer import advisories

LOCK = f"one==1.0 --hash=sha256:{'0' * 64}\ntwo==2.0 --hash=sha256:{'1' * 64}\n"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the program in pip-audit's place is a shell script")


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    file = tmp_path / "lock.txt"
    file.write_text(LOCK, encoding="utf-8")
    return file


def _program(folder: Path, script: str) -> str:
    file = folder / "pip-audit"
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def test_known_advisory_fails(lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"name": "one", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": []}]}
    report = {"dependencies": [one, {"name": "two", "version": "2.0", "vulns": []}], "fixes": []}
    (tmp_path / "report").write_text(json.dumps(report), encoding="utf-8")
    answer = ask(lock, _program(tmp_path, f'test "$(eval echo \\${{$#}})" = {lock} && cat {tmp_path}/report; exit 1'))
    assert "one 1.0: PYSEC-1" in str(answer)
    monkeypatch.setattr(advisories, "ask", lambda _: answer)
    assert advisories.main() == 1


def test_no_advisory_passes(lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = ask(lock, _program(tmp_path, """echo '{"dependencies": [], "fixes": []}'"""))
    assert "0 known weaknesses" in str(answer)
    monkeypatch.setattr(advisories, "ask", lambda _: answer)
    assert advisories.main() == 0


def test_unreachable_database_is_skipped_with_the_reason(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = ask(lock, _program(tmp_path, "echo no such host >&2; exit 1"))
    assert "no such host" in str(refused)
    assert "skipped" in str(ask(lock, "no-such-program"))
    assert "none.txt" in str(ask(tmp_path / "none.txt"))
    monkeypatch.setattr(advisories, "ask", lambda _: refused)
    assert advisories.main() == 0


def test_lock_of_windows_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def note(lock: Path) -> advisories.Audit:
        asked.append(lock)
        return advisories.Audit(lock.name, 0, None, "it is a test")

    monkeypatch.setattr(advisories, "ask", note)
    assert advisories.main() == 0
    assert wheels.LOCK in asked
    assert len(asked) == len(set(asked)) >= 3
