"""`headstart serve` from outside: its flags, its key, its end. The engine is scripted."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import openai
import pytest

from bench.toy import CONTEXT
from headstart import paths
from headstart.cli import COMMANDS, load_apart, main
from headstart.cli.command import Command
from headstart.engine.engine import LoadOptions
from headstart.errors import DeviceError
from headstart.server.server import listen
from tests.fakes import RecordingLoad, ScriptedEngine
from tests.model_folders import write_model

ROOT = Path(__file__).resolve().parents[2]
SERVE = """
import sys
from headstart.cli import main
from tests.fakes import ScriptedEngine
sys.exit(main(["serve", *sys.argv[1:]], load=lambda _: ScriptedEngine(["word " * 1000], pause=0.05)))
"""
SERVE_TOY = """
import os, sys
from pathlib import Path
from bench.toy import PROGRAM
from headstart.cli import main
from headstart.engine.process.client import EngineClient
from headstart.engine.supervision import Journal

def load(options):
    client = EngineClient(PROGRAM, Journal(Path(os.environ["HEADSTART_HOME"]) / "engine.log"))
    client.load(options)
    return client

sys.exit(main(["serve", *sys.argv[1:]], load=load))
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def root(headstart_home: Path) -> Path:
    """A library with one model, `smol`."""
    write_model(headstart_home / "models" / "smol")
    return headstart_home


@contextmanager
def served(*flags: str, script: str = SERVE) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The program, once it answers, with the lines that it printed until then."""
    command = [sys.executable, "-c", script, "--port", "0", *flags]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "app"), str(ROOT)])}
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as program:
        assert program.stdout
        try:
            lines: list[str] = []
            while not (lines and "answers at" in lines[-1]):
                lines.append(program.stdout.readline())
                assert lines[-1], "".join(lines)
            yield program, lines
        finally:
            program.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("root")
def test_it_answers_who_has_the_key_until_it_is_told_to_end(number: signal.Signals) -> None:
    with served("--temperature", "0.5") as (program, lines):
        key, base = re.findall(r"hs-\S+|http://\S+", "".join(lines))
        with openai.OpenAI(base_url=base, api_key=key, max_retries=0) as client:
            stream = client.completions.create(model="smol", prompt="Once", max_tokens=1000, stream=True)
            next(stream)
            program.send_signal(number)
            with pytest.raises(openai.APIError, match="being stopped"):
                list(stream)
        assert program.wait(60) == 0
        assert program.stdout
        assert program.stdout.read() == "Stopped.\n"
    assert key not in paths.server_key().read_text(encoding="ascii")


@pytest.mark.usefixtures("root")
def test_an_answer_without_a_bound_takes_half_the_context() -> None:
    with served(script=SERVE_TOY) as (_, lines):
        key, base = re.findall(r"hs-\S+|http://\S+", "".join(lines))
        with openai.OpenAI(base_url=base, api_key=key, max_retries=0) as client:
            reply = client.chat.completions.create(
                model="smol", messages=[{"role": "user", "content": "toy: words 2000"}]
            )
        assert reply.usage is not None
        assert (reply.choices[0].finish_reason, reply.usage.completion_tokens) == ("length", CONTEXT // 2)


@pytest.mark.usefixtures("root")
def test_the_key_is_shown_once_and_again_only_as_another(capsys: Captured) -> None:
    def unloadable(options: LoadOptions) -> ScriptedEngine:
        raise DeviceError(f"{options.device} is not here.")

    shown = []
    for flags in ([], [], ["--new-key"]):
        assert main(["serve", "--port", "0", *flags], unloadable) == 1
        shown.append(re.findall(r"hs-\S+", capsys.readouterr().out))
    (first,), nothing, (second,) = shown
    assert not nothing
    assert first != second


@pytest.mark.usefixtures("root")
def test_a_port_that_is_taken_is_found_before_the_model_is_loaded(capsys: Captured) -> None:
    load = RecordingLoad()
    with closing(listen("127.0.0.1", 0)) as other:
        assert main(["serve", "--port", str(other.getsockname()[1])], load) == 1
    assert "is taken by another program" in capsys.readouterr().err
    assert not load.options


def test_its_engine_is_in_a_process_of_its_own() -> None:
    apart = []
    for name in ("chat", "serve", "tune"):
        command = COMMANDS[name].open()
        assert isinstance(command, Command)
        apart.append(command.load is load_apart)
    assert apart == [True, True, False]
