"""What fetched weights are, and whether they may be used: looked at before anything is loaded."""

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart_export import gguf

PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
CODE_KEY = "auto_map"  # names Python classes inside the model's own folder
SINGLE_FILE, INDEX_FILE = "model.safetensors", "model.safetensors.index.json"  # transformers looks for the first first
ELSEWHERE_KEY = "transformers_weights"  # of config.json: names another file in their place
ADAPTER_FILE = "adapter_config.json"
LAYER_KEYS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADER_LIMIT = 100 << 20  # bytes, as the safetensors format has it


@dataclass(frozen=True)
class Facts:
    """What an export needs to know beforehand."""

    parameters: int
    is_gguf: bool
    licence: str | None
    layers: int = 0  # 0: the source does not say
    head: bool = False  # an EAGLE-3 head, which is no model by itself


def inspect(path: Path, *, code: bool) -> Facts:
    """Raise ExportError unless `path` is a sane GGUF file or a Hugging Face folder with whole safetensors.

    `code` permits a folder whose configuration asks for Python code of its own.
    """
    if path.is_file():
        return Facts(is_gguf=True, **gguf.probe(path))
    return _inspect_folder(path, code=code)


def _inspect_folder(folder: Path, *, code: bool) -> Facts:
    if not (folder / "config.json").is_file():
        raise ExportError("{folder} has no config.json, so it is not a Hugging Face model folder.", folder=folder.name)
    config = _json(folder / "config.json")
    if not code:
        _refuse_code(folder)
    if "quantization_config" in config:
        raise ExportError(
            "The weights in {folder} are compressed already; use the original model: "
            "it is then compressed once, and the loss is measured.",
            folder=folder.name,
        )
    if ELSEWHERE_KEY in config:
        raise ExportError(
            "config.json in {folder} names another file for the weights ({elsewhere_key}), which is refused: "
            "they must be in {single_file} or in the files that {index_file} lists.",
            folder=folder.name,
            elsewhere_key=ELSEWHERE_KEY,
            single_file=SINGLE_FILE,
            index_file=INDEX_FILE,
        )
    if (folder / ADAPTER_FILE).exists():
        raise ExportError(
            "{folder} holds an adapter ({adapter_file}); merge it into its model first.",
            folder=folder.name,
            adapter_file=ADAPTER_FILE,
        )
    return Facts(
        parameters=sum(_parameters(file) for file in _weight_files(folder)),
        is_gguf=False,
        licence=_licence(folder),
        layers=next((config[key] for key in LAYER_KEYS if isinstance(config.get(key), int)), 0),
        head=_is_head(config),
    )


def _weight_files(folder: Path) -> list[Path]:
    """Exactly those that transformers will load. Raises ExportError unless they are safetensors of this folder."""
    if (folder / SINGLE_FILE).exists():
        names = [SINGLE_FILE]
    elif (folder / INDEX_FILE).exists():
        names = _listed(folder / INDEX_FILE)
    else:
        raise _without_safetensors(folder)
    for name in names:
        if not (folder / name).is_file():
            raise ExportError(
                "{name} in {folder} is missing, or no ordinary file; fetch it again.", name=name, folder=folder.name
            )
    return [folder / name for name in names]


def _listed(index: Path) -> list[str]:
    places = _json(index).get("weight_map")
    if not isinstance(places, dict) or not places or not all(isinstance(name, str) for name in places.values()):
        raise ExportError(
            "{index} in {folder} does not say where the weights are; fetch it again.",
            index=index.name,
            folder=index.parent.name,
        )
    names = sorted(set(places.values()))
    for name in names:
        if not name.endswith(".safetensors") or Path(name).name != name or "\\" in name:
            raise ExportError(
                "{index} in {folder} leads to {name!r}, which is no .safetensors file of this folder; "
                "loading another can run any code, so it is refused.",
                index=index.name,
                folder=index.parent.name,
                name=name,
            )
    return names


def _refuse_code(folder: Path) -> None:
    for path in sorted(folder.glob("*.json")):
        if path.name.endswith("config.json") and CODE_KEY in _json(path):
            raise ExportError(
                "{folder} wants to run Python code of its own ({code_key} in {path}), which is refused; "
                "if you have read that code and trust it, add --trust-remote-code.",
                folder=folder.name,
                code_key=CODE_KEY,
                path=path.name,
            )


def _without_safetensors(folder: Path) -> ExportError:
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if pickles and not (folder / "openvino_model.bin").is_file():
        return ExportError(
            "{folder} has its weights only as a pickle ({pickle}), and loading a pickle can run any code; "
            "use a version of the model with .safetensors files or a .gguf file.",
            folder=folder.name,
            pickle=pickles[0],
        )
    return ExportError(
        "{folder} holds neither {single_file} nor {index_file}; name the folder of the original model.",
        folder=folder.name,
        single_file=SINGLE_FILE,
        index_file=INDEX_FILE,
    )


def _parameters(file: Path) -> int:
    """Weights in one safetensors file, from its header. Raises ExportError when the file is not whole."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else HEADER_LIMIT
        header = stream.read(length) if length < min(size, HEADER_LIMIT) else b""
    try:
        tensors = {key: value for key, value in json.loads(header).items() if key != "__metadata__"}
        end = 8 + length + max(value["data_offsets"][1] for value in tensors.values())
        shapes = [value["shape"] for value in tensors.values()]
        count: int = sum(map(math.prod, shapes))
        if any(length < 0 for shape in shapes for length in shape):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise ExportError(
            "{file} is not a safetensors file that can be read; fetch it again.", file=file.name
        ) from None
    if end != size:
        raise ExportError(
            "{file} has {size} bytes instead of {end}; fetch it again.", file=file.name, size=size, end=end
        )
    return count


def _is_head(config: dict[str, Any]) -> bool:
    """By the name of its architecture, or as it guesses among fewer tokens than it reads."""
    names = config.get("architectures") or []
    return "draft_vocab_size" in config or any("eagle3" in str(name).lower() for name in names)


def _licence(folder: Path) -> str | None:
    """From the head of the model card."""
    try:
        lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()[:60]
    except (OSError, UnicodeDecodeError):
        return None
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("license:")]
    return found[0].strip("\"'") if found else None


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ExportError(
            "{path} in {folder} cannot be read ({error}); fetch it again.",
            path=path.name,
            folder=path.parent.name,
            error=error,
        ) from None
    if not isinstance(data, dict):
        raise ExportError(
            "{path} in {folder} is not what its name says; fetch it again.", path=path.name, folder=path.parent.name
        )
    return data
