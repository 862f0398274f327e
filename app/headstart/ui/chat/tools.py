"""Tools in the window: the servers that run, the approval of a call and the dialog that lists the tools."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QSize, Qt, QThreadPool, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Call, Tool
from headstart.errors import HeadstartError
from headstart.settings import Settings
from headstart.tools.loop import ToolResult
from headstart.tools.servers import (
    ServerTool,
    ToolServer,
    ToolServers,
    default_path,
    effects,
    entries,
    example,
    server_of,
    write_entries,
)
from headstart.ui.background_task import BackgroundTask
from headstart.ui.formatting import escape_invisible, listed, short_path
from headstart.ui.settings_controller import CurrentSettings
from headstart.ui.translation import showing_errors, translate_error
from headstart.ui.widgets.announcements import announce
from headstart.ui.widgets.focus import mark_as_stop
from headstart.ui.widgets.labels import LinesField, StatusLine, button, label, muted
from headstart.ui.widgets.layouts import (
    Dialog,
    TitledField,
    beside,
    confirm,
    flowing,
    open_folder,
    row,
    set_margins,
    stacked,
)
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY, scaled

if TYPE_CHECKING:
    from headstart.workspace.tools import FindPassages

SearchIn = Callable[[str, Path], "FindPassages | None"]  # in a project's index that has a place; None: there is none
_SIZE, _SERVER_WIDTH = QSize(720, 460), 520
_MAX_LINES = 6  # of arguments; more scroll


class ToolsController(QObject):
    """Controller of the tool servers, which run only while the settings allow tools."""

    changed = Signal()  # servers or tools
    error_occurred = Signal(str)

    def __init__(self, settings: CurrentSettings, search_in: SearchIn, parent: QObject | None = None) -> None:
        """`search_in`: the search by meaning for a working folder, which needs no server."""
        super().__init__(parent)
        self.search_in = search_in
        self._settings, self._servers = settings, ToolServers()
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)  # one operation at a time, outside the window's thread
        self._stop_event = CancelEvent()
        self._is_on = False
        self.is_starting = False
        self.offers: tuple[ServerTool, ...] = ()
        self.names: tuple[str, ...] = ()  # of the running servers
        self.errors: tuple[HeadstartError, ...] = ()
        settings.changed.connect(self.follow)

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The tools that an answer may call."""
        return tuple(offer.tool for offer in self.offers) if self._is_on else ()

    @property
    def online_names(self) -> tuple[str, ...]:
        """The running tool servers that may use the network, except the built-in clock."""
        clock = server_of("", example())
        return tuple(server.name for server in self._servers.running if replace(server, name="") != clock)

    def offer(self, name: str) -> ServerTool | None:
        return next((offer for offer in self.offers if offer.tool.name == name), None)

    @Slot(object)
    def follow(self, settings: Settings) -> None:
        """Start or end the servers according to the settings."""
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

    def call(self, offer: ServerTool, arguments: str, cancel: CancelEvent, done: Callable[[ToolResult], None]) -> None:
        """Call a tool in the background; `done` gets the result."""

        def end(result: ToolResult) -> None:
            if self._servers.names != self.names and self._is_on:  # a server has died
                self._start(failed=False)
            done(result)

        self._run(partial(self._servers.call, offer, arguments, cancel), end)

    def probe(
        self, server: ToolServer, on_tools: Callable[[tuple[ServerTool, ...]], None], on_fault: Callable[[str], None]
    ) -> None:
        """Start a server in the background, to see its tools, and end it."""
        task = BackgroundTask(lambda _task: self._servers.probe(server, self._stop_event), self)
        task.start(on_tools, on_fault, self._pool)
        for end in (task.done, task.failed):
            end.connect(task.deleteLater)

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
        task.start(then, pool=self._pool)
        task.done.connect(task.deleteLater)

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
        self._arguments = LinesField(_MAX_LINES, self)
        self._arguments.setReadOnly(True)
        self._arguments.setAccessibleName(self.tr("What the tool would be given"))
        self.once = button(self.tr("Call once"), self)
        self.always = button(self.tr("Always in this chat"), self)
        self.refuse = button(self.tr("Do not call"), self)
        self.always.setToolTip(self.tr("Until Headstart is closed."))
        answers = (self.once, self.always, self.refuse)
        for each in answers:
            mark_as_stop(each)
        column = stacked(self, self._question, self._arguments, flowing(answers, self), spacing=TINY)
        set_margins(column, start=SMALL, top=TINY, end=SMALL, bottom=SMALL)
        self.once.clicked.connect(lambda: self.decided.emit(True, False))  # noqa: FBT003 - arguments of a signal
        self.always.clicked.connect(lambda: self.decided.emit(True, True))  # noqa: FBT003
        self.refuse.clicked.connect(lambda: self.decided.emit(False, False))  # noqa: FBT003
        self.hide()

    @property
    def text(self) -> str:
        """The question; empty if hidden."""
        return "" if self.isHidden() else self._question.text()

    def ask(self, pending: tuple[Call, ServerTool] | None) -> None:
        """Ask about a call; None hides the bar."""
        self.setVisible(pending is not None)
        if pending is None:
            return
        call, offer = pending
        question = self.tr("The model wants to call {tool} of {server}, which {effects}.")
        question = question.format(tool=call.name, server=offer.server, effects=translate_error(effects(offer)))
        self._question.setText(question)
        self._question.setTextFormat(Qt.TextFormat.PlainText)
        announce(self, question, urgent=True)
        arguments = escape_invisible(json.dumps(json.loads(call.arguments), ensure_ascii=False, indent=2))
        self._arguments.show_text(arguments)
        self._arguments.setVisible(arguments != "{}")


