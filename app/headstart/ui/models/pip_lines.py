"""What pip's lines mean to a person who waits: what it is at, and how far. Runs nothing."""

import re
from dataclasses import dataclass

from headstart.ui.translation import translate

# Only pip from this version on says how far a file is where nobody sees a bar.
_TELLS_BYTES = (24, 1)
_BYTES = re.compile(r"^Progress (\d+) of (\d+)$")
_COLLECTING = re.compile(r"^Collecting ([\w.-]+)")
_FETCHING = re.compile(r"^\s*Downloading ([\w.]+-[\w.+!]+?)(?:-\S*|\.tar\.gz|\.zip)(?: \((.*)\))?$")
_UNPACKING = re.compile(r"^Installing collected packages: (.*)$")


@dataclass(frozen=True)
class Told:
    """What a line says: a step, or bytes of how many, or neither."""

    step: str = ""
    done: int = 0
    total: int = 0


def progress_bar(pip: tuple[int, ...]) -> str:
    """What kind of progress a pip of that version can write down."""
    return "raw" if pip >= _TELLS_BYTES else "off"


def told(line: str) -> Told:
    """What a line of pip means."""
    if counted := _BYTES.match(line):
        return Told(done=int(counted[1]), total=int(counted[2]))
    if found := _FETCHING.match(line):
        words = translate("PipLines", "Fetching {} ({})") if found[2] else translate("PipLines", "Fetching {}")
        return Told(words.format(found[1], found[2]))
    if found := _COLLECTING.match(line):
        return Told(translate("PipLines", "Looking for {}").format(found[1]))
    if found := _UNPACKING.match(line):
        count = len(found[1].split(","))
        return Told(translate("PipLines", "Unpacking {} packages, which takes some minutes").format(count))
    return Told()
