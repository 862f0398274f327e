"""The check of an imported model, after its first answer."""

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from headstart.errors import BrokenModelError
from headstart.library import exporter, library, manifest
from headstart.ui.engine_request import installed_model
from headstart.ui.models import models_controller
from headstart.ui.program import Program
from tests.stand_ins.model_folders import write_model
from tests.ui.person import WAIT, ask, press, words

Open = Callable[..., Program]

# A check that waits for a file, writes into the manifest what it is given, and fails if that is a fault.
CHECK = """
import json, sys, time
from pathlib import Path
print("2 of 3: Reading the test text ...", file=sys.stderr, flush=True)
folder, go_on, words = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
while not go_on.exists():
    time.sleep(0.01)
path = folder / "manifest.json"
path.write_text(json.dumps(json.loads(path.read_text()) | words))
if words.get("fault"):
    print(json.dumps({"failed_check": words["fault"]}))
    sys.exit(1)
"""


@pytest.fixture
def imported(headstart_home: Path) -> Path:
    """The folder of an installed model that is not checked."""
    folder = write_model(headstart_home / "models" / "smol")
    manifest.write(folder, dataclasses.replace(manifest.read_model(folder), is_checked=False))
    return folder


@pytest.fixture
def check(imported: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[dict[str, object]], Path]:
    """Replace the check by a stand-in; gives the file that lets it continue."""

    def put(words: dict[str, object]) -> Path:
        command = (sys.executable, "-c", CHECK, str(imported), str(tmp_path / "go on"), json.dumps(words))
        monkeypatch.setattr(exporter, "check_command", lambda _name: command)
        return tmp_path / "go on"

    return put


def state(app: Program) -> str:
    """Return the tooltip of the model's name."""
    return app.window.chat.composer.model_button.toolTip()


def test_model_is_marked_until_it_is_checked(
    qtbot: QtBot, imported: Path, check: Callable[[dict[str, object]], Path], open_program: Open
) -> None:
    go_on = check({"is_checked": True})
    app = open_program(find=installed_model)
    assert "being checked" not in state(app)
    ask(qtbot, app, "Hello")
    qtbot.waitUntil(lambda: "being checked" in state(app), timeout=WAIT)
    button = app.window.chat.composer.model_button
    assert "checked" not in button.text() + button.accessibleName()  # a chat can go on

    def card() -> str:
        found = app.window.models.card("smol")
        assert found
        return words(found)

    qtbot.waitUntil(lambda: "It is being checked in the background. Step 2 of 3." in card(), timeout=WAIT)
    go_on.touch()
    qtbot.waitUntil(lambda: "being checked" not in state(app), timeout=WAIT)
    assert "being checked" not in card()
    assert library.find("smol").is_checked
    assert app.loader.is_ready
    ask(qtbot, app, "Once more")
    assert "being checked" not in state(app)


def test_model_that_fails_its_check_is_used_no_more(
    qtbot: QtBot, imported: Path, check: Callable[[dict[str, object]], Path], open_program: Open
) -> None:
    go_on = check({"fault": {"template": "It reads wrong tokens, so it is not used.", "values": {}}})
    app = open_program(find=installed_model)
    ask(qtbot, app, "Hello")
    go_on.touch()
    qtbot.waitUntil(lambda: "It reads wrong tokens, so it is not used." in app.window.chat.notice.text, timeout=WAIT)
    assert not app.loader.is_ready
    with pytest.raises(BrokenModelError, match="so it is not used"):
        library.find("smol")


def test_check_of_a_removed_model_ends(
    qtbot: QtBot,
    imported: Path,
    check: Callable[[dict[str, object]], Path],
    open_program: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(models_controller, "confirm", lambda *_: True)
    check({})
    write_model(imported.with_name("other"))
    app = open_program(find=installed_model)
    app.settings.change(model="smol")
    for _ in range(2):  # a model of the same name is checked, too
        ask(qtbot, app, "Hello")
        qtbot.waitUntil(lambda: "being checked" in state(app), timeout=WAIT)
        press(app.window.models, "Remove smol")
        qtbot.waitUntil(lambda: not app.model_in_use._check.name, timeout=WAIT)
        assert not imported.exists()
        assert not app.window.chat.notice.text
        write_model(imported)
        manifest.write(imported, dataclasses.replace(manifest.read_model(imported), is_checked=False))
        app.model_in_use.show_installed()
        app.settings.change(model="smol")
