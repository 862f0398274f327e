"""The joined engine: cancelled, abandoned or refused at any moment, it answers the next request rightly."""

import gc
import json
import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from headstart import manifest as manifests
from headstart.engine import generation_config, local
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Event,
    FinishReason,
    LoadOptions,
    Message,
    Mode,
    Numerics,
    Origin,
    Prefill,
    Request,
    Sampling,
    Speculation,
    Step,
)
from headstart.engine.local import LocalEngine, load
from headstart.engine.policy.cost_model import SIZES
from headstart.engine.runners.precision import pass_ms, plain
from headstart.engine.runners.runner import Runner
from headstart.engine.validation import Verdict, note
from headstart.errors import ChatTemplateError, ContextOverflowError
from tests.engine.answers import LIST, Answer, ask, forget, request

FIXED = Speculation(Mode.FIXED, 4)
LONG = "The terms of the work are these: " * 60  # some chunks of prefill
WARM = Sampling(temperature=0.9, seed=21)


@pytest.fixture(scope="module")
def usual(pair_engine: LocalEngine) -> Answer:
    """What the engine answers when nothing happened before."""
    return ask(forget(pair_engine), request(LIST, sampling=WARM))


def answers_as_usual(engine: LocalEngine, usual: Answer) -> bool:
    """Whatever is in the caches."""
    given = ask(engine, request(LIST, sampling=WARM, speculation=FIXED))
    return given.essence == usual.essence


def test_an_answer_is_prefill_then_steps_then_one_finish(pair_engine: LocalEngine) -> None:
    given = ask(forget(pair_engine), request(LONG, speculation=FIXED))
    total = given.stats.prompt_tokens
    assert [prefill.total for prefill in given.prefills] == [total] * len(given.prefills)
    done = [prefill.done for prefill in given.prefills]
    assert done == list(range(0, total, 256))
    assert len(done) > 2
    assert given.stats.output_tokens == len(given.ids) == 64
    assert given.stats.context_used == total + 64
    assert given.text == pair_engine.tokenizer.decode(given.ids)


def test_statistics_add_up(pair_engine: LocalEngine) -> None:
    given = ask(forget(pair_engine), request(LIST, speculation=FIXED))
    stats = given.stats
    assert stats.rounds == len([step for step in given.steps if step.round.tokens]) - 1  # the first is the prompt's
    assert stats.drafted == sum(step.round.drafted for step in given.steps)
    assert stats.accepted == sum(step.round.accepted for step in given.steps)
    assert sum(stats.by_origin.values()) == 64
    assert stats.by_origin["draft"] > 0
    assert stats.ttft_ms > 0
    assert stats.decode_ms >= 0.9 * (stats.by_part["draft"] + stats.by_part["verify"])
    assert stats.by_part["draft"] > 0
    assert stats.by_part["verify"] > 0
    assert (stats.context_used, stats.context_length) == (stats.prompt_tokens + 64, 1024)


def test_an_answer_that_repeats_itself_ends_and_praises_nothing(pair_engine: LocalEngine) -> None:
    looping = Sampling(frequency_penalty=-10.0)  # what was written is written again
    plain = ask(forget(pair_engine), request(LIST, sampling=looping, tokens=400))
    assert plain.reason is FinishReason.REPETITION
    assert plain.stats.repeats >= 4
    assert len(plain.ids) < 400
    guessed = ask(forget(pair_engine), request(LIST, sampling=looping, tokens=400, speculation=FIXED))
    assert guessed.essence == plain.essence
    assert (guessed.stats.speedup, guessed.stats.ledger_ms) == (None, 0.0)
    wanted = replace(request(LIST, sampling=looping, tokens=400, speculation=FIXED), stop_on_repetition=False)
    whole = ask(forget(pair_engine), wanted)
    assert (whole.reason, len(whole.ids)) == (FinishReason.LENGTH, 400)
    assert whole.stats.repeats > plain.stats.repeats
    assert (whole.stats.speedup, whole.stats.ledger_ms) == (None, 0.0)


def test_what_a_request_leaves_open_is_the_model_s_own(tiny_target: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_target, tmp_path / "sampled")
    own = {"do_sample": True, "temperature": 0.9, "top_k": 7}
    (folder / generation_config.FILE_NAME).write_text(json.dumps(own), encoding="utf-8")
    known = manifests.read_model(folder)
    manifests.write(folder, replace(known, files=manifests.hash_files(folder)))
    with closing(load(LoadOptions(folder, numerics=Numerics.EXACT))) as engine:
        assert engine.sampling == Sampling(0.9, top_k=7)
        left = Sampling(seed=21, automatic=("temperature", "top_k"))
        given = ask(forget(engine), request(LIST, sampling=left))
        assert given.essence == ask(forget(engine), request(LIST, sampling=Sampling(0.9, top_k=7, seed=21))).essence
        assert given.essence != ask(forget(engine), request(LIST)).essence


