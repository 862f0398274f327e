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
from headstart.ui.translation import showing_errors
from headstart.ui.widgets.focus import mark_as_stop, pass_wheel
from headstart.ui.widgets.labels import button, muted
from headstart.ui.widgets.layouts import Page, add, beside
from headstart.ui.widgets.progress import NoticeBar
from headstart.ui.widgets.stylesheet import inset

NO_FIGURE = "–"  # shown in place of a figure
_MAX_WIDTH = 1100  # pixels
_NUMBER_WIDTH = 110


def number_field(parent: QWidget, low: int, high: int, value: int, step: int = 1) -> QSpinBox:
    field = QSpinBox(parent)
    field.setRange(low, high)
    field.setSingleStep(step)
    field.setValue(value)
    field.setMinimumWidth(_NUMBER_WIDTH)
    inset(field)
    pass_wheel(field)
    return field


class JobPage(Page):
    """A page with Start or Stop, and a sentence beside them."""

    status_changed = Signal(str)  # the current activity; "" at the end

    def __init__(
        self, title: str, start: str, introduction: str, parent: QWidget | None = None, *, max_width: int = _MAX_WIDTH
    ) -> None:
        super().__init__(max_width, parent)
        self.set_title(title)
        self.is_running = False
        self._introduction = muted(introduction, self)
        self._form: QWidget | None = None
        self._running_parts: tuple[QWidget, ...] = ()
        self.notice = NoticeBar(self)
        self.start = button(start, self, "primary")
        self.stop = button(self.tr("Cancel"), self)
        self._get_model = button(self.tr("Get a model"), self)
        self._sentence = muted("", self)
        self._reason = ""
        mark_as_stop(self.stop)
        self.row = beside(None, self.start, self.stop, self._get_model, self._sentence, growing=self._sentence)
        self._get_model.clicked.connect(self._on_get_model)

    @property
    def sentence(self) -> str:
        """The sentence beside the buttons."""
        return self._sentence.text()

    def say(self, sentence: str) -> None:
        """Show what is in progress, or why nothing can start."""
        self._sentence.setText(sentence)
        self.status_changed.emit((sentence or self.tr("running…")) if self.is_running else "")

    def request(self) -> object | None:
        """Return the request in the form; None if it is not complete."""
        raise NotImplementedError

    def lay_out(self, form: QWidget, *running_parts: QWidget) -> None:
        """Lay out the page. `form` is disabled while the job runs; `running_parts` are shown only then."""
        self._form, self._running_parts = form, running_parts
        # The notice is below the row, so that it does not move the buttons.
        add(self.column, self._introduction, form, self.row, self.notice, *running_parts)

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Show whether the job runs. `reason` says why it cannot start; empty if it can."""
        self.start.setVisible(not running)
        self.start.setEnabled(not reason)
        self.start.setToolTip(reason)
        self.stop.setVisible(running)
        self._get_model.setVisible(reason == no_model())
        if self._form:
            self._form.setEnabled(not running)
        for part in self._running_parts:
            part.setVisible(running)
        if reason or self.sentence == self._reason:
            self.say(reason)
        self._reason = reason
        if running != self.is_running:
            self.is_running = running
            self.say(self.sentence)

    @Slot()
    def _on_get_model(self) -> None:
        command = self.window().findChild(QAction, "models")
        if isinstance(command, QAction):
            command.trigger()


class EngineJob(QObject):
    """A job of a page; chats wait while it runs."""

    def __init__(
        self, page: JobPage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` returns the settings of the open chat, which name the model."""
        super().__init__(parent)
        self.page, self._loader, self._link, self._settings = page, loader, loader.link, settings
        self._ticket: int | None = None  # of the engine's work for this job
        self._measured = Settings()  # those of the chat when the job began; a person may choose others meanwhile
        page.start.clicked.connect(self._on_start)
        page.stop.clicked.connect(self._on_stop)
        page.entered.connect(self._on_entered)
        loader.changed.connect(self._refresh)
        loader.link.failed.connect(self._on_failed)
        loader.link.crashed.connect(self._on_crashed)

    @property
    def is_running(self) -> bool:
        """True while this job has the engine."""
        return self._loader.occupation == self._occupation()

    def close(self) -> None:
        self.page.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._ticket = None

    def _occupation(self) -> str:
        """Return why chats wait."""
        raise NotImplementedError

    def _start(self, request: Any) -> None:
        """Start the work in the engine. Raise a HeadstartError."""
        raise NotImplementedError

    def _refresh_page(self) -> None:
        """Refresh the other parts of the page."""

    @Slot()
    def _on_stop(self) -> None:
        self._link.stop_job()

    @Slot()
    def _on_entered(self) -> None:
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        if not self.page.isHidden() or self.is_running or self.page.is_running:
            self.page.show_state(running=self.is_running, reason="" if self.is_running else self._unavailable_reason())
            self._refresh_page()

    def _unavailable_reason(self) -> str:
        return self._loader.unavailable_reason(self._settings())

    @Slot()
    def _on_start(self) -> None:
        request = self.page.request()
        if request is None or self._unavailable_reason():
            self._refresh()
            return
        self.page.notice.hide()
        self._measured = self._settings()
        self._loader.occupy(self._occupation())
        with showing_errors(partial(self._end, bad=True)):
            self._start(request)

    def _is_end(self, failed: Failed) -> bool:
        return failed.order == Load.__name__ or self._ticket in (failed.ticket, failed.generation)

    @Slot(str, object)
    def _on_failed(self, sentence: str, failed: Failed) -> None:
        if self._ticket is not None and self._is_end(failed):
            self._end(sentence, bad=True)

    @Slot(str, object)
    def _on_crashed(self, sentence: str, _generation: int | None) -> None:
        if self._ticket is not None:
            self._end(sentence, bad=True)

    def _end(self, sentence: str, *, bad: bool = False) -> None:
        self._ticket = None
        self.page.say("")
        if sentence:
            self.page.notice.say(sentence, bad=bad)
        self._loader.release()
