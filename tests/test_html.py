"""Blocks as HTML: the same structure as in the window, every tag closed, every letter there."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.markdown.blocks import Code, Paragraph, Style, TableBlock, spans
from headstart.markdown.html import to_html
from headstart.markdown.parser import parse
from tests.support.junk import fuzz
from tests.ui.corpus import PARTS


@pytest.mark.parametrize(
    ("source", "page"),
    [
        ("**加粗（x）**后面", "<p><strong>加粗（x）</strong>后面</p>"),
        ("他说**「重要」**的事", "<p>他说<strong>「重要」</strong>的事</p>"),
        ("**“공개”**는", "<p><strong>“공개”</strong>는</p>"),
        ("~~删除（t）~~后面", "<p><s>删除（t）</s>后面</p>"),
        ("*斜体。*后面", "<p><em>斜体。</em>后面</p>"),
        ("a<br><b>b</b>[^1]", "<p>a<br><strong>b</strong>¹</p>"),
        ("- [ ] a\n- [x] b", '<ul><li class="bare">☐ a</li><li class="bare">☑ b</li></ul>'),
        ("see http://a.org.", '<p>see <a href="http://a.org">http://a.org</a>.</p>'),
        ('[**a** b](http://a.org "T")', '<p><a href="http://a.org" title="T"><strong>a</strong> b</a></p>'),
        ("![p](http://a.org/p.png)", '<p><a href="http://a.org/p.png">p</a></p>'),
        ("## a\n\n---", "<h4>a</h4><hr>"),
        ("1. a\n\n   b\n2. c", "<ol><li>a<p>b</p></li><li>c</li></ol>"),
        ("3. a\n   - b\n   - c\n4. d", '<ol start="3"><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ol>'),
        ("- a\n\nb\n\n* c", "<ul><li>a</li></ul><p>b</p><ul><li>c</li></ul>"),
        ("- a\n\n1. b", "<ul><li>a</li></ul><ol><li>b</li></ol>"),
        ("> a\n>\n> - b\n>\n>   > c\n\nd",
         "<blockquote><p>a</p><ul><li>b</li></ul>"
         '<blockquote><ul><li class="bare"><p>c</p></li></ul></blockquote></blockquote><p>d</p>'),
        ("- > a\n- b", "<ul><li><blockquote>a</blockquote></li><li>b</li></ul>"),
        ("```py\nx < 1\n```", '<pre><code class="language-py">x &lt; 1\n</code></pre>'),
        ("| a | b |\n|--|-:|\n| **c** | d |",
         '<table><thead><tr><th>a</th><th class="right">b</th></tr></thead>'
         '<tbody><tr><td><strong>c</strong></td><td class="right">d</td></tr></tbody></table>'),
        ("$\\foo{x}$", "<p><code>$\\foo{x}$</code></p>"),
        ("$HOME/bin:$PATH", "<p>$HOME/bin:$PATH</p>"),
    ],
)  # fmt: skip
def test_page_has_the_structure_of_the_text(source: str, page: str) -> None:
    assert to_html(parse(source)) == page


def test_formulas_are_mathml() -> None:
    page = to_html(parse("so $x^2$\n\n$$\\frac{a}{b}$$"))
    assert '<p>so <math display="inline"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math></p>' in page
    assert page.endswith(
        '<div class="formula"><math display="block"><mrow><mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow>'
        "</mfrac></mrow></math></div>"
    )


class _Page(HTMLParser):
    """A parser that collects the text of a page, whose tags must be nested correctly."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.open = "", list[str]()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Open an element, unless it is one without an end."""
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the element opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Collect text."""
        self.text += data


@fuzz("pages of Markdown", 60)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=6), st.sampled_from(("", "> ", "- ", "> - ", "- > ")))
def test_every_tag_is_closed_and_every_letter_there(parts: list[str], prefix: str) -> None:
    rest = re.sub(r"\S", " ", prefix) if "-" in prefix and ">" not in prefix else prefix.replace("-", " ")
    blocks = parse(prefix + "\n\n".join(parts).replace("\n", f"\n{rest}"))
    page = _Page(to_html(blocks))
    assert not page.open
    written = [
        span.text for block in blocks if isinstance(block, Paragraph | Code | TableBlock) for span in spans(block)
        if not span.style & Style.MATH
    ]  # fmt: skip
    shown = re.sub(r"\s", "", page.text)
    at = 0
    for text in written:
        at = shown.index(re.sub(r"\s", "", text), at)
