"""The export itself, step by step: look, fetch, convert, compress, check, describe, move into place."""

import errno
import filecmp
import gc
import importlib.metadata
import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zipfile import Path as ZipPath

import msgspec
import numpy as np

import headstart
from headstart import paths
from headstart.errors import ExportError, MismatchedDraftError, NotEnoughSpaceError
from headstart.library import manifest, vocabulary
from headstart_export import (
    adapter,
    answers,
    convert,
    draft_vocab,
    embedding,
    gguf_import,
    gguf_model,
    head_graph,
    quality,
    quantize,
    sources,
    table,
    tokenizer_proof,
    weights,
    workspace,
)
from headstart_export.answers import Text
from headstart_export.head_graph import HeadWeights
from headstart_export.progress import Advance, Progress, megabytes, of_nncf
from headstart_export.recipe import AS_IN_FILE, DEFAULT_WEIGHTS, ModelOrder, ModelRecipe, Order, PairOrder, Sampling
from headstart_export.recipe import folder as recipes_folder
from headstart_export.sources import Fetched
from headstart_export.weights import Facts
from headstart_export.workspace import Workspace

TOKEN_KEYS = ("bos_token_id", "eos_token_id", "pad_token_id")  # of config.json and generation_config.json
ENDS_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<eos>", "</s>")
CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "seq_length", "max_sequence_length")
PACKAGES = ("openvino", "openvino-tokenizers", "nncf", "optimum-intel", "transformers", "tokenizers", "torch", "gguf")
_STEPS = 8  # get, tokenizer, load, read, convert, compress, check, describe: what the progress counts of each model
_IMPORT_STEPS = 4  # get, tokenizer, convert, describe
_CHECK_STEPS = 3  # tokenizer, read, check
_VERIFYING = 6  # compare files, get, tokenizer, load, read, check
FULL = 1 << 20  # a disk with fewer free bytes is what made a write fail


@dataclass(frozen=True)
class Job:
    """The place of an export's work, and the reporter of its progress."""

    space: Workspace
    cache: Path
    progress: Progress


@dataclass(frozen=True)
class Converted:
    """A tokenizer's own files and its OpenVINO models in a folder, proven on so many texts.

    `tail` is what its chat template puts behind an answer.
    """

    folder: Path
    texts: int
    tail: str


@dataclass(frozen=True)
class Prepared:
    """A model whose weights are here and may be used, with its tokenizer.

    `head_of`: where its target's weights are, if it is an EAGLE-3 head. `vectors`: how it makes them, if it writes
    nothing. `lora`: what is merged into its weights.
    """

    order: ModelOrder
    fetched: Fetched
    facts: Facts
    tokenizer: Any
    converted: Converted
    head_of: Path | None = None
    vectors: embedding.Recipe | None = None
    lora: adapter.Adapter | None = None
    is_imported: bool = False  # from a GGUF file, by the short way


@dataclass(frozen=True)
class Half:
    """A converted model with 16-bit weights; logits of its source on the text `ids`. `width`: as in `quality.run`."""

    folder: Path
    reference: Path
    ids: list[int]
    width: int


def export(
    order: Order, output: Path, cache: Path, progress: Progress, *, force: bool, defers_checks: bool = False
) -> Path:
    """Build what is ordered into a folder. Raises HeadstartError; whatever happens, nothing half done stays.

    `defers_checks`: leave out the proofs of a model from a GGUF file, which its manifest then says; see `check`.
    """
    for model in (order.target, order.draft) if isinstance(order, PairOrder) else (order,):
        if not model.may_be_imported:
            gguf_import.require_exporter(model.recipe.title)
    progress.expect(_steps(order) + 1)
    with opened(order, output, cache, progress, force=force) as job:
        found = prepare(order.target if isinstance(order, PairOrder) else order, job)
        progress.expect(_steps(order, found) - _steps(order))
        if isinstance(order, PairOrder):
            _export_pair(order, found, job)
        elif found.vectors:
            _build_embedding(found, found.vectors, job)
        else:
            build(found, job.space.result, job)
    if not defers_checks:
        check(output, cache, progress)
    progress.finish()
    return output


def _steps(order: Order, known: Prepared | None = None) -> int:
    """Return the steps of an export. `known`: its target, or only model; None: unprepared, so each step counts."""
    if known and known.vectors:
        return 2
    writes = writes_answers(order, known)
    if isinstance(order, PairOrder):
        ranking = _is_ranked(order, known)
        writing = ranking and _is_imported(order.target, known)  # the steps of other targets have it
        return _model_steps(order.target, known, writes=writes) + writing + _model_steps(order.draft) + ranking
    return _model_steps(order, known, writes=writes)


def _model_steps(order: ModelOrder, known: Prepared | None = None, *, writes: bool = False) -> int:
    if _is_imported(order, known):
        return _IMPORT_STEPS + _has_head(order)
    if order.role == "draft":
        return _STEPS
    return _STEPS + writes * (1 + order.calibrated) + _has_head(order)


