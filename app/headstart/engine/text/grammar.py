"""The tokens that may follow in an answer with a JSON schema, a grammar or tool calls, by llguidance."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from headstart.engine.engine import CALL_BEGINS, CALL_ENDS, GenerationRequest, Tool, Tools, call_head, without_blanks
from headstart.engine.runners.runner import common_prefix
from headstart.engine.sampling import Allowed, Constraint
from headstart.engine.text import json_schema
from headstart.engine.text.tool_calls import MAX_CALLS, name_pattern
from headstart.errors import SettingsError, Translatable
from headstart.library import vocabulary

_CALL_RESERVE = 1.25  # room for another call: as many of the longest one so far
_CALL_END_TOKENS = 12  # hold the mark that ends a call
_ROOM = 4096  # tokens of an answer whose length is not known
_MAX_DIGITS = 20  # in a row; every 64-bit integer fits
_MAX_EXPONENT_DIGITS = 2  # so that a number fits into 64 bits
_DIGITS = b"0123456789"
_EXPONENT = re.compile(rb"[0-9][eE][+-]?$")
_FEW = r"([^`]|`[^`]|``[^`])*`?`?"  # no fence
_EVEN = f"{_FEW}(```{_FEW}```{_FEW})*"
_ODD = f"{_EVEN}```{_FEW}"
_CALL_HEAD = r'(```(json)?\s*)?\{+\s*"name":\s*"[^"]*",\s*"arguments"'  # of a call without a mark
_NO_CALL = rf" & ~/(?s:\s*({_CALL_HEAD}).*)/"
_MAX_ENDING = 256  # tokens that end an answer with a schema
_MAX_NAMES = 128  # that are tried
_NEAR_END = 32  # tokens, beside those of the names that a schema requires: the end is prepared from there on
_QUOTED_ENDS = ('"', "0", "a", "-", "A", " ", ".", "@", ":", "/")  # what ends a text, or brings its end nearer
_SCALARS = ('""', "0", "{}", "[]", "null", "true", "false", "1", "-1")  # values, the shortest first
_REST = (":", '"', "{", "[", ",")


_Value = TypeVar("_Value")


class TokenBytes:
    """The vocabulary as bytes. It is read at its first use, which takes a second or two."""

    def __init__(self, folder: Path, width: int, stop_ids: Sequence[int]) -> None:
        """Describe the vocabulary of `folder`. `width` is the number of tokens that the model scores."""
        self.stop_ids = frozenset(stop_ids)
        self._folder = folder
        self.width = width

    @cached_property
    def native(self) -> Any:
        """The `llguidance.LLTokenizer`."""
        from llguidance import LLTokenizer  # noqa: PLC0415 - few answers need it

        path = str(self._folder / vocabulary.FILE_NAME)
        return LLTokenizer(path, n_vocab=self.width, eos_token=sorted(self.stop_ids))

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
        texts = map(self.decode, range(self.width))
        return np.fromiter((len(text) - len(text.lstrip(_DIGITS)) for text in texts), np.uint8, self.width)

    @cached_property
    def letter(self) -> int:
        """A token that occurs in no number."""
        token: int = self.native.tokenize_str("a")[0]
        return token

    def decode(self, token: int) -> bytes:
        """Return the bytes that a token adds to a text; a control token gives its name."""
        text: bytes = self.native.decode_bytes([token])
        return text


def constraint_for(request: GenerationRequest, tools: Tools | None, token_bytes: TokenBytes) -> Constraint | None:
    """Return the constraint of a request's answer, or None. Raises SettingsError if it cannot be enforced.

    `tools`: those of the request, unless the model calls them in a format of its own.
    """
    room = request.max_new_tokens
    if tools:
        calls = tool_constraint(tools, token_bytes, request.schema, room)
        is_free = not (tools.required or tools.hidden or request.schema)
        return FreeTextConstraint(calls, token_bytes, CALL_BEGINS.encode()) if is_free else calls
    if request.grammar:
        return grammar_constraint(request.grammar, token_bytes)
    return schema_constraint(request.schema, token_bytes, room) if request.schema else None


def schema_constraint(schema: str, token_bytes: TokenBytes, room: int = _ROOM) -> "GrammarConstraint":
    """Return a constraint to a JSON schema. Raises SettingsError for an invalid or unsupported schema.

    `room`: tokens of the answer.
    """
    from llguidance import LLMatcher  # noqa: PLC0415 - few answers have a form

    data = _held_form(schema, room)
    grammar = LLMatcher.grammar_from_json_schema(json.dumps(data), overrides=json_schema.BLANKS)
    matcher = _matcher(grammar, token_bytes, lambda _: _unusable(Translatable("nothing can keep to it")))
    return GrammarConstraint(matcher, token_bytes, is_json=True, ending=_Ending(token_bytes, data))


def grammar_constraint(grammar: str, token_bytes: TokenBytes) -> "GrammarConstraint":
    """Return a constraint to a grammar in Lark's notation or llama.cpp's. Raises SettingsError."""
    from llguidance import grammar_from  # noqa: PLC0415 - few answers have a form

    try:
        notation = grammar_from("gbnf" if "::=" in grammar else "lark", grammar)
    except ValueError as error:
        raise _wrong_grammar(str(error)) from None
    return GrammarConstraint(_matcher(notation, token_bytes, _wrong_grammar), token_bytes)


def tool_constraint(tools: Tools, token_bytes: TokenBytes, schema: str = "", room: int = _ROOM) -> "GrammarConstraint":
    """Return a constraint to text, then calls with valid arguments. Raises SettingsError.

    `schema`: of the text. `room`: tokens of the answer. Parts of the schema of a tool that is not strict are left to
    the model if they cannot be enforced; see json_schema.
    """
    for tool in tools.callable:
        if tool.strict:
            json_schema.enforceable(tool.parameters).require(partial(_wrong_tool, tool.name))
    text = _held_form(schema, room) if schema else {}
    forms = {tool.name: _arguments(tool, room) for tool in tools.callable}
    unusable = partial(_wrong_tool, tools.callable[0].name, Translatable("nothing can keep to them"))

    def matcher_of(forms: Mapping[str, Any], unusable: Callable[[], SettingsError] = unusable) -> Any:
        grammar = _call_grammar(tools, token_bytes.markers, text, forms)
        return _matcher(grammar, token_bytes, lambda _: unusable())

    try:
        matcher = matcher_of(forms)
    except SettingsError:
        for tool in tools.callable:
            refusal = partial(_wrong_tool, tool.name, Translatable("nothing can keep to them"))
            try:
                matcher_of({tool.name: forms[tool.name]}, refusal)
            except SettingsError:
                if tool.strict:
                    raise
                forms[tool.name] = json.loads(json_schema.ANY_OBJECT)
        matcher = matcher_of(forms)
    return GrammarConstraint(matcher, token_bytes, is_json=True, may_call_again=tools.parallel)


def _held_form(schema: str, room: int) -> dict[str, Any]:
    part = json_schema.enforceable(schema)
    part.require(_unusable)
    return json_schema.bounded(part.schema, room)


def _arguments(tool: Tool, room: int) -> dict[str, Any]:
    """Return the schema of a tool's arguments, which are an object."""
    return {"type": "object", **json_schema.bounded(json_schema.enforceable(tool.parameters).schema, room)}


