"""Settings as flags, as values of /set, and in requests; remarks about loading."""

import io
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bench.toy import CONTEXT, PROGRAM
from headstart.cli import main, options
from headstart.cli.options import OPTIONS, AnsweringFlags, RequestSettings, model_info, select_model
from headstart.engine.engine import (
    ConversationRequest,
    Drafter,
    EngineKind,
    KvPrecision,
    LoadOptions,
    Message,
    Mode,
    Sampling,
    Speculation,
)
from headstart.engine.process.client import EngineClient
from headstart.engine.supervision import Journal
from headstart.engine.text.generation_config import USUAL
from headstart.errors import Translatable
from tests.stand_ins.fakes import RecordingLoad, ScriptedEngine
from tests.stand_ins.model_folders import write_model
from tests.stand_ins.openvino_core import CPU, GPU, FakeCore, plug_in

MESSAGES = (Message("user", "hello"),)
OWN = Sampling(0.7, 0.8, 20, repetition_penalty=1.1)  # of some model


@pytest.fixture(autouse=True)
def model(headstart_home: Path) -> None:
    """The only installed model."""
    write_model(headstart_home / "models" / "smol")


def requested(*flags: str) -> ConversationRequest:
    """Return the request to the engine with these flags."""
    load = RecordingLoad()
    assert main(["chat", "--prompt", "hello", *flags], load) == 0
    (request,) = load.engine.requests
    assert isinstance(request, ConversationRequest)
    return request


def test_every_field_is_an_option() -> None:
    assert {option.name for option in OPTIONS} == set(RequestSettings().values)
    asked = requested()
    assert asked == ConversationRequest(MESSAGES, sampling=asked.sampling)
    assert asked.sampling.settled(OWN) == OWN


@pytest.mark.parametrize("flags", [("--greedy",), ("--temperature", "0"), ("--temperature", "0.5", "--greedy")])
def test_greedy_sets_temperature_0(flags: tuple[str, ...]) -> None:
    assert requested(*flags).sampling.settled(OWN) == Sampling(temperature=0.0)


def test_every_flag_reaches_the_request() -> None:
    assert requested(
        *("--max-new-tokens", "7", "--stop", "END", "--stop", "\n\n", "--stop-on-repetition", "no"),
        *("--temperature", "0.8", "--top-p", "0.9", "--top-k", "40", "--min-p", "0.05", "--seed", "3"),
        *("--repetition-penalty", "1.1", "--presence-penalty", "-1", "--frequency-penalty", "0.5"),
        *("--speculation", "fixed", "--num-assistant-tokens", "5"),
        *("--assistant-confidence-threshold", "0.4", "--acceptance-threshold", "0.7"),
        *("--drafter", "ngram", "--think", "--think-budget", "100", "--think-effort", "low"),
    ) == ConversationRequest(
        MESSAGES,
        max_new_tokens=7,
        sampling=Sampling(0.8, 0.9, 40, 0.05, 1.1, -1.0, 0.5, 3),
        speculation=Speculation(Mode.FIXED, 5, 0.4, 0.7, Drafter.NGRAM),
        stop=("END", "\n\n"),
        stop_on_repetition=False,
        thinking=True,
        thinking_budget=100,
        effort="low",
    )
    assert requested("--no-think").thinking is False


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("temperature", "auto", "auto (0.7)"),
        ("top-p", "0.5", "0.5"),
        ("top_k", "auto", "auto (20)"),
        ("num-assistant-tokens", "4", "4"),
        ("num_assistant_tokens", "auto", "auto"),
        ("stop-on-repetition", "yes", "yes"),
        ("--stop", "\n", r"'\n'"),
        ("think", "no", "no"),
        ("think", "auto", "auto"),
        ("think-budget", "64", "64"),
        ("think_effort", "high", "high"),
    ],
)
def test_setting_is_read_and_shown_alike(name: str, text: str, shown: str) -> None:
    option = options.find_setting(name)
    changed = RequestSettings().with_values({option.name: option.parse(text)})
    assert changed.format_value(option, OWN) == shown
    assert changed.with_values({option.name: None}) == RequestSettings()


def test_special_load_options_are_remarked(
    tiny_target: Path, tiny_draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = AnsweringFlags(model=str(tiny_target), device="CPU")
    assert not list(select_model(flags).remarks)
    eight = replace(flags, draft=str(tiny_draft), kv_precision=KvPrecision.U8)
    assert list(select_model(eight).remarks) == [
        "Keys and values of 1024 tokens take 0 MB in 8 bits, where 16 bits take 1 MB."
    ]
    assert "of 512 tokens" in next(select_model(replace(eight, context=512)).remarks)
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "GPU": GPU}))
    on_card = replace(flags, device="auto", engine=EngineKind.HEADSTART)
    (remark,) = map(str, select_model(on_card).remarks)
    assert ("GPU" in remark, "A Graphics Card" in remark) == (True, True)


def test_chosen_model_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = "OpenVINO GenAI runs this model because Headstart's own engine cannot use an NPU."
    with closing(EngineClient(PROGRAM, Journal(tmp_path / "log"))) as client:
        assert model_info(client) is None
        known = client.load(LoadOptions(Path("toy")))
        assert model_info(client) == known
        assert (known.sampling, known.context) == (USUAL, CONTEXT)
        monkeypatch.setattr(client, "model_info", replace(known, engine="genai", reason=sentence))
        assert main(["chat", "--prompt", "Hi", "--json"], lambda _: client) == 0
    shown = capsys.readouterr()
    assert shown.err == f"· {sentence}\n"
    assert json.loads(shown.out)["settings"]["engine"] == "genai"
    assert model_info(ScriptedEngine()) is None


def test_how_a_model_is_loaded_is_said_at_its_load_and_with_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = Translatable("Answers are about half as fast as they could be.")
    with closing(EngineClient(PROGRAM, Journal(tmp_path / "log"))) as client:
        monkeypatch.setattr(client, "model_info", replace(client.load(LoadOptions(Path("toy"))), notes=(sentence,)))
        monkeypatch.setattr("sys.stdin", io.StringIO("Hi\n/stats\n/quit\n"))
        assert main(["chat"], lambda _: client) == 0
    assert capsys.readouterr().err.count(f"· {sentence}\n") == 2
