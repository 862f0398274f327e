"""Tools in the window: the servers that run, the approval of a call and the dialog that lists the tools."""

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

from headstart import private_files
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
from headstart.ui.widgets.focus import mark_as_stop
from headstart.ui.widgets.labels import StatusLine, button, label, muted
from headstart.ui.widgets.layouts import Dialog, beside, row, set_margins, stacked
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY, scaled

_SIZE = QSize(720, 460)
_MAX_LINES = 6  # of arguments; more scroll


class ToolsController(QObject):
    """Controller of the tool servers, which run only while the settings allow tools."""

    changed = Signal()  # servers or tools
    error_occurred = Signal(str)

    def __init__(self, settings: CurrentSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings, self._servers = settings, ToolServers()
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)  # one operation at a time, outside the window's thread
        self._stop_event = CancelEvent()
        self._is_on = False
        self.is_starting = False
        self.offers: tuple[Offer, ...] = ()
        self.names: tuple[str, ...] = ()  # of the running servers
        self.errors: tuple[HeadstartError, ...] = ()
        settings.changed.connect(self.follow)

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The tools that an answer may call."""
        return tuple(offer.tool for offer in self.offers) if self._is_on else ()

    def offer(self, name: str) -> Offer | None:
        return next((offer for offer in self.offers if offer.tool.name == name), None)

    @Slot(object)
    def follow(self, settings: Settings) -> None:
        """Start or end the servers as the settings say."""
        if settings.tools == self._is_on:
            return
        self._is_on = settings.tools
        if self._is_on:
            self.restart()
        else:
            self._run(self._servers.close, self._on_servers_changed)

    @Slot()
    def restart(self) -> None:
        """Read the file of servers again, and start those that do not run."""
        self._start(failed=True)

    def call(self, offer: Offer, arguments: str, cancel: CancelEvent, done: Callable[[Result], None]) -> None:
        """Call a tool in the background; `done` gets the result."""

        def end(result: Result) -> None:
            if self._servers.names != self.names and self._is_on:  # a server has died
                self._start(failed=False)
            done(result)

        self._run(partial(self._servers.call, offer, arguments, cancel), end)

    def _start(self, *, failed: bool) -> None:
        self.is_starting = True
        self.changed.emit()
        self._run(partial(self._servers.start, self._stop_event, failed=failed), self._on_started)

    def close(self) -> None:
        """End every server."""
        self._settings.changed.disconnect(self.follow)
        self._stop_event.set()
        self._pool.waitForDone()
        self._servers.close()

    def show_dialog(self, parent: QWidget) -> None:
        """Open the dialog that lists the tools."""
        ToolsDialog(self, self._settings, parent).open()

    def _run(self, work: Callable[[], object], then: Callable[..., None]) -> None:
        task = BackgroundTask(lambda _task: work(), self)
        task.done.connect(then)
        task.done.connect(task.deleteLater)
        task.start(self._pool)

    @Slot(object)
    def _on_started(self, _done: object) -> None:
        self._on_servers_changed(None)
        if self.errors and self._is_on:
            self.error_occurred.emit(translate_error(self.errors[0]))

    @Slot(object)
    def _on_servers_changed(self, _done: object) -> None:
        self.is_starting = False
        self.offers, self.names, self.errors = self._servers.offers, self._servers.names, self._servers.faults
        self.changed.emit()


class CallBar(QFrame):
    """A bar that asks for the approval of a tool call and shows its arguments; hidden without a question."""

    decided = Signal(bool, bool)  # allowed, and always in this chat

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
            mark_as_stop(each)
        column = stacked(self, self._question, self._arguments, row, spacing=TINY)
        set_margins(column, start=SMALL, top=TINY, end=SMALL, bottom=SMALL)
        self.once.clicked.connect(lambda: self.decided.emit(True, False))  # noqa: FBT003 - arguments of a signal
        self.always.clicked.connect(lambda: self.decided.emit(True, True))  # noqa: FBT003
        self.refuse.clicked.connect(lambda: self.decided.emit(False, False))  # noqa: FBT003
        self.hide()

    @property
    def text(self) -> str:
        """The question; empty if hidden."""
        return "" if self.isHidden() else self._question.text()

    def ask(self, pending: tuple[Call, Offer] | None) -> None:
        """Ask about a call, or hide for None."""
        self.setVisible(pending is not None)
        if pending is None:
            return
        call, offer = pending
        question = self.tr("The model wants to call {tool} of {server}, which {effects}.")
        self._question.setText(
            question.format(tool=call.name, server=offer.server, effects=translate_error(effects(offer)))
        )
        self._question.setTextFormat(Qt.TextFormat.PlainText)
        arguments = _escape_invisible(json.dumps(json.loads(call.arguments), ensure_ascii=False, indent=2))
        self._arguments.setPlainText(arguments)
        self._arguments.setVisible(arguments != "{}")
        lines = min(arguments.count("\n") + 1, _MAX_LINES)
        self._arguments.setFixedHeight(self._arguments.fontMetrics().lineSpacing() * lines + 2 * MEDIUM)


def _escape_invisible(text: str) -> str:
    """Replace each invisible format character, which may reorder others, by its code."""
    return "".join(f"\\u{ord(sign):04x}" if unicodedata.category(sign) == "Cf" else sign for sign in text)


class ToolsDialog(Dialog):
    """Dialog with the switch for tools, and a list of all tools and their permissions."""

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
        self.list.setHeaderLabels(
            [self.tr("Tool"), self.tr("What it may do, according to its server"), self.tr("About")]
        )
        self.list.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.status, self.fault = StatusLine(self), StatusLine(self)
        self.again = button(self.tr("Start again"), self)
        folder = button(self.tr("Show the folder"), self)
        close = button(self.tr("Close"), self)
        foot = row(folder, self.again)
        foot.addWidget(close)
        remark = muted(about.format(path=short_path(default_path())), self, selectable=True)
        stacked(self, self.switch, remark, self.list, self.status, self.fault, foot, margin=MEDIUM, growing=self.list)
        for widget in (folder, self.again, close):
            widget.setAutoDefault(False)
        self.resize(QSize(scaled(_SIZE.width(), self.font()), scaled(_SIZE.height(), self.font())))
        self.switch.toggled.connect(lambda on: settings.change(tools=on))
        self.again.clicked.connect(tools.restart)
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
        errors = [] if tools.is_starting or not is_on else tools.errors
        self.fault.say("\n".join(map(translate_error, errors)), bad=True)
        self.again.setEnabled(is_on and not tools.is_starting)

    @Slot()
    def _show_folder(self) -> None:
        private_files.make(default_path().parent)
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(default_path().parent)))
