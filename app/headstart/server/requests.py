"""OpenAI's requests, as far as they can be answered here, and the engine's requests made of them.

Unknown fields are ignored: most have no meaning on your own computer. A field that would change the answer and is not
supported is declared here, so that it can be refused.
"""

import json
import re
import secrets
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from headstart.engine.engine import MOST_LIKELIEST, Call, Message, Request, Sampling, Speculation, Tool, Tools
from headstart.parameters import Declared, SamplingParams, declared
from headstart.server.refusal import RefusedError, invalid

_Class = TypeVar("_Class")
_MOST = 2**31 - 1  # of a whole number
_Nothing = Annotated[list[Any], Meta(max_length=0, description="Not supported: leave it out.")]
_NoBias = Annotated[dict[str, float], Meta(max_length=0, description="Not supported: leave it out.")]
_One = Annotated[int, Meta(ge=1, le=1, description="One answer for each request.")]
_READ_ALONE = "0: the prompt is read, and stays in memory for the next request that begins like it. -1: the default."
_Count = Annotated[int, Meta(ge=-1, le=_MOST, description=f"{_READ_ALONE} Default: 16.")]
_Length = Annotated[int, Meta(ge=-1, le=_MOST, description=f"{_READ_ALONE} Default: half the context.")]
_Text = Annotated[str, Meta(min_length=1)]
_None = Annotated[int, Meta(ge=0, le=0, description="Not supported: leave it out.")]
NoObject = Annotated[dict[str, Any], Meta(max_length=0, description="Not supported: leave it out.")]
Object = Annotated[dict[str, Any], Meta(examples=[{"type": "object"}])]
_Grammar = Annotated[_Text, Meta(description="In Lark's notation or llama.cpp's.", examples=['start: "yes" | "no"'])]
_Choice = Annotated[list[_Text], Meta(min_length=1)]
_Pattern = Annotated[_Text, Meta(examples=["[a-z]+"])]
Name = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_.-]{1,64}$")]
_Stops = Annotated[list[_Text], Meta(max_length=16)]
_Repetition = Annotated[
    bool,
    Meta(
        description="End an answer that repeats itself; its `finish_reason` is then `length`, and its `stop_reason` is "
        "`repetition`. Default: the answer goes on. Not in OpenAI's API."
    ),
]
_Parallel = Annotated[bool, Meta(description="Whether an answer may have more than one call. Default: it has one.")]
_Likeliest = Annotated[
    int, Meta(ge=0, le=MOST_LIKELIEST, description="Likeliest tokens to return for each token of the answer.")
]
_REPEATS = (
    "The same request then gets the same answer, whatever was asked before, as with temperature 0. Guessing may still "
    "flip a near-tie, unless the server runs with `--numerics exact`."
)
_Seed = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1, description=_REPEATS)]


@dataclass(frozen=True)
class TextPart:
    """A part of a message."""

    type: Literal["text"]
    text: str


Content = str | Annotated[list[TextPart], Meta(min_length=1)]


@dataclass(frozen=True)
class CalledFunction:
    """What was called; `arguments` is a JSON object as text."""

    name: Name
    arguments: str = ""


@dataclass(frozen=True)
class ToolCall:
    """A call that the assistant made."""

    function: CalledFunction
    id: str | None = None
    type: Literal["function"] = "function"


class SystemMessage(Struct, frozen=True, tag_field="role", tag="system"):
    """What holds for the whole conversation."""

    content: Content


class DeveloperMessage(Struct, frozen=True, tag_field="role", tag="developer"):
    """The same."""

    content: Content


class UserMessage(Struct, frozen=True, tag_field="role", tag="user"):
    """What is asked."""

    content: Content


class AssistantMessage(Struct, frozen=True, tag_field="role", tag="assistant"):
    """An earlier answer; the last message is continued, unless it calls."""

    content: Content | None = None
    tool_calls: list[ToolCall] | None = None


