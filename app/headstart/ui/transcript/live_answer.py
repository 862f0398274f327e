"""An answer that is being written, and the report on the statistics of one that has ended."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

from headstart.chat.conversation import ChatMessage, Run, extended
from headstart.engine.engine import FinishReason, Stats, Step
from headstart.engine.origins import ORIGINS
from headstart.engine.stats import NoGain, figures, number, rows, speedup
from headstart.settings import Settings
from headstart.tools.loop import ToolLoop
from headstart.ui.formatting import decimal, listed, whole
from headstart.ui.transcript.message import OriginRun, RoundNote
from headstart.ui.translation import translate, translate_error

StoredStats = Mapping[str, object]  # plain JSON data, as the history stores it
FINISH, NOTICE, ROUNDS = "finish_reason", "notice", "round_list"
THINKING_MS = "thinking_ms"
_MIN_GAIN = 1.05  # shown as 1.1
REPEATS = "repeats"  # how many times some of the text stands in a row


def stored_stats(stats: Stats, reason: FinishReason) -> dict[str, object]:
    """Return statistics, and the figures derived from them, as plain data."""
    return {**figures(stats), FINISH: reason.value}


def summary(stats: StoredStats) -> str:
    """Return the speed and the gain of guessing ahead in one line; empty if nothing was measured."""
    if not number(stats, "output_tokens"):
        return ""
    speed = rows(stats).get("speed")
    words = translate("AnswerReport", "{} tokens/s").format(decimal(speed, 1)) if speed else ""
    return listed(part for part in (words, gain(stats)) if part)


def report(stats: StoredStats) -> str:
    """Return the summary with the details below it; empty if nothing was measured."""
    first = summary(stats)
    return "\n".join(part for part in (first, details(stats)) if part) if first else ""


def gain(stats: StoredStats) -> str:
    """Return the rounded gain of speculation; empty without a gain."""
    times = speedup(stats)
    if isinstance(times, NoGain) or times < _MIN_GAIN:
        return ""
    return translate("AnswerReport", "{}× faster").format(factor_text(times))


def factor_text(times: float) -> str:
    """Format a speedup, such as "2" or "1.6"."""
    rounded = round(times, 1)
    return decimal(rounded, 0 if rounded.is_integer() else 1)


def speed_ratio(stats: StoredStats, other: StoredStats) -> float | None:
    """Return how many times as fast an answer is as another; None if unknown or one of them repeats itself."""
    speed, other_speed = number(stats, "tokens_per_second"), number(other, "tokens_per_second")
    has_repetition = number(stats, REPEATS) or number(other, REPEATS)
    return speed / other_speed if speed and other_speed and not has_repetition else None


def notice(stats: StoredStats) -> str:
    """Return one sentence on an unusual end of the answer; empty after a usual one."""
    if stats.get(NOTICE):
        return str(stats[NOTICE])
    match stats.get(FINISH):
        case FinishReason.LENGTH.value:
            return translate("AnswerReport", "The answer reached its longest length.")
        case FinishReason.REPETITION.value:
            return translate("AnswerReport", "The model repeats itself, so the answer was stopped.")
        case FinishReason.CONTENT_FILTER.value:
            return translate("AnswerReport", "The content filter of the server withholds the rest of the answer.")
        case FinishReason.CONTEXT.value:
            return translate(
                "AnswerReport",
                "The context is full, so the answer ends here; start a new chat or fork this one earlier.",
            )
        case FinishReason.CANCELLED.value:
            return (
                translate("AnswerReport", "Stopped.")
                if number(stats, "output_tokens")
                else translate("AnswerReport", "Stopped before the first word.")
            )
        case FinishReason.STOP.value if not number(stats, "output_tokens"):
            return translate("AnswerReport", "The model ended its answer without a word.")
    return ""


def details(stats: StoredStats) -> str:
    """Return the lines on speedup, guesses, wait, thinking, origins of tokens, time, time saved and context."""
    figures = rows(stats)
    if number(stats, "drafted") is None:
        figures.pop("speedup", None)  # it is not known whether something was guessed
    return "\n".join(text for name, word in _WORDS.items() if name in figures and (text := word(figures[name])))


def _exact_gain(times: float | NoGain) -> str:
    if isinstance(times, NoGain):
        return translate("AnswerReport", "Nothing was guessed ahead") if times is NoGain.NO_GUESSES else ""
    return translate("AnswerReport", "{}× as fast as without guessing ahead").format(decimal(times, 2))


def _acceptance(counts: tuple[float, int, int]) -> str:
    rate, accepted, drafted = counts
    return translate("AnswerReport", "{rate} % of the guesses accepted ({accepted} of {drafted})").format(
        rate=round(rate * 100), accepted=accepted, drafted=drafted
    )


def _length(tokens: float) -> str:
    return translate("AnswerReport", "{} tokens per step").format(decimal(tokens, 2))


def _wait(milliseconds: float) -> str:
    return translate("AnswerReport", "First token after {}").format(_seconds(milliseconds))


def _thinking(tokens: float) -> str:
    return translate("AnswerReport", "Thinking: {} tokens").format(whole(tokens))


def _origins(counts: Mapping[str, int]) -> str:
    parts = [f"{translate_error(ORIGINS[origin].label)} {tokens}" for origin, tokens in counts.items()]
    return translate("AnswerReport", "Tokens from: {}").format(listed(parts))


def _time(parts: Mapping[str, float]) -> str:
    names = {
        "draft": translate("AnswerReport", "guessing"),
        "verify": translate("AnswerReport", "checking"),
        "other": translate("AnswerReport", "other"),
    }
    words = [f"{names.get(name, name)} {_seconds(milliseconds)}" for name, milliseconds in parts.items()]
    return translate("AnswerReport", "Time: {}").format(listed(words))


def _saved(milliseconds: float) -> str:
    words = (
        translate("AnswerReport", "Time saved (estimate): {}")
        if milliseconds > 0
        else translate("AnswerReport", "Time lost (estimate): {}")
    )
    return words.format(_seconds(abs(milliseconds)))


def _prompt(tokens: tuple[int, int]) -> str:
    read, total = map(whole, tokens)
    return translate("AnswerReport", "Prompt: {tokens} tokens, {known} of them read before").format(
        tokens=read, known=total
    )


def _context(tokens: tuple[int, int]) -> str:
    used, room = map(whole, tokens)
    return translate("AnswerReport", "Context: {used} of {room} tokens").format(used=used, room=room)


_WORDS: Mapping[str, Callable[[Any], str]] = {
    "speedup": _exact_gain,
    "acceptance": _acceptance,
    "tokens per round": _length,
    "first token": _wait,
    "thinking": _thinking,
    "origins": _origins,
    "parts": _time,
    "saved": _saved,
    "prompt": _prompt,
    "context": _context,
}


def _seconds(milliseconds: float) -> str:
    return translate("AnswerReport", "{} s").format(decimal(milliseconds / 1000, 2 if milliseconds < 1000 else 1))


@dataclass
class LiveAnswer:
    """An answer that grows by the engine's steps."""

    message: int
    generation: int
    loop: ToolLoop
    text: str = ""  # including the earlier parts of a continued answer
    thinking: str = ""
    thinking_ms: float = 0.0
    runs: tuple[Run, ...] = ()  # of the text, like the rounds
    rounds: list[list[object]] = field(default_factory=list)  # [characters, drafter, drafted, accepted]
    saved: int = 0  # characters on disk
    earlier: StoredStats = field(default_factory=dict)  # statistics of what was written before
    settings: Settings = field(default_factory=Settings)

    def grow(self, steps: Iterable[Step]) -> None:
        """Append the text and the thinking of further rounds."""
        for step in steps:
            round_, thinking = step.round, step.thinking
            for piece in step.pieces:
                if not piece.is_thinking:
                    self.text += piece.text
                    self.runs = extended(self.runs, len(piece.text), piece.origin.value)
            if thinking:
                self.thinking += thinking
                self.thinking_ms += round_.timing.total_ms
            if step.text:
                self.rounds.append([len(step.text), round_.drafter.value, round_.drafted, round_.accepted])

    @property
    def length(self) -> int:
        """The number of characters so far."""
        return len(self.text) + len(self.thinking)

    def own_stats(self) -> StoredStats:
        """Return the statistics that the engine does not report."""
        return {ROUNDS: self.rounds} | ({THINKING_MS: self.thinking_ms} if self.thinking_ms else {})


