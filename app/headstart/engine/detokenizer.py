"""From tokens to the text of an answer: whole characters once certain, cut at stop strings and repetitions."""

import bisect
import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

import numpy as np
from numpy.typing import NDArray

from headstart.engine.engine import FinishReason, Likelihood, Origin, Piece, Request, Round, Scored, Step, Timing
from headstart.engine.sampling import Row, largest

# Texts of several token sequences at once, each as `Tokenizer.decode` gives it.
DecodeMany = Callable[[list[list[int]]], list[str]]

_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_UNFINISHED = 3  # most bytes of a character that lacks its last one, hence most U+FFFD that may still change
_BATCH = 16  # tokens decoded in one call
_WINDOW = 64  # tokens above which the window is shortened
_CONTEXT = 32  # tokens that stay: eight characters even where each takes four tokens
_UNSETTLED = 4  # first characters of a window that may differ from the answer's: half a character, a dropped space


class Detokenizer:
    """Streaming detokenisation: all pushes and the flush, joined, are the text of all tokens decoded at once.

    Tokens hold bytes, so the text of some tokens may end in half a character, and some tokenizers drop a space where a
    text begins. Hence each token is decoded together with some before it: a window that is shortened when it gets long.
    UTF-8 finds its characters again within three bytes, wherever a window starts.
    """

    def __init__(self, decode: DecodeMany) -> None:
        """Start an answer; `decode` must give the same text for the same tokens."""
        self._decode = decode
        self._window: list[int] = []
        self._text = ""  # of the window
        self._certain = 0  # characters of it that were returned
        self._limit = _WINDOW

    def push(self, ids: Sequence[int]) -> list[str]:
        """The text that each token made certain; empty for one that leaves a character unfinished."""
        texts: list[str] = []
        for start in range(0, len(ids), _BATCH):
            texts += self._advance(ids[start : start + _BATCH])
        return texts

    def flush(self) -> str:
        """What is left when no token follows: the unfinished character, as U+FFFD."""
        rest = self._text[self._certain :]
        self._certain = len(self._text)
        return rest

    def _advance(self, ids: Sequence[int]) -> list[str]:
        windows = [[*self._window, *ids[:count]] for count in range(1, len(ids) + 1)]
        decoded = self._decode(windows)
        texts = []
        for text in decoded:
            certain = max(self._certain, _certain_length(text))
            texts.append(text[self._certain : certain])
            self._certain = certain
        self._window, self._text = windows[-1], decoded[-1]
        if len(self._window) > self._limit:
            self._shorten()
        return texts

    def _shorten(self) -> None:
        """Keep the last tokens only, if they alone decode to the end of the window's text; else try later."""
        context = self._window[-_CONTEXT:]
        (text,) = self._decode([context])
        settled = text[_UNSETTLED:]
        if len(settled) < _UNFINISHED or not self._text.endswith(settled):
            self._limit = 2 * len(self._window)
            return
        uncertain = len(self._text) - self._certain
        self._window, self._text, self._certain = context, text, len(text) - uncertain
        self._limit = _WINDOW


class StopStrings:
    """Cuts a text before the stop string that is completed first, however the text arrives."""

    def __init__(self, stops: Sequence[str]) -> None:
        """Empty stop strings are not allowed."""
        assert all(stops)
        self._stops = tuple(stops)
        self._longest = max(map(len, stops), default=0)
        self._held = ""

    def push(self, text: str) -> tuple[str, bool]:
        """The text that no stop string can claim any more, and whether a stop string was found right after it."""
        pending = self._held + text
        starts = [(stop, pending.find(stop)) for stop in self._stops]
        found = [(start + len(stop), start) for stop, start in starts if start >= 0]
        self._held = "" if found else self._beginning(pending)
        end = min(found)[1] if found else len(pending) - len(self._held)
        return pending[:end], bool(found)

    def flush(self) -> str:
        """What was held back, when no text follows."""
        rest, self._held = self._held, ""
        return rest

    def _beginning(self, text: str) -> str:
        """The longest end of `text` that a stop string may begin with."""
        longest = min(len(text), self._longest - 1)
        ends = (text[-length:] for length in range(longest, 0, -1))
        return next((end for end in ends if any(stop.startswith(end) for stop in self._stops)), "")


@dataclass(frozen=True)
class Progress:
    """What a run of tokens added to an answer. `texts` has one entry, maybe empty, per token that was used.

    Tokens after the one that ended the answer are not used. Text held back as the possible beginning of a stop
    string comes with the token that released it.
    """

    texts: tuple[str, ...]
    stopped: bool  # by a stop string

    @property
    def text(self) -> str:
        """The texts joined."""
        return "".join(self.texts)

    @property
    def tokens_used(self) -> int:
        """How many tokens of the run the answer consumed."""
        return len(self.texts)


