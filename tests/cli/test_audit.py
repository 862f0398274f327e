"""`headstart dev audit` from outside: flags, refusals, the report and the exit code."""

import json
from pathlib import Path

import pytest

from headstart.cli import main
from headstart.engine.speculative import Decoder

Captured = pytest.CaptureFixture[str]


def _audit(pair: Path, *more: str) -> int:
    return main(["dev", "audit", "--model", str(pair), "--tokens", "16", "--prompts", "1", *more])


def test_a_sound_pair_passes(tiny_pair: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "audit.json"
    assert _audit(tiny_pair, "--json", str(file)) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == "tiny-target with draft tiny-draft, auto and fixed 5:"
    assert [line.split(",")[0] for line in lines[1:3]] == [
        "  greedy: 32 tokens checked",
        "  sampled: 32 tokens checked",
    ]
    assert lines[3:] == ["passed: 0 tokens outside the noise floor."]
    assert "scoring 16 tokens again: code-1, auto" in shown.err
    data = json.loads(file.read_text(encoding="utf-8"))
    assert (data["outside"], data["findings"]["greedy"]["tokens"]) == (0, 32)


def test_a_bug_shows_in_the_exit_code(
    tiny_pair: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    monkeypatch.setattr(Decoder, "_tolerated", lambda *_arguments: True)  # every guess is taken unchecked
    file = tmp_path / "audit.json"
    assert _audit(tiny_pair, "--temperature", "0", "--json", str(file)) == 1
    lines = capsys.readouterr().out.splitlines()
    outside = json.loads(file.read_text(encoding="utf-8"))["outside"]
    assert lines[-1] == f"FAILED: {outside} tokens outside the noise floor."
    assert lines[2].startswith("    code-1, ")
    assert not any("sampled" in line for line in lines)
