"""The engine in a process of its own, over its client, and what its host does. The toy engine stands in for a model."""

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from msgspec import structs

from bench.toy import PROGRAM, ToyEngine, ToyModels
from headstart.engine import protocol, supervision
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Engine,
    Event,
    Finish,
    FinishReason,
    Keep,
    LoadOptions,
    Message,
    Phase,
    Prefill,
    Step,
)
from headstart.engine.opening import LoadedEngine, Tell
from headstart.engine.process import session
from headstart.engine.process.client import EngineClient
from headstart.engine.process.watchdog import Timeouts
from headstart.engine.supervision import Journal, RestartBudget, program
from headstart.errors import BrokenModelError, EngineLostError, HeadstartError, ProtocolError, Translatable
from tests.engine.process.hosted import Hosted, hosted
from tests.support.waiting import PATIENCE, wait_until

TOY = LoadOptions(Path("toy"))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[EngineClient]:
    client = EngineClient((*PROGRAM, "--pace", "0.005"), Journal(tmp_path / "logs" / "engine.log"))
    client.load(TOY)
    yield client
    client.close()


def ask(text: str) -> ConversationRequest:
    return ConversationRequest((Message("user", text),), max_new_tokens=4096)


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Step))


def pid_of(client: EngineClient) -> int:
    assert client.pid
    return client.pid


def kill_idle(client: EngineClient) -> None:
    """Kill the process while nobody waits for it."""
    psutil.Process(pid_of(client)).kill()
    wait_until(lambda: client.pid is None)


def test_client_answers_like_an_engine(client: EngineClient) -> None:
    engine: Engine = client
    events = list(engine.generate(ask("one two")))
    assert events[:2] == [Prefill(0, 3), Prefill(3, 3)]
    assert text_of(events) == "You wrote: one two "
    finish = events[-1]
    assert isinstance(finish, Finish)
    assert (finish.reason, finish.stats.output_tokens) == (FinishReason.STOP, 4)


def test_load_reports_phases_and_facts(client: EngineClient) -> None:
    phases: list[protocol.Loading] = []
    before = pid_of(client)
    info = client.load(LoadOptions(Path("big"), Path("small"), context=500), phases.append)
    assert (info.model, info.draft, info.context, phases) == (
        "big",
        "small",
        500,
        [protocol.Loading(Phase.MODEL)],
    )
    assert client.pid != before
    assert not psutil.pid_exists(before)


def test_errors_keep_class_and_template(client: EngineClient, tmp_path: Path) -> None:
    with pytest.raises(BrokenModelError, match="The toy refuses") as refused:
        list(client.generate(ask("toy: refuse")))
    with pytest.raises(EngineLostError, match="The engine failed"):
        list(client.generate(ask("toy: bug")))
    with pytest.raises(BrokenModelError, match="is no model"):
        client.load(LoadOptions(Path("broken")))
    assert refused.value.text.template == "The toy refuses; ask for something else."
    assert "a bug asked for" in (tmp_path / "logs" / "engine.log").read_text(encoding="utf-8")


def test_unreadable_order_ends_the_answer(client: EngineClient) -> None:
    with pytest.raises(ProtocolError, match="longer than 16 MiB"):
        list(client.generate(ask("x" * 2**24)))
    assert text_of(list(client.generate(ask("next")))) == "You wrote: next "


def test_cancel_ends_the_answer(client: EngineClient) -> None:
    cancel = CancelEvent()
    events = []
    for event in client.generate(ask("toy: words 4000"), cancel):
        events.append(event)
        if isinstance(event, Step):
            cancel.set()
    assert isinstance(events[-1], Finish)
    assert events[-1].reason is FinishReason.CANCELLED
    assert len(text_of(events).split()) < 4000


def test_abandoned_generator_stops_the_answer(client: EngineClient) -> None:
    before = client.pid
    for event in client.generate(ask("toy: words 4000")):
        if isinstance(event, Step):
            break
    assert text_of(list(client.generate(ask("next")))) == "You wrote: next "
    assert client.pid == before


def test_engine_writes_as_many_answers_as_parallel(client: EngineClient) -> None:
    assert client.load(replace(TOY, parallel=2)).parallel == 2
    stop = CancelEvent()
    first, second = (client.generate(ask("toy: words 4000"), stop) for _ in range(2))
    next(first)
    next(second)  # which an engine for one answer would begin after 4000 words
    with ThreadPoolExecutor(1) as pool:
        third = pool.submit(lambda: list(client.generate(ask("toy: words 40"))))
        for _ in range(40):
            next(second)
        assert not third.done()
        stop.set()
        ends = [list(answer)[-1] for answer in (first, second)]
        assert len(text_of(third.result(PATIENCE)).split()) == 40
    assert all(isinstance(end, Finish) and end.reason is FinishReason.CANCELLED for end in ends)
    assert client.load(TOY).model == "toy"