def origin_runs(steps: Iterable[Step]) -> list[OriginRun]:
    """Return the origin and the round of each piece of text, without thinking, in these steps."""
    notes = [(step, RoundNote(step.round.drafter.value, step.round.drafted, step.round.accepted)) for step in steps]
    pieces = [(piece, note) for step, note in notes for piece in step.pieces if not piece.is_thinking]
    return [OriginRun(len(piece.text), piece.origin.value, note) for piece, note in pieces]


def thinking_seconds(stats: StoredStats) -> int:
    """Return the time spent thinking, rounded; 0 if it is unknown."""
    return round((number(stats, THINKING_MS) or 0) / 1000)


def origins(message: ChatMessage) -> set[str]:
    counts = message.stats.get("by_origin")
    if isinstance(counts, Mapping):
        return {name for name, count in counts.items() if count}
    return {run.origin for run in message.origins}


def resume(message: ChatMessage, generation: int, loop: ToolLoop, settings: Settings) -> LiveAnswer:
    """Return the live answer of a message, with the text and the thinking that it has."""
    earlier = message.stats.get(ROUNDS)
    rounds = list(earlier) if isinstance(earlier, list) else []
    return LiveAnswer(
        message.id,
        generation,
        loop,
        message.text,
        message.thinking,
        number(message.stats, THINKING_MS) or 0.0,
        message.origins,
        rounds,
        len(message.text) + len(message.thinking),
        message.stats,
        settings,
    )


