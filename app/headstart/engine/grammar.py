"""Answers that keep to a JSON schema, to a grammar or to calls of tools: which tokens may follow, by llguidance."""

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine.engine import CALL_BEGINS, CALL_ENDS, Request, Tool, Tools, call_head
from headstart.engine.runners.runner import common_prefix
from headstart.engine.sampling import Allowed
from headstart.errors import SettingsError
from headstart.library import vocabulary

# Without a bound a small model may write blanks for ever, or digits.
_LARGEST = 10**18  # of integers whose schema has no bound; 64 bits hold it
_MOST_DIGITS = 20  # in a row, where they need not go on: every whole number of 64 bits has room
_DIGITS = b"0123456789"
_VALUES = {"const", "default", "enum", "examples"}  # keys of a schema that hold no schemas
_BY_NAME = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}  # that hold them by name
_CALL_HEAD = r'(```(json)?\s*)?\{+\s*"name":\s*"[^"]*",\s*"arguments"'  # of a call that has no mark
_BLANKS: Any = {"whitespace_pattern": r"[\x20\x0A]{0,16}"}


class Spelling:
    """Reads the vocabulary when it is first needed, which takes a second or two."""

    def __init__(self, folder: Path, width: int, stop_ids: Sequence[int]) -> None:
        """`width`: tokens that the model scores."""
        self.stop_ids = frozenset(stop_ids)
        self._folder = folder
        self._width = width

    @cached_property
    def native(self) -> Any:
        """The `llguidance.LLTokenizer`."""
        from llguidance import LLTokenizer  # noqa: PLC0415 - few answers need it

        path = str(self._folder / vocabulary.FILE_NAME)
        return LLTokenizer(path, n_vocab=self._width, eos_token=sorted(self.stop_ids))

    @cached_property
    def markers(self) -> Mapping[str, int]:
        """Visible texts that are tokens of their own, such as those around thoughts; to llguidance they are no text."""
        reading = vocabulary.reading(self._folder)
        spelt = {text: self.native.tokenize_str(text) for text in sorted(reading.added - reading.control)}
        return {text: ids[0] for text, ids in spelt.items() if len(ids) == 1 and self.native.is_special_token(ids[0])}

    @cached_property
    def digits(self) -> Any:
        """How many digits each token begins with, as an array."""
        texts = map(self.spell, range(self._width))
        return np.fromiter((len(text) - len(text.lstrip(_DIGITS)) for text in texts), np.uint8, self._width)

    @cached_property
    def letter(self) -> int:
        """A token that no number has."""
        token: int = self.native.tokenize_str("a")[0]
        return token

    def spell(self, token: int) -> bytes:
        """What a token adds to a text, be it half a character; a control token gives its name."""
        spelt: bytes = self.native.decode_bytes([token])
        return spelt


def form_of(request: Request, spelling: Spelling) -> "Form | None":
    """What the answer to a request must keep to; None: nothing. Raises SettingsError for what it cannot keep to."""
    if request.tools:
        return form_of_calls(request.tools, spelling, request.schema)
    if request.grammar:
        return form_of_grammar(request.grammar, spelling)
    return form(request.schema, spelling) if request.schema else None


def form(schema: str, spelling: Spelling) -> "Form":
    """The form of one answer. Raises SettingsError for what is no JSON schema, or one that cannot be kept to."""
    from llguidance import LLMatcher  # noqa: PLC0415 - few answers have a form

    data = _read(schema)
    try:
        grammar = LLMatcher.grammar_from_json_schema(data, overrides=_BLANKS)
    except ValueError as error:
        raise _unusable(str(error)) from None
    return _form(grammar, spelling, _unusable, has_json=True)


def form_of_grammar(grammar: str, spelling: Spelling) -> "Form":
    """The same for a grammar in Lark's notation, or in that of llama.cpp. Raises SettingsError."""
    from llguidance import grammar_from  # noqa: PLC0415 - few answers have a form

    try:
        return _form(grammar_from("gbnf" if "::=" in grammar else "lark", grammar), spelling, _wrong_grammar)
    except ValueError as error:
        raise _wrong_grammar(str(error)) from None


