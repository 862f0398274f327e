"""The controller of the index of folders, which works on a thread of its own."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QObject, QThreadPool, QTimer, Signal, Slot

from headstart.chat.conversation import Excerpt
from headstart.chat.folders import folder_index
from headstart.chat.folders.folder_files import TextReader
from headstart.chat.folders.folder_index import LOCKED, MISSING, UNREAD, FolderIndex, FolderState
from headstart.chat.folders.folder_question import Question, understand
from headstart.chat.history.database import FOLDERS_NAME
from headstart.chat.history.store import Store
from headstart.errors import HeadstartError, HistoryError
from headstart.library.library import find_recognition
from headstart.ui.background_task import BackgroundTask
from headstart.ui.composer.attachments import reader_command
from headstart.ui.formatting import listed, short_path
from headstart.ui.translation import showing_errors, translate

if TYPE_CHECKING:
    from headstart.chat.folders.vectors import StoredVectors

_START_MS = 4000  # after the start, which has enough to do
_INTERVAL_MS = 300_000
_IDLE_MS = 300_000  # before the model is unloaded
SEARCH_S = 0.3  # for reading what has changed in small files, before a question is searched
FIRST_SEARCH_S = 10.0  # while a folder has not been read to its end
_REPORT_S = 0.25
_READ_S = 5.0  # of reading, after which vectors are computed for a while, so that neither waits for the other's end
_EMBED_S = 1.0
_PAUSE_S = 0.1
_log = logging.getLogger(__name__)


class LoadableEmbedder(folder_index.Embedder, Protocol):
    """An embedder with a model that is loaded and unloaded."""

    def start(self) -> None:
        """Load the model."""

    def close(self) -> None:
        """Unload the model."""


@dataclass(frozen=True)
class FolderFindings:
    """The passages that a search found. `gap`: a sentence if not all files were searched."""

    excerpts: tuple[Excerpt, ...] = ()
    gap: str = ""


FindEmbedder = Callable[[], LoadableEmbedder | None]
OnFound = Callable[[FolderFindings], None]


class FoldersController(QObject):
    """Controller of the index: it follows the projects' folders and the files in them, and answers searches."""

    changed = Signal(object)  # FolderState
    error_occurred = Signal(str)
    _searched = Signal()  # by another thread

    def __init__(
        self, store: Store, is_answering: Callable[[], bool], find_embedder: FindEmbedder, parent: QObject | None = None
    ) -> None:
        """`is_answering`: whether a model writes, which pauses the work; it is called on another thread."""
        super().__init__(parent)
        self._store, self._is_answering, self._find_embedder = store, is_answering, find_embedder
        self._home = store.path.parent
        self._reader = TextReader((*reader_command(), "-"))
        self._embedder: LoadableEmbedder | None = None
        self._vectors: StoredVectors | None = None  # of whoever holds `_embedding`
        self._is_prepared = False
        self._states: dict[str, FolderState] = {}
        self._kept: tuple[str, ...] = ()  # the folders of all projects; other threads read it when they begin
        self._update: BackgroundTask | None = None
        self._tasks: list[BackgroundTask] = []  # that may still run
        self._is_closed = False
        self._searches = 0  # in progress
        self._is_first = True
        self._last_error = ""
        # A question has a thread of its own: it waits for a piece of a file at most, and never for a folder that hangs.
        self._reading, self._embedding = threading.Lock(), threading.Lock()
        self._pool, self._questions = QThreadPool(self), QThreadPool(self)
        for pool in (self._pool, self._questions):
            pool.setMaxThreadCount(1)
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self.update)
        self._start = QTimer(self, singleShot=True, interval=_START_MS)
        self._start.timeout.connect(self.update)
        self._idle = QTimer(self, singleShot=True, interval=_IDLE_MS)
        self._idle.timeout.connect(self.unload)
        self._searched.connect(self._idle.start)

    @property
    def model_name(self) -> str:
        """The name of the model by which passages are found in other words; empty if there is none."""
        embedder = self._find_embedder()
        return embedder.name if embedder else ""

    def start(self) -> None:
        """Begin once the program has started, and look for changes now and then."""
        self._start.start()
        self._timer.start()

    def state(self, folder: str) -> FolderState:
        return self._states.get(folder, FolderState(folder, problem=UNREAD))

    @Slot()
    def update(self) -> None:
        """Read what has changed in the folders of all projects, and forget other folders."""
        if not self._follow() or self._searches:
            return
        if self._update:
            self._update.cancel()
        if not self._kept and not (self._home / FOLDERS_NAME).exists():
            return
        self._update = self._task(partial(self._work, is_first=self._is_first))
        self._is_first = False
        self._update.progressed.connect(self._on_progressed)
        self._update.start(self._on_updated, self._on_failed, self._pool)

    @Slot(str)
    def prepare(self, project: str) -> None:
        """Load the model and the vectors in advance, as a question in a project is being written."""
        if not (project and self._folders(project)):
            return
        self._idle.start()
        if not self._is_prepared:
            self._is_prepared = True
            self._task(self._prepare).start(pool=self._questions)

    def search(self, project: str, question: Question, on_found: OnFound) -> bool:
        """Search the folders of a project; return False if it has none.

        `on_found` is called later, also after an error.
        """
        folders = self._folders(project) if project else ()
        if not folders or not self._follow():
            return False
        if self._update:
            self._update.cancel()
        self._searches += 1
        self._idle.start()
        task = self._task(partial(self._find, folders, question))

        def end(findings: FolderFindings) -> None:
            self._searches -= 1
            on_found(findings)
            self.update()

        task.failed.connect(self._on_failed)
        task.start(end, lambda _: end(FolderFindings()), self._questions)
        return True

    def search_in(self, project: str, place: Path) -> Callable[[str], tuple[Excerpt, ...]] | None:
        """Return a search in those of a project's folders that have `place`, for any thread; None without vectors."""
        folders = tuple(
            folder
            for folder in (self._folders(project) if project else None) or ()
            if self.state(folder).embedded and place.is_relative_to(Path(folder).resolve())
        )
        return partial(self._find_passages, folders) if folders and self.model_name else None

    @Slot()
    def unload(self) -> None:
        """Unload the model and the vectors, unless they are in use."""
        if self._pool.activeThreadCount():  # vectors are being computed
            self._idle.start()
        else:
            self._task(self._close_embedder).start(pool=self._questions)

    def close(self) -> None:
        """End the work and its processes. The index has everything up to the last page."""
        for timer in (self._timer, self._start, self._idle):
            timer.stop()
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        if self._embedder:
            self._embedder.close()  # ends what a task waits for
        for pool in (self._questions, self._pool):
            pool.waitForDone()
        if self._embedder:
            self._embedder.close()
        self._reader.close()

    def _task(self, work: Callable[[BackgroundTask], Any]) -> BackgroundTask:
        if not (self._pool.activeThreadCount() or self._questions.activeThreadCount()):
            for old in self._tasks:
                old.deleteLater()
            self._tasks.clear()
        self._tasks.append(BackgroundTask(work, self))
        return self._tasks[-1]

    def _follow(self) -> bool:
        """Note which folders the projects have now; return False if that cannot be read."""
        folders = self._folders()
        if folders is not None:
            self._kept = folders
        return folders is not None

    def _folders(self, project: str | None = None) -> tuple[str, ...] | None:
        with showing_errors(self.error_occurred.emit):
            return self._store.project_folders(project)
        return None

    # On the pool's thread

    def _work(self, task: BackgroundTask, *, is_first: bool) -> tuple[FolderState, ...]:
        folders = self._kept
        if not folders:
            folder_index.forget(self._home)
            return ()
        with FolderIndex(self._home, self._store.key) as index:
            index.keep(folders)
            if is_first:
                index.erase()
                index.try_again()
            self._follow_installed()
            recognition = find_recognition()
            index.follow_recognition(recognition.name if recognition else "")
            embedder = self._ready_embedder()
            for folder in folders:
                with self._reading:
                    self._read(index, folder, folders, embedder, task)
            if embedder:
                self._embed_rest(index, folders, embedder, task)
            return tuple(map(index.state, folders))

    def _read(
        self,
        index: FolderIndex,
        folder: str,
        folders: Sequence[str],
        embedder: LoadableEmbedder | None,
        task: BackgroundTask,
    ) -> None:
        """Read what has changed in a folder, with breaks in which vectors are computed."""

        def is_wanted() -> bool:
            return not task.is_cancelled

        reported = pace = time.monotonic()
        for state in index.update(folder, self._reader, is_wanted):
            if state.total is None or time.monotonic() - reported > _REPORT_S:
                reported = time.monotonic()
                task.progressed.emit(state, None)
            if embedder and time.monotonic() - pace > _READ_S:
                due = time.monotonic() + _EMBED_S
                while is_wanted() and not self._is_answering() and time.monotonic() < due:
                    self._embed(index, folders, embedder)
                pace = time.monotonic()

    def _embed_rest(
        self, index: FolderIndex, folders: Sequence[str], embedder: LoadableEmbedder, task: BackgroundTask
    ) -> None:
        """Compute all vectors that are missing, except while a model writes."""
        reported = started = time.monotonic()
        first = sum(index.state(folder).embedded for folder in folders)
        while not task.is_cancelled:
            if self._is_answering():
                time.sleep(_PAUSE_S)
            elif not self._embed(index, folders, embedder):
                break
            elif time.monotonic() - reported > _REPORT_S:
                reported = time.monotonic()
                states = [index.state(folder) for folder in folders]
                left = _seconds_left(states, first, reported - started)
                for state in states:
                    task.progressed.emit(replace(state, seconds_left=left), None)

    def _embed(self, index: FolderIndex, folders: Sequence[str], embedder: LoadableEmbedder) -> bool:
        """Compute a few vectors; return whether any were missing."""
        with self._embedding:
            return index.embed(folders, embedder)

    def _find_passages(self, folders: tuple[str, ...], text: str) -> tuple[Excerpt, ...]:
        """Find what fits a text, on the thread that asks."""
        self._searched.emit()
        return self._find(folders, understand(text)).excerpts

    def _find(self, wanted: Sequence[str], question: Question, _task: BackgroundTask | None = None) -> FolderFindings:
        kept = self._kept
        folders = [folder for folder in wanted if folder in kept]  # others were removed since
        with FolderIndex(self._home, self._store.key) as index:
            index.keep(kept)
            is_unread = UNREAD in map(index.problem, folders)
            due = time.monotonic() + (FIRST_SEARCH_S if is_unread else SEARCH_S)
            if self._reading.acquire(timeout=SEARCH_S):  # else a folder hangs, and what was read of it is searched
                try:
                    self._read_small(index, folders, due)
                finally:
                    self._reading.release()
            gap = _gap({folder: index.problem(folder) for folder in folders})
            try:
                embedder = self._ready_embedder()
                with self._embedding:
                    if embedder:
                        self._vectors = index.ready(embedder, self._vectors)
                    return FolderFindings(tuple(index.find(folders, question, embedder, vectors=self._vectors)), gap)
            except HistoryError:
                raise
            except HeadstartError as error:  # the model has failed, and the words are still there
                _log.warning("no vectors: %s", error)
                return FolderFindings(tuple(index.find(folders, question)), gap)

    def _prepare(self, _task: BackgroundTask) -> None:
        with FolderIndex(self._home, self._store.key) as index, self._embedding:
            embedder = self._ready_embedder()
            if embedder:
                embedder.start()
                self._vectors = index.ready(embedder, self._vectors)

    def _read_small(self, index: FolderIndex, folders: Sequence[str], due: float) -> None:
        """Read what is new, but not large files, so that a question need not wait."""

        def is_wanted() -> bool:
            return time.monotonic() < due and not self._is_closed

        for folder in folders:
            for _ in index.update(folder, self._reader, is_wanted, large=False):
                pass

    def _ready_embedder(self) -> LoadableEmbedder | None:
        self._embedder = self._embedder or self._find_embedder()
        return self._embedder

    def _follow_installed(self) -> None:
        """Release the model if another one should be used now."""
        found = self._find_embedder()
        if self._embedder and (found is None or found.name != self._embedder.name):
            with self._embedding:
                self._embedder.close()
                self._embedder = found

    def _close_embedder(self, _task: BackgroundTask) -> None:
        with self._embedding:
            embedder, self._embedder, self._vectors, self._is_prepared = self._embedder, None, None, False
            if embedder:
                embedder.close()

    # Slots

    @Slot(object, object)
    def _on_progressed(self, state: FolderState, _: object) -> None:
        self._states[state.path] = state
        self.changed.emit(state)

    @Slot(object)
    def _on_updated(self, states: tuple[FolderState, ...]) -> None:
        self._last_error = ""
        self._states = {state.path: state for state in states}
        for state in states:
            self.changed.emit(state)
        if not self._idle.isActive():
            self._idle.start()

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        for state in [state for state in self._states.values() if state.total is not None]:  # nobody reads there now
            self._on_progressed(replace(state, total=None, problem=UNREAD), None)
        if sentence != self._last_error:  # it comes with every attempt
            self._last_error = sentence
            self.error_occurred.emit(sentence)


def _gap(problems: Mapping[str, str]) -> str:
    """Return a sentence about the files that a search could not reach, by the problems of their folders."""
    for problem, words in (
        (MISSING, translate("FoldersController", "{} is not there, so only what was read of it before was searched.")),
        (LOCKED, translate("FoldersController", "{} may not be opened, so only what was read of it was searched.")),
    ):
        if found := [short_path(Path(folder)) for folder, each in problems.items() if each == problem]:
            return words.format(listed(found))
    if UNREAD in problems.values():
        return translate(
            "FoldersController",
            "The files of the project are still being read, so not all of them were searched. Ask again in a moment.",
        )
    return ""


def _seconds_left(states: Sequence[FolderState], first: int, passed: float) -> float | None:
    """Estimate the time until all passages have vectors, at the pace since the first of them."""
    done = sum(state.embedded for state in states) - first
    rest = sum(state.passages - state.embedded for state in states)
    return passed * rest / done if done > 0 else None
