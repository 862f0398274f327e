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
_ROOT = "base_model.model."  # of each name
_FIRST, _SECOND = ".lora_A.weight", ".lora_B.weight"
# Settings that make an adapter more than two matrices beside others, or tell of weights that were changed before.
_MORE = ("alpha_pattern", "alora_invocation_tokens", "layer_replication", "target_parameters", "use_dora", "use_qalora")
_STARTS = (True, False, "eva", "gaussian", "orthogonal")  # ways to begin that leave the weights as they are


@dataclass(frozen=True)
class Adapter:
    """An adapter to merge; `described` as the manifest has it."""

    path: Path
    alpha: float
    by_root: bool  # of the rank, and not by the rank itself, is `alpha` divided
    described: manifest.Adapter


def inspect(folder: Path) -> Adapter:
    """An adapter that can be merged. Raises ExportError for anything else."""
    try:
        found = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
        alpha, kind = float(found["lora_alpha"]), found["peft_type"]
        sha256 = manifest.hash_file(folder / WEIGHTS_FILE)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ExportError(
            "{folder} is no LoRA adapter ({error}); name a folder with the {settings} and {weights} that PEFT saves.",
            folder=folder,
            error=error,
            settings=SETTINGS_FILE,
            weights=WEIGHTS_FILE,
        ) from None
    more = [name for name in _MORE if found.get(name)]
    if kind != "LORA":
        more = [str(kind)]
    elif found.get("init_lora_weights", True) not in _STARTS:
        more = [str(found["init_lora_weights"])]
    if more:
        raise _not_plain(folder, more[0])
    return Adapter(folder, alpha, bool(found.get("use_rslora")), manifest.Adapter(folder.name, sha256))


def merge(adapter: Adapter, model: Any, name: str) -> None:
    """Add an adapter to the weights of a PyTorch model called `name`. Raises ExportError where it does not fit."""
    import torch  # noqa: PLC0415
    from safetensors import SafetensorError  # noqa: PLC0415
    from safetensors.torch import load_file  # noqa: PLC0415
    from transformers.pytorch_utils import Conv1D  # noqa: PLC0415

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
        change = second.float() @ first.float() * (adapter.alpha / (math.sqrt(rank) if adapter.by_root else rank))
        change = change.T if isinstance(module, Conv1D) else change
        if change.shape != weight.shape:
            raise _misfit(adapter, name, place)
        # A weight of its own: that of an output head may be the embeddings', too.
        module.weight = torch.nn.Parameter((weight.data.float() + change).to(weight.dtype), requires_grad=False)
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