class StoredOrigins(Sequence[OriginRun]):
    """The stored origins of a message, with their rounds, if these were stored.

    They are built on first use, for only the visible part of a long chat is drawn.
    """

    def __init__(self, message: ChatMessage) -> None:
        self._message = message

    @overload
    def __getitem__(self, index: int) -> OriginRun: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[OriginRun]: ...
    def __getitem__(self, index: int | slice) -> OriginRun | Sequence[OriginRun]:
        return self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    @cached_property
    def _runs(self) -> tuple[OriginRun, ...]:
        message = self._message
        stored = message.stats.get(ROUNDS)
        rounds = [_parse_round(item) for item in stored] if isinstance(stored, list) else []
        if sum(length for length, _ in rounds) != sum(run.characters for run in message.origins):
            return tuple(OriginRun(run.characters, run.origin) for run in message.origins)
        return tuple(_split_at_rounds(message.origins, rounds))


def _split_at_rounds(runs: Iterable[Run], rounds: list[tuple[int, RoundNote]]) -> Iterable[OriginRun]:
    """Split the runs where a round ends."""
    pending = [(length, note) for length, note in reversed(rounds) if length]
    for run in runs:
        left = run.characters
        while left:
            length, note = pending.pop()
            taken = min(left, length)
            yield OriginRun(taken, run.origin, note)
            left -= taken
            if length > taken:
                pending.append((length - taken, note))


def _parse_round(item: object) -> tuple[int, RoundNote]:
    assert isinstance(item, list), "rounds are stored as lists"
    characters, drafter, drafted, accepted = item
    return int(characters), RoundNote(str(drafter), int(drafted), int(accepted))
