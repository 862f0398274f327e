"""Answers that follow a schema, and predictions: with any drafter, the text equals that of plain decoding."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from headstart.engine.engine import (
    Call,
    ConversationRequest,
    Mode,
    Origin,
    PromptRequest,
    Sampling,
    Speculation,
    Tool,
    Tools,
    written_call,
)
from headstart.engine.local import LocalEngine
from headstart.engine.sampling import Constraint
from headstart.engine.text import grammar
from headstart.engine.text.grammar import TokenBytes
from headstart.engine.text.tool_calls import MAX_CALLS
from headstart.errors import SettingsError
from tests.engine.answers import LIST, ask, request

FIXED = Speculation(Mode.FIXED, 5)
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "colour": {"enum": ["red", "green", "blue"]},
            "sizes": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 99}, "maxItems": 4},
        },
        "required": ["colour", "sizes"],
        "additionalProperties": False,
    }
)
SAMPLINGS = (
    Sampling(),
    Sampling(temperature=1.5, seed=3),
    Sampling(temperature=0.9, top_k=40, top_p=0.9, min_p=0.01, repetition_penalty=1.2, frequency_penalty=0.5, seed=8),
)


def formed(sampling: Sampling = SAMPLINGS[0], schema: str = SCHEMA) -> ConversationRequest:
    return structs.replace(request(LIST, sampling=sampling, tokens=300), schema=schema)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "sampled", "cut"])
def test_answer_keeps_to_its_schema_with_any_drafter(pair_engine: LocalEngine, sampling: Sampling) -> None:
    query = formed(sampling)
    plain = ask(pair_engine, query)
    assert ask(pair_engine, structs.replace(query, speculation=FIXED)).essence == plain.essence
    written = json.loads(plain.text)
    assert written["colour"] in {"red", "green", "blue"}
    assert all(0 <= size <= 99 for size in written["sizes"])
    assert len(written["sizes"]) <= 4


def test_acceptance_threshold_keeps_to_the_schema(pair_engine: LocalEngine) -> None:
    tolerant = replace(FIXED, acceptance_threshold=0.01)
    written = json.loads(ask(pair_engine, structs.replace(formed(SAMPLINGS[1]), speculation=tolerant)).text)
    assert written.keys() == {"colour", "sizes"}


def test_answer_without_a_schema_is_free(lone_engine: LocalEngine) -> None:
    free = request(LIST)
    before = ask(lone_engine, free)
    ask(lone_engine, formed())
    assert ask(lone_engine, free).essence == before.essence


@pytest.mark.parametrize("schema", ["{", "[]", '{"type": "foo"}', '{"type": "object", "not": {}}', '{"$ref": "#"}'])
def test_unsupported_schema_is_refused(lone_engine: LocalEngine, schema: str) -> None:
    with pytest.raises(SettingsError, match="JSON schema"):
        ask(lone_engine, formed(schema=schema))


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        ({"type": "integer"}, "-123456789012345678", "12345678901234567890"),
        ({"type": ["integer", "null"], "minimum": 0}, "7", "12345678901234567890"),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", "[12345678901234567890]"),
        ({"$defs": {"a": {"type": "integer"}}, "$ref": "#/$defs/a"}, "5", "12345678901234567890"),
        ({"type": "integer", "enum": [2 * 10**18]}, "2000000000000000000", "3"),
        ({"type": "number"}, "6.626e-34", f"0.{'3' * 21}"),
        ({"type": "number"}, f"-{'4' * 20}.{'0' * 20}e-11", "5" * 21),
        ({"items": {"anyOf": [{"type": "number"}, {"type": "null"}]}}, "[1.5e7, null]", "[1e+999"),
        ({"type": "integer", "maximum": 10**19}, "1" * 19, "1" * 21),
        ({"type": "string"}, json.dumps("7" * 40), "7"),
        ({"type": "string", "pattern": "[0-9]{30}"}, json.dumps("7" * 30), json.dumps("7" * 20)),
        ({"properties": {"enum": {"type": "integer"}}}, '{"enum": 1}', '{"enum": 12345678901234567890}'),
    ],
)
def test_numbers_have_a_maximum_length(token_bytes: TokenBytes, schema: Any, accepted: str, refused: str) -> None:
    for text, fits in ((accepted, True), (refused, False)):
        assert reads(grammar.schema_constraint(json.dumps(schema), token_bytes), token_bytes, text) is fits


@pytest.mark.parametrize("schema", ['{"items": ' * 600 + "{}" + "}" * 600, '{"type": "integer", "minimum": "a"}'])
def test_malformed_schema_is_refused(lone_engine: LocalEngine, schema: str) -> None:
    with pytest.raises(SettingsError, match="JSON schema"):
        ask(lone_engine, formed(schema=schema))


TOOLS = Tools((Tool("paint", SCHEMA, "Paints"), Tool("wait", '{"type": "object", "uniqueItems": true, "not": {}}')))
PAINT = '{"name": "paint", "arguments": {"colour": "red", "sizes": []}}'
PAINTED = f"<tool_call>\n{PAINT}\n</tool_call>"


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "sampled", "cut"])
def test_tool_call_keeps_to_its_schema_with_any_drafter(pair_engine: LocalEngine, sampling: Sampling) -> None:
    query = structs.replace(formed(sampling, ""), tools=replace(TOOLS, required=True, only="paint"))
    plain = ask(pair_engine, query)
    assert ask(pair_engine, structs.replace(query, speculation=FIXED)).essence == plain.essence
    head, tail = '<tool_call>\n{"name": "paint", "arguments": ', "}\n</tool_call>"
    written = json.loads(plain.text.removeprefix(head).removesuffix(tail))
    assert written["colour"] in {"red", "green", "blue"}


def test_answer_with_tools_may_be_text(pair_engine: LocalEngine) -> None:
    query = structs.replace(formed(SAMPLINGS[1], ""), tools=TOOLS, max_new_tokens=20)
    plain = ask(pair_engine, query)
    assert plain.text
    assert ask(pair_engine, structs.replace(query, speculation=FIXED)).essence == plain.essence


@pytest.mark.parametrize(
    ("tools", "text", "fits"),
    [
        (TOOLS, "Hello {you} ```json", True),
        (TOOLS, f"I paint: {PAINTED}", True),
        (TOOLS, '{"colour": "grey"} it is', True),
        (TOOLS, f"```json\n{PAINT}\n``` is a call", True),
        (TOOLS, "<tool_call> begins a call, </tool_call> ends it", True),
        (TOOLS, f"```\n{PAINTED.replace('red', 'grey')}\n``` is none", True),
        (TOOLS, '<tool_call>\n{"name": "fly", "arguments": {}}\n</tool_call> is none', True),
        (TOOLS, PAINTED.replace("red", "grey"), False),
        (TOOLS, f"```\na\n```\n{PAINTED.replace('red', 'grey')}", False),
        (TOOLS, f"{PAINTED} and more", False),
        (TOOLS, f"{PAINTED}\n{PAINTED}", False),
        (replace(TOOLS, parallel=True), f"{PAINTED}\n{PAINTED}", True),
        (replace(TOOLS, required=True), "Hello", False),
        (replace(TOOLS, required=True), PAINTED, True),
        (replace(TOOLS, required=True, only="wait"), PAINTED, False),
    ],
)
def test_tool_calls_have_one_format(token_bytes: TokenBytes, tools: Tools, text: str, fits: bool) -> None:
    assert reads(grammar.tool_constraint(tools, token_bytes), token_bytes, text) is fits


@pytest.mark.parametrize("name", ["two words", 'a "quote"', "back\\slash", "naïve 🙂", "a\nb", "f" * 200])
def test_tool_may_have_any_name(token_bytes: TokenBytes, name: str) -> None:
    tools = Tools((Tool(name, '{"type": "object"}'),), required=True)
    assert reads(grammar.tool_constraint(tools, token_bytes), token_bytes, written_call(Call(name, "{}")))


def test_numbers_of_a_tool_call_have_a_maximum_length(token_bytes: TokenBytes) -> None:
    tools = Tools((Tool("scale", '{"type": "object", "properties": {"by": {"type": "number"}}}'),))
    text = f'{"3" * 40}: <tool_call>\n{{"name": "scale", "arguments": {{"by": 0.{"3" * 20}'
    for added, fits in (("", True), ("3", False), ("}", True)):
        assert reads(grammar.tool_constraint(tools, token_bytes), token_bytes, text + added) is fits


@pytest.mark.parametrize("lost", [{"pattern": "^(?!x)"}, {"contains": {}}, {"$ref": "#gone"}, {"type": "strong"}])
def test_tool_that_cannot_be_held_spoils_no_other(token_bytes: TokenBytes, lost: Any) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string", **lost}, "by": {"type": "integer"}}}
    tools = Tools((TOOLS.offered[0], Tool("go", json.dumps(schema))))
    call = '<tool_call>\n{"name": "go", "arguments": {"to": "x", "by": '
    for text, fits in (
        (PAINTED, True),
        (PAINTED.replace("red", "grey"), False),
        (f"{call}1", True),
        (f'{call}"', False),
    ):
        assert reads(grammar.tool_constraint(tools, token_bytes), token_bytes, text) is fits


def test_tool_that_nothing_can_keep_to_takes_any_object(token_bytes: TokenBytes) -> None:
    tools = Tools((TOOLS.offered[0], Tool("go", '{"$ref": "#"}')))
    for text in (PAINTED, '<tool_call>\n{"name": "go", "arguments": {"a": [1]}}\n</tool_call>'):
        assert reads(grammar.tool_constraint(tools, token_bytes), token_bytes, text)
    with pytest.raises(SettingsError, match="tool go cannot be kept to"):
        grammar.tool_constraint(Tools((TOOLS.offered[0], Tool("go", '{"$ref": "#"}', strict=True))), token_bytes)


ENDLESS = {
    "type": "object",
    "properties": {"left": {"anyOf": [{"type": "string"}, {"$ref": "#"}]}, "size": {"type": "integer", "minimum": 150}},
    "required": ["left", "size"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=["greedy", "sampled"])
@pytest.mark.parametrize("schema", [ENDLESS, {"type": "object"}, {"type": "array", "items": {"type": "string"}}])
@pytest.mark.parametrize("room", [30, 70])
def test_answer_with_a_schema_ends_within_its_room(
    pair_engine: LocalEngine, sampling: Sampling, schema: Any, room: int
) -> None:
    query = structs.replace(formed(sampling, json.dumps(schema)), max_new_tokens=room)
    plain = ask(pair_engine, query)
    assert ask(pair_engine, structs.replace(query, speculation=FIXED)).essence == plain.essence
    json.loads(plain.text)
    assert plain.stats.output_tokens <= room


def test_answer_that_had_to_end_is_cut_off(token_bytes: TokenBytes) -> None:
    properties = {"a": {"type": "string"}, "b": {"enum": ["yes", "no"]}}
    schema = {"type": "object", "properties": properties, "required": ["a", "b"]}
    constraint = grammar.schema_constraint(json.dumps(schema), token_bytes)
    write(constraint, token_bytes, '{"a": "x')
    (letter,) = token_bytes.native.tokenize_str("y")
    assert constraint.settle(letter, [], 1000) == letter
    text, room = "", 40
    while (token := constraint.settle(letter, [], room)) not in token_bytes.stop_ids:
        constraint.commit(token)
        text, room = text + token_bytes.decode(token).decode(), room - 1
    assert json.loads('{"a": "x' + text).keys() == {"a", "b"}
    assert (constraint.is_cut, room > 0) == (True, True)


def test_call_is_not_made_again(token_bytes: TokenBytes) -> None:
    again, other = PAINTED.replace('"sizes": []', '"sizes":\n []'), PAINTED.replace("red", "blue")
    for texts, is_over in (([PAINTED], False), ([PAINTED, other], False), ([other, PAINTED, again], True)):
        constraint = grammar.tool_constraint(replace(TOOLS, parallel=True, required=True), token_bytes)
        write(constraint, token_bytes, "\n".join(texts))
        (newline,) = token_bytes.native.tokenize_str("\n")
        assert (constraint.settle(newline, [], 1000) in token_bytes.stop_ids) is is_over
        assert constraint.settle(newline, [], 20) in token_bytes.stop_ids  # no room for another one
        assert not constraint.is_cut


def test_number_of_calls_is_limited(token_bytes: TokenBytes) -> None:
    tools = replace(TOOLS, parallel=True)
    assert reads(grammar.tool_constraint(tools, token_bytes), token_bytes, "\n".join([PAINTED] * MAX_CALLS))
    assert not reads(grammar.tool_constraint(tools, token_bytes), token_bytes, "\n".join([PAINTED] * 17))


def free_constraint(token_bytes: TokenBytes) -> Constraint:
    constraint = grammar.constraint_for(request(LIST), TOOLS, token_bytes)
    assert constraint
    return constraint


@pytest.mark.parametrize("text", ['{"name": "paint"} and ```json\n{', "Explain <tool_cal", "So: "])
def test_text_before_a_call_needs_no_mask(token_bytes: TokenBytes, text: str) -> None:
    constraint, ids = free_constraint(token_bytes), token_bytes.native.tokenize_str(text)
    for at, token in enumerate(ids):
        assert constraint.allowed(ids[at:]) is None
        constraint.commit(token)


@pytest.mark.parametrize(
    "text", [f"So:\n{PAINTED}", f"```\n{PAINTED}\n```\n{PAINTED}", f"<tool_call> is a mark. {PAINTED}"]
)
def test_masks_after_the_mark_are_those_of_the_whole_answer(token_bytes: TokenBytes, text: str) -> None:
    constraint, ids = free_constraint(token_bytes), token_bytes.native.tokenize_str(text)
    whole = grammar.tool_constraint(TOOLS, token_bytes)
    for at in range(len(ids)):
        for end in (at, at + 1, at + 5, at):
            has_mark = b"<tool_call>" in b"".join(map(token_bytes.decode, ids[:end]))
            allowed, expected = constraint.allowed(ids[at:end]), whole.allowed(ids[at:end])
            if has_mark and allowed is not None and expected is not None:
                assert np.array_equal(allowed, expected)
            else:
                assert allowed is None
                assert not has_mark or expected is None
        constraint.commit(ids[at])
        whole.commit(ids[at])


def test_call_after_a_broken_character_is_free(token_bytes: TokenBytes) -> None:
    constraint = free_constraint(token_bytes)
    broken = next(token for token in range(600) if token_bytes.decode(token) == b"\xe2")
    for token in [broken, *token_bytes.native.tokenize_str(PAINTED)]:
        assert constraint.allowed([]) is None
        assert constraint.settle(token, [], 100) == token
        constraint.commit(token)


def write(constraint: grammar.GrammarConstraint, token_bytes: TokenBytes, text: str) -> None:
    for token in token_bytes.native.tokenize_str(text):
        constraint.commit(token)


def test_own_grammar_has_no_maximum_of_digits(token_bytes: TokenBytes) -> None:
    assert reads(grammar.grammar_constraint("start: /[0-9]+/", token_bytes), token_bytes, "7" * 40)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("It is red.", True),
        ('{"colour": "red"}', True),
        ("```json\n{", True),
        (PAINT, False),
        (PAINT.replace("{", "{{", 1), False),
        (f"```json\n{PAINT}", False),
        (PAINTED, True),
        (PAINTED.replace("red", "grey"), False),
    ],
)
def test_hidden_tools_forbid_calls_only(token_bytes: TokenBytes, text: str, fits: bool) -> None:
    assert reads(grammar.tool_constraint(replace(TOOLS, hidden=True), token_bytes), token_bytes, text) is fits


def test_unsupported_strict_tool_is_named(token_bytes: TokenBytes) -> None:
    with pytest.raises(SettingsError, match="parameters of the tool wait cannot be kept to"):
        grammar.tool_constraint(Tools((replace(TOOLS.offered[1], strict=True),)), token_bytes)


def reads(constraint: grammar.GrammarConstraint, token_bytes: TokenBytes, text: str) -> bool:
    """Return whether an answer may begin with the text."""
    for token in token_bytes.native.tokenize_str(text):
        allowed = constraint.allowed([])
        assert allowed is not None
        if not allowed[token]:
            return False
        constraint.commit(token)
    return True


@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=["greedy", "sampled"])
def test_prediction_is_copied_and_changes_no_token(lone_engine: LocalEngine, sampling: Sampling) -> None:
    query = request(LIST, sampling=sampling, tokens=60)
    plain = ask(lone_engine, query)
    guessed = structs.replace(query, speculation=FIXED)
    without = ask(lone_engine, guessed)
    foretold = ask(lone_engine, structs.replace(guessed, prediction=plain.text))
    wrong = ask(lone_engine, structs.replace(guessed, prediction="Something else altogether, and more of it."))
    assert foretold.essence == without.essence == wrong.essence == plain.essence
    copied = [answer.stats.by_origin.get(Origin.NGRAM, 0) for answer in (foretold, without)]
    assert copied[0] > copied[1]
    assert foretold.stats.rounds < without.stats.rounds


def test_raw_prompt_is_continued(lone_engine: LocalEngine) -> None:
    tokenizer = lone_engine.tokenizer
    raw = PromptRequest(max_new_tokens=8, prompt="one two three")
    answer = ask(lone_engine, raw)
    assert answer.stats.prompt_tokens == len(tokenizer.raw_prompt("one two three")) == answer.prefills[0].total
    assert tokenizer.raw_prompt("one two three") == tokenizer.encode("one two three")


class Counting:
    """A matcher of llguidance that counts its calls."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher
        self.read = self.masks = 0

    def try_consume_tokens(self, tokens: list[int]) -> int:
        self.read += len(tokens)
        return int(self._matcher.try_consume_tokens(tokens))

    def consume_token(self, token: int) -> bool:
        return self.try_consume_tokens([token]) == 1

    def compute_bitmask(self) -> bytes:
        self.masks += 1
        return bytes(self._matcher.compute_bitmask())

    def rollback(self, count: int) -> None:
        self._matcher.rollback(count)


