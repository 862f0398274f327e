"""The description of the API in OpenAPI."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from headstart import __version__
from headstart.server.errors import FaultBody, MessagesFaultBody, OllamaFault
from headstart.server.metrics import TYPE
from headstart.server.requests import fields
from headstart.server.requests.bodies import AnswerRequest
from headstart.server.routes import ollama
from headstart.server.routes.anthropic import CountedTokens, CountTokensRequest, MessagesReply, MessagesRequest
from headstart.server.routes.audio import AudioRequest, AudioText, VerboseAudioText
from headstart.server.routes.chat import ChatChunk, ChatCompletion, ChatRequest
from headstart.server.routes.completions import TextCompletion, TextRequest
from headstart.server.routes.embeddings import EmbeddingRequest, Embeddings, Reranked, RerankRequest
from headstart.server.routes.replies import Health, ListedModel, ModelList
from headstart.server.routes.responses import InputTokens, ResponseObject, ResponsesRequest
from headstart.server.routes.tokens import Detokenized, DetokenizeRequest, Tokenized, TokenizeRequest

_REF = "#/components/schemas/{name}"
_FAULTS = {
    "400": "The request cannot be answered as it is.",
    "401": "The key is missing or wrong.",
    "403": "The request came from a web page, or with a Host that is not this computer.",
    "404": "There is no such model.",
    "408": "The request came too slowly.",
    "413": "The request is too large.",
    "429": "Too many requests are waiting; Retry-After says when to try again.",
    "500": "The server failed.",
    "503": "The engine was lost, or the server is stopping.",
}
_EVENTS, _LINES = "text/event-stream", "application/x-ndjson"


_Json = dict[str, Any]  # a part of the document, whose form OpenAPI lays down


@dataclass(frozen=True)
class _Operation:
    """A method of a path."""

    id: str
    path: str
    summary: str
    body: type | None = None
    reply: type | None = None  # in JSON
    stream: str = ""  # what each event or line of a streamed reply holds
    stream_type: str = _EVENTS
    text_type: str = ""  # media type of a reply that is not JSON
    is_open: bool = False  # it needs no key
    is_form: bool = False  # its body is a form, not JSON
    other_method: str = ""  # in place of POST with a body, and GET without

    @property
    def method(self) -> str:
        return self.other_method or ("post" if self.body else "get")

    @property
    def description(self) -> _Json:
        shown: _Json = {"operationId": self.id, "summary": self.summary, "responses": self._responses}
        if self.body:
            kind = "multipart/form-data" if self.is_form else "application/json"
            shown["requestBody"] = {"required": True, "content": {kind: {"schema": _ref(self.body)}}}
        names = re.findall(r"{(\w+)}", self.path)
        if names:
            place = {"in": "path", "required": True, "schema": {"type": "string"}}
            shown["parameters"] = [{"name": name} | place for name in names]
        return shown | {"security": []} if self.is_open else shown

    @property
    def _responses(self) -> _Json:
        content: _Json = {"application/json": {"schema": _ref(self.reply)}} if self.reply else {}
        if self.stream:
            content[self.stream_type] = {}
        if self.text_type:
            content[self.text_type] = {}
        meaning = f"The answer. With `stream`, {self.stream}." if self.stream else "The answer."
        fault = {"application/json": {"schema": _ref(_fault(self.path))}}
        faults = {status: {"description": text, "content": fault} for status, text in _FAULTS.items()}
        return {"200": {"description": meaning, "content": content}} | faults if content else faults


def _fault(path: str) -> type:
    if path.startswith("/api/"):
        return OllamaFault
    return MessagesFaultBody if path.startswith("/v1/messages") else FaultBody


def _ref(schema: type) -> dict[str, str]:
    if schema is dict:
        return {"type": "object"}
    return {"$ref": _REF.format(name=schema.__name__)}


def _ollama(name: str, summary: str, reply: type, body: type | None = None, **more: Any) -> _Operation:
    return _Operation(f"ollama{name.capitalize()}", f"/api/{name}", f"{summary} Ollama's API.", body, reply, **more)


_CHUNKS = "each event holds a {name}, and the last event is [DONE]"
_OLLAMA_STREAM = {"stream": "which is the default, each line holds an AnswerLine", "stream_type": _LINES}
_OPERATIONS = (
    _Operation("listModels", "/v1/models", "List the models.", reply=ModelList),
    _Operation("retrieveModel", "/v1/models/{model}", "Show one model.", reply=ListedModel),
    _Operation(
        "createChatCompletion",
        "/v1/chat/completions",
        "Answer a conversation.",
        ChatRequest,
        ChatCompletion,
        _CHUNKS.format(name="ChatChunk"),
    ),
    _Operation(
        "createCompletion",
        "/v1/completions",
        "Continue a text.",
        TextRequest,
        TextCompletion,
        _CHUNKS.format(name="TextCompletion"),
    ),
    _Operation(
        "createResponse",
        "/v1/responses",
        "Answer a conversation; nothing is stored.",
        ResponsesRequest,
        ResponseObject,
        "the events are those of OpenAI's Responses API",
    ),
    _Operation(
        "createMessage",
        "/v1/messages",
        "Answer a conversation, as Anthropic's API does.",
        MessagesRequest,
        MessagesReply,
        "the events are those of Anthropic's API",
    ),
    _Operation(
        "countMessageTokens",
        "/v1/messages/count_tokens",
        "Count the tokens of a conversation.",
        CountTokensRequest,
        CountedTokens,
    ),
    _Operation(
        "countInputTokens",
        "/v1/responses/input_tokens",
        "Count the tokens of a conversation.",
        ResponsesRequest,
        InputTokens,
    ),
    _Operation("createEmbedding", "/v1/embeddings", "Turn texts into vectors.", EmbeddingRequest, Embeddings),
    _Operation("rerank", "/v1/rerank", "Sort texts by what they have in common with a query.", RerankRequest, Reranked),
    _Operation(
        "createTranscription",
        "/v1/audio/transcriptions",
        "Write down what is said in a recording.",
        AudioRequest,
        AudioText,
        text_type="text/plain",
        is_form=True,
    ),
    _Operation(
        "createTranslation",
        "/v1/audio/translations",
        "Write down what is said in a recording, in English.",
        AudioRequest,
        AudioText,
        text_type="text/plain",
        is_form=True,
    ),
    _Operation("tokenize", "/tokenize", "Turn a text or a conversation into tokens.", TokenizeRequest, Tokenized),
    _Operation("detokenize", "/detokenize", "Turn tokens into a text.", DetokenizeRequest, Detokenized),
    _ollama("tags", "List the models.", ollama.OllamaModels),
    _ollama("ps", "List the models in memory.", ollama.RunningList),
    _ollama("version", "Tell the version of Ollama whose API this is.", ollama.OllamaVersion),
    _ollama("show", "Describe a model.", ollama.Shown, ollama.ShowRequest),
    _ollama("chat", "Answer a conversation.", ollama.AnswerLine, ollama.OllamaChatRequest, **_OLLAMA_STREAM),
    _ollama(
        "generate", "Answer or continue a text.", ollama.AnswerLine, ollama.OllamaGenerateRequest, **_OLLAMA_STREAM
    ),
    _ollama("embed", "Turn texts into vectors.", ollama.OllamaEmbeddings, ollama.OllamaEmbedRequest),
    _ollama("embeddings", "Turn a text into a vector.", ollama.OllamaEmbedding, ollama.OllamaEmbeddingRequest),
    *(
        _Operation(
            f"{method}{path.title().replace('/', '').partition('{')[0]}",
            path,
            "Say how models are installed and removed instead: not with this API.",
            other_method=method,
        )
        for path in ollama.MISSING
        for method in ("get", "post", "put", "delete")
    ),
    _Operation("metrics", "/metrics", "Count requests, tokens and seconds, for Prometheus.", text_type=TYPE),
    *(
        _Operation(f"health{number}", path, "Say that the server answers.", reply=Health, is_open=True)
        for number, path in enumerate(("/", "/v1", "/health", "/v1/health"))
    ),
    _Operation("describe", "/openapi.json", "Describe the API.", reply=dict, is_open=True),
)


def description(models: list[str]) -> _Json:
    """Return the OpenAPI document for a server of these models."""
    bodies = {operation.body for operation in _OPERATIONS if operation.body}
    replies = {operation.reply for operation in _OPERATIONS if operation.reply}
    types = sorted(
        {*bodies, *replies, ChatChunk, VerboseAudioText, FaultBody, MessagesFaultBody, OllamaFault} - {dict},
        key=lambda each: each.__name__,
    )
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    schemas[AudioRequest.__name__]["properties"]["file"] = {"type": "string", "format": "binary"}
    named = {"anyOf": [{"type": "string", "enum": models}, {"type": "string", "maxLength": 0}, {"type": "null"}]}
    for body in bodies:
        schemas[body.__name__]["properties"]["model"] |= named
    for body in (*bodies, ollama.OllamaOptions):
        unsupported: fields.Unsupported = getattr(body, "unsupported", {})
        schemas[body.__name__]["properties"] |= {name: each.schema for name, each in unsupported.items()}
    paths = dict[str, _Json]()
    for operation in _OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = operation.description
    about = "Local models behind the APIs of OpenAI, Anthropic and Ollama."
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headstart", "version": __version__, "description": about},
        "paths": paths,
        "security": [{"key": []}],
        "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


_PAGE = """# Fields of requests

