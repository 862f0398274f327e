"""Stories of the window around the chat: keys, files, settings, themes, palette, access."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QStyle
from pytestqt.qtbot import QtBot

from headstart.ui.program import Program
from headstart.ui.transcript.message_view import MessageView
from headstart.ui.widgets.legend import Swatch
from headstart.ui.window.dialogs import CommandPalette
from tests.ui.person import WAIT, ask, shown, texts, write

Open = Callable[..., Program]


def test_shift_enter_breaks_the_line(qtbot: QtBot, app: Program) -> None:
    edit = app.window.chat.composer.edit
    QTest.keyClicks(edit, "one")
    QTest.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(edit, "two")
    assert edit.text() == "one\ntwo"
    assert not shown(app)


def test_control_enter_sends_by_setting(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["enter_sends"].trigger()
    edit = app.window.chat.composer.edit
    write(app, "one")
    assert edit.text() == "one\n"
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        QTest.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert texts(app)[0] == "one"


def test_find_in_chat_counts_and_escape_closes_it(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "echo echo")
    app.window.actions_by_name["find"].trigger()
    bar = app.window.chat.find_bar
    QTest.keyClicks(bar.field, "echo")
    assert bar._count.text() == "1 of 4"
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    assert bar._count.text() == "2 of 4"
    QTest.keyClick(app.window, Qt.Key.Key_Escape)
    assert bar.isHidden()


def test_restored_window_fits_on_a_smaller_screen(open_program: Callable[..., Program]) -> None:
    window = open_program().window
    room = window.screen().availableGeometry()
    window.setGeometry(300, 200, room.width() + 400, room.height() + 200)
    state = window.state()
    restored = open_program().window
    restored.restore(state)
    restored.fit_screen()
    assert room.contains(restored.geometry())
    title = restored.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
    assert restored.geometry().top() - room.top() >= title > 0


def test_long_draft_shows_its_lines_when_it_is_opened_again(qtbot: QtBot, open_program: Callable[..., Program]) -> None:
    app = open_program()
    app.window.chat.composer.set_text("many words " * 200)
    qtbot.waitUntil(lambda: app.window.chat.composer.edit.height() > 100, timeout=WAIT)
    height = app.window.chat.composer.edit.height()
    app = open_program()
    edit = app.window.chat.composer.edit
    assert edit.text().startswith("many words")
    qtbot.waitUntil(lambda: edit.height() == height, timeout=WAIT)


def test_narrow_window_folds_the_sidebar(open_program: Callable[..., Program]) -> None:
    app = open_program()
    sidebar, action = app.window.sidebar, app.window.actions_by_name["sidebar"]
    app.window.resize(500, 700)
    assert sidebar.isHidden()
    app = open_program()  # as wide as before
    sidebar, action = app.window.sidebar, app.window.actions_by_name["sidebar"]
    assert sidebar.isHidden()
    action.trigger()
    assert sidebar.isVisible()
    app.window.resize(1000, 700)
    assert sidebar.isVisible()
    action.trigger()
    app.window.resize(500, 700)
    app.window.resize(1000, 700)
    assert sidebar.isHidden()


def test_chat_settings_apply_to_the_next_message(qtbot: QtBot, app: Program) -> None:
    app.window.panel.edited.emit("max_new_tokens", 4)
    app.window.panel.edited.emit("num_assistant_tokens", 3)
    app.window.panel.edited.emit("assistant_confidence_threshold", 0.5)
    ask(qtbot, app, "toy: words 50")
    assert len(texts(app)[-1].split()) == 4
    assert "longest length" in shown(app)[-1].notice
    made = app.chat_controller.session.path[-1].settings
    assert (made["num_assistant_tokens"], made["assistant_confidence_threshold"]) == (3, 0.5)
    app.window.sidebar.new_requested.emit()
    assert app.chat_controller.session.settings.max_new_tokens == 2048
    app.chats.open(app.store.chats()[0].id)
    app.window.panel.reset.click()
    assert app.chat_controller.session.settings.max_new_tokens == 2048


def test_fixed_speculation_has_a_length(qtbot: QtBot, app: Program) -> None:
    app.window.panel.edited.emit("speculation", "fixed")
    settings = app.chat_controller.session.settings
    assert (settings.guessing.mode, settings.guessing.num_assistant_tokens) == ("fixed", 4)
    app.window.panel.edited.emit("num_assistant_tokens", None)
    assert app.chat_controller.session.settings.guessing.mode == "auto"


def test_chat_settings_can_become_defaults(qtbot: QtBot, app: Program) -> None:
    app.window.panel.edited.emit("temperature", 0.7)
    app.window.panel.adopt.click()
    assert app.settings.now.sampling.temperature == 0.7
    assert not app.chat_controller.session.chat.settings


def test_origins_are_coloured_on_demand(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    assert app.window.chat.legend.isHidden()
    app.window.chat.origins_button.click()
    assert not app.window.chat.legend.isHidden()
    again = open_program()
    assert not again.window.chat.legend.isHidden()


def test_legend_has_the_drafters_of_the_chat(qtbot: QtBot, app: Program) -> None:
    def explained() -> list[str]:
        return [swatch.origin for swatch in app.window.chat.legend.findChildren(Swatch) if not swatch.isHidden()]

    assert explained() == []
    ask(qtbot, app, "toy: words 30")
    assert {"draft", "target"} <= set(explained())
    app.window.sidebar.new_requested.emit()
    assert explained() == []


def test_last_answer_is_copied_as_markdown(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "**bold**")
    app.window.actions_by_name["copy_last"].trigger()
    assert QGuiApplication.clipboard().text().strip() == "You wrote: **bold**"


def test_message_range_is_copied_by_keyboard(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "**one**")
    ask(qtbot, app, "two")
    transcript, bar = app.window.chat.transcript, app.window.chat.selection
    assert bar.isHidden()
    _choose(transcript.view(1), "Select Message")
    assert not bar.isHidden()
    _choose(transcript.view(2), "Select up to Here")
    assert "2 messages" in bar._label.text()
    bar.text_button.click()
    assert "You wrote: one" in QGuiApplication.clipboard().text()
    assert bar.isHidden()
    _choose(transcript.view(1), "Select Message")
    bar.markdown_button.click()
    assert "You wrote: **one**" in QGuiApplication.clipboard().text()
    _choose(transcript.view(1), "Select Message")
    QTest.keyClick(app.window, Qt.Key.Key_Escape)
    assert bar.isHidden()
    _choose(transcript.view(1), "Select Message")
    app.window.sidebar.new_requested.emit()
    assert bar.isHidden()


def test_click_on_a_name_selects_the_message(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "one")
    header = app.window.chat.transcript.view(1)._header
    QTest.mouseClick(header, Qt.MouseButton.LeftButton)
    assert app.window.chat.transcript.hasFocus()
    QTest.keyClick(app.window.chat.transcript, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "**toy:**\n\nYou wrote: one "


def _choose(view: MessageView, text: str) -> None:
    next(action for action in view.menu().actions() if action.text() == text).trigger()


def test_palette_runs_a_command(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["palette"].trigger()
    palette = next(child for child in app.window.children() if isinstance(child, CommandPalette))
    QTest.keyClicks(palette.field, "dark th")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert app.settings.now.theme == "dark"


def test_shortcuts_are_unique(qtbot: QtBot, app: Program) -> None:
    keys = [
        key.toString(QKeySequence.SequenceFormat.PortableText)
        for action in app.window.actions_by_name.values()
        for key in action.shortcuts()
    ]
    assert len(keys) > 15
    assert len(keys) == len(set(keys))
