"""Engine and precision of keys and values: what each saves, what speaks against it, and when it takes effect."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from headstart import settings
from headstart.engine.engine import EngineKind, KvPrecision
from headstart.engine.kernels import library
from headstart.library.library import Model
from headstart.library.manifest import read_model
from headstart.settings import Settings
from headstart.ui.engine_request import Loadable, installed_model
from headstart.ui.models import model_choices
from headstart.ui.program import Program
from headstart.ui.settings.settings_form import title
from tests.stand_ins.model_folders import write_model, write_pair
from tests.ui.person import WAIT, filled_panel, preferences

Open = Callable[..., Program]


@pytest.fixture
def root(headstart_home: Path) -> Path:
    write_pair(headstart_home / "models" / "duo")
    return headstart_home / "models"


@pytest.fixture
def asked() -> list[Loadable]:
    """The options of each load, in order."""
    return []


@pytest.fixture
def app(open_program: Open, root: Path, asked: list[Loadable]) -> Program:
    def find(settings: Settings) -> Loadable:
        asked.append(installed_model(settings))
        return asked[-1]

    return open_program(find=find)


def box(widget: QWidget, name: str) -> QComboBox:
    (found,) = [each for each in widget.findChildren(QComboBox) if each.accessibleName() == title(name)]
    return found


def texts(field: QComboBox) -> list[str]:
    return [field.itemText(row) for row in range(field.count())]


def choose(field: QComboBox, value: str) -> None:
    field.setCurrentIndex(field.findData(value))
    field.activated.emit(field.currentIndex())


def is_offered(field: QComboBox, value: str) -> bool:
    return bool(field.model().index(field.findData(value), 0).flags() & Qt.ItemFlag.ItemIsEnabled)


def note(widget: QWidget) -> str:
    """Return the words below the choice of precision."""
    labels = [label for label in widget.findChildren(QLabel) if "in 8 bits" in label.text()]
    return labels[0].text() if labels and not labels[0].isHidden() else ""


@pytest.fixture
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable our kernels: OpenVINO then keeps keys and values, whose 8 bits take another share."""
    monkeypatch.setattr(library, "library", lambda: None)


@pytest.mark.usefixtures("without_kernels")
def test_saving_of_8_bits_is_shown(app: Program) -> None:
    dialog = preferences(app)
    assert texts(box(dialog, "kv_precision")) == ["Automatic", "16 bits", "8 bits"]
    # 12,288 bytes a token and model in 16 bits
    assert ("4,096 tokens" in note(dialog), "101 MB" in note(dialog), "60 MB" in note(dialog)) == (True,) * 3
    app.settings.change(context=2048)
    assert ("2,048 tokens" in note(dialog), "50 MB" in note(dialog), "30 MB" in note(dialog)) == (True,) * 3
    app.settings.change(draft="none")
    assert "25 MB" in note(dialog)
    assert note(filled_panel(app)) == note(dialog)
    app.settings.change(model="remote:office")
    assert note(dialog) == ""


def test_engine_and_precision_apply_to_the_next_load(qtbot: QtBot, app: Program, asked: list[Loadable]) -> None:
    dialog = preferences(app)
    with qtbot.waitSignal(app.link.loaded, timeout=WAIT):
        choose(box(dialog, "kv_precision"), "u8")
    assert asked[-1].options.kv_precision is KvPrecision.U8
    with qtbot.waitSignal(app.link.loaded, timeout=WAIT):
        choose(box(dialog, "engine"), "genai")
    assert asked[-1].options.engine is EngineKind.GENAI
    assert "Engine: " in app.window.chat.composer.model_button.toolTip()
    saved = settings.load()
    assert (saved.engine, saved.kv_precision) == ("genai", "u8")


def test_chat_has_its_own_load_options(qtbot: QtBot, app: Program) -> None:
    with qtbot.waitSignal(app.link.loaded, timeout=WAIT):
        choose(box(filled_panel(app), "kv_precision"), "u8")
    assert (app.chat_controller.session.settings.kv_precision, app.settings.now.kv_precision) == ("u8", "auto")


@pytest.mark.usefixtures("without_kernels")
def test_memory_estimate_counts_8_bits(app: Program) -> None:
    entry = app.choices.usable[0]
    parts = [entry] if isinstance(entry, Model) else [entry.target, entry.draft]
    free, app.choices.free = app.choices.free, lambda: 0
    usual, small = (app.choices.missing_memory(parts, Settings(kv_precision=kv)) for kv in ("auto", "u8"))
    app.choices.free = free
    assert usual - small == pytest.approx(40_265_000, rel=0.01)


def test_refusal_of_the_own_engine_is_reported(root: Path, tmp_path: Path) -> None:
    target = Model("smol", folder := write_model(tmp_path / "smol"), read_model(folder))
    ours = EngineKind.HEADSTART.value
    reasons = {value: reason for value, _, reason in model_choices.engines([target], Settings(device="NPU"))}
    assert "NPU" in reasons[ours]
    assert not reasons["genai"]
    assert not any(reason for _, _, reason in model_choices.engines([target], Settings()))
    head = Model("head", folder, replace(target.manifest, architecture="LlamaEagle3"))
    assert not any(reason for _, _, reason in model_choices.engines([target, head], Settings()))
    reasons = {value: reason for value, _, reason in model_choices.engines([target, head], Settings(device="GPU"))}
    assert reasons == {"auto": "", ours: "it uses the EAGLE-3 head head on a processor only", "genai": ""}
    npu = model_choices.kv_precisions(Settings(device="NPU"))
    assert [bool(reason) for _, _, reason in npu] == [False, False, True]
