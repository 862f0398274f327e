"""Ollama's API: requests, replies and the lines of streams."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from headstart.engine.engine import Call, Finish, GenerationRequest, Message, Sampling, Scored, Tools
from headstart.parameters import declared
from headstart.server.errors import RefusedError, invalid
from headstart.server.models import Served, require_context
from headstart.server.requests import fields
from headstart.server.requests.bodies import (
    AnswerRequest,
    Effort,
    JsonObject,
    ModelName,
    Name,
    Object,
    OfferedTool,
    RepeatPenalty,
    Seed,
    Stops,
    TopLogprobs,
    with_parameters,
)
from headstart.server.requests.fields import Unsupported
from headstart.server.requests.history import History
from headstart.server.requests.tools import tool_of, tools_of
from headstart.server.requests.translation import Defaults, conversation_request, prompt_request, with_effort
from headstart.server.routes.blocks import Block, BlockFormatter
from headstart.server.routes.embeddings import EmbeddingRequest, Embeddings
from headstart.server.routes.replies import AnswerChunk, TokenLogprob, logprobs_of
from headstart.server.running_servers import ModelProcess
from headstart.tools.calls import CallReader, whole_arguments

VERSION = "0.13.0"  # of Ollama, whose API this is: some clients refuse an older one
TAG = ":latest"  # every name has a tag in Ollama's API
_INSTALLING = (
    "Models are installed, copied and removed with `headstart models` on the computer of the server, not here."
)
MISSING = ("/api/pull", "/api/push", "/api/create", "/api/copy", "/api/delete", "/api/blobs/{digest}")
_MAX_INT = 2**31 - 1
_Length = Annotated[int, Meta(ge=-2, le=_MAX_INT, description="0: the prompt is read. Less: the default.")]
_ArgumentObject = Annotated[JsonObject, Meta(description="The arguments: an object, not a text.")]
_Format = Annotated[
    Literal["", "json"] | Object, Meta(description="`json`, or the JSON schema that the answer follows.")
]
_KeepAlive = Annotated[str | float, Meta(description="Has no effect: `headstart serve` says when models are freed.")]


@dataclass(frozen=True)
class OllamaFunction:
    """The function of a call."""

    name: Name
    arguments: _ArgumentObject


@dataclass(frozen=True)
class OllamaCall:
    """A call of a tool."""

    function: OllamaFunction
    id: str | UnsetType = UNSET


@dataclass(frozen=True)
class OllamaTurn:
    """A message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[OllamaCall] | None = None
    images: list[str] | None = None
    tool_name: (
        Annotated[str, Meta(description="Of a result. Without it, results stand in the order of calls.")] | None
    ) = None
    tool_call_id: str | None = None


@dataclass(frozen=True, kw_only=True)
@with_parameters
class OllamaOptions:
    """Options of an answer. The others of Ollama say how a model is loaded, and have no effect."""

    unsupported: ClassVar[Unsupported] = fields.OPTIONS

    num_predict: _Length | None = None
    num_ctx: Annotated[int, Meta(le=_MAX_INT, description="Refused if it is more than the context.")] | None = None
    top_k: Annotated[int, Meta(ge=-1, le=_MAX_INT, description="-1 and 0 take all.")] | None = None
    seed: Seed | None = None
    stop: Stops | None = None
    repeat_penalty: RepeatPenalty | None = None


@dataclass(frozen=True, kw_only=True)
class OllamaRequest:
    """The common fields of requests for an answer."""

    nested: ClassVar[Mapping[str, type[object]]] = {"options": OllamaOptions}

    model: ModelName = ""
    stream: Annotated[bool, Meta(description="Default: true.")] | None = None
    format: _Format | None = None
    options: OllamaOptions | None = None
    think: bool | Effort | None = None
    keep_alive: _KeepAlive | None = None
    logprobs: Annotated[bool, Meta(description="Return the probability of each token.")] | None = None
    top_logprobs: TopLogprobs | None = None


@dataclass(frozen=True, kw_only=True)
class OllamaChatRequest(OllamaRequest):
    """Body of POST /api/chat. Without messages it loads the model."""

    messages: list[OllamaTurn] | None = None
    tools: list[OfferedTool] | None = None

    @property
    def is_empty(self) -> bool:
        return not self.messages


