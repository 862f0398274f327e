"""The two forms of a model, installed side by side: precise, and fast under a name with FAST at its end."""

from dataclasses import dataclass

from headstart.library import catalogue, library
from headstart.library.library import Model, Pair
from headstart.library.manifest import FAST


@dataclass(frozen=True)
class OtherForm:
    """The form of a model that you did not ask for."""

    name: str
    is_fast: bool
    target: Model | None  # None: it is not installed

    @property
    def command(self) -> str:
        name = self.name.removesuffix(FAST)
        return f"headstart run {name} --weights int4" if self.is_fast else f"headstart models add {name}"


def other_form(name: str) -> OtherForm | None:
    """Return the other form of a model; None if it is neither installed nor made from a recipe."""
    precise = name.removesuffix(FAST)
    other = precise if precise != name else precise + FAST
    entry = next((entry for entry in library.installed() if entry.name == other), None)
    if isinstance(entry, Model | Pair):
        return OtherForm(other, other != precise, entry.target if isinstance(entry, Pair) else entry)
    return OtherForm(other, other != precise, None) if _is_recipe(precise) else None


def _is_recipe(name: str) -> bool:
    return any(entry.name == name for entry in catalogue.entries())
