"""OpenVINO GenAI as the peer of a race: the same target, draft and precision, with the settings it is given."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine.bench.peers import PeerOptions
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Run
from headstart.engine.runtime import openvino, openvino_genai

PEER = "genai"
PEER_PLAIN = f"{PEER} plain"
USUAL_LENGTHS = (3, 5)
_NGRAM_SIZE = 3  # of prompt lookup, as in GenAI's own sample


@dataclass(frozen=True)
class PeerModel:
    """A model folder and the OpenVINO properties that Headstart runs it with."""

    folder: Path
    properties: Mapping[str, str]


@dataclass(frozen=True)
class Sweep:
    """The static settings to try. Prompt lookup loads the target once more, and needs no draft."""

    lengths: Sequence[int] = USUAL_LENGTHS
    thresholds: Sequence[float] = ()
    lookups: Sequence[int] = ()


@dataclass(frozen=True)
class PeerMode:
    """A GenAI pipeline with one static setting of how to guess."""

    name: str
    pipeline: Any
    options: PeerOptions
    guessing: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, prompt: BenchPrompt) -> Run:
        """See Contestant.answer. The times are GenAI's own figures; it neither encodes nor decodes text here."""
        ids = np.array([self.options.encode(prompt)], np.int64)
        tensor = openvino().Tensor
        inputs = openvino_genai().TokenizedInputs(tensor(ids), tensor(np.ones_like(ids)))
        return self._run(self.pipeline.generate(inputs, self._config()), ids.size)

    def _config(self) -> Any:
        # A new configuration: the model's own would bring its sampling and penalties.
        return openvino_genai().GenerationConfig(
            max_new_tokens=self.options.tokens,
            do_sample=False,
            ignore_eos=False,
            stop_token_ids=set(self.options.stop_ids),
            **self.guessing,
        )

    def _run(self, result: Any, prompt_tokens: int) -> Run:
        metrics, extended = result.perf_metrics, result.extended_perf_metrics
        ttft = metrics.get_ttft().mean
        return Run(
            tokens=tuple(itertools.takewhile(lambda token: token not in self.options.stop_ids, result.tokens[0])),
            ttft_ms=ttft,
            decode_ms=metrics.get_generate_duration().mean - ttft,
            prompt_tokens=prompt_tokens,
            drafted=extended.get_num_draft_tokens() if extended else 0,
            accepted=extended.get_num_accepted_tokens() if extended else 0,
        )


@dataclass
class GenaiSource:
    """Takes the weights' memory again for plain decoding, for drafting, and for prompt lookup."""

    target: PeerModel
    draft: PeerModel | None
    sweep: Sweep = field(default_factory=Sweep)
    words: str = "OpenVINO GenAI with the same models"

    def open(self, options: PeerOptions) -> Sequence[PeerMode]:
        """See PeerSource.open."""
        return tuple(self._modes(options))

    def close(self) -> None:
        """Its memory goes with the last of its modes."""

    def _modes(self, options: PeerOptions) -> Iterator[PeerMode]:
        yield PeerMode(PEER_PLAIN, _pipeline(self.target, options.device), options)
        if self.draft is not None:
            yield from self._drafting(self.draft, options)
        if self.sweep.lookups:
            pipeline = _pipeline(self.target, options.device, prompt_lookup=True)
            for length in self.sweep.lookups:
                guessing = {"num_assistant_tokens": length, "max_ngram_size": _NGRAM_SIZE}
                yield PeerMode(f"{PEER} lookup {length}", pipeline, options, guessing)

    def _drafting(self, draft: PeerModel, options: PeerOptions) -> Iterator[PeerMode]:
        drafting = openvino_genai().draft_model(str(draft.folder), options.device, **draft.properties)
        pipeline = _pipeline(self.target, options.device, draft_model=drafting)
        for length in self.sweep.lengths:
            yield PeerMode(f"{PEER} {length}", pipeline, options, {"num_assistant_tokens": length})
        for threshold in self.sweep.thresholds:
            # WORKAROUND openvino-genai 2026.4.1: greedily a threshold works only where log-probabilities are asked
            # for. It then has no bound, and is refused beside a length.
            guessing = {"assistant_confidence_threshold": threshold, "logprobs": 1}
            yield PeerMode(f"{PEER} threshold {threshold}", pipeline, options, guessing)


def _pipeline(target: PeerModel, device: str, **more: Any) -> Any:
    genai = openvino_genai()
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = False  # every answer of the race starts from a cold cache
    scheduler.max_num_batched_tokens = 2**31 - 1  # read a prompt at once, as GenAI's own default for one user does
    return genai.LLMPipeline(str(target.folder), device, scheduler_config=scheduler, **target.properties, **more)
