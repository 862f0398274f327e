"""One thing that was looked at, and how it is. Knows no check and no output."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How a thing is."""

    OK = "ok"
    NOTE = "note"  # worth knowing; Headstart works
    PROBLEM = "problem"  # something does not work


@dataclass(frozen=True)
class Finding:
    """`text` and `remedy` are sentences; what is wrong always has a remedy."""

    section: str
    level: Level
    text: str
    remedy: str = ""

    def __post_init__(self) -> None:
        """A fault without a way out helps nobody."""
        assert self.remedy or self.level is not Level.PROBLEM


@dataclass(frozen=True)
class Section:
    """Makes the findings of one section."""

    name: str

    def ok(self, text: str) -> Finding:
        """All is well."""
        return Finding(self.name, Level.OK, text)

    def note(self, text: str, remedy: str = "") -> Finding:
        """Worth knowing."""
        return Finding(self.name, Level.NOTE, text, remedy)

    def problem(self, text: str, remedy: str) -> Finding:
        """Does not work."""
        return Finding(self.name, Level.PROBLEM, text, remedy)
