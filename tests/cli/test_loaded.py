"""What is said of how a model is loaded."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bench.toy import CONTEXT, PROGRAM
from headstart import manifest as manifests
from headstart.cli.loaded import context, kind, remarks, sampling, who
from headstart.engine import selection
from headstart.engine.choosing import EngineChoice
from headstart.engine.engine import EngineKind, KvPrecision, LoadOptions
from headstart.engine.generation_config import USUAL
from headstart.engine.opening import LocalModels
from headstart.engine.process.client import EngineClient
from headstart.engine.supervision import Journal
from tests.fakes import ScriptedEngine
from tests.openvino_core import CPU, GPU, FakeCore, plug_in


def test_nothing_special_needs_no_words(tiny_target: Path) -> None:
    assert not list(remarks(LoadOptions(tiny_target), ""))
    assert not list(remarks(LoadOptions(tiny_target), "CPU"))


def test_the_device_that_auto_means_is_named(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "GPU": GPU}))
    options = LoadOptions(tiny_target, device="GPU", engine=EngineKind.HEADSTART)
    assert list(remarks(options, "auto")) == ["AUTO is GPU here: A Graphics Card (dGPU)."]


def test_what_eight_bits_save_is_said(tiny_target: Path, tiny_draft: Path) -> None:
    tokens = manifests.read_model(tiny_target).context_length
    options = LoadOptions(tiny_target, tiny_draft, kv_precision=KvPrecision.U8)
    assert tokens == 1024
    assert list(remarks(options, "")) == [
        "Keys and values of 1024 tokens take 0 MB in 8 bits, where 16 bits take 1 MB."
    ]
    assert "of 512 tokens" in next(remarks(replace(options, context=512), ""))


def test_it_is_said_who_answers_where_nobody_asked_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "OpenVINO GenAI answers: an NPU runs nothing else."
    with closing(EngineClient(PROGRAM, Journal(tmp_path / "log"))) as client:
        assert not list(who(client))
        facts = client.load(LoadOptions(Path("toy")))
        assert not list(who(client))
        assert kind(client) is EngineKind.HEADSTART
        monkeypatch.setattr(client, "_facts", replace(facts, engine="genai", reason=sentence))
        assert list(who(client)) == [sentence]
        assert kind(client) is EngineKind.GENAI
    assert not list(who(ScriptedEngine(scripts=("",))))


def test_it_is_known_how_the_model_s_author_has_it_sampled(tmp_path: Path) -> None:
    with closing(EngineClient(PROGRAM, Journal(tmp_path / "log"))) as client:
        client.load(LoadOptions(Path("toy")))
        assert (sampling(client), context(client)) == (USUAL, CONTEXT)
    assert (sampling(ScriptedEngine()), context(ScriptedEngine())) == (None, 0)


def test_the_engines_process_tells_of_wrong_tokens(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "_joins_splits", lambda folder: folder == tiny_target)
    opened = LocalModels().open(LoadOptions(tiny_target), lambda _: None)
    opened.engine.close()
    (note,) = opened.facts.notes
    assert note.startswith("tiny-target reads blank space before a digit, as in a list, as wrong tokens")


def test_the_engines_process_tells_who_answers(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = LocalModels().open(LoadOptions(tiny_target), lambda _: None)
    assert (own.facts.engine, own.facts.reason) == ("headstart", "")
    own.engine.close()
    found = EngineChoice(EngineKind.GENAI, "An NPU runs nothing else.")
    monkeypatch.setattr(selection, "chosen", lambda _: found)
    other = LocalModels().open(LoadOptions(tiny_target), lambda _: None)
    assert (other.facts.engine, other.facts.reason) == ("genai", "An NPU runs nothing else.")
    other.engine.close()
