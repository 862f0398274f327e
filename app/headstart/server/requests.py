"""Requests of OpenAI's API, and their translation into requests to the engine.

Unknown fields are ignored: most have no meaning on your own computer. A field that would change the answer and is not
supported stands in a table of unsupported fields, so that it can be refused. So is what looks like a typing error.
"""

import json
import re
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, inspect

from headstart.engine.engine import MAX_LIKELIEST, Call, Message, Request, Sampling, Speculation, Tool, Tools
from headstart.engine.json_schema import hold
from headstart.parameters import Parameter, SamplingParams, declared
from headstart.server.errors import RefusedError, invalid
from headstart.server.history import History
from headstart.tools.calls import MAX_DEPTH, depth, whole_arguments

_Class = TypeVar("_Class")
_Value = TypeVar("_Value")
_MAX_INT = 2**31 - 1  # the largest whole number that a field takes
# Types of unsupported fields: they take only the values that change nothing.
_Nothing = Annotated[None, Meta(description="Not supported: leave it out.")]
_Zero = Annotated[int, Meta(ge=0, le=0, description="Not supported: leave it out.")]
_ZeroFloat = Annotated[float, Meta(ge=0, le=0, description="Not supported: leave it out.")]
_OneFloat = Annotated[float, Meta(ge=1, le=1, description="Not supported: leave it out.")]
_OneInt = Annotated[int, Meta(ge=1, le=1, description="Not supported: leave it out.")]
_EmptyList = Annotated[list[Any], Meta(max_length=0, description="Not supported: leave it out.")]
_NoText = Annotated[str, Meta(max_length=0, description="Not supported: leave it out.")]
_NoObject = Annotated[dict[str, Any], Meta(max_length=0, description="Not supported: leave it out.")]

_LogitBias = Annotated[
    dict[Annotated[str, Meta(pattern="^[0-9]{1,9}$")], Annotated[float, Meta(ge=-100, le=100)]],
    Meta(description="What is added to the logits of tokens, by id.", examples=[{}]),
]
MAX_ANSWERS = 16  # per request
_N = Annotated[int, Meta(ge=1, le=MAX_ANSWERS, description="Answers to each prompt, of a seed and those after it.")]
TokenId = Annotated[int, Meta(ge=0, le=_MAX_INT)]
_TokenIds = Annotated[list[TokenId], Meta(min_length=1)]
MAX_TEXTS = 2048  # texts of a request for embeddings, or tokens of a text sent as tokens, as in OpenAI's API
_Prompts = Annotated[list[str | TokenId | list[TokenId]], Meta(min_length=1)]
_ZERO_TOKENS = "0: the prompt is read, and stays in memory for the next request that begins like it. -1: the default."
Length = Annotated[
    int, Meta(ge=-1, le=_MAX_INT, description=f"{_ZERO_TOKENS} Default: half the context; 16 in /v1/completions.")
]
_Text = Annotated[str, Meta(min_length=1)]
Object = Annotated[dict[str, Any], Meta(examples=[{"type": "object"}])]
# A schema. What is none spoils no request: the tool then takes any object.
Parameters = Annotated[Any, Meta(extra_json_schema={"type": "object"}, examples=[{"type": "object"}])]
_Grammar = Annotated[_Text, Meta(description="In Lark's notation or llama.cpp's.", examples=['start: "yes" | "no"'])]
_Choice = Annotated[list[_Text], Meta(min_length=1)]
_Pattern = Annotated[_Text, Meta(examples=["[a-z]+"])]
_Model = Annotated[str, Meta(description="Default: the model in memory, or else the only one.")]
_GenerationPrompt = Annotated[bool, Meta(description="false: only with `continue_final_message`.")]
Name = Annotated[str, Meta(min_length=1, max_length=256)]
_MAX_STOPS = 64
Stops = str | Annotated[list[_Text], Meta(max_length=_MAX_STOPS)]
_StopOnRepetition = Annotated[
    bool,
    Meta(
        description="End an answer that repeats itself; its `finish_reason` is then `length`, and its `stop_reason` is "
        "`repetition`. Default: the answer goes on. Not in OpenAI's API."
    ),
]
Parallel = Annotated[bool, Meta(description="Whether an answer may have more than one call. Default: it has one.")]
Likeliest = Annotated[
    int, Meta(ge=0, le=MAX_LIKELIEST, description="Likeliest tokens to return for each token of the answer.")
]
_REPEATS = (
    "The same request then gets the same answer, whatever was asked before and whatever is guessed, as with "
    "temperature 0. `system_fingerprint` ends in `-varies` where the model's arithmetic cannot promise that."
)
Seed = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1, description=_REPEATS)]


@dataclass(frozen=True)
class Part:
    """A part of a message: a text, which the Responses API calls `input_text` or `output_text`, or a refusal.

    Images, audio and files are refused; in results of tools and in earlier answers, a note takes their place.
    """

    type: str
    text: str | None = None
    refusal: str | None = None


Content = str | list[Part]


@dataclass(frozen=True)
class CalledFunction:
    """The function of a call; `arguments` is a JSON object as text."""

    name: Name
    arguments: str = ""


@dataclass(frozen=True)
class ToolCall:
    """A call that the assistant made."""

    function: CalledFunction
    id: str | None = None
    type: Literal["function"] = "function"


class SystemMessage(Struct, frozen=True, tag_field="role", tag="system"):
    """Instructions for the whole conversation."""

    content: Content


