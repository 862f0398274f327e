"""From tokens to the text of an answer: whole characters, cut at stop strings and repetitions."""

import bisect
import math
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from headstart.engine import tool_calls
from headstart.engine.engine import (
    CALL_BEGINS,
    CALL_ENDS,
    FinishReason,
    Likelihood,
    Scored,
)
from headstart.engine.sampling import Row, largest
from headstart.engine.thinking import ThinkingReader
from headstart.engine.tool_formats.rewriter import Rewriter

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
        """Return the text that no stop string can claim any more, and whether a stop string follows it."""
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


@dataclass(frozen=True)
class Progress:
    """The text that a run of tokens added to an answer."""

    # One text for each token that belongs to the answer; may be empty. Text that was held back as the possible
    # beginning of a stop string comes with the token that released it.
    texts: tuple[str, ...]
    thinking: tuple[str, ...]  # likewise, the text of the section before the answer proper
    stopped: bool  # by a stop string

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def tokens_used(self) -> int:
        """The number of tokens of the run that belong to the answer."""
        return len(self.texts)


class AnswerText:
    """The text of one answer, token by token. Stop ids must not be pushed.

    It ends before a stop string, or after a text has stood there several times in a row. Thinking is not searched for
    stop strings, and it may list and repeat more.
    """

    def __init__(
        self,
        texts: TokenTexts,
        stops: Sequence[str] = (),
        *,
        stop_on_repetition: bool = False,
        reader: ThinkingReader | None = None,
        tools: Sequence[str] = (),
        calls: Rewriter | None = None,
    ) -> None:
        """`reader` separates thinking; None: the model does not think. `tools`: names of tools that may be called.

        `calls` rewrites calls in a format of the model's own; None: the model writes them as Hermes does.
        """
        self.ended: FinishReason | None = None
        self.repeats = 0  # the largest number so far; 0: no repetition
        self._repetition = Repetition()
        self._stop_on_repetition = stop_on_repetition
        self._detokenizer = Detokenizer(texts)
        self._stops = StopStrings(stops, tools=tools)
        self._ids: list[int] = []
        self._lengths: list[int] = []  # certain characters after each token, including those held back or cut
        self._shown = 0  # characters of the answer proper, as the tokens spell it, whose text was returned
        self._calls = calls
        self._rewritten = 0  # characters that left the rewriter, less those that were returned
        self._reader = reader
        self._left_out: int | None = None  # characters before the answer proper; None: it has not begun

    @property
    def stopped(self) -> bool:
        """True if a stop string ended it."""
        return self.ended is FinishReason.STOP

    @property
    def stop_text(self) -> str:
        """The stop string that ended it, or ""."""
        return self._stops.found

    def push(self, ids: Sequence[int]) -> Progress:
        """Add a run of tokens. The result is the same for every way to cut an answer into runs."""
        assert self.ended is None
        texts, thinking = [], []
        for token, decoded in zip(ids, self._detokenizer.push(ids), strict=True):
            certain = decoded + (self._calls.marks.get(token, "") if self._calls else "")
            self._ids.append(token)
            self._lengths.append(len(certain) + (self._lengths[-1] if self._lengths else 0))
            self.repeats = max(self.repeats, self._count_repeats(token, certain))
            thought, answer = self._separate(token, certain)
            thinking.append(thought)
            texts.append(self._show(answer))
            if self.repeats and self._stop_on_repetition:
                self.ended = self.ended or FinishReason.REPETITION
            if self.ended:
                break
        return Progress(tuple(texts), tuple(thinking), self.stopped)

    @property
    def thinking_tokens(self) -> int:
        """The number of tokens before the answer proper."""
        return self._reader.tokens if self._reader else 0

    def finish(self) -> tuple[str, str]:
        """Return the rest of the thinking and of the text, after the last token; empty after a stop string."""
        if self.stopped:
            return "", ""
        # After a repetition the detokenizer may be ahead: leave an incomplete character out.
        thinking, rest = "", "" if self.ended else self._detokenizer.flush()
        if self._reader:
            thinking, rest = self._reader.finish(rest)
        if not self.ended:
            rest = self._show(rest, is_last=True)
            if self.stopped:
                return thinking, rest
        elif self._calls:
            rest += self._calls.push("", is_last=True)
        held = self._stops.flush()
        self._shown += len(held)
        return thinking, rest + held

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The answer's tokens; after a stop string the fewest that cover the text before it."""
        return tuple(self._ids[: self.settled] if self.stopped else self._ids)

    @property
    def settled(self) -> int:
        """The number of tokens that the answer is sure to have: the fewest that cover the text shown."""
        length = (self._left_out or 0) + self._shown
        return bisect.bisect_left(self._lengths, length) + 1 if self._shown else 0

    def start_of(self, place: int) -> int:
        """Return the number of characters that were certain before the token at index `place`."""
        return self._lengths[place - 1] if place else 0

    def _separate(self, token: int, certain: str) -> tuple[str, str]:
        """Return the thinking and the text of the answer proper that a token made certain."""
        if self._reader is None:
            return "", certain
        thinking, answer = self._reader.push(certain, token)
        if answer and self._left_out is None:
            self._left_out = self._lengths[-1] - len(answer)
        return thinking, answer

    def _count_repeats(self, token: int, certain: str) -> int:
        if self._reader is None or self._reader.has_answer:
            return self._repetition.add(token, certain)
        repeats = self._repetition.add(token)  # thoughts may list things
        return repeats if repeats >= _MIN_THOUGHT_REPEATS else 0

    def _show(self, certain: str, *, is_last: bool = False) -> str:
        written = self._calls.push(certain, is_last=is_last) if self._calls else certain
        text, stopped = self._stops.push(written)
        has_calls = self._calls is not None and self._calls.is_done and not is_last
        self.ended = FinishReason.STOP if stopped or has_calls else None
        self._rewritten += len(written) - len(text)
        self._shown = self._calls.taken - self._rewritten if self._calls else self._shown + len(text)
        return text