def test_killed_engine_fails_every_answer(client: EngineClient) -> None:
    client.load(replace(TOY, parallel=2))

    begun = threading.Barrier(3, timeout=PATIENCE)

    def write(_: int) -> str:
        answer = client.generate(ask("toy: words 4000"))
        next(answer)
        begun.wait()
        with pytest.raises(EngineLostError) as lost:
            list(answer)
        return str(lost.value)

    with ThreadPoolExecutor(2) as pool:
        sentences = pool.map(write, range(2))
        begun.wait()
        psutil.Process(pid_of(client)).kill()
        assert all("unexpectedly" in sentence for sentence in sentences)
    assert text_of(list(client.generate(ask("next")))) == "You wrote: next "


def test_cancel_of_a_queued_answer_ends_no_other(client: EngineClient) -> None:
    before, stop = client.pid, CancelEvent()
    first = client.generate(ask("toy: words 2000"))
    next(first)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(lambda: list(client.generate(ask("toy: words 2000"), stop)))
        stop.set()
        assert len(text_of(list(first)).split()) == 2000  # which takes longer than a cancelled one may
        assert isinstance(ended := second.result(PATIENCE)[-1], Finish)
    assert ended.reason is FinishReason.CANCELLED
    assert client.pid == before


def test_engine_deaf_to_cancel_is_killed(client: EngineClient) -> None:
    cancel = CancelEvent()
    before, started = pid_of(client), time.monotonic()
    answer = client.generate(ask("toy: hang"), cancel)
    next(answer)
    cancel.set()
    with pytest.raises(EngineLostError, match="did not stop in time"):
        list(answer)
    assert time.monotonic() - started > 1.9
    assert not psutil.pid_exists(before)
    assert text_of(list(client.generate(ask("next")))) == "You wrote: next "


def impatient(tmp_path: Path) -> EngineClient:
    """A client that does not wait for a round, and waits as usual for the rest."""
    return EngineClient((*PROGRAM, "--pace", "0.005"), Journal(tmp_path / "log"), Timeouts(round=2.0, token=0.0))


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no way to freeze a process")
def test_hanging_device_leaves_the_part_of_the_answer(tmp_path: Path) -> None:
    with closing(impatient(tmp_path)) as client:
        client.load(TOY)
        events: list[Event] = []
        answer = client.generate(ask("toy: words 2000"))
        events += [next(answer) for _ in range(5)]
        os.kill(pid_of(client), signal.SIGSTOP)
        with pytest.raises(EngineLostError, match="while writing the answer"):
            events.extend(answer)
        assert text_of(events).startswith("The toy engine")
        assert text_of(list(client.generate(ask("next")))) == "You wrote: next "


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no way to freeze a process")
def test_process_that_survives_kill_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "KILL_GRACE", 0.2)
    with closing(impatient(tmp_path)) as client:
        client.load(TOY)
        assert client._session.process
        stuck = client._session.process._process
        monkeypatch.setattr(stuck, "kill", lambda: None)
        os.kill(stuck.pid, signal.SIGSTOP)
        with pytest.raises(EngineLostError, match="no sign"):
            list(client.generate(ask("hello")))
        assert stuck.poll() is None
        assert text_of(list(client.generate(ask("next")))) == "You wrote: next "
        psutil.Process(stuck.pid).kill()
        stuck.wait()
    assert "it is left alone" in (tmp_path / "log").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="signals have no names there")
def test_crash_is_an_error_and_the_engine_restarts(client: EngineClient, tmp_path: Path) -> None:
    with pytest.raises(EngineLostError, match=r"stopped unexpectedly \(SIGSEGV\); see .*engine.log"):
        list(client.generate(ask("toy: segfault")))
    assert text_of(list(client.generate(ask("next")))) == "You wrote: next "
    assert "Segmentation fault" in (tmp_path / "logs" / "engine.log").read_text(encoding="utf-8")


