"""Races against other programs: what each offers, and how it is told that one stays out."""

import json
import sys
from pathlib import Path

import pytest

from bench import peers
from bench.peers import AssistedSource, LlamaSource
from headstart.engine.bench.genai_peer import PeerOptions
from headstart.engine.bench.prompts import BenchPrompt
from headstart.errors import PeerError
from tests.model_folders import write_model

Captured = pytest.CaptureFixture[str]
CODE = BenchPrompt("code-1", "code", "Write code.")
OPTIONS = PeerOptions("CPU", tokens=8, stop_ids=frozenset({2, 0}), encode=lambda _: list(range(5, 40)), context=256)


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

    def test_text_alone_guesses_without_a_draft(self, llama_server: Path) -> None:
        with LlamaSource(llama_server, Path("target.gguf")).open(OPTIONS) as modes:
            assert [mode.name for mode in modes] == ["llama plain", "llama ngram"]

    def test_server_that_ends_is_reported_with_its_last_line(self, llama_server: Path) -> None:
        reason = r"its server ended \(error: failed to load model\)\."
        with pytest.raises(PeerError, match=reason), LlamaSource(llama_server, Path("broken")).open(OPTIONS):
            pass

    def test_refusing_server_is_reported(self, llama_server: Path) -> None:
        source = LlamaSource(llama_server, Path("busy"))
        with source.open(OPTIONS) as (plain, _), pytest.raises(PeerError, match="status 500"):
            plain.answer(CODE)

    def test_missing_program_is_reported(self, tmp_path: Path) -> None:
        source = LlamaSource(tmp_path, Path("target.gguf"))
        with pytest.raises(PeerError, match="cannot be started"), source.open(OPTIONS):
            pass


class TestTransformers:
    """Hugging Face's assisted generation."""

    @pytest.mark.slow
    def test_child_process_answers_from_the_source_weights(self, tiny_source: Path) -> None:
        with AssistedSource(tiny_source, tiny_source).open(OPTIONS) as modes:
            runs = {mode.name: mode.answer(CODE) for mode in modes}
        assert list(runs) == ["hf plain", "hf assisted", "hf lookup"]
        assert runs["hf plain"].tokens == runs["hf assisted"].tokens == runs["hf lookup"].tokens
        assert [len(run.tokens) for run in runs.values()] == [8, 8, 8]
        assert all(run.ttft_ms > 0.0 and run.decode_ms > 0.0 for run in runs.values())

    @pytest.mark.slow
    def test_draft_with_another_head_may_not_assist(self, tiny_models: Path) -> None:
        with AssistedSource(tiny_models / "target-hf", tiny_models / "draft-hf").open(OPTIONS) as modes:
            assert [mode.name for mode in modes] == ["hf plain", "hf lookup"]

    @pytest.mark.slow
    def test_weights_that_are_not_there_are_reported(self, tmp_path: Path) -> None:
        source = AssistedSource(tmp_path / "nothing")
        with pytest.raises(PeerError, match=r"stay out: .*nothing does not exist\."), source.open(OPTIONS):
            pass

    def test_missing_exporter_is_reported(self, tmp_path: Path) -> None:
        source = AssistedSource(tmp_path, command=(sys.executable, "-c", "raise SystemExit(1)"))
        with pytest.raises(PeerError, match='install headstart with the extra "export"'), source.open(OPTIONS):
            pass


@pytest.mark.slow
def test_peers_race_and_the_absent_ones_are_named(
    tiny_pair: Path, tiny_source: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "peers.json"
    monkeypatch.setattr(peers, "read_prompts", lambda _per_kind, _kinds: (CODE,))  # it fits the context of tiny models
    flags = [
        "--tokens",
        "8",
        "--repeats",
        "1",
        "--genai-lengths",
        "2,3",
        "--source",
        str(tiny_source),
        "--json",
        str(file),
        "--markdown",
    ]
    assert peers.main(["--model", str(tiny_pair), *flags]) == 0
    shown = capsys.readouterr().out
    data = json.loads(file.read_text(encoding="utf-8"))
    assert list(data["standings"]) == [
        *("plain", "auto", "plain again", "genai plain", "genai 2", "genai 3"),
        *(f"genai threshold {value}" for value in (0.2, 0.4, 0.6, 0.8)),
        *("genai lookup 3", "genai lookup 5", "genai lookup 10", "hf plain", "hf lookup"),
    ]
    assert [found["peer"] for found in data["hindsight"]] == ["genai", "hf"]
    assert "- llama.cpp stays out: name its server with --llama-server PATH and a model with --gguf FILE.\n" in shown
    assert "| auto against the best of | genai | hf | genai with TTFT | hf with TTFT |\n" in shown


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--gguf", "."), "llama.cpp needs both: add --llama-server PATH and --gguf FILE."),
        (("--llama-server", "."), "llama.cpp needs both: add --llama-server PATH and --gguf FILE."),
        (("--gguf", "none.gguf"), "There is no none.gguf; name a file or folder that exists."),
        (("--genai-lengths", "3,x"), "lengths must be whole numbers above 0 with commas between them"),
        (("--eagle", "smol"), "smol is no EAGLE-3 head; leave out --eagle, or name one of `headstart models`."),
    ],
)
def test_flags_that_mean_nothing_are_refused(
    flags: tuple[str, ...], sentence: str, headstart_home: Path, capsys: Captured
) -> None:
    write_model(headstart_home / "models" / "smol")
    assert peers.main([*flags]) == 2
    assert capsys.readouterr().err.startswith(f"peers.py: {sentence}")