def writes_answers(order: Order, known: Prepared | None = None) -> bool:
    """Tell whether the target, or only model, writes: to calibrate INT4, to rank a draft's tokens, or for its table."""
    if known and not known.tokenizer.chat_template:
        return False
    if isinstance(order, PairOrder):
        return order.target.calibrated or order.draft.calibrated or _is_ranked(order, known)
    return order.role != "draft" and (order.calibrated or _has_table(order))


def _is_ranked(order: PairOrder, target: Prepared | None) -> bool:
    return not order.draft_tokens and 0 < order.draft_vocab < (len(target.tokenizer) if target else math.inf)


def _has_table(order: Order) -> bool:
    """Tell whether a model has nothing that guesses better than a table of usual words."""
    return not isinstance(order, PairOrder) and not _has_head(order)


def _has_head(order: ModelOrder) -> bool:
    """Tell whether to add the recipe's head, which knows the states of the model without an adapter."""
    return bool(order.recipe.head) and order.role != "draft" and not order.adapter


def _is_imported(order: ModelOrder, known: Prepared | None) -> bool:
    return known.is_imported if known else order.may_be_imported


def _build_embedding(model: Prepared, recipe: embedding.Recipe, job: Job) -> None:
    """A model that turns texts into vectors."""
    folder, order = job.space.result, model.order
    with job.progress.step(f"Converting {order.recipe.title}, and proving it"):
        found = embedding.build(
            model.fetched.path, recipe, order.weights, job.space.scratch / "half", folder, order.int4
        )
        precision = quantize.read_back(folder / convert.MODEL_FILE)
        quantize.require(quantize.MODES.get(order.weights), precision)
    files = manifest.hash_files(folder)
    size = sum(file.size for file in files.values())
    known = manifest.TokenizerSpec(vocabulary.fingerprint(folder), len(vocabulary.read(folder)), ())
    written = manifest.Manifest(
        name=order.name,
        role="any",
        source=model.fetched.source,
        licence=order.recipe.licence or model.facts.licence or "unknown",
        architecture=_config(folder)["architectures"][0],
        parameters=model.facts.parameters,
        precision=precision,
        tokenizer=known,
        logit_rows=0,
        context_length=recipe.length,
        size_bytes=size,
        ram_bytes=size,
        kv_bytes_per_token=0,
        quality=None,
        files=files,
        versions=_versions(),
        created=_now(),
        kind="embedding",
        notes=order.recipe.notes,
        embedding=found,
    )
    manifest.write(folder, written)
    job.progress.note(
        f"{order.name}: {precision.weights}, {megabytes(size)} on disk, {found.dimensions} dimensions; "
        f"its vectors agree with those of its source (least cosine {found.agreement:.4f})"
    )


@contextmanager
def opened(order: Order, output: Path, cache: Path, progress: Progress, *, force: bool) -> Iterator[Job]:
    """Make room for an order; what is built in `space.result` becomes the output if nothing is raised."""
    workspace.refuse_existing(output, replace=force)
    workspace.clean_leftovers(output)
    workspace.require_room(order, output, cache)
    with workspace.opened(output, replace=force) as space, _full_disk_as_sentence(output, cache):
        yield Job(space, cache, progress)
        with progress.step("Moving it into place"):
            space.move_into_place()


def _export_pair(order: PairOrder, target: Prepared, job: Job) -> None:
    draft = prepare(order.draft, job, target)
    if draft.head_of and order.draft_vocab:
        raise ExportError(
            "{order} guesses among the tokens that it was made for: leave out --draft-vocab.", order=draft.order.name
        )
    shared = _require_agreement(target, draft)
    if _stored(draft) >= _stored(target):
        job.progress.note(
            f"Warning: the draft {draft.order.name} is as large as its target or larger, so guessing with it cannot "
            "save time. Take a smaller draft, or none."
        )
    target_folder, draft_folder = (job.space.result / name for name in (manifest.TARGET_FOLDER, manifest.DRAFT_FOLDER))
    texts = build(target, target_folder, job, order)
    shortlist = _list_tokens(target, order, texts, draft_folder, job)
    build(draft, draft_folder, job, order, shortlist, texts)
    manifest.write(job.space.result, manifest.PairManifest(order.name, shared, _now()))


def _stored(model: Prepared) -> float:
    """Bytes of its weights in the result, about: what each of its steps reads."""
    return model.facts.parameters * workspace.STORED[model.order.weights]


