"""Tools in the window: the servers that run, the question before a call, and the dialog that lists them."""

import json
import unicodedata
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QSize, Qt, QThreadPool, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHeaderView,
    QPlainTextEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from headstart import own_folder
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Call, Tool
from headstart.errors import HeadstartError
from headstart.settings import Settings
from headstart.tools.loop import Result
from headstart.tools.servers import Offer, ToolServers, default_path, effects
from headstart.ui.background_task import BackgroundTask
from headstart.ui.formatting import short_path
from headstart.ui.settings_controller import CurrentSettings
from headstart.ui.translation import translate_error
from headstart.ui.widgets.focus import ends
from headstart.ui.widgets.labels import StatusLine, button, label, muted
from headstart.ui.widgets.layouts import Dialog, beside, row, set_margins, stacked
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY, scaled

_SIZE = QSize(720, 460)
_MOST_LINES = 6  # of arguments; the box scrolls


class ToolsController(QObject):
    """Runs the servers while the settings say so. Nothing starts before that."""

    changed = Signal()  # what runs, and what is offered
    error_occurred = Signal(str)

    def __init__(self, settings: CurrentSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings, self._servers = settings, ToolServers()
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)  # one thing after the other, and none in the thread of the window
        self._ending = CancelEvent()
        self._is_on = False
        self.is_starting = False
        self.offers: tuple[Offer, ...] = ()
        self.names: tuple[str, ...] = ()  # of the servers that run
        self.faults: tuple[HeadstartError, ...] = ()
        settings.changed.connect(self.follow)

    @property
    def offered(self) -> tuple[Tool, ...]:
        """What an answer may call."""
        return tuple(offer.tool for offer in self.offers) if self._is_on else ()

    def offer(self, name: str) -> Offer | None:
        """The tool that the model calls so."""
        return next((offer for offer in self.offers if offer.tool.name == name), None)

    @Slot(object)
    def follow(self, settings: Settings) -> None:
        """Start the servers, or end them."""
        if settings.tools == self._is_on:
            return
        self._is_on = settings.tools
        if self._is_on:
            self.start_again()
        else:
            self._do(self._servers.close, self._note)

    @Slot()
    def start_again(self) -> None:
        """Start what does not run; the file may name other servers than before."""
        self._start(failed=True)

    def call(self, offer: Offer, arguments: str, cancel: CancelEvent, done: Callable[[Result], None]) -> None:
        """Have a tool called; `done` gets the result."""

        def end(result: Result) -> None:
            if self._servers.names != self.names and self._is_on:  # it has died
                self._start(failed=False)
            done(result)

        self._do(partial(self._servers.call, offer, arguments, cancel), end)

    def _start(self, *, failed: bool) -> None:
        self.is_starting = True
        self.changed.emit()
        self._do(partial(self._servers.start, self._ending, failed=failed), self._note_start)

    def close(self) -> None:
        """End every server."""
        self._settings.changed.disconnect(self.follow)
        self._ending.set()
        self._pool.waitForDone()
        self._servers.close()

    def show_dialog(self, parent: QWidget) -> None:
        """List what there is."""
        ToolsDialog(self, self._settings, parent).open()

    def _do(self, work: Callable[[], object], then: Callable[..., None]) -> None:
        task = BackgroundTask(lambda _task: work(), self)
        task.done.connect(then)
        task.done.connect(task.deleteLater)
        task.start(self._pool)

    @Slot(object)
    def _note_start(self, _done: object) -> None:
        self._note(None)
        if self.faults and self._is_on:
            self.error_occurred.emit(translate_error(self.faults[0]))

    @Slot(object)
    def _note(self, _done: object) -> None:
        self.is_starting = False
        self.offers, self.names, self.faults = self._servers.offers, self._servers.names, self._servers.faults
        self.changed.emit()


