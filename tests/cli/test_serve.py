"""`headstart serve` from outside: its flags, its key, its end. The engine is scripted."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stdout
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import openai
import pytest

from bench.toy import CONTEXT
from headstart import paths
from headstart.cli import COMMANDS, load_apart, main
from headstart.cli.command import Command
from headstart.cli.options import AnsweringFlags
from headstart.cli.serve import KEY_VARIABLE, served_models, with_model
from headstart.engine.engine import LoadOptions
from headstart.errors import DeviceError
from headstart.server import keys
from headstart.server.server import listen
from tests.stand_ins.fakes import RecordingLoad, ScriptedEngine
from tests.stand_ins.model_folders import write_model
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
SERVE = """
import sys
from headstart.cli import main
from tests.stand_ins.fakes import ScriptedEngine
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
SERVE_SLOW_TOY = SERVE_TOY.replace("EngineClient(PROGRAM,", 'EngineClient((*PROGRAM, "--pace", "0.05"),')
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def root(headstart_home: Path) -> Path:
    """A library with one model, `smol`."""
    write_model(headstart_home / "models" / "smol")
    return headstart_home


@contextmanager
def served(*flags: str, script: str = SERVE) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The program once it answers, with the lines that it has printed."""
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
def test_serve_answers_with_the_key_until_a_signal(number: signal.Signals) -> None:
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


def listing() -> list[dict[str, Any]]:
    """Return the servers that `headstart ps --json` lists."""
    listed: list[dict[str, Any]] = json.loads(told("--json"))["servers"]
    return listed


def told(*flags: str) -> str:
    with redirect_stdout(StringIO()) as printed:
        assert main(["ps", *flags]) == 0
    return printed.getvalue()


def until_it_writes(answers: int) -> None:
    """Wait until the only server reports an answer in progress."""
    wait_until(lambda: listing()[0]["models"][0]["answers"] == answers)


def test_ps_lists_running_servers(root: Path) -> None:
    assert str(root) in told()
    begun = datetime.now().astimezone() - timedelta(seconds=1)
    with served("--key", "mine", script=SERVE_SLOW_TOY) as (program, lines):
        (base,) = re.findall(r"http://\S+", "".join(lines))
        (server,) = listing()
        (model,) = server["models"]
        assert (server["url"], server["process"]) == (base, program.pid)
        assert (model["name"], model["answers"]) == ("smol", 0)
        assert begun <= datetime.fromisoformat(model["since"]) <= datetime.now().astimezone()
        assert model["memory"] > 1_000_000
        assert re.search(rf"^smol  +\d{{4}}-\d\d-\d\d \d\d:\d\d  +\d+ MB  +0  +{base}$", told(), re.MULTILINE)
        with openai.OpenAI(base_url=base, api_key="mine", max_retries=0) as client:
            stream = client.completions.create(model="smol", prompt="toy: words 50000", max_tokens=50000, stream=True)
            next(stream)
            until_it_writes(1)
            stream.close()
        until_it_writes(0)
    assert list((root / "servers").iterdir()), "it was killed"
    assert listing() == []
    assert not list((root / "servers").iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
def test_ps_forgets_ended_servers(root: Path) -> None:
    write_model(root / "models" / "lol")
    (root / "servers").mkdir()
    (root / "servers" / "1.json").write_text("{", encoding="utf-8")
    with served("--key", "mine") as (program, lines):
        (base,) = re.findall(r"http://\S+", "".join(lines))
        assert [server["models"] for server in listing()] == [[]]
        assert re.search(rf"^none yet  +0  +{base}$", told(), re.MULTILINE)
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 0
        assert not list((root / "servers").iterdir())


def test_answer_without_max_tokens_takes_half_the_context() -> None:
    with served(script=SERVE_TOY) as (_, lines):
        key, base = re.findall(r"hs-\S+|http://\S+", "".join(lines))
        with openai.OpenAI(base_url=base, api_key=key, max_retries=0) as client:
            reply = client.chat.completions.create(
                model="smol", messages=[{"role": "user", "content": "toy: words 2000"}]
            )
        assert reply.usage is not None
        assert (reply.choices[0].finish_reason, reply.usage.completion_tokens) == ("length", CONTEXT // 2)


def test_first_request_chooses_the_model(root: Path) -> None:
    write_model(root / "models" / "lol")
    with served("--key", "mine", "--max-tokens", "3") as (_, lines):
        assert not [line for line in lines if "Loading" in line]
        (base,) = re.findall(r"http://\S+", "".join(lines))
        with openai.OpenAI(base_url=base, api_key="mine", max_retries=0) as client:
            assert [model.id for model in client.models.list()] == ["lol", "smol"]
            for name in ("smol", "lol"):
                reply = client.chat.completions.create(model=name, messages=[{"role": "user", "content": "Hi"}])
                assert reply.usage is not None
                assert (reply.model, reply.usage.completion_tokens) == (name, 3)


def test_last_model_is_loaded_by_default(root: Path) -> None:
    write_model(root / "models" / "lol")
    paths.last_model().write_text("smol", encoding="utf-8")
    with served("--key", "mine") as (_, lines):
        assert [line for line in lines if "Loading smol on" in line]


def test_removed_model_is_served_no_more_and_the_others_are(root: Path) -> None:
    write_model(root / "models" / "lol")
    flags = with_model(AnsweringFlags(model="smol"))
    assert [model.id for model in served_models(flags)] == ["lol", "smol"]
    shutil.rmtree(root / "models" / "smol")
    assert [model.id for model in served_models(flags)] == ["lol"]


def test_alias_answers_for_its_model(root: Path, capsys: Captured) -> None:
    write_model(root / "models" / "lol")
    with served("--key", "mine", "--alias", "claude-* = SMOL", "--alias", "gpt-4o=lol") as (_, lines):
        (base,) = re.findall(r"http://\S+", "".join(lines))
        with openai.OpenAI(base_url=base, api_key="mine", max_retries=0) as client:
            assert [model.id for model in client.models.list()] == ["lol", "smol", "gpt-4o"]
            for name, model in (("claude-haiku-4-5", "smol"), ("gpt-4o", "lol")):
                reply = client.chat.completions.create(
                    model=name, messages=[{"role": "user", "content": "Hi"}], max_tokens=3
                )
                assert reply.model == model
    for alias, words in (("a=none", "'none', which is not installed; choose one of lol, smol"), ("lol=smol", "lol is")):
        assert main(["serve", "--port", "0", "--alias", alias], RecordingLoad()) == 2
        assert words in capsys.readouterr().err


def log_of(count: int, *flags: str) -> list[str]:
    """Return the log, of `count` lines and without times, of a program that answers and refuses some requests."""
    with served("--key", "mine", *flags) as (program, lines):
        (base,) = re.findall(r"http://\S+", "".join(lines))
        with openai.OpenAI(base_url=base, api_key="mine", max_retries=0) as client:
            hi: Any = {"model": "smol", "messages": [{"role": "user", "content": "a secret"}]}
            client.chat.completions.create(**hi, max_tokens=3)
            for temperature in (7, 8):
                with pytest.raises(openai.BadRequestError):
                    client.chat.completions.create(**hi, temperature=temperature)
            with pytest.raises(openai.NotFoundError):
                client.get("/a%0Ab", cast_to=object)
            with client.chat.completions.create(**hi, stream=True) as stream:
                next(stream)
        assert program.stdout
        printed = [program.stdout.readline() for _ in range(count)]
        program.terminate()
        printed += program.stdout.readlines()
    assert not any(secret in line for secret in ("secret", "mine") for line in printed)
    dated = [line for line in printed if re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", line)]
    assert len(dated) == count, printed
    assert all(re.search(r", req_[0-9a-f]{24}$", line) for line in dated)
    return [re.sub(r"\d+ ms", "9 ms", line[20:].rpartition(", req_")[0]) for line in dated]


def test_refusals_are_printed_once_and_requests_on_request() -> None:
    post = "POST /v1/chat/completions, 127.0.0.1 key 0,"
    refused = f"{post} 400, 9 ms, `temperature` must be a number from 0 to 2, not 7: correct it."
    strange = "GET /v1/a␊b, 127.0.0.1 key 0, 404, 9 ms, not_found: GET /v1/a"
    first, second = log_of(2)
    assert (first, second.startswith(strange)) == (refused, True)
    *others, left = log_of(5, "--log-requests")
    assert [*others[:3], others[3].startswith(strange)] == [
        *(f"{post} smol, 200, 2 + 3 tokens, 9 ms", refused, refused.replace("not 7", "not 8"), True)
    ]
    assert re.fullmatch(rf"{post} smol, 200, (2 \+ \d+ tokens, )?9 ms, client left", left)


def test_draft_needs_a_named_model(root: Path, capsys: Captured) -> None:
    write_model(root / "models" / "lol")
    assert main(["serve", "--port", "0", "--draft", "lol"], RecordingLoad()) == 2
    assert "name it with --model" in capsys.readouterr().err


def test_given_keys_count_beside_the_generated_one(
    root: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = "hs-made"
    keys.write(paths.server_key(), keys.digest(made))
    (root / "keys").write_text("# of the team\none\n\n two \n", encoding="utf-8")
    monkeypatch.setenv(KEY_VARIABLE, "three")
    with served("--key", "four", "--key", "five", "--key-file", str(root / "keys")) as (_, lines):
        (base,) = re.findall(r"http://\S+", "".join(lines))
        for key in (made, "one", "two", "three", "four", "five"):
            with openai.OpenAI(base_url=base, api_key=key, max_retries=0) as client:
                assert client.models.list().data
        wrong = openai.OpenAI(base_url=base, api_key="# of the team", max_retries=0)
        with wrong, pytest.raises(openai.AuthenticationError, match="Incorrect API key provided"):
            wrong.models.list()
    assert keys.read(paths.server_key()) == keys.digest(made)
    for flags, words in ((["--key", "a b"], "without a space"), (["--key-file", str(root / "no")], "cannot be read")):
        assert main(["serve", "--port", "0", *flags], RecordingLoad()) == 2
        assert words in capsys.readouterr().err


def test_given_key_needs_no_other_one() -> None:
    with served("--key", "mine") as (_, lines):
        assert "hs-" not in "".join(lines)
    assert not paths.server_key().exists()


def test_refused_pages_and_hosts_are_reported_once() -> None:
    with served("--key", "mine") as (program, lines):
        (base,) = re.findall(r"http://\S+", "".join(lines))
        for _ in range(2):
            for header in ({"Origin": "app://obsidian.md"}, {"Host": "host.docker.internal"}):
                client = openai.OpenAI(base_url=base, api_key="mine", max_retries=0, default_headers=header)
                with client, pytest.raises(openai.PermissionDeniedError):
                    client.models.list()
        program.terminate()
        assert program.stdout
        told = program.stdout.read()
    assert (told.count("app://obsidian.md"), told.count("--allow-origin")) == (1, 1)
    assert (told.count("host.docker.internal"), told.count("--allow-host")) == (1, 1)


def test_key_is_shown_once(capsys: Captured) -> None:
    def unloadable(options: LoadOptions) -> ScriptedEngine:
        raise DeviceError(f"{options.device} is not here.")

    shown = []
    for flags in ([], [], ["--new-key"]):
        assert main(["serve", "--port", "0", *flags], unloadable) == 1
        shown.append(re.findall(r"hs-\S+", capsys.readouterr().out))
    (first,), nothing, (second,) = shown
    assert not nothing
    assert first != second


def test_taken_port_is_found_before_loading(capsys: Captured) -> None:
    load = RecordingLoad()
    with closing(listen("127.0.0.1", 0)) as other:
        assert main(["serve", "--port", str(other.getsockname()[1])], load) == 1
    assert "is taken by another program" in capsys.readouterr().err
    assert not load.options


def test_engine_has_its_own_process() -> None:
    apart = []
    for name in ("chat", "serve", "tune"):
        command = COMMANDS[name].open()
        assert isinstance(command, Command)
        apart.append(command.load is load_apart)
    assert all(apart)