def test_key_is_in_no_log_and_no_error(client: EngineClient, tmp_path: Path) -> None:
    key, tracebacks = "5a" * 64, list[str]()
    for text in ("refuse", "bug", "memory", "print", "segfault"):
        request = structs.replace(ask(f"toy: {text}"), keep=Keep("chat", 1, key))
        try:
            list(client.generate(request))
        except HeadstartError as error:
            tracebacks.append("".join(traceback.format_exception(error)))
    logs = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "logs").iterdir())
    assert "Traceback" in logs
    assert "Segmentation fault" in logs or sys.platform == "win32"
    assert len(tracebacks) == 4
    assert not any(key[:20] in text for text in (logs, *tracebacks))


def test_restarts_of_a_client_are_bounded_until_the_next_load(client: EngineClient) -> None:
    for _ in range(3):
        kill_idle(client)
        assert client.describe().versions
    kill_idle(client)
    with pytest.raises(EngineLostError, match="too often"):
        client.describe()
    client.load(TOY)
    assert client.describe().versions


def test_restart_budget_refills_with_time() -> None:
    now = 0.0
    budget = RestartBudget(lambda: now)
    assert [budget.take() for _ in range(4)] == [True, True, True, False]
    now = 299.0
    assert not budget.take()
    now = 300.0
    assert [budget.take() for _ in range(3)] == [True, True, True]
    assert not budget.take()
    budget.reset()
    assert budget.take()


@pytest.mark.parametrize(
    ("line", "words"),
    [("Hello", "not a message of Headstart"), ('{"v": 2, "is": "Ready"}', "another version of Headstart")],
)
def test_foreign_program_is_ended(tmp_path: Path, line: str, words: str) -> None:
    client = EngineClient((sys.executable, "-c", f"print({line!r}); input()"), Journal(tmp_path / "log"))
    with pytest.raises(ProtocolError, match=words):
        client.load(TOY)
    assert client.pid is None


def test_missing_program_is_an_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "log")
    with pytest.raises(EngineLostError, match="exit code 3"):
        EngineClient((sys.executable, "-c", "raise SystemExit(3)"), journal).load(TOY)
    with pytest.raises(EngineLostError, match="install Headstart again"):
        EngineClient((str(tmp_path / "missing"),), journal).load(TOY)


def test_printing_library_does_not_disturb_the_pipe(client: EngineClient, tmp_path: Path) -> None:
    assert text_of(list(client.generate(ask("toy: print")))) == "Done. "
    client.close()
    log = (tmp_path / "logs" / "engine.log").read_text(encoding="utf-8")
    assert "a careless library prints" in log
    assert "native code prints" in log


def test_log_rotates_and_keeps_the_last_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "_MAX_LOG_BYTES", 2000)
    journal = Journal(tmp_path / "logs" / "engine.log")
    for number in range(1000):
        journal.write(f"line {number}")
    files = sorted((tmp_path / "logs").iterdir())
    assert [path.name for path in files] == ["engine.log", "engine.log.1", "engine.log.2", "engine.log.3"]
    assert sum(path.stat().st_size for path in files) < 9000
    assert journal.tail[-1].endswith("line 999")
    assert "line 999" in files[0].read_text(encoding="utf-8")


def test_unwritable_log_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    journal = Journal(tmp_path / "file" / "engine.log")
    journal.write("kept at hand")
    assert journal.tail[-1].endswith("kept at hand")


def test_program_is_found_frozen_and_unfrozen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert program("--log") == (sys.executable, "-P", "-m", "headstart.engine_process", "--log")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    for window, engine in (("/opt/headstart", "headstart-engine"), ("C:/Headstart.exe", "headstart-engine.exe")):
        monkeypatch.setattr(sys, "executable", window)
        assert program("--log") == (str(Path(window).with_name(engine)), "--log")


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what started the tests may have it ignored
from pathlib import Path
from headstart.engine.process.client import EngineClient
from headstart.engine.engine import ConversationRequest, LoadOptions, Message, Step
from bench.toy import PROGRAM, ToyEngine, ToyModels
client = EngineClient((*PROGRAM, "--pace", "0.01"))
client.load(LoadOptions(Path("toy")))
ask = lambda text: client.generate(ConversationRequest((Message("user", text),), max_new_tokens=4096))
try:
    for event in ask("toy: words 3000"):
        if isinstance(event, Step):
            print("writing", flush=True)
except KeyboardInterrupt:
    before = client.pid
    print("".join(event.text for event in ask("next") if isinstance(event, Step)), client.pid == before)
client.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a group of processes cannot be interrupted alone there")
def test_ctrl_c_leaves_the_engine_usable() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == "writing\n"
        os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: to parent and child
        rest = parent.stdout.read()
    assert rest.splitlines()[-1] == "You wrote: next  True"