def prepare(order: ModelOrder, job: Job, target: Prepared | None = None) -> Prepared:
    """Fetch a model and look at it. `target`: what it is to draft for, which an EAGLE-3 head cannot be without."""
    merged = adapter.inspect(order.adapter) if order.adapter else None
    fetched = sources.fetch(order.recipe, job.cache, job.progress, code=order.code)
    sources.require_same(fetched.source, job.space.output)
    facts = weights.inspect(fetched.path, code=order.code or order.recipe.native)
    if merged and (facts.head or embedding.is_one(fetched.path)):
        raise ExportError("{name} writes nothing, so no adapter can be merged into it.", name=order.name)
    if facts.head:
        return _head(order, fetched, facts, job, target)
    if embedding.is_one(fetched.path):
        if target or order.role == "target":
            raise ExportError(
                "{name} turns texts into vectors: it writes nothing, and is no part of a pair.", name=order.name
            )
        return Prepared(
            order, fetched, facts, None, Converted(fetched.path, 0, ""), vectors=embedding.understand(fetched.path)
        )
    for note in facts.notes:
        job.progress.note(note)
    is_imported = gguf_import.takes(order, fetched.path)
    if not is_imported:
        gguf_import.require_exporter(order.recipe.title)
        workspace.require_memory(order.name, workspace.memory(order, facts.parameters, is_imported=False))
        if facts.is_stretched:
            raise ExportError(
                "{name} scales its positions, which is lost when a GGUF file is read; use the model's Hugging Face "
                "folder or hub id instead.",
                name=fetched.path.name,
            )
        if order.weights == AS_IN_FILE:
            order = msgspec.structs.replace(order, weights=DEFAULT_WEIGHTS)
    proving = "" if is_imported else ", and proving it"
    with job.progress.step(f"Converting the tokenizer of {order.recipe.title}{proving}") as advance:
        tokenizer = _tokenizer(order, fetched, facts)
        if order.role != "draft" and not tokenizer.chat_template:
            job.progress.note(
                f"{order.name} has no chat template, so it is a base model: it continues texts (/v1/completions of the "
                "local server), but cannot chat. If you know its template, add --template FILE."
            )
        converted = _converted(order, fetched, tokenizer, job, advance, target, is_proven=not is_imported)
    return Prepared(order, fetched, facts, tokenizer, converted, lora=merged, is_imported=is_imported)


def _tokenizer(order: ModelOrder, fetched: Fetched, facts: Facts) -> Any:
    """The source's, with the chat template that was ordered."""
    tokenizer = convert.load_tokenizer(fetched.path)
    if facts.is_gguf:
        tokenizer_proof.require_round_trip(tokenizer, fetched.path.name)
    if order.template:
        tokenizer.chat_template = order.template
    return tokenizer


def _converted(
    order: ModelOrder,
    fetched: Fetched,
    tokenizer: Any,
    job: Job,
    advance: Advance,
    target: Prepared | None,
    *,
    is_proven: bool = True,
) -> Converted:
    """Convert a tokenizer, and prove it unless `check` does that later.

    The texts of a tokenizer that is its target's but for the template are proven already.
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
        return Converted(folder, 0, chat.tail if chat else "")
    known = target.converted.texts if target and _is_equal(folder, target.converted.folder) else 0
    source = folder if fetched.path.is_file() else fetched.path
    texts = tokenizer_proof.prove(folder, source, tokenizer, chat, advance, known=known)
    return Converted(folder, texts, chat.tail if chat else "")


def _is_equal(folder: Path, other: Path) -> bool:
    """Tell whether two tokenizers are the same. Graphs are numbered on within a process, so they are not compared."""
    names = (vocabulary.FILE_NAME, "openvino_tokenizer.bin", "openvino_detokenizer.bin")
    return all(filecmp.cmp(folder / name, other / name, shallow=False) for name in names)


def _head(order: ModelOrder, fetched: Fetched, facts: Facts, job: Job, target: Prepared | None) -> Prepared:
    if target is None:
        raise ExportError(
            "{order} is an EAGLE-3 head, no model by itself: name its target, and it with --draft.", order=order.name
        )
    names = (target.order.name, order.name)
    with job.progress.step(f"Comparing {order.recipe.title} with its model") as advance:
        convert.require_head_fits(fetched.path, target.fetched.path, names, code=target.order.code)
        has_own = (fetched.path / vocabulary.FILE_NAME).is_file()
        tokenizer = convert.load_tokenizer(fetched.path) if has_own else target.tokenizer
        converted = _converted(order, fetched, tokenizer, job, advance, target) if has_own else target.converted
    return Prepared(order, fetched, facts, tokenizer, converted, head_of=target.fetched.path)


def _list_tokens(
    target: Prepared, order: PairOrder, texts: list[Text], folder: Path, job: Job
) -> manifest.Shortlist | None:
    """Write the tokens that the target uses most into the draft's folder; None where the draft is to guess all."""
    rows = order.draft_vocab
    if not 0 < rows < len(target.tokenizer):
        return None
    if order.draft_tokens:
        tokens = draft_vocab.committed(recipes_folder() / "draft_vocab" / f"{order.draft_tokens}.npy")
    elif texts:
        with job.progress.step("Ranking the tokens that the target writes"):
            counts = np.load(_counts(job))
            tokens = draft_vocab.rank(target.tokenizer, counts, draft_vocab.texts_at_hand())
    else:
        raise ExportError("The target writes no texts whose tokens could be counted; --draft-vocab full does without.")
    folder.mkdir(exist_ok=True)
    draft_vocab.write(tokens, rows, folder)
    return manifest.Shortlist(draft_vocab.FILE_NAME, rows)


