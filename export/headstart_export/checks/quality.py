"""The distance of a finished model from its source on one fixed text, and the memory that it takes.

Teacher-forced: both models read the same text, and at each position their distributions over the next token are
compared. The source computes in f32, whatever precision its weights are stored in.
"""

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware.runtime import core
from headstart.engine.kernels import selftest
from headstart.engine.kernels.blocks import nodes_with_blocks
from headstart.engine.kernels.fusion import KERNELS, compile_model
from headstart.errors import FailedCheckError, Translatable
from headstart.library.manifest import Quality
from headstart_export import process
from headstart_export.conversion import quantize
from headstart_export.conversion.convert import MODEL_FILE
from headstart_export.gguf import converter
from headstart_export.progress import Advance, ignore

TEXT_FILE = Path(__file__).parent / "probe_text.txt"
TEXT_LIMIT = 768  # tokens of it that quality is measured on
ROWS = 32  # positions compared at once: bounds the memory for large vocabularies

Logits = NDArray[np.float32]


def text_ids(tokenizer: Any) -> list[int]:
    """Return the fixed text as ids, at most TEXT_LIMIT of them."""
    ids: list[int] = tokenizer(TEXT_FILE.read_text(encoding="utf-8")).input_ids
    return ids[:TEXT_LIMIT]


def write_reference(
    model: Any,
    ids: list[int],
    path: Path,
    further: Mapping[str, NDArray[np.float32]] | None = None,
    advance: Advance = ignore,
) -> None:
    """Save the source model's logits [len(ids), vocabulary] as f32. `further`: more inputs by name."""
    import torch

    with torch.inference_mode(), _computing_in_f32(model, advance):
        inputs = {name: torch.from_numpy(data)[None] for name, data in (further or {}).items()}
        logits = model(input_ids=torch.tensor([ids]), use_cache=False, **inputs).logits[0]
        np.save(path, logits.float().numpy())


def save_logits(source: Path, ids: list[int], path: Path) -> None:
    """Save the logits of a GGUF file's own weights, computed in f32 in a child process, as `write_reference` does."""
    failure = Translatable("The weights of the file cannot be used ({reason}).")
    process.call(_save_logits, minutes=_MINUTES, failure=failure, source=str(source), ids=ids, path=str(path))


def _save_logits(source: str, ids: list[int], path: str) -> None:
    store = Path(path).with_suffix(".weights")
    model, _stored = converter.exact(Path(source), store)
    session = core().compile_model(model, "CPU", _EXACT).create_infer_request()
    np.save(path, read(session, ids))
    store.unlink()


def compare(reference: Logits, logits: Logits, ids: list[int]) -> Quality:
    """Compare logits [len(ids), vocabulary] with those of the source. The last row is ignored: no token follows."""
    count = len(ids) - 1
    totals = np.zeros(4)  # equal argmax, KL in nats, and both negative log likelihoods of what follows
    for start in range(0, count, ROWS):
        rows = slice(start, min(start + ROWS, count))
        p, q = _log_softmax(reference[rows]), _log_softmax(logits[rows])
        at = np.arange(len(p)), ids[rows.start + 1 : rows.stop + 1]
        same = np.count_nonzero(p.argmax(axis=1) == q.argmax(axis=1))
        totals += np.array([same, (np.exp(p) * (p - q)).sum(), -p[at].sum(), -q[at].sum()])
    same, divergence, source, compressed = (totals / count).tolist()
    return Quality(count, same, divergence, float(np.exp(source)), float(np.exp(compressed)))


def mean_divergence(reference: Logits, logits: Logits) -> float:
    """Return KL(reference || logits) in nats, averaged over the rows; both are [rows, vocabulary]."""
    total = 0.0
    for start in range(0, len(reference), ROWS):
        p, q = _log_softmax(reference[start : start + ROWS]), _log_softmax(logits[start : start + ROWS])
        total += float((np.exp(p) * (p - q)).sum())
    return total / len(reference)


def _log_softmax(logits: Logits) -> NDArray[np.float64]:
    shifted: NDArray[np.float64] = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


