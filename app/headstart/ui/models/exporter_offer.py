"""Where no model can be made yet: a button that sets the exporter up, and the command that does it. Runs neither."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart import paths
from headstart.exporter import install_command
from headstart.ui.models.exporter_setup import FETCHED, SIZE
from headstart.ui.spelling import amount
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import SMALL


class ExporterOffer(QWidget):
    """The button is there in an installed program, which brings the exporter's package; elsewhere the command alone."""

    setup_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._command = ""
        self._text = QLabel(self)
        self._by_hand = QLabel(self)
        self._set_up = QPushButton(self.tr("Set up the exporter"), self)
        self._copy = QPushButton(self.tr("Copy command"), self)
        self._lay_out()
        self._set_up.clicked.connect(self.setup_requested)
        self._copy.clicked.connect(self._copy_command)
        self.setFocusProxy(self._set_up)

    def show_words(self, words: Sequence[str]) -> None:
        """The command makes the model that these name."""
        brought = paths.bundled_wheel() is not None
        self._command = install_command(words)
        self._set_up.setVisible(brought)
        self.setFocusProxy(self._set_up if brought else self._copy)
        dress(self._copy, "plain" if brought else "primary")
        self._text.setText(self._offer() if brought else self._absence())
        self._by_hand.setText(self._instead().format(self._command))

    def set_brief(self, *, brief: bool) -> None:
        """Only the buttons, where the same words stand beside it already."""
        for label in (self._text, self._by_hand):
            label.setHidden(brief)

    def set_busy(self, *, busy: bool) -> None:
        """While something is being added."""
        self._set_up.setEnabled(not busy)

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        for button, kind in ((self._set_up, "primary"), (self._copy, "plain")):
            dress(button, kind)
            row.addWidget(button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SMALL)
        for label in (self._text, self._by_hand):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            dress(label, "muted")
            column.addWidget(label)
        column.addLayout(row)

    def _offer(self) -> str:
        return self.tr(
            "The exporter needs PyTorch and is not part of the installed program. The button sets it up in a folder of "
            "its own and then exports the model. It needs Python 3.11 or newer with venv on this computer and "
            "the network: it fetches about {fetched}, which take {size} on the disk, and much more where PyTorch comes "
            "with libraries for graphics cards, as it usually does on Linux. Nothing is fetched before you press it."
        ).format(fetched=amount(FETCHED), size=amount(SIZE))

    def _absence(self) -> str:
        return self.tr("The exporter is not installed here.")

    def _instead(self) -> str:
        if paths.bundled_wheel():
            return self.tr(
                "In a terminal, this does the same:\n{}\nIt may run on another computer, too: bring the folder that it "
                "makes (its --output) here and drop it on this page."
            )
        return self.tr(
            "In Headstart's source folder, this installs it and exports the model:\n{}\nIt may run on another "
            "computer, too: bring the folder that it makes (its --output) here and drop it on this page."
        )

    @Slot()
    def _copy_command(self) -> None:
        QGuiApplication.clipboard().setText(self._command)