def test_the_ledger_is_told_round_by_round(pair_engine: LocalEngine) -> None:
    given = ask(forget(pair_engine), request(LIST, speculation=FIXED))
    told = [step.round.ledger_ms for step in given.steps if step.round.tokens]
    assert told[0] == 0.0  # the prompt's own pass earns nothing
    assert len(set(told)) > 2
    assert told[-1] == given.stats.ledger_ms != 0.0
    plain = ask(forget(pair_engine), request(LIST, speculation=Speculation(Mode.OFF)))
    assert {step.round.ledger_ms for step in plain.steps if step.round.tokens} == {0.0}


@pytest.mark.parametrize("tokens", [1, 64])
def test_cancelled_before_it_begins(pair_engine: LocalEngine, usual: Answer, tokens: int) -> None:
    cancel = CancelEvent()
    cancel.set()
    events = list(forget(pair_engine).generate(request(LIST, tokens=tokens), cancel))
    assert [type(event).__name__ for event in events] == ["Prefill", "Finish"]
    given = ask(pair_engine, request(LIST, tokens=tokens), lambda _: True)
    assert (given.text, given.ids, given.reason) == ("", (), FinishReason.CANCELLED)
    assert answers_as_usual(pair_engine, usual)


@pytest.mark.parametrize("reached", [0, 256, 512])
def test_cancelled_in_prefill(pair_engine: LocalEngine, usual: Answer, reached: int) -> None:
    given = ask(forget(pair_engine), request(LONG), lambda event: isinstance(event, Prefill) and event.done == reached)
    assert given.reason is FinishReason.CANCELLED
    assert given.steps == ()
    assert [prefill.done for prefill in given.prefills] == list(range(0, reached + 1, 256))
    whole = ask(pair_engine, request(LONG, tokens=8))
    assert whole.stats.reused_tokens == reached
    assert whole.ids == ask(forget(pair_engine), request(LONG, tokens=8)).ids
    assert answers_as_usual(pair_engine, usual)


@pytest.mark.parametrize("speculation", [FIXED, Speculation(), Speculation(Mode.OFF)])
@pytest.mark.parametrize("reached", [1, 2, 5])
def test_cancelled_midway_ends_with_the_round(
    pair_engine: LocalEngine, usual: Answer, speculation: Speculation, reached: int
) -> None:
    given = ask(forget(pair_engine), request(LIST, sampling=WARM, speculation=speculation), after_steps(reached))
    assert given.reason is FinishReason.CANCELLED
    assert len([step for step in given.steps if step.round.tokens]) == reached
    assert given.ids == usual.ids[: len(given.ids)]
    assert usual.text.startswith(given.text.rstrip("�"))
    assert answers_as_usual(pair_engine, usual)


def test_cancelled_while_the_draft_reads_a_long_prompt(pair_engine: LocalEngine, usual: Answer) -> None:
    """The target has read it; the draft begins with the second round."""
    given = ask(forget(pair_engine), request(LONG, speculation=FIXED), after_steps(1))
    assert given.reason is FinishReason.CANCELLED
    assert pair_engine.draft is not None
    assert not pair_engine.draft.runner.tokens
    assert answers_as_usual(pair_engine, usual)


@pytest.mark.parametrize("events", [1, 2, 3, 6])
@pytest.mark.parametrize("closed", [True, False])
def test_an_abandoned_answer_harms_nothing(pair_engine: LocalEngine, usual: Answer, events: int, closed: bool) -> None:
    stream = forget(pair_engine).generate(request(LONG, speculation=FIXED))
    for _ in range(events):
        next(stream)
    if closed:
        stream.close()  # type: ignore[attr-defined]
    assert answers_as_usual(pair_engine, usual)


