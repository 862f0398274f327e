"""The controller of the benchmark: it runs in the engine's process, and its result is kept and exported."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QDateTime, QElapsedTimer, QObject, Qt, Slot
from PySide6.QtWidgets import QFileDialog

from headstart import paths
from headstart.chat.documents import write_export
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.bench.race import DRAFT_ONLY, SWEEP, USUAL, playable
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
from headstart.ui.formatting import decimal, listed
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.performance import benchmark_chart, benchmark_page
from headstart.ui.performance.benchmark_chart import contestant_text, kind_text
from headstart.ui.performance.benchmark_page import CSV, PNG, BenchmarkPage, BenchmarkRecord
from headstart.ui.performance.engine_job import EngineJob
from headstart.ui.widgets.layouts import initial_path, remember_folder
from headstart.ui.widgets.progress import show_saved

_PEER_WAYS = 3  # ways of other programs to decode, for an estimate; the engine knows the exact number of answers
_ASSUMED_MS = 100.0  # per token, before anything was measured


class BenchmarkController(EngineJob):
    page: BenchmarkPage

    def __init__(
        self, page: BenchmarkPage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` returns the settings of the open chat, which name the model."""
        super().__init__(page, loader, settings, parent)
        self._is_stopping = False
        self._num_planned = self._num_done = 0
        self._clock = QElapsedTimer()
        self._record: BenchmarkRecord | None = None
        page.form.changed.connect(self._show_extent)
        page.report.export_requested.connect(self._on_export)
        self._link.benched.connect(self._on_report)

    @Slot()
    def _on_entered(self) -> None:
        if self._record is None:
            self._show(benchmark_page.read(paths.last_benchmark()))
        self._refresh()

    def _refresh_page(self) -> None:
        if self.is_running and self._loader.status:
            self.page.say(self._loader.progress)
        self._show_extent()

    @Slot()
    def _show_extent(self) -> None:
        measured_ms = self._link.tpot_ms or (
            benchmark_chart.plain_ms(self._record.result.prompts) if self._record else None
        )
        self.page.form.ms_per_token = measured_ms or _ASSUMED_MS
        size = self.page.form.bench_size()
        prompts = read_prompts(size.prompts, size.kinds)
        num_ways = len(playable(SWEEP, {DRAFT_ONLY}) if size.sweep else USUAL)
        num_answers = len(prompts) * size.repeats * (num_ways + (_PEER_WAYS if size.with_peer else 0))
        time = self._duration(num_answers * size.tokens * (measured_ms or _ASSUMED_MS))
        basis = self.tr("at the speed last measured here") if measured_ms else self.tr("at ten tokens a second")
        self.page.form.show_extent(
            self.tr(
                "{prompts} prompts ({kinds}), about {heats} answers of at most {tokens} tokens: {time} {basis}."
            ).format(
                prompts=len(prompts),
                kinds=listed(dict.fromkeys(kind_text(prompt.kind) for prompt in prompts)),
                heats=num_answers,
                tokens=size.tokens,
                time=time,
                basis=basis,
            )
        )

    def _occupation(self) -> str:
        return self.tr("A benchmark is running; stop it on its page, or wait for its end.")

    def _start(self, size: BenchSize) -> None:
        self._loader.load(self._measured)
        self._is_stopping, self._num_planned, self._num_done = False, 0, 0
        self._ticket = self._link.bench(size)

    @Slot()
    def _on_stop(self) -> None:
        self._is_stopping = True
        super()._on_stop()
        self._refresh()
        self.page.say(self.tr("Ends with the answer being written…"))

    @Slot(object)
    def _on_report(self, report: BenchReport) -> None:
        if report.ticket != self._ticket:
            return
        match report:
            case BenchStage(_, sentence):
                self.page.say(self._stage_words(sentence))
            case BenchPlanned(_, heats):
                self._num_planned = heats
                self._clock.start()
                self._show_progress()
            case BenchHeat():
                self._num_done += 1
                self.page.heat.setText(self._answer_words(report))
                self._show_progress()
            case Benched(_, result):
                self._end("" if result else self.tr("Cancelled; the figures before it stay."))
                if result:
                    now = str(QDateTime.currentDateTimeUtc().toString(Qt.DateFormat.ISODate))
                    record = benchmark_page.record(now, result)
                    benchmark_page.save(paths.last_benchmark(), record)
                    self._show(record)

    def _show_progress(self) -> None:
        self.page.bar.show_share(self._num_done, self._num_planned)
        if self._is_stopping:
            return
        words = self.tr("{done} of {planned} answers").format(done=self._num_done, planned=self._num_planned)
        if self._num_done:
            left = self._clock.elapsed() * (self._num_planned - self._num_done) / self._num_done  # at the speed so far
            words = self.tr("{}, {} left").format(words, self._duration(left))
        self.page.say(words)

    def _answer_words(self, heat: BenchHeat) -> str:
        speed = self.tr("{} tokens/s").format(decimal(1000 / heat.ms_per_token, 1)) if heat.ms_per_token else "–"
        return self.tr("{prompt}, repeat {repeat}, {contestant}: {speed}").format(
            prompt=heat.prompt, repeat=heat.repeat + 1, contestant=contestant_text(heat.contestant), speed=speed
        )

    def _stage_words(self, stage: str) -> str:
        words = {
            "warming up": self.tr("Warming up…"),
            "loading OpenVINO GenAI with the same models": self.tr("Loading OpenVINO GenAI with the same models…"),
        }
        return words.get(stage, stage)

    def _duration(self, milliseconds: float) -> str:
        minutes = milliseconds / 60_000
        if minutes < 1.0:
            return self.tr("under a minute")
        if minutes < 1.5:
            return self.tr("about a minute")
        if minutes < 90.0:
            return self.tr("about {} minutes").format(round(minutes))
        return self.tr("about {} hours").format(decimal(minutes / 60, 1))

    def _show(self, record: BenchmarkRecord | None) -> None:
        if record:
            self._record = record
            self.page.show_record(record)
            self._show_extent()

    @Slot(str)
    def _on_export(self, kind: str) -> None:
        assert self._record
        proposal = f"headstart-benchmark-{self._record.when[:10]}.{kind}"
        proposal_path = initial_path(proposal)
        name, _ = QFileDialog.getSaveFileName(self.page, self.tr("Save the benchmark"), proposal_path, f"*.{kind}")
        path = Path(name if Path(name).suffix else f"{name}.{kind}")  # Qt chooses the format of a picture by the ending
        if not name:
            return
        remember_folder(name)
        if self._write(path, kind, self._record):
            show_saved(self.page.notice, path)
        else:
            self.page.notice.say(self.tr("{} cannot be written; choose another place.").format(name), bad=True)

    def _write(self, path: Path, kind: str, record: BenchmarkRecord) -> bool:
        if kind == PNG:
            return self.page.report.picture().save(str(path))
        text = benchmark_page.as_csv(record) if kind == CSV else benchmark_page.as_json(record)
        try:
            write_export(path, text)
        except ExchangeError:
            return False
        return True