def _matcher(grammar: str, token_bytes: TokenBytes, unusable: Callable[[str], SettingsError]) -> Any:
    from llguidance import LLMatcher  # noqa: PLC0415 - few answers have a form

    matcher = LLMatcher(token_bytes.native, grammar, log_level=0)
    if matcher.is_error():
        raise unusable(matcher.get_error())
    matcher.compute_bitmask()  # the first token needs it, and it is cached
    if matcher.is_error():
        raise unusable("nothing can keep to it")
    return matcher


def _call_grammar(
    tools: Tools, markers: Mapping[str, int], schema: dict[str, Any], arguments: Mapping[str, dict[str, Any]]
) -> str:
    """Return the grammar in Lark's notation. `arguments`: schemas by the names of the tools that may be called.

    Text is free. A call begins where the mark, outside a block of code, and the name of a tool are written; from there
    on it has the form of a call, with arguments that keep to the schema. See tools.calls for calls without a mark.
    """
    begins, ends = (text if text in markers else json.dumps(text) for text in (CALL_BEGINS, CALL_ENDS))
    more = f'("\\n" {begins} "\\n" call "\\n" {ends}){{0,{MAX_CALLS - 1}}}' if tools.parallel else ""
    options = [f"{json.dumps(call_head(name))} %json {_json(form)}" for name, form in arguments.items()]
    calls = f"""structured: %json {_json(schema)}
calls: {begins} "\\n" call "\\n" {ends} {more}
call: ({" | ".join(options)}) "}}"
"""
    if tools.required or schema:
        return f"%llguidance {{}}\nstart: {'calls' if tools.required else 'structured | calls'}\n{calls}"
    heads = {f"head{number}": name_pattern([name]) for number, name in enumerate(arguments)}
    begun = [
        f'{head} BLANKS "," BLANKS "\\"arguments\\"" BLANKS ":" BLANKS %json {_json(form)}'
        for head, form in zip(heads, arguments.values(), strict=True)
    ]
    others = [str(index) for text, index in markers.items() if text != CALL_BEGINS]
    free = _marked_text if CALL_BEGINS in markers else _spelt_text
    return f"""%llguidance {{}}
{free(heads, name_pattern(arguments), f"<[{','.join(others)}]>" if others else "", is_hidden=tools.hidden)}
first: ({" | ".join(begun)}) BLANKS "}}" BLANKS {ends} {more}
BLANKS: /\\s{{0,16}}/
{calls if tools.parallel else ""}
"""


