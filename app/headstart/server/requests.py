"""OpenAI's requests, as far as they can be answered here, and the engine's requests made of them.

Unknown fields are ignored: most have no meaning on your own computer. A field that would change the answer and is not
supported is declared here, so that it can be refused.
"""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
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
_Bias = Annotated[
    dict[Annotated[str, Meta(pattern="^[0-9]{1,9}$")], Annotated[float, Meta(ge=-100, le=100)]],
    Meta(description="What is added to the logits of tokens, by id.", examples=[{}]),
]
_One = Annotated[int, Meta(ge=1, le=1, description="The only answer is the best one.")]
MOST_ANSWERS = 16  # to one request
_Several = Annotated[
    int, Meta(ge=1, le=MOST_ANSWERS, description="Answers to each prompt, of a seed and those after it.")
]
TokenId = Annotated[int, Meta(ge=0, le=_MOST)]
_Ids = Annotated[list[TokenId], Meta(min_length=1)]
MOST_TEXTS = 2048  # of one request for vectors, and tokens of one that is sent as such; as OpenAI has it
_Prompts = Annotated[list[str | TokenId | list[TokenId]], Meta(min_length=1)]
_READ_ALONE = "0: the prompt is read, and stays in memory for the next request that begins like it. -1: the default."
_Count = Annotated[int, Meta(ge=-1, le=_MOST, description=f"{_READ_ALONE} Default: 16.")]
Length = Annotated[int, Meta(ge=-1, le=_MOST, description=f"{_READ_ALONE} Default: half the context.")]
_Text = Annotated[str, Meta(min_length=1)]
_None = Annotated[int, Meta(ge=0, le=0, description="Not supported: leave it out.")]
_Off = Annotated[float, Meta(ge=0, le=0, description="Not supported: leave it out.")]
_Whole = Annotated[float, Meta(ge=1, le=1, description="Not supported: leave it out.")]
NoText = Annotated[str, Meta(max_length=0, description="Not supported: leave it out.")]
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
Parallel = Annotated[bool, Meta(description="Whether an answer may have more than one call. Default: it has one.")]
Likeliest = Annotated[
    int, Meta(ge=0, le=MOST_LIKELIEST, description="Likeliest tokens to return for each token of the answer.")
]
_REPEATS = (
    "The same request then gets the same answer, whatever was asked before and whatever is guessed, as with "
    "temperature 0. `system_fingerprint` ends in `-varies` where the model's arithmetic cannot promise that."
)
_Seed = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1, description=_REPEATS)]


@dataclass(frozen=True)
class TextPart:
    """A part of a message; the Responses API has two more names for it."""

    type: Literal["text", "input_text", "output_text"]
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
    parameters: Object | None = None
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
    schema: Object
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
    json_object: bool | None = None
    regex: _Pattern | None = None
    choice: _Choice | None = None
    grammar: _Grammar | None = None
    structural_tag: NoText | None = None


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
    logit_bias: _Bias | None = None
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
    typical_p: _Whole | None = None
    dynatemp_range: _Off | None = None
    xtc_probability: _Off | None = None
    dry_multiplier: _Off | None = None
    use_beam_search: Literal[False] | None = None
    stop_token_ids: _Nothing | None = None
    allowed_token_ids: _Nothing | None = None
    bad_words: _Nothing | None = None
    include_stop_str_in_output: Literal[False] | None = None
    options: NoObject | None = None
    chat_template_kwargs: NoObject | None = None
    modalities: list[Literal["text"]] | None = None


