"""One answer, from its request to its last event: prompt, tokens, text, thinking, log-probabilities and statistics."""

import bisect
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

import numpy as np

from headstart.engine import sequence
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Finish,
    FinishReason,
    GenerationRequest,
    Likelihood,
    Origin,
    Piece,
    Prefill,
    PromptRequest,
    Round,
    Sampling,
    Scored,
    Step,
    Tally,
    Timing,
    Token,
    no_stats,
)
from headstart.engine.sampling import Constraint, Row, largest
from headstart.engine.text import generation_config, grammar
from headstart.engine.text.detokenizer import MIN_THOUGHT_REPEATS, Detokenizer, Repetition, StopStrings, TokenTexts
from headstart.engine.text.grammar import TokenBytes
from headstart.engine.text.thinking import ThinkingConstraint, ThinkingReader
from headstart.engine.text.tokenizer import Tokenizer
from headstart.engine.text.tool_formats.rewriter import Rewriter
from headstart.errors import SettingsError
from headstart.library.manifest import Manifest

_NOTHING_RUN = Round((), 0, 0, Origin.TARGET, Timing())


@dataclass(frozen=True)
class ModelText:
    """A model's tokenizer, stop tokens and sampling defaults."""

    tokenizer: Tokenizer
    token_bytes: TokenBytes
    stop_ids: frozenset[int]
    sampling: Sampling  # that its authors recommend

    @classmethod
    def read(cls, tokenizer: Tokenizer, model: Manifest, vocabulary: int) -> "ModelText":
        """Read the model's folder. `vocabulary`: the number of tokens that the model scores."""
        stop_ids = model.tokenizer.stop_ids
        token_bytes = TokenBytes(tokenizer.folder, vocabulary, stop_ids)
        return cls(tokenizer, token_bytes, frozenset(stop_ids), generation_config.read(tokenizer.folder))


