"""About Headstart: what it is, the versions for a report, and the licences of all it is made of."""

import platform
from collections.abc import Sequence

import psutil
from PySide6 import __version__ as pyside
from PySide6.QtCore import QSize, Qt, Slot, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from headstart import __version__
from headstart.computer import package_versions, processor
from headstart.licences import Component
from headstart.ui.widgets.labels import Heading
from headstart.ui.widgets.layouts import Dialog
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, mono_font


def version_report() -> str:
    """One fact on each line, in English whatever the window speaks: it is for those who mend."""
    screen = QGuiApplication.primaryScreen()
    facts = {
        "Headstart": __version__,
        "Python": platform.python_version(),
        "Qt": f"{qVersion()} (PySide6 {pyside}, {QGuiApplication.platformName()})",
        **package_versions(),
        "System": platform.platform(),
        "Processor": f"{processor()}, {psutil.cpu_count(logical=True)} threads",
        "Memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
        "Screen": f"{screen.size().width()}x{screen.size().height()} at {screen.devicePixelRatio():.2f}",
    }
    return "\n".join(f"{name}: {fact}" for name, fact in facts.items())


_SIZE = QSize(800, 560)


class AboutDialog(Dialog):
    """Shows what it is given."""

    def __init__(self, report: str, parts: Sequence[Component], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("About Headstart"))
        self._parts = parts
        self.report = self._reader(report, self.tr("Versions"))
        self.report.setFont(mono_font())
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Components"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text = self._reader("", self.tr("Text of the licence"))
        self._copy = self._button(self.tr("Copy versions"))
        self._close = self._button(self.tr("Close"))
        self._lay_out()
        self._copy.clicked.connect(self._copy_report)
        self._close.clicked.connect(self.close)
        self.list.currentRowChanged.connect(self._show)
        self.list.addItems([" ".join((part.name, part.version)) for part in parts])
        self.list.setCurrentRow(0)

    def _lay_out(self) -> None:
        tabs = QTabWidget(self)
        tabs.addTab(self._what(), self.tr("Headstart"))
        tabs.addTab(self._licences(), self.tr("Licences"))
        tabs.setAccessibleName(self.windowTitle())
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self._copy)
        foot.addWidget(self._close)
        column = QVBoxLayout(self)
        column.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        column.addWidget(tabs, 1)
        column.addLayout(foot)
        self.resize(_SIZE)

    def _what(self) -> QWidget:
        page = QWidget(self)
        title = Heading(self.tr("Headstart {}").format(__version__), 1.5, page)
        text = QLabel(
            self.tr(
                "Chat offline with a language model that gets a head start from a small one. Nothing you write leaves "
                "this computer, unless you choose a model on another one. Free software under the Apache License 2.0."
            ),
            page,
        )
        text.setWordWrap(True)
        column = QVBoxLayout(page)
        column.setContentsMargins(LARGE, LARGE, LARGE, LARGE)
        column.setSpacing(MEDIUM)
        for part in (title, text, self.report):
            column.addWidget(part)
        return page

    def _licences(self) -> QWidget:
        page = QSplitter(Qt.Orientation.Horizontal, self)
        page.setChildrenCollapsible(False)
        page.addWidget(self.list)
        page.addWidget(self.text)
        page.setSizes([_SIZE.width() // 3, _SIZE.width() * 2 // 3])
        page.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        return page

    def _reader(self, text: str, name: str) -> QPlainTextEdit:
        reader = QPlainTextEdit(text, self)
        reader.setReadOnly(True)
        reader.setTabChangesFocus(True)
        reader.setAccessibleName(name)
        dress(reader, "field")
        return reader

    def _button(self, text: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setAutoDefault(False)
        dress(button, "plain")
        return button

    @Slot()
    def _copy_report(self) -> None:
        QGuiApplication.clipboard().setText(self.report.toPlainText())

    @Slot(int)
    def _show(self, row: int) -> None:
        part = self._parts[row]
        licence = self.tr("Licence: {}").format(part.licence or self.tr("not named by the package"))
        text = part.text() or self.tr("The package brings no text of its licence.")
        self.text.setPlainText("\n\n".join(filter(None, (licence, part.address, text))))
