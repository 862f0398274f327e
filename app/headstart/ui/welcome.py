"""What a first start shows: no model yet, and one button that gets a small one. Knows no process."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart.ui.add_model import INSTALL, missing_exporter
from headstart.ui.busy_bar import BusyBar
from headstart.ui.export_run import FIRST
from headstart.ui.stylesheet import dress
from headstart.ui.theme import HUGE, MEDIUM


class Welcome(QFrame):
    """Asks for the export of the first model, or for its end."""

    start_requested = Signal(str)
    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._can_export = True
        self._running = False
        self._title = QLabel(self.tr("Welcome. One thing is missing: a model."), self)
        self._text = QLabel(self)
        self._button = QPushButton(self)
        self._bar = BusyBar(self.tr("Export is running"), self)
        self._line = QLabel(self)
        self._lay_out()
        self._button.clicked.connect(self._act)
        self.show_running(running=False)

    def set_exporter(self, *, installed: bool) -> None:
        """Whether models can be made here."""
        self._can_export = installed
        self._describe()

    def show_running(self, *, running: bool) -> None:
        """An export begins or ends."""
        self._running = running
        self._bar.setVisible(running)
        self._describe()

    def append(self, line: str) -> None:
        """The last line of the export."""
        self._line.setText(line.strip())
        self._line.show()

    def _lay_out(self) -> None:
        font = self._title.font()
        font.setPointSizeF(font.pointSizeF() * 1.4)
        font.setBold(True)
        self._title.setFont(font)
        dress(self._button, "primary")
        dress(self._text, "muted")
        dress(self._line, "muted")
        self._line.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(HUGE, HUGE, HUGE, HUGE)
        column.setSpacing(MEDIUM)
        for label in (self._title, self._text, self._line):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column.addWidget(self._title)
        column.addWidget(self._text)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._bar)
        column.addWidget(self._line)

    @Slot()
    def _describe(self) -> None:
        if self._can_export:
            # Sizes of the recipe's two sources, and of the folder that the export makes of either.
            self._text.setText(
                self.tr(
                    "SmolLM2 135M Instruct is small and quick on any computer, and knows little. Getting it downloads "
                    "100 to 270 MB once and takes 144 MB on the disk. Afterwards everything stays on this computer."
                )
            )
            self._button.setText(self.tr("Cancel") if self._running else self.tr("Get SmolLM2 135M Instruct"))
        else:
            self._text.setText(missing_exporter(FIRST))
            self._button.setText(self.tr("Copy command"))

    @Slot()
    def _act(self) -> None:
        if self._running:
            self.cancel_requested.emit()
        elif self._can_export:
            self.start_requested.emit(FIRST)
        else:
            QGuiApplication.clipboard().setText(INSTALL.format(FIRST))
