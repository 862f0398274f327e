"""The page of all commands."""

import pytest

from headstart.cli import main
from tests.source_tree import ROOT


def test_the_page_of_the_command_line_is_as_declared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "reference"]) == 0
    page = (ROOT / "app" / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == capsys.readouterr().out, "run `headstart dev reference --output app/docs/cli.md`"
