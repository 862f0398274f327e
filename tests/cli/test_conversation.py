"""A conversation: messages, commands, and what survives a failure."""

import dataclasses
import io
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput
from prompt_toolkit.input.defaults import create_pipe_input
from prompt_toolkit.output import DummyOutput

from headstart.cli import main
from headstart.cli.chat import (
    COMMANDS,
    Dialogue,
    Session,
    converse,
    piped_lines,
    remarks,
    typed_lines,
    whole_text,
)
from headstart.cli.options import Settings
from headstart.cli.render import Answer, Screen
from headstart.engine.engine import Event, FinishReason, Message, Mode, Request, Step, nothing
from headstart.errors import ChatTemplateError, EngineLostError, SettingsError
from tests.fakes import RecordingLoad, ScriptedEngine
from tests.model_folders import write_model

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def session() -> Session:
    engine = ScriptedEngine(("Hello there.", "It is four.", "Once more."))
    return Session(engine, "smol", Screen(), Settings(), Dialogue())


def test_each_turn_carries_the_whole_conversation(session: Session, capsys: Captured) -> None:
    converse(session, ["Hi", "   ", "2 + 2?"])
    assert _asked(session) == [
        [("user", "Hi")],
        [("user", "Hi"), ("assistant", "Hello there."), ("user", "2 + 2?")],
    ]
    assert capsys.readouterr() == ("Hello there.\nIt is four.\n", "")


def test_new_forgets_the_turns_and_keeps_the_rest(session: Session) -> None:
    converse(session, ["/system Be brief.", "/set seed 7", "Hi", "/new", "Again"])
    assert _asked(session)[1] == [("system", "Be brief."), ("user", "Again")]
    assert _engine(session).requests[1].sampling.seed == 7


def test_system_is_removed_by_an_empty_one(session: Session) -> None:
    converse(session, ["/system Be brief.", "/system", "Hi"])
    assert _asked(session) == [[("user", "Hi")]]


def test_set_changes_the_requests_to_come(session: Session, capsys: Captured) -> None:
    converse(session, ["/set num-assistant-tokens 5", "/set speculation fixed", "/set top_k 3", "Hi"])
    (request,) = _engine(session).requests
    assert (request.speculation.mode, request.speculation.num_assistant_tokens) == (Mode.FIXED, 5)
    assert request.sampling.top_k == 3
    assert "· top-k is 3 from the next answer on.\n" in capsys.readouterr().err


def test_set_alone_lists_every_setting(session: Session, capsys: Captured) -> None:
    converse(session, ["/set"])
    shown = capsys.readouterr().err
    assert "· temperature auto\n" in shown
    assert "· num-assistant-tokens auto\n" in shown


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("/sing", "There is no command /sing; /help lists them."),
        ("/set temperature hot", "temperature must be a number or auto, not 'hot'."),
        ("/set temperature -1", "temperature must be between 0 and 100, not -1.0."),
        ("/set speculation fixed", "Fixed speculation needs a length"),
        ("/save", "Name the file to write: /save FILE."),
    ],
)
def test_a_mistake_is_a_sentence_and_changes_nothing(
    session: Session, line: str, sentence: str, capsys: Captured
) -> None:
    converse(session, [line, "Hi"])
    shown = capsys.readouterr()
    assert shown.err.startswith(f"headstart: {sentence}")
    assert shown.out == "Hello there.\n"
    assert session.settings == Settings()
    assert session.failures == 1


def test_a_space_sends_a_message_that_starts_with_a_slash(session: Session) -> None:
    converse(session, [" /etc/fstab?"])
    assert _asked(session) == [[("user", " /etc/fstab?")]]


def test_stats_tell_of_the_last_answer(session: Session, capsys: Captured) -> None:
    converse(session, ["/stats", "Hi", "/stats"])
    shown = capsys.readouterr().err
    assert shown.startswith("· There is no answer yet.\n")
    assert "ms to the first token (TTFT), 2 tokens" in shown
    assert shown.count("tok/s") == 1


def test_show_stats_follows_every_answer(session: Session, capsys: Captured) -> None:
    session.show_stats = True
    converse(session, ["Hi", "2 + 2?"])
    assert capsys.readouterr().err.count("tokens by origin") == 2


