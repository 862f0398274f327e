"""Two checkouts take turns, and what is told of them is how many times as fast the second one is."""

import json
import sys
from pathlib import Path

import pytest

from bench import two_checkouts

PROGRAM = """#!{python}
import json, sys
file = sys.argv[sys.argv.index("--json") + 1]
scores = {{"plain": {{"ms_per_token": [{plain}]}}, "auto": {{"ms_per_token": [{auto}]}}}}
json.dump({{"prompts": [{{"id": name, "scores": scores}} for name in ("code-1", "story-1")]}}, open(file, "w"))
open({log!r}, "a").write({name!r} + " ")
"""


def checkout(folder: Path, plain: float, auto: float) -> Path:
    """A folder whose program measures these milliseconds a token, and notes that it ran."""
    program = folder / ".venv/bin/headstart"
    program.parent.mkdir(parents=True)
    log = str(folder.parent / "log")
    program.write_text(PROGRAM.format(python=sys.executable, plain=plain, auto=auto, log=log, name=folder.name))
    program.chmod(0o755)
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are scripts")
def test_who_is_how_many_times_as_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = checkout(tmp_path / "old", 60.0, 40.0), checkout(tmp_path / "new", 60.0, 20.0)
    monkeypatch.setattr(sys, "argv", ["", str(old), str(new), "--model", "any", "--rounds", "2"])
    assert two_checkouts.main() == 0
    told = json.loads(capsys.readouterr().out)
    assert told["plain"]["times as fast"] == pytest.approx(1.0)
    assert told["auto"] == pytest.approx({"times as fast": 2.0, "from": 2.0, "to": 2.0, "comparisons": 4})
    assert (tmp_path / "log").read_text().split() == ["old", "new", "new", "old"]
