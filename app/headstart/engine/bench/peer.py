"""OpenVINO GenAI as the peer of a race: the same target, draft and precision, with the lengths it is given."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import FIXED_LENGTHS, Run
from headstart.engine.runtime import openvino, openvino_genai

PEER = "genai"
PEER_PLAIN = f"{PEER} plain"


@dataclass(frozen=True)
class PeerModel:
    """A model folder and the OpenVINO properties that Headstart runs it with."""

    folder: Path
    properties: Mapping[str, str]


@dataclass(frozen=True)
class PeerOptions:
    """What a peer needs to answer as Headstart does. `encode` gives the prompt's tokens: the same for both sides."""

    device: str
    tokens: int  # longest answer
    stop_ids: frozenset[int]
    encode: Callable[[BenchPrompt], list[int]]


@dataclass(frozen=True)
class PeerMode:
    """A GenAI pipeline with one static draft length; None: plain decoding."""

    name: str
    pipeline: Any
    length: int | None
    options: PeerOptions

    def answer(self, prompt: BenchPrompt) -> Run:
        """See Contestant.answer. The times are GenAI's own figures; it neither encodes nor decodes text here."""
        ids = np.array([self.options.encode(prompt)], np.int64)
        tensor = openvino().Tensor
        inputs = openvino_genai().TokenizedInputs(tensor(ids), tensor(np.ones_like(ids)))
        return self._run(self.pipeline.generate(inputs, self._config()), ids.size)

    def _config(self) -> Any:
        # A new configuration: the model's own would bring its sampling and penalties.
        drafting = {} if self.length is None else {"num_assistant_tokens": self.length}
        return openvino_genai().GenerationConfig(
            max_new_tokens=self.options.tokens,
            do_sample=False,
            ignore_eos=False,
            stop_token_ids=set(self.options.stop_ids),
            **drafting,
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


def peer_modes(target: PeerModel, draft: PeerModel | None, options: PeerOptions) -> tuple[PeerMode, ...]:
    """Load the peer: plain, and with a draft each of the fixed lengths. Takes the weights' memory again, twice."""
    plain = PeerMode(PEER_PLAIN, _pipeline(target, None, options.device), None, options)
    if draft is None:
        return (plain,)
    drafting = _pipeline(target, draft, options.device)
    return (plain, *(PeerMode(f"{PEER} {length}", drafting, length, options) for length in FIXED_LENGTHS))


def _pipeline(target: PeerModel, draft: PeerModel | None, device: str) -> Any:
    genai = openvino_genai()
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = False  # every answer of the race starts from a cold cache
    scheduler.max_num_batched_tokens = 2**31 - 1  # read a prompt at once, as GenAI's own default for one user does
    properties: dict[str, Any] = dict(target.properties)
    if draft is not None:
        properties["draft_model"] = genai.draft_model(str(draft.folder), device, **draft.properties)
    return genai.LLMPipeline(str(target.folder), device, scheduler_config=scheduler, **properties)