def build(
    model: Prepared,
    folder: Path,
    job: Job,
    pair: PairOrder | None = None,
    shortlist: manifest.Shortlist | None = None,
    target_texts: Sequence[Text] = (),
) -> list[Text]:
    """Convert, compress, check and describe one model into `folder`; return what it wrote.

    `pair`: what it is a part of. `target_texts`: what its target wrote, if it is a draft.
    """
    folder.mkdir(exist_ok=True)
    if model.is_imported:
        _import(model, folder, job, shortlist)
        is_ranking = pair and model.order.role != "draft" and _is_ranked(pair, model)
        return _have_it_write(folder, model.facts.parameters, job, only_few=True) if is_ranking else []
    half = _convert(model, job)
    for name in ("config.json", "generation_config.json"):
        if (half.folder / name).is_file():
            (half.folder / name).rename(folder / name)
    shutil.copytree(model.converted.folder, folder, dirs_exist_ok=True)
    stop_ids = settle_generation(
        folder, model.tokenizer, model.order.recipe, model.converted.tail, job.progress.note, model.facts
    )
    has_table = _has_table(pair or model.order)
    writes = model.order.role != "draft" and writes_answers(pair or model.order, model)
    first = writes and model.order.calibrated
    texts: list[Text] = []
    if first:  # INT8 is close enough to the source to write what INT4 is calibrated on
        _compress_to(msgspec.structs.replace(model.order, weights="int8"), half, folder, (), job)
        texts = _have_it_write(folder, model.facts.parameters, job, only_few=not has_table)
    read = [prompt + answer for prompt, answer in texts or target_texts] if not half.width else []
    precision, answer = _compress(model.order, half, folder, read, job)
    shutil.rmtree(half.folder)
    if writes and not first:
        texts = _have_it_write(folder, model.facts.parameters, job, only_few=not has_table)
    with job.progress.step("Describing the result"):
        counted = table.make(texts, folder) if texts and has_table else None
        written = _write_manifest(folder, model, precision, answer, stop_ids, shortlist, counted)
        manifest.write(folder, written)
    job.progress.note(_in_a_line(written, answer.agreement))
    if model.order.role != "draft" and answer.agreement < quality.FLOOR:
        job.progress.note(_warning(written, answer.agreement))
    if _has_head(model.order):
        _add_head(model, folder, written, job)
    return texts


def _import(model: Prepared, folder: Path, job: Job, shortlist: manifest.Shortlist | None) -> None:
    """Convert and describe a model from a GGUF file; it is not checked yet."""
    source, form = model.fetched.path, gguf_import.best_form(model.order)
    if model.order.weights == AS_IN_FILE != form:
        job.progress.note(
            f"{model.order.name} gets {form} weights: the blocks of its file are faster only with Headstart's own "
            "kernels, which do not run here."
        )
    with job.progress.step(f"Converting {model.order.recipe.title}", in_bytes=True) as advance:
        gguf_import.convert_model(source, folder, form, advance)
    shutil.copytree(model.converted.folder, folder, dirs_exist_ok=True)
    stop_ids = settle_generation(
        folder, model.tokenizer, model.order.recipe, model.converted.tail, job.progress.note, model.facts
    )
    with job.progress.step("Describing the result"):
        precision = quantize.read_back(folder / convert.MODEL_FILE)
        estimate = (folder / "openvino_model.bin").stat().st_size
        described = _write_manifest(folder, model, precision, quality.Answer(None, estimate), stop_ids, shortlist, None)
        described = replace(
            described,
            tokenizer=replace(described.tokenizer, proof=None),
            source=replace(
                described.source, sha256=described.source.sha256 or manifest.hash_file(source), path=str(source)
            ),
            is_checked=False,
        )
        manifest.write(folder, described)
    job.progress.note(f"{described.name}: {precision.weights}, {megabytes(described.size_bytes)} on disk")
    if _has_head(model.order):
        _add_head(model, folder, described, job)


def _lean_file(head: str) -> Path | ZipPath:
    """Return what a head learned. An installed program has it once, in the wheel that comes with it."""
    place = f"heads/{head}/{head_graph.LEAN_FILE}"
    wheel = paths.bundled_wheel()
    return ZipPath(wheel, f"{__package__}/recipes/{place}") if wheel else recipes_folder() / place


def _add_head(model: Prepared, folder: Path, written: manifest.Manifest, job: Job) -> None:
    """Build the head that the recipe names, as a part of the model in `folder`."""
    with job.progress.step(f"Adding the head of {model.order.recipe.title}"):
        try:
            head = head_graph.load_lean(_lean_file(str(model.order.recipe.head)), folder)
        except (ExportError, OSError, BadZipFile) as error:  # of the wheel
            job.progress.note(f"{error} {written.name} goes without it.")
            return
        place = folder / manifest.HEAD_FOLDER
        place.mkdir()
        head_graph.save(head, place / convert.MODEL_FILE)
        describe_head(head, place, written)
        manifest.write(folder, replace(written, files=manifest.hash_files(folder)))


