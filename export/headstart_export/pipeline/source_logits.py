"""The logits of a model's source on the fixed text, as the reference for the finished model."""

from pathlib import Path
from typing import Any

from headstart_export.checks import quality
from headstart_export.conversion import adapter, convert
from headstart_export.pipeline.job import Job
from headstart_export.pipeline.prepare import Prepared


def from_torch(model: Prepared, ids: list[int], reference: Path, job: Job) -> tuple[Any, int]:
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


def from_gguf(source: Path, ids: list[int], job: Job) -> Path:
    """Save the logits of a file's own weights on the test text. Return their path."""
    reference = job.space.scratch / "reference.npy"
    with job.progress.step("Reading the test text with the weights of the file"):
        quality.save_logits(source, ids, reference)
    return reference
