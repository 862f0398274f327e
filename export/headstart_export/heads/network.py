"""A Hydra head (Ankner et al. 2024): a small network that guesses tokens from a hidden state.

The first guess reads the target's hidden state of a token, and the next token; each further guess reads the head's own
last state, and its last guess. It reads nothing else, so it needs no KV cache, and a guess costs little more than the
output rows of the tokens it guesses among. These rows are the target's own, and embed tokens, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from headstart_export.heads.features import STATES, Text
from headstart_export.heads.hydra import HeadWeights, TargetWeights

_WEIGHT_SPREAD = 0.005  # standard deviation of the initial weights of `fc`
_OUTER_SCALE = 0.1  # factor on the usual initial weights of `outer`
_STATE_SCALE = 0.5  # initial size of normed states, relative to the target's hidden states


@dataclass(frozen=True)
class HeadSizes:
    """The sizes of a head. `config`: the config.json of its target."""

    config: Mapping[str, Any]
    inner: int  # neurons
    rows: int  # tokens that it guesses among

    @property
    def hidden(self) -> int:
        return int(self.config["hidden_size"])


class Head(nn.Module):  # type: ignore[misc]
    """A head in training, with frozen buffers."""

    rows: Tensor  # [rows, hidden], the target's output rows
    chosen: Tensor  # [rows], the token of each
    # [STATES * hidden], the usual size of each channel that `fc` reads; some are a hundred times as large as others
    reading: Tensor

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__()
        hidden, linear = sizes.hidden, partial(nn.Linear, bias=False)
        norm = partial(nn.RMSNorm, hidden, eps=float(sizes.config.get("rms_norm_eps", 1e-6)))
        self.sizes = sizes
        self.fc = linear(STATES * hidden, hidden)
        self.token_norm, self.hidden_norm, self.norm = norm(), norm(), norm()
        self.inner = linear(2 * hidden, 2 * sizes.inner)
        self.outer = linear(sizes.inner, hidden)
        for name, buffer in {
            "rows": torch.zeros(sizes.rows, hidden, dtype=torch.bfloat16),
            "chosen": torch.arange(sizes.rows),
            "reading": torch.ones(STATES * hidden),
        }.items():
            self.register_buffer(name, buffer, persistent=False)

    def unroll(self, texts: Sequence[Text], steps: int) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Guess `steps` tokens ahead from each place of the texts, as if all guesses before were accepted.

        Yield for each step the normed states that the rows score, [places of all texts, hidden], and for each text the
        places of the tokens before the guessed ones.
        """
        spans = [torch.arange(text.given - 1, len(text.ids) - steps) for text in texts]
        read = [text.states[span.numpy()] for text, span in zip(texts, spans, strict=True)]
        ids = [torch.tensor(text.ids) for text in texts]
        hidden = self.fc(torch.from_numpy(np.concatenate(read)).float() / self.reading).float()
        for step in range(1, steps + 1):
            tokens = torch.cat([row[span + step] for row, span in zip(ids, spans, strict=True)])
            read_and_held = torch.cat([self.token_norm(self._embedded(tokens)), self.hidden_norm(hidden)], dim=-1)
            gate, up = self.inner(read_and_held).chunk(2, dim=-1)
            hidden = hidden + self.outer(functional.silu(gate) * up).float()
            yield self.norm(hidden), [span + step for span in spans]

    def _embedded(self, tokens: Tensor) -> Tensor:
        """Return the embeddings of tokens; zeros for a token without a row."""
        row = torch.searchsorted(self.chosen, tokens).clamp(max=len(self.chosen) - 1)
        return self.rows[row].float() * (self.chosen[row] == tokens)[:, None]


def begin(head: Head, target: TargetWeights, chosen: NDArray[np.int64], texts: Sequence[Text]) -> None:
    """Initialise the frozen parts and the weights of a head.

    `chosen`: the tokens that it guesses among, rising. `texts`: their states give the usual size of each channel.
    """
    states = torch.from_numpy(np.concatenate([text.states[text.given :] for text in texts])).float()
    with torch.no_grad():
        head.chosen.copy_(torch.from_numpy(chosen))
        head.rows.copy_(torch.from_numpy(target.output_rows(chosen)))
        head.reading.copy_(states.pow(2).mean(dim=0).sqrt() + 1e-3)
        head.fc.weight.normal_(0, _WEIGHT_SPREAD)
        head.norm.weight.fill_(_STATE_SCALE * float(states[:, -head.sizes.hidden :].pow(2).mean().sqrt()))
        head.outer.weight.mul_(_OUTER_SCALE)


def weights_of(head: Head) -> HeadWeights:
    """Return the weights of a head, to save them."""
    learned = {name: weights.detach().float() for name, weights in head.named_parameters()}
    learned["fc.weight"] = learned["fc.weight"] / head.reading
    arrays = {name: weights.numpy() for name, weights in learned.items()}
    rows = head.rows.float().numpy().astype(np.float16)
    config = head.sizes.config
    return HeadWeights(arrays, head.chosen.numpy(), rows, int(config["vocab_size"]), float(head.norm.eps))
