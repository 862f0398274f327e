"""Figures of an answer while it grows, and the line that sums it up afterwards."""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from headstart.engine.engine import FinishReason, Origin, Round, Stats, Step, Timing, Token
from headstart.engine.stats import merge_stats
from headstart.ui.chat.live_panel import LiveFigures, LivePanel, Sparkline
from headstart.ui.program import Program
from headstart.ui.transcript import live_answer
from headstart.ui.widgets.labels import ElidedLabel
from tests.ui.person import ask


def step(tokens: int, drafted: int, accepted: int, timing: Timing, ledger_ms: float | None = None) -> Step:
    written = tuple(Token(n, Origin.DRAFT) for n in range(tokens))
    return Step("x" * tokens, Round(written, drafted, accepted, Origin.DRAFT, timing, ledger_ms))


def earning(ledger_ms: float | None) -> Step:
    return step(3, 4, 2, Timing(1, 1, 1), ledger_ms)


@pytest.fixture
def panel(qtbot: QtBot) -> LivePanel:
    """An empty panel."""
    panel = LivePanel()
    qtbot.addWidget(panel)
    panel.show()
    return panel


def label_of(panel: LivePanel, title: str) -> ElidedLabel:
    """Return the figure below a title."""
    return next(label for label in panel.findChildren(ElidedLabel) if label.accessibleName().startswith(f"{title}: "))


def test_live_figures_are_means_of_the_last_rounds() -> None:
    figures = LiveFigures()
    figures.grow(
        [step(1, 0, 0, Timing(0, 0, 0.1)), step(3, 4, 2, Timing(40, 50, 10)), step(5, 4, 4, Timing(40, 50, 10))]
    )
    assert list(figures.speed) == [pytest.approx(30.0), pytest.approx(40.0)]
    assert list(figures.acceptance) == [0.5, 0.75]
    assert list(figures.length) == [4.0, 4.0]
    assert figures.shares() == {"draft": 0.4, "verify": 0.5, "other": 0.1}
    figures.grow([step(0, 0, 0, Timing()), step(0, 0, 0, Timing())])  # text left over at the end is no round
    assert len(figures.length) == 2


def test_acceptance_counts_positions_after_accepted_ones() -> None:
    figures = LiveFigures()
    assert figures.by_position() == ()
    once = Timing(1, 1, 1)
    figures.grow([step(1, 9, 9, once), step(3, 4, 2, once), step(1, 4, 0, once), step(3, 2, 2, once)])
    assert list(figures.by_position()) == pytest.approx([2 / 3, 1.0, 0.0])


def test_panel_shows_acceptance_by_position(panel: LivePanel) -> None:
    once = Timing(1, 1, 1)
    panel.grow([step(1, 0, 0, once), step(3, 4, 2, once), step(1, 4, 0, once)])
    assert label_of(panel, "Accepted by place").text() == "first 50 %, last 0 %"


@pytest.mark.parametrize(
    ("earned", "words"),
    [(0.0, "none yet"), (4.9, "none yet"), (12_345.0, "12.35 s"), (-20.0, "none yet")],
)
def test_panel_shows_the_saved_time(panel: LivePanel, earned: float, words: str) -> None:
    panel.grow([earning(0.0)])
    assert label_of(panel, "Time saved (estimate)").text() == "–"  # the prompt's own pass is no round
    panel.grow([earning(-900.0), earning(earned)])
    saved_ms = label_of(panel, "Time saved (estimate)")
    assert saved_ms.text() == words
    assert "as estimated for this answer" in saved_ms.toolTip()
    assert ("0.02 s more" in saved_ms.toolTip()) == (earned < 0)
    panel.grow([step(0, 0, 0, Timing())])
    assert saved_ms.text() == words  # text left over at the end is told without
    panel.begin()
    assert saved_ms.text() == "–"


