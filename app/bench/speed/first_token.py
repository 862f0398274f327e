"""Time the first token, by the length of the prompt and by what was read before, beside other programs.

`PYTHONPATH=app python app/bench/speed/first_token.py --model NAME` compares Headstart with OpenVINO GenAI and its
prefix cache, and with llama.cpp and its prompt cache where that is named.
"""

import shutil
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from statistics import fmean
from typing import Protocol

from bench.speed import llama, local_engine
from bench.speed.peers import LlamaFlags, failures_told, read_lengths
from headstart import paths
from headstart.cli.command import Command, Load, flag, group
from headstart.cli.options import ModelFlags, select_model, write_json
from headstart.cli.performance.bench import (
    PeerName,
    TableFlags,
    interval_text,
    machine_text,
    precision_text,
    ratio_text,
    save,
    show,
)
from headstart.cli.program import execute
from headstart.cli.render import Screen
from headstart.engine.bench.genai_peer import GenaiModel, PeerOptions, genai_answer, genai_pipeline
from headstart.engine.bench.measure import genai, peer_options
from headstart.engine.bench.prompts import KINDS, read_prompts
from headstart.engine.bench.race import TimedAnswer, turn_order
from headstart.engine.bench.result import Interval, bootstrap_interval, geometric_mean, paired
from headstart.engine.engine import ConversationRequest, Finish, Keep, LoadOptions, Message, Sampling
from headstart.engine.hardware.devices import Machine, describe, genai_blocks
from headstart.engine.local import LocalEngine
from headstart.engine.text.tokenizer import Tokenizer
from headstart.engine.wire import to_data
from headstart.errors import PeerError, SettingsError

Ask = Callable[[int, list[int]], TimedAnswer]  # the number of a chat and its prompt's tokens, to an answer

LEAST_LENGTH = 64  # tokens of a prompt, so that beside the chat's format there is text
LENGTHS = (128, 512, 1024, 2048, 4096, 8000)  # tokens of a prompt
OURS = "Headstart"
_FIRST, _SECOND, _WITH_FILE = range(3)  # the chats
_IN_TURN = 2  # of them
_QUESTIONS = 4  # in the chat that has most
_ANSWER = 8  # tokens
_TURN = 40  # tokens that an answer and the next question may take, with the chat's format
_ALL_THERE_IS = 2**62  # bytes
_QUESTION = "And what would you say in one word?"
_GREETING = (Message("user", "Good morning! Are you there?"),)  # the preparations of a first answer belong to loading


class Before(StrEnum):
    """The situation in which a prompt is read."""

    NOTHING = "cold"
    SAME = "same chat"
    OTHER = "other chat"
    RESTART = "after a restart"
    ATTACHED = "after attaching"


_ASKED = {  # which chats are asked
    Before.NOTHING: (_FIRST, _SECOND),
    Before.SAME: (_SECOND,),
    Before.OTHER: (_FIRST, _SECOND),
    Before.RESTART: (_FIRST, _SECOND),
}


@dataclass(frozen=True)
class TimeRatio:
    """Headstart's time divided by a peer's in the same repeat."""

    mean: float | None  # geometric
    interval: Interval | None  # of the mean; None for a single repeat


@dataclass(frozen=True)
class FirstToken:
    """One program's way to a prompt. A peer reads no file ahead, so it has the cold figures there."""

    prompt_tokens: int
    reused: int | None  # tokens that were not read again; None: unknown
    ms: tuple[float, ...]  # of each repeat, the mean of the chats that were asked
    ratio: TimeRatio | None = None  # None for Headstart itself

    @property
    def median(self) -> float:
        """The median in milliseconds."""
        return statistics.median(self.ms)


@dataclass(frozen=True)
class FirstTokenResult:
    """All figures: by length of the prompt, then by program, then by what happened before."""

    machine: Machine
    target: str
    draft: str | None
    target_properties: Mapping[str, str]  # of OpenVINO
    repeats: int
    by_length: Mapping[int, Mapping[str, Mapping[Before, FirstToken]]]
    skipped: tuple[str, ...]  # sentences about lengths and peers that stay out
    schema: int = 1


class ChatPeer(Protocol):
    """A program that caches the prompts of chats, not yet started."""

    @property
    def name(self) -> str:
        """The program's name in the tables."""

    def open(self, options: PeerOptions, chats: int) -> AbstractContextManager[Ask]:
        """Context manager with the loaded program, which has room for so many chats of `options.context` tokens.

        Raises PeerError with the reason why it cannot take part; so does what it yields.
        """


@dataclass(frozen=True)
class FirstTokenPlan:
    """The plan of a measurement. `load`: the options of the engine."""

    load: LoadOptions
    lengths: Sequence[int]  # tokens
    repeats: int
    peers: Sequence[ChatPeer] = ()