class ToolMessage(Struct, frozen=True, tag_field="role", tag="tool"):
    """The result of a call; results stand in the order of their calls."""

    content: Content
    tool_call_id: str | None = None


ChatMessage = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True)
class FunctionTool:
    """A function that an answer may call; `parameters` is the JSON schema of its arguments."""

    name: Name
    description: str | None = None
    parameters: Annotated[dict[str, Any], Meta(examples=[{"type": "object"}])] | None = None
    strict: bool | None = None


@dataclass(frozen=True)
class OfferedTool:
    """A tool that an answer may call."""

    type: Literal["function"]
    function: FunctionTool


@dataclass(frozen=True)
class ChosenFunction:
    """The name of a function."""

    name: Name


@dataclass(frozen=True)
class ChosenTool:
    """The tool that an answer must call."""

    type: Literal["function"]
    function: ChosenFunction


@dataclass(frozen=True)
class Prediction:
    """Text that the answer may repeat. Guesses are taken from it; the answer stays the same."""

    type: Literal["content"]
    content: Content


@dataclass(frozen=True)
class StreamOptions:
    """How an answer is streamed."""

    include_usage: bool | None = None


@dataclass(frozen=True)
class JsonSchema:
    """A JSON schema that the answer follows, strict or not."""

    name: str
    schema: Annotated[dict[str, Any], Meta(examples=[{"type": "object"}])]
    description: str | None = None
    strict: bool | None = None


class AnyText(Struct, frozen=True, tag_field="type", tag="text"):
    """An answer of any form."""


class AnyObject(Struct, frozen=True, tag_field="type", tag="json_object"):
    """An answer that is a JSON object; `schema`, as llama.cpp has it, says more."""

    schema: Object | None = None


class OfSchema(Struct, frozen=True, tag_field="type", tag="json_schema"):
    """An answer that follows a JSON schema."""

    json_schema: JsonSchema


@dataclass(frozen=True)
class StructuredOutputs:
    """What an answer must keep to, as vLLM has it: one of these."""

    json: Object | None = None
    regex: _Pattern | None = None
    choice: _Choice | None = None
    grammar: _Grammar | None = None


ResponseFormat = AnyText | AnyObject | OfSchema


def with_parameters(cls: type[_Class], params: type[object] = SamplingParams) -> type[_Class]:
    """Adds to a body a field for each sampling parameter that it does not declare itself."""
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
    left_out = " Default: the model's own value." if about.is_models_own else ""
    description = f"{about.meaning}{left_out}"
    return (
        Meta(ge=low, le=high, description=description)
        if about.above is None
        else Meta(gt=about.above, le=high, description=description)
    )


@dataclass(frozen=True, kw_only=True)
@with_parameters
class AnswerRequest:
    """The fields of both kinds of requests, and the sampling parameters.

    None means the value given to `headstart serve`, or else the model's own value.
    """

    model: str
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    stop: str | _Stops | None = None
    top_k: Annotated[int, Meta(ge=-1, le=_MOST, description="-1 and 0 take all.")] | None = None
    seed: _Seed | None = None
    stop_on_repetition: _Repetition | None = None
    n: _One | None = None
    logit_bias: _NoBias | None = None
    repeat_penalty: Annotated[float, Meta(gt=0, le=10, description="The same as `repetition_penalty`.")] | None = None
    guided_json: Object | None = None
    guided_regex: _Pattern | None = None
    guided_choice: _Choice | None = None
    guided_grammar: _Grammar | None = None
    structured_outputs: StructuredOutputs | None = None
    json_schema: Object | None = None
    grammar: _Grammar | None = None
    format: Literal["json"] | Object | None = None
    min_tokens: _None | None = None
    ignore_eos: Literal[False] | None = None
    mirostat: _None | None = None
    chat_template_kwargs: NoObject | None = None
    modalities: list[Literal["text"]] | None = None


