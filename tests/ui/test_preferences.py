"""The preferences: every setting has its place and its words, and each change holds at once."""

import errno
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QLabel, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from headstart import paths, private_files, settings
from headstart.chat.history.store import open_store
from headstart.engine.engine import Sampling
from headstart.settings import about
from headstart.ui.engine_request import installed_model, request
from headstart.ui.program import Program
from headstart.ui.settings.preferences_dialog import PreferencesDialog
from headstart.ui.settings.settings_form import NumberEditor, PresetEditor, label, meaning, title
from tests.stand_ins.model_folders import write_model
from tests.ui.person import WAIT, ask, filled_panel, preferences, press, setting

ELSEWHERE = {"presets", "prompts", "server_port"}  # edited where they are used
Field = TypeVar("Field", bound=QWidget)


@pytest.fixture
def dialog(app: Program) -> PreferencesDialog:
    """The preferences, open over the window."""
    return preferences(app)


def _field(dialog: PreferencesDialog, kind: type[Field], name: str) -> Field:
    fields = [field for field in dialog.findChildren(kind) if field.accessibleName() == title(name)]
    assert len(fields) == 1
    return fields[0]


def _choose(box: QComboBox, value: str) -> None:
    box.setCurrentIndex(box.findData(value))
    box.activated.emit(box.currentIndex())


def test_every_setting_is_shown_once(dialog: PreferencesDialog) -> None:
    names = [name for form in dialog.forms for name in form.names]
    assert sorted(names) == sorted(about().keys() - ELSEWHERE)
    assert all(title(name) and meaning(name) for name in names)
    assert [label("language", each) for each in about()["language"].choices] == [
        "System",
        "English",
        "简体中文",
        "繁體中文",
    ]
    assert all(each.choices == (*each.labels, *each.names) for each in about().values())


def test_changed_setting_applies_and_is_saved(app: Program, dialog: PreferencesDialog) -> None:
    _choose(_field(dialog, QComboBox, "theme"), "dark")
    assert app.appearance.theme.dark
    _field(dialog, QDoubleSpinBox, "zoom").setValue(150)
    assert app.appearance.font.pointSizeF() == pytest.approx(11 * 1.5)
    _field(dialog, QCheckBox, "show_origins").click()
    assert not app.window.chat.legend.isHidden()
    assert app.window.actions_by_name["origins"].isChecked()
    _field(dialog, QCheckBox, "enter_sends").click()
    assert not app.window.chat.composer.edit.enter_sends
    saved = settings.load()
    assert (saved.theme, saved.zoom, saved.show_origins, saved.enter_sends) == ("dark", 150, True, False)


def test_setting_changed_elsewhere_is_shown(app: Program, dialog: PreferencesDialog) -> None:
    app.window.actions_by_name["zoom_in"].trigger()
    assert _field(dialog, QDoubleSpinBox, "zoom").value() == 110


def test_chat_defaults_reach_the_open_chat(app: Program, dialog: PreferencesDialog) -> None:
    _choose(_field(dialog, QComboBox, "speculation"), "fixed")
    assert (app.settings.now.guessing.mode, app.settings.now.guessing.num_assistant_tokens) == ("fixed", 4)
    assert app.chat_controller.session.settings.guessing.num_assistant_tokens == 4
    shown = _field(dialog, QDoubleSpinBox, "num_assistant_tokens")
    beside = filled_panel(app).findChildren(QDoubleSpinBox)
    assert shown.value() in [spin.value() for spin in beside if spin.accessibleName() == title("num_assistant_tokens")]
    app.window.panel.edited.emit("num_assistant_tokens", 7)
    both = (app.chat_controller.session.settings, app.settings.now)
    assert [each.guessing.num_assistant_tokens for each in both] == [7, 4]


def test_page_restores_its_own_defaults(app: Program, dialog: PreferencesDialog) -> None:
    app.settings.change(zoom=200, temperature=0.5)
    dialog._restore.click()
    assert (app.settings.now.zoom, app.settings.now.sampling.temperature) == (100, 0.5)


@pytest.mark.parametrize("zoom", [100, 200])
def test_list_of_choices_shows_all_of_them(app: Program, dialog: PreferencesDialog, zoom: int) -> None:
    app.settings.change(zoom=zoom)
    box = _field(dialog, QComboBox, "language")
    height = box.sizeHint().height()
    box.setFocus()
    assert box.hasFocus()
    assert box.sizeHint().height() == height
    QTest.keyClick(box, Qt.Key.Key_F4)
    rows = [box.view().visualRect(box.view().model().index(row, 0)).bottom() for row in range(box.count())]
    assert max(rows) < box.view().viewport().height()


def test_preferences_work_by_keyboard(qtbot: QtBot, app: Program, dialog: PreferencesDialog) -> None:
    QTest.keyClick(dialog.list, Qt.Key.Key_End)
    assert dialog.pages.currentIndex() == dialog.list.count() - 1
    assert not dialog._restore.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: app.window.findChild(PreferencesDialog) is None, timeout=WAIT)


