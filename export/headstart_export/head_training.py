"""The training of a head: chains of guesses, unrolled as they will be made, beside what the target expects."""

import math
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headstart.errors import ExportError
from headstart.library.manifest import Mark
from headstart_export.features import STATES, Text
from headstart_export.head_model import Head

PLACES = 4  # guesses in a row that are tried
STEPS = 3  # guesses in a row that are learned, each with less weight than the one before
_AT_ONCE = 100  # tokens before each change of the weights
_LESS = 0.8
_TRIED_AT_ONCE = 8  # texts
_WARM_UP = 25  # changes
_FALLING = 0.4  # the last part of the training, in which the rate goes down to nearly nothing
_LOWEST = 0.03
_MEMORY = 0.99  # of the running mean of the weights, which is what comes out
_LONGEST_CHANGE = 1.0  # norm that a gradient is cut down to
_FIRST_MARK = 12_500  # tokens; the following ones at each doubling
_FLAT = 0.01  # a pass that makes rounds longer by less than this share is the last
SAVE_EVERY = 60.0  # seconds: the most that an interruption costs
_SPEAK_EVERY = 20.0  # seconds


@dataclass(frozen=True)
class Plan:
    """The length of a training: so many passes through all texts, or until the seconds are over."""

    passes: int
    seconds: float
    rate: float = 1e-3
    seed: int = 0


@dataclass
class _State:
    """The state that a stopped training goes on from, but for the weights."""

    tokens: int = 0  # seen so far
    passes: int = 0  # that are over
    place: int = 0  # changes of the present pass
    changes: int = 0
    seconds: float = 0.0
    marks: list[Mark] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)  # their length after each pass


