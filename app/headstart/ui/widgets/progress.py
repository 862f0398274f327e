"""Notices, and the progress of long work."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QTimer, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QWidget,
)

from headstart.ui.formatting import decimal, format_size, percent, short_path, whole
from headstart.ui.translation import translate
from headstart.ui.widgets.announcements import announce
from headstart.ui.widgets.focus import mark_as_stop
from headstart.ui.widgets.icons import icon_button
from headstart.ui.widgets.labels import ElidedLabel, StatusLine, button, label
from headstart.ui.widgets.layouts import Card, add, beside, set_margins
from headstart.ui.widgets.stylesheet import set_style_class, set_style_property
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY


class Cause(StrEnum):
    """The subject of a notice, which hides when its subject changes."""

    MODEL = "model"  # is missing or was not loaded
    BUSY = "busy"  # the engine is
    MESSAGE = "message"  # in the composer, with its files
    EDIT = "edit"  # a sent message is edited
    SETTINGS = "settings"
    FILE = "file"  # was written or read
    TAGS = "tags"
    REACH = "reach"  # where messages go
    TOOLS = "tools"  # a server did not start
    DICTATION = "dictation"
    SAVING = "saving"  # the history does not take what is written


class NoticeBar(QFrame):
    """A bar with one sentence, an action and a button that dismisses it."""

    closed = Signal()  # by a person, or because the subject has changed

    def __init__(self, parent: QWidget | None = None, *, shown_ms: int = 0) -> None:
        """`shown_ms` hides the bar after this time and puts the buttons below the sentence, for a narrow place."""
        super().__init__(parent)
        set_style_class(self, "bar")
        self._hiding = QTimer(self, singleShot=True, interval=shown_ms)
        self._hiding.timeout.connect(self.hide)
        self._callback: Callable[[], object] | None = None
        self._cause: Cause | None = None
        self._label = label("", self, selectable=True)
        self._action = button(self.tr("Undo"), self)
        self._close = icon_button("close", self.tr("Dismiss"), self)
        row = QBoxLayout(QBoxLayout.Direction.TopToBottom if shown_ms else QBoxLayout.Direction.LeftToRight, self)
        set_margins(row, start=SMALL, top=TINY, end=TINY, bottom=TINY)
        row.setSpacing(SMALL)
        row.addWidget(self._label, 1)
        buttons = beside(None, self._action)
        buttons.addStretch(1)
        buttons.addWidget(self._close)
        row.addLayout(buttons)
        self._close.clicked.connect(self.dismiss)
        self._action.clicked.connect(self.act)
        self.hide()

    @property
    def text(self) -> str:
        """The sentence; empty if hidden."""
        return "" if self.isHidden() else self._label.text()

    def say(
        self,
        sentence: str,
        action: str = "",
        act: Callable[[], object] | None = None,
        *,
        bad: bool = False,
        cause: Cause | None = None,
        action_name: str = "",
        dismissible: bool = True,
    ) -> None:
        """Show a sentence and a button `action` that calls `act`. `retract` hides it by its `cause`.

        `action_name` is the name of the button for screen readers. `dismissible`: it can be closed without the action.
        """
        self._close.setVisible(dismissible)
        self._callback, self._cause = act, cause
        self._label.setText(sentence)
        self._label.setAccessibleName(sentence)
        self._action.setText(action)
        self._action.setAccessibleName(action_name)
        self._action.setVisible(bool(action))
        set_style_property(self, "severity", "danger" if bad else "")
        self.show()
        announce(self, sentence, urgent=bad)
        if self._hiding.interval():
            self._hiding.start()

    def retract(self, cause: Cause) -> None:
        if cause is self._cause:
            self.dismiss()

    @Slot()
    def act(self) -> None:
        """Carry out the action, as its button does."""
        self.hide()
        if self._callback:
            self._callback()
        if self.isHidden():
            self.closed.emit()

    @Slot()
    def dismiss(self) -> None:
        """Close the bar, as its other button does."""
        self.hide()
        self._cause = None
        self.closed.emit()


def saved_text(path: Path) -> str:
    """Return a sentence with the place of a saved file."""
    return translate("NoticeBar", "Saved to {}").format(short_path(path))


def show_saved(notice: NoticeBar, path: Path) -> None:
    """Show the place of a saved file, and a button that opens its folder."""
    folder = QUrl.fromLocalFile(str(path.parent))
    notice.say(
        saved_text(path),
        translate("NoticeBar", "Show in folder"),
        lambda: QDesktopServices.openUrl(folder),
        cause=Cause.FILE,
    )


_STEPS = 1000


class BusyBar(QProgressBar):
    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """`name` is for screen readers."""
        super().__init__(parent)
        self._is_still = self._is_measured = False
        self.setTextVisible(False)
        self.setAccessibleName(name)
        self.show_running()

    def set_still(self, *, still: bool) -> None:
        """Choose, for unknown progress, a bar that is half full instead of one that moves."""
        self._is_still = still
        if not self._is_measured:
            self.show_running()

    def show_running(self) -> None:
        """Show that the progress is unknown."""
        self._is_measured = False
        self.setRange(0, 2 if self._is_still else 0)
        self.setValue(1)

    def show_share(self, done: float, total: float) -> None:
        """Show how much of the total is done."""
        self._is_measured = True
        self.setRange(0, _STEPS)
        self.setValue(int(done * _STEPS // max(total, 1)))


_DELAY_MS = 300  # shorter work shows no bar


class WorkBar(QFrame):
    """A bar with the progress of some work and Cancel; hidden while there is none."""

    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_style_class(self, "bar")
        self._label = QLabel(self)
        self._bar = BusyBar("", self)
        self._cancel = button(self.tr("Cancel"), self, "flat")
        mark_as_stop(self._cancel)
        row = beside(self, self._label, self._bar, self._cancel, growing=self._bar)
        set_margins(row, start=SMALL, top=TINY, end=TINY, bottom=TINY)
        self._cancel.clicked.connect(self.cancel_requested)
        self._wait = QTimer(self, singleShot=True, interval=_DELAY_MS)
        self._wait.timeout.connect(self.show)
        self.hide()

    @property
    def text(self) -> str:
        """The text; empty while there is no work."""
        return self._label.text()

    def begin(self, text: str) -> None:
        """Show the text and an empty bar after a short delay."""
        self._label.setText(text)
        self._bar.setAccessibleName(text)
        self._bar.show_share(0, 1)
        self._wait.start()

    @Slot(object, object)
    def show_progress(self, done: int, total: int) -> None:
        self._bar.show_share(done, total)

    @Slot()
    def end(self) -> None:
        self._wait.stop()
        self._label.setText("")
        self.hide()


class ActivityLine(QFrame):
    """A line on the long work of a page while another page is shown, with a button that leads there."""

    page_requested = Signal()

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_style_class(self, "bar")
        self._title = title
        self._is_away, self._has_ended = True, False
        self._label = ElidedLabel(self)
        self._show = button(self.tr("Show"), self, "flat")
        self._show.setAccessibleName(self.tr("Show: {}").format(title))
        row = beside(self, self._label, self._show, growing=self._label)
        set_margins(row, start=MEDIUM, top=0, end=TINY, bottom=0)
        self._show.clicked.connect(self.page_requested)
        self.hide()

    @property
    def text(self) -> str:
        """The text; empty if hidden."""
        return "" if self.isHidden() else self._label.text()

    @Slot(str)
    def follow(self, words: str) -> None:
        """Show the state of the work. An empty text means that the work has ended, which is shown until its page is."""
        self._has_ended = self._is_away and not words and bool(self._label.text())
        shown = self.tr("ended") if self._has_ended else words
        self._label.show_text(f"{self._title} · {shown}" if shown else "")
        self._update()

    def set_away(self, *, away: bool) -> None:
        """Set whether another page is shown."""
        self._is_away = away
        if self._has_ended and not away:
            self._has_ended = False
            self._label.show_text("")
        self._update()

    def _update(self) -> None:
        self.setVisible(self._is_away and bool(self._label.text()))


_SHOW_TIME_AFTER = 5  # seconds after which the time of a step is shown
_SHOW_MINUTES_FROM = 120  # seconds from which the time left is shown in minutes
_TICK_MS = 1000
_LOG_LINES = 2000
_SHOWN_LINES = 9


class WorkCard(Card):
    """A card with the progress and log of long work, shown from `begin` until it is dismissed after `end`."""

    cancel_requested = Signal()
    pause_requested = Signal()
    next_requested = Signal()  # the button that `end` has shown
    dismissed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = ElidedLabel(self)
        set_style_class(self._title, "section")
        self._step = StatusLine(self)
        self._bar = BusyBar("", self)
        self._next = button("", self)  # Pause while work runs, then `next_action`
        self._cancel = button(self.tr("Cancel"), self)
        self._toggle = button(self.tr("Show log"), self, "flat")
        self._toggle.setCheckable(True)
        self._log = QPlainTextEdit(self)
        self._is_running = False
        self._step_text = ""
        self._progress = (0, 0, 0)  # of the step: at its first report, now, total
        self._is_in_bytes = True  # else in per cent
        self._clock = QElapsedTimer()
        self._tick = QTimer(self, interval=_TICK_MS)
        self._tick.timeout.connect(self._show_time)
        self._lay_out()
        self.setFocusProxy(self._cancel)
        self._next.clicked.connect(self._on_next_clicked)
        self._cancel.clicked.connect(self._on_cancel_clicked)
        self._toggle.toggled.connect(self._show_log)
        self.hide()

    @property
    def text(self) -> str:
        """The title and the step."""
        return f"{self._title.text()}\n{self._step.text()}"

    @property
    def log(self) -> str:
        return self._log.toPlainText()

    def begin(self, title: str) -> None:
        """Show the title and an empty log."""
        self._is_running = True
        self._tick.start()
        self._title.show_text(title)
        self._bar.setAccessibleName(title)
        self._log.clear()
        self._toggle.setChecked(False)
        self._show_step("")
        self._show_state("")

    @Slot(bool)
    def set_pausable(self, pausable: bool) -> None:
        """Set whether the step can be paused."""
        if self._is_running:
            self._next.setText(self.tr("Pause"))
            self._next.setVisible(pausable)

    def show_step(self, text: str) -> None:
        """Show a step of unknown progress."""
        self._show_step(text)
        self._bar.show_running()

    @Slot(object, object)
    def show_progress(self, done: int, total: int) -> None:
        """Show the progress of the step in bytes."""
        first = self._progress[0] if self._progress[2] == total else done  # else it resumes an earlier attempt
        if self._progress[2] != total:
            self._clock.start()
        self._set_progress(first, done, total, is_in_bytes=True)

    @Slot(int)
    def show_share(self, hundredths: int) -> None:
        """Show the progress of the step in per cent; a smaller number than before begins its next part."""
        if hundredths < self._progress[1]:
            self._clock.start()
        self._set_progress(0, hundredths, 100, is_in_bytes=False)

    def _set_progress(self, first: int, done: int, total: int, *, is_in_bytes: bool) -> None:
        self._bar.show_share(done, total)
        self._progress, self._is_in_bytes = (first, done, total), is_in_bytes
        self._show_time()

    @Slot(str)
    def append(self, line: str) -> None:
        """Add a line to the log."""
        self._log.appendPlainText(line)
        self._toggle.show()

    def end(self, sentence: str, *, bad: bool, next_action: str = "") -> None:
        """Show how the work ended. `next_action` is the text of a button for the next action."""
        self._is_running = False
        self._tick.stop()
        self._show_step(sentence, "danger" if bad else "muted")
        self._toggle.setChecked(bad and bool(self.log))
        self._show_state(next_action)
        announce(self, sentence, urgent=bad)

    @Slot()
    def retire(self) -> None:
        """Hide, unless work is running or has a next action."""
        if not self._is_running and self._next.isHidden():
            self.hide()

    def _lay_out(self) -> None:
        self._log.setReadOnly(True)
        self._log.setMaximumBlockCount(_LOG_LINES)
        self._log.setAccessibleName(self.tr("Log"))
        self._log.setFixedHeight(self._log.fontMetrics().lineSpacing() * _SHOWN_LINES + 2 * SMALL)
        self._log.hide()
        set_style_class(self._log, "field")
        mark_as_stop(self._cancel)
        head = beside(None, self._title, self._toggle, self._next, self._cancel, growing=self._title)
        add(self.column, head, self._bar, self._step, self._log)

    @Slot()
    def _show_time(self) -> None:
        """Show how much of the step is done and the time left, or the time spent if the progress is unknown."""
        seconds = self._clock.elapsed() / 1000
        first, done, total = self._progress
        words = self._step_text
        if total and words and self._is_in_bytes:
            words = self.tr("{step} · {done} of {total}").format(
                step=words, done=format_size(done), total=format_size(total)
            )
        elif total and words:
            words = f"{words} · {percent(done / total)}"
        if seconds >= _SHOW_TIME_AFTER and done > first:
            rate = (done - first) / seconds
            left = (total - done) / rate
            minutes = left >= _SHOW_MINUTES_FROM
            time = self.tr("{} min left") if minutes else self.tr("{} s left")
            time = time.format(whole(left / 60 if minutes else left))
            if self._is_in_bytes:
                words += self.tr(" · {rate} MB/s · {left}").format(rate=decimal(rate / 1e6, 1), left=time)
            elif done < total:
                words += f" · {time}"
        elif seconds >= _SHOW_TIME_AFTER and words and not total:
            words = self.tr("{step} · {seconds} s").format(step=words, seconds=whole(int(seconds)))
        if self._is_running and words:
            self._step.setText(words)

    def _show_step(self, text: str, kind: str = "muted") -> None:
        self._step_text, self._progress = text, (0, 0, 0)
        self._clock.start()
        self._step.say(text, kind)

    def _show_state(self, next_action: str) -> None:
        set_style_property(self._next, "kind", "primary" if next_action else "plain")
        self._next.setText(next_action)  # after the property, as the size depends on both
        self._next.setVisible(bool(next_action))
        self._cancel.setText(self.tr("Cancel") if self._is_running else self.tr("Dismiss"))
        self._bar.show_running()
        self._bar.setVisible(self._is_running)
        self._toggle.setVisible(bool(self.log))
        self.show()

    @Slot(bool)
    def _show_log(self, shown: bool) -> None:
        self._log.setVisible(shown)
        self._toggle.setText(self.tr("Hide log") if shown else self.tr("Show log"))

    @Slot()
    def _on_cancel_clicked(self) -> None:
        if self._is_running:
            self.cancel_requested.emit()
        else:
            self.hide()
            self.dismissed.emit()

    @Slot()
    def _on_next_clicked(self) -> None:
        (self.pause_requested if self._is_running else self.next_requested).emit()
