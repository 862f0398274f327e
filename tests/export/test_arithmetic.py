"""Activations are rounded in the largest groups that are harmless for the model."""

from typing import Any

import numpy as np
import pytest

from headstart_export import arithmetic
from headstart_export.quality import Logits

IDS = list(range(20))
EXACT = np.random.default_rng(1).normal(size=(len(IDS), 50)).astype(np.float32)
NOISE = np.random.default_rng(2).normal(size=EXACT.shape).astype(np.float32)
NOISE[0] *= 100  # the first token knows of nothing before it: whatever is said there is nobody's answer


class Session:
    """Says the exact logits with an error that grows with the group, and notes what it was asked."""

    def __init__(self, properties: dict[str, str], built: list[int]) -> None:
        self.error = int(properties[arithmetic.PROPERTY]) / 1000
        self.read = 0
        built.append(int(properties[arithmetic.PROPERTY]))

    def reset_state(self) -> None:
        """Begin anew."""
        self.read = 0


def read(session: Any, ids: list[int], past: int) -> Logits:
    """In order, a few at a time, as a cache demands."""
    assert past == session.read
    assert 0 < len(ids) <= arithmetic.PASS
    session.read += len(ids)
    logits: Logits = EXACT + session.error * NOISE
    return logits[past : past + len(ids)]


def kl(group: int) -> float:
    """What the group costs."""
    both = (EXACT, EXACT + group / 1000 * NOISE)
    p, q = (np.exp(rows) / np.exp(rows).sum(1, keepdims=True) for rows in (each[arithmetic.PASS :] for each in both))
    return float((p * np.log(p / q)).sum(1).mean())


@pytest.mark.parametrize(
    ("lost", "found", "tried"),
    [
        (kl(128) * 2.01, 128, [64, 128, 256]),
        (kl(64) * 1.99, None, [64]),
        (kl(256) * 9, 256, [64, 128, 256]),
        (0.0, None, [64]),
    ],
)
def test_the_largest_that_costs_half_of_what_the_weights_cost(lost: float, found: int | None, tried: list[int]) -> None:
    built: list[int] = []
    chosen = arithmetic.coarsest_group(EXACT, lambda further: Session(further, built), read, IDS, lost)
    assert chosen == found
    assert built == tried
