"""Markdown as models write it, with every construct the transcript shows."""

PARTS = (
    "# Heading with `code` and *emphasis*",
    'A paragraph with **bold**, *italic*, ~~gone~~, a [link](https://example.org/a_b "Title").\nA second line 🎉.',
    "costs $5 and $10, but $E = mc^2$ and \\(a^2+b^2\\) &amp; \\*escaped\\*.",
    "这是**重点。**内容，还有**“引用”**之后，~~删除。~~后面。",
    "- one\n- two\n  continued\n  - nested **deep**\n    - deeper\n- [ ] open\n- [x] done",
    "3. three\n4. four\n\n   ```python\n   def f(x):\n       return x\n   ```\n\n5. five",
    "> A quote with *style*\n> over lines\n>\n> - and a list",
    "| Name | Value | Note |\n|:-----|------:|:----:|\n| a | 1 | x \\| y |\n| **b** | `2` | |",
    "$$\n\\frac{a}{b} = \\sum_{i=1}^n x_i\n$$",
    "```js\n/* two\n   lines */\nconst x = `a ${y}`;\n\nf(x)\n```",
    "---",
    "![A picture](https://example.org/p.png) and <https://auto.link> and <b>no html</b><br>next",
    "مرحبا بالعالم، هذا نص عربي with English.",
    "    indented code",
    "~~~\nfence with tildes\n~~~",
    "-",
    "1) other\n2) list",
    "Last **unclosed and `open",
)
EVERYTHING = "\n\n".join(PARTS) + "\n"
