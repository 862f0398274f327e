"""Says how many messages are selected and copies them. Knows no message."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from headstart.ui.widgets.icons import show_icon
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import SMALL, TINY, Theme


class SelectionBar(QFrame):
    """Hidden while nothing is selected."""

    markdown_requested = Signal()
    text_requested = Signal()
    cleared = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "bar")
        self._label = QLabel(self)
        self.markdown_button = QPushButton(self.tr("Copy as Markdown"), self)
        self.text_button = QPushButton(self.tr("Copy as text"), self)
        self._close = QToolButton(self)
        self._close.setToolTip(self.tr("Select nothing"))
        self._close.setAccessibleName(self.tr("Select nothing"))
        for button in (self.markdown_button, self.text_button, self._close):
            dress(button, "flat")
        row = QHBoxLayout(self)
        row.setContentsMargins(SMALL, TINY, TINY, TINY)
        row.addWidget(self._label, 1)
        for button in (self.markdown_button, self.text_button, self._close):
            row.addWidget(button)
        self.markdown_button.clicked.connect(self.markdown_requested)
        self.text_button.clicked.connect(self.text_requested)
        self._close.clicked.connect(self.cleared)
        self.set_theme(theme)
        self.hide()

    @Slot(int)
    def show_count(self, messages: int) -> None:
        """So many messages are selected."""
        one = self.tr("1 message selected. Click another name with Shift to select up to there.")
        self._label.setText(one if messages == 1 else self.tr("{} messages selected").format(messages))
        self.setVisible(bool(messages))

    def set_theme(self, theme: Theme) -> None:
        """The icon in another colour."""
        show_icon(self._close, "close", theme.muted)
