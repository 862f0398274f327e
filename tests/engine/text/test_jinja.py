# ruff: noqa: E501 - lines of templates
"""Templates render to the bytes of transformers, within limits of time and size; what none can render is named."""

import copy
import time
from functools import cache
from typing import Any

import pytest

from headstart.engine.text import jinja
from headstart.engine.text.jinja import RenderError, Template, missing_constructs
from headstart_export import process
from tests.engine.text.family_templates import FAMILIES

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
PROPERTIES = {
    "city": {"type": "string", "description": "A city <b>in</b> 'Europe'", "enum": ["Oslo", "Zürich"]},
    "days": {"type": ["integer", "null"], "default": 3},
    "at": {"type": "array", "items": {"type": "number"}},
    "more": {"type": "object", "properties": {"wind": {"type": "boolean"}}},
}
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": 'Tells "the" weather & more for 北京',
        "parameters": {"type": "object", "properties": PROPERTIES, "required": ["city"]},
    },
}
TOOLS = [WEATHER, {"type": "function", "function": {"name": "clock", "description": "", "parameters": {}}}]
ARGUMENTS = {"city": "北京", "days": 2, "at": [1, 2.5], "more": {"wind": True, "none": None}, "quoted": 'a "b" <c>\n'}
Turn = dict[str, Any]


def user(content: Any) -> Turn:
    return {"role": "user", "content": content}


def system(content: str) -> Turn:
    return {"role": "system", "content": content}


def assistant(content: str | None, *arguments: Any, **more: Any) -> Turn:
    calls = [
        {"type": "function", "id": f"abcdefg{at:02}", "function": {"name": "weather", "arguments": each}}
        for at, each in enumerate(arguments)
    ]
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {}), **more}


def result(content: str, at: int = 0) -> Turn:
    return {"role": "tool", "content": content, "tool_call_id": f"abcdefg{at:02}", "name": "weather"}


