"""How far a compressed model is from its source weights, on one fixed text. Pure arithmetic but for the model's own.

Teacher-forced: both models read the same text, and at each position their distributions over the next token are
compared. The source computes in f32, whatever precision its weights are stored in.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.manifest import Quality

TEXT_FILE = Path(__file__).parent / "probe_text.txt"
ROWS = 32  # positions compared at once: bounds the memory for large vocabularies

Logits = NDArray[np.float32]


def text_ids(tokenizer: Any, limit: int) -> list[int]:
    """The fixed text as ids, at most `limit` of them."""
    ids: list[int] = tokenizer(TEXT_FILE.read_text(encoding="utf-8")).input_ids
    return ids[:limit]


def write_reference(
    model: Any, ids: list[int], path: Path, further: Mapping[str, NDArray[np.float32]] | None = None
) -> None:
    """Save the source model's logits [len(ids), vocabulary] as f32. `further`: other inputs by name."""
    import torch  # noqa: PLC0415

    with torch.inference_mode(), _computing_in_f32(model):
        inputs = {name: torch.from_numpy(data)[None] for name, data in (further or {}).items()}
        logits = model(input_ids=torch.tensor([ids]), use_cache=False, **inputs).logits[0]
        np.save(path, logits.float().numpy())


def compare(reference: Logits, found: Logits, ids: list[int]) -> Quality:
    """Both logits are [len(ids), vocabulary]; the last row predicts nothing that is known and is left out."""
    count = len(ids) - 1
    totals = np.zeros(4)
    for start in range(0, count, ROWS):
        rows = slice(start, min(start + ROWS, count))
        totals += _compare_rows(reference[rows], found[rows], ids[rows.start + 1 : rows.stop + 1])
    same, divergence, source, compressed = (totals / count).tolist()
    return Quality(
        tokens=count,
        top1_agreement=same,
        mean_kl=divergence,
        perplexity_source=float(np.exp(source)),
        perplexity_compressed=float(np.exp(compressed)),
    )


def agreement(reference: Logits, found: Logits) -> float:
    """Share of rows with the same argmax; both are [rows, vocabulary]."""
    return float(np.mean(reference.argmax(axis=1) == found.argmax(axis=1)))


def mean_divergence(reference: Logits, found: Logits) -> float:
    """KL(reference || found) in nats, averaged over the rows; both are [rows, vocabulary]."""
    total = 0.0
    for start in range(0, len(reference), ROWS):
        p, q = _log_softmax(reference[start : start + ROWS]), _log_softmax(found[start : start + ROWS])
        total += float((np.exp(p) * (p - q)).sum())
    return total / len(reference)


def _compare_rows(reference: Logits, found: Logits, following: list[int]) -> NDArray[np.float64]:
    """Sums over the rows: equal argmax, KL in nats, and both negative log likelihoods of what follows."""
    p, q = _log_softmax(reference), _log_softmax(found)
    each = np.arange(len(following))
    same = np.count_nonzero(p.argmax(axis=1) == q.argmax(axis=1))
    divergence = (np.exp(p) * (p - q)).sum()
    return np.array([same, divergence, -p[each, following].sum(), -q[each, following].sum()])


def _log_softmax(logits: Logits) -> NDArray[np.float64]:
    shifted: NDArray[np.float64] = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


@contextlib.contextmanager
def _computing_in_f32(model: Any) -> Iterator[None]:
    """Widen each module's own weights while it runs, and only then: f32 for a whole model may not fit in memory."""
    stored: dict[int, list[Any]] = {}

    def widen(module: Any, _inputs: Any) -> None:
        own = list(module.parameters(recurse=False))
        stored[id(module)] = [weights.data for weights in own]
        for weights in own:
            weights.data = weights.data.float()

    def narrow(module: Any, _inputs: Any, _output: Any) -> None:
        for weights, data in zip(module.parameters(recurse=False), stored.pop(id(module)), strict=True):
            weights.data = data

    owners = [module for module in model.modules() if any(True for _ in module.parameters(recurse=False))]
    hooks = [module.register_forward_pre_hook(widen) for module in owners]
    hooks += [module.register_forward_hook(narrow) for module in owners]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
