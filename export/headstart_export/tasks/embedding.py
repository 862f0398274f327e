"""Models that turn texts into vectors, as sentence-transformers describes them: their recipe, IR and proof."""

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart.library import manifest
from headstart_export import process
from headstart_export.checks import tokenizer_proof
from headstart_export.conversion import convert, quantize
from headstart_export.sources.weights import MODULES_FILE, read_json

TASK = "feature-extraction"
_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last"}
_KINDS = ("Transformer", "Pooling", "Normalize")
_MIN_AGREEMENT = 0.95  # cosine with the source; INT8 of such models is above 0.99
_RESERVED = ("roberta", "xlm-roberta", "camembert", "mpnet")  # their positions begin behind that of the padding token


@dataclass(frozen=True)
class Recipe:
    """The way from hidden states to one vector. `length`: the most tokens that the model reads at a time."""

    pooling: str
    normalized: bool
    length: int


def read_recipe(source: Path) -> Recipe:
    """Return the recipe of a model folder. Raises ExportError if it is unclear or not supported."""
    modules = read_json(source / MODULES_FILE, list)
    if not modules:
        raise ExportError(
            "{name} does not say how a text becomes a vector ({file} is missing); choose a model for "
            "sentence-transformers.",
            name=source.name,
            file=MODULES_FILE,
        )
    kinds = tuple(str(module.get("type")).rpartition(".")[2] for module in modules)
    if kinds not in {_KINDS, _KINDS[:2]}:
        raise ExportError(
            "{name} makes vectors in steps that cannot be done here ({kinds}); choose a model of a transformer and a "
            "pooling.",
            name=source.name,
            kinds=", ".join(kinds),
        )
    pooling = read_json(source / str(modules[1].get("path")) / "config.json")
    chosen = [name for name, on in pooling.items() if name.startswith("pooling_mode") and on is True]
    if len(chosen) != 1 or chosen[0] not in _POOLINGS:
        raise ExportError(
            "{name} pools its tokens in a way that cannot be done here ({how}); choose a model that takes their mean, "
            "the first or the last.",
            name=source.name,
            how=", ".join(chosen) or "it is not said",
        )
    prompts = read_json(source / "config_sentence_transformers.json")
    if prompts.get("default_prompt_name"):
        raise ExportError(
            "{name} wants words of its own before each text, which cannot be done here; choose another model.",
            name=source.name,
        )
    config = read_json(source / "config.json")
    lengths = [
        config.get("max_position_embeddings"),
        read_json(source / "sentence_bert_config.json").get("max_seq_length"),
    ]
    if not isinstance(lengths[0], int):
        raise ExportError("config.json of {name} does not say how many tokens it reads.", name=source.name)
    padding = config.get("pad_token_id")
    if config.get("model_type") in _RESERVED:
        lengths[0] -= (padding if isinstance(padding, int) else 1) + 1
    length = min(length for length in lengths if isinstance(length, int))
    return Recipe(_POOLINGS[chosen[0]], len(kinds) == len(_KINDS), length)


def build(
    source: Path, recipe: Recipe, stored: str, half: Path, folder: Path, int4: quantize.Int4 = quantize.USUAL
) -> manifest.EmbeddingSpec:
    """Write the IR and the tokenizer of a model into `folder`, and prove them. Raises ExportError."""
    process.prepare()
    import torch
    from optimum.exporters.openvino.convert import export_from_model
    from optimum.intel import OVConfig
    from transformers import AutoModel

    tokenizer = convert.load_tokenizer(source)
    tokenizer.model_max_length = 1 << 30  # what is too long is refused, not cut
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    convert.convert_tokenizer(tokenizer, folder)
    texts = [text for text in tokenizer_proof.PROBES if len(tokenizer(text).input_ids) <= recipe.length]
    known = [tokenizer(text).input_ids for text in texts]
    require_same_tokens(folder, texts, known)
    try:
        model, info = AutoModel.from_pretrained(
            source, dtype=torch.float32, use_safetensors=True, local_files_only=True, output_loading_info=True
        )
        convert.require_all(_without_pooler(info), source)
        model.eval()
        expected = [_by_torch(model, ids, recipe) for ids in known]
        export_from_model(model, half, task=TASK, ov_config=OVConfig(dtype="fp16"))
    except convert.FAULTS as error:
        raise ExportError(
            "{name} cannot be converted ({error}).", name=source.name, error=convert.first_line(error)
        ) from None
    del model
    gc.collect()
    quantize.compress(half / convert.MODEL_FILE, stored, folder / convert.MODEL_FILE, int4)
    (half / "config.json").rename(folder / "config.json")
    agreement = require_agreement(source.name, folder / convert.MODEL_FILE, known, expected, recipe)
    return manifest.EmbeddingSpec(recipe.pooling, recipe.normalized, len(expected[0]), agreement)


def _without_pooler(info: dict[str, Any]) -> dict[str, Any]:
    """Remove BERT's pooler from the missing weights: it is not used, and many of these models come without it."""
    return info | {"missing_keys": [name for name in info["missing_keys"] if not str(name).startswith("pooler.")]}


def require_same_tokens(folder: Path, texts: Sequence[str], known: list[list[int]]) -> None:
    """Raise ExportError if the converted tokenizer in `folder` encodes the texts to ids other than `known`."""
    import openvino
    import openvino_tokenizers  # noqa: F401 - it adds what the model is made of

    encoder = openvino.Core().compile_model(folder / "openvino_tokenizer.xml", "CPU")
    for text, ids in zip(texts, known, strict=True):
        found = encoder([text])["input_ids"][0].tolist()
        if found != ids:
            raise ExportError(
                "The tokenizer reads {text} otherwise once it is converted; choose another model.", text=repr(text)
            )


def _by_torch(model: Any, ids: list[int], recipe: Recipe) -> Any:
    import torch

    with torch.no_grad():
        rows = torch.tensor([ids])
        states = model(input_ids=rows, attention_mask=torch.ones_like(rows)).last_hidden_state
    return _pooled(states[0].numpy(), recipe)


def require_agreement(name: str, model: Path, known: list[list[int]], expected: list[Any], recipe: Recipe) -> float:
    """Return the least cosine between the vectors of a saved model and the expected ones.

    Raises ExportError if one of them differs too much.
    """
    import numpy as np

    pairs = zip(vectors(model, known, recipe), expected, strict=True)
    least = min(float(made @ vector / (np.linalg.norm(made) * np.linalg.norm(vector))) for made, vector in pairs)
    if not least >= _MIN_AGREEMENT:
        raise ExportError(
            "A vector of the exported {name} points elsewhere than that of its source (cosine {agreement}); choose "
            "a higher precision.",
            name=name,
            agreement=f"{least:.3f}",
        )
    return least


def vectors(model: Any, known: list[list[int]], recipe: Recipe) -> list[Any]:
    """Return the vector of each text, given as ids. `model`: a graph, or the path of one."""
    import numpy as np
    import openvino

    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    made = []
    for ids in known:
        row = np.array([ids], np.int64)
        fed = {each.any_name: row if each.any_name == "input_ids" else np.ones_like(row) for each in compiled.inputs}
        fed |= {name: np.zeros_like(row) for name in fed if name == "token_type_ids"}
        made.append(_pooled(compiled(fed)[0][0], recipe))
    return made


def _pooled(states: Any, recipe: Recipe) -> Any:
    return {"mean": states.mean(axis=0), "cls": states[0], "last": states[-1]}[recipe.pooling]