class AnswerWriter:
    """The writer of one answer: `sequence` holds its tokens, `take` turns decoded rounds into events."""

    def __init__(self, request: GenerationRequest, model: ModelText, context: int) -> None:
        """Read the prompt. `context`: the most tokens of prompt and answer. Raises what `prompt_of` raises."""
        self._tally = Tally()
        self._request = request
        self._model = model
        self._context = context
        self.sampling = request.sampling.settled(model.sampling)
        self.prompt = tuple(model.tokenizer.prompt_of(request, sys.maxsize if request.tokens_only else context))
        self._text = AnswerText.of(request, model.tokenizer, self.prompt)
        self._is_echoed = not (isinstance(request, PromptRequest) and request.echo)
        self._scorer = self._prompt_scorer = None
        if request.top_logprobs is not None:
            self._scorer = Scorer(model.token_bytes.decode, request.top_logprobs)
            self._prompt_scorer = None if self._is_echoed else Scorer(model.token_bytes.decode, request.top_logprobs)
        self._written: list[int] = []
        self._reason = FinishReason.STOP  # unless the decoder or the text gives another one

    @property
    def stop_ids(self) -> frozenset[int]:
        """The tokens that end the answer."""
        fills_gap = isinstance(self._request, PromptRequest) and self._request.suffix
        return self._model.stop_ids | (self._model.tokenizer.infill_ends if fills_gap else frozenset())

    def sequence(self, cancel: CancelEvent) -> sequence.Sequence:
        """Return the answer so far in tokens, to be decoded further. Raises SettingsError."""
        request, last = self._request, max(self._request.sampling.logit_bias, default=0)
        if last >= self._model.token_bytes.width:
            raise SettingsError("The model has no token {id}: leave out its bias.", id=last)
        if self._prompt_scorer:
            self._prompt_scorer.clear()
        return sequence.Sequence(
            self.prompt,
            request.max_new_tokens,
            self.stop_ids,
            self.sampling,
            request.speculation,
            self._context,
            tuple(self._model.tokenizer.encode(request.prediction)),
            self._constraint(),
            self._scorer.note if self._scorer else None,
            tuple(self._written),
            request.keep,
            self._prompt_scorer.note if self._prompt_scorer and not self._written else None,
            cancel,
        )

    def take(self, event: Prefill | Round | FinishReason) -> Iterator[Prefill | Step]:
        """Yield the events for progress of the prompt, for a round, or for the end of decoding."""
        if not self._is_echoed and not isinstance(event, Prefill):
            self._is_echoed = True
            yield self._echo()
        match event:
            case Prefill():
                self._tally.read(event)
                yield event
            case Round():
                self._written += [token.id for token in event.tokens]
                step = self._step(event)
                self._tally.add(step.round)
                yield step
            case FinishReason():
                self._reason = event

    @property
    def is_ended(self) -> bool:
        """True if a stop string, a repetition or a call has ended the text."""
        return self._text.ended is not None

    @property
    def num_written(self) -> int:
        """Tokens so far."""
        return self._tally.written

    def rest(self) -> Iterator[Step]:
        """Yield a last step with the text that was held back as a possible stop string, if there is any."""
        thinking, rest = self._text.finish()
        scored = self._scorer.new_scores(self._text, ended=True) if self._scorer else ()
        pieces = (Piece(thinking, Origin.TARGET, is_thinking=True), Piece(rest, Origin.TARGET))
        if thinking or rest or scored:
            yield Step(rest, _NOTHING_RUN, tuple(piece for piece in pieces if piece.text), scored)

    def finish(self, plain_ms: float | None, ledger_ms: float) -> Finish:
        """Return the end of the answer. The policy knows the arguments; see Stats."""
        text = self._text
        stats = self._tally.stats(
            plain_ms=plain_ms,
            ledger_ms=ledger_ms,
            context_length=self._context,
            repeats=text.repeats,
            thinking_tokens=text.thinking_tokens,
        )
        return Finish(text.ended or self._reason, stats, text.token_ids, stop_text=text.stop_text)

    def tokens_alone(self) -> Iterator[Step | Finish]:
        """Yield the events of a request that only asks for tokens: the prompt as text, then its tokens."""
        yield Step(self._model.tokenizer.decode(self.prompt, keep_special=True), _NOTHING_RUN)
        yield Finish(FinishReason.STOP, replace(no_stats(), context_length=self._context), self.prompt)

    def _constraint(self) -> Constraint | None:
        """Return the constraint of the answer and of the thinking before it, if there is one."""
        request, model = self._request, self._model
        if isinstance(request, PromptRequest):
            return grammar.constraint_for(request, None, model.token_bytes)
        tools = None if model.tokenizer.tool_format(request) else request.tools
        constraint, budget = grammar.constraint_for(request, tools, model.token_bytes), request.thinking_budget
        thinking = model.tokenizer.thinking_of(request)
        if thinking is None or (constraint is None and budget is None and not thinking.skip_ids):
            return constraint
        reader = thinking.reader_of(request.messages, self.prompt)
        return ThinkingConstraint(thinking, constraint, model.token_bytes.width, model.stop_ids, reader, budget)

    def _echo(self) -> Step:
        """Return a step that repeats the prompt."""
        detokenizer, scorer = Detokenizer(self._model.tokenizer.texts), self._prompt_scorer
        completed = detokenizer.push(self.prompt)
        given = self._request.prompt if isinstance(self._request, PromptRequest) else ()
        text = given if isinstance(given, str) else "".join(completed) + detokenizer.flush()
        if self._scorer:
            self._scorer.start = len(text)
        return Step(text, _NOTHING_RUN, (), scorer.prompt_scores(self.prompt[0], completed) if scorer else ())

    def _step(self, round_: Round) -> Step:
        """Return the step of a round. A round is cut where the answer ends; its time includes this work."""
        started = time.perf_counter()
        progress = self._text.push([token.id for token in round_.tokens])
        tokens = round_.tokens[: progress.tokens_used]
        pieces = (*_pieces(tokens, progress.thinking, is_thinking=True), *_pieces(tokens, progress.texts))
        spent = (time.perf_counter() - started) * 1000.0
        timing = replace(round_.timing, other_ms=round_.timing.other_ms + spent)
        return Step(
            progress.text,
            replace(round_, tokens=tokens, timing=timing),
            pieces,
            self._scorer.new_scores(self._text) if self._scorer else (),
        )


def _pieces(tokens: Sequence[Token], texts: Sequence[str], *, is_thinking: bool = False) -> Iterator[Piece]:
    """Yield the texts of tokens, joined where they have one origin."""
    for origin, run in groupby(zip(tokens, texts, strict=True), key=lambda pair: pair[0].origin):
        if text := "".join(part for _, part in run):
            yield Piece(text, origin, is_thinking)


