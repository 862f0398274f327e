"""The controller of the comparison of answers."""

from functools import cached_property

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction

from headstart import remotes
from headstart.chat.conversation import ChatMessage, Role, State
from headstart.engine.engine import Mode
from headstart.ui.chat.chat_controller import ChatController
from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.chat.chat_session import ChatSession
from headstart.ui.chat.comparison import Comparison, TextDifferences, compare_texts
from headstart.ui.formatting import listed, percent, sentences, titled
from headstart.ui.models.model_choices import ModelChoices, ModelSwitch
from headstart.ui.transcript import live_answer
from headstart.ui.transcript.message import MessageAction
from headstart.ui.transcript.message_contents import content
from headstart.ui.transcript.message_view import COMPARE_ENTRY
from headstart.ui.widgets.menus import Menu


class ComparisonController(QObject):
    """Controller that shows two versions of an answer of the open chat and has others written."""

    def __init__(
        self, page: ChatPage, chat_controller: ChatController, choices: ModelChoices, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._page, self._chats = page, chat_controller
        self._shown: list[int | None] = []  # ids of the two versions, None for one to be written; empty while closed
        self.switch = ModelSwitch(page, choices, self)
        self.switch.menu.setTitle(self.tr("Regenerate with Another Model"))
        self._menu_of: int | None = None  # id of the answer whose menu has the models
        self.switch.chosen.connect(self._on_model_chosen)
        chat_controller.updated.connect(self._on_updated)
        page.transcript.action_requested.connect(self._on_action)
        page.transcript.menu_opening.connect(self._on_menu_opening)
        page.transcript.found_changed.connect(self._on_found)

    @cached_property
    def _view(self) -> Comparison:
        """The two columns, made when they are first needed."""
        view = self._page.add_comparison()
        view.another_model.setMenu(self.switch.menu)
        view.closed.connect(self._leave)
        view.again.clicked.connect(lambda: self._session.regenerate(self._first.id))
        view.guessing.clicked.connect(self._answer_guessing)
        view.marks.toggled.connect(self._update_verdict)
        for place, column in enumerate(view.columns):
            column.chosen.connect(lambda id_, place=place: self._choose(place, id_))
            column.used.connect(self._on_used)
        return view

    def open_last(self) -> None:
        path = self._session.path
        if path and path[-1].role is Role.ASSISTANT:
            self.open(path[-1].id)

    def open(self, id_: int) -> None:
        """Compare an answer with its previous version, else with the next; if it has no other, one can be written."""
        view, conversation = self._view, self._session.conversation
        number, _ = conversation.version(id_)
        versions = [message.id for message in conversation.versions(id_)]
        first = max(0, number - 2)
        self._shown = [*versions[first : first + 2], None][:2]
        self._page.find_bar.close_find()
        self._page.show_comparison(shown=True)
        self._show()
        (view.again if self._shown[1] is None else view.columns[1].use).setFocus()

    @Slot()
    def close(self) -> None:
        if not self._shown:
            return
        self._shown = []
        for column in self._view.columns:
            column.show_answer(None)
        self._page.show_comparison(shown=False)

    @Slot()
    def _leave(self) -> None:
        self.close()
        self._page.composer.setFocus()

    @Slot(object, object)
    def _on_action(self, action: MessageAction, id_: int) -> None:
        if action is MessageAction.COMPARE:
            self.open(id_)

    @Slot(int, int)
    def _on_found(self, current: int, _count: int) -> None:
        """Close the comparison: the matches are in the messages."""
        if current:
            self.close()

    @Slot(object, object)
    def _on_menu_opening(self, menu: Menu, id_: int) -> None:
        """Add the models to the menu of an answer."""
        compare = menu.findChild(QAction, COMPARE_ENTRY)
        if isinstance(compare, QAction):
            self._menu_of = id_
            self.switch.settings = self._session.settings.with_values(self._session.message(id_).settings)
            menu.insertMenu(compare, self.switch.menu)

    # Other versions

    @Slot(str)
    def _on_model_chosen(self, name: str) -> None:
        id_ = self._first.id if self._shown else self._menu_of
        assert id_ is not None, "the models are in the bar of a comparison or in the menu of an answer"
        self._session.answer_with(id_, {"model": name, "draft": ""})

    @property
    def _session(self) -> ChatSession:
        return self._chats.session

    @property
    def _first(self) -> ChatMessage:
        """The version in the first column, whose settings a new version takes."""
        assert self._shown[0] is not None
        return self._session.message(self._shown[0])

    @Slot()
    def _answer_guessing(self) -> None:
        mode = Mode.AUTO if _is_plain(self._first) else Mode.OFF
        self._session.answer_with(self._first.id, {"speculation": mode.value})

    def _choose(self, place: int, id_: int) -> None:
        self._shown[place] = id_
        self._show()

    @Slot(int)
    def _on_used(self, id_: int) -> None:
        self._leave()
        self._session.show_message(id_)

    # Following the chat

    @Slot()
    def _on_updated(self) -> None:
        """Show a new version in the second column; close after any other change of the messages."""
        if not self._shown:
            return
        messages, live = self._session.conversation.messages, self._session.live
        if (
            any(id_ not in messages for id_ in self._shown if id_ is not None)
            or self._session.path[-1].role is Role.USER
            or (live and messages[live.message].parent != self._first.parent)
        ):
            self.close()
            return
        if live and live.message not in self._shown:
            self._shown[1] = live.message
        self._show()

    # Showing

    def _show(self) -> None:
        conversation, first = self._session.conversation, self._first
        self._view.set_actions_enabled(enabled=not self._session.is_answering)
        plain = _is_plain(first)
        self._view.guessing.setText(self.tr("With speed-up") if plain else self.tr("Without speed-up"))
        settings = self._session.settings.with_values(first.settings)
        self._view.guessing.setVisible(not remotes.is_remote(settings.model))
        self.switch.settings = settings
        names = {message.id: self._name(message) for message in conversation.versions(first.id)}
        for column, id_ in zip(self._view.columns, self._shown, strict=True):
            column.show_versions(names, id_)
            column.show_answer(None if id_ is None else content(conversation, self._session.message(id_)))
            column.show_figures(*self._figures(id_))
        self._update_verdict()

    def _name(self, message: ChatMessage) -> str:
        """Return the name of a version: its number and how it differs from the others."""
        number, _ = self._session.conversation.version(message.id)
        versions = self._session.conversation.versions(message.id)
        parts = [message.model] if len({each.model for each in versions}) > 1 else []
        if len(set(map(_is_plain, versions))) > 1:
            parts += [self.tr("without speed-up") if _is_plain(message) else self.tr("with speed-up")]
        parts += [self.tr("edited by you")] if message.edited else []
        version = self.tr("Version {}").format(number)
        return titled(version, listed(parts)) if parts else version

    def _figures(self, id_: int | None) -> tuple[str, str]:
        if id_ is None:
            return self.tr("Have another version written to compare with this one."), ""
        message = self._session.message(id_)
        if message.state is State.STREAMING:
            return self.tr("writing…"), ""
        return live_answer.summary(message.stats), live_answer.details(message.stats)

    @Slot()
    def _update_verdict(self) -> None:
        """Show how the two differ, and mark the words if the button is checked."""
        pair = [self._session.message(id_) for id_ in self._shown if id_ is not None]
        is_complete = len({message.id for message in pair}) > 1 and all(
            message.state is not State.STREAMING for message in pair
        )
        texts = compare_texts(pair[0].text, pair[1].text) if is_complete else TextDifferences(1.0, (), ())
        is_marked = self._view.marks.isChecked()
        for column, ranges in zip(self._view.columns, (texts.first, texts.second), strict=True):
            column.mark(ranges if is_marked else ())
        self._view.marks.setEnabled(is_complete)
        self._view.show_verdict(self._verdict(pair[0], pair[1], texts.share) if is_complete else "")

    def _verdict(self, first: ChatMessage, second: ChatMessage, share: float) -> str:
        sentence = (
            self.tr("Both texts are the same.")
            if share == 1.0
            else self.tr("About {} of the words are the same.").format(percent(share))
        )
        pace = self._pace(first, second)
        return sentences(sentence, pace) if pace else sentence

    def _pace(self, first: ChatMessage, second: ChatMessage) -> str:
        """Compare the speeds of two versions, but not of two models, whose tokens differ."""
        gain = live_answer.speed_ratio(first.stats, second.stats)
        if gain is None or first.model != second.model or first.edited or second.edited:
            return ""
        if round(gain, 1) == 1.0:
            return self.tr("Both were written equally fast.")
        fast, slow = (first, second) if gain > 1 else (second, first)
        numbers = [self._session.conversation.version(message.id)[0] for message in (fast, slow)]
        return self.tr("Version {fast} was written about {factor}× as fast as version {slow}.").format(
            fast=numbers[0], slow=numbers[1], factor=live_answer.factor_text(max(gain, 1 / gain))
        )


def _is_plain(message: ChatMessage) -> bool:
    """Return True if an answer was decoded without speculation."""
    return message.settings.get("speculation") == Mode.OFF