@dataclass(frozen=True, kw_only=True)
class ChatRequest(AnswerRequest):
    """Body of POST /v1/chat/completions."""

    messages: Annotated[list[ChatMessage], Meta(min_length=1)]
    max_tokens: _Length | None = None
    max_completion_tokens: _Length | None = None
    tools: list[OfferedTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenTool | None = None
    parallel_tool_calls: _Parallel | None = None
    functions: _Nothing | None = None
    function_call: Literal["none", "auto"] | None = None
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


_Body = TypeVar("_Body")
_NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}
_USUAL_TEXT = 16  # tokens of a completion, as in OpenAI's API
_FIELD = re.compile(r"`\$\.(\w+)")
_OTHER_PART = re.compile(r"\.content\[\.\.\.\]\.type|\.content\[\d+\]\.type")
_REFUSALS = {
    "output_format": "This route keeps to no schema: leave out `output_format`, or use /v1/chat/completions.",
    "output_config": "This route keeps to no schema: leave out `output_config`, or use /v1/chat/completions.",
    "functions": "Functions of the older form are not called here: send them as `tools`.",
    "function_call": "Functions of the older form are not called here: send `tool_choice`.",
    "n": "One answer comes for each request: leave out `n`, and ask again for another.",
    "best_of": "One answer comes for each request: leave out `best_of`.",
    "logit_bias": "Single tokens cannot be favoured here: leave out `logit_bias`.",
    "echo": "The prompt is not repeated here: leave out `echo`.",
    "min_tokens": "An answer has no least length here: leave out `min_tokens`.",
    "ignore_eos": "An answer ends where the model ends it: leave out `ignore_eos`.",
    "mirostat": "Mirostat is not supported: leave out `mirostat`, and use `top_p` or `min_p`.",
    "chat_template_kwargs": "The chat template takes no values of its own here: leave out `chat_template_kwargs`.",
    "modalities": "This model writes text only: leave out `modalities`.",
    "suffix": "Filling in before a `suffix` is not supported: put the model's markers into `prompt`, without `suffix`.",
}


@dataclass(frozen=True)
class Defaults:
    """Values for what a request leaves open. `seed` None: another one for each request.

    `length`: the longest answer to a conversation, in tokens; 0: half the context.
    """

    sampling: Sampling = field(default_factory=Sampling)
    speculation: Speculation = field(default_factory=Speculation)
    seed: int | None = None
    length: int = 0


