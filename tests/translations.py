"""`python -m tests.translations` brings the files of translators up to date and compiles them. Translates nothing."""

import ast
import builtins
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from headstart.settings import about
from headstart.ui.translation import FOLDER, LANGUAGES
from tests.source import source_tree
from tests.source.source_tree import Module

Message = tuple[str, str]  # context, text

# A flag, what is typed into a terminal, a program of it, or the address of a model there.
_OF_A_TERMINAL = re.compile(
    r"(?<![\w-])--[a-z]|(?<!`)`(?!`)|\{command\}|\bheadstart-|pip install|remote:|the command again"
)

# Their errors end in a terminal, or with a program that asks the local server.
_NOT_OF_A_WINDOW = (
    "headstart.cli", "headstart.parameters", "headstart.engine.bench",
    "headstart.engine.text.grammar", "headstart.engine.text.json_schema", "headstart.ui.display",
    "headstart.engine.backends.embedding",
    "headstart_export.table", "headstart_export.heads.features", "headstart_export.heads.head",
    "headstart_export.heads.network", "headstart_export.heads.training",
)  # fmt: skip


def window_sources() -> list[Module]:
    """Return the modules whose texts a person reads through Qt."""
    return [module for module in source_tree.modules("headstart") if module.is_in("headstart.ui")]


def fault_sources() -> list[Module]:
    """Return the modules whose errors a window may show."""
    modules = [*source_tree.modules("headstart"), *source_tree.modules("headstart_export")]
    return [module for module in modules if not any(map(module.is_in, _NOT_OF_A_WINDOW))]


def fault_calls(module: Module) -> Iterator[ast.Call]:
    """Return the calls that make an error, or a part of the sentence of one."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):  # it may have a sentence of its own
            calls = (each for each in ast.walk(node) if isinstance(each, ast.Call) and each.args)
            yield from (each for each in calls if ast.unparse(each.func) == "super().__init__")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            name = node.func.id
            if name == "Translatable" or (name.endswith("Error") and not hasattr(builtins, name)):
                yield node


@cache
def faults() -> list[str]:
    """Return the templates of the errors, and of their parts, that a window may show."""
    texts = (call.args[0] for module in fault_sources() for call in fault_calls(module))
    return sorted({text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str)})


def is_of_a_terminal(text: str) -> bool:
    """Return whether a text names flags or commands, of which a window has none."""
    return bool(_OF_A_TERMINAL.search(text))


def reworded() -> list[str]:
    """Return the faults that the window words otherwise in English."""
    return [text for text in faults() if is_of_a_terminal(text)]


def update(catalogue: Path, language: str) -> None:
    """Put the texts of the window into a .ts file; keep translations, and remove what is gone.

    English is the language of the sources: its file has nothing but what is `reworded`.
    """
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder) / "texts.py"  # those that live where no Qt is known, or are not wanted from there
        if language == "en":
            sources, noops = [], [_noop("Faults", text) for text in reworded()]
        else:
            sources = [str(module.path) for module in window_sources()]
            texts_of = ((each.title, each.meaning, *each.labels.values()) for each in about().values())
            noops = [_noop("Settings", text) for each in texts_of for text in each if text]
            noops += [_noop("Faults", text) for text in faults()]
        texts.write_text("\n".join(noops), encoding="utf-8")
        options = ["-silent", "-no-obsolete", "-locations", "none", "-target-language", language]
        _run("lupdate", *options, *sources, str(texts), "-ts", str(catalogue))


def compile_(catalogue: Path, target: Path | None = None) -> Path:
    """Compile a .ts file to a .qm file, by default beside it."""
    target = target or catalogue.with_suffix(".qm")
    _run("lrelease", "-silent", str(catalogue), "-qm", str(target))
    return target


def stale(folder: Path = FOLDER) -> list[str]:
    """Return the .ts files whose .qm file is missing or outdated."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "fresh.qm"
        return [ts.name for ts in sorted(folder.glob("*.ts")) if not _same(compile_(ts, fresh), ts.with_suffix(".qm"))]


def messages(catalogue: Path, *, unfinished: bool = False) -> set[Message]:
    """Return the messages of a .ts file, or those that lack their translation."""
    found = set()
    for context in ET.parse(catalogue).getroot().iter("context"):  # noqa: S314 - our own file
        for message in context.iter("message"):
            translation = message.find("translation")
            if not unfinished or translation is None or translation.get("type") == "unfinished":
                found.add((context.findtext("name", ""), message.findtext("source", "")))
    return found


def words(catalogue: Path) -> dict[Message, str]:
    """Return the translation of each text in a .ts file."""
    return {
        (context.findtext("name", ""), message.findtext("source", "")): message.findtext("translation", "")
        for context in ET.parse(catalogue).getroot().iter("context")  # noqa: S314 - our own file
        for message in context.iter("message")
    }


def main(languages: Iterable[str] = LANGUAGES) -> None:
    """Update every language."""
    FOLDER.mkdir(exist_ok=True)
    for language in languages:
        catalogue = FOLDER / f"headstart_{language}.ts"
        update(catalogue, language)
        compile_(catalogue)
        print(f"{catalogue.name}: {len(messages(catalogue, unfinished=True))} texts lack a translation")


def _noop(context: str, text: str) -> str:
    return f'QT_TRANSLATE_NOOP("{context}", {text!r})'


def _same(first: Path, second: Path) -> bool:
    return second.is_file() and first.read_bytes() == second.read_bytes()


def _run(tool: str, *arguments: str) -> None:
    code = f"from PySide6.scripts.pyside_tool import {tool}; {tool}()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    main()