def test_regenerate_replaces_the_answer_and_moves_the_seed_on(session: Session) -> None:
    converse(session, ["/set temperature 0.8", "/set seed 4", "Hi", "/regenerate", "Next"])
    first, again, after = _engine(session).requests
    assert again.messages == first.messages
    assert (first.sampling.seed, again.sampling.seed) == (4, 5)
    assert after.messages[1] == Message("assistant", "It is four.")


def test_regenerate_of_what_is_left_to_the_model_takes_another_seed(session: Session) -> None:
    converse(session, ["Hi", "/regenerate"])
    assert [request.sampling.seed for request in _engine(session).requests] == [0, 1]


def test_a_repetition_is_told_with_two_ways_on() -> None:
    stats = dataclasses.replace(nothing(), repeats=5)
    assert remarks(Answer("So so so", (1,), FinishReason.REPETITION, stats), Settings()) == [
        "The model repeats itself; stopped after 5 repeats. Try again with a higher temperature, or with "
        "stop-on-repetition no to let it go on."
    ]


def test_regenerate_says_when_it_cannot_differ(session: Session, capsys: Captured) -> None:
    converse(session, ["/set temperature 0", "/regenerate", "Hi", "/regenerate"])
    shown = capsys.readouterr().err
    assert "There is no answer yet to make again." in shown
    assert "At temperature 0 another try says much the same" in shown
    assert len(_engine(session).requests) == 2


def test_a_turn_that_fails_leaves_no_trace(capsys: Captured) -> None:
    engine = ScriptedEngine(("Hello.", ChatTemplateError("The template is broken."), "Fine."))
    session = Session(engine, "smol", Screen(), Settings(), Dialogue())
    converse(session, ["Hi", "Bad", "Good"])
    assert _asked(session)[2] == [("user", "Hi"), ("assistant", "Hello."), ("user", "Good")]
    assert capsys.readouterr().err == "headstart: The template is broken.\n"


def test_an_overflow_points_to_new_and_the_talk_goes_on(capsys: Captured) -> None:
    session = Session(ScriptedEngine(("Short.",), context=8), "smol", Screen(), Settings(), Dialogue())
    converse(session, ["one two three", "four five six seven", "/new", "four"])
    shown = capsys.readouterr()
    assert shown.err.startswith(
        "headstart: The prompt has 8 tokens and the context only 8. /new starts a fresh conversation.\n"
    )
    assert shown.out == "Short.\nShort.\n"


def test_an_answer_cut_by_its_length_says_so(session: Session, capsys: Captured) -> None:
    converse(session, ["/set max-new-tokens 1", "Hi"])
    assert "The answer reached its longest length, max-new-tokens 1." in capsys.readouterr().err


def test_an_empty_answer_is_remarked(capsys: Captured) -> None:
    converse(Session(ScriptedEngine(("",)), "smol", Screen(), Settings(), Dialogue()), ["Hi"])
    assert capsys.readouterr() == ("", "· The model ended its answer without a word.\n")


def test_save_writes_markdown_with_the_exact_text(session: Session, tmp_path: Path) -> None:
    target = tmp_path / "my talk.md"
    _engine(session).scripts = ("\x1b[0m```py\n1\n```",)
    converse(session, ["/system Be brief.", "Hi", f"/save {target}"])
    assert target.read_text(encoding="utf-8") == (
        "# Conversation with smol\n\n## System\n\nBe brief.\n\n## You\n\nHi\n\n## smol\n\n\x1b[0m```py\n1\n```\n"
    )


