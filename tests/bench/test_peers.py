"""Races against other programs: what each offers, and how it is told that one stays out."""

import json
import stat
import sys
from pathlib import Path

import pytest

from bench.speed import llama, peers
from bench.speed.peers import AssistedSource, LlamaSource
from headstart.engine.bench.genai_peer import PeerOptions
from headstart.engine.bench.prompts import BenchPrompt
from headstart.errors import PeerError
from tests.stand_ins.model_folders import write_model

Captured = pytest.CaptureFixture[str]
CODE = BenchPrompt("code-1", "code", "Write code.")
OPTIONS = PeerOptions("CPU", tokens=8, stop_ids=frozenset({2, 0}), encode=lambda _: list(range(5, 40)), context=256)


@pytest.mark.skipif(sys.platform == "win32", reason="the fake is a shell script")
class TestLlama:
    """llama.cpp's server."""

    def test_it_answers_plainly_and_with_several_lengths(self, llama_server: Path) -> None:
        with LlamaSource((llama_server,), Path("target.gguf"), Path("draft.gguf")).open(OPTIONS) as modes:
            assert [mode.name for mode in modes] == [
                *("llama plain", "llama ngram-simple", "llama ngram-mod"),
                *("llama 2", "llama 3", "llama 5", "llama 8 sure 0.75"),
            ]
            plain, _, _, _, three, _, _ = [mode.answer(CODE) for mode in modes]
        assert (plain.tokens, plain.prompt_tokens, plain.drafted) == ((39, 38, 37, 39, 38, 37, 39, 38), 35, 0)
        assert (plain.ttft_ms, plain.decode_ms, plain.ms_per_token) == (30.0, 70.0, 10.0)
        assert (three.drafted, three.accepted) == (6, 3)

    def test_text_alone_guesses_without_a_draft(self, llama_server: Path) -> None:
        with LlamaSource((llama_server,), Path("target.gguf")).open(OPTIONS) as modes:
            assert [mode.name for mode in modes] == ["llama plain", "llama ngram-simple", "llama ngram-mod"]

    def test_server_that_ends_is_reported_with_its_last_line(self, llama_server: Path) -> None:
        reason = r"its server ended \(error: failed to load model\)\."
        with pytest.raises(PeerError, match=reason), LlamaSource((llama_server,), Path("broken")).open(OPTIONS):
            pass

    def test_refusing_server_is_reported(self, llama_server: Path) -> None:
        source = LlamaSource((llama_server,), Path("busy"))
        with source.open(OPTIONS) as (plain, *_), pytest.raises(PeerError, match="status 500"):
            plain.answer(CODE)

    def test_lengths_of_drafts_can_be_chosen(self, llama_server: Path) -> None:
        source = LlamaSource((llama_server,), Path("target.gguf"), Path("draft.gguf"), lengths=(1,))
        with source.open(OPTIONS) as modes:
            assert [mode.name for mode in modes[3:]] == ["llama 1", "llama 8 sure 0.75"]

    def test_python_with_xllamacpp_serves_beside_each_setting(self, tmp_path: Path) -> None:
        """A package that has what the program asks of it, around the server that the tests have."""
        fake = Path(__file__).with_name("fake_llama_server.py")
        (tmp_path / "xllamacpp.py").write_text(f"""
import runpy, sys, types
class Whatever(types.SimpleNamespace):
    def __getattr__(self, name):
        setattr(self, name, Whatever())
        return getattr(self, name)
CommonParams = Whatever
common_speculative_type = llama_flash_attn_type = Whatever()
def Server(params):
    sys.argv = ["llama", "--model", params.model.path, "--host", params.hostnames[0], "--port", str(params.port)]
    draft = params.speculative.draft
    sys.argv += ["--spec-draft-n-max", str(draft.n_max)] if draft.mparams.path else []
    runpy.run_path({str(fake)!r}, run_name="__main__")
""")
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}" exec "{sys.executable}" "$@"\n')
        python.chmod(python.stat().st_mode | stat.S_IEXEC)
        source = LlamaSource(llama.package(python), Path("target.gguf"), Path("draft.gguf"))
        with source.open(OPTIONS) as modes:
            runs = {mode.name: mode.answer(CODE) for mode in modes}
        assert runs["llama plain"].tokens == (39, 38, 37, 39, 38, 37, 39, 38)
        assert {name: run.drafted for name, run in runs.items() if run.drafted} == {
            "llama 2": 4,
            "llama 3": 6,
            "llama 5": 10,
            "llama 8 sure 0.75": 16,
        }

    def test_missing_program_of_a_peer_is_reported(self, tmp_path: Path) -> None:
        source = LlamaSource((tmp_path,), Path("target.gguf"))
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
    assert "--llama-server" in shown
    assert "| auto against the best of | genai | hf | genai with TTFT | hf with TTFT |\n" in shown
    assert "\n| genai's best setting for each prompt, code | " in shown
    assert [floor["name"] for floor in data["floors"]] == [
        *(f"genai's best setting for each prompt, {what}" for what in ("code", "mean", "worst prompt")),
        "genai plain, mean",
        *(f"hf's best setting for each prompt, {what}" for what in ("code", "mean", "worst prompt")),
        "hf plain, mean",
        *(f"plain, {what}" for what in ("code", "mean", "worst prompt")),
    ]
    assert data["floors"][-1]["total"]["value"] == data["standings"]["auto"]["total"]["all"]["worst_ratio"]["median"]
    assert data["prompts"][0]["scores"]["auto"]["joules_per_token"] is None or "| joules a token |" in shown


