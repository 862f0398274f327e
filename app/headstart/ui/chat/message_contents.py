"""From stored messages to what the transcript shows. Knows no widget."""

from collections.abc import Iterable
from types import MappingProxyType

from PySide6.QtCore import QCoreApplication

from headstart.chat.conversation import Conversation, Message, Role, State
from headstart.engine.engine import FinishReason
from headstart.ui.chat import answer_report
from headstart.ui.chat.live_answer import KeptOrigins
from headstart.ui.chat.message import MessageAction, MessageContent, MessageState

_STATES = MappingProxyType(
    {
        State.COMPLETE: MessageState.DONE,
        State.STOPPED: MessageState.STOPPED,
        State.STREAMING: MessageState.STREAMING,
        State.INTERRUPTED: MessageState.FAILED,
    }
)


class Contents:
    """What is shown of one chat; a message that has not changed since is not put into words again."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Message, tuple[int, int], bool, MessageContent]] = {}

    def of(self, conversation: Conversation, messages: Iterable[Message]) -> list[MessageContent]:
        """`content` of all of them, as the same values as before where nothing has changed."""
        before, self._made = self._made, {}
        for message in messages:
            seen = (message, conversation.version(message.id), _is_last(conversation, message))
            known = before.get(message.id)
            same = known is not None and known[0] is message and known[1:3] == seen[1:]
            self._made[message.id] = known if known and same else (*seen, content(conversation, message))
        return [made for *_, made in self._made.values()]


def content(conversation: Conversation, message: Message) -> MessageContent:
    """One message; `message` may be further than that in the conversation."""
    version, versions = conversation.version(message.id)
    return MessageContent(
        id=message.id,
        role=message.role.value,
        text=message.text,
        origins=KeptOrigins(message),
        author=message.model,
        version=version,
        versions=versions,
        stats=answer_report.lines(message.stats),
        state=_STATES[message.state],
        notice=_notice(message),
        offers=_offers(message) if _is_last(conversation, message) else (),
        attached=message.attachments,
    )


def _is_last(conversation: Conversation, message: Message) -> bool:
    return conversation.last is not None and conversation.last.id == message.id


def _offers(message: Message) -> tuple[MessageAction, ...]:
    """What a person may want after the end of a chat, where it did not end well."""
    if message.role is Role.USER:
        return (MessageAction.ANSWER,)
    if message.state is State.STREAMING or message.edited:
        return ()
    finish = message.stats.get(answer_report.FINISH)
    if finish == FinishReason.LENGTH:
        return (MessageAction.CONTINUE,)
    if finish == FinishReason.REPETITION:
        is_greedy = message.settings.get("temperature") == 0
        return (MessageAction.REGENERATE_WARMER if is_greedy else MessageAction.REGENERATE, MessageAction.GO_ON)
    if not message.text:
        return (MessageAction.REGENERATE,)
    return () if message.state is State.COMPLETE else (MessageAction.CONTINUE, MessageAction.REGENERATE)


def _notice(message: Message) -> str:
    found = answer_report.notice(message.stats)
    if not found and message.state is State.INTERRUPTED:
        return QCoreApplication.translate("MessageContents", "This answer was interrupted.")
    if not found and message.edited:
        return QCoreApplication.translate("MessageContents", "Edited by you.")
    return found
