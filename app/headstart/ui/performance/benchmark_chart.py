"""The chart of a benchmark: bars with their spread, on screen and as a picture."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from headstart.engine.bench.race import NGRAM_ONLY
from headstart.engine.bench.result import ALL, Advice, BenchResult, PromptResult
from headstart.ui.formatting import decimal, listed
from headstart.ui.translation import translate
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, TINY, current, scaled

PLAIN = "plain"  # all others are measured against it


@dataclass(frozen=True)
class Bar:
    """The speedup of one contestant over plain decoding."""

    contestant: str
    mean: float | None  # geometric
    low: float | None  # smallest of all answers
    high: float | None


@dataclass(frozen=True)
class BarGroup:
    """The contestants on the prompts of one class."""

    kind: str
    plain_ms: float | None  # mean milliseconds per token of plain decoding
    bars: tuple[Bar, ...]


def groups(result: BenchResult) -> tuple[BarGroup, ...]:
    """Return the bars for all prompts, then for each class. Plain decoding has no bar: it is 1."""
    chart_groups = []
    for kind in (ALL, *dict.fromkeys(prompt.kind for prompt in result.prompts)):
        prompts = [prompt for prompt in result.prompts if kind in (ALL, prompt.kind)]
        bars = tuple(_bar(result, prompts, name, kind) for name in result.standings if name != PLAIN)
        chart_groups.append(BarGroup(kind, plain_ms(prompts), bars))
    return tuple(chart_groups)


def plain_ms(prompts: Iterable[PromptResult]) -> float | None:
    """Return the mean milliseconds per token of plain decoding, or None."""
    times = [ms for prompt in prompts for ms in prompt.scores[PLAIN].ms_per_token if ms is not None]
    return statistics.fmean(times) if times else None


def differing(result: BenchResult) -> dict[str, int]:
    """Return the contestants that wrote other texts than plain decoding, and on how many prompts."""
    names = [name for prompt in result.prompts for name, score in prompt.scores.items() if not score.equals_plain]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def _bar(result: BenchResult, prompts: Sequence[PromptResult], name: str, kind: str) -> Bar:
    spreads = [spread for prompt in prompts if (spread := prompt.scores[name].speedup)]
    return Bar(
        contestant=name,
        mean=result.standings[name].decoding[kind].mean,
        low=min((spread.low for spread in spreads), default=None),
        high=max((spread.high for spread in spreads), default=None),
    )


_TRANSLATED: tuple[Any, ...] = (
    QT_TRANSLATE_NOOP("Benchmark", "all prompts"),
    QT_TRANSLATE_NOOP("Benchmark", "code"),
    QT_TRANSLATE_NOOP("Benchmark", "edit"),
    QT_TRANSLATE_NOOP("Benchmark", "explanation"),
    QT_TRANSLATE_NOOP("Benchmark", "summary"),
    QT_TRANSLATE_NOOP("Benchmark", "story"),
    QT_TRANSLATE_NOOP("Benchmark", "translation"),
    QT_TRANSLATE_NOOP("Benchmark", "retrieval"),
    QT_TRANSLATE_NOOP("Benchmark", "math"),
    QT_TRANSLATE_NOOP("Benchmark", "extraction"),
    QT_TRANSLATE_NOOP("Benchmark", "roleplay"),
    QT_TRANSLATE_NOOP("Benchmark", "essay"),
    QT_TRANSLATE_NOOP("Benchmark", "qa"),
    QT_TRANSLATE_NOOP("Benchmark", "agent"),
    QT_TRANSLATE_NOOP("Benchmark", "revision"),
    QT_TRANSLATE_NOOP("Benchmark", "article"),
    QT_TRANSLATE_NOOP("Benchmark", "arithmetic"),
    QT_TRANSLATE_NOOP("Benchmark", "json"),
    QT_TRANSLATE_NOOP("Benchmark", "mixed"),
    QT_TRANSLATE_NOOP("Benchmark", "without speed-up"),
    QT_TRANSLATE_NOOP("Benchmark", "auto"),
    QT_TRANSLATE_NOOP("Benchmark", "draft"),
    QT_TRANSLATE_NOOP("Benchmark", "eagle"),
    QT_TRANSLATE_NOOP("Benchmark", "ngram"),
    QT_TRANSLATE_NOOP("Benchmark", "fixed"),
    QT_TRANSLATE_NOOP("Benchmark", "threshold"),
    QT_TRANSLATE_NOOP("Benchmark", "off"),
    QT_TRANSLATE_NOOP("Benchmark", "n-gram"),
)


def kind_text(kind: str) -> str:
    """Return the name of a class of prompts; an unknown one keeps its own."""
    return translate("Benchmark", "all prompts" if kind == ALL else kind)


def contestant_text(name: str) -> str:
    """Return the words for a way to decode, such as "fixed 3"; other programs keep their names."""
    if name == PLAIN:
        return translate("Benchmark", "without speed-up")
    way, *figure = name.split(" ")
    return " ".join((translate("Benchmark", way), *figure))


def advice_text(advice: Advice) -> str:
    """Format the best setting of a class, such as "draft, 5–8"."""
    method = translate("Benchmark", "n-gram" if advice.method == NGRAM_ONLY else advice.method)
    if advice.lengths is None:
        return method
    minimum, maximum = advice.lengths
    return listed((method, f"{minimum}" if minimum == maximum else f"{minimum}–{maximum}"))


_HEIGHT, _MAX_HEIGHT = 300, 450  # pixels at the usual size of text, and at any
_PICTURE = QSize(1100, 480)
_SCALE = 2  # of a picture, for print
_MAX_BAR_WIDTH = 34.0
_FADE = (1.0, 0.62, 0.4, 0.8, 0.5, 0.3)  # lightness that tells contestants of one series apart
_SERIES = {"auto": "draft", "fixed": "n-gram", "plain": "plain"}  # first word of a name -> series whose colour it has
_PEER_SERIES = "target"


@dataclass(frozen=True)
class _Paint:
    fill: QColor
    edge: QColor  # visible where the fill is pale

    def draw(self, painter: QPainter, area: QRectF) -> None:
        """Draw a filled box with an edge."""
        painter.setPen(QPen(self.edge, 1))
        painter.setBrush(self.fill)
        painter.drawRect(area)


class BenchmarkChart(QWidget):
    """A chart of speedups over plain decoding, which is the line at 1."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._groups: tuple[BarGroup, ...] = ()
        self.setAccessibleName(self.tr("Chart of the speedups"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_groups(self, groups: Sequence[BarGroup]) -> None:
        self._groups = tuple(groups)
        sentences = (
            self.tr("{name}: {mean} times as fast as without speed-up").format(
                name=contestant_text(bar.contestant), mean=decimal(bar.mean, 2)
            )
            for group in self._groups[:1]
            for bar in group.bars
            if bar.mean is not None
        )
        self.setAccessibleDescription(listed(sentences))
        self.update()

    def picture(self, title: str, caption: str) -> QImage:
        """Return the chart as a picture, with words above and below."""
        image = QImage(_PICTURE * _SCALE, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(_SCALE)
        theme = current()
        image.fill(QColor(theme.surface))
        painter = QPainter(image)
        area = QRectF(QPointF(0, 0), _PICTURE.toSizeF()).adjusted(LARGE, LARGE, -LARGE, -LARGE)
        font = self.font()
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(QColor(theme.text))
        painter.drawText(area, Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap, title)
        painter.setFont(self.font())
        painter.setPen(QColor(theme.muted))
        painter.drawText(area, Qt.AlignmentFlag.AlignBottom | Qt.TextFlag.TextWordWrap, caption)
        line = QFontMetricsF(self.font()).lineSpacing()
        self._draw(painter, area.adjusted(0, line + MEDIUM, 0, -2 * line - MEDIUM))
        painter.end()
        return image

    def sizeHint(self) -> QSize:
        return QSize(600, min(scaled(_HEIGHT, self.font()), _MAX_HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        self._draw(painter, QRectF(self.rect()))
        painter.end()

    def _draw(self, painter: QPainter, area: QRectF) -> None:
        if not self._groups:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # charts are not mirrored
        painter.setFont(self.font())
        line = QFontMetricsF(self.font()).lineSpacing()
        names = [bar.contestant for bar in self._groups[0].bars]
        colours = _paints(names)
        below = _legend(painter, area, colours)
        plot = QRectF(area.left() + 3 * line, below + SMALL, area.width() - 3 * line, 0)
        plot.setBottom(area.bottom() - line - SMALL)
        top = _top(self._groups)
        self._draw_grid(painter, plot, top)
        width = plot.width() / len(self._groups)
        for number, group in enumerate(self._groups):
            place = QRectF(plot.left() + number * width, plot.top(), width, plot.height())
            self._draw_group(painter, place, group, top)

    def _draw_grid(self, painter: QPainter, plot: QRectF, top: float) -> None:
        line, theme = QFontMetricsF(self.font()).lineSpacing(), current()
        for tick in sorted({1.0, *_ticks(top)}):
            y = plot.bottom() - plot.height() * tick / top
            is_plain = tick == 1.0
            painter.setPen(QPen(QColor(theme.text if is_plain else theme.border), 1))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(QColor(theme.text if is_plain else theme.muted))
            area = QRectF(plot.left() - 3 * line, y - line / 2, 3 * line - SMALL, line)
            painter.drawText(area, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{tick:g}×")

    def _draw_group(self, painter: QPainter, place: QRectF, group: BarGroup, top: float) -> None:
        slot = min((place.width() - MEDIUM) / max(len(group.bars), 1), _MAX_BAR_WIDTH)
        left = place.center().x() - slot * len(group.bars) / 2
        colours = _paints([bar.contestant for bar in group.bars])
        for number, bar in enumerate(group.bars):
            area = QRectF(left + number * slot, place.top(), slot, place.height())
            self._draw_bar(painter, area, bar, colours[bar.contestant], top)
        painter.setPen(QColor(current().text))
        metrics = QFontMetricsF(self.font())
        below = QRectF(place.left(), place.bottom() + TINY, place.width(), metrics.lineSpacing())
        text = metrics.elidedText(kind_text(group.kind), Qt.TextElideMode.ElideRight, place.width() - TINY)
        painter.drawText(below, Qt.AlignmentFlag.AlignCenter, text)

    def _draw_bar(self, painter: QPainter, area: QRectF, bar: Bar, paint: _Paint, top: float) -> None:
        if bar.mean is None or bar.low is None or bar.high is None:
            return
        scale = area.height() / top
        body = QRectF(area.left() + 1, area.bottom() - bar.mean * scale, area.width() - 2, bar.mean * scale)
        paint.draw(painter, body)
        painter.setPen(QPen(QColor(current().text), 1))
        middle, low, high = body.center().x(), area.bottom() - bar.low * scale, area.bottom() - bar.high * scale
        painter.drawLine(QPointF(middle, low), QPointF(middle, high))
        for end in (low, high):
            painter.drawLine(QPointF(middle - 3, end), QPointF(middle + 3, end))


def _paints(names: Sequence[str]) -> Mapping[str, _Paint]:
    """Return the colours of each contestant: a hue for each series, paler from one of its members to the next."""
    theme = current()
    counts: dict[str, int] = {}
    colours = {}
    for name in names:
        series = _SERIES.get(name.partition(" ")[0], _PEER_SERIES)
        number = counts[series] = counts.get(series, -1) + 1
        fill = _faded(theme.series[series], theme.surface, _FADE[number % len(_FADE)])
        colours[name] = _Paint(fill, QColor(theme.series[series]))
    return colours


def _faded(colour: str, ground: str, share: float) -> QColor:
    colour_rgb, ground_rgb = QColor(colour), QColor(ground)
    pairs = zip(colour_rgb.getRgb()[:3], ground_rgb.getRgb()[:3], strict=True)  # type: ignore[index]
    return QColor(*(round(a * share + b * (1 - share)) for a, b in pairs))


def _legend(painter: QPainter, area: QRectF, colours: Mapping[str, _Paint]) -> float:
    """Draw the names from left to right in as many lines as they need; return where the legend ends."""
    metrics = QFontMetricsF(painter.font())
    x, y, box = area.left(), area.top(), metrics.ascent()
    for name, paint in colours.items():
        width = box + TINY + metrics.horizontalAdvance(contestant_text(name)) + LARGE
        if x + width > area.right() and x > area.left():
            x, y = area.left(), y + metrics.lineSpacing()
        paint.draw(painter, QRectF(x, y + (metrics.lineSpacing() - box) / 2, box, box))
        painter.setPen(QColor(current().text))
        painter.drawText(QPointF(x + box + TINY, y + metrics.ascent()), contestant_text(name))
        x += width
    return y + metrics.lineSpacing()


def _top(groups: Sequence[BarGroup]) -> float:
    """Return the end of the axis: above every whisker, and above plain decoding."""
    highest = max((bar.high for group in groups for bar in group.bars if bar.high is not None), default=1.0)
    return max(highest, 1.0) * 1.08


def _ticks(top: float) -> list[float]:
    step = next((step for step in (0.5, 1.0, 2.0, 5.0, 10.0) if top / step <= 6), 20.0)
    return [number * step for number in range(int(top / step) + 1)]