class DeveloperMessage(Struct, frozen=True, tag_field="role", tag="developer"):
    """Instructions for the whole conversation."""

    content: Content


class UserMessage(Struct, frozen=True, tag_field="role", tag="user"):
    """A message of the user."""

    content: Content


class AssistantMessage(Struct, frozen=True, tag_field="role", tag="assistant"):
    """An earlier answer. The last message is continued, unless it has calls."""

    content: Content | None = None
    tool_calls: list[ToolCall] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class ToolMessage(Struct, frozen=True, tag_field="role", tag="tool"):
    """The result of a call, with the call's id. Without one, results stand in the order of their calls."""

    content: Content | None
    tool_call_id: str | None = None


ChatMessage = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage


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
class ChosenFunction:
    """The name of a function."""

    name: Name


@dataclass(frozen=True)
class ChosenTool:
    """The tool that an answer must call."""

    type: str = "function"
    function: ChosenFunction | None = None


@dataclass(frozen=True)
class Prediction:
    """Text that the answer may repeat. Guesses are taken from it; the answer stays the same."""

    type: Literal["content"]
    content: Content


@dataclass(frozen=True)
class StreamOptions:
    """Options of a streamed answer."""

    include_usage: bool | None = None


@dataclass(frozen=True)
class JsonSchema:
    """A JSON schema that the answer follows. Unless it is strict, what cannot be kept to is left to the model."""

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
    structural_tag: _NoText | None = None


Effort = Annotated[
    Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    Meta(description="`none`: no thinking. Others allow it, and take effect where the chat template knows them."),
]
USUAL_EFFORT: Effort = "medium"
_KNOWN_EFFORTS = {"minimal": "low", "xhigh": "high", "max": "high"}  # the names that chat templates have for them
_Budget = Annotated[int, Meta(ge=0, le=_MAX_INT, description="Most tokens of thinking; then the answer begins.")]


class TemplateValues(Struct, frozen=True, forbid_unknown_fields=True):
    """Values for the chat template, as in vLLM: those that switch thinking."""

    enable_thinking: bool | None = None
    thinking: bool | None = None
    reasoning_effort: Effort | None = None
    thinking_budget: _Budget | None = None


ResponseFormat = TextFormat | JsonObjectFormat | JsonSchemaFormat


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
        high = _MAX_INT
    left_out = " Default: the model's own value." if parameter.is_models_own else ""
    description = f"{parameter.meaning}{left_out}"
    return (
        Meta(ge=low, le=high, description=description)
        if parameter.above is None
        else Meta(gt=parameter.above, le=high, description=description)
    )


# Fields that would change the answer and are not supported, with the type of the values that change nothing and the
# sentence that refuses every other value.
Unsupported = Mapping[str, tuple[Any, str]]


def _by_name(neutral: Any, *names: str) -> Unsupported:
    return {name: (neutral, f"`{name}` is not supported: leave it out.") for name in names}


