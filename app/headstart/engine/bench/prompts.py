"""The prompts of benchmarks and audits, by class."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from headstart.engine.engine import Message
from headstart.errors import SettingsError

USUAL_KINDS = ("code", "edit", "explanation", "summary", "story")  # what is raced unless more is asked for
KINDS = (*USUAL_KINDS, "translation", "retrieval", "math", "extraction", "roleplay", "essay", "qa")
MOST_PER_KIND = 12
_FOLDER = files("headstart.engine.bench").joinpath("prompts")


@dataclass(frozen=True)
class BenchPrompt:
    """One prompt. `kind` is its class: texts of one class are about equally easy to guess."""

    id: str
    kind: str
    text: str

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation to be answered."""
        return (Message("user", self.text),)


def read_prompts(per_kind: int, kinds: Sequence[str] = USUAL_KINDS) -> tuple[BenchPrompt, ...]:
    """The first `per_kind` prompts of each class: all first ones, then all second ones, and so on."""
    numbered = [(number, prompt) for kind in kinds for number, prompt in enumerate(_prompts(kind)[:per_kind])]
    return tuple(prompt for _, prompt in sorted(numbered, key=lambda pair: pair[0]))


def read_kinds(text: str) -> tuple[str, ...]:
    """The classes of a list with commas; "all" is every one. Raises SettingsError naming those there are."""
    wanted = KINDS if text == "all" else tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    unknown = [name for name in wanted if name not in KINDS]
    if unknown:
        known = ", ".join(KINDS)
        raise SettingsError(
            "There is no class {name}; the classes are {known}, or all.", name=repr(unknown[0]), known=known
        )
    return wanted


def _prompts(kind: str) -> list[BenchPrompt]:
    texts = tomllib.loads(_FOLDER.joinpath(f"{kind}.toml").read_text(encoding="utf-8"))["prompts"]
    return [BenchPrompt(f"{kind}-{number}", kind, text.strip()) for number, text in enumerate(texts, start=1)]
