"""From tokens to the text of an answer: whole characters, cut at stop strings and repetitions."""

import re
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from headstart.engine.engine import (
    CALL_BEGINS,
    CALL_ENDS,
)
from headstart.engine.text import tool_calls

# Decodes several token sequences at once, like Tokenizer.decode_many.
DecodeMany = Callable[[list[list[int]]], list[str]]

_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_UNFINISHED = 3  # bytes of an incomplete character at most, hence U+FFFD at the end that may still change
_WINDOW = 64  # tokens above which the window is shortened
_CONTEXT = 32  # tokens that stay: at least eight characters of four tokens each
_UNSETTLED = 4  # characters at its start that may differ from the answer: half a character, a dropped space


class TokenTexts:
    """The text that each token of a vocabulary adds to whole characters before it, in a table.

    OpenVINO takes half a millisecond to decode a token right after a pass, as the pass has filled the caches.
    """

    def __init__(self, decode: DecodeMany, before: Sequence[int], size: int) -> None:
        """Decode all `size` tokens. `before`: tokens of a text that ends with a whole character."""
        self.decode, self.before = decode, tuple(before)
        (self.text_before,) = decode([[*before]])
        self._added = [text[len(self.text_before) :] for text in decode([[*before, token] for token in range(size)])]

    def __getitem__(self, token: int) -> str:
        return self._added[token] if token < len(self._added) else ""  # a model may have rows without a token


class Detokenizer:
    """Streaming detokenization: all pushes and the flush, joined, are the text of all tokens decoded at once.

    Tokens hold bytes, so the text of some tokens may end inside a character, and some tokenizers drop a space where
    a text begins. There, each token is decoded together with some before it: a window that is shortened when it
    gets long. UTF-8 synchronizes within three bytes, wherever a window starts.
    """

    def __init__(self, texts: TokenTexts) -> None:
        self._texts = texts
        self._window: list[int] = []
        self._text = ""  # of the window
        self._certain = 0  # characters of it that were returned
        self._limit = _WINDOW

    def push(self, ids: Sequence[int]) -> list[str]:
        """Return the text that each token completes; empty for a token that leaves a character unfinished."""
        return list(map(self._advance, ids))

    def flush(self) -> str:
        """Return the unfinished character at the end, as U+FFFD."""
        rest = self._text[self._certain :]
        self._certain = len(self._text)
        return rest

    def _advance(self, token: int) -> str:
        texts = self._texts
        if 0 < self._certain == len(self._text):  # whole characters, which may be any others
            self._window, self._certain = [*texts.before, token], len(texts.text_before)
            self._text = texts.text_before + texts[token]
        else:
            self._window.append(token)
            (self._text,) = texts.decode([self._window])
        start, self._certain = self._certain, max(self._certain, _certain_length(self._text))
        completed = self._text[start : self._certain]
        if len(self._window) > self._limit:
            self._shorten()
        return completed

    def _shorten(self) -> None:
        """Keep only the last tokens, if they alone decode to the end of the window's text; else try later."""
        context = self._window[-_CONTEXT:]
        (text,) = self._texts.decode([context])
        settled = text[_UNSETTLED:]
        if len(settled) < _UNFINISHED or not self._text.endswith(settled):
            self._limit = 2 * len(self._window)
            return
        uncertain = len(self._text) - self._certain
        self._window, self._text, self._certain = context, text, len(text) - uncertain
        self._limit = _WINDOW


class StopStrings:
    """Cuts a text before the stop string that is completed first, however the text arrives. Calls are not searched."""

    def __init__(self, stops: Sequence[str], *, tools: Sequence[str] = ()) -> None:
        """`tools`: the names of tools that the text may call."""
        assert all(stops)
        self._stops = tuple(stops)
        self._tools = tuple(tools) if stops else ()
        self._marks: tuple[str, ...] = (*self._stops, *((CALL_BEGINS,) if self._tools else ()))
        self._may_be_call = bool(self._tools)  # no text before it: a call may begin without its mark
        self._held = ""
        self.found = ""  # the stop string that ended the text

    def push(self, text: str) -> tuple[str, bool]:
        """Return the text that cannot belong to a stop string, and whether a stop string follows it."""
        pending, certain, searched = self._held + text, "", 0
        if self._may_be_call:
            is_open, rest = tool_calls.unmarked(pending)
            is_call = tool_calls.head(self._tools).match(rest) is not None
            if not is_call and (is_open or tool_calls.may_be_head(rest, self._tools)):
                self._held = pending
                return "", False
            self._may_be_call = False
            if is_call:
                self._marks = ()
        while True:
            starts = [(mark, pending.find(mark, searched)) for mark in self._marks]
            matches = [(start + len(mark), start, mark) for mark, start in starts if start >= 0]
            if not matches:
                self._held = self._beginning(pending[searched:])
                return certain + pending[: len(pending) - len(self._held)], False
            end, start, mark = min(matches)
            if mark in self._stops and self._marks != (CALL_ENDS,):
                self._held, self.found = "", mark
                return certain + pending[:start], True
            if mark == CALL_BEGINS and tool_calls.may_be_head(pending[end:], self._tools):
                self._held = pending[start:]
                return certain + pending[:start], False
            if mark == CALL_ENDS:
                self._marks = (*self._stops, CALL_BEGINS)
            elif tool_calls.head(self._tools).match(pending, end):
                self._marks = (CALL_ENDS,)
            else:  # the text speaks of the mark, in which a stop string may begin
                searched = start + 1
                continue
            certain, pending, searched = certain + pending[:end], pending[end:], 0

    def flush(self) -> str:
        """Return the text that was held back."""
        rest, self._held = self._held, ""
        return rest

    def _beginning(self, text: str) -> str:
        """Return the longest end of `text` with which a mark may begin."""
        longest = min(len(text), max(map(len, self._marks), default=0) - 1)
        ends = (text[-length:] for length in range(longest, 0, -1))
        return next((end for end in ends if any(mark.startswith(end) for mark in self._marks)), "")


