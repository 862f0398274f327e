"""The working folder of one chat, and its work in the background."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QThreadPool, Signal

from headstart.chat.history.store import FOLDER, Store
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Call, Tool
from headstart.errors import HistoryError, Translatable, WorkspaceError
from headstart.tools.loop import MAX_CALLS, ToolResult
from headstart.ui.background_task import BackgroundTask

if TYPE_CHECKING:
    from headstart.workspace.tools import Proposal, Workspace

_OF_PROJECT = "folder of project {}"  # name of a memo


class ChatFolder(QObject):
    """The folder that a chat may work on: none, until you give it one. It is opened when it is first needed."""

    changed = Signal()
    leaving = Signal()  # the opened folder is about to be replaced, or taken back

    def __init__(self, store: Store, chat_id: str, project: str, parent: QObject) -> None:
        super().__init__(parent)
        self._store, self._memo = store, FOLDER.format(chat_id)
        self._project = project
        self._workspace: Workspace | None = None
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)  # one step at a time, outside the window's thread
        self.fault: Translatable | None = None  # why the folder cannot be used
        with suppress(HistoryError):
            chosen = store.recall(self._memo)
            if chosen is None and project:
                chosen = store.recall(_OF_PROJECT.format(project))
            self._path = Path(chosen) if chosen else None

    @property
    def path(self) -> Path | None:
        return self._path

    @property
    def workspace(self) -> "Workspace | None":
        """The opened folder; None without one, or if it cannot be used."""
        if self._workspace is None and self._path is not None and self.fault is None:
            from headstart.workspace.tools import Workspace  # noqa: PLC0415 - few chats have a folder

            try:
                self._workspace = Workspace(self._path)
            except WorkspaceError as error:
                self.fault = error.text
                self.changed.emit()
        return self._workspace

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.workspace.tools if self.workspace else ()

    @property
    def max_calls(self) -> int:
        """The most calls of one answer."""
        if self._path is None:
            return MAX_CALLS
        from headstart.workspace import tools  # noqa: PLC0415 - few chats have a folder

        return tools.MAX_CALLS

    @property
    def has_changes(self) -> bool:
        """The answer in progress, or the last one, has changed something."""
        return self._workspace is not None and self._workspace.record.has_changes

    def give(self, path: Path) -> None:
        """Let the chat work on a folder. Raises WorkspaceError and HistoryError, and changes nothing then."""
        from headstart.workspace.tools import Workspace  # noqa: PLC0415

        workspace = Workspace(path)
        self._store.remember(self._memo, str(workspace.folder.path))
        self._forget_workspace()
        self._path, self._workspace = workspace.folder.path, workspace
        self.changed.emit()

    def take_back(self) -> None:
        """Take the folder from the chat. Its files stay as they are. Raises HistoryError."""
        self._store.remember(self._memo, "" if self._project else None)
        self._forget_workspace()
        self._path = None
        self.changed.emit()

    @property
    def is_for_project(self) -> bool:
        """New chats of the project begin with this folder."""
        name = _OF_PROJECT.format(self._project)
        return bool(self._project and self._path) and self._store.recall(name) == str(self._path)

    def set_for_project(self, *, on: bool) -> None:
        """Let new chats of the project begin with this folder, or without one. Raises HistoryError."""
        self._store.remember(_OF_PROJECT.format(self._project), str(self._path) if on and self._path else None)

    def propose(self, call: Call, done: Callable[["Proposal | ToolResult"], None]) -> None:
        """Determine in the background what a call would do; pass it to `done`."""
        assert self._workspace
        self._run(partial(self._workspace.propose, call), done)

    def run(self, proposal: "Proposal", cancel: CancelEvent, done: Callable[[ToolResult], None]) -> None:
        """Carry out a proposal in the background; pass the result to `done`."""
        assert self._workspace
        self._run(partial(self._workspace.run, proposal, cancel), done)

    def close(self) -> None:
        self._pool.waitForDone()
        self._forget_workspace()

    def _forget_workspace(self) -> None:
        if self._workspace:
            self.leaving.emit()
        self._pool.waitForDone()
        workspace, self._workspace, self.fault = self._workspace, None, None
        if workspace:
            workspace.close()

    def _run(self, work: Callable[[], object], done: Callable[..., None]) -> None:
        task = BackgroundTask(lambda _task: work(), self)
        task.start(done, pool=self._pool)
        task.done.connect(task.deleteLater)


def follow_projects(store: Store, renamed: Mapping[str, str]) -> None:
    """Rename the projects of folders: old names to new ones, "" for deleted ones. Raises HistoryError."""
    for old, new in renamed.items():
        folder = store.recall(_OF_PROJECT.format(old))
        if folder is not None and old != new:
            store.remember(_OF_PROJECT.format(old), None)
            if new:
                store.remember(_OF_PROJECT.format(new), folder)