def measure_first_token(
    engine: LocalEngine,
    plan: FirstTokenPlan,
    stage: Callable[[str], None] = lambda _sentence: None,
    keep: Callable[[FirstTokenResult], None] = lambda _result: None,
) -> FirstTokenResult:
    """Ask each program the same questions in turn. `stage` gets a sentence for each step, `keep` each length.

    The engine stores what it reads in a folder of its own, which is deleted at the end.
    """
    room = _QUESTIONS * _TURN
    fitting = [length for length in plan.lengths if length + room <= engine.context]
    if not fitting:
        raise SettingsError(
            "No prompt of these lengths fits into the context of {context} tokens, with {room} for questions and "
            "answers; name shorter ones with --lengths.",
            context=engine.context,
            room=room,
        )
    skipped = [
        f"Prompts of {length} tokens stay out: with {room} for questions and answers they do not fit into the context "
        f"of {engine.context}."
        for length in plan.lengths
        if length not in fitting
    ]
    for sentence in skipped:
        stage(sentence)
    names = [model.name for model in engine.models]
    result = FirstTokenResult(
        describe(plan.load.device),
        names[0],
        names[1] if len(names) > 1 else None,
        dict(engine.target.properties),
        plan.repeats,
        {},
        tuple(skipped),
    )
    options = peer_options(engine, plan.load.device, _ANSWER, max(fitting) + room)
    with ExitStack() as stack:
        own = _Headstart(engine)
        stack.callback(own.close)
        own.answer(_FIRST, _GREETING)
        others = [_Other(peer, options, engine.tokenizer) for peer in plan.peers]
        for other in others:
            stack.callback(other.close)
        contest = _Contest(own, others, _Texts(engine.tokenizer, max(fitting)), stage, skipped)
        for length in fitting:
            by_length = {**result.by_length, length: contest.measure(length, plan.repeats)}
            result = replace(result, by_length=by_length, skipped=tuple(skipped))
            keep(result)
    return result


class _Program(Protocol):
    """A measured program. Its methods raise PeerError."""

    name: str

    def restart(self) -> None:
        """Restart the program, so that no earlier text is in memory."""

    def answer(self, chat: int, messages: Sequence[Message]) -> TimedAnswer:
        """Write a few tokens."""

    def close(self) -> None:
        """Delete everything that the program left."""


class _Headstart:
    """Headstart's engine. A restart forgets all that is not on disk."""

    name = OURS

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._folder = paths.kept_prompts() / "benchmark"
        engine.keep_in(self._folder)

    def restart(self) -> None:
        self._engine.forget_all()

    def answer(self, chat: int, messages: Sequence[Message]) -> TimedAnswer:
        *_, finish = self._engine.generate(_request(chat, messages))
        assert isinstance(finish, Finish), "an engine ends every answer with Finish"
        while self._engine.store_one():  # as the program does when it is idle
            pass
        stats = finish.stats
        return TimedAnswer(
            finish.token_ids, stats.ttft_ms, stats.decode_ms, stats.prompt_tokens, reused=stats.reused_tokens
        )

    def read_ahead(self, chat: int, messages: Sequence[Message]) -> None:
        """Read the beginning of a prompt."""
        for _ in self._engine.read_ahead(_request(chat, messages)):
            pass

    def close(self) -> None:
        self._engine.forget_all()
        shutil.rmtree(self._folder, ignore_errors=True)


def _request(chat: int, messages: Sequence[Message]) -> ConversationRequest:
    keep = Keep(f"chat-{chat}", _ALL_THERE_IS)
    return ConversationRequest(
        tuple(messages), max_new_tokens=_ANSWER, sampling=Sampling(temperature=0.0), stop_on_repetition=False, keep=keep
    )


class _Other:
    """A peer, which is loaded at its first restart."""

    def __init__(self, peer: ChatPeer, options: PeerOptions, tokenizer: Tokenizer) -> None:
        self.name = peer.name
        self._open = partial(peer.open, options, _IN_TURN)
        self._tokenizer = tokenizer
        self._loaded = ExitStack()
        self._ask: Ask | None = None

    def restart(self) -> None:
        self.close()
        self._ask = self._loaded.enter_context(self._open())
        self.answer(_FIRST, _GREETING)

    def answer(self, chat: int, messages: Sequence[Message]) -> TimedAnswer:
        assert self._ask is not None, "a peer is restarted before it is asked"
        return self._ask(chat, self._tokenizer.prompt(messages))

    def close(self) -> None:
        self._ask = None
        self._loaded.close()


