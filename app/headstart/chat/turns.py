"""What of a conversation a model is given: plain alternating turns. Knows no chat template."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from headstart.chat.conversation import Attachment, Message, Role

_BACKTICKS = re.compile(r"`{3,}")


class Turn(NamedTuple):
    """One turn; `role` is "user" or "assistant"."""

    role: str
    content: str


def turns(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """The turns for these messages, attachments written out before their text.

    Neighbours of one role become one turn, because removing a message can bring them together and chat templates want
    roles that alternate; an answer without a word says nothing and is left out.
    """
    found: list[Turn] = []
    for message in messages:
        content = prompt_text(message)
        if not content and message.role is Role.ASSISTANT:
            continue
        if found and found[-1].role == message.role.value:
            found[-1] = Turn(message.role.value, f"{found[-1].content}\n\n{content}")
        else:
            found.append(Turn(message.role.value, content))
    return tuple(found)


def prompt_text(message: Message) -> str:
    """Attachments, each fenced under its name, and then the text. An imported file may have left only its name."""
    parts = [titled(attachment) for attachment in message.attachments if attachment.text]
    return "\n\n".join([*parts, message.text] if message.text else parts)


def titled(attachment: Attachment) -> str:
    """The text, fenced under its name."""
    return f"{attachment.name}:\n{fenced(attachment)}"


def fenced(attachment: Attachment) -> str:
    """The text between fences longer than any fence in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(attachment.text)), default=2)
    fence = "`" * (longest + 1)
    text = attachment.text if attachment.text.endswith("\n") else f"{attachment.text}\n"
    return f"{fence}\n{text}{fence}"
