"""How likely a token was, as it crosses the engine protocol. Knows no arithmetic."""

from dataclasses import dataclass

MOST_LIKELIEST = 20  # as OpenAI has it


@dataclass(frozen=True)
class Likelihood:
    """A token in bytes, and the natural logarithm of its probability."""

    spelling: tuple[int, ...]
    logprob: float


@dataclass(frozen=True)
class Scored:
    """A token of the answer with the likeliest ones in its place, by falling probability."""

    token: Likelihood
    start: int  # characters of the answer before its own
    likeliest: tuple[Likelihood, ...] = ()
