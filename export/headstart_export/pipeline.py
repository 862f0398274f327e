"""The export itself, step by step: fetch, look, convert, compress, check, describe, move into place."""

import gc
from dataclasses import dataclass
from pathlib import Path

from headstart import manifest
from headstart_export import convert, describe, quantize, sources, weights, workspace
from headstart_export.order import ModelOrder, Order, PairOrder
from headstart_export.progress import Progress
from headstart_export.workspace import Workspace


@dataclass(frozen=True)
class Job:
    """Where an export works and whom it tells."""

    space: Workspace
    cache: Path
    progress: Progress


def export(order: Order, output: Path, cache: Path, progress: Progress, *, replace: bool) -> Path:
    """Build what is ordered into `output`. Raises HeadstartError; whatever happens, nothing half done stays."""
    with workspace.opened(output, replace=replace) as space:
        job = Job(space, cache, progress)
        if isinstance(order, PairOrder):
            _export_pair(order, job)
        else:
            _export_model(order, space.result, job)
        space.move_into_place()
    return output


def _export_pair(order: PairOrder, job: Job) -> None:
    _export_model(order.target, job.space.result / manifest.TARGET_FOLDER, job)
    _export_model(order.draft, job.space.result / manifest.DRAFT_FOLDER, job)


def _export_model(order: ModelOrder, folder: Path, job: Job) -> manifest.Manifest:
    fetched = sources.fetch(order.recipe, job.cache, job.progress, code=order.code)
    facts = weights.inspect(fetched.path, code=order.code)
    tokenizer = convert.load_tokenizer(fetched.path, code=order.code)
    half = job.space.scratch / order.role
    with job.progress.step(f"Loading {order.recipe.title}"):
        model = convert.load_weights(fetched.path, code=order.code)
    with job.progress.step("Converting to OpenVINO"):
        convert.to_openvino(model, half)
        del model
        gc.collect()
    with job.progress.step(f"Compressing the weights to {order.weights}"):
        folder.mkdir(exist_ok=True)
        quantize.compress(half / convert.MODEL_FILE, order.weights, folder / convert.MODEL_FILE)
    precision = quantize.read_back(folder / convert.MODEL_FILE)
    quantize.require(order.weights, precision)
    for name in ("config.json", "generation_config.json"):
        if (half / name).is_file():
            (half / name).rename(folder / name)
    with job.progress.step("Converting the tokenizer"):
        convert.convert_tokenizer(tokenizer, folder)
    stop_ids = describe.settle_stop_ids(folder, tokenizer, order.recipe.stop)
    size = (folder / "openvino_model.bin").stat().st_size
    findings = describe.Findings(fetched.source, facts.licence, facts.parameters, precision, None, size * 2)
    return describe.write_manifest(folder, order, findings, stop_ids)
