"""Checks of downloaded weights before anything is loaded."""

import json
import math
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart_export.conversion import adapter
from headstart_export.gguf import decoder, metadata, tokenizer_model
from headstart_export.sources import recipe

# Values of `model_type` whose tiny models were exported and compared with their source.
TRIED = (
    *("cohere", "falcon", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "gpt_oss", "granite", "granitemoe"),
    *("llama", "mistral", "mixtral", "olmo2", "opt", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "smollm3"),
    *("stablelm", "starcoder2"),
)
# optimum-intel supports these too; the checks of each export decide.
UNTRIED = (
    *("afmoe", "arcee", "biogpt", "codegen", "cohere2", "glm4", "gpt_bigcode", "gpt_neo", "gpt_neox_japanese", "gptj"),
    *("hunyuan_v1_dense", "olmo", "persimmon", "phimoe", "xglm"),
)
GGUF = {  # the kinds that transformers reads from a GGUF file, by `general.architecture`
    **{kind: kind for kind in ("falcon", "gemma2", "gpt2", "llama", "phi3", "qwen2", "qwen3", "stablelm")},
    "gemma3": "gemma3_text",
    "qwen2moe": "qwen2_moe",
    "qwen3moe": "qwen3_moe",
    "starcoder2": "starcoder2",
}
_USUAL = "qwen3-4b"  # the recipe to suggest if there is none of the same family

MODULES_FILE = "modules.json"  # of sentence-transformers
_ENCODER = re.compile(r"\w*(Bert|Roberta|Electra|MPNet)(Model|ForMaskedLM)", re.IGNORECASE)
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
CODE_KEY = "auto_map"  # names Python classes in the model's own folder
SINGLE_FILE, INDEX_FILE = "model.safetensors", "model.safetensors.index.json"  # transformers prefers the first
ELSEWHERE_KEY = "transformers_weights"  # of config.json: names other files


@dataclass(frozen=True)
class SourceInfo:
    """The facts about source weights that an export needs."""

    parameters: int
    is_gguf: bool
    licence: str | None
    head: bool = False  # an EAGLE-3 head, which is no model by itself
    ends: tuple[int, ...] | None = None  # ids of the tokens that end an answer, by a GGUF file's metadata
    sampling: Mapping[str, float] = field(default_factory=dict)  # the author's values in a GGUF file
    notes: tuple[str, ...] = ()  # on what a GGUF file says and nobody reads
    is_stretched: bool = False  # a GGUF file whose positions are scaled, which transformers forgets


def inspect(source: Path, *, code: bool) -> SourceInfo:
    """Return the facts about a model's source. Raise ExportError unless it is a sane GGUF file, or a Hugging Face
    folder with complete safetensors.

    `code` permits a folder whose configuration asks for Python code of its own.
    """
    if source.is_file():
        return _inspect_gguf(source)
    _refuse_pipes(source)
    if not (source / "config.json").is_file():
        raise ExportError("{folder} has no config.json, so it is not a Hugging Face model folder.", folder=source.name)
    require_known(source / "config.json", source.name)
    config = _json(source / "config.json")
    if not code:
        _refuse_code(source)
    if "quantization_config" in config:
        raise ExportError(
            "The weights in {folder} are compressed already; use the original model: "
            "it is then compressed once, and the loss is measured.",
            folder=source.name,
        )
    if ELSEWHERE_KEY in config:
        raise ExportError(
            "config.json in {folder} names another file for the weights ({elsewhere_key}), which is refused: "
            "they must be in {single_file} or in the files that {index_file} lists.",
            folder=source.name,
            elsewhere_key=ELSEWHERE_KEY,
            single_file=SINGLE_FILE,
            index_file=INDEX_FILE,
        )
    if (source / adapter.SETTINGS_FILE).exists():
        raise ExportError(
            "{folder} holds an adapter ({adapter_file}); name its model, and this folder with --adapter.",
            folder=source.name,
            adapter_file=adapter.SETTINGS_FILE,
        )
    return SourceInfo(
        parameters=sum(_parameters(file) for file in _weight_files(source)),
        is_gguf=False,
        licence=_licence(source),
        # By its architecture's name, or because it guesses among fewer tokens than it reads.
        head="draft_vocab_size" in config or "eagle3" in str(config.get("architectures")).lower(),
    )


