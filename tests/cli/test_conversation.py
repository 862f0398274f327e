"""A conversation: messages, commands, the editor, and what survives a failure."""

import io
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput
from prompt_toolkit.input.defaults import create_pipe_input
from prompt_toolkit.output import DummyOutput

from bench.toy import ToyEngine
from headstart.chat.conversation import Attachment, State
from headstart.cli import main
from headstart.cli.chat import COMMANDS, Session, command_names, converse
from headstart.cli.editor import piped_lines, typed_lines
from headstart.cli.options import RequestSettings
from headstart.cli.render import Screen
from headstart.cli.tools import ChatTools
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Call, ConversationRequest, Engine, Message, Mode, Tool, written_call
from headstart.errors import ChatTemplateError, EngineLostError
from headstart.tools.loop import ToolResult
from tests.stand_ins.fakes import RecordingLoad, ScriptedEngine, deliver
from tests.stand_ins.model_folders import write_model

Captured = pytest.CaptureFixture[str]
Say = Callable[..., list[ConversationRequest]]


def begun(engine: Engine) -> Session:
    return Session(engine, "smol", Screen(), RequestSettings())


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(("Hello there.", "It is four.", "Once more."))


@pytest.fixture
def say(engine: ScriptedEngine) -> Say:
    """A function that types lines and returns the engine's requests."""
    session = begun(engine)

    def lines(*given: str) -> list[ConversationRequest]:
        converse(session, given)
        return engine.requests

    return lines


def contents(request: ConversationRequest) -> list[str]:
    return [message.content for message in request.messages]


def test_request_has_the_whole_conversation(say: Say, capsys: Captured) -> None:
    _, second = say("Hi", "   ", "2 + 2?")
    assert second.messages == (Message("user", "Hi"), Message("assistant", "Hello there."), Message("user", "2 + 2?"))
    assert capsys.readouterr() == ("Hello there.\nIt is four.\n", "")


def test_new_keeps_settings_and_system_prompt(say: Say) -> None:
    _, again = say("/system Be brief.", "/set seed 7", "Hi", "/clear", "Again")
    assert again.messages == (Message("system", "Be brief."), Message("user", "Again"))
    assert again.sampling.seed == 7
    assert contents(say("/new", "/system", "Hi")[-1]) == ["Hi"]


def test_set_changes_later_requests(say: Say, capsys: Captured) -> None:
    (request,) = say("/set num-assistant-tokens 5", "/set speculation fixed", "/set top_k 3", "Hi", "/set")
    assert (request.speculation.mode, request.speculation.num_assistant_tokens) == (Mode.FIXED, 5)
    assert request.sampling.top_k == 3
    shown = capsys.readouterr().err
    assert "top-k is 3" in shown
    assert shown.endswith("· drafter any\n")
    assert "· temperature auto\n" in shown


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/sing", "/sing"),
        ("/clar", "Did you mean /clear?"),
        ("/set temperature hot", "'hot'"),
        ("/set temperature -1", "-1.0"),
        ("/set speculation fixed", "Fixed speculation"),
        ("/save", "/save FILE"),
    ],
)
def test_mistyped_command_is_reported_and_changes_nothing(say: Say, line: str, words: str, capsys: Captured) -> None:
    (request,) = say(line, "Hi")
    shown = capsys.readouterr()
    assert shown.err.startswith("headstart: ")
    assert words in shown.err
    assert shown.out == "Hello there.\n"
    assert request == RequestSettings().request((Message("user", "Hi"),))


def test_leading_space_sends_a_slash(say: Say) -> None:
    assert contents(say(" /etc/fstab?")[0]) == [" /etc/fstab?"]


def test_stats_show_the_last_answer(say: Say, capsys: Captured) -> None:
    say("/stats", "Hi", "/stats")
    shown = capsys.readouterr().err
    assert "tokens" not in shown.splitlines()[0]  # there is no answer yet
    assert ", 2 tokens" in shown
    assert shown.count("tok/s") == 1


def test_regenerate_replaces_the_answer_and_raises_the_seed(say: Say, capsys: Captured) -> None:
    first, again, after = say("/set seed 4", "/regenerate", "Hi", "/regenerate", "Next")
    assert again.messages == first.messages
    assert (first.sampling.seed, again.sampling.seed) == (4, 5)
    assert after.messages[1] == Message("assistant", "It is four.")
    assert "regenerate" in capsys.readouterr().err
    say("/set temperature 0", "/regenerate")
    assert "At temperature 0" in capsys.readouterr().err


def test_failed_turn_is_removed(say: Say, engine: ScriptedEngine, capsys: Captured) -> None:
    engine.scripts = ("Hello.", ChatTemplateError("The template is broken."), "Fine.")
    assert contents(say("Hi", "Bad", "Good")[2]) == ["Hi", "Hello.", "Good"]
    assert capsys.readouterr().err == "headstart: The template is broken.\n"


