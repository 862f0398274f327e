"""Models that are refused before anything is loaded."""

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from headstart.errors import ExportError
from headstart_export.sources import weights
from tests.support.refusals import refused

FILES = {"single_file": weights.SINGLE_FILE, "index_file": weights.INDEX_FILE}


def make_folder(folder: Path, config: dict[str, object] | None = None) -> Path:
    """Create a Hugging Face folder with 6 + 4 weights in two files."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config or {"model_type": "llama"}), encoding="utf-8")
    save_file({"a": np.zeros((2, 3), np.float16)}, folder / "model-1.safetensors")
    save_file({"b": np.zeros(4, np.float16)}, folder / "model-2.safetensors")
    write_index(folder, {"a": "model-1.safetensors", "b": "model-2.safetensors"})
    return folder


def write_index(folder: Path, places: object) -> None:
    """Write the index in which transformers finds each weight."""
    (folder / weights.INDEX_FILE).write_text(json.dumps({"metadata": {}, "weight_map": places}), encoding="utf-8")


def test_weights_are_counted_over_all_files(tmp_path: Path) -> None:
    (make_folder(tmp_path) / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Model\n", encoding="utf-8")
    assert weights.inspect(tmp_path, code=False) == weights.SourceInfo(10, is_gguf=False, licence="apache-2.0")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "consolidated.00.pth"])
def test_pickles_are_refused(tmp_path: Path, name: str) -> None:
    make_folder(tmp_path)
    for file in tmp_path.glob("*.safetensors*"):
        file.unlink()
    (tmp_path / name).write_bytes(b"\x80\x04.")
    with refused(ExportError, folder=tmp_path.name, pickle=name):
        weights.inspect(tmp_path, code=True)


@pytest.mark.parametrize(
    "place",
    ["pytorch_model.bin", "../other/model.safetensors", "/model.safetensors", "..\\model.safetensors", ""],
)
def test_index_cannot_lead_elsewhere(tmp_path: Path, place: str) -> None:
    folder, other = make_folder(tmp_path / "model"), make_folder(tmp_path / "other")
    (other / "model-1.safetensors").rename(other / "model.safetensors")
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    write_index(folder, {"a": place, "b": "model-2.safetensors"})
    with refused(ExportError, index=weights.INDEX_FILE, folder="model", name=place):
        weights.inspect(folder, code=True)


@pytest.mark.parametrize("places", [None, [], {}, {"a": 1}, {"a": ["model-1.safetensors"]}])
def test_empty_index_is_refused(tmp_path: Path, places: object) -> None:
    write_index(make_folder(tmp_path), places)
    with refused(ExportError, index=weights.INDEX_FILE, folder=tmp_path.name):
        weights.inspect(tmp_path, code=False)


def test_only_loaded_files_are_counted(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    save_file({"c": np.zeros(100, np.float16)}, folder / "left over.safetensors")
    assert weights.inspect(folder, code=False).parameters == 10
    write_index(folder, {"b": "model-2.safetensors"})
    assert weights.inspect(folder, code=False).parameters == 4
    save_file({"d": np.zeros(7, np.float16)}, folder / weights.SINGLE_FILE)  # goes before an index
    assert weights.inspect(folder, code=False).parameters == 7


def test_missing_indexed_file_is_refused(tmp_path: Path) -> None:
    (make_folder(tmp_path) / "model-2.safetensors").unlink()
    with refused(ExportError, name="model-2.safetensors", folder=tmp_path.name):
        weights.inspect(tmp_path, code=False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", [weights.SINGLE_FILE, "README.md", "tokenizer_config.json"])
def test_named_pipe_is_refused(tmp_path: Path, name: str) -> None:
    os.mkfifo(make_folder(tmp_path) / name)
    with refused(ExportError, name=name, folder=tmp_path.name):
        weights.inspect(tmp_path, code=True)


def test_links_of_the_hub_cache_are_followed(tmp_path: Path) -> None:
    blobs, snapshot = make_folder(tmp_path / "blobs"), tmp_path / "snapshots" / "c0ffee"
    snapshot.mkdir(parents=True)
    for path in blobs.iterdir():
        (snapshot / path.name).symlink_to(path)
    assert weights.inspect(snapshot, code=False).parameters == 10


@pytest.mark.parametrize(
    ("config", "values"),
    [
        ({"transformers_weights": "adapter_model.bin"}, {"elsewhere_key": "transformers_weights", **FILES}),
        ({"quantization_config": {"quant_method": "gptq"}}, {}),
    ],
)
def test_config_cannot_lead_elsewhere(tmp_path: Path, config: dict[str, object], values: dict[str, str]) -> None:
    with refused(ExportError, folder=tmp_path.name, **values):
        weights.inspect(make_folder(tmp_path, config), code=True)


def test_adapter_is_no_model(tmp_path: Path) -> None:
    (make_folder(tmp_path) / "adapter_config.json").write_text("{}", encoding="utf-8")
    with refused(ExportError, folder=tmp_path.name, adapter_file="adapter_config.json"):
        weights.inspect(tmp_path, code=False)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_remote_code_is_refused_without_the_flag(tmp_path: Path, name: str) -> None:
    make_folder(tmp_path)
    (tmp_path / name).write_text(json.dumps({"auto_map": {"AutoModel": "evil.Model"}}), encoding="utf-8")
    with refused(ExportError, folder=tmp_path.name, code_key="auto_map", path=name):
        weights.inspect(tmp_path, code=False)
    assert weights.inspect(tmp_path, code=True).parameters == 10


@pytest.mark.parametrize(
    ("kind", "instead"),
    [("lfm2", "lfm2-1.2b"), ("gemma3", "gemma-3-12b-it"), ("bert", "qwen3-4b"), (["llama"], "qwen3-4b")],
)
def test_unsupported_kind_is_refused_with_an_alternative(tmp_path: Path, kind: object, instead: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": kind}), encoding="utf-8")  # no weights are needed
    with refused(ExportError, name="model", kind=kind, recipe=instead, command=ANY):
        weights.inspect(folder, code=True)


@pytest.mark.parametrize(
    ("kind", "tokenizer", "values"),
    [
        ("mamba", "gpt2", {"kind": "mamba", "recipe": "qwen3-4b", "command": ANY}),
        ("nomic-bert", "bert", {"kind": "nomic-bert", "recipe": "qwen3-4b", "command": ANY}),
        ("opt", "gpt2", {"kind": "opt"}),  # from .safetensors files alone
        ("llama", "bert", {"model": "bert"}),  # the tokenizer's kind
    ],
)
def test_gguf_file_of_another_kind_is_refused(
    tmp_path: Path, kind: str, tokenizer: str, values: dict[str, str]
) -> None:
    with refused(ExportError, name="x.gguf", **values):
        weights.inspect(write_scaled(tmp_path / "x.gguf", kind, tokenizer), code=False)


def test_gguf_file_with_scaled_positions_is_known(tmp_path: Path) -> None:
    assert weights.inspect(write_scaled(tmp_path / "x.gguf", "llama", "llama"), code=False).is_stretched


def write_scaled(path: Path, kind: str, tokenizer: str) -> Path:
    """Write a file of one tensor, which scales its positions."""
    import gguf  # noqa: PLC0415

    writer = gguf.GGUFWriter(path, kind)
    writer.add_tokenizer_model(tokenizer)
    writer.add_token_list(["a"])
    writer.add_token_types([gguf.TokenType.NORMAL])
    writer.add_token_scores([0.0])
    writer.add_token_merges(["a a"])
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_tensor("token_embd.weight", np.ones((2, 2), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


OFFERED = """
import json
from headstart_export import process
from headstart_export.conversion import convert
from headstart_export.sources import weights
process.prepare()
import transformers
from optimum.exporters.openvino import model_configs
from optimum.exporters.tasks import TasksManager
from packaging.version import parse

