"""The tokens that may follow in an answer with a JSON schema, a grammar or tool calls, by llguidance."""

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

# Without a bound, a small model may write blanks or digits for ever.
_MAX_INTEGER = 10**18  # for integers without a bound in their schema; it fits into 64 bits
_MAX_DIGITS = 20  # in a row; every 64-bit integer fits
_DIGITS = b"0123456789"
_VALUES = {"const", "default", "enum", "examples"}  # keys of a schema whose values are not schemas
_BY_NAME = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}  # that hold schemas by name
_CALL_HEAD = r'(```(json)?\s*)?\{+\s*"name":\s*"[^"]*",\s*"arguments"'  # of a call without a mark
_BLANKS: Any = {"whitespace_pattern": r"[\x20\x0A]{0,16}"}


class TokenBytes:
    """The vocabulary as bytes. It is read at its first use, which takes a second or two."""

    def __init__(self, folder: Path, width: int, stop_ids: Sequence[int]) -> None:
        """Describe the vocabulary of `folder`. `width` is the number of tokens that the model scores."""
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
        """Special tokens with visible text, such as those around thoughts; llguidance does not treat them as text."""
        specials = vocabulary.reading(self._folder)
        ids_by_text = {text: self.native.tokenize_str(text) for text in sorted(specials.added - specials.control)}
        is_token = self.native.is_special_token
        return {text: ids[0] for text, ids in ids_by_text.items() if len(ids) == 1 and is_token(ids[0])}

    @cached_property
    def digits(self) -> Any:
        """The number of digits that each token begins with: [vocabulary]."""
        texts = map(self.decode, range(self._width))
        return np.fromiter((len(text) - len(text.lstrip(_DIGITS)) for text in texts), np.uint8, self._width)

    @cached_property
    def letter(self) -> int:
        """A token that occurs in no number."""
        token: int = self.native.tokenize_str("a")[0]
        return token

    def decode(self, token: int) -> bytes:
        """Return the bytes that a token adds to a text; a control token gives its name."""
        text: bytes = self.native.decode_bytes([token])
        return text


def constraint_for(request: Request, token_bytes: TokenBytes) -> "GrammarConstraint | None":
    """Return the constraint of a request's answer, or None. Raises SettingsError if it cannot be enforced."""
    if request.tools:
        return tool_constraint(request.tools, token_bytes, request.schema)
    if request.grammar:
        return grammar_constraint(request.grammar, token_bytes)
    return schema_constraint(request.schema, token_bytes) if request.schema else None


def schema_constraint(schema: str, token_bytes: TokenBytes) -> "GrammarConstraint":
    """Return a constraint to a JSON schema. Raises SettingsError for an invalid or unsupported schema."""
    from llguidance import LLMatcher  # noqa: PLC0415 - few answers have a form

    data = _parse_schema(schema)
    try:
        grammar = LLMatcher.grammar_from_json_schema(data, overrides=_BLANKS)
    except ValueError as error:
        raise _unusable(str(error)) from None
    return _constraint(grammar, token_bytes, _unusable, has_json=True)


def grammar_constraint(grammar: str, token_bytes: TokenBytes) -> "GrammarConstraint":
    """Return a constraint to a grammar in Lark's notation or llama.cpp's. Raises SettingsError."""
    from llguidance import grammar_from  # noqa: PLC0415 - few answers have a form

    try:
        return _constraint(grammar_from("gbnf" if "::=" in grammar else "lark", grammar), token_bytes, _wrong_grammar)
    except ValueError as error:
        raise _wrong_grammar(str(error)) from None


def tool_constraint(tools: Tools, token_bytes: TokenBytes, schema: str = "") -> "GrammarConstraint":
    """Return a constraint to text, then calls with valid arguments. Raises SettingsError.

    `schema` is that of the text.
    """
    for tool in tools.callable:  # one at a time, so that an error can name it
        _constraint(f"start: {_arguments(tool)}", token_bytes, partial(_wrong_tool, tool.name))
    return _constraint(_call_grammar(tools, token_bytes.markers, schema), token_bytes, _unusable, has_json=True)


def _constraint(
    grammar: str, token_bytes: TokenBytes, unusable: Callable[[str], SettingsError], *, has_json: bool = False
) -> "GrammarConstraint":
    from llguidance import LLMatcher  # noqa: PLC0415 - few answers have a form

    matcher = LLMatcher(token_bytes.native, grammar, log_level=0)
    if matcher.is_error():
        raise unusable(matcher.get_error())
    matcher.compute_bitmask()  # the first token needs it, and it is cached
    if matcher.is_error():
        raise unusable("nothing can keep to it")
    return GrammarConstraint(matcher, token_bytes.stop_ids, token_bytes if has_json else None)


def _call_grammar(tools: Tools, markers: Mapping[str, int], schema: str) -> str:
    """Return the grammar in Lark's notation.

    If the text that begins a call is a special token, it ends the text before it. Otherwise the text goes on until
    that is spelt out. Weak models begin an answer with the JSON of a call, alone or in a block of code: that is a
    call too, unless the tools are hidden.
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
    """Return the grammar of a tool's arguments. Unless the tool is strict, unsupported parts are left to the model."""
    return f"%json {_json(tool.parameters, {'lenient': not tool.strict})}"


