"""The export itself, step by step: look, fetch, convert, compress, check, describe, move into place."""

import errno
import gc
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headstart import manifest, vocabulary
from headstart.errors import ExportError, NotEnoughSpaceError
from headstart_export import (
    convert,
    describe,
    draft_vocab,
    eagle,
    quality,
    quantize,
    sources,
    tokenizer_proof,
    weights,
    workspace,
)
from headstart_export.describe import Findings
from headstart_export.order import ModelOrder, Order, PairOrder
from headstart_export.progress import Progress
from headstart_export.sources import Fetched
from headstart_export.weights import Facts
from headstart_export.workspace import Workspace

TEXT_LIMIT = 768  # tokens of the fixed text that quality is measured on
FULL = 1 << 20  # a disk with fewer free bytes is what made a write fail


@dataclass(frozen=True)
class Job:
    """Where an export works and whom it tells."""

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
    """A model whose weights are here and may be used, with its tokenizer; `self_draft` if it is its target's copy.

    `head_of`: where its target's weights are, if it is an EAGLE-3 head.
    """

    order: ModelOrder
    fetched: Fetched
    facts: Facts
    tokenizer: Any
    converted: Converted
    self_draft: manifest.SelfDraft | None = None
    head_of: Path | None = None


def export(order: Order, output: Path, cache: Path, progress: Progress, *, force: bool) -> Path:
    """Build what is ordered into a folder. Raises HeadstartError; whatever happens, nothing half done stays."""
    with opened(order, output, cache, progress, force=force) as job:
        if isinstance(order, PairOrder):
            _export_pair(order, job)
        else:
            build(prepare(order, job), job.space.result, job)
    return output


@contextmanager
def opened(order: Order, output: Path, cache: Path, progress: Progress, *, force: bool) -> Iterator[Job]:
    """Where an order can be carried out; what was built in `space.result` becomes the output if nothing is raised."""
    workspace.refuse_existing(output, replace=force)
    workspace.clean_leftovers(output)
    workspace.require_room(order, output, cache)
    with workspace.opened(output, replace=force) as space, _full_disk_as_sentence(output, cache):
        job = Job(space, cache, progress)
        yield job
        space.move_into_place()


def _export_pair(order: PairOrder, job: Job) -> None:
    target = prepare(order.target, job)
    if order.draft.copy:
        draft = replace(target, order=order.draft, self_draft=manifest.SelfDraft((), target.facts.layers))
    else:
        draft = prepare(order.draft, job, target)
    if draft.head_of and order.draft_vocab:
        raise ExportError(
            "{order} guesses among the tokens that it was made for: leave out --draft-vocab.", order=draft.order.name
        )
    names = (order.target.name, order.draft.name)
    shared = describe.require_agreement(target.tokenizer, draft.tokenizer, names, job.space.scratch)
    target_folder, draft_folder = (job.space.result / name for name in (manifest.TARGET_FOLDER, manifest.DRAFT_FOLDER))
    build(target, target_folder, job)
    shortlist = _list_tokens(target, order.draft_vocab, target_folder, draft_folder, job)
    build(draft, draft_folder, job, shortlist)
    describe.write_pair(job.space.result, order.name, shared)


def prepare(order: ModelOrder, job: Job, target: Prepared | None = None) -> Prepared:
    """Fetch a model and look at it. `target`: what it is to draft for, which an EAGLE-3 head cannot be without."""
    fetched = sources.fetch(order.recipe, job.cache, job.progress, code=order.code)
    sources.require_same(fetched.source, job.space.output)
    facts = weights.inspect(fetched.path, code=order.code or order.recipe.native)
    if facts.head:
        return _head(order, fetched, facts, job, target)
    with job.progress.step(f"Reading the tokenizer of {order.recipe.title}"):
        tokenizer = convert.load_tokenizer(fetched.path)
        if facts.is_gguf:
            tokenizer_proof.require_round_trip(tokenizer, fetched.path.name)
        if order.role != "draft":
            tokenizer_proof.require_template(tokenizer, order.name)
    return Prepared(order, fetched, facts, tokenizer, _converted(order, fetched, tokenizer, job, target))