_UNSUPPORTED: Unsupported = {
    "min_tokens": (_Zero, "An answer has no least length here: leave out `min_tokens`."),
    "ignore_eos": (Literal[False], "An answer ends where the model ends it: leave out `ignore_eos`."),
    "mirostat": (_Zero, "Mirostat is not supported: leave out `mirostat`, and use `top_p` or `min_p`."),
    "mirostat_mode": (_Zero, "Mirostat is not supported: leave out `mirostat_mode`, and use `top_p` or `min_p`."),
    **_by_name(_ZeroFloat, "dynatemp_range", "xtc_probability", "dry_multiplier", "smoothing_factor"),
    **_by_name(_ZeroFloat, "top_a", "epsilon_cutoff", "eta_cutoff", "penalty_alpha"),
    **_by_name(_OneFloat, "typical_p", "tfs_z", "tfs", "length_penalty"),
    **_by_name(_OneInt, "num_beams"),
    **_by_name(Annotated[float, Meta(le=0)], "top_n_sigma"),
    **_by_name(Literal[False], "use_beam_search", "early_stopping", "include_stop_str_in_output"),
    **_by_name(_EmptyList, "stop_token_ids", "allowed_token_ids", "bad_words", "logits_processors", "lora"),
    "best_of": (_OneInt, "The best of several answers is not chosen here: leave out `best_of`, or ask for `n`."),
    "repeat_last_n": (
        Literal[-1],
        "`repetition_penalty` counts prompt and answer here, however long they are: leave out `repeat_last_n`.",
    ),
    "skip_special_tokens": (Literal[True], "Control tokens are never shown here: leave out `skip_special_tokens`."),
    "truncate_prompt_tokens": (
        _Nothing,
        "No prompt is cut here: leave out `truncate_prompt_tokens`, and send what is to be read.",
    ),
    "prompt_logprobs": (
        _Nothing,
        "`prompt_logprobs` is not supported: leave it out, or send `echo` and `logprobs` to /v1/completions.",
    ),
    "n_probs": (_Zero, "`n_probs` is not supported: send `logprobs` or `top_logprobs`."),
    **{
        name: (Literal[False], f"Only the texts of tokens are told: leave out `{name}`.")
        for name in ("return_token_ids", "return_tokens", "return_tokens_as_token_ids")
    },
    "options": (_NoObject, "`options` are not read here: send what is in them beside `messages`."),
    "chat_template": (_NoText, "The chat template is the model's own here: leave out `chat_template`."),
    "modalities": (list[Literal["text"]], "This model writes text only: leave out `modalities`."),
}
_UNSUPPORTED_IN_CHAT: Unsupported = {
    "functions": (_EmptyList, "Functions of the older form are not called here: send them as `tools`."),
    "function_call": (
        Literal["none", "auto"],
        "Functions of the older form are not called here: send `tool_choice`.",
    ),
    "system": (_NoText | _EmptyList, "`system` is not read here: send a message of the role `system`."),
    "documents": (_EmptyList, "`documents` are not read here: send their text in a message."),
    "echo": (Literal[False], "An answer does not repeat the last message here: leave out `echo`."),
    "add_special_tokens": (
        Literal[False],
        "The chat template adds all control tokens here: leave out `add_special_tokens`.",
    ),
}
_ONE_ANSWER = "This route gives one answer: leave out `n`, or use /v1/chat/completions."
UNSUPPORTED_IN_RESPONSES: Unsupported = {
    "previous_response_id": (
        _NoText,
        "Nothing is stored here: leave out `previous_response_id`, and send the whole conversation as `input`.",
    ),
    "conversation": (_NoText | _NoObject, "Nothing is stored here: leave out `conversation`, and send it as `input`."),
    "prompt": (_NoObject, "Nothing is stored here: leave out `prompt`, and send its text as `instructions`."),
    "background": (Literal[False], "An answer is not kept for later here: leave out `background`."),
    "truncation": (
        Literal["disabled"],
        "No conversation is cut here: leave out `truncation`, and send what is to be read.",
    ),
    "max_tool_calls": (_Nothing, "This server calls no tools itself: leave out `max_tool_calls`."),
    "n": (_OneInt, _ONE_ANSWER),
    "logprobs": (Literal[False], "This route has `top_logprobs`: leave out `logprobs`."),
}
UNSUPPORTED_OPTIONS: Unsupported = {  # of Ollama's API
    **{name: _UNSUPPORTED[name] for name in ("mirostat", "typical_p")},
    "tfs_z": (_OneFloat, "`tfs_z` is not supported: leave it out."),
    "repeat_last_n": (Literal[-1], "`repeat_penalty` counts the whole text here: leave out `repeat_last_n`."),
}
UNSUPPORTED_IN_MESSAGES: Unsupported = {
    "n": (_OneInt, _ONE_ANSWER),
    **{
        name: (neutral, f"This route has no probabilities: leave out `{name}`, or use /v1/chat/completions.")
        for name, neutral in {"logprobs": Literal[False], "top_logprobs": _Zero}.items()
    },
}
_UNSUPPORTED_IN_EMBEDDINGS: Unsupported = {
    "truncate_prompt_tokens": (_Nothing, "No text is cut here: leave out `truncate_prompt_tokens`, and shorten it."),
}
UNSUPPORTED_IN_TOKENIZE: Unsupported = {
    "parse_special": (
        Literal[True],
        "The names of control tokens are always read as such here: leave out `parse_special`.",
    ),
    "with_pieces": (Literal[False], "Only the ids of tokens are told: leave out `with_pieces`."),
    "return_token_strs": (Literal[False], "Only the ids of tokens are told: leave out `return_token_strs`."),
}
# Sentences that refuse wrong values of supported fields.
_REFUSALS = {
    "structured_outputs": "`structured_outputs` takes one of `json`, `json_object`, `regex`, `choice` and `grammar`: "
    "correct it.",
    **{
        name: f"`{name}` takes a text, or a list of up to {_MAX_STOPS} that are not empty: correct it."
        for name in ("stop", "stop_sequences")
    },
    "n": f"A request may ask for 1 to {MAX_ANSWERS} answers: correct `n`, and ask again for more.",
    "logit_bias": "`logit_bias` takes numbers from -100 to 100 by token id: correct it.",
}


def with_unsupported(fields: Unsupported) -> Callable[[type[_Class]], type[_Class]]:
    """Return a decorator that adds unsupported fields to a body. They take only the values that change nothing.

    The sentences that refuse other values become the `refusals` of the body, beside those of its base.
    """

    def add(cls: type[_Class]) -> type[_Class]:
        for name, (neutral, _) in fields.items():
            cls.__annotations__[name] = neutral if neutral is _Nothing else neutral | None
            setattr(cls, name, None)
        sentences = {name: sentence for name, (_, sentence) in fields.items()}
        setattr(cls, "refusals", getattr(cls, "refusals", _REFUSALS) | sentences)  # noqa: B010 - no field of a body
        return cls

    return add


@dataclass(frozen=True, kw_only=True)
@with_parameters
@with_unsupported(_UNSUPPORTED)
class AnswerRequest:
    """Fields that all kinds of requests for an answer share, and the sampling parameters.

    None means the value given to `headstart serve`, or else the model's own value.
    """

    model: _Model | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    stop: Stops | None = None
    stop_sequences: Stops | None = None
    max_tokens: Length | None = None
    max_completion_tokens: Length | None = None
    max_output_tokens: Length | None = None
    n_predict: Length | None = None
    num_predict: Length | None = None
    num_ctx: Annotated[int, Meta(ge=1, le=_MAX_INT, description="At most the context of the model.")] | None = None
    top_k: Annotated[int, Meta(ge=-1, le=_MAX_INT, description="-1 and 0 take all.")] | None = None
    seed: Seed | None = None
    stop_on_repetition: _StopOnRepetition | None = None
    logit_bias: _LogitBias | None = None
    repeat_penalty: Annotated[float, Meta(gt=0, le=10, description="The same as `repetition_penalty`.")] | None = None
    guided_json: Object | None = None
    guided_regex: _Pattern | None = None
    guided_choice: _Choice | None = None
    guided_grammar: _Grammar | None = None
    structured_outputs: StructuredOutputs | None = None
    json_schema: Object | None = None
    grammar: _Grammar | None = None
    format: Literal["json"] | Object | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: Effort | None = None
    enable_thinking: Annotated[bool, Meta(description="Refused where the model has no switch.")] | None = None
    thinking_budget: _Budget | None = None
    thinking_budget_tokens: _Budget | None = None
    thinking_token_budget: _Budget | None = None
    chat_template_kwargs: TemplateValues | None = None