def form_of_calls(tools: Tools, spelling: Spelling, schema: str = "") -> "Form":
    """Text, then calls whose arguments keep to their schemas. `schema`: of the text, if any. Raises SettingsError."""
    for tool in tools.callable:  # by itself, so that a refusal can name it
        _form(f"start: {_arguments(tool)}", spelling, partial(_wrong_tool, tool.name))
    return _form(_calls(tools, spelling.markers, schema), spelling, _unusable, has_json=True)


def _form(
    grammar: str, spelling: Spelling, unusable: Callable[[str], SettingsError], *, has_json: bool = False
) -> "Form":
    from llguidance import LLMatcher  # noqa: PLC0415 - few answers have a form

    matcher = LLMatcher(spelling.native, grammar, log_level=0)
    if matcher.is_error():
        raise unusable(matcher.get_error())
    matcher.compute_bitmask()  # which the first token needs anyway, and keeps
    if matcher.is_error():
        raise unusable("nothing can keep to it")
    return Form(matcher, spelling.stop_ids, spelling if has_json else None)


def _calls(tools: Tools, markers: Mapping[str, int], schema: str) -> str:
    """The grammar in Lark's notation.

    Where the text that begins a call is a token of its own, it ends what comes before it. Else the text goes on until
    that is spelt out. Models that are bad at the format begin an answer with the JSON of a call, alone or in a block:
    that is a call, too, unless the tools are hidden.
    """
    begins, ends = (text if text in markers else json.dumps(text) for text in (CALL_BEGINS, CALL_ENDS))
    following = f'("\\n" {begins} "\\n" call "\\n" {ends})*' if tools.parallel else ""
    visible = [str(index) for text, index in markers.items() if text not in {CALL_BEGINS, CALL_ENDS}]
    free = f"(TEXT <[{','.join(visible)}]>)* " if visible else ""
    if tools.required:
        start, opening = "calls", begins
    elif schema:
        start, opening = "structured | calls", begins
    else:
        start = "text | calls" if tools.hidden else "text | calls | bare"
        opening = f"text {begins}" if CALL_BEGINS in markers else f"{free}spelt"
    no_text = _CALL_HEAD if tools.hidden else r"\{|```json|```\s*\{|<tool"
    options = [f"{json.dumps(call_head(tool.name))} {_arguments(tool)}" for tool in tools.callable]
    return f"""%llguidance {{}}
start: {start}
structured: %json {_json(schema or "{}", {})}
text: {free}TEXT
spelt[lazy]: TEXT {json.dumps(CALL_BEGINS)}
TEXT: /(?s:.*)/ & ~/(?s:.*<tool_call>.*)/ & ~/(?s:\\s*({no_text}).*)/
calls: {opening} "\\n" call "\\n" {ends} {following}
bare: ("```json\\n")? call ("\\n```")?
call: ({" | ".join(options)}) "}}"
"""


def _arguments(tool: Tool) -> str:
    """What a schema asks for that llguidance cannot keep to is left to the model, unless the tool is strict."""
    return f"%json {_json(tool.parameters, {'lenient': not tool.strict})}"


def _json(schema: str, options: dict[str, Any]) -> str:
    return json.dumps({**_read(schema), "x-guidance": _BLANKS | options})


def _read(schema: str) -> Any:
    try:
        return _bounded(json.loads(schema))
    except ValueError as error:
        raise _unusable(str(error)) from None
    except RecursionError:
        raise _unusable("it is nested too deeply") from None


