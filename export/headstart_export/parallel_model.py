"""A draft that guesses several tokens in one pass (PARD, An et al. 2025, arXiv 2504.18583).

Behind the last token of a text stand masks, tokens that nobody writes. What the draft expects behind each of them is a
guess at one place further. A low-rank adapter (Hu et al. 2021) teaches it to: two thin matrices beside each of its own,
which are added to these when the draft is exported, so that a pass costs no more than that for the masks.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from headstart.errors import ExportError
from headstart.manifest import Manifest
from headstart_export import lean
from headstart_export.features import Text

LEAN_FILE = "parallel.safetensors"  # what a draft learned
MASKS = 2  # and as many guesses more in a pass
_STRIDE = 2  # tokens from one place where masks stand to the next, while it learns
_FIRST, _SECOND, _EMBEDDED = ".first", ".second", "masks"
_SPREAD = 0.01  # of the masks at first
_LEAST = torch.finfo(torch.bfloat16).min


class _Adapted(nn.Module):  # type: ignore[misc]
    """A matrix of the draft, and the two thin ones beside it, which begin by changing nothing."""

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.linear = linear
        self.first = nn.Parameter(torch.randn(rank, linear.in_features) / math.sqrt(linear.in_features))
        self.second = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, given: Tensor) -> Tensor:
        beside = functional.linear(given, self.first.to(given.dtype))
        found: Tensor = self.linear(given) + functional.linear(beside, self.second.to(given.dtype))
        return found


class Student(nn.Module):  # type: ignore[misc]
    """A draft that learns. Only its adapters and the masks do."""

    places, at_once = 1 + MASKS, 60

    def __init__(self, model: Any, target_rows: Tensor, chosen: NDArray[np.int64], rank: int) -> None:
        """`model`: the draft in PyTorch. `target_rows`: those of the target's output head for the ids `chosen`."""
        from transformers import AttentionInterface  # noqa: PLC0415

        super().__init__()
        self.model, self.target_rows, self.chosen = model, target_rows, torch.from_numpy(chosen)
        self.rows = model.get_output_embeddings().weight.detach()[self.chosen].clone()
        model.requires_grad_(requires_grad=False)
        for name, module in _matrices(model):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, _Adapted(module, rank))
        usual = model.get_input_embeddings().weight.detach().float().mean(dim=0)
        self.masks = nn.Parameter(usual + _SPREAD * torch.randn(MASKS, len(usual)))
        self._blocks: list[tuple[slice, Tensor]] = []  # of each text: its place among all, and what sees what
        attention = f"headstart {id(self)}"
        AttentionInterface.register(attention, self._attend)
        model.config._attn_implementation = attention  # noqa: SLF001

    def unroll(self, texts: Sequence[Text], steps: int) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Guess `steps` tokens ahead, in one pass; see Head.unroll. While it learns, at some of the places only."""
        stride = _STRIDE if self.training else 1
        every = [torch.arange(text.given, len(text.ids) - steps + 1) for text in texts]
        anchors = [places[int(torch.randint(stride, ())) :: stride] for places in every]
        hidden, starts = self._read(texts, anchors, steps - 1)
        yield hidden[torch.cat([start + places for start, places in zip(starts, every, strict=True)])], every
        for mask in range(steps - 1):
            behind = [
                start + len(text.ids) + torch.arange(len(places)) * (steps - 1) + mask
                for start, text, places in zip(starts, texts, anchors, strict=True)
            ]
            yield hidden[torch.cat(behind)], [places + 1 + mask for places in anchors]

    def _read(self, texts: Sequence[Text], anchors: Sequence[Tensor], masks: int) -> tuple[Tensor, list[int]]:
        """What the output head reads, of all texts one behind the other, masks behind each; where each text starts."""
        ids, positions, starts = list[Tensor](), list[Tensor](), list[int]()
        self._blocks, start = [], 0
        for text, anchor in zip(texts, anchors, strict=True):
            own = torch.arange(len(text.ids))
            ids += [torch.tensor(text.ids), -1 - torch.arange(masks).repeat(len(anchor))]
            positions += [own, (anchor[:, None] + 1 + torch.arange(masks)).flatten()]
            size = len(own) + masks * len(anchor)
            seen = _seen(len(own), anchor, masks)
            self._blocks.append((slice(start, start + size), torch.where(seen, 0.0, _LEAST)[None, None]))
            starts.append(start)
            start += size
        read = torch.cat(ids)
        embedded = self.model.get_input_embeddings()(read.clamp(min=0))
        masked = self.masks.to(embedded.dtype)[(-1 - read).clamp(min=0)]
        found = self.model.model(
            inputs_embeds=torch.where((read < 0)[:, None], masked, embedded)[None],
            position_ids=torch.cat(positions)[None],
            attention_mask=torch.zeros(1, 1, 1, 1, dtype=embedded.dtype),  # `_attend` has its own
            use_cache=False,
        )
        return found.last_hidden_state[0], starts

    def _attend(
        self, _module: Any, query: Tensor, key: Tensor, value: Tensor, _mask: Any, scaling: float, **_more: Any
    ) -> tuple[Tensor, None]:
        """Attention within each text: [1, heads, tokens, size] each; gives [1, tokens, heads, size]."""
        shared = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
        parts = [
            functional.scaled_dot_product_attention(
                query[:, :, place], key[:, :, place], value[:, :, place], attn_mask=seen.to(query.dtype), scale=scaling
            )
            for place, seen in self._blocks
        ]
        return torch.cat(parts, dim=2).transpose(1, 2).contiguous(), None


def _matrices(model: Any) -> list[tuple[str, nn.Linear]]:
    """Those of the layers, by their full names. Raises ExportError where there are none."""
    found = [(name, part) for name, part in model.named_modules() if ".layers." in name and isinstance(part, nn.Linear)]
    if not found or not hasattr(model, "model"):
        raise ExportError("Drafts of this kind cannot learn to guess several tokens at once.")
    return found


def _seen(count: int, anchors: Tensor, masks: int) -> Tensor:
    """Which tokens of a text and its masks each of them sees: the text up to its anchor, and the masks before it."""
    size = count + masks * len(anchors)
    own = torch.arange(count)
    seen = torch.zeros(size, size, dtype=torch.bool)
    seen[:count, :count] = own[:, None] >= own
    seen[count:, :count] = (own <= anchors[:, None]).repeat_interleave(masks, 0)
    groups = torch.ones(masks, masks, dtype=torch.bool).tril()
    seen[count:, count:] = torch.block_diag(*[groups] * len(anchors)) if len(anchors) else False
    return seen


def save_lean(student: Student, folder: Path) -> None:
    """Write what it learned."""
    learned = {_EMBEDDED: student.masks.detach()}
    for name, part in student.model.named_modules():
        if isinstance(part, _Adapted):
            learned |= {name + _FIRST: part.first.detach(), name + _SECOND: part.second.detach()}
    lean.save(learned, folder / LEAN_FILE)


def merge(folder: Path, model: Any, tokens: int) -> tuple[int, ...]:
    """Teach a draft in PyTorch what the folder holds; the ids of its masks. Raises ExportError where it does not fit.

    `tokens`: how many its tokenizer knows, behind which the masks find room.
    """
    try:
        learned = lean.load(folder / LEAN_FILE)
        masks, embeddings = learned.pop(_EMBEDDED), model.get_input_embeddings().weight
        ids = free_rows(len(embeddings), tokens)
        embeddings.data[list(ids)] = masks.to(embeddings.dtype)
        for name in [name.removesuffix(_FIRST) for name in learned if name.endswith(_FIRST)]:
            weight = model.get_submodule(name).weight
            weight.data += (learned.pop(name + _SECOND) @ learned.pop(name + _FIRST)).to(weight.dtype)
    except (OSError, KeyError, ValueError, RuntimeError, AttributeError) as error:
        raise ExportError(
            "What {folder} holds was not learned by this draft ({error}).", folder=folder, error=error
        ) from None
    return ids


def require_same(recorded: Manifest, asked: Path | None) -> None:
    """Raise ExportError where a draft learned something and is compared with one that did not, or the reverse."""
    if bool(recorded.masks) != bool(asked):
        how = "with" if recorded.masks else "without"
        raise ExportError(
            "{name} was exported {how} --parallel; verify it {how} that, too.", name=recorded.name, how=how
        )


def free_rows(rows: int, tokens: int) -> tuple[int, ...]:
    """Ids for the masks: the last of `rows`, behind all `tokens`. Raises ExportError where there are none."""
    if rows - tokens < MASKS:
        raise ExportError("This draft has no free rows for masks, so it cannot learn to guess several tokens at once.")
    return tuple(range(rows - MASKS, rows))
