"""What may not be exported is refused before anything is loaded, with the reason."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from headstart.errors import ExportError
from headstart_export import weights


def make_folder(folder: Path, config: dict[str, object] | None = None) -> Path:
    """A Hugging Face folder with 6 + 4 weights in two files."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config or {"model_type": "llama"}), encoding="utf-8")
    save_file({"a": np.zeros((2, 3), np.float16)}, folder / "model-1.safetensors")
    save_file({"b": np.zeros(4, np.float16)}, folder / "model-2.safetensors")
    return folder


def test_weights_are_counted_over_all_files(tmp_path: Path) -> None:
    (make_folder(tmp_path) / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Model\n", encoding="utf-8")
    assert weights.inspect(tmp_path, code=False) == weights.Facts(10, is_gguf=False, licence="apache-2.0")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "consolidated.00.pth"])
def test_pickles_are_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    make_folder(tmp_path)
    for file in tmp_path.glob("*.safetensors"):
        file.unlink()
    (tmp_path / name).write_bytes(b"\x80\x04.")
    with pytest.raises(ExportError, match=rf"only as a pickle \({name}\), and loading a pickle can run any code"):
        weights.inspect(tmp_path, code=True)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_of_the_model_is_refused_without_the_flag(tmp_path: Path, name: str) -> None:
    make_folder(tmp_path)
    (tmp_path / name).write_text(json.dumps({"auto_map": {"AutoModel": "evil.Model"}}), encoding="utf-8")
    with pytest.raises(ExportError, match=rf"auto_map in {name}.*which is refused.*--trust-remote-code"):
        weights.inspect(tmp_path, code=False)
    assert weights.inspect(tmp_path, code=True).parameters == 10


def test_compressed_weights_are_refused(tmp_path: Path) -> None:
    make_folder(tmp_path, {"quantization_config": {"quant_method": "gptq"}})
    with pytest.raises(ExportError, match="are compressed already; use the original model"):
        weights.inspect(tmp_path, code=False)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    file = make_folder(tmp_path) / "model-2.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-3])
    with pytest.raises(
        ExportError, match=rf"model-2\.safetensors has {len(whole) - 3} bytes instead of {len(whole)}; fetch it again"
    ):
        weights.inspect(tmp_path, code=False)


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b"\x02\0\0\0\0\0\0\0[]", b"\x02\0\0\0\0\0\0\0{}"])
def test_what_is_no_safetensors_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (make_folder(tmp_path) / "model-2.safetensors").write_bytes(content)
    with pytest.raises(ExportError, match=r"model-2\.safetensors is not a safetensors file that can be read"):
        weights.inspect(tmp_path, code=False)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"has no config\.json, so it is not a Hugging Face model folder"):
        weights.inspect(tmp_path, code=False)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ExportError, match=r"holds no \.safetensors files"):
        weights.inspect(tmp_path, code=False)
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ExportError, match=r"config\.json in .* cannot be read"):
        weights.inspect(tmp_path, code=False)