def describe_head(
    head: HeadWeights, folder: Path, target: manifest.Manifest, learned: manifest.LearnedHead | None = None
) -> None:
    """Write the manifest of a Hydra head beside its graph."""
    files = manifest.hash_files(folder)
    size = sum(file.size for file in files.values())
    described = replace(
        target,
        name=f"{target.name}-head",
        role="draft",
        source=replace(target.source, path=None),
        is_checked=True,
        architecture=manifest.HYDRA,
        parameters=head.parameters,
        precision=manifest.Precision("int8", "int8_sym"),
        logit_rows=len(head.chosen),
        size_bytes=size,
        ram_bytes=size,
        kv_bytes_per_token=0,
        quality=None,
        files=files,
        versions=_versions(),
        created=_now(),
        shortlist=None,
        table=None,
        learned=learned,
        adapter=None,
        notes=(),
    )
    manifest.write(folder, described)


def _have_it_write(folder: Path, parameters: int, job: Job, *, only_few: bool) -> list[Text]:
    """Return the model's answers to as many prompts as its size permits; nothing where OpenVINO cannot run it so."""
    try:
        with job.progress.step("Having the model write, to count what it usually says") as advance:
            return answers.written(folder, parameters, _counts(job), advance, only_few=only_few)
    except ExportError as error:
        job.progress.note(f"{error} It goes without what is made of them.")
        return []


def _counts(job: Job) -> Path:
    """The file of `answers.Counts`."""
    return job.space.scratch / "counts.npy"


def _convert(model: Prepared, job: Job) -> Half:
    folder, reference = job.space.scratch / "half", job.space.scratch / "reference.npy"
    ids = quality.text_ids(model.tokenizer)
    loaded, width = _read_reference(model, ids, reference, job)
    with job.progress.step("Converting to OpenVINO"):
        convert.to_openvino(loaded, folder)
    del loaded
    gc.collect()
    return Half(folder, reference, ids, width)


def _read_reference(model: Prepared, ids: list[int], reference: Path, job: Job) -> tuple[Any, int]:
    """Return the source as a PyTorch model, and the width as `quality.run` takes it."""
    source, code, width = model.fetched.path, model.order.code, 0
    with job.progress.step(f"Loading {model.order.recipe.title}") as advance:
        if model.head_of:
            loaded = convert.load_head(source, model.head_of, code=code)
            width = convert.HEAD_READS * int(loaded.config.hidden_size)
        else:
            loaded = convert.load_weights(source, advance, code=code)
        if model.lora:
            adapter.merge(model.lora, loaded, model.order.recipe.title)
    with job.progress.step("Reading the test text with the source model") as advance:
        further = {"hidden_states": quality.hidden_states(len(ids), width)} if width else {}
        quality.write_reference(loaded, ids, reference, further, advance)
    return loaded, width


def _compress(
    order: ModelOrder, half: Half, folder: Path, texts: list[list[int]], job: Job
) -> tuple[manifest.Precision, quality.Answer]:
    """Compress and check; where INT4 is not good enough, with fewer and fewer of the layers in INT4."""
    searched = order.role != "draft" and order.weights == quantize.INT4 and order.int4.ratio is None
    ratios = quantize.RATIOS if searched else (order.int4.ratio,)
    for ratio in ratios:
        if ratio != ratios[0]:
            job.progress.expect(2)
        order = msgspec.structs.replace(order, int4=replace(order.int4, ratio=ratio))
        precision = _compress_to(order, half, folder, texts, job)
        with job.progress.step("Checking the result against its source") as advance:
            answer = quality.run(folder, half.reference, half.ids, half.width, advance)
        if answer.agreement >= quality.FLOOR:
            break
    return replace(precision, activation_group=answer.activation_group), answer


def _compress_to(
    order: ModelOrder, half: Half, folder: Path, texts: Sequence[list[int]], job: Job
) -> manifest.Precision:
    ratio = order.int4.ratio or 1.0
    mixed = f", {1 - ratio:.0%} of them to int8" if ratio < 1 and order.weights == quantize.INT4 else ""
    with job.progress.step(f"Compressing the weights to {order.weights}{mixed}") as advance, of_nncf(advance):
        target = folder / convert.MODEL_FILE
        quantize.compress(half.folder / convert.MODEL_FILE, order.weights, target, int4=order.int4, texts=texts)
        precision = quantize.read_back(target)
        quantize.require(quantize.MODES.get(order.weights), precision)
    return precision