def _marked_text(heads: Mapping[str, str], head: str, other: str, *, is_hidden: bool) -> str:
    """Return the rules of text up to the head of a call, whose mark is a special token.

    `heads`: patterns by the names of their terminals; `head`: one for all; `other`: all other special tokens with text.
    In `even`, the text so far has an even number of fences, so no block of code is open.
    """
    free = _NO_CALL if is_hidden else ""

    def options(end: str, *, is_even: bool) -> str:
        same, changed = ("even", "odd") if is_even else ("odd", "even")
        after = {other: (same, changed)} if other else {}
        after[CALL_BEGINS] = ("marked", "odd") if is_even else ("odd", "marked")
        steps = [f"EVEN{end} {token} {even} | ODD{end} {token} {odd}" for token, (even, odd) in after.items()]
        return " | ".join([f"EVEN{end}", f"ODD{end}", *steps])

    return "\n".join(
        [
            "start: even",
            f"even: {options('', is_even=True)}",
            f"odd: {options('', is_even=False)}",
            f"marked: first | {options('_MARKED', is_even=True)}",
            f"EVEN: /{_EVEN}/{free}",
            f"ODD: /{_ODD}/{free}",
            f"EVEN_MARKED: /{_EVEN}/ & ~/{head}(?s:.*)/",
            f"ODD_MARKED: /{_ODD}/ & ~/{head}(?s:.*)/",
            *(f"{name}: /{pattern}/" for name, pattern in heads.items()),
        ]
    )


def _spelt_text(heads: Mapping[str, str], head: str, other: str, *, is_hidden: bool) -> str:
    """Return the rules of text up to the head of a call, whose mark is text; see _marked_text."""
    before = f"/{'(?s:.*)' if is_hidden else _EVEN}/{_NO_CALL if is_hidden else ''}"
    no_call = f"~/{'(?s:.*)' if is_hidden else _EVEN}{CALL_BEGINS}{head}(?s:.*)/"
    rules = [f"start: {f'(TEXT {other})* ' if other else ''}(TEXT | first)", f"BEFORE: {before}"]
    rules.append(f"TEXT: /(?s:.*)/ & {no_call}{_NO_CALL if is_hidden else ''}")
    return "\n".join([*rules, *(f"{name}[lazy]: BEFORE /{CALL_BEGINS}{form}/" for name, form in heads.items())])


def _json(schema: dict[str, Any]) -> str:
    return json.dumps({**schema, "x-guidance": json_schema.BLANKS})


