"""The page of the local server: its switch, the way to it, and who asked."""

import json
import sys
import time
from dataclasses import dataclass
from enum import Enum, auto

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QGridLayout, QHBoxLayout, QLabel, QWidget

from headstart.engine.engine import Sampling, Speculation
from headstart.engine.protocol import Answered, Asked
from headstart.settings import Settings
from headstart.ui.settings.settings_form import NumberEditor
from headstart.ui.spelling import decimal, whole
from headstart.ui.translation import translate
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.labels import CopiedLine, StatusLine, button, muted, section
from headstart.ui.widgets.layouts import Card
from headstart.ui.widgets.page import Page
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.stylesheet import dress, mark
from headstart.ui.widgets.theme import SMALL, TEXT_WIDTH


class ServerState(Enum):
    """How far the server is."""

    OFF = auto()
    STARTING = auto()
    READY = auto()
    BUSY = auto()
    STOPPING = auto()
    FAILED = auto()

    @property
    def is_on(self) -> bool:
        """Whether the switch stands on."""
        return self in {ServerState.STARTING, ServerState.READY, ServerState.BUSY}

    @property
    def is_down(self) -> bool:
        """Whether nothing of a server is there."""
        return self in {ServerState.OFF, ServerState.FAILED}


@dataclass(frozen=True)
class ServerView:
    """All that is shown but the requests. `key`: empty where only its hash is kept, or where there is none yet."""

    state: ServerState = ServerState.OFF
    title: str = ""  # the state in a word
    sentence: str = ""
    model: str = ""
    port: int = 0
    url: str = ""
    key: str = ""
    key_words: str = ""
    key_hint: str = ""  # in place of the key
    curl: str = ""


_NO_KEY = "KEY"


@dataclass(frozen=True)
class Offer:
    """What is served, and how an answer is written as far as a request leaves that open."""

    model: str
    sampling: Sampling
    speculation: Speculation
    seed: int | None


def offer(model: str, settings: Settings) -> Offer:
    """What these settings ask for."""
    sampling = settings.sampling
    return Offer(model, sampling, settings.guessing, sampling.seed or None)


def url(port: int) -> str:
    """Where a server that is started with this port will answer."""
    return f"http://127.0.0.1:{port}/v1"


def curl(url: str, model: str, key: str) -> str:
    """A line for a terminal that asks the server something."""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello"}]}, ensure_ascii=False)
    quoted = '"{}"'.format(body.replace('"', '\\"')) if sys.platform == "win32" else f"'{body}'"
    head = f'-H "Authorization: Bearer {key or _NO_KEY}" -H "Content-Type: application/json"'
    return f"curl {url}/chat/completions {head} -d {quoted}"


def title(state: ServerState) -> str:
    """A state in a word."""
    titles = {
        ServerState.OFF: translate("ServeWords", "Off"),
        ServerState.STARTING: translate("ServeWords", "Starting"),
        ServerState.READY: translate("ServeWords", "Ready"),
        ServerState.BUSY: translate("ServeWords", "Busy"),
        ServerState.STOPPING: translate("ServeWords", "Stopping"),
        ServerState.FAILED: translate("ServeWords", "Failed"),
    }
    return titles[state]


def model(served: Offer | None, wanted: Offer | None) -> str:
    """What is served, or would be; where the open chat has turned to another one since, how to serve that."""
    if served is None:
        return ""
    named = translate("ServeWords", "Model: {}").format(served.model)
    if wanted is None or wanted == served:
        return named
    other = translate(
        "ServeWords", "The open chat has another model or other settings now; switch off and on to serve those."
    )
    return f"{named}\n{other}"


def key(*, shown: bool, kept: bool) -> str:
    """Where the key is."""
    if shown:
        return translate(
            "ServeWords",
            "Programs send it as their API key. Copy it now: when this window closes, only its hash is left.",
        )
    if kept:
        return translate(
            "ServeWords", "The key was shown when it was made. Who has lost it makes a new one; the old one ends then."
        )
    return translate("ServeWords", "It is made when the server is switched on for the first time.")


def taken(port: int) -> str:
    """Another program has the port."""
    return translate(
        "ServeWords", "Port {} is taken by another program; choose another port, then switch the server on again."
    ).format(port)


def answering(waiting: int) -> str:
    """How busy it is."""
    if waiting:
        return translate("ServeWords", "A request is being answered; waiting: {}.").format(waiting)
    return translate("ServeWords", "A request is being answered.")