@pytest.mark.parametrize(("columns", "spare", "rows"), [(6, 0, 1), (6, -1, 2), (3, 0, 2), (3, -1, 3), (2, 0, 3)])
def test_figures_take_the_rows_they_need(panel: LivePanel, columns: int, spare: int, rows: int) -> None:
    panel.show()
    panel.resize(panel.width_for(columns) + spare, 200)
    panel.grow([earning(0.0), earning(12_345.0), step(1, 4, 0, Timing(45, 45, 10), 12_345.0)])
    QApplication.processEvents()
    labels = panel.findChildren(ElidedLabel)
    assert len({label.y() for label in labels}) == 2 * rows
    assert all(label.fontMetrics().horizontalAdvance(label.text()) <= label.width() for label in labels)


def test_panel_says_that_there_is_no_ledger(panel: LivePanel) -> None:
    saved_ms = label_of(panel, "Time saved (estimate)")
    assert "does not report" not in saved_ms.toolTip()
    panel.grow([step(0, 0, 0, Timing())])  # of a server, which tells no tokens
    assert (saved_ms.text(), "does not report" in saved_ms.accessibleDescription()) == ("–", True)
    panel.begin()
    panel.grow([earning(None), earning(None)])
    assert (saved_ms.text(), "does not report" in saved_ms.toolTip()) == ("–", True)


