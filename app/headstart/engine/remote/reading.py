"""From the bytes of a streamed answer to its chunks. Pure; knows no connection."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headstart.engine.engine import FinishReason
from headstart.engine.protocol import LineSplitter

_DATA, _DONE = b"data:", b"[DONE]"
_OPEN, _CLOSE = "<think>\n", "\n</think>\n\n"
_EXCERPT = 200  # characters of what a server said


class StrangeAnswerError(ValueError):
    """What came is no chunk of an answer, or is the server's own complaint; the text is a part of a sentence."""


@dataclass(frozen=True)
class Usage:
    """What the server counted. None: it does not tell."""

    prompt: int
    completion: int
    cached: int = 0  # prompt tokens that it need not read again
    accepted: int | None = None  # guesses that held
    rejected: int | None = None


@dataclass(frozen=True)
class Chunk:
    """A stretch of the answer, and what is told with it."""

    text: str = ""
    reason: FinishReason | None = None
    usage: Usage | None = None


class AnswerReader:
    """Fed with bytes, gives chunks; thinking that a server keeps apart is put back before the answer, in tags."""

    def __init__(self) -> None:
        """Nothing read yet."""
        self._lines = LineSplitter()  # splits at \n alone: JSON may hold every other kind of line end
        self._thinking = False
        self.is_done = False  # the server said that nothing follows

    def push(self, data: bytes) -> Iterator[Chunk]:
        """What `data` completes. Raises StrangeAnswerError."""
        for line in self._lines.push(data):
            field = line.strip()
            if not field.startswith(_DATA):  # comments that keep the connection alive, names of events
                continue
            said = field.removeprefix(_DATA).strip()
            if said == _DONE:
                self.is_done = True
            elif said:
                yield self._chunk(_object(said))

    def _chunk(self, data: dict[str, Any]) -> Chunk:
        choices = data.get("choices")
        first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        reason = _reason(first.get("finish_reason"))
        self.is_done = self.is_done or reason is not None
        delta = first.get("delta")
        return Chunk(self._text(delta if isinstance(delta, dict) else {}), reason, _usage(data))

    def _text(self, delta: dict[str, Any]) -> str:
        thought = _string(delta.get("reasoning_content")) or _string(delta.get("reasoning"))
        text = _string(delta.get("content"))
        opened = _OPEN if thought and not self._thinking else ""
        closed = _CLOSE if text and (self._thinking or thought) else ""
        self._thinking = bool(self._thinking or thought) and not text
        return opened + thought + closed + text


def complaint(data: Any) -> str:
    """The server's own words on what is wrong, however it wraps them; empty where it says nothing."""
    if isinstance(data, dict):
        for name in ("error", "message", "detail", "msg"):
            words = complaint(data.get(name))
            if words:
                return words
    if isinstance(data, list):
        return "; ".join(filter(None, map(complaint, data)))[:_EXCERPT]
    return " ".join(_string(data).split())[:_EXCERPT].rstrip(".")


def _object(said: bytes) -> dict[str, Any]:
    try:
        data = json.loads(said)
    except (ValueError, RecursionError):
        raise StrangeAnswerError("what came is no JSON") from None
    if not isinstance(data, dict):
        raise StrangeAnswerError("what came is no JSON object")
    if data.get("error"):
        raise StrangeAnswerError(complaint(data) or "it gives no reason")
    return data


def _reason(said: Any) -> FinishReason | None:
    if not said:
        return None
    return FinishReason.LENGTH if said == "length" else FinishReason.STOP


def _usage(data: dict[str, Any]) -> Usage | None:
    told = data.get("usage")
    if not isinstance(told, dict):
        return None
    guesses = _mapping(told, "completion_tokens_details")
    accepted, rejected = _count(guesses, "accepted_prediction_tokens"), _count(guesses, "rejected_prediction_tokens")
    timings = _mapping(data, "timings")  # llama.cpp's
    drafted, held = _count(timings, "draft_n"), _count(timings, "draft_n_accepted")
    if accepted is None and drafted is not None and held is not None:
        accepted, rejected = held, max(0, drafted - held)
    return Usage(
        prompt=_count(told, "prompt_tokens") or 0,
        completion=_count(told, "completion_tokens") or 0,
        cached=_count(_mapping(told, "prompt_tokens_details"), "cached_tokens") or 0,
        accepted=accepted,
        rejected=rejected,
    )


def _mapping(data: dict[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _count(data: dict[str, Any], name: str) -> int | None:
    found = data.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def _string(data: Any) -> str:
    return data if isinstance(data, str) else ""
