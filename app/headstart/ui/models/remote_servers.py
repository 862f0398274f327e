"""Servers on other computers, on the page of models."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QLabel,
    QLineEdit,
    QWidget,
)

from headstart import api_keys, paths, remotes
from headstart.engine.engine import Remote
from headstart.errors import SettingsError
from headstart.settings import Settings
from headstart.ui.background_task import BackgroundTask
from headstart.ui.engine_link import EngineLink
from headstart.ui.models import model_choices
from headstart.ui.models.model_card import RemoteServerCard
from headstart.ui.models.model_loader import LoadTest
from headstart.ui.translation import showing_errors, translate_error
from headstart.ui.widgets.labels import Heading, StatusLine, button, muted
from headstart.ui.widgets.layouts import Card, add, beside, confirm, initial_path, remember_folder, stacked
from headstart.ui.widgets.theme import MEDIUM, SMALL


@dataclass(frozen=True)
class NewRemoteServer:
    """The fields of the form, unchecked. With an empty key, the key that is kept stays."""

    server: Remote
    key: str = field(default="", repr=False)


class AddRemoteServer(Card):
    """The form that names a server."""

    add_requested = Signal(object)  # NewRemoteServer

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, self.tr("Add a server"))
        self.setAccessibleName(self.tr("Add a server"))
        self.name = self._field(self.tr("such as {}").format("office"))
        self.address = self._field(self.tr("such as {}").format("https://host:8000/v1"))
        self.model = self._field(self.tr("optional: default model"))
        self.key = self._field(self.tr("optional: API key"))
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.certificate = self._field(self.tr("optional: system certificates"))
        self._browse = button(self.tr("Browse"), self)
        self._browse.setAccessibleName(self.tr("Browse for a certificate"))
        self._add = button(self.tr("Add"), self, "primary")
        self._add.setAccessibleName(self.tr("Add this server"))
        self._state = StatusLine(self)
        self._state.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        about = self.tr(
            "A model may run on another computer, behind a server that speaks OpenAI's protocol: OpenVINO Model "
            "Server, vLLM, llama.cpp, another Headstart. Nothing is sent to it before you check or use it. "
            "Using an existing name replaces that server."
        )
        add(self.column, muted(about, self, selectable=True), self._grid())
        self.column.addWidget(self._add, 0, Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(self._state)  # below, so that it does not move the button
        self._browse.clicked.connect(self._on_browse)
        self._add.clicked.connect(self._on_submit)
        for edit in self._edits():
            edit.returnPressed.connect(self._on_submit)
        for edit in (self.name, self.address):
            edit.textChanged.connect(self._on_edited)
        self._on_edited()

    def say(self, text: str, *, bad: bool = False) -> None:
        """Show the outcome of adding a server."""
        self._state.say(text, bad=bad)

    def clear(self) -> None:
        for edit in self._edits():
            edit.clear()

    def _edits(self) -> tuple[QLineEdit, ...]:
        return self.name, self.address, self.model, self.key, self.certificate

    def _field(self, hint: str) -> QLineEdit:
        edit = QLineEdit(self)
        edit.setPlaceholderText(hint)
        return edit

    def _grid(self) -> QGridLayout:
        certificate = beside(None, self.certificate, self._browse, growing=self.certificate)
        titles = (self.tr("Name"), self.tr("Address"), self.tr("Model"), self.tr("Key"), self.tr("Certificate"))
        grid = QGridLayout()
        grid.setSpacing(SMALL)
        for number, (text, edit) in enumerate(zip(titles, self._edits(), strict=True)):
            label = QLabel(text, self)
            label.setBuddy(edit)
            edit.setAccessibleName(text)
            grid.addWidget(label, number, 0)
            if edit is not self.certificate:
                grid.addWidget(edit, number, 1)
        grid.addLayout(certificate, len(titles) - 1, 1)
        grid.setColumnStretch(1, 1)
        return grid

    @Slot()
    def _on_browse(self) -> None:
        kinds = self.tr("Certificates (*.pem *.crt)")
        path, _ = QFileDialog.getOpenFileName(self, self.tr("Certificate of an authority"), initial_path(), kinds)
        if path:
            remember_folder(path)
            self.certificate.setText(path)

    @Slot()
    def _on_edited(self) -> None:
        self.say("")  # the last sentence was about other fields
        self._add.setEnabled(bool(self.name.text().strip() and self.address.text().strip()))

    @Slot()
    def _on_submit(self) -> None:
        if not self._add.isEnabled():
            return
        name, address, model, key, file = (edit.text().strip() for edit in self._edits())
        certificate = Path(file).expanduser().absolute() if file else None
        self.add_requested.emit(NewRemoteServer(Remote(name, address, model or None, certificate), key))


class RemoteServersList(QWidget):
    """A card for each known server, and the form below them."""

    action_requested = Signal(str, str)  # the action of a card and its server

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cards: dict[str, RemoteServerCard] = {}
        self._title = Heading(self.tr("Servers"), 1.2, self)
        self.form = AddRemoteServer(self)
        self._column = stacked(self, self._title, self.form, spacing=MEDIUM)

    def show_servers(self, servers: Iterable[Remote], chosen: str) -> None:
        """Show the known servers, and which of them new chats use."""
        for card in self._cards.values():
            card.deleteLater()
        self._cards = {server.name: RemoteServerCard(server, self) for server in servers}
        for name, card in self._cards.items():
            card.action_requested.connect(self.action_requested)
            card.show_chosen(name == chosen)
            self._column.insertWidget(self._column.count() - 1, card)
        self._title.setVisible(bool(self._cards))

    def card(self, name: str) -> RemoteServerCard | None:
        return self._cards.get(name)


class RemoteServersController(QObject):
    """The controller that lists, adds, uses, checks and removes servers."""

    chosen = Signal(str)  # name of a model, as settings have it
    changed = Signal()  # other servers are known
    removing = Signal(str)  # name of a server, before it is forgotten

    def __init__(
        self, view: RemoteServersList, make_link: Callable[[], EngineLink], parent: QObject | None = None
    ) -> None:
        """`make_link` starts an engine to ask a server with."""
        super().__init__(parent)
        self._view, self._make_link = view, make_link
        self._servers: dict[str, Remote] = {}
        self._checks: dict[str, LoadTest] = {}
        self._find_task: BackgroundTask | None = None
        self._key_task: BackgroundTask | None = None
        view.form.add_requested.connect(self._on_add)
        view.action_requested.connect(self._on_action)

    def show(self, servers: Sequence[Remote], settings: Settings) -> None:
        """List the servers; new chats have these settings."""
        self._servers = {server.name: server for server in servers}
        current = model_choices.server_of(settings, servers)
        self._view.show_servers(servers, current.name if current else "")
        for name in self._checks:
            self._show_check(name)
        if self._view.isVisible():
            self.find_keys()

    def close(self) -> None:
        for task in (self._find_task, self._key_task):
            if task:
                task.cancel()
        for check in self._checks.values():
            check.blockSignals(True)  # noqa: FBT003 - Qt's own; its last words would reach cards that are gone
            check.close()

    @Slot(object)
    def _on_add(self, new: NewRemoteServer) -> None:
        form = self._view.form
        fault = self._fault(new)
        if fault:
            form.say(fault, bad=True)
            return
        with showing_errors(partial(form.say, bad=True)):
            server = remotes.checked(new.server)
            remotes.add(server)
            form.clear()
            words = self.tr("{name} is {address}. Check it, or choose it for a chat.")
            form.say(words.format(name=server.name, address=server.url))
            if new.key:
                self._key_task = BackgroundTask(lambda _: api_keys.keep(server.name, new.key), self)
                self._key_task.start(self._on_key_kept, partial(form.say, bad=True))
            self.changed.emit()

    def _fault(self, new: NewRemoteServer) -> str:
        if new.key and not (new.key.isascii() and new.key.isprintable()):
            return self.tr("A key is one line of letters, digits and signs; nothing was kept.")
        certificate = new.server.certificate
        if certificate and not paths.is_file(certificate):
            sentence = self.tr("There is no file {}; name the certificate of the authority in PEM form.")
            return sentence.format(certificate)
        return ""

    @Slot(object)
    def _on_key_kept(self, key: api_keys.ApiKey) -> None:
        if key.place is api_keys.KeyPlace.FILE:
            words = self.tr("This system has no keyring, so the key is in {}, which only you can read.")
            self._view.form.say(words.format(key.where))
        self.find_keys()

    @Slot(str, str)
    def _on_action(self, action: str, name: str) -> None:
        match action:
            case "use":
                self.chosen.emit(remotes.model_name(self._servers[name]))
            case "check":
                self._check(name)
            case "remove":
                self._remove(name)

    def _check(self, name: str) -> None:
        if name in self._checks or name not in self._servers:
            return
        options = remotes.load_options(self._servers[name])
        self._checks[name] = check = LoadTest(options, self._make_link, self)
        check.ended.connect(partial(self._on_checked, name))
        self._show_check(name)
        check.start()

    def _show_check(self, name: str) -> None:
        card = self._view.card(name)
        if card:
            card.set_busy(True)
            card.show_state(self.tr("Asking it for its models and for a word…"))

    def _on_checked(self, name: str, fault: str) -> None:
        self._checks.pop(name).deleteLater()
        card = self._view.card(name)
        if card:
            card.set_busy(False)
            card.show_state(fault or self.tr("It answers."), bad=bool(fault))

    def _remove(self, name: str) -> None:
        if name not in self._servers:
            return
        question = self.tr("Forget the server {} and its key? Chats written with it stay.").format(name)
        if not confirm(self._view, self.tr("Remove server"), question, self.tr("Remove")):
            return
        if name in self._checks:
            self._checks.pop(name).close()
        self.removing.emit(name)
        with showing_errors(partial(self._view.form.say, bad=True)):
            remotes.remove(name)
            self._view.form.say("")
            self._key_task = BackgroundTask(lambda _: api_keys.forget(name), self)
            self._key_task.start(failed=partial(self._view.form.say, bad=True))
            self.changed.emit()

    @Slot()
    def find_keys(self) -> None:
        """Show where each key is. A keyring may take its time, or ask its owner to open it."""
        if self._find_task:
            self._find_task.cancel()
            self._find_task = None
        if self._servers:
            names = tuple(self._servers)
            self._find_task = BackgroundTask(lambda _: {name: _key(name) for name in names}, self)
            self._find_task.start(self._show_keys)

    @Slot(object)
    def _show_keys(self, found_keys: "dict[str, api_keys.ApiKey | str | None]") -> None:
        for name, key in found_keys.items():
            card = self._view.card(name)
            if card is None:
                continue
            if isinstance(key, str):
                card.show_key(key, bad=True)
            else:
                card.show_key(self._key_words(key))

    def _key_words(self, key: api_keys.ApiKey | None) -> str:
        if key is None:
            return self.tr("Without a key.")
        match key.place:
            case api_keys.KeyPlace.KEYRING:
                return self.tr("The key is in the system's keyring.")
            case api_keys.KeyPlace.ENVIRONMENT:
                return self.tr("The key is in an environment variable.")
            case api_keys.KeyPlace.FILE:
                return self.tr("The key is in {}.").format(key.where)


def _key(name: str) -> api_keys.ApiKey | str | None:
    try:
        return api_keys.find(name)
    except SettingsError as error:
        return translate_error(error)
