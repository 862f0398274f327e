"""The engine's interface, and the values that cross it."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Protocol

from msgspec import structs

from headstart import parameters
from headstart.engine import origins, stats
from headstart.engine.cancelling import CancelEvent
from headstart.engine.speech.transcript import SpeechTranscript
from headstart.engine.wire import Tagged
from headstart.errors import SettingsError, Translatable

Drafter = parameters.DrafterChoice
EngineKind = parameters.EngineKind
KvPrecision = parameters.KvPrecision
Mode = parameters.Mode
Origin = origins.Origin
Precision = parameters.ArithmeticPrecision
Sampling = parameters.SamplingParams
Speculation = parameters.SpeculationParams
Stats = stats.Stats

MAX_TOP_LOGPROBS = 20  # OpenAI's limit


class FinishReason(StrEnum):
    """Why an answer ended. Stopping is a reason, not an error."""

    STOP = "stop"  # a stop id or a stop string
    LENGTH = "length"  # max_new_tokens reached
    CONTEXT = "context"  # the context is full
    REPETITION = "repetition"  # the answer repeated itself
    CONTENT_FILTER = "content_filter"  # a server's filter withholds the rest
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: str  # a JSON object


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: str  # "system", "user", "assistant", or "tool" for a result
    content: str
    calls: tuple[Call, ...] = ()  # of an assistant
    thinking: str = ""  # of an assistant, before its content
    parts: tuple[str, ...] = ()  # of the content, where it has several; the chat template may join them otherwise

    @classmethod
    def of_parts(cls, role: str, parts: Iterable[str], calls: tuple[Call, ...] = (), thinking: str = "") -> "Message":
        """Return a message of several texts. Between them stands a line break, unless the chat template joins them."""
        texts = tuple(filter(None, parts))
        return cls(role, "\n".join(texts), calls, thinking, texts if len(texts) > 1 else ())


@dataclass(frozen=True)
class ThinkingSupport:
    """Abilities of a model that thinks."""

    by_default: bool  # it thinks unless you switch it off
    can_switch: bool  # you may choose whether it thinks
    takes_effort: bool  # its template knows `reasoning_effort`


@dataclass(frozen=True)
class Tool:
    """A function that an answer may call."""

    name: str
    parameters: str  # JSON schema of the arguments
    description: str = ""
    strict: bool = False  # refuse a schema that cannot be enforced completely; else the model decides the rest


@dataclass(frozen=True)
class Tools:
    """The functions that an answer may call, and how."""

    offered: tuple[Tool, ...]
    required: bool = False  # the answer must call a tool
    only: str = ""  # the tool that it must call
    parallel: bool = False  # it may call more than one
    hidden: bool = False  # the prompt does not show the tools, so answers in words are as without them

    @property
    def callable(self) -> tuple[Tool, ...]:
        """The tools that the answer may call."""
        return tuple(tool for tool in self.offered if self.only in {"", tool.name})


# Calls stand in the text of an answer in the format of Hermes. Every model is constrained to it.
CALL_BEGINS, CALL_ENDS = "<tool_call>", "</tool_call>"


def call_head(name: str) -> str:
    """Return the text before the arguments of a call. One brace follows them."""
    return f'{{"name": {json.dumps(name)}, "arguments": '


def written_call(call: Call) -> str:
    """Return a call in the form that it has in an answer's text."""
    arguments = json.dumps(json.loads(call.arguments), ensure_ascii=False)
    return f"{CALL_BEGINS}\n{call_head(call.name)}{arguments}}}\n{CALL_ENDS}"


_BLANKS_IN_JSON = re.compile(r'("(?:[^"\\]|\\.)*"?)|\s+', re.DOTALL)


def without_blanks(text: str) -> str:
    """Return JSON, whole or cut off, without the blanks between its parts."""
    return _BLANKS_IN_JSON.sub(lambda match: match[1] or "", text)


@dataclass(frozen=True)
class Keep:
    """The place of a chat's prompt cache on disk."""

    chat: str  # name of the folder
    most_bytes: int  # of all chats together
    key: str = field(default="", repr=False)  # 64 bytes in hexadecimal digits that encrypt it; empty: no encryption

    def __post_init__(self) -> None:
        """Raise SettingsError for a name that leads to another folder."""
        _require(re.fullmatch(r"[\w-]+", self.chat) is not None, "chat", "letters, digits, - and _", self.chat)


