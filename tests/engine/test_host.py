"""The engine's process itself, over bare pipes: what it says, when it ends. The toy engine stands in for a model."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bench.toy import PROGRAM
from headstart import __version__
from headstart.engine.engine import FinishReason, LoadOptions, Message, Phase, Request
from headstart.engine.protocol import (
    Bench,
    Benched,
    BenchHeat,
    BenchPlanned,
    BenchSize,
    BenchStage,
    Cancel,
    Counted,
    CountTokens,
    Describe,
    Described,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    Loading,
    Logged,
    Order,
    Ready,
    Report,
    Stepped,
    decode_report,
    encode,
)
from headstart.errors import Translatable

TOY = Load(LoadOptions(Path("toy"), context=100))


class Wire:
    """A host and the two ends of its pipes."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            (*PROGRAM, "--log", "engine.log", *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.input, self.output, self.errors = self.process.stdin, self.process.stdout, self.process.stderr

    def raw(self, data: bytes) -> None:
        """Send bytes."""
        self.input.write(data)
        self.input.flush()

    def say(self, *orders: Order) -> None:
        """Send orders."""
        self.raw(b"".join(encode(order) for order in orders))

    def hear(self) -> Report:
        """The next report."""
        line = self.output.readline()
        assert line, "the host has ended"
        return decode_report(line)

    def hear_until(self, kind: type[Report]) -> list[Report]:
        """Reports up to the first of a kind."""
        heard = [self.hear()]
        while not isinstance(heard[-1], kind):
            heard.append(self.hear())
        return heard

    def end(self) -> None:
        """Close the pipes and reap the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.output, self.errors):
            pipe.close()
        with contextlib.suppress(BrokenPipeError):  # what it did not read any more
            self.input.close()


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire("--pace", "0.01")
    yield wire
    wire.end()


@pytest.fixture
def loaded(wire: Wire) -> Wire:
    wire.say(TOY)
    wire.hear_until(Loaded)
    return wire


def ask(text: str, generation: int = 1, tokens: int = 4096) -> Generate:
    return Generate(generation, Request((Message("user", text),), tokens))


def test_it_is_ready_then_loads_and_answers(wire: Wire) -> None:
    assert wire.hear() == Ready(wire.process.pid, __version__)
    wire.say(TOY, ask("hello"))
    assert wire.hear() == Loading(Phase.MODEL)
    loaded = wire.hear()
    assert isinstance(loaded, Loaded)
    assert loaded.facts.context == 100
    *reports, finished = wire.hear_until(Finished)
    assert "".join(report.step.text for report in reports if isinstance(report, Stepped)) == "You wrote: hello "
    assert isinstance(finished, Finished)
    assert finished.finish.reason is FinishReason.STOP


def test_an_answer_without_a_model_fails(wire: Wire) -> None:
    wire.hear()
    wire.say(ask("hello", generation=9))
    sentence = Translatable("No model is loaded; choose one first.")
    assert wire.hear() == Failed("ModelNotFoundError", sentence, "Generate", 9)


def test_cancel_takes_effect_within_a_round(loaded: Wire) -> None:
    loaded.say(ask("toy: words 5000", tokens=5000))
    loaded.hear_until(Stepped)
    started = time.monotonic()
    loaded.say(Cancel(1))
    finished = loaded.hear_until(Finished)[-1]
    assert time.monotonic() - started < 0.5
    assert isinstance(finished, Finished)
    assert finished.finish.reason is FinishReason.CANCELLED


def test_an_answer_may_be_cancelled_before_it_begins(loaded: Wire) -> None:
    loaded.say(ask("toy: words 30", 1), ask("toy: words 5000", 2), Cancel(2), Cancel(77))
    first, second = loaded.hear_until(Finished)[-1], loaded.hear_until(Finished)[-1]
    assert isinstance(first, Finished)
    assert isinstance(second, Finished)
    assert first.finish.reason is FinishReason.STOP
    assert (second.generation, second.finish.stats.output_tokens) == (2, 0)


def test_it_counts_and_describes_while_it_answers(loaded: Wire) -> None:
    loaded.say(ask("toy: words 5000", tokens=5000), CountTokens(3, (Message("user", "a b"),), "c"), Describe(4))
    heard = loaded.hear_until(Described)
    assert Counted(3, 4, 100) in heard
    assert not any(isinstance(report, Finished) for report in heard)


def test_a_benchmark_tells_its_heats_and_ends_with_the_result(loaded: Wire) -> None:
    loaded.say(Load(LoadOptions(Path("toy"))), Bench(5, BenchSize(prompts=1, tokens=6, repeats=2, with_peer=False)))
    loaded.hear_until(Loaded)
    stage, planned, *heats, benched = loaded.hear_until(Benched)
    assert stage == BenchStage(5, "warming up")
    assert planned == BenchPlanned(5, len(heats))
    assert all(isinstance(heat, BenchHeat) and heat.tokens == 6 for heat in heats)
    assert isinstance(benched, Benched)
    assert benched.result
    assert list(benched.result["standings"]) == ["plain", "fixed 3", "fixed 5", "auto"]
    assert benched.result["standings"]["auto"]["overall"] > 0.0
    assert all(score["equals_plain"] for prompt in benched.result["prompts"] for score in prompt["scores"].values())


@pytest.mark.parametrize("heard", [BenchHeat, BenchPlanned])
def test_a_benchmark_can_be_stopped_and_work_goes_on(loaded: Wire, heard: type[Report]) -> None:
    loaded.say(Load(LoadOptions(Path("toy"))), Bench(5, BenchSize(prompts=3, tokens=80, repeats=9, with_peer=False)))
    loaded.hear_until(heard)
    started = time.monotonic()
    loaded.say(Cancel(4), Cancel(5))
    assert loaded.hear_until(Benched)[-1] == Benched(5, None)
    assert time.monotonic() - started < 0.5
    loaded.say(ask("still here"))
    loaded.hear_until(Finished)


def test_a_benchmark_without_a_model_fails(wire: Wire) -> None:
    wire.hear()
    wire.say(Bench(5, BenchSize(1, 6, 1, with_peer=False)))
    sentence = Translatable("No model is loaded; choose one first.")
    assert wire.hear() == Failed("ModelNotFoundError", sentence, "Bench", ticket=5)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"what?\n", "no message of Headstart: 'what?'"),
        (b'{"v": 99, "is": "Load"}\n', "another version"),
        (b'{"v": 1, "is": "Cancel"}\n', "Cancel is damaged"),
        (b"x" * (2**24 + 2) + b"\n", "longer than 16 MiB"),
    ],
)
def test_garbage_is_answered_with_a_sentence_and_work_goes_on(loaded: Wire, line: bytes, words: str) -> None:
    loaded.raw(line)
    failed = loaded.hear()
    assert isinstance(failed, Failed)
    assert words in failed.sentence
    assert "Traceback" not in failed.sentence
    loaded.say(ask("still here"))
    loaded.hear_until(Finished)


def test_a_bug_is_reported_with_the_log_and_work_goes_on(loaded: Wire) -> None:
    loaded.say(ask("toy: bug"))
    *before, failed = loaded.hear_until(Failed)
    logged = [report for report in before if isinstance(report, Logged)]
    assert isinstance(failed, Failed)
    assert failed.sentence == "The engine failed. Details are in the log: engine.log"
    assert (failed.kind, failed.order, failed.generation) == ("EngineLostError", "Generate", 1)
    assert "a bug asked for" in logged[0].text
    loaded.say(ask("still here", 2))
    loaded.hear_until(Finished)


def test_memory_that_runs_out_is_said(loaded: Wire) -> None:
    loaded.say(ask("toy: memory"))
    failed = loaded.hear_until(Failed)[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.generation) == ("OutOfMemoryError", 1)
    assert failed.sentence.startswith("Memory ran out, so the engine starts again: close other programs")


def test_prints_of_libraries_stay_out_of_the_protocol(loaded: Wire) -> None:
    loaded.say(ask("toy: print"))
    loaded.hear_until(Finished)
    loaded.input.close()
    loaded.process.wait(5)
    assert loaded.output.read() == b""
    errors = loaded.errors.read().decode()
    assert "a careless library prints" in errors
    assert 'native code prints {"v":1}' in errors


@pytest.mark.parametrize("busy_with", ["hello", "toy: words 5000", "toy: hang"])
def test_it_ends_when_its_input_does(loaded: Wire, busy_with: str) -> None:
    loaded.say(ask(busy_with, tokens=5000))
    loaded.hear()
    loaded.input.close()
    assert loaded.process.wait(2.0) == 0


PARENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


def test_it_does_not_outlive_a_parent_that_was_killed() -> None:
    command = [sys.executable, "-c", PARENT, *PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        assert child.is_running()
        parent.kill()
        gone, _ = psutil.wait_procs([child], timeout=5)
    assert gone or child.status() == psutil.STATUS_ZOMBIE  # a container may have nobody who reaps it
