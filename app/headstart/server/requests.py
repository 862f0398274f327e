"""What clients send: OpenAI's requests, as far as they can be answered here. Turns nothing into anything else.

Fields that are not named here are ignored, as most have no meaning on one's own computer; those that ask for another
answer than the one that would come are named, so that they can be refused.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct

from headstart.engine.likelihood import MOST_LIKELIEST
from headstart.parameters import Declared, SamplingParams, declared

_Class = TypeVar("_Class")
_MOST = 2**31 - 1  # of a whole number
_Nothing = Annotated[list[Any], Meta(max_length=0, description="Not done here: leave it out.")]
_NoBias = Annotated[dict[str, float], Meta(max_length=0, description="Not done here: leave it out.")]
_One = Annotated[int, Meta(ge=1, le=1, description="One answer for each request.")]
_Count = Annotated[int, Meta(ge=1, le=_MOST)]
_Length = Annotated[int, Meta(ge=1, le=_MOST, description="Left out: half the context.")]
_Text = Annotated[str, Meta(min_length=1)]
_Stops = Annotated[list[_Text], Meta(max_length=16)]
_Repetition = Annotated[
    bool,
    Meta(
        description="End an answer that says the same again and again; its `finish_reason` is then `length`, and its "
        "`stop_reason` is `repetition`. Left out: it goes on. Not in OpenAI's API."
    ),
]
_Likeliest = Annotated[int, Meta(ge=0, le=MOST_LIKELIEST, description="Tokens told beside each of the answer.")]
_Seed = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1, description="Repeats an answer with `--numerics exact`.")]


@dataclass(frozen=True)
class TextPart:
    """A part of a message."""

    type: Literal["text"]
    text: str


Content = str | Annotated[list[TextPart], Meta(min_length=1)]


@dataclass(frozen=True)
class ChatMessage:
    """One turn of a conversation. A last message of the assistant is written on from where it ends."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Content
    tool_calls: _Nothing | None = None


@dataclass(frozen=True)
class Prediction:
    """What much of the answer may look like; guesses are taken from it, and the answer stays the same."""

    type: Literal["content"]
    content: Content


@dataclass(frozen=True)
class StreamOptions:
    """How an answer is streamed."""

    include_usage: bool | None = None


@dataclass(frozen=True)
class JsonSchema:
    """A JSON schema that the answer keeps to, strict or not."""

    name: str
    schema: Annotated[dict[str, Any], Meta(examples=[{"type": "object"}])]
    description: str | None = None
    strict: bool | None = None


class AnyText(Struct, frozen=True, tag_field="type", tag="text"):
    """An answer as it comes."""


class AnyObject(Struct, frozen=True, tag_field="type", tag="json_object"):
    """An answer that is a JSON object."""


class OfSchema(Struct, frozen=True, tag_field="type", tag="json_schema"):
    """An answer that keeps to a JSON schema."""

    json_schema: JsonSchema


ResponseFormat = AnyText | AnyObject | OfSchema


def with_parameters(cls: type[_Class], params: type[object] = SamplingParams) -> type[_Class]:
    """A body with a field for each parameter of sampling that it has not named itself."""
    for each in declared(params):
        if each.name not in cls.__annotations__:
            cls.__annotations__[each.name] = Annotated[each.kind, _bounds(each)] | None
            setattr(cls, each.name, None)
    return cls


def _bounds(parameter: Declared) -> Meta:
    about = parameter.about
    low, high = about.openai or (about.low, about.high)
    if parameter.kind is int and high is None:
        high = _MOST
    left_out = " Left out: the model's own." if about.is_models_own else ""
    description = f"{about.meaning}{left_out}"
    return (
        Meta(ge=low, le=high, description=description)
        if about.above is None
        else Meta(gt=about.above, le=high, description=description)
    )


@dataclass(frozen=True, kw_only=True)
@with_parameters
class Wish:
    """What both kinds of requests may say, and what sampling takes.

    None is what `headstart serve` was told, or else the model's own value.
    """

    model: str
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    stop: _Text | _Stops | None = None
    seed: _Seed | None = None
    stop_on_repetition: _Repetition | None = None
    n: _One | None = None
    logit_bias: _NoBias | None = None


@dataclass(frozen=True, kw_only=True)
class ChatRequest(Wish):
    """Body of POST /v1/chat/completions."""

    messages: Annotated[list[ChatMessage], Meta(min_length=1)]
    max_tokens: _Length | None = None
    max_completion_tokens: _Length | None = None
    tools: _Nothing | None = None
    functions: _Nothing | None = None
    logprobs: bool | None = None
    top_logprobs: _Likeliest | None = None
    response_format: ResponseFormat | None = None
    prediction: Prediction | None = None


@dataclass(frozen=True, kw_only=True)
class TextRequest(Wish):
    """Body of POST /v1/completions."""

    prompt: _Text | Annotated[list[_Text], Meta(min_length=1, max_length=1)]
    max_tokens: _Count | None = None
    echo: Literal[False] | None = None
    best_of: _One | None = None
    suffix: Annotated[str, Meta(max_length=0)] | None = None
    logprobs: _Likeliest | None = None