class _AnswerRequest(Tagged, frozen=True, kw_only=True):
    """The common part of the requests for an answer."""

    max_new_tokens: int = parameters.AnswerParams.max_new_tokens  # 0: only read the prompt
    sampling: Sampling = Sampling()
    speculation: Speculation = Speculation()
    stop: tuple[str, ...] = parameters.AnswerParams.stop  # the answer ends before the first of these strings
    prediction: str = ""  # a text that the answer may resemble: a source of guesses, which changes no answer
    schema: str = ""  # JSON schema of the answer
    grammar: str = ""  # grammar of the answer in Lark's notation, in place of a schema
    top_logprobs: int | None = None  # report log-probabilities, and this many of the likeliest tokens; None: neither
    stop_on_repetition: bool = parameters.AnswerParams.stop_on_repetition
    keep: Keep | None = None  # None: the prompt cache is not stored
    tokens_only: bool = False  # return the prompt as text in a Step and its tokens in Finish, and write nothing

    def __post_init__(self) -> None:
        """Raise SettingsError for a request that no engine could answer."""
        _require(self.max_new_tokens >= 0, "max-new-tokens", "0 or more", self.max_new_tokens)
        _require(all(self.stop), "stop", "not empty", "an empty string")
        count = self.top_logprobs or 0
        _require(0 <= count <= MAX_TOP_LOGPROBS, "top_logprobs", f"between 0 and {MAX_TOP_LOGPROBS}", count)

    def unsupported_fields(self, supported: Set[str]) -> list[str]:
        """Return the fields that are set and not supported. The parameters of sampling are supported."""
        known = {*supported, "sampling", "automatic", *(each.field for each in parameters.declared(Sampling))}
        plain = {each.name: each.default for each in structs.fields(self)} | vars(Sampling())
        values = structs.asdict(self) | vars(self.sampling)
        return [name for name, value in values.items() if name not in known and value != plain[name]]


class ConversationRequest(_AnswerRequest, frozen=True):
    """A request for the next message of a conversation."""

    # Rendered by the model's chat template; special tokens in a content are plain text. An answer as the last message
    # is continued.
    messages: tuple[Message, ...]
    tools: Tools | None = None  # the answer is a text, or calls (see CALL_BEGINS), or both
    thinking: bool | None = parameters.AnswerParams.thinking  # think before the answer; None: as the model does
    thinking_budget: int | None = parameters.AnswerParams.thinking_budget  # the most tokens of it; None: no limit
    effort: str = ""  # of thinking, for chat templates that know `reasoning_effort`

    def __post_init__(self) -> None:
        """Raise SettingsError for a request that no engine could answer."""
        super().__post_init__()
        _require(bool(self.messages), "messages", "at least one", 0)


class PromptRequest(_AnswerRequest, frozen=True):
    """A request to continue a text, or to fill a gap in one."""

    prompt: str | tuple[int, ...] = ""  # a text, in which special tokens count, or token ids
    suffix: str = ""  # the text after the gap that the answer fills
    add_special: bool = True  # put the tokens before a text that the model expects at a beginning
    echo: bool = False  # return `prompt` in the first Step, with log-probabilities if requested; it is read again

    def __post_init__(self) -> None:
        """Raise SettingsError for a request that no engine could answer."""
        super().__post_init__()
        _require(bool(self.prompt or self.suffix), "prompt", "not empty", "an empty text")


class VectorsRequest(Tagged, frozen=True):
    """A request to turn texts, or their token ids, into vectors."""

    inputs: tuple[str | tuple[int, ...], ...]
    tokens_only: ClassVar[bool] = False


class TranscriptionRequest(Tagged, frozen=True):
    """A request to write down what is said in a recording."""

    recording: str  # path of its file
    language: str = ""  # its code, such as "en"; empty: the one that is heard first
    prompt: str = ""  # a text before the recording, which has its spellings
    temperature: float = 0.0
    translate: bool = False  # into English
    tokens_only: ClassVar[bool] = False


GenerationRequest = ConversationRequest | PromptRequest
Request = GenerationRequest | VectorsRequest | TranscriptionRequest


