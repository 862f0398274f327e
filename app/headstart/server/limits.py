"""How much the server takes, and for how long it waits. Enforces nothing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds that keep one client, or one mistake, from taking the server for itself."""

    waiting: int = 16  # requests that may wait while another is answered
    body_bytes: int = 4 * 2**20  # of a request; the longest contexts are a tenth of that
    head_seconds: float = 10.0  # until a connection has sent the head of a request
    body_seconds: float = 30.0  # until the body of a request is there
    send_seconds: float = 60.0  # until a client takes a part of an answer
    answer_seconds: float = 1800.0  # for an answer, from its first pass on