@dataclass(frozen=True, kw_only=True)
@with_unsupported(_UNSUPPORTED_IN_CHAT)
class ChatRequest(AnswerRequest):
    """Body of POST /v1/chat/completions."""

    messages: Annotated[list[ChatMessage], Meta(min_length=1)]
    n: _N | None = None
    tools: list[OfferedTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenTool | None = None
    parallel_tool_calls: Parallel | None = None
    logprobs: bool | Likeliest | None = None
    top_logprobs: Likeliest | None = None
    add_generation_prompt: _GenerationPrompt | None = None
    continue_final_message: bool | None = None
    prediction: Prediction | None = None


@dataclass(frozen=True, kw_only=True)
class TextRequest(AnswerRequest):
    """Body of POST /v1/completions."""

    prompt: Annotated[str | _Prompts, Meta(description="A text, its tokens, or a list of texts or of lists of tokens.")]
    n: _N | None = None
    echo: Annotated[bool, Meta(description="Begin each answer with its prompt, and its `logprobs`.")] | None = None
    suffix: Annotated[str, Meta(description="The answer fills the gap before it, if the model can.")] | None = None
    logprobs: bool | Likeliest | None = None
    add_special_tokens: Annotated[bool, Meta(description="Default: true.")] | None = None


@dataclass(frozen=True, kw_only=True)
@with_unsupported(_UNSUPPORTED_IN_EMBEDDINGS)
class EmbeddingRequest:
    """Body of POST /v1/embeddings."""

    model: _Model | None = None
    input: Annotated[
        _Text | Annotated[list[_Text | TokenId | _TokenIds], Meta(min_length=1, max_length=MAX_TEXTS)],
        Meta(description="A text, its tokens, or a list of texts or of lists of tokens."),
    ]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Meta(ge=1, le=_MAX_INT)] | None = None
    user: str | None = None


@dataclass(frozen=True)
class Document:
    """A text to be ranked."""

    text: _Text


@dataclass(frozen=True, kw_only=True)
class RerankRequest(EmbeddingRequest):
    """Body of POST /v1/rerank."""

    input: str | list[str | TokenId | _TokenIds] = ""  # made of the two fields below
    query: _Text
    documents: Annotated[list[_Text | Document], Meta(min_length=1, max_length=MAX_TEXTS - 1)]
    top_n: Annotated[int, Meta(ge=1, le=_MAX_INT, description="Default: all.")] | None = None
    return_documents: bool | None = None

    @property
    def texts(self) -> list[str]:
        return [document if isinstance(document, str) else document.text for document in self.documents]


_Body = TypeVar("_Body")
_NO_SCHEMAS: Mapping[str, dict[str, Any] | None] = {}
_NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}
_COMPLETION_TOKENS = 16  # default length of a completion, as in OpenAI's API
FUNCTION = "function"  # the type of the tools that an answer may call
_TEXT_TYPES = {"text", "input_text", "output_text"}
_MEDIA = {"image": "images", "screenshot": "images", "audio": "audio", "video": "videos", "file": "files"}  # by type
_FIELD_PATH = re.compile(r"`\$\.(?:options\.)?(\w+)")
_LIKENESS = 0.85  # of two names, from which on one is a typing error
_MAX_NAME_CHARS = 40
# Fields of other servers that look like typing errors and change nothing here.
_OTHER_FIELDS = {"context", "conversation_id", "mode", "models", "reasoning_format", "return_tokens", "speed"}
_WRONG_TYPE = re.compile(r"Expected `([^`]+)`(.*?)(?:, got `([^`]+)`)?", re.DOTALL)
_MISSING_FIELD = re.compile(r"Object missing required field `([^`]+)`")
_WRONG_CHOICE = re.compile(r"Invalid (?:enum )?value (.+)", re.DOTALL)
_BOUND = re.compile(r"( of length)? (>=|<=|>) (\S+)")
_TYPE_NAMES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


@dataclass(frozen=True)
class Defaults:
    """Values for the fields that a request leaves out."""

    sampling: Sampling = field(default_factory=Sampling)
    speculation: Speculation = field(default_factory=Speculation)
    seed: int | None = None  # None: a new seed for each request
    length: int = 0  # maximum length of an answer to a conversation, in tokens; 0: half the context


def parse_request(data: bytes, body_type: type[_Body]) -> _Body:
    """Decode a request. Raises RefusedError, which names the wrong field."""
    try:
        fields = _with_whole_numbers(msgspec.json.decode(data))
        _refuse_typos(fields, body_type)
        return msgspec.convert(fields, body_type)
    except msgspec.ValidationError as error:
        raise _validation_error(str(error), body_type) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(f"The body is not JSON ({error}): send one object.") from None
    except RecursionError:
        raise invalid("The body is nested too deeply: send one object with fewer levels.") from None


