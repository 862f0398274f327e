"""The manual and the list of keys."""

from collections.abc import Iterable
from html import escape

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QAction, QFont, QKeySequence
from PySide6.QtWidgets import QHeaderView, QTextBrowser, QTreeWidget, QTreeWidgetItem, QWidget

from headstart.ui import actions
from headstart.ui.translation import translate
from headstart.ui.widgets.labels import button
from headstart.ui.widgets.layouts import Dialog, beside, stacked
from headstart.ui.widgets.theme import MEDIUM, current

_SIZE = QSize(680, 560)


def chapters() -> list[tuple[str, str]]:
    """Return title and text of each chapter."""
    return [
        (
            translate("Manual", "Begin"),
            translate(
                "Manual",
                "Choose a model on the page Models; the recommended one suits this computer. It is downloaded once. "
                "Then write a question in the box below and press Enter. Nothing you write leaves this computer, "
                "unless you choose a model on another computer.",
            ),
        ),
        (
            translate("Manual", "Answers"),
            translate(
                "Manual",
                "Esc stops an answer. Below it you can copy it, edit it or have it written again, also by another "
                "model; the older version stays, and the arrows show it. Compare puts two versions side by side. You "
                "can edit your questions, too.",
            ),
        ),
        (
            translate("Manual", "Files"),
            translate(
                "Manual",
                "Drop files on the window, or use the paper clip. Of a file that is too long, the model gets the "
                "passages that fit your question; the answer names them.",
            ),
        ),
        (
            translate("Manual", "Keep order"),
            translate(
                "Manual",
                "Double-click a chat in the sidebar to rename it. Drag chats onto tags and projects. A project has its "
                "own files and its own system prompt. The search looks into all chats.",
            ),
        ),
        (
            translate("Manual", "Settings of a chat"),
            translate(
                "Manual",
                "The button with the sliders opens them: precise or creative, how long an answer may be, and whether "
                "the model thinks first. A preset tells the model how to behave.",
            ),
        ),
        (
            translate("Manual", "Why it is fast"),
            translate(
                "Manual",
                "Headstart guesses the next words with a small model, with earlier text, or with both. Your model "
                "checks several words at once and keeps only those that it would have written itself. So the answer is "
                "the same and comes sooner. The race shows it, and Details below an answer has the figures.",
            ),
        ),
        (
            translate("Manual", "Tools"),
            translate(
                "Manual",
                "Models can use programs that speak MCP. Add one under Tools in the menu Chat, or try the clock that "
                "comes with Headstart. You are asked before each call.",
            ),
        ),
        (
            translate("Manual", "Quick Ask"),
            translate(
                "Manual",
                "Quick Ask is a small window for one question. Open it in the menu File or from the tray.",
            ),
        ),
        (
            translate("Manual", "Privacy"),
            translate(
                "Manual",
                "Chats are files on this computer. You can encrypt them on the page Privacy of the preferences. The "
                "page Folders shows where everything is.",
            ),
        ),
    ]


class ManualDialog(Dialog):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Manual"), parent)
        self.text = QTextBrowser(self)
        self.text.setAccessibleName(self.windowTitle())
        self.text.setFrameShape(QTextBrowser.Shape.NoFrame)
        self._write()
        _end(self, self.text)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange):
            self._write()

    def _write(self) -> None:
        rules = f"h3 {{ margin-bottom: 2px; }} p {{ margin-top: 0; line-height: 135%; color: {current().text}; }}"
        self.text.document().setDefaultStyleSheet(rules)
        self.text.setHtml("".join(f"<h3>{escape(title)}</h3><p>{escape(text)}</p>" for title, text in chapters()))


class KeysDialog(Dialog):
    """The keys of all commands, by menu."""

    def __init__(self, commands: dict[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Keys"), parent)
        self.list = QTreeWidget(self)
        self.list.setAccessibleName(self.windowTitle())
        self.list.setColumnCount(2)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        for menu, names in actions.menus():
            self._add(menu, ((actions.title(commands[name]), _keys(commands[name])) for name in names))
        self._add(
            self.tr("Message box"),
            (
                (self.tr("New line"), _native("Shift+Return")),
                (self.tr("Last question again, in an empty box"), _native("Up")),
                (self.tr("Choose a prompt"), "/"),
            ),
        )
        self.list.expandAll()
        _end(self, self.list)

    def _add(self, title: str, rows: Iterable[tuple[str, str]]) -> None:
        group = QTreeWidgetItem([title])
        bold = QFont(self.font())
        bold.setBold(True)
        group.setFont(0, bold)
        for words, keys in rows:
            if keys:
                group.addChild(QTreeWidgetItem([words, keys]))
        if group.childCount():
            self.list.addTopLevelItem(group)


def _keys(action: QAction) -> str:
    return action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)


def _native(keys: str) -> str:
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def _end(dialog: Dialog, content: QWidget) -> None:
    """Lay out a dialog of one part, with a button that closes it."""
    close = button(translate("Manual", "Close"), dialog)
    close.clicked.connect(dialog.close)
    close.setDefault(True)
    foot = beside(None, close)
    foot.insertStretch(0, 1)
    stacked(dialog, content, foot, margin=MEDIUM, growing=content)
    dialog.set_size(_SIZE)
