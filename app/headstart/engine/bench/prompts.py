"""The prompts of benchmarks, by class."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from headstart.engine.engine import Message
from headstart.errors import SettingsError

USUAL_KINDS = ("code", "edit", "explanation", "summary", "story")  # the default classes
KINDS = (
    *USUAL_KINDS,
    "translation",
    "retrieval",
    "math",
    "extraction",
    "roleplay",
    "revision",
    "arithmetic",
    "json",
    "mixed",
    "article",
    "essay",
    "qa",
    "agent",
)
MAX_PER_KIND = 12
_FOLDER = files("headstart.engine.bench").joinpath("prompts")


@dataclass(frozen=True)
class BenchPrompt:
    """One prompt. `kind` is its class: texts of one class are about equally easy to draft for.

    `text` is the user's last message; `earlier` are the messages before it, by user and assistant in turn.
    """

    id: str
    kind: str
    text: str
    earlier: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation to answer."""
        turns = (*self.earlier, self.text)
        return tuple(Message("assistant" if place % 2 else "user", turn) for place, turn in enumerate(turns))


def read_prompts(per_kind: int, kinds: Sequence[str] = USUAL_KINDS) -> tuple[BenchPrompt, ...]:
    """Return the first `per_kind` prompts of each class: all first ones, then all second ones, and so on."""
    numbered = [(number, prompt) for kind in kinds for number, prompt in enumerate(_prompts(kind)[:per_kind])]
    return tuple(prompt for _, prompt in sorted(numbered, key=lambda pair: pair[0]))


def read_kinds(text: str) -> tuple[str, ...]:
    """Return the classes of a list with commas; "all" is every one. Raises SettingsError, which lists the classes."""
    kinds = KINDS if text == "all" else tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    unknown = [name for name in kinds if name not in KINDS]
    if unknown:
        names = ", ".join(KINDS)
        raise SettingsError(
            "There is no class {name}; the classes are {known}, or all.", name=repr(unknown[0]), known=names
        )
    return kinds


@cache
def _prompts(kind: str) -> tuple[BenchPrompt, ...]:
    """Parse prompts: a message each, or a list by user and assistant in turn. `<name>` inserts a text of the file."""
    data = tomllib.loads(_FOLDER.joinpath(f"{kind}.toml").read_text(encoding="utf-8"))
    texts: dict[str, str] = data.get("texts", {})
    prompts = []
    for number, entry in enumerate(data["prompts"], start=1):
        turns = [entry] if isinstance(entry, str) else entry
        *earlier, text = (_with_texts(turn.strip(), texts) for turn in turns)
        prompts.append(BenchPrompt(f"{kind}-{number}", kind, text, tuple(earlier)))
    return tuple(prompts)


def _with_texts(turn: str, texts: dict[str, str]) -> str:
    for name, text in texts.items():
        turn = turn.replace(f"<{name}>", text.strip())
    return turn
