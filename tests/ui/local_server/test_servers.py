"""Servers of other computers on the page of models: added, used, checked, removed, and their keys put away."""

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from headstart import api_keys, remotes
from headstart.engine.engine import Remote
from headstart.engine.supervision import program
from headstart.settings import Settings
from headstart.ui.engine_link import EngineLink
from headstart.ui.models.model_card import RemoteServerCard
from headstart.ui.models.models_page import ModelsPage
from headstart.ui.models.remote_servers import RemoteServersController
from headstart.ui.program import Program
from tests.stand_ins.model_server import Script, serving
from tests.ui.person import WAIT, button, press, words


def card(app: Program, name: str) -> RemoteServerCard:
    found = app.window.models.servers.card(name)
    assert found
    return found


def fill(page: ModelsPage, name: str, address: str, key: str = "", certificate: str = "") -> None:
    """Fill in the form and press its button."""
    form = page.servers.form
    form.name.setText(name)
    form.address.setText(address)
    form.key.setText(key)
    form.certificate.setText(certificate)
    press(form, "Add")


def answer_box(monkeypatch: pytest.MonkeyPatch, label: str) -> None:
    def click(box: QMessageBox) -> None:
        next(each for each in box.buttons() if each.text().replace("&", "") == label).click()

    monkeypatch.setattr(QMessageBox, "exec", click)


def test_message_stands_below_the_pressed_button(qtbot: QtBot, app: Program) -> None:
    page, job = app.window.models, app.bench.page
    app.window.actions_by_name["models"].trigger()
    fill(page, "office", "http://10.0.0.7:8000")
    form, added = page.servers.form, card(app, "office")
    form.say("a long sentence " * 20, bad=True)
    added.show_state("a long sentence " * 20)
    qtbot.waitUntil(lambda: form._state.y() > button(form, "Add").geometry().bottom(), timeout=WAIT)
    qtbot.waitUntil(lambda: added._state.y() > button(added, "Check").geometry().bottom(), timeout=WAIT)
    app.window.actions_by_name["bench"].trigger()
    job.notice.say("a long sentence " * 20, bad=True)
    qtbot.waitUntil(lambda: job.notice.y() > job.start.geometry().bottom(), timeout=WAIT)


def test_server_is_added_with_its_key(qtbot: QtBot, app: Program) -> None:
    page = app.window.models
    fill(page, "office", "http://10.0.0.7:8000", key="secret-1")
    assert remotes.configured() == (Remote("office", "http://10.0.0.7:8000/v1"),)
    qtbot.waitUntil(lambda: api_keys.find("office") is not None, timeout=WAIT)
    qtbot.waitUntil(lambda: "no keyring" in words(page.servers.form), timeout=WAIT)
    qtbot.waitUntil(lambda: "The key is in" in words(card(app, "office")), timeout=WAIT)
    found = api_keys.find("office")
    assert found
    assert found.secret == "secret-1"  # noqa: S105 - of no server
    assert "secret-1" not in words(page)
    assert page.servers.form.key.text() == ""
    assert "http does not encrypt" in words(card(app, "office"))
    assert "another computer" in words(card(app, "office"))
    assert [server.name for server in app.choices.servers] == ["office"]


def test_invalid_address_key_or_certificate_is_reported(qtbot: QtBot, app: Program) -> None:
    page = app.window.models
    for wrong, told in (
        (("a b", "https://x/v1"), "A server's name has"),
        (("x", "ftp://x"), "is not the address of a server"),
        (("x", "https://me:secret@x/v1"), "must not hold a password"),
        (("x", "https://x/v1", "schlüssel"), "A key is one line"),
        (("x", "https://x/v1", "", "/no/such.pem"), "There is no file"),
    ):
        fill(page, *wrong)
        assert told in words(page.servers.form)
        assert page.servers.form.name.text() == wrong[0]
    assert remotes.configured() == ()


def test_server_is_used_and_removed(qtbot: QtBot, app: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    page = app.window.models
    fill(page, "office", "https://10.0.0.7/v1", key="secret-1")
    qtbot.waitUntil(lambda: api_keys.find("office") is not None, timeout=WAIT)
    press(card(app, "office"), "Use")
    assert app.settings.now.model == "remote:office"
    assert "in use" in words(card(app, "office"))
    answer_box(monkeypatch, "Cancel")
    press(card(app, "office"), "Remove…")
    assert remotes.configured()
    answer_box(monkeypatch, "Remove")
    press(card(app, "office"), "Remove…")
    assert remotes.configured() == ()
    assert page.servers.card("office") is None
    assert app.settings.now.model == ""
    qtbot.waitUntil(lambda: api_keys.find("office") is None, timeout=WAIT)


@pytest.fixture
def controller(qtbot: QtBot) -> Callable[[str], RemoteServersController]:
    """A function that shows one server on a page; the real program asks it."""
    page = ModelsPage()
    qtbot.addWidget(page)

    def show(address: str) -> RemoteServersController:
        made = RemoteServersController(page.servers, lambda: EngineLink(program()), page)
        made.show((Remote("office", address),), Settings())
        return made

    return show


def test_check_says_whether_the_server_answers(
    qtbot: QtBot, controller: Callable[[str], RemoteServersController]
) -> None:
    with serving(Script()) as address:
        made = controller(address)
        shown = made._view.card("office")
        assert shown
        press(shown, "Check")
        assert "Asking it" in words(shown)
        qtbot.waitUntil(lambda: "It answers." in words(shown), timeout=WAIT)
    press(shown, "Check")
    qtbot.waitUntil(lambda: "Asking it" not in words(shown), timeout=WAIT)
    assert "It answers." not in words(shown)
    made.close()
