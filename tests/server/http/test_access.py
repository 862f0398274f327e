"""Access: rebinding, web pages, keys, addresses. Nothing that is refused reaches the engine."""

import asyncio
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import openai
import pytest

from headstart.errors import ServerError, SettingsError
from headstart.server import keys
from headstart.server.server import listen, url
from tests.server.serving import KEY, Running, chat_body, serving
from tests.stand_ins.fakes import ScriptedEngine

CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """A server whose engine must get no request."""
    engine = ScriptedEngine()
    with serving(engine) as running:
        yield running
    assert not engine.requests


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", "0.0.0.0:8642", ""])
def test_foreign_host_name_is_refused(running: Running, host: str) -> None:
    status, _, body = running.ask("POST", CHAT, {"Host": host}, chat_body())
    assert (status, json.loads(body)["error"]["code"]) == (403, "host_not_allowed")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8642", "127.8.8.8:80"])
def test_own_host_names_are_allowed(running: Running, host: str) -> None:
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
def test_web_page_is_refused_even_with_the_key(running: Running, header: dict[str, str]) -> None:
    status, headers, body = running.ask("POST", CHAT, header, chat_body())
    assert (status, json.loads(body)["error"]["code"]) == (403, "origin_not_allowed")
    assert "access-control-allow-origin" not in headers


def test_preflight_of_a_stranger_is_refused(running: Running) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    status, headers, _ = running.ask("OPTIONS", CHAT, asked)
    assert status == 403
    assert "access-control-allow-origin" not in headers


def test_named_origins_and_hosts_are_allowed() -> None:
    page = "http://localhost:3000"
    with serving(ScriptedEngine(), hosts=("Den.local",), origins=(page,)) as running:
        preflight = {"Origin": page, "Access-Control-Request-Method": "POST", "Authorization": ""}
        assert running.ask("OPTIONS", CHAT, preflight)[0] == 200
        status, headers, _ = running.ask("POST", CHAT, {"Origin": page, "Host": "Den.local:9"}, chat_body())
        assert (status, headers["access-control-allow-origin"]) == (200, page)
        assert running.ask("POST", CHAT, {"Origin": page, "Authorization": ""}, chat_body())[0] == 401
        assert running.ask("POST", CHAT, {"Origin": f"{page}0"}, chat_body())[0] == 403


@pytest.mark.parametrize(
    ("allowed", "origin", "is_allowed"),
    [
        ("vscode-webview://*", "vscode-webview://0b1c2d3e", True),
        ("vscode-webview://*", "https://evil.example", False),
        ("app://obsidian.md", "app://obsidian.md", True),
        ("http://localhost:*", "http://localhost:5173", True),
        ("http://localhost:*", "http://localhost.evil.example:80", False),
        ("https://*.example.com", "https://a.b.example.com", True),
        ("https://*.example.com", "https://example.com.evil.example", False),
    ],
)
def test_origins_may_have_a_pattern(allowed: str, origin: str, *, is_allowed: bool) -> None:
    with serving(ScriptedEngine(), origins=("http://first.example", allowed)) as running:
        status, headers, _ = running.ask("POST", CHAT, {"Origin": origin}, chat_body())
        assert status == (200 if is_allowed else 403)
        assert headers.get("access-control-allow-origin") == (origin if is_allowed else None)
        preflight = {"Origin": origin, "Access-Control-Request-Method": "POST", "Authorization": ""}
        assert running.ask("OPTIONS", CHAT, preflight)[0] == status
        assert running.ask("GET", "/v1/models", {"Origin": ""})[0] == 403


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {KEY}", KEY, f"Bearer {KEY}x", "Bearer \xe9"]
)
def test_request_without_the_key_is_refused(running: Running, shown: str) -> None:
    for path in (CHAT, "/v1/models", "/nothing"):
        status, headers, body = running.ask("POST", path, {"Authorization": shown}, chat_body())
        assert (status, json.loads(body)["error"]["code"]) == (401, "invalid_api_key")
        assert headers["www-authenticate"] == "Bearer"


def test_openai_client_understands_the_refusal(running: Running) -> None:
    with running.client(key="wrong") as client, pytest.raises(openai.AuthenticationError, match="headstart serve"):
        client.models.list()


def test_openapi_is_public_and_other_paths_are_404(running: Running) -> None:
    assert running.ask("GET", "/openapi.json", {"Authorization": ""})[0] == 200
    codes = {404: "not_found", 405: "method_not_allowed"}
    for method, path, refusal in (("GET", "/v1/images", 404), ("GET", CHAT, 405), ("GET", f"{CHAT}/", 405)):
        status, _, body = running.ask(method, path)
        assert (status, json.loads(body)["error"]["code"]) == (refusal, codes[refusal])
        assert "see /openapi.json" in json.loads(body)["error"]["message"]


def test_keys_are_long_and_unique() -> None:
    made = {keys.new() for _ in range(100)}
    assert len(made) == 100
    assert min(map(len, made)) > 40


def test_only_the_hash_of_a_key_is_stored(tmp_path: Path) -> None:
    file, key = tmp_path / "new" / "server-key", keys.new()
    assert keys.read(file) is None
    keys.write(file, keys.digest(key))
    kept = keys.read(file)
    assert kept is not None
    assert keys.matches(key, kept)
    assert not keys.matches(key[:-1], kept)
    assert key not in file.read_text(encoding="ascii")
    assert [path.name for path in file.parent.iterdir()] == ["server-key"]
    if sys.platform != "win32":
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 64])
def test_damaged_and_unwritable_key_files_are_errors(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "server-key").write_bytes(content)
    with pytest.raises(ServerError, match="--new-key"):
        keys.read(tmp_path / "server-key")
    with pytest.raises(ServerError, match="cannot be written"):
        keys.write(tmp_path / "server-key" / "deeper", keys.digest("a"))


def test_server_listens_to_loopback_by_default() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):  # noqa: S104 - that it is refused is the point
        with pytest.raises(SettingsError, match="--allow-network"):
            listen(host, 0)
    with pytest.raises(SettingsError, match="must be an address"):
        listen("example.org", 0)
    with pytest.raises(ServerError, match="choose others"):
        listen("192.0.2.1", 0, allow_network=True)  # of a network for documentation: no computer has it
    with closing(listen("0.0.0.0", 0, allow_network=True)) as listener:  # noqa: S104
        assert listener.getsockname()[0] == "0.0.0.0"  # noqa: S104


def test_small_packets_are_sent_at_once() -> None:
    """The body of a reply does not wait until the client has acknowledged its head, which takes 40 ms."""

    async def option(listener: socket.socket) -> int:
        accepted = asyncio.get_running_loop().create_future()
        async with await asyncio.start_server(lambda _, writer: accepted.set_result(writer), sock=listener):
            _, client = await asyncio.open_connection(*listener.getsockname())
            server = await accepted
            found: int = server.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            for writer in (client, server):
                writer.close()
        return found

    with closing(listen("127.0.0.1", 0)) as listener:
        assert asyncio.run(option(listener))


def test_server_listens_to_both_loopbacks() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        listener = listen("::1", 0)
    except ServerError:
        pytest.skip("IPv6 is switched off here")
    with closing(listener):
        assert url(listener).startswith("http://[::1]:")
