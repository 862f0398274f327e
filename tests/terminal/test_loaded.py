"""What is said of how a model is loaded."""

from dataclasses import replace
from pathlib import Path

import pytest

from headstart import manifest as manifests
from headstart.engine import selection
from headstart.engine.engine import EngineKind, KvPrecision, LoadOptions
from headstart.terminal.loaded import kind, remarks, who
from tests.doctor.plugins import CPU, GPU, FakeCore, plug_in
from tests.fakes import ScriptedEngine


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


def test_it_is_said_who_answers_where_nobody_asked_for_it(tiny_target: Path) -> None:
    asked = selection.load(LoadOptions(tiny_target, engine=EngineKind.GENAI))
    assert not list(who(asked))
    asked.reason = "OpenVINO GenAI answers: an NPU runs nothing else."  # type: ignore[union-attr]
    assert list(who(asked)) == ["OpenVINO GenAI answers: an NPU runs nothing else."]
    assert kind(asked) is EngineKind.GENAI
    asked.close()
    assert not list(who(ScriptedEngine(scripts=("",))))