class AnswerText:
    """The text of one answer, token by token. Stop ids must not be pushed.

    It ends before a stop string, and where a text that stood there several times in a row is whole again.
    """

    def __init__(self, decode: DecodeMany, stops: Sequence[str] = (), *, stop_on_repetition: bool = False) -> None:
        """`decode` is `Tokenizer.decode_many`."""
        self.ended: FinishReason | None = None
        self.repeats = 0  # the most that were seen; 0: no repetition
        self._repetition = Repetition()
        self._stop_on_repetition = stop_on_repetition
        self._detokenizer = Detokenizer(decode)
        self._stops = StopStrings(stops)
        self._ids: list[int] = []
        self._lengths: list[int] = []  # characters certain after each token, those held back or cut included
        self._shown = 0  # characters returned

    @property
    def stopped(self) -> bool:
        """Whether a stop string ended it."""
        return self.ended is FinishReason.STOP

    def push(self, ids: Sequence[int]) -> Progress:
        """Add a run of tokens. The result is the same for every way to cut an answer into runs."""
        assert self.ended is None
        texts = []
        for token, certain in zip(ids, self._detokenizer.push(ids), strict=True):
            self._ids.append(token)
            self._lengths.append(len(certain) + (self._lengths[-1] if self._lengths else 0))
            texts.append(self._show(certain))
            self.repeats = max(self.repeats, self._repetition.add(token, certain))
            if self.repeats and self._stop_on_repetition:
                self.ended = self.ended or FinishReason.REPETITION
            if self.ended:
                break
        return Progress(tuple(texts), self.stopped)

    def finish(self) -> str:
        """The rest of the text, when no token follows; empty after a stop string."""
        if self.stopped:
            return ""
        # After a repetition the detokenizer may have read on: a character that is not whole by then is left out.
        rest = "" if self.ended else self._show(self._detokenizer.flush())
        if self.stopped:
            return rest
        held = self._stops.flush()
        self._shown += len(held)
        return rest + held

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The answer's tokens: all of them, or after a stop string the fewest that cover the text before it."""
        return tuple(self._ids[: self.settled] if self.stopped else self._ids)

    @property
    def settled(self) -> int:
        """How many of the tokens the answer is sure to have: the fewest that cover the text shown."""
        return bisect.bisect_left(self._lengths, self._shown) + 1 if self._shown else 0

    def start_of(self, place: int) -> int:
        """Characters of the answer that were certain before the token at this place, from 0."""
        return self._lengths[place - 1] if place else 0

    def _show(self, certain: str) -> str:
        text, stopped = self._stops.push(certain)
        self.ended = FinishReason.STOP if stopped else None
        self._shown += len(text)
        return text


def _certain_length(text: str) -> int:
    """Characters that no further token can change: a U+FFFD at the end may be the beginning of a character."""
    end = text[-_UNFINISHED:]
    return len(text) - (len(end) - len(end.rstrip(_UNKNOWN)))


class Scorer:
    """Scores each token by the row that it was chosen from.

    The probabilities are the softmax of the row as the model gave it: before penalties, temperature, top-k, top-p,
    min-p and any schema. They do not depend on how a token was guessed or chosen.
    """

    def __init__(self, spell: Callable[[int], bytes], likeliest: int) -> None:
        """`likeliest`: how many of the likeliest tokens are listed beside each."""
        self._spell = spell
        self._likeliest = likeliest
        self.start = 0  # characters before the answer
        self._noted: list[tuple[Likelihood, tuple[Likelihood, ...]]] = []
        self._scored_count = 0

    def note(self, row: Row, token: int) -> None:
        """One token more; `row`: [vocabulary]."""
        peak = float(row.max())
        total = peak + math.log(float(np.exp(row - np.float32(peak)).sum(dtype=np.float64)))

        def likelihood(each: int) -> Likelihood:
            return Likelihood(tuple(self._spell(each)), float(row[each]) - total)

        ids = largest(row, self._likeliest).tolist() if self._likeliest else []
        self._noted.append((likelihood(token), tuple(map(likelihood, ids))))

    def tell(self, text: AnswerText, *, ended: bool = False) -> tuple[Scored, ...]:
        """The tokens of `text` that are certain and new; once it has `ended`, all that are left."""
        known = len(text.token_ids) if ended else text.settled
        fresh, self._scored_count = range(self._scored_count, known), known
        return tuple(Scored(self._noted[at][0], self.start + text.start_of(at), self._noted[at][1]) for at in fresh)

    def clear(self) -> None:
        """Forget what was noted."""
        self._noted.clear()

    def tell_prompt(self, first: int, texts: Sequence[str]) -> tuple[Scored, ...]:
        """The tokens of a prompt, of which `texts` are the texts; nothing says how likely the `first` was."""
        unknown: tuple[Likelihood, tuple[Likelihood, ...]] = (Likelihood(tuple(self._spell(first)), math.nan), ())
        starts = accumulate(map(len, texts), initial=0)
        return tuple(
            Scored(token, start, likeliest)
            for (token, likeliest), start in zip([unknown, *self._noted], starts, strict=False)
        )


_NOTHING_RUN = Round((), 0, 0, Origin.TARGET, Timing())


