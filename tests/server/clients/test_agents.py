"""Coding agents of other people, where they are installed: each gets a call of a tool, runs it and shows the answer.

The engine is scripted: no model reads their long prompts.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headstart.cli.agents import client_settings
from headstart.cli.agents.launch import CLIENTS, Agent, Endpoint
from headstart.engine.engine import ConversationRequest, Event, Request
from headstart.engine.protocol import Answered
from headstart.server.models import OneModel, Served
from tests.server.serving import KEY, MODEL, serving
from tests.stand_ins.fakes import ScriptedEngine

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="agents are scripts of npm there")]

CONTEXT = 32768
SECRET, ANSWER = "forty-two apples", "There are many apples."
QUESTION = "What is in notes.txt?"
SECONDS = 120  # an agent's own start takes seconds
LINES: dict[Agent, tuple[str, ...]] = {
    Agent.CLAUDE: ("-p", QUESTION, "--allowedTools", "Read"),
    # Its own sandbox puts a helper into the home folder, but not where that is a temporary one.
    Agent.CODEX: ("exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", QUESTION),
    Agent.OPENCODE: ("run", QUESTION),
    Agent.QWEN: ("--yolo", "-p", QUESTION),
    Agent.COPILOT: ("--allow-all-tools", "-p", QUESTION),
    Agent.DROID: ("exec", "-m", f"custom:{MODEL}", QUESTION),
    Agent.PI: ("-p", QUESTION),
}
CALLS: dict[Agent, tuple[str, Callable[[Path], dict[str, str]]]] = {
    Agent.CLAUDE: ("Read", lambda file: {"file_path": str(file)}),
    Agent.CODEX: ("exec_command", lambda file: {"cmd": f"cat {file.name}"}),
    Agent.OPENCODE: ("read", lambda file: {"filePath": str(file)}),
    Agent.QWEN: ("read_file", lambda file: {"file_path": str(file)}),
    Agent.COPILOT: ("view", lambda file: {"path": str(file)}),
    Agent.DROID: ("Read", lambda file: {"file_path": str(file)}),
    Agent.PI: ("read", lambda file: {"path": str(file)}),
}


@dataclass
class ToolUser:
    """An engine that calls one tool where it is offered, and answers when it has its result."""

    name: str
    arguments: dict[str, str]
    results: list[str] = field(default_factory=list)

    def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        assert isinstance(request, ConversationRequest)
        offered = [tool.name for tool in request.tools.offered] if request.tools else []
        results = [turn.content for turn in request.messages if turn.role == "tool"]
        self.results += results
        call = json.dumps({"name": self.name, "arguments": self.arguments})
        text = f"So:\n<tool_call>\n{call}\n</tool_call>" if self.name in offered and not results else ANSWER
        yield from ScriptedEngine([text], context=CONTEXT).generate(request, cancel)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


@pytest.mark.parametrize("agent", list(LINES))
def test_agent_runs_the_tool_and_shows_the_answer(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headstart_home: Path
) -> None:
    program = shutil.which(agent)
    if program is None:
        pytest.skip(f"{CLIENTS[agent].title} is not installed")
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    (folder / "notes.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    name, arguments = CALLS[agent]
    engine = ToolUser(name, arguments(folder / "notes.txt"))
    statuses = list[int]()

    def tell(report: Any) -> None:
        if isinstance(report, Answered):
            statuses.append(report.status)

    with serving(engine, tell=tell, models=OneModel(Served(MODEL, CONTEXT), engine)) as running:
        setup = CLIENTS[agent].setup(Endpoint(running.url, KEY, MODEL, CONTEXT))
        client_settings.write(agent, setup.files)
        folders = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"), str(home))
        done = subprocess.run(
            [program, *setup.arguments, *LINES[agent]],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "PWD": str(folder), **folders, **setup.variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert (done.returncode, ANSWER in done.stdout) == (0, True), done.stdout
    assert any(SECRET in result for result in engine.results)
    assert set(statuses) <= {0, 200}
