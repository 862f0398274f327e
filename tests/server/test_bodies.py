"""Bodies at random: each is answered or refused in one sentence, and the next request works."""

import gzip
import http.client
import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.engine.engine import Message, Request
from headstart.errors import SettingsError
from headstart.server import fields
from headstart.server.anthropic import MessagesRequest, messages_to_request
from headstart.server.bodies import ChatRequest, EmbeddingRequest, TextRequest
from headstart.server.errors import RefusedError
from headstart.server.models import Served
from headstart.server.ollama import OllamaChatRequest, OllamaGenerateRequest, ollama_to_request
from headstart.server.reading import parse_request
from headstart.server.requests import Defaults, chat_to_request, embedding_to_request, losses_of, text_to_requests
from headstart.server.responses import ResponsesRequest, responses_to_request
from headstart.server.tokens import DetokenizeRequest, TokenizeRequest, tokenize_to_request
from headstart.server.worker import Limits
from tests.fakes import ScriptedEngine
from tests.junk import fuzz
from tests.server.serving import KEY, Running, serving
from tests.waiting import PATIENCE

ROUTES: dict[str, tuple[type, dict[str, Any]]] = {
    "/v1/chat/completions": (ChatRequest, {"messages": [{"role": "user", "content": "Hi"}]}),
    "/v1/completions": (TextRequest, {"prompt": "Hi"}),
    "/v1/responses": (ResponsesRequest, {"input": [{"role": "user", "content": "Hi"}]}),
    "/v1/messages": (MessagesRequest, {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3}),
    "/v1/embeddings": (EmbeddingRequest, {"input": "Hi"}),
    "/api/chat": (OllamaChatRequest, {"messages": [{"role": "user", "content": "Hi"}]}),
    "/api/generate": (OllamaGenerateRequest, {"prompt": "Hi"}),
    "/tokenize": (TokenizeRequest, {"content": "Hi"}),
    "/detokenize": (DetokenizeRequest, {"tokens": [1]}),
}
SERVED = Served("toy", 4096)
TRANSLATE: dict[str, Callable[[Any], list[Request]]] = {
    "/v1/chat/completions": lambda body: [chat_to_request(body, Defaults())],
    "/v1/completions": lambda body: text_to_requests(body, Defaults()),
    "/v1/responses": lambda body: [responses_to_request(body, Defaults())],
    "/v1/messages": lambda body: [messages_to_request(body, Defaults())],
    "/v1/embeddings": lambda body: [embedding_to_request(body)],
    "/api/chat": lambda body: [] if body.is_empty else [ollama_to_request(body, SERVED, Defaults())],
    "/api/generate": lambda body: [] if body.is_empty else [ollama_to_request(body, SERVED, Defaults())],
    "/tokenize": lambda body: [tokenize_to_request(body)],
}
VALUES = [None, True, False, 0, -1, 1, 2**31, 2**63, -(2**64), 0.5, 1e308, 5.0, "", "a", "none", "json", "\ud83d", "\0"]
TEXTS = st.one_of(
    st.text(max_size=20), st.sampled_from(["👩‍👩‍👧", "\u202eabc", "e\u0301\u0323", "\ufeff", "𝒳", "\0", "<|im_end|>"])
)
FOX = "The quick brown fox jumps over the lazy dog."


@pytest.fixture(scope="module")
def engine() -> ScriptedEngine:
    return ScriptedEngine(context=2**20)


@pytest.fixture(scope="module")
def running(engine: ScriptedEngine) -> Iterator[Running]:
    with serving(engine, Limits(parallel=4)) as running:
        yield running


