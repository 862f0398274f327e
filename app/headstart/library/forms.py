"""The two forms of a model, installed side by side: precise, and fast under a name with FAST at its end."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headstart.library import library
from headstart.library.library import Model, Pair
from headstart.library.manifest import FAST

CATALOGUE = Path(__file__).with_name("catalogue.json")  # output of `headstart-export --list --json`


@dataclass(frozen=True)
class OtherForm:
    """The form of a model that you did not ask for."""

    name: str
    is_fast: bool
    target: Model | None  # None: it is not installed

    @property
    def command(self) -> str:
        """The command that creates it."""
        name = self.name.removesuffix(FAST)
        return f"headstart run {name} --weights int4" if self.is_fast else f"headstart models add {name}"


def other_form(name: str) -> OtherForm | None:
    """Return the other form of a model; None if it is neither installed nor made from a recipe."""
    precise = name.removesuffix(FAST)
    other = precise if precise != name else precise + FAST
    entry = next((entry for entry in library.installed() if entry.name == other), None)
    if isinstance(entry, Model | Pair):
        return OtherForm(other, other != precise, entry.target if isinstance(entry, Pair) else entry)
    return OtherForm(other, other != precise, None) if precise in _recipe_names() else None


@cache
def _recipe_names() -> frozenset[str]:
    return frozenset(recipe["name"] for recipe in json.loads(CATALOGUE.read_bytes()))
