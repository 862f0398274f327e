"""The widget of one message: author, folded thinking, text and buttons."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QRect, QRectF, QSize, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QEnterEvent,
    QFocusEvent,
    QFont,
    QGuiApplication,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QTextCursor,
)
from PySide6.QtWidgets import QBoxLayout, QLabel, QPushButton, QStyle, QStyleOptionToolButton, QToolButton, QWidget

from headstart import paths
from headstart.chat.conversation import Attachment
from headstart.markdown.blocks import Block, plain_text
from headstart.ui.composer.attachments import shorten_name
from headstart.ui.formatting import decimal, listed, whole
from headstart.ui.transcript.message import (
    WARMER,
    MessageAction,
    MessageContent,
    MessageId,
    MessageSource,
    MessageState,
    OriginRun,
    PassageSource,
    attached_blocks,
)
from headstart.ui.transcript.text_view import TextView
from headstart.ui.widgets.focus import mark_as_last, paint_ring
from headstart.ui.widgets.icons import show_icon
from headstart.ui.widgets.labels import ElidedLabel
from headstart.ui.widgets.layouts import FlowLayout, beside
from headstart.ui.widgets.menus import Menu, TextPopup
from headstart.ui.widgets.stylesheet import set_style_class, sheet
from headstart.ui.widgets.theme import LARGE, MEDIUM, RADIUS, SMALL, TINY, Theme, scaled


def author(content: MessageContent) -> str:
    """Return the name to show above a message."""
    roles = {
        "user": QCoreApplication.translate("MessageHeader", "You"),
        "assistant": QCoreApplication.translate("MessageHeader", "Assistant"),
        "system": QCoreApplication.translate("MessageHeader", "System prompt"),
    }
    return content.author or roles.get(content.role, content.role)


class MessageHeader(QWidget):
    """The author and the state of a message. A click selects the message, Shift+click a range."""

    def __init__(self, on_action: Callable[[MessageAction], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._on_action = on_action
        self._author = QLabel(self)
        self._state = QLabel(self)
        beside(self, self._author, self._state).addStretch(1)

    def show_content(self, content: MessageContent) -> None:
        """Show the author and the state."""
        self._author.setText(author(content))
        states = {MessageState.STREAMING: self.tr("writing…"), MessageState.STOPPED: self.tr("stopped")}
        self._state.setText("" if content.notice else states.get(content.state, ""))  # the notice says more

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        bold = QFont(font)
        bold.setBold(True)
        self._author.setFont(bold)
        _set_text_colour(self._author, theme.text)
        self._state.setFont(_small_font(font))
        _set_text_colour(self._state, theme.muted)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            extends = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            self._on_action(MessageAction.SELECT_UP_TO if extends else MessageAction.SELECT)


_ALWAYS_SHOWN = frozenset({"previous", "next", "details"})  # buttons


class _PlainButton(QToolButton):
    """A flat button without a style sheet, which the transcript avoids for speed."""

    def initStyleOption(self, option: QStyleOptionToolButton) -> None:
        super().initStyleOption(option)
        option.state &= ~QStyle.StateFlag.State_HasFocus  # Fusion's own mark is too pale

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            paint_ring(painter, self.rect(), self.palette().color(QPalette.ColorRole.Link))
            painter.end()


class FooterButton(_PlainButton):
    """A button that may show only while its footer is revealed. It keeps its place, and Tab reaches it."""

    def __init__(self, name: str, footer: "MessageFooter") -> None:
        super().__init__(footer)
        self.setObjectName(name)
        self._footer, self._is_always_shown = footer, name in _ALWAYS_SHOWN
        mark_as_last(self)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._is_always_shown or self._footer.is_revealed:
            super().paintEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._footer.reveal(is_focused=True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._footer.reveal(is_focused=False)


class MessageFooter(QWidget):
    """The buttons of a message, the number of its version and its statistics.

    The buttons show below the last message, and below others while the pointer or the focus is there.
    """

    def __init__(self, on_action: Callable[[MessageAction], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._on_action = on_action
        self._is_last = self._is_hovered = self._is_focused = False
        self._more = ""  # the statistics that are not shown
        self._copy = self._button("copy", self.tr("Copy message"), MessageAction.COPY)
        self._edit = self._button("edit", self.tr("Edit message"), MessageAction.EDIT)
        self._regenerate = self._button("regenerate", self.tr("Regenerate answer"), MessageAction.REGENERATE)
        self.more = self._button("more", self.tr("More actions"))
        self._previous = self._button("previous", self.tr("Previous version"), MessageAction.PREVIOUS)
        self._count = QLabel(self)
        self._next = self._button("next", self.tr("Next version"), MessageAction.NEXT)
        self._compare = self._button("compare", self.tr("Compare answers"), MessageAction.COMPARE)
        self._stats = ElidedLabel(self)
        self._stats.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._details = self._button("details", self.tr("Show the details"))
        self._details.setText(self.tr("Details"))
        self._details.clicked.connect(lambda: TextPopup(self._more, self).open_below(self._details))
        self._rows = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._buttons = beside(None, self._copy, self._edit, self._regenerate, self.more, spacing=TINY)
        self._figures = beside(None, self._stats, self._details, spacing=TINY, growing=self._stats)
        self._lay_out()

    def buttons(self) -> list[QToolButton]:
        """Return all buttons in reading order."""
        return [*self._icons(), self._details]

    @property
    def is_revealed(self) -> bool:
        """True if its buttons show."""
        return self._is_last or self._is_hovered or self._is_focused

    def reveal(
        self, *, is_last: bool | None = None, is_hovered: bool | None = None, is_focused: bool | None = None
    ) -> None:
        """Change one of the reasons to show the buttons."""
        was_revealed = self.is_revealed
        self._is_last = self._is_last if is_last is None else is_last
        self._is_hovered = self._is_hovered if is_hovered is None else is_hovered
        self._is_focused = self._is_focused if is_focused is None else is_focused
        if self.is_revealed != was_revealed:
            self.update()

    def show_content(self, content: MessageContent) -> None:
        """Update buttons and texts."""
        self._align(at_end=content.role == "user")
        busy = content.state is MessageState.STREAMING
        for button in (self._edit, self._regenerate, self.more):
            button.setEnabled(not busy)
        self._regenerate.setVisible(content.role == "assistant")
        for widget in (self._previous, self._count, self._next):
            widget.setVisible(content.versions > 1)
        self._compare.setVisible(content.versions > 1 and content.role == "assistant")
        self._compare.setEnabled(not busy)
        self._count.setText(f"{content.version}/{content.versions}")
        self._count.setAccessibleName(
            self.tr("Version {number} of {count}").format(number=content.version, count=content.versions)
        )
        self._previous.setEnabled(not busy and content.version > 1)
        self._next.setEnabled(not busy and content.version < content.versions)
        first, _, self._more = content.stats.partition("\n")
        self._stats.show_text(first)
        self._stats.setAccessibleDescription(self._more)
        self._stats.setVisible(bool(content.stats))
        self._details.setVisible(bool(self._more))

    def height_for(self, width: int) -> int:
        """Lay the footer out for this width and return its height; the figures go below the buttons if need be."""
        self._rows.activate()  # else the inner rows learn of a new font only with the next event
        parts = (self._buttons, self._figures, self._stats)  # the label has no minimum width
        needed = sum(part.sizeHint().width() for part in parts) + self._rows.spacing()
        directions = QBoxLayout.Direction
        self._rows.setDirection(directions.LeftToRight if needed <= width else directions.TopToBottom)
        return self.sizeHint().height()

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        for button in self._icons():
            show_icon(button, button.objectName(), font)
        for widget in (self._count, self._stats, self._details):
            widget.setFont(_small_font(font))
            _set_text_colour(widget, theme.muted)

    def _icons(self) -> list[QToolButton]:
        return [self._copy, self._edit, self._regenerate, self.more, self._previous, self._next, self._compare]

    def _button(self, name: str, label: str, action: MessageAction | None = None) -> QToolButton:
        button = FooterButton(name, self)
        button.setAutoRaise(True)
        button.setToolTip(label)
        button.setAccessibleName(label)
        if action:
            button.clicked.connect(lambda: self._on_action(action))
        return button

    def _lay_out(self) -> None:
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(TINY)
        self._buttons.insertStretch(0, 0)
        self._buttons.addSpacing(SMALL)
        for widget in (self._previous, self._count, self._next, self._compare):
            self._buttons.addWidget(widget)
        self._buttons.addStretch(1)
        self._rows.addLayout(self._buttons)
        self._rows.addLayout(self._figures, 1)

    def _align(self, *, at_end: bool) -> None:
        """Put the buttons below a question at the end of the row, where its bubble is."""
        for layout, last in ((self._buttons, self._buttons.count() - 1), (self._rows, 1)):
            layout.setStretch(0, int(at_end))
            layout.setStretch(last, int(not at_end))


class SuggestedActions(QWidget):
    """Buttons below a message that did not end well."""

    def __init__(self, on_action: Callable[[MessageAction], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._on_action = on_action
        words = {
            MessageAction.ANSWER: self.tr("Answer"),
            MessageAction.CONTINUE: self.tr("Continue"),
            MessageAction.REGENERATE: self.tr("Try again"),
            MessageAction.REGENERATE_WARMER: self.tr("Try again at temperature {}").format(decimal(WARMER, 1)),
            MessageAction.GO_ON: self.tr("Go on anyway"),
        }
        self._buttons = {action: self._button(action, text) for action, text in words.items()}
        self._row = beside(self, *self._buttons.values())
        self._row.setContentsMargins(0, TINY, 0, TINY)
        self._row.insertStretch(0, 0)
        self._row.addStretch(1)

    def buttons(self) -> list[QPushButton]:
        """Return the buttons in reading order."""
        return list(self._buttons.values())

    def show_actions(self, actions: tuple[MessageAction, ...]) -> None:
        """Show the buttons of these actions and no others."""
        for action, button in self._buttons.items():
            button.setVisible(action in actions)
        self._row.setStretch(0, int(MessageAction.ANSWER in actions))  # below the bubble of a question

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        """Set a style sheet: the transcript, for speed, inherits none."""
        self.setFont(font)
        self.setStyleSheet(sheet(theme, font))

    def _button(self, action: MessageAction, text: str) -> QPushButton:
        button = QPushButton(text, self)
        set_style_class(button, "plain")
        button.clicked.connect(lambda: self._on_action(action))
        return button


# Documents. The desktop might run a file of another kind, such as a script.
_OPENED = frozenset({".pdf", ".docx", ".epub", ".html", ".htm", ".md", ".txt", ".csv", ".tex", ".rst", ".log"})
_EXCERPT_WIDTH = 200  # pixels, at the usual size of text
_SEARCHED_WIDTH = 280  # likewise, of what was looked for


class SourceList(QWidget):
    """Buttons with the first words of the passages that the model got. A click opens or closes a passage."""

    def __init__(self, on_click: Callable[[int], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._on_click = on_click
        self._flow = FlowLayout(self, TINY)
        self._buttons: list[QToolButton] = []
        self._labels: list[QLabel] = []
        self._sources: Sequence[PassageSource] = ()
        self._path = Path()  # of the file of the open passage
        self.opener = QPushButton(self)  # of the file of the open passage; hidden if it is not on this computer
        set_style_class(self.opener, "plain")
        self.opener.clicked.connect(self._open_file)
        self.opener.hide()
        self.setAccessibleName(self.tr("Passages of files"))

    def buttons(self) -> list[QToolButton]:
        """Return the buttons of the passages in reading order."""
        return list(self._buttons)

    def show_sources(self, sources: Sequence[PassageSource], theme: Theme, font: QFont, searched: str = "") -> None:
        """Replace the buttons; the name of a file stands before its passages, or what was looked for."""
        for old in (*self._labels, *self._buttons):
            self._flow.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._flow.removeWidget(self.opener)
        self._labels, self._buttons, self._sources = [], [], sources
        self.setFont(_small_font(font))
        self.setStyleSheet(sheet(theme, font))
        self.opener.setFont(self.font())
        for number, source in enumerate(sources):
            button = self._button(number, source)
            before = sources[number - 1] if number else None
            if source.place and not (before and before.place):
                lead = self.tr("Given to the model:")
                if searched:
                    width = scaled(_SEARCHED_WIDTH, self.font())
                    short = self.fontMetrics().elidedText(searched, Qt.TextElideMode.ElideRight, width)
                    lead = self.tr("Given to the model, found for “{}”:").format(short)
                self._add_label(lead, searched, button.sizeHint().height())
            elif not source.place and not (before and source.file == before.file):
                words = self.tr("From {}:").format(shorten_name(source.file))
                self._add_label(words, source.file, button.sizeHint().height())
            self._buttons.append(button)
            self._flow.addWidget(button)
        self._flow.addWidget(self.opener)
        self.set_open(None)

    def set_open(self, number: int | None) -> None:
        """Mark the button of the open passage, and offer to open its file."""
        for index, chip in enumerate(self._buttons):
            chip.setChecked(index == number)
        path = self._sources[number].path if number is not None else ""
        self._path = Path(path)
        words = self.tr("Open the File") if self._path.suffix.lower() in _OPENED else self.tr("Show in Its Folder")
        is_there = bool(path) and paths.exists(self._path)
        self.opener.setText(words if is_there else self.tr("The file is no longer there"))
        self.opener.setEnabled(is_there)
        self.opener.setVisible(bool(path))

    @Slot()
    def _open_file(self) -> None:
        """Open a document by the desktop, or the folder of a file that the desktop might run."""
        target = self._path if self._path.suffix.lower() in _OPENED else self._path.parent
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(target)))

    def _add_label(self, words: str, tip: str, height: int) -> None:
        label = QLabel(words, self)
        label.setToolTip(tip)
        label.setFixedHeight(height)
        label.setFont(self.font())
        set_style_class(label, "muted")
        self._labels.append(label)
        self._flow.addWidget(label)
        label.show()

    def _button(self, number: int, source: PassageSource) -> QToolButton:
        button = QToolButton(self)
        set_style_class(button, "chip")
        button.setFont(self.font())  # under a style sheet, a child made later may not inherit it
        button.setCheckable(True)
        excerpt = " ".join(source.text[:200].split())
        width = scaled(_EXCERPT_WIDTH, self.font())
        words = source.place or button.fontMetrics().elidedText(excerpt, Qt.TextElideMode.ElideRight, width)
        button.setText(words.replace("&", "&&"))
        place = self.tr("{file}, after {percent} % of it").format(file=source.file, percent=source.percent)
        button.setToolTip(f"{source.path or source.file}\n{excerpt}…" if source.place else place)
        button.setAccessibleName(self.tr("Passage of {file}: {words}").format(file=source.file, words=excerpt[:60]))
        button.clicked.connect(partial(self._on_click, number))
        button.ensurePolished()
        button.show()
        return button


def _small_font(font: QFont) -> QFont:
    small = QFont(font)
    small.setPointSizeF(font.pointSizeF() * 0.88)
    return small


def _set_text_colour(widget: QWidget, colour: str) -> None:
    palette = widget.palette()
    palette.setColor(widget.foregroundRole(), colour)
    widget.setPalette(palette)


COMPARE_ENTRY = "compare"  # name of an action of the menu
_BUBBLE = 0.75  # of the width, at most
_AROUND_TEXT = (-SMALL, -TINY, SMALL, TINY)  # of the ring of a text that has the focus
_MAX_NAMES = 3  # attached files named while they are folded


class MessageView(QWidget):
    """The widget of one message in a transcript."""

    action_requested = Signal(object, object)  # MessageAction, id of the message
    menu_opening = Signal(object, object)  # Menu to add to, id of the message
    height_changed = Signal(object)  # id of the message

    def __init__(self, theme: Theme, font: QFont, parent: QWidget | None = None, *, is_bare: bool = False) -> None:
        """`is_bare` leaves out author and buttons, for a comparison that has its own."""
        super().__init__(parent)
        self._theme, self._font, self._is_bare = theme, font, is_bare
        self._source = MessageSource(MessageContent("", "assistant", ""))
        self._content = self._source.content()
        self._origins_visible = False
        self._selected = False
        self._header, self._footer = MessageHeader(self.perform, self), MessageFooter(self.perform, self)
        self._text = self._text_view(theme)
        self._unfolded: TextView | None = None
        self._folded: list[Block] = []  # blocks of `_unfolded`
        self._fold = _PlainButton(self)
        self._fold.setAutoRaise(True)
        self._fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._fold.clicked.connect(self._on_fold_clicked)
        self._notice = QLabel(self)
        self._notice.setWordWrap(True)
        self._suggestions: SuggestedActions | None = None  # created for the few messages that need it
        self._sources: SourceList | None = None  # likewise
        self._passage: TextView | None = None
        self._open_number: int | None = None  # of the open passage
        self._bubble = QRect()  # of a question
        self._footer.more.clicked.connect(self._open_menu)
        self._apply_theme()

    # Content

    @property
    def content(self) -> MessageContent:
        """The message with the text and the thinking that were appended since."""
        return self._source.content()

    @property
    def message_id(self) -> MessageId:
        return self._content.id

    def set_message(self, content: MessageContent) -> None:
        """Show another message, or another state of this one."""
        self._content = content
        self._source = MessageSource(content)
        self._close_fold()
        self._close_passage()
        self._update_sources()
        self._text.set_origins(None, visible=False)
        self._text.writer.show(self._source.blocks, source=content.text)
        self._text.moveCursor(QTextCursor.MoveOperation.Start)  # else the focus scrolls to the end of a wide table
        self._text.set_origins(self._source.origins, self._origins_visible)
        self._update_parts()

    def begin_stream(self) -> None:
        """Prepare for a streamed text."""
        self._set_state(replace(self._content, state=MessageState.STREAMING, notice="", stats="", actions=()))

    def append(self, text: str, runs: Sequence[OriginRun], thinking: str = "", seconds: int = 0) -> None:
        """Show more text and thinking, who proposed which part of the text, and the time spent thinking so far."""
        assert sum(run.length for run in runs) == len(text)
        self._content = replace(self._content, thinking_seconds=seconds)
        self._source.set_metadata(self._content)
        first = self._source.append(text, runs, thinking)
        self._text.writer.show(self._source.blocks, first, self._source.text)
        self._on_text_changed()

    def end_stream(self, ended: MessageContent) -> None:
        """Complete the text and take over the state, statistics and notice of `ended`."""
        first = self._source.finish()
        self._text.writer.show(self._source.blocks, first, self._source.text)
        self._on_text_changed()
        shown = replace(self._content, state=ended.state, stats=ended.stats, notice=ended.notice, actions=ended.actions)
        self._set_state(replace(shown, thinking_seconds=ended.thinking_seconds))

    def set_attached(self, attached: tuple[Attachment, ...]) -> None:
        """Show the results of tools that the answer has so far."""
        self._set_state(replace(self._content, attached=attached))
        if self._unfolded:
            self._show_unfolded()

    def set_notice(self, notice: str) -> None:
        """Show a sentence below the text, such as the progress of reading the prompt."""
        self._set_state(replace(self._content, notice=notice))

    def plain_text(self) -> str:
        """Return the answer without markup and thinking."""
        return plain_text(self._source.blocks)

    def selected_text(self) -> str:
        """Return the selected text without markup."""
        return next((text.selected_text() for text in self._texts() if text.textCursor().hasSelection()), "")

    # Appearance

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        self._theme, self._font = theme, font
        for text in self._texts():
            text.apply_theme(self._folded_theme() if text is self._unfolded else theme, font)
        self._apply_theme()
        self.height_changed.emit(self.message_id)

    def set_origins_visible(self, visible: bool) -> None:
        """Show or hide the origins of the text."""
        self._origins_visible = visible
        self._text.set_origins(self._source.origins, visible)

    def set_last(self, is_last: bool) -> None:
        """Show the buttons always, as below the last message, or only while the pointer or the focus is there."""
        self._footer.reveal(is_last=is_last)

    def set_selected(self, selected: bool) -> None:
        """Show whether the message belongs to the selected range."""
        self._selected = selected
        self.update()

    def set_matches(self, matches: Sequence[tuple[int, int]], current: int | None) -> None:
        """Mark ranges that were found in the text of the message."""
        self._text.set_matches(matches, current)

    def mark_spoken(self, place: tuple[int, int] | None) -> None:
        """Mark the sentence that is read aloud, a range of the text; None marks nothing."""
        self._text.mark_spoken(place)

    def set_file_matches(self, matches: Sequence[tuple[int, int, int]], current: int | None) -> None:
        """Mark ranges (file, start, end) that were found in attached files or the thinking, and show the current."""
        if current is not None:
            self._show_file_place(*matches[current])
        if self._unfolded is None:
            return
        places = [(number, self._source.place_in_file(*match)) for number, match in enumerate(matches)]
        visible = [(number, place) for number, place in places if place]
        index = next((at for at, (number, _) in enumerate(visible) if number == current), None)
        self._unfolded.set_matches([place for _, place in visible], index)

    def _show_file_place(self, file: int, start: int, end: int) -> None:
        has_moved = self._source.look_at_file(file, start, end)
        if self._unfolded is None:
            self._fold.click()
        elif has_moved:
            self._show_unfolded()
            self.height_changed.emit(self.message_id)

    def rect_of(self, offset: int, file: int | None = None) -> QRectF:
        """Return the rectangle, in this view, of the character at an offset of the text or of an attached file."""
        text = self._text
        if file is not None and self._unfolded:
            text = self._unfolded
            offset = (self._source.place_in_file(file, offset, offset + 1) or (0, 0))[0]
        return text.rect_of(offset).translated(text.pos().toPointF())

    def is_engaged(self) -> bool:
        """Return whether the view is in use: it streams, has a selection or the focus."""
        focused = self.focusWidget()
        return (
            self._content.state is MessageState.STREAMING
            or any(text.textCursor().hasSelection() for text in self._texts())
            or (focused is not None and focused.hasFocus())
        )

    def focus_widgets(self) -> list[QWidget]:
        """Return the widgets that Tab visits, in reading order."""
        unfolded = [self._unfolded] if self._unfolded else []
        passages = [*self._sources.buttons(), *([self._passage] if self._passage else [])] if self._sources else []
        actions = self._suggestions.buttons() if self._suggestions else []
        return [self._fold, *unfolded, self._text, *passages, *actions, *self._footer.buttons()]

    # Geometry

    def set_width(self, width: int) -> int:
        """Lay everything out for this width and return the height."""
        y, rows = SMALL, self._rows()
        if self._is_question:
            y += TINY  # a line of text has more room below its letters than above them
            said = [row for row in rows if row in (self._fold, self._unfolded, self._text)]
            breadth = self._bubble_width(width)
            y = self._stack(said, QRect(width - breadth, y, breadth, 0), width) + TINY
            self._bubble = QStyle.visualRect(
                self.layoutDirection(), QRect(0, 0, width, y), QRect(width - breadth, 0, breadth, y)
            )
            rows = [row for row in rows if row not in said]
            y += TINY
            if self._footer in rows and self._put_beside(width - breadth, width):
                rows.remove(self._footer)
        height = self._stack(rows, QRect(0, y, width, 0), width) + SMALL if rows else y
        if self.size() != QSize(width, height):
            self.resize(width, height)
        return height

    def _put_beside(self, room: int, width: int) -> bool:
        """Put the buttons of a question before its bubble, if there is room: below, they part it from the answer."""
        needed = self._footer.sizeHint().width() + TINY
        if needed > room:
            return False
        height = self._footer.height_for(needed)
        rect = QRect(room - needed, max(self._bubble.height() - height - TINY, 0), needed - TINY, height)
        self._footer.setGeometry(QStyle.visualRect(self.layoutDirection(), QRect(0, 0, width, height), rect))
        return True

    def _stack(self, rows: Sequence[QWidget], place: QRect, width: int) -> int:
        """Put rows below each other from the top of `place`, with room at its sides. Return where they end."""
        y, room = place.top(), place.width() - 2 * MEDIUM
        for widget in rows:
            indent = LARGE if widget in (self._unfolded, self._passage) else 0
            height = self._height_of(widget, room - indent)
            breadth = widget.sizeHint().width() if widget is self._fold else room - indent
            rect = QRect(place.left() + MEDIUM + indent, y, breadth, height)
            widget.setGeometry(QStyle.visualRect(self.layoutDirection(), QRect(0, 0, width, height), rect))
            y += height + TINY
        return y - TINY

    @property
    def _is_question(self) -> bool:
        return self._content.role == "user"

    def _bubble_width(self, width: int) -> int:
        """Return the width of a question's bubble: that of its text, up to a share of the whole width."""
        most = round(width * _BUBBLE)
        if self._unfolded:
            return most
        self._text.height_for(most - 2 * MEDIUM)
        wanted = [ceil(self._text.document().idealWidth())] if self._source.blocks else []
        wanted += [] if self._fold.isHidden() else [self._fold.sizeHint().width()]
        return min(most, max(wanted, default=0) + 2 * MEDIUM)

    def _height_of(self, widget: QWidget, width: int) -> int:
        if isinstance(widget, TextView | MessageFooter):
            return widget.height_for(width)
        return widget.heightForWidth(width) if widget.hasHeightForWidth() else widget.sizeHint().height()

    def _rows(self) -> list[QWidget]:
        """Return the visible parts from top to bottom."""
        parts: list[QWidget] = [] if self._header.isHidden() else [self._header]
        if not self._fold.isHidden():
            parts.append(self._fold)
            parts += [self._unfolded] if self._unfolded else []
        parts += [self._text] if self._source.blocks else []
        parts += [self._sources] if self._sources and self._content.sources else []
        parts += [self._passage] if self._passage else []
        parts += [] if self._notice.isHidden() else [self._notice]
        parts += [self._suggestions] if self._suggestions and self._content.actions else []
        return parts if self._is_bare else [*parts, self._footer]

    def paintEvent(self, _event: QPaintEvent) -> None:
        ground = self._theme.bubble if self._content.role != "assistant" else ""
        area = self._bubble if self._is_question else self.rect()
        focused = next((text for text in self._texts() if text.shows_focus), None)
        if not ground and not self._selected and not self._unfolded and not focused:
            return
        painter = QPainter(self)
        if self._unfolded:
            bar = self._unfolded.geometry()
            painter.fillRect(bar.left() - SMALL, bar.top(), 2, bar.height(), QColor(self._theme.quote_bar))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.accent), 2) if self._selected else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground) if ground else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(area).adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        if focused:
            paint_ring(painter, focused.geometry().adjusted(*_AROUND_TEXT), QColor(self._theme.link))
        painter.end()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._footer.reveal(is_hovered=True)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._footer.reveal(is_hovered=False)

    # Menu

    def menu(self) -> Menu:
        """Build the menu of the button with the dots; others may add to it."""
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Copy as Markdown"), partial(self.perform, MessageAction.COPY_MARKDOWN))
        if self._content.role == "assistant":
            menu.addAction(self.tr("Continue This Answer"), partial(self.perform, MessageAction.CONTINUE))
            compare = menu.addAction(self.tr("Compare Answers…"), partial(self.perform, MessageAction.COMPARE))
            compare.setObjectName(COMPARE_ENTRY)
        menu.addAction(self.tr("Select Message"), partial(self.perform, MessageAction.SELECT))
        menu.addAction(self.tr("Select up to Here"), partial(self.perform, MessageAction.SELECT_UP_TO))
        menu.addAction(self.tr("New Chat from Here"), partial(self.perform, MessageAction.FORK))
        menu.addSeparator()
        menu.addAction(self.tr("Delete Message"), partial(self.perform, MessageAction.DELETE))
        self.menu_opening.emit(menu, self.message_id)
        return menu

    @Slot(object)
    def perform(self, action: MessageAction) -> None:
        """Copy the message, or pass another action on."""
        match action:
            case MessageAction.COPY:
                QGuiApplication.clipboard().setText(self.plain_text())
            case MessageAction.COPY_MARKDOWN:
                QGuiApplication.clipboard().setText(self._source.text)
            case _:
                self.action_requested.emit(action, self.message_id)

    # Parts

    def _open_menu(self) -> None:
        button = self._footer.more
        self.menu().popup(button.mapToGlobal(button.rect().bottomLeft()))

    def _on_fold_clicked(self) -> None:
        if self._unfolded is None:
            self._unfolded = self._text_view(self._folded_theme())
            self._unfolded.setAccessibleName(self._fold.accessibleName())
            self._folded = []
            self._show_unfolded()
            self._unfolded.show()
        else:
            self._close_fold()
        self._update_fold()
        self.height_changed.emit(self.message_id)

    def _folded_theme(self) -> Theme:
        """Return the colours of the unfolded part, which are paler than those of the answer."""
        return replace(self._theme, text=self._theme.muted) if self._source.thinking else self._theme

    def _close_fold(self) -> None:
        if self._unfolded:
            self._unfolded.hide()
            self._unfolded.deleteLater()
            self._unfolded = None

    def _text_view(self, theme: Theme) -> TextView:
        view = TextView(theme, self._font, self)
        view.focus_changed.connect(self.update)
        return view

    def _texts(self) -> list[TextView]:
        return [text for text in (self._text, self._unfolded, self._passage) if text]

    def _toggle_passage(self, number: int) -> None:
        is_other = number != self._open_number
        self._close_passage()
        if is_other and self._sources:
            source = self._content.sources[number]
            passage = attached_blocks([Attachment(source.file, source.text)])
            self._open_number, self._passage = number, self._text_view(self._theme)
            self._passage.writer.show(passage.blocks, source=passage.source)
            self._passage.setAccessibleName(self._sources.buttons()[number].accessibleName())
            self._passage.show()
            self._sources.set_open(number)
        self.height_changed.emit(self.message_id)

    def _close_passage(self) -> None:
        if self._passage:
            self._passage.hide()
            self._passage.deleteLater()
        self._passage = self._open_number = None
        if self._sources:
            self._sources.set_open(None)

    # Showing

    def _on_text_changed(self) -> None:
        self._text.setVisible(bool(self._source.blocks))
        if self._unfolded:
            self._show_unfolded()
        self._update_fold()
        self.height_changed.emit(self.message_id)

    def _show_unfolded(self) -> None:
        assert self._unfolded
        source, blocks = self._source.folded()
        pairs = enumerate(zip(self._folded, blocks, strict=False))
        first = next((at for at, (old, new) in pairs if old is not new), min(len(self._folded), len(blocks)))
        self._folded = blocks
        self._unfolded.writer.show(blocks, first, source)

    def _update_fold(self) -> None:
        thinks = bool(self._source.thinking)
        self._fold.setVisible(thinks or bool(self._content.attached))
        show_icon(self._fold, "unfolded" if self._unfolded else "folded", self._font)
        labels = [self._thinking_label()] if thinks else []
        labels += [self._files_label()] if self._content.attached else []
        label = listed(labels)
        self._fold.setText(label)
        self._fold.setAccessibleName(label)
        if thinks:
            tip = self.tr("Hide the thinking") if self._unfolded else self.tr("Show the thinking")
        elif self._content.role == "assistant":
            tip = self.tr("Hide the calls of tools") if self._unfolded else self.tr("Show the calls of tools")
        else:
            tip = self.tr("Hide the attached files") if self._unfolded else self.tr("Show the attached files")
        self._fold.setToolTip(tip)

    def _thinking_label(self) -> str:
        seconds = self._content.thinking_seconds
        if self._source.is_thinking:
            return self.tr("Thinking… {} s").format(whole(seconds)) if seconds else self.tr("Thinking…")
        if seconds:
            return self.tr("Thought for {} s").format(whole(seconds))
        return self.tr("Thoughts ({count} words)").format(count=whole(len(self._source.thinking.split())))

    def _files_label(self) -> str:
        names = [file.name for file in self._content.attached]
        if self._content.role == "assistant":
            names = [name.partition(" ")[0] for name in names]  # the arguments may be long
        text = listed(names[:_MAX_NAMES])
        if self._content.role == "assistant":
            text = self.tr("Tools: {}").format(text)
        more = len(names) - _MAX_NAMES
        return self.tr("{names} and {count} more").format(names=text, count=more) if more > 0 else text

    def _set_state(self, content: MessageContent) -> None:
        self._content = content
        self._source.set_metadata(content)
        self._update_parts()
        self.height_changed.emit(self.message_id)

    def _update_parts(self) -> None:
        content = self._content
        self._header.show_content(content)
        self._footer.show_content(content)
        self._header.setVisible(not self._is_bare and not self._is_question)  # the bubble says whose it is
        self._footer.setVisible(not self._is_bare)
        self._update_notice()
        self._update_suggestions()
        self._text.setVisible(bool(self._source.blocks))
        self._update_fold()
        name = self.tr("Message from {author}").format(author=author(content))
        self.setAccessibleName(name)
        self._text.setAccessibleName(name)
        self.update()

    def _update_notice(self) -> None:
        notice, failed = self._content.notice, self._content.state is MessageState.FAILED
        self._notice.setText(notice)
        self._notice.setVisible(bool(notice))
        _set_text_colour(self._notice, self._theme.danger if failed else self._theme.muted)

    def _update_suggestions(self) -> None:
        actions = self._content.actions
        if actions and self._suggestions is None and not self._is_bare:
            self._suggestions = SuggestedActions(self.perform, self)
            self._suggestions.apply_theme(self._theme, self._font)
        if self._suggestions:
            self._suggestions.show_actions(actions)
            self._suggestions.setVisible(bool(actions))

    def _update_sources(self) -> None:
        sources = self._content.sources
        if sources and self._sources is None:
            self._sources = SourceList(self._toggle_passage, self)
        if self._sources:
            self._sources.show_sources(sources, self._theme, self._font, self._content.searched)
            self._sources.setVisible(bool(sources))

    def _apply_theme(self) -> None:
        self._header.apply_theme(self._theme, self._font)
        self._footer.apply_theme(self._theme, self._font)
        self._notice.setFont(self._font)
        self._fold.setFont(self._font)
        if self._suggestions:
            self._suggestions.apply_theme(self._theme, self._font)
        self._update_sources()
        if self._sources:
            self._sources.set_open(self._open_number)
        self._update_notice()
        self._update_fold()
