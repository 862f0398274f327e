"""The table of request fields: what each takes, which values change nothing, and what is said of all others.

The fields that are supported are declared in the types of bodies. Those that are not stand here, with the values that
change nothing. Validation, the OpenAPI document, `app/docs/fields.md` and tests are made from both.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from msgspec import inspect

_LEAVE_OUT = "leave it out"


@dataclass(frozen=True)
class Refusal:
    """An unsupported field of a request: `neutral` values change nothing and pass, as null does."""

    neutral: tuple[Any, ...] = ()
    remedy: str = _LEAVE_OUT
    # Any value passes where this returns true for the other fields of the request.
    has_no_effect: Callable[[Mapping[str, Any]], bool] = lambda _: False

    def passes(self, value: object, others: Mapping[str, Any]) -> bool:
        is_bool = isinstance(value, bool)  # Python takes true for 1
        is_neutral = any(value == each and is_bool == isinstance(each, bool) for each in self.neutral)
        return value is None or is_neutral or self.has_no_effect(others)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the values that pass whatever else a request has."""
        return {"enum": [*self.neutral, None], "description": f"Not supported: {self.remedy}."}

    def sentence(self, place: str) -> str:
        return f"`{place}` is not supported here: {self.remedy}."


Unsupported = dict[str, Refusal]  # by the name of the field


def _rows(neutral: tuple[Any, ...], *names: str, remedy: str = _LEAVE_OUT) -> dict[str, Refusal]:
    return dict.fromkeys(names, Refusal(neutral, remedy))


def _is_without_penalties(others: Mapping[str, Any]) -> bool:
    repetition = {others.get(name) for name in ("repetition_penalty", "repeat_penalty")} - {None}
    return repetition == {1} and not any(others.get(f"{name}_penalty") for name in ("presence", "frequency"))


_MIROSTAT = "leave it out, and use `top_p` or `min_p`"
_PENALTY_WINDOW = Refusal(
    (-1,),
    "penalties count the whole text, so leave it out, or send `repeat_penalty` with the value 1",
    _is_without_penalties,
)
_ONE_ANSWER = "leave it out, or use /v1/chat/completions"
_WHOLE_CONVERSATION = "nothing is stored, so leave it out and send the whole conversation as `input`"

ANSWERS: Unsupported = {
    **_rows((0,), "min_tokens", "dynatemp_range", "xtc_probability", "dry_multiplier", "smoothing_factor"),
    **_rows((0,), "top_a", "epsilon_cutoff", "eta_cutoff", "penalty_alpha"),
    **_rows((0,), "mirostat", "mirostat_mode", remedy=_MIROSTAT),
    **_rows((0, -1), "top_n_sigma"),
    **_rows((1,), "typical_p", "tfs_z", "tfs", "length_penalty", "num_beams"),
    **_rows((1,), "best_of", remedy="leave it out, or ask for several answers with `n`"),
    **_rows((False,), "ignore_eos", "use_beam_search", "early_stopping", "include_stop_str_in_output"),
    **_rows((False,), "return_token_ids", "return_tokens", "return_tokens_as_token_ids"),
    **_rows((True,), "skip_special_tokens"),
    **_rows(([],), "stop_token_ids", "allowed_token_ids", "bad_words", "logits_processors", "lora"),
    **_rows(("",), "chat_template", remedy="the chat template is the model's own, so leave it out"),
    **_rows((["text"],), "modalities", remedy="this model writes text only, so leave it out"),
    **_rows(({},), "options", remedy="send what is in it beside `messages`"),
    **_rows((0,), "n_probs", remedy="send `logprobs` or `top_logprobs`"),
    "repeat_last_n": _PENALTY_WINDOW,
    "truncate_prompt_tokens": Refusal(remedy="no prompt is cut, so leave it out and send what is to be read"),
    "prompt_logprobs": Refusal(remedy="leave it out, or send `echo` and `logprobs` to /v1/completions"),
}
CHATS: Unsupported = {
    **_rows(([],), "functions", remedy="send functions as `tools`"),
    **_rows(("none", "auto"), "function_call", remedy="send `tool_choice`"),
    **_rows(("", []), "system", remedy="send a message of the role `system`"),
    **_rows(([],), "documents", remedy="send their text in a message"),
    **_rows((False,), "echo", "add_special_tokens"),
}
RESPONSES: Unsupported = {
    **_rows(("", {}), "previous_response_id", "conversation", remedy=_WHOLE_CONVERSATION),
    **_rows(({},), "prompt", remedy="nothing is stored, so send its text as `instructions`"),
    **_rows((False,), "background"),
    **_rows(("disabled",), "truncation", remedy="no conversation is cut, so leave it out"),
    **_rows((False,), "logprobs", remedy="send `top_logprobs`"),
    **_rows((1,), "n", remedy=_ONE_ANSWER),
    "max_tool_calls": Refusal(remedy="this server calls no tools itself, so leave it out"),
}
MESSAGES: Unsupported = {
    **_rows((1,), "n", remedy=_ONE_ANSWER),
    **_rows((False,), "logprobs", remedy=_ONE_ANSWER),
    **_rows((0,), "top_logprobs", remedy=_ONE_ANSWER),
}
EMBEDDINGS: Unsupported = {
    "truncate_prompt_tokens": Refusal(remedy="no text is cut, so leave it out and shorten the text"),
}
TOKENIZE: Unsupported = {
    **_rows((True,), "parse_special"),
    **_rows((False,), "with_pieces", "return_token_strs"),
}
GENERATE: Unsupported = {  # of Ollama's API
    **_rows(("",), "template", remedy="the chat template is the model's own, so leave it out"),
    **_rows(([],), "context", remedy="send the whole conversation to /api/chat"),
    **_rows(([], [""]), "images", remedy="this model reads text only, so leave them out"),
}
OPTIONS: Unsupported = {  # of Ollama's API
    name: ANSWERS[name] for name in ("mirostat", "typical_p", "tfs_z", "repeat_last_n")
}

