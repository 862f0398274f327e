"""Standard output and standard error: text, control sequences and figures."""

import dataclasses
import io
import json
import re
import time
import unicodedata
from collections.abc import Callable
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from headstart.cli.answer_view import AnswerView
from headstart.cli.render import Screen, gain, harmless, stats_line, stats_lines
from headstart.engine.engine import Origin, Piece, Prefill, Round, Stats, Step, Timing
from headstart.engine.stats import figures
from tests.support.junk import fuzz
from tests.support.waiting import PATIENCE

PIECES = (Piece("The", Origin.TARGET), Piece(" quick", Origin.DRAFT), Piece("\tfox\n", Origin.NGRAM))
ROUND = Round((), 0, 0, Origin.TARGET, Timing())
Captured = pytest.CaptureFixture[str]


def step(*pieces: Piece) -> Step:
    return Step("".join(piece.text for piece in pieces if not piece.is_thinking), ROUND, pieces)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make rich treat standard output as a terminal of 16 colours."""
    for name in ("NO_COLOR", "COLORTERM", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")


def test_pipe_gets_the_bare_text(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    text = "x " * 200 + "[bold]:smile:\\n"
    screen = Screen(origins=True)
    screen.legend()
    screen.show_step(step(*PIECES, Piece(text, Origin.TARGET)))
    screen.end_answer()
    screen.remark(text)
    assert capsys.readouterr() == (f"The quick\tfox\n{text}\n", f"· {text}\n")
    screen.show_step(Step("without pieces", ROUND))
    assert capsys.readouterr().out == "without pieces"


def test_escapes_are_neutralised(capsys: Captured) -> None:
    screen = Screen(origins=True)
    screen.show_step(step(Piece("\x1b]0;pwned\x07", Origin.DRAFT)))
    screen.end_answer()
    screen.complain("no model '\x1b[2J'")
    assert "".join(capsys.readouterr()) == "␛]0;pwned␇\nheadstart: no model '␛[2J'\n"


@pytest.mark.usefixtures("terminal")
def test_origins_have_underline_and_colour(capsys: Captured) -> None:
    screen = Screen(origins=True)
    screen.legend()
    screen.show_step(step(*PIECES))
    screen.end_answer()
    shown = capsys.readouterr()
    assert "The\x1b[4;32m quick\x1b[0m\x1b[1;4;35m       \x1b[0m\x1b[1;4;35mfox\x1b[0m\n" in shown.out
    assert "\x1b[4;32mdraft model, underlined\x1b[0m" in shown.err
    Screen().legend()
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("by_flag", [True, False])
def test_no_colour_keeps_underlines(by_flag: bool, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    if not by_flag:
        monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen(colour=not by_flag, origins=True)
    screen.show_step(step(*PIECES))
    screen.end_answer()
    assert "The\x1b[4m quick\x1b[0m\x1b[1;4m       \x1b[0m\x1b[1;4mfox\x1b[0m\n" in capsys.readouterr().out


@pytest.mark.usefixtures("terminal")
def test_no_colour_keeps_markdown_marks(capsys: Captured) -> None:
    screen = Screen(colour=False)
    screen.show_step(step(Piece("**bold**\n", Origin.TARGET)))
    screen.end_answer()
    assert "**bold**\n" in capsys.readouterr().out


@pytest.mark.usefixtures("terminal")
def test_dumb_terminal_gets_the_bare_text(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("TERM", "dumb")
    screen = Screen()
    screen.wait()
    screen.show_step(step(Piece("**bold**", Origin.TARGET)))
    screen.end_answer()
    assert capsys.readouterr() == ("**bold**\n", "")


@pytest.mark.usefixtures("terminal")
def test_prefill_progress_is_shown_and_removed(capsys: Captured) -> None:
    screen = Screen()
    screen.wait()
    for progress in (Prefill(256, 4000), Prefill(512, 4000)):
        screen.show_prefill(progress)
    screen.show_step(Step("", ROUND))
    shown = ""
    deadline = time.monotonic() + PATIENCE
    while "512 of 4000" not in shown and time.monotonic() < deadline:  # it is drawn ten times a second
        shown += capsys.readouterr().err
    screen.show_step(step(Piece("Yes", Origin.TARGET)))
    shown += capsys.readouterr().err
    assert "reading the prompt, 512 of 4000 tokens \x1b[33m0:00:0" in shown
    assert on_screen(shown) == []


@pytest.mark.usefixtures("terminal")
def test_thinking_is_dimmed_above_the_answer(capsys: Captured) -> None:
    screen = Screen()
    screen.wait()
    screen.show_step(step(Piece("\n\nHm, **no**", Origin.TARGET, is_thinking=True)))
    screen.show_step(step(Piece(".\n", Origin.DRAFT, is_thinking=True), Piece("**Yes**", Origin.DRAFT)))
    screen.end_answer()
    shown = capsys.readouterr()
    assert on_screen(shown.out) == ["Yes"]
    assert on_screen(shown.err) == ["· thinking", "Hm, **no**."]
    assert "\x1b[2mHm, **no**" in shown.err
    assert "\x1b[2m" not in shown.out


@pytest.mark.usefixtures("terminal")
def test_thinking_shows_origins(capsys: Captured) -> None:
    screen = Screen(origins=True)
    screen.show_step(step(Piece("Hm", Origin.TARGET, is_thinking=True), Piece(" no", Origin.DRAFT, is_thinking=True)))
    screen.end_answer()
    assert "\x1b[2mHm\x1b[0m\x1b[2;4;32m no\x1b[0m" in capsys.readouterr().err


@pytest.mark.usefixtures("terminal")
def test_hidden_thinking_is_waited_for(capsys: Captured) -> None:
    screen = Screen(thinking=False)
    screen.wait()
    screen.show_step(step(Piece("Hm", Origin.TARGET, is_thinking=True)))
    shown = ""
    deadline = time.monotonic() + PATIENCE
    while "thinking" not in shown and time.monotonic() < deadline:  # it is drawn ten times a second
        shown += capsys.readouterr().err
    screen.show_step(step(Piece("Yes", Origin.TARGET)))
    screen.end_answer()
    last = capsys.readouterr()
    assert "thinking \x1b[33m0:00:0" in shown
    assert on_screen(shown + last.err) == []
    assert on_screen(last.out) == ["Yes"]


DOCUMENT = """Words are **wrapped** at the edge of a scientific screen.
A second line <b>stays</b> one.

