"""The messages of one chat: shown, streamed into, searched, selected, copied."""

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QFont, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget

from headstart.chat.conversation import titled
from headstart.ui.chat.find import Match, places, seeker
from headstart.ui.chat.message import MessageAction, MessageContent, MessageId
from headstart.ui.chat.message_column import MessageColumn
from headstart.ui.chat.message_text import split
from headstart.ui.chat.message_view import MessageView, author
from headstart.ui.markdown.blocks import plain_text
from headstart.ui.markdown.markdown import parse
from headstart.ui.widgets.theme import Theme


class Transcript(MessageColumn):
    """A MessageColumn that knows what its messages mean."""

    action_requested = Signal(object, object)  # MessageAction, and the message's id
    found_changed = Signal(int, int)  # number of the current match from 1 (0: none), matches in all
    selection_changed = Signal(int)  # selected messages

    def __init__(self, theme: Theme, font: QFont, parent: QWidget | None = None) -> None:
        super().__init__(theme, font, parent)
        self._origins_visible = False
        self._wanted = ""
        self._matches: list[Match] = []
        self._current = -1
        self._selection: tuple[int, int] | None = None
        self.setAccessibleName(self.tr("Messages"))

    # Messages

    def show_chat(self, messages: Sequence[MessageContent]) -> None:
        """Show a chat at its end."""
        self.clear_find()
        self._select(None)
        self.set_entries(messages)

    def remove(self, message: MessageId) -> None:
        """Take a message out."""
        self._select(None)
        super().remove(message)

    def end_stream(self, ended: MessageContent) -> None:
        """The message is complete: see MessageView.end_stream."""
        self.view_of(ended.id).end_stream(ended)
        self._search_again()

    def set_origins_visible(self, visible: bool) -> None:
        """Colour all text by who proposed it, or not."""
        self._origins_visible = visible
        for _, view in self.views():
            view.set_origins_visible(visible)

    # Finding

    def find_text(self, text: str) -> int:
        """Mark all places of `text`, go to the first one at or below what is seen; returns how many there are."""
        self._wanted = text
        self._matches = places(self.contents(), seeker(text))
        first = min(self._seen(), default=0)
        self._go_to(next((i for i, match in enumerate(self._matches) if match.message >= first), 0))
        return len(self._matches)

    def show_places(self, found: Sequence[Match], first: Match) -> None:
        """Mark places found elsewhere, in order, and go to one of them."""
        self._wanted, self._matches = "", list(found)
        self._go_to(self._matches.index(first))

    def find_next(self) -> None:
        """Go to the next place, from the last to the first."""
        self._go_to(self._current + 1)

    def find_previous(self) -> None:
        """Go to the place before, from the first to the last."""
        self._go_to(self._current - 1)

    def clear_find(self) -> None:
        """Stop marking."""
        self._wanted, self._matches = "", []
        self._go_to(-1)

    def _go_to(self, number: int) -> None:
        self._current = number % len(self._matches) if self._matches else -1
        for index, view in self.views():
            self._mark(index, view)
        if self._current >= 0:
            match = self._matches[self._current]
            place = self.view(match.message).place_of(match.start, match.file)
            self.reveal(match.message, int(place.top()), int(place.bottom()))
        self.found_changed.emit(self._current + 1, len(self._matches))

    def _search_again(self) -> None:
        if self._wanted:
            self._matches = places(self.contents(), seeker(self._wanted))
            self._current = min(self._current, len(self._matches) - 1)
            for index, view in self.views():
                self._mark(index, view)
            self.found_changed.emit(self._current + 1, len(self._matches))

    def _mark(self, index: int, view: MessageView) -> None:
        here = [(number, match) for number, match in enumerate(self._matches) if match.message == index]
        inside = [(number, match) for number, match in here if match.file is None]
        current = next((at for at, (number, _) in enumerate(inside) if number == self._current), None)
        view.set_matches([(match.start, match.end) for _, match in inside], current)
        attached = [(number, match) for number, match in here if match.file is not None]
        current = next((at for at, (number, _) in enumerate(attached) if number == self._current), None)
        view.set_file_matches([(match.file or 0, match.start, match.end) for _, match in attached], current)

    # Selecting and copying

    def selected_messages(self) -> list[MessageContent]:
        """The selected range, top to bottom."""
        if self._selection is None:
            return []
        first, last = sorted(self._selection)
        return self.contents()[first : last + 1]

    def clear_selection(self) -> None:
        """Select no message."""
        self._select(None)

    def selected_text(self) -> str:
        """What is selected within a message, or else the selected messages, as plain text."""
        inside = next((text for _, view in self.views() if (text := view.selected_text())), "")
        return inside or self.as_text(self.selected_messages())

    def as_text(self, messages: Sequence[MessageContent]) -> str:
        """Messages as plain text, thinking left out."""
        return "\n\n".join(f"{author(message)}:\n{_plain(message)}" for message in messages)

    def as_markdown(self, messages: Sequence[MessageContent]) -> str:
        """Messages as Markdown, just as they were written, attached files before the text."""
        return "\n\n".join(f"**{author(message)}:**\n\n{_written(message)}" for message in messages)

    @Slot(object, object)
    def _act(self, action: MessageAction, message: MessageId) -> None:
        """Select; everything else is for others to do."""
        index = self.index_of(message)
        if action is MessageAction.SELECT_UP_TO and self._selection:
            self._select((self._selection[0], index))
        elif action in (MessageAction.SELECT, MessageAction.SELECT_UP_TO):
            self._select(None if self._selection == (index, index) else (index, index))
        else:
            self.action_requested.emit(action, message)

    def _select(self, selection: tuple[int, int] | None) -> None:
        self._selection = selection
        for index, view in self.views():
            view.set_selected(self._is_selected(index))
        self.selection_changed.emit(len(self.selected_messages()))

    def _is_selected(self, index: int) -> bool:
        return self._selection is not None and min(self._selection) <= index <= max(self._selection)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        chosen = self.selected_messages()
        if chosen and event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.as_markdown(chosen))
        elif chosen and event.matches(QKeySequence.StandardKey.Cancel):
            self.clear_selection()
        else:
            super().keyPressEvent(event)

    # Views

    def new_view(self) -> MessageView:
        """A connected widget."""
        view = super().new_view()
        view.action_requested.connect(self._act)
        return view

    def dress_view(self, index: int, view: MessageView) -> None:
        """Colours, marks and selection of a message that has just been built."""
        view.set_origins_visible(self._origins_visible)
        view.set_selected(self._is_selected(index))
        self._mark(index, view)


def _written(message: MessageContent) -> str:
    return "\n\n".join([*map(titled, message.attached), message.text]).rstrip("\n")


def _plain(message: MessageContent) -> str:
    if message.role != "assistant":
        return message.text
    start = split(message.text).body
    return plain_text(parse(message.text[start:], start))
