"""The page of models: what it shows, choosing, verifying, removing, exporting, and a first start without any."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import psutil
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from bench.window import showcase
from headstart import paths
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.loading.validation import Verdict, store_verdict
from headstart.errors import Translatable
from headstart.library import exporter as exporting
from headstart.library import manifest
from headstart.library.catalogue import CatalogueEntry
from headstart.library.library import installed
from headstart.library.manifest import Footprint
from headstart.ui.engine_request import installed_model
from headstart.ui.models import models_controller
from headstart.ui.models.catalogue import Catalogue, cost_text, offers, recipes
from headstart.ui.models.model_card import ModelCard
from headstart.ui.program import Program
from headstart.ui.settings.settings_form import ChoiceEditor
from headstart.ui.widgets.progress import WorkCard
from headstart_export import cli
from tests.source.source_tree import ROOT
from tests.stand_ins.model_folders import describe, write_model, write_pair
from tests.support.rights import usual_rights
from tests.ui.person import WAIT, ask, begin, button, press, setting, shown, words, write

Open = Callable[..., Program]

# An exporter that fetches for some seconds and then writes the model asked for; what it fetched is there the next time.
EXPORTER = """
import json, os, sys, time
from pathlib import Path
from tests.stand_ins.model_folders import write_model
root = Path({root!r})
print("Fetching", *sys.argv[1:], "...", flush=True)
part = root.with_name("part")
print("  90 MB of 120 MB" if part.exists() else "  30 MB of 120 MB", flush=True)
seconds = 0 if part.exists() else {seconds}
part.touch()
if "writes" in sys.argv:
    print("2 of 8: Writing ...", flush=True)
    print("  42 %, about 30 s left", flush=True)
    print("  12 s", flush=True)
leftover = root / ".headstart-export-x"
leftover.mkdir(parents=True, exist_ok=True)
(leftover / "owner.json").write_text(json.dumps(dict(pid=os.getpid())))
for _ in range(seconds * 10):
    time.sleep(0.1)
leftover.joinpath("owner.json").unlink()
leftover.rmdir()
if "bad" in sys.argv:
    sys.exit("headstart-export: bad is no recipe.")
print("Converting ...", flush=True)
print(json.dumps(dict(output=str(write_model(root / sys.argv[1])))), flush=True)
"""


@pytest.fixture
def root(headstart_home: Path) -> Path:
    """The folder of the library."""
    return headstart_home / "models"


@pytest.fixture
def exporter(root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Replace the exporter by one that takes some seconds."""

    def put(seconds: int) -> None:
        script = EXPORTER.format(seconds=seconds, root=str(root))
        monkeypatch.setattr(exporting, "importer", lambda: None)
        monkeypatch.setattr(exporting, "command", lambda: (sys.executable, "-c", script))
        monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")

    return put


def card_of(app: Program, name: str) -> ModelCard:
    found = app.window.models.card(name)
    assert found
    return found


def choices(app: Program, name: str) -> dict[str, str]:
    """Return for each value the reason why it cannot be chosen."""
    field = setting(app, name)
    assert isinstance(field, ChoiceEditor)
    box = field._box
    flags = [box.model().flags(box.model().index(row, 0)) for row in range(box.count())]
    return {
        str(box.itemData(row)): "" if flag.value & 32 else str(box.itemData(row, 3)) for row, flag in enumerate(flags)
    }


def test_models_are_listed_with_their_facts(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    write_pair(root / "both")
    (write_model(root / "torn") / "openvino_model.bin").unlink()
    app = open_program(find=installed_model)
    app.choices.free = lambda: 1_000_000_000
    app.window.actions_by_name["models"].trigger()
    page = app.window.models
    smol, both, torn = (card_of(app, name) for name in ("smol", "both", "torn"))
    for fact in ("1.78 GB", "8 bits", "quality 98.7 % of the original", "Apache-2.0"):
        assert fact in words(smol)
    details = " ".join(part.toolTip() for part in smol.findChildren(QLabel))
    for fact in ("98.7 % of 512 tokens", "KL 0.0040", "perplexity ×1.012"):
        assert fact in details
    assert "2.1 GB of memory" in words(smol)
    assert smol._memory.property("kind") == "danger"
    assert "with a small helper" in words(both)
    for card in (smol, both):
        assert not re.search(r"\bpair\b|\bg\d+|INT\d|not measured|draft", words(card), re.I)
    assert "in use" in words(both)
    assert "openvino_model.bin is missing" in words(torn)
    assert "is free for a model" in words(page.placement)
    qtbot.waitUntil(lambda: "TOY: everything runs here." in words(page.placement), timeout=WAIT)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("qwen2.5-coder-1.5b-instruct", "Calls tools badly: 6 of 30 small tasks"),
        ("smollm2-135m-instruct", "Calls tools badly: 0 of 30 small tasks"),
        ("qwen2.5-coder-1.5b-instruct-int4", ""),  # not measured
    ],
)
def test_card_tells_how_well_tools_are_called(root: Path, open_program: Open, name: str, line: str) -> None:
    folder = write_model(root / "renamed")
    manifest.write(folder, replace(manifest.read_model(folder), name=name))
    app = open_program(find=installed_model)
    text = words(card_of(app, "renamed"))
    assert line in text
    assert ("Calls tools" in text) == bool(line)