@dataclass(frozen=True, kw_only=True)
class ChatRequest(AnswerRequest):
    """Body of POST /v1/chat/completions."""

    messages: Annotated[list[ChatMessage], Meta(min_length=1)]
    n: _Several | None = None
    max_tokens: Length | None = None
    max_completion_tokens: Length | None = None
    n_predict: Length | None = None
    tools: list[OfferedTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenTool | None = None
    parallel_tool_calls: Parallel | None = None
    functions: _Nothing | None = None
    function_call: Literal["none", "auto"] | None = None
    logprobs: bool | None = None
    top_logprobs: Likeliest | None = None
    response_format: ResponseFormat | None = None
    prediction: Prediction | None = None


@dataclass(frozen=True, kw_only=True)
class TextRequest(AnswerRequest):
    """Body of POST /v1/completions."""

    prompt: Annotated[str | _Prompts, Meta(description="A text, its tokens, or a list of texts or of lists of tokens.")]
    n: _Several | None = None
    max_tokens: _Count | None = None
    n_predict: _Count | None = None
    echo: Annotated[bool, Meta(description="Begin each answer with its prompt, and its `logprobs`.")] | None = None
    best_of: _One | None = None
    suffix: Annotated[str, Meta(description="The answer fills the gap before it, if the model can.")] | None = None
    logprobs: Likeliest | None = None


@dataclass(frozen=True, kw_only=True)
class EmbeddingRequest:
    """Body of POST /v1/embeddings."""

    model: str
    input: Annotated[
        _Text | Annotated[list[_Text | TokenId | _Ids], Meta(min_length=1, max_length=MOST_TEXTS)],
        Meta(description="A text, its tokens, or a list of texts or of lists of tokens."),
    ]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Meta(ge=1, le=_MOST)] | None = None
    user: str | None = None