def test_another_chat_starts_without_figures(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["live"].trigger()
    ask(qtbot, app, "toy: words 20")
    speed = label_of(app.window.chat.live, "Speed")
    assert speed.text() != "–"
    app.window.actions_by_name["new"].trigger()
    assert speed.text() == "–"


def test_figures_are_there_when_the_panel_is_opened_later(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "toy: words 20")
    app.window.actions_by_name["live"].trigger()
    assert label_of(app.window.chat.live, "Speed").text() != "–"


def test_negative_line_stays_in_its_frame(qtbot: QtBot) -> None:
    line = Sparkline("#ff0000")
    qtbot.addWidget(line)
    line.resize(100, 26)
    for figures in ([-50.0, -10.0, 30.0], [-3.0, -1.0], [0.0, 0.0], [5.0, 1.0]):
        line.show_figures(figures, "#ff0000")
        heights = line.heights(figures)
        assert all(2 <= height <= 24 for height in heights)
        assert heights == sorted(heights, reverse=figures == sorted(figures))
    line.show_figures([-50.0, 50.0], "#ff0000")
    assert line.heights([0.0]) == [13.0]


STATS = Stats(
    prompt_tokens=10,
    reused_tokens=0,
    output_tokens=101,
    rounds=40,
    drafted=80,
    accepted=60,
    ttft_ms=1500.0,
    decode_ms=5000.0,
    by_origin={"draft": 60, "target": 41},
    by_part={"draft": 10.0},
    ledger_ms=1.0,
    plain_ms=100.0,
    context_used=111,
    context_length=2048,
)


@pytest.mark.parametrize(
    ("stats", "line"),
    [
        (STATS, "20.0 tokens/s, 2× faster"),
        (replace(STATS, plain_ms=77.0), "20.0 tokens/s, 1.5× faster"),
        (replace(STATS, plain_ms=52.5), "20.0 tokens/s, 1.1× faster"),
        (replace(STATS, plain_ms=52.4), "20.0 tokens/s"),
        (replace(STATS, plain_ms=40.0), "20.0 tokens/s"),
        (replace(STATS, plain_ms=None), "20.0 tokens/s"),
        (replace(STATS, drafted=0, accepted=0), "20.0 tokens/s"),
        (replace(STATS, output_tokens=0), ""),
    ],
)
def test_statistics_line_has_the_gain(stats: Stats, line: str) -> None:
    assert live_answer.summary(live_answer.stored_stats(stats, FinishReason.STOP)) == line


@pytest.mark.parametrize(
    ("stats", "line"),
    [
        (replace(STATS, plain_ms=51.0), "1.02× as fast as without guessing ahead"),
        (replace(STATS, plain_ms=40.0), "0.80× as fast as without guessing ahead"),
        (replace(STATS, drafted=0, accepted=0), "Nothing was guessed ahead"),
    ],
)
def test_details_have_what_is_no_gain(stats: Stats, line: str) -> None:
    assert live_answer.details(live_answer.stored_stats(stats, FinishReason.STOP)).splitlines()[0] == line


def test_statistics_lines_have_origins_and_times() -> None:
    lines = live_answer.report(
        live_answer.stored_stats(replace(STATS, ledger_ms=1234.0), FinishReason.STOP)
    ).splitlines()
    assert lines[0].startswith("20.0 tokens/s")
    assert lines[1:] == [
        "2.00× as fast as without guessing ahead",
        "75 % of the guesses accepted (60 of 80)",
        "2.50 tokens per step",
        "First token after 1.5 s",
        "Tokens from: draft model 60, the model itself 41",
        "Time: guessing 0.01 s",
        "Time saved (estimate): 1.2 s",
        "Context: 111 of 2,048 tokens",
    ]
    known = live_answer.details(
        live_answer.stored_stats(replace(STATS, prompt_tokens=4120, reused_tokens=4100), FinishReason.STOP)
    )
    assert "4,120 tokens, 4,100 of them" in known
    lost = live_answer.details(live_answer.stored_stats(replace(STATS, ledger_ms=-20.0), FinishReason.STOP))
    assert "Time lost (estimate): 0.02 s" in lost
    assert live_answer.report({}) == ""


def test_continued_answer_is_counted_whole() -> None:
    first = live_answer.stored_stats(replace(STATS, ledger_ms=500.0), FinishReason.LENGTH)
    second = replace(
        STATS, output_tokens=50, rounds=10, drafted=20, accepted=10, ttft_ms=9.0, decode_ms=1000.0, ledger_ms=-100.0
    )
    second = replace(second, by_origin={"draft": 10, "n-gram": 1}, by_part={"verify": 5.0})
    whole = merge_stats(second, first)
    assert (whole.output_tokens, whole.rounds, whole.drafted, whole.accepted) == (151, 50, 100, 70)
    assert (whole.ttft_ms, whole.decode_ms, whole.ledger_ms) == (1500.0, 6000.0, 400.0)
    assert whole.by_origin == {"draft": 70, "target": 41, "n-gram": 1}
    assert whole.by_part == {"draft": 10.0, "verify": 5.0}
    assert whole.speedup == pytest.approx(6400.0 / 6000.0)  # what it would have taken without guesses
    assert merge_stats(STATS, {}) == STATS


def test_final_figures_are_those_of_the_answer(panel: LivePanel) -> None:
    panel.grow([earning(0.0), *[step(3, 4, 2, Timing(40, 50, 10))] * 9])
    assert (label_of(panel, "Speed").text(), label_of(panel, "Accepted").text()) == ("30.0 tokens/s", "50 %")
    panel.end(live_answer.stored_stats(STATS, FinishReason.STOP))
    assert (label_of(panel, "Speed").text(), label_of(panel, "Accepted").text()) == ("20.0 tokens/s", "75 %")
    assert label_of(panel, "Proposed").text() == "2.0"
    panel.begin()
    assert label_of(panel, "Speed").text() == "–"


def test_repetitive_answer_has_no_gain() -> None:
    looped = replace(STATS, repeats=4, ledger_ms=0.0)
    assert live_answer.gain(live_answer.stored_stats(STATS, FinishReason.STOP))
    for reason in (FinishReason.REPETITION, FinishReason.LENGTH):  # the other where it was let go on
        stored = live_answer.stored_stats(looped, reason)
        assert (live_answer.gain(stored), stored["speedup"]) == ("", None)
        assert "saved" not in live_answer.report(stored)


def test_repetition_takes_the_saved_time_back(panel: LivePanel) -> None:
    panel.grow([earning(0.0), earning(12_345.0)])
    panel.end({})
    assert label_of(panel, "Time saved (estimate)").text() == "12.35 s"
    panel.end({live_answer.REPEATS: 4})
    assert label_of(panel, "Time saved (estimate)").text() == "–"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (FinishReason.STOP, ""),
        (FinishReason.LENGTH, "longest length"),
        (FinishReason.CONTEXT, "context is full"),
        (FinishReason.REPETITION, "repeats itself"),
        (FinishReason.CANCELLED, "Stopped."),
    ],
)
def test_unusual_finish_reason_is_reported(reason: FinishReason, words: str) -> None:
    notice = live_answer.notice(live_answer.stored_stats(STATS, reason))
    assert words in notice
    assert bool(words) == bool(notice)
