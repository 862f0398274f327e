"""More than two hundred texts that repeat much and say something all the same: no answer like these may be cut.

Made up from a seed each, and real ones of this repository.
"""

import base64
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PER_KIND = 9
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
    """A name and a text, one after another."""
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


def _wide_table(chance: random.Random) -> str:
    width = chance.randint(8, 14)
    rows = ["| " + " | ".join(chance.choice(_THINGS) for _ in range(width)) + " |" for _ in range(8)]
    return "\n".join(["|" + " x |" * width, "|" + "---|" * width, *rows])


def _yes_no_table(chance: random.Random) -> str:
    rows = [f"| {thing} | {chance.choice(['yes', 'no'])} | {chance.choice(['yes', 'no'])} |" for thing in _THINGS]
    return "\n".join(["| Thing | Here | There |", "|:--|:-:|:-:|", *rows])


def _ruled_table(chance: random.Random) -> str:
    rule = "+------------+------------+"
    rows = [f"| {name:<10} | {chance.choice(_CITIES):<10} |" for name in chance.sample(_NAMES, 14)]
    return "\n".join(f"{rule}\n{row}" for row in rows) + f"\n{rule}"


def _numbered(chance: random.Random) -> str:
    things = [f"{chance.choice(_THINGS)} of {name}" for name in _NAMES]
    return "\n".join(f"{number}. The {thing}" for number, thing in enumerate(things, start=1))


def _bullets(chance: random.Random) -> str:
    return "\n".join(f"- **{name}** likes the {chance.choice(_THINGS)}." for name in _NAMES)


def _steps(chance: random.Random) -> str:
    return "\n\n".join(
        f"## Step {number}: the {thing}\n\nTake the {thing} and put it beside the {chance.choice(_THINGS)}."
        for number, thing in enumerate(_THINGS, start=1)
    )


def _csv(chance: random.Random) -> str:
    return "\n".join(f"{number},{chance.random():.3f},{chance.choice(_CITIES)},0,0,0" for number in range(40))


def _json(chance: random.Random) -> str:
    rows = [{"id": number, "name": chance.choice(_NAMES), "active": True, "tags": []} for number in range(20)]
    return json.dumps(rows, indent=2)


def _numbers(chance: random.Random) -> str:
    return json.dumps([chance.randint(0, 9) for _ in range(200)])


def _matrix(chance: random.Random) -> str:
    size = chance.randint(5, 8)
    rows = [[int(row == column) for column in range(size)] for row in range(size)]
    return "\n".join(map(str, rows))


def _counting(chance: random.Random) -> str:
    return "\n".join(map(str, range(1, chance.randint(60, 120))))


def _times_table(chance: random.Random) -> str:
    factor = chance.randint(2, 19)
    return "\n".join(f"{factor} x {number} = {factor * number}" for number in range(1, 31))


def _dates(chance: random.Random) -> str:
    year = chance.randint(1990, 2030)
    return "\n".join(f"{year}-{month:02}-{day:02} 00:00:00 INFO started" for month in range(1, 6) for day in (1, 15))


def _hex_dump(chance: random.Random) -> str:
    data = chance.randbytes(120) + bytes(40) + chance.randbytes(96)
    rows = [data[start : start + 16] for start in range(0, len(data), 16)]
    return "\n".join(f"{number * 16:08x}  {row.hex(' ')}" for number, row in enumerate(rows))


def _base64(chance: random.Random) -> str:
    return base64.encodebytes(chance.randbytes(600)).decode()


def _similar_lines(chance: random.Random) -> str:
    return "\n".join(f"    self.{thing} = QLabel(self.tr({thing!r}), self)" for thing in chance.sample(_THINGS, 14))


def _cases(chance: random.Random) -> str:
    names = chance.sample(_CITIES, 14)
    return "switch (city) {\n" + "\n".join(f'  case {name.upper()}:\n    return "{name}";' for name in names) + "\n}"


def _asserts(chance: random.Random) -> str:
    return "\n".join(
        f"assert add({left}, {right}) == {left + right}"
        for left, right in [(chance.randint(0, 50), chance.randint(0, 50)) for _ in range(25)]
    )


def _markup(chance: random.Random) -> str:
    items = "\n".join(f'  <li><a href="/{city.lower()}">{city}</a></li>' for city in chance.sample(_CITIES, 15))
    return f"<ul>\n{items}\n</ul>"


def _sql(chance: random.Random) -> str:
    return "\n".join(
        f"CREATE INDEX people_{number} ON {chance.choice(_CITIES)} ({chance.choice(_NAMES)}, {chance.choice(_THINGS)});"
        for number in range(25)
    )


def _refrain(chance: random.Random) -> str:
    refrain = (
        "Row, row, row your boat,\nGently down the stream,\nMerrily, merrily, merrily, merrily,\nLife is but a dream."
    )
    verses = [f"The {chance.choice(_THINGS)} of {name} was never seen." for name in chance.sample(_NAMES, 6)]
    return "\n\n".join(f"{verse}\n\n{refrain}" for verse in verses)


def _song(chance: random.Random) -> str:
    bottles = chance.randint(12, 30)
    return "\n".join(
        f"{left} green bottles hanging on the wall,\nand if one green bottle should accidentally fall,"
        for left in range(bottles, bottles - 9, -1)
    )


def _rules(chance: random.Random) -> str:
    sign = chance.choice("=-*_#~")
    return "\n\n".join(f"{sign * chance.randint(20, 60)}\n{city}\n{sign * chance.randint(20, 60)}" for city in _CITIES)


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


def _placeholders(chance: random.Random) -> str:
    return "\n".join(f"{number}. Item {number}: __________" for number in range(1, chance.randint(8, 15)))


def _plan(chance: random.Random) -> str:
    lengths = [chance.randint(3, 30) for _ in range(26)]
    return "\n".join(f"Week {number}: run {length} km" for number, length in enumerate(lengths, start=1))


def _tree(chance: random.Random) -> str:
    return "\n".join(f"│   ├── {chance.choice(_THINGS)}_{name.lower()}.py" for name in _NAMES)


_KINDS: tuple[Callable[[random.Random], str], ...] = (
    _table, _wide_table, _yes_no_table, _ruled_table, _numbered, _bullets, _steps, _csv, _json, _numbers, _matrix,
    _counting, _times_table, _dates, _hex_dump, _base64, _similar_lines, _cases, _asserts, _markup, _sql, _refrain,
    _song, _rules, _laughter, _dialogue, _chinese, _placeholders, _plan, _tree,
)  # fmt: skip
