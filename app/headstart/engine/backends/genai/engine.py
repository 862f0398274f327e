"""OpenVINO GenAI as an engine: one answer at a time, guesses as GenAI makes them. Knows nothing of who asks.

Prompts become tokens and tokens text as in Headstart's own engine, so control tokens and stop strings mean the same.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace

from headstart.engine import generation_config
from headstart.engine.backends.genai.answer import Answer
from headstart.engine.backends.genai.configuration import configuration
from headstart.engine.backends.genai.guessing import Abilities, Way, guessing
from headstart.engine.backends.genai.npu import Capacity
from headstart.engine.backends.genai.pipelines import Blueprint
from headstart.engine.backends.genai.writing import Assignment, Batch, Writer
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import EngineKind, Event, Finish, FinishReason, Prefill, Request, Step
from headstart.engine.steps import rest_of
from headstart.engine.text import AnswerText
from headstart.engine.tokenizer import Tokenizer
from headstart.errors import ContextOverflowError, EngineLostError
from headstart.manifest import Manifest


class GenaiEngine:
    """A target, maybe with a draft or an EAGLE-3 head. Another way of guessing than the last builds a new pipeline."""

    kind = EngineKind.GENAI
    reason = ""  # why it is this engine, where nobody asked for it

    def __init__(self, models: tuple[Manifest, ...], made_of: Blueprint, tokenizer: Tokenizer, context: int) -> None:
        """`models`: the target, then the draft. `context`: tokens, at most those that an NPU is compiled for."""
        self.models = models
        self.context = context
        self.tokenizer = tokenizer
        self.sampling = generation_config.read(tokenizer.folder)
        self._made_of = made_of
        self._capacity: Capacity | None = made_of.room
        self._abilities = Abilities(len(models) > 1, models[-1].is_eagle, self._capacity is not None)
        self._stop_ids = frozenset(models[0].tokenizer.stop_ids)
        self._writer: tuple[Way, Writer] | None = None

    def prepare(self) -> None:
        """Build the pipeline that a request without wishes needs. Raises DeviceError."""
        drafting = Way.EAGLE if self._abilities.eagle else Way.DRAFT
        self._writer_for(drafting if self._abilities.draft else Way.PLAIN)

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate. Raises SettingsError for what GenAI does wrong."""
        answer = self.begin(request)
        yield Prefill(0, answer.prompt_tokens)
        with closing(self._batches(answer, cancel or CancelEvent())) as batches:
            for batch in batches:
                step = answer.take(batch)
                if step is not None:
                    yield step
                if answer.text.ended:
                    break
        yield from self.end(answer)

    def close(self) -> None:
        """Free the memory. Closing again does nothing."""
        self._writer = None

    def begin(self, request: Request) -> Answer:
        """An answer of which nothing is written yet. Raises what `generate` raises before the first token."""
        request = replace(request, sampling=request.sampling.settled(self.sampling))
        chosen = guessing(request, self._abilities)
        text = AnswerText(self.tokenizer.decode_many, request.stop, stop_on_repetition=request.stop_on_repetition)
        prompt = self._prompt(request)
        left = self.context - len(prompt) + 1  # the last token need not be read
        most = min(request.max_new_tokens, left)
        limit = FinishReason.CONTEXT if left < request.max_new_tokens else FinishReason.LENGTH
        config = configuration(request.sampling, most, self._stop_ids, chosen.settings)
        return Answer(Assignment(prompt, config), most, limit, chosen, self._stop_ids, text)

    def end(self, answer: Answer) -> Iterator[Step | Finish]:
        """The last events of an answer, once all of it is written."""
        text = answer.text
        yield from rest_of(text)
        stats = answer.tally.stats(plain_ms=None, ledger_ms=0.0, context_length=self.context, repeats=text.repeats)
        yield Finish(text.ended or answer.reason, stats, text.token_ids)

    def _batches(self, answer: Answer, cancel: CancelEvent) -> Generator[Batch, None, None]:
        """A pipeline that failed is not used again: GenAI may go on without guesses and say nothing."""
        writer = self._writer_for(answer.guessing.way)
        answer.rounds_told = writer.rounds_told
        try:
            yield from writer.write(answer.assignment, cancel)
        except EngineLostError:
            self._writer = None
            raise

    def _writer_for(self, way: Way) -> Writer:
        if self._writer is None or self._writer[0] is not way:
            self._writer = None  # the memory of the former one is free before the next takes its own
            self._writer = (way, self._made_of.build(way))
        return self._writer[1]

    def _prompt(self, request: Request) -> tuple[int, ...]:
        prompt = tuple(self.tokenizer.prompt_of(request, self.context))
        if self._capacity is not None and len(prompt) > self._capacity.prompt:
            raise ContextOverflowError(
                "The conversation has {count} tokens, but the NPU was compiled for prompts of at most "
                "{prompt}: start a new chat, shorten the text, or load it with a longer --context.",
                count=len(prompt),
                prompt=self._capacity.prompt,
            )
        return prompt
