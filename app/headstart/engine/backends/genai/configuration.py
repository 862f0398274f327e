"""GenAI's words for how an answer is chosen and where it ends. Knows no pipeline."""

from collections.abc import Mapping
from typing import Any

from headstart.engine.engine import Sampling
from headstart.engine.runtime import openvino_genai
from headstart.errors import EngineLostError

_ALL = 2**63 - 1


def configuration(sampling: Sampling, tokens: int, stop_ids: frozenset[int], guessing: Mapping[str, int]) -> Any:
    """A new GenerationConfig: the model's own would bring its sampling and penalties."""
    drawing: dict[str, Any] = {"do_sample": False}
    if sampling.temperature > 0.0:
        drawing = {
            "do_sample": True,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k or _ALL,
            "min_p": sampling.min_p,
            "rng_seed": sampling.seed,  # each answer draws from a source of its own
        }
    return openvino_genai().GenerationConfig(
        max_new_tokens=tokens,
        ignore_eos=False,
        stop_token_ids=set(stop_ids),
        repetition_penalty=sampling.repetition_penalty,
        **drawing,
        **guessing,
    )


def lost(error: RuntimeError, remedy: str) -> EngineLostError:
    """What a user reads when GenAI fails in the middle of an answer."""
    return EngineLostError("OpenVINO GenAI failed ({reason}); {remedy}.", reason=reason(error), remedy=remedy)


def reason(error: RuntimeError) -> str:
    """The last line of OpenVINO's several."""
    return str(error).strip().splitlines()[-1].rstrip(".")
