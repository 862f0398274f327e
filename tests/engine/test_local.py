"""Headstart's own engine: figures add up, and after any fault the next answer is right."""

import gc
import itertools
import json
import logging
import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from headstart.engine import local
from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.draft_model import DraftModel
from headstart.engine.drafters.ngram import NgramDrafter
from headstart.engine.engine import (
    ConversationRequest,
    Drafter,
    Event,
    Finish,
    FinishReason,
    Keep,
    LoadOptions,
    Message,
    Mode,
    Origin,
    Prefill,
    Round,
    Sampling,
    Speculation,
    Step,
    Tally,
    Timing,
    Token,
)
from headstart.engine.loading.loading import LoadedModel
from headstart.engine.loading.validation import Verdict, find_verdict, store_verdict
from headstart.engine.local import LocalEngine, Models, begin
from headstart.engine.policy.cost_model import SIZES, Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.runners.precision import VERIFY, pass_ms, plain, reference
from headstart.engine.runners.runner import Logits, NonFiniteError, Runner
from headstart.engine.sequence import Sequence
from headstart.engine.speculative import Decoder
from headstart.engine.text import generation_config
from headstart.errors import BrokenModelError, ChatTemplateError, ContextOverflowError
from headstart.library import manifest as manifests
from tests.engine.answers import LIST, Answer, ask, forget, load, request
from tests.stand_ins.toy import BranchingToy, ToyRunner, toy_drafters

FIXED = Speculation(Mode.FIXED, 4)
LONG = "The terms of the work are these: " * 60
CHUNK = 256  # tokens, of which that has more than two
WARM = Sampling(temperature=0.9, seed=21)


@pytest.fixture(scope="module")
def usual(pair_engine: LocalEngine) -> Answer:
    """The answer of an engine that did nothing before."""
    return ask(forget(pair_engine), request(LIST, sampling=WARM))


def answers_as_usual(engine: LocalEngine, usual: Answer) -> bool:
    given = ask(engine, request(LIST, sampling=WARM, speculation=FIXED))
    return given.essence == usual.essence


@pytest.fixture
def in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts are read in chunks that are shorter than usual, as the tiny models' context is."""
    monkeypatch.setattr("headstart.engine.speculative.PREFILL_CHUNK", CHUNK)


@pytest.mark.usefixtures("in_chunks")
def test_answer_is_prefill_steps_and_one_finish(pair_engine: LocalEngine) -> None:
    given = ask(forget(pair_engine), request(LONG, speculation=FIXED))
    total = given.stats.prompt_tokens
    assert [prefill.total for prefill in given.prefills] == [total] * len(given.prefills)
    done = [prefill.done for prefill in given.prefills]
    assert done == list(range(0, total, CHUNK))
    assert len(done) > 2
    assert given.stats.output_tokens == len(given.ids) == 64
    assert given.stats.context_used == total + 64
    assert given.text == pair_engine.tokenizer.decode(given.ids)


def test_answer_without_tokens_reads_only_the_prompt(pair_engine: LocalEngine, usual: Answer) -> None:
    alone = ask(forget(pair_engine), request(LIST, tokens=0))
    assert (alone.steps, alone.ids, alone.reason) == ((), (), FinishReason.LENGTH)
    given = ask(pair_engine, request(LIST, sampling=WARM))
    assert given.essence == usual.essence
    assert given.stats.reused_tokens == alone.stats.prompt_tokens - 1
    cut = ask(forget(pair_engine), request(LONG, tokens=0), lambda event: isinstance(event, Prefill))
    assert cut.reason is FinishReason.CANCELLED


def test_repetition_ends_the_answer_and_counts_no_saved_time(pair_engine: LocalEngine) -> None:
    looping = Sampling(frequency_penalty=-10.0)  # what was written is written again
    plain = ask(forget(pair_engine), request(LIST, sampling=looping, tokens=400))
    assert plain.reason is FinishReason.REPETITION
    assert plain.stats.repeats >= 4
    assert len(plain.ids) < 400
    guessed = ask(forget(pair_engine), request(LIST, sampling=looping, tokens=400, speculation=FIXED))
    assert guessed.essence == plain.essence
    assert (guessed.stats.speedup, guessed.stats.ledger_ms) == (None, 0.0)
    wanted = structs.replace(request(LIST, sampling=looping, tokens=400, speculation=FIXED), stop_on_repetition=False)
    whole = ask(forget(pair_engine), wanted)
    assert (whole.reason, len(whole.ids)) == (FinishReason.LENGTH, 400)
    assert whole.stats.repeats > plain.stats.repeats
    assert (whole.stats.speedup, whole.stats.ledger_ms) == (None, 0.0)


