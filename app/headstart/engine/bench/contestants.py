"""The ways in which Headstart itself may decode in a race, by the names that a person gives them. Pure."""

from collections.abc import Sequence

from headstart.engine.engine import Drafter, Mode, Speculation
from headstart.errors import SettingsError

PLAIN, AUTO, DRAFT_ONLY, NGRAM_ONLY = "plain", "auto", "draft", "ngram"
FIXED, THRESHOLD = "fixed", "threshold"
USUAL = (PLAIN, "fixed 3", "fixed 5", AUTO)
SWEPT_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8)
SWEPT_THRESHOLDS = (0.2, 0.4, 0.6, 0.8)
THRESHOLD_CAP = 16  # the most that may be drafted: a threshold needs a bound beside it
EVERYTHING = (
    PLAIN,
    *(f"{FIXED} {length}" for length in SWEPT_LENGTHS),
    NGRAM_ONLY,
    DRAFT_ONLY,
    *(f"{THRESHOLD} {value}" for value in SWEPT_THRESHOLDS),
    AUTO,
)
SWEEP = (
    PLAIN,
    *(f"{FIXED} {length}" for length in SWEPT_LENGTHS),
    NGRAM_ONLY,
    DRAFT_ONLY,
    AUTO,
)  # what advice compares
WORDS = "plain, auto, ngram, draft, fixed-1 to fixed-16 or threshold-0 to threshold-1"


def read_contestants(text: str) -> tuple[str, ...]:
    """The names in a list with commas, plain decoding first, as it is what all are compared with.

    Raises SettingsError for a name that means nothing.
    """
    names = [part.strip().replace("-", " ") for part in text.split(",")]
    for name in names:
        speculation(name)
    return tuple(dict.fromkeys([PLAIN, *names]))


def speculation(name: str) -> Speculation:
    """What a contestant asks of the engine. Raises SettingsError for a name that means nothing."""
    simple = {
        PLAIN: Speculation(Mode.OFF),
        AUTO: Speculation(Mode.AUTO),
        DRAFT_ONLY: Speculation(drafter=Drafter.DRAFT),
        NGRAM_ONLY: Speculation(drafter=Drafter.NGRAM),
    }
    kind, _, figure = name.partition(" ")
    try:
        if name in simple:
            return simple[name]
        if kind == FIXED:
            return Speculation(Mode.FIXED, int(figure))
        if kind == THRESHOLD:
            return Speculation(Mode.FIXED, THRESHOLD_CAP, float(figure))
    except ValueError:
        pass  # no number; said below
    raise SettingsError(f"There is no contestant {name.replace(' ', '-')!r}; it must be {WORDS}.")


def fixed_length(name: str) -> int | None:
    """The draft length in a contestant's name; None where it has none."""
    kind, _, figure = name.partition(" ")
    return int(figure) if kind == FIXED else None


def playable(names: Sequence[str], *, has_draft: bool) -> tuple[str, ...]:
    """Those that differ on the models that are loaded: without a draft model none can be asked to draft alone."""
    needing = {DRAFT_ONLY, *(name for name in names if name.startswith(THRESHOLD))}
    return tuple(name for name in names if has_draft or name not in needing)
