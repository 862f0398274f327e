"""The manifest of a finished model or pair; a pair's vocabularies must agree id by id."""

import importlib.metadata
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import headstart
from headstart import manifest, vocabulary
from headstart.errors import ExportError, MismatchedDraftError
from headstart_export import quiet
from headstart_export.convert import MODEL_FILE
from headstart_export.order import ModelOrder
from headstart_export.progress import megabytes
from headstart_export.recipe import SAMPLING, ModelRecipe
from headstart_export.weights import Facts

ENDS_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<eos>", "</s>")
CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "seq_length", "max_sequence_length")
PACKAGES = ("openvino", "openvino-tokenizers", "nncf", "optimum-intel", "transformers", "tokenizers", "torch", "gguf")


@dataclass(frozen=True)
class Findings:
    """What the steps before found out about one model."""

    source: manifest.Source
    facts: Facts
    precision: manifest.Precision
    quality: manifest.Quality | None
    ram_bytes: int
    shortlist: manifest.Shortlist | None = None
    activation_group: int | None = None
    self_draft: manifest.SelfDraft | None = None
    proof: int | None = None  # texts that its tokenizer was proven on


def write_manifest(folder: Path, order: ModelOrder, findings: Findings, stop_ids: tuple[int, ...]) -> manifest.Manifest:
    """Hash the folder's files and write `manifest.json`."""
    config = _config(folder)
    contexts = [config[key] for key in CONTEXT_KEYS if isinstance(config.get(key), int)]
    if not contexts:
        raise ExportError("The model's config.json does not say how long its context is, so it cannot be used.")
    rows, kv_bytes = _shapes(folder / MODEL_FILE)
    files = manifest.hash_files(folder)
    result = manifest.Manifest(
        name=order.name,
        role=order.role,
        source=findings.source,
        licence=order.recipe.licence or findings.facts.licence or "unknown",
        architecture=config["architectures"][0],
        parameters=findings.facts.parameters,
        precision=replace(findings.precision, activation_group=findings.activation_group),
        tokenizer=manifest.Tokenizer(
            vocabulary.fingerprint(folder), len(vocabulary.read(folder)), stop_ids, findings.proof
        ),
        logit_rows=rows,
        context_length=contexts[0],
        size_bytes=sum(file.size for file in files.values()),
        ram_bytes=findings.ram_bytes,
        kv_bytes_per_token=kv_bytes,
        quality=findings.quality,
        files=files,
        versions={"headstart": headstart.__version__, **{name: importlib.metadata.version(name) for name in PACKAGES}},
        created=_now(),
        notes=order.recipe.notes,
        shortlist=findings.shortlist,
        self_draft=findings.self_draft,
    )
    manifest.write(folder, result)
    return result


def in_a_line(model: manifest.Manifest, agreement: float) -> str:
    """What a user wants to hear about a finished model. `agreement`: as in Answer."""
    sizes = f"{megabytes(model.size_bytes)} on disk, {megabytes(model.ram_bytes)} in memory"
    quality = model.quality
    found = (
        f"{quality.tokens} tokens (KL {quality.mean_kl:.4f}, perplexity x {quality.perplexity_ratio:.3f})"
        if quality
        else "the places where it was tried with made-up hidden states"
    )
    return f"{model.name}: {model.precision.weights}, {sizes}; agrees with its source on {agreement:.1%} of {found}"


def settle_generation(folder: Path, tokenizer: Any, recipe: ModelRecipe, tail: str) -> tuple[int, ...]:
    """Every id that must end an answer, the chat's own marker first. `tail`: what the chat template puts behind one.

    `generation_config.json` learns them, and how the recipe has the model sampled.
    """
    path = folder / "generation_config.json"
    generation = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    specials = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    chat_ends = sorted((token for token in specials if tail.startswith(token)), key=len)[-1:]
    ids = _known_ids(tokenizer, [*recipe.stop, *chat_ends], required=True)
    ids += _listed(generation.get("eos_token_id")) + _listed(_config(folder).get("eos_token_id"))
    ids += _listed(tokenizer.eos_token_id) + _known_ids(tokenizer, ENDS_OF_TEXT, required=False)
    unique = tuple(dict.fromkeys(ids))
    if not unique:
        raise ExportError(
            "Neither the model nor its chat template says which token ends an answer, so it cannot be used."
        )
    generation["eos_token_id"] = list(unique)
    if recipe.sampling:
        generation = {name: value for name, value in generation.items() if name not in SAMPLING}
        generation |= {"do_sample": True, **recipe.sampling}
    path.write_text(json.dumps(generation, indent=2) + "\n", encoding="utf-8")
    return unique


def _known_ids(tokenizer: Any, tokens: Iterable[str], *, required: bool) -> list[int]:
    known = {token.content: index for index, token in tokenizer.added_tokens_decoder.items()}
    if required:
        for token in tokens:
            if token not in known:
                raise ExportError(
                    "The recipe says {token} ends an answer, but the tokenizer has no such token.", token=token
                )
    return [known[token] for token in tokens if token in known]


def _listed(value: Any) -> list[int]:
    return [value] if isinstance(value, int) else list(value or [])


def _config(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return data


def _shapes(path: Path) -> tuple[int, int]:
    """Rows of the output head, and bytes of f16 keys and values per token, as the IR has them."""
    quiet.prepare()
    import openvino  # noqa: PLC0415

    model = openvino.Core().read_model(path)
    numbers = 0
    for variable in model.get_variables():
        shape = variable.info.data_shape  # [?, kv heads, ?, head size]
        numbers += shape[1].get_length() * shape[3].get_length()
    return model.output("logits").partial_shape[2].get_length(), 2 * numbers


def require_agreement(target: Any, draft: Any, names: tuple[str, str], scratch: Path) -> int:
    """How many ids the two tokenizers share. Raises MismatchedDraftError naming the first that differs.

    Rows of the weights beyond the vocabulary are padding and do not count.
    """
    folders = []
    for role, tokenizer in ((manifest.TARGET_FOLDER, target), (manifest.DRAFT_FOLDER, draft)):
        folder = scratch / f"{role}-tokenizer"
        tokenizer.save_pretrained(folder)
        folders.append(folder)
    first, second = (vocabulary.read(folder) for folder in folders)
    difference = vocabulary.first_difference(first, second)
    if difference is not None:
        raise MismatchedDraftError(
            "{draft} cannot draft for {target}: id {id} is {first} in {target} "
            "but {second} in {draft}; choose a draft with the same vocabulary.",
            draft=names[1],
            target=names[0],
            id=difference.id,
            first=_shown(difference.first),
            second=_shown(difference.second),
        )
    return len(first)


def write_pair(folder: Path, name: str, shared_ids: int) -> None:
    """Describe a folder whose target and draft are finished."""
    manifest.write(folder, manifest.PairManifest(name=name, shared_ids=shared_ids, created=_now()))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _shown(token: str | None) -> str:
    return "nothing" if token is None else repr(token)