class CallBar(QFrame):
    """Asks whether a tool may be called, with all that it would be given; hidden while there is no question."""

    decided = Signal(bool, bool)  # whether it may, and whether always in this chat

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_style_class(self, "bar")
        self._question = label("", self, selectable=True)
        self._arguments = QPlainTextEdit(self)
        self._arguments.setReadOnly(True)
        self._arguments.setTabChangesFocus(True)
        self._arguments.setAccessibleName(self.tr("What the tool would be given"))
        set_style_class(self._arguments, "field")
        self.once = button(self.tr("Call once"), self)
        self.always = button(self.tr("Always in this chat"), self)
        self.refuse = button(self.tr("Do not call"), self)
        self.always.setToolTip(self.tr("Until Headstart is closed."))
        row = beside(None, self.once, self.always, self.refuse)
        row.insertStretch(0, 1)
        for each in (self.once, self.always, self.refuse):
            ends(each)
        column = stacked(self, self._question, self._arguments, row, spacing=TINY)
        set_margins(column, start=SMALL, top=TINY, end=SMALL, bottom=SMALL)
        self.once.clicked.connect(lambda: self.decided.emit(True, False))  # noqa: FBT003 - of a signal
        self.always.clicked.connect(lambda: self.decided.emit(True, True))  # noqa: FBT003
        self.refuse.clicked.connect(lambda: self.decided.emit(False, False))  # noqa: FBT003
        self.hide()

    @property
    def text(self) -> str:
        """The question; empty if there is none."""
        return "" if self.isHidden() else self._question.text()

    def ask(self, asked: tuple[Call, Offer] | None) -> None:
        """Show the question about a call, or none."""
        self.setVisible(asked is not None)
        if asked is None:
            return
        call, offer = asked
        question = self.tr("The model wants to call {tool} of {server}, which {effects}.")
        self._question.setText(
            question.format(tool=call.name, server=offer.server, effects=translate_error(effects(offer)))
        )
        self._question.setTextFormat(Qt.TextFormat.PlainText)
        told = _plain(json.dumps(json.loads(call.arguments), ensure_ascii=False, indent=2))
        self._arguments.setPlainText(told)
        self._arguments.setVisible(told != "{}")
        lines = min(told.count("\n") + 1, _MOST_LINES)
        self._arguments.setFixedHeight(self._arguments.fontMetrics().lineSpacing() * lines + 2 * MEDIUM)


def _plain(text: str) -> str:
    """With a code for each sign that is not seen and may turn others round."""
    return "".join(f"\\u{ord(sign):04x}" if unicodedata.category(sign) == "Cf" else sign for sign in text)


class ToolsDialog(Dialog):
    """The switch, and every tool with what it may do."""

    def __init__(self, tools: ToolsController, settings: CurrentSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Tools"))
        self._tools = tools
        self.switch = QCheckBox(self.tr("Models may call tools"), self)
        self.switch.setChecked(settings.now.tools)
        about = self.tr(
            "Tools come from MCP servers: programs of this computer that you name in {path}. You are asked before "
            "each call. Headstart cannot see whether a tool uses the network."
        )
        self.list = QTreeWidget(self)
        self.list.setAccessibleName(self.windowTitle())
        self.list.setHeaderLabels([self.tr("Tool"), self.tr("What it may do, as its server says"), self.tr("About")])
        self.list.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.status, self.fault = StatusLine(self), StatusLine(self)
        self.again = button(self.tr("Start again"), self)
        folder = button(self.tr("Show the folder"), self)
        close = button(self.tr("Close"), self)
        foot = row(folder, self.again)
        foot.addWidget(close)
        remark = muted(about.format(path=short_path(default_path())), self, selectable=True)
        stacked(self, self.switch, remark, self.list, self.status, self.fault, foot, margin=MEDIUM, growing=self.list)
        for each in (folder, self.again, close):
            each.setAutoDefault(False)
        self.resize(QSize(scaled(_SIZE.width(), self.font()), scaled(_SIZE.height(), self.font())))
        self.switch.toggled.connect(lambda on: settings.change(tools=on))
        self.again.clicked.connect(tools.start_again)
        folder.clicked.connect(self._show_folder)
        close.clicked.connect(self.close)
        tools.changed.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        tools, is_on = self._tools, self.switch.isChecked()
        self.list.clear()
        for name in tools.names:
            server = QTreeWidgetItem([name])
            self.list.addTopLevelItem(server)
            for offer in (offer for offer in tools.offers if offer.server == name):
                about = " ".join(offer.tool.description.split())
                item = QTreeWidgetItem([offer.tool.name, translate_error(effects(offer)), about])
                item.setToolTip(2, about)
                server.addChild(item)
        self.list.expandAll()
        self.status.say(self.tr("Starting the servers…") if tools.is_starting else "")
        faults = [] if tools.is_starting or not is_on else tools.faults
        self.fault.say("\n".join(map(translate_error, faults)), bad=True)
        self.again.setEnabled(is_on and not tools.is_starting)

    @Slot()
    def _show_folder(self) -> None:
        own_folder.make(default_path().parent)
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(default_path().parent)))
