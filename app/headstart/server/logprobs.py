"""How likely the tokens of an answer were, in the words of OpenAI's two APIs. Knows no HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.engine.likelihood import Likelihood, Scored


@dataclass(frozen=True)
class Logprob:
    r"""A token. Where its bytes alone are no text, `token` has them as \xf0\x9f; a text to compare is in `bytes`."""

    token: str
    logprob: float
    bytes: list[int]


@dataclass(frozen=True)
class TokenLogprob(Logprob):
    """A token of the answer, and the likeliest ones in its place."""

    top_logprobs: list[Logprob]


@dataclass(frozen=True)
class ChatLogprobs:
    """The model's own probabilities: before temperature, penalties, top_p and whatever else decides on a token."""

    content: list[TokenLogprob]
    refusal: None = None


@dataclass(frozen=True)
class TextLogprobs:
    """The same in the older API. `text_offset`: characters of the answer before a token."""

    text_offset: list[int]
    token_logprobs: list[float]
    tokens: list[str]
    top_logprobs: list[dict[str, float]]


def of_chat(scored: Sequence[Scored]) -> ChatLogprobs:
    """As chat completions have it."""
    return ChatLogprobs([TokenLogprob(*_told(each.token), list(map(_logprob, each.likeliest))) for each in scored])


def of_text(scored: Sequence[Scored]) -> TextLogprobs:
    """As completions have it."""
    return TextLogprobs(
        [each.start for each in scored],
        [each.token.logprob for each in scored],
        [_named(each.token) for each in scored],
        [{_named(other): other.logprob for other in (*each.likeliest, each.token)} for each in scored],
    )


def _logprob(likelihood: Likelihood) -> Logprob:
    return Logprob(*_told(likelihood))


def _told(likelihood: Likelihood) -> tuple[str, float, list[int]]:
    return _text(likelihood, ""), likelihood.logprob, list(likelihood.spelling)


def _named(likelihood: Likelihood) -> str:
    """OpenAI's older API has no bytes beside the text, so it marks them."""
    return _text(likelihood, "bytes:")


def _text(likelihood: Likelihood, mark: str) -> str:
    try:
        return bytes(likelihood.spelling).decode()
    except UnicodeDecodeError:
        return mark + "".join(f"\\x{byte:02x}" for byte in likelihood.spelling)
