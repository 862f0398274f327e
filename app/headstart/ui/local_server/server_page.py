"""The page of the local server: its switch, its address and key, and the requests."""

import json
import sys
import time
from dataclasses import dataclass
from enum import Enum, auto

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Slot
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QWidget

from headstart.engine.engine import Sampling, Speculation
from headstart.engine.protocol import Answered, Asked
from headstart.ui.formatting import decimal, whole
from headstart.ui.settings.settings_form import NumberEditor
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.labels import CopiedLine, StatusLine, button, muted
from headstart.ui.widgets.layouts import Card, Page, add, beside
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.stylesheet import set_style_class, set_style_property
from headstart.ui.widgets.theme import SMALL, TEXT_WIDTH


class ServerState(Enum):
    OFF = auto()
    STARTING = auto()
    READY = auto()
    BUSY = auto()
    STOPPING = auto()
    FAILED = auto()

    @property
    def is_on(self) -> bool:
        """True if the switch is on."""
        return self in {ServerState.STARTING, ServerState.READY, ServerState.BUSY}

    @property
    def is_down(self) -> bool:
        """True if there is no server, not even one that starts or stops."""
        return self in {ServerState.OFF, ServerState.FAILED}


_NO_KEY = "KEY"
_KINDS = {ServerState.READY: "success", ServerState.BUSY: "success", ServerState.FAILED: "danger"}


@dataclass(frozen=True)
class ServedModel:
    """A model, and the settings for what a request leaves open."""

    name: str
    sampling: Sampling
    speculation: Speculation


@dataclass(frozen=True)
class ServerView:
    """The content of the page, requests aside."""

    state: ServerState = ServerState.OFF
    sentence: str = ""
    served: ServedModel | None = None  # or the model that would be served
    selected: ServedModel | None = None  # the model of the open chat
    port: int = 0
    url: str = ""
    key: str = ""  # empty if only its hash is kept, or if there is none yet
    has_key: bool = False