def _certain_length(text: str) -> int:
    """Return the number of characters that no further token can change.

    A U+FFFD at the end may be the beginning of a character.
    """
    end = text[-_UNFINISHED:]
    return len(text) - (len(end) - len(end.rstrip(_UNKNOWN)))


class Scorer:
    """Scores each token by the row of logits that it was chosen from.

    Log-probabilities are the log-softmax of the row as the model gave it: before penalties, temperature, top-k,
    top-p, min-p and any constraint. They do not depend on how a token was guessed or chosen.
    """

    def __init__(self, token_bytes: Callable[[int], bytes], likeliest: int) -> None:
        """Score tokens; list the `likeliest` ones beside each."""
        self._token_bytes = token_bytes
        self._likeliest = likeliest
        self.start = 0  # characters before the answer
        self._noted: list[tuple[Likelihood, tuple[Likelihood, ...]]] = []
        self._scored_count = 0

    def note(self, row: Row, token: int) -> None:
        """Note one more token; `row` is [vocabulary]."""
        peak = float(row.max())
        total = peak + math.log(float(np.exp(row - np.float32(peak)).sum(dtype=np.float64)))

        def likelihood(token: int) -> Likelihood:
            return Likelihood(tuple(self._token_bytes(token)), float(row[token]) - total)

        ids = largest(row, self._likeliest).tolist() if self._likeliest else []
        self._noted.append((likelihood(token), tuple(map(likelihood, ids))))

    def new_scores(self, text: AnswerText, *, ended: bool = False) -> tuple[Scored, ...]:
        """Return the new tokens of `text` that are certain, or all that are left once it has `ended`."""
        count = len(text.token_ids) if ended else text.settled
        fresh = range(max(self._scored_count, text.thinking_tokens), count)  # of the answer proper
        self._scored_count = max(self._scored_count, count)
        return tuple(Scored(self._noted[at][0], self.start + text.start_of(at), self._noted[at][1]) for at in fresh)

    def clear(self) -> None:
        self._noted.clear()

    def prompt_scores(self, first: int, texts: Sequence[str]) -> tuple[Scored, ...]:
        """Return the tokens of a prompt whose texts are `texts`; nothing scores the `first` one."""
        unknown: tuple[Likelihood, tuple[Likelihood, ...]] = (Likelihood(tuple(self._token_bytes(first)), math.nan), ())
        starts = accumulate(map(len, texts), initial=0)
        return tuple(
            Scored(token, start, likeliest)
            for (token, likeliest), start in zip([unknown, *self._noted], starts, strict=False)
        )


MAX_PERIOD = 200  # tokens
_MIN_REPEATS = 4
_MIN_THOUGHT_REPEATS = 8
_MIN_TOKENS = 64
_MAX_RULE_PERIOD, _MIN_RULE_TOKENS = 3, 128  # tokens; a drawn line or a row of zeros is not a loop
_PERIODS: NDArray[np.int64] = np.arange(1, MAX_PERIOD + 1)
_BOUNDS = np.maximum(_MIN_REPEATS * _PERIODS, _MIN_TOKENS)  # tokens that make a repetition, by period
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
        covered = self._equal + _PERIODS
        lengths = np.flatnonzero(covered >= _BOUNDS)
        if not lengths.size:
            return 0
        period, tokens = int(_PERIODS[lengths[0]]), int(covered[lengths[0]])
        return tokens // period if period > _MAX_RULE_PERIOD or tokens >= _MIN_RULE_TOKENS else 0


class _CountedList:
    """Finds lists whose items differ by counters alone: 8. Frogs, 9. Frogs. A counter counts items or lines.

    Lines that count elsewhere, such as those of code, go on: self.a8 = a8, self.a9 = a9.
    """

    def __init__(self) -> None:
        self._line = ""  # the incomplete last line
        self._recent: deque[str] = deque([""] * _MAX_ITEM_LINES, _MAX_ITEM_LINES)  # newest first
        self._equal = [0] * _MAX_ITEM_LINES  # by lines of an item: lines in a row that continue the list

    def add(self, text: str) -> int:
        """Return the number of items in a row at the end, or 0 if there are too few."""
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            if line.strip():
                self._take(line)
        items = max(1 + count // lines for lines, count in enumerate(self._equal, start=1))
        return items if whole and items >= MIN_ITEMS else 0

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
