"""Calls in the format of each family, and texts that only look like calls, however pieces are cut."""

import json
import logging

import pytest

from headstart.engine.answer_writer import AnswerText
from headstart.engine.engine import Call, FinishReason, Message, Tool
from headstart.engine.text.chat_template import ChatTemplate
from headstart.engine.text.detokenizer import TokenTexts
from headstart.engine.text.tool_calls import MAX_CALLS
from headstart.engine.text.tool_formats.registry import FORMATS
from headstart.engine.text.tool_formats.rewriter import Rewriter
from headstart.tools.calls import CallReader
from tests.engine.text.family_templates import FAMILIES

PLACE = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOLS = (Tool("get_weather", json.dumps(PLACE)), Tool("get_time", "{}"), Tool("get", "{}"))
CallData = tuple[str, dict[str, object]]
OSLO: CallData = ("get_weather", {"city": "Oslo"})
ROME: CallData = ("get_weather", {"city": "Rome", "days": 3})
NOW: CallData = ("get_time", {})
ODD: CallData = ("get_weather", {"city": 'a "quote" } ] </b> \\ 奥斯陆\n'})
GETS = {"a": [1, -2.5, True, None, {"b": "x, )"}], "c": []}
COMMENTARY = "<|channel|>commentary"
BY_FAMILY = {each.family: each for each in FORMATS}