def _write_manifest(
    folder: Path,
    model: Prepared,
    precision: manifest.Precision,
    answer: quality.Answer,
    stop_ids: tuple[int, ...],
    shortlist: manifest.Shortlist | None,
    counted: manifest.TableSpec | None,
) -> manifest.Manifest:
    """Hash the folder's files and write `manifest.json`."""
    config, order, facts = _config(folder), model.order, model.facts
    contexts = [config[key] for key in CONTEXT_KEYS if isinstance(config.get(key), int)]
    if not contexts:
        raise ExportError("The model's config.json does not say how long its context is, so it cannot be used.")
    rows, kv_bytes = quantize.shapes(folder / convert.MODEL_FILE)
    files = manifest.hash_files(folder)
    result = manifest.Manifest(
        name=order.name,
        role=order.role,
        source=model.fetched.source,
        licence=order.recipe.licence or facts.licence or "unknown",
        architecture=config["architectures"][0],
        parameters=facts.parameters,
        precision=precision,
        tokenizer=manifest.TokenizerSpec(
            vocabulary.fingerprint(folder), len(vocabulary.read(folder)), stop_ids, model.converted.texts
        ),
        logit_rows=rows,
        context_length=contexts[0],
        size_bytes=sum(file.size for file in files.values()),
        ram_bytes=answer.ram_bytes,
        kv_bytes_per_token=kv_bytes,
        quality=replace(answer.quality, against="gguf" if facts.is_gguf else "weights") if answer.quality else None,
        files=files,
        versions=_versions(),
        created=_now(),
        notes=(*order.recipe.notes, *(["Its chat template was given with --template."] if order.template else [])),
        shortlist=shortlist,
        table=counted,
        adapter=model.lora.described if model.lora else None,
    )
    manifest.write(folder, result)
    return result


def check(folder: Path, cache: Path, progress: Progress) -> None:
    """Make the checks that an import into `folder` left for later. Raises ExportError, and FailedCheckError.

    A model that fails is used no more; its manifest says why.
    """
    pair = manifest.read(folder)
    folders = [folder / pair.target, folder / pair.draft] if isinstance(pair, manifest.PairManifest) else [folder]
    parts = {part: manifest.read_model(part) for part in folders}
    progress.expect(_CHECK_STEPS * sum(not recorded.is_checked for recorded in parts.values()))
    with (
        workspace.opened(cache / f"check-{pair.name}", replace=False) as space,
        _full_disk_as_sentence(folder, cache),
    ):
        proven = None
        for part, recorded in parts.items():
            if not recorded.is_checked:
                proven = _check_part(part, proven, Job(space, cache, progress), is_alone=len(parts) == 1).tokenizer
            else:
                proven = recorded.tokenizer


def _check_part(folder: Path, proven: manifest.TokenizerSpec | None, job: Job, *, is_alone: bool) -> manifest.Manifest:
    """Check one model, and make its table of usual words if it is no part of a pair. `proven`: a proven tokenizer."""
    recorded = gguf_import.check(folder, job.space, job.progress, proven)
    sources.drop(recorded.source, job.cache)
    if is_alone and manifest.TABLE_FILE not in recorded.files:
        recorded = _add_table(folder, recorded, job)
    if recorded.quality:
        agreement = recorded.quality.top1_agreement
        job.progress.note(_in_a_line(recorded, agreement))
        if recorded.role != "draft" and agreement < quality.FLOOR:
            job.progress.note(_warning(recorded, agreement))
    return recorded


def _add_table(folder: Path, recorded: manifest.Manifest, job: Job) -> manifest.Manifest:
    """Have a model that chats, and has nothing better to guess with, write its table of usual words."""
    if manifest.head_folder(folder) or not convert.load_tokenizer(folder).chat_template:
        return recorded
    job.progress.expect(1)
    texts = _have_it_write(folder, recorded.parameters, job, only_few=False)
    if not texts:
        return recorded
    counted = table.make(texts, folder)
    files = manifest.hash_files(folder)
    recorded = replace(recorded, table=counted, files=files, size_bytes=sum(file.size for file in files.values()))
    manifest.write(folder, recorded)
    return recorded


@dataclass(frozen=True)
class Verified:
    """A finished model's proofs of today. `texts` agree; `quality` was measured anew, as was `agreement`."""

    name: str
    texts: int
    quality: manifest.Quality | None
    agreement: float


def verify(order: Order, folder: Path, cache: Path, progress: Progress) -> list[Verified]:
    """Prove the finished model or pair in `folder` against its source again. Raises HeadstartError where it differs."""
    pair = manifest.read(folder)
    if isinstance(pair, manifest.PairManifest) != isinstance(order, PairOrder):
        raise ExportError(
            "{name} and the source are not both a pair; name the recipe of the pair, or its two sources with --against "
            "and --draft.",
            name=pair.name,
        )
    progress.expect(2 * _VERIFYING if isinstance(order, PairOrder) else _VERIFYING)
    with workspace.opened(cache / f"verify-{pair.name}", replace=False) as space:
        job = Job(space, cache, progress)
        if not isinstance(order, PairOrder):
            return [_verify(_compared(order, folder, job), job)]
        target = _compared(order.target, folder / manifest.TARGET_FOLDER, job)
        draft = _compared(order.draft, folder / manifest.DRAFT_FOLDER, job, target)
        _require_agreement(target, draft)
        return [_verify(target, job), _verify(draft, job)]


