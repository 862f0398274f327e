"""From stored messages to what the transcript shows. Knows no widget."""

from types import MappingProxyType

from PySide6.QtCore import QCoreApplication

from headstart.chat.conversation import Conversation, Message, State
from headstart.ui import answer_report
from headstart.ui.live_answer import origin_runs
from headstart.ui.message import MessageContent, MessageState

_STATES = MappingProxyType(
    {
        State.COMPLETE: MessageState.DONE,
        State.STOPPED: MessageState.STOPPED,
        State.STREAMING: MessageState.STREAMING,
        State.INTERRUPTED: MessageState.FAILED,
    }
)


def content(conversation: Conversation, message: Message) -> MessageContent:
    """One message; `message` may be further than that in the conversation."""
    version, versions = conversation.version(message.id)
    return MessageContent(
        id=message.id,
        role=message.role.value,
        text=message.text,
        origins=origin_runs(message),
        author=message.model,
        version=version,
        versions=versions,
        stats_line=answer_report.line(message.stats),
        state=_STATES[message.state],
        notice=_notice(message),
        attached=message.attachments,
    )


def _notice(message: Message) -> str:
    found = answer_report.notice(message.stats)
    if not found and message.state is State.INTERRUPTED:
        return QCoreApplication.translate("MessageContents", "This answer was interrupted; continue or regenerate it.")
    if not found and message.edited:
        return QCoreApplication.translate("MessageContents", "Edited by you.")
    return found