def test_save_overwrites_nothing(session: Session, tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "notes.md"
    target.write_text("precious", encoding="utf-8")
    converse(session, ["Hi", f"/save {target}", f"/save {tmp_path / 'no' / 'where.md'}"])
    assert target.read_text(encoding="utf-8") == "precious"
    shown = capsys.readouterr().err
    assert "exists already; choose another name." in shown
    assert "cannot be written (No such file or directory)" in shown


def test_help_lists_every_command(session: Session, capsys: Captured) -> None:
    converse(session, ["/help"])
    shown = capsys.readouterr().err
    assert all(f"· {command.usage}" in shown for command in COMMANDS)


def test_quit_ends_at_once(session: Session) -> None:
    converse(session, ["/quit", "Hi"])
    assert _engine(session).requests == []


class LostInTheMiddle(ScriptedEngine):
    """The first answer ends after so many steps."""

    steps = 1

    def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        first = not self.requests
        for event in super().generate(request, cancel):
            if first and isinstance(event, Step):
                self.steps -= 1
                if self.steps < 0:
                    raise EngineLostError("The engine was ended.")
            yield event


def test_the_conversation_keeps_what_was_said(capsys: Captured) -> None:
    engine = LostInTheMiddle(("Hello there you.", "Second."))
    session = Session(engine, "smol", Screen(), Settings(), Dialogue())
    converse(session, ["Hi", "Next"])
    said = [message.content for message in engine.requests[1].messages]
    assert said == ["Hi", "Hello", "Next"]
    assert session.failures == 1
    output = capsys.readouterr()
    assert output.out == "Hello\nSecond.\n"
    assert "The engine was ended." in output.err


def test_without_a_word_the_question_may_be_asked_again(capsys: Captured) -> None:
    engine = LostInTheMiddle(("Hello there you.", "Second."))
    engine.steps = 0
    session = Session(engine, "smol", Screen(), Settings(), Dialogue())
    converse(session, ["Hi", "Hi"])
    assert [message.content for message in engine.requests[1].messages] == ["Hi"]
    assert session.failures == 1
    assert capsys.readouterr().out == "Second.\n"


def test_one_answer_that_was_not_finished_is_an_error(headstart_home: Path, capsys: Captured) -> None:
    write_model(headstart_home / "models" / "smol")
    load = RecordingLoad(LostInTheMiddle(("Hello there you.",)))
    assert main(["chat", "--prompt", "Hi"], load) == 1
    assert capsys.readouterr() == ("Hello\n", "headstart: The engine was ended.\n")


ENTER, ALT_ENTER, CTRL_C, CTRL_D = "\r", "\x1b\r", "\x03", "\x04"


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        yield keyboard


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history"


@pytest.mark.parametrize(
    ("piped", "lines"),
    [
        ("one\ntwo\r\n", ["one", "two"]),
        ("one \\\ntwo\\\nthree\nfour", ["one \ntwo\nthree", "four"]),
        ("cut off\\", ["cut off\n"]),
        ("", []),
    ],
)
def test_a_pipe_gives_a_message_a_line(piped: str, lines: list[str]) -> None:
    assert list(piped_lines(io.StringIO(piped, newline=""))) == lines


@pytest.mark.parametrize("read", [whole_text, lambda stream: list(piped_lines(stream))])
def test_a_pipe_of_bytes_that_are_no_text_is_refused(read: object) -> None:
    assert callable(read)
    with pytest.raises(SettingsError, match="Standard input is no text in utf-8"):
        read(io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="utf-8"))


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        (f"one{ENTER}two{ENTER}", ["one", "two"]),
        (f"first{ALT_ENTER}second{ENTER}", ["first\nsecond"]),
        (f"first\\{ENTER}second{ENTER}", ["first\nsecond"]),
        (f"mistake{CTRL_C}right{ENTER}", ["right"]),
        (f"\x1b[200~pasted\nlines\x1b[201~{ENTER}", ["pasted\nlines"]),
    ],
)
def test_the_editor(keyboard: PipeInput, history: Path, keys: str, lines: list[str]) -> None:
    keyboard.send_text(keys + CTRL_D)
    assert list(typed_lines(history, ["/quit"])) == lines


def test_history_is_kept_in_a_file(keyboard: PipeInput, history: Path) -> None:
    keyboard.send_text(f"remember{ALT_ENTER}me{ENTER}{CTRL_D}")
    list(typed_lines(history, []))
    assert history.read_text(encoding="utf-8").endswith("\n+remember\n+me\n")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_history_is_for_its_owner_only(keyboard: PipeInput, history: Path) -> None:
    history.parent.mkdir()
    history.touch(0o644)
    keyboard.send_text(f"secret{ENTER}{CTRL_D}")
    list(typed_lines(history, []))
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_where_no_history_can_be_written_the_editor_works(keyboard: PipeInput, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    keyboard.send_text(f"one{ENTER}two{ENTER}{CTRL_D}")
    assert list(typed_lines(tmp_path / "file" / "history", [])) == ["one", "two"]


def _engine(session: Session) -> ScriptedEngine:
    assert isinstance(session.engine, ScriptedEngine)
    return session.engine


def _asked(session: Session) -> list[list[tuple[str, str]]]:
    requests = _engine(session).requests
    return [[(message.role, message.content) for message in request.messages] for request in requests]
