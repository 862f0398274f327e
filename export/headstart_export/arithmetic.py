"""How coarsely a model's activations may be rounded. Knows compiled sessions, nothing of files.

OpenVINO's processor plugin rounds activations to INT8 while it multiplies, in groups of 32 numbers that share a scale.
Larger groups are quicker and coarser. How much coarser depends on the model and on nothing else, so the export measures
it: a group is allowed while it moves the model's distributions by at most half of what compressing its weights did.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from headstart_export.quality import Logits, mean_divergence

GROUPS = (64, 128, 256)  # numbers that share a scale
PROPERTY = "DYNAMIC_QUANTIZATION_GROUP_SIZE"
PASS = 8  # tokens at once, as when guesses are checked; longer passes compute otherwise
TOKENS = 256  # of the fixed text
SHARE = 0.5  # of what compressing the weights cost

Build = Callable[[dict[str, str]], Any]  # from further properties to a session
Read = Callable[[Any, list[int], int], Logits]  # from a session, ids and how many were read before


def coarsest_group(exact: Logits, build: Build, read: Read, ids: list[int], lost_kl: float) -> int | None:
    """The largest of `GROUPS` that costs at most `SHARE` of `lost_kl` nats; None: only the plugin's own.

    `exact`: the logits without any rounding.
    """
    found = None
    for group in GROUPS:
        coarse = logits(build({PROPERTY: str(group)}), read, ids)
        # What follows a text's first token says nothing.
        if mean_divergence(exact[PASS:], coarse[PASS:]) > SHARE * lost_kl:
            break
        found = group
    return found


def logits(session: Any, read: Read, ids: list[int]) -> Logits:
    """Those of the text's beginning, a few tokens at a time."""
    session.reset_state()
    starts = range(0, min(len(ids), TOKENS), PASS)
    return np.concatenate([read(session, ids[start : start + PASS], start).copy() for start in starts])
