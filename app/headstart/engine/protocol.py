"""The messages between the engine's process and its user, as JSON lines.

A line is an object with `v` (VERSION), `is` (the name of the message's class) and the fields of the class. The user
sends orders; the engine's process answers with reports. A generation numbers an answer, a ticket any other order; no
number is used twice.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from headstart.engine.bench.prompts import USUAL_KINDS, read_kinds
from headstart.engine.bench.result import BenchResult
from headstart.engine.engine import (
    ConversationRequest,
    EngineKind,
    Finish,
    LoadOptions,
    Phase,
    Prefill,
    Request,
    Sampling,
    Speculation,
    Step,
    ThinkingSupport,
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
MAX_LINE = 16 * 2**20  # bytes; far more than the longest chat, so a longer line comes from something else


class Load(Tagged, frozen=True):
    """Load a model. The previous model is freed first."""

    options: LoadOptions


class Generate(Tagged, frozen=True):
    """Answer a request. Several requests are answered one after the other."""

    generation: int
    request: Request


class Cancel(Tagged, frozen=True):
    """End an answer, a benchmark or a tuning within one round, or before it begins. An unknown number does nothing.

    A peer's answer in a benchmark is written to its end.
    """

    number: int  # generation or ticket


class ReadAhead(Tagged, frozen=True):
    """Read the prompt of a request that may come. Any other order ends this; else PromptRead follows."""

    ticket: int
    request: ConversationRequest


class WriteTitle(Tagged, frozen=True):
    """Write a short answer while there is nothing else to do. Any other order ends this. TitleWritten follows."""

    ticket: int
    request: ConversationRequest


class CountTokens(Tagged, frozen=True):
    """Count the tokens of a request's prompt and of a plain text beside it."""

    ticket: int
    request: ConversationRequest | None = None
    text: str = ""


class Forget(Tagged, frozen=True):
    """Drop the prompts of deleted chats; without any, all that are on disk. No report follows."""

    chats: tuple[str, ...] = ()


class Describe(Tagged, frozen=True):
    """Describe this machine."""

    ticket: int


@dataclass(frozen=True)
class BenchSize:
    prompts: int  # of each class
    tokens: int  # of the longest answer
    repeats: int
    with_peer: bool  # OpenVINO GenAI takes part
    kinds: tuple[str, ...] = USUAL_KINDS
    sweep: bool = False  # every length and every drafter, for advice that compares them
    contestants: tuple[str, ...] = ()  # ways to decode; empty: the usual ones, or those of `sweep`

    def __post_init__(self) -> None:
        """Raise SettingsError for a benchmark without a result."""
        if self.prompts < 1 or self.repeats < 1 or self.tokens < 2:
            raise SettingsError("A benchmark needs at least one prompt, one repeat and answers of two tokens.")
        read_kinds(",".join(self.kinds))


class Bench(Tagged, frozen=True):
    """Race the loaded model's ways to decode. Bench reports follow, then Benched or Failed."""

    ticket: int
    size: BenchSize
    before: BenchResult | None = None  # of a race that was cut off: its prompts are not raced again


class StartServer(Tagged, frozen=True):
    """Serve the loaded model to other programs, beside other work. Server reports follow, or Failed."""

    model: str  # what clients call it; empty: they name one
    keys: tuple[str, ...]  # digests
    host: str
    port: int
    allow_network: bool = False  # other computers may connect, too
    hosts: tuple[str, ...] = ()  # allowed beside the usual ones
    origins: tuple[str, ...] = ()  # allowed beside the usual ones; `*` is any part of a name
    waiting: int = 16  # requests that may wait
    answer_seconds: float = 1800.0
    idle_seconds: float | None = None  # without a request, after which models are freed; None: never
    # Defaults of what a request leaves open:
    sampling: Sampling = Sampling()
    speculation: Speculation = Speculation()
    seed: int | None = None  # None: another one for each request
    length: int = 0  # tokens of an answer; 0: half the context
    parallel: int = 1  # answers at the same time
    aliases: tuple[tuple[str, str], ...] = ()  # more names, or patterns of names, and their models
    page: bool = False  # serve the page for a chat on another device


class StopServer(Tagged, frozen=True):
    """End the server and its answers. ServerEnded follows, even if there was no server."""


@dataclass(frozen=True)
class ModelInfo:
    model: str
    draft: str | None  # name of the draft model
    device: str
    context: int  # tokens; 0 if unknown
    server: str = ""  # the computer that has the model
    engine: str = EngineKind.HEADSTART.value
    reason: str = ""  # why another engine than Headstart's own was chosen automatically
    notes: tuple[Translatable, ...] = ()  # sentences for you
    slowness: Translatable | None = None  # the note that our own kernels are not used, among `notes`
    sampling: Sampling | None = None  # what "automatic" means for this model; None if only a server knows
    head: str | None = None  # name of the head that guesses
    parallel: int = 1  # answers at the same time; other requests wait
    arithmetic: str = ""  # what the model computes in; empty if unknown
    is_batch_invariant: bool = False  # guesses leave its logits unchanged to the bit
    thinking: ThinkingSupport | None = None  # None: it does not think, or that is unknown


