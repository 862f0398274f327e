"""An engine without a model, for tests and measurements: it answers at once, the same each time, and fails on demand.

A user message beginning with `toy:` asks for something special; see ToyEngine. `PROGRAM` is its process.
"""

import argparse
import logging
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate, cycle
from typing import Any

from headstart import __version__, engine_process, paths
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.bench.race import (
    DRAFT_ONLY,
    SWEEP,
    RaceCancelled,
    own_modes,
    playable,
    race,
    raise_if_set,
)
from headstart.engine.bench.race import USUAL as CONTESTANTS
from headstart.engine.bench.result import BenchResult, Memory, Setting, Spread, as_json, prompt_results, standings
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Call,
    ConversationRequest,
    Engine,
    Event,
    Finish,
    FinishReason,
    GenerationRequest,
    Likelihood,
    LoadOptions,
    Message,
    Mode,
    Origin,
    Phase,
    Piece,
    Prefill,
    PromptRequest,
    Request,
    Round,
    Scored,
    Step,
    Tally,
    ThinkingSupport,
    Timing,
    Token,
    no_stats,
    written_call,
)
from headstart.engine.hardware.devices import Machine
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.opening import LoadedEngine, RunBench, Tell, bench_heat
from headstart.engine.protocol import (
    Bench,
    BenchPlanned,
    BenchReport,
    BenchStage,
    Description,
    Device,
    Loading,
    ModelInfo,
)
from headstart.engine.text.generation_config import USUAL
from headstart.engine.tuning.messages import (
    ANSWER,
    DEFAULT,
    DRAFTS,
    TARGET,
    Findings,
    Row,
    Stage,
    Tune,
    TuneDecided,
    TuneReport,
    TuneStep,
    TuningStep,
)
from headstart.engine.wire import from_data, to_data
from headstart.errors import BrokenModelError, ContextOverflowError, MemoryBudgetError, Translatable

PROGRAM = (sys.executable, "-P", __file__)  # takes the arguments of the engine's process, and `--pace SECONDS`
CONTEXT = 2048  # words
_TALE = ("The", "toy", "engine", "guesses", "a", "few", "words", "ahead", "and", "keeps", "those", "that", "hold.")
_Rounds = tuple[tuple[Origin, ...], ...]
# The target alone; two draft tokens and a bonus; two n-gram tokens of three and the target's own.
ROUNDS = (
    (Origin.TARGET,),
    (Origin.DRAFT, Origin.DRAFT, Origin.TARGET),
    (Origin.NGRAM, Origin.NGRAM, Origin.TARGET),
)
_PLAIN = ((Origin.TARGET,),)
_DRAFTED = {Origin.TARGET: 0, Origin.DRAFT: 2, Origin.NGRAM: 3}
_THINKING = ThinkingSupport(by_default=True, can_switch=True, takes_effort=False)
_log = logging.getLogger("toy")


class ToyEngine:
    """Repeats the last message. Tokens are words; `pace` seconds pass before each round.

    `toy: words 300` gives a long answer, `toy: repeat 300` one that repeats itself; `toy: segfault`, `hang`, `memory`,
    `bug` and `refuse` fail in these ways; `toy: print` writes to standard output as a careless library would;
    `toy: call add {"a": 1}` calls a tool; `toy: think 20` thinks for 20 words before the answer, unless it may not.
    """

    def __init__(self, pace: float = 0.0, context: int = CONTEXT) -> None:
        self._pace = pace
        self._context = context

    def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        assert isinstance(request, GenerationRequest), "the toy writes"
        prompt = _count(request)
        if request.tokens_only:
            yield Finish(FinishReason.STOP, no_stats(), tuple(range(prompt)))
            return
        if prompt >= self._context:
            raise ContextOverflowError(
                f"The conversation has {prompt} tokens, but the context holds {self._context}: start a new chat."
            )
        tally = Tally()
        for prefill in (Prefill(0, prompt), Prefill(prompt, prompt)):
            tally.read(prefill)
            yield prefill
        if isinstance(request, ConversationRequest):
            last, may_think = request.messages[-1], request.thinking is not False
        else:
            last, may_think = Message("user", str(request.prompt)), True
        thoughts, words = _thoughts(last) if may_think else [], _answer(last.content)
        repeats = len(words) if set(words) == {_AGAIN} else 0
        if repeats and request.stop_on_repetition:
            words, repeats = words[:_ENOUGH], _ENOUGH
        stopped = cancel or threading.Event()
        ids, shown = list[int](), 0
        plans = _PLAIN if request.speculation.mode is Mode.OFF else ROUNDS
        words = [*thoughts, *words]
        for step in self._steps(words[: request.max_new_tokens], plans, stopped, len(thoughts)):
            tally.add(step.round)
            ids += [token.id for token in step.round.tokens]
            yield (
                step
                if request.top_logprobs is None
                else replace(step, scored=_certain(step, shown, request.top_logprobs))
            )
            shown += len(step.text)
        reason = FinishReason.REPETITION if repeats and request.stop_on_repetition else FinishReason.STOP
        reason = FinishReason.LENGTH if len(words) > request.max_new_tokens else reason
        stats = tally.stats(plain_ms=None, ledger_ms=0.0, context_length=self._context, repeats=repeats)
        stats = replace(stats, thinking_tokens=min(len(thoughts), len(ids)))
        yield Finish(FinishReason.CANCELLED if stopped.is_set() else reason, stats, tuple(ids))

    def close(self) -> None:
        """Free nothing: a toy holds no model."""

    def _steps(self, words: list[str], rounds: _Rounds, cancel: threading.Event, num_thoughts: int) -> Iterator[Step]:
        plans, started = cycle(rounds), time.perf_counter()
        while words and not cancel.wait(self._pace):
            pieces = pieces_of(words, next(plans))
            pieces = tuple(replace(piece, is_thinking=at < num_thoughts) for at, piece in enumerate(pieces))
            words, num_thoughts = words[len(pieces) :], num_thoughts - len(pieces)
            before, started = started, time.perf_counter()
            yield step_of(pieces, Timing(other_ms=(started - before) * 1000.0))


