"""Makes a history as large as years of use: chats of all lengths, written by the real store."""

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from bench.corpus import PATTERN, Words
from headstart.chat.conversation import Chat, Conversation, Message, Role, Run, extended
from headstart.chat.store import Store, new_id
from headstart.engine.engine import FinishReason, Stats
from headstart.ui.chat import live_answer

_LENGTHS = (4, 10, 16, 30, 40, 80, 120, 500)  # messages in a chat: 100 in the mean, most chats far shorter
MEAN = sum(_LENGTHS) // len(_LENGTHS)
_QUESTION, _ANSWER = 160, 800  # characters in the mean: 40 and 200 tokens
_POOL = 5_000  # sentences; each is used a thousand times, so that a million messages are written in minutes
_CHINESE = 5  # every fifth chat
_GAP_S = 4 * 3600.0  # between two chats: ten thousand are four and a half years
_STATS = Stats(
    prompt_tokens=400,
    reused_tokens=300,
    output_tokens=200,
    rounds=60,
    drafted=240,
    accepted=140,
    ttft_ms=250.0,
    decode_ms=7000.0,
    by_origin={"target": 60, "draft": 140},
    by_part={"draft": 1500.0, "verify": 5400.0, "other": 100.0},
    ledger_ms=3000.0,
    plain_ms=60.0,
    context_used=600,
    context_length=4096,
)
RARE = "quokka"  # a word of one chat in a thousand, with a number: "quokka17"


class LongHistory:
    """One builder; the same seed gives the same history."""

    def __init__(self, seed: int = 5) -> None:
        words = Words(seed)
        self._random = random.Random(seed)  # noqa: S311
        self._latin = [words.sentence() for _ in range(_POOL)]
        self._stats = live_answer.keep(_STATS, FinishReason.STOP)
        self._chinese = [words.sentence(chinese=True) for _ in range(_POOL)]

    def fill(self, store: Store, chats: int, now: float, told: Callable[[int], object] = lambda _: None) -> int:
        """Write so many chats, the last one just before `now`; how many messages that made. `told` gets them too."""
        store.create_tag("work")
        made = 0
        for number, length in zip(range(chats), itertools.cycle(_LENGTHS), strict=False):
            self.add(store, number, length, now - (chats - number) * _GAP_S)
            made += length
            told(made)
        return made

    def add(self, store: Store, number: int, length: int, began: float) -> Chat:
        """One chat of `length` messages."""
        pool = self._latin if number % _CHINESE else self._chinese
        title = self._random.choice(pool).strip()[:60]
        tags = ("work",) if not number % 4 else ()
        chat = replace(Chat(new_id(), title, began, began + length), tags=tags, pinned=not number % 2000)
        messages = {each.id: each for each in self._messages(pool, number, length, began)}
        return store.add(chat, Conversation(messages, {each.parent: each.id for each in messages.values()}))

    def _messages(self, pool: list[str], number: int, length: int, began: float) -> Iterator[Message]:
        for id_ in range(1, length + 1):
            parent, time = id_ - 1 or None, began + id_
            if id_ % 2:
                rare = f" {RARE}{number}" if id_ == 1 and not number % 1000 else ""
                yield Message(id_, parent, Role.USER, self._text(pool, _QUESTION) + rare, time)
            else:
                text = self._text(pool, _ANSWER)
                runs, rounds = _origins(len(text))
                stats = {**self._stats, live_answer.ROUNDS: rounds}
                yield Message(id_, parent, Role.ASSISTANT, text, time, model="a-model", origins=runs, stats=stats)

    def _text(self, pool: list[str], characters: int) -> str:
        wanted, made = self._random.randint(characters // 2, characters * 3 // 2), ""
        while len(made) < wanted:
            made += self._random.choice(pool)
        return made.strip()


def _origins(characters: int) -> tuple[tuple[Run, ...], list[object]]:
    """Tokens of four characters in rounds of five, as an answer is kept."""
    runs: tuple[Run, ...] = _RUNS[: characters // 20 * 4]
    rest = characters - sum(run.characters for run in runs)
    rounds: list[object] = [[20, "draft", 4, 3] for _ in range(characters // 20)]
    return (*runs, *((Run(rest, "target"),) if rest else ())), [*rounds, *([[rest, "draft", 4, 0]] if rest else [])]


def _pattern(rounds: int) -> tuple[Run, ...]:
    """Runs of the usual five tokens, over and over."""
    runs: tuple[Run, ...] = ()
    for origin in PATTERN:
        runs = extended(runs, 4, origin)
    return runs * rounds


_RUNS = _pattern(200)