def test_thinking_stays_in_the_conversation(say: Say, engine: ScriptedEngine, tmp_path: Path) -> None:
    engine.scripts = (("They greet me.", "Hello."), "Four.")
    target = tmp_path / "talk.json"
    second = say("/set think no", "/set think-budget 9", "Hi", "/set think", f"/save {target}", "2 + 2?")[1]
    first = engine.requests[0]
    assert (first.thinking, first.thinking_budget) == (False, 9)
    assert (second.thinking, second.thinking_budget) == (None, 9)
    assert second.messages[1] == Message("assistant", "Hello.", thinking="They greet me.")
    again = begun(ScriptedEngine())
    again.handle(f"/load {target}")
    assert again.conversation.path[-1].thinking == "They greet me."


def test_continue_goes_on_with_the_answer_or_its_thinking(say: Say, engine: ScriptedEngine, capsys: Captured) -> None:
    engine.scripts = (("They greet me.", "Hello."), (" greet me again.", "Hello"), " there.", "Four.")
    requests = say(
        "/continue", "/set max-new-tokens 2", "Hi", "/set max-new-tokens 64", "/continue", "/continue", "So?"
    )
    assert requests[1].messages == (Message("user", "Hi"), Message("assistant", "", thinking="They greet"))
    both = "They greet greet me again."
    assert requests[2].messages[1:] == (Message("assistant", "Hello", thinking=both),)
    assert requests[3].messages[1:] == (Message("assistant", "Hello there.", thinking=both), Message("user", "So?"))
    shown = capsys.readouterr()
    assert "was still thinking" in shown.err
    assert shown.out == "Hello\n there.\nFour.\n"


def test_file_waits_for_the_next_message(engine: ScriptedEngine) -> None:
    session = begun(engine)
    converse(session, ["Hi"])
    session.attachments = (Attachment("notes.txt", "what a file says"),)
    converse(session, ["/regenerate", "/continue", "And?", "So?"])
    assert ["what a file says" in request.messages[-1].content for request in engine.requests] == [
        *[False] * 3,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("command", "words"), [("/regenerate", "the answer before it stays"), ("Next", "the question was taken back")]
)
def test_answer_stopped_before_its_first_word_leaves_the_conversation(
    engine: ScriptedEngine, command: str, words: str, capsys: Captured
) -> None:
    session = begun(engine)
    converse(session, ["Hi"])
    before = session.conversation
    engine.before_round = lambda *_: deliver(signal.SIGINT)
    converse(session, [command])
    assert session.conversation == before
    assert words in capsys.readouterr().err


