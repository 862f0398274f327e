"""What a first start shows: no model yet, and one button that gets a small one. Knows no process."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart.ui.models.export_run import FIRST
from headstart.ui.models.exporter_offer import ExporterOffer
from headstart.ui.widgets.heading import Heading
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM


class Welcome(QFrame):
    """Asks for the export of the first model."""

    start_requested = Signal(object)  # tuple[str, ...]
    setup_requested = Signal(object)  # the same, where there is no exporter yet

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._title = Heading(self.tr("Welcome. One thing is missing: a model."), 1.4, self)
        self._text = QLabel(self)
        self._button = QPushButton(self.tr("Get SmolLM2 135M Instruct"), self)
        self._offer = ExporterOffer(self)
        self._lay_out()
        self._button.clicked.connect(lambda: self.start_requested.emit((FIRST,)))
        self._offer.setup_requested.connect(lambda: self.setup_requested.emit((FIRST,)))
        self.set_exporter(installed=True)

    def set_exporter(self, *, installed: bool) -> None:
        """Whether models can be made here."""
        self._button.setVisible(installed)
        self._offer.setVisible(not installed)
        self.setFocusProxy(self._button if installed else self._offer)
        self._offer.show_words((FIRST,))

    def set_busy(self, busy: bool) -> None:
        """While a model is being added."""
        self._button.setEnabled(not busy)
        self._offer.set_busy(busy=busy)

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
        column.addWidget(self._offer)
        # Sizes of the recipe's two sources, and of the folder that the export makes of either; time on two cores.
        self._text.setText(
            self.tr(
                "SmolLM2 135M Instruct is small and quick on any computer, and knows little. Getting it downloads "
                "100 to 270 MB once, then converts for about a minute, and takes 144 MB on the disk. Afterwards "
                "everything stays on this computer."
            )
        )