class ServerAddress(Card):
    """Address and key of the server, and how to try it."""

    key_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.column.addWidget(section(self.tr("For your programs"), self))
        self.url = CopiedLine(self.tr("Address"), self.tr("Copy the address"), self)
        self.key = CopiedLine(self.tr("Key"), self.tr("Copy the key"), self)
        self.curl = CopiedLine(self.tr("Try it in a terminal"), self.tr("Copy the command"), self, long=True)
        self.new_key = button(self.tr("New key"), self)
        self._about_key = muted("", self)
        self._lay_out()
        self.new_key.clicked.connect(self.key_requested)

    def show_view(self, view: ServerView) -> None:
        """Another state, or other values."""
        self.url.show_text(view.url)
        self.key.show_text(view.key, view.key_hint)
        self.curl.show_text(view.curl)
        self._about_key.setText(view.key_words)
        self.new_key.setEnabled(view.state is not ServerState.STOPPING)

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setSpacing(SMALL)
        grid.setColumnStretch(1, 1)
        for row, (text, line) in enumerate(((self.tr("Address"), self.url), (self.tr("Key"), self.key))):
            label = QLabel(text, self)
            label.setBuddy(line.field)
            grid.addWidget(label, row, 0)
            grid.addWidget(line, row, 1)
        grid.addWidget(self.new_key, 1, 2)
        self.column.addLayout(grid)
        self.column.addWidget(self._about_key)
        trying = QLabel(self.tr("Try it in a terminal"), self)
        trying.setBuddy(self.curl.field)
        self.column.addWidget(trying, 0, Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(self.curl)


_KINDS = {ServerState.READY: "success", ServerState.BUSY: "success", ServerState.FAILED: "danger"}


class ServerSwitch(Card):
    """The switch of the server, and how far it is."""

    switched = Signal(bool)
    port_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = QCheckBox(self.tr("Answer programs of this computer"), self)
        dress(self.switch, "switch")
        self.setAccessibleName(self.switch.text())
        self.state = QLabel(self)
        self.sentence = StatusLine(self)
        self.model = StatusLine(self)
        self.port = NumberEditor("server_port", self)
        self._bar = BusyBar(self.tr("The server is being started"), self)
        self._lay_out()
        self.switch.toggled.connect(self.switched)
        self.port.edited.connect(self._choose_port)

    def show_view(self, view: ServerView) -> None:
        """Another state, or other values."""
        with QSignalBlocker(self.switch):
            self.switch.setChecked(view.state.is_on)
        self.switch.setEnabled(view.state is not ServerState.STOPPING)
        self.state.setText(view.title)
        mark(self.state, "kind", _KINDS.get(view.state, "muted"))
        self.sentence.say(view.sentence, bad=view.state is ServerState.FAILED)
        self.model.say(view.model)
        self.port.setEnabled(view.state.is_down)
        self.port.show_value(view.port)
        self._bar.setVisible(view.state is ServerState.STARTING)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(SMALL)
        head.addWidget(self.switch, 1)
        head.addWidget(self.state)
        self.column.addLayout(head)
        for part in (self._bar, self.sentence, self.model, self.port):
            self.column.addWidget(part)

    @Slot(str, object)
    def _choose_port(self, _name: str, port: int) -> None:
        self.port_chosen.emit(port)


_KEPT = 20  # rows
_EVERY_MS = 100  # at most so often: programs may ask faster than anybody reads


@dataclass
class _Row:
    came: str
    asked: Asked
    answered: Answered | None = None


class RequestLog(Card):
    """The last requests."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: dict[int, _Row] = {}
        self._empty = muted(self.tr("None yet. Each is listed here with its outcome; what was asked is not."), self)
        self.table = FigureTable(self.tr("Requests"), self)
        self.table.hide()
        for part in (section(self.tr("Requests"), self), self._empty, self.table):
            self.column.addWidget(part)
        self._later = QTimer(self, singleShot=True, interval=_EVERY_MS)
        self._later.timeout.connect(self._show)

    @property
    def open(self) -> int:
        """Requests for answers that have not ended."""
        return sum(row.answered is None and row.asked.method == "POST" for row in self._rows.values())

    def clear(self) -> None:
        """Another server begins."""
        self._rows.clear()
        self._show()

    def begin(self, asked: Asked) -> None:
        """A request has come."""
        self._rows[asked.number] = _Row(time.strftime("%H:%M:%S"), asked)
        ended = [number for number, row in self._rows.items() if row.answered]
        for number in ended[: max(0, len(self._rows) - _KEPT)]:
            del self._rows[number]
        self._plan()

    def end(self, answered: Answered) -> None:
        """It has ended."""
        row = self._rows.get(answered.number)
        if row:
            row.answered = answered
            self._plan()

    def _plan(self) -> None:
        if not self._later.isActive():
            self._later.start()

    @Slot()
    def _show(self) -> None:
        titles = (self.tr("Time"), self.tr("Request"), self.tr("Status"), self.tr("Tokens"), self.tr("Seconds"))
        self._empty.setVisible(not self._rows)
        self.table.setVisible(bool(self._rows))
        self.table.begin(titles, widened=2, words=(0, 1))
        for row in reversed(self._rows.values()):
            self.table.add((row.came, f"{row.asked.method} {row.asked.path}", *self._outcome(row.answered)))

    def _outcome(self, answered: Answered | None) -> tuple[str, str, str]:
        if answered is None:
            return self.tr("running"), "", ""
        tokens = ""
        if answered.prompt_tokens is not None and answered.output_tokens is not None:
            tokens = f"{whole(answered.prompt_tokens)} + {whole(answered.output_tokens)}"
        status = str(answered.status) if answered.status else self.tr("client left")
        return status, tokens, decimal(answered.seconds, 1)


class ServerPage(Page):
    """Its parts have the signals."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(TEXT_WIDTH, parent)
        self.set_title(self.tr("Local server"))
        intro = self.tr(
            "Editors and scripts on this computer can ask the model of the open chat as they ask OpenAI's API. No "
            "other computer and no web page gets in, and no program without the key; the server ends with this window."
        )
        self.card = ServerSwitch(self)
        self.address = ServerAddress(self)
        self.requests = RequestLog(self)
        for part in (muted(intro, self), self.card, self.address, self.requests):
            self.column.addWidget(part)
        self.column.addStretch(1)
        self.entered.connect(self.card.switch.setFocus)

    def show_view(self, view: ServerView) -> None:
        """Another state, or other values."""
        self.card.show_view(view)
        self.address.show_view(view)