@dataclass(frozen=True)
class Token:
    id: int
    origin: Origin


@dataclass(frozen=True)
class Timing:
    """The milliseconds of one round, by part."""

    draft_ms: float = 0.0
    verify_ms: float = 0.0
    other_ms: float = 0.0

    @property
    def total_ms(self) -> float:
        return self.draft_ms + self.verify_ms + self.other_ms


@dataclass(frozen=True)
class Prefill:
    """Progress while the prompt is read."""

    done: int  # tokens in the cache
    total: int  # tokens of the prompt
    note: Translatable = field(default_factory=Translatable)  # why cached tokens are read again, as a sentence


@dataclass(frozen=True)
class Round:
    """One round of drafting and verifying. `accepted` of `drafted` candidates held; the target's own token follows."""

    tokens: tuple[Token, ...]  # fewer than `accepted + 1` if the answer ended in between
    drafted: int
    accepted: int
    drafter: Origin  # TARGET when nothing was drafted
    timing: Timing
    ledger_ms: float | None = None  # Stats.ledger_ms so far; None if the engine does not compute it


@dataclass(frozen=True)
class Piece:
    """A stretch of shown text and who proposed the token that completed it."""

    text: str
    origin: Origin
    is_thinking: bool = False  # it stands before the answer proper


@dataclass(frozen=True)
class Likelihood:
    """A token and the natural logarithm of its probability."""

    spelling: tuple[int, ...]  # bytes of the token
    logprob: float  # NaN for the first token of a prompt


@dataclass(frozen=True)
class Scored:
    """A token of the answer with the likeliest tokens in its place, by falling probability."""

    token: Likelihood
    start: int  # characters of the answer before it
    top_logprobs: tuple[Likelihood, ...] = ()


@dataclass(frozen=True)
class Step:
    """One round of an answer, with the text that is final after it."""

    text: str  # of the answer proper; whole characters; may be empty
    round: Round
    pieces: tuple[Piece, ...] = ()  # the thinking, then `text`, cut by origin
    # The tokens that became certain, if log-probabilities are requested; never those of a stop string.
    scored: tuple[Scored, ...] = ()

    @property
    def thinking(self) -> str:
        """The text of the thinking section that this round made certain."""
        return "".join(piece.text for piece in self.pieces if piece.is_thinking)


@dataclass(frozen=True)
class Finish:
    """The last event of an answer."""

    reason: FinishReason
    stats: Stats
    token_ids: tuple[int, ...]  # after a stop string the fewest that cover the text before it
    vectors: tuple[bytes, ...] = ()  # of VectorsRequest.inputs, as 32-bit little-endian floats
    stop_text: str = ""  # the stop string that ended the answer
    transcript: SpeechTranscript | None = None  # of TranscriptionRequest.recording


Event = Prefill | Step | Finish


USUAL_DEVICE = "CPU"


class Unset(StrEnum):
    """Options that you left open at loading: tuning for this machine may decide them."""

    DRAFT = "draft"
    DEVICE = "device"
    DRAFT_DEVICE = "draft device"
    PROPERTIES = "properties"  # precision, threads


@dataclass(frozen=True)
class Remote:
    """A model on a server with OpenAI's API. Its key is stored elsewhere, under `name`."""

    name: str
    url: str  # base of the API, such as https://example.com/v1
    model: str | None = None  # the server's name for it; None: its only model
    certificate: Path | None = None  # of an authority to trust beside those of the system

    @property
    def label(self) -> str:
        """The name that you see: the server, and the model if one was named."""
        return f"{self.name}/{self.model}" if self.model else self.name


@dataclass(frozen=True)
class LoadOptions:
    """Options for loading a model. With `remote`, everything else is ignored and `target` is only a name."""

    target: Path  # model folder
    draft: Path | None = None  # model folder with the same vocabulary
    device: str = USUAL_DEVICE
    context: int | None = parameters.EngineConfig.context  # tokens; None: what the model allows, at most 8192
    draft_device: str | None = None  # None: the target's
    ignore_memory: bool = parameters.EngineConfig.ignore_memory  # try although the model seems too big
    draft_vocab: int | None = None  # tokens that the draft chooses among; None: as exported, 0: all
    properties: Mapping[str, str] = field(default_factory=dict)  # OpenVINO's, before those that Headstart chooses
    unset: tuple[Unset, ...] = ()  # options here that are only defaults
    remote: Remote | None = None
    engine: EngineKind = parameters.EngineConfig.engine
    kv_precision: KvPrecision = parameters.EngineConfig.kv_precision
    precision: Precision = parameters.EngineConfig.precision  # of the target; a draft's is chosen automatically
    parallel: int = 1  # answers written at the same time


