"""The messages between the engine's process and its user, as JSON lines.

A line is an object with `v` (VERSION), `is` (the name of the message's class) and the fields of the class. The user
sends orders, the engine's process answers with reports. A generation numbers an answer, a ticket any other order; no
number is used twice.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from headstart.engine.bench.prompts import USUAL_KINDS, read_kinds
from headstart.engine.bench.result import BenchResult
from headstart.engine.engine import (
    EngineKind,
    Finish,
    LoadOptions,
    Phase,
    Prefill,
    Request,
    Sampling,
    Speculation,
    Step,
)
from headstart.engine.tuning.messages import (
    ForgetTuned,
    RecallTuned,
    Tune,
    TuneDecided,
    TunedKnown,
    TuneEnded,
    TuneStep,
)
from headstart.engine.wire import Tagged, from_data, to_data
from headstart.errors import HeadstartError, ProtocolError, ProtocolVersionError, SettingsError, Translatable

VERSION = 1
LONGEST_LINE = 16 * 2**20  # bytes; the longest chats are far below, so more means that something else writes here


class Load(Tagged, frozen=True):
    """Load a model; the one loaded before is freed first."""

    options: LoadOptions


class Generate(Tagged, frozen=True):
    """Answer a request; several are answered one after the other."""

    generation: int
    request: Request


class Cancel(Tagged, frozen=True):
    """End an answer, a benchmark or a tuning within one round, or before it began; an unknown one is left alone.

    `number` is its generation or ticket. An answer of a peer in a benchmark is written to its end.
    """

    number: int


class ReadAhead(Tagged, frozen=True):
    """Read the prompt of a request that may come. Any other order ends that. PromptRead follows if it was not ended."""

    ticket: int
    request: Request


class WriteTitle(Tagged, frozen=True):
    """Write a short answer while nothing else is to be done. Any other order ends that. TitleWritten follows."""

    ticket: int
    request: Request


class CountTokens(Tagged, frozen=True):
    """Count the tokens of what a request has the model read, and of a plain text beside it."""

    ticket: int
    request: Request | None = None
    text: str = ""


class Forget(Tagged, frozen=True):
    """Drop what was read of chats that were deleted; without any, of all that are kept on disk. Nothing follows."""

    chats: tuple[str, ...] = ()


class Describe(Tagged, frozen=True):
    """Describe this machine."""

    ticket: int


@dataclass(frozen=True)
class BenchSize:
    """The size of a race: prompts of each class, the longest answer, repeats, and whether OpenVINO GenAI takes part.

    `sweep`: every length and every drafter, for advice that compares them.
    """

    prompts: int
    tokens: int
    repeats: int
    with_peer: bool
    kinds: tuple[str, ...] = USUAL_KINDS
    sweep: bool = False
    contestants: tuple[str, ...] = ()  # ways to decode; empty: the usual ones, or those of `sweep`

    def __post_init__(self) -> None:
        """Refuse a race without a result."""
        if self.prompts < 1 or self.repeats < 1 or self.tokens < 2:
            raise SettingsError("A benchmark needs at least one prompt, one repeat and answers of two tokens.")
        read_kinds(",".join(self.kinds))


class Bench(Tagged, frozen=True):
    """Race the loaded model's ways to decode. The Bench reports below follow, then Benched or Failed."""

    ticket: int
    size: BenchSize
    before: BenchResult | None = None  # of a race that was cut off: its prompts are not raced again


class StartServer(Tagged, frozen=True):
    """Serve the loaded model to other programs, beside other work. The reports below follow, or Failed.

    `keys` are digests. `beyond`: other computers may connect, too. `hosts` and `origins` are allowed beside the usual
    ones. The rest is for what a request leaves open; `seed` None: another one for each request, `length` 0: half the
    context.
    """

    model: str  # what clients call it; empty: they name one
    keys: tuple[str, ...]
    host: str
    port: int
    beyond: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    waiting: int = 16  # requests that may wait
    answer_seconds: float = 1800.0
    idle_seconds: float | None = None  # without a request, after which models are freed; None: never
    sampling: Sampling = Sampling()
    speculation: Speculation = Speculation()
    seed: int | None = None
    length: int = 0
    parallel: int = 1  # answers at the same time