CALLS = [
    ("Llama", '{"name": "get_weather", "parameters": {"city": "Oslo"}}', "", [OSLO]),
    ("Llama", '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}', "", [OSLO]),
    ("Llama", '{"type": "function", "name": "get_time", "parameters": {}}', "", [NOW]),
    (
        "Llama",
        '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}; {"name": "get_time", "parameters": {}}',
        "",
        [OSLO, NOW],
    ),
    (
        "Llama",
        '\n{"name": "get_weather", "parameters": {"city": "Rome", "days": 3}};\n{"name": "get_time", "parameters": {}}',
        "\n",
        [ROME, NOW],
    ),
    ("Llama", 'I look.\n<|python_tag|>{"name": "get_time", "parameters": {}}', "I look.\n", [NOW]),
    ("Llama", f'{{"name": "get_weather", "parameters": {json.dumps(ODD[1])}}}', "", [ODD]),
    ("Mistral", '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}}]', "", [OSLO]),
    (
        "Mistral",
        '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "VvvODy9mT"}, '
        '{"name": "get_time", "arguments": {}, "id": "call00001"}]',
        "",
        [OSLO, NOW],
    ),
    ("Mistral", '[TOOL_CALLS]get_weather[ARGS]{"city": "Rome", "days": 3}', "", [ROME]),
    ("Mistral", '[TOOL_CALLS]get_weather[CALL_ID]VvvODy9mT[ARGS]{"city": "Oslo"}', "", [OSLO]),
    ("Mistral", '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}[TOOL_CALLS]get_time[ARGS]{}', "", [OSLO, NOW]),
    ("Mistral", "A moment.[TOOL_CALLS]get_time[ARGS]{}", "A moment.", [NOW]),
    ("Mistral", f"[TOOL_CALLS]get_weather[ARGS]{json.dumps(ODD[1])}", "", [ODD]),
    (
        "Qwen3-Coder",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
        "",
        [OSLO],
    ),
    (
        "Qwen3-Coder",
        "I look.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n3\n"
        "</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=get_time>\n</function>\n</tool_call>",
        "I look.\n",
        [ROME, NOW],
    ),
    ("Qwen3-Coder", "<function=get_time>\n</function>", "", [NOW]),
    (
        "Qwen3-Coder",
        f"<tool_call><function=get_weather><parameter=city>{ODD[1]['city']}\n</parameter></function></tool_call>",
        "",
        [ODD],
    ),
    (
        "Qwen3-Coder",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\n12\n</parameter>\n</function>\n</tool_call>",
        "",
        [("get_weather", {"city": "12"})],
    ),
    ("Gemma", '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>', "", [OSLO]),
    (
        "Gemma",
        'I look. <|tool_call>call:get_weather{city:<|"|>Rome<|"|>,days:3}<tool_call|>'
        "<|tool_call>call:get_time{}<tool_call|>",
        "I look. ",
        [ROME, NOW],
    ),
    (
        "Gemma",
        '<|tool_call>call:get{a:[1,-2.5,true,null,{b:<|"|>x, }<|"|>}],c:[]}<tool_call|>',
        "",
        [("get", {"a": [1, -2.5, True, None, {"b": "x, }"}], "c": []})],
    ),
    ("Gemma", "<start_function_call>call:get_weather{city:<escape>Oslo<escape>}<end_function_call>", "", [OSLO]),
    ("Gemma", f'<|tool_call>call:get_weather{{city:<|"|>{ODD[1]["city"]}<|"|>}}<tool_call|>', "", [ODD]),
    ("Gemma 3", '```tool_code\nget_weather(city="Oslo")\n```', "", [OSLO]),
    ("Gemma 3", "Let me look.\n```tool_code\nprint(get_weather('Rome', days=3))\n```", "Let me look.\n", [ROME]),
    ("Gemma 3", '```tool_code\nget_weather(city="Oslo")\nget_time()\n```\n', "", [OSLO, NOW]),
    ("Gemma 3", '```tool_code\nget_weather(city="Oslo")\n```\n```tool_code\nget_time()\n```', "", [OSLO, NOW]),
    ("Gemma 3", "```tool_code\nget(a=[1, -2.5, True, None, {'b': 'x, )'}], c=[])\n```", "", [("get", GETS)]),
    ("Gemma 3", f"```tool_code\nget_weather(city={ODD[1]['city']!r})\n```", "", [ODD]),
    ("gpt-oss", f"{COMMENTARY} to=functions.get_time <|constrain|>json<|message|>{{}}<|call|>", "", [NOW]),
    ("gpt-oss", f'{COMMENTARY} to=functions.get_weather json<|message|>{{"city": "Oslo"}}', "", [OSLO]),
    ("gpt-oss", f'{COMMENTARY} to=functions.get_weather code<|message|>{{"city": "Oslo"}}<|call|>', "", [OSLO]),
    ("gpt-oss", f"to=functions.get_time{COMMENTARY} json<|message|>{{}}<|call|>", "", [NOW]),
    (
        "gpt-oss",
        f"{COMMENTARY}<|message|>I look.<|end|><|start|>assistant{COMMENTARY} to=functions.get_weather "
        '<|constrain|>json<|message|>{"city": "Rome", "days": 3}<|call|><|start|>functions.get_weather',
        "I look.",
        [ROME],
    ),
    (
        "gpt-oss",
        f"{COMMENTARY}<|message|>I look.<|end|><|start|>assistant<|channel|>analysis<|message|>Oslo, then.<|end|>"
        '<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{"city":"Oslo"}<|call|>',
        "I look.",
        [OSLO],
    ),
    ("gpt-oss", f"{COMMENTARY} to=functions.get_weather <|message|>{json.dumps(ODD[1])}", "", [ODD]),
]
TEXTS = [
    ("Llama", '{"name": "Ann", "parameters": {}}'),
    ("Llama", '{"name": "get_weather", "version": "1.0.0"}'),
    ("Llama", '{"name": "get_weather", "parameters": {"city": "Oslo"}} is a call.'),
    ("Llama", '{"name": "get_weather", "parameters": {"city": "Os'),
    ("Llama", 'So: {"name": "get_weather", "parameters": {}}'),
    ("Llama", '```\n<|python_tag|>{"name": "get_time", "parameters": {}}\n```'),
    ("Llama", '<|python_tag|>print("hello")'),
    ("Llama", "{}"),
    ("Mistral", "The mark [TOOL_CALLS] begins a call."),
    ("Mistral", "[TOOL_CALLS]other[ARGS]{}"),
    ("Mistral", '[TOOL_CALLS] [{"name": "other", "arguments": {}}]'),
    ("Mistral", '[TOOL_CALLS]get_weather[ARGS]{"city": NaN}'),
    ("Mistral", "[TOOL_CALLS]get_weather[ARGS]no object"),
    ("Mistral", '[{"name": "get_weather", "arguments": {}}]'),
    ("Mistral", "A list [1, 2] and [TOOL"),
    ("Mistral", "```\n[TOOL_CALLS]get_time[ARGS]{}\n```\nThat is a call."),
    ("Qwen3-Coder", "Between `<tool_call>` and `</tool_call>` stands `<function=NAME>`."),
    ("Qwen3-Coder", "<tool_call>\n<function=other>\n</function>\n</tool_call>"),
    ("Qwen3-Coder", "<tool_call>\n<function=get_time>\nfor ever"),
    ("Qwen3-Coder", "if a <function and b < c <tool_"),
    ("Qwen3-Coder", "```xml\n<tool_call>\n<function=get_time>\n</function>\n</tool_call>\n```"),
    ("Gemma", "<|tool_call>call:other{}<tool_call|>"),
    ("Gemma", "<|tool_call>get_time{}<tool_call|>"),
    ("Gemma", "<|tool_call>call:get_weather{city:Oslo}<tool_call|>"),
    ("Gemma", "```tool_code\nget_weather(city='Oslo')\n```"),
    ("Gemma", "a <|tool b < c"),
    ("Gemma 3", "```python\nget_weather(city='Oslo')\n```"),
    ("Gemma 3", "```tool_code\nother(city='Oslo')\n```"),
    ("Gemma 3", "```tool_code\nget_weather(city=input())\n```"),
    ("Gemma 3", "```tool_code\nget_weather(**{'city': 'Oslo'})\n```"),
    ("Gemma 3", "```tool_code\nget_weather('Oslo', 3, 5)\n```"),
    ("Gemma 3", "```tool_code\nget_weather('Oslo', city='Rome')\n```"),
    ("Gemma 3", "```tool_code\nget(a={1, 2})\n```"),
    ("Gemma 3", "```tool_code\nget(a=1e999)\n```"),
    ("Gemma 3", "```tool_code\nx = get_time()\n```"),
    ("Gemma 3", "```tool_code\n\n```"),
    ("Gemma 3", "```tool_code\nget_weather(city='Os"),
    ("Gemma 3", "```tool_code\nget(" + "[" * 5000 + "\n```"),
    ("Gemma 3", "Write get_time() in a block of `tool_code`."),
    ("gpt-oss", f"{COMMENTARY} to=functions.other <|constrain|>json<|message|>{{}}"),
    ("gpt-oss", f"{COMMENTARY} to=functions.get_time <|constrain|>json<|message|>[]"),
    ("gpt-oss", f'{COMMENTARY} to=functions.get_weather json<|message|>{{"city": "Os'),
    ("gpt-oss", "The address to=functions.get_time is a recipient."),
    ("gpt-oss", "a <| b, a <|start|>user"),
]
CHANNELS = [
    ("<|channel|>final<|message|>Hello", "Hello"),
    (f"{COMMENTARY}<|message|>First.<|end|><|start|>assistant<|channel|>final<|message|> Then.", "First. Then."),
]


