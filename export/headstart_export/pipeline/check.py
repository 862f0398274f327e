"""The checks of an imported model, which may run after its first answer."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from headstart.errors import ExportError, FailedCheckError
from headstart.library import manifest
from headstart_export import table, workspace
from headstart_export.checks import quality, tokenizer_proof
from headstart_export.conversion import convert, quantize
from headstart_export.pipeline import source_logits
from headstart_export.pipeline.job import Job, explain_full_disk, write_answers
from headstart_export.progress import Progress, megabytes
from headstart_export.sources import fetching

_STEPS = 3  # tokenizer, read, check
_MEASURING = 2  # steps that compare a model with its file
# Bytes that a measurement of quality takes.
_MEMORY_PER_WEIGHT, _MEMORY_IN_BLOCKS = 7.6, 3.6  # the 1.5B took 5.4 GB in blocks
_DISK_PER_WEIGHT = 2.1  # where none of the file's types has blocks


def check(folder: Path, cache: Path, progress: Progress) -> None:
    """Run the checks that an import into `folder` postponed. Raises ExportError, and FailedCheckError.

    A model that fails is used no more; its manifest says why.
    """
    pair = manifest.read(folder)
    folders = [folder / pair.target, folder / pair.draft] if isinstance(pair, manifest.PairManifest) else [folder]
    parts = {part: manifest.read_model(part) for part in folders}
    progress.expect(_STEPS * sum(not recorded.is_checked for recorded in parts.values()))
    with (
        workspace.opened(cache / f"check-{pair.name}", replace=False) as space,
        explain_full_disk(folder, cache),
    ):
        proven = None
        for part, recorded in parts.items():
            if not recorded.is_checked:
                proven = _check_part(part, proven, Job(space, cache, progress), is_alone=len(parts) == 1).tokenizer
            else:
                proven = recorded.tokenizer


def _check_part(folder: Path, proven: manifest.TokenizerSpec | None, job: Job, *, is_alone: bool) -> manifest.Manifest:
    """Check one model, and make its n-gram table if it is not part of a pair. `proven`: a proven tokenizer."""
    recorded = _prove(folder, job, proven)
    fetching.drop(recorded.source, job.cache)
    if is_alone and manifest.TABLE_FILE not in recorded.files:
        recorded = _add_table(folder, recorded, job)
    if recorded.quality:
        agreement = recorded.quality.top1_agreement
        job.progress.note(summary(recorded, agreement))
        if recorded.role != "draft" and agreement < quality.FLOOR:
            job.progress.note(quality_warning(recorded, agreement))
    return recorded


def _add_table(folder: Path, recorded: manifest.Manifest, job: Job) -> manifest.Manifest:
    """Add an n-gram table of the model's own answers, if it chats and has no better drafter."""
    if manifest.head_folder(folder) or not convert.load_tokenizer(folder).chat_template:
        return recorded
    job.progress.expect(1)
    texts = write_answers(folder, recorded.parameters, job, only_few=False)
    if not texts:
        return recorded
    counted = table.make(texts, folder)
    files = manifest.hash_files(folder)
    size = sum(file.size for file in files.values())
    return _record(folder, recorded, table=counted, files=files, size_bytes=size)


def _record(folder: Path, checked: manifest.Manifest, **found: Any) -> manifest.Manifest:
    """Record what was found of a model. Raises ExportError if another one is in its folder by now."""
    recorded = manifest.read_model(folder)  # its table may have been counted meanwhile
    if (recorded.created, recorded.source.sha256) != (checked.created, checked.source.sha256):
        raise ExportError("{name} was replaced while it was checked; run the check again.", name=checked.name)
    recorded = replace(recorded, **found)
    manifest.write(folder, recorded)
    return recorded


def _prove(folder: Path, job: Job, equal: manifest.TokenizerSpec | None) -> manifest.Manifest:
    """Prove the tokenizer of an imported model, measure its quality, and record both in its manifest.

    `equal`: a tokenizer that is proven; where this one is the same, only whole documents are tried. Raises
    FailedCheckError, which the manifest records too, so that the model is used no more.
    """
    recorded = manifest.read_model(folder)
    tokenizer = convert.load_tokenizer(folder)
    known = (equal.proof or 0) if equal and equal.fingerprint == recorded.tokenizer.fingerprint else 0
    try:
        with job.progress.step(f"Proving the tokenizer of {recorded.name}") as advance:
            chat = tokenizer_proof.render(tokenizer)
            texts = tokenizer_proof.prove(folder, folder, tokenizer, chat, advance, known=known)
        answer = _compare_with_file(folder, recorded, tokenizer, job)
    except FailedCheckError as error:
        _record(folder, recorded, fault=error.text.as_data())
        raise
    found: dict[str, Any] = {
        "tokenizer": replace(recorded.tokenizer, proof=texts),
        "source": replace(recorded.source, path=None),
        "is_checked": True,
    }
    if answer and answer.quality:
        found |= {
            "precision": replace(recorded.precision, activation_group=answer.activation_group),
            "quality": replace(answer.quality, against="gguf"),
            "ram_bytes": answer.ram_bytes,
        }
    return _record(folder, recorded, **found)


def _compare_with_file(
    folder: Path, recorded: manifest.Manifest, tokenizer: Any, job: Job
) -> quality.QualityReport | None:
    """Compare a model with its file, computed in 32 bits; None if the file is gone or memory is too small."""
    source = Path(recorded.source.path or "")
    if not source.is_file() or manifest.hash_file(source) != recorded.source.sha256:
        job.progress.note(f"The quality of {recorded.name} is not measured: its GGUF file is not where it was.")
        job.progress.expect(-_MEASURING)
        return None
    memory = _MEMORY_IN_BLOCKS if recorded.precision.keeps_blocks else _MEMORY_PER_WEIGHT
    for what, per_weight, free in (
        ("memory", memory, int(psutil.virtual_memory().available)),
        ("disk", _DISK_PER_WEIGHT, shutil.disk_usage(job.space.root).free),
    ):
        if (needed := int(recorded.parameters * per_weight)) > free:
            job.progress.note(
                f"The quality of {recorded.name} is not measured: that takes {megabytes(needed)} of {what}, and "
                f"{megabytes(free)} are free."
            )
            job.progress.expect(-_MEASURING)
            return None
    ids = quality.text_ids(tokenizer)
    reference = source_logits.from_gguf(source, ids, job)
    with job.progress.step("Checking the result against its source") as advance:
        return quality.run(folder, reference, ids, advance=advance)


def summary(model: manifest.Manifest, agreement: float) -> str:
    """Return one line for the user on a finished model. `agreement`: as in `quality.QualityReport`."""
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


def quality_warning(model: manifest.Manifest, agreement: float) -> str:
    """Return advice about a model whose quality is poor."""
    better = "int8" if model.precision.weights.startswith(quantize.INT4) else "fp16"
    remedy = "take another model" if model.precision.weights == "fp16" else f"export it again with --weights {better}"
    return (
        f"Warning: {model.name} agrees with its source on {agreement:.1%} of the tokens, below {quality.FLOOR:.0%}, so "
        f"its answers may be worse; {remedy}."
    )
