"""What reaches standard output and standard error, on a terminal and in a pipe."""

import pytest

from headstart.cli.render import Screen
from headstart.engine.engine import Origin, Piece, Prefill, Round, Step, Timing

PIECES = (Piece("The", Origin.TARGET), Piece(" quick", Origin.DRAFT), Piece("\tfox\n", Origin.NGRAM))
ROUND = Round((), 0, 0, Origin.TARGET, Timing())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """rich takes standard output for a terminal of 16 colours."""
    for name in ("NO_COLOR", "COLORTERM", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")


def test_a_pipe_gets_the_bare_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    screen = Screen(origins=True)
    screen.legend()
    screen.step(_step(*PIECES))
    screen.end_answer()
    assert capsys.readouterr() == ("The quick\tfox\n", "")


def test_long_lines_and_markup_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x " * 200 + "[bold]:smile:\\n"
    screen = Screen()
    screen.step(_step(Piece(text, Origin.TARGET)))
    screen.end_answer()
    screen.remark(text)
    assert capsys.readouterr() == (f"{text}\n", f"· {text}\n")


def test_escapes_of_the_model_and_of_errors_are_neutralised(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(origins=True)
    screen.step(_step(Piece("\x1b]0;pwned\x07", Origin.DRAFT)))
    screen.end_answer()
    screen.complain("no model '\x1b[2J'")
    shown = "".join(capsys.readouterr())
    assert shown == "␛]0;pwned␇\nheadstart: no model '␛[2J'\n"


@pytest.mark.usefixtures("terminal")
def test_origins_differ_in_underline_and_in_colour(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(origins=True)
    screen.legend()
    screen.step(_step(*PIECES))
    shown = capsys.readouterr()
    assert shown.out == "The\x1b[4;32m quick\x1b[0m\x1b[1;4;35m\tfox\n\x1b[0m"
    assert "\x1b[4;32mdraft model, underlined\x1b[0m" in shown.err


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("by_flag", [True, False])
def test_without_colour_the_underlines_stay(
    by_flag: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not by_flag:
        monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen(colour=not by_flag, origins=True)
    screen.step(_step(*PIECES))
    assert capsys.readouterr().out == "The\x1b[4m quick\x1b[0m\x1b[1;4m\tfox\n\x1b[0m"


@pytest.mark.usefixtures("terminal")
def test_without_show_origin_nothing_is_styled(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    screen.legend()
    screen.step(_step(*PIECES))
    assert capsys.readouterr() == ("The quick\tfox\n", "")


def test_a_step_without_pieces_shows_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(origins=True).step(Step("whole", ROUND))
    assert capsys.readouterr().out == "whole"


@pytest.mark.usefixtures("terminal")
def test_a_long_prompt_shows_progress_and_takes_it_back(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    screen.reading(Prefill(256, 4000))
    screen.reading(Prefill(512, 4000))
    screen.step(_step(Piece("Yes", Origin.TARGET)))
    assert capsys.readouterr().err == ("reading 256 of 4000 tokens\r\x1b[2Kreading 512 of 4000 tokens\r\x1b[2K")


@pytest.mark.usefixtures("terminal")
def test_a_short_prompt_shows_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().reading(Prefill(10, 20))
    assert capsys.readouterr().err == ""


def _step(*pieces: Piece) -> Step:
    return Step("".join(piece.text for piece in pieces), ROUND, pieces)