def test_quit_works_with_preferences_open(qtbot: QtBot, app: Program, dialog: PreferencesDialog) -> None:
    dialog.activateWindow()
    QTest.keyClick(dialog, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(app.window.isHidden, timeout=WAIT)


def test_folders_are_shown_relative_to_home(
    app: Program, headstart_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: headstart_home.parent)
    dialog = preferences(app)
    assert f"~/{headstart_home.name}/history" in [label.text() for label in dialog.findChildren(QLabel)]


def test_language_change_offers_to_reopen_the_window(qtbot: QtBot, app: Program) -> None:
    dialog = preferences(app)
    dialog.forms[0].edited.emit("language", "en")
    assert not dialog.findChildren(QMessageBox), "it is spoken already"
    dialog.forms[0].edited.emit("language", "zh_CN")
    (box,) = dialog.findChildren(QMessageBox)
    assert app.reopens is None
    next(each for each in box.buttons() if each.text() == "Reopen now").click()
    assert app.reopens is not None
    assert not app.window.isVisible()


Open = Callable[..., Program]
NAMES = ("temperature", "top_p", "top_k", "repetition_penalty")


def field(app: Program, name: str) -> NumberEditor:
    found = setting(app, name)
    assert isinstance(found, NumberEditor)
    return found


def told(app: Program, *names: str) -> list[str]:
    """Return the values in the fields."""
    return [field(app, name)._spin.text() for name in names]


def install(name: str, **values: float) -> None:
    folder = paths.models_folder() / name
    write_model(folder)
    (folder / "generation_config.json").write_text(json.dumps({"do_sample": True, **values}))


def test_open_parameters_show_the_values_of_the_model(open_program: Open) -> None:
    install("one", temperature=0.2, top_p=0.9, repetition_penalty=1.1)
    install("two", temperature=0.6, top_k=20)
    app = open_program(find=installed_model)
    app.window.panel.edited.emit("model", "one")
    assert told(app, *NAMES) == ["0.20", "0.90", "0", "1.10"]
    assert not field(app, "temperature")._spin.isEnabled()
    app.window.panel.edited.emit("model", "two")
    assert told(app, *NAMES) == ["0.60", "1.00", "20", "1.00"]
    session = app.chat_controller.session
    assert request(session.conversation.ask("x").path, session.settings, None).sampling == (
        Sampling(automatic=("temperature", "top_p", "top_k", "min_p", "repetition_penalty"))
    )


def test_unknown_values_of_the_model_are_not_shown(app: Program) -> None:
    for name in ("temperature", "num_assistant_tokens", "context"):
        assert field(app, name)._spin.isHidden()
    field(app, "temperature")._automatic.click()
    assert not field(app, "temperature")._spin.isHidden()
    assert told(app, "temperature") == ["0.70"]
    assert app.chat_controller.session.settings.sampling.temperature == 0.7


def test_set_parameter_starts_at_the_value_of_the_model(open_program: Open) -> None:
    install("one", temperature=0.2)
    app = open_program(find=installed_model)
    field(app, "temperature")._automatic.click()
    assert app.chat_controller.session.settings.sampling.temperature == 0.2
    assert field(app, "temperature")._spin.isEnabled()
    field(app, "temperature")._automatic.click()
    assert "temperature" in app.chat_controller.session.settings.sampling.automatic


@pytest.mark.parametrize(("step", "temperature"), [("Precise", 0.2), ("Balanced", None), ("Creative", 1.0)])
def test_style_is_one_click(qtbot: QtBot, app: Program, step: str, temperature: float | None) -> None:
    press(filled_panel(app), step)
    assert field(app, "temperature")._automatic.isChecked() == (temperature is None)
    ask(qtbot, app, "hello")
    assert app.chat_controller.session.path[-1].settings["temperature"] == temperature
    pressed = [each.text() for each in app.window.panel.findChildren(QPushButton) if each.isChecked()]
    assert pressed == [step]


def test_no_style_is_pressed_for_another_temperature(app: Program) -> None:
    panel = filled_panel(app)
    app.chat_controller.session.change_settings({"temperature": 0.55})
    app.panel.show_settings(app.chat_controller.session.settings)
    assert not [each.text() for each in panel.findChildren(QPushButton) if each.isChecked()]


def test_typed_value_is_kept(app: Program) -> None:
    edit = field(app, "temperature")
    edit._automatic.click()
    edit._spin.lineEdit().selectAll()
    QTest.keyClicks(edit._spin, "0.55\r")
    assert app.chat_controller.session.settings.sampling.temperature == 0.55


@pytest.mark.parametrize(
    ("name", "typed", "value", "words"),
    [
        ("temperature", "99", 2.0, "99 is out of bounds (0.00 to 2.00); 2.00 is used."),
        ("num_assistant_tokens", "999", 16, "999 is out of bounds (1 to 16); 16 is used."),
        ("assistant_confidence_threshold", "7", 1.0, "7 is out of bounds (0.00 to 1.00); 1.00 is used."),
    ],
)
def test_value_out_of_bounds_is_corrected_and_reported(
    app: Program, name: str, typed: str, value: float, words: str
) -> None:
    editor = field(app, name)
    if editor._automatic.isChecked():
        editor._automatic.click()
    editor._spin.selectAll()
    QTest.keyClicks(editor._spin, typed)
    QTest.keyClick(editor._spin, Qt.Key.Key_Return)
    session = app.chats.current
    assert session
    assert getattr(session.settings, name) == value
    assert editor._bounds_line.text() == words
    editor._spin.stepDown()
    assert editor._bounds_line.text() == ""


def test_panel_folds_rare_settings(app: Program) -> None:
    app.window.actions_by_name["panel"].trigger()
    everyday, advanced = app.window.panel.forms
    assert everyday.names == ("model", "system_prompt", "max_new_tokens", "think")
    assert (everyday.isHidden(), advanced.isHidden()) == (False, True)
    press(app.window.panel, "More")
    assert not advanced.isHidden()
    assert {"temperature", "top_p", "seed", "device", "kv_precision", "draft"} <= set(advanced.names)
    assert not set(everyday.names) & set(advanced.names)
    assert advanced.names[-4:] == (  # last: few need them
        "speculation", "num_assistant_tokens", "assistant_confidence_threshold", "draft"
    )  # fmt: skip
    press(app.window.panel, "More")
    assert advanced.isHidden()


@pytest.mark.parametrize("zoom", [100, 200])
def test_narrow_panel_cuts_no_field(qtbot: QtBot, app: Program, zoom: int) -> None:
    app.settings.change(zoom=zoom)
    panel = app.window.panel
    app.window.actions_by_name["panel"].trigger()
    panel.setMaximumWidth(panel.minimumWidth())
    prompt = setting(app, "system_prompt")
    qtbot.waitUntil(lambda: panel.width() == panel.minimumWidth(), timeout=WAIT)
    qtbot.waitUntil(lambda: prompt.height() >= prompt.minimumSizeHint().height(), timeout=WAIT)
    assert prompt.width() <= panel.width()


def test_typed_prompt_is_kept_whatever_comes_next(qtbot: QtBot, app: Program) -> None:
    """A model that has loaded shows devices in the panel; another chat shows its own settings there."""
    prompt = setting(app, "system_prompt")
    assert isinstance(prompt, PresetEditor)
    session = app.chat_controller.session
    prompt._field.setPlainText("Be brief.")
    app.choices.set_devices(["CPU", "GPU"])
    assert prompt._field.toPlainText() == "Be brief."
    ask(qtbot, app, "hello")
    prompt._field.setPlainText("Be kind.")
    app.window.sidebar.new_requested.emit()
    assert session.settings.system_prompt == "Be kind."
    assert app.chat_controller.session.settings.system_prompt == prompt._field.toPlainText() == ""
    app.window.sidebar.list.chosen.emit(session.chat.id, None)
    prompt._field.setPlainText("Be quick.")
    app.window.panel.adopt.click()
    assert app.settings.now.system_prompt == "Be quick."
    prompt._field.setPlainText("Be slow.")
    app.window.close()
    with closing(open_store(paths.history_folder())) as store:
        stored = store.chat(session.chat.id)
    assert stored
    assert stored.settings == {"system_prompt": "Be slow."}


def test_typed_prompt_of_all_chats_is_kept_when_its_dialog_closes(app: Program, dialog: PreferencesDialog) -> None:
    editor = next(form._editors["system_prompt"] for form in dialog.forms if "system_prompt" in form.names)
    assert isinstance(editor, PresetEditor)
    dialog.list.setCurrentRow(1)
    editor._field.setPlainText("Be brief.")
    dialog.close()
    assert app.settings.now.system_prompt == "Be brief."


def test_chat_keeps_its_settings_if_those_of_all_chats_cannot_be_saved(
    app: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.chat_controller.session.change_settings({"system_prompt": "Be brief."})
    monkeypatch.setattr(private_files, "write", _full)
    app.window.panel.adopt.click()
    assert "cannot be saved" in app.window.chat.notice.text
    assert app.chat_controller.session.settings.system_prompt == "Be brief."


def _full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "no space left on device")


def test_edits_of_the_file_are_kept(app: Program) -> None:
    settings.save(app.settings.now.with_values({"top_k": 7}))
    app.settings.change(theme="dark")
    assert (settings.load().sampling.top_k, settings.load().theme) == (7, "dark")
    assert settings.load() == app.settings.now
    settings.default_path().write_text("[sampling\n", encoding="utf-8")
    app.settings.change(theme="light")
    assert (settings.load().sampling.top_k, settings.load().theme) == (7, "light")
    settings.default_path().unlink()
    app.settings.change(theme="dark")
    assert settings.load().sampling.top_k == 7