def test_open_parameters_of_a_request_are_those_of_the_model(tiny_target: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_target, tmp_path / "sampled")
    own = {"do_sample": True, "temperature": 0.9, "top_k": 7}
    (folder / generation_config.FILE_NAME).write_text(json.dumps(own), encoding="utf-8")
    known = manifests.read_model(folder)
    manifests.write(folder, replace(known, files=manifests.hash_files(folder)))
    with closing(load(LoadOptions(folder))) as engine:
        assert engine.sampling == Sampling(0.9, top_k=7)
        left = Sampling(seed=21, automatic=("temperature", "top_k"))
        given = ask(forget(engine), request(LIST, sampling=left))
        assert given.essence == ask(forget(engine), request(LIST, sampling=Sampling(0.9, top_k=7, seed=21))).essence
        assert given.essence != ask(forget(engine), request(LIST)).essence


def test_statistics_add_up_the_rounds(pair_engine: LocalEngine) -> None:
    given = ask(forget(pair_engine), request(LIST, speculation=FIXED))
    rounds, stats = [step.round for step in given.steps if step.round.tokens], given.stats
    assert stats.rounds == len(rounds) - 1  # the first is the prompt's
    assert (stats.drafted, stats.accepted) == (sum(x.drafted for x in rounds), sum(x.accepted for x in rounds))
    assert sum(stats.by_origin.values()) == 64
    assert {Origin.TARGET, Origin.DRAFT} <= {piece.origin for step in given.steps for piece in step.pieces}
    told = [each.ledger_ms for each in rounds]
    assert told[0] == 0.0  # the prompt's own pass earns nothing
    assert len(set(told)) > 2
    assert told[-1] == stats.ledger_ms != 0.0


def test_cancel_before_the_answer(pair_engine: LocalEngine, usual: Answer) -> None:
    cancel = CancelEvent()
    cancel.set()
    events = list(forget(pair_engine).generate(request(LIST), cancel))
    assert [type(event).__name__ for event in events] == ["Prefill", "Finish"]
    given = ask(pair_engine, request(LIST), lambda _: True)
    assert (given.text, given.ids, given.reason) == ("", (), FinishReason.CANCELLED)
    assert answers_as_usual(pair_engine, usual)


@pytest.mark.usefixtures("in_chunks")
@pytest.mark.parametrize("reached", [0, 2 * CHUNK])
def test_cancel_in_prefill(pair_engine: LocalEngine, usual: Answer, reached: int) -> None:
    given = ask(forget(pair_engine), request(LONG), lambda event: isinstance(event, Prefill) and event.done == reached)
    assert given.reason is FinishReason.CANCELLED
    assert given.steps == ()
    assert [prefill.done for prefill in given.prefills] == list(range(0, reached + 1, CHUNK))
    whole = ask(pair_engine, request(LONG, tokens=8))
    assert whole.stats.reused_tokens == reached
    assert whole.ids == ask(forget(pair_engine), request(LONG, tokens=8)).ids
    assert answers_as_usual(pair_engine, usual)


@pytest.mark.parametrize(("speculation", "reached"), [(FIXED, 5), (Speculation(), 2), (Speculation(Mode.OFF), 1)])
def test_cancel_in_a_round(pair_engine: LocalEngine, usual: Answer, speculation: Speculation, reached: int) -> None:
    given = ask(forget(pair_engine), request(LIST, sampling=WARM, speculation=speculation), after_steps(reached))
    assert given.reason is FinishReason.CANCELLED
    assert len([step for step in given.steps if step.round.tokens]) == reached
    assert given.ids == usual.ids[: len(given.ids)]
    assert usual.text.startswith(given.text.rstrip("�"))
    assert answers_as_usual(pair_engine, usual)


