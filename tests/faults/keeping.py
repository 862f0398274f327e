"""A process that stores a toy's prompt cache until it is killed, and a check of the files that it left.

Run as a program: the folder, a seed.
"""

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np

from headstart.engine.engine import Keep
from headstart.engine.prefix_cache import PartFiles, PrefixCache, identity_of
from headstart.engine.runners.runner import Saved
from tests.faults.profile import Lost
from tests.stand_ins.toy import RememberingToy, read

_PART, _ROOM = 4, 40 << 20
HEAVY = 1 << 18  # bytes of a part, so that a kill falls into the middle of a file
_SUBJECT = "a toy"


class HeavyToy(RememberingToy):
    """A toy with large keys and values."""

    def save(self, start: int, stop: int) -> Saved:
        return np.concatenate([super().save(start, stop), np.ones(HEAVY, np.uint8)])


def keep(root: Path, seed: int, texts: int | None = None, tell: Callable[[], None] = lambda: None) -> None:
    """Read so many texts of three chats, or endlessly; `tell` is called for each part on disk."""
    cache = _cache(root, runner := HeavyToy())
    for number, text in enumerate(islice(_texts(seed), texts)):
        read(runner, cache, text, Keep(f"chat{number % 3}", _ROOM, _key(seed)))
        while cache.store_one():
            tell()


def require_sound(root: Path, seed: int) -> None:
    """Require whole parts, no incomplete file, and the same texts as without a cache."""
    files = PartFiles(root, identity_of(_SUBJECT))
    files.use(_key(seed))
    parts = list(files.read_all())
    if len(parts) != len(list(root.rglob("*.part"))) or any(files.read(part) is None for part in parts):
        raise Lost("a part is not whole")
    left = [path.name for path in root.rglob("*") if path.is_file() and path.suffix != ".part"]
    if left:
        raise Lost(f"half a part was left: {left}")
    cache, known = _cache(root, runner := HeavyToy()), 0
    for text in islice(_texts(seed), 30):
        known += read(runner, cache, text, Keep("chat0", _ROOM, _key(seed)))
    if parts and not known:
        raise Lost("nothing of what was kept is of use")


def _cache(root: Path, runner: RememberingToy) -> PrefixCache:
    return PrefixCache(runner, 20 * HEAVY, PartFiles(root, identity_of(_SUBJECT)), _PART)


def _key(seed: int) -> str:
    """Return the key of a history; every second one is encrypted."""
    return "5a" * 64 if seed % 2 else ""


def _texts(seed: int) -> Iterator[Sequence[int]]:
    """Return texts of which each begins like one before it."""
    chance, texts = Random(seed), [[0]]
    while True:
        text = chance.choice(texts)
        text = text[: chance.randint(0, len(text))] + chance.choices(range(6), k=chance.randint(1, 9))
        texts = [*texts[-20:], text[:48]]
        yield texts[-1]


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    keep(Path(sys.argv[1]), int(sys.argv[2]), tell=partial(print, "stored", flush=True))