def read_token_bytes(engine: LocalEngine) -> TokenBytes:
    return TokenBytes(
        engine.tokenizer.folder, engine.target.runner.vocabulary, engine.target.manifest.tokenizer.stop_ids
    )


def a_text(constraint: grammar.GrammarConstraint, length: int) -> list[int]:
    """Draw tokens of a text that the grammar allows from its state; fewer at its end."""
    run: list[int] = []
    while len(run) < length:
        allowed = constraint.allowed(run)
        assert allowed is not None
        token = int(np.flatnonzero(allowed)[0])
        if token in constraint._stop_ids:
            break
        run.append(token)
    return run


def test_masks_are_computed_once(lone_engine: LocalEngine) -> None:
    token_bytes = read_token_bytes(lone_engine)
    counting = Counting(grammar.schema_constraint(SCHEMA, token_bytes)._matcher)
    constraint = grammar.GrammarConstraint(counting, token_bytes)
    guessed = a_text(constraint, 8)  # a draft
    for count in range(9):  # the target checks all of it
        constraint.allowed(guessed[:count])
    for token in guessed:
        constraint.commit(token)
    constraint.allowed([])  # the next round begins where the check ended
    assert (counting.read, counting.masks) == (8, 9)


STEPS = st.lists(st.tuples(st.sampled_from(["ask", "wrong", "commit"]), st.integers(0, 6)), max_size=12)


@settings(max_examples=30, deadline=None)
@example([("commit", 6)] * 9)  # the text is at its end
@given(STEPS)
def test_masks_equal_those_of_a_fresh_matcher(token_bytes: TokenBytes, steps: Sequence[tuple[str, int]]) -> None:
    constraint, written = grammar.schema_constraint(SCHEMA, token_bytes), list[int]()
    guessed: list[int] = []
    for kind, count in steps:
        guessed = guessed or a_text(constraint, 6)
        if kind == "commit":
            for token in guessed[:count]:
                constraint.commit(token)
            written, guessed = written + guessed[:count], guessed[count:]
        run = [*guessed[:count], *([0] if kind == "wrong" else [])]
        fresh = grammar.schema_constraint(SCHEMA, token_bytes)
        for token in written:
            fresh.commit(token)
        got, expected = constraint.allowed(run), fresh.allowed(run)
        assert (got is None) == (expected is None)
        assert got is None or expected is None or np.array_equal(got, expected)


@pytest.fixture(scope="module")
def token_bytes(lone_engine: LocalEngine) -> TokenBytes:
    return read_token_bytes(lone_engine)
