"""Stories of tools in the window: switched on, asked for, called, shown, kept, and gone wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Attachment, State, ToolCall
from headstart.engine.engine import Call, Tool
from headstart.markdown.blocks import plain_text
from headstart.tools.servers import ServerTool
from headstart.ui.chat.tools import CallBar, ServerDialog, ToolsDialog
from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageContent, MessageSource, MessageState
from headstart.ui.transcript.text_view import TextView
from tests.tools.test_servers import CLOCK
from tests.ui.person import WAIT, ask, press, shown, texts, write

ADD = 'toy: call add {"a": 1, "b": 2}'
Open = Callable[..., Program]


@pytest.fixture
def app(headstart_home: Path, open_program: Open, qtbot: QtBot) -> Program:
    """The window with the tools of a clock."""
    name_servers(headstart_home, clock=CLOCK)
    app = open_program()
    switch_on(qtbot, app)
    return app


def name_servers(home: Path, **servers: object) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")


def switch_on(qtbot: QtBot, app: Program) -> None:
    """Switch tools on as the dialog and the preferences do."""
    app.settings.change(tools=True)
    qtbot.waitUntil(lambda: not app.tools.is_starting, timeout=WAIT)


def wait_for_question(qtbot: QtBot, app: Program) -> None:
    qtbot.waitUntil(lambda: bool(app.window.chat.call.text), timeout=WAIT)


def kept(app: Program) -> tuple[ToolCall, ...]:
    """Return the calls of the last answer in the history."""
    last = app.store.conversation(app.chat_controller.session.chat.id).last
    assert last
    return last.calls


def reach(app: Program) -> str:
    return app.window.chat.composer._reach.text()


def test_tools_are_off_by_default(headstart_home: Path, open_program: Open, qtbot: QtBot) -> None:
    name_servers(headstart_home, clock=CLOCK)
    before = len(psutil.Process().children(recursive=True))
    app = open_program()
    ask(qtbot, app, "hello")
    request = app.chat_controller.session.request(app.chat_controller.session.path)
    assert request.tools is None
    assert len(psutil.Process().children(recursive=True)) == before
    assert reach(app) == "Offline"


def test_tool_call_is_shown_confirmed_made_and_stored(qtbot: QtBot, app: Program) -> None:
    write(app, ADD)
    wait_for_question(qtbot, app)
    bar = app.window.chat.call
    assert "call add of clock" in bar.text
    assert json.loads(bar._arguments.toPlainText()) == {"a": 1, "b": 2}
    assert kept(app) == ()
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        bar.once.click()
    assert texts(app)[-1] == "Let me see. \n\nYou wrote: 3.0"
    (call,) = kept(app)
    assert (call.name, call.result, call.failed) == ("add", "3.0", False)
    assert not bar.text
    view = app.window.chat.transcript.view_of(shown(app)[-1].id)
    assert view._fold.text() == "Tools: add"
    view._fold.click()
    (unfolded,) = (
        text for text in view.findChildren(TextView) if "3.0" in text.toPlainText() and text is not view._text
    )
    assert '"a": 1' in unfolded.toPlainText()


def test_always_allow_is_for_a_chat(qtbot: QtBot, app: Program) -> None:
    write(app, ADD)
    wait_for_question(qtbot, app)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.call.always.click()
    ask(qtbot, app, ADD)
    assert kept(app)[0].result == "3.0"
    app.window.actions_by_name["new"].trigger()
    write(app, ADD)
    wait_for_question(qtbot, app)


def test_permission_belongs_to_a_server(headstart_home: Path, qtbot: QtBot, app: Program) -> None:
    write(app, ADD)
    wait_for_question(qtbot, app)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.call.always.click()
    name_servers(headstart_home, other=CLOCK)
    app.tools.restart()
    qtbot.waitUntil(lambda: app.tools.names == ("other",), timeout=WAIT)
    write(app, ADD)
    wait_for_question(qtbot, app)
    assert "call add of other" in app.window.chat.call.text


def test_count_includes_tools(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    count = app.window.chat.composer._count
    qtbot.waitUntil(lambda: bool(count.accessibleDescription()), timeout=WAIT)
    assert int(count.accessibleDescription().partition(" ")[0]) > 20
    app.settings.change(tools=False)
    qtbot.waitUntil(lambda: count.accessibleDescription() == "6 of 2,048 tokens", timeout=WAIT)


def test_refused_tool_call_is_reported_to_the_model(qtbot: QtBot, app: Program) -> None:
    write(app, ADD)
    wait_for_question(qtbot, app)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.call.refuse.click()
    assert "did not allow" in texts(app)[-1]
    assert kept(app)[0].failed


@pytest.mark.parametrize("question", [ADD, "toy: call hang {}"])
def test_escape_ends_question_and_tool_call(qtbot: QtBot, app: Program, question: str) -> None:
    write(app, question)
    wait_for_question(qtbot, app)
    if "hang" in question:
        app.window.chat.call.once.click()
        qtbot.waitUntil(lambda: app.chat_controller.session.wait_text == "Calling hang…", timeout=WAIT)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.actions_by_name["stop"].trigger()
    assert not app.window.chat.call.text
    assert shown(app)[-1].state is MessageState.STOPPED
    ask(qtbot, app, "and now?")
    assert texts(app)[-1] == "You wrote: and now?"


def test_tool_question_waits_in_its_chat(qtbot: QtBot, app: Program) -> None:
    write(app, ADD)
    wait_for_question(qtbot, app)
    asking = app.chat_controller.session
    app.window.actions_by_name["new"].trigger()
    assert not app.window.chat.call.text
    app.chats.open(asking.chat.id)
    assert app.window.chat.call.text
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.call.once.click()


def test_crashed_tool_server_is_reported_and_restarted(qtbot: QtBot, app: Program) -> None:
    write(app, "toy: call die {}")
    wait_for_question(qtbot, app)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.call.once.click()
    assert "clock ended" in texts(app)[-1]
    qtbot.waitUntil(lambda: app.tools.names == ("clock",), timeout=WAIT)


def test_reach_label_covers_tools(qtbot: QtBot, app: Program) -> None:
    qtbot.waitUntil(lambda: reach(app) == "Tools may go online", timeout=WAIT)
    assert "Tools of clock" in app.window.chat.composer._reach.toolTip()
    app.settings.change(tools=False)
    qtbot.waitUntil(lambda: reach(app) == "Offline", timeout=WAIT)
    assert app.tools.offered == ()


def test_restart_shows_tool_calls(qtbot: QtBot, app: Program, open_program: Open) -> None:
    write(app, ADD)
    wait_for_question(qtbot, app)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.call.once.click()
    again = open_program()
    qtbot.waitUntil(lambda: bool(again.tools.names), timeout=WAIT)  # the switch stays on
    (file,) = shown(again)[-1].attached
    assert file.name.startswith("add {")
    assert file.text == "3.0"


def test_closing_during_a_tool_question_keeps_the_text(qtbot: QtBot, app: Program, open_program: Open) -> None:
    write(app, ADD)
    wait_for_question(qtbot, app)
    again = open_program()
    last = again.chat_controller.session.path[-1]
    assert (last.text.strip(), last.state) == ("Let me see.", State.INTERRUPTED)


def test_hidden_characters_of_arguments_are_shown(qtbot: QtBot) -> None:
    bar = CallBar()
    qtbot.addWidget(bar)
    bar.ask((Call("add", '{"a": "\u202e虎"}'), ServerTool(Tool("add", "{}"), "clock", "add")))
    assert bar._arguments.toPlainText() == '{\n  "a": "\\u202e虎"\n}'


def test_thinking_and_tool_calls_share_a_fold() -> None:
    content = MessageContent(1, "assistant", "Yes", attached=(Attachment('add {"a": 1}', "3.0"),), thinking="hm")
    source, blocks = MessageSource(content).folded()
    assert source.startswith(content.thinking)
    assert plain_text(blocks).split() == ["hm", "add", '{"a":', "1}", "3.0"]


def test_tools_dialog_lists_and_switches_tools(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["tools"].trigger()
    (dialog,) = (each for each in QApplication.topLevelWidgets() if isinstance(each, ToolsDialog) and each.isVisible())
    server = dialog.list.topLevelItem(0)
    assert server
    assert server.text(0) == "clock"
    tools = [tool for row in range(server.childCount()) if (tool := server.child(row))]
    rows = [[tool.text(column) for column in range(3)] for tool in tools]
    assert ["get_time", "only reads", "Tell what time it is."] in rows
    assert dialog.switch.isChecked()
    dialog.switch.click()
    qtbot.waitUntil(lambda: rows_of(dialog) == [["clock", "tools are off"]], timeout=WAIT)
    assert not app.settings.now.tools
    dialog.close()


def rows_of(dialog: ToolsDialog) -> list[list[str]]:
    """Return name and state of each server, and the number of its tools if it has any."""
    servers = [dialog.list.topLevelItem(row) for row in range(dialog.list.topLevelItemCount())]
    return [
        [server.text(0), server.text(1), *([str(server.childCount())] if server.childCount() else [])]
        for server in servers
        if server
    ]


def open_tools(app: Program) -> ToolsDialog:
    app.window.actions_by_name["tools"].trigger()
    return app.window.findChildren(ToolsDialog)[-1]


def edited(dialog: ToolsDialog) -> ServerDialog:
    """Return the dialog of a server, open over the dialog of the tools."""
    return dialog.findChildren(ServerDialog)[-1]


def test_example_is_one_click_and_works_offline(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    dialog = open_tools(app)
    press(dialog, "Try the clock")
    qtbot.waitUntil(lambda: rows_of(dialog) == [["clock", "", "2"]], timeout=WAIT)
    assert app.settings.now.tools
    assert reach(app) == "Offline"
    write(app, 'toy: call count_days {"first": "2026-02-01", "last": "2026-03-01"}')
    wait_for_question(qtbot, app)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.call.once.click()
    assert kept(app)[0].result == "28"
    dialog.close()


def test_server_is_added_tested_edited_and_removed(
    headstart_home: Path, qtbot: QtBot, open_program: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_program()
    dialog = open_tools(app)
    dialog.switch.click()
    press(dialog, "Add…")
    form = edited(dialog)
    assert not form.save_button.isEnabled()
    form.name.setText("mine")
    form.command.setText("no-such-program")
    form.args.setPlainText("\n".join(CLOCK["args"]))
    form.env.setPlainText("API_KEY=hunter2")
    press(form, "Test")
    qtbot.waitUntil(lambda: "there is no program no-such-program" in form.status.text(), timeout=WAIT)
    form.command.setText(str(CLOCK["command"]))
    press(form, "Test")
    qtbot.waitUntil(lambda: form.status.text().startswith("It works. Its tools: get_time, add"), timeout=WAIT)
    assert not (headstart_home / "mcp.json").exists()
    press(form, "Save")
    qtbot.waitUntil(lambda: app.tools.names == ("mine",), timeout=WAIT)
    saved = json.loads((headstart_home / "mcp.json").read_text(encoding="utf-8"))
    assert saved == {"mcpServers": {"mine": CLOCK}}
    edit_first(dialog)
    form = edited(dialog)
    form.name.setText("yours")
    press(form, "Save")
    qtbot.waitUntil(lambda: app.tools.names == ("yours",), timeout=WAIT)
    monkeypatch.setattr("headstart.ui.chat.tools.confirm", lambda *_: True)
    dialog.list.setCurrentIndex(dialog.list.model().index(0, 0))
    press(dialog, "Remove")
    qtbot.waitUntil(lambda: app.tools.names == (), timeout=WAIT)
    assert rows_of(dialog) == []
    dialog.close()


def edit_first(dialog: ToolsDialog) -> None:
    """Open the first server of the list for editing."""
    dialog.list.setCurrentIndex(dialog.list.model().index(0, 0))
    press(dialog, "Edit…")


def test_edited_server_keeps_what_the_dialog_does_not_show(headstart_home: Path, app: Program) -> None:
    name_servers(headstart_home, first={"command": "a", "cwd": "/here", "disabled": True}, second={"command": "b"})
    dialog = open_tools(app)
    edit_first(dialog)
    edited(dialog).command.setText("c")
    press(edited(dialog), "Save")
    saved = json.loads((headstart_home / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]
    assert list(saved.items()) == [
        ("first", {"command": "c", "cwd": "/here", "disabled": True}), ("second", {"command": "b"})
    ]  # fmt: skip
    dialog.close()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{not JSON", "is invalid JSON"),
        ('["files"]', "names no server"),
        ('{"mcpServers": [{"command": "a"}]}', "names no server"),
    ],
)
def test_file_that_cannot_be_used_is_never_replaced(
    headstart_home: Path, open_program: Open, content: str, sentence: str
) -> None:
    headstart_home.mkdir(parents=True, exist_ok=True)
    (headstart_home / "mcp.json").write_text(content, encoding="utf-8")
    dialog = open_tools(open_program())
    press(dialog, "Try the clock")
    assert sentence in dialog.fault.text()
    assert (headstart_home / "mcp.json").read_text(encoding="utf-8") == content
    dialog.close()


def test_odd_entry_can_be_edited(headstart_home: Path, app: Program) -> None:
    name_servers(headstart_home, odd={"command": "a", "args": "x", "env": ["KEY=1"]})
    dialog = open_tools(app)
    edit_first(dialog)
    edited(dialog).args.setPlainText("y")
    press(edited(dialog), "Save")
    saved = json.loads((headstart_home / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]
    assert saved == {"odd": {"command": "a", "args": ["y"]}}
    dialog.close()


def test_server_that_was_written_meanwhile_is_kept(headstart_home: Path, app: Program) -> None:
    name_servers(headstart_home, first={"command": "a"})
    dialog = open_tools(app)
    edit_first(dialog)
    name_servers(headstart_home, first={"command": "a"}, second={"command": "b"})
    edited(dialog).command.setText("c")
    press(edited(dialog), "Save")
    saved = json.loads((headstart_home / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]
    assert saved == {"first": {"command": "c"}, "second": {"command": "b"}}
    dialog.close()


def test_failed_tool_server_is_reported(headstart_home: Path, open_program: Open, qtbot: QtBot) -> None:
    name_servers(headstart_home, bad={"command": "no-such-program"})
    app = open_program()
    switch_on(qtbot, app)
    qtbot.waitUntil(
        lambda: app.window.chat.notice.text == "The server bad cannot be started: there is no program no-such-program.",
        timeout=WAIT,
    )
    ask(qtbot, app, "hello")
    assert texts(app)[-1] == "You wrote: hello"