def _converted(order: ModelOrder, fetched: Fetched, tokenizer: Any, job: Job, target: Prepared | None) -> Converted:
    """Convert and prove a tokenizer. What is its target's tokenizer, file by file, is proven already."""
    folder = job.space.scratch / f"{order.role}-tokenizer"
    with job.progress.step(f"Converting the tokenizer of {order.recipe.title}, and proving it"):
        chat = tokenizer_proof.render(tokenizer)
        convert.convert_tokenizer(tokenizer, folder)
        if target and manifest.hash_files(folder) == manifest.hash_files(target.converted.folder):
            return target.converted
        source = folder if fetched.path.is_file() else fetched.path
        texts = tokenizer_proof.prove(folder, source, tokenizer, chat)
    return Converted(folder, texts, chat.tail if chat else "")


def _head(order: ModelOrder, fetched: Fetched, facts: Facts, job: Job, target: Prepared | None) -> Prepared:
    if target is None:
        raise ExportError(
            "{order} is an EAGLE-3 head, no model by itself: name its target, and it with --draft.", order=order.name
        )
    names = (target.order.name, order.name)
    eagle.require_fit(fetched.path, target.fetched.path, names, code=target.order.code)
    has_own = (fetched.path / vocabulary.FILE_NAME).is_file()
    tokenizer = convert.load_tokenizer(fetched.path) if has_own else target.tokenizer
    converted = _converted(order, fetched, tokenizer, job, target) if has_own else target.converted
    return Prepared(order, fetched, facts, tokenizer, converted, head_of=target.fetched.path)


def _list_tokens(target: Prepared, rows: int, source: Path, folder: Path, job: Job) -> manifest.Shortlist | None:
    """Write the tokens that the target uses most into the draft's folder; None where the draft is to guess all."""
    if not 0 < rows < len(target.tokenizer):
        return None
    folder.mkdir(exist_ok=True)
    with job.progress.step("Counting the tokens that the target writes"):
        counts = draft_vocab.count(source, job.space.scratch / "counts.npy")
        ranked = draft_vocab.rank(target.tokenizer, counts, draft_vocab.texts_at_hand())
    draft_vocab.write(ranked, rows, folder)
    return manifest.Shortlist(draft_vocab.FILE_NAME, rows)


def build(model: Prepared, folder: Path, job: Job, shortlist: manifest.Shortlist | None = None) -> None:
    """Convert, compress, check and describe one model into `folder`."""
    folder.mkdir(exist_ok=True)
    half, reference = job.space.scratch / "half", job.space.scratch / "reference.npy"
    ids = quality.text_ids(model.tokenizer, TEXT_LIMIT)
    width = _convert(model, ids, half, reference, job)
    precision = _compress(model.order, half, folder, job)
    with job.progress.step("Checking the result against its source"):
        shutil.copytree(model.converted.folder, folder, dirs_exist_ok=True)
        stop_ids = describe.settle_generation(folder, model.tokenizer, model.order.recipe, model.converted.tail)
        answer = quality.run(quality.Request(str(folder), str(reference), ids, width))
        facts = model.fetched.source, model.facts, precision, answer.quality, answer.ram_bytes
        proof = model.converted.texts
        found = Findings(*facts, shortlist, answer.activation_group, model.self_draft, proof)
        written = describe.write_manifest(folder, model.order, found, stop_ids)
    shutil.rmtree(half)
    job.progress.note(describe.in_a_line(written, answer.agreement))


def _convert(model: Prepared, ids: list[int], half: Path, reference: Path, job: Job) -> int:
    """The width as quality.Request has it."""
    source, code = model.fetched.path, model.order.code
    with job.progress.step(f"Loading {model.order.recipe.title}"):
        head = model.head_of and eagle.load(source, model.head_of, code=code)
        loaded = head or convert.load_weights(source, code=code)
    width = eagle.width(loaded) if head else 0
    with job.progress.step("Reading the test text with the source model"):
        further = {"hidden_states": eagle.hidden_states(len(ids), width)} if head else None
        quality.write_reference(loaded, ids, reference, further)
    with job.progress.step("Converting to OpenVINO"):
        convert.to_openvino(loaded, half)
    del loaded, head
    gc.collect()
    return width


def _compress(order: ModelOrder, half: Path, folder: Path, job: Job) -> manifest.Precision:
    stored = quantize.of_a_draft(order.weights) if order.role == "draft" else order.weights
    with job.progress.step(f"Compressing the weights to {stored}"):
        source, target = half / convert.MODEL_FILE, folder / convert.MODEL_FILE
        quantize.compress(source, stored, target)
        precision = quantize.read_back(target)
        quantize.require(stored, precision)
    for name in ("config.json", "generation_config.json"):
        if (half / name).is_file():
            (half / name).rename(folder / name)
    return precision


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
