"""Joins the page of the local server to its process, its key and the settings of the open chat. Loads no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QMessageBox

from headstart import paths, remotes
from headstart.engine.room import free_memory
from headstart.engine.supervision import Journal
from headstart.errors import HeadstartError, PortTakenError
from headstart.server import keys, telling
from headstart.ui import serve_child, serve_offer, serve_words
from headstart.ui.fault_words import said
from headstart.ui.load_progress import LoadProgress
from headstart.ui.serve_child import ServeChild
from headstart.ui.serve_offer import Offer
from headstart.ui.serve_view import ServeState, ServeView

if TYPE_CHECKING:
    from headstart.settings import Settings
    from headstart.ui.model_choices import ModelChoices
    from headstart.ui.model_loader import ModelLoader
    from headstart.ui.serve_page import ServePage

_EVERY_MS = 2000  # while the page is shown: the memory that is free changes
LOG = "server.log"


class ServeDesk(QObject):
    """At most one server, which ends with the window."""

    port_chosen = Signal(int)
    changed = Signal()  # the state differs

    def __init__(
        self,
        page: ServePage,
        loader: ModelLoader,
        choices: ModelChoices,
        settings: Callable[[], Settings],
        parent: QObject | None = None,
    ) -> None:
        """Starts nothing. `settings` gives those of the open chat."""
        super().__init__(parent)
        self._page, self._loader, self._choices, self._settings = page, loader, choices, settings
        self.program: Sequence[str] = serve_child.command()  # another one in tests
        self.journal = Journal(paths.logs_folder() / LOG)
        self.state = ServeState.OFF
        self._sentence = ""
        self._child: ServeChild | None = None
        self._served: Offer | None = None
        self._url = ""
        self._key = ""  # as long as the window is open; the disk has its hash
        self._seen: object = None
        self._found: tuple[Offer | None, str] = (None, "")
        self._again = False  # the server that ends is to be followed by another
        self._clock = QTimer(self, interval=_EVERY_MS)
        self._loading = LoadProgress(self)
        self._loading.changed.connect(self._tell_loading)
        self._connect()

    @Slot(bool)
    def switch(self, on: bool) -> None:
        """Start the server, or end it."""
        if on and self.state.is_down:
            self._start()
        elif not on and self._child:
            self._stop()
        self.show()

    def close(self) -> None:
        """The window closes."""
        self._loading.end()
        if self._child:
            self._child.close()

    @Slot()
    def show(self) -> None:
        """Everything as it is now."""
        offer, fault = self._offer()
        served = self._served or offer
        port, free = self._settings().server_port, free_memory()
        url = self._url or serve_offer.url(port)
        down, kept = self.state.is_down, paths.server_key().exists()
        view = ServeView(
            self.state,
            title=serve_words.title(self.state),
            sentence=self._sentence or (fault if down else ""),
            model=serve_words.model(served, offer),
            memory=serve_words.memory(offer, free) if down else "",
            fits=_fits(offer, free),
            port=port,
            url=url,
            key=self._key,
            key_words=serve_words.key(shown=bool(self._key), kept=kept),
            key_hint=self.tr("kept as a hash only") if kept else self.tr("none yet"),
            curl=serve_offer.curl(url, served.model, self._key) if served else "",
        )
        self._page.show_view(view)

    def _connect(self) -> None:
        page = self._page
        page.card.switched.connect(self.switch)
        page.card.port_chosen.connect(self.port_chosen)
        page.door.key_requested.connect(self._ask_for_key)
        page.entered.connect(self._look_again)
        page.entered.connect(self._clock.start)
        page.left.connect(self._clock.stop)
        self._clock.timeout.connect(self.show)
        self._loader.changed.connect(self.follow)

    @Slot()
    def _look_again(self) -> None:
        self._seen = None
        self.show()

    @Slot()
    def follow(self) -> None:
        """Model or settings may differ."""
        if self._page.isVisible():
            self.show()

    def _offer(self) -> tuple[Offer | None, str]:
        """What would be served now, or why nothing can be. Models are looked at once as long as nothing changes."""
        now = (self._settings(), self._choices.entries)
        if now != self._seen:
            self._seen, self._found = now, self._look(now[0])
        return self._found

    def _look(self, settings: Settings) -> tuple[Offer | None, str]:
        if remotes.is_remote(settings.model):
            return None, self.tr("The model of the open chat is on another computer; choose one of this computer.")
        try:
            return serve_offer.offer(self._loader.wanted(settings), settings, self._choices.usable), ""
        except HeadstartError as error:
            return None, said(error)

    def _start(self) -> None:
        offer, fault = self._offer()
        if offer is None:
            self._fail(fault)
            return
        free = free_memory()
        if not _fits(offer, free):
            self._fail(serve_words.too_big(offer, free))
            return
        try:
            self._prepare_key()
        except HeadstartError as error:
            self._fail(said(error))
            return
        self._served = offer
        self._page.requests.clear()
        self._child = child = ServeChild(self.journal, self)
        child.told.connect(self._take)
        child.ended.connect(self._end)
        self._set(ServeState.STARTING, self.tr("The program is being started."))
        child.start(self.program, (f"--port={self._settings().server_port}", *offer.flags))

    def _stop(self, *, again: bool = False) -> None:
        assert self._child
        self._again = again
        words = self.tr("It is started again with the new key.") if again else ""
        self._set(ServeState.STOPPING, words)
        self._child.stop()

    @Slot(object)
    def _take(self, told: telling.Told) -> None:
        match told:
            case telling.Loading():
                self._loading.note(None)
                self._tell_loading()
            case telling.KeyMade(key):
                self._key = key
            case telling.Serving(_, url):
                self._url = url
                self._set(ServeState.READY)
            case telling.Asked():
                self._page.requests.begin(told)
                self._count()
            case telling.Answered():
                self._page.requests.end(told)
                self._count()

    def _count(self) -> None:
        """Whether it is busy, and how many wait."""
        if self.state not in {ServeState.READY, ServeState.BUSY}:
            return
        waiting = self._page.requests.open - 1
        if waiting < 0:
            self._set(ServeState.READY)
        else:
            self._set(ServeState.BUSY, serve_words.answering(waiting))

    @Slot()
    def _tell_loading(self) -> None:
        words, time = self.tr("Loading {}").format(self._served.model if self._served else ""), self._loading.seconds
        if time:
            self._set(ServeState.STARTING, self.tr("{step} · {time}").format(step=words, time=time))

    @Slot(str, str)
    def _end(self, sentence: str, kind: str) -> None:
        if self._child:
            self._child.deleteLater()
        self._child, self._served, self._url = None, None, ""
        again, self._again = self._again and not sentence, False
        if kind == PortTakenError.__name__:
            sentence = serve_words.taken(self._settings().server_port)
        if sentence:
            self._fail(sentence)
        else:
            self._set(ServeState.OFF)
        if again:
            self.switch(on=True)

    def _fail(self, sentence: str) -> None:
        self._set(ServeState.FAILED, sentence)

    def _set(self, state: ServeState, sentence: str = "") -> None:
        if (state, sentence) != (self.state, self._sentence):
            if state is not ServeState.STARTING:
                self._loading.end()
            self.state, self._sentence = state, sentence
            self.show()
            self.changed.emit()

    def _prepare_key(self) -> None:
        """A key that was made in a terminal since is not the one that is shown here."""
        kept = keys.read(paths.server_key())
        if kept is None:
            self._make_key()
        elif self._key and not keys.fits(self._key, kept):
            self._key = ""

    def _make_key(self) -> None:
        key = keys.new()
        keys.write(paths.server_key(), keys.digest(key))
        self._key = key

    @Slot()
    def _ask_for_key(self) -> None:
        """Programs that have the key of before would be turned away."""
        if not paths.server_key().exists():
            self._renew_key()
            return
        question = self.tr("Make another key? Programs that have the present one are turned away until they get it.")
        box = QMessageBox(QMessageBox.Icon.Question, self.tr("New key"), question, parent=self._page)
        make = box.addButton(self.tr("Make another key"), QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        box.exec()
        if box.clickedButton() is make:
            self._renew_key()

    def _renew_key(self) -> None:
        try:
            self._make_key()
        except HeadstartError as error:
            self._set(ServeState.FAILED if self.state.is_down else self.state, said(error))
            return
        if self.state.is_on:
            self._stop(again=True)
        self.show()


def _fits(offer: Offer | None, free: int) -> bool:
    return offer is None or offer.needed is None or offer.needed <= free