class Trainer:
    """A head that learns, the running mean of its weights, and how it does on texts that it does not learn from."""

    def __init__(self, head: Head, texts: Sequence[Text], trials: Sequence[Text], plan: Plan, path: Path) -> None:
        """Go on from the file `path`, where there is one of this very training. Raises ExportError."""
        self.head, self.plan, self._path = head, plan, path
        self._texts = [text for text in texts if long_enough(text, STEPS)]
        self._trials = [text for text in trials if long_enough(text, PLACES)]
        if not self._texts or not self._trials:
            raise ExportError("The model's answers are too short to learn from; choose another model.")
        self.tokens = sum(map(_learned, self._texts))
        self._weights = [weight for weight in head.parameters() if weight.requires_grad]
        self._mean = [weight.detach().clone() for weight in self._weights]
        self._optimizer = torch.optim.AdamW(
            self._weights, lr=plan.rate, betas=(0.9, 0.95), weight_decay=0.01, fused=True
        )
        self._state = _State()
        self._resume()

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The learning curve so far."""
        return tuple(self._state.marks)

    def learn(self, say: Callable[[str], None]) -> None:
        """Learn to the end, leaving the mean of the last weights in the head. Raises ExportError."""
        state, begun = self._state, time.monotonic() - self._state.seconds
        saved = spoken = state.seconds
        while not self._is_over():
            batches = _batches(self._texts, self.plan.seed + state.passes)
            for batch in batches[state.place :]:
                self._change(batch)
                state.place, state.changes = state.place + 1, state.changes + 1
                state.tokens += sum(map(_learned, batch))
                state.seconds = time.monotonic() - begun
                if state.tokens >= _FIRST_MARK * 2 ** len(state.marks):
                    self._mark(say)
                if state.seconds - saved > SAVE_EVERY:
                    self._save()
                    saved = state.seconds
                if state.seconds - spoken > _SPEAK_EVERY:
                    spoken = state.seconds
                    say(f"  {state.tokens:,} tokens learned from, {self._left()} left")
                if state.seconds >= self.plan.seconds:
                    break
            state.passes, state.place = state.passes + 1, 0
            state.rounds.append(self._mark(say))
            self._save()
        self._swap()

    def _is_over(self) -> bool:
        state = self._state
        flat = len(state.rounds) > 1 and state.rounds[-1] < (1 + _FLAT) * state.rounds[-2]
        return flat or state.passes >= self.plan.passes or state.seconds >= self.plan.seconds

    def _done(self) -> float:
        """The share of the training that is over, by tokens or by time."""
        seen = self._state.tokens / (self.tokens * self.plan.passes)
        return min(1.0, max(seen, self._state.seconds / self.plan.seconds))

    def _left(self) -> str:
        done = max(self._done(), 1e-6)
        return f"about {max(1, round(self._state.seconds * (1 - done) / done / 60))} min"

    def _change(self, batch: Sequence[Text]) -> None:
        """One change of the weights."""
        state = self._state
        rate = min(1.0, (state.changes + 1) / _WARM_UP) * min(1.0, max(_LOWEST, (1 - self._done()) / _FALLING))
        self._optimizer.param_groups[0]["lr"] = self.plan.rate * rate
        self._optimizer.zero_grad(set_to_none=True)
        self.head.train()
        loss = _loss(self.head, batch)
        if not math.isfinite(float(loss.detach())):
            raise ExportError("The training went astray; begin again with another --seed.")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._weights, _LONGEST_CHANGE)
        self._optimizer.step()
        keep = min(_MEMORY, (state.changes + 1) / (state.changes + 11))
        with torch.no_grad():
            for mean, weight in zip(self._mean, self._weights, strict=True):
                mean.lerp_(weight, 1 - keep)

    def _mark(self, say: Callable[[str], None]) -> float:
        """Try the running mean; the tokens that a round of STEPS guesses gives, in the mean of all classes."""
        self._swap()
        found = acceptance(self.head, self._trials)
        self._swap()
        state = self._state
        state.marks.append(Mark(state.tokens, round(state.seconds / 3600, 3), found))
        told = "; ".join(f"{kind} {' '.join(f'{rate:.2f}' for rate in rates)}" for kind, rates in found.items())
        say(f"  after {state.tokens:,} tokens the target takes, by place: {told}")
        return sum(map(_round, found.values())) / len(found)

    def _swap(self) -> None:
        """Exchange the weights and their running mean."""
        with torch.no_grad():
            for mean, weight in zip(self._mean, self._weights, strict=True):
                kept = mean.clone()
                mean.copy_(weight)
                weight.copy_(kept)

    def _save(self) -> None:
        half = self._path.with_name(f".{self._path.name}.new")
        kept = {
            "tokens": self.tokens,
            "state": {**vars(self._state), "marks": [vars(mark) for mark in self._state.marks]},
            "weights": [weight.detach() for weight in self._weights],
            "mean": self._mean,
            "optimizer": self._optimizer.state_dict(),
        }
        torch.save(kept, half)
        half.replace(self._path)

    def _resume(self) -> None:
        """Go on; with other texts than before, begin anew from what was learned."""
        try:
            kept = torch.load(self._path, weights_only=True)
            loaded = [*zip(self._weights, kept["weights" if kept["tokens"] == self.tokens else "mean"], strict=True)]
            with torch.no_grad():
                for (weight, value), mean, learned in zip(loaded, self._mean, kept["mean"], strict=True):
                    weight.copy_(value)
                    mean.copy_(learned)
            if kept["tokens"] == self.tokens:
                self._optimizer.load_state_dict(kept["optimizer"])
                self._state = _State(**{**kept["state"], "marks": [Mark(**mark) for mark in kept["state"]["marks"]]})
        except (OSError, RuntimeError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError):
            return


def _learned(text: Text) -> int:
    return len(text.ids) - text.given


def long_enough(text: Text, steps: int) -> bool:
    """Tell whether a text has at least one place for a chain of `steps` guesses."""
    return len(text.ids) - steps >= text.given


def _batches(texts: Sequence[Text], seed: int) -> list[list[Text]]:
    """Return all texts in an order that depends on nothing but the seed."""
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(seed)).tolist()
    batches: list[list[Text]] = [[]]
    for index in order:
        if sum(map(_learned, batches[-1])) >= _AT_ONCE:
            batches.append([])
        batches[-1].append(texts[index])
    return batches


def _round(rates: Sequence[float]) -> float:
    """Tokens that a round of STEPS guesses gives, with the one that comes in any case."""
    return 1.0 + sum(math.prod(rates[: place + 1]) for place in range(STEPS))


def _computing() -> Any:
    """Compute in 16 bits where the processor multiplies such numbers."""
    return torch.autocast("cpu", torch.bfloat16, enabled=bool(torch.cpu.get_capabilities().get("avx512_bf16")))


def _loss(head: Head, texts: Sequence[Text]) -> Tensor:
    """Return how far the head's expectations are from the target's, in nats a guess: the weighted sum of the steps."""
    read = [text.states[text.given :, -(text.states.shape[1] // STATES) :] for text in texts]
    loss = torch.zeros(())
    with _computing():
        with torch.no_grad():
            states = torch.from_numpy(np.concatenate(read).astype(np.float32))
            expected = torch.nn.functional.linear(states, head.rows).float().softmax(dim=-1).split([*map(len, read)])
        for step, (normed, places) in enumerate(head.unroll(texts, STEPS)):
            behind = zip(expected, texts, places, strict=True)
            wanted = torch.cat([each[place - text.given] for each, text, place in behind])
            found = torch.nn.functional.linear(normed, head.rows).float()
            unlike = torch.logsumexp(found, dim=-1) - (wanted * found).sum(dim=-1)
            loss = loss + _LESS**step * unlike.mean()
    return loss


def acceptance(head: Head, texts: Sequence[Text]) -> dict[str, tuple[float, ...]]:
    """Return by class and place in a chain the share of guesses that the target takes where it took those before.

    The texts are what the target says when it is most certain, so that a guess holds where it is the text's next token.
    """
    tried: dict[str, Tensor] = {}
    head.eval()
    with torch.inference_mode(), _computing():
        for start in range(0, len(texts), _TRIED_AT_ONCE):
            several = texts[start : start + _TRIED_AT_ONCE]
            right = [torch.ones(len(text.ids) - PLACES - text.given + 1, dtype=torch.bool) for text in several]
            for step, (normed, behind) in enumerate(head.unroll(several, PLACES)):
                guessed = head.chosen[torch.nn.functional.linear(normed, head.rows).argmax(dim=-1)]
                for index, each in enumerate(guessed.split([len(place) for place in behind])):
                    counts = tried.setdefault(several[index].kind, torch.zeros(2, PLACES))
                    ids = several[index].ids
                    right[index] &= behind[index] + 1 < len(ids)
                    follows = torch.tensor([*ids, -1])[behind[index] + 1]
                    counts[1, step] += right[index].sum()
                    right[index] &= each == follows
                    counts[0, step] += right[index].sum()
    return {
        kind: tuple(round(float(hit / max(float(all_), 1.0)), 3) for hit, all_ in counts.T)
        for kind, counts in tried.items()
    }