class ServerSwitch(Card):
    """The switch of the server, its state, its model and its port."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._titles = {
            ServerState.OFF: self.tr("Off"),
            ServerState.STARTING: self.tr("Starting"),
            ServerState.READY: self.tr("Ready"),
            ServerState.BUSY: self.tr("Busy"),
            ServerState.STOPPING: self.tr("Stopping"),
            ServerState.FAILED: self.tr("Failed"),
        }
        self.switch = QCheckBox(self.tr("Local API server"), self)
        set_style_class(self.switch, "switch")
        self.setAccessibleName(self.switch.text())
        self._state = QLabel(self)
        self._bar = BusyBar(self.tr("The server is being started"), self)
        self._sentence = StatusLine(self)
        self._model = StatusLine(self)
        self.port = NumberEditor("server_port", self)
        head = beside(None, self.switch, self._state, growing=self.switch)
        add(self.column, head, self._bar, self._sentence, self._model, self.port)

    def show_view(self, view: ServerView) -> None:
        with QSignalBlocker(self.switch):
            self.switch.setChecked(view.state.is_on)
        self.switch.setEnabled(view.state is not ServerState.STOPPING)
        self._state.setText(self._titles[view.state])
        set_style_property(self._state, "kind", _KINDS.get(view.state, "muted"))
        self._sentence.say(view.sentence, bad=view.state is ServerState.FAILED)
        self._model.say(self._model_words(view.served, view.selected) if view.served else "")
        self.port.setEnabled(view.state.is_down)
        self.port.show_value(view.port)
        self._bar.setVisible(view.state is ServerState.STARTING)

    def _model_words(self, served: ServedModel, selected: ServedModel | None) -> str:
        name = self.tr("Model: {}").format(served.name)
        if selected is None or selected == served:
            return name
        other = self.tr("The open chat has another model or other settings now; switch off and on to serve those.")
        return f"{name}\n{other}"


class ServerAddress(Card):
    """Address and key of the server, and a command to try it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, self.tr("For your programs"))
        self.url = CopiedLine(self.tr("Address"), self.tr("Copy the address"), self)
        self.key = CopiedLine(self.tr("Key"), self.tr("Copy the key"), self)
        self.curl = CopiedLine(self.tr("Try it in a terminal"), self.tr("Copy the command"), self, long=True)
        self.new_key = button(self.tr("New key"), self)
        self._about_key = muted("", self)
        grid = QGridLayout()
        grid.setSpacing(SMALL)
        grid.setColumnStretch(1, 1)
        for row, (text, line) in enumerate(((self.tr("Address"), self.url), (self.tr("Key"), self.key))):
            grid.addWidget(self._label(text, line), row, 0)
            grid.addWidget(line, row, 1)
        grid.addWidget(self.new_key, 1, 2)
        add(self.column, grid, self._about_key)
        title = self._label(self.tr("Try it in a terminal"), self.curl)
        self.column.addWidget(title, 0, Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(self.curl)

    def show_view(self, view: ServerView) -> None:
        self.url.show_text(view.url)
        self.key.show_text(view.key, self.tr("kept as a hash only") if view.has_key else self.tr("none yet"))
        self.curl.show_text(_curl(view.url, view.served.name, view.key) if view.served else "")
        self._about_key.setText(self._key_words(view))
        self.new_key.setEnabled(view.state is not ServerState.STOPPING)

    def _key_words(self, view: ServerView) -> str:
        if view.key:
            return self.tr(
                "Programs send it as their API key. Copy it now: when this window closes, only its hash is left."
            )
        if view.has_key:
            return self.tr(
                "The key was shown when it was made. If you have lost it, make a new one; the old one ends then."
            )
        return self.tr("It is made when the server is switched on for the first time.")

    def _label(self, text: str, line: CopiedLine) -> QLabel:
        label = QLabel(text, self)
        label.setBuddy(line.field)
        return label


def _curl(url: str, model: str, key: str) -> str:
    """Return a curl command that sends a test request to the server."""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello"}]}, ensure_ascii=False)
    quoted = '"{}"'.format(body.replace('"', '\\"')) if sys.platform == "win32" else f"'{body}'"
    head = f'-H "Authorization: Bearer {key or _NO_KEY}" -H "Content-Type: application/json"'
    return f"curl {url}/chat/completions {head} -d {quoted}"


_MAX_ROWS = 20  # rows
_INTERVAL_MS = 100  # programs may ask faster than anybody can read


@dataclass
class _RequestRow:
    time_of_day: str
    request: Asked
    answer: Answered | None = None


class RequestLog(Card):
    """The last requests, in a table."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, self.tr("Requests"))
        self._rows: dict[int, _RequestRow] = {}
        self._empty = muted(self.tr("No requests yet. Prompts are never logged."), self)
        self.table = FigureTable(self.tr("Requests"), self)
        self.table.hide()
        add(self.column, self._empty, self.table)
        self._timer = QTimer(self, singleShot=True, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self._show)

    @property
    def num_open(self) -> int:
        """The number of requests for answers that have not ended."""
        return sum(row.answer is None and row.request.method == "POST" for row in self._rows.values())

    def clear(self) -> None:
        """Forget the requests: another server begins."""
        self._rows.clear()
        self._show()

    def begin(self, request: Asked) -> None:
        self._rows[request.number] = _RequestRow(time.strftime("%H:%M:%S"), request)
        ended = [number for number, row in self._rows.items() if row.answer]
        for number in ended[: max(0, len(self._rows) - _MAX_ROWS)]:
            del self._rows[number]
        self._show_later()

    def end(self, answer: Answered) -> None:
        """Note how a request ended."""
        row = self._rows.get(answer.number)
        if row:
            row.answer = answer
            self._show_later()

    def _show_later(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _show(self) -> None:
        titles = (self.tr("Time"), self.tr("Request"), self.tr("Status"), self.tr("Tokens"), self.tr("Seconds"))
        self._empty.setVisible(not self._rows)
        self.table.setVisible(bool(self._rows))
        self.table.begin(titles, num_fitted=2, text_columns=(0, 1))
        for row in reversed(self._rows.values()):
            self.table.add((row.time_of_day, f"{row.request.method} {row.request.path}", *self._outcome(row.answer)))

    def _outcome(self, answer: Answered | None) -> tuple[str, str, str]:
        if answer is None:
            return self.tr("running"), "", ""
        tokens = ""
        if answer.prompt_tokens is not None and answer.output_tokens is not None:
            tokens = f"{whole(answer.prompt_tokens)} + {whole(answer.output_tokens)}"
        status = str(answer.status) if answer.status else self.tr("client left")
        return status, tokens, decimal(answer.seconds, 1)


class ServerPage(Page):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(TEXT_WIDTH, parent)
        self.set_title(self.tr("Local server"))
        intro = self.tr(
            "Editors and scripts on this computer can ask the model of the open chat as they ask OpenAI's API. Other "
            "computers, web pages and programs without the key are refused. The server ends with this window."
        )
        self.card = ServerSwitch(self)
        self.address = ServerAddress(self)
        self.requests = RequestLog(self)
        add(self.column, muted(intro, self), self.card, self.address, self.requests)
        self.column.addStretch(1)
        self.entered.connect(self.card.switch.setFocus)

    def show_view(self, view: ServerView) -> None:
        self.card.show_view(view)
        self.address.show_view(view)
