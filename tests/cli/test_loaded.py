"""What is said of how a model is loaded."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bench.toy import CONTEXT, PROGRAM
from headstart import manifest as manifests
from headstart.cli import main
from headstart.cli.options import facts, loading_remarks
from headstart.engine.engine import EngineKind, KvPrecision, LoadOptions
from headstart.engine.generation_config import USUAL
from headstart.engine.opening import LocalModels
from headstart.engine.process.client import EngineClient
from headstart.engine.supervision import Journal
from tests.fakes import ScriptedEngine
from tests.model_folders import write_model
from tests.openvino_core import CPU, GPU, FakeCore, plug_in


def test_nothing_special_needs_no_words(tiny_target: Path) -> None:
    assert not list(loading_remarks(LoadOptions(tiny_target), ""))
    assert not list(loading_remarks(LoadOptions(tiny_target), "CPU"))


def test_the_device_that_auto_means_is_named(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "GPU": GPU}))
    options = LoadOptions(tiny_target, device="GPU", engine=EngineKind.HEADSTART)
    assert list(loading_remarks(options, "auto")) == ["AUTO is GPU here: A Graphics Card (dGPU)."]


def test_what_eight_bits_save_is_said(tiny_target: Path, tiny_draft: Path) -> None:
    tokens = manifests.read_model(tiny_target).context_length
    options = LoadOptions(tiny_target, tiny_draft, kv_precision=KvPrecision.U8)
    assert tokens == 1024
    assert list(loading_remarks(options, "")) == [
        "Keys and values of 1024 tokens take 0 MB in 8 bits, where 16 bits take 1 MB."
    ]
    assert "of 512 tokens" in next(loading_remarks(replace(options, context=512), ""))


def test_an_engine_in_a_process_of_its_own_tells_of_its_model(tmp_path: Path) -> None:
    with closing(EngineClient(PROGRAM, Journal(tmp_path / "log"))) as client:
        assert facts(client) is None
        client.load(LoadOptions(Path("toy")))
        known = facts(client)
        assert known
        assert (known.sampling, known.context) == (USUAL, CONTEXT)
    assert facts(ScriptedEngine()) is None


def test_it_is_said_who_answers_where_nobody_asked_for_it(
    headstart_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(headstart_home / "models" / "smol")
    sentence = "OpenVINO GenAI runs this model because Headstart's own engine cannot use an NPU."

    def load(_options: LoadOptions) -> EngineClient:
        client = EngineClient(PROGRAM, Journal(tmp_path / "log"))
        told = client.load(LoadOptions(Path("toy")))
        monkeypatch.setattr(client, "_facts", replace(told, engine="genai", reason=sentence))
        return client

    assert main(["chat", "--prompt", "Hi", "--json"], load) == 0
    shown = capsys.readouterr()
    assert shown.err == f"· {sentence}\n"
    assert json.loads(shown.out)["settings"]["engine"] == "genai"


def test_the_engines_process_tells_of_wrong_tokens(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "_joins_splits", lambda folder: folder == tiny_target)
    opened = LocalModels().open(LoadOptions(tiny_target), lambda _: None)
    opened.engine.close()
    (note,) = opened.facts.notes
    assert note.startswith("tiny-target reads blank space before a digit, as in a list, as wrong tokens")
