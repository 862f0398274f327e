"""Fetching and inspection of a model: its weights, its tokenizer, and whether a draft fits its target."""

import filecmp
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from headstart.errors import ExportError, MismatchedDraftError
from headstart.library import vocabulary
from headstart_export import workspace
from headstart_export.checks import tokenizer_proof
from headstart_export.conversion import adapter, convert
from headstart_export.pipeline import gguf_import
from headstart_export.pipeline.job import Job
from headstart_export.progress import Advance
from headstart_export.sources import fetching, weights
from headstart_export.sources.fetching import Fetched
from headstart_export.sources.recipe import AS_IN_FILE, DEFAULT_WEIGHTS, ModelOrder
from headstart_export.sources.weights import SourceInfo, is_embedding_model
from headstart_export.tasks import embedding


@dataclass(frozen=True)
class ProvenTokenizer:
    """A tokenizer's own files and its OpenVINO models in a folder, and the number of texts on which it was proven.

    `tail`: the text that its chat template puts behind an answer.
    """

    folder: Path
    texts: int
    tail: str


@dataclass(frozen=True)
class Prepared:
    """A fetched and inspected model with its tokenizer.

    `head_of`: the place of its target's weights, if it is an EAGLE-3 head. `vectors`: its recipe, if it makes vectors.
    `lora`: an adapter to merge.
    """

    order: ModelOrder
    fetched: Fetched
    info: SourceInfo
    tokenizer: Any
    converted: ProvenTokenizer
    head_of: Path | None = None
    vectors: embedding.Recipe | None = None
    lora: adapter.Adapter | None = None
    is_imported: bool = False  # from a GGUF file, by the short way


def prepare(order: ModelOrder, job: Job, target: Prepared | None = None) -> Prepared:
    """Fetch and inspect a model. `target`: of a draft; an EAGLE-3 head needs it."""
    merged = adapter.inspect(order.adapter) if order.adapter else None
    fetched = fetching.fetch(order.recipe, job.cache, job.progress, code=order.code)
    fetching.require_same(fetched.source, job.space.output)
    info = weights.inspect(fetched.path, code=order.code or order.recipe.native)
    if merged and (info.head or is_embedding_model(fetched.path)):
        raise ExportError("{name} writes nothing, so no adapter can be merged into it.", name=order.name)
    if info.head:
        return _head(order, fetched, info, job, target)
    if is_embedding_model(fetched.path):
        if target or order.role == "target":
            raise ExportError(
                "{name} turns texts into vectors: it writes nothing, and is no part of a pair.", name=order.name
            )
        return Prepared(
            order,
            fetched,
            info,
            None,
            ProvenTokenizer(fetched.path, 0, ""),
            vectors=embedding.read_recipe(fetched.path),
        )
    for note in info.notes:
        job.progress.note(note)
    is_imported = gguf_import.takes(order, fetched.path)
    if not is_imported:
        gguf_import.require_exporter(order.recipe.title)
        workspace.require_memory(order.name, workspace.memory(order, info.parameters, is_imported=False))
        if info.is_stretched:
            raise ExportError(
                "{name} scales its positions, which is lost when a GGUF file is read; use the model's Hugging Face "
                "folder or hub id instead.",
                name=fetched.path.name,
            )
        if order.weights == AS_IN_FILE:
            order = msgspec.structs.replace(order, weights=DEFAULT_WEIGHTS)
    proving = "" if is_imported else ", and proving it"
    with job.progress.step(f"Converting the tokenizer of {order.recipe.title}{proving}") as advance:
        tokenizer = load_tokenizer(order, fetched, info)
        if order.role != "draft" and not tokenizer.chat_template:
            job.progress.note(
                f"{order.name} has no chat template, so it is a base model: it continues texts (/v1/completions of the "
                "local server), but cannot chat. If you know its template, add --template FILE."
            )
        converted = _convert_tokenizer(order, fetched, tokenizer, job, advance, target, is_proven=not is_imported)
    return Prepared(order, fetched, info, tokenizer, converted, lora=merged, is_imported=is_imported)


