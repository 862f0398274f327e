"""Quick Ask: the icon in the tray, and a small window that asks a question and shows the answer."""

import sys
from collections.abc import Sequence

from PySide6.QtCore import QObject, QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLineEdit, QStyle, QSystemTrayIcon

from headstart.engine.engine import Step
from headstart.markdown.blocks import plain_text
from headstart.settings import Settings
from headstart.ui.chat.chat_session import ChatSession
from headstart.ui.sidebar.chats_controller import ChatsController
from headstart.ui.transcript.message import MessageContent, MessageSource, MessageState
from headstart.ui.transcript.message_contents import content
from headstart.ui.transcript.text_view import TextView
from headstart.ui.widgets.labels import StatusLine, button
from headstart.ui.widgets.layouts import Dialog, scrolled, stacked
from headstart.ui.widgets.menus import Menu
from headstart.ui.widgets.theme import MEDIUM, SMALL, Appearance, scaled
from headstart.ui.window.main_window import MainWindow
from headstart.ui.window.notifications import session_bus

_WIDTH, _HEIGHT = 620, 420  # pixels beside text of the usual size; the height is for a window with an answer
_NOTHING = MessageContent("", "assistant", "")


class QuickAsk(Dialog):
    """A small window that asks each question in a new chat of the history. Esc hides it; the answer goes on."""

    chat_requested = Signal(str)  # the id of its chat

    def __init__(self, chats: ChatsController, appearance: Appearance) -> None:
        super().__init__(self.tr("Quick Ask"))
        self._chats = chats
        self._session: ChatSession | None = None  # while its answer is being written
        self._chat_id = ""
        self._source = MessageSource(_NOTHING)
        self._is_at_end = True
        self.setWindowFlag(Qt.WindowType.WindowStaysOnTopHint)
        self.field = QLineEdit(self)
        self.field.setPlaceholderText(self.tr("Ask a question"))
        self.field.setAccessibleName(self.tr("Question"))
        self.answer = TextView(appearance.theme, appearance.font, self)
        self.answer.setAccessibleName(self.tr("Answer"))
        self.status = StatusLine(self)
        self.stop = button(self.tr("Stop"), self)
        self.copy = button(self.tr("Copy"), self)
        self.open_chat = button(self.tr("Open in Headstart"), self)
        self._scroll = scrolled(self.answer, self)
        self._lay_out()
        appearance.changed.connect(self.answer.apply_theme)
        appearance.changed.connect(self._arrange)
        bar = self._scroll.verticalScrollBar()
        bar.valueChanged.connect(self._on_scrolled)
        bar.rangeChanged.connect(self._on_range_changed)
        self.field.returnPressed.connect(self._on_return)
        self.stop.clicked.connect(self._on_stop)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(plain_text(self._source.blocks)))
        self.open_chat.clicked.connect(self._on_open_chat)

    def bring_to_front(self) -> None:
        """Show the small window over others, with the keyboard in the field."""
        self.show()
        self.raise_()
        self.activateWindow()
        self.field.setFocus()
        self.field.selectAll()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _lay_out(self) -> None:
        foot = QHBoxLayout()
        foot.setSpacing(SMALL)
        foot.addWidget(self.status, 1)
        foot.addStretch()
        for widget in (self.stop, self.copy, self.open_chat):
            widget.hide()
            foot.addWidget(widget, 0, Qt.AlignmentFlag.AlignBottom)
        column = stacked(self, self.field, self._scroll, foot, margin=MEDIUM, growing=self._scroll)
        self._scroll.hide()
        self._resize(column.sizeHint().height())

    def _resize(self, height: int) -> None:
        """Resize the window to this height and the default width, within the screen."""
        self.resize(QSize(scaled(_WIDTH, self.font()), height).boundedTo(self.screen().availableSize()))

    @Slot()
    def _on_return(self) -> None:
        question = self.field.text().strip()
        if not question or self._session:
            return
        sentences: list[str] = []

        def append(sentence: str, _cause: object) -> None:
            sentences.append(sentence)

        self._chats.events.error_occurred.connect(append)
        session = self._chats.ask(question)
        self._chats.events.error_occurred.disconnect(append)
        self.field.selectAll()
        self.status.say("\n".join(sentences), bad=True)
        if session:
            self._show(session)

    def _show(self, session: ChatSession) -> None:
        self._chat_id, self._source = session.chat.id, MessageSource(_NOTHING)
        self.answer.writer.show(())
        self.open_chat.show()
        if session.live is None:  # the chats say why
            return
        self._session, self._is_at_end = session, True
        session.text_appended.connect(self._on_text_appended)
        session.wait_changed.connect(self.status.say)
        session.ended.connect(self._on_ended)
        self.status.say(session.wait_text)
        self.stop.show()
        self.copy.hide()
        if self._scroll.isHidden():
            self._scroll.show()
            self._resize(max(self.height(), scaled(_HEIGHT, self.font())))

    @Slot(int, object)
    def _on_text_appended(self, _message: int, steps: Sequence[Step]) -> None:
        thinking = "".join(step.thinking for step in steps)
        self._write(self._source.append("".join(step.text for step in steps), (), thinking))
        self.status.say(self.tr("Thinking…") if self._source.is_thinking else "")

    def _write(self, first: int) -> None:
        self.answer.writer.show(self._source.blocks, first, self._source.text)
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        """Set the height of the answer to that of its text."""
        self.answer.setFixedHeight(self.answer.height_for(self._scroll.viewport().width()))

    @Slot(int)
    def _on_scrolled(self, place: int) -> None:
        self._is_at_end = place == self._scroll.verticalScrollBar().maximum()

    @Slot(int, int)
    def _on_range_changed(self, _top: int, bottom: int) -> None:
        """Keep the newest text in view unless the user has scrolled up."""
        if self._session and self._is_at_end:
            self._scroll.verticalScrollBar().setValue(bottom)

    @Slot(int)
    def _on_ended(self, message: int) -> None:
        assert self._session
        session, self._session = self._session, None
        self._write(self._source.finish())
        answer = content(session.conversation, session.message(message))
        notice = answer.notice or answer.stats.partition("\n")[0]
        self.status.say(notice, bad=answer.state is MessageState.FAILED)
        self.stop.hide()
        self.copy.setVisible(bool(self._source.blocks))

    @Slot()
    def _on_stop(self) -> None:
        if self._session:
            self._session.stop()
        self.field.setFocus()

    @Slot()
    def _on_open_chat(self) -> None:
        self.chat_requested.emit(self._chat_id)
        self.accept()


