"""Notes how likely each token of one answer was, by the target's own logits. Knows no model and no tokenizer."""

import math
from collections.abc import Callable

import numpy as np

from headstart.engine.likelihood import Likelihood, Scored
from headstart.engine.sampling import Row, largest
from headstart.engine.text import AnswerText

Spell = Callable[[int], bytes]


class Scorer:
    """Told of every token with the row that it was chosen from; tells those that the answer is sure to have.

    The probabilities are the softmax of the row as the model gave it: before penalties, temperature, top-k, top-p,
    min-p and any schema. So they are those of the model, however a token was chosen and whoever guessed it.
    """

    def __init__(self, spell: Spell, likeliest: int) -> None:
        """`likeliest`: how many of the likeliest tokens are told beside each."""
        self._spell = spell
        self._likeliest = likeliest
        self._noted: list[tuple[Likelihood, tuple[Likelihood, ...]]] = []
        self._told = 0

    def note(self, row: Row, token: int) -> None:
        """One token more; `row`: [vocabulary]."""
        peak = float(row.max())
        total = peak + math.log(float(np.exp(row - np.float32(peak)).sum(dtype=np.float64)))

        def likelihood(each: int) -> Likelihood:
            return Likelihood(tuple(self._spell(each)), float(row[each]) - total)

        ids = largest(row, self._likeliest).tolist() if self._likeliest else []
        self._noted.append((likelihood(token), tuple(map(likelihood, ids))))

    def tell(self, text: AnswerText, *, ended: bool = False) -> tuple[Scored, ...]:
        """Those of the tokens in `text` that were not told before: once it has `ended` all, else what is settled."""
        known = len(text.token_ids) if ended else text.settled
        fresh, self._told = range(self._told, known), known
        return tuple(Scored(self._noted[at][0], text.start_of(at), self._noted[at][1]) for at in fresh)