def test_catalogue_tells_how_well_tools_are_called(qtbot: QtBot) -> None:
    catalogue = Catalogue()
    qtbot.addWidget(catalogue)
    catalogue.show()
    rates = {row.recipe.name: "of 30 small tasks" in words(row) for row in catalogue.rows}
    assert [name for name in ("qwen2.5-coder", "smollm2-135m-instruct", "qwen3-4b") if rates[name]] == [
        "qwen2.5-coder",
        "smollm2-135m-instruct",
    ]


def test_card_tells_of_slow_answers(root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    app = open_program(find=installed_model)
    info, sentence = app.link.model_info, Translatable("Answers are about half as fast as they could be.")
    assert info
    app.link.loaded.emit(replace(info, slowness=sentence))
    for _ in range(2):
        assert sentence in words(card_of(app, "smol"))
        app.model_in_use.show_installed()
    app.link.loaded.emit(info)
    assert sentence not in words(card_of(app, "smol"))


def test_cards_tell_of_the_other_form(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    fast = write_model(root / "smol-int4")
    (fast / "openvino_model.bin").write_bytes(b"other weights")
    manifest.write(fast, describe(fast))
    page = open_program(find=installed_model).window.models
    line = "Its fast form: smol-int4 · "

    def shown(name: str) -> str:
        page.show_entries(installed(), "", "")
        card = page.card(name)
        assert card
        return words(card)

    assert f"{line}not timed here yet" in shown("smol")
    for name, ms in (("smol", 25.0), ("smol-int4", 20.0)):
        weights = manifest.read_model(root / name).files["openvino_model.bin"].sha256
        measurements = Measurements(paths.measurements_folder(), name, {"weights": weights})
        store_verdict(measurements, {"INFERENCE_PRECISION_HINT": "f32"}, Verdict(ms={1: ms}))
    assert re.findall(r"[\d.]+ tokens|this one [\d.]+", shown("smol")) == ["50.0 tokens", "this one 40.0"]
    assert "smol · 40.0 tokens/s" in shown("smol-int4")


def test_device_and_context_are_chosen_for_all_chats(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    app = open_program(find=installed_model)
    app.choices.set_devices(["CPU", "GPU.0", "NPU"])
    app.window.actions_by_name["models"].trigger()
    placement = app.window.models.placement
    assert "not tried on a real" in words(placement)
    assert "longest prompt compiled in" in words(placement)
    placement.edited.emit("context", 2048)
    placement.edited.emit("draft_device", "GPU.0")
    assert (app.settings.now.context, app.settings.now.draft_device) == (2048, "GPU.0")
    qtbot.waitUntil(lambda: bool(app.link.model_info and app.link.model_info.context == 2048), timeout=WAIT)


def test_chosen_model_is_loaded_and_remembered(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    write_pair(root / "both")
    app = open_program(find=installed_model)
    assert app.link.model_info
    assert app.link.model_info.draft
    press(app.window.models, "Use smol")
    qtbot.waitUntil(lambda: bool(app.link.model_info and app.link.model_info.model == "smol"), timeout=WAIT)
    assert app.settings.now.model == "smol"
    assert open_program(find=installed_model).loader.name(app.settings.now) == "smol"


def test_verify_reads_loads_and_asks(qtbot: QtBot, root: Path, open_program: Open) -> None:
    folder = write_model(root / "smol")
    write_model(root / "broken")  # the name that the toy engine refuses
    app = open_program(find=installed_model, loaded=False)
    smol, broken = card_of(app, "smol"), card_of(app, "broken")
    press(smol, "Verify smol")
    qtbot.waitUntil(lambda: "as it was exported; it loads and answers." in words(smol), timeout=WAIT)
    press(broken, "Verify broken")
    qtbot.waitUntil(lambda: "is no model; export it" in words(broken), timeout=WAIT)
    assert not app.models._verifications
    (folder / "openvino_model.bin").write_bytes(bytes(256))
    press(smol, "Verify smol")
    qtbot.waitUntil(lambda: "openvino_model.bin does not have the content" in words(smol), timeout=WAIT)
    assert smol._state.property("kind") == "danger"
    press(smol, "Verify smol")
    app.window.close()  # ends a verification


@pytest.mark.parametrize("before", ["write", "bench", "server"])
def test_models_page_focuses_no_button(root: Path, open_program: Open, before: str) -> None:
    write_model(root / "smol")
    app = open_program(find=installed_model)
    for name in ("models", before, "models"):
        app.window.actions_by_name[name].trigger()
        QApplication.processEvents()
    assert app.window.focusWidget() is app.window.models


def test_remove_asks_first_and_selects_another_model(
    qtbot: QtBot, root: Path, open_program: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(root / "smol")
    write_model(root / "other")
    app = open_program(find=installed_model)
    press(app.window.models, "Use smol")
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: 0)
    press(app.window.models, "Remove smol")
    assert (root / "smol").exists()
    monkeypatch.setattr(QMessageBox, "exec", lambda box: press(box, "Remove"))
    press(app.window.models, "Remove smol")
    assert not (root / "smol").exists()
    assert app.window.models.card("smol") is None
    qtbot.waitUntil(lambda: bool(app.link.model_info and app.link.model_info.model == "other"), timeout=WAIT)
    assert app.settings.now.model == ""


def test_first_start_gets_a_model_with_one_button(
    qtbot: QtBot, root: Path, open_program: Open, exporter: Callable[[int], None]
) -> None:
    exporter(0)
    app = open_program(find=installed_model, loaded=False)
    assert app.window.pages.currentWidget() is app.window.models
    assert "100 MB to download" in words(app.window.models.welcome)
    press(app.window.models.welcome, "Get SmolLM2 135M Instruct")
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    assert app.window.pages.currentWidget() is app.window.chat
    assert (root / "smollm2-135m-instruct").is_dir()
    work = app.window.models.work
    assert "smollm2-135m-instruct is ready." in work.text
    assert app.window.focusWidget() is app.window.chat.composer.edit
    ask(qtbot, app, "hello")
    assert work.isHidden()  # the way to the first answer has ended


def test_first_start_offers_a_model_that_fits(open_program: Open) -> None:
    welcome = open_program(find=installed_model, loaded=False).window.models.welcome
    for free, names in (
        (0, ["qwen3-0.6b", "qwen2.5-coder", "smollm2-135m-instruct"]),
        (4e9, ["qwen3-0.6b", "qwen2.5-coder", "smollm2-135m-instruct"]),
        (7e9, ["qwen3-1.7b", "qwen2.5-coder", "smollm2-135m-instruct"]),
        (64e9, ["qwen3-4b+0.6b", "qwen2.5-coder", "smollm2-135m-instruct"]),
    ):
        assert [recipe.name for recipe in offers(int(free))] == names
        welcome.show_memory(int(free))
        assert [row.recipe.name for row in welcome.rows if not row.isHidden()] == names
        QApplication.processEvents()
        (best,) = [row for row in welcome.rows if row._recommended.isVisibleTo(welcome)]
        assert best.recipe.name == names[0]
        tops = [row.y() for row in welcome.rows if not row.isHidden()]
        ends = [row.geometry().bottom() for row in welcome.rows if not row.isHidden()]
        gaps = {top - end for top, end in zip(tops[1:], ends, strict=False)}
        assert len(gaps) == 1  # whatever is hidden between them
        assert len({row.get.width() for row in welcome.rows if not row.isHidden()}) == 1


def test_first_start_says_what_the_recommended_model_takes(open_program: Open) -> None:
    welcome = open_program(find=installed_model, loaded=False).window.models.welcome
    welcome.show_memory(int(16e9))
    (best,) = [row for row in welcome.rows if row.recipe.name == "qwen3-4b+0.6b"]
    assert "3.1 GB to download" in words(best)
    assert "at most 5.9 GB of memory when its context is full; 16 GB is free" in words(best)
    assert not any("PyTorch" in words(row) for row in welcome.rows)


def test_catalogue_equals_that_of_the_exporter(capsys: pytest.CaptureFixture[str]) -> None:
    """`headstart-export --list --json | python -m json.tool > app/headstart/library/catalogue.json`."""
    assert cli.main(["--list", "--json"]) == 0
    listed = msgspec.json.decode(capsys.readouterr().out, type=list[CatalogueEntry])
    assert sorted(recipes(), key=lambda recipe: recipe.name) == listed


def titles(part: Catalogue) -> list[str]:
    """Return the visible rows."""
    return [row.recipe.title for row in part.rows if not row.isHidden()]


def test_context_counts_for_models_that_write_alone() -> None:
    with_context = {recipe.purpose for recipe in recipes() if "context" in cost_text(recipe, int(64e9))}
    without = {recipe.purpose for recipe in recipes() if "context" not in cost_text(recipe, int(64e9))}
    assert with_context == {"chat", "completion"}
    assert without == {"embedding", "recognition", "transcription"}


@pytest.mark.parametrize("changed", [{}, {"context": 2048, "kv_precision": "u8"}])
def test_memory_is_the_same_before_and_after_the_download(
    root: Path, open_program: Open, changed: dict[str, object]
) -> None:
    described = manifest.read_model(write_model(root / "smol"))
    parts = {field: getattr(described, field) for field in Footprint.__annotations__}
    recipe = msgspec.structs.replace(recipes()[0], loaded=(Footprint(**parts),))
    app = open_program(find=installed_model)
    app.choices.free = lambda: 16_000_000_000
    app.settings.change(**changed)
    app.window.actions_by_name["models"].trigger()
    before = cost_text(recipe, 16_000_000_000, app.settings.now)
    assert "Fits your memory. Takes at most" in before
    assert card_of(app, "smol")._memory.text() in before.replace("at most", "about")


def test_order_of_the_catalogue_depends_on_the_memory_of_now(qtbot: QtBot) -> None:
    catalogue, other = Catalogue(), Catalogue()
    qtbot.addWidget(catalogue)
    qtbot.addWidget(other)
    catalogue.show()
    for free in (0, int(64e9), int(4e9), int(64e9)):
        catalogue.show_memory(free)
    other.show_memory(int(64e9))
    other.show()
    assert titles(catalogue) == titles(other) != []
    catalogue.grab()  # lays it out
    tops = [row.y() for row in catalogue.rows if not row.isHidden()]
    assert tops == sorted(set(tops))
    for row in catalogue.rows:
        title = next(label for label in row.findChildren(QLabel) if label.text() == row.recipe.title)
        beside = row.get.y() + row.get.height() / 2
        assert row.isHidden() or abs(title.mapTo(row, title.rect().center()).y() - beside) < row.get.height() / 4


def test_catalogue_search_shows_what_fits(open_program: Open, root: Path) -> None:
    write_model(root / "qwen3-4b")
    app = open_program(find=installed_model)
    app.window.show_page(app.window.models)
    catalogue = app.window.models.catalogue
    catalogue.show_memory(int(6e9))
    first = titles(catalogue)
    assert first[:2] == ["Qwen3 0.6B", "Qwen3 4B + 0.6B"]
    assert "Qwen3 8B" not in first
    (more,) = (each for each in catalogue.findChildren(QPushButton) if each.text().startswith("Show all "))
    more.click()
    assert titles(catalogue)[: len(first)] == first
    QTest.keyClicks(catalogue.search, "qwen APACHE")
    assert titles(catalogue) == [
        "Qwen3 0.6B", "Qwen3 4B + 0.6B", "Qwen3 4B", "Qwen3 1.7B",
        "Qwen2.5 Coder 1.5B + 0.5B", "Qwen2.5 Coder 1.5B Instruct", "Qwen2.5 Coder 0.5B Instruct",
    ]  # fmt: skip
    catalogue.fitting.setChecked(False)
    assert "Qwen3 8B" in titles(catalogue)
    (large,) = [row for row in catalogue.rows if row.recipe.name == "qwen3-8b"]
    assert "6.4 GB of memory" in words(large)
    (here,) = [row for row in catalogue.rows if row.recipe.name == "qwen3-4b"]
    assert "installed" in words(here)
    assert here.get.isHidden()
    catalogue.search.setText("writes code")
    assert len(titles(catalogue)) == 3
    catalogue.search.setText("no such thing")
    assert titles(catalogue) == []
    assert "No model of the list is like that." in words(catalogue)


def test_catalogue_offers_precise_and_fast_variants(qtbot: QtBot) -> None:
    catalogue = Catalogue()
    qtbot.addWidget(catalogue)
    catalogue.show()
    asked: list[tuple[str, ...]] = []
    catalogue.start_requested.connect(asked.append)
    catalogue.show_installed(("qwen3-1.7b",))
    (row,) = [row for row in catalogue.rows if row.recipe.name == "qwen3-1.7b"]
    assert row.get.isHidden()
    press(catalogue, "Get Qwen3 1.7B fast (4 bits)")
    assert asked == [("qwen3-1.7b-int4",)]
    catalogue.show_installed(("qwen3-1.7b-int4",))
    assert row.get_fast.isHidden()
    press(catalogue, "Get Qwen3 1.7B")
    assert asked[1:] == [("qwen3-1.7b",)]
    (blocks,) = [row for row in catalogue.rows if row.recipe.name == "qwen3-4b"]
    assert blocks.get_fast.isHidden()  # it has 4 bits as it is


def test_catalogue_says_what_needs_pytorch(qtbot: QtBot) -> None:
    catalogue = Catalogue()
    qtbot.addWidget(catalogue)
    catalogue.show()
    by_pytorch = [row for row in catalogue.rows if row.recipe.needs_pytorch]
    assert by_pytorch
    for row in catalogue.rows:
        sentence = "Needs PyTorch, fetched once for all models: 500 MB, and 2.1 GB on the disk."
        assert (sentence in words(row)) == (row in by_pytorch)


def test_download_is_paused_and_resumed(
    qtbot: QtBot, root: Path, open_program: Open, exporter: Callable[[int], None]
) -> None:
    exporter(60)
    write_model(root / "smol")
    app = open_program(find=installed_model)
    app.settings.change(model="smol")
    app.window.actions_by_name["models"].trigger()
    page = app.window.models
    press(page.catalogue, "Get Qwen3 0.6B")
    qtbot.waitUntil(lambda: page.work._bar.value() == 250, timeout=WAIT)
    app.window.actions_by_name["write"].trigger()
    ask(qtbot, app, "Are you there?")
    assert page.work.isVisible()  # beside the chat, too
    press(page.work, "Pause")
    qtbot.waitUntil(lambda: "Paused. What has arrived is kept." in page.work.text, timeout=WAIT)
    assert not app.models.adding.is_busy
    assert page.work._step.property("kind") == "muted"
    press(page.work, "Resume")
    qtbot.waitUntil(lambda: "qwen3-0.6b is ready." in page.work.text, timeout=WAIT)
    assert "90 MB of 120 MB" in page.work.log
    assert app.settings.now.model == "smol"  # one is at something else
    press(page.work, "Start a chat")
    qtbot.waitUntil(lambda: bool(app.link.model_info and app.link.model_info.model == "qwen3-0.6b"), timeout=WAIT)
    assert app.settings.now.model == "qwen3-0.6b"
    assert not app.chat_controller.session.path
    assert app.window.focusWidget() is app.window.chat.composer.edit


def test_only_a_download_can_be_paused(qtbot: QtBot) -> None:
    card = WorkCard()
    qtbot.addWidget(card)
    card.begin("Getting a model")
    card.set_pausable(True)
    assert not button(card, "Pause").isHidden()
    card.set_pausable(False)
    assert button(card, "Pause").isHidden()


def test_export_shows_steps_and_can_be_cancelled(
    qtbot: QtBot, root: Path, open_program: Open, exporter: Callable[[int], None]
) -> None:
    exporter(60)
    app = open_program(find=installed_model, loaded=False)
    page = app.window.models
    press(page.welcome, "Get SmolLM2 135M Instruct")
    qtbot.waitUntil((root / ".headstart-export-x" / "owner.json").is_file, timeout=WAIT)
    qtbot.waitUntil(lambda: page.work._bar.value() == 250, timeout=WAIT)
    assert "Fetching smollm2-135m-instruct" in page.work.text
    assert "30 MB of 120 MB" in page.work.text
    assert not page.catalogue.other._go.isEnabled()
    assert not button(page.welcome, "Get Qwen2.5 Coder 1.5B + 0.5B").isEnabled()
    app.window.actions_by_name["write"].trigger()
    assert page.work.isVisible()
    press(page.work, "Show log")
    assert "30 MB of 120 MB" in page.work.log
    assert not page.work._log.isHidden()
    press(page.work, "Cancel")
    qtbot.waitUntil(lambda: "Cancelled." in page.work.text, timeout=WAIT)
    assert (page.work._step.property("kind"), page.work._log.isHidden()) == ("muted", True)
    assert not list(root.iterdir())
    assert page.catalogue.other._go.isEnabled()
    assert page.work._next.isHidden()  # one who cancels is not asked to try again
    press(page.work, "Dismiss")
    assert page.work.isHidden()


def test_export_shows_progress_of_a_step(qtbot: QtBot, open_program: Open, exporter: Callable[[int], None]) -> None:
    exporter(60)
    page = open_program(find=installed_model, loaded=False).window.models
    page.catalogue.other.source.setText("writes")
    press(page.catalogue.other, "Download and convert")
    qtbot.waitUntil(lambda: "\n2 of 8: Writing · 42 %" in page.work.text, timeout=WAIT)
    assert page.work._next.isHidden()  # only a download can be paused
    press(page.work, "Cancel")
    qtbot.waitUntil(lambda: "Cancelled." in page.work.text, timeout=WAIT)


def test_killed_exporter_is_reported_and_leaves_no_files(
    qtbot: QtBot, root: Path, open_program: Open, exporter: Callable[[int], None]
) -> None:
    exporter(60)
    app = open_program(find=installed_model, loaded=False)
    press(app.window.models.welcome, "Get SmolLM2 135M Instruct")
    owner = root / ".headstart-export-x" / "owner.json"
    qtbot.waitUntil(lambda: owner.is_file() and owner.stat().st_size > 0, timeout=WAIT)
    psutil.Process(json.loads(owner.read_text())["pid"]).kill()
    qtbot.waitUntil(lambda: "was ended from outside" in app.window.models.work.text, timeout=WAIT)
    assert not list(root.iterdir())


def test_other_model_is_exported_by_name_and_refusals_are_reported(
    qtbot: QtBot, open_program: Open, exporter: Callable[[int], None]
) -> None:
    exporter(0)
    app = open_program(find=installed_model, loaded=False)
    catalogue, work = app.window.models.catalogue, app.window.models.work
    assert catalogue.other.isHidden()
    press(catalogue, "Another model, by name or file")
    catalogue.other.source.setText("bad")
    catalogue.other.draft.setText("small one")
    catalogue.other.weights.setCurrentText("Fast (4 bits)")
    press(catalogue, "Download and convert")
    qtbot.waitUntil(lambda: "bad is no recipe." in work.text, timeout=WAIT)
    assert "--draft small one --weights int4" in work.log
    press(work, "Try again")
    assert work.text == "Getting bad\n"
    qtbot.waitUntil(lambda: "bad is no recipe." in work.text, timeout=WAIT)


def test_large_text_needs_no_scrolling_sideways(qtbot: QtBot, root: Path, open_program: Open) -> None:
    showcase.install()  # models with all that a card can say
    assert (root / "qwen2.5-coder").is_dir()
    app = open_program(find=installed_model)
    app.settings.change(zoom=200)
    app.window.resize(1180, 780)
    app.window.actions_by_name["models"].trigger()
    area = app.window.models.scroll_area
    qtbot.waitUntil(lambda: area.viewport().width() > 600 and not area.horizontalScrollBar().maximum(), timeout=WAIT)


def test_wheel_over_fields_scrolls_the_page(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    app = open_program(find=installed_model)
    app.window.resize(800, 500)
    app.window.actions_by_name["models"].trigger()
    page = app.window.models
    field, bar = page.catalogue.other.weights, page.scroll_area.verticalScrollBar()
    page.catalogue.fold.setChecked(True)
    QApplication.processEvents()
    bar.setValue(bar.maximum())
    page.scroll_area.ensureWidgetVisible(field)
    bar.setValue(bar.value() - 1)
    QApplication.processEvents()
    before, text = bar.value(), field.currentText()
    middle = QPointF(field.mapTo(app.window, field.rect().center()))
    QTest.wheelEvent(app.window.windowHandle(), middle, QPoint(0, 120))
    qtbot.waitUntil(lambda: bar.value() < before, timeout=WAIT)
    assert (field.currentText(), field.hasFocus()) == (text, False)


def drop(app: Program, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    page, left, none = app.window.models, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(9, 9), Qt.DropAction.CopyAction, data, left, none)
    page.dragEnterEvent(enter)
    assert enter.isAccepted()
    page.dropEvent(QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, data, left, none))


def test_dropped_folder_is_installed_or_refused(qtbot: QtBot, root: Path, tmp_path: Path, open_program: Open) -> None:
    damaged = write_model(tmp_path / "damaged")
    (damaged / "openvino_model.bin").write_bytes(bytes(256))
    file = tmp_path / "a model.gguf"
    file.write_bytes(b"GGUF")
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "config.json").write_text("{}", encoding="utf-8")
    app = open_program(find=installed_model, loaded=False)
    work = app.window.models.work
    drop(app, file)
    assert work.text.startswith("Getting a model.gguf")
    qtbot.waitUntil(lambda: "a model.gguf is not a GGUF file that can be used" in work.text, timeout=WAIT)
    drop(app, weights)
    other = app.window.models.catalogue.other
    assert (other.source.text(), other.isHidden()) == (str(weights), False)
    drop(app, tmp_path)
    assert "This is not a model" in work.text
    drop(app, damaged)
    qtbot.waitUntil(lambda: "does not have the content it was exported with" in work.text, timeout=WAIT)
    assert not list(root.iterdir())
    drop(app, write_pair(tmp_path / "brought"))
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    assert "brought is installed" in work.text
    assert (root / "brought" / "draft" / "openvino_model.bin").is_file()
    drop(app, tmp_path / "brought")
    qtbot.waitUntil(lambda: "A model named brought is installed already" in work.text, timeout=WAIT)


@pytest.mark.parametrize("wheel", [None, Path("/exporter/headstart-0.1.0-py3-none-any.whl")])
def test_missing_exporter_names_the_command(
    open_program: Open, monkeypatch: pytest.MonkeyPatch, wheel: Path | None
) -> None:
    monkeypatch.setattr(exporting, "importer", lambda: None)
    monkeypatch.setattr(exporting, "command", lambda: None)
    monkeypatch.setattr(paths, "bundled_wheel", lambda: wheel)
    monkeypatch.setattr(exporting, "package", lambda: wheel)
    page = open_program(find=installed_model, loaded=False).window.models
    assert ("PyTorch" if wheel else 'pip install ".[export]"') in words(page.exporter)
    assert button(page.welcome, "Get SmolLM2 135M Instruct").isEnabled() == bool(wheel)
    press(page.exporter, "Copy command")
    copied, own = QGuiApplication.clipboard().text(), paths.exporter_folder()
    installed = (
        f'python3 -m venv --clear "{own}" && "{own}/bin/pip" install "{wheel}[export]" && '
        f'"{own}/bin/headstart-export" smollm2-135m-instruct'
    )
    assert copied == installed if wheel else copied.endswith("headstart-export smollm2-135m-instruct")


def test_exporter_in_its_own_environment_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path))
    program = tmp_path / "exporter" / "bin" / "headstart-export"
    before = exporting.command()
    program.parent.mkdir(parents=True)
    program.touch()
    assert exporting.command() == before  # the Python that it was made with is gone
    program.with_name("python").touch()
    assert exporting.command() == (str(program),) != before


def test_mismatched_draft_is_disabled_with_the_reason(qtbot: QtBot, root: Path, open_program: Open) -> None:
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
    qtbot.waitUntil(lambda: bool(app.link.model_info and app.link.model_info.draft == "twin"), timeout=WAIT)


def test_command_that_serves_a_model_can_be_copied(open_program: Open, root: Path) -> None:
    hint = open_program(find=installed_model, loaded=False).window.models.serve
    assert hint.isHidden()
    write_model(root / "small")
    again = open_program().window.models.serve
    assert "a second time" in words(again)
    press(again, "Copy command")
    assert QGuiApplication.clipboard().text() == "headstart serve --model small"


def test_no_model_can_be_got_while_one_is_copied(qtbot: QtBot, root: Path, open_program: Open, tmp_path: Path) -> None:
    write_model(root / "smol")
    app = open_program(find=installed_model)
    page = app.window.models
    page.dropped.emit(str(write_model(tmp_path / "brought")))
    assert not page.catalogue.other.source.isEnabled()
    assert not page.acceptDrops()
    app.window.chat.files_dropped.emit([tmp_path / "another.gguf"])
    assert "Add another.gguf when that has ended." in app.window.chat.notice.text
    qtbot.waitUntil(lambda: app.window.models.card("brought") is not None, timeout=WAIT)
    assert page.catalogue.other.source.isEnabled()
    assert page.acceptDrops()


def test_verify_stays_disabled_when_the_list_is_shown_again(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    app = open_program(find=installed_model)
    press(card_of(app, "smol"), "Verify smol")
    app.model_in_use.show_installed()
    assert not button(card_of(app, "smol"), "Verify smol").isEnabled()
    qtbot.waitUntil(button(card_of(app, "smol"), "Verify smol").isEnabled, timeout=WAIT)


@pytest.mark.parametrize("removed", ["large-one", "helper", "both"])
def test_removed_model_is_freed_also_where_the_chat_has_another(
    qtbot: QtBot, root: Path, open_program: Open, monkeypatch: pytest.MonkeyPatch, removed: str
) -> None:
    monkeypatch.setattr(models_controller, "confirm", lambda *_: True)
    for name in ("large-one", "helper", "third"):
        write_model(root / name)
    write_pair(root / "both")
    app = open_program(find=installed_model)
    app.settings.change(model="both" if removed == "both" else "large-one", draft="" if removed == "both" else "helper")
    loaded = "target" if removed == "both" else "large-one"
    qtbot.waitUntil(lambda: bool(app.link.model_info and app.link.model_info.model == loaded), timeout=WAIT)
    ask(qtbot, app, "hello")
    chat = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    app.store.save_settings(chat, {"model": "third", "draft": "none"})
    app.window.sidebar.list.chosen.emit(chat, None)
    app.window.actions_by_name["models"].trigger()
    press(card_of(app, removed), f"Remove {removed}")
    assert app.window.pages.currentWidget() is app.window.models
    assert not app.loader.uses(root / removed)
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    assert app.link.model_info
    assert app.link.model_info.model == "third"
    assert removed not in (app.settings.now.model, app.settings.now.draft)


def test_page_of_models_stays_when_the_model_in_use_is_removed(
    root: Path, open_program: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models_controller, "confirm", lambda *_: True)
    for name in ("one", "two"):
        write_model(root / name)
    app = open_program(find=installed_model)
    app.window.actions_by_name["models"].trigger()
    press(app.window.models, "Remove one")
    assert app.window.pages.currentWidget() is app.window.models


def test_page_shows_what_came_and_went_elsewhere(root: Path, open_program: Open) -> None:
    write_model(root / "one")
    app = open_program(find=installed_model)
    write_model(root / "two")
    (root / "one" / "openvino_model.bin").unlink()
    app.window.actions_by_name["models"].trigger()
    assert app.window.models.card("two")
    assert "openvino_model.bin is missing" in words(card_of(app, "one"))


def test_answer_goes_on_while_models_come_and_are_chosen(
    qtbot: QtBot, root: Path, open_program: Open, tmp_path: Path
) -> None:
    write_model(root / "smol")
    write_model(root / "other")
    app = open_program(find=installed_model, pace=0.02)
    begin(qtbot, app, "toy: words 100")
    press(card_of(app, "smol"), "Use smol")
    app.window.models.dropped.emit(str(write_pair(tmp_path / "both")))
    qtbot.waitUntil(lambda: app.window.models.card("both") is not None, timeout=WAIT)
    qtbot.waitUntil(lambda: not app.chat_controller.session.is_answering, timeout=WAIT)
    assert len(shown(app)[-1].text.split()) == 100
    ask(qtbot, app, "And now?")
    assert shown(app)[-1].author == "smol"


def test_models_that_may_not_be_read_are_not_said_to_be_absent(open_program: Open, headstart_home: Path) -> None:
    write_model(headstart_home / "models" / "smol")
    (headstart_home / "models").chmod(0)
    with usual_rights():
        app = open_program(find=installed_model, loaded=False)
        write(app, "hello")
        assert "cannot be read (Permission denied); see that you may read it" in app.window.chat.notice.text
        assert app.store.chats()[0].title == "hello"
    (headstart_home / "models").chmod(0o700)


def test_folder_that_may_not_be_read_is_not_called_no_model(
    open_program: Open, headstart_home: Path, tmp_path: Path
) -> None:
    app = open_program(find=installed_model, loaded=False)
    closed = write_model(tmp_path / "closed")
    closed.chmod(0)
    with usual_rights():
        app.models.adding.add_path(str(closed))
        assert "closed cannot be read (Permission denied); see that you may read it" in app.window.models.work.text
    closed.chmod(0o700)
