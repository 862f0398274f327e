"""The direct way from a GGUF file to a model: supported files, and the conversion. Checks follow later.

It needs neither PyTorch nor the converters: `gguf.converter` writes the graph and takes the weights from the file.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headstart.engine.runners import precision
from headstart.errors import ExporterNeededError, ExportError, Translatable
from headstart.library import manifest
from headstart_export import process
from headstart_export.conversion import quantize
from headstart_export.gguf import converter, decoder, metadata, packing
from headstart_export.progress import Advance, ignore
from headstart_export.sources.recipe import AS_IN_FILE, DEFAULT_WEIGHTS, ModelOrder

_MINUTES = 60
_MEASURING = 2  # steps that compare a model with its file
_LOOK_MINUTES, _LOOK_MEMORY = 1, 2 << 30
# Bytes that a measurement of quality takes.
_MEMORY_PER_WEIGHT, _MEMORY_IN_BLOCKS = 7.6, 3.6  # the 1.5B took 5.4 GB in blocks
_DISK_PER_WEIGHT = 2.1  # where none of the file's types has blocks


def takes(order: ModelOrder, source: Path) -> bool:
    """Return whether the fetched weights can be converted directly into what is ordered.

    Raises ExportError, before weights are read, for a file of a known kind that cannot be converted.
    """
    if not (
        order.may_be_imported and source.is_file() and metadata.probe(source)["architecture"] in decoder.ARCHITECTURES
    ):
        return False
    failure = Translatable("The GGUF file cannot be converted ({reason}).")
    refusal = process.call(find_refusal, minutes=_LOOK_MINUTES, memory=_LOOK_MEMORY, failure=failure, path=str(source))
    if refusal:
        raise ExportError(Translatable.from_data(refusal))
    return True


def find_refusal(path: str) -> dict[str, Any] | None:
    """Return why a file cannot be converted, as data of a Translatable."""
    try:
        converter.inspect(Path(path))
    except ExportError as error:
        return error.text.as_data()
    return None


def require_exporter(name: str) -> None:
    """Raise ExporterNeededError if the converters are not installed."""
    if find_spec("torch") is None or find_spec("nncf") is None:
        raise ExporterNeededError("{name} needs the exporter, which is not set up.", name=name)


def best_form(order: ModelOrder) -> str:
    """Return the best form of the weights: 4-bit blocks are faster only with own kernels, and drafts may be rough."""
    if order.weights == AS_IN_FILE:
        runs_own_kernels = precision.OWN in precision.candidates(manifest.Precision(AS_IN_FILE), "CPU")
        return AS_IN_FILE if runs_own_kernels else DEFAULT_WEIGHTS
    return packing.MIXED if order.weights == quantize.INT4 and order.role != "draft" else order.weights


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
    converter.convert(Path(path), Path(folder), form, process.tell)