def test_ctrl_c_between_the_parts_of_an_answer_keeps_what_was_shown(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    class Tools(ChatTools):
        def begin_answer(self) -> tuple[tuple[Tool, ...], int]:
            return (Tool("look", "{}"),), 9

        def run(self, call: Call, screen: Screen, cancel: CancelEvent) -> ToolResult:
            if len(engine.requests) == 2:
                raise KeyboardInterrupt
            return ToolResult("nothing")

    engine.scripts = (f"Let me see. {written_call(Call('look', '{}'))}",)
    session = begun(engine)
    session.tools = Tools(may_ask=True)
    converse(session, ["Hi"])
    last = session.conversation.path[-1]
    assert (last.state, [call.result for call in last.calls]) == (State.STOPPED, ["nothing"])
    assert last.text.startswith("Let me see.")
    assert session.interrupted


def test_context_overflow_points_to_new(say: Say, engine: ScriptedEngine, capsys: Captured) -> None:
    engine.context = 8
    say("one two three", "four five six seven", "/new", "four")
    shown = capsys.readouterr()
    assert "9 tokens" in shown.err
    assert "/new" in shown.err
    assert shown.out == "Hello there.\nOnce more.\n"


def test_finish_reason_is_remarked(say: Say, engine: ScriptedEngine, capsys: Captured) -> None:
    say("/set max-new-tokens 1", "Hi")
    assert "max-new-tokens 1." in capsys.readouterr().err
    engine.scripts = ("",)
    say("Hi")
    assert "without a word" in capsys.readouterr().err
    converse(begun(ToyEngine()), ["toy: repeat 50"])
    assert "4 repeats" in capsys.readouterr().err


def test_save_writes_markdown(say: Say, engine: ScriptedEngine, tmp_path: Path) -> None:
    target = tmp_path / "my talk.md"
    engine.scripts = ("\x1b[0m```py\n1\n```",)
    say("/system Be brief.", "Hi", f"/save {target}")
    text = target.read_text(encoding="utf-8")
    assert text.startswith("# Hi\n")
    assert text.endswith("\n\n## You\n\nHi\n\n## smol\n\n\x1b[0m```py\n1\n```\n")
    more = tmp_path / "more.md"
    say("/system Be brief.", "Hi", f"/save --stats {more}")
    assert "> Settings: system_prompt Be brief.\n" in more.read_text(encoding="utf-8")


def test_saved_json_is_loaded(say: Say, tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "talk.json"
    say("/system Be brief.", "Hi", "/regenerate", f"/save {target}", "/system", "/new", f"/load {target}", "Next")
    assert contents(say()[-1]) == ["Be brief.", "Hi", "It is four.", "Next"]
    say(f"/load {tmp_path / 'none.json'}", "/load")
    shown = capsys.readouterr().err
    assert "after 2 messages" in shown
    assert "none.json cannot be read" in shown
    assert "/load FILE" in shown


def test_save_overwrites_nothing(say: Say, tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "notes.md"
    target.write_text("precious", encoding="utf-8")
    say("Hi", f"/save {target}", f"/save {tmp_path / 'no' / 'where.md'}")
    assert target.read_text(encoding="utf-8") == "precious"
    shown = capsys.readouterr().err
    assert "notes.md exists already" in shown
    assert "where.md cannot be written" in shown


def test_help_lists_every_command(say: Say, capsys: Captured) -> None:
    assert say("/help", "/quit", "Hi") == []
    shown = capsys.readouterr().err
    assert all(f"· {command.usage}" in shown for command in COMMANDS)
    assert all(name in shown for name in command_names())
    assert say("/?", "/bye", "Hi") == []
    assert "this list" in capsys.readouterr().err


def lost_engine(rounds: int) -> ScriptedEngine:
    """An engine whose process ends after so many rounds of the first answer."""

    def end(request: int, number: int) -> None:
        if request == 1 and number > rounds:
            raise EngineLostError("The engine was ended.")

    return ScriptedEngine(("Hello there you.", "Second."), before_round=end)


@pytest.mark.parametrize(("steps", "kept"), [(1, ["Hi", "Hello", "Next"]), (0, ["Next"])])
def test_lost_engine_leaves_its_part_of_the_answer(steps: int, kept: list[str], capsys: Captured) -> None:
    engine = lost_engine(steps)
    session = begun(engine)
    converse(session, ["Hi", "Next"])
    assert contents(engine.requests[1]) == kept
    assert session.failures == 1
    shown = capsys.readouterr()
    assert shown.out == "Hello\n" * steps + "Second.\n"
    assert "The engine was ended." in shown.err


def test_unfinished_single_answer_is_an_error(headstart_home: Path, capsys: Captured) -> None:
    write_model(headstart_home / "models" / "smol")
    load = RecordingLoad(lost_engine(1))
    assert main(["chat", "--prompt", "Hi"], load) == 1
    assert capsys.readouterr() == ("Hello\n", "headstart: The engine was ended.\n")


@pytest.mark.parametrize(
    ("piped", "lines"),
    [
        ("one\ntwo\r\n", ["one", "two"]),
        ("one \\\ntwo\\\nthree\nfour", ["one \ntwo\nthree", "four"]),
        ("cut off\\", ["cut off\n"]),
        ("", []),
    ],
)
def test_piped_lines_become_messages(piped: str, lines: list[str]) -> None:
    assert list(piped_lines(io.StringIO(piped, newline=""))) == lines


@pytest.mark.parametrize("flags", [[], ["--prompt", "-"]])
def test_piped_binary_is_refused(
    flags: list[str], headstart_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    write_model(headstart_home / "models" / "smol")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="utf-8"))
    assert main(["chat", *flags], RecordingLoad()) == 2
    assert "Standard input" in capsys.readouterr().err


ENTER, ALT_ENTER, CTRL_C, CTRL_D = "\r", "\x1b\r", "\x03", "\x04"
Type = Callable[[str], list[str]]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history"


@pytest.fixture
def typed(history: Path) -> Iterator[Type]:
    """Return the lines that these keys give."""
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        pressed: PipeInput = keyboard

        def lines(keys: str) -> list[str]:
            pressed.send_text(keys + CTRL_D)
            return list(typed_lines(history, ["/quit"]))

        yield lines


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        (f"one{ENTER}two{ENTER}", ["one", "two"]),
        (f"first{ALT_ENTER}second{ENTER}", ["first\nsecond"]),
        (f"first\\{ENTER}second{ENTER}", ["first\nsecond"]),
        (f"mistake{CTRL_C}right{ENTER}", ["right"]),
        (f'"""first{ENTER}second{ENTER}"""{ENTER}', ["first\nsecond"]),
        (f'"""/etc{ENTER}/usr"""{ENTER}next{ENTER}', [" /etc\n/usr", "next"]),
        (f'what is """{ENTER}', ['what is """']),
        (f"\x1b[200~pasted\nlines\x1b[201~{ENTER}", ["pasted\nlines"]),
    ],
)
def test_editor_keys(typed: Type, keys: str, lines: list[str]) -> None:
    assert typed(keys) == lines


def test_typed_history_is_private(typed: Type, history: Path) -> None:
    history.parent.mkdir()
    history.touch(0o644)
    typed(f"remember{ALT_ENTER}me{ENTER}")
    assert history.read_text(encoding="utf-8").endswith("\n+remember\n+me\n")
    if sys.platform != "win32":  # which has no permission bits
        assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_unwritable_history_leaves_the_editor_working(typed: Type, history: Path) -> None:
    history.parent.touch()
    assert typed(f"one{ENTER}two{ENTER}") == ["one", "two"]