_Body = TypeVar("_Body")
_NO_SCHEMA: Mapping[str, dict[str, Any] | None] = {}
_NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}
_USUAL_TEXT = 16  # tokens of a completion, as in OpenAI's API
_FIELD = re.compile(r"`\$\.(\w+)")
_OTHER_PART = re.compile(r"\.content\[\.\.\.\]\.type|\.content\[\d+\]\.type")
_EXPECTED = re.compile(r"Expected `([^`]+)`(.*?)(?:, got `([^`]+)`)?", re.DOTALL)
_LACKS = re.compile(r"Object missing required field `([^`]+)`")
_CHOSEN = re.compile(r"Invalid enum value (.+)", re.DOTALL)
_KINDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_UNSUPPORTED = (
    "typical_p",
    "dynatemp_range",
    "xtc_probability",
    "dry_multiplier",
    "use_beam_search",
    "stop_token_ids",
    "allowed_token_ids",
    "bad_words",
    "include_stop_str_in_output",
)
_REFUSALS = {
    **{name: f"`{name}` is not supported: leave it out." for name in _UNSUPPORTED},
    "options": "`options` are not read here: send what is in them beside `messages`.",
    "structured_outputs": "`structured_outputs` takes one of `json`, `json_object`, `regex`, `choice` and `grammar`: "
    "correct it.",
    "stop": "`stop` takes a text, or a list of up to 16 that are not empty: correct it.",
    "output_format": "This route keeps to no schema: leave out `output_format`, or use /v1/chat/completions.",
    "output_config": "This route keeps to no schema: leave out `output_config`, or use /v1/chat/completions.",
    "functions": "Functions of the older form are not called here: send them as `tools`.",
    "function_call": "Functions of the older form are not called here: send `tool_choice`.",
    "n": f"A request may ask for 1 to {MOST_ANSWERS} answers: correct `n`, and ask again for more.",
    "best_of": "The best of several answers is not chosen here: leave out `best_of`, or ask for `n`.",
    "logit_bias": "`logit_bias` takes numbers from -100 to 100 by token id: correct it.",
    "min_tokens": "An answer has no least length here: leave out `min_tokens`.",
    "ignore_eos": "An answer ends where the model ends it: leave out `ignore_eos`.",
    "mirostat": "Mirostat is not supported: leave out `mirostat`, and use `top_p` or `min_p`.",
    "chat_template_kwargs": "The chat template takes no values of its own here: leave out `chat_template_kwargs`.",
    "modalities": "This model writes text only: leave out `modalities`.",
    "previous_response_id": "Nothing is stored here: leave out `previous_response_id`, and send the whole conversation "
    "as `input`.",
    "conversation": "Nothing is stored here: leave out `conversation`, and send it as `input`.",
    "parse_special": "The names of control tokens are always read as such here: leave out `parse_special`.",
    "with_pieces": "Only the ids of tokens are told: leave out `with_pieces`.",
    "return_token_strs": "Only the ids of tokens are told: leave out `return_token_strs`.",
    "background": "An answer is not kept for later here: leave out `background`.",
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
    length = first_length(asked.max_completion_tokens, asked.max_tokens, asked.n_predict, defaults.length)
    schema = {"response_format": schema_of(asked.response_format)}
    return replace(
        order_of(asked, defaults, messages_of(asked.messages), length, _tools(asked), schema),
        prediction=text_of(asked.prediction.content) if asked.prediction else "",
        likeliest=_likeliest(asked),
    )


def messages_of(turns: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """The engine's form of a conversation. Raises RefusedError."""
    return tuple(_message(turn, f"messages[{place}]") for place, turn in enumerate(turns))


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
    raise invalid(
        f"The arguments of `{place}` are not a JSON object: send them as the call had them.", place.partition("[")[0]
    )


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


def text_orders(asked: TextRequest, defaults: Defaults) -> list[Request]:
    """The engine's requests for the texts to continue. Raises RefusedError."""
    prompts = _prompts(asked)
    if len(prompts) * (asked.n or 1) > MOST_ANSWERS:
        raise invalid(f"A request may ask for {MOST_ANSWERS} answers at most: send fewer prompts at a time.", "prompt")
    if asked.echo and asked.suffix:
        raise invalid("What fills a gap is told alone: leave out `echo` or `suffix`.", "echo")
    length = first_length(asked.max_tokens, asked.n_predict, _USUAL_TEXT)
    orders = (order_of(asked, defaults, (), length, prompt=prompt, suffix=asked.suffix or "") for prompt in prompts)
    told = (replace(order, likeliest=asked.logprobs, echo=bool(asked.echo)) for order in orders)
    return [each for order in told for each in several(order, asked.n)]


def embedding_order(asked: EmbeddingRequest) -> Request:
    """The engine's request for the vectors of texts. Raises RefusedError."""
    return Request((), inputs=tuple(_texts(asked.input, "input")))


def _prompts(asked: TextRequest) -> list[str | tuple[int, ...]]:
    prompts = _texts(asked.prompt, "prompt")
    if not asked.suffix and not all(prompts):
        raise invalid("`prompt` has nothing in it: send at least one character or token.", "prompt")
    return prompts


def _texts(given: str | Sequence[str | int | list[int]], name: str) -> list[str | tuple[int, ...]]:
    """A text, its tokens, or several of them. Raises RefusedError."""
    given = [given] if isinstance(given, str) else given
    ids = tuple(each for each in given if isinstance(each, int))
    if ids and len(ids) < len(given):
        raise invalid(f"`{name}` mixes token ids with texts: send a list of one kind.", name)
    texts = [each if isinstance(each, str) else tuple(each) for each in given if not isinstance(each, int)]
    return [ids] if ids else [*texts]


def several(order: Request, count: int | None) -> list[Request]:
    """An order for each of the answers that are asked for; where there is noise, each has its own."""
    seed = order.sampling.seed
    return [
        replace(order, sampling=replace(order.sampling, seed=(seed + number) % 2**63)) for number in range(count or 1)
    ]


def order_of(
    asked: AnswerRequest,
    defaults: Defaults,
    messages: tuple[Message, ...],
    length: int,
    tools: Tools | None = None,
    schema: Mapping[str, dict[str, Any] | None] = _NO_SCHEMA,
    prompt: str | tuple[int, ...] = "",
    suffix: str = "",
) -> Request:
    """What all kinds of requests ask for. `schema`: where else a request may have one, and it. Raises RefusedError."""
    stops = ((asked.stop,) if asked.stop else ()) if isinstance(asked.stop, str) else tuple(asked.stop or ())
    sampling = _sampling(asked, defaults)
    kept_to, grammar = _form(asked, schema, has_tools=tools is not None)
    return Request(
        messages,
        length,
        sampling,
        defaults.speculation,
        stops,
        schema=kept_to,
        grammar=grammar,
        tools=tools,
        stop_on_repetition=bool(asked.stop_on_repetition),
        bias={int(token): value for token, value in (asked.logit_bias or {}).items() if value},
        suffix=suffix,
        **({"prompt": prompt} if isinstance(prompt, str) else {"prompt_ids": prompt}),
    )


def first_length(*lengths: int | None) -> int:
    """The first that was named; 0 is a length, too, and -1 is none."""
    return next(length for length in lengths if length is not None and length >= 0)


def _likeliest(asked: ChatRequest) -> int | None:
    """`top_logprobs` alone is enough."""
    wanted = asked.top_logprobs is not None if asked.logprobs is None else asked.logprobs
    return asked.top_logprobs or 0 if wanted else None


def _form(asked: AnswerRequest, schema: Mapping[str, dict[str, Any] | None], *, has_tools: bool) -> tuple[str, str]:
    """The JSON schema that an answer keeps to, or the grammar, wherever a request says it. Raises RefusedError."""
    outputs = asked.structured_outputs or StructuredOutputs()
    schemas = {
        **schema,
        "format": {"type": "object"} if asked.format == "json" else asked.format,
        "guided_json": asked.guided_json,
        "json_schema": asked.json_schema,
        "structured_outputs.json": outputs.json,
        "structured_outputs.json_object": {"type": "object"} if outputs.json_object else None,
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
    kept_to = next((form for form in schemas.values() if form is not None), None)
    grammar = next((form for form in grammars.values() if form is not None), "")
    if grammar and has_tools:
        raise invalid(f"An answer with tools keeps to no grammar: leave out `{named[0]}` or `tools`.", "tools")
    return "" if kept_to is None else msgspec.json.encode(kept_to).decode(), grammar


def _of_pattern(pattern: str | None) -> str | None:
    """A regular expression as a grammar."""
    escaped = re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", pattern) if pattern else None
    return f"start: /{escaped}/" if escaped else None


def _of_choice(choice: list[str] | None) -> str | None:
    """Some texts as a grammar."""
    return f"start: {' | '.join(json.dumps(text) for text in choice)}" if choice else None


def schema_of(asked: ResponseFormat | None) -> dict[str, Any] | None:
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


def _seed(asked: int | None, usual: int | None) -> int:
    if asked is not None:
        return asked % 2**63
    return secrets.randbits(63) if usual is None else usual


def text_of(content: Content) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)


def _misfit(error: str) -> RefusedError:
    found = _FIELD.search(error)
    name = found.group(1) if found else None
    if name in {"messages", "input"} and _OTHER_PART.search(error):
        return invalid("This model reads text only: leave out images, audio and files.", name, "unsupported_value")
    if name in _REFUSALS:
        return invalid(_REFUSALS[name], name, "unsupported_value")
    return invalid(f"{_in_our_words(error)}: see /openapi.json.", name)


def _in_our_words(error: str) -> str:
    """A sentence of msgspec, as a person would say it."""
    said, _, place = error.partition(" - at `$")
    field = place.rstrip("`").removeprefix(".")
    subject = f"`{field}`" if field else "The request"
    if lacks := _LACKS.fullmatch(said):
        return f"{subject} lacks `{lacks.group(1)}`"
    if chosen := _CHOSEN.fullmatch(said):
        return f"{subject} cannot be {chosen.group(1)}"
    if expected := _EXPECTED.fullmatch(said):
        wanted, bounds, got = (part or "" for part in expected.groups())
        return f"{subject} must be {_kinds(wanted)}{bounds}{got and f', not {_kinds(got)}'}"
    return f"{subject} is not as it should be ({said})"


def _kinds(said: str) -> str:
    return " or ".join(_KINDS.get(kind, kind) for kind in said.split(" | "))