def test_a_prompt_longer_than_the_context_is_refused_with_both_numbers(pair_engine: LocalEngine, usual: Answer) -> None:
    prompt = len(pair_engine.tokenizer.prompt([Message("user", LONG * 4)]))
    with pytest.raises(ContextOverflowError, match=rf"\b{prompt} tokens.*\b1024\b.*--context"):
        ask(pair_engine, request(LONG * 4))
    assert answers_as_usual(pair_engine, usual)


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_prompt_that_just_fits_is_answered(
    pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    prompt = len(pair_engine.tokenizer.prompt([Message("user", LIST)]))
    monkeypatch.setattr(pair_engine.target.runner, "context", prompt + room)
    if room == 0:
        with pytest.raises(ContextOverflowError):
            ask(pair_engine, request(LIST))
        return
    given = ask(forget(pair_engine), request(LIST, speculation=FIXED))
    assert (given.reason, len(given.ids)) == (FinishReason.CONTEXT, room + 1)


def test_a_conversation_that_cannot_be_rendered_is_refused(pair_engine: LocalEngine, usual: Answer) -> None:
    with pytest.raises(ChatTemplateError):
        ask(pair_engine, Request((Message("no such role!", "Hello"),)))
    assert answers_as_usual(pair_engine, usual)


def test_no_role_of_an_origin_is_lost(pair_engine: LocalEngine) -> None:
    given = ask(forget(pair_engine), request(LIST, speculation=FIXED, tokens=200))
    shown = {piece.origin for step in given.steps for piece in step.pieces}
    assert shown >= {Origin.TARGET, Origin.DRAFT}


@pytest.mark.slow
def test_what_was_learned_is_there_at_the_next_load(
    tiny_target: Path, tiny_draft: Path, headstart_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []

    def counted(runner: Runner, tokens: int, repeats: int) -> float:
        passes.append(tokens)
        return pass_ms(runner, tokens, repeats)

    monkeypatch.setattr(local, "pass_ms", counted)
    options = LoadOptions(tiny_target, tiny_draft, numerics=Numerics.EXACT)
    load(options).close()  # without an answer
    assert passes == [1, 1]  # the shipped prices are scaled by a pass of each model over one token
    passes.clear()
    engine = load(options)
    assert passes == []
    ask(engine, request(LIST, speculation=FIXED))
    learned = engine._policy.to_json()
    assert load(options)._policy.to_json() == json.loads(json.dumps(learned))
    assert len(list((headstart_home / "measured").glob("tiny-target-policy-*.json"))) == 1


def test_prices_that_a_trial_measured_replace_those_that_ship_and_what_was_learned_stays(
    tiny_target: Path, headstart_home: Path
) -> None:
    options = LoadOptions(tiny_target)
    engine = load(options)
    ask(engine, request(LIST, speculation=FIXED))
    learned = engine._policy.to_json()
    note(engine.target.measurements, plain(), Verdict(ms={tokens: 100.0 + tokens for tokens in SIZES}, switch_ms=5.0))
    again = load(options)._policy
    assert again.costs.target.ms(6) == pytest.approx(106.0)
    assert {name: part for name, part in again.to_json().items() if name != "costs"} == json.loads(
        json.dumps({name: part for name, part in learned.items() if name != "costs"})
    )
    ask(load(options), request(LIST, speculation=FIXED))
    assert load(options)._policy.costs.target.ms(6) != pytest.approx(106.0)  # from now on it learns


@pytest.mark.slow
def test_a_small_context_is_loaded_too(tiny_target: Path, tiny_draft: Path) -> None:
    engine = load(LoadOptions(tiny_target, tiny_draft, numerics=Numerics.EXACT, context=20))
    assert engine.target.runner.context == 20
    with pytest.raises(ContextOverflowError, match="context holds 20"):
        ask(engine, request(LIST))
    given = ask(engine, request("a", speculation=FIXED))
    assert given.reason is FinishReason.CONTEXT
    assert given.stats.context_used == 20


@pytest.mark.slow
def test_the_context_is_at_most_what_each_model_was_made_for(
    tiny_target: Path, tiny_draft: Path, altered: Callable[..., Path]
) -> None:
    shorter = altered(tiny_draft, context_length=100)
    engine = load(LoadOptions(tiny_target, shorter, numerics=Numerics.EXACT, context=4000))
    assert engine.draft is not None
    assert (engine.target.runner.context, engine.draft.runner.context) == (1024, 100)
    given = ask(engine, request(LIST, speculation=FIXED, tokens=100))
    plain = ask(forget(engine), request(LIST, tokens=100))
    assert given.essence == plain.essence
    drafters = [step.round.drafter for step in given.steps]
    assert Origin.DRAFT in drafters[:10]
    assert Origin.DRAFT not in drafters[-10:]


def test_a_closed_engine_frees_its_models(tiny_target: Path) -> None:
    engine = load(LoadOptions(tiny_target, numerics=Numerics.EXACT))
    ask(engine, request(LIST, tokens=4))
    runner = weakref.ref(engine.target.runner)
    engine.close()
    gc.collect()
    assert runner() is None


def test_loading_and_answering_reaches_for_nothing_outside(tiny_target: Path, tmp_path: Path) -> None:
    """In a process of its own, with a telemetry package in reach that would tell if it were imported."""
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

from headstart.engine.engine import Finish, LoadOptions, Message, Request
from headstart.engine.local import load

engine = load(LoadOptions(Path(sys.argv[1])))
*_, finish = engine.generate(Request((Message("user", "Hello"),), max_new_tokens=8))
telemetry = sys.modules["openvino_telemetry"]
print(f"{len(finish.token_ids)} tokens, telemetry {telemetry}, events {events}")
"""


def after_steps(count: int) -> Callable[[Event], bool]:
    """Cancel at this step."""
    seen: list[Event] = []

    def reached(event: Event) -> bool:
        seen.extend([event] if isinstance(event, Step) else [])
        return len(seen) == count

    return reached
