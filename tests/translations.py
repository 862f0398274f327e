"""`python -m tests.translations` brings the files of translators up to date and compiles them. Translates nothing."""

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

from headstart.settings import about
from headstart.ui.translation import FOLDER, LANGUAGES
from tests import source_tree
from tests.source_tree import Module

Message = tuple[str, str]  # context, text


def window_sources() -> list[Module]:
    """The modules that say something to a person through Qt."""
    return [module for module in source_tree.modules("headstart") if module.is_in("headstart.ui")]


def update(catalogue: Path, language: str) -> None:
    """Put every text of the window into a .ts file; what is translated there stays, what is gone goes."""
    sources = [str(module.path) for module in window_sources()]
    with tempfile.TemporaryDirectory() as folder:
        sentences = Path(folder) / "settings.py"  # those live where no Qt is known
        sentences.write_text("\n".join(_noop(known.meaning) for known in about().values()), encoding="utf-8")
        options = ["-silent", "-no-obsolete", "-locations", "none", "-target-language", language]
        _run("lupdate", *options, *sources, str(sentences), "-ts", str(catalogue))


def compile_(catalogue: Path, target: Path | None = None) -> Path:
    """Make the .qm file of a .ts file, beside it unless told otherwise."""
    target = target or catalogue.with_suffix(".qm")
    _run("lrelease", "-silent", str(catalogue), "-qm", str(target))
    return target


def stale(folder: Path = FOLDER) -> list[str]:
    """The .ts files whose .qm file is missing or has other words."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "fresh.qm"
        return [ts.name for ts in sorted(folder.glob("*.ts")) if not _same(compile_(ts, fresh), ts.with_suffix(".qm"))]


def messages(catalogue: Path, *, unfinished: bool = False) -> set[Message]:
    """What a .ts file has, or of that what still lacks its translation."""
    found = set()
    for context in ET.parse(catalogue).getroot().iter("context"):  # noqa: S314 - our own file
        for message in context.iter("message"):
            translation = message.find("translation")
            if not unfinished or translation is None or translation.get("type") == "unfinished":
                found.add((context.findtext("name", ""), message.findtext("source", "")))
    return found


def words(catalogue: Path) -> dict[Message, str]:
    """What a .ts file says for each text."""
    return {
        (context.findtext("name", ""), message.findtext("source", "")): message.findtext("translation", "")
        for context in ET.parse(catalogue).getroot().iter("context")  # noqa: S314 - our own file
        for message in context.iter("message")
    }


def main(languages: Iterable[str] = LANGUAGES) -> None:
    """Every language but that of the sources."""
    FOLDER.mkdir(exist_ok=True)
    for language in languages:
        if language != "en":
            catalogue = FOLDER / f"headstart_{language}.ts"
            update(catalogue, language)
            compile_(catalogue)
            print(f"{catalogue.name}: {len(messages(catalogue, unfinished=True))} texts lack a translation")


def _noop(sentence: str) -> str:
    return f'QT_TRANSLATE_NOOP("Settings", {sentence!r})'


def _same(first: Path, second: Path) -> bool:
    return second.is_file() and first.read_bytes() == second.read_bytes()


def _run(tool: str, *arguments: str) -> None:
    code = f"from PySide6.scripts.pyside_tool import {tool}; {tool}()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    main()
