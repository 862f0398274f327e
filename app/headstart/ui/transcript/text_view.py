"""The text of one message on screen, with links, selection, tooltips and marked matches."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QPointF, QRect, QRectF, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QCursor,
    QDesktopServices,
    QFocusEvent,
    QFont,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QLinearGradient,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QTextCursor,
    QTextDocument,
    QTextTable,
    QWheelEvent,
)
from PySide6.QtWidgets import QFileDialog, QFrame, QMessageBox, QScrollBar, QTextBrowser, QToolTip, QWidget
from shiboken6 import isValid

from headstart.chat.documents import write_export
from headstart.engine.origins import ORIGINS
from headstart.errors import ExchangeError
from headstart.markdown import parser as markdown
from headstart.markdown.blocks import Code, plain_text
from headstart.markdown.parser import safe_address
from headstart.ui.markdown.document import (
    CODE_ANCHORS,
    COPY,
    QUOTE_INDENT,
    SAVE,
    DocumentWriter,
    Formats,
    QuotedBlock,
    WideBlock,
    frame_rect,
)
from headstart.ui.markdown.highlighting import Highlighter
from headstart.ui.markdown.mathematics import SIGN
from headstart.ui.markdown.preview import PreviewDialog, file_suffix
from headstart.ui.transcript.message import OriginRun, Origins
from headstart.ui.translation import translate_error
from headstart.ui.widgets.focus import is_by_key
from headstart.ui.widgets.layouts import initial_path, remember_folder, style_dialog
from headstart.ui.widgets.menus import Menu
from headstart.ui.widgets.progress import saved_text
from headstart.ui.widgets.stylesheet import sheet
from headstart.ui.widgets.theme import Theme

_BAR = 3  # width of the bar beside a quote, in pixels
_SCROLL_BAR = 10  # height of the bar below what is wide
_SHADE = 16  # width of the shade where something wide goes on, in pixels
_SHADE_ALPHA = {False: 45, True: 130}  # its strength, by whether the theme is dark


class _SidewaysBar(QScrollBar):
    """A scroll bar that leaves the wheel to the transcript, but for a sideways one."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        if _is_sideways(event):
            super().wheelEvent(event)
        else:
            event.ignore()


@dataclass
class _WideArea:
    """A wide block and its scroll bar."""

    block: WideBlock
    bar: QScrollBar

    @property
    def rect(self) -> QRect:
        """The part of the view that scrolls."""
        return self.block.scrolled.toAlignedRect()