- one
- two, see [there](https://example.org)

```python
def double(x):
    return 2 * x
```

| name | value |
|---|---|
| a very long one | 2 |
"""


def on_screen(output: str) -> list[str]:
    """Return the lines on screen after colours, line feeds and erased lines."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", output):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\x1b[1A":
            row -= 1
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part == "\r" or part[0] == "\x1b":
            assert part == "\r" or part.endswith(("m", "l", "h")), part
        else:
            lines[row] += part
    while lines and not lines[-1]:
        lines.pop()
    return lines


@pytest.fixture
def view() -> Callable[..., list[str]]:
    """Return the lines of a terminal of 30 columns after a text came in pieces."""

    def shown(text: str, *, markdown: bool, at_once: int) -> list[str]:
        output = io.StringIO()
        console = Console(file=output, force_terminal=True, width=30, height=20, color_system="standard")
        view = AnswerView(console, markdown=markdown)
        for start in range(0, len(text), at_once):
            view.write(Text(text[start : start + at_once]))
        view.close()
        return on_screen(output.getvalue())

    return shown


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_markdown_is_rendered_in_any_parts(at_once: int, view: Callable[..., list[str]]) -> None:
    assert view(DOCUMENT, markdown=True, at_once=at_once) == [
        "Words are wrapped at the edge",
        "of a scientific screen.",
        "A second line <b>stays</b>",
        "one.",
        "",
        " • one",
        " • two, see there",
        "   (https://example.org)",
        "",
        "def double(x):",
        "    return 2 * x",
        "",
        " name             value",
        " ──────────────────────",
        " a very long one  2",
    ]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_plain_text_is_wrapped_at_words(at_once: int, view: Callable[..., list[str]]) -> None:
    text = "\n**Words** are wrapped at the edge of a scientific screen.\n\n    indented\n" + "x" * 35
    assert view(text, markdown=False, at_once=at_once) == [
        "",
        "**Words** are wrapped at the",
        "edge of a scientific screen.",
        "",
        "    indented",
        "x" * 30,
        "xxxxx",
    ]


@pytest.mark.usefixtures("terminal")
def test_long_block_is_written_line_by_line(view: Callable[..., list[str]]) -> None:
    numbers = [str(number) for number in range(200)]
    assert view("\n".join(["```", *numbers, "```"]), markdown=True, at_once=3) == numbers
    assert view("\n".join(numbers), markdown=True, at_once=3) == numbers


MARKS = (
    "> ",
    "- ",
    "1. ",
    "    ",
    "```",
    "\n",
    "**",
    "_",
    "`",
    "| a |\n",
    "|---|\n",
    "[x](y)",
    "# ",
    "---\n",
    "word ",
    "多字",
    "\t",
    "\\",
)


@fuzz("answers on a terminal")
@pytest.mark.usefixtures("terminal")
@given(st.lists(st.sampled_from(MARKS)))
def test_any_text_can_be_shown(view: Callable[..., list[str]], parts: list[str]) -> None:
    text = "".join(parts)
    view(text, markdown=True, at_once=3)
    assert "".join("".join(view(text, markdown=False, at_once=3)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x9b2J", "\\x9b2J"),
        ("safe\rfake", "safefake"),
        ("line\r\nline", "line\nline"),
        ("a\x08b\x7f\x00", "a␈b␡␀"),
        ("user\u202etxt.exe\u2066", "user\\u202etxt.exe\\u2066"),
        ("\treturn 'ñ 中文 שלום مرحبا 👩‍👩‍👧 é'\n", "\treturn 'ñ 中文 שלום مرحبا 👩‍👩‍👧 é'\n"),
    ],
)
def test_control_sequences_are_shown_as_text(text: str, shown: str) -> None:
    assert harmless(text) == shown


@fuzz("texts on a terminal")
@given(st.text(st.characters(codec=None) | st.sampled_from("\x1b[]0;m\x07\x9b\x08\r\n\u202e\u2066\u200b")))
def test_no_text_steers_the_terminal(text: str) -> None:
    shown = harmless(text)
    assert not {"\u202e", "\u2066"} & set(shown)
    assert {sign for sign in shown if unicodedata.category(sign) == "Cc"} <= {"\n", "\t"}


STATS = Stats(
    prompt_tokens=30,
    reused_tokens=20,
    output_tokens=101,
    rounds=40,
    drafted=80,
    accepted=60,
    ttft_ms=312.4,
    decode_ms=5000.0,
    by_origin=MappingProxyType({"target": 41, "draft": 50, "n-gram": 10}),
    by_part=MappingProxyType({"draft": 900.0, "verify": 4000.0, "other": 100.0}),
    ledger_ms=2100.0,
    plain_ms=71.0,
    context_used=131,
    context_length=4096,
)


def test_statistics_have_every_figure() -> None:
    assert stats_lines(STATS) == [
        "20.0 tok/s, 312 ms to the first token (TTFT), 101 tokens",
        f"acceptance 75% (60 of 80 guesses), mean accepted length {STATS.mean_accepted_length:.2f} over 40 rounds",
        "tokens by origin: target 41%, draft 50%, n-gram 10%",
        "decoding time: draft 900 ms, verify 4000 ms, other 100 ms; 2100 ms saved against plain decoding",
        "context: 131 of 4096 tokens, 20 of the prompt reused",
        "1.42x plain decoding on this machine",
    ]
    assert stats_line(STATS).endswith("101 tokens, 1.42x plain decoding")
    assert stats_line(changed(plain_ms=None)).endswith("101 tokens")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"plain_ms": 50.0}, "as fast as plain decoding: what guessing saved, it cost"),
        ({"plain_ms": 46.0}, "speculation did not pay on this text: 0.92x plain decoding"),
        ({"plain_ms": None}, "no comparison with plain decoding yet: too little was measured"),
        ({"output_tokens": 1}, "no comparison with plain decoding yet: too little was measured"),
        ({"drafted": 0, "accepted": 0}, "plain decoding: nothing was guessed ahead"),
    ],
)
def test_statistics_have_the_gain(changes: dict[str, object], sentence: str) -> None:
    assert gain(changed(**changes)) == sentence


def test_statistics_of_an_empty_answer() -> None:
    empty = changed(output_tokens=0, rounds=0, drafted=0, accepted=0, decode_ms=0.0, by_origin={}, by_part={})
    assert stats_lines(empty)[:3] == [
        "too short for a speed, 312 ms to the first token (TTFT), 0 tokens",
        "nothing guessed in 0 rounds",
        "tokens by origin: target 0%, draft 0%, n-gram 0%",
    ]


def test_json_has_every_field_and_derived_figures() -> None:
    data = json.loads(json.dumps(figures(STATS)))
    derived = {"tpot_ms", "tokens_per_second", "acceptance_rate", "mean_accepted_length", "speedup"}
    assert data.keys() == {field.name for field in dataclasses.fields(Stats)} | derived
    assert data["by_origin"] == {"target": 41, "draft": 50, "n-gram": 10}
    assert data["speedup"] == pytest.approx(1.42)


def changed(**changes: object) -> Stats:
    return Stats(**{field.name: getattr(STATS, field.name) for field in dataclasses.fields(Stats)} | changes)
