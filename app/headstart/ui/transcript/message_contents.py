"""The messages of a conversation as they are shown."""

import json
from collections.abc import Iterable
from textwrap import shorten
from types import MappingProxyType

from PySide6.QtCore import QCoreApplication

from headstart.chat.conversation import (
    Attachment,
    ChatMessage,
    Conversation,
    Excerpt,
    Role,
    State,
    ToolCall,
    file_of,
)
from headstart.engine.engine import FinishReason
from headstart.ui.transcript import live_answer
from headstart.ui.transcript.live_answer import StoredOrigins
from headstart.ui.transcript.message import MessageAction, MessageContent, MessageState, PassageSource

_MAX_SEARCHED = 80  # characters


_STATES = MappingProxyType(
    {
        State.COMPLETE: MessageState.DONE,
        State.STOPPED: MessageState.STOPPED,
        State.STREAMING: MessageState.STREAMING,
        State.INTERRUPTED: MessageState.FAILED,
    }
)


class ContentCache:
    """The shown contents of one chat. A message that has not changed keeps its MessageContent object."""

    def __init__(self) -> None:
        # By id: the message, its version, whether it is the last one, how many passages it can show, and its content.
        self._entries: dict[int, tuple[ChatMessage, tuple[int, int], bool, int, MessageContent]] = {}

    def contents(self, conversation: Conversation, messages: Iterable[ChatMessage]) -> list[MessageContent]:
        """Return the contents of messages, the same objects as before where nothing has changed."""
        before, self._entries = self._entries, {}
        for message in messages:
            version, is_last = conversation.version(message.id), _is_last(conversation, message)
            key = (message, version, is_last, _num_passages(conversation, message))
            entry = before.get(message.id)
            is_same = entry is not None and entry[0] is message and entry[1:-1] == key[1:]
            self._entries[message.id] = entry if entry and is_same else (*key, content(conversation, message))
        return [content for *_, content in self._entries.values()]


def content(conversation: Conversation, message: ChatMessage) -> MessageContent:
    """Return the shown content of `message`, which may have more text than the conversation has."""
    version, versions = conversation.version(message.id)
    return MessageContent(
        id=message.id,
        role=message.role.value,
        text=message.text,
        thinking=message.thinking,
        thinking_seconds=live_answer.thinking_seconds(message.stats),
        origins=StoredOrigins(message),
        author=message.model,
        version=version,
        versions=versions,
        stats=live_answer.report(message.stats),
        state=_STATES[message.state],
        notice=_end_notice(message) or _search_notice(conversation, message),
        actions=_suggested_actions(message) if _is_last(conversation, message) else (),
        attached=(*message.attachments, *map(_shown_call, message.calls)),
        sources=_sources(conversation, message) if message.role is Role.ASSISTANT else (),
        searched=_searched(conversation, message),
    )


def _shown_call(call: ToolCall) -> Attachment:
    """Return a call with its result, as it is shown: changes of a file as added and removed lines."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    match call.name, arguments:
        case "edit_file", {"path": str(path), "old": str(old), "new": str(new)}:
            lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
        case "write_file", {"path": str(path), "content": str(content)}:
            lines = [f"+{line}" for line in content.splitlines()]
        case "run_command", {"command": str(command)}:
            return Attachment(call.name, f"$ {command}\n{call.result}")
        case "plan", _:
            return Attachment(call.name, call.result)
        case _:
            return Attachment(f"{call.name} {call.arguments}", call.result)
    return Attachment(f"{call.name} {path}", "\n".join((*lines, "", call.result)))


def _question(conversation: Conversation, answer: ChatMessage) -> ChatMessage | None:
    is_answer = answer.role is Role.ASSISTANT and answer.parent is not None
    return conversation.messages.get(answer.parent) if is_answer and answer.parent is not None else None


def _num_passages(conversation: Conversation, answer: ChatMessage) -> int:
    """Return how many passages went with the question whose files are still in the chat."""
    question = _question(conversation, answer)
    return sum(passage.message in conversation.messages for passage in question.passages) if question else 0


def _searched(conversation: Conversation, answer: ChatMessage) -> str:
    """Return what was searched for in the project's folders, if it is more than the question."""
    question = _question(conversation, answer)
    return question.searched if question and question.searched != question.text.strip() else ""


def _search_notice(conversation: Conversation, answer: ChatMessage) -> str:
    """Return a notice if the search of the project's folders found nothing."""
    question = _question(conversation, answer)
    if not question or not question.searched or question.excerpts or answer.state is State.STREAMING:
        return ""
    words = shorten(" ".join(question.text.split()), _MAX_SEARCHED, placeholder="…")
    return QCoreApplication.translate("MessageContents", "Nothing in the files of the project fits “{}”.").format(words)


def _sources(conversation: Conversation, answer: ChatMessage) -> tuple[PassageSource, ...]:
    """Return the passages that went with the question."""
    messages = conversation.messages
    if answer.parent is None:
        return ()
    question = messages[answer.parent]
    files = [(passage, file_of(passage, messages)) for passage in question.passages]
    return (
        *(
            PassageSource(
                file.name, file.text[passage.start : passage.end], round(100 * passage.start / len(file.text))
            )
            for passage, file in files
            if file
        ),
        *(
            PassageSource(excerpt.name, excerpt.text, path=excerpt.path, place=_place(excerpt))
            for excerpt in question.excerpts
        ),
    )


def _place(excerpt: Excerpt) -> str:
    """Return the name of the file with the page or line."""
    name = excerpt.name.rpartition("/")[2]
    if excerpt.page:
        return QCoreApplication.translate("MessageContents", "{file}, page {page}").format(file=name, page=excerpt.page)
    if excerpt.line:
        return QCoreApplication.translate("MessageContents", "{file}, line {line}").format(file=name, line=excerpt.line)
    return name


def _is_last(conversation: Conversation, message: ChatMessage) -> bool:
    return conversation.last is not None and conversation.last.id == message.id


def _suggested_actions(message: ChatMessage) -> tuple[MessageAction, ...]:
    """Return the actions on buttons below the last message of a chat."""
    if message.role is Role.USER:
        return (MessageAction.ANSWER,)
    if message.state is State.STREAMING or message.edited:
        return ()
    finish = message.stats.get(live_answer.FINISH)
    if finish == FinishReason.LENGTH:
        return (MessageAction.CONTINUE,)
    if finish == FinishReason.REPETITION:
        is_greedy = message.settings.get("temperature") == 0
        return (MessageAction.REGENERATE_WARMER if is_greedy else MessageAction.REGENERATE, MessageAction.GO_ON)
    if not (message.text or message.thinking):
        return (MessageAction.REGENERATE,)
    return () if message.state is State.COMPLETE else (MessageAction.CONTINUE, MessageAction.REGENERATE)


def _end_notice(message: ChatMessage) -> str:
    notice = live_answer.notice(message.stats)
    if not notice and message.state is State.INTERRUPTED:
        return QCoreApplication.translate("MessageContents", "This answer was interrupted.")
    if not notice and message.edited:
        return QCoreApplication.translate("MessageContents", "Edited by you.")
    return notice
