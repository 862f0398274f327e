"""The page of models: what it shows, choosing, verifying, removing, exporting, and a first start without any."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from headstart.ui import export_run
from headstart.ui.asking import installed_model
from headstart.ui.program import Program
from headstart.ui.setting_editors import ChoiceEditor
from tests.model_folders import write_model, write_pair

WAIT = 20_000
Open = Callable[..., Program]

# An exporter that says a line a moment for some time and then writes the model that it was asked for.
EXPORTER = """
import sys, time
from pathlib import Path
from tests.model_folders import write_model
print("Fetching", sys.argv[1], flush=True)
for _ in range({seconds} * 10):
    time.sleep(0.1)
write_model(Path({root!r}) / sys.argv[1])
print("Done", flush=True)
"""


@pytest.fixture
def root(headstart_home: Path) -> Path:
    """The library's folder."""
    return headstart_home / "models"


@pytest.fixture
def exporter(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Puts an exporter that takes some seconds in the place of the real one."""

    def put(seconds: int) -> None:
        script = EXPORTER.format(seconds=seconds, root=str(root))
        monkeypatch.setattr(export_run, "command", lambda: (sys.executable, "-c", script))
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=":")

    return put


def words(widget: QWidget) -> str:
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if not label.isHidden())


def press(widget: QWidget, name: str) -> None:
    button = next(b for b in widget.findChildren(QPushButton) if name in (b.text(), b.accessibleName()))
    assert not button.isHidden()
    button.click()


def choices(app: Program, name: str) -> dict[str, str]:
    """Value: reason why it cannot be chosen."""
    field = app.window.panel._form._editors[name]
    assert isinstance(field, ChoiceEditor)
    box = field._box
    flags = [box.model().flags(box.model().index(row, 0)) for row in range(box.count())]
    return {
        str(box.itemData(row)): "" if flag.value & 32 else str(box.itemData(row, 3)) for row, flag in enumerate(flags)
    }


def test_models_are_shown_with_what_matters(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    write_pair(root / "both")
    (write_model(root / "torn") / "openvino_model.bin").unlink()
    app = open_program(find=installed_model)
    app.window.actions_by_name["models"].trigger()
    page = app.window.models
    smol, both, torn = (page.card(name) for name in ("smol", "both", "torn"))
    assert smol
    assert both
    assert torn
    for fact in ("1.78 GB", "INT8", "98.7 %", "1.93 GB", "Apache-2.0"):
        assert fact in words(smol)
    assert "pair" in words(both)
    assert "in use" in words(both)
    assert "openvino_model.bin is missing" in words(torn)
    qtbot.waitUntil(lambda: "free now" in words(page), timeout=WAIT)


def test_a_chosen_model_is_loaded_and_remembered(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    write_pair(root / "both")
    app = open_program(find=installed_model)
    assert app.link.facts
    assert app.link.facts.has_draft
    press(app.window.models, "Use smol")
    qtbot.waitUntil(lambda: bool(app.link.facts and app.link.facts.model == "smol"), timeout=WAIT)
    assert app.settings.model == "smol"
    assert open_program(find=installed_model).loader.name(app.settings) == "smol"


def test_verifying_names_a_changed_file(qtbot: QtBot, root: Path, open_program: Open) -> None:
    folder = write_model(root / "smol")
    app = open_program(find=installed_model)
    card = app.window.models.card("smol")
    assert card
    press(card, "Verify smol")
    qtbot.waitUntil(lambda: "Every file is as it was exported." in words(card), timeout=WAIT)
    (folder / "openvino_model.bin").write_bytes(bytes(256))
    press(card, "Verify smol")
    qtbot.waitUntil(lambda: "openvino_model.bin does not have the content" in words(card), timeout=WAIT)


def test_removing_asks_first(qtbot: QtBot, root: Path, open_program: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(root / "smol")
    write_model(root / "other")
    app = open_program(find=installed_model)
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: 0)
    press(app.window.models, "Remove other")
    assert (root / "other").exists()
    monkeypatch.setattr(app.models, "_confirms", lambda _entry: True)
    press(app.window.models, "Remove other")
    assert not (root / "other").exists()
    assert app.window.models.card("other") is None


def test_a_first_start_gets_a_model_with_one_button(
    qtbot: QtBot, root: Path, open_program: Open, exporter: Callable[[int], None]
) -> None:
    exporter(0)
    app = open_program(find=installed_model, loaded=False)
    assert app.window.pages.currentWidget() is app.window.models
    assert "144 MB" in words(app.window.models.welcome)
    press(app.window.models.welcome, "Get SmolLM2 135M Instruct")
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    assert app.window.pages.currentWidget() is app.window.chat
    assert (root / "smollm2-135m-instruct").is_dir()


def test_an_export_can_be_cancelled(
    qtbot: QtBot, root: Path, open_program: Open, exporter: Callable[[int], None]
) -> None:
    exporter(60)
    app = open_program(find=installed_model, loaded=False)
    welcome = app.window.models.welcome
    press(welcome, "Get SmolLM2 135M Instruct")
    qtbot.waitUntil(lambda: "Fetching smollm2-135m-instruct" in words(welcome), timeout=WAIT)
    press(welcome, "Cancel")
    qtbot.waitUntil(lambda: "Cancelled." in words(welcome), timeout=WAIT)
    assert not (root / "smollm2-135m-instruct").exists()


def test_without_the_exporter_the_command_is_named(
    qtbot: QtBot, open_program: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_run, "command", lambda: None)
    app = open_program(find=installed_model, loaded=False)
    assert 'pip install ".[export]"' in words(app.window.models.welcome)
    press(app.window.models.welcome, "Copy command")
    assert QGuiApplication.clipboard().text().endswith("headstart-export smollm2-135m-instruct")


def test_a_draft_that_does_not_fit_is_there_with_its_reason(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    write_model(root / "twin")
    write_model(root / "alien", {"a": 0, "the": 1})
    app = open_program(find=installed_model)
    app.window.panel.edited.emit("model", "smol")
    reason = "different tokenizer: id 1 is 'the' here and 'Ġthe' there"
    qtbot.waitUntil(lambda: choices(app, "draft")["alien"] == reason, timeout=WAIT)
    assert not choices(app, "draft")["twin"]
    assert not choices(app, "draft")["none"]
    app.window.panel.edited.emit("draft", "twin")
    qtbot.waitUntil(lambda: bool(app.link.facts and app.link.facts.draft == "twin"), timeout=WAIT)
