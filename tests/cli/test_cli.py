"""The command line from outside: flags, settings, output, exit codes and sentences; models are scripted."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headstart import __version__
from headstart.cli import main
from headstart.cli.program import WindowFlags
from headstart.engine.engine import LoadOptions
from headstart.errors import DeviceError
from tests.chat.files.test_pdf_text import HELLO_PDF
from tests.stand_ins.fakes import FOX, RecordingLoad, ScriptedEngine, deliver
from tests.stand_ins.model_folders import write_model

ROOT = Path(__file__).resolve().parents[2]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def root(headstart_home: Path) -> Path:
    """A library with one model, `smol`."""
    write_model(headstart_home / "models" / "smol")
    return headstart_home / "models"


@pytest.fixture
def load() -> RecordingLoad:
    return RecordingLoad()


def test_page_of_the_command_line_is_as_declared(capsys: Captured) -> None:
    assert main(["dev", "reference"]) == 0
    page = (ROOT / "app" / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == capsys.readouterr().out, "run `headstart dev reference --output app/docs/cli.md`"
    assert main(["dev", "fields"]) == 0
    fields = (ROOT / "app" / "docs" / "fields.md").read_text(encoding="utf-8")
    assert fields == capsys.readouterr().out, "run `headstart dev fields --output app/docs/fields.md`"
    assert main(["chat", "--help"]) == 0
    assert "--temperature X" in capsys.readouterr().out


def test_reference_prints_shared_flags_once(capsys: Captured) -> None:
    assert main(["dev", "reference"]) == 0
    page = capsys.readouterr().out
    assert page.count("- `--num-assistant-tokens N`") == 1
    section, _, _ = page.partition("### headstart run")[2].partition("###")
    assert "Speculation, Many prompts, Output, Tools: as in [`headstart chat`](#headstart-chat)." in section


def test_help_loads_no_model_library() -> None:
    script = (
        "import sys\nfrom headstart.cli import main\nmain(['chat', '--help'])\n"
        "heavy = ('openvino', 'numpy', 'prompt_toolkit', 'httpx')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_script_is_printed(shell: str, capsys: Captured) -> None:
    assert main(["--completion", shell]) == 0
    assert "_HEADSTART_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("headstart mod", "models"),
        ("headstart chat --spec", "--speculation"),
        ("headstart chat --model s", "smol"),
        ("headstart chat --drafter ng", "ngram"),
        ("headstart models check s", "smol"),
    ],
)
def test_commands_flags_models_and_choices_are_completed(
    typed: str, wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("_HEADSTART_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    assert main([]) == 0
    assert f"plain,{wanted}" in capsys.readouterr().out.splitlines()


def test_module_runs_the_command() -> None:
    command = [sys.executable, "-m", "headstart", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"headstart {__version__}\n"


def test_stdout_has_only_the_answer(load: RecordingLoad, capsys: Captured) -> None:
    assert main(["chat", "--prompt", "Hi", "--system", "Be brief.", "--stop", "END"], load) == 0
    assert capsys.readouterr() == (f"{FOX}\n", "")
    (request,) = load.engine.requests
    assert [(message.role, message.content) for message in request.messages] == [
        ("system", "Be brief."),
        ("user", "Hi"),
    ]
    assert request.stop == ("END",)
    assert load.engine.closed


def test_model_is_loaded_with_the_flags(root: Path, load: RecordingLoad) -> None:
    write_model(root / "tiny")
    flags = ["--model", "smol", "--draft", "tiny", "--device", "GPU.1", "--context", "2048"]
    assert main(["chat", *flags, "--prompt", "Hi"], load) == 0
    assert load.options == [LoadOptions(root / "smol", root / "tiny", "GPU.1", 2048)]


def test_auto_values_are_accepted(load: RecordingLoad) -> None:
    assert main(["chat", "--context", "auto", "--num-assistant-tokens", "auto", "--prompt", "Hi"], load) == 0
    assert load.options[0].context is None


def test_prompt_hyphen_is_standard_input(
    load: RecordingLoad, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Summarise:\n\nall this\n"))
    assert main(["chat", "--prompt", "-", "--stats"], load) == 0
    assert load.engine.requests[0].messages[0].content == "Summarise:\n\nall this\n"
    shown = capsys.readouterr()
    assert shown.out == f"{FOX}\n"
    assert "120 ms to" in shown.err
    assert shown.err.count("\n") == 2
    assert "loaded in " in shown.err


@pytest.mark.parametrize(
    ("piped", "prompt"), [("", "What is this?"), ("a = 1\n\nb = 2\n", "a = 1\n\nb = 2\n\nWhat is this?")]
)
def test_piped_text_goes_before_the_prompt(
    piped: str, prompt: str, load: RecordingLoad, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(piped))
    assert main(["chat", "-s", "Be brief.", "What", "is this?"], load) == 0
    assert main(["run", "smol", "What is this?"], load) == 0  # at the end of the pipe
    assert [request.messages[-1].content for request in load.engine.requests] == [prompt, "What is this?"]
    assert capsys.readouterr() == (f"{FOX}\n" * 2, "")


def test_files_go_before_the_first_message(
    load: RecordingLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "letter.pdf").write_bytes(HELLO_PDF)
    files = ["-f", str(tmp_path / "a.py"), "-f", str(tmp_path / "letter.pdf")]
    monkeypatch.setattr(sys, "stdin", io.StringIO("What?\nAgain\n"))
    assert main(["chat", *files], load) == 0
    assert main(["chat", *files, "--prompt", "What?"], load) == 0
    first, second, alone = load.engine.requests
    assert first.messages[0].content == "a.py:\n```\na = 1\n```\n\nletter.pdf:\n```\nHello tiger\n```\n\nWhat?"
    assert second.messages[2].content == "Again"
    assert alone.messages == first.messages


def test_schema_binds_every_answer(load: RecordingLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = '{"type": "object"}'
    (tmp_path / "schema.json").write_text(schema, encoding="utf-8")
    assert main(["chat", "--json-schema", schema, "--prompt", "Hi"], load) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    assert main(["chat", "--json-schema", str(tmp_path / "schema.json")], load) == 0
    assert [request.schema for request in load.engine.requests] == [schema] * 3


def test_unnamed_model_is_the_last_one(root: Path, load: RecordingLoad, capsys: Captured) -> None:
    write_model(root / "tiny")
    assert main(["chat", "--prompt", "Hi"], load) == 2
    assert "choose one with --model NAME" in capsys.readouterr().err
    for flags in (["-m", "tiny"], [], ["-m", "smol"], []):
        assert main(["chat", *flags, "--prompt", "Hi"], load) == 0
    assert [options.target.name for options in load.options] == ["tiny", "tiny", "smol", "smol"]
    assert main(["rm", "smol", "--yes"]) == 0
    assert main(["chat", "--prompt", "Hi"], load) == 0
    assert load.options[-1].target.name == "tiny"


def test_json_is_one_object(load: RecordingLoad, capsys: Captured) -> None:
    load.engine.scripts = ("Ça \x1b[1m va?",)
    assert main(["chat", "--prompt", "Hi", "--json", "--seed", "5", "--stop", "END"], load) == 0
    shown = capsys.readouterr()
    assert shown.out.isascii()
    assert "\x1b" not in shown.out
    data = json.loads(shown.out)
    assert list(data) == ["thinking", "text", "token_ids", "finish_reason", "stats", "settings"]
    assert data["thinking"] == ""
    assert (data["text"], data["finish_reason"], len(data["token_ids"])) == ("Ça \x1b[1m va?", "stop", 3)
    assert data["stats"]["output_tokens"] == 3
    assert data["stats"]["acceptance_rate"] == 1.0
    expected = {"model": "smol", "draft": None, "device": "CPU", "context": None, "system": None}
    assert expected.items() <= data["settings"].items()
    assert data["settings"]["engine"] == "headstart"
    assert (data["settings"]["seed"], data["settings"]["stop"], data["settings"]["speculation"]) == (5, ["END"], "auto")


def test_thinking_is_apart_from_the_answer(load: RecordingLoad, capsys: Captured) -> None:
    load.engine.scripts = (("They greet me.", "Hello."),)
    assert main(["chat", "--prompt", "Hi"], load) == 0
    assert capsys.readouterr() == ("Hello.\n", "")
    assert main(["chat", "--prompt", "Hi", "--no-show-thinking", "--stats"], load) == 0
    shown = capsys.readouterr()
    assert shown.out == "Hello.\n"
    assert "3 of them thinking" in shown.err
    assert main(["chat", "--prompt", "Hi", "--show-thinking"], load) == 0
    assert capsys.readouterr() == ("Hello.\n", "· thinking\nThey greet me.\n\n")
    assert main(["chat", "--prompt", "Hi", "--json", "--show-thinking"], load) == 0
    shown = capsys.readouterr()
    data = json.loads(shown.out)
    assert (data["thinking"], data["text"], data["stats"]["thinking_tokens"]) == ("They greet me.", "Hello.", 3)
    assert shown.err == ""


def test_bare_command_opens_the_window() -> None:
    asked: list[Path | None] = []

    def window(flags: WindowFlags) -> int:
        asked.append(flags.profile)
        return 0

    assert main(["--profile", "here"], window=window) == 0
    assert asked == [Path("here")]


@pytest.mark.parametrize("arguments", [["sing"], ["--sing"]])
def test_unknown_command_is_refused(arguments: list[str], capsys: Captured) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("headstart: ")
    assert shown.endswith(" See headstart --help.\n")


def test_load_error_is_a_sentence(capsys: Captured) -> None:
    def refuse(options: LoadOptions) -> ScriptedEngine:
        raise DeviceError(f"There is no device {options.device}; this computer has CPU.")

    assert main(["chat", "--device", "TPU", "--prompt", "Hi"], refuse) == 1
    assert "TPU" in capsys.readouterr().err


def test_error_in_an_answer_closes_the_engine(load: RecordingLoad, capsys: Captured) -> None:
    load.engine.context = 1
    assert main(["chat", "--prompt", "one two"], load) == 1
    assert "2 tokens" in capsys.readouterr().err
    assert load.engine.closed


def test_ctrl_c_while_loading_ends_quietly(capsys: Captured) -> None:
    def interrupted(_options: LoadOptions) -> ScriptedEngine:
        raise KeyboardInterrupt

    assert main(["chat", "--prompt", "Hi"], interrupted) == 130
    assert capsys.readouterr() == ("", "")


def test_piped_lines_are_a_conversation(load: RecordingLoad, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    load.engine.scripts = ("One.", "Two.")
    monkeypatch.setattr(sys, "stdin", io.StringIO("first \\\nmessage\n/set seed 3\nsecond\n/quit\nthird\n"))
    assert main(["chat", "--stats"], load) == 0
    shown = capsys.readouterr()
    assert shown.out == "One.\nTwo.\n"
    assert shown.err.count("to the first token") == 2
    assert [message.content for message in load.engine.requests[1].messages] == ["first \nmessage", "One.", "second"]
    assert load.engine.closed


def test_conversation_goes_on_with_another_model(
    root: Path, load: RecordingLoad, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    write_model(root / "tiny")
    load.engine.scripts = ("One.", "Two.")
    lines = ["first", "/model big", "/model tiny", "/model", "/show", "second"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    assert main(["chat", "-m", "smol"], load) == 1  # there is no big one
    assert [options.target.name for options in load.options] == ["smol", "tiny"]
    assert [message.content for message in load.engine.requests[1].messages] == ["first", "One.", "second"]
    shown = capsys.readouterr().err
    assert "There is no model 'big'" in shown
    assert "· tiny answers from now on.\n· smol\n· tiny (in use)\n· name          tiny\n" in shown


def test_failed_load_keeps_the_model_before(
    root: Path, load: RecordingLoad, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    write_model(root / "tiny")

    def refuse(options: LoadOptions) -> ScriptedEngine:
        if options.target.name == "tiny":
            raise DeviceError("It is too large.")
        return load(options)

    monkeypatch.setattr(sys, "stdin", io.StringIO("/model tiny\nHi\n"))
    assert main(["chat", "-m", "smol"], refuse) == 1
    assert [options.target.name for options in load.options] == ["smol", "smol"]
    assert capsys.readouterr() == (f"{FOX}\n", "headstart: It is too large.\n")


def test_failed_piped_line_shows_in_the_exit_code(load: RecordingLoad, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("/sing\nhello\n"))
    assert main(["chat"], load) == 1
    assert len(load.engine.requests) == 1


def interrupted_engine() -> ScriptedEngine:
    """An engine whose user presses Ctrl+C after the first round of every answer."""
    return ScriptedEngine(before_round=lambda _, number: deliver(signal.SIGINT) if number == 2 else None)


def test_interrupted_answer_is_one_json_object(capsys: Captured) -> None:
    assert main(["chat", "--prompt", "Hi", "--json"], RecordingLoad(interrupted_engine())) == 130
    data = json.loads(capsys.readouterr().out)
    assert (data["text"], data["finish_reason"]) == ("The", "cancelled")


def test_ctrl_c_ends_a_piped_conversation(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    engine = interrupted_engine()
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    assert main(["chat"], RecordingLoad(engine)) == 130
    assert capsys.readouterr().out == "The\n"
    assert len(engine.requests) == 1
    assert engine.closed


CHILD = """
import sys
from headstart.cli import main
from headstart.cli.program import WindowFlags
from tests.stand_ins.fakes import RecordingLoad, ScriptedEngine
sys.exit(main(sys.argv[1:], RecordingLoad(ScriptedEngine((("多" * 100 + " ") * 300,)))))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows reports a closed pipe otherwise")
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_closed_pipe_is_no_error(flags: tuple[str, ...]) -> None:
    more_than_a_pipe_holds = ("--max-new-tokens", "300")
    command = [sys.executable, "-c", CHILD, "chat", "--prompt", "Hi", *more_than_a_pipe_holds, *flags]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(10)
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 1