class ToyModels:
    """Opens a ToyEngine whatever the folder.

    `broken` and `large` are refused, `heavy` ends the process, `boundless` finds no room. `thinker` has a switch for
    thinking.
    """

    def __init__(self, pace: float = 0.0) -> None:
        """`pace` is the toy's, in seconds."""
        self._pace = pace

    def open(self, options: LoadOptions, tell: Tell) -> LoadedEngine:
        tell(Loading(Phase.MODEL))
        name = options.target.name
        if name == "broken":
            raise BrokenModelError(f"{options.target} is no model; export it with headstart-export.")
        if name == "large" and not options.ignore_memory:
            raise MemoryBudgetError(f"{name} needs about 90.0 GB of memory, but 8.0 GB is free: choose a smaller one.")
        if name == "boundless":
            bytearray(1 << 62)
        if name == "heavy":
            os.kill(os.getpid(), signal.SIGTERM)
        context = min(CONTEXT, options.context or CONTEXT)
        draft = options.draft.name if options.draft else None
        info = ModelInfo(name, draft, options.device, context, sampling=USUAL, is_batch_invariant=True)
        info = replace(info, parallel=options.parallel, thinking=_THINKING if name == "thinker" else None)
        engine = ToyEngine(self._pace, context)

        def read_ahead(request: ConversationRequest) -> Iterator[None]:
            for _ in range(_count(request, "")):
                time.sleep(self._pace)
                yield

        others = [ToyEngine(self._pace, context) for _ in range(1, options.parallel)]
        return LoadedEngine(engine, info, _count, _bench_of(engine, info), read_ahead=read_ahead, others=others)

    def describe(self) -> Description:
        versions = {"headstart": __version__, "python": platform.python_version()}
        return Description((Device("TOY", "An engine without a model"),), versions)

    def tune(self, order: Tune, tell: Callable[[TuneReport], None], cancel: threading.Event) -> Findings:
        for stage in _STAGES:
            names = tuple(row.name for row in stage.rows[1:])
            for step in (
                TuningStep(stage.subject),
                TuningStep(stage.subject, "f32" if stage.subject == TARGET else "", names),
            ):
                tell(TuneStep(order.ticket, step))
            if cancel.wait(_PAUSES * self._pace):
                raise RaceCancelled
            tell(TuneDecided(order.ticket, stage))
        load = order.request.load
        draft = load.draft.name if load.draft else None
        when = datetime.now(UTC).isoformat(timespec="seconds")
        found = Findings(load.target.name, draft, "An engine without a model", "none", 1.5, _STAGES, when)
        _kept(load).put(_TUNED, to_data(found))
        return found

    def recall(self, options: LoadOptions) -> Findings | None:
        """Return the stored tuning of a toy with this name."""
        data = _kept(options).get(_TUNED)
        found: Findings | None = from_data(Findings, data) if data else None
        return found

    def forget(self, options: LoadOptions) -> None:
        _kept(options).drop(_TUNED)


def _count(request: GenerationRequest | None, text: str = "") -> int:
    """Count toy tokens: one for each word and each role, in messages, offered tools, and a text."""
    said, offered = list[str](), list[str]()
    if isinstance(request, PromptRequest):
        text += str(request.prompt)
    elif request:
        said = [message.content for message in request.messages]
        tools = request.tools.offered if request.tools else ()
        offered = [f"{tool.name} {tool.description}" for tool in tools]
    return sum(1 + len(words.split()) for words in (*said, *offered)) + len(text.split())


def _thoughts(last: Message) -> list[str]:
    """Return the words of the requested thinking, or of its rest if it is continued."""
    count = 5 if last.thinking and not last.content else 0
    if last.content.startswith("toy: think "):
        count = int(last.content.split()[2])
    words = [_TALE[index % len(_TALE)] for index in range(count)]
    return [*(f"{word} " for word in words[:-1]), *words[-1:]]


