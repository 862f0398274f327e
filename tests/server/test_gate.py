"""Who may ask: rebinding, web pages, keys. Nothing that is refused reaches the engine."""

import json
from collections.abc import Iterator

import openai
import pytest

from tests.fakes import ScriptedEngine
from tests.server.serving import KEY, Running, chat_body, serving

CHAT = "/v1/chat/completions"


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def running(engine: ScriptedEngine) -> Iterator[Running]:
    with serving(engine) as running:
        yield running


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", "0.0.0.0:8642", ""])
def test_a_page_that_resolves_to_this_computer_is_refused(running: Running, engine: ScriptedEngine, host: str) -> None:
    status, _, body = running.ask("POST", CHAT, {"Host": host}, chat_body())
    assert (status, json.loads(body)["error"]["code"]) == (403, "host_not_allowed")
    assert not engine.requests


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8642", "127.8.8.8:80"])
def test_its_own_names_are_known(running: Running, host: str) -> None:
    assert running.ask("GET", "/v1/models", {"Host": host})[0] == 200


@pytest.mark.parametrize(
    "header",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_web_pages_are_refused_even_with_the_key(
    running: Running, engine: ScriptedEngine, header: dict[str, str]
) -> None:
    status, headers, body = running.ask("POST", CHAT, header, chat_body())
    assert (status, json.loads(body)["error"]["code"]) == (403, "origin_not_allowed")
    assert "access-control-allow-origin" not in headers
    assert not engine.requests


def test_a_preflight_of_a_stranger_is_refused(running: Running) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    status, headers, _ = running.ask("OPTIONS", CHAT, asked)
    assert status == 403
    assert "access-control-allow-origin" not in headers


def test_origins_and_hosts_that_were_named_are_let_in(engine: ScriptedEngine) -> None:
    page = "http://localhost:3000"
    with serving(engine, hosts=("Den.local",), origins=(page,)) as running:
        preflight = {"Origin": page, "Access-Control-Request-Method": "POST", "Authorization": ""}
        assert running.ask("OPTIONS", CHAT, preflight)[0] == 200
        status, headers, _ = running.ask("POST", CHAT, {"Origin": page, "Host": "Den.local:9"}, chat_body())
        assert (status, headers["access-control-allow-origin"]) == (200, page)
        assert running.ask("POST", CHAT, {"Origin": page, "Authorization": ""}, chat_body())[0] == 401
        assert running.ask("POST", CHAT, {"Origin": f"{page}0"}, chat_body())[0] == 403


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {KEY}", KEY, f"Bearer {KEY}x", "Bearer \xe9"]
)
def test_without_the_key_there_is_nothing(running: Running, engine: ScriptedEngine, shown: str) -> None:
    for path in (CHAT, "/v1/models", "/nothing"):
        status, headers, body = running.ask("POST", path, {"Authorization": shown}, chat_body())
        assert (status, json.loads(body)["error"]["code"]) == (401, "invalid_api_key")
        assert headers["www-authenticate"] == "Bearer"
    assert not engine.requests


def test_openai_s_client_understands_the_refusal(running: Running) -> None:
    with running.client(key="wrong") as client, pytest.raises(openai.AuthenticationError, match="headstart serve"):
        client.models.list()


def test_the_description_is_open_and_other_paths_are_not_there(running: Running) -> None:
    assert running.ask("GET", "/openapi.json", {"Authorization": ""})[0] == 200
    status, _, body = running.ask("GET", "/v1/embeddings")
    assert (status, json.loads(body)["error"]["code"]) == (404, "not_found")
    status, _, body = running.ask("GET", CHAT)
    assert status == 405
    assert "see /openapi.json" in json.loads(body)["error"]["message"]
