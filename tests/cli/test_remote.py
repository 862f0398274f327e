"""`headstart remote`, and a chat with a server, by the command line as a person types it."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart import api_keys, remotes
from headstart.cli import main
from headstart.engine.engine import Remote
from tests.stand_ins.fakes import RecordingLoad
from tests.stand_ins.model_server import Script, serving

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def address(script: Script) -> Iterator[str]:
    with serving(script) as url:
        yield url


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_server_is_added_asked_and_removed(
    address: str, script: Script, capsys: Captured, monkeypatch: pytest.MonkeyPatch, headstart_home: Path
) -> None:
    script.key = "secret"
    type_in(monkeypatch, "secret\n")
    assert main(["remote", "add", "office", address, "--key"]) == 0
    said = capsys.readouterr().err
    assert f"office is {address}" in said
    assert str(headstart_home / "keys" / "office") in said
    assert "secret" not in said

    assert main(["chat", "--model", "remote:office", "--prompt", "Hi", "--stats"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "Hello there!\n"
    assert f"another program on this computer: {address}" in shown.err
    assert shown.err.endswith(", 3 tokens\n")

    assert main(["remote", "check", "office"]) == 0
    assert "office answers: 3 tokens in " in capsys.readouterr().err
    assert main(["remote", "remove", "office"]) == 0
    assert remotes.configured() == ()
    assert api_keys.find("office") is None


def test_list_prints_servers(capsys: Captured, headstart_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["remote", "list"]) == 0
    assert "headstart remote add NAME ADDRESS" in capsys.readouterr().out
    remotes.add(Remote("office", "https://office.example/v1", "large"))
    remotes.add(Remote("home", "http://10.0.0.2:8000/v1"))
    monkeypatch.setenv("HEADSTART_KEY_OFFICE", "secret")
    assert main(["remote", "list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "name    address                    model         key",
        "home    http://10.0.0.2:8000/v1    the only one  none",
        "office  https://office.example/v1  large         environment",
    ]
    assert main(["remote", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == str(headstart_home / "remotes.toml")
    assert [server["key"] for server in told["servers"]] == [None, "environment"]


def test_remote_chat_says_who_can_read(capsys: Captured) -> None:
    main(["remote", "add", "office", "https://office.example/v1"])
    assert "office" in capsys.readouterr().err
    main(["remote", "add", "home", "http://10.0.0.2"])
    assert "not encrypted (http)" in capsys.readouterr().err


def test_chat_asks_the_named_server(capsys: Captured) -> None:
    remotes.add(Remote("office", "https://office.example/v1"))
    load = RecordingLoad()
    assert main(["chat", "--model", "remote:office/team/large", "--prompt", "Hi", "--json"], load) == 0
    assert load.options[0].remote == Remote("office", "https://office.example/v1", "team/large")
    shown = capsys.readouterr()
    assert json.loads(shown.out)["settings"]["model"] == "remote:office/team/large"
    assert "leave this computer" in shown.err


def test_local_only_options_are_refused(capsys: Captured) -> None:
    remotes.add(Remote("office", "https://office.example/v1"))
    flags = ["--draft", "none", "--precision", "f16", "--device", "GPU"]
    assert main(["chat", "--model", "remote:office", *flags]) == 2
    assert "--device, --precision, --draft" in capsys.readouterr().err


def test_key_is_read_from_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert main(["remote", "add", "office", "http://10.0.0.2", "--key", "secret"]) == 2
    assert "command line" in capsys.readouterr().err
    assert remotes.configured() == ()
    typed = "secret"
    type_in(monkeypatch, f"{typed}\n")
    assert main(["remote", "add", "--key", "-", "office", "http://10.0.0.2"]) == 0
    assert [key.secret for key in [api_keys.find("office")] if key] == [typed]


def test_content_filter_is_reported(address: str, script: Script, capsys: Captured) -> None:
    remotes.add(Remote("office", address))
    script.finish = "content_filter"
    assert main(["chat", "--model", "remote:office", "--prompt", "Hi"]) == 0
    assert "content filter" in capsys.readouterr().err


def test_empty_key_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    type_in(monkeypatch, "\n")
    assert main(["remote", "add", "office", "http://10.0.0.2", "--key"]) == 2
    assert "nothing was kept" in capsys.readouterr().err
    assert remotes.configured() == ()
