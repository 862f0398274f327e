"""A table of figures that shows all its rows, with texts leading and numbers trailing."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from headstart.ui.widgets.theme import LARGE, ROW, scaled

_NARROWEST = 76  # pixels of a column; below that, and where a title would be cut, the table scrolls sideways
_BESIDE = 2 * 7 + 2  # pixels around a title, as the style sheet has it
_NUMBERS = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class FigureTable(QTreeWidget):
    """`begin`, then `add` row by row."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """`name` is for screen readers."""
        super().__init__(parent)
        self._words = frozenset({0})
        self._widened = 1
        self.setAccessibleName(name)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.header().setStretchLastSection(False)
        self.header().setMinimumSectionSize(_NARROWEST)
        self.header().geometriesChanged.connect(self._take_font)

    def begin(self, titles: Sequence[str], *, widened: int = 1, words: Sequence[int] = (0,)) -> None:
        """Clear the table and set its columns: the first `widened` fit their content, the others share the rest.

        Columns in `words` hold texts.
        """
        self._words = frozenset(words)
        self.clear()
        self.setColumnCount(len(titles))
        self.setHeaderLabels(list(titles))
        self._widened = widened
        self._widen()
        modes = QHeaderView.ResizeMode
        for column in range(len(titles)):
            self.header().setSectionResizeMode(column, modes.ResizeToContents if column < widened else modes.Stretch)
        self._align(self.headerItem())
        self._fit()

    def add(self, cells: Sequence[str]) -> QTreeWidgetItem:
        """Add a row."""
        item = QTreeWidgetItem(list(cells))
        self._align(item)
        self.addTopLevelItem(item)
        self._fit()
        return item

    def _align(self, item: QTreeWidgetItem) -> None:
        for column in set(range(self.columnCount())) - self._words:
            item.setTextAlignment(column, _NUMBERS)

    def _widen(self) -> None:
        titles = [self.headerItem().text(column) for column in range(self._widened, self.columnCount())]
        widest = max(map(self.fontMetrics().horizontalAdvance, titles), default=0)
        self.header().setMinimumSectionSize(max(_NARROWEST, widest + _BESIDE))

    @Slot()
    def _take_font(self) -> None:
        self._widen()
        self._fit()

    def _fit(self) -> None:
        rows = scaled(ROW, self.font()) * self.topLevelItemCount()
        self.setFixedHeight(self.header().sizeHint().height() + rows + LARGE)
