"""Where prompts are added, changed and removed. Knows no file and no message."""

from collections.abc import Mapping

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from headstart.ui.chat.prompts import built_in, named
from headstart.ui.settings.setting_form import muted
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import MEDIUM, SMALL, Theme

_SIZE = QSize(680, 440)
_TEXT = Qt.ItemDataRole.UserRole


class PromptDialog(QDialog):
    """Emits all prompts when they shall be saved."""

    saved = Signal(object)  # {name: text}

    def __init__(self, prompts: Mapping[str, str], selection: str, theme: Theme, parent: QWidget | None = None) -> None:
        """`selection` is a text that a new prompt can be made of, or empty."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Prompts"))
        self.setStyleSheet(stylesheet.sheet(theme, self.font()))
        self._selection = selection
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Prompts"))
        self.name = QLineEdit(self)
        self.name.setAccessibleName(self.tr("Name"))
        self.text = QPlainTextEdit(self)
        self.text.setAccessibleName(self.tr("Text of the prompt"))
        self.text.setTabChangesFocus(True)
        dress(self.text, "field")
        self._fault = QLabel(self)
        dress(self._fault, "danger")
        self.add_button = self._button(self.tr("New"))
        self.import_button = self._button(self.tr("New from selection"))
        self.remove_button = self._button(self.tr("Remove"))
        self.restore_button = self._button(self.tr("Bring back the built-in ones"))
        self._cancel, self.save_button = self._button(self.tr("Cancel")), self._button(self.tr("Save"), "primary")
        self._lay_out()
        self._connect()
        for name, text in prompts.items():
            self._insert(name, text)
        self.list.setCurrentRow(0)
        self._check()

    def prompts(self) -> dict[str, str]:
        """As they are in the dialog now."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return {item.text(): item.data(_TEXT) for item in items}

    def _insert(self, name: str, text: str) -> QListWidgetItem:
        item = QListWidgetItem(name, self.list)
        item.setData(_TEXT, text)
        return item

    def _connect(self) -> None:
        self.list.currentItemChanged.connect(self._show)
        self.name.textEdited.connect(self._rename)
        self.text.textChanged.connect(self._rewrite)
        self.add_button.clicked.connect(lambda: self._add(""))
        self.import_button.clicked.connect(lambda: self._add(self._selection))
        self.remove_button.clicked.connect(self._remove)
        self.restore_button.clicked.connect(self._restore)
        self._cancel.clicked.connect(self.reject)
        self.save_button.clicked.connect(self._save)

    @Slot()
    def _show(self) -> None:
        item = self.list.currentItem()
        for field in (self.name, self.text, self.remove_button):
            field.setEnabled(item is not None)
        with QSignalBlocker(self.text):
            self.name.setText(item.text() if item else "")
            self.text.setPlainText(item.data(_TEXT) if item else "")
        self._check()

    @Slot(str)
    def _rename(self, typed: str) -> None:
        self.list.currentItem().setText(named(typed))
        self._check()

    @Slot()
    def _rewrite(self) -> None:
        self.list.currentItem().setData(_TEXT, self.text.toPlainText())
        self._check()

    def _add(self, text: str) -> None:
        self.list.setCurrentItem(self._insert(self._free_name(), text))
        self.name.setFocus()
        self.name.selectAll()

    def _free_name(self) -> str:
        taken, stem = self.prompts(), named(self.tr("prompt"))
        return next(name for name in (stem, *(f"{stem}-{n}" for n in range(2, len(taken) + 3))) if name not in taken)

    @Slot()
    def _remove(self) -> None:
        self.list.takeItem(self.list.currentRow())
        self._show()

    @Slot()
    def _restore(self) -> None:
        here = {self.list.item(row).text(): self.list.item(row) for row in range(self.list.count())}
        for name, text in built_in().items():
            (here.get(name) or self._insert(name, text)).setData(_TEXT, text)
        self._show()

    def _check(self) -> None:
        fault = self._find_fault()
        self._fault.setText(fault)
        self._fault.setVisible(bool(fault))
        self.save_button.setEnabled(not fault)
        self.import_button.setEnabled(bool(self._selection))
        self.import_button.setToolTip("" if self._selection else self.tr("Select text in the chat or in the message."))

    def _find_fault(self) -> str:
        names = [self.list.item(row).text() for row in range(self.list.count())]
        twice = next((name for name in names if names.count(name) > 1), None)
        empty = next((name for name, text in self.prompts().items() if not text.strip()), None)
        if "" in names:
            return self.tr("Every prompt needs a name.")
        if twice is not None:
            return self.tr("Two prompts are called /{}; give one another name.").format(twice)
        return "" if empty is None else self.tr("/{} has no text yet.").format(empty)

    @Slot()
    def _save(self) -> None:
        self.saved.emit(self.prompts())
        self.accept()

    def _button(self, label: str, kind: str = "plain") -> QPushButton:
        button = QPushButton(label, self)
        button.setAutoDefault(False)
        dress(button, kind)
        return button

    def _lay_out(self) -> None:
        left = QVBoxLayout()
        left.addWidget(self.list, 1)
        for button in (self.add_button, self.import_button, self.remove_button, self.restore_button):
            left.addWidget(button)
        self.list.setFixedWidth(max(220, self.restore_button.sizeHint().width()))
        places = self.tr(
            "Typed as /name at the beginning of a message. {cursor} is where you go on writing; {selection} and "
            "{clipboard} put in the text selected in the chat or copied."
        )
        right = QVBoxLayout()
        for label, field in ((self.tr("Name"), self.name), (self.tr("Text"), self.text)):
            right.addWidget(QLabel(label, self))
            right.addWidget(field)
        right.addWidget(muted(places, self))
        right.addWidget(self._fault)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self._cancel)
        foot.addWidget(self.save_button)
        right.addLayout(foot)
        row = QHBoxLayout(self)
        row.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        row.setSpacing(MEDIUM)
        row.addLayout(left)
        row.addLayout(right, 1)
        for column in (left, right):
            column.setSpacing(SMALL)
        self.resize(_SIZE)
