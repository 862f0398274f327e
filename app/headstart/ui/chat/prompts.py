"""The library of prompts: those that come with the program, one's own, and what their places are filled with.

Knows no widget and no file.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headstart.ui.translation import translate

CURSOR, CLIPBOARD, SELECTION = "cursor", "clipboard", "selection"
_PLACE = re.compile(rf"\{{({CURSOR}|{CLIPBOARD}|{SELECTION})\}}")
_NOT_IN_NAMES = re.compile(r"[\s/]+")
_CALL = re.compile(r"/[^\s/]*\Z")


@dataclass(frozen=True)
class Filled:
    """A prompt with its places filled; `cursor` is where the writer goes on."""

    text: str
    cursor: int


def built_in() -> dict[str, str]:
    """Prompts by name, in the language of the window."""
    return {
        translate("Prompts", "summarise"): translate(
            "Prompts",
            "Summarise the following text in five points at most. Keep names and numbers.\n\n{selection}{cursor}",
        ),
        translate("Prompts", "translate"): translate(
            "Prompts", "Translate the following text into English. Give only the translation.\n\n{selection}{cursor}"
        ),
        translate("Prompts", "rewrite"): translate(
            "Prompts",
            "Rewrite the following text so that it is clear and correct. Keep its meaning, its language and about its "
            "length.\n\n{selection}{cursor}",
        ),
        translate("Prompts", "explain"): translate(
            "Prompts",
            "Explain step by step what this code does, and point out what looks wrong.\n\n"
            "```\n{selection}{cursor}\n```",
        ),
        translate("Prompts", "tests"): translate(
            "Prompts",
            "Write unit tests for this code. Cover ordinary cases, limits and errors.\n\n```\n{selection}{cursor}\n```",
        ),
    }


def library(own: Mapping[str, str]) -> dict[str, str]:
    """All prompts by name in order; of one's own, an empty text takes a built-in prompt away."""
    found = {**built_in(), **own}
    return {name: found[name] for name in sorted(found, key=str.casefold) if found[name]}


def own_part(prompts: Mapping[str, str]) -> dict[str, str]:
    """What must be kept so that `library` gives these prompts again."""
    given = built_in()
    changed = {name: text for name, text in prompts.items() if given.get(name) != text}
    return {**changed, **{name: "" for name in given if name not in prompts}}


def named(text: str) -> str:
    """A name that can stand behind the stroke, made of what a person typed."""
    return _NOT_IN_NAMES.sub("-", text.strip().strip("/").strip())


def called(text: str) -> str | None:
    """The beginning of a name, where the message is "/" and nothing but that beginning."""
    return text[1:] if _CALL.match(text) else None


def matching(names: Iterable[str], typed: str) -> list[str]:
    """Names that begin with what was typed, then those that hold it."""
    wanted = typed.casefold()
    found = [name for name in names if wanted in name.casefold()]
    return sorted(found, key=lambda name: not name.casefold().startswith(wanted))


def filled(prompt: str, clipboard: str = "", selection: str = "") -> Filled:
    """With every place filled, once: what is put in may hold such words itself."""
    values = {CLIPBOARD: clipboard, SELECTION: selection, CURSOR: ""}
    text, cursor, done = "", None, 0
    for place in _PLACE.finditer(prompt):
        text += prompt[done : place.start()] + values[place[1]]
        done = place.end()
        if place[1] == CURSOR and cursor is None:
            cursor = len(text)
    text += prompt[done:]
    return Filled(text, len(text) if cursor is None else cursor)
