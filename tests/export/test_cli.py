"""The command itself: quick where it can be, one sentence where it refuses, and what it writes for a model server."""

import argparse
import dataclasses
import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from headstart.errors import Translatable
from headstart.library import manifest
from headstart_export import cli, progress
from headstart_export.pipeline import build
from headstart_export.sources import recipe
from tests.export.conftest import Spoken
from tests.stand_ins.fakes import deliver
from tests.stand_ins.model_folders import describe, write_model, write_pair

HEAVY = ("torch", "transformers", "optimum", "nncf", "openvino", "gguf", "huggingface_hub")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--list"], ["--list", "--architectures"], ["--version"], ["no such thing"]]
)
def test_help_and_list_load_no_library(arguments: list[str]) -> None:
    program = (
        "import sys, headstart_export.cli as cli\n"
        "try: cli.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        f"print(sorted(set(sys.modules) & set({HEAVY!r})))"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Name what to export: a recipe, a hub id, a folder or a .gguf file (--list shows recipes)."),
        (["qwen2.5-coder", "--draft", "x"], "qwen2.5-coder is the recipe of a pair: it names both models"),
        ([""], "A name is empty: name a recipe, a hub id"),
        (["  "], "A name is empty: name a recipe, a hub id"),
        (["x/y", "--draft", ""], "A name is empty: name a recipe, a hub id"),
        (["verify", "no-such", "--against", "x/y"], "'no-such' is not an exported model; there are "),
    ],
)
def test_refusal_is_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) == 1
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.startswith(f"headstart-export: {sentence}")
    assert len(caught.err.splitlines()) == 1


def test_refusal_is_json_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["qwen2.5-coder", "--draft", "x", "--json"]) == 1
    caught = capsys.readouterr()
    sentence = Translatable.from_data(json.loads(caught.out)["error"])
    assert caught.err == f"headstart-export: {sentence}\n"
    assert sentence.values == {"pair": "qwen2.5-coder"}


