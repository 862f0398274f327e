"""`headstart-export verify`: the proof of a finished model against its source, repeated."""

import gc
from dataclasses import dataclass
from pathlib import Path

from headstart.errors import ExportError
from headstart.library import manifest
from headstart_export import workspace
from headstart_export.checks import quality, tokenizer_proof
from headstart_export.conversion import adapter, convert, quantize
from headstart_export.gguf import converter
from headstart_export.pipeline import gguf_import, source_logits
from headstart_export.pipeline.job import Job
from headstart_export.pipeline.prepare import Prepared, ProvenTokenizer, load_tokenizer, require_same_vocabulary
from headstart_export.progress import Progress
from headstart_export.sources import fetching, weights
from headstart_export.sources.recipe import ModelOrder, Order, PairOrder

_STEPS = 6  # compare files, get, tokenizer, load, read, check


@dataclass(frozen=True)
class Verified:
    """The new proofs of a finished model. `texts` agree; `quality` and `agreement` were measured again."""

    name: str
    texts: int
    quality: manifest.Quality | None
    agreement: float


def verify(order: Order, folder: Path, cache: Path, progress: Progress) -> list[Verified]:
    """Prove the finished model or pair in `folder` against its source again. Raises HeadstartError if it differs."""
    pair = manifest.read(folder)
    if isinstance(pair, manifest.PairManifest) != isinstance(order, PairOrder):
        raise ExportError(
            "{name} and the source are not both a pair; name the recipe of the pair, or its two sources with --against "
            "and --draft.",
            name=pair.name,
        )
    progress.expect(2 * _STEPS if isinstance(order, PairOrder) else _STEPS)
    with workspace.opened(cache / f"verify-{pair.name}", replace=False) as space:
        job = Job(space, cache, progress)
        if not isinstance(order, PairOrder):
            return [_verify(_compare(order, folder, job), job)]
        target = _compare(order.target, folder / manifest.TARGET_FOLDER, job)
        draft = _compare(order.draft, folder / manifest.DRAFT_FOLDER, job, target)
        require_same_vocabulary(target, draft)
        return [_verify(target, job), _verify(draft, job)]


def _compare(order: ModelOrder, folder: Path, job: Job, target: Prepared | None = None) -> Prepared:
    """Compare a source with the finished model in `folder`, whose files and tokenizer are proven."""
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
    fetched = fetching.fetch(order.recipe, job.cache, job.progress, code=order.code)
    fetching.require_same(fetched.source, folder)
    info = weights.inspect(fetched.path, code=order.code or order.recipe.native)
    if info.head and target:  # it has its target's tokenizer, or one like it
        job.progress.expect(-1)
        at = target.fetched.path
        return Prepared(
            order, fetched, info, target.tokenizer, ProvenTokenizer(folder, target.converted.texts, ""), head_of=at
        )
    with job.progress.step(f"Proving the tokenizer of {recorded.name}") as advance:
        tokenizer = load_tokenizer(order, fetched, info)
        source = fetched.path
        if info.is_gguf:
            source = job.space.scratch / f"{order.role}-source"
            tokenizer.save_pretrained(source)
        chat = tokenizer_proof.render(tokenizer)
        texts = tokenizer_proof.prove(folder, source, tokenizer, chat, advance)
    converted = ProvenTokenizer(folder, texts, chat.tail if chat else "")
    is_imported = gguf_import.takes(order, fetched.path)
    if is_imported:
        job.progress.expect(-1)  # it is read in one step
    else:
        gguf_import.require_exporter(order.recipe.title)
    return Prepared(order, fetched, info, tokenizer, converted, lora=merged, is_imported=is_imported)


def _verify(model: Prepared, job: Job) -> Verified:
    folder, reference = model.converted.folder, job.space.scratch / "reference.npy"
    recorded = manifest.read_model(folder)
    quantize.require(recorded.precision.mode, quantize.read_back(folder / convert.MODEL_FILE))
    ids = quality.text_ids(model.tokenizer)
    if model.is_imported:
        reference, width = source_logits.from_gguf(model.fetched.path, ids, job), 0
        rows = converter.inspect(model.fetched.path).vocabulary
    else:
        loaded, width = source_logits.from_torch(model, ids, reference, job)
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
