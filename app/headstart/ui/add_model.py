"""Adds a model: what to export, the export's log, cancel; or the one command, where the exporter is missing."""

from PySide6.QtCore import QCoreApplication, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from headstart.ui.busy_bar import BusyBar
from headstart.ui.export_run import FIRST
from headstart.ui.stylesheet import dress
from headstart.ui.theme import LARGE, MEDIUM, SMALL

RECIPES = (FIRST, "qwen2.5-coder", "qwen2.5-coder-0.5b-instruct", "qwen2.5-coder-1.5b-instruct")
_LOG_LINES = 2000
INSTALL = 'pip install ".[export]" && headstart-export {}'  # Headstart is on no package index


class AddModel(QFrame):
    """A card with a field, a button and a log."""

    start_requested = Signal(str)
    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._can_export = True
        self._title = QLabel(self.tr("Add a model"), self)
        self._text = QLabel(self)
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        dress(self._text, "muted")
        self.source = QComboBox(self)
        self.source.setEditable(True)
        self.source.addItems(RECIPES)
        self.source.setAccessibleName(self.tr("Recipe, hub id, folder or .gguf file"))
        self._go = QPushButton(self)
        dress(self._go, "primary")
        self._bar = BusyBar(self.tr("Export is running"), self)
        self._log = QPlainTextEdit(self)
        self._log.setReadOnly(True)
        self._log.setMaximumBlockCount(_LOG_LINES)
        self._log.setAccessibleName(self.tr("Log of the export"))
        self._log.setFixedHeight(self._log.fontMetrics().lineSpacing() * 9)
        dress(self._log, "field")
        self._running = False
        self._lay_out()
        self._go.clicked.connect(self._act)
        self.source.currentTextChanged.connect(self._describe)
        self.show_running(running=False)
        self._log.hide()

    def set_exporter(self, *, installed: bool) -> None:
        """Whether models can be made here."""
        self._can_export = installed
        self._describe()

    def show_running(self, *, running: bool) -> None:
        """An export begins or ends."""
        self._running = running
        self._bar.setVisible(running)
        self.source.setEnabled(not running)
        if running:
            self._log.clear()
            self._log.show()
        self._describe()

    def append(self, line: str) -> None:
        """A line of the export."""
        self._log.appendPlainText(line)

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.addWidget(self.source, 1)
        row.addWidget(self._go)
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        column.addWidget(self._title)
        column.addWidget(self._text)
        column.addLayout(row)
        column.addWidget(self._bar)
        column.addWidget(self._log)

    @Slot()
    def _describe(self) -> None:
        if self._can_export:
            self._text.setText(
                self.tr("A recipe, a hub id, a folder with weights or a .gguf file. The export checks what it makes.")
            )
            self._go.setText(self.tr("Cancel") if self._running else self.tr("Export"))
        else:
            self._text.setText(missing_exporter(self._source()))
            self._go.setText(self.tr("Copy command"))

    @Slot()
    def _act(self) -> None:
        if self._running:
            self.cancel_requested.emit()
        elif not self._can_export:
            QGuiApplication.clipboard().setText(INSTALL.format(self._source()))
        elif self._source():
            self.start_requested.emit(self._source())

    def _source(self) -> str:
        return self.source.currentText().strip()


def missing_exporter(source: str) -> str:
    """What to do where no model can be made."""
    return QCoreApplication.translate(
        "AddModel",
        "The exporter is not installed here. In Headstart's source folder, this installs it and exports the model:\n{}",
    ).format(INSTALL.format(source or FIRST))
