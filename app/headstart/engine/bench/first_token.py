"""The time to the first token, by the length of the prompt and by what was read before."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import cycle

from headstart import kept_prompts
from headstart.engine.bench.prompts import KINDS, read_prompts
from headstart.engine.devices import Machine, describe
from headstart.engine.engine import Finish, Keep, LoadOptions, Message, Request, Sampling, Stats
from headstart.engine.local import LocalEngine

_CHATS = ("headstart-bench-1", "headstart-bench-2")  # what is kept of them on disk is deleted in the end
_ANSWER = 8  # tokens
_FRAME = 32  # tokens that the chat's format and the last question may take
_ALL_THERE_IS = 2**62  # bytes: no chat of the user makes room
_QUESTION = "And what would you say in one word?"


class Before(StrEnum):
    """What happened before a prompt was read."""

    NOTHING = "cold"
    SAME = "same chat"
    OTHER = "other chat"
    RESTART = "after a restart"


@dataclass(frozen=True)
class FirstToken:
    """One way to come to a prompt. `reused`: tokens that were not read again."""

    prompt_tokens: int
    reused: int
    ms: tuple[float, ...]  # of each repeat

    @property
    def median(self) -> float:
        """Milliseconds."""
        return statistics.median(self.ms)


@dataclass(frozen=True)
class FirstTokenResult:
    """Everything that was measured: by length of the prompt, then by what happened before."""

    machine: Machine
    target: str
    draft: str | None
    by_length: Mapping[int, Mapping[Before, FirstToken]]
    schema: int = 1


def measure_first_token(
    engine: LocalEngine, load: LoadOptions, lengths: Sequence[int], repeats: int, stage: Callable[[str], None]
) -> FirstTokenResult:
    """Two chats of each length: each is begun, gone on with, left for the other, and gone on with after a restart.

    A restart is an engine that has forgotten all that is not on disk; loading is not counted.
    """
    names = (*(model.name for model in engine.models), None)
    fitting = [length for length in lengths if length + 2 * (_ANSWER + _FRAME) <= engine.context]
    try:
        found = {length: _of_length(engine, length, repeats, stage) for length in fitting}
    finally:
        engine.forget(_CHATS)
        kept_prompts.delete(*_CHATS)
        engine.forget_all()
    return FirstTokenResult(describe(load.device), names[0] or "", names[1], found)


def _of_length(
    engine: LocalEngine, length: int, repeats: int, stage: Callable[[str], None]
) -> Mapping[Before, FirstToken]:
    found: dict[Before, list[Stats]] = {before: [] for before in Before}
    for repeat in range(repeats):
        stage(f"{length} tokens, repeat {repeat + 1}")
        engine.forget_all()
        first, second = (_Chat(engine, name, length) for name in _CHATS)
        found[Before.NOTHING] += [first.ask(), second.ask()]
        found[Before.SAME].append(second.ask())
        found[Before.OTHER] += [first.ask(), second.ask()]
        while engine.store_one():
            pass
        engine.forget_all()
        found[Before.RESTART] += [first.ask(), second.ask()]
        engine.forget(_CHATS)
    return {before: _summed_up(stats) for before, stats in found.items()}


def _summed_up(stats: Sequence[Stats]) -> FirstToken:
    last = stats[-1]
    return FirstToken(last.prompt_tokens, last.reused_tokens, tuple(each.ttft_ms for each in stats))


class _Chat:
    """A conversation that begins with a text of a length, and has one more short question each time."""

    def __init__(self, engine: LocalEngine, name: str, length: int) -> None:
        self._engine, self._name = engine, name
        self._messages = [Message("user", _text(engine, name, length))]

    def ask(self) -> Stats:
        """Have an answer of a few tokens written; what it cost."""
        request = Request(tuple(self._messages), _ANSWER, Sampling(), keep=Keep(self._name, _ALL_THERE_IS))
        *steps, finish = self._engine.generate(request)
        assert isinstance(finish, Finish)
        answer = "".join(getattr(step, "text", "") for step in steps)
        self._messages += [Message("assistant", answer), Message("user", _QUESTION)]
        return finish.stats


def _text(engine: LocalEngine, name: str, length: int) -> str:
    """The benchmark's own prompts, one after the other, cut to a length; each chat begins with another line."""
    written: list[str] = [f"Notes for {name}, {length} tokens."]
    tokens: list[int] = []
    for part in cycle(_paragraphs()):
        tokens = list(engine.tokenizer.encode("\n\n".join(written)))
        if len(tokens) >= length - _FRAME:
            break
        written.append(part)
    return engine.tokenizer.decode(tokens[: length - _FRAME])


def _paragraphs() -> Iterator[str]:
    for prompt in read_prompts(3, KINDS):
        yield prompt.text
