"""Who answers many prompts, and how many at once: what OpenVINO GenAI does as we do, and what was measured. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headstart.engine.engine import Mode, Request, Speculation
from headstart.errors import SettingsError

SIZES = (1, 2, 4, 8, 16)  # answers at once that are measured
# Where nothing was measured: twice as many as it took on two cores to beat a pair that guesses ahead.
UNMEASURED_SIZE = 8
_NEUTRAL = Speculation()


class BatchEngine(StrEnum):
    """Who writes the answers of a batch."""

    AUTO = "auto"  # whoever was measured to be faster
    OWN = "own"  # Headstart's own engine, one after another, guessing ahead
    GENAI = "genai"  # OpenVINO GenAI, several at once, without guesses


@dataclass(frozen=True)
class BatchFigures:
    """Tokens per second over the same prompts: our own engine, and GenAI with so many at once."""

    own: float
    genai: Mapping[int, float]

    @property
    def wins_from(self) -> int | None:
        """The least number at once from which GenAI is faster at every measured size; None: at none."""
        found = None
        for size in sorted(self.genai, reverse=True):
            if self.genai[size] <= self.own:
                break
            found = size
        return found

    def best_size(self, most: int) -> int | None:
        """The fastest size of at most `most`; None where all are larger."""
        sizes = [size for size in self.genai if size <= most]
        return max(sizes, key=lambda size: self.genai[size], default=None)


@dataclass(frozen=True)
class BatchChoice:
    """`size` answers at once, by whom, and why in a sentence."""

    engine: BatchEngine
    size: int
    reason: str


def figures_from_json(data: Any) -> BatchFigures | None:
    """What `figures_as_json` made; None for anything else."""
    try:
        rates = {int(size): float(rate) for size, rate in data["genai"].items()}
        return BatchFigures(float(data["own"]), rates) if rates else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def figures_as_json(figures: BatchFigures) -> dict[str, object]:
    """Plain data."""
    return {"own": figures.own, "genai": {str(size): rate for size, rate in figures.genai.items()}}


def obstacle(request: Request, *, seeded: bool) -> str | None:
    """What of a request GenAI's batches do not do as our own engine does, in words; None: nothing.

    `seeded`: the seed was asked for. There it draws other tokens than ours, so who answers would change the answer.
    GenAI also filters by top-k and top-p in an order of its own, and its penalties raise unlikely tokens.
    """
    sampling, speculation = request.sampling, request.speculation
    found = {
        "a seed": seeded and sampling.temperature > 0.0,
        "min-p": sampling.min_p > 0.0,
        "top-k together with top-p": sampling.top_k > 0 and sampling.top_p < 1.0,
        "penalties": (sampling.repetition_penalty, sampling.presence_penalty, sampling.frequency_penalty)
        != (1.0, 0.0, 0.0),
        "speculation of their own": speculation not in (_NEUTRAL, Speculation(Mode.OFF)),
    }
    return next((words for words, holds in found.items() if holds), None)


def choose(figures: BatchFigures | None, prompts: int, size: int | None) -> BatchChoice:
    """For so many prompts that GenAI can answer. `size`: how many at once the user wants; None: what is best."""
    if figures is None:
        return _unmeasured(prompts, size or UNMEASURED_SIZE)
    best = size or figures.best_size(prompts) or 1
    first = figures.wins_from
    if first is None or min(best, prompts) < first:
        threshold = "at no number at once" if first is None else f"from {first} at once only"
        return BatchChoice(BatchEngine.OWN, 1, f"measured here, OpenVINO GenAI is faster {threshold}")
    gain = figures.genai[max(known for known in figures.genai if known <= best)] / figures.own
    return BatchChoice(BatchEngine.GENAI, best, f"measured here, OpenVINO GenAI is {gain:.1f}x as fast in batches")


def _unmeasured(prompts: int, size: int) -> BatchChoice:
    remedy = "which engine is faster was not measured here (`headstart bench batch` does)"
    if min(prompts, size) < UNMEASURED_SIZE:
        return BatchChoice(BatchEngine.OWN, 1, f"{remedy}, and batches of fewer than {UNMEASURED_SIZE} may be slower")
    return BatchChoice(BatchEngine.GENAI, size, f"{remedy}, and so many at once usually win")


def asked(engine: BatchEngine, size: int | None, figures: BatchFigures | None, prompts: int) -> BatchChoice:
    """The engine that the user named. Raises SettingsError where a size contradicts it."""
    assert engine is not BatchEngine.AUTO, "auto is chosen, not asked"
    if engine is BatchEngine.OWN:
        if size not in (None, 1):
            raise SettingsError(
                "Headstart's own engine answers one after another: leave out --batch-size, or use genai."
            )
        return BatchChoice(engine, 1, "as asked")
    best = figures.best_size(prompts) if figures else None
    return BatchChoice(engine, size or best or UNMEASURED_SIZE, "as asked")