def _certain_length(text: str) -> int:
    """Return the number of characters that no further token can change.

    A U+FFFD at the end may be the beginning of a character.
    """
    end = text[-_UNFINISHED:]
    return len(text) - (len(end) - len(end.rstrip(_UNKNOWN)))


MAX_PERIOD = 200  # tokens
_MIN_REPEATS = 4
MIN_THOUGHT_REPEATS = 8
_MIN_TOKENS = 64
_MAX_RULE_PERIOD, _MIN_RULE_TOKENS = 3, 128  # tokens; a drawn line or a row of zeros is not a loop
_PERIODS: NDArray[np.int64] = np.arange(1, MAX_PERIOD + 1)
_BOUNDS = np.maximum(_MIN_REPEATS * _PERIODS, _MIN_TOKENS) - _PERIODS  # equal tokens that make a repetition, by period
_MAX_ITEM_LINES = 4  # lines of a list item
MIN_ITEMS = 16  # lists of twelve and fifteen items are common
_NUMBER = re.compile(r"\d{1,9}")
_LETTER = re.compile(r"[^\W\d_]")
_LABEL = re.compile(r"\W*\d{1,9}[.)]\s|#+\s")  # of an item of a list, or of a heading


class Repetition:
    """Finds repetitions in one answer. Tokens and text may be pushed in any runs."""

    def __init__(self) -> None:
        self._recent = np.full(MAX_PERIOD, -1, np.int64)  # newest first
        self._equal = np.zeros(MAX_PERIOD, np.int64)  # by period: tokens in a row that equal the one a period before
        self._list = _CountedList()

    def add(self, token: int, text: str = "") -> int:
        """Add a token and the text that it completed. Return how often the end of the text is repeated, or 0."""
        self._equal = np.where(self._recent == token, self._equal + 1, 0)
        self._recent[1:] = self._recent[:-1]
        self._recent[0] = token
        items = self._list.add(text)
        return self._repeats() or items

    def _repeats(self) -> int:
        found = self._equal >= _BOUNDS
        if not found.any():
            return 0
        period = 1 + int(found.argmax())
        tokens = int(self._equal[period - 1]) + period
        return tokens // period if period > _MAX_RULE_PERIOD or tokens >= _MIN_RULE_TOKENS else 0


class _CountedList:
    """Lists whose items differ only by counters, such as "8. Frogs, 9. Frogs". A counter counts items or lines.

    Lines with other counters, such as those of code, are not repetitions: self.a8 = a8, self.a9 = a9.
    """

    def __init__(self) -> None:
        self._line = ""  # the incomplete last line
        self._recent: deque[str] = deque([""] * _MAX_ITEM_LINES, _MAX_ITEM_LINES)  # newest first
        self._equal = [0] * _MAX_ITEM_LINES  # by lines of an item: lines in a row that continue the list

    def add(self, text: str) -> int:
        """Return the number of items in a row at the end, or 0 if there are too few."""
        if "\n" not in text:
            self._line += text
            return 0
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            if line.strip():
                self._take(line)
        items = max(1 + count // lines for lines, count in enumerate(self._equal, start=1))
        return items if items >= MIN_ITEMS else 0

    def _take(self, line: str) -> None:
        before = enumerate(zip(self._recent, self._equal, strict=True), start=1)
        self._equal = [count + 1 if _follows(earlier, line, lines) else 0 for lines, (earlier, count) in before]
        self._recent.appendleft(line)


def _follows(before: str, line: str, lines: int) -> bool:
    """Return whether a line equals the one `lines` before it, except for the counters of a list item or heading."""
    if before != line and not _LABEL.match(line):
        return False
    if not _LETTER.search(line) or _NUMBER.sub("", before) != _NUMBER.sub("", line):
        return False
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(line), strict=False)
    return all(int(after) - int(earlier) in (0, 1, lines) for earlier, after in pairs)