LOAD_TOY = protocol.Load(LoadOptions(Path("toy"), context=100))


@pytest.fixture
def bare() -> Iterator[Hosted]:
    """A host without a model."""
    with hosted() as host:
        host.hear(protocol.Ready)
        yield host


@pytest.fixture
def loaded() -> Iterator[Hosted]:
    with hosted(None, LOAD_TOY) as host:
        host.hear(protocol.Loaded)
        yield host


def asking(text: str, generation: int = 1, tokens: int = 4096) -> protocol.Generate:
    return protocol.Generate(generation, ConversationRequest((Message("user", text),), max_new_tokens=tokens))


def test_answer_without_a_model_fails(bare: Hosted) -> None:
    bare.say(asking("hello", generation=9))
    sentence = Translatable("No model is loaded; choose one first.")
    assert bare.hear() == [protocol.Failed("ModelNotFoundError", sentence, "Generate", 9)]


def test_answer_can_be_cancelled_before_it_begins(loaded: Hosted) -> None:
    loaded.say(asking("toy: words 30", 1), asking("toy: words 5000", 2), protocol.Cancel(2), protocol.Cancel(77))
    first, second = loaded.hear(protocol.Finished)[-1], loaded.hear(protocol.Finished)[-1]
    assert isinstance(first, protocol.Finished)
    assert isinstance(second, protocol.Finished)
    assert first.finish.reason is FinishReason.STOP
    assert (second.generation, second.finish.stats.output_tokens) == (2, 0)


def ahead(ticket: int, words: int) -> protocol.ReadAhead:
    return protocol.ReadAhead(ticket, ConversationRequest((Message("user", "word " * words),)))


def test_read_ahead_ends_with_the_next_order(loaded: Hosted) -> None:
    loaded.say(ahead(1, 3))
    assert loaded.hear() == [protocol.PromptRead(1)]
    loaded.say(ahead(2, 100_000), ahead(3, 3))
    assert loaded.hear() == [protocol.PromptRead(3)]
    loaded.say(ahead(4, 100_000), asking("toy: words 3"))
    assert not any(isinstance(report, protocol.PromptRead) for report in loaded.hear(protocol.Finished))


def test_read_ahead_without_a_model_does_nothing(bare: Hosted) -> None:
    bare.say(ahead(1, 3), protocol.Describe(2))
    assert isinstance(bare.hear()[0], protocol.Described)


def title(ticket: int, text: str, tokens: int = 4096) -> protocol.WriteTitle:
    return protocol.WriteTitle(ticket, ConversationRequest((Message("user", text),), max_new_tokens=tokens))


def test_title_is_dropped_for_the_next_order(loaded: Hosted) -> None:
    loaded.say(title(1, "a b"))
    assert loaded.hear() == [protocol.TitleWritten(1, "You wrote: a b ")]
    loaded.say(title(2, "a b c", tokens=3))  # which is its end too soon
    assert loaded.hear() == [protocol.TitleWritten(2, "")]
    loaded.say(title(3, "toy: words 50000", tokens=50_000), asking("toy: words 3"))
    heard = loaded.hear(protocol.Finished)
    assert heard[0] == protocol.TitleWritten(3, None)
    loaded.say(title(4, "word " * 50_000), title(5, "a"))
    assert loaded.hear() == [protocol.TitleWritten(4, None)]
    assert loaded.hear() == [protocol.TitleWritten(5, "You wrote: a ")]


class TwoToys(ToyModels):
    """A toy that writes two answers at once."""

    def open(self, options: LoadOptions, tell: Tell) -> LoadedEngine:
        return replace(super().open(options, tell), others=(ToyEngine(0.01),))


def test_title_does_not_delay_parallel_answers() -> None:
    orders = (LOAD_TOY, asking("toy: words 5000", 1, 5000), title(2, "a"), asking("toy: words 3", 3))
    with hosted(TwoToys(0.01), *orders) as both:
        reports = both.hear(protocol.Finished)
    assert protocol.TitleWritten(2, None) in reports
    assert reports[-1].generation == 3