class _Texts:
    """The benchmark's prompts in a row, cut to a length; each text has another beginning."""

    def __init__(self, tokenizer: Tokenizer, longest: int) -> None:
        self.tokenizer = tokenizer
        written = "\n\n".join(prompt.text for prompt in read_prompts(3, KINDS))
        self._body = list(islice(cycle(tokenizer.encode(written)), longest))
        self._format = len(tokenizer.prompt((Message("user", "?"),)))

    def begun_with(self, title: str, length: int) -> str:
        """Return a message that makes a prompt of about `length` tokens."""
        start = self.tokenizer.encode(title)
        return self.tokenizer.decode([*start, *self._body[: max(0, length - len(start) - self._format)]])


class _Contest:
    """The programs, which are asked in turn. A program that fails is dropped."""

    def __init__(
        self, own: _Headstart, others: Sequence[_Other], texts: _Texts, stage: Callable[[str], None], skipped: list[str]
    ) -> None:
        """`skipped` gets the reason of each program that is dropped."""
        self._own = own
        self._programs: list[_Program] = [own, *others]
        self._texts, self._stage, self._skipped = texts, stage, skipped
        self._turns = 0
        self._restart()

    def measure(self, length: int, repeats: int) -> Mapping[str, Mapping[Before, FirstToken]]:
        """Return the figures of the programs that were not dropped."""
        repeated = [self._repeat(length, repeat) for repeat in range(repeats)]
        own = {before: _summed_up([runs[OURS][before] for runs in repeated]) for before in Before}
        found = {OURS: own}
        for program in self._programs[1:]:
            each = {before: _summed_up([runs[program.name][before] for runs in repeated]) for before in Before}
            found[program.name] = {
                before: replace(first, ratio=_ratio(own[before], first)) for before, first in each.items()
            }
        return found

    def _repeat(self, length: int, repeat: int) -> Mapping[str, Mapping[Before, list[TimedAnswer]]]:
        """Return the runs by program."""
        self._own.close()  # or its memory and the disk would fill
        runs: defaultdict[str, defaultdict[Before, list[TimedAnswer]]] = defaultdict(lambda: defaultdict(list))
        texts = [self._texts.begun_with(f"{chat}.{repeat}.{length}: ", length) for chat in range(3)]
        chats = defaultdict[tuple[str, int], list[Message]](list)

        def asked(before: Before, chat: int, program: _Program) -> None:
            """Send the next message of a chat."""
            messages = chats[program.name, chat]
            messages.append(Message("user", _QUESTION if messages else texts[chat]))
            run = program.answer(chat, messages)
            messages.append(Message("assistant", self._texts.tokenizer.decode(run.tokens)))
            runs[program.name][before].append(run)
            self._stage(f"{length} tokens, repeat {repeat + 1}, {before}, {program.name}: {run.ttft_ms:.0f} ms")

        for before, numbers in _ASKED.items():
            if before is Before.RESTART:
                self._restart()
            for number in numbers:
                self._in_turn(partial(asked, before, number))
        self._stage(f"{length} tokens, repeat {repeat + 1}, reading ahead, {OURS}")
        self._own.read_ahead(_WITH_FILE, [Message("user", texts[_WITH_FILE])])
        texts[_WITH_FILE] += f"\n\n{_QUESTION}"
        asked(Before.ATTACHED, _WITH_FILE, self._own)
        for program in self._programs[1:]:
            runs[program.name][Before.ATTACHED] = runs[program.name][Before.NOTHING]
        return runs

    def _restart(self) -> None:
        def restart(program: _Program) -> None:
            self._stage(f"starting {program.name}")
            program.restart()

        self._in_turn(restart)

    def _in_turn(self, act: Callable[[_Program], None]) -> None:
        self._turns += 1
        for program in turn_order(tuple(self._programs), self._turns):
            try:
                act(program)
            except PeerError as reason:
                self._programs.remove(program)
                program.close()
                self._skipped.append(str(reason))
                self._stage(str(reason))


def _summed_up(repeats: Sequence[Sequence[TimedAnswer]]) -> FirstToken:
    last = repeats[-1][-1]
    return FirstToken(last.prompt_tokens, last.reused, tuple(fmean(run.ttft_ms for run in runs) for runs in repeats))


def _ratio(own: FirstToken, peer: FirstToken) -> TimeRatio:
    ratios = paired(own.ms, peer.ms)
    return TimeRatio(geometric_mean(ratios), bootstrap_interval(ratios))


