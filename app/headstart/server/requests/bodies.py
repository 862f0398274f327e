"""The fields and types that bodies of several APIs share.

None means that a field is left out. Unknown fields are ignored: most have no meaning on your own computer. Fields that
would change the answer and are not supported stand in `fields.py`.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from msgspec import Meta, Struct

from headstart.engine.engine import MAX_TOP_LOGPROBS
from headstart.parameters import Parameter, SamplingParams, declared
from headstart.server.requests import fields
from headstart.server.requests.fields import Unsupported

_Class = TypeVar("_Class")
_Value = TypeVar("_Value")
MAX_INT = 2**31 - 1  # the largest whole number that a field takes
_LogitBias = Annotated[
    dict[Annotated[str, Meta(pattern="^[0-9]{1,9}$")], Annotated[float, Meta(ge=-100, le=100)]],
    Meta(description="What is added to the logits of tokens, by id.", examples=[{}]),
]
MAX_ANSWERS = 16  # per request
AnswerCount = Annotated[
    int, Meta(ge=1, le=MAX_ANSWERS, description="Answers to each prompt, of a seed and those after it.")
]
TokenId = Annotated[int, Meta(ge=0, le=MAX_INT)]
TokenIds = Annotated[list[TokenId], Meta(min_length=1)]
_ZERO_TOKENS = "0: the prompt is read, and stays in memory for the next request that begins like it. -1: the default."
Length = Annotated[
    int, Meta(ge=-1, le=MAX_INT, description=f"{_ZERO_TOKENS} Default: half the context; 16 in /v1/completions.")
]
NonEmpty = Annotated[str, Meta(min_length=1)]
JsonObject = dict[str, Any]  # a schema, arguments, or whatever else a client chooses the names of
Object = Annotated[JsonObject, Meta(examples=[{"type": "object"}])]
# A schema. What is none spoils no request: the tool then takes any object.
Parameters = Annotated[Any, Meta(extra_json_schema={"type": "object"}, examples=[{"type": "object"}])]
_Grammar = Annotated[NonEmpty, Meta(description="In Lark's notation or llama.cpp's.", examples=['start: "yes" | "no"'])]
_Choice = Annotated[list[NonEmpty], Meta(min_length=1, description="The answer is one of these texts.")]
_Pattern = Annotated[NonEmpty, Meta(description="The answer fits this regular expression.", examples=["[a-z]+"])]
_FollowedSchema = Annotated[
    JsonObject, Meta(description="A JSON schema that the answer follows.", examples=[{"type": "object"}])
]
_Format = Annotated[Literal["json"] | Object, Meta(description="`json`, or a JSON schema that the answer follows.")]
ModelName = Annotated[str, Meta(description="Default: the model in memory, or else the only one.")]
RepeatPenalty = Annotated[float, Meta(gt=0, le=10, description="The same as `repetition_penalty`.")]
Stream = Annotated[bool, Meta(description="Send the answer while it is written.")]
Name = Annotated[str, Meta(min_length=1, max_length=256)]
_MAX_STOPS = 64
Stops = Annotated[
    str | Annotated[list[NonEmpty], Meta(max_length=_MAX_STOPS)],
    Meta(description="Texts that end the answer, which does not have them."),
]
_StopOnRepetition = Annotated[
    bool,
    Meta(
        description="End an answer that repeats itself; its `finish_reason` is then `length`, and its `stop_reason` is "
        "`repetition`. Default: the answer goes on. Not in OpenAI's API."
    ),
]
Parallel = Annotated[bool, Meta(description="Whether an answer may have more than one call. Default: it has one.")]
TopLogprobs = Annotated[
    int, Meta(ge=0, le=MAX_TOP_LOGPROBS, description="Likeliest tokens to return for each token of the answer.")
]
_REPEATS = (
    "The same request then gets the same answer, whatever was asked before and whatever is guessed, as with "
    "temperature 0. `system_fingerprint` ends in `-varies` where the model's arithmetic cannot promise that. -1: "
    "another answer each time, whatever the server's own seed is."
)
Seed = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1, description=_REPEATS)]


@dataclass(frozen=True)
class ContentPart:
    """A part of a message: a text, which the Responses API calls `input_text` or `output_text`, or a refusal.

    Images, audio and files are refused; in results of tools and in earlier answers, a note takes their place.
    """

    type: str
    text: str | None = None
    refusal: str | None = None


Content = str | list[ContentPart]


@dataclass(frozen=True)
class FunctionTool:
    """A function that an answer may call; `parameters` is the JSON schema of its arguments."""

    name: Name
    description: str | None = None
    parameters: Parameters | None = None
    strict: bool | None = None


@dataclass(frozen=True)
class OfferedTool:
    """A tool that an answer may call. Tools of other types than `function` are left out: nobody can call them here."""

    type: str = "function"
    function: FunctionTool | None = None


@dataclass(frozen=True)
class StreamOptions:
    """Options of a streamed answer."""

    include_usage: bool | None = None


@dataclass(frozen=True)
class JsonSchema:
    """A JSON schema that the answer follows. Unless it is strict, the model decides what cannot be enforced."""

    name: str
    schema: Object
    description: str | None = None
    strict: bool | None = None


class TextFormat(Struct, frozen=True, tag_field="type", tag="text"):
    """An answer of any form."""


class JsonObjectFormat(Struct, frozen=True, tag_field="type", tag="json_object"):
    """An answer that is a JSON object, or follows `schema` if there is one, as in llama.cpp."""

    schema: Object | None = None


class JsonSchemaFormat(Struct, frozen=True, tag_field="type", tag="json_schema"):
    """An answer that follows a JSON schema."""

    json_schema: JsonSchema


class FlatSchema(Struct, frozen=True, tag_field="type", tag="json_schema"):
    """An answer that follows a JSON schema, as a request of the Responses API writes it."""

    name: str
    schema: Object
    description: str | None = None
    strict: bool | None = None


@dataclass(frozen=True)
class StructuredOutputs:
    """The form that an answer must have, as in vLLM. Exactly one field is set."""

    json: Object | None = None
    json_object: bool | None = None
    regex: _Pattern | None = None
    choice: _Choice | None = None
    grammar: _Grammar | None = None
    structural_tag: None = None


Effort = Annotated[
    Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    Meta(description="`none`: no thinking. Others allow it, and take effect where the chat template knows them."),
]
_Budget = Annotated[int, Meta(ge=0, le=MAX_INT, description="Most tokens of thinking; then the answer begins.")]


class TemplateValues(Struct, frozen=True, forbid_unknown_fields=True):
    """Values for the chat template, as in vLLM: those that switch thinking."""

    enable_thinking: bool | None = None
    thinking: bool | None = None
    reasoning_effort: Effort | None = None
    thinking_budget: _Budget | None = None


ResponseFormat = TextFormat | JsonObjectFormat | JsonSchemaFormat
_ResponseFormat = Annotated[ResponseFormat, Meta(description="Text, a JSON object, or what follows a JSON schema.")]


def with_parameters(cls: type[_Class], params: type[object] = SamplingParams) -> type[_Class]:
    """Add a field to a body for each sampling parameter that it does not declare itself."""
    for parameter in declared(params):
        if parameter.name not in cls.__annotations__:
            cls.__annotations__[parameter.name] = Annotated[parameter.kind, _meta(parameter)] | None
            setattr(cls, parameter.name, None)
    return cls


def _meta(parameter: Parameter) -> Meta:
    low, high = parameter.openai or (parameter.low, parameter.high)
    if parameter.kind is int and high is None:
        high = MAX_INT
    left_out = " Default: the model's own value." if parameter.is_models_own else ""
    description = f"{parameter.meaning}{left_out}"
    return (
        Meta(ge=low, le=high, description=description)
        if parameter.above is None
        else Meta(gt=parameter.above, le=high, description=description)
    )


@dataclass(frozen=True, kw_only=True)
@with_parameters
class AnswerRequest:
    """Fields that all kinds of requests for an answer share, and the sampling parameters.

    None means the value given to `headstart serve`, or else the model's own value.
    """

    unsupported: ClassVar[Unsupported] = fields.ANSWERS

    model: ModelName | None = None
    stream: Stream | None = None
    stream_options: StreamOptions | None = None
    stop: Stops | None = None
    stop_sequences: Stops | None = None
    max_tokens: Length | None = None
    max_completion_tokens: Length | None = None
    max_output_tokens: Length | None = None
    n_predict: Length | None = None
    num_predict: Length | None = None
    num_ctx: Annotated[int, Meta(ge=1, le=MAX_INT, description="At most the context of the model.")] | None = None
    top_k: Annotated[int, Meta(ge=-1, le=MAX_INT, description="-1 and 0 take all.")] | None = None
    seed: Seed | None = None
    stop_on_repetition: _StopOnRepetition | None = None
    logit_bias: _LogitBias | None = None
    repeat_penalty: RepeatPenalty | None = None
    guided_json: _FollowedSchema | None = None
    guided_regex: _Pattern | None = None
    guided_choice: _Choice | None = None
    guided_grammar: _Grammar | None = None
    structured_outputs: StructuredOutputs | None = None
    json_schema: _FollowedSchema | None = None
    grammar: _Grammar | None = None
    format: (
        Annotated[Literal["json"] | Object, Meta(description="`json`, or a JSON schema that the answer follows.")]
        | None
    ) = None
    response_format: _ResponseFormat | None = None
    reasoning_effort: Effort | None = None
    enable_thinking: Annotated[bool, Meta(description="Refused where the model has no switch.")] | None = None
    thinking_budget: _Budget | None = None
    thinking_budget_tokens: _Budget | None = None
    thinking_token_budget: _Budget | None = None
    chat_template_kwargs: TemplateValues | None = None
