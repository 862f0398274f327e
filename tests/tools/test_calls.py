"""Calls in an answer are found wherever its pieces are cut."""

import json
from collections.abc import Sequence

import pytest

from headstart.engine.engine import Call, Tool, written_call
from headstart.tools.calls import CallReader, whole_arguments

ARGUMENTS = '{"a": "}\\n</tool_call> \\"{", "b": [{"c": 1}]}'
CALL = f'{{"name": "f", "arguments": {ARGUMENTS}}}'
MARKED = f"<tool_call>\n{CALL}\n</tool_call>"
PLACE = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (Tool("f", "{}"), Tool("g", "{}"), Tool("get_weather", json.dumps(PLACE)))
WEATHER = '{\n  "name": "get_weather",\n  "arguments": {"city": "Oslo"}\n}'


def read(
    answer: str, size: int, *, bare: bool = True, tools: Sequence[Tool] = TOOLS
) -> tuple[str, list[tuple[str, str]]]:
    """Return the text, and the names and arguments of the calls, of an answer in pieces of this size."""
    reader, text, calls = CallReader(tools, bare), "", list[list[str]]()
    steps = [reader.push(answer[at : at + size]) for at in range(0, len(answer), size)]
    for more, parts in (*steps, reader.finish()):
        text += more
        for part in parts:
            if part.name:
                assert part.id.startswith("call_")
                calls.append([part.name, ""])
            calls[part.index][1] += part.arguments
    return text, [(name, arguments) for name, arguments in calls]


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
    assert read(written, size, tools=[Tool(name, "{}")]) == ("", [(name, json.dumps(json.loads(ARGUMENTS)))])


def test_json_with_a_damaged_name_is_no_tool_call() -> None:
    damaged = '{"name": "\\q", "arguments": {}}'
    assert read(damaged, 4) == (damaged, [])


def test_structured_text_is_no_tool_call() -> None:
    assert read('{"name": "f", "arguments": {}}', 3, bare=False) == ('{"name": "f", "arguments": {}}', [])


def test_tool_call_cut_in_its_head_is_no_text() -> None:
    assert read(MARKED[:20], 5) == ("", [])


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    "answer",
    [
        '{"city": "Oslo", "temperature": 3}',
        '```json\n{"city": "Oslo"}\n```\nThat is the JSON.',
        '{\n  "name": "get_weather",\n  "version": "1.0.0"\n}',  # a package.json
        '```json\n{"name": "my-app", "arguments": {}}\n```',
        WEATHER.replace("get_weather", "get_time"),
        WEATHER.replace("}\n}", '},\n  "id": 1\n}'),
        WEATHER.replace('"Oslo"', '"Oslo", "temp": 3'),
        WEATHER.replace('"Oslo"', "3"),
        WEATHER.replace('{"city": "Oslo"}', "{}"),
        WEATHER.replace('{"city": "Oslo"}', '["Oslo"]'),
        WEATHER[:-1],
        f"[{WEATHER}]",
        f"```json\n{WEATHER}\n```\nThis is how a call looks.",
        f"{WEATHER} is a call.",
        f"A call:\n```\n<tool_call>\n{WEATHER}\n</tool_call>\n```\nand so on",
        f"<tool_call>\n{WEATHER.replace('get_weather', 'function_name')}\n</tool_call> is the form.",
        "<tool_call> begins a call, </tool_call> ends it.",
        "A call begins with <tool_call>",
        "```json",
        "{",
        " ",
    ],
)
def test_text_that_looks_like_a_call_stays_whole(answer: str, size: int) -> None:
    assert read(answer, size) == (answer, [])


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("answer", [WEATHER, f"\n{WEATHER}\n", f"```json\n{WEATHER}\n```", f"```\n{WEATHER}\n```\n"])
def test_answer_that_is_a_call_alone_calls(answer: str, size: int) -> None:
    assert read(answer, size) == ("", [("get_weather", '{"city": "Oslo"}')])


def test_text_is_not_held_back_longer_than_it_may_be_a_call() -> None:
    reader = CallReader(TOOLS)
    pieces = ["```json\n", '{"', "name", '": "', "get", "_app"]
    assert [reader.push(piece)[0] for piece in pieces] == ["", "", "", "", "", "".join(pieces)]
    assert reader.push(' <tool_call>\n{"x')[0] == ' <tool_call>\n{"x'


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
    reader = CallReader(TOOLS)
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