def _refuse_pipes(folder: Path) -> None:
    """Raise ExportError for pipes and devices: reading one may never end."""
    for path in folder.iterdir():
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ExportError(
                "{name} in {folder} is not an ordinary file; fetch the model again.", name=path.name, folder=folder.name
            )


def _inspect_gguf(source: Path) -> SourceInfo:
    info = metadata.probe(source)
    require_architecture(info["architecture"], source.name, in_gguf=True)
    tokenizer_model.require_supported(info["tokenizer"], info["splitting"], source.name)
    return SourceInfo(
        info["parameters"],
        is_gguf=True,
        licence=info["licence"],
        ends=tuple(info["ends"]),
        sampling=info["sampling"],
        notes=tuple(info["notes"]),
        is_stretched=info["stretched"],
    )


def require_known(config: Path, name: str) -> None:
    """Raise ExportError if a `config.json` says that `name` is of a kind that cannot be exported."""
    kind = _json(config).get("model_type")
    if kind and not is_embedding_model(config.parent):
        require_architecture(kind, name)


def require_architecture(kind: object, name: str, *, in_gguf: bool = False) -> None:
    """Raise ExportError for an unsupported kind of model, with a suggestion."""
    supported = (*TRIED, *UNTRIED)
    if kind in ((*GGUF, *decoder.ARCHITECTURES) if in_gguf else supported):
        return
    if in_gguf and kind in supported:
        raise ExportError(
            "{name} is a GGUF file of the kind {kind!r}, which can only be exported from .safetensors files; use the "
            "model's Hugging Face folder or hub id instead.",
            name=name,
            kind=kind,
        )
    family = re.match("[a-z]*", str(kind))
    related = (listed for listed in recipe.names() if family and family[0] and listed.startswith(family[0]))
    program = "headstart-export" if shutil.which("headstart-export") else sys.argv[0]
    raise ExportError(
        "{name} is a model of the kind {kind!r}, which cannot be exported; take {recipe}, or another of a kind that "
        "{command} names.",
        name=name,
        kind=kind,
        recipe=next(related, _USUAL),
        command=f"`{program} --list --architectures`",
    )


def _weight_files(folder: Path) -> list[Path]:
    """Return the files that transformers will load. Raises ExportError unless they are safetensors in the folder."""
    if (folder / SINGLE_FILE).exists():
        names = [SINGLE_FILE]
    elif (folder / INDEX_FILE).exists():
        names = _listed(folder / INDEX_FILE)
    else:
        raise _without_safetensors(folder)
    for name in names:
        if not (folder / name).is_file():
            raise ExportError(
                "{name} in {folder} is missing or not an ordinary file; fetch it again.", name=name, folder=folder.name
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
                "{index} in {folder} leads to {name!r}, which is not a .safetensors file of this folder; "
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
    """Count the weights in a safetensors file by its header. Raises ExportError for an incomplete file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy") as tensors:
            count: int = sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
    except (SafetensorError, OSError):
        count = 0
    if not count:
        raise ExportError("{file} is not a safetensors file that can be read; fetch it again.", file=file.name)
    return count


def _licence(folder: Path) -> str | None:
    """Return the licence from the beginning of the model card."""
    try:
        lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()[:60]
    except (OSError, UnicodeDecodeError):
        return None
    licences = [line.partition(":")[2].strip() for line in lines if line.startswith("license:")]
    return licences[0].strip("\"'") if licences else None


def is_embedding_model(source: Path) -> bool:
    """Return True if a folder holds a model that turns texts into vectors, rather than one that writes."""
    if not source.is_dir():
        return False
    names = " ".join(map(str, read_json(source / "config.json").get("architectures") or ()))
    return (source / MODULES_FILE).is_file() or bool(_ENCODER.fullmatch(names))


def read_json(path: Path, kind: type[Any] = dict) -> Any:
    """Read a JSON file of this kind; empty if there is no file. Raises ExportError for a damaged file."""
    if not path.is_file():
        return kind()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ExportError("{path} cannot be read ({error}); fetch it again.", path=path.name, error=error) from None
    return data if isinstance(data, kind) else kind()


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
