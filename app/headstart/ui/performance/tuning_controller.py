"""What the page of tuning does: tune in the engine's process, recall, forget, and load anew."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Slot

from headstart import library, manifest
from headstart.engine.engine import LoadOptions, Open
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
from headstart.library import Model
from headstart.settings import Settings
from headstart.ui.background_task import BackgroundTask
from headstart.ui.engine_request import Loadable
from headstart.ui.formatting import sentences, whole
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.performance.engine_job import EngineJob
from headstart.ui.performance.tuning_page import TuningPage, doing
from headstart.ui.translation import showing_errors

_TICK = 500  # ms between two looks at the clock


class TuningController(EngineJob):
    """One for the window."""

    _page: TuningPage

    def __init__(
        self, page: TuningPage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` gives those of the open chat, which name the model and what is left to tuning."""
        super().__init__(page, loader, settings, parent)
        self._looking: BackgroundTask | None = None  # for drafts to compare with
        self._clock = QElapsedTimer()
        self._seconds = 0
        self._doing = ""
        self._forgetting = False
        self._tick = QTimer(self, interval=_TICK)
        self._tick.timeout.connect(self._show_time)
        page.report.forget.clicked.connect(self._forget)
        self._link.tuned.connect(self._take)

    def close(self) -> None:
        """The window closes."""
        super().close()
        self._tick.stop()
        if self._looking:
            self._looking.cancel()

    @Slot()
    def _enter(self) -> None:
        wanted = self._wanted()
        if not self.is_running and wanted:
            self._link.recall(wanted.options)
        elif not self.is_running:
            self._page.show_findings(None, "")
        self._refresh()

    def _show_more(self) -> None:
        wanted = self._wanted()
        self._page.show_plan(self._plan(wanted) if wanted else ())

    def _wanted(self) -> Loadable | None:
        """What would be tuned; None where there is nothing, or where it runs on another computer."""
        try:
            wanted = self._loader.resolve(self._settings())
        except HeadstartError:
            return None
        return wanted if wanted.options.remote is None else None

    def _plan(self, wanted: Loadable) -> list[str]:
        """What is tried, as far as settings leave it open."""
        options = wanted.options
        is_open = Open.DEVICE in options.open
        first = self.tr("{}: in other precisions and with other numbers of threads").format(wanted.name)
        second = self.tr("Guessing ahead: with earlier text alone")
        if options.draft:
            second = self.tr("Guessing ahead: with its draft model, and without")
        if Open.DRAFT in options.open:
            second = self.tr("{}; with other installed draft models that fit").format(second)
        where = self.tr("on other devices of this computer")
        steps = [f"{first}; {where}" if is_open else first, second]
        if not is_open:
            steps.append(self.tr("Not tried: other devices, as the settings name {}").format(options.device))
        return steps

    def _occupation(self) -> str:
        return self.tr("A tuning is going on; stop it on its page, or wait for its end.")

    def _start(self, seconds: int) -> None:
        wanted = self._loader.resolve(self._settings())
        self._seconds = seconds
        self._looking = BackgroundTask(partial(_drafts, wanted.options), self)
        self._looking.done.connect(self._tune)
        self._looking.failed.connect(self._give_up)
        self._page.begin(wanted.name)
        self._say(self.tr("Looking for draft models that fit…"))
        self._looking.start()

    @Slot(object)
    def _tune(self, drafts: Mapping[str, Path]) -> None:
        wanted = self._wanted()
        if not wanted:
            self._put_search_away()
            self._end("")
            return
        self._loader.unload()  # its memory is needed
        placed = Open.DEVICE not in wanted.options.open
        request = TuneRequest(wanted.options, drafts, placed=placed, seconds=float(self._seconds))
        self._clock.start()
        self._tick.start()
        self._ticket = self._link.tune(request)
        self._put_search_away()

    @Slot()
    def _stop(self) -> None:
        if self._looking:
            self._put_search_away()
            self._end(self.tr("Cancelled; nothing was changed."))
            return
        self._say(self.tr("Ends with the run being timed…"))
        super()._stop()

    @Slot(object)
    def _take(self, report: TuneReport) -> None:
        if isinstance(report, TunedKnown):
            self._note_known(report.findings)
        if report.ticket != self._ticket:
            return
        match report:
            case TuneStep(_, step):
                self._say(doing(step))
            case TuneDecided(_, stage):
                self._page.report.add_stage(stage)
            case TuneEnded(_, findings):
                if findings:
                    self._show(findings)
                self._end("" if findings else self.tr("Cancelled; nothing was changed."))

    def _note_known(self, findings: Findings | None) -> None:
        self._show(findings)
        if self._forgetting:
            self._forgetting = False
            self._load_anew()

    def _show(self, findings: Findings | None) -> None:
        wanted = self._wanted()
        if not self.is_running or findings:
            self._page.show_findings(findings, wanted.name if wanted else "")

    @Slot()
    def _show_time(self) -> None:
        spent = self._clock.elapsed() / 1000
        self._page.bar.show_share(min(spent, self._seconds), self._seconds)
        left = self._seconds - spent
        ending = self.tr("Ends soon.") if left <= 0 else self.tr("At most {} s left.").format(whole(left))
        self._page.say(sentences(self._doing, ending))

    def _say(self, words: str) -> None:
        self._doing = words
        self._page.say(words)

    @Slot()
    def _forget(self) -> None:
        wanted = self._wanted()
        if not wanted or self._obstacle():
            return
        self._forgetting = True
        self._link.forget(wanted.options)

    @Slot(str)
    def _give_up(self, sentence: str) -> None:
        self._put_search_away()
        self._end(sentence, bad=True)

    def _ends(self, failed: Failed) -> bool:
        return failed.ticket == self._ticket  # it waits for no load

    def _put_search_away(self) -> None:
        looking, self._looking = self._looking, None
        if looking:
            looking.cancel()
            looking.deleteLater()

    def _end(self, sentence: str, *, bad: bool = False) -> None:
        self._tick.stop()
        super()._end(sentence, bad=bad)
        self._load_anew()
        if sentence:
            self._enter()  # what counts is what was known before

    def _load_anew(self) -> None:
        """With what counts now."""
        with showing_errors(partial(self._page.notice.say, bad=True)):
            self._loader.reload(self._settings())


def _drafts(options: LoadOptions, _task: BackgroundTask) -> dict[str, Path]:
    """Drafts to compare with, where the choice is open."""
    folder = options.target
    if Open.DRAFT not in options.open or not (folder / manifest.FILE_NAME).is_file():
        return {}
    return library.fitting_drafts(Model(folder.name, folder, manifest.read_model(folder)))
