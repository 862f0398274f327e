"""`headstart launch` from outside: the agent is a program that says what it was started with."""

import json
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from headstart.cli import main
from headstart.cli.agents import client_settings
from headstart.cli.agents.client_settings import FileSetting
from headstart.cli.agents.launch import CLIENTS, Agent
from headstart.cli.serve import KEY_VARIABLE
from headstart.errors import SettingsError
from headstart.server import running_servers
from headstart.server.models import OneModel, Served
from tests.server.serving import KEY, serving
from tests.stand_ins.fakes import RecordingLoad, ScriptedEngine
from tests.stand_ins.model_folders import write_model
from tests.support.waiting import wait_until

AGENT = f"""#!{sys.executable}
import json, os, sys, urllib.request
base = os.environ["OPENAI_API_BASE"]
ask = urllib.request.Request(base + "/models", headers={{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}})
models = [each["id"] for each in json.load(urllib.request.urlopen(ask))["data"]]
json.dump({{"arguments": sys.argv[1:], "models": models, "base": base}}, open("said.json", "w"))
sys.exit(7)
"""


@pytest.fixture
def model(headstart_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The only installed model; no agent is installed."""
    write_model(headstart_home / "models" / "smol")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    return "smol"


@pytest.mark.skipif(sys.platform == "win32", reason="the agent is a script with an interpreter in its first line")
def test_launch_starts_a_server_and_an_agent_that_may_use_it(model: str, tmp_path: Path) -> None:
    agent = tmp_path / "aider"
    agent.write_text(AGENT, encoding="utf-8")
    agent.chmod(0o755)
    load = RecordingLoad()
    assert main(["launch", "aider", "--", "--message", "Hi"], load=load) == 7
    said = json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))
    assert said["models"] == [model]
    assert said["arguments"][:2] == ["--model", f"openai/{model}"]
    assert said["arguments"][-2:] == ["--message", "Hi"]
    assert load.engine.closed
    assert not running_servers.list_servers()


@pytest.mark.parametrize("agent", list(CLIENTS))
@pytest.mark.usefixtures("model")
def test_missing_agent_is_told_how_to_be_installed(agent: Agent, capsys: pytest.CaptureFixture[str]) -> None:
    load = RecordingLoad()
    assert main(["launch", agent], load=load) == 2
    assert CLIENTS[agent].install in capsys.readouterr().err
    assert not load.options


@pytest.mark.parametrize("agent", list(CLIENTS))
def test_print_shows_the_variables_and_starts_nothing(
    agent: Agent, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    load = RecordingLoad()
    assert main(["launch", agent, "--print", "--", "--resume"], load=load) == 0
    printed = capsys.readouterr().out
    assert "http://127.0.0.1:8642" in printed
    assert model in printed
    command = printed.splitlines()[-1]
    assert command.startswith(agent)
    assert command.endswith("--resume")
    assert not load.options


@pytest.mark.skipif(sys.platform == "win32", reason="PowerShell quotes in another way")
def test_settings_are_in_the_notation_of_the_agent(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["launch", "codex", "--print"])
    *_, command = capsys.readouterr().out.splitlines()
    settings = tomllib.loads("\n".join(word for word in shlex.split(command) if "=" in word))
    assert settings["model_provider"] in settings["model_providers"]
    assert settings["model"] == model
    main(["launch", "opencode", "--print"])
    (config,) = (word for word in shlex.split(capsys.readouterr().out) if word.startswith("OPENCODE_CONFIG_CONTENT="))
    assert json.loads(config.partition("=")[2])["model"] == f"headstart/{model}"


@pytest.mark.skipif(sys.platform == "win32", reason="PowerShell quotes in another way")
def test_server_whose_key_is_known_is_used(
    model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(ScriptedEngine(), models=OneModel(Served(model, 4096), ScriptedEngine())) as running:
        for key, port in ((KEY, running.port), ("another", 8642)):
            monkeypatch.setenv(KEY_VARIABLE, key)
            wait_until(lambda: bool(running_servers.list_servers()))
            main(["launch", "aider", "--print"])
            assert f"export OPENAI_API_BASE=http://127.0.0.1:{port}/v1" in capsys.readouterr().out


WRITER = f"""#!{sys.executable}
import json, os, pathlib
print(json.load(open(pathlib.Path.home() / ".pi/agent/models.json"))["providers"]["headstart"]["baseUrl"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the agent is a script with an interpreter in its first line")
@pytest.mark.parametrize("own", [None, {"providers": {"mine": {"baseUrl": "http://a"}, "headstart": {"old": 1}}}, {}])
@pytest.mark.usefixtures("model")
def test_settings_of_an_agent_are_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: object) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    file = tmp_path / ".pi" / "agent" / "models.json"
    if own is not None:
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(own), encoding="utf-8")
    agent = tmp_path / "pi"
    agent.write_text(WRITER, encoding="utf-8")
    agent.chmod(0o755)
    assert main(["launch", "pi"], load=RecordingLoad()) == 0
    assert file.exists() == (own is not None)
    assert own is None or json.loads(file.read_text(encoding="utf-8")) in (own, {"providers": {}})
    client_settings.write("pi", (FileSetting(str(file), ("providers", "headstart"), {"new": 1}),))  # interrupted
    latest = FileSetting(str(file), ("providers", "headstart"), {"new": 2})
    client_settings.write("pi", (latest, FileSetting(str(file), ("version",), 1)))
    assert json.loads(file.read_text(encoding="utf-8"))["providers"]["headstart"] == {"new": 2}
    assert main(["launch", "pi", "--restore"]) == 0
    assert file.exists() == (own is not None)
    assert own is None or json.loads(file.read_text(encoding="utf-8")) in (own, {"providers": {}})
    assert main(["launch", "pi", "--restore"]) == 0, "nothing is left to take back"


def test_unreadable_settings_of_an_agent_stay_as_they_are(tmp_path: Path, headstart_home: Path) -> None:
    file = tmp_path / "models.json"
    file.write_text("{ // mine", encoding="utf-8")
    with pytest.raises(SettingsError, match="cannot be read"):
        client_settings.write("pi", (FileSetting(str(file), ("a",), 1),))
    assert file.read_text(encoding="utf-8") == "{ // mine"
