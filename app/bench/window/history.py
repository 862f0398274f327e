"""Texts of realistic length for measurements: Markdown answers, and a history like that of years of use."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

from headstart.chat.conversation import Chat, ChatMessage, Conversation, Role, Run, extended
from headstart.chat.history.store import Store, new_id
from headstart.engine.engine import FinishReason, Stats
from headstart.ui.transcript import live_answer
from headstart.ui.transcript.message import MessageContent, OriginRun, RoundNote

_PARTS = (
    "## Why it works\n\nA *small* model guesses a few tokens and the **large** one checks all of them in one pass, so "
    "that `n` accepted guesses cost little more than one step.",
    "1. The draft proposes four tokens.\n2. The target scores them together.\n3. Those that agree are kept, with\n"
    "   - one token of its own,\n   - and a cache that is rolled back.",
    "```python\ndef accept(draft, target):\n    # the longest common prefix\n    kept = 0\n    for a, b in zip(draft, "
    "target):\n        if a != b:\n            break\n        kept += 1\n    return {'kept': kept}\n"
    "```",
    "| length | accepted | ms |\n|:--|--:|--:|\n| 1 | 0.8 | 44.0 |\n| 2 | 0.7 | 38.5 |\n| 4 | 0.5 | 36 |",
    "推测解码**不会改变**结果：每个词元仍由大模型决定。The gain is $\\frac{1 - a^{k+1}}{1 - a}$ tokens a round, with "
    "$a$ the acceptance and $k$ the length of the draft.",
    "> The answer is the same, only sooner.\n\nSee [the paper](https://arxiv.org/abs/2211.17192) for the proof, and "
    "measure it on the machine at hand before believing any number.",
)
PATTERN = ("target", "draft", "draft", "n-gram", "draft")


def message(seed: int, tokens: int) -> str:
    """Return Markdown of about so many tokens (four letters each)."""
    rng = random.Random(seed)  # noqa: S311
    parts: list[str] = []
    while sum(map(len, parts)) < tokens * 4:
        parts.append(rng.choice(_PARTS))
    return "\n\n".join(parts)


def pieces(text: str) -> Iterator[str]:
    """Split a text into tokens of three to five letters."""
    sizes = itertools.cycle((4, 3, 5, 4))
    at = 0
    while at < len(text):
        size = next(sizes)
        yield text[at : at + size]
        at += size


def contents(count: int, tokens: int) -> list[MessageContent]:
    """Return a chat whose answers have origins."""
    made = []
    for index in range(count):
        text = message(index, tokens)
        runs = tuple(
            OriginRun(len(piece), PATTERN[n % 5], RoundNote("draft", 4, 3)) for n, piece in enumerate(pieces(text))
        )
        made.append(MessageContent(index, "assistant" if index % 2 else "user", text, runs))
    return made


# For the search, one for each way through it; those with rare signs must look at every message.
QUERIES = {
    "one letter, being typed": "b",
    "three letters apart": "a b c",
    "a beginning": "quas",
    "a frequent word": "ba",
    "a rare word": "baduqua",
    "two words": "ba codu",
    "a phrase": '"why it works"',
    "a Chinese character": "一",
    "Chinese characters": "一丁",
    "signs that are there": "?",
    "signs that are nowhere": "?!~",
    "words with signs": "{'kept':",
    "a word that is nowhere": "zzzz",
}
RARE = "quokka"  # a word of one chat in a thousand, with a number: "quokka17"
MANY = (4, 10, 16, 30, 40, 80, 120, 500)  # messages in a chat: 100 in the mean, most chats far shorter
_SYLLABLES = ("ba", "co", "du", "fi", "lo", "mer", "ni", "per", "qua", "ro", "sta", "ti", "un", "vor", "ex", "al")
_HAN = [chr(0x4E00 + number) for number in range(3000)]
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


class HistoryMaker:
    """Makes chats and writes them with the real store; the same seed gives the same ones."""

    def __init__(self, question: int = 160, answer: int = 800, seed: int = 3) -> None:
        """`question` and `answer`: mean lengths in characters, four a token."""
        self._question, self._answer = question, answer
        self._random = random.Random(seed)  # noqa: S311
        self._stats = live_answer.stored_stats(_STATS, FinishReason.STOP)
        choice, length = self._random.choice, self._random.randint
        words = ["".join(choice(_SYLLABLES) for _ in range(length(1, 4))) for _ in range(30_000)]
        # As frequent as those of a language: few often, many hardly ever.
        often = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))
        often_han = list(itertools.accumulate(1 / (rank + 5) for rank in range(len(_HAN))))

        def latin() -> str:
            text = " ".join(self._random.choices(words, cum_weights=often, k=length(4, 20)))
            return text.capitalize() + choice((". ", ". ", ", ", "? ", "; "))

        def chinese() -> str:
            return "".join(self._random.choices(_HAN, cum_weights=often_han, k=30)) + "。"

        self._latin, self._chinese = (
            [f"\n\n{choice(_PARTS)}\n\n" if self._random.random() < 0.05 else sentence() for _ in range(_POOL)]
            for sentence in (latin, chinese)
        )

    def fill(self, store: Store, chats: int, now: float, lengths: tuple[int, ...] = MANY) -> None:
        """Write so many chats, with these lengths in turn; the last one ends just before `now`."""
        store.create_tag("work")
        for number, length in zip(range(chats), itertools.cycle(lengths), strict=False):
            self.add(store, number, length, now - (chats - number) * _GAP_S)

    def add(self, store: Store, number: int, length: int, began: float) -> Chat:
        """Write one chat of `length` messages."""
        pool = self._latin if number % _CHINESE else self._chinese
        title = self._random.choice(pool).strip()[:60]
        tags = ("work",) if not number % 4 else ()
        chat = replace(Chat(new_id(), title, began, began + length), tags=tags, pinned=not number % 2000)
        messages = {each.id: each for each in self._messages(pool, number, length, began)}
        return store.add(chat, Conversation(messages, {each.parent: each.id for each in messages.values()}))

    def _messages(self, pool: list[str], number: int, length: int, began: float) -> Iterator[ChatMessage]:
        for id_ in range(1, length + 1):
            parent, time = id_ - 1 or None, began + id_
            if id_ % 2:
                rare = f" {RARE}{number}" if id_ == 1 and not number % 1000 else ""
                yield ChatMessage(id_, parent, Role.USER, self._text(pool, self._question) + rare, time)
            else:
                text = self._text(pool, self._answer)
                runs, rounds = _origins(len(text))
                stats = {**self._stats, live_answer.ROUNDS: rounds}
                yield ChatMessage(id_, parent, Role.ASSISTANT, text, time, model="a-model", origins=runs, stats=stats)

    def _text(self, pool: list[str], characters: int) -> str:
        wanted, made = self._random.randint(characters // 2, characters * 3 // 2), ""
        while len(made) < wanted:
            made += self._random.choice(pool)
        return made.strip()


def _origins(characters: int) -> tuple[tuple[Run, ...], list[object]]:
    """Return origins of an answer: tokens of four characters in rounds of five."""
    runs: tuple[Run, ...] = ()
    for origin in PATTERN:
        runs = extended(runs, 4, origin)
    runs *= characters // 20
    rest = characters % 20
    rounds: list[object] = [[20, "draft", 4, 3] for _ in range(characters // 20)]
    return (*runs, *((Run(rest, "target"),) if rest else ())), [*rounds, *([[rest, "draft", 4, 0]] if rest else [])]