class GrammarConstraint:
    """The tokens that may come next in one answer; see sampling.Constraint.

    The draft and then the target ask about the same text, each time one token longer. So the matcher keeps what it
    has read, and a mask is kept until its text is rolled back.
    """

    def __init__(
        self,
        matcher: Any,
        token_bytes: TokenBytes,
        *,
        is_json: bool = False,
        ending: "_Ending | None" = None,
        may_call_again: bool = False,
    ) -> None:
        """Constrain one answer.

        `is_json`: limit the digits of a number. `ending`: end the answer within its room. `may_call_again`: end it
        before a call is repeated.
        """
        self.is_cut = False
        self._matcher = matcher
        self._stop_ids = token_bytes.stop_ids
        self._token_bytes = token_bytes
        self._is_json = is_json
        self._ending = ending
        self._may_call_again = may_call_again
        self._written: list[int] = []
        self._read_ahead: list[int] = []  # tokens after the answer that the matcher has read
        self._masks: dict[tuple[int, ...], Allowed | None] = {}
        self._ends: dict[tuple[int, ...], list[int] | None] = {}  # the tokens that end the answer soonest
        self._replaced: dict[tuple[int, ...], int | None] = {}  # for want of room

    def allowed(self, run: Sequence[int]) -> Allowed | None:
        """Return whether each token may follow the answer and `run`, or None if `run` cannot follow."""
        key = tuple(run)
        if key not in self._masks:
            self._masks[key] = None if self._stop_ids.intersection(run) else self._mask(run)
        return self._masks[key]

    def settle(self, token: int, run: Sequence[int], room: int) -> int:
        """Return the token to write after the answer and `run` when the model chooses `token`.

        It is another one if the answer could not end within `room` tokens, this one included, or repeats a call.
        """
        if token in self._stop_ids:
            return token
        if self._may_call_again and self._is_last_call(run, room):
            return min(self._stop_ids)
        if self._ending is None or room > self._ending.near:
            return token
        end, end_here = self._soonest_end((*run, token)), self._soonest_end(tuple(run))
        if end_here is None or (end is not None and len(end) + 2 <= room) or (end and len(end) < len(end_here)):
            self._replaced.setdefault(tuple(run), None)
            return token
        settled = end_here[0] if end_here else min(self._stop_ids)
        self._replaced.setdefault(tuple(run), settled if settled != token else None)  # the target asks first
        self._ends[*run, settled] = end_here[1:]
        return settled

    def commit(self, token: int) -> None:
        """Append a token to the answer."""
        if self._read_ahead[:1] == [token]:
            del self._read_ahead[0]
        else:
            self._roll_back(0)
            is_accepted = self._matcher.consume_token(token)
            assert is_accepted, f"token {token} was not allowed"
        self.is_cut |= self._replaced.get(()) == token
        self._written.append(token)
        if self._ending:
            self._ending.commit(token)
        self._masks, self._ends = _after(token, self._masks), _after(token, self._ends)
        self._replaced = _after(token, self._replaced)

    def read(self, tokens: Sequence[int]) -> bool:
        """Append tokens that were written without this constraint. Return whether it allows them."""
        self._roll_back(0)
        num_read: int = self._matcher.try_consume_tokens(list(tokens))
        self._written += tokens
        self._masks, self._ends, self._replaced = {}, {}, {}
        return num_read == len(tokens)

    def _mask(self, run: Sequence[int]) -> Allowed | None:
        if not self._reads(run):
            return None
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        mask = np.unpackbits(bits, bitorder="little").view(np.bool_)
        return self._limit_digits(mask, run) if self._is_json else mask

    def _reads(self, run: Sequence[int]) -> bool:
        """Make the matcher read `run` after the answer. Return whether it accepts that."""
        num_kept = common_prefix(self._read_ahead, run)
        self._roll_back(num_kept)
        following = list(run[num_kept:])
        self._read_ahead += following[: self._matcher.try_consume_tokens(following)]
        return len(self._read_ahead) == len(run)

    def _limit_digits(self, mask: Allowed, run: Sequence[int]) -> Allowed:
        """Allow few digits in a row inside a number, if it can end there."""
        text = self._text([*self._written[-_MAX_DIGITS:], *run][-_MAX_DIGITS:])
        before = text.rstrip(_DIGITS)
        row = len(text) - len(before)
        if not (row or before[-1:] in b"eE+-") or mask[self._token_bytes.letter]:
            return mask
        most = _MAX_EXPONENT_DIGITS if _EXPONENT.search(before) else _MAX_DIGITS
        ended = mask.copy()
        ended[: len(self._token_bytes.digits)] &= self._token_bytes.digits <= max(0, most - row)
        return ended if ended.any() else mask

    def _is_last_call(self, run: Sequence[int], room: int) -> bool:
        """Return whether `run` ends with a call after which no other call may come.

        The model repeats itself, or there is no room for a call as long as those before.
        """
        tokens = [*self._written, *run]
        if not self._text(tokens[-_CALL_END_TOKENS:]).endswith(CALL_ENDS.encode()):
            return False
        text = self._text(tokens).decode("utf-8", "replace")
        if self._is_text(run):  # that quotes calls
            return False
        *before, last = (part.partition(CALL_BEGINS)[2] for part in text.split(CALL_ENDS)[:-1])
        longest = max(map(len, [*before, last])) + len(CALL_BEGINS + CALL_ENDS)
        is_full = room * len(text) < longest * len(tokens) * _CALL_RESERVE
        return is_full or without_blanks(last) in map(without_blanks, before)

    def _is_text(self, run: Sequence[int]) -> bool:
        allowed = self.allowed(run)
        return allowed is None or bool(allowed[self._token_bytes.letter])

    def _soonest_end(self, run: tuple[int, ...]) -> list[int] | None:
        """Return tokens that end the answer after `run`, as few as are found; None if none are."""
        assert self._ending
        if run not in self._ends:
            before = self._ends.get(run[:-1]) if run else None
            if before and before[0] == run[-1]:
                self._ends[run] = before[1:]
            else:
                self._ends[run] = self._ending.find(self._matcher, run) if self._reads(run) else None
        return self._ends[run]

    def _text(self, tokens: Sequence[int]) -> bytes:
        return b"".join(map(self._token_bytes.decode, tokens))

    def _roll_back(self, num_kept: int) -> None:
        self._matcher.rollback(len(self._read_ahead) - num_kept)
        del self._read_ahead[num_kept:]