def _answer(question: str) -> list[str]:
    command, _, argument = question.removeprefix("toy:").strip().partition(" ")
    if not question.startswith("toy:"):
        command = ""
    match command:
        case "repeat":
            return [_AGAIN] * int(argument)
        case "words":
            return [f"{_TALE[index % len(_TALE)]} " for index in range(int(argument))]
        case "call":
            name, _, arguments = argument.partition(" ")
            return [f"{word} " for word in f"Let me see. {written_call(Call(name, arguments))}".split(" ")]
        case "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            while True:  # deaf to `cancel`
                time.sleep(60)
        case "memory":
            bytearray(1 << 62)
        case "bug":
            raise ZeroDivisionError("a bug asked for")
        case "refuse":
            raise BrokenModelError("The toy refuses; ask for something else.")
        case "print":
            print("a careless library prints")
            os.write(1, b'native code prints {"v":1}\n')
            _log.warning("a library logs")
        case _:
            return [f"{word} " for word in f"You wrote: {question}".split()]
    return ["Done. "]


def pieces_of(words: Sequence[str], origins: Sequence[Origin]) -> tuple[Piece, ...]:
    """Return the first words, one for each origin."""
    return tuple(Piece(word, origin) for word, origin in zip(words, origins, strict=False))


def step_of(pieces: tuple[Piece, ...], timing: Timing) -> Step:
    """Return the step of a round whose tokens are these words."""
    tokens = tuple(Token(sum(piece.text.encode()), piece.origin) for piece in pieces)
    drafter = pieces[0].origin
    accepted = sum(piece.origin is not Origin.TARGET for piece in pieces)
    done = Round(tokens, _DRAFTED[drafter], accepted, drafter, timing)
    return Step("".join(piece.text for piece in pieces if not piece.is_thinking), done, pieces)


def _certain(step: Step, shown: int, top_logprobs: int) -> tuple[Scored, ...]:
    """Return the scores of a step's tokens, each of which is certain."""
    starts = accumulate((len(piece.text) for piece in step.pieces), initial=shown)
    tokens = [Likelihood(tuple(piece.text.encode()), 0.0) for piece in step.pieces]
    return tuple(Scored(token, start, (token,)[:top_logprobs]) for token, start in zip(tokens, starts, strict=False))


_AGAIN, _ENOUGH = "again ", 4
_TUNED = "tuned"
_PAUSES = 10  # of a stage
_STAGES = (
    Stage(
        TARGET,
        (
            Row(DEFAULT, {ANSWER: 80.0}),
            Row("1 thread", {ANSWER: 60.0}, Spread(1.33, 1.2, 1.4), 9, 9, chosen=True),
            Row("on NPU", {}, failure=Translatable("The toy has no NPU.")),
            Row("threads not tied to cores", {}),
        ),
    ),
    Stage(
        DRAFTS,
        (
            Row(DEFAULT, {ANSWER: 41.0}, chosen=True),
            Row("no draft model", {ANSWER: 66.0}, Spread(0.62, 0.5, 0.8), 0, 3),
        ),
    ),
)


def _kept(load: LoadOptions) -> Measurements:
    return Measurements(paths.measurements_folder(), f"{load.target.name}-toy", {})


def _bench_of(engine: Engine, info: ModelInfo) -> RunBench:
    """Return a function for Bench orders. Times are real, of words instead of tokens; there is no cache to forget."""
    machine = Machine(
        device="An engine without a model",
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        headstart=__version__,
        openvino="none",
        openvino_genai="none",
    )

    def run(order: Bench, tell: Callable[[BenchReport], None], cancel: CancelEvent) -> Mapping[str, Any]:
        size, ticket = order.size, order.ticket
        names = playable(SWEEP if size.sweep else CONTESTANTS, {DRAFT_ONLY} if info.draft else ())
        modes = own_modes(engine, size.tokens, lambda: None, cancel, names)
        prompts = read_prompts(size.prompts, size.kinds)
        tell(BenchStage(ticket, "warming up"))
        tell(BenchPlanned(ticket, len(modes) * len(prompts) * size.repeats))
        heats = []
        for heat in race(modes, prompts, size.repeats):
            tell(bench_heat(ticket, heat))
            heats.append(heat)
            raise_if_set(cancel)
        results = prompt_results(heats)
        result = BenchResult(
            machine=machine,
            setting=Setting(info.model, info.draft, {}, None, size.tokens, size.repeats),
            prompts=results,
            standings=standings(results, [mode.name for mode in modes]),
            memory=Memory(weights=0, kv=0, peak_rss=None),
        )
        return as_json(result)

    return run


def main() -> None:
    """Be the engine's process."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--pace", type=float, default=0.0, help="seconds a round")
    given, others = parser.parse_known_args()
    engine_process.main(others, ToyModels(given.pace))


if __name__ == "__main__":
    main()
