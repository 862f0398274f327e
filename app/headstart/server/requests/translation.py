"""Translation of what all requests for an answer share into requests to the engine."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from msgspec import structs

from headstart.engine.engine import ConversationRequest, Message, PromptRequest, Sampling, Speculation, Tools
from headstart.parameters import declared
from headstart.server.requests.bodies import AnswerRequest, Effort, JsonObject, TemplateValues
from headstart.server.requests.constraint import constraint_of

_NO_SCHEMAS: Mapping[str, JsonObject | None] = {}
_RANDOM = -1  # the seed by which clients of llama.cpp and Ollama ask for another answer each time
USUAL_EFFORT: Effort = "medium"
_KNOWN_EFFORTS = {"minimal": "low", "xhigh": "high", "max": "high"}  # the names that chat templates have for them


@dataclass(frozen=True)
class Defaults:
    """Values for the fields that a request leaves out."""

    sampling: Sampling = field(default_factory=Sampling)
    speculation: Speculation = field(default_factory=Speculation)
    seed: int | None = None  # None: a new seed for each request
    length: int = 0  # maximum length of an answer to a conversation, in tokens; 0: half the context


_R = TypeVar("_R", ConversationRequest, PromptRequest)


def fan_out(request: _R, n: int | None) -> list[_R]:
    """Return a request for each of `n` answers (None: one), with seeds in a row."""
    seed = request.sampling.seed
    return [
        structs.replace(request, sampling=replace(request.sampling, seed=(seed + number) % 2**63))
        for number in range(n or 1)
    ]


def conversation_request(
    body: AnswerRequest,
    defaults: Defaults,
    messages: tuple[Message, ...],
    tools: Tools | None = None,
    schemas: Mapping[str, JsonObject | None] = _NO_SCHEMAS,
) -> ConversationRequest:
    """Translate what all requests for an answer to a conversation share. Raises RefusedError.

    `schemas`: the JSON schema of each other field that may have one.
    """
    values = body.chat_template_kwargs or TemplateValues()
    budgets = (
        body.thinking_budget,
        body.thinking_budget_tokens,
        body.thinking_token_budget,
        values.thinking_budget,
    )
    switches = (body.enable_thinking, values.enable_thinking, values.thinking)
    request = ConversationRequest(
        messages,
        tools,
        thinking_budget=next((budget for budget in budgets if budget is not None), None),
        **_common_fields(body, defaults, schemas, has_tools=tools is not None),
    )
    request = with_effort(request, body.reasoning_effort or values.reasoning_effort)
    switch = next((switch for switch in switches if switch is not None), request.thinking)
    return structs.replace(request, thinking=switch)


def prompt_request(
    body: AnswerRequest, defaults: Defaults, prompt: str | tuple[int, ...], suffix: str = ""
) -> PromptRequest:
    """Translate what all requests to continue a text share. Raises RefusedError."""
    return PromptRequest(prompt or "", suffix, **_common_fields(body, defaults))


def _common_fields(
    body: AnswerRequest,
    defaults: Defaults,
    schemas: Mapping[str, JsonObject | None] = _NO_SCHEMAS,
    *,
    has_tools: bool = False,
) -> dict[str, Any]:
    """Return the fields that conversations and texts have in common."""
    json_schema, grammar = constraint_of(body, schemas, has_tools=has_tools)
    return {
        "max_new_tokens": _length(body, defaults.length),
        "sampling": _sampling(body, defaults),
        "speculation": defaults.speculation,
        "stop": (*_stops(body.stop), *_stops(body.stop_sequences)),
        "schema": json_schema,
        "grammar": grammar,
        "stop_on_repetition": bool(body.stop_on_repetition),
    }


def with_effort(request: ConversationRequest, effort: str | None) -> ConversationRequest:
    """Return a request with an effort of thinking; `none` switches it off, None leaves it to the model."""
    if effort == "none":
        return structs.replace(request, thinking=False)
    return structs.replace(request, effort=_KNOWN_EFFORTS.get(effort, effort)) if effort else request


def _stops(stop: str | list[str] | None) -> tuple[str, ...]:
    return tuple(filter(None, [stop])) if isinstance(stop, str) else tuple(stop or ())


def _length(body: AnswerRequest, default: int) -> int:
    """Return the maximum length of an answer, by its first name that has one; 0 is a length, None and -1 are not."""
    names = (body.max_completion_tokens, body.max_output_tokens, body.max_tokens, body.n_predict, body.num_predict)
    return next((length for length in names if length is not None and length >= 0), default)


def _sampling(body: AnswerRequest, defaults: Defaults) -> Sampling:
    fields = {parameter.field: getattr(body, parameter.name) for parameter in declared(Sampling)}
    values = {name: value for name, value in fields.items() if value is not None}
    if body.repeat_penalty is not None:
        values.setdefault("repetition_penalty", body.repeat_penalty)
    if body.top_k is not None:
        values["top_k"] = max(0, body.top_k)
    values["seed"] = _seed(body.seed, defaults.seed)
    values["logit_bias"] = {int(token): value for token, value in (body.logit_bias or {}).items() if value}
    left = tuple(name for name in defaults.sampling.automatic if name not in values)
    return replace(defaults.sampling, **values, automatic=left)


def _seed(seed: int | None, default: int | None) -> int:
    if seed == _RANDOM or (seed is None and default is None):
        return secrets.randbits(63)
    return seed % 2**63 if seed is not None else default or 0
