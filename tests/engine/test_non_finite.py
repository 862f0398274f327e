"""A row that is not a number ends no answer: a drafter is set aside, a target is replaced and the answer goes on."""

import logging
from collections import abc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.draft_model import DraftModel
from headstart.engine.drafters.ngram import NgramDrafter
from headstart.engine.engine import (
    Drafter,
    Finish,
    FinishReason,
    LoadOptions,
    Mode,
    Prefill,
    Round,
    Sampling,
    Speculation,
)
from headstart.engine.loading import LoadedModel
from headstart.engine.local import LocalEngine, load
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.runners.runner import Branch, Logits, NonFiniteError
from headstart.engine.sequence import Job, Sequence
from headstart.engine.speculative import Decoder
from headstart.engine.validation import known
from headstart.errors import BrokenModelError
from tests.engine.answers import LIST, ask, request
from tests.toy import BranchingToy, ToyRunner, toy_drafters

PROMPT = (1, 2, 3, 4)
FIXED = Speculation(Mode.FIXED, 4, drafter=Drafter.DRAFT)


class Breaking(ToyRunner):
    """Gives what is not a number once the cache has so many tokens."""

    def __init__(self, at: int, value: float = np.nan, **kind: Any) -> None:
        super().__init__(**kind)
        self.at, self._value = at, value

    def forward(
        self,
        ids: abc.Sequence[int],
        branches: abc.Sequence[Branch] = (),
        rows: int = 1,
        cancel: CancelEvent | None = None,
    ) -> Logits:
        logits = super().forward(ids, branches, rows, cancel)
        if len(self.tokens) >= self.at:
            logits[-1] = self._value
        return logits


class BreakingBranches(Breaking, BranchingToy):
    """The same, where tokens may be checked beside each other."""


def job(speculation: Speculation, sampling: Sampling | None = None, written: tuple[int, ...] = ()) -> Job:
    """Forty tokens."""
    return Job(PROMPT, 40, frozenset(), sampling or Sampling(), speculation, written=written)


def text(decoder: Decoder, wanted: Job) -> list[int]:
    """The tokens of an answer."""
    events = decoder.run(wanted, CancelEvent())
    return [token.id for event in events if isinstance(event, Round) for token in event.tokens]


def plain_text(sampling: Sampling | None = None) -> list[int]:
    """What the toy writes by itself."""
    return text(Decoder(ToyRunner(), [], Policy(Costs(Curve.shipped(1.0)))), job(Speculation(Mode.OFF), sampling))


@pytest.mark.parametrize("at", [1, 9, 20])
@pytest.mark.parametrize("speculation", [FIXED, Speculation()])
def test_a_draft_that_breaks_is_set_aside_and_the_answer_is_the_same(
    at: int, speculation: Speculation, caplog: pytest.LogCaptureFixture
) -> None:
    draft, begun = DraftModel(Breaking(at, blur=0.2), 24), Sequence(job(speculation), 100)
    decoder = Decoder(ToyRunner(), [draft, NgramDrafter()], Policy(Costs(Curve.shipped(1.0))))
    with caplog.at_level(logging.WARNING):
        assert text(decoder, job(speculation)) == plain_text()
    if speculation is FIXED:  # else the policy may leave it alone
        assert not draft.runner.tokens  # nothing of its cache is trusted
        assert caplog.text.count("set aside for this answer") == 1
        assert draft.price(begun) is None
    draft.begin(begun)  # the next answer tries it again
    assert draft.price(begun) is not None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_target_that_breaks_says_so_before_a_token_is_chosen(value: float) -> None:
    for runner in (Breaking(9, value), BreakingBranches(9, value)):
        decoder = Decoder(runner, toy_drafters(runner, ToyRunner(blur=0.2)), Policy(Costs(Curve.shipped(1.0))))
        with pytest.raises(NonFiniteError):
            text(decoder, job(FIXED))


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.9, seed=3),
        Sampling(temperature=0.7, repetition_penalty=1.3, frequency_penalty=0.4, presence_penalty=0.2, seed=5),
    ],
)
@pytest.mark.parametrize("length", [1, 7, 39])
def test_an_answer_goes_on_from_where_it_was(sampling: Sampling, length: int) -> None:
    whole = plain_text(sampling)
    decoder = Decoder(ToyRunner(), toy_drafters(ToyRunner(), ToyRunner(blur=0.2)), Policy(Costs(Curve.shipped(1.0))))
    assert text(decoder, job(FIXED, sampling, written=tuple(whole[:length]))) == whole[length:]


class Poisoned:
    """A loaded target whose results stop being numbers after so many passes."""

    def __init__(self, model: LoadedModel, passes: int) -> None:
        runner, self.left = model.runner, passes
        self.model = replace(model, runner=self)
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    def forward(self, *arguments: Any, **named: Any) -> Logits:
        """Numbers, as long as they last."""
        logits = self._runner.forward(*arguments, **named)
        self.left -= 1
        return logits if self.left >= 0 else np.full_like(logits, np.nan)


@pytest.mark.parametrize("passes", [0, 1, 6])
def test_another_precision_goes_on_with_the_answer(pair_engine: LocalEngine, passes: int) -> None:
    expected = ask(pair_engine, request(LIST, tokens=24))
    whole = load(LoadOptions(pair_engine.tokenizer.folder))
    poisoned = Poisoned(whole.target, passes)
    reloaded = pair_engine.target
    reloaded.runner.rollback(0)
    engine = LocalEngine(poisoned.model, None, whole.tokenizer, whole._learned, reload=lambda: reloaded)
    events = list(engine.generate(request(LIST, tokens=24)))
    finish = events[-1]
    assert isinstance(finish, Finish)
    assert (finish.reason, len(finish.token_ids)) == (FinishReason.LENGTH, 24)
    notes = [event.note for event in events if isinstance(event, Prefill) and event.note]
    assert len(notes) == 1
    assert "gave results that are not numbers in f32; it goes on in f32, groups of 0." in notes[0]
    assert engine.target is reloaded
    found = known(whole.target.measurements, whole.target.properties)
    assert found is not None
    assert found.reason == "it gave results that are not numbers"
    if passes == 0:
        assert finish.token_ids == expected.ids  # all of it is the other's


def test_where_nothing_can_be_loaded_in_its_place_a_sentence_says_so(pair_engine: LocalEngine) -> None:
    whole = load(LoadOptions(pair_engine.tokenizer.folder))
    engine = LocalEngine(Poisoned(whole.target, 3).model, None, whole.tokenizer, whole._learned)
    with pytest.raises(BrokenModelError, match="gave results that are not numbers; load it again"):
        ask(engine, request(LIST, tokens=24))