class QuickAskController(QObject):
    """The icon in the tray, if the desktop has one, and the small window, which is made at its first use."""

    chat_requested = Signal(str)  # to be shown in the main window: the id of a chat, or "" for the current one

    def __init__(
        self, window: MainWindow, chats: ChatsController, appearance: Appearance, settings: Settings, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._window, self._chats, self._appearance, self._settings = window, chats, appearance, settings
        self.icon: QSystemTrayIcon | None = None
        self.dialog: QuickAsk | None = None

    @Slot()
    def show_icon(self) -> None:
        """Show the icon if the desktop has a tray."""
        # Without a session bus, Qt would start one to look for the tray.
        has_bus = not sys.platform.startswith("linux") or session_bus() is not None
        if not has_bus or not QSystemTrayIcon.isSystemTrayAvailable():
            return
        icon = QApplication.windowIcon()
        fallback = QApplication.style().standardIcon(QStyle.StandardPixmap.SP_MessageBoxInformation)
        self.icon = QSystemTrayIcon(fallback if icon.isNull() else icon, self)
        self.icon.setToolTip("Headstart")
        self._menu = Menu(self._window)
        self._menu.addAction(self.tr("Quick Ask"), self.ask)
        self._menu.addAction(self.tr("Open Headstart"), lambda: self.chat_requested.emit(""))
        self._menu.addSeparator()
        self._menu.addAction(self.tr("Quit"), self._window.quit)
        self.icon.setContextMenu(self._menu)
        self.icon.activated.connect(self._on_icon_activated)
        self.icon.show()
        self.follow(self._settings)

    @Slot(object)
    def follow(self, settings: Settings) -> None:
        """Apply the current meaning of closing the window."""
        self._settings = settings
        self._window.hides_on_close = settings.keep_in_tray and self.icon is not None

    @Slot()
    def ask(self) -> None:
        """Show the small window."""
        if self.dialog is None:
            self.dialog = QuickAsk(self._chats, self._appearance)
            self.dialog.chat_requested.connect(self.chat_requested)
            self.dialog.finished.connect(self._on_dialog_finished)
        self.dialog.bring_to_front()

    def close(self) -> None:
        if self.icon:
            self.icon.hide()
        if self.dialog:
            self.dialog.finished.disconnect(self._on_dialog_finished)
            self.dialog.close()
            self.dialog.deleteLater()

    @Slot(object)
    def _on_icon_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason == QSystemTrayIcon.ActivationReason.Trigger:
            self.ask()

    @Slot()
    def _on_dialog_finished(self) -> None:
        """Quit if neither a window nor an icon is left: the user could not reach the program."""
        if self._window.isHidden() and not self._window.hides_on_close:
            self._window.quit()
