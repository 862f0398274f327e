"""Calls in an answer are found wherever its pieces are cut."""

import json

import pytest

from headstart.engine.engine import Call, written_call
from headstart.tools.calls import CallReader, whole_arguments

ARGUMENTS = '{"a": "}\\n</tool_call> \\"{", "b": [{"c": 1}]}'
CALL = f'{{"name": "f", "arguments": {ARGUMENTS}}}'
MARKED = f"<tool_call>\n{CALL}\n</tool_call>"


def read(answer: str, size: int, *, bare: bool = True) -> tuple[str, list[tuple[str, str]]]:
    """The text, and the names and arguments of the calls, of an answer in pieces of this size."""
    reader, text, calls = CallReader(bare), "", list[list[str]]()
    for at in range(0, len(answer), size):
        more, parts = reader.push(answer[at : at + size])
        text += more
        for part in parts:
            if part.name:
                assert part.id.startswith("call_")
                calls.append([part.name, ""])
            calls[part.index][1] += part.arguments
    return text + reader.flush(), [(name, arguments) for name, arguments in calls]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("answer", "text", "calls"),
    [
        ("Hello {x} <tool_box>", "Hello {x} <tool_box>", 0),
        (MARKED, "", 1),
        (f"I look.\n{MARKED}", "I look.\n", 1),
        (f"{MARKED}\n{MARKED}", "", 1),  # it repeats itself
        (CALL, "", 1),
        (f"```json\n{CALL}\n```", "", 1),
        ("```python\nx\n```", "```python\nx\n```", 0),
        ("```js", "```js", 0),
        ('{"name": "Ann", "age": 3}', '{"name": "Ann", "age": 3}', 0),
        ('```json\n{"a": 1}\n```', '```json\n{"a": 1}\n```', 0),
        ("{}", "{}", 0),
        ("<tool_cal", "<tool_cal", 0),
        ("Between `<tool_call>` and `</tool_call>`.", "Between `<tool_call>` and `</tool_call>`.", 0),
        ('<tool_call>\n{"a": 1}\n</tool_call> it is', '<tool_call>\n{"a": 1}\n</tool_call> it is', 0),
        (f"After <tool_call>: {MARKED}", "After <tool_call>: ", 1),
    ],
)
def test_text_and_tool_calls_are_separated(answer: str, text: str, calls: int, size: int) -> None:
    assert json.loads(ARGUMENTS)
    assert read(answer, size) == (text, [("f", ARGUMENTS)] * calls)


@pytest.mark.parametrize("name", ["two words", 'a "quote"', "back\\slash", "naïve 🙂", "a\nb", "f" * 200])
@pytest.mark.parametrize("size", [1, 1000])
def test_tool_call_may_have_any_name(name: str, size: int) -> None:
    written = written_call(Call(name, ARGUMENTS))
    assert read(written, size) == ("", [(name, json.dumps(json.loads(ARGUMENTS)))])


def test_json_with_a_damaged_name_is_no_tool_call() -> None:
    damaged = '{"name": "\\q", "arguments": {}}'
    assert read(damaged, 4) == (damaged, [])


def test_structured_text_is_no_tool_call() -> None:
    assert read('{"name": "f", "arguments": {}}', 3, bare=False) == ('{"name": "f", "arguments": {}}', [])


def test_tool_call_cut_in_its_head_is_no_text() -> None:
    assert read(MARKED[:20], 5) == read(CALL[:20], 5) == ("", [])


def test_cut_tool_call_has_its_part() -> None:
    assert read(MARKED[:50], 5) == ("", [("f", MARKED[:50].partition('ments": ')[2])])


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_repeated_tool_call_is_left_out(size: int) -> None:
    other, longer = MARKED.replace('"c": 1', '"c": 2'), MARKED.replace('"c": 1', '"c": 12')
    again = MARKED.replace('"b": [', '"b":  [')
    _, calls = read("\n".join([MARKED, other, longer, again, MARKED.replace('"f"', '"g"')]), size)
    assert [name for name, _ in calls] == ["f", "f", "f", "g"]
    assert [json.loads(arguments)["b"] for _, arguments in calls] == [[{"c": number}] for number in (1, 2, 12, 1)]


@pytest.mark.parametrize(
    ("answer", "calls", "whole"), [(MARKED, 1, 1), (MARKED[:50], 1, 0), (f"{MARKED}\n{MARKED[:50]}", 1, 1)]
)
def test_call_that_was_cut_off_is_not_whole(answer: str, calls: int, whole: int) -> None:
    reader = CallReader()
    reader.push(answer)
    assert (reader.calls, reader.whole_calls) == (calls, whole)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("{", {}),
        ('{"a": 1', {"a": 1}),
        ('{"a": tr', {}),
        ('{"a": [1, {"b": "c', {"a": [1, {"b": "c"}]}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": {"c": 1}, "b":', {"a": {"c": 1}}),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "x\\\\', {"a": "x\\"}),
        ('{"a": "x\\u00', {"a": "x"}),
        ('{"a": 1}', {"a": 1}),
        ("no JSON", {"arguments": "no JSON"}),
        ("[1]", {"arguments": "[1]"}),
        ('{"a": 1e999}', {"arguments": '{"a": 1e999}'}),
        ('{"a": NaN}', {"arguments": '{"a": NaN}'}),
        (f'{{"a": {"1" * 5000}}}', {"arguments": f'{{"a": {"1" * 5000}}}'}),
        ('{"a":' * 200, {"arguments": '{"a":' * 200}),
    ],
)
def test_arguments_of_a_history_become_an_object(text: str, arguments: object) -> None:
    assert json.loads(whole_arguments(text)) == arguments
