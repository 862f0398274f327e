"""The configuration for OpenVINO Model Server: read back as that server describes it, and in its place."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from headstart import manifest
from headstart_export import cli
from tests.model_folders import describe, write_model, write_pair

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
    """The options of the graph's node, of the types that the server declares."""
    inside = re.search(r"LLMCalculatorOptions\]: \{(.*?)\}", text, re.DOTALL)
    assert inside
    found = {name: json.loads(value) for name, value in re.findall(r"(\w+): (.+?),\n", inside[1] + "\n")}
    assert all(type(value) is KNOWN[name] for name, value in found.items())
    return found


def test_a_pair_is_served_with_its_draft(tmp_path: Path) -> None:
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


def test_a_model_alone_keeps_its_own_config(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    (model / "config.json").write_text("{}")
    cli.configure_server(model)
    found = options((model / "graph.pbtxt").read_text())
    assert found["models_path"] == "./"
    assert not [name for name in found if name.startswith("draft")]
    assert (model / "config.json").read_text() == "{}"


def test_the_cache_holds_four_conversations_in_whole_gigabytes(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    large = dataclasses.replace(describe(model), kv_bytes_per_token=150_000, context_length=32_768)
    manifest.write(model, large)
    cli.configure_server(model)
    assert options((model / "graph.pbtxt").read_text())["cache_size"] == 5  # 4 x 8192 x 150,000 bytes are 4.6 GiB


def test_the_exporter_writes_it_for_what_is_there_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write_model(tmp_path / "model")
    arguments = ["smollm2-135m-instruct", "--output", str(model), "--if-missing", "--for", "ovms"]
    assert cli.main(arguments) == 0
    assert (model / "graph.pbtxt").is_file()
    assert "ovms_config.json" in capsys.readouterr().err
