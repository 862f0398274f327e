"""The page for a chat on another device: off at first, and it may do nothing but ask its own server."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart.server import page
from tests.server.clients import browser
from tests.server.serving import KEY, Running, chat_body, serving
from tests.stand_ins.fakes import ScriptedEngine

BROWSER = {"Accept": "text/html,application/xhtml+xml"}
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving(ScriptedEngine(), page=True) as running:
        yield running


def test_there_is_no_page_unless_it_is_asked_for() -> None:
    with serving(ScriptedEngine()) as running:
        status, headers, body = running.ask("GET", "/", BROWSER)
        assert (status, headers["content-type"]) == (200, "application/json")
        assert "<html" not in body
        own = {"Origin": f"http://127.0.0.1:{running.port}"}
        assert running.ask("POST", CHAT, own, chat_body())[0] == 403


def test_browser_gets_the_page_without_a_key_and_programs_the_health(running: Running) -> None:
    status, headers, body = running.ask("GET", "/", {**BROWSER, "Authorization": ""})
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert KEY not in body
    assert json.loads(running.ask("GET", "/", {"Accept": "*/*"})[2])["status"] == "ok"


def test_page_may_load_nothing_and_run_its_own_script_alone(running: Running) -> None:
    _, headers, body = running.ask("GET", "/", BROWSER)
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    for kind in ("script", "style"):
        (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", body, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy[f"{kind}-src"] == f"'sha256-{digest}'"
    assert not re.search(r'\s(style|on\w+)="|<script[^>]+src|https?://[^\s)\\"]*\.js|innerHTML', body)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_page_asks_with_a_key_alone(running: Running) -> None:
    own = {"Origin": f"http://127.0.0.1:{running.port}", "Sec-Fetch-Site": "same-origin"}
    assert running.ask("POST", CHAT, own, chat_body())[0] == 200
    assert running.ask("POST", CHAT, {**own, "Authorization": "Bearer wrong"}, chat_body())[0] == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:1", "http://localhost", "null"])
def test_other_pages_are_refused_as_before(running: Running, origin: str) -> None:
    assert running.ask("POST", CHAT, {"Origin": origin}, chat_body())[0] == 403


def test_page_of_a_rebound_name_is_refused(running: Running) -> None:
    own = {"Host": "evil.example", "Origin": "http://evil.example"}
    assert running.ask("POST", CHAT, own, chat_body())[0] == 403


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "http://127.0.0.1:80/"), ("localhost", "http://localhost:80/"), ("::1", "http://[::1]:80/")],
)
def test_address_of_the_page_is_that_of_the_server(host: str, address: str) -> None:
    assert page.address(host, 80) == address


def test_address_of_a_server_on_all_addresses_can_be_opened() -> None:
    assert re.fullmatch(r"http://(\d+\.\d+\.\d+\.\d+|localhost):80/", page.address("0.0.0.0", 80))  # noqa: S104
    assert "0.0.0.0" not in page.address("0.0.0.0", 80)  # noqa: S104


@pytest.mark.slow
@pytest.mark.skipif(browser.PROGRAM is None, reason="needs Chromium: apt-get install chromium")
def test_chat_on_a_phone(tmp_path: Path) -> None:
    answer = "# Fox\n\nA **quick** `fox`, <img src=x onerror=alert(1)>\n\n1. one\n2. two"
    engine = ScriptedEngine((answer,))
    with serving(engine, page=True) as running, browser.open_browser(tmp_path) as phone:
        address = f"http://127.0.0.1:{running.port}/"
        phone.open(f"{address}#key={KEY}")
        phone.wait("!document.getElementById('send').disabled")
        assert phone.run("location.href") == address, "the key stays in no list of visited pages"
        phone.write("Hello <b>you</b>")
        phone.wait("document.querySelectorAll('.assistant li').length === 2 && !running")
        assert phone.run("document.querySelector('.user').textContent") == "Hello <b>you</b>"
        assert phone.run("document.querySelector('.assistant strong').textContent") == "quick"
        assert phone.run("document.querySelectorAll('main img').length") == 0
        assert phone.run("document.documentElement.scrollWidth") == 390
        phone.open(f"{address}?again")
        phone.wait("document.querySelectorAll('.assistant li').length === 2")
        phone.run("document.getElementById('new').click()")
        phone.wait("!document.querySelector('.assistant') && !localStorage.getItem('headstart.chat')")
        assert not phone.log
        assert len(engine.requests) == 1