class FreeTextConstraint:
    """The tokens that may come next in an answer that is free up to a mark; see sampling.Constraint.

    Before the mark no mask is computed, so text costs nothing. Control tokens and broken characters may stand there, as
    in any text; an answer with them is free after the mark, too.
    """

    def __init__(self, inner: GrammarConstraint, token_bytes: TokenBytes, mark: bytes) -> None:
        self._inner, self._token_bytes, self._mark = inner, token_bytes, mark
        self._end = b""  # of the text so far: a mark may have begun in it
        self._unread: list[int] = []  # tokens that `inner` has not read
        self._has_mark = False
        self._is_off = False

    @property
    def is_cut(self) -> bool:
        return self._inner.is_cut

    def allowed(self, run: Sequence[int]) -> Allowed | None:
        return self._inner.allowed(run) if self._applies(run) else None

    def settle(self, token: int, run: Sequence[int], room: int) -> int:
        return self._inner.settle(token, run, room) if self._applies(run) else token

    def commit(self, token: int) -> None:
        if self._applies(()):
            self._inner.commit(token)
        elif not self._is_off:
            text = self._text_with([token])
            self._has_mark = self._mark in text
            self._end = text[1 - len(self._mark) :]
            self._unread.append(token)

    def _applies(self, run: Sequence[int]) -> bool:
        """Return whether the mark stands in the answer and `run`. If so, `inner` has read the answer."""
        if self._is_off or not (self._has_mark or self._mark in self._text_with(run)):
            return False
        if self._unread:
            self._is_off = not self._inner.read(self._unread)
            self._unread = []
        return not self._is_off

    def _text_with(self, run: Sequence[int]) -> bytes:
        return self._end + b"".join(map(self._token_bytes.decode, run))