CONVERSATIONS = {
    "one question": [user("hi")],
    "system": [system(" Be brief.\n"), user("hi")],
    "several turns": [user("2+2?"), assistant("4"), user('你好，世界 🙂 "q" \\ \n\n x ')],
    "system later": [user("a"), assistant("b"), system("now"), user("c")],
    "two of one role": [user("a"), user("stop"), user("b")],
    "answer first": [assistant("x"), user("y")],
    "thinking": [user("a"), assistant("b", reasoning_content="hm\nm"), user("c"), assistant("d", thinking="x")],
    "thinking in the text": [user("a"), assistant("<think>\nhm\n</think>\n\nb")],
    "call": [user("?"), assistant("", ARGUMENTS), result("sunny"), assistant("It is sunny."), user("and?")],
    "call and thinking": [user("?"), assistant("", ARGUMENTS, reasoning_content="hm", thinking="hm"), result("dry")],
    "two calls": [system("S"), user("?"), assistant("So.", ARGUMENTS, {}), result('{"a": 1}'), result("12", 1)],
    "call with a text": [user("?"), assistant(None, '{"city": "北京"}'), result("sunny")],
    "parts": [user([{"type": "text", "text": "hi"}, {"type": "image"}]), assistant("ho")],
}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"add_generation_prompt": True},
    {"tools": TOOLS, "add_generation_prompt": True},
    {"add_generation_prompt": True, "enable_thinking": False},
    {"tools": TOOLS, "add_generation_prompt": True, "enable_thinking": True, "reasoning_effort": "high"},
)
CONSTRUCTS = (
    "{{ none }}{{ [1, 'x', {'a': none}] }}{{ {'a': 'x'} }}{{ undefined }}",
    "{{ 'a' ~ 1 ~ none ~ 2.0 }}{{ 7 // 2 }}{{ 7 % 4 }}{{ 2 ** 10 }}{{ 3 * 'ab' }}{{ [1] + [2] }}{{ '%05.1f %s' % (1, 'x') }}",
    "{{ {'ä': '<b>&'} | tojson }}{{ {'ä': 1} | tojson(ensure_ascii=True) }}{{ tools | tojson(indent=2) }}",
    "{{ {'b': 1, 'a': [1, 2]} | tojson(sort_keys=true, separators=(',', ':')) }}",
    "{{ messages[::-1] }}{{ messages[1:] }}{{ 'abcdef'[1:-1:2] }}{{ 'abc'[-1] }}{{ [3, 1, 2] | sort | join('-') }}",
    "{% for x in [1, 2, 3] %}{{ loop.index }}{{ loop.revindex0 }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }}"
    "{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }}{{ loop.last }}{{ loop.depth }}{% endfor %}",
    "{% for x in [1, [2, [3]]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2} | items if v > 1 %}{{ k }}{% else %}none{% endfor %}"
    "{% for x in [] %}x{% else %}none{% endfor %}",
    "{% for x in range(9) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% set ns = namespace(text='', n=0) %}{% for c in 'abc' %}{% set ns.text = c ~ ns.text %}{% set ns.n = loop.index %}"
    "{% endfor %}{{ ns.text }}{{ ns.n }}",
    "{% macro m(a, b='x', c=none) %}{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}{{ caller() if caller }}{% endmacro %}"
    "{{ m(1) }}{{ m(1, c=2, d=3) }}{{ m(1, 2, 3, 4) }}{% call m(2) %}z{% endcall %}{{ m.name }}",
    "{% set x %} a{{ 1 }} {% endset %}[{{ x }}]{% filter upper | trim %} abc{{ 1 }} {% endfilter %}"
    "{% with y = 2 %}{{ y }}{% endwith %}{{ y is defined }}",
    "{% generation %}{% set inner = 1 %}{{ messages[0].content }}{% endgeneration %}{{ inner is defined }}",
    "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list }}"
    "{{ messages | rejectattr('role', 'in', ['user']) | list | length }}{{ messages | map('length') | sum }}",
    "{{ [1, 2, 3, 4] | batch(3, 0) | list }}{{ [1, 2, 3] | slice(2) | list }}{{ {'b': 1, 'a': 2} | dictsort }}"
    "{{ [1, 1, 2] | unique | list }}{{ messages | groupby('role') | map(attribute=0) | list }}",
    "{{ ' a b ' | trim | title | replace(' ', '_') }}{{ 'x\ny' | indent(2, true) }}{{ 'abc' | first }}{{ 'a' | center(5) }}"
    "{{ '3' | int + 1 }}{{ '2.5' | float }}{{ 2.567 | round(1) }}{{ -3 | abs }}{{ '%s!' | format('x') }}{{ x | default('d') }}",
    "{{ 'a b'.split() }}{{ 'x'.join(['a', 'b']) }}{{ ' x\n'.rstrip('\n') }}{{ 'a-b'.replace('-', '+', 1) }}"
    "{{ 'abc'.startswith('a') }}{{ 'aXb'.lower().find('x') }}{{ '{} {a:>5}'.format(1, a=2) }}{{ 'a'.ljust(3) }}",
    "{{ 'a' in {'a': 1} }}{{ 'b' not in 'abc' }}{{ 1 is odd }}{{ 'x' is string }}{{ none is none }}{{ {} is mapping }}"
    "{{ [] is sequence }}{{ 5 is divisibleby 5 }}{{ 'A' is upper }}{{ true is boolean }}{{ 1.0 is float }}{{ 1 is eq 1 }}",
    "{{ 1 if messages else 2 }}{{ (1 if false) }}{{ not true or 1 < 2 <= 2 }}{{ '<b>' | e }}{{ '<b>' | safe }}{{ 'ä' | urlencode }}",
    "  {%- if true -%}  a  {%- endif +%}\n  {# comment #}\n  b\n    {% if true %}\n    c\n    {% endif %}\n{% raw %}{{ x }}{% endraw %}\n",
    "{{ cycler('a', 'b').next() }}{% set j = joiner(', ') %}{{ j() }}1{{ j() }}2{{ dict(a=1) }}{{ range(5) | list }}",
    "{{ strftime_now('%Y') }}{{ bos_token }}{{ pad_token is defined }}{{ documents is none }}{{ messages[0]['content'].strip() }}",
)
REFUSING = (
    "{{ raise_exception('Not today') }}",
    "{{ messages.append(1) }}",
    "{{ x.y.z }}",
    "{{ 1 + 'a' }}",
    "{% for t in tools %}{% endfor %}",
    "{{ messages | unknown }}",
    "{% unknown %}",
    "{{ messages[0].content.nothing() }}",
)


def expected(source: str, turns: list[Turn], options: dict[str, Any]) -> tuple[str, str]:
    """Return what transformers renders, and its reason where it refuses."""
    process.prepare()
    from transformers.utils.chat_template_utils import render_jinja_template  # noqa: PLC0415

    try:
        (text,), _ = render_jinja_template([copy.deepcopy(turns)], chat_template=source, **TOKENS, **options)
    except Exception as error:  # noqa: BLE001 - whatever a template raises
        return "", str(error).split("\n")[0]
    return text, ""


@cache
def compiled(source: str) -> Template:
    return Template(source)


def rendered(source: str, turns: list[Turn], options: dict[str, Any]) -> tuple[str, str]:
    given = {"tools": None, "documents": None, "add_generation_prompt": False, **TOKENS, **options}
    try:
        return compiled(source).render(messages=copy.deepcopy(turns), **given), ""
    except RenderError as error:
        return "", str(error)


def require_same(source: str, turns: list[Turn], options: dict[str, Any]) -> bool:
    """Fail unless both render the same, or both refuse for one reason; return whether they refuse."""
    ours, theirs = rendered(source, turns, options), expected(source, turns, options)
    assert ours[0] == theirs[0]
    assert bool(ours[1]) == bool(theirs[1])
    assert theirs[1] in ours[1]
    return bool(ours[1])


