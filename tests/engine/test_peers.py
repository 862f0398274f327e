"""Other programs in the race: GenAI's settings, transformers in a child process, a server like llama.cpp's."""

import stat
import sys
from pathlib import Path

import pytest

from headstart.engine.bench.measure import BenchPlan, Progress, genai, measure
from headstart.engine.bench.peers import AssistedSource, LlamaSource, PeerOptions, PeerSource
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.engine import LoadOptions, Numerics
from headstart.engine.local import load
from headstart.errors import PeerError

CODE = BenchPrompt("code-1", "code", "Write code.")
OPTIONS = PeerOptions("CPU", tokens=8, stop_ids=frozenset({2, 0}), encode=lambda _: list(range(5, 40)), context=256)


@pytest.fixture
def llama_server(tmp_path: Path) -> Path:
    """A program that can be started as llama.cpp's server is."""
    program = tmp_path / "llama-server"
    script = Path(__file__).with_name("fake_llama_server.py")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    return program


@pytest.mark.skipif(sys.platform == "win32", reason="the fake is a shell script")
class TestLlama:
    """llama.cpp's server."""

    def test_it_answers_plainly_and_with_several_lengths(self, llama_server: Path) -> None:
        with LlamaSource(llama_server, Path("target.gguf"), Path("draft.gguf")).open(OPTIONS) as modes:
            assert [mode.name for mode in modes] == ["llama plain", "llama ngram", "llama 3", "llama 5"]
            plain, _, three, _ = [mode.answer(CODE) for mode in modes]
        assert (plain.tokens, plain.prompt_tokens, plain.drafted) == ((39, 38, 37, 39, 38, 37, 39, 38), 35, 0)
        assert (plain.ttft_ms, plain.decode_ms, plain.ms_per_token) == (40.0, 70.0, 10.0)
        assert (three.drafted, three.accepted) == (6, 3)

    def test_without_a_draft_only_the_text_guesses(self, llama_server: Path) -> None:
        with LlamaSource(llama_server, Path("target.gguf")).open(OPTIONS) as modes:
            assert [mode.name for mode in modes] == ["llama plain", "llama ngram"]

    def test_a_server_that_ends_is_told_with_its_last_words(self, llama_server: Path) -> None:
        reason = r"its server ended \(error: failed to load model\)\."
        with pytest.raises(PeerError, match=reason), LlamaSource(llama_server, Path("broken")).open(OPTIONS):
            pass

    def test_a_server_that_refuses_is_told(self, llama_server: Path) -> None:
        source = LlamaSource(llama_server, Path("busy"))
        with source.open(OPTIONS) as (plain, _), pytest.raises(PeerError, match="status 500"):
            plain.answer(CODE)

    def test_a_program_that_is_none_is_told(self, tmp_path: Path) -> None:
        source = LlamaSource(tmp_path, Path("target.gguf"))
        with pytest.raises(PeerError, match="cannot be started"), source.open(OPTIONS):
            pass


class TestTransformers:
    """Hugging Face's assisted generation."""

    @pytest.mark.slow
    def test_a_child_process_answers_from_the_source_weights(self, tiny_source: Path) -> None:
        with AssistedSource(tiny_source, tiny_source).open(OPTIONS) as modes:
            runs = {mode.name: mode.answer(CODE) for mode in modes}
        assert list(runs) == ["hf plain", "hf assisted", "hf lookup"]
        assert runs["hf plain"].tokens == runs["hf assisted"].tokens == runs["hf lookup"].tokens
        assert [len(run.tokens) for run in runs.values()] == [8, 8, 8]
        assert all(run.ttft_ms > 0.0 and run.decode_ms > 0.0 for run in runs.values())

    @pytest.mark.slow
    def test_a_draft_with_another_head_may_not_assist(self, tiny_models: Path) -> None:
        with AssistedSource(tiny_models / "target-hf", tiny_models / "draft-hf").open(OPTIONS) as modes:
            assert [mode.name for mode in modes] == ["hf plain", "hf lookup"]

    @pytest.mark.slow
    def test_weights_that_are_not_there_are_told(self, tmp_path: Path) -> None:
        source = AssistedSource(tmp_path / "nothing")
        with pytest.raises(PeerError, match=r"stay out: .*nothing does not exist\."), source.open(OPTIONS):
            pass

    def test_an_exporter_that_is_not_there_is_told(self, tmp_path: Path) -> None:
        source = AssistedSource(tmp_path, command=(sys.executable, "-c", "raise SystemExit(1)"))
        with pytest.raises(PeerError, match='install headstart with the extra "export"'), source.open(OPTIONS):
            pass


@pytest.mark.slow
def test_whoever_cannot_take_part_is_named_and_the_others_race(tiny_target: Path, tiny_draft: Path) -> None:
    options = LoadOptions(tiny_target, tiny_draft, context=256, numerics=Numerics.EXACT)
    engine, stages = load(options), list[str]()
    sources: list[PeerSource] = [
        genai(engine, options, lengths=(2,), thresholds=(0.4,), lookups=(3,)),
        AssistedSource(None),
        LlamaSource(None, None),
    ]
    plan = BenchPlan(options, (CODE,), 12, 1, contestants=("plain", "auto"))
    result = measure(engine, plan, sources, Progress(stages.append, lambda _: None))
    engine.close()
    peers = ["genai plain", "genai 2", "genai threshold 0.4", "genai lookup 3"]
    assert list(result.standings) == ["plain", "auto", *peers]
    assert [sentence.partition(":")[0] for sentence in result.skipped] == [
        "Hugging Face transformers stay out",
        "llama.cpp stays out",
    ]
    assert set(result.skipped) < set(stages)
    scores = result.prompts[0].scores
    assert all(score.equals_plain for score in scores.values())
    # Without the workaround a threshold would draft one token a round.
    assert scores["genai threshold 0.4"].acceptance_rate is not None
    assert [found.peer for found in result.auto_vs_hindsight] == ["genai"]
