"""The question before a step in a working folder, with the change that it would make."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QColor, QPalette, QSyntaxHighlighter, QTextCharFormat
from PySide6.QtWidgets import QFrame, QWidget

from headstart.ui.formatting import escape_invisible, sentences
from headstart.ui.translation import translate_error
from headstart.ui.widgets.announcements import announce
from headstart.ui.widgets.focus import mark_as_stop
from headstart.ui.widgets.labels import LinesField, StatusLine, button, label
from headstart.ui.widgets.layouts import flowing, set_margins, stacked
from headstart.ui.widgets.stylesheet import set_style_class, set_style_property
from headstart.ui.widgets.theme import SMALL, TINY, Theme, mono_families
from headstart.workspace.tools import EDIT, READ, Proposal

_MAX_LINES = 14  # of a change; more scroll


class DiffHighlighter(QSyntaxHighlighter):
    """A highlighter of unified diffs: added lines, removed lines and places."""

    theme: Theme | None = None
    is_on = True

    def highlightBlock(self, text: str) -> None:
        theme = self.theme
        if theme is None or not self.is_on:
            return
        colour = {"+": theme.success, "-": theme.danger, "@": theme.muted}.get(text[:1])
        if colour:
            shape = QTextCharFormat()
            shape.setForeground(QColor(colour))
            self.setFormat(0, len(text), shape)


class ProposalBar(QFrame):
    """A bar that shows what a call would do, and asks for approval; hidden without a question."""

    decided = Signal(bool, bool, object)  # allowed, always in this chat, the text as you have changed it or None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_style_class(self, "bar")
        self._proposal: Proposal | None = None
        self._question, self._warning = label("", self, selectable=True), StatusLine(self)
        self._question.setTextFormat(Qt.TextFormat.PlainText)
        self.text = LinesField(_MAX_LINES, self)
        self._highlighter = DiffHighlighter(self.text.document())
        self.once = button(self.tr("Allow"), self, "primary")
        self.always = button("", self)
        self.edit = button(self.tr("Edit…"), self)
        self.refuse = button(self.tr("Do not allow"), self)
        self.always.setToolTip(self.tr("Until Headstart is closed."))
        answers = (self.once, self.always, self.edit, self.refuse)
        for each in answers:
            mark_as_stop(each)
        column = stacked(self, self._question, self._warning, self.text, flowing(answers, self), spacing=TINY)
        set_margins(column, start=SMALL, top=TINY, end=SMALL, bottom=SMALL)
        self.once.clicked.connect(lambda: self._decide(always=False))
        self.always.clicked.connect(lambda: self._decide(always=True))
        self.refuse.clicked.connect(lambda: self.decided.emit(False, False, None))  # noqa: FBT003
        self.edit.clicked.connect(self._on_edit)
        self.hide()

    @property
    def question(self) -> str:
        """The question; empty if hidden."""
        return "" if self.isHidden() else self._question.text()

    def apply_theme(self, theme: Theme) -> None:
        self._highlighter.theme = theme
        self._highlighter.rehighlight()
        font = self.text.font()
        font.setFamilies(mono_families())
        self.text.setFont(font)

    def ask(self, proposal: Proposal | None) -> None:
        """Ask about a proposal; None hides the bar."""
        self._proposal = proposal
        self.setVisible(proposal is not None)
        if proposal is None:
            return
        question = self.tr("The model wants to: {}").format(escape_invisible(translate_error(proposal.title)))
        self._question.setText(question)
        self._question.setAccessibleName(question)
        announce(self, sentences(f"{question}.", self.tr("Shift+Tab leads to the answers.")), urgent=True)
        set_style_property(self.once, "kind", "plain" if proposal.warnings else "primary")
        self._warning.say(" ".join(map(translate_error, proposal.warnings)), bad=True)
        scopes: dict[tuple[str, ...], str] = {
            READ: self.tr("Always read in this chat"),
            EDIT: self.tr("Always change in this chat"),
        }
        permission = proposal.permission
        self.always.setVisible(bool(permission))
        self.always.setText(scopes.get(permission or (), self.tr("Always this command in this chat")))
        self.edit.setVisible(proposal.new_text is not None)
        shown = escape_invisible(proposal.diff or proposal.detail)
        self._show_text(shown, self.tr("What would change"), is_diff=bool(proposal.diff))

    @Slot()
    def _on_edit(self) -> None:
        """Show the whole new text, so that the user can edit it."""
        assert self._proposal
        self._show_text(self._proposal.new_text or "", self.tr("The new text of the file"), is_diff=False)
        self.text.setReadOnly(False)
        self.edit.hide()
        self.text.setFocus()

    def _show_text(self, text: str, name: str, *, is_diff: bool) -> None:
        self._highlighter.is_on = is_diff
        self.text.setReadOnly(True)
        self.text.setAccessibleName(name)
        self.text.show_text(text.removesuffix("\n") if is_diff else text)
        self.text.setVisible(bool(text))
        self.text.setBackgroundRole(QPalette.ColorRole.Base)

    def _decide(self, *, always: bool) -> None:
        changed = None if self.text.isReadOnly() else self.text.toPlainText()
        self.decided.emit(True, always, changed)  # noqa: FBT003 - arguments of a signal
