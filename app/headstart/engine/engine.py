"""The engine protocol and the values that cross it."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from headstart import parameters
from headstart.engine.cancelling import CancelEvent
from headstart.errors import SettingsError, Translatable

Drafter = parameters.Drafter
EngineKind = parameters.EngineKind
KvPrecision = parameters.KvPrecision
Mode = parameters.Mode
Precision = parameters.Precision
Sampling = parameters.SamplingParams
Speculation = parameters.SpeculationParams

MOST_LIKELIEST = 20  # as OpenAI has it


class FinishReason(StrEnum):
    """Why an answer ended. Stopping is a reason, not an error."""

    STOP = "stop"  # a stop id or a stop string
    LENGTH = "length"  # max_new_tokens reached
    CONTEXT = "context"  # the context is full
    REPETITION = "repetition"  # the answer said the same again and again
    CONTENT_FILTER = "content_filter"  # another computer's filter withholds the rest
    CANCELLED = "cancelled"


class Origin(StrEnum):
    """Who proposed a token that the target then confirmed."""

    TARGET = "target"  # the target's own: plain step, recovered or bonus token
    DRAFT = "draft"
    EAGLE = "eagle"  # a head, of EAGLE-3 or Hydra
    NGRAM = "n-gram"
    TABLE = "table"  # the table of what the model usually writes
    UNKNOWN = "unknown"  # the engine or another program chose it and does not say how


@dataclass(frozen=True)
class Call:
    """A call of a tool; `arguments` is a JSON object."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One turn of a conversation; `role` is "system", "user", "assistant" or "tool", whose content is a result."""

    role: str
    content: str
    calls: tuple[Call, ...] = ()  # of an assistant


@dataclass(frozen=True)
class Tool:
    """What an answer may call; `parameters` is the JSON schema of its arguments.

    `strict`: a schema that cannot be kept to in every part is refused; else that part is left to the model.
    """

    name: str
    parameters: str
    description: str = ""
    strict: bool = False


@dataclass(frozen=True)
class Tools:
    """What an answer may call, and how.

    `required`: it must call. `only`: the tool that it must call. `parallel`: it may call more than once.
    `hidden`: the prompt does not show them, so that the answer is words like those without tools; it may still call.
    """

    offered: tuple[Tool, ...]
    required: bool = False
    only: str = ""
    parallel: bool = False
    hidden: bool = False

    @property
    def callable(self) -> tuple[Tool, ...]:
        """Those that the answer may call."""
        return tuple(tool for tool in self.offered if self.only in {"", tool.name})


# The format of calls in the text of an answer, that of Hermes: each model that knows tools is held to it.
CALL_BEGINS, CALL_ENDS = "<tool_call>", "</tool_call>"


def call_head(name: str) -> str:
    """What stands before the arguments of a call; one more brace ends it."""
    return f'{{"name": {json.dumps(name)}, "arguments": '


def written_call(call: Call) -> str:
    """A call as an answer has it."""
    arguments = json.dumps(json.loads(call.arguments), ensure_ascii=False)
    return f"{CALL_BEGINS}\n{call_head(call.name)}{arguments}}}\n{CALL_ENDS}"


@dataclass(frozen=True)
class Keep:
    """What a model reads of a chat is kept on disk, in a folder of this name; `most_bytes`: of all chats together.

    `key`: 64 bytes in hexadecimal digits that it is sealed with, in no text made of this; empty: it is not sealed.
    `learns`: whether the answer teaches the model what to guess in later ones.
    """

    chat: str
    most_bytes: int
    key: str = field(default="", repr=False)
    learns: bool = False

    def __post_init__(self) -> None:
        """Refuse a name that leads to another folder."""
        _require(re.fullmatch(r"[\w-]+", self.chat) is not None, "chat", "letters, digits, - and _", self.chat)