def parsed(body: bytes, kind: type[_Body]) -> _Body:
    """The request in `body`. Raises RefusedError, which names the wrong field."""
    try:
        return msgspec.convert(_with_whole_numbers(msgspec.json.decode(body)), kind)
    except msgspec.ValidationError as error:
        raise _misfit(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(f"The body is not JSON ({error}): send one object.") from None
    except RecursionError:
        raise invalid("The body is nested too deeply: send one object as in /openapi.json.") from None


def _with_whole_numbers(data: object) -> object:
    """JSON has one kind of number: 5.0 is a whole number."""
    if not isinstance(data, dict):
        return data
    return {key: int(item) if isinstance(item, float) and item.is_integer() else item for key, item in data.items()}


def chat_order(asked: ChatRequest, defaults: Defaults) -> Request:
    """The engine's request for a conversation."""
    length = _first(asked.max_completion_tokens, asked.max_tokens, defaults.length)
    messages = tuple(_message(turn, f"messages[{place}]") for place, turn in enumerate(asked.messages))
    return replace(
        order_of(asked, defaults, messages, length),
        prediction=text_of(asked.prediction.content) if asked.prediction else "",
        tools=_tools(asked),
        likeliest=_likeliest(asked),
    )


def _message(turn: ChatMessage, place: str) -> Message:
    match turn:
        case SystemMessage() | DeveloperMessage():
            return Message("system", text_of(turn.content))
        case UserMessage():
            return Message("user", text_of(turn.content))
        case ToolMessage():
            return Message("tool", text_of(turn.content))
        case AssistantMessage():
            calls = tuple(
                Call(each.function.name, arguments_of(each.function.arguments, f"{place}.tool_calls[{number}]"))
                for number, each in enumerate(turn.tool_calls or ())
            )
            return Message("assistant", text_of(turn.content or ""), calls)


def arguments_of(text: str, place: str) -> str:
    """The arguments of an earlier call. Raises RefusedError for what is no JSON object."""
    try:
        if isinstance(msgspec.json.decode(text or "{}"), dict):
            return text or "{}"
    except (msgspec.DecodeError, RecursionError):
        pass
    raise invalid(f"The arguments of `{place}` are not a JSON object: send them as the call had them.", "messages")


def _tools(asked: ChatRequest) -> Tools | None:
    choice = asked.tool_choice
    offered = tuple(tool_of(tool.function) for tool in asked.tools or ())
    if choice == "none":
        return None
    only = choice.function.name if isinstance(choice, ChosenTool) else ""
    return tools_of(offered, required=choice == "required", only=only, parallel=bool(asked.parallel_tool_calls))


def tool_of(asked: FunctionTool) -> Tool:
    """The engine's form of a tool. Raises RefusedError."""
    parameters = asked.parameters or _NO_PARAMETERS
    parameters = parameters if "type" in parameters else {"type": "object", **parameters}
    if parameters["type"] != "object":
        raise invalid(f"The parameters of the tool {asked.name!r} must be of the type `object`.", "tools")
    schema = msgspec.json.encode(parameters).decode()
    return Tool(asked.name, schema, asked.description or "", strict=bool(asked.strict))


def tools_of(offered: tuple[Tool, ...], *, required: bool, only: str, parallel: bool) -> Tools | None:
    """What an answer may call, and how. Raises RefusedError."""
    names = [tool.name for tool in offered]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise invalid(f"Two tools are called {twice!r}: give each its own name.", "tools")
    if only and only not in names:
        raise invalid(f"`tool_choice` names {only!r}, which is not in `tools`: choose one of them.", "tool_choice")
    if required and not offered:
        raise invalid("`tool_choice` asks for a call, but there are no `tools`: send some.", "tool_choice")
    return Tools(offered, required or bool(only), only, parallel) if offered else None


def text_order(asked: TextRequest, defaults: Defaults) -> Request:
    """The engine's request for a text to continue."""
    prompt = asked.prompt if isinstance(asked.prompt, str) else asked.prompt[0]
    length = _first(asked.max_tokens, _USUAL_TEXT)
    return replace(order_of(asked, defaults, (), length, prompt), likeliest=asked.logprobs)


def order_of(
    asked: AnswerRequest, defaults: Defaults, messages: tuple[Message, ...], length: int, prompt: str = ""
) -> Request:
    """What both kinds of requests ask for. Raises RefusedError."""
    stops = ((asked.stop,) if asked.stop else ()) if isinstance(asked.stop, str) else tuple(asked.stop or ())
    sampling = _sampling(asked, defaults)
    order = Request(messages, length, sampling, defaults.speculation, stops, prompt)
    schema, grammar = _form(asked)
    return replace(
        order,
        stop_on_repetition=bool(asked.stop_on_repetition),
        schema=schema,
        grammar=grammar,
        repeatable=_has_seed(asked, defaults) or _is_greedy(sampling),
    )


def _first(*lengths: int | None) -> int:
    """The first that was named; 0 is a length, too, and -1 is none."""
    return next(length for length in lengths if length is not None and length >= 0)


def _likeliest(asked: ChatRequest) -> int | None:
    """`top_logprobs` alone is enough."""
    wanted = asked.top_logprobs is not None if asked.logprobs is None else asked.logprobs
    return asked.top_logprobs or 0 if wanted else None


def _form(asked: AnswerRequest) -> tuple[str, str]:
    """The JSON schema that an answer keeps to, or the grammar, wherever a request says it. Raises RefusedError."""
    outputs = asked.structured_outputs or StructuredOutputs()
    schemas = {
        "response_format": _schema(asked.response_format) if isinstance(asked, ChatRequest) else None,
        "format": {"type": "object"} if asked.format == "json" else asked.format,
        "guided_json": asked.guided_json,
        "json_schema": asked.json_schema,
        "structured_outputs.json": outputs.json,
    }
    grammars = {
        "grammar": asked.grammar,
        "guided_grammar": asked.guided_grammar,
        "structured_outputs.grammar": outputs.grammar,
        "guided_regex": _of_pattern(asked.guided_regex),
        "structured_outputs.regex": _of_pattern(outputs.regex),
        "guided_choice": _of_choice(asked.guided_choice),
        "structured_outputs.choice": _of_choice(outputs.choice),
    }
    named = [name for name, form in (*schemas.items(), *grammars.items()) if form is not None]
    if len(named) > 1:
        first, second, *_ = named
        raise invalid(f"An answer keeps to one form: leave out `{first}` or `{second}`.", first.partition(".")[0])
    schema = next((form for form in schemas.values() if form is not None), None)
    grammar = next((form for form in grammars.values() if form is not None), "")
    has_tools = isinstance(asked, ChatRequest) and asked.tools and asked.tool_choice != "none"
    if grammar and has_tools:
        raise invalid(f"An answer with tools keeps to no grammar: leave out `{named[0]}` or `tools`.", "tools")
    return "" if schema is None else msgspec.json.encode(schema).decode(), grammar


def _of_pattern(pattern: str | None) -> str | None:
    """A regular expression as a grammar."""
    escaped = re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", pattern) if pattern else None
    return f"start: /{escaped}/" if escaped else None


def _of_choice(choice: list[str] | None) -> str | None:
    """Some texts as a grammar."""
    return f"start: {' | '.join(json.dumps(text) for text in choice)}" if choice else None


def _schema(asked: ResponseFormat | None) -> dict[str, Any] | None:
    match asked:
        case AnyObject(schema=wanted):
            return wanted or {"type": "object"}
        case OfSchema(json_schema=wanted):
            return wanted.schema
        case _:
            return None


def _sampling(asked: AnswerRequest, defaults: Defaults) -> Sampling:
    values = {each.field: getattr(asked, each.name) for each in declared(Sampling)}
    told = {name: value for name, value in values.items() if value is not None}
    if asked.repeat_penalty is not None:
        told.setdefault("repetition_penalty", asked.repeat_penalty)
    if asked.top_k is not None:
        told["top_k"] = max(0, asked.top_k)
    told["seed"] = _seed(asked.seed, defaults.seed)
    left = tuple(name for name in defaults.sampling.automatic if name not in told)
    return replace(defaults.sampling, **told, automatic=left)


def _has_seed(asked: AnswerRequest, defaults: Defaults) -> bool:
    return asked.seed is not None or defaults.seed is not None


def _is_greedy(sampling: Sampling) -> bool:
    """Because somebody said so; a model of which nothing is known is greedy, too."""
    return sampling.temperature == 0 and "temperature" not in sampling.automatic


def _seed(asked: int | None, usual: int | None) -> int:
    if asked is not None:
        return asked % 2**63
    return secrets.randbits(63) if usual is None else usual


def text_of(content: Content) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)


def _misfit(error: str) -> RefusedError:
    found = _FIELD.search(error)
    name = found.group(1) if found else None
    if name == "messages" and _OTHER_PART.search(error):
        return invalid("This model reads text only: leave out images, audio and files.", name, "unsupported_value")
    if name in _REFUSALS:
        return invalid(_REFUSALS[name], name, "unsupported_value")
    return invalid(f"The request is not valid: {error[0].lower()}{error[1:]}.", name)