def value(dice: random.Random, depth: int = 3) -> Any:
    kind = dice.random()
    if depth and kind < 0.2:
        return [value(dice, depth - 1) for _ in range(dice.randrange(3))]
    if depth and kind < 0.4:
        names = [
            "type",
            "role",
            "content",
            "text",
            "function",
            "name",
            "arguments",
            "schema",
            "tool_calls",
            "input",
            "id",
        ]
        return {dice.choice(names): value(dice, depth - 1) for _ in range(dice.randrange(4))}
    kinds = ["text", "function", "tool_use", "tool_result", "image", "user", "assistant", "tool", "json_schema"]
    return dice.choice([*VALUES, *kinds])


def bodies(count: int) -> Iterator[tuple[str, bytes]]:
    """Yield paths and bodies: fields with values at random, some of them cut or damaged."""
    dice = random.Random(52)
    names = {path: [row.name for row in fields.supported(body)] for path, (body, _) in ROUTES.items()}
    for number in range(count):
        path, (_, needed) = dice.choice(list(ROUTES.items()))
        body = needed | {dice.choice(names[path]): value(dice) for _ in range(dice.randrange(1, 4))}
        data = json.dumps(body).encode()
        yield path, data if number % 10 else data[: dice.randrange(len(data))] + bytes([dice.randrange(256)])


@pytest.mark.slow
def test_20_000_bodies_are_translated_or_refused_in_a_sentence() -> None:
    for path, data in bodies(20_000):
        body_type, _ = ROUTES[path]
        try:
            body: Any = parse_request(data, body_type)
            translate = TRANSLATE.get(path)
            for request in translate(body) if translate else ():
                losses_of(request)
        except (RefusedError, SettingsError) as error:  # a status from 400 to 499
            if not str(error).endswith((".", "?")):
                pytest.fail(f"{data!r}: {error}")


@pytest.mark.slow
def test_bodies_over_http_are_answered_or_refused_in_a_sentence(running: Running) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    with closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=PATIENCE)) as connection:
        for number, (path, data) in enumerate(bodies(400)):
            packed = {"Content-Encoding": "gzip"} if number % 7 == 0 else {}
            connection.request("POST", path, gzip.compress(data) if packed else data, headers | packed)
            reply = connection.getresponse()
            text = reply.read().decode()
            assert reply.status < 500, (path, data, text)
            if reply.status >= 400:
                error = json.loads(text)["error"]
                assert (error if path.startswith("/api/") else error["message"]).endswith((".", "?")), (data, text)


def turns_of(path: str, history: list[tuple[str, list[str]]]) -> dict[str, Any]:
    """Return a body with a history of roles and texts, as a client of a route sends it."""
    if path == "/api/chat":
        return {"messages": [{"role": role, "content": "\n".join(texts)} for role, texts in history], "stream": False}
    kinds = {"user": "input_text", "assistant": "output_text"} if path == "/v1/responses" else {}
    turns = [
        {"role": role, "content": [{"type": kinds.get(role, "text"), "text": text} for text in texts]}
        for role, texts in history
    ]
    return {"input" if path == "/v1/responses" else "messages": turns}


@fuzz("histories")
@given(st.data())
def test_histories_reach_the_engine_alike_on_four_routes(
    running: Running, engine: ScriptedEngine, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, 4))
    texts = st.lists(TEXTS.filter(bool), min_size=1, max_size=3)
    history = [(role, data.draw(texts)) for _ in range(count) for role in ("user", "assistant")]
    history.append(("user", data.draw(texts)))
    # Written independently: lone halves of surrogate pairs become the replacement character.
    expected = [
        (role, "\n".join(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in parts))
        for role, parts in history
    ]
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"):
        body = json.dumps(turns_of(path, history), ensure_ascii=data.draw(st.booleans())).encode("utf-8", "replace")
        is_packed = data.draw(st.booleans())
        headers = {"Content-Encoding": "gzip"} if is_packed else {}
        status, _, text = running.ask("POST", path, headers, gzip.compress(body) if is_packed else body)
        assert (status, FOX in text) == (200, True), text
        got: tuple[Message, ...] = engine.requests[-1].messages
        assert [(message.role, message.content) for message in got] == expected
