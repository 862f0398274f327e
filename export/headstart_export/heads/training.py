"""The training of a head: chains of guesses are unrolled and compared with the target's probabilities."""

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
from headstart.library.manifest import CurvePoint
from headstart_export.heads.features import STATES, Text
from headstart_export.heads.network import Head

PLACES = 4  # guesses in a row that are measured
STEPS = 3  # guesses in a row that are learned, each with less weight than the one before
_BATCH_TOKENS = 100  # tokens in a batch
_STEP_DECAY = 0.8
_TRIAL_BATCH = 8  # texts
_WARMUP_CHANGES = 25  # changes of the weights
_DECAY_SHARE = 0.4  # the last share of the training, in which the learning rate decays
_MIN_RATE = 0.03
_MEAN_DECAY = 0.99  # of the running mean of the weights, which is the result
_MAX_GRAD_NORM = 1.0  # gradients are clipped to this norm
_FIRST_MARK = 12_500  # tokens; then at each doubling
_MIN_GAIN = 0.01  # the training ends with a pass that makes rounds longer by a smaller share
SAVE_EVERY = 60.0  # seconds: the most that an interruption loses
_NOTE_EVERY = 20.0  # seconds


@dataclass(frozen=True)
class Plan:
    """The length of a training: passes through all texts, or seconds, whichever ends first."""

    passes: int
    seconds: float
    rate: float = 1e-3
    seed: int = 0


@dataclass
class _State:
    """The state of an interrupted training, besides the weights."""

    tokens: int = 0  # learned from so far
    passes: int = 0  # finished
    place: int = 0  # batches done in the current pass
    changes: int = 0
    seconds: float = 0.0
    marks: list[CurvePoint] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)  # mean length of a round after each pass