def test_cancel_while_the_draft_reads_a_prompt(pair_engine: LocalEngine, usual: Answer) -> None:
    """The target has read it; the draft begins with the second round."""
    given = ask(forget(pair_engine), request(LONG, speculation=FIXED), after_steps(1))
    assert given.reason is FinishReason.CANCELLED
    assert pair_engine.draft is not None
    assert not pair_engine.draft.runner.tokens
    assert answers_as_usual(pair_engine, usual)


@pytest.mark.parametrize(("events", "closed"), [(1, True), (3, False), (6, True)])
def test_abandoned_answer_leaves_the_engine_usable(
    pair_engine: LocalEngine, usual: Answer, events: int, closed: bool
) -> None:
    stream = forget(pair_engine).generate(request(LONG, speculation=FIXED))
    for _ in range(events):
        next(stream)
    if closed:
        stream.close()  # type: ignore[attr-defined]
    assert answers_as_usual(pair_engine, usual)


@pytest.mark.parametrize("room", [0, 1, 2])
def test_prompt_of_the_whole_context_is_answered(
    pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    prompt = len(pair_engine.tokenizer.prompt([Message("user", LIST)]))
    monkeypatch.setattr(pair_engine.target.runner, "context", prompt + room)
    if room == 0:
        with pytest.raises(ContextOverflowError, match=rf"\b{prompt} tokens.*\b{prompt} with the answer.*--context"):
            ask(pair_engine, request(LIST))
        given = ask(forget(pair_engine), request(LIST, tokens=0))
        assert (given.reason, given.stats.context_used) == (FinishReason.LENGTH, prompt), "only reading it fits"
        return
    given = ask(forget(pair_engine), request(LIST, speculation=FIXED))
    assert (given.reason, len(given.ids)) == (FinishReason.CONTEXT, room)
    given = ask(forget(pair_engine), request(LIST, speculation=FIXED, tokens=room))
    assert (given.reason, len(given.ids)) == (FinishReason.LENGTH, room), "all that was asked for"


def test_conversation_that_the_template_refuses_is_refused(pair_engine: LocalEngine, usual: Answer) -> None:
    with pytest.raises(ChatTemplateError):
        ask(pair_engine, ConversationRequest((Message("no such role!", "Hello"),)))
    assert answers_as_usual(pair_engine, usual)


@pytest.mark.slow
def test_policy_state_is_stored(
    tiny_target: Path, tiny_draft: Path, headstart_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []

    def counted(runner: Runner, tokens: int, repeats: int) -> float:
        passes.append(tokens)
        return pass_ms(runner, tokens, repeats)

    monkeypatch.setattr(local, "pass_ms", counted)
    options = LoadOptions(tiny_target, tiny_draft)
    load(options).close()  # without an answer
    assert passes == [1, VERIFY, 1, VERIFY]  # two passes of each model scale the shipped prices
    passes.clear()
    engine = load(options)
    assert passes == []
    ask(engine, request(LIST, speculation=FIXED))
    learned = engine.policy.to_json()
    assert load(options).policy.to_json() == json.loads(json.dumps(learned))
    assert len(list((headstart_home / "measured").glob("tiny-target-policy-*.json"))) == 1


def test_measured_prices_replace_shipped_ones(tiny_target: Path, headstart_home: Path) -> None:
    options = LoadOptions(tiny_target)
    engine = load(options)
    ask(engine, request(LIST, speculation=FIXED))
    learned = engine.policy.to_json()
    store_verdict(
        engine.target.measurements, plain(), Verdict(ms={tokens: 100.0 + tokens for tokens in SIZES}, switch_ms=5.0)
    )
    again = load(options).policy
    assert again.costs.target.ms(6) == pytest.approx(106.0)
    assert {name: part for name, part in again.to_json().items() if name != "costs"} == json.loads(
        json.dumps({name: part for name, part in learned.items() if name != "costs"})
    )
    ask(load(options), request(LIST, speculation=FIXED))
    assert load(options).policy.costs.target.ms(6) != pytest.approx(106.0)  # from now on it learns


@pytest.mark.slow
def test_context_is_bounded_by_the_model(tiny_target: Path, tiny_draft: Path, altered: Callable[..., Path]) -> None:
    shorter = altered(tiny_draft, context_length=100)
    engine = load(LoadOptions(tiny_target, shorter, context=4000))
    assert engine.draft is not None
    assert (engine.target.runner.context, engine.draft.runner.context) == (1024, 100)
    given = ask(engine, request(LIST, speculation=FIXED, tokens=100))
    plain = ask(forget(engine), request(LIST, tokens=100))
    assert given.essence == plain.essence
    drafters = [step.round.drafter for step in given.steps]
    assert Origin.DRAFT in drafters[:10]
    assert Origin.DRAFT in drafters[-10:]


def test_close_frees_the_models(tiny_target: Path) -> None:
    engine = load(LoadOptions(tiny_target))
    ask(engine, request(LIST, tokens=4))
    runner = weakref.ref(engine.target.runner)
    engine.close()
    gc.collect()
    assert runner() is None


def test_load_and_answer_open_no_connection(tiny_target: Path, tmp_path: Path) -> None:
    package = tmp_path / "openvino_telemetry"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('telemetry was imported')")
    script = tmp_path / "answer.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tiny_target)]
    environment = {**os.environ, "HEADSTART_HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "8 tokens, telemetry None, events []\n"), done.stderr


SCRIPT = """
import sys
from pathlib import Path

events = []
WATCHED = ("socket.connect", "socket.getaddrinfo", "os.fork", "os.posix_spawn", "subprocess.Popen")
sys.addaudithook(lambda event, arguments: events.append(event) if event in WATCHED else None)

from headstart.engine.engine import ConversationRequest, Finish, LoadOptions, Message
from headstart.engine.opening import resolve
from headstart.engine.local import load

engine = load(resolve(LoadOptions(Path(sys.argv[1]))))
*_, finish = engine.generate(ConversationRequest((Message("user", "Hello"),), max_new_tokens=8))
telemetry = sys.modules["openvino_telemetry"]
print(f"{len(finish.token_ids)} tokens, telemetry {telemetry}, events {events}")
"""


def after_steps(count: int) -> Callable[[Event], bool]:
    seen: list[Event] = []

    def reached(event: Event) -> bool:
        seen.extend([event] if isinstance(event, Step) else [])
        return len(seen) == count

    return reached


TARGET, DRAFT, NGRAM = Origin.TARGET, Origin.DRAFT, Origin.NGRAM


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is a quarter of a second after the one before."""
    readings = itertools.count()
    monkeypatch.setattr("headstart.engine.engine.time.perf_counter", lambda: next(readings) / 4)


def round_of(*origins: Origin, drafted: int = 0, accepted: int = 0, timing: Timing | None = None) -> Round:
    tokens = tuple(Token(place, origin) for place, origin in enumerate(origins))
    return Round(tokens, drafted, accepted, origins[0] if origins else TARGET, timing or Timing())


@pytest.mark.usefixtures("clock")
def test_tally_adds_up_rounds() -> None:
    counted = Tally()
    counted.read(Prefill(7, 30))
    counted.read(Prefill(30, 30))
    counted.add(round_of(TARGET, timing=Timing(other_ms=1.0)))
    counted.add(round_of(DRAFT, DRAFT, TARGET, drafted=4, accepted=2, timing=Timing(10.0, 20.0, 3.0)))
    counted.add(round_of(NGRAM, TARGET, drafted=3, accepted=1, timing=Timing(0.0, 22.0, 1.0)))
    stats = counted.stats(plain_ms=18.75, ledger_ms=-4.0, context_length=100)
    assert (stats.prompt_tokens, stats.reused_tokens, stats.output_tokens) == (30, 7, 6)
    assert (stats.rounds, stats.drafted, stats.accepted) == (2, 7, 3)  # the prompt's own pass is no round
    assert stats.by_origin == {"target": 3, "draft": 2, "n-gram": 1}
    assert stats.by_part == {"draft": 10.0, "verify": 42.0, "other": 5.0}
    assert (stats.ttft_ms, stats.decode_ms) == (250.0, 500.0)
    assert stats.plain_ms == pytest.approx((500.0 - 4.0) / 5)
    assert stats.ledger_ms == -4.0
    assert (stats.context_used, stats.context_length) == (36, 100)
    assert stats.tpot_ms == 100.0
    assert stats.tokens_per_second == 10.0
    assert stats.acceptance_rate == pytest.approx(3 / 7)
    assert stats.mean_accepted_length == 2.5
    assert stats.speedup == pytest.approx(496 / 500)


@pytest.mark.parametrize("written", [0, 1])
def test_tally_without_time_has_no_rates(written: int) -> None:
    counted = Tally()
    for _ in range(written):
        counted.add(round_of(TARGET))
    stats = counted.stats(plain_ms=70.0, ledger_ms=0.0, context_length=100)
    assert (stats.output_tokens, stats.rounds, stats.context_used, stats.decode_ms) == (written, 0, written, 0.0)
    assert stats.tpot_ms is stats.tokens_per_second is stats.acceptance_rate is stats.speedup is None
    assert stats.mean_accepted_length is None


PROMPT = (1, 2, 3, 4)
DRAFTED = Speculation(Mode.FIXED, 4, drafter=Drafter.DRAFT)


class Breaking(ToyRunner):
    """A runner that gives NaN once the cache has so many tokens."""

    def __init__(self, at: int, value: float = np.nan, **kind: Any) -> None:
        super().__init__(**kind)
        self.at, self._value = at, value

    def forward(self, *arguments: Any, **named: Any) -> Logits:
        logits = super().forward(*arguments, **named)
        if len(self.tokens) >= self.at:
            logits[-1] = self._value
        return logits


class BreakingBranches(Breaking, BranchingToy):
    """A breaking runner that supports branches."""


def begun(speculation: Speculation, sampling: Sampling | None = None, written: tuple[int, ...] = ()) -> Sequence:
    return Sequence(PROMPT, 40, frozenset(), sampling or Sampling(), speculation, 100, written=written)


def text(decoder: Decoder, sequence: Sequence) -> list[int]:
    events = decoder.run(sequence)
    return [token.id for event in events if isinstance(event, Round) for token in event.tokens]


def plain_text(sampling: Sampling | None = None) -> list[int]:
    return text(Decoder(ToyRunner(), [], Policy(Costs(Curve.prior(1.0)))), begun(Speculation(Mode.OFF), sampling))


@pytest.mark.parametrize("at", [1, 9, 20])
@pytest.mark.parametrize("speculation", [DRAFTED, Speculation()])
def test_failing_draft_is_disabled(at: int, speculation: Speculation, caplog: pytest.LogCaptureFixture) -> None:
    draft, first = DraftModel(Breaking(at, blur=0.2), 24), begun(speculation)
    decoder = Decoder(ToyRunner(), [draft, NgramDrafter()], Policy(Costs(Curve.prior(1.0))))
    with caplog.at_level(logging.WARNING):
        assert text(decoder, begun(speculation)) == plain_text()
    if speculation is DRAFTED:  # else the policy may leave it alone
        assert not draft.runner.tokens  # nothing of its cache is trusted
        assert caplog.text.count("set aside for this answer") == 1
        assert not draft.can_draft(first)
    draft.begin(first)  # the next answer tries it again
    assert draft.can_draft(first)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_non_finite_logits_of_the_target_are_an_error(value: float) -> None:
    for runner in (Breaking(9, value), BreakingBranches(9, value)):
        decoder = Decoder(runner, toy_drafters(runner, ToyRunner(blur=0.2)), Policy(Costs(Curve.prior(1.0))))
        with pytest.raises(NonFiniteError):
            text(decoder, begun(DRAFTED))


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.9, seed=3),
        Sampling(temperature=0.7, repetition_penalty=1.3, frequency_penalty=0.4, presence_penalty=0.2, seed=5),
    ],
)
@pytest.mark.parametrize("length", [1, 7, 39])
def test_decoder_continues_a_written_answer(sampling: Sampling, length: int) -> None:
    whole = plain_text(sampling)
    decoder = Decoder(ToyRunner(), toy_drafters(ToyRunner(), ToyRunner(blur=0.2)), Policy(Costs(Curve.prior(1.0))))
    assert text(decoder, begun(DRAFTED, sampling, written=tuple(whole[:length]))) == whole[length:]


class Poisoned:
    """Return a loaded target whose results become NaN after so many passes."""

    def __init__(self, model: LoadedModel, passes: int) -> None:
        runner, self.left = model.runner, passes
        self.model = replace(model, runner=self)
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    def forward(self, *arguments: Any, **named: Any) -> Logits:
        logits = self._runner.forward(*arguments, **named)
        self.left -= 1
        return logits if self.left >= 0 else np.full_like(logits, np.nan)


@pytest.mark.parametrize("passes", [0, 1, 6])
def test_other_precision_continues_the_answer(pair_engine: LocalEngine, passes: int) -> None:
    expected = ask(pair_engine, request(LIST, tokens=24))
    whole = load(LoadOptions(pair_engine.tokenizer.folder))
    poisoned = Poisoned(whole.target, passes)
    reloaded = replace(pair_engine.target, properties=reference())
    reloaded.runner.rollback(0)
    engine = begin(Models.of(poisoned.model, whole.tokenizer), whole._learned, reload=lambda: reloaded)
    events = list(engine.generate(request(LIST, tokens=24)))
    finish = events[-1]
    assert isinstance(finish, Finish)
    assert (finish.reason, len(finish.token_ids)) == (FinishReason.LENGTH, 24)
    notes = [event.note for event in events if isinstance(event, Prefill) and event.note]
    assert len(notes) == 1
    assert notes[0].count("f32") == 2  # that it left, and that it goes on with
    assert engine.target is reloaded
    found = find_verdict(whole.target.measurements, whole.target.properties)
    assert found is not None
    assert found.reason
    if passes == 0:
        assert finish.token_ids == expected.ids  # all of it is the other's


def test_broken_target_is_freed_before_another_is_loaded(pair_engine: LocalEngine) -> None:
    whole, is_alive = load(LoadOptions(pair_engine.tokenizer.folder)), list[bool]()
    poisoned = Poisoned(whole.target, 3)
    broken, reloaded = weakref.ref(poisoned), replace(pair_engine.target, properties=reference())

    def reload() -> LoadedModel:
        gc.collect()
        is_alive.append(broken() is not None)
        reloaded.runner.rollback(0)
        return reloaded

    engine = begin(Models.of(poisoned.model, whole.tokenizer), whole._learned, reload=reload)
    del poisoned
    assert list(engine.generate(request(LIST, tokens=24)))
    assert is_alive == [False]


def test_target_without_a_replacement_is_an_error(pair_engine: LocalEngine) -> None:
    whole = load(LoadOptions(pair_engine.tokenizer.folder))
    engine = begin(Models.of(Poisoned(whole.target, 3).model, whole.tokenizer), whole._learned)
    with pytest.raises(BrokenModelError, match="gave results that are not numbers; load it again"):
        ask(engine, request(LIST, tokens=24))


def test_read_ahead_fills_the_caches_of_target_and_draft(pair_engine: LocalEngine) -> None:
    expected = ask(forget(pair_engine), request(LONG, tokens=8))
    assert sum(1 for _ in forget(pair_engine).read_ahead(request(LONG))) > 10
    given = ask(pair_engine, request(LONG, tokens=8))
    assert given.stats.reused_tokens == given.stats.prompt_tokens - 1
    assert pair_engine.draft is not None
    assert len(pair_engine.draft.runner.tokens) >= given.stats.prompt_tokens - 1
    assert given.text == expected.text


def test_stored_prefix_is_reused_after_a_restart(pair_engine: LocalEngine) -> None:
    kept = structs.replace(request(LONG, tokens=8), keep=Keep("chat", 2**30))
    expected = ask(forget(pair_engine), kept)
    while pair_engine.store_one():
        pass
    assert ask(forget(pair_engine), request(LONG, tokens=8)).stats.reused_tokens == 0
    again = ask(forget(pair_engine), kept)
    assert again.stats.reused_tokens == again.stats.prompt_tokens - 1
    assert again.text == expected.text
    pair_engine.forget(["chat"])
    assert ask(forget(pair_engine), kept).stats.reused_tokens == 0
