"""What a first start shows: no model yet, and one button that gets a small one. Knows no process."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart.ui.add_model import missing_exporter
from headstart.ui.export_run import FIRST, install_command
from headstart.ui.heading import Heading
from headstart.ui.stylesheet import dress
from headstart.ui.theme import LARGE, MEDIUM


class Welcome(QFrame):
    """Asks for the export of the first model."""

    start_requested = Signal(object)  # tuple[str, ...]

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._can_export = True
        self._title = Heading(self.tr("Welcome. One thing is missing: a model."), 1.4, self)
        self._text = QLabel(self)
        self._button = QPushButton(self)
        self._lay_out()
        self._button.clicked.connect(self._act)
        self.setFocusProxy(self._button)
        self._describe()

    def set_exporter(self, *, installed: bool) -> None:
        """Whether models can be made here."""
        self._can_export = installed
        self._describe()

    def set_busy(self, busy: bool) -> None:
        """While a model is being added."""
        self._button.setEnabled(not busy)

    def _lay_out(self) -> None:
        dress(self._button, "primary")
        dress(self._text, "muted")
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, LARGE, LARGE, LARGE)
        column.setSpacing(MEDIUM)
        for label in (self._title, self._text):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            column.addWidget(label)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignLeft)

    def _describe(self) -> None:
        if self._can_export:
            # Sizes of the recipe's two sources, and of the folder that the export makes of either; time on two cores.
            self._text.setText(
                self.tr(
                    "SmolLM2 135M Instruct is small and quick on any computer, and knows little. Getting it downloads "
                    "100 to 270 MB once, then converts for about a minute, and takes 144 MB on the disk. Afterwards "
                    "everything stays on this computer."
                )
            )
            self._button.setText(self.tr("Get SmolLM2 135M Instruct"))
        else:
            self._text.setText(missing_exporter(FIRST))
            self._button.setText(self.tr("Copy command"))

    @Slot()
    def _act(self) -> None:
        if self._can_export:
            self.start_requested.emit((FIRST,))
        else:
            QGuiApplication.clipboard().setText(install_command(FIRST))
