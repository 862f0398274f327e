"""The table of fields: what it says of each field is so on each route."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from headstart.server import openapi
from headstart.server.requests import fields
from headstart.server.routes.anthropic import MessagesRequest
from headstart.server.routes.chat import ChatRequest
from headstart.server.routes.completions import TextRequest
from headstart.server.routes.ollama import OllamaGenerateRequest, OllamaOptions
from headstart.server.routes.responses import ResponsesRequest
from headstart.server.routes.tokens import TokenizeRequest
from tests.server.serving import Running, serving
from tests.stand_ins.fakes import ScriptedEngine

HI = [{"role": "user", "content": "Hi"}]
ROUTES: dict[str, tuple[type, dict[str, Any]]] = {
    "/v1/chat/completions": (ChatRequest, {"messages": HI}),
    "/v1/completions": (TextRequest, {"prompt": "Hi"}),
    "/v1/messages": (MessagesRequest, {"messages": HI, "max_tokens": 5}),
    "/v1/responses": (ResponsesRequest, {"input": "Hi"}),
    "/api/chat": (OllamaOptions, {"messages": HI, "stream": False}),
    "/api/generate": (OllamaGenerateRequest, {"prompt": "Hi", "stream": False}),
    "/tokenize": (TokenizeRequest, {"content": "Hi"}),
}
UNSUPPORTED = [
    (path, name, refusal)
    for path, (body, _) in ROUTES.items()
    for name, refusal in getattr(body, "unsupported", {}).items()
]
SUPPORTED = [
    (path, row.name)
    for path, (body, needed) in ROUTES.items()
    for row in fields.supported(body)
    if row.name not in needed
]
OTHERS = ["x", 7, -7, 0.123, True, False, ["x"], {"x": 1}, [], {}, ""]


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving(ScriptedEngine()) as running:
        yield running


def ask(running: Running, path: str, **more: Any) -> tuple[int, str]:
    _, body = ROUTES[path]
    if path == "/api/chat":
        more = {"options": more}
    status, _, text = running.ask("POST", path, body=json.dumps(body | more))
    return status, text


@pytest.mark.parametrize(
    ("path", "name", "refusal"), UNSUPPORTED, ids=lambda each: each if isinstance(each, str) else ""
)
def test_unsupported_field_passes_with_what_changes_nothing(
    running: Running, path: str, name: str, refusal: fields.Refusal
) -> None:
    for value in (None, *refusal.neutral):
        assert ask(running, path, **{name: value})[0] == 200
    others = [value for value in OTHERS if not refusal.passes(value, {})]
    assert others
    for value in others:
        status, text = ask(running, path, **{name: value})
        assert (status, f"{name}` is not supported" in text) == (400, True)


@pytest.mark.parametrize(("path", "name"), SUPPORTED)
def test_null_is_the_same_as_leaving_a_field_out(running: Running, path: str, name: str) -> None:
    assert ask(running, path, **{name: None})[0] == 200


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat"])
def test_penalty_window_passes_where_there_is_no_penalty(running: Running, path: str) -> None:
    assert ask(running, path, repeat_last_n=64, repeat_penalty=1.0)[0] == 200
    for penalties in ({"repeat_penalty": 1.1}, {"repeat_penalty": 1, "presence_penalty": 0.5}, {}):
        status, text = ask(running, path, repeat_last_n=64, **penalties)
        assert (status, "send `repeat_penalty` with the value 1" in text) == (400, True)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (3, "`temperature` must be a number from 0 to 2, not 3: correct it."),
        ("hot", "`temperature` must be a number from 0 to 2, not 'hot': correct it."),
        ([1], "`temperature` must be a number from 0 to 2: correct it."),
        (float("inf"), "The body is not JSON (Infinity is no number): send one object."),
    ],
)
def test_wrong_value_is_refused_in_the_words_of_the_table(running: Running, value: Any, sentence: str) -> None:
    status, text = ask(running, "/v1/chat/completions", temperature=value)
    assert (status, json.loads(text)["error"]["message"]) == (400, sentence)


def test_page_says_of_every_field_what_it_does() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+? \| (.*?) *\|$", openapi.page(), re.MULTILINE)
    assert len(rows) > len(SUPPORTED)
    assert not [name for name, does in rows if not does]
