"""Texts of real length for the figures: Markdown of answers, a history of many chats."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

from headstart.chat.conversation import Chat, Conversation, Message, Role, Run
from headstart.chat.store import Store, new_id
from headstart.ui.chat.message import MessageContent, OriginRun, RoundNote

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
    """Markdown of about so many tokens (four letters each)."""
    rng = random.Random(seed)  # noqa: S311
    parts: list[str] = []
    while sum(map(len, parts)) < tokens * 4:
        parts.append(rng.choice(_PARTS))
    return "\n\n".join(parts)


def pieces(text: str) -> Iterator[str]:
    """Tokens of three to five letters."""
    sizes = itertools.cycle((4, 3, 5, 4))
    at = 0
    while at < len(text):
        size = next(sizes)
        yield text[at : at + size]
        at += size


def contents(count: int, tokens: int) -> list[MessageContent]:
    """A chat whose answers have origins."""
    made = []
    for index in range(count):
        text = message(index, tokens)
        runs = tuple(
            OriginRun(len(piece), PATTERN[n % 5], RoundNote("draft", 4, 3)) for n, piece in enumerate(pieces(text))
        )
        made.append(MessageContent(index, "assistant" if index % 2 else "user", text, runs))
    return made


_SYLLABLES = ("ba", "co", "du", "fi", "lo", "mer", "ni", "per", "qua", "ro", "sta", "ti", "un", "vor", "ex", "al")
_HAN = [chr(0x4E00 + number) for number in range(3000)]
_QUESTION, _ANSWER = 240, 1600  # characters: 60 and 400 tokens
_IN_A_CHAT = 10  # messages
_CHINESE = 5  # every fifth chat


class Words:
    """Text whose words are as frequent as those of a language: few often, many hardly ever."""

    def __init__(self, seed: int = 3) -> None:
        self._random = random.Random(seed)  # noqa: S311
        choice, length = self._random.choice, self._random.randint
        self._words = ["".join(choice(_SYLLABLES) for _ in range(length(1, 4))) for _ in range(30_000)]
        self._often = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self._words))))
        self._often_han = list(itertools.accumulate(1 / (rank + 5) for rank in range(len(_HAN))))

    def sentence(self, *, chinese: bool = False) -> str:
        """One, or now and then a block of Markdown."""
        if self._random.random() < 0.05:
            return f"\n\n{self._random.choice(_PARTS)}\n\n"
        if chinese:
            return "".join(self._random.choices(_HAN, cum_weights=self._often_han, k=30)) + "。"
        words = self._random.choices(self._words, cum_weights=self._often, k=self._random.randint(4, 20))
        return " ".join(words).capitalize() + self._random.choice((". ", ". ", ", ", "? ", "; "))

    def text(self, characters: int, *, chinese: bool = False) -> str:
        """About so much of it."""
        made = ""
        while len(made) < characters:
            made += self.sentence(chinese=chinese)
        return made.strip()


def fill(store: Store, messages: int) -> None:
    """Chats of ten messages: questions of 60 tokens, answers of 400 with their origins, a fifth in Chinese."""
    words = Words()
    store.create_tag("work")
    for number in range(messages // _IN_A_CHAT):
        title = words.text(20, chinese=not number % _CHINESE)[:60]
        now = 1.7e9 + number * 3600.0
        tags = ("work",) if not number % 4 else ()
        chat = replace(Chat(new_id(), title, now, now), tags=tags)
        store.add(chat, _conversation(words, now, chinese=not number % _CHINESE))


def _conversation(words: Words, now: float, *, chinese: bool) -> Conversation:
    made: dict[int, Message] = {}
    for id_ in range(1, _IN_A_CHAT + 1):
        role = Role.USER if id_ % 2 else Role.ASSISTANT
        text = words.text(_QUESTION if role is Role.USER else _ANSWER, chinese=chinese)
        runs = () if role is Role.USER else _runs(text)
        made[id_] = Message(id_, id_ - 1 or None, role, text, now + id_, origins=runs)
    return Conversation(made, {each.parent: each.id for each in made.values()})


def _runs(text: str) -> tuple[Run, ...]:
    return tuple(Run(len(piece), PATTERN[number % 5]) for number, piece in enumerate(pieces(text)))