def load_tokenizer(order: ModelOrder, fetched: Fetched, info: SourceInfo) -> Any:
    """Return the source's tokenizer, with the chat template that was ordered."""
    tokenizer = convert.load_tokenizer(fetched.path)
    if info.is_gguf:
        tokenizer_proof.require_round_trip(tokenizer, fetched.path.name)
    if order.template:
        tokenizer.chat_template = order.template
    return tokenizer


def _convert_tokenizer(
    order: ModelOrder,
    fetched: Fetched,
    tokenizer: Any,
    job: Job,
    advance: Advance,
    target: Prepared | None,
    *,
    is_proven: bool = True,
) -> ProvenTokenizer:
    """Convert a tokenizer, and prove it unless `check` does that later.

    If it equals its target's but for the template, the texts are proven already.
    """
    folder = job.space.scratch / f"{order.role}-tokenizer"
    chat = tokenizer_proof.render(tokenizer)
    if chat and chat.tools_refusal:
        job.progress.note(
            f"The chat template of {order.name} shows no calls of tools ({chat.tools_refusal}): what chats and agents "
            "offer to it is described in the system prompt."
        )
    convert.convert_tokenizer(tokenizer, folder)
    if not is_proven:
        return ProvenTokenizer(folder, 0, chat.tail if chat else "")
    known = target.converted.texts if target and _is_equal(folder, target.converted.folder) else 0
    source = folder if fetched.path.is_file() else fetched.path
    texts = tokenizer_proof.prove(folder, source, tokenizer, chat, advance, known=known)
    return ProvenTokenizer(folder, texts, chat.tail if chat else "")


def _is_equal(folder: Path, other: Path) -> bool:
    """Tell whether two tokenizers are the same. Graphs are not compared: their names have running numbers."""
    names = (vocabulary.FILE_NAME, "openvino_tokenizer.bin", "openvino_detokenizer.bin")
    return all(filecmp.cmp(folder / name, other / name, shallow=False) for name in names)


def _head(order: ModelOrder, fetched: Fetched, info: SourceInfo, job: Job, target: Prepared | None) -> Prepared:
    if target is None:
        raise ExportError(
            "{order} is an EAGLE-3 head, no model by itself: name its target, and it with --draft.", order=order.name
        )
    names = (target.order.name, order.name)
    with job.progress.step(f"Comparing {order.recipe.title} with its model") as advance:
        convert.require_head_fits(fetched.path, target.fetched.path, names, code=target.order.code)
        has_own = (fetched.path / vocabulary.FILE_NAME).is_file()
        tokenizer = convert.load_tokenizer(fetched.path) if has_own else target.tokenizer
        converted = _convert_tokenizer(order, fetched, tokenizer, job, advance, target) if has_own else target.converted
    return Prepared(order, fetched, info, tokenizer, converted, head_of=target.fetched.path)


def require_same_vocabulary(target: Prepared, draft: Prepared) -> int:
    """Return how many ids the two tokenizers share. Raises MismatchedDraftError, which names the first difference.

    Rows of the weights beyond the vocabulary are padding and do not count.
    """
    first, second = (vocabulary.read(model.converted.folder) for model in (target, draft))
    difference = vocabulary.first_difference(first, second)
    if difference is not None:
        raise MismatchedDraftError(
            "{draft} cannot draft for {target}: id {id} is {first} in {target} "
            "but {second} in {draft}; choose a draft with the same vocabulary.",
            draft=draft.order.name,
            target=target.order.name,
            id=difference.id,
            first=_quoted(difference.first),
            second=_quoted(difference.second),
        )
    return len(first)


def _quoted(token: str | None) -> str:
    return "nothing" if token is None else repr(token)