class Trainer:
    """The trainer of a head. It averages the weights, and measures them on texts that are not learned from."""

    def __init__(self, head: Head, texts: Sequence[Text], trials: Sequence[Text], plan: Plan, path: Path) -> None:
        """Begin, or continue from the file `path` of an interrupted training. Raises ExportError."""
        self.head, self.plan, self._path = head, plan, path
        self._texts = [text for text in texts if long_enough(text, STEPS)]
        self._trials = [text for text in trials if long_enough(text, PLACES)]
        if not self._texts or not self._trials:
            raise ExportError("The model's answers are too short to learn from; choose another model.")
        self.tokens = sum(map(_count_learned, self._texts))
        self._weights = [weight for weight in head.parameters() if weight.requires_grad]
        self._mean = [weight.detach().clone() for weight in self._weights]
        self._optimizer = torch.optim.AdamW(
            self._weights, lr=plan.rate, betas=(0.9, 0.95), weight_decay=0.01, fused=True
        )
        self._state = _State()
        self._resume()

    @property
    def learning_curve(self) -> tuple[CurvePoint, ...]:
        """The learning curve so far."""
        return tuple(self._state.marks)

    def learn(self, note: Callable[[str], None]) -> None:
        """Train to the end, and give the head the averaged weights. Raises ExportError."""
        state, begun = self._state, time.monotonic() - self._state.seconds
        saved = noted = state.seconds
        while not self._is_over():
            batches = _batches(self._texts, self.plan.seed + state.passes)
            for batch in batches[state.place :]:
                self._step(batch)
                state.place, state.changes = state.place + 1, state.changes + 1
                state.tokens += sum(map(_count_learned, batch))
                state.seconds = time.monotonic() - begun
                if state.tokens >= _FIRST_MARK * 2 ** len(state.marks):
                    self._measure(note)
                if state.seconds - saved > SAVE_EVERY:
                    self._save()
                    saved = state.seconds
                if state.seconds - noted > _NOTE_EVERY:
                    noted = state.seconds
                    note(f"  {state.tokens:,} tokens learned from, {self._left()} left")
                if state.seconds >= self.plan.seconds:
                    break
            state.passes, state.place = state.passes + 1, 0
            state.rounds.append(self._measure(note))
            self._save()
        self._swap_average()

    def _is_over(self) -> bool:
        state = self._state
        flat = len(state.rounds) > 1 and state.rounds[-1] < (1 + _MIN_GAIN) * state.rounds[-2]
        return flat or state.passes >= self.plan.passes or state.seconds >= self.plan.seconds

    def _done(self) -> float:
        """Return how much of the training is done, from 0 to 1, by tokens or by time."""
        share = self._state.tokens / (self.tokens * self.plan.passes)
        return min(1.0, max(share, self._state.seconds / self.plan.seconds))

    def _left(self) -> str:
        share = max(self._done(), 1e-6)
        return f"about {max(1, round(self._state.seconds * (1 - share) / share / 60))} min"

    def _step(self, batch: Sequence[Text]) -> None:
        """Update the weights with one batch."""
        state = self._state
        rate = min(1.0, (state.changes + 1) / _WARMUP_CHANGES) * min(
            1.0, max(_MIN_RATE, (1 - self._done()) / _DECAY_SHARE)
        )
        self._optimizer.param_groups[0]["lr"] = self.plan.rate * rate
        self._optimizer.zero_grad(set_to_none=True)
        self.head.train()
        loss = _loss(self.head, batch)
        if not math.isfinite(float(loss.detach())):
            raise ExportError("The training went astray; begin again with another --seed.")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._weights, _MAX_GRAD_NORM)
        self._optimizer.step()
        keep = min(_MEAN_DECAY, (state.changes + 1) / (state.changes + 11))
        with torch.no_grad():
            for mean, weight in zip(self._mean, self._weights, strict=True):
                mean.lerp_(weight, 1 - keep)

    def _measure(self, note: Callable[[str], None]) -> float:
        """Measure the averaged weights. Return the mean tokens of a round of STEPS guesses over all classes."""
        self._swap_average()
        rates_by_class = acceptance(self.head, self._trials)
        self._swap_average()
        state = self._state
        state.marks.append(CurvePoint(state.tokens, round(state.seconds / 3600, 3), rates_by_class))
        summary = "; ".join(
            f"{kind} {' '.join(f'{rate:.2f}' for rate in rates)}" for kind, rates in rates_by_class.items()
        )
        note(f"  after {state.tokens:,} tokens the target takes, by place: {summary}")
        return sum(map(_round_tokens, rates_by_class.values())) / len(rates_by_class)

    def _swap_average(self) -> None:
        """Swap the weights and their average."""
        with torch.no_grad():
            for mean, weight in zip(self._mean, self._weights, strict=True):
                previous = mean.clone()
                mean.copy_(weight)
                weight.copy_(previous)

    def _save(self) -> None:
        part = self._path.with_name(f".{self._path.name}.new")
        checkpoint = {
            "tokens": self.tokens,
            "state": {**vars(self._state), "marks": [vars(mark) for mark in self._state.marks]},
            "weights": [weight.detach() for weight in self._weights],
            "mean": self._mean,
            "optimizer": self._optimizer.state_dict(),
        }
        torch.save(checkpoint, part)
        part.replace(self._path)

    def _resume(self) -> None:
        """Load the saved state; only the weights, if the texts have changed."""
        try:
            checkpoint = torch.load(self._path, weights_only=True)
            loaded = [
                *zip(
                    self._weights, checkpoint["weights" if checkpoint["tokens"] == self.tokens else "mean"], strict=True
                )
            ]
            with torch.no_grad():
                for (weight, value), mean, learned in zip(loaded, self._mean, checkpoint["mean"], strict=True):
                    weight.copy_(value)
                    mean.copy_(learned)
            if checkpoint["tokens"] == self.tokens:
                self._optimizer.load_state_dict(checkpoint["optimizer"])
                self._state = _State(
                    **{**checkpoint["state"], "marks": [CurvePoint(**mark) for mark in checkpoint["state"]["marks"]]}
                )
        except (OSError, RuntimeError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError):
            return


