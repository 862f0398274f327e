"""A table of figures, which is as high as all its rows."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from headstart.ui.widgets.theme import LARGE, ROW, scaled

_MIN_COLUMN_WIDTH = 76  # pixels; with less, or where a title would be cut, the table scrolls sideways
_TITLE_PADDING = 2 * 7 + 2  # pixels beside a title, as in the style sheet
_NUMBERS = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class FigureTable(QTreeWidget):
    """A table of texts and numbers, filled by `begin` and then `add` for each row."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """`name` is for screen readers."""
        super().__init__(parent)
        self._text_columns = frozenset({0})
        self._num_fitted = 1
        self.setAccessibleName(name)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.header().setStretchLastSection(False)
        self.header().setMinimumSectionSize(_MIN_COLUMN_WIDTH)
        self.header().geometriesChanged.connect(self._on_geometry_changed)

    def begin(self, titles: Sequence[str], *, num_fitted: int = 1, text_columns: Sequence[int] = (0,)) -> None:
        """Clear the table and set its columns. The first `num_fitted` fit their content, the others share the rest.

        Columns in `text_columns` hold texts; the others are aligned as numbers.
        """
        self._text_columns = frozenset(text_columns)
        self.clear()
        self.setColumnCount(len(titles))
        self.setHeaderLabels(list(titles))
        self._num_fitted = num_fitted
        self._set_min_width()
        modes = QHeaderView.ResizeMode
        for column in range(len(titles)):
            self.header().setSectionResizeMode(column, modes.ResizeToContents if column < num_fitted else modes.Stretch)
        self._align(self.headerItem())
        self._fit()

    def add(self, cells: Sequence[str]) -> QTreeWidgetItem:
        item = QTreeWidgetItem(list(cells))
        self._align(item)
        self.addTopLevelItem(item)
        self._fit()
        return item

    def _align(self, item: QTreeWidgetItem) -> None:
        for column in set(range(self.columnCount())) - self._text_columns:
            item.setTextAlignment(column, _NUMBERS)

    def _set_min_width(self) -> None:
        titles = [self.headerItem().text(column) for column in range(self._num_fitted, self.columnCount())]
        widest = max(map(self.fontMetrics().horizontalAdvance, titles), default=0)
        self.header().setMinimumSectionSize(max(_MIN_COLUMN_WIDTH, widest + _TITLE_PADDING))

    @Slot()
    def _on_geometry_changed(self) -> None:
        self._set_min_width()
        self._fit()

    def _fit(self) -> None:
        rows = scaled(ROW, self.font()) * self.topLevelItemCount()
        self.setFixedHeight(self.header().sizeHint().height() + rows + LARGE)