class Phase(StrEnum):
    """The work that is done while a model is loaded."""

    SERVER = "server"  # asking another computer
    RUNTIME = "runtime"  # OpenVINO itself
    PROOF = "proof"  # trying a requested precision in a process of its own
    MODEL = "model"  # reading, checking and compiling the target
    DRAFT = "draft"  # the same for the draft model
    WARM_UP = "warm-up"  # the first passes


class Engine(Protocol):
    """A loaded model that answers requests one at a time."""

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """Yield Prefill and Step events, then one Finish. Setting `cancel` ends the answer within one round.

        Raises ContextOverflowError if the prompt does not fit, and ChatTemplateError if it cannot be rendered.
        """

    def close(self) -> None:
        """Free the model's memory; store what was measured."""


def _require(holds: bool, name: str, allowed: str, value: object) -> None:
    if not holds:
        raise SettingsError("{name} must be {allowed}, not {value}.", name=name, allowed=allowed, value=value)


class Tally:
    """The counts of one answer's events. Its clock starts when it is created."""

    def __init__(self) -> None:
        self._started = self._first = self._last = time.perf_counter()
        self._prefill: Prefill | None = None  # the first one, which has the cached tokens
        self._origins: Counter[str] = Counter()
        self._parts = {"draft": 0.0, "verify": 0.0, "other": 0.0}
        self._rounds: int | None = None
        self._drafted = self._accepted = 0

    def read(self, prefill: Prefill) -> None:
        """Note progress of the prompt."""
        self._prefill = self._prefill or prefill

    def add(self, round_: Round) -> None:
        """Count one round."""
        self._last = time.perf_counter()
        if self._rounds is None:  # the prompt's pass gives the first token and is not a round
            self._first, self._rounds = self._last, 0
        else:
            self._rounds += 1
        self._drafted += round_.drafted
        self._accepted += round_.accepted
        self._origins.update(token.origin.value for token in round_.tokens)
        timing = round_.timing
        for part, ms in (("draft", timing.draft_ms), ("verify", timing.verify_ms), ("other", timing.other_ms)):
            self._parts[part] += ms

    @property
    def written(self) -> int:
        """Tokens so far."""
        return self._origins.total()

    def stats(
        self,
        *,
        plain_ms: float | None,
        ledger_ms: float,
        context_length: int,
        repeats: int = 0,
        thinking_tokens: int = 0,
    ) -> Stats:
        """Return the answer's statistics; the arguments are known to the policy, the runner and the text alone.

        Without guesses the answer would have taken its time plus the time that guessing earned, so the speedup
        and the ledger never disagree. An answer that repeated itself earned nothing.
        """
        ledger_ms = 0.0 if repeats else ledger_ms
        prompt = self._prefill.total if self._prefill else 0
        written = self.written
        decode_ms = (self._last - self._first) * 1000.0
        if plain_ms is not None and self._drafted and written > 1:
            plain_ms = (decode_ms + ledger_ms) / (written - 1)
        return Stats(
            prompt_tokens=prompt,
            reused_tokens=self._prefill.done if self._prefill else 0,
            output_tokens=written,
            rounds=self._rounds or 0,
            drafted=self._drafted,
            accepted=self._accepted,
            ttft_ms=(self._first - self._started) * 1000.0,
            decode_ms=decode_ms,
            by_origin=dict(self._origins),
            by_part=dict(self._parts),
            ledger_ms=ledger_ms,
            plain_ms=plain_ms,
            context_used=min(prompt + written, context_length),  # the last token need not be read
            context_length=context_length,
            repeats=repeats,
            thinking_tokens=thinking_tokens,
        )


def no_stats() -> Stats:
    """Return the statistics of an answer whose engine reports none."""
    return Tally().stats(plain_ms=None, ledger_ms=0.0, context_length=0)
