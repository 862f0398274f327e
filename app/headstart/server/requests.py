"""What clients send: OpenAI's requests, as far as they can be answered here, and what they ask of the engine.

Fields that are not named here are ignored, as most have no meaning on one's own computer; those that ask for another
answer than the one that would come are named, so that they can be refused.
"""

import re
import secrets
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from headstart.engine.engine import MOST_LIKELIEST, Message, Request, Sampling, Speculation
from headstart.parameters import Declared, SamplingParams, declared
from headstart.server.refusal import RefusedError, invalid

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
class AnswerRequest:
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
class ChatRequest(AnswerRequest):
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
class TextRequest(AnswerRequest):
    """Body of POST /v1/completions."""

    prompt: _Text | Annotated[list[_Text], Meta(min_length=1, max_length=1)]
    max_tokens: _Count | None = None
    echo: Literal[False] | None = None
    best_of: _One | None = None
    suffix: Annotated[str, Meta(max_length=0)] | None = None
    logprobs: _Likeliest | None = None


_Body = TypeVar("_Body", ChatRequest, TextRequest)
_ANY_OBJECT = '{"type":"object"}'
_USUAL_TEXT = 16  # tokens of a completion, as OpenAI has it
_FIELD = re.compile(r"`\$\.(\w+)")
_REFUSALS = {
    "tools": "Tools are not called here: leave out `tools`.",
    "functions": "Functions are not called here: leave out `functions`.",
    "n": "One answer comes for each request: leave out `n`, and ask again for another.",
    "best_of": "One answer comes for each request: leave out `best_of`.",
    "logit_bias": "Single tokens cannot be favoured here: leave out `logit_bias`.",
    "echo": "The prompt is not repeated here: leave out `echo`.",
    "suffix": "A text cannot be filled in between here: put the model's own markers into `prompt`, without `suffix`.",
}


@dataclass(frozen=True)
class Defaults:
    """How an answer is written as far as a request leaves it open. `seed` None: another one for each request.

    `length`: the longest answer to a conversation, in tokens.
    """

    sampling: Sampling = field(default_factory=Sampling)
    speculation: Speculation = field(default_factory=Speculation)
    seed: int | None = None
    length: int = 4096


def parsed(body: bytes, kind: type[_Body]) -> _Body:
    """The request in `body`. Raises RefusedError, which says what is wrong where."""
    try:
        return msgspec.convert(_with_whole_numbers(msgspec.json.decode(body)), kind)
    except msgspec.ValidationError as error:
        raise _misfit(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(f"The body is no JSON ({error}): send one object.") from None
    except RecursionError:
        raise invalid("The body is nested too deeply: send one object as the API has it.") from None


def _with_whole_numbers(data: object) -> object:
    """JSON has one kind of number: 5.0 is a whole one."""
    if not isinstance(data, dict):
        return data
    return {key: int(item) if isinstance(item, float) and item.is_integer() else item for key, item in data.items()}


def chat_order(asked: ChatRequest, defaults: Defaults) -> Request:
    """What a conversation asks of the engine."""
    length = asked.max_completion_tokens or asked.max_tokens or defaults.length
    messages = tuple(
        Message("system" if turn.role == "developer" else turn.role, _text(turn.content)) for turn in asked.messages
    )
    foretold = _text(asked.prediction.content) if asked.prediction else ""
    order = _order(asked, defaults, messages, length)
    return replace(order, prediction=foretold, schema=_schema(asked.response_format), likeliest=_likeliest(asked))


def text_order(asked: TextRequest, defaults: Defaults) -> Request:
    """What a text to be written on asks of the engine."""
    prompt = asked.prompt if isinstance(asked.prompt, str) else asked.prompt[0]
    length = asked.max_tokens or _USUAL_TEXT
    return replace(_order(asked, defaults, (), length, prompt), likeliest=asked.logprobs)


def _order(
    asked: AnswerRequest, defaults: Defaults, messages: tuple[Message, ...], length: int, prompt: str = ""
) -> Request:
    stops = (asked.stop,) if isinstance(asked.stop, str) else tuple(asked.stop or ())
    order = Request(messages, length, _sampling(asked, defaults), defaults.speculation, stops, prompt)
    return replace(order, stop_on_repetition=bool(asked.stop_on_repetition))


def _likeliest(asked: ChatRequest) -> int | None:
    """A number alone asks, too."""
    wanted = asked.top_logprobs is not None if asked.logprobs is None else asked.logprobs
    return asked.top_logprobs or 0 if wanted else None


def _schema(asked: ResponseFormat | None) -> str:
    match asked:
        case AnyObject():
            return _ANY_OBJECT
        case OfSchema(json_schema=wanted):
            return msgspec.json.encode(wanted.schema).decode()
        case _:
            return ""


def _sampling(asked: AnswerRequest, defaults: Defaults) -> Sampling:
    values = {each.field: getattr(asked, each.name) for each in declared(Sampling)}
    told = {name: value for name, value in values.items() if value is not None}
    told["seed"] = _seed(asked.seed, defaults.seed)
    left = tuple(name for name in defaults.sampling.automatic if name not in told)
    return replace(defaults.sampling, **told, automatic=left)


def _seed(asked: int | None, usual: int | None) -> int:
    if asked is not None:
        return asked % 2**63
    return secrets.randbits(63) if usual is None else usual


def _text(content: Content) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)


def _misfit(error: str) -> RefusedError:
    found = _FIELD.search(error)
    name = found.group(1) if found else None
    if name in _REFUSALS:
        return invalid(_REFUSALS[name], name, "unsupported_value")
    return invalid(f"The request is not as the API has it: {error[0].lower()}{error[1:]}.", name)
