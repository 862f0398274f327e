"""The words that an export for readers needs, so that a caller can translate them. Knows no format."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from headstart.chat.conversation import Message, Role, State


@dataclass(frozen=True)
class Wording:
    """English unless told otherwise; `zone` None is the local time zone."""

    user: str = "You"
    assistant: str = "Assistant"
    untitled: str = "Chat"
    attachment: str = "Attachment"
    settings: str = "Settings"
    statistics: str = "Statistics"
    thinking: str = "Thinking"
    stopped: str = "stopped"
    interrupted: str = "interrupted"
    zone: tzinfo | None = None


def speaker(message: Message, wording: Wording) -> str:
    """Who wrote a message, as a heading."""
    name = wording.user if message.role is Role.USER else message.model or wording.assistant
    ends = {State.STOPPED: wording.stopped, State.INTERRUPTED: wording.interrupted}
    end = ends.get(message.state)
    return f"{name} ({end})" if end else name


def moment(seconds: float, wording: Wording) -> str:
    """A time to the minute, with its offset."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(wording.zone).strftime("%Y-%m-%d %H:%M %z")


def listed(values: Mapping[str, object]) -> str:
    """Settings or statistics on one line: whole numbers as they are, others with four figures; no nested ones."""
    pairs = ((name, _short(value)) for name, value in values.items())
    return ", ".join(f"{name} {value}" for name, value in pairs if value)


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value) if isinstance(value, str | int) else ""
