"""The controller of tuning: it tunes in the engine's process, recalls, forgets, and loads again."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Slot

from headstart.engine.engine import LoadOptions, Unset
from headstart.engine.protocol import Failed
from headstart.engine.tuning.messages import (
    Findings,
    TuneDecided,
    TunedKnown,
    TuneEnded,
    TuneReport,
    TuneRequest,
    TuneStep,
)
from headstart.errors import HeadstartError
from headstart.library import library, manifest
from headstart.library.library import Model
from headstart.settings import Settings
from headstart.ui.background_task import BackgroundTask
from headstart.ui.engine_request import Loadable
from headstart.ui.formatting import sentences, whole
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.performance.engine_job import EngineJob
from headstart.ui.performance.tuning_page import TuningPage, step_text
from headstart.ui.translation import showing_errors

_TICK_MS = 500  # between two updates of the clock


class TuningController(EngineJob):
    page: TuningPage

    def __init__(
        self, page: TuningPage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` returns those of the open chat, which name the model and what is left to tuning."""
        super().__init__(page, loader, settings, parent)
        self._search: BackgroundTask | None = None  # search for drafts to compare with
        self._clock = QElapsedTimer()
        self._seconds = 0
        self._step = ""
        self._is_forgetting = False
        self._tick = QTimer(self, interval=_TICK_MS)
        self._tick.timeout.connect(self._show_time)
        page.report.forget.clicked.connect(self._on_forget)
        self._link.tuned.connect(self._on_report)

    def close(self) -> None:
        super().close()
        self._tick.stop()
        if self._search:
            self._search.cancel()

    @Slot()
    def _on_entered(self) -> None:
        loadable = self._loadable()
        if not self.is_running and loadable:
            self._link.recall(loadable.options)
        elif not self.is_running:
            self.page.show_findings(None, "")
        self._refresh()

    def _refresh_page(self) -> None:
        loadable = self._loadable()
        self.page.show_plan(self._plan(loadable) if loadable else ())

    def _loadable(self) -> Loadable | None:
        """Return the models that are tuned or would be; None if there are none here."""
        try:
            loadable = self._loader.resolve(self._measured if self.is_running else self._settings())
        except HeadstartError:
            return None
        return loadable if loadable.options.remote is None else None

    def _plan(self, loadable: Loadable) -> list[str]:
        """Return the steps that the settings leave open to tuning."""
        options = loadable.options
        is_open = Unset.DEVICE in options.unset
        first = self.tr("{}: in other precisions and with other numbers of threads").format(loadable.name)
        second = self.tr("Speed-up: with earlier text alone")
        if options.draft:
            second = self.tr("Speed-up: with its draft model, and without")
        if Unset.DRAFT in options.unset:
            second = self.tr("{}; with other installed draft models that fit").format(second)
        where = self.tr("on other devices of this computer")
        steps = [f"{first}; {where}" if is_open else first, second]
        if not is_open:
            steps.append(self.tr("Not tried: other devices, as the settings name {}").format(options.device))
        return steps

    def _occupation(self) -> str:
        return self.tr("A tuning is running; stop it on its page, or wait for its end.")

    def _start(self, seconds: int) -> None:
        loadable = self._loader.resolve(self._measured)
        self._seconds = seconds
        self._search = BackgroundTask(partial(_drafts, loadable.options), self)
        self.page.begin(loadable.name)
        self._say(self.tr("Looking for draft models that fit…"))
        self._search.start(self._on_drafts_found, self._on_search_failed)

    @Slot(object)
    def _on_drafts_found(self, drafts: Mapping[str, Path]) -> None:
        loadable = self._loadable()
        if not loadable:
            self._close_search()
            self._end("")
            return
        self._loader.unload()  # tuning needs its memory
        is_placed = Unset.DEVICE not in loadable.options.unset
        request = TuneRequest(loadable.options, drafts, is_device_chosen=is_placed, seconds=float(self._seconds))
        self._clock.start()
        self._tick.start()
        self._ticket = self._link.tune(request)
        self._close_search()

    @Slot()
    def _on_stop(self) -> None:
        if self._search:
            self._close_search()
            self._end(self.tr("Cancelled; nothing was changed."))
            return
        self._say(self.tr("Ends with the run being timed…"))
        super()._on_stop()

    @Slot(object)
    def _on_report(self, report: TuneReport) -> None:
        if isinstance(report, TunedKnown):
            self._show_known(report.findings)
        if report.ticket != self._ticket:
            return
        match report:
            case TuneStep(_, step):
                self._say(step_text(step))
            case TuneDecided(_, stage):
                self.page.report.add_stage(stage)
            case TuneEnded(_, findings):
                if findings:
                    self._show(findings)
                self._end("" if findings else self.tr("Cancelled; nothing was changed."))

    def _show_known(self, findings: Findings | None) -> None:
        self._show(findings)
        if self._is_forgetting:
            self._is_forgetting = False
            self._reload()

    def _show(self, findings: Findings | None) -> None:
        loadable = self._loadable()
        if not self.is_running or findings:
            self.page.show_findings(findings, loadable.name if loadable else "")

    @Slot()
    def _show_time(self) -> None:
        spent = self._clock.elapsed() / 1000
        self.page.bar.show_share(min(spent, self._seconds), self._seconds)
        left = self._seconds - spent
        remaining = self.tr("Ends soon.") if left <= 0 else self.tr("At most {} s left.").format(whole(left))
        self.page.say(sentences(self._step, remaining))

    def _say(self, words: str) -> None:
        self._step = words
        self.page.say(words)

    @Slot()
    def _on_forget(self) -> None:
        loadable = self._loadable()
        if not loadable or self._unavailable_reason():
            return
        self._is_forgetting = True
        self._link.forget(loadable.options)

    @Slot(str)
    def _on_search_failed(self, sentence: str) -> None:
        self._close_search()
        self._end(sentence, bad=True)

    def _is_end(self, failed: Failed) -> bool:
        return failed.ticket == self._ticket  # no load belongs to this job

    def _close_search(self) -> None:
        search, self._search = self._search, None
        if search:
            search.cancel()
            search.deleteLater()

    def _end(self, sentence: str, *, bad: bool = False) -> None:
        self._tick.stop()
        super()._end(sentence, bad=bad)
        self._reload()
        if sentence:
            self._on_entered()  # show what was known before

    def _reload(self) -> None:
        """Load the model again with the fastest settings; an answer that is being written goes on first."""
        if self._link.generation is not None:
            self._loader.expire()
            return
        with showing_errors(partial(self.page.notice.say, bad=True)):
            self._loader.reload(self._settings())


def _drafts(options: LoadOptions, _task: BackgroundTask) -> dict[str, Path]:
    """Return other drafts to compare with, unless the draft is fixed."""
    folder = options.target
    if Unset.DRAFT not in options.unset or not (folder / manifest.FILE_NAME).is_file():
        return {}
    return library.fitting_drafts(Model(folder.name, folder, manifest.read_model(folder)))