def _compared(order: ModelOrder, folder: Path, job: Job, target: Prepared | None = None) -> Prepared:
    """A source beside the finished model in `folder`, whose files and tokenizer are proven."""
    recorded = manifest.read_model(folder)
    merged = adapter.inspect(order.adapter) if order.adapter else None
    if (merged.described if merged else None) != recorded.adapter:
        raise ExportError(
            "{name} was exported with {made}; name the same with --adapter.",
            name=recorded.name,
            made=f"the adapter {recorded.adapter.id}" if recorded.adapter else "no adapter, or another one",
        )
    with job.progress.step(f"Comparing the files of {recorded.name} with their hashes"):
        for fault in manifest.damaged_files(folder, recorded, hashes=True):
            raise ExportError("{fault} Export the model again.", fault=fault)
    fetched = sources.fetch(order.recipe, job.cache, job.progress, code=order.code)
    sources.require_same(fetched.source, folder)
    facts = weights.inspect(fetched.path, code=order.code or order.recipe.native)
    if facts.head and target:  # it has its target's tokenizer, or one like it
        job.progress.expect(-1)
        at = target.fetched.path
        return Prepared(
            order, fetched, facts, target.tokenizer, Converted(folder, target.converted.texts, ""), head_of=at
        )
    with job.progress.step(f"Proving the tokenizer of {recorded.name}") as advance:
        tokenizer = _tokenizer(order, fetched, facts)
        source = fetched.path
        if facts.is_gguf:
            source = job.space.scratch / f"{order.role}-source"
            tokenizer.save_pretrained(source)
        chat = tokenizer_proof.render(tokenizer)
        texts = tokenizer_proof.prove(folder, source, tokenizer, chat, advance)
    converted = Converted(folder, texts, chat.tail if chat else "")
    is_imported = gguf_import.takes(order, fetched.path)
    if is_imported:
        job.progress.expect(-1)  # it is read in one step
    else:
        gguf_import.require_exporter(order.recipe.title)
    return Prepared(order, fetched, facts, tokenizer, converted, lora=merged, is_imported=is_imported)


def _verify(model: Prepared, job: Job) -> Verified:
    folder, reference = model.converted.folder, job.space.scratch / "reference.npy"
    recorded = manifest.read_model(folder)
    quantize.require(recorded.precision.mode, quantize.read_back(folder / convert.MODEL_FILE))
    ids = quality.text_ids(model.tokenizer)
    if model.is_imported:
        reference, width = gguf_import.write_reference(model.fetched.path, ids, job.space, job.progress), 0
        rows = gguf_model.inspect(model.fetched.path).vocabulary
    else:
        loaded, width = _read_reference(model, ids, reference, job)
        rows = int(loaded.config.vocab_size)
        del loaded
        gc.collect()
    if rows != recorded.logit_rows and not model.head_of:
        raise ExportError(
            "{name} is not what its source is: it chooses among {found} tokens, and its source among {rows}. Name the "
            "source that it was made from, or export it again.",
            name=recorded.name,
            found=recorded.logit_rows,
            rows=rows,
        )
    with job.progress.step("Checking the result against its source") as advance:
        answer = quality.run(folder, reference, ids, width, advance)
    found, before = answer.quality, recorded.quality
    if found and before and found.mean_kl > quality.WORSE * before.mean_kl + quality.UNLIKE:
        raise ExportError(
            "{name} is not what its source is: they differ by {found} nats a token (KL) and not by {before} as when it "
            "was exported. Name the source that it was made from, or export it again.",
            name=recorded.name,
            found=f"{found.mean_kl:.4f}",
            before=f"{before.mean_kl:.4f}",
        )
    return Verified(recorded.name, model.converted.texts, found, answer.agreement)


def _in_a_line(model: manifest.Manifest, agreement: float) -> str:
    """One line for the user on a finished model. `agreement`: as in `quality.Answer`."""
    sizes = f"{megabytes(model.size_bytes)} on disk, {megabytes(model.ram_bytes)} in memory"
    quality, precision = model.quality, model.precision
    mixed = f" ({precision.ratio:.0%} of its layers' weights)" if (precision.ratio or 1) < 1 else ""
    against, found = "its source", "the places where it was tried with made-up hidden states"
    if quality:
        against = quality.measure
        alone = f", and {quality.weights_kl or 0:.4f} without the processor's dynamic quantization"
        found = (
            f"{quality.tokens} tokens (KL {quality.mean_kl:.4f}{'' if quality.weights_kl is None else alone}; "
            f"perplexity x {quality.perplexity_ratio:.3f})"
        )
    merged = f" with the adapter {model.adapter.id}" if model.adapter else ""
    stored = f"{model.name}: {precision.weights}{mixed}, {sizes}"
    return f"{stored}; agrees with {against}{merged} on {agreement:.1%} of {found}"


