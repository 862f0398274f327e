"""A job that keeps the engine to itself for a while, and the page that starts it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QSpinBox, QWidget

from headstart.engine.protocol import Failed, Load
from headstart.settings import Settings
from headstart.ui.models.model_loader import ModelLoader, no_model
from headstart.ui.translation import telling
from headstart.ui.widgets.focus import mark_as_stop, pass_wheel
from headstart.ui.widgets.labels import button, muted
from headstart.ui.widgets.layouts import Page, add, beside
from headstart.ui.widgets.progress import NoticeBar
from headstart.ui.widgets.stylesheet import inset

NOTHING = "–"  # in place of a figure
_WIDEST = 1100  # pixels
_NUMBER_WIDTH = 110


def number_field(parent: QWidget, low: int, high: int, value: int, step: int = 1) -> QSpinBox:
    """A whole number."""
    field = QSpinBox(parent)
    field.setRange(low, high)
    field.setSingleStep(step)
    field.setValue(value)
    field.setMinimumWidth(_NUMBER_WIDTH)
    inset(field)
    pass_wheel(field)
    return field


class JobPage(Page):
    """Start or Stop, and a sentence beside them."""

    worked = Signal(str)  # what goes on now; empty at the end

    def __init__(
        self, title: str, start: str, introduction: str, parent: QWidget | None = None, *, widest: int = _WIDEST
    ) -> None:
        super().__init__(widest, parent)
        self.set_title(title)
        self.is_running = False
        self._introduction = muted(introduction, self)
        self._form: QWidget | None = None
        self._shown_while_running: tuple[QWidget, ...] = ()
        self.notice = NoticeBar(self)
        self.start = button(start, self, "primary")
        self.stop = button(self.tr("Cancel"), self)
        self._get_model = button(self.tr("Get a model"), self)
        self._sentence = muted("", self)
        self._reason = ""
        mark_as_stop(self.stop)
        self.row = beside(None, self.start, self.stop, self._get_model, self._sentence, growing=self._sentence)
        self._get_model.clicked.connect(self._show_models)

    @property
    def sentence(self) -> str:
        """What stands beside the buttons."""
        return self._sentence.text()

    def say(self, sentence: str) -> None:
        """Say what is going on, or why nothing can start."""
        self._sentence.setText(sentence)
        self.worked.emit((sentence or self.tr("running…")) if self.is_running else "")

    def request(self) -> object | None:
        """What the form asks for; None where it is not complete."""
        raise NotImplementedError

    def lay_out(self, form: QWidget, *while_running: QWidget) -> None:
        """`form` is disabled while the job runs; `while_running` are shown only then."""
        self._form, self._shown_while_running = form, while_running
        # The notice is below the row, so that it does not move the buttons.
        add(self.column, self._introduction, form, self.row, self.notice, *while_running)

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """`reason`: why nothing can start; empty where something can."""
        self.start.setVisible(not running)
        self.start.setEnabled(not reason)
        self.start.setToolTip(reason)
        self.stop.setVisible(running)
        self._get_model.setVisible(reason == no_model())
        if self._form:
            self._form.setEnabled(not running)
        for part in self._shown_while_running:
            part.setVisible(running)
        if reason or self.sentence == self._reason:
            self.say(reason)
        self._reason = reason
        if running != self.is_running:
            self.is_running = running
            self.say(self.sentence)

    @Slot()
    def _show_models(self) -> None:
        command = self.window().findChild(QAction, "models")
        if isinstance(command, QAction):
            command.trigger()


class EngineJob(QObject):
    """One for its page. Chats wait while it runs."""

    def __init__(
        self, page: JobPage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` gives those of the open chat, which name the model."""
        super().__init__(parent)
        self._page, self._loader, self._link, self._settings = page, loader, loader.link, settings
        self._ticket: int | None = None  # of what the engine does for this job
        page.start.clicked.connect(self._begin)
        page.stop.clicked.connect(self._stop)
        page.entered.connect(self._enter)
        loader.changed.connect(self._refresh)
        loader.link.finished.connect(self._refresh)  # an answer of a chat may have kept it waiting
        loader.link.failed.connect(self._take_failure)
        loader.link.crashed.connect(self._take_crash)

    @property
    def is_running(self) -> bool:
        """Whether this job has the engine."""
        return self._loader.occupation == self._occupation()

    def close(self) -> None:
        """The window closes."""
        self._page.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._ticket = None

    def _occupation(self) -> str:
        """Why chats wait."""
        raise NotImplementedError

    def _start(self, request: Any) -> None:
        """Have the engine do it. Raises a HeadstartError."""
        raise NotImplementedError

    def _show_more(self) -> None:
        """Whatever else the page shows."""

    @Slot()
    def _stop(self) -> None:
        self._link.stop_job()

    @Slot()
    def _enter(self) -> None:
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        if not self._page.isHidden() or self.is_running or self._page.is_running:
            self._page.show_state(running=self.is_running, reason="" if self.is_running else self._obstacle())
            self._show_more()

    def _obstacle(self) -> str:
        return self._loader.obstacle(self._settings())

    @Slot()
    def _begin(self) -> None:
        request = self._page.request()
        if request is None or self._obstacle():
            self._refresh()
            return
        self._page.notice.hide()
        self._loader.occupy(self._occupation())
        with telling(partial(self._end, bad=True)):
            self._start(request)

    def _ends(self, failed: Failed) -> bool:
        return failed.order == Load.__name__ or self._ticket in (failed.ticket, failed.generation)

    @Slot(str, object)
    def _take_failure(self, sentence: str, failed: Failed) -> None:
        if self._ticket is not None and self._ends(failed):
            self._end(sentence, bad=True)

    @Slot(str, object)
    def _take_crash(self, sentence: str, _generation: int | None) -> None:
        if self._ticket is not None:
            self._end(sentence, bad=True)

    def _end(self, sentence: str, *, bad: bool = False) -> None:
        self._ticket = None
        self._page.say("")
        if sentence:
            self._page.notice.say(sentence, bad=bad)
        self._loader.release()