@dataclass(frozen=True)
class GenaiChats:
    """OpenVINO GenAI with prefix caching. It takes the memory of the weights once more."""

    target: GenaiModel
    name: str = "OpenVINO GenAI"

    @contextmanager
    def open(self, options: PeerOptions, chats: int) -> Iterator[Ask]:
        """Load the model. Raises PeerError if it cannot; so does what it yields."""
        # Left to itself it makes room for one prompt, and the second chat overwrites the first.
        with failures_told(self.name):
            pipeline = genai_pipeline(self.target, options, chats * genai_blocks(options.context, options.device))

        def ask(_chat: int, ids: list[int]) -> TimedAnswer:
            with failures_told(self.name):
                return genai_answer(pipeline, options, {}, ids)

        yield ask


@dataclass(frozen=True)
class LlamaChats:
    """llama.cpp's server with its prompt cache: each chat has a slot of its own."""

    server: llama.Command
    target: Path
    name: str = "llama.cpp"

    @contextmanager
    def open(self, options: PeerOptions, chats: int) -> Iterator[Ask]:
        """Start the server. Raises PeerError if it cannot; so does what it yields."""
        with llama.serve(self.server, self.target, options.context, slots=chats) as client:
            yield lambda chat, ids: llama.complete(client, options, ids, cache_prompt=True, id_slot=chat)


def _prompt_lengths(text: str) -> tuple[int, ...]:
    found = read_lengths(text)
    if min(found) < LEAST_LENGTH:
        raise SettingsError(f"lengths of prompts must be {LEAST_LENGTH} tokens or more, not {min(found)}.")
    return found


@dataclass(frozen=True, kw_only=True)
class FirstTokenFlags:
    """The flags of this program."""

    model: ModelFlags = group(ModelFlags)
    lengths: tuple[int, ...] = flag(
        LENGTHS,
        f"tokens of the prompts, with commas between them (default: {','.join(map(str, LENGTHS))})",
        metavar="N,N",
        read=_prompt_lengths,
        is_list=True,
        group="prompts",
    )
    repeats: int = flag(3, "times that each is read (default: 3)")
    peer: PeerName = flag(
        PeerName.GENAI,
        f"compare with OpenVINO GenAI and its prefix cache, loaded a second time (default: {PeerName.GENAI})",
        group="others",
    )
    llama: LlamaFlags = group(LlamaFlags, "llama.cpp")
    output: TableFlags = group(TableFlags)


def time_first_tokens(arguments: FirstTokenFlags, load: Load) -> int:
    """Time first tokens by length and by what was read before; return the exit code."""
    server, file = arguments.llama.both, arguments.output.json
    options, screen = select_model(arguments.model).options, Screen()
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        assert isinstance(engine, LocalEngine), "only Headstart's own engine keeps what it has read"
        peers: list[ChatPeer] = []
        if arguments.peer is PeerName.GENAI:
            peers.append(GenaiChats(genai(engine, options).target))
        if server:
            peers.append(LlamaChats(*server))
        plan = FirstTokenPlan(options, arguments.lengths, arguments.repeats, peers)
        result = measure_first_token(engine, plan, screen.remark, lambda found: save(file, to_data(found)))
    show([first_token_sheet(result)], first_token_remarks(result), markdown=arguments.output.markdown)
    if file:
        write_json(file, to_data(result))
    return 0


def first_token_sheet(result: FirstTokenResult) -> list[list[str]]:
    """Return a line for each program at each length, a column for each situation."""
    lines = [
        [f"{length}, {name}", *map(_first_token, found.values())]
        for length, programs in result.by_length.items()
        for name, found in programs.items()
    ]
    situations = next(iter(next(iter(result.by_length.values())).values()))
    return [["tokens of the prompt", *situations], *lines]


def _first_token(found: FirstToken) -> str:
    ratio = f" {ratio_text(found.ratio.mean)}{interval_text(found.ratio.interval)}" if found.ratio else ""
    return f"{found.median:.0f} ms{ratio}"


def first_token_remarks(result: FirstTokenResult) -> list[str]:
    """Return the sentences below the table."""
    names = {name for programs in result.by_length.values() for name in programs}
    repeats = f" Medians of {result.repeats} repeats." if result.repeats > 1 else ""
    lines = [
        f"{result.target} with draft {result.draft or 'none'}, {precision_text(result.target_properties)}, "
        f"{machine_text(result.machine)}.{repeats}"
    ]
    if len(names) > 1:
        lines.append(
            "The figures with \"x\" are Headstart's time in multiples of the other program's, and the range of 95 %. "
            "Other programs read no file ahead: there the time is their cold one."
        )
    return [*lines, *result.skipped]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program. Return the exit code."""
    command = Command(time_first_tokens, local_engine.load_measured)
    command.help = __doc__
    return execute(command, "first_token.py", arguments)


if __name__ == "__main__":
    local_engine.restart()
    sys.exit(main())