def _warning(model: manifest.Manifest, agreement: float) -> str:
    """Return advice about a model that is not good enough."""
    better = "int8" if model.precision.weights.startswith(quantize.INT4) else "fp16"
    remedy = "take another model" if model.precision.weights == "fp16" else f"export it again with --weights {better}"
    return (
        f"Warning: {model.name} agrees with its source on {agreement:.1%} of the tokens, below {quality.FLOOR:.0%}, so "
        f"its answers may be worse; {remedy}."
    )


def settle_generation(
    folder: Path,
    tokenizer: Any,
    recipe: ModelRecipe,
    tail: str,
    note: Callable[[str], None],
    facts: Facts | None = None,
) -> tuple[int, ...]:
    """Return every id that must end an answer, the chat's own marker first, and `note` a word among them.

    `tail`: what the chat template puts behind an answer. `facts`: of the source; the ids of a GGUF file count, because
    the configuration that is made of it has those that are usual for its architecture. `generation_config.json` learns
    the ids, and how the recipe, or else the file, has the model sampled. Raises ExportError for an id of no token.
    """
    path = folder / "generation_config.json"
    generation = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    words = vocabulary.read(folder)
    ends: Sequence[int] | None = facts.ends if facts else None
    if ends is None:
        configs = {path.name: generation, "config.json": _config(folder)}
        ends = [index for file, data in configs.items() for index in _require_tokens(file, data, words)]
    else:
        generation = {key: value for key, value in generation.items() if key not in TOKEN_KEYS}
    known = {token.content: index for index, token in tokenizer.added_tokens_decoder.items()}
    specials = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    chat_ends = sorted((token for token in specials if tail.startswith(token)), key=len)[-1:]
    for token in recipe.chat.stop:
        if token not in known:
            raise ExportError(
                "The recipe says {token} ends an answer, but the tokenizer has no such token.", token=token
            )
    ids = [known[token] for token in (*recipe.chat.stop, *chat_ends)]
    ids += [*ends, *_listed(tokenizer.eos_token_id), *(known[token] for token in ENDS_OF_TEXT if token in specials)]
    unique = tuple(dict.fromkeys(ids))
    if not unique:
        raise ExportError(
            "Neither the model nor its chat template says which token ends an answer, so it cannot be used."
        )
    marks = {*specials, *ENDS_OF_TEXT, *recipe.chat.stop}
    for index in unique:
        if words.get(index) not in marks and not tail.startswith(words.get(index, "")):
            word = tokenizer.decode([index]).strip()
            note(
                f"Warning: the word {word!r} ends an answer, as {recipe.title} says (token {index}). If answers break "
                "off, take another source of the model."
            )
    generation["eos_token_id"] = list(unique)
    if sampling := msgspec.to_builtins(recipe.sampling) or dict(facts.sampling if facts else ()):
        generation = {name: value for name, value in generation.items() if name not in Sampling.__struct_fields__}
        generation |= {"do_sample": True, **sampling}
    path.write_text(json.dumps(generation, indent=2) + "\n", encoding="utf-8")
    return unique


def _require_tokens(file: str, data: dict[str, Any], words: Mapping[int, str]) -> list[int]:
    """Return the ids that end an answer. Raises ExportError unless this and other marks are tokens."""
    for key in TOKEN_KEYS:
        for index in _listed(data.get(key)):
            if type(index) is not int or index not in words:
                raise ExportError(
                    "{file} says that {key} is {index!r}, but the vocabulary has no such token; correct the file, or "
                    "fetch the model again.",
                    file=file,
                    key=key,
                    index=index,
                )
    return _listed(data.get("eos_token_id"))


def _listed(value: Any) -> list[Any]:
    """Return ids that are written as one, as several, or as none."""
    return value if isinstance(value, list) else [] if value in (None, -1) else [value]


def _config(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return data


def _require_agreement(target: Prepared, draft: Prepared) -> int:
    """Return how many ids the two tokenizers share. Raises MismatchedDraftError naming the first that differs.

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
            first=_shown(difference.first),
            second=_shown(difference.second),
        )
    return len(first)


def _versions() -> dict[str, str]:
    versions = {"headstart": headstart.__version__}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):  # tokenizers and GGUF files need neither torch nor NNCF
            versions[name] = importlib.metadata.version(name)
    return versions


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _shown(token: str | None) -> str:
    return "nothing" if token is None else repr(token)


@contextmanager
def _full_disk_as_sentence(output: Path, cache: Path) -> Iterator[None]:
    """Libraries report a full disk in many words; the disk itself tells whether it was that."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, ExportError) as error:
        full = [place for place in (output.parent, cache) if place.exists() and shutil.disk_usage(place).free < FULL]
        out_of_space = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
        if full or out_of_space:
            raise NotEnoughSpaceError(
                "The disk at {place} became full; nothing half done was left. "
                "Make room and run the command again: what was fetched is kept.",
                place=full[0] if full else output.parent,
            ) from None
        raise
    except MemoryError:
        raise ExportError("The memory was used up; close other programs, or export a smaller model.") from None
