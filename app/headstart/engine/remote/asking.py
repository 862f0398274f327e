"""From a request of the engine to the body of /chat/completions. Pure; knows no answer."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from headstart.engine.engine import Mode, Remote, Request, Sampling, Speculation
from headstart.errors import SettingsError

Body = dict[str, Any]
_LENGTH, _CONFIDENCE = "num_assistant_tokens", "assistant_confidence_threshold"
_USUAL_LENGTH = 5  # OpenVINO GenAI's own
_SAMPLING = tuple(each.name for each in fields(Sampling) if each.name != "automatic")  # the others are the server's own
# What OpenAI's own service lacks, with the value that changes nothing. Sent all the same where it is accepted: servers
# have other defaults (a model's own repetition penalty, the forty likeliest tokens) that nobody asked for.
_NEUTRAL: Mapping[str, Any] = {
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "repeat_penalty": 1.0,
    "stream_options": {"include_usage": True},  # without it the figures are less exact, the answer is the same
}


def require_conversation(request: Request, remote: Remote) -> None:
    """Raises SettingsError for what is only asked of models that are here."""
    if request.prompt or request.schema or request.likeliest is not None:
        raise SettingsError(
            f"{remote.name} is only asked to answer conversations: for a text to be written on, a JSON schema or "
            "logprobs choose a model of this computer."
        )


def body(request: Request, model: str) -> Body:
    """The order for one answer, to be streamed."""
    sampling = request.sampling
    if not sampling.temperature and "temperature" not in sampling.automatic:
        sampling = sampling.settled(Sampling())  # greedy is greedy there, too
    chosen = {name: getattr(sampling, name) for name in _SAMPLING if name not in sampling.automatic}
    if "repetition_penalty" in chosen:
        chosen["repeat_penalty"] = chosen["repetition_penalty"]  # llama.cpp's name for it
    made: Body = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_new_tokens,
        **chosen,
    }
    if request.stop:
        made["stop"] = list(request.stop)
    if request.messages[-1].role == "assistant":  # vLLM's way to have an answer written on; llama.cpp needs none
        made |= {"continue_final_message": True, "add_generation_prompt": False}
    return made | _speculation(request.speculation)


def after_refusal(asked: Body, complaint: str) -> Body | None:
    """What to ask where this was refused with a complaint that names a field nobody cares about; None: nothing else.

    A strict server may not know what changes nothing; OpenVINO Model Server wants to be told how far its draft goes.
    """
    if _LENGTH in complaint and _LENGTH not in asked and _CONFIDENCE not in asked:
        return asked | {_LENGTH: _USUAL_LENGTH}
    spared = [name for name, neutral in _NEUTRAL.items() if name in asked and asked[name] == neutral]
    if any(name in complaint for name in spared):
        return {name: value for name, value in asked.items() if name not in spared}
    return None


def _speculation(wanted: Speculation) -> Body:
    """What a person fixed, by the names of OpenVINO Model Server; others have nothing to set for one answer."""
    if wanted.mode is Mode.OFF:
        return {}
    fixed = {_LENGTH: wanted.num_assistant_tokens, _CONFIDENCE: wanted.assistant_confidence_threshold}
    return {name: value for name, value in fixed.items() if value is not None}