def step_of(done: Round, text: AnswerText, scorer: Scorer | None = None) -> Step:
    """Text of a round; the round is cut where a stop string ends the answer, and its clock includes this work."""
    started = time.perf_counter()
    progress = text.push([token.id for token in done.tokens])
    tokens = done.tokens[: progress.tokens_used]
    labelled = zip((token.origin for token in tokens), progress.texts, strict=True)
    pieces = tuple(
        Piece("".join(part for _, part in run), origin) for origin, run in groupby(labelled, key=lambda pair: pair[0])
    )
    spent = (time.perf_counter() - started) * 1000.0
    timing = replace(done.timing, other_ms=done.timing.other_ms + spent)
    return Step(
        progress.text,
        replace(done, tokens=tokens, timing=timing),
        tuple(piece for piece in pieces if piece.text),
        scorer.tell(text) if scorer else (),
    )


def echo_of(request: Request, ids: Sequence[int], decode: DecodeMany, scorer: Scorer | None = None) -> Step:
    """The prompt of a request as a step. `ids`: its tokens; `scorer` has noted them, if it was asked for."""
    detokenizer = Detokenizer(decode)
    texts = detokenizer.push(ids)
    text = request.prompt or "".join(texts) + detokenizer.flush()
    return Step(text, _NOTHING_RUN, (), scorer.tell_prompt(ids[0], texts) if scorer else ())


def rest_of(text: AnswerText, scorer: Scorer | None = None) -> Iterator[Step]:
    """At the end of an answer: a step with what was held back, as it might have begun a stop string; or none."""
    rest = text.finish()
    scored = scorer.tell(text, ended=True) if scorer else ()
    if rest or scored:
        yield Step(rest, _NOTHING_RUN, (Piece(rest, Origin.TARGET),) if rest else (), scored)


LONGEST_PERIOD = 200  # tokens
_LEAST_REPEATS = 4
_LEAST_TOKENS = 64
_LONGEST_OF_A_RULE, _LEAST_OF_A_RULE = 3, 128  # tokens; a drawn line or a row of zeros is no loop yet
_PERIODS: NDArray[np.int64] = np.arange(1, LONGEST_PERIOD + 1)
_BOUNDS = np.maximum(_LEAST_REPEATS * _PERIODS, _LEAST_TOKENS)  # tokens that make a repetition of each period
_MOST_LINES = 4  # of an item of a list
LEAST_ITEMS = 16  # lists of twelve and of fifteen are common
_NUMBER = re.compile(r"\d{1,9}")
_LETTER = re.compile(r"[^\W\d_]")


class Repetition:
    """What repeats itself in one answer. The tokens and the text may be pushed in any runs."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._recent = np.full(LONGEST_PERIOD, -1, np.int64)  # the newest first
        self._equal = np.zeros(LONGEST_PERIOD, np.int64)  # tokens in a row that equal the one so far before them
        self._list = _CountedList()

    def add(self, token: int, text: str = "") -> int:
        """How often the same now stands there in a row; 0: not often enough to be a repetition.

        `text` is what the token made certain.
        """
        self._equal = np.where(self._recent == token, self._equal + 1, 0)
        self._recent[1:] = self._recent[:-1]
        self._recent[0] = token
        items = self._list.add(text)
        return self._repeats() or items

    def _repeats(self) -> int:
        covered = self._equal + _PERIODS
        found = np.flatnonzero(covered >= _BOUNDS)
        if not found.size:
            return 0
        period, tokens = int(_PERIODS[found[0]]), int(covered[found[0]])
        return tokens // period if period > _LONGEST_OF_A_RULE or tokens >= _LEAST_OF_A_RULE else 0


class _CountedList:
    """Items of some lines that differ from the item before by counters alone: 8. Frogs, 9. Frogs.

    A counter counts items or lines.
    """

    def __init__(self) -> None:
        self._line = ""  # the last one, not whole yet
        self._recent: deque[str] = deque([""] * _MOST_LINES, _MOST_LINES)  # the newest first
        self._equal = [0] * _MOST_LINES  # lines in a row that follow from the one so far before them

    def add(self, text: str) -> int:
        """The items in a row at the end; 0: too few."""
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            if line.strip():
                self._take(line)
        items = max(1 + count // lines for lines, count in enumerate(self._equal, start=1))
        return items if whole and items >= LEAST_ITEMS else 0

    def _take(self, line: str) -> None:
        before = enumerate(zip(self._recent, self._equal, strict=True), start=1)
        self._equal = [count + 1 if _follows(earlier, line, lines) else 0 for lines, (earlier, count) in before]
        self._recent.appendleft(line)


def _follows(before: str, line: str, lines: int) -> bool:
    """Whether a line says the same as the one so many lines before, but for counters."""
    if not _LETTER.search(line) or _NUMBER.sub("", before) != _NUMBER.sub("", line):
        return False
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(line), strict=False)
    return all(int(after) - int(earlier) in (0, 1, lines) for earlier, after in pairs)
