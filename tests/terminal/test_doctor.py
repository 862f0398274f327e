"""`headstart doctor` from outside: the report, its JSON, its exit code, and that it names nobody."""

import getpass
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart.cli import main
from headstart.doctor.finding import Finding, Level

Captured = pytest.CaptureFixture[str]
SECTIONS = ["software", "computer", "devices", "folders", "models", "engine", "window"]


def _find(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> None:
    def examine() -> Iterator[Finding]:
        yield from findings

    monkeypatch.setattr("headstart.terminal.doctor.examine", examine)


def test_the_whole_examination_runs_here_and_makes_no_folder(headstart_home: Path, capsys: Captured) -> None:
    code = main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert list(dict.fromkeys(found["section"] for found in report["findings"])) == SECTIONS
    assert code == int(report["problems"] > 0)
    assert report["notes"] == sum(found["level"] == "note" for found in report["findings"])
    assert not headstart_home.exists()


def test_the_report_is_for_people(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    _find(monkeypatch, Finding("a", Level.OK, "Fine."), Finding("a", Level.NOTE, "Odd\x1b\nthing.", "Look."))
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out == (
        "a\n  ok     Fine.\n  note   Odd␛ thing.\n         -> Look.\n0 problems, 1 note.\n"
    )


def test_a_problem_is_the_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    _find(monkeypatch, Finding("a", Level.PROBLEM, "Broken.", "Mend it."))
    assert main(["doctor"]) == 1
    assert main(["doctor", "--json"]) == 1
    assert "1 problem, 0 notes." in capsys.readouterr().out


def test_no_report_names_its_user(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    text = "/home/ada/.local, /home/ada: /media/ada/disk, /home/ada2 and canada"
    _find(monkeypatch, Finding("a", Level.NOTE, text, "chmod 700 /home/ada/x"))
    main(["doctor"])
    out = capsys.readouterr().out
    assert "~/.local, ~: /media/USER/disk, /home/ada2 and canada" in out
    assert "chmod 700 ~/x" in out


def test_a_user_without_a_name_gets_a_report(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def fail() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(Path, "home", lambda: Path("/"))
    monkeypatch.setattr(getpass, "getuser", fail)
    _find(monkeypatch, Finding("a", Level.OK, "/data is there."))
    assert main(["doctor"]) == 0
    assert "/data is there." in capsys.readouterr().out


def test_without_openvino_the_other_checks_still_run(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("headstart.doctor.software.runtime_fault", lambda: "libtbb is gone")
    assert main(["doctor", "--json"]) == 1
    sections = {found["section"] for found in json.loads(capsys.readouterr().out)["findings"]}
    assert sections == set(SECTIONS) - {"devices"}
