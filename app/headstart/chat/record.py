"""What is known of a chat besides its messages. Knows no file."""

from dataclasses import dataclass, field

from headstart.chat.conversation import Json


@dataclass(frozen=True)
class Chat:
    """A line of the sidebar. Times are seconds since 1970; `settings` are this chat's own, system prompt included."""

    id: str
    title: str
    created: float
    updated: float  # when a message was last written, edited or removed
    pinned: bool = False
    tags: tuple[str, ...] = ()  # by name
    archived: bool = False
    deleted: float | None = None  # when it was put in the bin
    draft: str = ""  # what stands unsent in the composer
    settings: Json = field(default_factory=dict)