@dataclass(frozen=True, kw_only=True)
class OllamaGenerateRequest(OllamaRequest):
    """Body of POST /api/generate. Without a prompt it loads the model."""

    unsupported: ClassVar[Unsupported] = fields.GENERATE

    prompt: Annotated[str, Meta(description="The question, or the text to continue.")] = ""
    suffix: Annotated[str, Meta(description="The answer fills the gap between `prompt` and `suffix`.")] = ""
    system: Annotated[str, Meta(description="Instructions for the model.")] = ""
    raw: Annotated[bool, Meta(description="Continue `prompt` as it is, without the chat template.")] | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.prompt or self.suffix)


@dataclass(frozen=True, kw_only=True)
class OllamaEmbedRequest(EmbeddingRequest):
    """Body of POST /api/embed. A text that is too long is refused, whatever `truncate` says."""

    encoding_format: Annotated[Literal["float"], Meta(description="Numbers.")] | None = None
    truncate: Annotated[bool, Meta(description="Has no effect: a text that is too long is refused.")] | None = None
    keep_alive: _KeepAlive | None = None


@dataclass(frozen=True, kw_only=True)
class OllamaEmbeddingRequest(EmbeddingRequest):
    """Body of POST /api/embeddings, the older form."""

    encoding_format: Annotated[Literal["float"], Meta(description="Numbers.")] | None = None
    input: Annotated[str, Meta(description="Made of `prompt`.")] = ""
    prompt: Annotated[str, Meta(min_length=1, description="The text.")]
    keep_alive: _KeepAlive | None = None


@dataclass(frozen=True)
class ShowRequest:
    """Body of POST /api/show."""

    model: ModelName = ""
    name: Annotated[str, Meta(description="The older name of `model`.")] = ""


@dataclass(frozen=True)
class ModelDetails:
    """The form of a model."""

    format: str = "openvino"
    family: str = "headstart"
    families: tuple[str, ...] = ("headstart",)
    parent_model: str = ""
    parameter_size: str = ""
    quantization_level: str = ""


@dataclass(frozen=True)
class OllamaModel:
    """A model that requests can name."""

    name: str
    model: str
    modified_at: str
    size: int
    digest: str
    details: ModelDetails = field(default_factory=ModelDetails)


@dataclass(frozen=True)
class OllamaModels:
    """Reply to GET /api/tags."""

    models: list[OllamaModel]


@dataclass(frozen=True)
class RunningModel:
    """A model in memory. `size` is what its process holds, in bytes."""

    name: str
    model: str
    size: int
    digest: str
    context_length: int
    expires_at: str
    size_vram: int = 0
    details: ModelDetails = field(default_factory=ModelDetails)


@dataclass(frozen=True)
class RunningList:
    """Reply to GET /api/ps."""

    models: list[RunningModel]


@dataclass(frozen=True)
class Shown:
    """Reply to POST /api/show."""

    modified_at: str
    model_info: JsonObject
    capabilities: list[str]
    details: ModelDetails = field(default_factory=ModelDetails)
    modelfile: str = ""
    parameters: str = ""
    template: str = ""
    license: str = ""


@dataclass(frozen=True)
class OllamaVersion:
    """Reply to GET /api/version: the version of Ollama whose API this is."""

    version: str = VERSION


@dataclass(frozen=True)
class AnswerPart:
    """A message of the assistant, or a part of it."""

    content: str = ""
    thinking: str | UnsetType = UNSET
    tool_calls: list[OllamaCall] | UnsetType = UNSET
    role: Literal["assistant"] = "assistant"


@dataclass(frozen=True, kw_only=True)
class AnswerLine:
    """A whole answer, or a line of a streamed one. Only the last line has counts and times, in nanoseconds."""

    model: str
    created_at: str
    message: AnswerPart | UnsetType = UNSET
    thinking: str | UnsetType = UNSET  # of a continued text
    response: str | UnsetType = UNSET
    logprobs: list[TokenLogprob] | UnsetType = UNSET
    done: bool = False
    done_reason: Literal["stop", "length", "load"] | UnsetType = UNSET
    total_duration: int | UnsetType = UNSET
    load_duration: int | UnsetType = UNSET
    prompt_eval_count: int | UnsetType = UNSET
    prompt_eval_duration: int | UnsetType = UNSET
    eval_count: int | UnsetType = UNSET
    eval_duration: int | UnsetType = UNSET


@dataclass(frozen=True)
class OllamaEmbeddings:
    """Reply to POST /api/embed."""

    model: str
    embeddings: list[list[float]]
    total_duration: int
    prompt_eval_count: int
    load_duration: int = 0


@dataclass(frozen=True)
class OllamaEmbedding:
    """Reply to POST /api/embeddings."""

    embedding: list[float]