def test_idle_marker_does_not_delay_new_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with hosted(TwoToys(0.01), LOAD_TOY) as both:
        both.hear(protocol.Loaded)
        pool = both.host._pool  # its own: an answer of an earlier test may just be ending
        release, ending = pool.release, list[threading.Thread]()

        def release_and_ask(number: int) -> bool:
            is_free = release(number)
            if is_free:
                ending.append(threading.current_thread())
                both.say(asking("toy: words 5000", 2, 5000))
                wait_until(lambda: not pool.is_free)
            return is_free

        monkeypatch.setattr(pool, "release", release_and_ask)
        both.say(asking("toy: words 3", 1))
        reports = both.hear(protocol.Finished)
        while not (isinstance(reports[-1], protocol.Stepped) and reports[-1].generation == 2):
            reports += both.hear()
        monkeypatch.setattr(pool, "release", release)
        ending[0].join(PATIENCE)  # it has told the end of all
        both.say(asking("toy: words 3", 3))
        reports += both.hear(protocol.Finished)
    assert [report.generation for report in reports if isinstance(report, protocol.Finished)] == [1, 3]


def test_title_without_a_model_is_empty(bare: Hosted) -> None:
    bare.say(title(1, "a"))
    assert bare.hear() == [protocol.TitleWritten(1, "")]


def test_count_and_describe_work_during_an_answer(loaded: Hosted) -> None:
    loaded.say(
        asking("toy: words 5000", tokens=5000),
        protocol.CountTokens(3, ConversationRequest((Message("user", "a b"),)), "c"),
        protocol.Describe(4),
    )
    heard = loaded.hear(protocol.Described)
    assert protocol.Counted(3, 4, 100) in heard
    assert not any(isinstance(report, protocol.Finished) for report in heard)


def test_benchmark_reports_heats_and_the_result(loaded: Hosted) -> None:
    loaded.say(
        protocol.Load(LoadOptions(Path("toy"))),
        protocol.Bench(5, protocol.BenchSize(prompts=1, tokens=6, repeats=2, with_peer=False)),
    )
    loaded.hear(protocol.Loaded)
    stage, planned, *heats, benched = loaded.hear(protocol.Benched)
    assert stage == protocol.BenchStage(5, "warming up")
    assert planned == protocol.BenchPlanned(5, len(heats))
    assert all(isinstance(heat, protocol.BenchHeat) and heat.tokens == 6 for heat in heats)
    assert isinstance(benched, protocol.Benched)
    assert benched.result
    assert list(benched.result["standings"]) == ["plain", "fixed 3", "fixed 5", "auto"]
    assert benched.result["standings"]["auto"]["total"]["all"]["mean"] > 0.0
    assert all(score["equals_plain"] for prompt in benched.result["prompts"] for score in prompt["scores"].values())


def test_benchmark_can_be_cancelled(loaded: Hosted) -> None:
    loaded.say(
        protocol.Load(LoadOptions(Path("toy"))),
        protocol.Bench(5, protocol.BenchSize(prompts=3, tokens=80, repeats=9, with_peer=False)),
    )
    loaded.hear(protocol.BenchHeat)
    loaded.say(protocol.Cancel(4), protocol.Cancel(5))
    assert loaded.hear(protocol.Benched)[-1] == protocol.Benched(5, None)
    loaded.say(asking("still here"))
    loaded.hear(protocol.Finished)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"what?", "not a message of Headstart: 'what?'"),
        (b'{"v": 99, "is": "Load"}', "another version"),
        (b"x" * (2**24 + 2), "longer than 16 MiB"),
    ],
)
def test_garbage_is_reported_and_work_goes_on(loaded: Hosted, line: bytes, words: str) -> None:
    loaded.say(line)
    (failed,) = loaded.hear()
    assert isinstance(failed, protocol.Failed)
    assert words in failed.sentence
    assert "Traceback" not in failed.sentence
    loaded.say(asking("still here"))
    loaded.hear(protocol.Finished)


@pytest.mark.parametrize("busy_with", ["hello", "toy: words 5000", "toy: hang"])
def test_engine_ends_with_its_input(busy_with: str) -> None:
    command = (*PROGRAM, "--log", "engine.log", "--pace", "0.01")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(protocol.encode(LOAD_TOY) + protocol.encode(asking(busy_with, tokens=5000)))
        process.stdin.flush()
        next(line for line in process.stdout if isinstance(protocol.decode_report(line), protocol.Prefilled))
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


PARENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(600)
"""


def test_engine_ends_with_its_parent() -> None:
    command = [sys.executable, "-c", PARENT, *PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        assert child.is_running()
        parent.kill()
        gone, _ = psutil.wait_procs([child], timeout=PATIENCE)
    assert gone or child.status() == psutil.STATUS_ZOMBIE  # a container may have nobody who reaps it