def test_unknown_precision_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["x", "--weights", "int3"])
    assert caught.value.code == 2
    assert "int8-sym" in capsys.readouterr().err


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the export that only writes a manifest."""
    output = tmp_path / "model"

    def export(_order: object, place: Path, *_rest: object, **_options: object) -> Path:
        place.mkdir()
        manifest.write(place, manifest.PairManifest("model", 7, "2026-01-01T00:00:00+00:00"))
        return place

    monkeypatch.setattr(build, "export", export)
    return output


@pytest.mark.parametrize("name", ["con", "a:b", "a ", "a.", "..", ".hidden", "none", "a\x1b[2J", "a" * 260])
def test_name_of_the_output_is_one_of_a_model(finished: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["qwen2.5-coder", "--output", str(finished / name)]) == 1
    assert "name of a model" in capsys.readouterr().err
    assert not finished.exists()


@pytest.mark.parametrize("name", ["con", "a:b", "a ", "a.", "a\x1b[2J", "z" * 210])
def test_name_of_a_file_is_one_of_a_model(
    finished: Path, tiny_gguf_file: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = finished.with_name(f"{name}.gguf")
    file.write_bytes(tiny_gguf_file.read_bytes())
    assert cli.main([str(file)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "name of a model" in line
    assert line.isprintable()
    assert cli.main([str(file), "--output", str(finished)]) == 0


def test_name_that_no_file_can_have_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["a" * 300],
        ["verify", "a" * 300, "--against", "x/y"],
        ["verify", "b/" + "a" * 300, "--against", "x/y"],
    ):
        assert cli.main(arguments) == 1
        assert re.search("is no |is not an exported model", capsys.readouterr().err)


def test_json_is_one_object_on_standard_output(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["qwen2.5-coder", "--output", str(finished), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["output"] == str(finished)
    assert result["manifest"]["shared_ids"] == 7


def test_trust_remote_code_is_warned_about(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["org/model", "--output", str(finished), "--trust-remote-code"]) == 0
    assert "Warning: --trust-remote-code" in capsys.readouterr().err


def test_if_missing_exports_once(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["qwen2.5-coder", "--output", str(finished), "--if-missing"]
    assert cli.main(arguments) == 0

    def again(*_arguments: object, **_options: object) -> None:
        pytest.fail("exported again")

    monkeypatch.setattr(build, "export", again)
    assert cli.main(arguments) == 0


def test_fit_says_what_is_chosen_and_refuses_what_is_not_good_enough(
    headstart_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The memory decides between the forms; the quality of the one that fits decides whether it stays."""
    orders = []

    def export(order: recipe.Order, place: Path, *_rest: object, defers_checks: bool, **_options: object) -> Path:
        orders.append((order.name, defers_checks))
        write_pair(place)
        target = place / "target"
        described = manifest.read_model(target)
        assert described.quality
        quality = dataclasses.replace(described.quality, top1_agreement=0.7)
        manifest.write(target, dataclasses.replace(described, quality=quality))
        return place

    monkeypatch.setattr(build, "export", export)
    free = SimpleNamespace(available=3_100_000_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    arguments = ["qwen3-1.7b", "--fit", "--defer-checks"]
    assert cli.main(arguments) == 1
    said = capsys.readouterr().err
    assert "qwen3-1.7b-int4, the fast form, as the precise one takes up to 3.1 GB" in said
    assert "70.0% of the tokens, below 85%" in said
    assert not list((headstart_home / "models").iterdir())
    assert cli.main([*arguments, "--weights", "int4"]) == 0
    assert cli.main([*arguments, "--weights", "gguf"]) == 0
    free.available = 20_000_000_000
    assert cli.main(["qwen2.5-coder", "--fit", "--defer-checks"]) == 0
    assert "qwen2.5-coder in its precise form (gguf)" in capsys.readouterr().err
    assert orders == [
        ("qwen3-1.7b-int4", False),
        ("qwen3-1.7b-int4", True),
        ("qwen3-1.7b", True),
        ("qwen2.5-coder", True),
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    monkeypatch.setattr(cli, "_export", lambda _options: deliver(number))
    try:
        assert cli.main(["x"]) == 130
    finally:
        signal.signal(signal.SIGINT, interrupt)
    assert "interrupted" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("verbose", [[], ["--verbose"]])
def test_unexpected_error_has_a_traceback_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verbose: list[str]
) -> None:
    def fail(_options: argparse.Namespace) -> None:
        raise ZeroDivisionError("float division\nby zero.")

    monkeypatch.setattr(cli, "_export", fail)
    assert cli.main(["x", *verbose]) == 1
    *before, last = capsys.readouterr().err.splitlines()
    assert last.startswith("headstart-export: ")
    assert "(ZeroDivisionError: float division by zero)" in last
    assert ("Traceback (most recent call last):" in before) == bool(verbose)
    assert verbose or not before


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print every count at once, and nothing else during a test."""
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    monkeypatch.setattr(progress, "LOOK_EVERY", 1000.0)


@pytest.mark.usefixtures("talkative")
def test_plain_progress_counts_bytes(spoken: Spoken) -> None:
    with spoken.progress.step("Fetching", in_bytes=True) as advance:
        advance(51_000_000, 1_200_000_000)
    assert spoken.lines[:2] == ["Fetching ...", "  51 MB of 1.2 GB"]
    assert spoken.lines[2].startswith("  done in ")


@pytest.mark.usefixtures("talkative")
def test_progress_counts_steps_and_their_work(spoken: Spoken, monkeypatch: pytest.MonkeyPatch) -> None:
    reporter = spoken.progress
    reporter.expect(3)
    with reporter.step("Reading"):
        pass
    reporter.expect(-1)
    with reporter.step("Writing") as advance:
        advance(1, 4)
        monkeypatch.setattr(progress, "_MIN_ELAPSED", 0.0)
        monkeypatch.setattr(progress.StepProgress, "seconds", 100.0)
        advance(1, 4)
    reporter.finish()
    assert [line for line in spoken.lines if "done in" not in line] == [
        "1 of 3: Reading ...",
        "2 of 2: Writing ...",
        "  25 %",
        "  25 %, about 5 min left",
        spoken.lines[-1],
    ]
    assert spoken.lines[-1].startswith("Finished in 0 s; at most ")


def test_every_step_shows_its_time(spoken: Spoken, monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    monkeypatch.setattr(progress, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(progress.PlainProgress, "note", lambda _, line: told.set() if line == "  0 s" else None)
    with spoken.progress.step("Converting"):
        assert told.wait(60)


def test_list_has_checks_and_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert re.search(r"^qwen3-4b\+0\.6b +3\.1 GB +3\.2 GB +5\.9 GB  Qwen3 4B \+ 0\.6B \(not run in CI\)$", listed, re.M)
    assert "all-MiniLM-L6-v2 (run, needs PyTorch)" in listed
    assert cli.main(["--list", "--json"]) == 0
    items = {item["name"]: item for item in json.loads(capsys.readouterr().out)}
    pair, target = items["qwen2.5-coder"], items["qwen2.5-coder-1.5b-instruct"]
    assert (pair["kind"], pair["licence"], pair["checked"]) == ("pair", "Apache-2.0", "run")
    assert pair["download"] == target["download"] + items["qwen2.5-coder-0.5b-instruct"]["download"] == 1_608_720_832
    assert target["download"] < target["result"] < pair["result"] < 2_000_000_000
    assert target["result"] < target["result_int4"]  # it has 4 bits as it is
    assert not pair["needs_pytorch"]


def test_kinds_of_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--list", "--architectures"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert "gemma3_text          tried        also from a GGUF file" in listed
    assert "lfm2                 tried        only from a GGUF file" in listed
    assert "xglm                 not tried" in listed
    assert cli.main(["--list", "--architectures", "--json"]) == 0
    assert {"architecture": "opt", "tried": True, "safetensors": True, "gguf": False} in json.loads(
        capsys.readouterr().out
    )


def test_unknown_name_gets_similar_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path))
    for name in ("qwen2.5-coder", "other"):
        write_model(tmp_path / "models" / name)
    assert cli.main(["verify", "qwen2.5-codr", "--against", "x/y"]) == 1
    assert "there are qwen2.5-coder." in capsys.readouterr().err


# Fields of `LLMCalculatorOptions` in the server's llm_calculator.proto, with what they hold.
KNOWN = {
    "models_path": str,
    "device": str,
    "cache_size": int,
    "enable_prefix_caching": bool,
    "max_num_seqs": int,
    "draft_models_path": str,
    "draft_device": str,
    "draft_cache_size": int,
}


def options(text: str) -> dict[str, object]:
    """Return the options of the graph's node, in the types that the server declares."""
    inside = re.search(r"LLMCalculatorOptions\]: \{(.*?)\}", text, re.DOTALL)
    assert inside
    found = {name: json.loads(value) for name, value in re.findall(r"(\w+): (.+?),\n", inside[1] + "\n")}
    assert all(type(value) is KNOWN[name] for name, value in found.items())
    return found


def test_model_server_config_has_the_draft(tmp_path: Path) -> None:
    pair = write_pair(tmp_path / "pair")
    config = cli.configure_server(pair)
    assert config == pair / "ovms_config.json"
    assert json.loads(config.read_text()) == {
        "model_config_list": [],
        "mediapipe_config_list": [{"name": "pair", "base_path": "."}],
    }
    graph = (pair / "graph.pbtxt").read_text()
    assert graph.count("{") == graph.count("}")
    found = options(graph)
    assert (found["models_path"], found["draft_models_path"]) == ("./target", "./draft")
    assert found["enable_prefix_caching"] is True
    for name in ("models_path", "draft_models_path"):
        assert (pair / str(found[name]) / "openvino_model.xml").is_file()
    manifest.read(pair)  # which it does not touch


def test_model_server_config_of_a_single_model(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    (model / "config.json").write_text("{}")
    large = dataclasses.replace(describe(model), kv_bytes_per_token=150_000, context_length=32_768)
    manifest.write(model, large)
    cli.configure_server(model)
    found = options((model / "graph.pbtxt").read_text())
    assert found["models_path"] == "./"
    assert not [name for name in found if name.startswith("draft")]
    assert (model / "config.json").read_text() == "{}"
    assert found["cache_size"] == 5  # 4 x 8192 x 150,000 bytes are 4.6 GiB


def test_model_server_config_is_written_for_existing_exports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_model(tmp_path / "model")
    arguments = ["smollm2-135m-instruct", "--output", str(model), "--if-missing", "--for", "ovms"]
    assert cli.main(arguments) == 0
    assert (model / "graph.pbtxt").is_file()
    assert "ovms_config.json" in capsys.readouterr().err
    manifest.write(model, dataclasses.replace(describe(model), precision=manifest.Precision("gguf", manifest.BLOCKS)))
    assert cli.main(arguments) == 1


@pytest.mark.parametrize("source", ["smollm2-135m-instruct", "qwen3-4b+0.6b"])
def test_blocks_of_a_file_are_nothing_for_a_model_server(
    source: str, headstart_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([source, "--for", "ovms"]) == 1
    assert "--weights int8" in capsys.readouterr().err
    assert not (headstart_home / "models").exists()