def _json(schema: str, options: dict[str, Any]) -> str:
    return json.dumps({**_parse_schema(schema), "x-guidance": _BLANKS | options})


def _parse_schema(schema: str) -> Any:
    try:
        return _bounded(json.loads(schema))
    except ValueError as error:
        raise _unusable(str(error)) from None
    except RecursionError:
        raise _unusable("it is nested too deeply") from None


def _bounded(schema: Any) -> Any:
    """Return a schema with bounds on its integers. Bounds would remove a number's exponent; see GrammarConstraint."""
    if isinstance(schema, list):
        return [_bounded(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    bounded = {key: item if key in _VALUES else _by_name(key, item) for key, item in schema.items()}
    kinds = schema.get("type")
    is_integer = "integer" in (kinds if isinstance(kinds, list) else [kinds])
    if not is_integer or "const" in schema or "enum" in schema:
        return bounded
    low = {} if {"minimum", "exclusiveMinimum"} & schema.keys() else {"minimum": -_MAX_INTEGER}
    high = {} if {"maximum", "exclusiveMaximum"} & schema.keys() else {"maximum": _MAX_INTEGER}
    return bounded | low | high


def _by_name(key: str, value: Any) -> Any:
    if key in _BY_NAME and isinstance(value, dict):
        return {name: _bounded(item) for name, item in value.items()}
    return _bounded(value)


class GrammarConstraint:
    """The tokens that may come next in one answer; see sampling.Constraint.

    The draft and then the target ask about the same text, each time one token longer. So the matcher keeps what it
    has read, and a mask is kept until its text is rolled back.
    """

    def __init__(self, matcher: Any, stop_ids: frozenset[int], numbers: TokenBytes | None = None) -> None:
        """Constrain one answer. With `numbers`, numbers must end."""
        self._matcher = matcher
        self._stop_ids = stop_ids
        self._numbers = numbers
        self._written = deque[int](maxlen=_MAX_DIGITS)
        self._read_ahead: list[int] = []  # tokens after the answer that the matcher has read
        self._masks: dict[tuple[int, ...], Allowed | None] = {}

    def allowed(self, run: Sequence[int]) -> Allowed | None:
        """Return whether each token may follow the answer and `run`, or None if `run` cannot follow."""
        key = tuple(run)
        if key not in self._masks:
            self._masks[key] = None if self._stop_ids.intersection(run) else self._mask(run)
        return self._masks[key]

    def commit(self, token: int) -> None:
        """Append a token to the answer."""
        if self._read_ahead[:1] == [token]:
            del self._read_ahead[0]
        else:
            self._roll_back(0)
            is_accepted = self._matcher.consume_token(token)
            assert is_accepted, f"token {token} was not allowed"
        self._written.append(token)
        self._masks = {run[1:]: mask for run, mask in self._masks.items() if run[:1] == (token,)}

    def _mask(self, run: Sequence[int]) -> Allowed | None:
        num_kept = common_prefix(self._read_ahead, run)
        self._roll_back(num_kept)
        following = list(run[num_kept:])
        self._read_ahead += following[: self._matcher.try_consume_tokens(following)]
        if len(self._read_ahead) < len(run):
            return None
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        mask = np.unpackbits(bits, bitorder="little").view(np.bool_)
        return self._limit_digits(mask, run) if self._numbers else mask

    def _limit_digits(self, mask: Allowed, run: Sequence[int]) -> Allowed:
        """Allow at most _MAX_DIGITS digits in a row inside a number, if it can end there."""
        assert self._numbers
        text = b"".join(map(self._numbers.decode, [*self._written, *run][-_MAX_DIGITS:]))
        row = len(text) - len(text.rstrip(_DIGITS))
        if not row or mask[self._numbers.letter]:
            return mask
        ended = mask.copy()
        ended[: len(self._numbers.digits)] &= self._numbers.digits <= _MAX_DIGITS - row
        return ended if ended.any() else mask

    def _roll_back(self, num_kept: int) -> None:
        self._matcher.rollback(len(self._read_ahead) - num_kept)
        del self._read_ahead[num_kept:]


def _unusable(reason: str) -> SettingsError:
    return SettingsError(
        "The answer cannot be kept to this JSON schema ({first}): leave that part of it out.", first=_excerpt(reason)
    )


def _wrong_grammar(reason: str) -> SettingsError:
    return SettingsError("The grammar cannot be used ({first}): correct that part of it.", first=_excerpt(reason))


def _wrong_tool(name: str, reason: str) -> SettingsError:
    return SettingsError(
        "The parameters of the tool {name} cannot be kept to ({first}): leave that part of them out.",
        name=name,
        first=_excerpt(reason),
    )


def _excerpt(reason: str) -> str:
    return " ".join(reason.split())[:200]
