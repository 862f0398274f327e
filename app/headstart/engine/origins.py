"""The origins of tokens, with the words and the looks that they have in the terminal and in the window."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from headstart.errors import Translatable


class Origin(StrEnum):
    """Who proposed a token that the target confirmed. Chats on disk hold these values."""

    TARGET = "target"  # the target's own: plain step, recovered or bonus token
    DRAFT = "draft"
    HEAD = "eagle"  # a Hydra or EAGLE-3 head
    NGRAM = "n-gram"
    TABLE = "table"  # the n-gram table
    UNKNOWN = "unknown"  # the engine or a server does not report it


@dataclass(frozen=True)
class Colours:
    """Colours of an origin in one theme of the window."""

    background: str
    line: str  # of underlines and charts


@dataclass(frozen=True)
class OriginLook:
    """The words and the look of an origin. No origin is shown by colour alone."""

    name: str  # in figures
    label: Translatable  # in a sentence
    colour: str | None = None  # in the terminal; None: not styled
    emphasis: tuple[str, ...] = ()  # in the terminal, beside the underline
    underline: str = ""  # style of the underline in the window, by Qt's name
    light: Colours = Colours("", "")
    dark: Colours = Colours("", "")
    contrast_light: Colours = Colours("", "")
    contrast_dark: Colours = Colours("", "")


# In the order in which they are listed.
ORIGINS: Mapping[str, OriginLook] = MappingProxyType(
    {
        Origin.DRAFT: OriginLook(
            "draft",
            Translatable("draft model"),
            "green",
            underline="DotLine",
            light=Colours("#dff5e5", "#2f9152"),
            dark=Colours("#183626", "#4cae74"),
            contrast_light=Colours("#dcf5e3", "#17602f"),
            contrast_dark=Colours("#06331a", "#6fd08c"),
        ),
        Origin.HEAD: OriginLook(
            "head",
            Translatable("draft head"),
            "blue",
            ("bold",),
            underline="SingleUnderline",
            light=Colours("#ddf3f5", "#0f7c88"),
            dark=Colours("#0f3238", "#3fb6c4"),
            contrast_light=Colours("#d8f1f4", "#0b5963"),
            contrast_dark=Colours("#052f36", "#74d5e2"),
        ),
        Origin.NGRAM: OriginLook(
            "n-gram",
            Translatable("earlier text"),
            "magenta",
            ("bold",),
            underline="DashUnderline",
            light=Colours("#fdf0d5", "#b7791f"),
            dark=Colours("#3a2c10", "#d39a3c"),
            contrast_light=Colours("#fdf0d5", "#7d5000"),
            contrast_dark=Colours("#382800", "#eebf6d"),
        ),
        Origin.TABLE: OriginLook(
            "table",
            Translatable("usual words"),
            "cyan",
            ("italic",),
            underline="DashDotLine",
            light=Colours("#efebfc", "#6f52c9"),
            dark=Colours("#2b2545", "#a893f0"),
            contrast_light=Colours("#efebfc", "#4f34a0"),
            contrast_dark=Colours("#2a1f52", "#c3b4ff"),
        ),
        Origin.TARGET: OriginLook("target", Translatable("the model itself")),
        Origin.UNKNOWN: OriginLook("unknown", Translatable("who guessed this is not reported")),
    }
)
MARKED = tuple(origin for origin, look in ORIGINS.items() if look.colour)  # the origins that guess