@dataclass(frozen=True)
class AddedText:
    """The text that a run of tokens added to an answer."""

    # One text for each token that belongs to the answer; may be empty. Text that was held back as the possible
    # beginning of a stop string comes with the token that released it.
    texts: tuple[str, ...]
    thinking: tuple[str, ...]  # likewise, the text of the section before the answer proper
    stopped: bool  # by a stop string

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def tokens_used(self) -> int:
        """The number of tokens of the run that belong to the answer."""
        return len(self.texts)


class AnswerText:
    """The text of one answer, token by token. Stop ids must not be pushed.

    It ends before a stop string, or after a text was repeated several times in a row. Thinking is not searched for stop
    strings, and it may list and repeat more.
    """

    def __init__(
        self,
        texts: TokenTexts,
        stops: Sequence[str] = (),
        *,
        stop_on_repetition: bool = False,
        reader: ThinkingReader | None = None,
        tools: Sequence[str] = (),
        calls: Rewriter | None = None,
    ) -> None:
        """`reader` separates thinking; None: the model does not think. `tools`: names of tools that may be called.

        `calls` rewrites calls in a format of the model's own; None: the model writes them as Hermes does.
        """
        self.ended: FinishReason | None = None
        self.repeats = 0  # the largest number so far; 0: no repetition
        self._repetition = Repetition()
        self._stop_on_repetition = stop_on_repetition
        self._detokenizer = Detokenizer(texts)
        self._stops = StopStrings(stops, tools=tools)
        self._ids: list[int] = []
        self._lengths: list[int] = []  # certain characters after each token, including those held back or cut
        self._shown = 0  # characters of the answer proper, as the tokens spell it, whose text was returned
        self._calls = calls
        self._rewritten = 0  # characters that left the rewriter, less those that were returned
        self._reader = reader
        self._left_out: int | None = None  # characters before the answer proper; None: it has not begun

    @classmethod
    def of(cls, request: GenerationRequest, tokenizer: Tokenizer, prompt: Sequence[int]) -> "AnswerText":
        """Return the text of the answer to a request whose prompt has these tokens."""
        repetition = request.stop_on_repetition
        if isinstance(request, PromptRequest):
            return cls(tokenizer.texts, request.stop, stop_on_repetition=repetition)
        tools, thinking = None if request.schema else request.tools, tokenizer.thinking_of(request)
        return cls(
            tokenizer.texts,
            request.stop,
            stop_on_repetition=repetition,
            reader=thinking.reader_of(request.messages, prompt) if thinking else None,
            tools=[tool.name for tool in tools.callable] if tools else (),
            calls=tokenizer.own_calls(request),
        )

    @property
    def stopped(self) -> bool:
        """True if a stop string ended the text."""
        return self.ended is FinishReason.STOP

    @property
    def stop_text(self) -> str:
        """The stop string that ended the text, or ""."""
        return self._stops.found

    def push(self, ids: Sequence[int]) -> AddedText:
        """Add a run of tokens. The result is the same for every way to cut an answer into runs."""
        assert self.ended is None
        texts, thinking = [], []
        for token, decoded in zip(ids, self._detokenizer.push(ids), strict=True):
            certain = decoded + (self._calls.marks.get(token, "") if self._calls else "")
            self._ids.append(token)
            self._lengths.append(len(certain) + (self._lengths[-1] if self._lengths else 0))
            self.repeats = max(self.repeats, self._count_repeats(token, certain))
            thought, answer = self._separate(token, certain)
            thinking.append(thought)
            texts.append(self._show(answer))
            if self.repeats and self._stop_on_repetition:
                self.ended = self.ended or FinishReason.REPETITION
            if self.ended:
                break
        return AddedText(tuple(texts), tuple(thinking), self.stopped)

    @property
    def thinking_tokens(self) -> int:
        """The number of tokens before the answer proper."""
        return self._reader.tokens if self._reader else 0

    def finish(self) -> tuple[str, str]:
        """Return the rest of the thinking and of the text, after the last token; empty after a stop string."""
        if self.stopped:
            return "", ""
        # After a repetition the detokenizer may be ahead: leave an incomplete character out.
        thinking, rest = "", "" if self.ended else self._detokenizer.flush()
        if self._reader:
            thinking, rest = self._reader.finish(rest)
        if not self.ended:
            rest = self._show(rest, is_last=True)
            if self.stopped:
                return thinking, rest
        elif self._calls:
            rest += self._calls.push("", is_last=True)
        held = self._stops.flush()
        self._shown += len(held)
        return thinking, rest + held

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The answer's tokens; after a stop string the fewest that cover the text before it."""
        return tuple(self._ids[: self.settled] if self.stopped else self._ids)

    @property
    def settled(self) -> int:
        """The number of tokens that the answer is sure to have: the fewest that cover the text shown."""
        length = (self._left_out or 0) + self._shown
        return bisect.bisect_left(self._lengths, length) + 1 if self._shown else 0

    def start_of(self, place: int) -> int:
        """Return the number of characters that were certain before the token at index `place`."""
        return self._lengths[place - 1] if place else 0

    def _separate(self, token: int, certain: str) -> tuple[str, str]:
        """Return the thinking and the text of the answer proper that a token made certain."""
        if self._reader is None:
            return "", certain
        thinking, answer = self._reader.push(certain, token)
        if answer and self._left_out is None:
            self._left_out = self._lengths[-1] - len(answer)
        return thinking, answer

    def _count_repeats(self, token: int, certain: str) -> int:
        if self._reader is None or self._reader.has_answer:
            return self._repetition.add(token, certain)
        repeats = self._repetition.add(token)  # thoughts may list things
        return repeats if repeats >= MIN_THOUGHT_REPEATS else 0

    def _show(self, certain: str, *, is_last: bool = False) -> str:
        written = self._calls.push(certain, is_last=is_last) if self._calls else certain
        text, stopped = self._stops.push(written)
        has_calls = self._calls is not None and self._calls.is_done and not is_last
        self.ended = FinishReason.STOP if stopped or has_calls else None
        self._rewritten += len(written) - len(text)
        self._shown = self._calls.taken - self._rewritten if self._calls else self._shown + len(text)
        return text


