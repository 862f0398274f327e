"""From a request of the engine to the body of /chat/completions. Pure; knows no answer."""

from collections.abc import Mapping
from typing import Any

from headstart.engine.engine import Mode, Request, Speculation

Body = dict[str, Any]
# What OpenAI's own service lacks, with the value that changes nothing. Sent all the same where it is accepted: servers
# have other defaults (a model's own repetition penalty, the forty likeliest tokens) that nobody asked for.
_NEUTRAL: Mapping[str, Any] = {
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "repeat_penalty": 1.0,
    "stream_options": {"include_usage": True},  # without it the figures are less exact, the answer is the same
}


def body(request: Request, model: str) -> Body:
    """The order for one answer, to be streamed."""
    sampling = request.sampling
    made: Body = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_new_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "seed": sampling.seed,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repetition_penalty": sampling.repetition_penalty,
        "repeat_penalty": sampling.repetition_penalty,  # llama.cpp's name for it
    }
    if request.stop:
        made["stop"] = list(request.stop)
    if request.messages[-1].role == "assistant":  # vLLM's way to have an answer written on; llama.cpp needs none
        made |= {"continue_final_message": True, "add_generation_prompt": False}
    return made | _speculation(request.speculation)


def leaner(asked: Body) -> Body:
    """Without what a strict server may not know, where leaving it out asks for the same."""
    return {name: value for name, value in asked.items() if name not in _NEUTRAL or value != _NEUTRAL[name]}


def _speculation(wanted: Speculation) -> Body:
    """What a person fixed, by the names of OpenVINO Model Server; others have nothing to set for one answer."""
    if wanted.mode is Mode.OFF:
        return {}
    fixed = {
        "num_assistant_tokens": wanted.num_assistant_tokens,
        "assistant_confidence_threshold": wanted.assistant_confidence_threshold,
    }
    return {name: value for name, value in fixed.items() if value is not None}