@dataclass(frozen=True)
class Request:
    """One answer asked for.

    `messages` go through the model's chat template; special tokens inside their contents are plain text. An answer as
    the last message is written on from where it ends.
    `stop` are stop strings: the answer ends before the first one that appears.
    `prompt` takes the place of messages: a text to be written on as it is, in which special tokens count as such.
    `prompt_ids` are its tokens, in its place. `suffix` follows the answer, which fills the gap before it.
    `prediction` is what much of the answer may look like: guesses are taken from it, and the answer stays the same.
    `schema` is a JSON schema that the answer keeps to; `grammar` a grammar in Lark's notation, in its place.
    `tools` are what the answer may call: it is a text, or calls in the format that begins with CALL_BEGINS, or both.
    `add_special`: what the model expects before any text is put before `prompt`.
    `echo`: `prompt` or `prompt_ids` come as the text of the first Step, with the likelihood of their tokens where that
    is asked for; the prompt is then read anew.
    `tokens_only`: nothing is read or written; the prompt comes as the text of a Step, and its tokens with the Finish.
    `bias` is added to the logits of tokens, by id, before all else that changes them.
    `likeliest` asks how likely each token was, and for so many of the likeliest in its place; None: not asked.
    `stop_on_repetition` ends an answer that says the same again and again; False lets it go on.
    `max_new_tokens` 0: the prompt is read and nothing is written, so that what begins like it begins at once.
    `keep`: where what is read may be kept on disk; None: nowhere.
    `inputs` are texts, or their tokens, to be turned into vectors, in place of all else.
    """

    messages: tuple[Message, ...]
    max_new_tokens: int = parameters.AnswerParams.max_new_tokens
    sampling: Sampling = field(default_factory=Sampling)
    speculation: Speculation = field(default_factory=Speculation)
    stop: tuple[str, ...] = parameters.AnswerParams.stop
    prompt: str = ""
    prediction: str = ""
    schema: str = ""
    grammar: str = ""
    tools: Tools | None = None
    likeliest: int | None = None
    stop_on_repetition: bool = parameters.AnswerParams.stop_on_repetition
    keep: Keep | None = None
    prompt_ids: tuple[int, ...] = ()
    suffix: str = ""
    bias: Mapping[int, float] = field(default_factory=dict)
    add_special: bool = True
    tokens_only: bool = False
    echo: bool = False
    inputs: tuple[str | tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no engine could answer."""
        _require(bool(self.messages or self.inputs) or self.is_text, "messages", "at least one", len(self.messages))
        _require(not (self.messages and self.is_text), "prompt", "alone, without messages", "beside messages")
        _require(self.max_new_tokens >= 0, "max-new-tokens", "0 or more", self.max_new_tokens)
        _require(all(self.stop), "stop", "not empty", "an empty string")
        likeliest = self.likeliest or 0
        _require(0 <= likeliest <= MOST_LIKELIEST, "likeliest", f"between 0 and {MOST_LIKELIEST}", likeliest)

    @property
    def is_text(self) -> bool:
        """Whether a text is to be written on, and no conversation."""
        return bool(self.prompt or self.prompt_ids or self.suffix)

    @property
    def is_bound(self) -> bool:
        """Whether the answer has to have a form."""
        return bool(self.schema or self.grammar or self.tools)


@dataclass(frozen=True)
class Token:
    """One emitted token and who proposed it."""

    id: int
    origin: Origin


@dataclass(frozen=True)
class Timing:
    """Milliseconds of one round by part."""

    draft_ms: float = 0.0
    verify_ms: float = 0.0
    other_ms: float = 0.0

    @property
    def total_ms(self) -> float:
        """All parts together."""
        return self.draft_ms + self.verify_ms + self.other_ms


@dataclass(frozen=True)
class Prefill:
    """Progress while the prompt is read: `done` of `total` prompt tokens are in the cache.

    `note`: why what was read already is read again, as a sentence.
    """

    done: int
    total: int
    note: Translatable = field(default_factory=Translatable)


@dataclass(frozen=True)
class Round:
    """One draft / verify round in tokens: `accepted` of `drafted` candidates held, plus the target's own token.

    `tokens` may be shorter than `accepted + 1` where the answer ended inside the run. `ledger_ms` is that of Stats so
    far; None where the engine does not compute it.
    """

    tokens: tuple[Token, ...]
    drafted: int
    accepted: int
    drafter: Origin  # TARGET when nothing was drafted
    timing: Timing
    ledger_ms: float | None = None


@dataclass(frozen=True)
class Piece:
    """A stretch of shown text and who proposed the token that completed it."""

    text: str
    origin: Origin


@dataclass(frozen=True)
class Likelihood:
    """A token in bytes, and the natural logarithm of its probability; NaN for the first token of a prompt."""

    spelling: tuple[int, ...]
    logprob: float


@dataclass(frozen=True)
class Scored:
    """A token of the answer with the likeliest ones in its place, by falling probability."""

    token: Likelihood
    start: int  # characters of the answer before its own
    likeliest: tuple[Likelihood, ...] = ()


@dataclass(frozen=True)
class Step:
    """A round with the text that it made certain (whole characters only; may be empty).

    `pieces` is the same text cut by origin: joined they are `text`. `scored` are the tokens that are certain since the
    last step, where a request asks for their likelihood; those of a stop string never are.
    """

    text: str
    round: Round
    pieces: tuple[Piece, ...] = ()
    scored: tuple[Scored, ...] = ()


@dataclass(frozen=True)
class Stats:
    """What an answer cost and what speculation gave. Times are milliseconds; rates are None without data."""

    prompt_tokens: int
    reused_tokens: int  # prompt tokens whose keys and values were still in the cache
    output_tokens: int
    rounds: int  # after the first token, which comes with the prompt's own pass
    drafted: int
    accepted: int
    ttft_ms: float  # time to first token, prefill included
    decode_ms: float  # from the first token to the last
    by_origin: Mapping[str, int]  # emitted tokens by Origin value
    by_part: Mapping[str, float]  # decode milliseconds by part: draft, verify, other
    ledger_ms: float  # earned against plain decoding as the policy reckons it (negative: lost)
    plain_ms: float | None  # a token of this answer without guesses, as the policy reckons it
    context_used: int
    context_length: int
    repeats: int = 0  # how often some of its text stood there in a row; 0: it did not repeat itself

    @property
    def tpot_ms(self) -> float | None:
        """Time per output token after the first."""
        return self.decode_ms / (self.output_tokens - 1) if self.output_tokens > 1 else None

    @property
    def tokens_per_second(self) -> float | None:
        """Decoding speed after the first token."""
        return 1000.0 / self.tpot_ms if self.tpot_ms else None

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / verified candidates."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def mean_accepted_length(self) -> float | None:
        """Tokens per round, the target's own token included."""
        return (self.output_tokens - 1) / self.rounds if self.rounds else None

    @property
    def speedup(self) -> float | None:
        """Plain ms per token, as measured by this engine on this machine, over the ms per token of this answer.

        None where the answer repeated itself: to be fast at that is no gain.
        """
        return self.plain_ms / self.tpot_ms if self.plain_ms and self.tpot_ms and not self.repeats else None


@dataclass(frozen=True)
class Finish:
    """The last event of an answer.

    `token_ids` are the answer's tokens; after a stop string the fewest that cover the text before it.
    `vectors`: those of a request's `inputs`, as 32-bit floats, the lowest byte first.
    """

    reason: FinishReason
    stats: Stats
    token_ids: tuple[int, ...]
    vectors: tuple[bytes, ...] = ()


Event = Prefill | Step | Finish


USUAL_DEVICE = "CPU"


class Unset(StrEnum):
    """What a person left open at loading, so that what tuning found for this machine decides it."""

    DRAFT = "draft"
    DEVICE = "device"
    DRAFT_DEVICE = "draft device"
    PROPERTIES = "properties"  # precision, threads


@dataclass(frozen=True)
class Remote:
    """A model of a server on another computer that speaks OpenAI's protocol. Its key is kept elsewhere, by `name`."""

    name: str
    url: str  # of the API: what "/chat/completions" is appended to
    model: str | None = None  # by the server's name for it; None: the only one that it has
    certificate: Path | None = None  # of an authority to be trusted besides those that the system trusts

    @property
    def label(self) -> str:
        """What people call it: the server, and the model where one was named."""
        return f"{self.name}/{self.model}" if self.model else self.name


@dataclass(frozen=True)
class LoadOptions:
    """What is decided when a model is loaded. `context` is in tokens; None: what the model allows, at most 8192.

    `draft_device`: where the draft runs, if not beside the target. `ignore_memory`: try although it seems too big.
    `draft_vocab`: how many tokens of its list a draft guesses among; None: as it was exported, 0: all there are.
    `properties` and `draft_properties`: of OpenVINO, before those that Headstart chooses.
    `open`: those of these that are only defaults. With `remote` all else is ignored, and `target` is only a name.
    """

    target: Path  # model folder
    draft: Path | None = None  # model folder with the same vocabulary
    device: str = USUAL_DEVICE
    context: int | None = parameters.EngineConfig.context
    draft_device: str | None = None
    ignore_memory: bool = parameters.EngineConfig.ignore_memory
    draft_vocab: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    draft_properties: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[Unset, ...] = ()
    remote: Remote | None = None
    engine: EngineKind = parameters.EngineConfig.engine
    kv_precision: KvPrecision = parameters.EngineConfig.kv_precision
    precision: Precision = parameters.EngineConfig.precision  # of the target; a draft's is found by itself
    parallel: int = 1  # answers written at the same time


class Phase(StrEnum):
    """What takes the time while a model is being loaded."""

    SERVER = "server"  # asking another computer
    RUNTIME = "runtime"  # OpenVINO itself
    PROOF = "proof"  # trying a precision that was asked for, in a process of its own
    MODEL = "model"  # reading, checking and compiling the target
    DRAFT = "draft"  # the same for the draft model
    WARM_UP = "warm-up"  # the first passes


class Engine(Protocol):
    """A loaded model that answers requests one at a time."""

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """Yield Prefill and Step events, then one Finish. Setting `cancel` ends the answer within one round.

        Raises ContextOverflowError when the prompt does not fit, ChatTemplateError when it cannot be rendered.
        """
        ...

    def close(self) -> None:
        """Free the model's memory; persist what was measured."""
        ...


def _require(holds: bool, name: str, allowed: str, value: object) -> None:
    if not holds:
        raise SettingsError("{name} must be {allowed}, not {value}.", name=name, allowed=allowed, value=value)


class Tally:
    """Started when the request comes in; fed with every event of the token layer."""

    def __init__(self) -> None:
        """The clock of the time to first token starts here."""
        self._started = self._first = self._last = time.perf_counter()
        self._prefill: Prefill | None = None  # the first: what the cache already held
        self._origins: Counter[str] = Counter()
        self._parts = {"draft": 0.0, "verify": 0.0, "other": 0.0}
        self._rounds: int | None = None
        self._drafted = self._accepted = 0

    def read(self, prefill: Prefill) -> None:
        """Note progress of the prompt."""
        self._prefill = self._prefill or prefill

    def add(self, done: Round) -> None:
        """Count one round."""
        self._last = time.perf_counter()
        if self._rounds is None:  # the prompt's own pass gave the first token; that is no round
            self._first, self._rounds = self._last, 0
        else:
            self._rounds += 1
        self._drafted += done.drafted
        self._accepted += done.accepted
        self._origins.update(token.origin.value for token in done.tokens)
        timing = done.timing
        for part, ms in (("draft", timing.draft_ms), ("verify", timing.verify_ms), ("other", timing.other_ms)):
            self._parts[part] += ms

    @property
    def written(self) -> int:
        """Tokens so far."""
        return self._origins.total()

    def stats(self, *, plain_ms: float | None, ledger_ms: float, context_length: int, repeats: int = 0) -> Stats:
        """The answer's statistics; the arguments are what only the policy, the runner and the text know.

        Without guesses the answer would have taken what it took and what guessing earned; so the speedup and the
        ledger never disagree. No time counts as earned on an answer that repeated itself.
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
        )


def joined(stats: Stats, earlier: Mapping[str, object]) -> Stats:
    """Of an answer in parts: all of them counted together; `earlier` has the figures before the last part by name.

    The first token of a later part came with its prompt, so its time is missing.
    """
    if not earlier:
        return stats
    counts = ("output_tokens", "rounds", "drafted", "accepted", "decode_ms", "ledger_ms")
    sums: dict[str, Any] = {name: getattr(stats, name) + (number(earlier, name) or 0) for name in counts}
    for name in ("by_origin", "by_part"):
        before, found = earlier.get(name), getattr(stats, name)
        before = before if isinstance(before, Mapping) else {}
        sums[name] = {part: before.get(part, 0) + found.get(part, 0) for part in (*before, *found)}
    plain_ms = stats.plain_ms or number(earlier, "plain_ms")
    if plain_ms and sums["drafted"] and sums["output_tokens"] > 1:  # see Tally.stats
        plain_ms = (sums["decode_ms"] + sums["ledger_ms"]) / (sums["output_tokens"] - 1)
    return replace(stats, ttft_ms=number(earlier, "ttft_ms") or stats.ttft_ms, plain_ms=plain_ms, **sums)


def number(kept: Mapping[str, object], name: str) -> int | float | None:
    """One of the figures that are kept of an answer; None if it is missing, or no number."""
    value = kept.get(name)
    return value if isinstance(value, int | float) else None


def nothing() -> Stats:
    """The statistics of an answer whose engine reports none."""
    return Tally().stats(plain_ms=None, ledger_ms=0.0, context_length=0)
