"""Files of what was learned here: tensors, their matrices in 8 bits with a scale for each row."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

_SCALES = ".scales"  # behind the name of a matrix: what its rows are multiplied by


def save(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write them; whole numbers stay as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = dict[str, Tensor]()
    for name, tensor in tensors.items():
        if tensor.dim() < 2 or not tensor.is_floating_point():
            packed[name] = tensor
            continue
        values, scales = in_8_bits(tensor)
        packed |= {name: torch.from_numpy(values), name + _SCALES: torch.from_numpy(scales)}
    save_file(packed, path, {"format": "pt"})


def load(path: Path) -> dict[str, Tensor]:
    """What was written, matrices as f32. Raises OSError, KeyError and ValueError for another file."""
    stored: dict[str, Tensor] = load_file(path)
    for name in [name for name in stored if name.endswith(_SCALES)]:
        matrix = name.removesuffix(_SCALES)
        stored[matrix] = stored[matrix].float() * stored.pop(name).float()
    return stored


def in_8_bits(matrix: Tensor) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Whole numbers, and the scale of each row: [rows, 1]."""
    values = matrix.float().numpy()
    scales = np.maximum(np.abs(values).max(axis=1, keepdims=True) / 127, 1e-7).astype(np.float16)
    return np.round(values / scales.astype(np.float32)).clip(-127, 127).astype(np.int8), scales