@contextlib.contextmanager
def _computing_in_f32(model: Any, advance: Advance) -> Iterator[None]:
    """Widen each module's own weights while it runs, for a whole model in f32 may not fit in memory."""
    stored: dict[int, list[Any]] = {}
    read = itertools.count(1)

    def widen(module: Any, _inputs: Any) -> None:
        own = list(module.parameters(recurse=False))
        stored[id(module)] = [weights.data for weights in own]
        for weights in own:
            weights.data = weights.data.float()

    def narrow(module: Any, _inputs: Any, _output: Any) -> None:
        for weights, data in zip(module.parameters(recurse=False), stored.pop(id(module)), strict=True):
            weights.data = data
        advance(next(read), len(owners))

    owners = [module for module in model.modules() if any(True for _ in module.parameters(recurse=False))]
    hooks = [module.register_forward_pre_hook(widen) for module in owners]
    hooks += [module.register_forward_hook(narrow) for module in owners]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


FLOOR = 0.85  # agreement with the source below which a model gets more bits, or a warning
_MINUTES = 60
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32"}  # all else is the default
_CHECKED_TOKENS = 64  # tokens of the text that are read in several ways
_FORGOTTEN_TOKENS = 4  # tokens that are read and forgotten
UNLIKE = 1e-3  # nats between two ways to read a text; a rounded KV cache makes a hundredth of it
WORSE = 2.0  # times the loss at export: above it the source is another one, below computers may round differently

# OpenVINO's CPU plugin rounds activations to INT8 while it multiplies, in groups of 32 numbers that share a scale.
# Larger groups are faster and coarser; how much coarser depends on the model alone.
PROPERTY = "DYNAMIC_QUANTIZATION_GROUP_SIZE"
GROUPS = (64, 128, 256)  # numbers that share a scale
PASS = 8  # tokens at once, as when guesses are checked; longer passes are computed in another way
_EXACT = {**SETTINGS, "KV_CACHE_PRECISION": "f16", PROPERTY: "0"}
_TOKENS = 256  # of the fixed text
_MAX_LOSS_SHARE = 0.5  # of the loss by compressed weights
_PARTS = 3 + len(GROUPS)  # of the measurement, about equally long


@dataclass(frozen=True)
class QualityReport:
    """The measurements of a model. `agreement`: share of places at which its best token is the source's."""

    quality: Quality | None  # None for an EAGLE-3 head, which reads no text by itself
    ram_bytes: int  # growth of the process when the model was loaded and had read one token
    agreement: float = 1.0
    activation_group: int | None = None  # numbers that may share a scale; None: the plugin's default
    cache_fault: str = ""  # the way of reading with a KV cache whose logits differ from one pass over the whole text


def run(folder: Path, reference: Path, ids: list[int], width: int = 0, advance: Advance = ignore) -> QualityReport:
    """Measure the model in `folder` in a child process. Raises ExportError if that fails, FailedCheckError.

    `reference`: .npy file of the source's logits. `width`: size of the hidden states that an EAGLE-3 head reads; 0
    for a model.
    """
    failure = Translatable("The converted model cannot be used ({reason}); nothing was kept.")
    arguments: dict[str, Any] = {"folder": str(folder), "reference": str(reference), "ids": ids, "width": width}
    answer = process.call(_measure, minutes=_MINUTES, failure=failure, advance=advance, **arguments)
    if answer["cache_fault"]:
        raise FailedCheckError(
            "The converted model gives other results {fault}, so it is not used; choose another one.",
            fault=answer["cache_fault"],
        )
    quality = answer["quality"]
    return QualityReport(**{**answer, "quality": Quality(**quality) if quality else None})


def _measure(folder: str, reference: str, ids: list[int], width: int) -> QualityReport:
    logits, ram_bytes = _infer(folder, ids, width)
    process.tell(1, _PARTS)
    source = np.load(reference, mmap_mode="r")
    session = _session(folder, "0")
    fault = _cache_fault(session, ids, width)
    process.tell(2, _PARTS)
    if width:
        same = float(np.mean(source.argmax(axis=1) == logits.argmax(axis=1)))
        return QualityReport(None, ram_bytes, same, cache_fault=fault)
    compared, group = compare(source, logits, ids), None
    precision = quantize.read_back(Path(folder) / MODEL_FILE)
    if precision.keeps_blocks:  # the weights are the file's, and their products have no other arithmetic
        return QualityReport(compared, ram_bytes, compared.top1_agreement, cache_fault=fault)
    del logits
    session.reset_state()
    exact = read(session, ids)
    weights_alone = compare(source, exact, ids)
    if precision.weights != "fp16":  # else nothing is multiplied in INT8
        group = coarsest_group(exact[:_TOKENS], folder, ids, compared.mean_kl, precision.group_size)
    compared = replace(compared, weights_agreement=weights_alone.top1_agreement, weights_kl=weights_alone.mean_kl)
    return QualityReport(compared, ram_bytes, compared.top1_agreement, group, fault)