def ollama_to_request(
    body: OllamaChatRequest | OllamaGenerateRequest, model: Served, defaults: Defaults
) -> GenerationRequest:
    """Translate a request. Raises RefusedError."""
    options = body.options or OllamaOptions()
    require_context(model, options.num_ctx)
    values = {name: getattr(options, name) for name in _OPTION_NAMES}
    asked = AnswerRequest(model=body.model, format=body.format or None, num_predict=options.num_predict, **values)
    top_logprobs = body.top_logprobs or 0 if body.logprobs else None
    if isinstance(body, OllamaGenerateRequest) and (body.raw or body.suffix):
        if body.system:
            sentence = "A prompt that is continued as it is has no system message: leave out `system`, or `raw` and "
            raise invalid(f"{sentence}`suffix`.", "system", "unsupported_value")
        continued = prompt_request(asked, defaults, body.prompt, body.suffix)
        return structs.replace(continued, top_logprobs=top_logprobs)
    messages, tools = _chat(body) if isinstance(body, OllamaChatRequest) else (_question(body), None)
    request = structs.replace(conversation_request(asked, defaults, messages, tools), top_logprobs=top_logprobs)
    if isinstance(body.think, str):
        return with_effort(request, body.think)
    return structs.replace(request, thinking=body.think)


_OPTION_NAMES = {parameter.name for parameter in declared(Sampling)} | {"top_k", "seed", "stop", "repeat_penalty"}


def _chat(body: OllamaChatRequest) -> tuple[tuple[Message, ...], Tools | None]:
    turns = body.messages or []
    if any(image for turn in turns for image in turn.images or ()):
        raise invalid("This model reads text only: leave out `images`.", "images", "unsupported_value")
    history = History()
    for place, turn in enumerate(turns):
        if turn.role == "tool":
            field_ = "tool_call_id" if turn.tool_call_id else "tool_name"
            history.add_result(turn.content or "", f"messages[{place}]", turn.tool_call_id, field_, turn.tool_name)
        else:
            message = Message(turn.role, turn.content or "", _calls(turn), turn.thinking or "")
            history.add(message, [call.id or "" for call in turn.tool_calls or ()])
    tools = tuple(tool_of(tool.function) for tool in body.tools or () if tool.function)
    return history.messages(), tools_of(tools, required=False, only="", parallel=False)


def _question(body: OllamaGenerateRequest) -> tuple[Message, ...]:
    system = (Message("system", body.system),) if body.system else ()
    return (*system, Message("user", body.prompt))


def _calls(turn: OllamaTurn) -> tuple[Call, ...]:
    return tuple(
        Call(call.function.name, whole_arguments(msgspec.json.encode(call.function.arguments).decode()))
        for call in turn.tool_calls or ()
    )


def tags(models: Sequence[Served], since: float) -> OllamaModels:
    """Return the list of all models, as of the start of the server (seconds since 1970)."""
    return OllamaModels(
        [
            OllamaModel(f"{model.id}{TAG}", f"{model.id}{TAG}", _time(since), model.size, _digest(model))
            for model in models
        ]
    )


def running(loaded: Sequence[ModelProcess], models: Sequence[Served]) -> RunningList:
    """Return the models in memory."""
    known = {model.id: model for model in models}
    return RunningList(
        [
            RunningModel(
                f"{each.name}{TAG}",
                f"{each.name}{TAG}",
                each.memory,
                _digest(known[each.name]),
                known[each.name].context,
                _time(each.since + _KEPT_SECONDS),
            )
            for each in loaded
            if each.name in known
        ]
    )


_KEPT_SECONDS = 10 * 365 * 24 * 3600.0  # a model stays until another one needs its place


def shown(model: Served, since: float) -> Shown:
    """Return the description of a model."""
    # Clients look for the context under the name of the architecture.
    facts = {"general.architecture": "headstart", "general.basename": model.id}
    sizes = {"headstart.context_length": model.context, "headstart.embedding_length": model.dimensions}
    capabilities = ["embedding"] if model.dimensions else ["completion", "tools"]
    info = facts | {name: size for name, size in sizes.items() if size}
    return Shown(_time(since), info, capabilities, parameters=_parameters(model.sampling) if model.sampling else "")


def _parameters(sampling: Sampling) -> str:
    """Return a model's own sampling values as lines of a Modelfile."""
    names = {"repetition_penalty": "repeat_penalty"}
    own = [each.field for each in declared(Sampling) if each.is_models_own]
    return "\n".join(f"{names.get(name, name)} {getattr(sampling, name):g}" for name in own)