def _after(token: int, values: dict[tuple[int, ...], _Value]) -> dict[tuple[int, ...], _Value]:
    """Return the values of the runs that begin with a token, by what follows it."""
    return {run[1:]: value for run, value in values.items() if run[:1] == (token,)}


class _Ending:
    """The search for the fewest tokens that end an answer with a schema."""

    def __init__(self, token_bytes: TokenBytes, schema: dict[str, Any]) -> None:
        self._token_bytes = token_bytes
        self._ids: dict[str, list[int]] = {}
        names = [json.dumps(name, ensure_ascii=False) for name in json_schema.names(schema)]
        lengths = [len(self._tokens(f",{name}:")) + 2 for name in names]
        self.near = _NEAR_END + min(sum(lengths), _MAX_ENDING)
        names = list(dict.fromkeys(names))[:_MAX_NAMES]
        self._starts = {
            "": ("}", "]"),
            ",": tuple(f",{name}:" for name in names),
            '"': tuple(f"{name}:" for name in names),
            " ": _SCALARS,
            "{": tuple(f"{{{name}:" for name in names),
            "  ": _REST,
        }
        self._quotes = _Quotes()

    def commit(self, token: int) -> None:
        """Append a token to the answer."""
        self._quotes.read(self._token_bytes.decode(token))

    def find(self, matcher: Any, run: Sequence[int]) -> list[int] | None:
        """Return tokens after which the answer may end; None if none are found. `matcher` has read `run`."""
        quotes = replace(self._quotes)
        for token in run:
            quotes.read(self._token_bytes.decode(token))
        end = list[int]()
        while len(end) < _MAX_ENDING and not matcher.is_accepting():
            piece = next(
                (ids for ids in self._pieces(matcher, quotes) if matcher.validate_tokens(ids) == len(ids)), None
            )
            if not piece:
                break
            matcher.try_consume_tokens(piece)
            end += piece
            for token in piece:
                quotes.read(self._token_bytes.decode(token))
        is_ended = matcher.is_accepting()
        matcher.rollback(len(end))
        return end if is_ended else None

    def _pieces(self, matcher: Any, quotes: "_Quotes") -> Iterator[list[int]]:
        """Yield the texts that may come next, beginning with those that end the answer soonest."""
        forced = matcher.compute_ff_tokens()
        if forced:
            yield list(forced)
        if quotes.is_open:
            yield from map(self._tokens, _QUOTED_ENDS)
        else:
            for start, texts in self._starts.items():
                if not start.strip() or matcher.validate_tokens(self._tokens(start)):
                    yield from map(self._tokens, texts)
        bits = np.frombuffer(matcher.compute_bitmask(), np.uint8)
        allowed = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
        lengths = {token: len(self._token_bytes.decode(token)) for token in allowed[:_MAX_ENDING].tolist()}
        yield from ([token] for token in sorted(lengths, key=lengths.__getitem__))

    def _tokens(self, text: str) -> list[int]:
        if text not in self._ids:
            self._ids[text] = list(self._token_bytes.native.tokenize_str(text))
        return self._ids[text]


@dataclass
class _Quotes:
    """The state at the end of a piece of JSON: inside a text or not."""

    is_open: bool = False
    _is_escaped: bool = False

    def read(self, text: bytes) -> None:
        for character in text:
            if self._is_escaped:
                self._is_escaped = False
            elif character == ord('"'):
                self.is_open = not self.is_open
            else:
                self._is_escaped = self.is_open and character == ord("\\")


def _unusable(reason: str) -> SettingsError:
    return SettingsError(
        "The answer cannot be kept to this JSON schema: {reason}. Leave that part of it out.", reason=reason
    )


def _wrong_grammar(reason: str) -> SettingsError:
    return SettingsError("The grammar cannot be used ({first}): correct that part of it.", first=_excerpt(reason))


def _wrong_tool(name: str, reason: str) -> SettingsError:
    return SettingsError(
        "The parameters of the tool {name} cannot be kept to: {reason}. Leave that part of them out, or `strict`.",
        name=name,
        reason=reason,
    )


def _excerpt(reason: str) -> str:
    return " ".join(reason.split())[:200]
