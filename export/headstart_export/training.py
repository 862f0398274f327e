"""Teaches a draft to guess what its target would write next; goes on where it was stopped. Knows no files but its own.

The loss is the KL divergence of the draft's distribution from the target's, at every place of the texts' answers.
Only the draft's layers learn: its embeddings, last norm and output head are the target's own.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart_export.progress import Advance
from headstart_export.writing import Text

BATCH = 4  # texts before each change of the weights
SAVE_EVERY = 30.0  # seconds: the most that an interruption costs
_WARM_UP = 0.05  # of all steps
_LONGEST_CHANGE = 1.0  # norm that a gradient is cut down to
_STATE_FILE = "training.pt"


@dataclass(frozen=True)
class Course:
    """What is learned from, how often, how fast, and in which order."""

    texts: Sequence[Text]
    passes: int
    rate: float
    seed: int

    @property
    def steps(self) -> int:
        """Changes of the weights in all."""
        return self.passes * math.ceil(len(self.texts) / BATCH)


def train(target: Any, draft: Any, course: Course, folder: Path, advance: Advance) -> list[float]:
    """Change `draft`; the loss of each step, in nats a token. State is kept in `folder`. Raises ExportError."""
    import torch  # noqa: PLC0415

    for model in (target, draft):
        model.requires_grad_(requires_grad=False)
    learning = _learning(target, draft)
    optimizer = torch.optim.AdamW(learning, lr=course.rate, betas=(0.9, 0.95), weight_decay=0.0)
    losses, saved = _resume(learning, optimizer, folder / _STATE_FILE), time.monotonic()
    for step in range(len(losses), course.steps):
        optimizer.param_groups[0]["lr"] = course.rate * _share(step, course.steps)
        losses.append(_step(target, draft, _batch(course, step)))
        if not math.isfinite(losses[-1]):
            raise ExportError(f"The training went astray at step {step + 1}; try again with a smaller --rate.")
        torch.nn.utils.clip_grad_norm_(learning, _LONGEST_CHANGE)
        optimizer.step()
        optimizer.zero_grad()
        advance(step + 1, course.steps)
        if time.monotonic() - saved > SAVE_EVERY or step + 1 == course.steps:
            _save(learning, optimizer, losses, folder / _STATE_FILE)
            saved = time.monotonic()
    return losses


def guesses(model: Any, texts: Sequence[Text]) -> Iterator[list[int]]:
    """The model's best token at each place of each answer."""
    import torch  # noqa: PLC0415

    with torch.inference_mode():
        for text in texts:
            yield _logits(model, text).argmax(dim=-1).tolist()


def _learning(target: Any, draft: Any) -> list[Any]:
    shared = {id(weights) for weights in target.parameters()}
    learning = [weights for weights in draft.parameters() if id(weights) not in shared]
    for weights in learning:
        weights.requires_grad_(requires_grad=True)
    assert learning
    return learning


def _step(target: Any, draft: Any, texts: Sequence[Text]) -> float:
    """Add up the gradients of some texts; their mean loss."""
    import torch  # noqa: PLC0415

    places, total = sum(len(answer) for _, answer in texts), 0.0
    for text in texts:
        with torch.no_grad():
            wanted = torch.log_softmax(_logits(target, text), dim=-1)
        found = torch.log_softmax(_logits(draft, text), dim=-1)
        loss = torch.nn.functional.kl_div(found, wanted, reduction="sum", log_target=True) / places
        loss.backward()
        total += float(loss.detach())
    return total


def _logits(model: Any, text: Text) -> Any:
    """At each place of the answer, [len(answer), vocabulary]; texts are read one by one, so that none is padded."""
    import torch  # noqa: PLC0415

    prompt, answer = text
    read = model(input_ids=torch.tensor([prompt + answer]), use_cache=False, logits_to_keep=len(answer) + 1)
    return read.logits[0, -len(answer) - 1 : -1]


def _batch(course: Course, step: int) -> list[Text]:
    """Each pass has an order of its own, which depends on nothing but the seed."""
    import torch  # noqa: PLC0415

    number, place = divmod(step, course.steps // course.passes)
    order = torch.randperm(len(course.texts), generator=torch.Generator().manual_seed(course.seed + number)).tolist()
    return [course.texts[index] for index in order[place * BATCH : (place + 1) * BATCH]]


def _share(step: int, steps: int) -> float:
    """Of the highest rate: up in a line, down in half a cosine."""
    warm = max(1, round(_WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def _resume(learning: list[Any], optimizer: Any, path: Path) -> list[float]:
    """Take up what was kept: the losses so far; none where nothing can be read."""
    import pickle  # noqa: PLC0415

    import torch  # noqa: PLC0415

    try:
        state = torch.load(path, weights_only=True)
        losses = [float(loss) for loss in state["losses"]]
        kept = [*zip(learning, state["weights"], strict=True)]
        optimizer.load_state_dict(state["optimizer"])
    except (OSError, RuntimeError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError):
        return []
    with torch.no_grad():
        for weights, value in kept:
            weights.copy_(value)
    return losses


def _save(learning: list[Any], optimizer: Any, losses: list[float], path: Path) -> None:
    import torch  # noqa: PLC0415

    half = path.with_name(f".{path.name}.new")
    weights = [each.detach() for each in learning]
    torch.save({"losses": losses, "weights": weights, "optimizer": optimizer.state_dict()}, half)
    half.replace(path)