@pytest.mark.parametrize("family", FAMILIES)
def test_families_render_as_in_transformers(family: str) -> None:
    cases = [(turns, options) for turns in CONVERSATIONS.values() for options in OPTIONS]
    refusals = [require_same(FAMILIES[family], turns, options) for turns, options in cases]
    assert not all(refusals)


@pytest.mark.parametrize("source", CONSTRUCTS)
def test_constructs_render_as_in_transformers(source: str) -> None:
    assert not require_same(source, CONVERSATIONS["system"], {"tools": TOOLS})


@pytest.mark.parametrize("source", REFUSING)
def test_refusals_have_the_reason_of_transformers(source: str) -> None:
    assert require_same(source, CONVERSATIONS["system"], {})


def test_what_no_renderer_has_is_named() -> None:
    source = (
        "{% macro own(x) %}{{ x | tojson }}{{ caller() if caller }}{% endmacro %}{{ own(1) }}{{ messages | from_json }}"
        "{{ 1 is odder }}{{ today() }}{{ range(3) }}{% if other is defined %}{{ other() }}{% endif %}{% include 'x' %}"
    )
    assert missing_constructs(source) == [
        "the filter `from_json`",
        "the test `odder`",
        "the function `today`",
        "the tag `include`",
    ]
    with pytest.raises(RenderError, match="unknown tag 'do'"):
        missing_constructs("{% do 1 %}")


@pytest.mark.parametrize("source", [*FAMILIES.values(), *CONSTRUCTS])
def test_what_renders_misses_nothing(source: str) -> None:
    assert missing_constructs(source) == []


GROWING = "{% set ns = namespace(x='ab', l=[1]) %}{% for _ in range(99) %}GROW{% endfor %}{{ ns.x }}"
HOSTILE = {
    "loops": "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}",
    "macros": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "large range": "{{ range(10 ** 9) | list }}",
    "repeated text": "{{ 'a' * 10 ** 10 }}",
    "huge numbers": "{{ 10 ** (10 ** 10) }}{% set ns = namespace(x=2) %}{% for _ in range(99) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
    "padding": "{{ 'a' | center(10 ** 9) }}",
    "padding by a method": "{{ 'a'.ljust(10 ** 9) }}",
    "format": "{{ '%1000000000d' % 1 }}",
    "format of a value": "{{ '%*d' | format(10 ** 9, 1) }}",
    "format by a method": "{{ '{:>{}}'.format(1, 10 ** 9) }}",
    "indentation": "{{ [1] | tojson(indent=10 ** 9) }}",
    "joined text": GROWING.replace("GROW", "{% set ns.x = ns.x ~ ns.x %}"),
    "added text": GROWING.replace("GROW", "{% set ns.x = ns.x + ns.x %}"),
    "added lists": GROWING.replace("GROW", "{% set ns.l = ns.l + ns.l %}"),
    "nested lists": GROWING.replace("GROW", "{% set ns.l = [ns.l, ns.l] %}") + "{{ ns.l }}",
    "nested lists as JSON": GROWING.replace("GROW", "{% set ns.l = [ns.l, ns.l] %}") + "{{ ns.l | tojson }}",
    "blocks": GROWING.replace("GROW", "{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}"),
    "replaced text": GROWING.replace("GROW", "{% set ns.x = ns.x.replace('a', ns.x) %}"),
    "lists of slices": "{% set ns = namespace(x=[], s='a' * 9999999) %}{% for _ in range(9999) %}{% set ns.x = ns.x + [ns.s[1:]] %}{% endfor %}",
    "output": "{% for _ in range(99999) %}" + "x" * 9999 + "{% endfor %}",
    "depth": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "length": "x" * (jinja.MAX_SOURCE + 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_template_is_stopped(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jinja, "MAX_SECONDS", 1.0)
    monkeypatch.setattr(jinja, "MAX_WORK", 1 << 26)
    start = time.thread_time()
    ours = rendered(HOSTILE[name], CONVERSATIONS["system"], {})
    assert ours[0] == ""
    assert 0 < len(ours[1]) < 300
    assert time.thread_time() - start < 10


def test_template_is_usable_after_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    template = Template("{% for _ in range(n) %}{% for _ in range(999) %}x{% endfor %}{% endfor %}")
    monkeypatch.setattr(jinja, "MAX_WORK", 1 << 20)
    with pytest.raises(RenderError, match="too many steps"):
        template.render(n=999)
    assert template.render(n=1) == "x" * 999


def test_long_conversation_stays_far_below_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jinja, "MAX_WORK", jinja.MAX_WORK >> 4)
    turns = [user("word " * 200), assistant("word " * 200)] * 500
    for family in ("chatml", "llama-3", "qwen-3", "gemma-3", "glm"):
        assert len(Template(FAMILIES[family]).render(messages=turns, tools=None, **TOKENS)) > 1_000_000
