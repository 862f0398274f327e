"""What one message of the transcript shows, as plain values."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headstart.chat.conversation import Attachment

MessageId = Hashable
WARMER = 0.7  # temperature at which an answer is tried again that repeated itself at 0


class MessageState(StrEnum):
    """How far a message is."""

    DONE = "done"
    STREAMING = "streaming"
    STOPPED = "stopped"  # by the user; what came stays
    FAILED = "failed"  # the engine died; what came stays, `notice` says why


class MessageAction(StrEnum):
    """What can be done with a message."""

    ANSWER = "answer"  # a question without an answer
    CONTINUE = "continue"  # an answer, where it ended
    GO_ON = "go on"  # likewise, although it repeats itself
    REGENERATE = "regenerate"  # another version of an answer
    REGENERATE_WARMER = "regenerate warmer"  # the same at a higher temperature
    PREVIOUS = "previous"  # version
    NEXT = "next"
    EDIT = "edit"
    COPY = "copy"  # without markup
    COPY_MARKDOWN = "copy markdown"
    SELECT = "select"
    SELECT_UP_TO = "select up to"  # here, from the one selected before
    FORK = "fork"  # a new chat that begins like this one
    DELETE = "delete"


@dataclass(frozen=True)
class RoundNote:
    """The draft / verify round that a run of text came from: `accepted` of `drafted` guesses held."""

    drafter: str  # "draft", "n-gram", "bigram" or "target" (nothing was drafted)
    drafted: int
    accepted: int


@dataclass(frozen=True)
class OriginRun:
    """`length` characters of the message's text by who proposed them: "draft", "n-gram", "bigram" or "target"."""

    length: int
    origin: str
    round: RoundNote | None = None


@dataclass(frozen=True)
class MessageContent:
    """One message as the transcript shows it. `version` counts from 1; `role` is "system", "user" or "assistant"."""

    id: MessageId
    role: str
    text: str
    origins: Sequence[OriginRun] = ()
    author: str = ""  # shown instead of the role: a model's name
    version: int = 1
    versions: int = 1
    stats: str = ""  # the first line is shown, the others to whoever points at it
    state: MessageState = MessageState.DONE
    notice: str = ""  # one sentence below the text: why it ended
    offers: tuple[MessageAction, ...] = ()  # buttons below it: what a person may want to do then
    attached: tuple[Attachment, ...] = ()