def _bounded(schema: Any) -> Any:
    """A schema whose integers end. Bounds would take the exponent of a number away; see Form for its digits."""
    if isinstance(schema, list):
        return [_bounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: each if key in _VALUES else _by_name(key, each) for key, each in schema.items()}
    kinds = schema.get("type")
    is_integer = "integer" in (kinds if isinstance(kinds, list) else [kinds])
    if not is_integer or "const" in schema or "enum" in schema:
        return found
    low = {} if {"minimum", "exclusiveMinimum"} & schema.keys() else {"minimum": -_LARGEST}
    high = {} if {"maximum", "exclusiveMaximum"} & schema.keys() else {"maximum": _LARGEST}
    return found | low | high


def _by_name(key: str, value: Any) -> Any:
    if key in _BY_NAME and isinstance(value, dict):
        return {name: _bounded(each) for name, each in value.items()}
    return _bounded(value)


class Form:
    """Which tokens may come next in one answer; see sampling.Constraint.

    The same text is asked about twice, where a draft guesses and where the target checks, and each time it is a token
    longer than before: so what the grammar has read stays read, and a mask is kept until its text is given up.
    """

    def __init__(self, matcher: Any, stop_ids: frozenset[int], numbers: Spelling | None = None) -> None:
        """Nothing is written yet. `numbers`: how they are spelt, where they must end."""
        self._matcher = matcher
        self._stop_ids = stop_ids
        self._numbers = numbers
        self._written = deque[int](maxlen=_MOST_DIGITS)
        self._ahead: list[int] = []  # what the matcher has read behind the answer
        self._masks: dict[tuple[int, ...], Allowed | None] = {}

    def allowed(self, run: Sequence[int]) -> Allowed | None:
        """Whether each token may follow the answer and `run`; None where `run` is no part of an answer."""
        key = tuple(run)
        if key not in self._masks:
            self._masks[key] = None if self._stop_ids.intersection(run) else self._mask(run)
        return self._masks[key]

    def commit(self, token: int) -> None:
        """The answer goes on with it."""
        if self._ahead[:1] == [token]:
            del self._ahead[0]
        else:
            self._give_up(0)
            kept = self._matcher.consume_token(token)
            assert kept, f"token {token} was not allowed"
        self._written.append(token)
        self._masks = {run[1:]: mask for run, mask in self._masks.items() if run[:1] == (token,)}

    def _mask(self, run: Sequence[int]) -> Allowed | None:
        held = common_prefix(self._ahead, run)
        self._give_up(held)
        following = list(run[held:])
        self._ahead += following[: self._matcher.try_consume_tokens(following)]
        if len(self._ahead) < len(run):
            return None
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        mask = np.unpackbits(bits, bitorder="little").view(np.bool_)
        return self._without_digits(mask, run) if self._numbers else mask

    def _without_digits(self, mask: Allowed, run: Sequence[int]) -> Allowed:
        """Where no letter may follow, as in a number, no more than _MOST_DIGITS digits in a row, if they can end."""
        assert self._numbers
        text = b"".join(map(self._numbers.spell, [*self._written, *run][-_MOST_DIGITS:]))
        row = len(text) - len(text.rstrip(_DIGITS))
        if not row or mask[self._numbers.letter]:
            return mask
        ended = mask.copy()
        ended[: len(self._numbers.digits)] &= self._numbers.digits <= _MOST_DIGITS - row
        return ended if ended.any() else mask

    def _give_up(self, held: int) -> None:
        self._matcher.rollback(len(self._ahead) - held)
        del self._ahead[held:]


def _unusable(reason: str) -> SettingsError:
    return SettingsError(
        "The answer cannot be kept to this JSON schema ({first}): leave that part of it out.", first=_first(reason)
    )


def _wrong_grammar(reason: str) -> SettingsError:
    return SettingsError("The grammar cannot be used ({first}): correct that part of it.", first=_first(reason))


def _wrong_tool(name: str, reason: str) -> SettingsError:
    return SettingsError(
        "The parameters of the tool {name} cannot be kept to ({first}): leave that part of them out.",
        name=name,
        first=_first(reason),
    )


def _first(reason: str) -> str:
    return " ".join(reason.split())[:200]