class StopServer(Tagged, frozen=True):
    """End the server and its answers. ServerEnded follows, even if there was no server."""


@dataclass(frozen=True)
class ModelInfo:
    """What is loaded. `context` is in tokens, 0 if unknown; `server` names another computer that has the model.

    `reason`: why another engine than Headstart's own was chosen automatically. `notes`: sentences for the person.
    `sampling`: what "automatic" means for this model; None if only a server knows. `head`: the EAGLE-3 head's name.
    `parallel`: answers that are written at the same time; others wait for their turns. `arithmetic`: what the model
    computes in; empty if unknown. `is_batch_invariant`: whether guesses leave its logits as they are to the bit.
    """

    model: str
    draft: str | None
    device: str
    context: int
    server: str = ""
    engine: str = EngineKind.HEADSTART.value
    reason: str = ""
    notes: tuple[Translatable, ...] = ()
    sampling: Sampling | None = None
    head: str | None = None
    parallel: int = 1
    arithmetic: str = ""
    is_batch_invariant: bool = False

    @property
    def has_draft(self) -> bool:
        """Whether a draft model guesses ahead."""
        return self.draft is not None


@dataclass(frozen=True)
class Device:
    """A device by OpenVINO's short name and by its own."""

    name: str
    full_name: str


@dataclass(frozen=True)
class Description:
    """Devices that can run a model, memory in bytes, and versions by component."""

    devices: tuple[Device, ...]
    memory_total: int
    memory_free: int
    versions: Mapping[str, str]


class Ready(Tagged, frozen=True):
    """The process runs and takes orders."""

    pid: int
    headstart: str  # version


class Loading(Tagged, frozen=True):
    """Progress of a Load. `expected`: seconds that the whole load took last time, if known."""

    phase: Phase
    expected: float | None = None


class Loaded(Tagged, frozen=True):
    """The end of a successful Load."""

    facts: ModelInfo


class Prefilled(Tagged, frozen=True):
    """The prompt is being read."""

    generation: int
    progress: Prefill


class Stepped(Tagged, frozen=True):
    """One round of an answer."""

    generation: int
    step: Step


class Finished(Tagged, frozen=True):
    """The end of an answer."""

    generation: int
    finish: Finish


class Counted(Tagged, frozen=True):
    """Answer to CountTokens, with the context they have to fit into."""

    ticket: int
    tokens: int
    context: int


class PromptRead(Tagged, frozen=True):
    """All of the prompt of a ReadAhead is read, but for its last token."""

    ticket: int


class TitleWritten(Tagged, frozen=True):
    """`text`: None where something else was asked for; "" where the model found no end, or cannot write one."""

    ticket: int
    text: str | None


class Described(Tagged, frozen=True):
    """Answer to Describe."""

    ticket: int
    description: Description


class BenchStage(Tagged, frozen=True):
    """A step of a benchmark that is not a heat, as a sentence."""

    ticket: int
    sentence: str


class BenchPlanned(Tagged, frozen=True):
    """How many heats there will be."""

    ticket: int
    heats: int


class BenchHeat(Tagged, frozen=True):
    """One contestant's answer to one prompt; `ms_per_token` is None where it was too short for a speed."""

    ticket: int
    prompt: str  # id
    kind: str  # its class
    contestant: str
    repeat: int
    ms_per_token: float | None
    tokens: int


class BenchSoFar(Tagged, frozen=True):
    """The figures of the prompts that are done, after each of them; `result` as in Benched."""

    ticket: int
    result: Mapping[str, Any]


class Benched(Tagged, frozen=True):
    """The end of a benchmark: what `headstart bench --json` writes, or None if it was stopped."""

    ticket: int
    result: Mapping[str, Any] | None


class Serving(Tagged, frozen=True):
    """The server answers at `url`. `beyond`: other computers, too."""

    model: str
    url: str
    beyond: bool = False


class Asked(Tagged, frozen=True):
    """A request has arrived; `number` counts them."""

    number: int
    method: str
    path: str


class Answered(Tagged, frozen=True):
    """A request has ended. Status 0: its client disconnected before. Tokens are those of the answer, if any."""

    number: int
    seconds: float
    status: int
    prompt_tokens: int | None = None
    output_tokens: int | None = None


