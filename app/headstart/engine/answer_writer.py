"""One answer, from its request to its last event: prompt, tokens, text, thinking, log-probabilities and statistics."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from headstart.engine import generation_config, grammar, sequence
from headstart.engine.cancelling import CancelEvent
from headstart.engine.detokenizer import Detokenizer, Scorer
from headstart.engine.engine import (
    Finish,
    FinishReason,
    Origin,
    Piece,
    Prefill,
    Request,
    Round,
    Sampling,
    Step,
    Tally,
    Timing,
    Token,
    no_stats,
)
from headstart.engine.grammar import TokenBytes
from headstart.engine.sampling import Constraint
from headstart.engine.thinking import ThinkingConstraint
from headstart.engine.tokenizer import Tokenizer
from headstart.errors import SettingsError
from headstart.library.manifest import Manifest

_NOTHING_RUN = Round((), 0, 0, Origin.TARGET, Timing())


@dataclass(frozen=True)
class ModelText:
    """The way in which a model reads and writes text."""

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
    """Writes one answer: `sequence` has it in tokens, `take` makes the engine's events of what was decoded."""

    def __init__(self, request: Request, model: ModelText, context: int) -> None:
        """Read the prompt. `context`: the most tokens of prompt and answer. Raises what `prompt_of` raises."""
        self._tally = Tally()
        self._request, self._model, self._context = request, model, context
        tokenizer = model.tokenizer
        self.prompt = tuple(tokenizer.prompt_of(request, sys.maxsize if request.tokens_only else context))
        self._has_own_calls = tokenizer.tool_format(request) is not None
        self._thinking = tokenizer.thinking_of(request)
        self._text = tokenizer.answer_text(request, self.prompt)
        self.stop_ids = model.stop_ids | tokenizer.infill_ends if request.suffix else model.stop_ids
        self.sampling = request.sampling.settled(model.sampling)
        scorers = 0 if request.likeliest is None else 1 + request.echo
        self._scorer, self._prompt_scorer, *_ = (
            *(Scorer(model.token_bytes.decode, request.likeliest or 0) for _ in range(scorers)),
            None,
            None,
        )
        self._is_echoed = not request.echo
        self._written: list[int] = []
        self._reason = FinishReason.STOP  # unless the decoder or the text gives another one

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
        """Yield what is shown of progress, of a round, or of the decoder's end."""
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
        """Yield the events of a request for tokens alone: the prompt as text, then its tokens."""
        yield Step(self._model.tokenizer.decode(self.prompt, keep_special=True), _NOTHING_RUN)
        yield Finish(FinishReason.STOP, replace(no_stats(), context_length=self._context), self.prompt)

    def _constraint(self) -> Constraint | None:
        """Return the constraint of the answer and of the section before it, if there is one."""
        request, thinking, model = self._request, self._thinking, self._model
        tools = None if self._has_own_calls else request.tools
        constraint = grammar.constraint_for(request, tools, model.token_bytes)
        if thinking is None:
            return constraint
        if constraint is None and request.thinking_budget is None and not thinking.skip_ids:
            return None
        return ThinkingConstraint(
            thinking,
            constraint,
            model.token_bytes.width,
            model.stop_ids,
            thinking.reader_of(request.messages, self.prompt),
            request.thinking_budget,
        )

    def _echo(self) -> Step:
        """Return the prompt as a step."""
        detokenizer, scorer = Detokenizer(self._model.tokenizer.texts), self._prompt_scorer
        completed = detokenizer.push(self.prompt)
        text = self._request.prompt or "".join(completed) + detokenizer.flush()
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
