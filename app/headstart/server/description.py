"""The API in OpenAPI's words, made from the types that requests are read into and replies are made of."""

from typing import Any

import msgspec

from headstart import __version__
from headstart.server.refusal import FaultBody
from headstart.server.replies import ChatChunk, ChatCompletion, Model, ModelList, TextCompletion
from headstart.server.requests import ChatRequest, TextRequest

_PLACE = "#/components/schemas/{name}"
_TYPES = (ChatRequest, TextRequest, ChatCompletion, ChatChunk, TextCompletion, ModelList, Model, FaultBody)
_FAULTS = {
    "400": "The request asks for what cannot be.",
    "401": "The key is missing or wrong.",
    "403": "A web page, or another name than this computer's.",
    "404": "There is no such model.",
    "408": "The request came too slowly.",
    "413": "The request is too large.",
    "429": "Too many requests wait; Retry-After says when to come again.",
    "500": "The server failed.",
    "503": "The engine was lost, or the server is being stopped.",
}


def of(model: str) -> dict[str, Any]:
    """The whole document for a server of `model`."""
    _, schemas = msgspec.json.schema_components(_TYPES, ref_template=_PLACE)
    for name in ("ChatRequest", "TextRequest"):
        schemas[name]["properties"]["model"] = {"type": "string", "enum": [model]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headstart", "version": __version__, "description": "One local model, as OpenAI has it."},
        "paths": _paths(),
        "security": [{"key": []}],
        "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _paths() -> dict[str, Any]:
    name = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
    chat = _asked("ChatRequest") | _answered("ChatCompletion", "ChatChunk")
    text = _asked("TextRequest") | _answered("TextCompletion", "TextCompletion")
    return {
        "/v1/models": {"get": _named("listModels", "What can be asked.") | _answered("ModelList")},
        "/v1/models/{model}": {
            "get": _named("retrieveModel", "One model.") | {"parameters": [name]} | _answered("Model")
        },
        "/v1/chat/completions": {"post": _named("createChatCompletion", "Answer a conversation.") | chat},
        "/v1/completions": {"post": _named("createCompletion", "Write a text on.") | text},
    }


def _named(operation: str, summary: str) -> dict[str, Any]:
    return {"operationId": operation, "summary": summary}


def _asked(schema: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _at(schema)}}}}


def _answered(schema: str, streamed: str | None = None) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": _at(schema)}}
    told = "As asked."
    if streamed:
        told = f"As asked. With `stream`, an event for each part has a {streamed}, and the last event is [DONE]."
        content["text/event-stream"] = {}
    replies = {status: {"description": text, "content": _fault()} for status, text in _FAULTS.items()}
    return {"responses": {"200": {"description": told, "content": content}} | replies}


def _fault() -> dict[str, Any]:
    return {"application/json": {"schema": _at("FaultBody")}}


def _at(schema: str) -> dict[str, str]:
    return {"$ref": _PLACE.format(name=schema)}