def _count_learned(text: Text) -> int:
    return len(text.ids) - text.given


def long_enough(text: Text, steps: int) -> bool:
    """Return True if a text has room for a chain of `steps` guesses."""
    return len(text.ids) - steps >= text.given


def _batches(texts: Sequence[Text], seed: int) -> list[list[Text]]:
    """Return all texts in batches, in an order that depends on the seed alone."""
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(seed)).tolist()
    batches: list[list[Text]] = [[]]
    for index in order:
        if sum(map(_count_learned, batches[-1])) >= _BATCH_TOKENS:
            batches.append([])
        batches[-1].append(texts[index])
    return batches


def _round_tokens(rates: Sequence[float]) -> float:
    """Return the expected tokens of a round of STEPS guesses, the target's own included."""
    return 1.0 + sum(math.prod(rates[: place + 1]) for place in range(STEPS))


def _autocast() -> Any:
    """Return a context manager that computes in bfloat16, if the processor supports it."""
    return torch.autocast("cpu", torch.bfloat16, enabled=bool(torch.cpu.get_capabilities().get("avx512_bf16")))


def _logits(head: Head, normed: Tensor) -> Tensor:
    """Return the logits of the target's rows for normed states: [places, rows]."""
    rows = head.rows if torch.is_autocast_enabled("cpu") else head.rows.float()
    return torch.nn.functional.linear(normed, rows)


def _loss(head: Head, texts: Sequence[Text]) -> Tensor:
    """Return the cross-entropy of head and target in nats a guess, as a weighted sum of the steps."""
    read = [text.states[text.given :, -(text.states.shape[1] // STATES) :] for text in texts]
    loss = torch.zeros(())
    with _autocast():
        with torch.no_grad():
            states = torch.from_numpy(np.concatenate(read).astype(np.float32))
            expected = _logits(head, states).float().softmax(dim=-1).split([*map(len, read)])
        for step, (normed, places) in enumerate(head.unroll(texts, STEPS)):
            aligned = zip(expected, texts, places, strict=True)
            targets = torch.cat([distribution[place - text.given] for distribution, text, place in aligned])
            logits = _logits(head, normed).float()
            cross_entropy = torch.logsumexp(logits, dim=-1) - (targets * logits).sum(dim=-1)
            loss = loss + _STEP_DECAY**step * cross_entropy.mean()
    return loss


def acceptance(head: Head, texts: Sequence[Text]) -> dict[str, tuple[float, ...]]:
    """Return the acceptance rate by class and step: the share of accepted guesses after accepted ones.

    The texts are greedy answers of the target, so a guess is accepted if it is the text's next token.
    """
    counts_by_class: dict[str, Tensor] = {}
    head.eval()
    with torch.inference_mode(), _autocast():
        for start in range(0, len(texts), _TRIAL_BATCH):
            batch = texts[start : start + _TRIAL_BATCH]
            is_accepted = [torch.ones(len(text.ids) - PLACES - text.given + 1, dtype=torch.bool) for text in batch]
            for step, (normed, places) in enumerate(head.unroll(batch, PLACES)):
                guessed = head.chosen[_logits(head, normed).argmax(dim=-1)]
                for index, guesses in enumerate(guessed.split([len(place) for place in places])):
                    counts = counts_by_class.setdefault(batch[index].kind, torch.zeros(2, PLACES))
                    ids = batch[index].ids
                    is_accepted[index] &= places[index] + 1 < len(ids)
                    follows = torch.tensor([*ids, -1])[places[index] + 1]
                    counts[1, step] += is_accepted[index].sum()
                    is_accepted[index] &= guesses == follows
                    counts[0, step] += is_accepted[index].sum()
    return {
        kind: tuple(round(float(accepted / max(float(total), 1.0)), 3) for accepted, total in counts.T)
        for kind, counts in counts_by_class.items()
    }
