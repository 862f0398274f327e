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
    Tune,
    TuneDecided,
    TunedKnown,
    TuneEnded,
    TuneReport,
    TuneTrying,
    TuneWish,
)
from headstart.errors import HeadstartError
from headstart.library import Model
from headstart.settings import Settings
from headstart.ui.asking import Loadable
from headstart.ui.background_task import BackgroundTask
from headstart.ui.fault_words import said
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.performance.tuning_page import TuningPage, doing
from headstart.ui.spelling import sentences, whole

_TICK = 500  # ms between two looks at the clock


class TuningController(QObject):
    """One for the window."""

    def __init__(
        self, page: TuningPage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` gives those of the open chat: they say which model is tuned, and what is left open."""
        super().__init__(parent)
        self._page, self._loader, self._link, self._settings = page, loader, loader.link, settings
        self._ticket: int | None = None
        self._looking: BackgroundTask | None = None  # for drafts to compare with
        self._clock = QElapsedTimer()
        self._seconds = 0
        self._doing = ""
        self._forgetting = False
        self._tick = QTimer(self, interval=_TICK)
        self._tick.timeout.connect(self._show_time)
        self._connect()

    @property
    def is_running(self) -> bool:
        """Whether a tuning is going on."""
        return self._ticket is not None or self._looking is not None

    def close(self) -> None:
        """The window closes."""
        self._page.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._tick.stop()
        self._ticket = None
        if self._looking:
            self._looking.cancel()

    def _connect(self) -> None:
        page, link = self._page, self._link
        page.start_requested.connect(self._begin)
        page.stop_requested.connect(self._stop)
        page.report.forget_requested.connect(self._forget)
        page.entered.connect(self._enter)
        self._loader.changed.connect(self._refresh)
        link.tuned.connect(self._take)
        link.failed.connect(self._take_failure)
        link.crashed.connect(self._take_crash)

    @Slot()
    def _enter(self) -> None:
        wanted = self._wanted()
        if not self.is_running and wanted:
            self._link.recall(wanted.options)
        elif not self.is_running:
            self._page.show_findings(None, "")
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        if self._page.isHidden():
            return
        self._page.show_state(running=self.is_running, reason="" if self.is_running else self._obstacle())
        wanted = self._wanted()
        self._page.show_plan(self._plan(wanted) if wanted else ())

    def _obstacle(self) -> str:
        return self._loader.obstacle(self._settings())

    def _wanted(self) -> Loadable | None:
        """What would be tuned; None where there is nothing, or where it runs on another computer."""
        try:
            wanted = self._loader.wanted(self._settings())
        except HeadstartError:
            return None
        return wanted if wanted.options.remote is None else None

    def _plan(self, wanted: Loadable) -> list[str]:
        """What is tried, as far as settings leave it open."""
        options = wanted.options
        is_open = Open.DEVICE in options.open
        first = self.tr("{}: in other precisions and with other numbers of threads").format(wanted.name)
        second = self.tr("Guessing ahead: with n-grams of the text alone")
        if options.draft:
            second = self.tr("Guessing ahead: with its draft model, and without")
        if Open.DRAFT in options.open:
            second = self.tr("{}; with other installed draft models that fit").format(second)
        where = self.tr("on other devices of this computer")
        steps = [f"{first}; {where}" if is_open else first, second]
        if not is_open:
            steps.append(self.tr("Not tried: other devices, as the settings name {}").format(options.device))
        return steps

    @Slot(int)
    def _begin(self, seconds: int) -> None:
        wanted = self._wanted()
        if self._obstacle() or not wanted:
            self._refresh()
            return
        self._seconds = seconds
        self._looking = BackgroundTask(partial(_drafts, wanted.options), self)
        self._looking.done.connect(self._start)
        self._looking.failed.connect(self._give_up)
        self._page.begin(wanted.name)
        self._say(self.tr("Looking for draft models that fit…"))
        self._loader.occupy(self.tr("A tuning is going on; stop it on its page, or wait for its end."))
        self._looking.start()

    @Slot(object)
    def _start(self, drafts: Mapping[str, Path]) -> None:
        wanted = self._wanted()
        if not wanted:
            self._put_search_away()
            self._end("")
            return
        self._loader.unload()  # its memory is needed
        placed = Open.DEVICE not in wanted.options.open
        wish = TuneWish(wanted.options, drafts, placed=placed, seconds=float(self._seconds))
        self._clock.start()
        self._tick.start()
        self._ticket = self._link.tune(wish)
        self._put_search_away()  # not before: something always runs until the end
        self._refresh()

    @Slot()
    def _stop(self) -> None:
        if self._looking:
            self._put_search_away()
            self._end(self.tr("Cancelled; nothing was changed."))
            return
        self._say(self.tr("Ends with the run being timed…"))
        self._link.stop_job()

    @Slot(object)
    def _take(self, report: TuneReport) -> None:
        if isinstance(report, TunedKnown):
            self._note_known(report.findings)
        if report.ticket != self._ticket:
            return
        match report:
            case TuneTrying(_, trying):
                self._say(doing(trying))
            case TuneDecided(_, stage):
                self._page.add_stage(stage)
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
        self._page.show_progress(min(spent / self._seconds, 1.0))
        left = self._seconds - spent
        ending = self.tr("Ends soon.") if left <= 0 else self.tr("At most {} s left.").format(whole(left))
        self._page.run.say(sentences(self._doing, ending))

    def _say(self, words: str) -> None:
        self._doing = words
        self._page.run.say(words)

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

    @Slot(str, object)
    def _take_failure(self, sentence: str, failed: Failed) -> None:
        if self._ticket is not None and failed.order == Tune.__name__:
            self._end(sentence, bad=True)

    @Slot(str, object)
    def _take_crash(self, sentence: str, _generation: int | None) -> None:
        if self._ticket is not None:
            self._end(sentence, bad=True)

    def _put_search_away(self) -> None:
        looking, self._looking = self._looking, None
        if looking:
            looking.cancel()
            looking.deleteLater()

    def _end(self, sentence: str, *, bad: bool = False) -> None:
        self._ticket = None
        self._tick.stop()
        self._loader.release()
        self._load_anew()
        if sentence:
            self._page.notice.say(sentence, bad=bad)
            self._enter()  # what counts is what was known before

    def _load_anew(self) -> None:
        """With what counts now."""
        try:
            self._loader.reload(self._settings())
        except HeadstartError as error:
            self._page.notice.say(said(error), bad=True)


def _drafts(options: LoadOptions, _task: BackgroundTask) -> dict[str, Path]:
    """Drafts to compare with, where the choice is open."""
    folder = options.target
    if Open.DRAFT not in options.open or not (folder / manifest.FILE_NAME).is_file():
        return {}
    return library.fitting_drafts(Model(folder.name, folder, manifest.read_model(folder)))
