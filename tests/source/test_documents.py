"""The READMEs against the programs and folders they describe."""

import contextlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from installer.order import parser

from headstart import cli
from headstart_export import cli as export_cli
from tests.source.source_tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
PATH = re.compile(r"`([\w.][\w.-]*/[\w./-]*)`")  # in backticks, with a folder
LINK = re.compile(r"\]\((?!https?://)([^)#]+)\)")

Main = Callable[[Sequence[str]], int]


def _flags(main: Main, arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> set[str]:
    with contextlib.suppress(SystemExit):
        main([*arguments, "--help"])
    return set(FLAG.findall(capsys.readouterr().out))


def test_every_flag_in_the_readme_exists(capsys: pytest.CaptureFixture[str]) -> None:
    known = _flags(export_cli.main, [], capsys) | _flags(cli.main, [], capsys)
    known |= set(FLAG.findall(parser("").format_help()))
    for command in ("run", "chat", "bench", "dev", "tune", "doctor", "serve"):
        known |= _flags(cli.main, command.split(), capsys)
    assert set(FLAG.findall(README)) <= known


DOCUMENTS = sorted(
    path for folder in (".", "app", "app/docs", "export", "installer", "tests") for path in (ROOT / folder).glob("*.md")
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    targets = LINK.findall(document.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (document.parent / target).exists()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_of_the_repository_exist(document: Path) -> None:
    paths = PATH.findall(document.read_text(encoding="utf-8"))
    folders = {folder.name for folder in ROOT.iterdir() if not folder.name.startswith(".")}
    assert not [path for path in paths if path.partition("/")[0] in folders and not (ROOT / path).exists()]
