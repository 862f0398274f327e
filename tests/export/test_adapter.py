"""LoRA adapters: merged as PEFT does it, and refused where they are no plain ones or were made for another model."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from headstart.errors import ExportError
from headstart.library import manifest
from headstart_export import process
from headstart_export.conversion import adapter

PLACE = "base_model.model.layers.0.q_proj"
FIRST = np.array([[1, 0, 2], [0, 1, 1]], np.float32)  # rank 2, 3 inputs
SECOND = np.array([[1, 0], [0, 2], [1, 1], [0, 0]], np.float32)  # 4 outputs
CHANGE = SECOND @ FIRST  # of an alpha that is the rank


@pytest.fixture(autouse=True, scope="module")
def prepared() -> None:
    """Load the libraries as the exporter does, since a first import affects later tests."""
    process.prepare()


def write(folder: Path, tensors: dict[str, Any] | None = None, **settings: Any) -> Path:
    """Write an adapter into a folder."""
    folder.mkdir(exist_ok=True)
    usual = {"peft_type": "LORA", "lora_alpha": 2, "r": 2}
    (folder / "adapter_config.json").write_text(json.dumps(usual | settings), encoding="utf-8")
    pair = {f"{PLACE}.lora_A.weight": FIRST, f"{PLACE}.lora_B.weight": SECOND}
    save_file(pair if tensors is None else tensors, folder / "adapter_model.safetensors")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "turned", "scale"),
    [
        ({}, False, 1.0),
        ({"lora_alpha": 16}, False, 8.0),
        ({"lora_alpha": 16, "use_rslora": True}, False, 16 / 2**0.5),
        ({"r": 8}, False, 1.0),  # the rank is that of the matrices, as a pattern may give each its own
        ({}, True, 1.0),
    ],
)
def test_adapter_is_added_to_the_weights(tmp_path: Path, settings: dict[str, Any], turned: bool, scale: float) -> None:
    import torch  # noqa: PLC0415
    from transformers.pytorch_utils import Conv1D  # noqa: PLC0415

    layer = Conv1D(4, 3) if turned else torch.nn.Linear(3, 4, bias=False)
    before = layer.weight.detach().numpy().copy()
    model = torch.nn.ModuleDict({"layers": torch.nn.ModuleList([torch.nn.ModuleDict({"q_proj": layer})])})
    found = adapter.inspect(write(tmp_path / "style", **settings))
    adapter.merge(found, model, "a model")
    change = layer.weight.detach().numpy() - before
    assert np.allclose(change, scale * (CHANGE.T if turned else CHANGE), atol=1e-5)
    assert found.described == manifest.MergedAdapter(
        "style", manifest.hash_file(tmp_path / "style" / adapter.WEIGHTS_FILE)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"target_modules": ["q_proj", "v_proj"]},
        {"target_modules": "all-linear", "use_rslora": True},
        {"target_modules": ["q_proj", "down_proj"], "rank_pattern": {"down_proj": 2}},
        {"target_modules": ["o_proj"], "layers_to_transform": [1]},
    ],
)
def test_adapter_that_peft_trained_is_merged_as_peft_does_it(tmp_path: Path, settings: dict[str, Any]) -> None:
    import torch  # noqa: PLC0415
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415

    torch.manual_seed(0)
    sizes = {"vocab_size": 96, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2))
    plain = copy.deepcopy(model)
    trained = get_peft_model(model, LoraConfig(r=4, lora_alpha=16, task_type="CAUSAL_LM", **settings))
    optimizer = torch.optim.SGD([weight for weight in trained.parameters() if weight.requires_grad], lr=1.0)
    for _ in range(3):  # half of an adapter is zero before it has learned
        ids = torch.randint(96, (2, 12))
        trained(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
    trained.save_pretrained(tmp_path / "style")
    before = {name: weight.clone() for name, weight in plain.state_dict().items()}
    adapter.merge(adapter.inspect(tmp_path / "style"), plain, "a model")
    expected = trained.merge_and_unload().state_dict()
    assert any(not torch.equal(weight, before[name]) for name, weight in expected.items())
    for name, weight in plain.state_dict().items():
        assert torch.allclose(weight, expected[name], atol=1e-6), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tensors", "sentence"),
    [
        (
            {"base_model.model.layers.9.q_proj": (FIRST, SECOND)},
            r"style was not made for a model: layers\.9\.q_proj is missing there or has another shape; name",
        ),
        ({PLACE: (FIRST[:, :2], SECOND)}, r"layers\.0\.q_proj is missing there or has another shape"),
        ({PLACE: (FIRST, SECOND[:, :1])}, r"layers\.0\.q_proj is missing there or has another shape"),
    ],
)
def test_adapter_that_does_not_fit_is_refused(
    tmp_path: Path, tensors: dict[str, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]], sentence: str
) -> None:
    halves = {
        f"{place}.lora_{name}.weight": np.ascontiguousarray(half)
        for place, pair in tensors.items()
        for name, half in zip("AB", pair, strict=True)
    }
    with pytest.raises(ExportError, match=sentence):
        merge_into_a_matrix(write(tmp_path / "style", halves))


@pytest.mark.slow
@pytest.mark.parametrize("more", ["layers.0.q_proj.lora_magnitude_vector", "lm_head.weight"])
def test_adapter_with_other_tensors_is_refused(tmp_path: Path, more: str) -> None:
    tensors = {f"{PLACE}.lora_A.weight": FIRST, f"{PLACE}.lora_B.weight": SECOND, f"base_model.model.{more}": FIRST}
    with pytest.raises(ExportError, match=rf"of a kind that cannot be merged \(base_model\.model\.{more}\); take a"):
        merge_into_a_matrix(write(tmp_path / "style", tensors))


def merge_into_a_matrix(folder: Path) -> None:
    """Merge an adapter into a model of one layer."""
    import torch  # noqa: PLC0415

    layers = torch.nn.ModuleList([torch.nn.ModuleDict({"q_proj": torch.nn.Linear(3, 4, bias=False)})])
    adapter.merge(adapter.inspect(folder), torch.nn.ModuleDict({"layers": layers}), "a model")


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"peft_type": "IA3"}, "IA3"),
        ({"use_dora": True}, "use_dora"),
        ({"alpha_pattern": {"q_proj": 32}}, "alpha_pattern"),
        ({"layer_replication": [[0, 4], [2, 5]]}, "layer_replication"),
        ({"init_lora_weights": "pissa"}, "pissa"),
    ],
)
def test_unmergeable_adapter_is_named(tmp_path: Path, settings: dict[str, Any], what: str) -> None:
    sentence = rf"style is an adapter of a kind that cannot be merged \({what}\); take a plain LoRA adapter"
    with pytest.raises(ExportError, match=sentence):
        adapter.inspect(write(tmp_path / "style", **settings))


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["adapter_config.json", "adapter_model.safetensors"])
def test_folder_without_adapter_files_is_refused(tmp_path: Path, missing: str) -> None:
    (write(tmp_path / "style") / missing).unlink()
    with pytest.raises(
        ExportError, match=r"style is not a LoRA adapter \(.+\); name a folder with the adapter_config\.json"
    ):
        adapter.inspect(tmp_path / "style")
    (tmp_path / "style" / missing).write_text("[]", encoding="utf-8")
    with pytest.raises(ExportError, match="that PEFT saves" if missing.endswith("json") else "cannot be read"):
        merge_into_a_matrix(tmp_path / "style")
