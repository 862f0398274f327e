"""`headstart chat --tools`: what is offered, asked for, called, shown and kept."""

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from headstart import paths
from headstart.chat.imports.files import read_chats
from headstart.cli import main
from headstart.engine.engine import Call, Message, written_call
from headstart.errors import ContextOverflowError
from headstart.tools.loop import REFUSED
from tests.stand_ins.fakes import RecordingLoad, Script, ScriptedEngine
from tests.stand_ins.model_folders import write_model
from tests.tools.test_servers import CLOCK

ADD = written_call(Call("add", '{"a": 1, "b": 2}'))
Captured = pytest.CaptureFixture[str]


class Terminal(io.StringIO):
    """A person who types these lines."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    write_model(paths.models_folder() / "smol")
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"clock": CLOCK}}), encoding="utf-8")


def chat(*arguments: str, scripts: Sequence[Script] = (ADD, "It is 3.")) -> tuple[int, ScriptedEngine]:
    """Chat with these scripts. Return the exit code, and the model's requests."""
    engine = ScriptedEngine(scripts)
    return main(["chat", "--model", "smol", *arguments], load=RecordingLoad(engine)), engine


def test_tools_are_off_without_the_flag(capsys: Captured) -> None:
    code, engine = chat("1 + 2?", scripts=("3",))
    assert code == 0
    assert engine.requests[0].tools is None
    assert capsys.readouterr() == ("3\n", "")


def test_allowed_tool_is_called(capsys: Captured) -> None:
    code, engine = chat("1 + 2?", "--tools", "--allow-tool", "add")
    assert code == 0
    first, second = engine.requests
    assert first.tools
    assert "add" in [tool.name for tool in first.tools.offered]
    assert second.messages[-1] == Message("tool", "3.0")
    out, err = capsys.readouterr()
    assert out == "It is 3.\n"
    assert "of clock; /tools lists them." in err
    assert err.index('add {"a": 1, "b": 2}\n') < err.index("3.0\n")


def test_unattended_run_calls_only_allowed_tools(capsys: Captured) -> None:
    _, engine = chat("1 + 2?", "--tools")
    assert engine.requests[1].messages[-1].content == REFUSED.text
    assert "allow it with --allow-tool add." in capsys.readouterr().err


@pytest.mark.parametrize(("allowed", "result"), [("add", REFUSED.text), ("b/add", "3.0")])
def test_permission_in_the_terminal_belongs_to_a_server(allowed: str, result: str, tmp_path: Path) -> None:
    servers = {"mcpServers": {"a": CLOCK, "b": CLOCK}}
    (tmp_path / "mcp.json").write_text(json.dumps(servers), encoding="utf-8")
    die = written_call(Call("die", "{}"))  # with its server, and the name is free for the other one
    _, engine = chat("1 + 2?", "--tools", "--allow-tool", "die", "--allow-tool", allowed, scripts=(die, ADD, "3."))
    assert engine.requests[2].messages[-1].content == result


@pytest.mark.parametrize(
    ("typed", "result", "asked"), [("y\ny\n", "3.0", 2), ("a\n", "3.0", 1), ("\nno\n", "The user did not", 2)]
)
def test_tool_call_asks_first(
    typed: str, result: str, asked: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    _, engine = chat("1 + 2?", "--tools", scripts=(ADD, ADD, "3."))
    assert all(request.messages[-1].content.startswith(result) for request in engine.requests[1:])
    out, err = capsys.readouterr()
    assert (out + err).count("Call add of clock? [y]es") == asked
    assert 'add {"a": 1, "b": 2}' in err


def test_end_of_input_stops_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    code, engine = chat("1 + 2?", "--tools")
    assert code == 130
    assert len(engine.requests) == 1


def test_json_has_the_tool_calls(capsys: Captured) -> None:
    chat("1 + 2?", "--tools", "--allow-tool", "add", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["text"] == "It is 3."
    assert told["stats"]["output_tokens"] == len(told["token_ids"]) > len(ADD.split())
    call = {"at": 0, "name": "add", "arguments": '{"a": 1, "b": 2}', "result": "3.0", "failed": False, "thought_at": 0}
    assert told["calls"] == [call]


def test_thinking_goes_on_after_a_tool(capsys: Captured) -> None:
    scripts = (("I should add.", ADD), ("The sum came.", "It is 3."))
    _, engine = chat("1 + 2?", "--tools", "--allow-tool", "add", "--json", scripts=scripts)
    assert engine.requests[1].messages[1] == Message(
        "assistant", "", (Call("add", '{"a": 1, "b": 2}'),), thinking="I should add."
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["thinking"], told["text"]) == ("I should add.\n\nThe sum came.", "It is 3.")
    assert told["stats"]["thinking_tokens"] == 6
    assert told["calls"][0]["thought_at"] == len("I should add.")


def test_thinking_has_its_place_around_a_tool_on_the_screen(capsys: Captured) -> None:
    scripts = (("I should add.", ADD), ("The sum came.", "It is 3."))
    chat("1 + 2?", "--tools", "--allow-tool", "add", "--show-thinking", scripts=scripts)
    out, err = capsys.readouterr()
    assert out == "It is 3.\n"
    assert "· thinking\nI should add.\n\n· Calling add" in err
    assert err.endswith("· It gave: 3.0\n· thinking\nThe sum came.\n\n")


def test_tool_calls_are_saved_and_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = f"1 + 2?\n/save {tmp_path}/chat.json\n/save {tmp_path}/chat.md\nAnd now?\n/tools\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    _, engine = chat("--tools", "--allow-tool", "add", scripts=(f"Let me see. {ADD}", "It is 3.", "Nothing."))
    ((_, talk),) = read_chats(tmp_path / "chat.json")
    assert talk.path[-1].calls[0].result == "3.0"
    assert 'Tool: add {"a": 1, "b": 2}' in (tmp_path / "chat.md").read_text(encoding="utf-8")
    roles = [message.role for message in engine.requests[-1].messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert engine.requests[-1].messages[1].calls == (Call("add", '{"a": 1, "b": 2}'),)


def test_tool_calls_stay_after_a_failed_answer(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("1 + 2?\nAgain\n"))
    full = ContextOverflowError("The prompt does not fit.")
    code, engine = chat("--tools", "--allow-tool", "add", scripts=(ADD, full, "Yes."))
    assert code == 1
    assert engine.requests[-1].messages[2] == Message("tool", "3.0")
    assert "The prompt does not fit." in capsys.readouterr().err


def test_tools_are_listed_with_permissions(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("/tools\n"))
    chat("--tools", "--allow-tool", "add")
    err = capsys.readouterr().err
    assert "get_time (clock; only reads;" in err
    assert "add (clock; may change," in err


def test_failing_server_is_reported_and_the_chat_goes_on(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"x": {"command": "no-such-program"}}}', encoding="utf-8")
    code, engine = chat("Hi", "--tools", scripts=("Hello.",))
    assert code == 0
    assert engine.requests[0].tools is None
    assert "no program no-such-program" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["Hi", "--allow-tool", "add"], "--allow-tool is about tools: add --tools or --folder."),
        (["Hi", "--tools", "--allow-tool", "ad"], "There is no tool ad; there are get_time, add,"),
        (["--tools", "--batch", "x.jsonl"], "leave out --tools."),
    ],
)
def test_contradictory_flags_are_refused(arguments: list[str], sentence: str, capsys: Captured) -> None:
    code, _ = chat(*arguments)
    assert code == 2
    assert sentence in capsys.readouterr().err
