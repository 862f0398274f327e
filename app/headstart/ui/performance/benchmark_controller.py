"""What the page of the benchmark does: run it in the engine's process, keep what it found, export it."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QDateTime, QElapsedTimer, QObject, Qt, Slot
from PySide6.QtWidgets import QFileDialog

from headstart import paths
from headstart.chat.documents import write_export
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.bench.race import DRAFT_ONLY, SWEEP, USUAL, playable
from headstart.engine.engine import Finish
from headstart.engine.protocol import (
    Benched,
    BenchHeat,
    BenchPlanned,
    BenchReport,
    BenchSize,
    BenchStage,
)
from headstart.errors import ExchangeError
from headstart.settings import Settings
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.performance import benchmark_chart, benchmark_page
from headstart.ui.performance.benchmark_chart import contestant_word, kind_word
from headstart.ui.performance.benchmark_page import CSV, PNG, BenchmarkPage, BenchmarkRecord
from headstart.ui.performance.engine_job import EngineJob
from headstart.ui.spelling import decimal, listed
from headstart.ui.widgets.layouts import initial_path, remember_folder
from headstart.ui.widgets.progress import show_saved

_PEERS = 3  # ways of other programs to decode, for an estimate; the engine says the exact number of answers
_ASSUMED_MS = 100.0  # per token, before anything was measured


class BenchmarkController(EngineJob):
    """One for the window."""

    _page: BenchmarkPage

    def __init__(
        self, page: BenchmarkPage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` gives those of the open chat, which name the model."""
        super().__init__(page, loader, settings, parent)
        self._stopping = False
        self._planned = self._done = 0
        self._clock = QElapsedTimer()
        self._measured_ms: float | None = None  # per token, of the last answer in a chat
        self._record: BenchmarkRecord | None = None
        page.form.changed.connect(self._show_extent)
        page.report.export_requested.connect(self._export)
        self._link.benched.connect(self._take)
        self._link.finished.connect(self._note_answer)

    @Slot()
    def _enter(self) -> None:
        if self._record is None:
            self._show(benchmark_page.read(paths.last_benchmark()))
        self._refresh()

    def _show_more(self) -> None:
        if self.is_running and self._loader.status:
            self._page.say(self._loader.progress)
        self._show_extent()

    @Slot()
    def _show_extent(self) -> None:
        known = self._measured_ms or (benchmark_chart.plain_ms(self._record.result.prompts) if self._record else None)
        self._page.form.ms_per_token = known or _ASSUMED_MS
        size = self._page.form.size_wanted()
        prompts = read_prompts(size.prompts, size.kinds)
        own = len(playable(SWEEP, {DRAFT_ONLY}) if size.sweep else USUAL)
        heats = len(prompts) * size.repeats * (own + (_PEERS if size.with_peer else 0))
        time = self._duration(heats * size.tokens * (known or _ASSUMED_MS))
        basis = self.tr("at the speed last measured here") if known else self.tr("at ten tokens a second")
        self._page.form.show_extent(
            self.tr(
                "{prompts} prompts ({kinds}), about {heats} answers of at most {tokens} tokens: {time} {basis}."
            ).format(
                prompts=len(prompts),
                kinds=listed(dict.fromkeys(kind_word(prompt.kind) for prompt in prompts)),
                heats=heats,
                tokens=size.tokens,
                time=time,
                basis=basis,
            )
        )

    def _occupation(self) -> str:
        return self.tr("A benchmark is running; stop it on its page, or wait for its end.")

    def _start(self, size: BenchSize) -> None:
        self._loader.load(self._settings())
        self._stopping, self._planned, self._done = False, 0, 0
        self._ticket = self._link.bench(size)

    @Slot()
    def _stop(self) -> None:
        self._stopping = True
        super()._stop()
        self._refresh()
        self._page.say(self.tr("Ends with the answer being written…"))

    @Slot(object)
    def _take(self, report: BenchReport) -> None:
        if report.ticket != self._ticket:
            return
        match report:
            case BenchStage(_, sentence):
                self._page.say(self._words(sentence))
            case BenchPlanned(_, heats):
                self._planned = heats
                self._clock.start()
                self._show_progress()
            case BenchHeat():
                self._done += 1
                self._page.heat.setText(self._heat(report))
                self._show_progress()
            case Benched(_, result):
                self._end("" if result else self.tr("Cancelled; the figures before it stay."))
                if result:
                    now = str(QDateTime.currentDateTimeUtc().toString(Qt.DateFormat.ISODate))
                    found = benchmark_page.record(now, result)
                    benchmark_page.keep(paths.last_benchmark(), found)
                    self._show(found)

    def _show_progress(self) -> None:
        self._page.bar.show_share(self._done, self._planned)
        if self._stopping:
            return
        words = self.tr("{done} of {planned} answers").format(done=self._done, planned=self._planned)
        if self._done:
            left = self._clock.elapsed() * (self._planned - self._done) / self._done  # if it goes on as it went
            words = self.tr("{}, {} left").format(words, self._duration(left))
        self._page.say(words)

    def _heat(self, heat: BenchHeat) -> str:
        speed = self.tr("{} tokens/s").format(decimal(1000 / heat.ms_per_token, 1)) if heat.ms_per_token else "–"
        return self.tr("{prompt}, repeat {repeat}, {contestant}: {speed}").format(
            prompt=heat.prompt, repeat=heat.repeat + 1, contestant=contestant_word(heat.contestant), speed=speed
        )

    def _words(self, stage: str) -> str:
        known = {
            "warming up": self.tr("Warming up…"),
            "loading OpenVINO GenAI with the same models": self.tr("Loading OpenVINO GenAI with the same models…"),
        }
        return known.get(stage, stage)

    def _duration(self, milliseconds: float) -> str:
        minutes = milliseconds / 60_000
        if minutes < 1.0:
            return self.tr("under a minute")
        if minutes < 1.5:
            return self.tr("about a minute")
        if minutes < 90.0:
            return self.tr("about {} minutes").format(round(minutes))
        return self.tr("about {} hours").format(decimal(minutes / 60, 1))

    @Slot(int, object)
    def _note_answer(self, _generation: int, finish: Finish) -> None:
        self._measured_ms = finish.stats.tpot_ms or self._measured_ms
        self._refresh()

    def _show(self, record: BenchmarkRecord | None) -> None:
        if record:
            self._record = record
            self._page.show_record(record)
            self._show_extent()

    @Slot(str)
    def _export(self, kind: str) -> None:
        assert self._record
        proposal = f"headstart-benchmark-{self._record.when[:10]}.{kind}"
        place = initial_path(proposal)
        name, _ = QFileDialog.getSaveFileName(self._page, self.tr("Save the benchmark"), place, f"*.{kind}")
        path = Path(name if Path(name).suffix else f"{name}.{kind}")  # by which Qt chooses a picture's format
        if not name:
            return
        remember_folder(name)
        if self._write(path, kind, self._record):
            show_saved(self._page.notice, path)
        else:
            self._page.notice.say(self.tr("{} cannot be written; choose another place.").format(name), bad=True)

    def _write(self, path: Path, kind: str, record: BenchmarkRecord) -> bool:
        if kind == PNG:
            return self._page.report.picture().save(str(path))
        text = benchmark_page.as_csv(record) if kind == CSV else benchmark_page.as_json(record)
        try:
            write_export(path, text)
        except ExchangeError:
            return False
        return True