class ServerEnded(Tagged, frozen=True):
    """The server has ended."""


class TurnTaken(Tagged, frozen=True):
    """Progress of an answer for a client of the server: of its prompt, or a round."""

    prefill: Prefill | None = None


class TurnEnded(Tagged, frozen=True):
    """The answer for a client of the server has ended."""


class Failed(Tagged, frozen=True):
    """An order failed; the process goes on. `order` is its class name, "" if it was unreadable.

    `kind` is the class name of the HeadstartError, `sentence` its text.
    """

    kind: str
    sentence: Translatable
    order: str = ""
    generation: int | None = None
    ticket: int | None = None


class Logged(Tagged, frozen=True):
    """A line for the log."""

    level: str
    source: str
    text: str


ServerReport = Serving | Asked | Answered | ServerEnded
BenchReport = BenchStage | BenchPlanned | BenchHeat | BenchSoFar | Benched
Order = (
    Load | Generate | ReadAhead | WriteTitle | Cancel | CountTokens | Describe | Bench | Forget
    | Tune | RecallTuned | ForgetTuned | StartServer | StopServer
)  # fmt: skip
Report = (
    Ready | Loading | Loaded | PromptRead | TitleWritten | Prefilled | Stepped | Finished | Counted | Described
    | BenchReport | TuneStep | TuneDecided | TuneEnded | TunedKnown
    | ServerReport | TurnTaken | TurnEnded | Failed | Logged
)  # fmt: skip


def encode(message: Order | Report) -> bytes:
    """One line, newline included. ASCII only: half a surrogate pair in a text survives, too."""
    return json.dumps({"v": VERSION, **to_data(message)}).encode("ascii") + b"\n"


def decode_order(line: bytes) -> Order:
    """The order of a line. Raises ProtocolError, ProtocolVersionError, or SettingsError for a value out of range."""
    order: Order = _decode(line, Order)
    return order


def decode_report(line: bytes) -> Report:
    """The report of a line. Raises ProtocolError or ProtocolVersionError."""
    report: Report = _decode(line, Report)
    return report


def failure(error: HeadstartError, order: object = None) -> Failed:
    """The report that `order` failed with `error`."""
    return Failed(
        kind=type(error).__name__,
        sentence=error.text,
        order=type(order).__name__ if order else "",
        generation=getattr(order, "generation", None),
        ticket=getattr(order, "ticket", None),
    )


class LineSplitter:
    """Cuts a stream of bytes into lines. Of a line longer than LONGEST_LINE it keeps one byte more than that."""

    def __init__(self) -> None:
        """Nothing read yet."""
        self._rest = bytearray()

    def push(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that `chunk` completes, without their ends."""
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._keep(part)
            line, self._rest = bytes(self._rest), bytearray()
            yield line
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._rest += part[: LONGEST_LINE + 1 - len(self._rest)]


def _decode(line: bytes, kinds: Any) -> Any:
    if len(line) > LONGEST_LINE:
        raise ProtocolError(
            "The engine's line was longer than {mebibytes} MiB, so it cannot be a message of Headstart.",
            mebibytes=LONGEST_LINE // 2**20,
        )
    try:
        data = json.loads(line)  # msgspec's own reader has no half surrogate pairs, which texts may have
    except (ValueError, RecursionError):
        raise ProtocolError("The engine's line is no message of Headstart: {excerpt}", excerpt=_excerpt(line)) from None
    if not isinstance(data, dict) or data.get("v") != VERSION:
        raise ProtocolVersionError(
            "The engine program belongs to another version of Headstart (its messages have version "
            "{found!r}, not {version}); install Headstart again.",
            found=data.get("v") if isinstance(data, dict) else None,
            version=VERSION,
        )
    name = str(data.get("is"))
    if name not in {kind.__name__ for kind in get_args(kinds)}:
        raise ProtocolError("The engine's line is of an unknown kind: {excerpt}", excerpt=_excerpt(line))
    try:
        return from_data(kinds, data)
    except ValueError as error:
        raise ProtocolError("The engine's message {name} is damaged ({error}).", name=name, error=error) from None


def _excerpt(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace")) + ("..." if len(line) > 60 else "")