@dataclass(frozen=True)
class Device:
    """A device by OpenVINO's short name and by its full name."""

    name: str
    full_name: str


@dataclass(frozen=True)
class Description:
    """The devices that can run a model, and versions by component."""

    devices: tuple[Device, ...]
    versions: Mapping[str, str]


class Ready(Tagged, frozen=True):
    """The process runs and takes orders."""

    pid: int
    headstart: str  # version


class Loading(Tagged, frozen=True):
    """Progress of a Load."""

    phase: Phase
    expected: float | None = None  # seconds of the whole load last time, if known


class Loaded(Tagged, frozen=True):
    """The end of a successful Load."""

    model_info: ModelInfo


class Prefilled(Tagged, frozen=True):
    """Progress of reading the prompt."""

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
    """The reply to CountTokens."""

    ticket: int
    tokens: int
    context: int  # tokens that have to fit together


class PromptRead(Tagged, frozen=True):
    """The prompt of a ReadAhead is read, except for its last token."""

    ticket: int


class TitleWritten(Tagged, frozen=True):
    """The end of a WriteTitle."""

    ticket: int
    text: str | None  # None: another order came first; "": the model found no end, or writes no titles


class Described(Tagged, frozen=True):
    """The reply to Describe."""

    ticket: int
    description: Description


class BenchStage(Tagged, frozen=True):
    """A step of a benchmark other than a heat, as a sentence."""

    ticket: int
    sentence: str


class BenchPlanned(Tagged, frozen=True):
    """The number of heats to come."""

    ticket: int
    heats: int


class BenchHeat(Tagged, frozen=True):
    """One contestant's answer to one prompt."""

    ticket: int
    prompt: str  # id
    kind: str  # its class
    contestant: str
    repeat: int
    ms_per_token: float | None  # None: too short for a speed
    tokens: int


class BenchSoFar(Tagged, frozen=True):
    """The figures of a benchmark so far, sent after each prompt; `result` as in Benched."""

    ticket: int
    result: Mapping[str, Any]


class Benched(Tagged, frozen=True):
    """The end of a benchmark."""

    ticket: int
    result: Mapping[str, Any] | None  # what `headstart bench --json` writes; None if it was stopped


class Serving(Tagged, frozen=True):
    """The server answers at `url`."""

    model: str
    url: str
    allow_network: bool = False  # for other computers, too


class Asked(Tagged, frozen=True):
    """A request has arrived at the server."""

    number: int  # counts requests
    method: str
    path: str


class Answered(Tagged, frozen=True):
    """A request of the server has ended."""

    number: int
    seconds: float
    status: int  # of HTTP; 0: the client disconnected before
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    model: str = ""
    client: str = ""  # its address, and the numbers of its keys
    has_left: bool = False  # the client disconnected before the end
    code: str = ""  # of the refusal
    refusal: str = ""  # its sentence
    id: str = ""  # that the reply has in a header


class ServerEnded(Tagged, frozen=True):
    """The server has ended."""


class TurnTaken(Tagged, frozen=True):
    """Progress of an answer for a client of the server: of its prompt, or a round."""

    prefill: Prefill | None = None


class TurnEnded(Tagged, frozen=True):
    """The answer for a client of the server has ended."""


class Failed(Tagged, frozen=True):
    """An order failed; the process goes on."""

    kind: str  # class name of the HeadstartError
    sentence: Translatable
    order: str = ""  # class name of the order; empty if it was unreadable
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
    """Return one line, newline included. ASCII escapes also keep a lone surrogate in a text."""
    return json.dumps({"v": VERSION, **to_data(message)}).encode("ascii") + b"\n"


def decode_order(line: bytes) -> Order:
    """Return the order in a line. Raises ProtocolError, ProtocolVersionError, or SettingsError for a bad value."""
    order: Order = _decode(line, Order)
    return order


def decode_report(line: bytes) -> Report:
    """Return the report in a line. Raises ProtocolError or ProtocolVersionError."""
    report: Report = _decode(line, Report)
    return report


def failure(error: HeadstartError, order: object = None) -> Failed:
    """Return the report that `order` failed with `error`."""
    return Failed(
        kind=type(error).__name__,
        sentence=error.text,
        order=type(order).__name__ if order else "",
        generation=getattr(order, "generation", None),
        ticket=getattr(order, "ticket", None),
    )


class LineSplitter:
    """Splits a stream of bytes into lines. A line longer than MAX_LINE is cut to one byte more than that."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def push(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that `chunk` completes, without their ends."""
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._keep(part)
            line, self._rest = bytes(self._rest), bytearray()
            yield line
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._rest += part[: MAX_LINE + 1 - len(self._rest)]


def _decode(line: bytes, kinds: Any) -> Any:
    if len(line) > MAX_LINE:
        raise ProtocolError(
            "The engine's line was longer than {mebibytes} MiB, so it cannot be a message of Headstart.",
            mebibytes=MAX_LINE // 2**20,
        )
    try:
        data = json.loads(line)  # msgspec's decoder refuses lone surrogates, which texts may have
    except (ValueError, RecursionError):
        raise ProtocolError(
            "The engine's line is not a message of Headstart: {excerpt}", excerpt=_excerpt(line)
        ) from None
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