class Scorer:
    """Scores each token by the row of logits that it was chosen from.

    Log-probabilities are the log-softmax of the row as the model gave it: before penalties, temperature, top-k,
    top-p, min-p and any constraint. They do not depend on how a token was guessed or chosen.
    """

    def __init__(self, token_bytes: Callable[[int], bytes], top_logprobs: int) -> None:
        """Score tokens; list the `top_logprobs` likeliest ones beside each."""
        self._token_bytes = token_bytes
        self._top_logprobs = top_logprobs
        self.start = 0  # characters before the answer
        self._noted: list[tuple[Likelihood, tuple[Likelihood, ...]]] = []
        self._scored_count = 0

    def note(self, row: Row, token: int) -> None:
        """Note one more token; `row` is [vocabulary]."""
        peak = float(row.max())
        total = peak + math.log(float(np.exp(row - np.float32(peak)).sum(dtype=np.float64)))

        def likelihood(token: int) -> Likelihood:
            return Likelihood(tuple(self._token_bytes(token)), float(row[token]) - total)

        ids = largest(row, self._top_logprobs).tolist() if self._top_logprobs else []
        self._noted.append((likelihood(token), tuple(map(likelihood, ids))))

    def new_scores(self, text: AnswerText, *, ended: bool = False) -> tuple[Scored, ...]:
        """Return the new tokens of `text` that are certain, or all that are left once it has `ended`."""
        count = len(text.token_ids) if ended else text.settled
        fresh = range(max(self._scored_count, text.thinking_tokens), count)  # of the answer proper
        self._scored_count = max(self._scored_count, count)
        return tuple(Scored(self._noted[at][0], self.start + text.start_of(at), self._noted[at][1]) for at in fresh)

    def clear(self) -> None:
        self._noted.clear()

    def prompt_scores(self, first: int, texts: Sequence[str]) -> tuple[Scored, ...]:
        """Return the tokens of a prompt whose texts are `texts`; nothing scores the `first` one."""
        unknown: tuple[Likelihood, tuple[Likelihood, ...]] = (Likelihood(tuple(self._token_bytes(first)), math.nan), ())
        starts = accumulate(map(len, texts), initial=0)
        return tuple(
            Scored(token, start, top_logprobs)
            for (token, top_logprobs), start in zip([unknown, *self._noted], starts, strict=False)
        )
