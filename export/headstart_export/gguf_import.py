"""The short way from a GGUF file to a model: which files can take it, and the check that follows later.

It needs neither PyTorch nor the converters: `gguf_model` writes the graph and takes the weights from the file.
"""

import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from headstart.engine.runners import precision
from headstart.errors import ExporterNeededError, ExportError, FailedCheckError, Translatable
from headstart.library import manifest
from headstart_export import (
    convert,
    decoder,
    gguf,
    gguf_model,
    gguf_weights,
    process,
    quality,
    quantize,
    tokenizer_proof,
)
from headstart_export.progress import Advance, Progress, ignore, megabytes
from headstart_export.recipe import AS_IN_FILE, DEFAULT_WEIGHTS, ModelOrder
from headstart_export.workspace import Workspace

_MINUTES = 60
_MEASURING = 2  # steps that compare a model with its file
_LOOK_MINUTES, _LOOK_MEMORY = 1, 2 << 30
# Bytes that a measurement of quality takes.
_MEMORY_PER_WEIGHT, _MEMORY_IN_BLOCKS = 7.6, 3.6  # the 1.5B took 5.4 GB in blocks
_DISK_PER_WEIGHT = 2.1  # where none of the file's types has blocks


def takes(order: ModelOrder, source: Path) -> bool:
    """Return whether the short way leads from the weights that were fetched to what is ordered.

    Raises ExportError, before weights are read, for a file of a known kind that cannot be converted.
    """
    if not (order.may_be_imported and source.is_file() and gguf.probe(source)["architecture"] in decoder.ARCHITECTURES):
        return False
    failure = Translatable("The GGUF file cannot be converted ({reason}).")
    refusal = process.call(find_refusal, minutes=_LOOK_MINUTES, memory=_LOOK_MEMORY, failure=failure, path=str(source))
    if refusal:
        raise ExportError(Translatable.from_data(refusal))
    return True


def find_refusal(path: str) -> dict[str, Any] | None:
    """Return why a file cannot be converted, as `Translatable.as_data` gives it."""
    try:
        gguf_model.inspect(Path(path))
    except ExportError as error:
        return error.text.as_data()
    return None


def require_exporter(name: str) -> None:
    """Raise ExporterNeededError where the converters are not installed."""
    if find_spec("torch") is None or find_spec("nncf") is None:
        raise ExporterNeededError("{name} needs the exporter, which is not set up.", name=name)


def best_form(order: ModelOrder) -> str:
    """Return the form of the weights: blocks of 4 bits are faster only with own kernels, and guesses may be rough."""
    if order.weights == AS_IN_FILE:
        runs_own_kernels = precision.OWN in precision.candidates(manifest.Precision(AS_IN_FILE), "CPU")
        return AS_IN_FILE if runs_own_kernels else DEFAULT_WEIGHTS
    return gguf_weights.MIXED if order.weights == quantize.INT4 and order.role != "draft" else order.weights


def convert_model(source: Path, folder: Path, form: str, advance: Advance = ignore) -> None:
    """Write graph, weights and config.json into a folder, in a process of its own. Raises ExportError."""
    failure = Translatable("The GGUF file cannot be converted ({reason}).")
    process.call(
        write_model,
        minutes=_MINUTES,
        failure=failure,
        advance=advance,
        path=str(source),
        folder=str(folder),
        form=form,
    )


def write_model(path: str, folder: str, form: str) -> None:
    """Convert a file in this process, for `convert_model`."""
    gguf_model.convert(Path(path), Path(folder), form, process.tell)


def check(
    folder: Path, space: Workspace, progress: Progress, equal: manifest.TokenizerSpec | None = None
) -> manifest.Manifest:
    """Prove the tokenizer of an imported model, measure its quality, and record both in its manifest.

    `equal`: a tokenizer that is proven; where this one is the same, only whole documents are tried. Raises
    FailedCheckError, which the manifest records too, so that the model is used no more.
    """
    recorded = manifest.read_model(folder)
    tokenizer = convert.load_tokenizer(folder)
    known = (equal.proof or 0) if equal and equal.fingerprint == recorded.tokenizer.fingerprint else 0
    try:
        with progress.step(f"Proving the tokenizer of {recorded.name}") as advance:
            chat = tokenizer_proof.render(tokenizer)
            texts = tokenizer_proof.prove(folder, folder, tokenizer, chat, advance, known=known)
        answer = _compare_with_file(folder, recorded, tokenizer, space, progress)
    except FailedCheckError as error:
        manifest.write(folder, replace(manifest.read_model(folder), fault=error.text.as_data()))
        raise
    recorded = manifest.read_model(folder)  # its table may have been counted meanwhile
    checked = replace(
        recorded,
        tokenizer=replace(recorded.tokenizer, proof=texts),
        source=replace(recorded.source, path=None),
        is_checked=True,
    )
    if answer and answer.quality:
        checked = replace(
            checked,
            precision=replace(recorded.precision, activation_group=answer.activation_group),
            quality=replace(answer.quality, against="gguf"),
            ram_bytes=answer.ram_bytes,
        )
    manifest.write(folder, checked)
    return checked


def _compare_with_file(
    folder: Path, recorded: manifest.Manifest, tokenizer: Any, space: Workspace, progress: Progress
) -> quality.Answer | None:
    """Compare a model with its file, computed in 32 bits; None if the file is gone or the memory is too small."""
    source = Path(recorded.source.path or "")
    if not source.is_file() or manifest.hash_file(source) != recorded.source.sha256:
        progress.note(f"The quality of {recorded.name} is not measured: its GGUF file is not where it was.")
        progress.expect(-_MEASURING)
        return None
    memory = _MEMORY_IN_BLOCKS if recorded.precision.keeps_blocks else _MEMORY_PER_WEIGHT
    for what, per_weight, free in (
        ("memory", memory, int(psutil.virtual_memory().available)),
        ("disk", _DISK_PER_WEIGHT, shutil.disk_usage(space.root).free),
    ):
        if (needed := int(recorded.parameters * per_weight)) > free:
            progress.note(
                f"The quality of {recorded.name} is not measured: that takes {megabytes(needed)} of {what}, and "
                f"{megabytes(free)} are free."
            )
            progress.expect(-_MEASURING)
            return None
    ids = quality.text_ids(tokenizer)
    reference = write_reference(source, ids, space, progress)
    with progress.step("Checking the result against its source") as advance:
        return quality.run(folder, reference, ids, advance=advance)


def write_reference(source: Path, ids: list[int], space: Workspace, progress: Progress) -> Path:
    """Save the logits of a file's own weights on the test text; return the place."""
    reference = space.scratch / "reference.npy"
    with progress.step("Reading the test text with the weights of the file"):
        quality.save_logits(source, ids, reference)
    return reference
