"""OpenVINO GenAI as a peer in a race, and the interface of peers."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Contestant, TimedAnswer
from headstart.engine.hardware.runtime import openvino, openvino_genai
from headstart.errors import PeerError
from headstart.library.manifest import read_model


@dataclass(frozen=True)
class PeerOptions:
    """The conditions of a race for peers. `encode` gives the prompt's tokens, the same for all."""

    device: str
    tokens: int  # longest answer
    stop_ids: frozenset[int]
    encode: Callable[[BenchPrompt], list[int]]
    context: int  # tokens of room


class PeerSource(Protocol):
    """One other program, not yet started."""

    @property
    def words(self) -> str:
        """The peer's name in a sentence, as in "loading ..."."""

    def open(self, options: PeerOptions) -> AbstractContextManager[Sequence[Contestant]]:
        """Context manager with the contestants, their models loaded. Raises PeerError if the peer cannot race."""


@dataclass(frozen=True)
class Peer:
    """One contestant of another program. `write` continues the prompt's tokens."""

    name: str
    encode: Callable[[BenchPrompt], list[int]]
    write: Callable[[list[int]], TimedAnswer]

    def answer(self, prompt: BenchPrompt) -> TimedAnswer:
        """Generate the answer, and return its figures."""
        return self.write(self.encode(prompt))


@dataclass(frozen=True)
class GenaiModel:
    """A model folder and the OpenVINO properties that Headstart runs it with."""

    folder: Path
    properties: Mapping[str, str]


@dataclass(frozen=True)
class GenaiSource:
    """OpenVINO GenAI. Plain decoding and drafting take the memory of the weights once each."""

    target: GenaiModel
    draft: GenaiModel | None
    lengths: Sequence[int] = (3, 5)
    words: str = "OpenVINO GenAI with the same models"

    @contextmanager
    def open(self, options: PeerOptions) -> Iterator[Sequence[Peer]]:
        """Load the models; the memory is freed with the last contestant."""
        if read_model(self.target.folder).precision.keeps_blocks:
            raise PeerError("OpenVINO GenAI is left out: it cannot read the blocks of a GGUF file.")
        modes = [genai_mode("plain", genai_pipeline(self.target, options), options)]
        if self.draft is not None:
            pipeline = genai_pipeline(self.target, options, draft_model=genai_draft(self.draft, options))
            modes += [genai_mode(f"{n}", pipeline, options, num_assistant_tokens=n) for n in self.lengths]
        yield modes


def genai_mode(name: str, pipeline: Any, options: PeerOptions, **guessing: object) -> Peer:
    """Return a contestant; `guessing` are fields of GenAI's `GenerationConfig`."""
    return Peer(f"genai {name}", options.encode, partial(genai_answer, pipeline, options, guessing))


def genai_draft(model: GenaiModel, options: PeerOptions) -> Any:
    """Return the draft model for a pipeline."""
    return openvino_genai().draft_model(str(model.folder), options.device, **model.properties)


def genai_pipeline(target: GenaiModel, options: PeerOptions, kept_blocks: int = 0, **more: object) -> Any:
    """Load a pipeline that keeps `kept_blocks` of earlier texts; with 0 every answer starts from a cold cache."""
    genai = openvino_genai()
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = kept_blocks > 0
    scheduler.num_kv_blocks = kept_blocks
    scheduler.max_num_batched_tokens = 2**31 - 1  # read a prompt at once, as GenAI's own default for one user does
    properties = {**target.properties, **more}
    return genai.LLMPipeline(str(target.folder), options.device, scheduler_config=scheduler, **properties)


def genai_answer(pipeline: Any, options: PeerOptions, guessing: Mapping[str, object], ids: list[int]) -> TimedAnswer:
    """Answer the prompt `ids`, timed by GenAI's own figures, which hold no encoding and decoding of text."""
    # A new configuration: the model's own would bring its sampling and penalties.
    config = openvino_genai().GenerationConfig(
        max_new_tokens=options.tokens,
        do_sample=False,
        ignore_eos=False,
        stop_token_ids=set(options.stop_ids),
        **guessing,
    )
    prompt = np.array([ids], np.int64)
    tensor = openvino().Tensor
    result = pipeline.generate(openvino_genai().TokenizedInputs(tensor(prompt), tensor(np.ones_like(prompt))), config)
    metrics, extended = result.perf_metrics, result.extended_perf_metrics
    ttft = metrics.get_ttft().mean
    return TimedAnswer(
        tokens=tuple(itertools.takewhile(lambda token: token not in options.stop_ids, result.tokens[0])),
        ttft_ms=ttft,
        decode_ms=metrics.get_generate_duration().mean - ttft,
        prompt_tokens=len(ids),
        drafted=extended.get_num_draft_tokens() if extended else 0,
        accepted=extended.get_num_accepted_tokens() if extended else 0,
    )
