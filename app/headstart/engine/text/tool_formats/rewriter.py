"""Conversion of calls in an answer from the model's own format to that of Hermes."""

from collections.abc import Mapping, Sequence

from headstart.engine.engine import Call, Tool, written_call
from headstart.engine.text.tool_calls import FENCE
from headstart.engine.text.tool_formats.form import CallFormat, Found, NoCallError, UnfinishedError

_BETWEEN_CALLS = "; \t\r\n"


class Rewriter:
    """A converter of one answer, piece by piece. It holds back only what may be a call; other text passes unchanged."""

    def __init__(
        self, format_: CallFormat, tools: Sequence[Tool], max_calls: int, marks: Mapping[int, str] | None = None
    ) -> None:
        """`tools` may be called, `max_calls` times in all. `marks`: texts of tokens that decoded text does not show."""
        self.marks = marks or {}
        self._format, self._tools, self._max_calls = format_, tools, max_calls
        self.is_done = False  # no further call may come: the answer has them all, or repeats one
        self.taken = 0  # characters of the answer that are not held back
        self._held = ""
        self._seen = ""  # text so far, to find out whether a block of code is open
        self._is_start = bool(format_.bare)  # only blanks stand before, so a call may begin without a mark
        self._calls = list[Call]()

    def push(self, piece: str, *, is_last: bool = False) -> str:
        """Add a piece. Return the text that is certain now; after the last one, all of it."""
        self._held += piece
        written = ""
        while self._held and not self.is_done:
            place, is_bare = self._next_place()
            written += self._release(place)
            if not self._held:
                break
            try:
                found = self._read(is_bare=is_bare, is_last=is_last)
            except UnfinishedError:
                if not is_last:
                    break
                written += self._release(1)
            except NoCallError:
                written += self._release(1)
            else:
                written += self._take(found)
        if self.is_done:
            self.taken, self._held = self.taken + len(self._held), ""
        return written

    def _next_place(self) -> tuple[int, bool]:
        """Return the next place where a call may begin, and whether it is one without a mark."""
        if self._is_start:
            text = self._held.lstrip(_BETWEEN_CALLS)
            if text.startswith(self._format.bare):
                return len(self._held) - len(text), True
        whole = [place for mark in self._format.marks if (place := self._held.find(mark)) >= 0]
        return min(whole, default=self._place_of_beginning()), False

    def _place_of_beginning(self) -> int:
        """Return the place at the end of the text where an incomplete mark begins; the length if there is none."""
        longest = max(map(len, self._format.marks)) - 1
        places = range(max(0, len(self._held) - longest), len(self._held))
        ends = (at for at in places if any(mark.startswith(self._held[at:]) for mark in self._format.marks))
        return next(ends, len(self._held))

    def _read(self, *, is_bare: bool, is_last: bool) -> Found:
        """Return the calls with which the text begins. Without a mark, nothing but calls may stand in an answer."""
        if self._seen.count(FENCE) % 2:
            raise NoCallError
        if not is_bare and not self._held.startswith(self._format.marks):
            raise UnfinishedError
        found = self._format.read(self._held, self._tools)
        if is_bare and self._held[found.end :].strip():
            raise NoCallError
        if is_bare and not is_last:
            raise UnfinishedError
        return found

    def _release(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        self.taken += length
        self._seen += text
        self._is_start = self._is_start and not text.strip(_BETWEEN_CALLS)
        return text

    def _take(self, found: Found) -> str:
        """Convert calls to the format of Hermes, and remember them."""
        self._held, self.taken = self._held[found.end :], self.taken + found.end
        self._is_start = bool(self._format.bare)
        before = len(self._calls)
        for call in found.calls:
            self.is_done = call in self._calls or len(self._calls) == self._max_calls
            if self.is_done:
                break
            self._calls.append(call)
        self.is_done |= found.is_last or len(self._calls) == self._max_calls
        return "\n".join(map(written_call, self._calls[before:]))