class ServerDialog(Dialog):
    """Dialog that edits an MCP server. It emits what to save and stays open until `accept`."""

    saved = Signal(str, object)  # name, entry of mcp.json
    test_requested = Signal(object)  # Server

    def __init__(self, name: str, entry: Mapping[str, Any], other_names: Collection[str], parent: QWidget) -> None:
        super().__init__(self.tr("Tool server") if name else self.tr("New tool server"), parent)
        self._entry, self._other_names = entry, frozenset(other_names)
        self.name = QLineEdit(name, self)
        self.command = QLineEdit(str(entry.get("command", "")), self)
        args, env = entry.get("args"), entry.get("env")  # somebody may have written anything
        self.args = self._lines(map(str, args) if isinstance(args, list) else ())
        self.env = (
            self._lines(f"{key}={value}" for key, value in env.items()) if isinstance(env, dict) else self._lines(())
        )
        self.name.setPlaceholderText(self.tr("such as files"))
        self.command.setPlaceholderText(self.tr("such as npx, uvx or the path of a program"))
        self.args.setPlaceholderText(self.tr("one on each line"))
        self.env.setPlaceholderText(self.tr("one on each line, such as API_KEY=…"))
        self.status = StatusLine(self)
        self.test = button(self.tr("Test"), self)
        self._cancel, self.save_button = button(self.tr("Cancel"), self), button(self.tr("Save"), self, "primary")
        self.save_button.setDefault(True)
        self._lay_out()
        for field in (self.name, self.command):
            field.textChanged.connect(self._check)
        self.test.clicked.connect(self._on_test)
        self._cancel.clicked.connect(self.reject)
        self.save_button.clicked.connect(lambda: self.saved.emit(self.name.text().strip(), self.entry()))
        self._check()

    def entry(self) -> dict[str, Any]:
        """Return the entry as edited so far; what the dialog does not show stays."""
        variables = (line.partition("=") for line in self.env.toPlainText().splitlines() if "=" in line)
        edited = {
            "command": self.command.text().strip(),
            "args": [line for line in self.args.toPlainText().splitlines() if line],
            "env": {key.strip(): value for key, _, value in variables},
        }
        others = {key: value for key, value in self._entry.items() if key not in edited}
        return {**{key: value for key, value in edited.items() if value}, **others}

    @Slot(object)
    def show_tools(self, tools: tuple[ServerTool, ...]) -> None:
        """Show that the server works."""
        names = listed(offer.tool.name for offer in tools)
        words = self.tr("It works. Its tools: {}").format(names) if tools else self.tr("It works, but has no tools.")
        self.test.setEnabled(True)
        self.status.say(words, "success")

    @Slot(str)
    def show_fault(self, sentence: str) -> None:
        self.test.setEnabled(True)
        self.status.say(sentence, bad=True)

    @Slot()
    def _on_test(self) -> None:
        with showing_errors(self.show_fault):
            server = server_of(self.name.text().strip() or self.tr("server"), self.entry())
            self.test.setEnabled(False)
            self.status.say(self.tr("Starting it…"))
            self.test_requested.emit(server)

    @Slot()
    def _check(self) -> None:
        name = self.name.text().strip()
        is_taken = name in self._other_names
        self.status.say(self.tr("Another server has this name.") if is_taken else "", bad=is_taken)
        self.test.setEnabled(bool(self.command.text().strip()))
        self.save_button.setEnabled(bool(name and self.command.text().strip()) and not is_taken)

    def _lines(self, lines: Iterable[str]) -> QPlainTextEdit:
        field = QPlainTextEdit("\n".join(lines), self)
        field.setTabChangesFocus(True)
        field.setFixedHeight(field.fontMetrics().lineSpacing() * 3 + 2 * MEDIUM)
        set_style_class(field, "field")
        return field

    def _lay_out(self) -> None:
        column = stacked(self, margin=MEDIUM, spacing=TINY)
        fields = (
            (self.tr("Name"), self.name),
            (self.tr("Program"), self.command),
            (self.tr("Arguments"), self.args),
            (self.tr("Variables, for keys and passwords"), self.env),
        )
        for words, field in fields:
            column.addWidget(TitledField(words, field, self, above=True))
            column.addSpacing(TINY)
        column.addWidget(self.status)
        column.addStretch(1)
        foot = beside(None, self.test, self._cancel, self.save_button)
        foot.insertStretch(1, 1)
        column.addLayout(foot)
        self.resize(scaled(_SERVER_WIDTH, self.font()), self.sizeHint().height())


