"""Nothing that comes from outside may steer the terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.cli.render import harmless
from tests.junk import fuzz


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x9b2J", "\\x9b2J"),
        ("safe\rfake", "safefake"),
        ("line\r\nline", "line\nline"),
        ("a\x08b\x7f\x00", "a␈b␡␀"),
        ("user\u202etxt.exe\u2066", "user\\u202etxt.exe\\u2066"),
    ],
)
def test_what_would_steer_the_terminal_is_shown_instead(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_ordinary_text_of_any_script_stays() -> None:
    text = "def f():\n\treturn 'ñ 中文 שלום مرحبا 👩‍👩‍👧 é'\n"
    assert harmless(text) == text


@fuzz("texts on a terminal")
@given(st.text(st.characters(codec=None) | st.sampled_from("\x1b[]0;m\x07\x9b\x08\r\n\u202e\u2066\u200b")))
def test_no_text_steers_the_terminal(text: str) -> None:
    shown = harmless(text)
    assert not {"\u202e", "\u2066"} & set(shown)
    assert {sign for sign in shown if unicodedata.category(sign) == "Cc"} <= {"\n", "\t"}


def test_no_control_character_but_tab_and_line_feed_is_left() -> None:
    everything = "".join(chr(code) for code in range(0x3000))
    left = {character for character in harmless(everything) if unicodedata.category(character) == "Cc"}
    assert left == {"\n", "\t"}
