"""From what a client sent to what the engine understands, or a refusal that says what to change. Knows no HTTP."""

import re
import secrets
from dataclasses import dataclass, field, replace
from typing import TypeVar

import msgspec

from headstart.engine.engine import Message, Request, Sampling, Speculation
from headstart.parameters import declared
from headstart.server.refusal import RefusedError, invalid
from headstart.server.requests import AnyObject, ChatRequest, Content, OfSchema, ResponseFormat, TextRequest, Wish

_Body = TypeVar("_Body", ChatRequest, TextRequest)
_ANY_OBJECT = '{"type":"object"}'
_USUAL_TEXT = 16  # tokens of a completion, as OpenAI has it
_FIELD = re.compile(r"`\$\.(\w+)")
_REFUSALS = {
    "tools": "Tools are not called here: leave out `tools`.",
    "functions": "Functions are not called here: leave out `functions`.",
    "n": "One answer comes for each request: leave out `n`, and ask again for another.",
    "best_of": "One answer comes for each request: leave out `best_of`.",
    "logit_bias": "Single tokens cannot be favoured here: leave out `logit_bias`.",
    "echo": "The prompt is not repeated here: leave out `echo`.",
    "suffix": "A text cannot be filled in between here: put the model's own markers into `prompt`, without `suffix`.",
}


@dataclass(frozen=True)
class Defaults:
    """How an answer is written as far as a request leaves it open. `seed` None: another one for each request.

    `length`: the longest answer to a conversation, in tokens.
    """

    sampling: Sampling = field(default_factory=Sampling)
    speculation: Speculation = field(default_factory=Speculation)
    seed: int | None = None
    length: int = 4096


def parsed(body: bytes, kind: type[_Body]) -> _Body:
    """The request in `body`. Raises RefusedError, which says what is wrong where."""
    try:
        return msgspec.convert(_with_whole_numbers(msgspec.json.decode(body)), kind)
    except msgspec.ValidationError as error:
        raise _misfit(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid(f"The body is no JSON ({error}): send one object.") from None
    except RecursionError:
        raise invalid("The body is nested too deeply: send one object as the API has it.") from None


def _with_whole_numbers(data: object) -> object:
    """JSON has one kind of number: 5.0 is a whole one."""
    if not isinstance(data, dict):
        return data
    return {key: int(item) if isinstance(item, float) and item.is_integer() else item for key, item in data.items()}


def chat_order(asked: ChatRequest, defaults: Defaults) -> Request:
    """What a conversation asks of the engine."""
    length = asked.max_completion_tokens or asked.max_tokens or defaults.length
    messages = tuple(Message(_role(turn.role), _text(turn.content)) for turn in asked.messages)
    foretold = _text(asked.prediction.content) if asked.prediction else ""
    order = _order(asked, defaults, messages, length)
    return replace(order, prediction=foretold, schema=_schema(asked.response_format), likeliest=_likeliest(asked))


def text_order(asked: TextRequest, defaults: Defaults) -> Request:
    """What a text to be written on asks of the engine."""
    prompt = asked.prompt if isinstance(asked.prompt, str) else asked.prompt[0]
    length = asked.max_tokens or _USUAL_TEXT
    return replace(_order(asked, defaults, (), length, prompt), likeliest=asked.logprobs)


def _order(asked: Wish, defaults: Defaults, messages: tuple[Message, ...], length: int, prompt: str = "") -> Request:
    order = Request(messages, length, _sampling(asked, defaults), defaults.speculation, _stops(asked), prompt)
    return replace(order, stop_on_repetition=bool(asked.stop_on_repetition))


def _likeliest(asked: ChatRequest) -> int | None:
    """A number alone asks, too."""
    wanted = asked.top_logprobs is not None if asked.logprobs is None else asked.logprobs
    return asked.top_logprobs or 0 if wanted else None


def _schema(asked: ResponseFormat | None) -> str:
    match asked:
        case AnyObject():
            return _ANY_OBJECT
        case OfSchema(json_schema=wanted):
            return msgspec.json.encode(wanted.schema).decode()
        case _:
            return ""


def _sampling(asked: Wish, defaults: Defaults) -> Sampling:
    values = {each.field: getattr(asked, each.name) for each in declared(Sampling)}
    told = {name: value for name, value in values.items() if value is not None}
    told["seed"] = _seed(asked.seed, defaults.seed)
    left = tuple(name for name in defaults.sampling.automatic if name not in told)
    return replace(defaults.sampling, **told, automatic=left)


def _seed(asked: int | None, usual: int | None) -> int:
    if asked is not None:
        return asked % 2**63
    return secrets.randbits(63) if usual is None else usual


def _stops(asked: Wish) -> tuple[str, ...]:
    return (asked.stop,) if isinstance(asked.stop, str) else tuple(asked.stop or ())


def _role(role: str) -> str:
    return "system" if role == "developer" else role


def _text(content: Content) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content)


def _misfit(error: str) -> RefusedError:
    found = _FIELD.search(error)
    name = found.group(1) if found else None
    if name in _REFUSALS:
        return invalid(_REFUSALS[name], name, "unsupported_value")
    return invalid(f"The request is not as the API has it: {error[0].lower()}{error[1:]}.", name)
