"""Nothing that comes from outside may steer the terminal."""

import unicodedata

import pytest

from headstart.terminal.harmless import harmless


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


def test_no_control_character_but_tab_and_line_feed_is_left() -> None:
    everything = "".join(chr(code) for code in range(0x3000))
    left = {character for character in harmless(everything) if unicodedata.category(character) == "Cc"}
    assert left == {"\n", "\t"}