def is_taken(kind):
    config = TasksManager._SUPPORTED_MODEL_TYPE[kind]["openvino"][convert.TASK].func
    least = str(config.MIN_TRANSFORMERS_VERSION)
    most = str(getattr(config, "MAX_TRANSFORMERS_VERSION", None) or transformers.__version__)
    return kind in convert.LIFTED_LIMITS or parse(least) <= parse(transformers.__version__) <= parse(most)

print(json.dumps([kind for kind in (*weights.TRIED, *weights.UNTRIED) if not is_taken(kind)]))
"""


@pytest.mark.slow
def test_optimum_supports_the_offered_kinds() -> None:
    done = subprocess.run([sys.executable, "-c", OFFERED], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


NEGATIVE = json.dumps({"a": {"dtype": "F16", "shape": [-2, -3], "data_offsets": [0, 12]}}).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 40,
        b"\x02\0\0\0\0\0\0\0[]",
        b"\x02\0\0\0\0\0\0\0{}",
        len(NEGATIVE).to_bytes(8, "little") + NEGATIVE + bytes(12),
        (1 << 20).to_bytes(8, "little") + b"[" * (1 << 20) + bytes(12),
        (1 << 40).to_bytes(8, "little") + b"{}",
        save({"b": np.zeros(4, np.float16)})[:-3],
        save({"b": np.zeros(4, np.float16)}) + b"\0",
    ],
)
def test_malformed_safetensors_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (make_folder(tmp_path) / "model-2.safetensors").write_bytes(content)
    with refused(ExportError, file="model-2.safetensors"):
        weights.inspect(tmp_path, code=False)


@pytest.mark.parametrize(
    ("config", "values"),
    [(None, {}), ("{}", FILES), ("{", {"path": "config.json", "error": ANY}), ("[]", {"path": "config.json"})],
)
def test_folder_without_weights_is_refused(tmp_path: Path, config: str | None, values: dict[str, str]) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config, encoding="utf-8")
    with refused(ExportError, folder=tmp_path.name, **values):
        weights.inspect(tmp_path, code=False)
