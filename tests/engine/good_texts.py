"""More than two hundred texts that repeat much and say something all the same: no answer like these may be cut.

Made up from a seed each, and real ones of this repository.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PER_KIND = 14
_SLICE = 6000  # characters of a long file
_NAMES = (
    "Anna", "Ben", "Carla", "David", "Eva", "Frank", "Greta", "Hugo", "Ines", "Jonas",
    "Klara", "Leo", "Mia", "Nils", "Olga", "Paul", "Rosa", "Sven", "Tara", "Uwe",
)  # fmt: skip
_THINGS = (
    "apple", "bread", "chair", "door", "engine", "flower", "glass", "house",
    "island", "jacket", "key", "lamp", "mirror", "needle", "oven", "pen",
)  # fmt: skip
_CITIES = (
    "Paris", "Rome", "Oslo", "Cairo", "Lima", "Tokyo", "Delhi", "Quito",
    "Dublin", "Berne", "Vienna", "Prague", "Riga", "Tunis", "Accra", "Perth",
)  # fmt: skip


def texts() -> Iterator[tuple[str, str]]:
    """Yield a name and a text, one after another."""
    for kind in _KINDS:
        for seed in range(_PER_KIND):
            yield f"{kind.__name__.strip('_')} {seed}", kind(random.Random(seed))
    for pattern in (
        "*.md",
        "app/**/*.md",
        "app/**/*.py",
        "models/*.toml",
        "app/**/prompts/*.toml",
        "**/licence_texts/*",
    ):
        for path in sorted(ROOT.glob(pattern))[:25]:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")[:_SLICE]


def _table(chance: random.Random) -> str:
    rows = [f"| {name} | {chance.choice(_CITIES)} | {chance.randint(1, 99)} |" for name in chance.sample(_NAMES, 16)]
    return "\n".join(["| Name | City | Age |", "| --- | --- | --- |", *rows])


def _numbered(chance: random.Random) -> str:
    things = [f"{chance.choice(_THINGS)} of {name}" for name in _NAMES]
    return "\n".join(f"{number}. The {thing}" for number, thing in enumerate(things, start=1))


def _csv(chance: random.Random) -> str:
    return "\n".join(f"{number},{chance.random():.3f},{chance.choice(_CITIES)},0,0,0" for number in range(40))


def _json(chance: random.Random) -> str:
    rows = [{"id": number, "name": chance.choice(_NAMES), "active": True, "tags": []} for number in range(20)]
    return json.dumps(rows, indent=2)


def _times_table(chance: random.Random) -> str:
    factor = chance.randint(2, 19)
    return "\n".join(f"{factor} x {number} = {factor * number}" for number in range(1, 31))


def _hex_dump(chance: random.Random) -> str:
    data = chance.randbytes(120) + bytes(40) + chance.randbytes(96)
    rows = [data[start : start + 16] for start in range(0, len(data), 16)]
    return "\n".join(f"{number * 16:08x}  {row.hex(' ')}" for number, row in enumerate(rows))


def _cases(chance: random.Random) -> str:
    names = chance.sample(_CITIES, 14)
    return "switch (city) {\n" + "\n".join(f'  case {name.upper()}:\n    return "{name}";' for name in names) + "\n}"


def _refrain(chance: random.Random) -> str:
    refrain = (
        "Row, row, row your boat,\nGently down the stream,\nMerrily, merrily, merrily, merrily,\nLife is but a dream."
    )
    verses = [f"The {chance.choice(_THINGS)} of {name} was never seen." for name in chance.sample(_NAMES, 6)]
    return "\n\n".join(f"{verse}\n\n{refrain}" for verse in verses)


def _laughter(chance: random.Random) -> str:
    return f"{'ha' * chance.randint(5, 25)}! N{'o' * chance.randint(5, 40)}! {'😂' * chance.randint(3, 12)}"


def _dialogue(chance: random.Random) -> str:
    first, second = chance.sample(_NAMES, 2)
    return "\n".join(
        f"{first}: Do you have the {thing}?\n{second}: No, I do not have the {thing}." for thing in _THINGS
    )


def _chinese(chance: random.Random) -> str:
    names = chance.sample(["北京", "上海", "广州", "深圳", "成都", "杭州", "西安", "南京", "武汉", "天津"], 9)
    return "\n".join(f"{number}. {name}是一个美丽的城市。" for number, name in enumerate(names, start=1))


_KINDS: tuple[Callable[[random.Random], str], ...] = (
    *(_table, _numbered, _csv, _json, _times_table, _hex_dump, _cases, _refrain, _laughter, _dialogue, _chinese),
)
