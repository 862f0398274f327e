"""LoRA adapters as PEFT saves them, merged into the weights that they were made for."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart.library import manifest

SETTINGS_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"
_ROOT = "base_model.model."  # before each name
_FIRST, _SECOND = ".lora_A.weight", ".lora_B.weight"
# Settings of adapters that are more than two matrices for a weight, or that were made for changed weights.
_UNSUPPORTED = (
    "alpha_pattern",
    "alora_invocation_tokens",
    "layer_replication",
    "target_parameters",
    "use_dora",
    "use_qalora",
)
_PLAIN_INITS = (True, False, "eva", "gaussian", "orthogonal")  # that leave the model's weights unchanged


@dataclass(frozen=True)
class Adapter:
    path: Path
    alpha: float
    is_rank_stabilized: bool  # `alpha` is divided by the root of the rank (rsLoRA), not by the rank
    described: manifest.MergedAdapter  # its entry in the manifest


def inspect(folder: Path) -> Adapter:
    """Read an adapter's settings. Raises ExportError if it cannot be merged."""
    try:
        settings = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
        alpha, kind = float(settings["lora_alpha"]), settings["peft_type"]
        sha256 = manifest.hash_file(folder / WEIGHTS_FILE)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ExportError(
            "{folder} is not a LoRA adapter ({error}); name a folder with the {settings} and {weights} that PEFT "
            "saves.",
            folder=folder,
            error=error,
            settings=SETTINGS_FILE,
            weights=WEIGHTS_FILE,
        ) from None
    unsupported = [name for name in _UNSUPPORTED if settings.get(name)]
    if kind != "LORA":
        unsupported = [str(kind)]
    elif settings.get("init_lora_weights", True) not in _PLAIN_INITS:
        unsupported = [str(settings["init_lora_weights"])]
    if unsupported:
        raise _not_plain(folder, unsupported[0])
    return Adapter(folder, alpha, bool(settings.get("use_rslora")), manifest.MergedAdapter(folder.name, sha256))


def merge(adapter: Adapter, model: Any, name: str) -> None:
    """Add an adapter to the weights of a PyTorch model called `name`. Raises ExportError if it does not fit."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file
    from transformers.pytorch_utils import Conv1D

    try:
        tensors = load_file(adapter.path / WEIGHTS_FILE)
    except (OSError, SafetensorError) as error:
        raise ExportError(
            "{file} of {adapter} cannot be read ({error}); fetch it again.",
            file=WEIGHTS_FILE,
            adapter=adapter.described.id,
            error=error,
        ) from None
    modules: dict[str, Any] = dict(model.named_modules())
    places = [key.removesuffix(_FIRST) for key in tensors if key.endswith(_FIRST)]
    for place in places:
        first, second = tensors.pop(place + _FIRST), tensors.pop(place + _SECOND, None)
        module = modules.get(place.removeprefix(_ROOT))
        weight = getattr(module, "weight", None)
        if module is None or second is None or weight is None or first.ndim != 2 or second.shape[1:] != first.shape[:1]:
            raise _misfit(adapter, name, place)
        rank = len(first)
        delta = (
            second.float() @ first.float() * (adapter.alpha / (math.sqrt(rank) if adapter.is_rank_stabilized else rank))
        )
        delta = delta.T if isinstance(module, Conv1D) else delta
        if delta.shape != weight.shape:
            raise _misfit(adapter, name, place)
        # A new parameter: the output head may share its weight with the embeddings.
        module.weight = torch.nn.Parameter((weight.data.float() + delta).to(weight.dtype), requires_grad=False)
    if tensors or not places:
        raise _not_plain(adapter.path, next(iter(tensors), "no tensors"))


def _not_plain(folder: Path, what: str) -> ExportError:
    return ExportError(
        "{adapter} is an adapter of a kind that cannot be merged ({what}); take a plain LoRA adapter.",
        adapter=folder.name,
        what=what,
    )


def _misfit(adapter: Adapter, name: str, place: str) -> ExportError:
    return ExportError(
        "{adapter} was not made for {name}: {place} is missing there or has another shape; name the adapter with the "
        "model that it was made for.",
        adapter=adapter.described.id,
        name=name,
        place=place.removeprefix(_ROOT),
    )