class TextView(QTextBrowser):
    """The view of a document, which `writer` writes. Its parent sizes it with `height_for`."""

    text_resized = Signal()
    focus_changed = Signal()
    shows_focus = False  # a key has moved the focus here; the parent paints the ring

    def __init__(self, theme: Theme, font: QFont, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._origins: Origins | None = None
        self._origins_visible = False
        self._wide: dict[int, _WideArea] = {}
        self.setFrameShape(QFrame.Shape.NoFrame)
        # With its own width, a hidden text would be laid out as narrow as a widget that was never shown.
        self.setLineWrapMode(QTextBrowser.LineWrapMode.FixedPixelWidth)
        self.setOpenLinks(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextBrowserInteraction | flags.TextSelectableByKeyboard)
        self.viewport().setAutoFillBackground(False)
        # Qt reads its value when it paints and when it looks for what is below the pointer; see `_shifted`.
        self.horizontalScrollBar().blockSignals(True)  # noqa: FBT003 - Qt's own signature
        # WORKAROUND PySide6 6.11: the wrapper of a document made by Qt may be taken for dead when another widget goes.
        self._document = QTextDocument(self)
        self.setDocument(self._document)
        self._document.setDocumentMargin(0)
        self._document.setDefaultFont(font)
        self.writer = DocumentWriter(self._document, Formats(theme, font))
        self._highlighter = Highlighter(self._document, theme)
        self.anchorClicked.connect(self._on_link)
        self._document.documentLayout().documentSizeChanged.connect(self.text_resized)
        self.selectionChanged.connect(self._on_selection_changed)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.shows_focus = is_by_key(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.shows_focus = False
        self.focus_changed.emit()

    # Appearance

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        self._theme = theme
        self._highlighter.set_theme(theme)
        self._document.setDefaultFont(font)
        self.writer.restyle(Formats(theme, font))

    def set_origins(self, origins: Origins | None, visible: bool) -> None:
        self._origins = origins
        self._origins_visible = visible and origins is not None
        self._highlighter.set_origins(self._origin_ranges if self._origins_visible else None)

    def set_matches(self, matches: Sequence[tuple[int, int]], current: int | None) -> None:
        """Mark ranges of the source; `current` is the index of the one that stands out."""
        shown: list[tuple[int, int]] = []
        index = None
        for number, (start, end) in enumerate(matches):
            if number == current:
                index = len(shown)
            places = list(self.writer.map.positions(start, end))
            if places:
                shown.append((places[0][0], places[-1][1]))
        self._highlighter.set_matches(shown, index)
        if index is not None:
            self._bring_into_view(shown[index][0])

    def mark_spoken(self, place: tuple[int, int] | None) -> None:
        """Mark a range of the source that is read aloud."""
        places = list(self.writer.map.positions(*place)) if place else []
        self._highlighter.set_spoken((places[0][0], places[-1][1]) if places else None)

    def rect_of(self, offset: int) -> QRectF:
        """Return the rectangle of the character at a source offset, in this widget."""
        position, _ = next(self.writer.map.positions(offset, offset + 1), (0, 0))
        cursor = QTextCursor(self._document)
        cursor.setPosition(position)
        return QRectF(self.cursorRect(cursor))

    def height_for(self, width: int) -> int:
        """Lay the text out for this width and return its height. Wider blocks get a scroll bar of their own."""
        if width != self.lineWrapColumnOrWidth():
            self.setLineWrapColumnOrWidth(width)
        self.writer.fit(width)
        size = self._document.size()
        self._arrange_wide(list(self.writer.wide_blocks(width)) if size.width() > width + 1 else [], width)
        return ceil(size.height()) + 1

    # Wide blocks

    def _arrange_wide(self, blocks: Sequence[WideBlock], width: int) -> None:
        old, self._wide = self._wide, {}
        for block in blocks:
            area = old.pop(block.id, None) or _WideArea(block, self._make_bar())
            area.block = block
            # In the padding of code and in the margin of a table.
            left, bottom = ceil(block.room.left()), round(block.room.bottom()) - block.is_code * (_SCROLL_BAR + 1)
            area.bar.setGeometry(left + 1, bottom, width - left - 2, _SCROLL_BAR)
            area.bar.setRange(0, ceil(block.room.right()) - width)
            area.bar.setPageStep(width - left)
            area.bar.show()
            self._wide[block.id] = area
        for area in old.values():
            area.bar.hide()
            area.bar.deleteLater()

    def _make_bar(self) -> QScrollBar:
        bar = _SidewaysBar(Qt.Orientation.Horizontal, self.viewport())
        bar.setStyleSheet(sheet(self._theme, self.font()))
        bar.setSingleStep(self.fontMetrics().averageCharWidth() * 4)
        bar.setCursor(Qt.CursorShape.ArrowCursor)
        bar.valueChanged.connect(self.viewport().update)
        return bar

    def _area_at(self, y: float) -> _WideArea | None:
        return next((each for each in self._wide.values() if each.rect.top() <= y <= each.rect.bottom()), None)

    @contextmanager
    def _shifted(self, area: _WideArea | None) -> Iterator[None]:
        """Context manager that shows Qt the view as an area is scrolled, and keeps what Qt scrolls."""
        bar = self.horizontalScrollBar()
        before = bar.value()
        bar.setValue(area.bar.value() if area else 0)
        shift = bar.value()
        yield
        if isValid(bar):
            if area and bar.value() != shift and isValid(area.bar):
                area.bar.setValue(bar.value())
            bar.setValue(before)

    def _cursor_area(self, position: int) -> tuple[QRect, _WideArea | None]:
        """Return the cursor's rectangle at a position without scrolling, and the scrolled area around it."""
        cursor = QTextCursor(self._document)
        cursor.setPosition(position)
        with self._shifted(None):
            rect = self.cursorRect(cursor)
        return rect, self._area_at(rect.center().y())

    def _bring_into_view(self, position: int) -> None:
        rect, area = self._cursor_area(position)
        if area:
            there, room = rect.left() - area.bar.value(), area.bar.geometry()
            if not room.left() < there < room.right() - 4 * _SHADE:
                area.bar.setValue(rect.left() - room.center().x())

    @Slot()
    def _on_selection_changed(self) -> None:
        """Repaint everything, because Qt repaints only the place without scrolling."""
        if self._wide:
            self.viewport().update()

    # Selection

    def selected_markdown(self) -> str:
        """Return the source of the selection: whole lines where whole paragraphs are selected."""
        cursor = self.textCursor()
        source_range = self.writer.map.source_range(cursor.selectionStart(), cursor.selectionEnd())
        if not source_range:
            return ""
        start, end = source_range
        if self._at_edge(cursor.selectionStart(), QTextCursor.MoveOperation.StartOfBlock):
            start = self.writer.source.rfind("\n", 0, start) + 1
        if self._at_edge(cursor.selectionEnd(), QTextCursor.MoveOperation.EndOfBlock):
            stop = self.writer.source.find("\n", end)
            end = stop if stop >= 0 else len(self.writer.source)
        return self.writer.source[start:end]

    def selected_text(self) -> str:
        """Return the selection without markup, language labels and buttons; formulas are LaTeX."""
        cursor = self.textCursor()
        if any(self._code_buttons(cursor)):
            return plain_text(markdown.parse(self.selected_markdown()))
        return self._text_of(cursor)

    def _text_of(self, cursor: QTextCursor) -> str:
        runs = self.writer.map.between(cursor.selectionStart(), cursor.selectionEnd())
        formulas = [run for run in runs if self._document.characterAt(run.position) == SIGN]
        latex = iter([self.writer.source[run.start : run.end].strip() for run in formulas])
        return re.sub(SIGN, lambda sign: next(latex, sign.group()), cursor.selection().toPlainText())

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy plain text only, without the colours of the theme."""
        data = QMimeData()
        data.setText(self.selected_text())
        return data

    def _code_buttons(self, cursor: QTextCursor) -> Iterator[bool]:
        block = self._document.findBlock(cursor.selectionStart())
        while block.isValid() and block.position() < cursor.selectionEnd():
            for formats in block.textFormats():
                if formats.format.anchorHref().startswith(CODE_ANCHORS):
                    yield True
            block = block.next()

    def _at_edge(self, position: int, edge: QTextCursor.MoveOperation) -> bool:
        cursor = QTextCursor(self._document)
        cursor.setPosition(position)
        cursor.movePosition(edge)
        return cursor.position() == position

    # Events

    def loadResource(self, kind: int, name: QUrl | str) -> object:  # noqa: ARG002
        """Load nothing: text from a model must not reach the network or the disk."""
        return None

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll what is wide sideways; the transcript scrolls up and down."""
        area = self._area_at(event.position().y())
        if area and _is_sideways(event):
            area.bar.event(event)
        else:
            event.ignore()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip:
            assert isinstance(event, QHelpEvent)
            QToolTip.showText(event.globalPos(), self.tooltip_at(event.pos().toPointF()), self)
            return True
        if isinstance(event, QMouseEvent) and self._wide:
            with self._shifted(self._area_at(event.position().y())):
                return super().viewportEvent(event)
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        area = self._cursor_area(self.textCursor().position())[1] if self._wide else None
        with self._shifted(area):
            super().keyPressEvent(event)

    def tooltip_at(self, point: QPointF) -> str:
        """Return the address of the link, or the origin and round of the text, at a point."""
        area = self._area_at(point.y())
        address = self._address_at(point)
        if address:
            return "" if address.startswith(CODE_ANCHORS) else address
        inside = point + QPointF(area.bar.value() if area else 0, 0)
        position = self._document.documentLayout().hitTest(inside, Qt.HitTestAccuracy.ExactHit)
        offset = self.writer.map.source_at(position) if position >= 0 else None
        run = self._origins.at(offset) if self._origins and self._origins_visible and offset is not None else None
        return self._origin_text(run) if run else ""

    def _address_at(self, point: QPointF) -> str:
        with self._shifted(self._area_at(point.y())):
            return self.anchorAt(point.toPoint())

    def _table_at(self, point: QPointF) -> QTextTable | None:
        with self._shifted(self._area_at(point.y())):
            return self.cursorForPosition(point.toPoint()).currentTable()

    def _tabbed(self, table: QTextTable) -> str:
        """Return a table with tabs between its columns, for spreadsheets."""
        rows: list[str] = []
        for row in range(table.rows()):
            cells: list[str] = []
            for column in range(table.columns()):
                cell = table.cellAt(row, column)
                cursor = cell.firstCursorPosition()
                cursor.setPosition(cell.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
                cells.append(" ".join(self._text_of(cursor).split()))
            rows.append("\t".join(cells))
        return "\n".join(rows)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.context_menu(event.pos().toPointF()).popup(event.globalPos())

    def context_menu(self, point: QPointF) -> Menu:
        """Build the menu that copies text, Markdown or the address of a link, or selects all."""
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        selected = self.textCursor().hasSelection()
        menu.addAction(self.tr("Copy"), lambda: _copy(self.selected_text())).setEnabled(selected)
        markdown_action = menu.addAction(self.tr("Copy as Markdown"), lambda: _copy(self.selected_markdown()))
        markdown_action.setEnabled(selected)
        address = self._address_at(point)
        if address and not address.startswith(CODE_ANCHORS):
            menu.addAction(self.tr("Copy Link Address"), lambda: _copy(address))
        if table := self._table_at(point):
            menu.addAction(self.tr("Copy Table"), lambda: _copy(self._tabbed(table)))
        menu.addSeparator()
        menu.addAction(self.tr("Select All"), self.selectAll)
        return menu

    def paintEvent(self, event: QPaintEvent) -> None:
        self._paint_quote_bars(event.rect().toRectF())
        rest = event.rect()
        for area in self._wide.values():
            moving = area.rect.intersected(rest)
            if not moving.isEmpty():
                self._paint(rest.adjusted(0, 0, 0, moving.top() - rest.bottom() - 1), None)
                self._paint(moving, area)
                self._paint_edges(area)
                rest.setTop(moving.bottom() + 1)
        self._paint(rest, None)

    def _paint(self, rect: QRect, area: _WideArea | None) -> None:
        if not rect.isEmpty():
            with self._shifted(area):
                super().paintEvent(QPaintEvent(rect))

    def _paint_edges(self, area: _WideArea) -> None:
        """Shade the edges where wide content continues, and close the frame of code."""
        painter, bar, room, right = QPainter(self.viewport()), area.bar, area.block.room, self.viewport().width()
        edges = ((room.left(), 1, bar.value() > 0), (right, -1, bar.value() < bar.maximum()))
        for x, inwards, goes_on in edges:
            if goes_on:
                shade = QLinearGradient(x, 0, x + inwards * _SHADE, 0)
                shade.setColorAt(0, QColor(0, 0, 0, _SHADE_ALPHA[self._theme.dark]))
                shade.setColorAt(1, QColor(0, 0, 0, 0))
                edge = QRectF(min(x, x + inwards * _SHADE), area.rect.top(), _SHADE, area.rect.height())
                painter.fillRect(edge, shade)
            if area.block.is_code:
                line = QRectF(x - (inwards < 0), room.top(), 1, room.height())
                painter.fillRect(line, QColor(self._theme.border))
        painter.end()

    def _paint_quote_bars(self, visible: QRectF) -> None:
        quotes = list(self.writer.quoted(visible.top(), visible.bottom(), self._top))
        if not quotes:
            return
        painter = QPainter(self.viewport())
        colour = QColor(self._theme.quote_bar)
        for quote, following in zip_longest(quotes, quotes[1:]):
            joined = following.place.quotes if following and following.start - quote.end in {0, 1} else 0
            top, bottom = self._room(quote.start).top(), self._room(quote.end).bottom()
            for level in range(quote.place.quotes):
                reach = self._room(following.start).top() if level < joined else bottom
                painter.fillRect(QRectF(self._bar(quote, level), top, _BAR, reach - top), colour)
        painter.end()

    def _bar(self, quote: QuotedBlock, level: int) -> float:
        """Return the x coordinate of a quote's bar, on the side where its lines begin."""
        x = quote.place.outer * self._document.indentWidth() + level * QUOTE_INDENT
        leftward = self._document.findBlock(quote.start).textDirection() == Qt.LayoutDirection.RightToLeft
        return self.viewport().width() - x - _BAR if leftward else x

    def _top(self, position: int) -> float:
        return self._document.documentLayout().blockBoundingRect(self._document.findBlock(position)).top()

    def _room(self, position: int) -> QRectF:
        """Return the rectangle of the code, the table or the block at a position."""
        block, layout = self._document.findBlock(position), self._document.documentLayout()
        frame = QTextCursor(block).currentFrame()
        return frame_rect(layout, frame) if frame.parentFrame() else layout.blockBoundingRect(block)

    def _on_link(self, url: QUrl) -> None:
        address = url.toString(QUrl.ComponentFormattingOption.FullyEncoded)
        if address.startswith(CODE_ANCHORS):
            scheme, _, number = address.partition(":")
            self._act_on_code(f"{scheme}:", self.writer.code(int(number)))
        elif safe_address(address):
            self._open(address)

    def _act_on_code(self, scheme: str, code: Code) -> None:
        if scheme == COPY:
            _copy(code.text)
            self._show_tooltip(self.tr("Copied"))
        elif scheme == SAVE:
            self._save(code)
        elif code.preview:
            PreviewDialog(code.preview, code.text, self.window()).open()

    def _save(self, code: Code) -> None:
        """Ask for a file and write the code to it."""
        proposal = initial_path(self.tr("code") + file_suffix(code))
        chosen, _ = QFileDialog.getSaveFileName(self.window(), self.tr("Save code as a file"), proposal)
        if not chosen:
            return
        remember_folder(chosen)
        try:
            write_export(Path(chosen), code.text if code.text.endswith("\n") else f"{code.text}\n")
        except ExchangeError as error:
            QMessageBox.warning(self.window(), self.tr("Save code as a file"), translate_error(error))
        else:
            self._show_tooltip(saved_text(Path(chosen)))

    def _show_tooltip(self, words: str) -> None:
        """Show a confirmation for a moment at the pointer or the cursor."""
        place = QCursor.pos() if self.underMouse() else self.mapToGlobal(self.cursorRect().bottomLeft())
        QToolTip.showText(place, words, self)

    def _open(self, address: str) -> None:
        """Open an address after the user has confirmed it: a link from a model is never opened unasked."""
        question = self.tr("Open this address in the browser?\n\n{}").format(address)
        box = QMessageBox(QMessageBox.Icon.Question, self.tr("Open link"), question, parent=self.window())
        style_dialog(box)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setStandardButtons(QMessageBox.StandardButton.Open | QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        if box.exec() == QMessageBox.StandardButton.Open:
            QDesktopServices.openUrl(QUrl(address))

    # Origins

    def _origin_ranges(self, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        assert self._origins is not None
        for run in self.writer.map.between(first, last):
            start, end = max(first, run.position), min(last, run.position + run.length)
            if not run.exact:
                owner = self._origins.at(run.start)
                if owner:
                    yield start, end, owner.origin
                continue
            shift = run.position - run.start
            for a, b, origin in self._origins.ranges(start - shift, end - shift):
                yield a + shift, b + shift, origin

    def _origin_text(self, run: OriginRun) -> str:
        name = _capitalised(run.origin)
        note = run.round
        if note is None:
            return name
        if not note.drafted:
            return self.tr("{origin}. Nothing was proposed in this step.").format(origin=name)
        return self.tr("{origin}. This step: {drafter} proposed {drafted}, {accepted} accepted.").format(
            origin=name, drafter=_capitalised(note.drafter), drafted=note.drafted, accepted=note.accepted
        )


def _is_sideways(event: QWheelEvent) -> bool:
    delta = event.angleDelta()
    return abs(delta.x()) > abs(delta.y()) or bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)


def _capitalised(origin: str) -> str:
    """Return the words for an origin at the beginning of a sentence; an unknown one keeps its name."""
    look = ORIGINS.get(origin)
    label = translate_error(look.label) if look else origin
    return label[:1].upper() + label[1:]


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
