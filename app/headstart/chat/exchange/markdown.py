"""A chat as a Markdown document: what is shown of it, for readers. Knows no file."""

from collections.abc import Iterable, Iterator

from headstart.chat.conversation import Conversation, Message
from headstart.chat.exchange.wording import Wording, listed, moment, speaker
from headstart.chat.record import Chat
from headstart.chat.turns import fenced


def to_markdown(chat: Chat, conversation: Conversation, wording: Wording | None = None) -> str:
    """Title, time and the messages shown, each under a heading with its writer."""
    words = wording or Wording()
    parts = [f"# {_one_line(chat.title) or words.untitled}", moment(chat.created, words)]
    for message in conversation.path:
        parts += [f"## {_one_line(speaker(message, words))}", *message_parts(message, words)]
    return "\n\n".join(parts) + "\n"


def to_markdown_all(chats: Iterable[tuple[Chat, Conversation]], wording: Wording | None = None) -> str:
    """Several chats, one behind the other with a rule between."""
    return "\n---\n\n".join(to_markdown(chat, conversation, wording) for chat, conversation in chats)


def message_parts(message: Message, words: Wording) -> Iterator[str]:
    """Attachments, text and how it was made."""
    for attachment in message.attachments:
        yield f"{words.attachment}: {_one_line(attachment.name)}"
        if attachment.text:
            yield fenced(attachment)
    if message.text.strip():
        yield message.text.strip("\n")
    for name, values in ((words.settings, message.settings), (words.statistics, message.stats)):
        line = listed(values)
        if line:
            yield f"> {name}: {_one_line(line)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
