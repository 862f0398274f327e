"""What the page of the local server shows: its state and the values around it. Knows no widget and no process."""

from dataclasses import dataclass
from enum import Enum, auto


class ServeState(Enum):
    """How far the server is."""

    OFF = auto()
    STARTING = auto()
    READY = auto()
    BUSY = auto()
    STOPPING = auto()
    FAILED = auto()

    @property
    def is_on(self) -> bool:
        """Whether the switch stands on."""
        return self in {ServeState.STARTING, ServeState.READY, ServeState.BUSY}

    @property
    def is_down(self) -> bool:
        """Whether nothing of a server is there."""
        return self in {ServeState.OFF, ServeState.FAILED}


@dataclass(frozen=True)
class ServeView:
    """All that is shown but the requests. `key`: empty where only its hash is kept, or where there is none yet."""

    state: ServeState = ServeState.OFF
    title: str = ""  # the state in a word
    sentence: str = ""
    model: str = ""
    port: int = 0
    url: str = ""
    key: str = ""
    key_words: str = ""
    key_hint: str = ""  # in place of the key
    curl: str = ""
