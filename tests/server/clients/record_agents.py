"""Record what coding agents send: `python -m tests.server.clients.record_agents AGENT...` writes recordings/.

Each agent is installed and on the PATH. A scripted engine calls two tools at once, three times, and then answers; aider
has no tools and asks three questions. Only what the history of the last request needs is kept.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event as CancelEvent
from typing import Any
from unittest.mock import patch

from headstart.cli.agents import client_settings
from headstart.cli.agents.launch import CLIENTS, Agent, Endpoint
from headstart.engine.engine import ConversationRequest, Event, Request
from headstart.server import app
from headstart.server.models import OneModel, Served
from headstart.server.requests import reading
from tests.server.clients.test_agents import ANSWER, CALLS, CONTEXT, LINES, SECONDS
from tests.server.serving import KEY, MODEL, serving
from tests.stand_ins.fakes import ScriptedEngine

FOLDER = Path(__file__).parent / "recordings"
ROUNDS = 3
HISTORY = ("messages", "input")  # the fields that have it
MAX_TEXT, SHORT = 200, 40  # characters; longer texts are the agent's own instructions
SECOND: dict[Agent, tuple[str, str, dict[str, str]]] = {  # another tool, the argument for a command, and others
    Agent.CLAUDE: ("Bash", "command", {}),
    Agent.CODEX: ("exec_command", "cmd", {}),
    Agent.OPENCODE: ("bash", "command", {"description": "List files"}),
    Agent.QWEN: ("run_shell_command", "command", {"is_background": "false"}),
}
AIDER = ("--yes-always", "--no-git", "--no-fancy-input", "--no-check-update", "--map-tokens", "0", "0.txt")
QUESTIONS = "What is in 0.txt?\nWhich colour is it?\nWhere is it?\n/exit\n"
COMMANDS = ("ls", "ls -a", "ls ..")


class Caller:
    """An engine that calls two tools at once in each of three rounds, where they are offered, and then answers."""

    def __init__(self, agent: Agent, folder: Path) -> None:
        files = [folder / f"{number}.txt" for number in range(ROUNDS)]
        for file in files:
            file.write_text(f"The text of {file.name}\n", encoding="utf-8")
        self._calls = self._calls_of(agent, files) if agent in CALLS else []

    def _calls_of(self, agent: Agent, files: list[Path]) -> list[tuple[tuple[str, dict[str, str]], ...]]:
        name, arguments = CALLS[agent]
        other, argument, others = SECOND[agent]
        return [
            ((name, arguments(file)), (other, {argument: command, **others}))
            for file, command in zip(files, COMMANDS, strict=True)
        ]

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        assert isinstance(request, ConversationRequest)
        offered = {tool.name for tool in request.tools.offered} if request.tools else set()
        number = sum(turn.role == "tool" for turn in request.messages) // 2
        text = ANSWER
        if number < len(self._calls) and {name for name, _ in self._calls[number]} <= offered:
            calls = [json.dumps({"name": name, "arguments": given}) for name, given in self._calls[number]]
            text = "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in calls)
        yield from ScriptedEngine([text], context=CONTEXT).generate(request, cancel)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def record(agent: Agent) -> None:
    program = shutil.which(agent)
    assert program, f"{agent} is not installed"
    bodies = list[dict[str, Any]]()

    def parse_request(data: bytes, body_type: Any) -> Any:
        bodies.append(json.loads(data))
        return reading.parse_request(data, body_type)

    with tempfile.TemporaryDirectory() as place:
        folder, home = Path(place) / "work", Path(place) / "home"
        folder.mkdir()
        home.mkdir()
        os.environ["HOME"] = str(home)
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        engine = Caller(agent, folder)
        models = OneModel(Served(MODEL, CONTEXT), engine)
        with patch.object(app, "parse_request", parse_request), serving(engine, models=models) as running:
            setup = CLIENTS[agent].setup(Endpoint(running.url, KEY, MODEL, CONTEXT))
            client_settings.write(agent, setup.files)
            folders = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"), str(home))
            lines = AIDER if agent is Agent.AIDER else LINES[agent]
            done = subprocess.run(
                [program, *setup.arguments, *(line.replace("Read", "Read,Bash") for line in lines)],
                cwd=folder,
                env={"PATH": os.environ["PATH"], "PWD": str(folder), **folders, **setup.variables},
                input=QUESTIONS if agent is Agent.AIDER else "",
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        print(agent, done.returncode, len(bodies), done.stdout[-300:], done.stderr[-300:])
        longest = max(bodies, key=lambda body: len(body.get("messages") or body.get("input") or ()))
        history = {name: _shortened(longest[name]) for name in HISTORY if name in longest}
        text = json.dumps(history, ensure_ascii=False, indent=1).replace(place, "/agent")
        (FOLDER / f"{agent}.json").write_text(f"{text}\n", encoding="utf-8")


def _shortened(data: Any) -> Any:
    """Return JSON data with the agent's long texts cut."""
    match data:
        case str():
            return data if len(data) <= MAX_TEXT else data[:SHORT]
        case list():
            return [_shortened(item) for item in data]
        case dict():
            return {key: _shortened(item) for key, item in data.items()}
        case _:
            return data


if __name__ == "__main__":
    for each in sys.argv[1:]:
        record(Agent(each))