def loaded_line(body: OllamaRequest) -> AnswerLine:
    """Return the reply to a request that only loads a model."""
    is_chat = isinstance(body, OllamaChatRequest)
    return AnswerLine(
        model=body.model,
        created_at=_time(),
        message=AnswerPart() if is_chat else UNSET,
        response=UNSET if is_chat else "",
        done=True,
        done_reason="load",
    )


def not_here(method: str, path: str) -> RefusedError:
    """Return the refusal of a route of Ollama's that installs, copies or removes models."""
    return invalid(f"{method} {path[:80]} is not answered here. {_INSTALLING}", code="unsupported_route")


def embeddings_of(vectors: Embeddings, nanoseconds: int) -> OllamaEmbeddings:
    """Return the reply with the embeddings of a request, which took so long."""
    return OllamaEmbeddings(vectors.model, numbers_of(vectors), nanoseconds, vectors.usage.prompt_tokens)


def numbers_of(vectors: Embeddings) -> list[list[float]]:
    return [each.embedding for each in vectors.data if not isinstance(each.embedding, str)]


class OllamaFormatter(BlockFormatter):
    """Formatter of an answer as one object, or as lines of a stream. A call is sent whole."""

    media_type = "application/x-ndjson"

    def __init__(self, body: OllamaRequest, reader: CallReader | None) -> None:
        """`reader` finds calls; None if there cannot be any."""
        super().__init__(reader)
        self._body, self._started = body, time.monotonic_ns()

    def reply(self, end: Finish) -> AnswerLine:
        text = "".join(block.text for block in self.blocks if not (block.name or block.is_thinking))
        thinking = "".join(block.text for block in self.blocks if block.is_thinking)
        calls = [_call(block) for block in self.blocks if block.name and block.is_whole]
        scored = [token for block in self.blocks for token in block.scored]
        return self._last_line(self._line(text, calls, scored, thinking), end)

    def first_events(self) -> Iterable[AnswerLine]:
        return ()

    def ping(self) -> Iterable[AnswerLine]:
        yield self._line("")

    def start_block(self, _block: Block) -> Iterable[AnswerLine]:
        return ()

    def extend_block(self, block: Block, chunk: AnswerChunk) -> Iterable[AnswerLine]:
        if block.is_thinking:
            yield self._line("", thinking=chunk.text)
        elif not block.name:
            yield self._line(chunk.text, scored=chunk.scored or ())

    def end_block(self, block: Block) -> Iterable[AnswerLine]:
        if block.name and block.is_whole:
            yield self._line("", [_call(block)])

    def end_reply(self, end: Finish) -> Iterable[AnswerLine]:
        yield self._last_line(self._line(""), end)

    def encode(self, event: object) -> bytes:
        """Return an event as a line of the stream."""
        return msgspec.json.encode(event) + b"\n"

    def _line(
        self,
        text: str,
        calls: Sequence[OllamaCall] = (),
        scored: Sequence[Scored] = (),
        thinking: str = "",
    ) -> AnswerLine:
        is_chat = isinstance(self._body, OllamaChatRequest)
        return AnswerLine(
            model=self._body.model,
            created_at=_time(),
            message=AnswerPart(text, thinking or UNSET, list(calls) or UNSET) if is_chat else UNSET,
            thinking=UNSET if is_chat else thinking or UNSET,
            response=UNSET if is_chat else text,
            logprobs=logprobs_of(scored) if scored else UNSET,
        )

    def _last_line(self, line: AnswerLine, end: Finish) -> AnswerLine:
        total, stats = time.monotonic_ns() - self._started, end.stats
        prompt, answer = round(stats.ttft_ms * 1e6), round(stats.decode_ms * 1e6)
        return replace(
            line,
            done=True,
            done_reason="stop" if self.is_complete(end) else "length",
            total_duration=total,
            load_duration=max(0, total - prompt - answer),
            prompt_eval_count=stats.prompt_tokens,
            prompt_eval_duration=prompt,
            eval_count=stats.output_tokens,
            eval_duration=answer,
        )


def _call(block: Block) -> OllamaCall:
    return OllamaCall(OllamaFunction(block.name, msgspec.json.decode(block.text or "{}")))


def _digest(model: Served) -> str:
    return sha256(repr((model.id, model.build)).encode()).hexdigest()


def _time(seconds: float | None = None) -> str:
    """Return a time in Ollama's format: now, or `seconds` since 1970."""
    moment = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
