"""How OpenVINO GenAI is to guess ahead for a request, and what it is not asked for because it does it wrong. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from headstart.engine.engine import Drafter, Mode, Origin, Request, Sampling, Speculation
from headstart.errors import SettingsError

_USUAL_LENGTH = 5  # GenAI's own, where a request leaves it open
_NGRAM_SIZE = 3  # of prompt lookup, as in GenAI's own sample
_OURS = "use --engine headstart"


class Way(StrEnum):
    """How a pipeline guesses; it is built for one way and keeps to it."""

    PLAIN = "plain"
    DRAFT = "draft"
    EAGLE = "EAGLE-3"
    LOOKUP = "prompt lookup"


@dataclass(frozen=True)
class Abilities:
    """What was loaded. `eagle`: the draft is an EAGLE-3 head."""

    draft: bool
    eagle: bool
    npu: bool


@dataclass(frozen=True)
class Guessing:
    """A way with its settings in GenAI's words. `most`: candidates that are checked in a round."""

    way: Way
    settings: Mapping[str, int] = field(default_factory=dict)
    most: int = 0

    @property
    def origin(self) -> Origin:
        """Who proposes what is accepted."""
        return {Way.PLAIN: Origin.TARGET, Way.LOOKUP: Origin.NGRAM}.get(self.way, Origin.DRAFT)


def guessing(request: Request, abilities: Abilities) -> Guessing:
    """How to guess for this request. Raises SettingsError with the way out."""
    require_sampling(request.sampling)
    _require_plain_answer(request)
    asked = request.speculation
    way = _way(asked, abilities)
    if way is Way.PLAIN:
        return Guessing(way)
    _require_bounds(asked)
    if way is Way.LOOKUP:
        return _looking_up(asked, abilities)
    if request.sampling.temperature > 0.0:
        raise SettingsError(
            "OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue "
            "4190): {ours}, --temperature 0 or --speculation off.",
            ours=_OURS,
        )
    return _drafting(asked, way)


def require_sampling(sampling: Sampling) -> None:
    """Raises SettingsError for penalties that GenAI applies the wrong way round to tokens of negative score."""
    if sampling.presence_penalty or sampling.frequency_penalty:
        raise SettingsError(
            "OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: "
            "{ours}, or --repetition-penalty.",
            ours=_OURS,
        )


def _require_plain_answer(request: Request) -> None:
    if request.likeliest is not None:
        raise SettingsError(
            "OpenVINO GenAI is not asked how likely its tokens were: {ours}, or leave out logprobs.", ours=_OURS
        )
    if request.schema:
        raise SettingsError(
            "OpenVINO GenAI is not asked to keep to a JSON schema: {ours}, or leave the schema out.", ours=_OURS
        )


def _way(asked: Speculation, abilities: Abilities) -> Way:
    if asked.mode is Mode.OFF:
        return Way.PLAIN
    if asked.drafter is Drafter.BIGRAM:
        raise SettingsError("OpenVINO GenAI has no table of likely next tokens: {ours}.", ours=_OURS)
    if asked.drafter is Drafter.NGRAM:
        return Way.LOOKUP
    if abilities.draft:
        return Way.EAGLE if abilities.eagle else Way.DRAFT
    return Way.LOOKUP if asked.mode is Mode.FIXED else Way.PLAIN


def _require_bounds(asked: Speculation) -> None:
    if asked.assistant_confidence_threshold is not None:
        raise SettingsError(
            "OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one "
            "round were seen: {ours}, or --num-assistant-tokens alone.",
            ours=_OURS,
        )
    if asked.acceptance_threshold < 1.0:
        raise SettingsError("OpenVINO GenAI has no acceptance threshold: {ours}.", ours=_OURS)


def _looking_up(asked: Speculation, abilities: Abilities) -> Guessing:
    if abilities.npu:
        raise SettingsError("An NPU takes no guesses from the text: use a draft model, or --speculation off.")
    length = asked.num_assistant_tokens or _USUAL_LENGTH
    return Guessing(Way.LOOKUP, {"num_assistant_tokens": length, "max_ngram_size": _NGRAM_SIZE}, length)


def _drafting(asked: Speculation, way: Way) -> Guessing:
    length = asked.num_assistant_tokens or _USUAL_LENGTH
    return Guessing(way, {"num_assistant_tokens": length}, length)