def _with_whole_numbers(data: object) -> object:
    """Turn 5.0 into 5 in the fields of a request: JSON has only one kind of number."""
    if not isinstance(data, dict):
        return data
    return {
        key: int(item)
        if isinstance(item, float) and item.is_integer()
        else _with_whole_numbers(item)
        if key == "options"
        else item
        for key, item in data.items()
    }


def _refuse_typos(data: object, body_type: type[object]) -> None:
    """Raise RefusedError for an unknown field whose name is nearly that of a known one."""
    known = {_plain(name): name for name in getattr(body_type, "__dataclass_fields__", ())}
    for name, value in data.items() if isinstance(data, dict) else ():
        if value is not None and name not in known.values() and name not in _OTHER_FIELDS:
            plain = _plain(name[:_MAX_NAME_CHARS])
            near = get_close_matches(plain, known, cutoff=_LIKENESS)
            if near:
                meant = known[min(near, key=lambda each: each[0] != plain[0])]
                raise invalid(f"There is no field `{name}`: did you mean `{meant}`?", name, "unknown_field")


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def chat_to_request(body: ChatRequest, defaults: Defaults) -> Request:
    """Translate a request for an answer to a conversation. Raises RefusedError."""
    _check_continuation(body)
    return replace(
        to_request(body, defaults, messages_of(body.messages), length_of(body, defaults.length), _tools(body)),
        prediction=text_of(body.prediction.content, "prediction.content") if body.prediction else "",
        likeliest=_likeliest(body),
    )


def _check_continuation(body: ChatRequest) -> None:
    """Raise RefusedError if the request wants an answer continued that is not, or the other way round."""
    last = body.messages[-1]
    continues = len(body.messages) > 1 and isinstance(last, AssistantMessage) and not last.tool_calls
    if body.continue_final_message not in {None, continues}:
        sentence = "An answer that stands last is continued, and no other message: leave out `continue_final_message`."
        raise invalid(sentence, "continue_final_message", "unsupported_value")
    if body.add_generation_prompt is False and not continues:
        sentence = "A new answer needs its beginning from the chat template: leave out `add_generation_prompt`."
        raise invalid(sentence, "add_generation_prompt", "unsupported_value")


def _likeliest(body: ChatRequest) -> int | None:
    """Return how many of the likeliest tokens to tell. Some clients send their number as `logprobs`."""
    if body.logprobs is None or (body.logprobs and body.top_logprobs is not None):
        return body.top_logprobs
    if not body.logprobs:
        return None
    return 0 if body.logprobs is True else body.logprobs