@pytest.mark.slow
def test_openvino_genai_can_be_left_out(
    tiny_pair: Path, llama_server: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race against llama.cpp alone, cut off and gone on with."""
    file, gguf = tmp_path / "peers.json", tmp_path / "target.gguf"
    gguf.touch()
    monkeypatch.setattr(peers, "read_prompts", lambda _per_kind, _kinds: (CODE,))
    words = ["--model", str(tiny_pair), "--tokens", "8", "--repeats", "1", "--without-genai", "--json", str(file)]
    words += ["--llama-server", str(llama_server), "--gguf", str(gguf), "--markdown"]
    assert peers.main(words) == 0
    told = capsys.readouterr()
    assert "6 of 6 answers" in told.err
    assert "\n| llama's best setting for each prompt, code | " in told.out
    assert list(json.loads(file.read_text(encoding="utf-8"))["standings"]) == [
        *("plain", "auto", "plain again", "llama plain", "llama ngram-simple", "llama ngram-mod")
    ]
    assert peers.main([*words, "--resume"]) == 0
    assert "of 6 answers" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--gguf", "."), "llama.cpp needs both: add --llama-server PATH (or --llama-python PATH) and --gguf FILE."),
        (("--llama-server", "."), "llama.cpp needs both: add --llama-server PATH (or --llama-python PATH) and --gguf"),
        (("--llama-python", "."), "llama.cpp needs both: add --llama-server PATH (or --llama-python PATH) and --gguf"),
        (("--llama-python", ".", "--llama-server", "."), "One llama.cpp can race: leave out --llama-server or"),
        (("--gguf", "none.gguf"), "There is no none.gguf; name a file or folder that exists."),
        (("--genai-lengths", "3,x"), "lengths must be whole numbers above 0 with commas between them"),
        (("--isa", "SSE"), "isa must be AVX2, AVX-VNNI, AVX512-VNNI or AMX, not 'SSE'."),
        (("--eagle", "smol"), "smol is no EAGLE-3 head; leave out --eagle, or name one of `headstart models`."),
    ],
)
def test_flags_that_mean_nothing_are_refused(
    flags: tuple[str, ...], sentence: str, headstart_home: Path, capsys: Captured
) -> None:
    write_model(headstart_home / "models" / "smol")
    assert peers.main([*flags]) == 2
    assert capsys.readouterr().err.startswith(f"peers.py: {sentence}")
