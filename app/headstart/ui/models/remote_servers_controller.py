"""What the page of models does with servers: list, add, use, check, remove."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from headstart import keys, remotes
from headstart.engine.engine import Remote
from headstart.errors import HeadstartError, SettingsError
from headstart.settings import Settings
from headstart.ui.background_task import BackgroundTask
from headstart.ui.engine_link import EngineLink
from headstart.ui.models import model_facts
from headstart.ui.models.add_remote_server import NewRemoteServer
from headstart.ui.models.models_page import ModelsPage
from headstart.ui.models.verification import Trying
from headstart.ui.translation import said
from headstart.ui.widgets.layouts import confirms


class RemoteServersController(QObject):
    """One for the window."""

    chosen = Signal(str)  # a model, as settings name it
    changed = Signal()  # other servers are known
    removing = Signal(str)  # a server, before it is forgotten

    def __init__(self, page: ModelsPage, make_link: Callable[[], EngineLink], parent: QObject | None = None) -> None:
        """Shows nothing yet. `make_link` gives an engine to ask a server with."""
        super().__init__(parent)
        self._page, self._make_link = page, make_link
        self._servers: dict[str, Remote] = {}
        self._checks: dict[str, Trying] = {}
        self._task: BackgroundTask | None = None
        self._keeping: BackgroundTask | None = None
        page.add_server.add_requested.connect(self._add)
        page.server_action_requested.connect(self._act)
        page.entered.connect(self._find_keys)

    def show(self, servers: Sequence[Remote], settings: Settings) -> None:
        """List the servers; new chats have these settings."""
        self._servers = {server.name: server for server in servers}
        used = model_facts.chosen(settings, servers)
        self._page.show_servers(servers, used.name if used else "")
        for name in self._checks:
            self._show_check(name)
        if self._page.isVisible():
            self._find_keys()

    def close(self) -> None:
        """The window closes."""
        for task in (self._task, self._keeping):
            if task:
                task.cancel()
        for check in self._checks.values():
            check.blockSignals(True)  # noqa: FBT003 - Qt's own; its last words would reach cards that are gone
            check.close()

    @Slot(object)
    def _add(self, new: NewRemoteServer) -> None:
        form = self._page.add_server
        fault = self._fault(new)
        if fault:
            form.say(fault, bad=True)
            return
        try:
            server = remotes.checked(new.server)
            remotes.add(server)
        except HeadstartError as error:
            form.say(said(error), bad=True)
            return
        form.clear()
        form.say(
            self.tr("{name} is {address}. Check it, or choose it for a chat.").format(
                name=server.name, address=server.url
            )
        )
        if new.key:
            self._keeping = BackgroundTask(partial(_keep, server.name, new.key), self)
            self._keeping.done.connect(self._note_kept)
            self._keeping.failed.connect(self._note_unkept)
            self._keeping.start()
        self.changed.emit()

    def _fault(self, new: NewRemoteServer) -> str:
        if new.key and not (new.key.isascii() and new.key.isprintable()):
            return self.tr("A key is one line of letters, digits and signs; nothing was kept.")
        certificate = new.server.certificate
        if certificate and not certificate.is_file():
            sentence = self.tr("There is no file {}; name the certificate of the authority in PEM form.")
            return sentence.format(certificate)
        return ""

    @Slot(object)
    def _note_kept(self, key: keys.Key) -> None:
        if key.place is keys.Place.FILE:
            words = self.tr("This system has no keyring, so the key is in {}, which only you can read.")
            self._page.add_server.say(words.format(key.where))
        self._find_keys()

    @Slot(str)
    def _note_unkept(self, sentence: str) -> None:
        self._page.add_server.say(sentence, bad=True)

    @Slot(str, str)
    def _act(self, action: str, name: str) -> None:
        {"use": self._choose, "check": self._check, "remove": self._remove}[action](name)

    def _choose(self, name: str) -> None:
        self.chosen.emit(remotes.model_name(self._servers[name]))

    def _check(self, name: str) -> None:
        if name in self._checks or name not in self._servers:
            return
        options = remotes.load_options(self._servers[name])
        self._checks[name] = check = Trying(options, self._make_link, self)
        check.ended.connect(partial(self._note_checked, name))
        self._show_check(name)
        check.start()

    def _show_check(self, name: str) -> None:
        card = self._page.server_card(name)
        if card:
            card.set_busy(True)
            card.show_state(self.tr("Asking it for its models and for a word…"))

    def _note_checked(self, name: str, trouble: str) -> None:
        self._checks.pop(name).deleteLater()
        card = self._page.server_card(name)
        if card:
            card.set_busy(False)
            card.show_state(trouble or self.tr("It answers."), bad=bool(trouble))

    def _remove(self, name: str) -> None:
        if name not in self._servers or not self._confirms(name):
            return
        if name in self._checks:
            self._checks.pop(name).close()
        self.removing.emit(name)
        try:
            remotes.remove(name)
        except HeadstartError as error:
            self._page.add_server.say(said(error), bad=True)
            return
        self._keeping = BackgroundTask(partial(_forget, name), self)
        self._keeping.start()
        self._page.add_server.say("")
        self.changed.emit()

    def _confirms(self, name: str) -> bool:
        question = self.tr("Forget the server {} and its key? Chats written with it stay.").format(name)
        return confirms(self._page, self.tr("Remove server"), question, self.tr("Remove"))

    @Slot()
    def _find_keys(self) -> None:
        """A keyring may take its time, or ask its owner to open it."""
        if self._task:
            self._task.cancel()
            self._task = None
        if self._servers:
            self._task = BackgroundTask(partial(_where_keys_are, tuple(self._servers)), self)
            self._task.done.connect(self._show_keys)
            self._task.start()

    @Slot(object)
    def _show_keys(self, found: "dict[str, keys.Key | str | None]") -> None:
        for name, key in found.items():
            card = self._page.server_card(name)
            if card is None:
                continue
            if isinstance(key, str):
                card.show_key(key, bad=True)
            else:
                card.show_key(self._key_words(key))

    def _key_words(self, key: keys.Key | None) -> str:
        if key is None:
            return self.tr("Without a key.")
        match key.place:
            case keys.Place.KEYRING:
                return self.tr("The key is in the system's keyring.")
            case keys.Place.ENVIRONMENT:
                return self.tr("The key is in an environment variable.")
            case keys.Place.FILE:
                return self.tr("The key is in {}.").format(key.where)


def _keep(name: str, secret: str, _task: BackgroundTask) -> keys.Key:
    return keys.keep(name, secret)


def _forget(name: str, _task: BackgroundTask) -> None:
    keys.forget(name)


def _where_keys_are(names: Iterable[str], _task: BackgroundTask) -> dict[str, keys.Key | str | None]:
    return {name: _key(name) for name in names}


def _key(name: str) -> keys.Key | str | None:
    try:
        return keys.find(name)
    except SettingsError as error:
        return said(error)