def messages_of(turns: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Translate a conversation into the engine's messages. Raises RefusedError."""
    history = History()
    for number, turn in enumerate(turns):
        place = f"messages[{number}]"
        if isinstance(turn, ToolMessage):
            history.add_result(noted_text(turn.content or ""), place, turn.tool_call_id, "tool_call_id")
        else:
            calls = (turn.tool_calls or ()) if isinstance(turn, AssistantMessage) else ()
            history.add(_message(turn, place), [call.id for call in calls])
    return history.messages()


def _message(turn: SystemMessage | DeveloperMessage | UserMessage | AssistantMessage, place: str) -> Message:
    match turn:
        case SystemMessage() | DeveloperMessage():
            return Message("system", text_of(turn.content, f"{place}.content"))
        case UserMessage():
            return Message("user", text_of(turn.content, f"{place}.content"))
        case AssistantMessage():
            calls = tuple(
                Call(call.function.name, whole_arguments(call.function.arguments)) for call in turn.tool_calls or ()
            )
            thinking = turn.reasoning_content or turn.reasoning or ""
            return Message("assistant", noted_text(turn.content or turn.refusal or ""), calls, thinking)


def _tools(body: ChatRequest) -> Tools | None:
    choice = body.tool_choice
    offered = functions_of(body.tools or ())
    if choice == "none":
        return None
    only = (choice.function.name if choice.function else choice.type) if isinstance(choice, ChosenTool) else ""
    return tools_of(
        offered,
        required=choice == "required",
        only=only,
        parallel=bool(body.parallel_tool_calls),
        left_out=other_kinds(body.tools or ()),
    )


def functions_of(tools: Sequence[OfferedTool]) -> tuple[Tool, ...]:
    """Return the tools that an answer may call. Raises RefusedError."""
    functions = [(f"tools[{place}]", tool.function) for place, tool in enumerate(tools) if tool.type == FUNCTION]
    return tuple(tool_of(given(function, place, "function")) for place, function in functions)


def other_kinds(tools: Sequence[OfferedTool]) -> list[str]:
    """Return the types of the tools that are left out."""
    return [tool.type for tool in tools if tool.type != FUNCTION]


def given(value: _Value | None, place: str, name: str) -> _Value:
    """Return a field that the type of its object needs. Raises RefusedError if it is missing."""
    if value is None:
        raise invalid(f"`{place}` lacks `{name}`: add it.", place.partition("[")[0])
    return value


def tool_of(function: FunctionTool) -> Tool:
    """Translate a tool into the engine's form. Raises RefusedError."""
    parameters = _NO_PARAMETERS if function.parameters in (None, {}) else function.parameters
    kind = parameters.get("type", "object") if isinstance(parameters, dict) else None
    if function.strict and kind != "object":
        raise invalid(f"The parameters of the tool {function.name!r} must be of the type `object`.", "tools")
    schema = msgspec.json.encode({**(parameters if kind else {}), "type": "object"}).decode()
    if depth(schema) > MAX_DEPTH:
        sentence = (
            f"The parameters of the tool {function.name!r} are nested too deeply: send {MAX_DEPTH} levels at most."
        )
        raise invalid(sentence, "tools")
    losses = hold(schema).losses if function.strict else ()
    if losses:
        sentence = f"The parameters of the tool {function.name!r} cannot be kept to: {losses[0]}. "
        raise invalid(f"{sentence}Leave that part of them out, or `strict`.", "tools")
    return Tool(function.name, schema, function.description or "", strict=bool(function.strict))


def losses_of(request: Request, response_format: ResponseFormat | FlatSchema | None = None) -> dict[str, str]:
    """Return what is left to the model for want of a grammar: a part of a sentence by the name of a tool or schema."""
    tools = request.tools.callable if request.tools else ()
    schemas = {tool.name: tool.parameters for tool in tools if not tool.strict}
    match response_format:
        case JsonSchemaFormat(json_schema=form) if not form.strict:
            schemas[form.name] = msgspec.json.encode(form.schema).decode()
        case FlatSchema(name=name, schema=schema, strict=strict) if not strict:
            schemas[name] = msgspec.json.encode(schema).decode()
    return {name: str(losses[0]) for name, schema in schemas.items() if (losses := hold(schema).losses)}


def tools_of(
    offered: tuple[Tool, ...], *, required: bool, only: str, parallel: bool, left_out: Collection[str] = ()
) -> Tools | None:
    """Return the tools that an answer may call, and how; None if there are none. Raises RefusedError.

    `left_out` has the types and names of the tools that nobody can call here.
    """
    names = [tool.name for tool in offered]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise invalid(f"Two tools are called {twice!r}: give each its own name.", "tools")
    if only in left_out and only not in names:
        raise invalid(f"`tool_choice` names {only!r}, which nobody can call here: choose a function.", "tool_choice")
    if only and only not in names:
        raise invalid(f"`tool_choice` names {only!r}, which is not in `tools`: choose one of them.", "tool_choice")
    if required and left_out and not offered:
        sentence = "`tool_choice` asks for a call, but nobody can call these `tools` here: send functions."
        raise invalid(sentence, "tool_choice")
    if required and not offered:
        raise invalid("`tool_choice` asks for a call, but there are no `tools`: send some.", "tool_choice")
    return Tools(offered, required or bool(only), only, parallel) if offered else None


def text_to_requests(body: TextRequest, defaults: Defaults) -> list[Request]:
    """Translate a request to continue texts: one engine request for each answer. Raises RefusedError."""
    prompts = _prompts(body)
    if len(prompts) * (body.n or 1) > MAX_ANSWERS:
        raise invalid(f"A request may ask for {MAX_ANSWERS} answers at most: send fewer prompts at a time.", "prompt")
    if body.echo and body.suffix:
        raise invalid("What fills a gap is told alone: leave out `echo` or `suffix`.", "echo")
    length = length_of(body, _COMPLETION_TOKENS)
    likeliest = None if body.logprobs is None or body.logprobs is False else int(body.logprobs)
    details: dict[str, Any] = {"likeliest": likeliest, "echo": bool(body.echo)}
    details["add_special"] = body.add_special_tokens is not False
    requests = list[Request]()
    for prompt in prompts:
        request = to_request(body, defaults, (), length, prompt=prompt, suffix=body.suffix or "")
        requests += fan_out(replace(request, **details), body.n)
    return requests


def embedding_to_request(body: EmbeddingRequest) -> Request:
    """Translate a request for the embeddings of texts. Raises RefusedError."""
    return Request((), inputs=tuple(_texts(body.input, "input")))


def _prompts(body: TextRequest) -> list[str | tuple[int, ...]]:
    prompts = _texts(body.prompt, "prompt")
    if not body.suffix and not all(prompts):
        raise invalid("`prompt` has nothing in it: send at least one character or token.", "prompt")
    return prompts


def _texts(values: str | Sequence[str | int | list[int]], name: str) -> list[str | tuple[int, ...]]:
    """Return the texts of a field that holds a text, its tokens, or several of either. Raises RefusedError."""
    values = [values] if isinstance(values, str) else values
    ids = tuple(value for value in values if isinstance(value, int))
    if ids and len(ids) < len(values):
        raise invalid(f"`{name}` mixes token ids with texts: send a list of one kind.", name)
    texts = [value if isinstance(value, str) else tuple(value) for value in values if not isinstance(value, int)]
    return [ids] if ids else [*texts]


def fan_out(request: Request, n: int | None) -> list[Request]:
    """Return a request for each of `n` answers (None: one), with seeds in a row."""
    seed = request.sampling.seed
    return [
        replace(request, sampling=replace(request.sampling, seed=(seed + number) % 2**63)) for number in range(n or 1)
    ]


def to_request(
    asked: AnswerRequest,
    defaults: Defaults,
    messages: tuple[Message, ...],
    length: int,
    tools: Tools | None = None,
    schemas: Mapping[str, dict[str, Any] | None] = _NO_SCHEMAS,
    prompt: str | tuple[int, ...] = "",
    suffix: str = "",
) -> Request:
    """Translate the fields that all requests share. Raises RefusedError.

    `schemas`: the JSON schema of each other field that may have one.
    """
    stops = (*_stops(asked.stop), *_stops(asked.stop_sequences))
    sampling = _sampling(asked, defaults)
    json_schema, grammar = _constraint(asked, schemas, has_tools=tools is not None)
    request = Request(
        messages,
        length,
        sampling,
        defaults.speculation,
        stops,
        schema=json_schema,
        grammar=grammar,
        tools=tools,
        stop_on_repetition=bool(asked.stop_on_repetition),
        suffix=suffix,
        **({"prompt": prompt} if isinstance(prompt, str) else {"prompt_ids": prompt}),
    )
    return _with_thinking(request, asked)


def _with_thinking(request: Request, asked: AnswerRequest) -> Request:
    """Add what a request says of thinking."""
    values = asked.chat_template_kwargs or TemplateValues()
    budgets = (
        asked.thinking_budget,
        asked.thinking_budget_tokens,
        asked.thinking_token_budget,
        values.thinking_budget,
    )
    switches = (asked.enable_thinking, values.enable_thinking, values.thinking)
    request = with_effort(request, asked.reasoning_effort or values.reasoning_effort)
    switch = next((switch for switch in switches if switch is not None), request.thinking)
    return replace(
        request, thinking=switch, thinking_budget=next((budget for budget in budgets if budget is not None), None)
    )


def with_effort(request: Request, effort: str | None) -> Request:
    """Return a request with an effort of thinking; `none` switches it off, None leaves it to the model."""
    if effort == "none":
        return replace(request, thinking=False)
    return replace(request, effort=_KNOWN_EFFORTS.get(effort, effort)) if effort else request


def _stops(stop: str | list[str] | None) -> tuple[str, ...]:
    return tuple(filter(None, [stop])) if isinstance(stop, str) else tuple(stop or ())


def length_of(body: AnswerRequest, default: int) -> int:
    """Return the maximum length of an answer, by its first name that has one; 0 is a length, None and -1 are not."""
    names = (body.max_completion_tokens, body.max_output_tokens, body.max_tokens, body.n_predict, body.num_predict)
    return next((length for length in names if length is not None and length >= 0), default)


def _constraint(
    body: AnswerRequest, other_schemas: Mapping[str, dict[str, Any] | None], *, has_tools: bool
) -> tuple[str, str]:
    """Return the JSON schema and the grammar that an answer keeps to, of which one may be set. Raises RefusedError."""
    outputs = body.structured_outputs or StructuredOutputs()
    schemas = {
        **other_schemas,
        "response_format": schema_of(body.response_format),
        "format": {"type": "object"} if body.format == "json" else body.format,
        "guided_json": body.guided_json,
        "json_schema": body.json_schema,
        "structured_outputs.json": outputs.json,
        "structured_outputs.json_object": {"type": "object"} if outputs.json_object else None,
    }
    grammars = {
        "grammar": body.grammar,
        "guided_grammar": body.guided_grammar,
        "structured_outputs.grammar": outputs.grammar,
        "guided_regex": _pattern_grammar(body.guided_regex),
        "structured_outputs.regex": _pattern_grammar(outputs.regex),
        "guided_choice": _choice_grammar(body.guided_choice),
        "structured_outputs.choice": _choice_grammar(outputs.choice),
    }
    named = [name for name, constraint in (*schemas.items(), *grammars.items()) if constraint is not None]
    if len(named) > 1:
        first, second, *_ = named
        raise invalid(f"An answer keeps to one form: leave out `{first}` or `{second}`.", first.partition(".")[0])
    json_schema = next((constraint for constraint in schemas.values() if constraint is not None), None)
    grammar = next((constraint for constraint in grammars.values() if constraint is not None), "")
    pattern = body.guided_regex or outputs.regex
    losses = hold(json.dumps({"pattern": pattern})).losses if pattern else ()
    if losses:
        sentence = f"The answer cannot be kept to `{named[0]}`: {losses[0]}. Leave that part of it out."
        raise invalid(sentence, named[0].partition(".")[0])
    if grammar and has_tools:
        raise invalid(f"An answer with tools keeps to no grammar: leave out `{named[0]}` or `tools`.", "tools")
    schema = "" if json_schema is None else msgspec.json.encode(json_schema).decode()
    losses = hold(schema).losses if schema else ()
    if losses:
        sentence = f"The answer cannot be kept to the schema in `{named[0]}`: {losses[0]}. "
        raise invalid(f"{sentence}Leave that part of it out.", named[0].partition(".")[0])
    return schema, grammar


def _pattern_grammar(pattern: str | None) -> str | None:
    escaped = re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", pattern) if pattern else None
    return f"start: /{escaped}/" if escaped else None


def _choice_grammar(choice: list[str] | None) -> str | None:
    return f"start: {' | '.join(json.dumps(text) for text in choice)}" if choice else None


def schema_of(response_format: ResponseFormat | FlatSchema | None) -> dict[str, Any] | None:
    """Return the schema of a format. Unless it is strict, it has only what can be kept to."""
    match response_format:
        case JsonObjectFormat(schema=schema):
            return schema or {"type": "object"}
        case JsonSchemaFormat(json_schema=form):
            return form.schema if form.strict else _held(form.schema)
        case FlatSchema(schema=schema, strict=strict):
            return schema if strict else _held(schema)
        case _:
            return None


def _held(schema: dict[str, Any]) -> dict[str, Any]:
    held: dict[str, Any] = json.loads(hold(msgspec.json.encode(schema).decode()).schema)
    return held


def _sampling(body: AnswerRequest, defaults: Defaults) -> Sampling:
    fields = {parameter.field: getattr(body, parameter.name) for parameter in declared(Sampling)}
    values = {name: value for name, value in fields.items() if value is not None}
    if body.repeat_penalty is not None:
        values.setdefault("repetition_penalty", body.repeat_penalty)
    if body.top_k is not None:
        values["top_k"] = max(0, body.top_k)
    values["seed"] = _seed(body.seed, defaults.seed)
    values["logit_bias"] = {int(token): value for token, value in (body.logit_bias or {}).items() if value}
    left = tuple(name for name in defaults.sampling.automatic if name not in values)
    return replace(defaults.sampling, **values, automatic=left)


def _seed(seed: int | None, default: int | None) -> int:
    if seed is not None:
        return seed % 2**63
    return secrets.randbits(63) if default is None else default


def text_of(content: Content, place: str) -> str:
    """Return the text of a message. Raises RefusedError for a part that is no text."""
    if isinstance(content, str):
        return content
    return "".join(_text_of_part(part, f"{place}[{number}]") for number, part in enumerate(content))


def _text_of_part(part: Part, place: str) -> str:
    if part.type == "refusal":
        return given(part.refusal, place, "refusal")
    if part.type in _TEXT_TYPES:
        return given(part.text, place, "text")
    raise unread(part.type, place)


def noted_text(content: Content) -> str:
    """Return the text of a result or of an earlier answer, with notes in place of what is no text."""
    if isinstance(content, str):
        return content
    texts = [part.text if part.type in _TEXT_TYPES else part.refusal or note_of(part.type) for part in content]
    return ("" if all(part.type in _TEXT_TYPES for part in content) else "\n").join(filter(None, texts))


def note_of(type_: str) -> str:
    """Return the note that takes the place of an image, audio or a file; empty for other types."""
    kind = _media(type_)
    return f"[{kind} left out: this model reads text only]" if kind else ""


def unread(type_: str, place: str) -> RefusedError:
    """Return the refusal of a part that is no text."""
    kind = _media(type_)
    if kind:
        sentence = f"This model reads text only: leave out the {kind} in `{place}`."
    else:
        sentence = f"`{place}` has the type {type_[:80]!r}, which is not read here: send its text."
    return invalid(sentence, re.split(r"[.[]", place)[0], "unsupported_value")


def _media(type_: str) -> str:
    return next((word for kind, word in _MEDIA.items() if kind in type_), "")


def _validation_error(error: str, body_type: type[object]) -> RefusedError:
    match = _FIELD_PATH.search(error)
    name = match.group(1) if match else None
    refusals: Mapping[str, str] = getattr(body_type, "refusals", _REFUSALS)
    if name and name in refusals:
        return invalid(refusals[name], name, "unsupported_value")
    return invalid(_rephrase(error, body_type), name)


def _rephrase(error: str, body_type: type[object]) -> str:
    """Return a sentence of msgspec in plain words, with the remedy."""
    message, _, place = error.partition(" - at `$")
    field = place.rstrip("`").removeprefix(".")
    subject = f"`{field}`" if field else "The request"
    if missing := _MISSING_FIELD.fullmatch(message):
        return f"{subject} lacks `{missing.group(1)}`: add it."
    if choice := _WRONG_CHOICE.fullmatch(message):
        values = [repr(value) for value in _values_at(body_type, field)]
        return f"{subject} cannot be {choice.group(1)}: choose {_either(values) or 'another value'}."
    if mismatch := _WRONG_TYPE.fullmatch(message):
        expected, bounds, actual = (part or "" for part in mismatch.groups())
        wrong = f", not {_type_names(actual)}" if actual else ""
        return f"{subject} must be {_type_names(expected)}{_bounds(expected, bounds)}{wrong}: correct it."
    return f"{subject} is not as it should be ({message}): correct it."


def _type_names(types: str) -> str:
    return _either([_TYPE_NAMES.get(name, name) for name in types.split(" | ")])


def _bounds(expected: str, bounds: str) -> str:
    """Return bounds of a number, or of the length of a text or list, in plain words."""
    match = _BOUND.fullmatch(bounds)
    if match is None:
        return bounds
    is_length, sign, number = match.groups()
    if is_length:
        unit = "character" if expected == "str" else "item"
        return f" of at {'least' if sign == '>=' else 'most'} {number} {unit}{'' if number == '1' else 's'}"
    number = number.removesuffix(".0")
    return {">=": f" of {number} or more", "<=": f" of {number} or less", ">": f" above {number}"}[sign]


def _either(words: Sequence[str]) -> str:
    *before, last = words or [""]
    return f"{', '.join(before)} or {last}" if before else last


def _values_at(body_type: type[object], path: str) -> list[str]:
    """Return the texts that a field of a body may have, if they are few; `path` is as msgspec writes it."""
    kinds, tags = _alternatives(inspect.type_info(body_type)), list[str]()
    for step in re.findall(r"\w+|\[[^]]*\]", path):
        tags = [str(kind.tag) for kind in kinds if isinstance(kind, inspect.StructType) and kind.tag_field == step]
        kinds = [inner for kind in kinds for inner in _alternatives(_inside(kind, step))]
    literals = [str(value) for kind in kinds if isinstance(kind, inspect.LiteralType) for value in kind.values]
    return [*tags, *literals]


def _inside(kind: inspect.Type, step: str) -> inspect.Type | None:
    if isinstance(kind, inspect.ListType):
        return kind.item_type
    if isinstance(kind, inspect.DictType):
        return kind.value_type
    fields = kind.fields if isinstance(kind, inspect.StructType | inspect.DataclassType) else ()
    return next((field.type for field in fields if field.encode_name == step), None)


def _alternatives(kind: inspect.Type | None) -> list[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        return _alternatives(kind.type)
    return list(kind.types) if isinstance(kind, inspect.UnionType) else [kind] if kind else []