def _cache_fault(session: Any, text: list[int], width: int) -> str:
    """Compare one pass over the text with single tokens, with chunks, and with passes after rejected guesses."""
    import openvino

    ids, guesses = text[:_CHECKED_TOKENS], text[-_FORGOTTEN_TOKENS:]
    whole = read(session, ids, width=width).copy()

    def differ(sizes: Sequence[int], past: int = 0, mask: Sequence[int] = ()) -> bool:
        """Return whether passes of these sizes after `past` tokens, in the cache slots of `mask`, give other logits."""
        divergences = []
        for size in sizes:
            logits = read(session, ids[past : past + size], past, width, mask)
            divergences.append(mean_divergence(whole[past : past + size], logits))
            past += size
        return not max(divergences) <= UNLIKE  # NaN counts as different

    for way, sizes in (("in steps of one token", [16, *[1] * 8]), ("in chunks", [7, 12, 5, 1, 12, 2])):
        session.reset_state()
        if differ(sizes):
            return way
    session.reset_state()
    read(session, ids[:12], 0, width)
    read(session, guesses, 12, width)
    if differ([5], 12, [1] * 12 + [0] * _FORGOTTEN_TOKENS):
        return "after guesses that are masked out"
    session.reset_state()
    read(session, ids[:40], 0, width)
    read(session, guesses, 40, width)
    for state in session.query_state():  # [1, heads, tokens, size]
        state.state = openvino.Tensor(np.ascontiguousarray(state.state.data[:, :, :40]))
    return "after guesses that are taken out again" if differ([8, 1, 1], 40) else ""


def coarsest_group(
    exact: Logits, folder: str, ids: list[int], compression_kl: float, weights_group: int | None = None
) -> int | None:
    """Return the largest of `GROUPS` that moves the `exact` logits by at most half of `compression_kl` nats.

    `weights_group`: weights that share a scale, an upper bound; None: a row shares one.
    """
    coarsest = None
    for number, group in enumerate(GROUPS):
        process.tell(_PARTS - len(GROUPS) + number, _PARTS)
        if weights_group and group > weights_group:
            break
        coarse = _read_in_passes(_session(folder, str(group)), ids)
        # The first tokens of a text are hardly predictable.
        if mean_divergence(exact[PASS:], coarse[PASS:]) > _MAX_LOSS_SHARE * compression_kl:
            break
        coarsest = group
    return coarsest


def _read_in_passes(session: Any, ids: list[int]) -> Logits:
    """Return the logits of the text's first tokens, read PASS at a time."""
    session.reset_state()
    starts = range(0, min(len(ids), _TOKENS), PASS)
    return np.concatenate([read(session, ids[start : start + PASS], start).copy() for start in starts])


def _session(folder: str, group: str) -> Any:
    """Compile the model with a 16-bit cache, as it runs, and with this group size of activations."""
    model = core().read_model(Path(folder) / MODEL_FILE)
    return compile_model(model, "CPU", {**_EXACT, PROPERTY: group}).model.create_infer_request()


def _infer(folder: str, ids: list[int], width: int) -> tuple[Logits, int]:
    import psutil

    start_bytes = psutil.Process().memory_info().rss
    graph, settings = core().read_model(Path(folder) / MODEL_FILE), SETTINGS
    if nodes_with_blocks(graph) and selftest.proven():  # OpenVINO's own kernels would round them
        settings = {**SETTINGS, KERNELS: selftest.identity()}
    session = compile_model(graph, "CPU", settings).model.create_infer_request()
    read(session, ids[:1], width=width)
    ram_bytes = psutil.Process().memory_info().rss - start_bytes
    session.reset_state()
    return read(session, ids, width=width), ram_bytes


def hidden_states(places: int, width: int) -> NDArray[np.float32]:
    """Return random hidden states [places, width], always the same, to compare an EAGLE-3 head with its source."""
    return np.random.default_rng(0).standard_normal((places, width), np.float32)


def read(session: Any, ids: list[int], past: int = 0, width: int = 0, mask: Sequence[int] = ()) -> Logits:
    """Read ids after `past` earlier ones. Return their logits [len(ids), vocabulary].

    `mask`: 1 for each slot of the cache that counts, if it holds more than `past`.
    """
    inputs = quantize.inputs_for(session.model_inputs, ids, past, mask)
    if width:
        inputs["hidden_states"] = hidden_states(past + len(ids), width)[None, past:]
    session.infer(inputs)
    logits: Logits = session.get_tensor("logits").data[0]
    return logits
