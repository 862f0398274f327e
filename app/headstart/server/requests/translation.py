"""Translation of requests of OpenAI's API into requests to the engine."""

import json
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import msgspec

from headstart.engine.engine import Call, Message, Request, Sampling, Speculation, Tool, Tools
from headstart.engine.json_schema import hold
from headstart.parameters import declared
from headstart.server.errors import RefusedError, invalid
from headstart.server.requests.bodies import (
    MAX_ANSWERS,
    AnswerRequest,
    AssistantMessage,
    ChatMessage,
    ChatRequest,
    ChosenTool,
    Content,
    DeveloperMessage,
    Effort,
    EmbeddingRequest,
    FlatSchema,
    FunctionTool,
    JsonObject,
    JsonObjectFormat,
    JsonSchemaFormat,
    OfferedTool,
    Part,
    ResponseFormat,
    StructuredOutputs,
    SystemMessage,
    TemplateValues,
    TextRequest,
    ToolMessage,
    UserMessage,
)
from headstart.server.requests.history import History
from headstart.tools.calls import MAX_DEPTH, depth, whole_arguments

_Value = TypeVar("_Value")
_NO_SCHEMAS: Mapping[str, JsonObject | None] = {}
_NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}
_RANDOM = -1  # the seed by which clients of llama.cpp and Ollama ask for another answer each time
_COMPLETION_TOKENS = 16  # default length of a completion, as in OpenAI's API
FUNCTION = "function"  # the type of the tools that an answer may call
USUAL_EFFORT: Effort = "medium"
_KNOWN_EFFORTS = {"minimal": "low", "xhigh": "high", "max": "high"}  # the names that chat templates have for them
_TEXT_TYPES = {"text", "input_text", "output_text"}
_MEDIA = {"image": "images", "screenshot": "images", "audio": "audio", "video": "videos", "file": "files"}  # by type


@dataclass(frozen=True)
class Defaults:
    """Values for the fields that a request leaves out."""

    sampling: Sampling = field(default_factory=Sampling)
    speculation: Speculation = field(default_factory=Speculation)
    seed: int | None = None  # None: a new seed for each request
    length: int = 0  # maximum length of an answer to a conversation, in tokens; 0: half the context


def chat_to_request(body: ChatRequest, defaults: Defaults) -> Request:
    """Translate a request for an answer to a conversation. Raises RefusedError."""
    _check_continuation(body)
    return replace(
        to_request(body, defaults, messages_of(body.messages), length_of(body, defaults.length), _tools(body)),
        prediction="".join(texts_of(body.prediction.content, "prediction.content")) if body.prediction else "",
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
            return Message.of_parts("system", texts_of(turn.content, f"{place}.content"))
        case UserMessage():
            return Message.of_parts("user", texts_of(turn.content, f"{place}.content"))
        case AssistantMessage():
            calls = tuple(
                Call(call.function.name, whole_arguments(call.function.arguments)) for call in turn.tool_calls or ()
            )
            thinking = turn.reasoning_content or turn.reasoning or ""
            return Message.of_parts("assistant", noted_texts(turn.content or turn.refusal or ""), calls, thinking)


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
    requests = list[Request]()
    for prompt in prompts:
        request = to_request(body, defaults, (), length, prompt=prompt, suffix=body.suffix or "")
        request = replace(
            request, likeliest=likeliest, echo=bool(body.echo), add_special=body.add_special_tokens is not False
        )
        requests += fan_out(request, body.n)
    return requests


def embedding_to_request(body: EmbeddingRequest) -> Request:
    """Translate a request for the embeddings of texts. Raises RefusedError."""
    return Request((), inputs=tuple(texts_or_tokens(body.input, "input")))


def _prompts(body: TextRequest) -> list[str | tuple[int, ...]]:
    prompts = texts_or_tokens(body.prompt, "prompt")
    if not body.suffix and not all(prompts):
        raise invalid("`prompt` has nothing in it: send at least one character or token.", "prompt")
    return prompts


def texts_or_tokens(values: str | Sequence[str | int | list[int]], name: str) -> list[str | tuple[int, ...]]:
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
    schemas: Mapping[str, JsonObject | None] = _NO_SCHEMAS,
    prompt: str | tuple[int, ...] = "",
    suffix: str = "",
) -> Request:
    """Translate the fields that all requests share. Raises RefusedError.

    `schemas`: the JSON schema of each other field that may have one.
    """
    stops = (*_stops(asked.stop), *_stops(asked.stop_sequences))
    sampling = _sampling(asked, defaults)
    json_schema, grammar = constraint_of(asked, schemas, has_tools=tools is not None)
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


def constraint_of(
    body: AnswerRequest, other_schemas: Mapping[str, JsonObject | None], *, has_tools: bool
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


def schema_of(response_format: ResponseFormat | FlatSchema | None) -> JsonObject | None:
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


def _held(schema: JsonObject) -> JsonObject:
    held: JsonObject = json.loads(hold(msgspec.json.encode(schema).decode()).schema)
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
    if seed == _RANDOM or (seed is None and default is None):
        return secrets.randbits(63)
    return seed % 2**63 if seed is not None else default or 0


def texts_of(content: Content, place: str) -> list[str]:
    """Return the texts of a message. Raises RefusedError for a part that is no text."""
    if isinstance(content, str):
        return [content]
    return [_text_of_part(part, f"{place}[{number}]") for number, part in enumerate(content)]


def _text_of_part(part: Part, place: str) -> str:
    if part.type == "refusal":
        return given(part.refusal, place, "refusal")
    if part.type in _TEXT_TYPES:
        return given(part.text, place, "text")
    raise unread(part.type, place)


def noted_texts(content: Content) -> list[str]:
    """Return the texts of a result or of an earlier answer, with notes in place of what is no text."""
    if isinstance(content, str):
        return [content]
    texts = [part.text if part.type in _TEXT_TYPES else part.refusal or note_of(part.type) for part in content]
    return [*filter(None, texts)]


def noted_text(content: Content) -> str:
    return "\n".join(noted_texts(content))


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