Entries = dict[str, Any]  # of mcp.json, by the names of their servers


class ToolsDialog(Dialog):
    """Dialog with the switch for tools, the servers, and their tools with what these may do."""

    def __init__(self, tools: ToolsController, settings: CurrentSettings, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Tools"), parent)
        self._tools = tools
        self._entries: dict[str, Any] = {}
        self.switch = QCheckBox(self.tr("Models may use tools"), self)
        self.switch.setChecked(settings.now.tools)
        about = self.tr("Tools are programs that models may use. You are asked before each call.")
        self.list = QTreeWidget(self)
        self.list.setAccessibleName(self.windowTitle())
        self.list.setHeaderLabels([self.tr("Tool"), self.tr("What it may do"), self.tr("About")])
        self.list.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.empty = muted(
            self.tr("There is no tool server yet. Add one that speaks MCP, or try the clock: it works offline."), self
        )
        self.try_example = button(self.tr("Try the clock"), self, "primary")
        self.status, self.fault = StatusLine(self), StatusLine(self)
        self.add, self.edit = button(self.tr("Add…"), self), button(self.tr("Edit…"), self)
        self.remove, self.again = button(self.tr("Remove"), self), button(self.tr("Start again"), self)
        folder = button(self.tr("Show the file"), self, "link")
        folder.setToolTip(short_path(default_path()))
        close = button(self.tr("Close"), self)
        self._empty_part = QWidget(self)
        stacked(self._empty_part, self.empty, row(self.try_example)).addStretch(1)
        actions = flowing((self.add, self.edit, self.remove, self.again, folder), self)
        foot = beside(None, actions, close, growing=actions)
        parts = (self.switch, muted(about, self), self._empty_part, self.list, self.status, self.fault, foot)
        stacked(self, *parts, margin=MEDIUM, growing=self.list)
        self.set_size(_SIZE)
        self.switch.toggled.connect(lambda on: settings.change(tools=on))
        self.again.clicked.connect(tools.restart)
        folder.clicked.connect(lambda: open_folder(default_path().parent))
        close.clicked.connect(self.close)
        self.add.clicked.connect(lambda: self._open("", {}))
        self.edit.clicked.connect(self._on_edit)
        self.remove.clicked.connect(self._on_remove)
        self.try_example.clicked.connect(self._on_try_example)
        self.list.itemDoubleClicked.connect(self._on_edit)
        self.list.currentItemChanged.connect(self._show_buttons)
        tools.changed.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        tools, is_on, chosen = self._tools, self.switch.isChecked(), self._chosen()
        self._entries = {}
        with showing_errors(lambda sentence: self.fault.say(sentence, bad=True)):
            self._entries = entries()
        self.list.clear()
        for name, entry in self._entries.items():
            server = QTreeWidgetItem([name, *([] if name in tools.names else [self._state(entry)])])
            self.list.addTopLevelItem(server)
            for offer in (offer for offer in tools.offers if offer.server == name):
                about = " ".join(offer.tool.description.split())
                item = QTreeWidgetItem([offer.tool.name, translate_error(effects(offer)), about])
                item.setToolTip(2, about)
                server.addChild(item)
            if name == chosen:
                self.list.setCurrentItem(server)
        self.list.expandAll()
        self._empty_part.setVisible(not self._entries)
        self.list.setVisible(bool(self._entries))
        self.status.say(self.tr("Starting the servers…") if tools.is_starting else "")
        errors = [] if tools.is_starting or not is_on or not self._entries else tools.errors
        self.fault.say("\n".join(map(translate_error, errors)), bad=True)
        self._show_buttons()

    def _state(self, entry: object) -> str:
        if isinstance(entry, dict) and entry.get("disabled") is True:
            return self.tr("left out")
        return self.tr("does not run") if self.switch.isChecked() else self.tr("tools are off")

    def _chosen(self) -> str:
        """Return the server of the current row, or ""."""
        item = self.list.currentItem()
        server = item and (item.parent() or item)
        return server.text(0) if server else ""

    @Slot()
    def _show_buttons(self) -> None:
        for part in (self.edit, self.remove):
            part.setEnabled(bool(self._chosen()))
        self.again.setEnabled(self.switch.isChecked() and bool(self._entries) and not self._tools.is_starting)

    @Slot()
    def _on_edit(self) -> None:
        if name := self._chosen():
            self._open(name, self._entries[name])

    @Slot()
    def _on_remove(self) -> None:
        name = self._chosen()
        question = self.tr("Remove the server “{}”? The program itself stays.").format(name)
        if confirm(self, self.tr("Remove server"), question, self.tr("Remove")):
            self._write(lambda now: {other: entry for other, entry in now.items() if other != name})

    @Slot()
    def _on_try_example(self) -> None:
        if self._write(lambda now: {**now, self.tr("clock"): example()}):
            self.switch.setChecked(True)

    def _open(self, name: str, entry: object) -> None:
        known = entry if isinstance(entry, dict) else {}
        dialog = ServerDialog(name, known, self._entries.keys() - {name}, self)

        def change(new: str, changed: dict[str, Any], now: Entries) -> Entries:
            renamed = {new if old == name else old: changed if old == name else each for old, each in now.items()}
            return {**renamed, new: changed}

        def save(new: str, changed: dict[str, Any]) -> None:
            if self._write(partial(change, new, changed)):
                dialog.accept()

        dialog.saved.connect(save)
        dialog.test_requested.connect(lambda server: self._tools.probe(server, dialog.show_tools, dialog.show_fault))
        dialog.open()

    def _write(self, change: Callable[[Entries], Entries]) -> bool:
        """Change the entries as the file has them now, and start new servers; return whether that worked."""
        with showing_errors(lambda sentence: self.fault.say(sentence, bad=True)):
            write_entries(change(entries()))
            if self.switch.isChecked():
                self._tools.restart()
            self._show()
            return True
        return False
