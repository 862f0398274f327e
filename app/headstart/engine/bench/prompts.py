"""The prompts that speed and exactness are measured on, by class. Knows no model."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from headstart.engine.engine import Message

_FILE = "prompts.toml"


@dataclass(frozen=True)
class BenchPrompt:
    """One question. `kind` is the class: texts of one class are about equally easy to guess."""

    id: str
    kind: str
    text: str

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation to be answered."""
        return (Message("user", self.text),)


def read_prompts(per_kind: int) -> tuple[BenchPrompt, ...]:
    """The first `per_kind` prompts of each class: all first ones, then all second ones, and so on."""
    data = tomllib.loads(files("headstart.engine.bench").joinpath(_FILE).read_text(encoding="utf-8"))
    numbered = [
        (number, BenchPrompt(f"{kind}-{number + 1}", kind, text.strip()))
        for kind, texts in data.items()
        for number, text in enumerate(texts["prompts"][:per_kind])
    ]
    return tuple(prompt for _, prompt in sorted(numbered, key=lambda pair: pair[0]))
