"""A window of the logs: which file, from which level on, with which words. Follows the file while it is open."""

import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from PySide6.QtCore import QSize, Qt, QTimer, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QFont, QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import MEDIUM, SMALL, Theme, mono_font

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LEVEL = re.compile(rf"^\S+ \S+ ({'|'.join(LEVELS)}) ")
_FIRST = 256 * 1024  # bytes of what is there already


@dataclass(frozen=True)
class Line:
    """A line, with the level of the entry it belongs to."""

    text: str
    level: int  # place in LEVELS


class LogFile:
    """`news` gives what was added since it was last called."""

    def __init__(self, path: Path, first: int = _FIRST) -> None:
        """Opens nothing yet. `first`: how many bytes of an old file are read at most."""
        self.path = path
        self._first = first
        self._inode = self._position = 0
        self._rest = b""
        self._level = LEVELS.index("INFO")

    def news(self) -> tuple[Line, ...]:
        """Whole lines; none while the file is missing or cannot be read."""
        try:
            with self.path.open("rb") as file:
                added = self._added(file)
        except OSError:
            return ()
        *whole, self._rest = (self._rest + added).split(b"\n")
        return tuple(self._line(line.decode("utf-8", "replace").rstrip("\r")) for line in whole)

    def _added(self, file: BinaryIO) -> bytes:
        size, inode = file.seek(0, 2), self.path.stat().st_ino
        if inode != self._inode or size < self._position:  # the first look, or another file after a rotation
            is_first, self._inode = not self._inode, inode
            self._rest = b""
            self._position = max(size - self._first, 0) if is_first else 0
            if self._position:
                file.seek(self._position)
                file.readline()  # the cut one
                self._position = file.tell()
        file.seek(self._position)
        added = file.read()
        self._position += len(added)
        return added

    def _line(self, text: str) -> Line:
        if found := _LEVEL.match(text):
            self._level = LEVELS.index(found.group(1))
        return Line(text, self._level)


_EVERY_MS = 1000
_KEPT = 20_000  # lines
_SIZE = QSize(860, 520)


class LogView(QDialog):
    """Shows the files it is given, by their titles."""

    def __init__(self, theme: Theme, files: Mapping[str, Path], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Logs"))
        self._paths = list(files.values())
        self._log = LogFile(self._paths[0])
        self._lines: deque[Line] = deque(maxlen=_KEPT)
        self.file = self._choice(self.tr("Log"), files)
        self.level = self._choice(
            self.tr("Least level"), (self.tr("Everything"), self.tr("Warnings and errors"), self.tr("Errors"))
        )
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search in the log"))
        self.search.setAccessibleName(self.search.placeholderText())
        self.text = QPlainTextEdit(self)
        self._time = QTimer(self, interval=_EVERY_MS)
        self._lay_out()
        self.set_looks(theme, self.font())
        self._connect()
        self._open(0)
        self._time.start()

    def set_looks(self, theme: Theme, font: QFont) -> None:
        """Other colours, or another font: a window of its own has it only later."""
        self.setStyleSheet(stylesheet.sheet(theme, font))

    def _connect(self) -> None:
        self.file.currentIndexChanged.connect(self._open)
        self.level.currentIndexChanged.connect(self._fill)
        self.search.textChanged.connect(self._fill)
        self._time.timeout.connect(self._follow)

    def _lay_out(self) -> None:
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(self.tr("Lines of the log"))
        self.text.setPlaceholderText(self.tr("Nothing was written down."))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setMaximumBlockCount(_KEPT)
        self.text.setFont(mono_font())
        dress(self.text, "field")
        head = QHBoxLayout()
        head.setSpacing(SMALL)
        head.addWidget(self.file)
        head.addWidget(self.level)
        head.addWidget(self.search, 1)
        foot = QHBoxLayout()
        foot.setSpacing(SMALL)
        foot.addWidget(self._button(self.tr("Open folder"), self._open_folder))
        foot.addStretch(1)
        foot.addWidget(self._button(self.tr("Copy what is shown"), self._copy))
        foot.addWidget(self._button(self.tr("Close"), self.close))
        column = QVBoxLayout(self)
        column.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        column.addLayout(head)
        column.addWidget(self.text, 1)
        column.addLayout(foot)
        self.resize(_SIZE)

    def _choice(self, name: str, texts: Iterable[str]) -> QComboBox:
        box = QComboBox(self)
        box.setAccessibleName(name)
        box.addItems(list(texts))
        return box

    def _button(self, text: str, act: object) -> QPushButton:
        button = QPushButton(text, self)
        button.setAutoDefault(False)
        dress(button, "plain")
        button.clicked.connect(act)
        return button

    @Slot(int)
    def _open(self, index: int) -> None:
        self._log = LogFile(self._paths[index])
        self._lines.clear()
        self._lines.extend(self._log.news())
        self._fill()

    @Slot()
    def _fill(self) -> None:
        """Everything that is wanted, with the newest in sight."""
        self.text.setPlainText("\n".join(self._wanted(self._lines)))
        self._go_to_end()

    @Slot()
    def _follow(self) -> None:
        """What is new; a reader who has scrolled up stays there."""
        news = self._log.news()
        self._lines.extend(news)
        if wanted := self._wanted(news):
            bar = self.text.verticalScrollBar()
            was_at_end = bar.value() == bar.maximum()
            self.text.appendPlainText("\n".join(wanted))
            if was_at_end:
                self._go_to_end()

    def _wanted(self, lines: Iterable[Line]) -> list[str]:
        least = (0, LEVELS.index("WARNING"), LEVELS.index("ERROR"))[self.level.currentIndex()]
        words = self.search.text().lower()
        return [line.text for line in lines if line.level >= least and words in line.text.lower()]

    def _go_to_end(self) -> None:
        bar = self.text.verticalScrollBar()
        bar.setValue(bar.maximum())

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())

    @Slot()
    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._log.path.parent)))
