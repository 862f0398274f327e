"""Markdown as blocks: structure, offsets, growth, and what must not get through."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.markdown.blocks import (
    Block,
    Code,
    ListItem,
    Nesting,
    Paragraph,
    Span,
    Style,
    TableBlock,
    plain_text,
    spans,
)
from headstart.markdown.parser import MarkdownStream, parse, parse_literal
from tests.support.junk import fuzz
from tests.ui.corpus import EVERYTHING, PARTS

SOURCES = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("\n\n".join)
CUTS = st.lists(st.integers(1, 20), min_size=1, max_size=12)


def _spans(source: str) -> list[Span]:
    return [span for block in parse(source) for span in spans(block)]


def _styled(source: str, style: Style) -> list[str]:
    return [span.text for span in _spans(source) if span.style & style]


def _grown(source: str, cuts: list[int]) -> MarkdownStream:
    stream = MarkdownStream()
    at = turn = 0
    shown: list[Block] = []
    while at < len(source):
        size = cuts[turn % len(cuts)]
        first = stream.append(source[at : at + size])
        # The promise that rendering rests on: nothing before the reported index has changed.
        assert stream.blocks[:first] == shown[:first]
        shown = list(stream.blocks)
        at, turn = at + size, turn + 1
    return stream


@pytest.mark.parametrize(
    "source",
    [
        "text\n#word",
        "text\n```a`b",
        "text\n***bold***",
        "text\n$$x$$ and more",
        "text\n| a |\n|-|x",
        "- a\n-b",
        "# a | b\n|-|-|\n",
        "*\t\ta |\n|-|\n",
        "1. a\n2.b",
        "> q\n#a",
        "| a | b |\n|-|-|\n**b** | 1\n-5 | 2\n1.5 | 3\n#4 | 5",
        "```\na\n\n  b\n\tc\n ",
        "```\n  b",
        "```\n\t",
    ],
)
def test_block_start_may_continue_the_block_before(source: str) -> None:
    assert _grown(source, [1]).blocks == parse(source)


@fuzz("Markdown")
@given(SOURCES, CUTS)
def test_growing_text_ends_as_the_whole_text(source: str, cuts: list[int]) -> None:
    stream = _grown(source, cuts)
    stream.finish()
    assert stream.blocks == parse(source)


def test_most_text_needs_no_final_correction() -> None:
    stream = _grown(EVERYTHING, [3])
    assert stream.finish() == len(stream.blocks)


@settings(max_examples=80, deadline=None)
@given(SOURCES, st.integers(0, 50))
def test_offsets_are_exact(source: str, base: int) -> None:
    shifted = "x" * base + source
    for block in parse(source, base):
        for span in spans(block):
            assert 0 <= span.start < span.end <= len(shifted)
            assert not span.exact or shifted[span.start : span.end] == span.text


def test_all_running_text_has_exact_offsets() -> None:
    inexact = {span.text for span in _spans(EVERYTHING) if not span.exact}
    assert inexact == {"&", "*", "$$\n\\frac{a}{b} = \\sum_{i=1}^n x_i\n$$", "A picture", "\n"}


def test_offsets_run_forward() -> None:
    starts = [span.start for span in _spans(EVERYTHING)]
    assert starts == sorted(starts)


def test_formula_takes_a_table_that_streamed_above_its_end() -> None:
    source = "$$| a |\n|-|\n| a |\n|-|\n$$"
    stream = MarkdownStream()
    for sign in source:
        stream.append(sign)
    assert stream.blocks == parse(source)


def test_formula_after_a_list_is_separate() -> None:
    item, formula, after = parse("- one\n$$\nx^2\n$$\nafter")
    assert isinstance(item, Paragraph)
    assert isinstance(formula, Paragraph)
    assert item.item
    assert (formula.display, formula.place, plain_text([formula])) == (True, Nesting(), "$$\nx^2\n$$")
    assert plain_text([after]) == "after"
    inside = parse("- one\n  $$\n  x^2\n  $$")[1]
    assert isinstance(inside, Paragraph)
    assert inside.place == Nesting(lists=1)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("It holds[^1], too[^12].\n\n[^1]: See the paper.", ["It holds¹, too¹².", "¹ See the paper."]),
        ("as said[^note]: so", ["as saidⁿᵒᵗᵉ: so"]),
        ("a[^ b] and `x[^1]`", ["a[^ b] and x[^1]"]),
    ],
)
def test_footnotes_have_raised_numbers(source: str, shown: list[str]) -> None:
    assert [plain_text([block]) for block in parse(source)] == shown


def test_formatting_tags_are_rendered() -> None:
    source = "a <b>bold</b> and <EM>leaning</EM>, <del>gone</del>, `<b>code</b>`, <b>open, </i> alone, <u>no</u>"
    assert _styled(source, Style.BOLD) == ["bold"]
    assert _styled(source, Style.ITALIC) == ["leaning"]
    assert _styled(source, Style.STRIKE) == ["gone"]
    assert plain_text(parse("**x <b>y</b> z**")) == "x y z"


def test_carriage_returns_keep_offsets() -> None:
    source = "one\r\ntwo **three**\r\n\r\n- four"
    assert [source[span.start : span.end] for span in _spans(source) if span.exact] == ["one", "two ", "three", "four"]


@pytest.mark.parametrize(
    ("source", "bold"),
    [
        ("这是**重点。**内容", ["重点。"]),
        ("**“引用”**之后", ["“引用”"]),
        ("한국어**강조.**입니다", ["강조."]),
        ("__加粗（x）__后面", ["加粗（x）"]),
        ("他说__「重要」__的事", ["「重要」"]),
        ("中 * 文 * 字", []),
        ("调用__init__方法", []),
        ("2 ** 3 ** 4", []),
    ],
)
def test_cjk_emphasis(source: str, bold: list[str]) -> None:
    assert _styled(source, Style.BOLD) == bold


@pytest.mark.parametrize(
    ("source", "slanted"),
    [
        ("_斜体。_后面", ["斜体。"]),
        ("这是_斜体_文字", ["斜体"]),
        ("_API_的", ["API"]),
        ("数据_2024_最终版", []),
        ("报告_终稿_v2.docx", []),
        ("字段user_id和order_id", []),
    ],
)
def test_cjk_underscores(source: str, slanted: list[str]) -> None:
    assert _styled(source, Style.ITALIC) == slanted


@pytest.mark.parametrize(
    ("source", "formulas"),
    [
        ("$x^2$", ["$x^2$"]),
        ("It costs $5 and $10.", []),
        ("US$5 or $6-$7", []),
        ("PATH is $HOME/bin:$PATH here", []),
        ("export PATH=$HOME/bin:$(pwd)/$1", []),
        ("${HOME}/bin:${PATH}", []),
        ("$2M$ in US$A$NZ, $1.5B$", []),
        ("$a$x and $foo->bar($baz)", []),
        ("$a/b$, $dy/dx$", ["$a/b$", "$dy/dx$"]),
        ("其中$x$是$y$。", ["$x$", "$y$"]),
        ("价格$5和$10元", []),
        ("`$x$` and $y$", ["$y$"]),
        ("\\(a\\) and \\[b\\]", ["\\(a\\)", "\\[b\\]"]),
        ("$$\nx\n\ny\n$$", []),
        ("before\n$$\nx_1\n$$\nafter", ["$$\nx_1\n$$"]),
        ("\\$x$", []),
        ("\\(a\\)\\(b\\)", ["\\(a\\)", "\\(b\\)"]),
        ("half of it: $\\frac{a}{", []),
    ],
)
def test_formulas_and_money(source: str, formulas: list[str]) -> None:
    assert _styled(source, Style.MATH) == formulas


def test_lists_tasks_and_numbers() -> None:
    blocks = parse(PARTS[4])
    items = [(block.item, block.place.lists) for block in blocks if isinstance(block, Paragraph)]
    assert items[:2] == [(ListItem(0), 1), (ListItem(0), 1)]
    assert [depth for _, depth in items] == [1, 1, 2, 3, 1, 1]
    assert [item.checked for item, _ in items if item] == [None, None, None, None, False, True]
    numbers = [block.item.number for block in parse(PARTS[5]) if isinstance(block, Paragraph) and block.item]
    assert numbers == [3, 4, 5]


def test_item_that_begins_with_a_list_stands_above_it() -> None:
    blocks = parse("- - a\n  - b")
    assert [(block.place.lists, plain_text([block])) for block in blocks] == [(1, "- "), (2, "  - a"), (2, "  - b")]


def test_cut_list_is_continued() -> None:
    stream = _grown("1. one\n2. two\n\n3. three", [1])
    items = [block.item for block in stream.blocks if isinstance(block, Paragraph)]
    assert items == [ListItem(0, 1), ListItem(0, 2), ListItem(0, 3)]


def test_code_keeps_its_lines_and_language() -> None:
    (code,) = parse("```Python title=x\na\n\n  b\n```\n")
    assert code == Code("a\n\n  b", "python", ((0, 18),))
    nested = next(block for block in parse(PARTS[5]) if isinstance(block, Code))
    assert nested.text == "def f(x):\n    return x"
    assert nested.place == Nesting(0, 1)


@pytest.mark.parametrize(
    "tail", ["\n```", "\n```\nafter", "\n````", "\n  ```\n", "\n``\nmore", "\n~~~\nstill", "\n    ```\nx"]
)
def test_open_fence_grows_and_closes(tail: str) -> None:
    source = "text\n\n```python\nx = 1\n\ny = 2" + tail
    for size in (1, 2, 5):
        assert _grown(source, [size]).blocks == parse(source)


def test_tables_know_columns_and_cells() -> None:
    table = parse(PARTS[7])[0]
    assert isinstance(table, TableBlock)
    assert table.aligns == ("left", "right", "center")
    assert ["".join(span.text for span in cell) for cell in table.rows[1]] == ["a", "1", "x | y"]
    assert [len(row) for row in table.rows] == [3, 3, 3]


@pytest.mark.parametrize(
    "source",
    [
        "[x](javascript:alert(1))",
        "[x](file:///etc/passwd)",
        "[x](data:text/html,hi)",
        "[x](//host/path)",
        "<ftp://host>",
        "![x](file:///etc/passwd)",
        "<script>alert(1)</script>",
    ],
)
def test_only_web_and_mail_addresses_become_links(source: str) -> None:
    assert not any(span.address for span in _spans(source))


@pytest.mark.parametrize(
    "source", ["[x](https://bank.example@evil.example/)", "https://bank.example%2f@evil.example", "HTTP://a:b@c/"]
)
def test_user_name_in_an_address_is_no_link(source: str) -> None:
    assert not any(span.address for span in _spans(source))


@pytest.mark.parametrize("form", ["{}", "[x]({})", "<{}>", "[x](<{}>)"])
@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\u200b", "\u2060", "\u200f", "\u0430"])
def test_bidirectional_signs_in_addresses_are_shown(form: str, sign: str) -> None:
    (address,) = {span.address for span in _spans(form.format(f"https://evil.example/{sign}gpj.exe"))} - {""}
    assert address.isascii()
    assert address.startswith("https://evil.example/%")


def test_bare_address_ends_with_the_sentence() -> None:
    found = [
        span.address for span in _spans("See https://a.example/x_y(z). Or (https://b.example)，https://c.example。")
    ]
    assert [address for address in found if address] == [
        "https://a.example/x_y(z)",
        "https://b.example",
        "https://c.example",
    ]


def test_deep_nesting_and_long_lines_end() -> None:
    for source in (">" * 500 + " x", "- " * 300 + "x", "*" * 3000, "[" * 3000, "$" * 3000, "`" * 3001, "\\(" * 2000):
        parse(source)


def test_typed_text_is_shown_as_typed() -> None:
    blocks = parse_literal("# not **a** heading\n  indented\n\n\n```c\nint x;\n```\nhttps://example.org")
    assert plain_text(blocks) == "# not **a** heading\n  indented\n\nint x;\n\nhttps://example.org"
    assert isinstance(blocks[1], Code)
    assert next(spans(blocks[2])).address == "https://example.org"


def test_plain_text_reads_well() -> None:
    assert plain_text(parse("## T\n\n1. *a*\n2. b\n\n| x | y |\n|--|--|\n| 1 | 2 |")) == "T\n\n1. a\n2. b\n\nx\ty\n1\t2"