def rewritten(family: str, answer: str, size: int, most: int = MAX_CALLS) -> list[str]:
    rewriter = Rewriter(BY_FAMILY[family], TOOLS, most)
    pieces = [rewriter.push(answer[at : at + size]) for at in range(0, len(answer), size)]
    return [*pieces, rewriter.push("", is_last=True)]


def read(pieces: list[str]) -> tuple[str, list[tuple[str, object]]]:
    """Return the text, and the names and arguments of the calls, as all consumers read an answer."""
    reader, text, calls = CallReader(TOOLS), "", list[list[str]]()
    for more, parts in (*map(reader.push, pieces), reader.finish()):
        text += more
        for part in parts:
            if part.name:
                calls.append([part.name, ""])
            calls[part.index][1] += part.arguments
    return text, [(name, json.loads(arguments)) for name, arguments in calls]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(("family", "answer", "text", "calls"), CALLS)
def test_recorded_calls_are_read(
    family: str, answer: str, text: str, calls: list[tuple[str, object]], size: int
) -> None:
    assert read(rewritten(family, answer, size)) == (text, calls)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(("family", "answer"), TEXTS)
def test_text_that_looks_like_a_call_stays_as_it_is(family: str, answer: str, size: int) -> None:
    pieces = rewritten(family, answer, size)
    assert "".join(pieces) == answer
    assert read(pieces) == (answer, [])


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(("answer", "text"), CHANNELS)
def test_headers_of_channels_are_left_out(answer: str, text: str, size: int) -> None:
    assert read(rewritten("gpt-oss", answer, size)) == (text, [])


@pytest.mark.parametrize("family", BY_FAMILY)
def test_hermes_calls_are_read_beside_the_own_format(family: str) -> None:
    answer = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    assert read(rewritten(family, answer, 3)) == ("", [OSLO])