Every route takes the fields of its table. `null` is the same as leaving a field out. Fields that stand in no table are
ignored, unless their name is nearly that of one here. A field under *Not supported* passes with a value that changes
nothing; every other value is refused, with the remedy. [Local server](server.md) says more.

This page is written by `headstart dev fields --output app/docs/fields.md`."""


def page() -> str:
    """Return the page of the documentation that lists the fields of all requests."""
    bodies = {operation.body: operation.path for operation in reversed(_OPERATIONS) if operation.body}
    shared = dict.fromkeys(row.name for row in fields.supported(AnswerRequest))
    parts = [_PAGE, "## Every route of OpenAI's and Anthropic's APIs that answers", _table(AnswerRequest, ())]
    paths = dict[str, list[str]]()  # by their table
    for body, path in sorted(bodies.items(), key=lambda item: item[1]):
        paths.setdefault(_table(body, shared if issubclass(body, AnswerRequest) else {}), []).append(path)
    parts += [f"## {', '.join(names)}\n\n{table}" for table, names in paths.items()]
    return "\n\n".join([*parts, "## `options` of Ollama's API", _table(ollama.OllamaOptions, ())]) + "\n"


def _table(body: type, known: Collection[str]) -> str:
    """Return the tables of the fields of a body, without those that are `known`."""
    rows = [row for row in fields.supported(body) if row.name not in known]
    lines = [f"| `{row.name}` | {_cell(row.takes)} | {_cell(row.does)} |" for row in rows]
    parts = ["\n".join(["| field | takes | |", "| --- | --- | --- |", *lines])] if lines else []
    unsupported: fields.Unsupported = getattr(body, "unsupported", {})
    others = {name: each for name, each in unsupported.items() if not known or name not in AnswerRequest.unsupported}
    if others:
        lines = [f"| `{name}` | {_cell(_values(each))} | {_cell(each.remedy)} |" for name, each in others.items()]
        head = ["| field | changes nothing | otherwise |", "| --- | --- | --- |"]
        parts += ["Not supported:", "\n".join([*head, *lines])]
    return "\n\n".join(parts)


def _values(refusal: fields.Refusal) -> str:
    return fields.either([f"`{msgspec.json.encode(value).decode()}`" for value in refusal.neutral])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