# Fields of other servers that change nothing here, and whose names look like typing errors of those above.
IGNORED = {"context", "conversation_id", "mode", "models", "reasoning_format", "speed"}


@dataclass(frozen=True)
class FieldRow:
    """A field of a body for the documentation."""

    name: str
    takes: str
    does: str


def supported(body: type[object]) -> Iterator[FieldRow]:
    """Yield the supported fields of a body."""
    kinds = {kind.encode_name: kind.type for kind in structure(body).fields}
    for each in fields(body):  # type: ignore[arg-type] # bodies are dataclasses
        yield FieldRow(each.name, takes(kinds[each.name]), _description(kinds[each.name]) or _meaning(kinds[each.name]))


def structure(body: type[object]) -> inspect.DataclassType:
    kind = inspect.type_info(body)
    assert isinstance(kind, inspect.DataclassType)
    return kind


def _description(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.Metadata):
        return (kind.extra_json_schema or {}).get("description") or _description(kind.type)
    parts = kind.types if isinstance(kind, inspect.UnionType) else ()
    return next(filter(None, map(_description, parts)), "")


def _meaning(kind: inspect.Type) -> str:
    """Return the description of the objects that a field takes, alone or in a list."""
    kinds = list[inspect.Type]()
    for each in alternatives(kind):
        kinds += alternatives(each.item_type) if isinstance(each, inspect.ListType) else [each]
    classes = [each.cls for each in kinds if isinstance(each, inspect.StructType | inspect.DataclassType)]
    return " ".join((classes[0].__doc__ or "").split()) if len(classes) == 1 else ""


def takes(kind: inspect.Type) -> str:
    """Return the values that a field takes, as the end of "It must be ..."; null is left out."""
    return takes_any(alternatives(kind))


def takes_any(kinds: Iterable[inspect.Type]) -> str:
    return either([*dict.fromkeys(word for kind in kinds for word in _words(kind))]) or "left out"


def alternatives(kind: inspect.Type) -> list[inspect.Type]:
    """Return the types that a value may have."""
    if isinstance(kind, inspect.Metadata):
        return alternatives(kind.type)
    parts = kind.types if isinstance(kind, inspect.UnionType) else ()
    return [each for part in parts for each in alternatives(part)] if parts else [kind]


def _words(kind: inspect.Type) -> list[str]:
    match kind:
        case inspect.NoneType():
            return []
        case inspect.LiteralType():
            return [repr(value) for value in kind.values]
        case _:
            return [_words_of_one(kind)]


def _words_of_one(kind: inspect.Type) -> str:
    match kind:
        case inspect.BytesType():
            return "a file"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() | inspect.FloatType():
            return f"a {'whole ' * isinstance(kind, inspect.IntType)}number{_bounds(kind)}"
        case inspect.StrType():
            return f"a text{_length(kind, 'character')}{f' that fits {kind.pattern}' if kind.pattern else ''}"
        case inspect.ListType() | inspect.VarTupleType():
            return f"a list{_length(kind, 'item')}"
        case inspect.DictType(key_type=inspect.StrType(pattern=str(pattern))):
            return f"an object whose names fit {pattern}"
        case inspect.AnyType():
            return "any value"
        case _:
            return "an object"


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    low, above, high = kind.ge, kind.gt, kind.le
    high = None if high is None or high >= 2**31 - 1 else high
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if high is not None:
        return f" above {above:g} and up to {high:g}" if above is not None else f" up to {high:g}"
    return f" of {low:g} or more" if low is not None and low > -(2**31) else ""


def _length(kind: Any, unit: str) -> str:
    low, high = kind.min_length or 0, kind.max_length
    if high is not None:
        return f" of {f'{low} to ' if low else 'up to '}{high} {unit}s"
    return f" of at least {low} {unit}{'s' * (low > 1)}" if low else ""


def either(words: list[str]) -> str:
    *before, last = words or [""]
    return f"{', '.join(before)} or {last}" if before else last