@pytest.mark.parametrize("family", BY_FAMILY)
def test_plain_text_is_not_held_back(family: str) -> None:
    rewriter = Rewriter(BY_FAMILY[family], TOOLS, 1)
    for piece in ("The ", "sum [1] {2} a", " b; c > d"):
        assert rewriter.push(piece) == piece


def test_answer_ends_with_its_last_call_and_where_it_repeats_one() -> None:
    first, second = "[TOOL_CALLS]get_time[ARGS]{}", '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}'
    assert read(rewritten("Mistral", first + second, 3, most=1)) == ("", [NOW])
    assert read(rewritten("Mistral", first + second + first + second, 3)) == ("", [NOW, OSLO])


def letters(batch: list[list[int]]) -> list[str]:
    return ["".join(chr(token) for token in ids if token > 31) for ids in batch]


def test_marks_that_are_control_tokens_are_read() -> None:
    """Decoded text does not show these marks."""
    mark, arguments = 1, 2
    calls = Rewriter(BY_FAMILY["Mistral"], TOOLS, 1, {mark: "[TOOL_CALLS]", arguments: "[ARGS]"})
    answer = AnswerText(TokenTexts(letters, [97], 200), ["Oslo"], tools=["get_weather"], calls=calls)
    ids = [*map(ord, "So: "), mark, *map(ord, "get_weather"), arguments, *map(ord, '{"city": "Oslo"}')]
    shown = answer.push([*ids, *map(ord, " and so on")])
    assert read([shown.text]) == ("So: ", [OSLO])
    assert answer.ended is FinishReason.STOP
    assert answer.token_ids == tuple(ids)


def template_of(family: str) -> ChatTemplate:
    source = FAMILIES[family].replace("~ '</name>'", "~ '</name>' ~ (tool.description or '')")
    return ChatTemplate(family, [], [], {"default": source}, {"bos_token": "<s>", "eos_token": "</s>"})


HISTORY = [
    Message("user", "Weather?"),
    Message("assistant", "", (Call("get_weather", '{"city": "Oslo"}'), Call("get_time", "{}"))),
    Message("tool", "sunny"),
    Message("tool", "noon"),
]


@pytest.mark.parametrize(
    ("family", "known", "shown"),
    [
        ("llama-3", "Llama", '{"name": "get_weather", "parameters": {"city": "Oslo"}}<|eot_id|>'),
        (
            "mistral",
            "Mistral",
            '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "call00000"}',
        ),
        ("qwen-3-coder", "Qwen3-Coder", "<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>"),
        ("gemma-4", "Gemma", '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>'),
        ("gemma-3-tools", "Gemma 3", "```tool_code\nget_weather(city='Oslo')\nget_time()\n```"),
        ("gpt-oss", "gpt-oss", 'to=functions.get_weather<|channel|>commentary json<|message|>{"city": "Oslo"}<|call|>'),
    ],
)
def test_template_shows_calls_in_its_own_format(family: str, known: str, shown: str) -> None:
    template = template_of(family)
    assert template.tool_format is BY_FAMILY[known]
    own, held = ("".join(template.pieces(HISTORY, TOOLS, own_calls=own)) for own in (True, False))
    assert own.count(shown) == 1
    assert "# Tools" not in own
    assert own.index("sunny") < own.index("noon")
    assert "<tool_call>\n{" in held
    assert "# Tools" in held


def test_calls_stand_apart_where_a_turn_has_room_for_one() -> None:
    prompt = "".join(template_of("llama-3").pieces(HISTORY, TOOLS))
    places = [
        prompt.index(text) for text in ('"parameters": {"city"', "sunny", '"get_time", "parameters": {}}<', "noon")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("family", ["qwen-2.5", "chatml"])
def test_format_of_hermes_needs_no_other(family: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert template_of(family).tool_format is None
    assert "not known" not in caplog.text


def test_unknown_format_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    source = (
        "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}{{ m.role }}: {{ m.content }}"
        "{% for c in m.tool_calls or [] %}CALL {{ c.function.name }}!{% endfor %}{% endfor %}"
    )
    template = ChatTemplate("odd", [], [], {"default": source}, {})
    prompts = ["".join(template.pieces(HISTORY, TOOLS)) for _ in range(2)]
    assert all("# Tools" in prompt and "CALL" not in prompt for prompt in prompts)
    assert len(caplog.records) == 1
