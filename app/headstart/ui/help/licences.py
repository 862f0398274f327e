"""The parts of Headstart with their versions and licences, as the installed packages state them."""

import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from headstart import __version__

OWN = "headstart"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_TEXTS = re.compile(r"(LICEN[CS]E|COPYING|NOTICE)", re.IGNORECASE)
_LICENCES = Path(__file__).parents[2] / "licence_texts"
_GENERAL = {"LGPL-3.0": ("LGPL-3.0.txt", "GPL-3.0.txt")}  # licences whose text the packages of Qt leave out
# Packages that come without the text of their own.
_LEFT_OUT = {"cobble": ("cobble.txt",), "latex2mathml": ("latex2mathml.txt",), "tokenizers": ("Apache-2.0.txt",)}
_UNSAID = {"sqlcipher3": "Zlib AND BSD-3-Clause AND Apache-2.0"}  # itself, SQLCipher, and the OpenSSL in it
_LONGEST = 80  # letters of a licence's name; some packages put the whole text there


@dataclass(frozen=True)
class Component:
    """A part of Headstart."""

    name: str
    version: str
    licence: str  # empty where the package does not say
    address: str
    texts: tuple[Path, ...]  # licence files; some packages lack them

    def text(self) -> str:
        """All licence files, one after another."""
        return "\n\n".join(path.read_text(encoding="utf-8", errors="replace").strip() for path in self.texts)


def components(root: str = OWN, places: Iterable[Path] = ()) -> tuple[Component, ...]:
    """Return Headstart, Python and every required package, by name; `places`: the packages of another program."""
    path = [str(place) for place in places] or sys.path
    parts = {canonical_name(part.name): part for part in map(_component, _needed(root, path, set()))}
    parts.pop(canonical_name(OWN), None)
    return (_headstart(), _python(), *sorted(parts.values(), key=lambda part: part.name.lower()))


def _needed(name: str, path: list[str], visited: set[str]) -> Iterator[metadata.Distribution]:
    """Yield a package and its requirements without extras. What is not installed is not needed on this system."""
    if canonical_name(name) in visited:
        return
    visited.add(canonical_name(name))
    dist = next(iter(metadata.Distribution.discover(name=name, path=path)), None)
    if dist is None:
        return
    yield dist
    for line in dist.requires or ():
        match = _NAME.match(line)
        if match and "extra ==" not in line:
            yield from _needed(match.group(), path, visited)


def _component(dist: metadata.Distribution) -> Component:
    fields = dist.metadata  # read once: each look at it, and each at a name or a version, parses it again
    name, version = fields["Name"], fields["Version"]
    pages = [*_all(fields, "Home-page"), *(line.partition(",")[2].strip() for line in _all(fields, "Project-URL"))]
    texts = [Path(str(dist.locate_file(file))) for file in dist.files or () if _TEXTS.match(file.name)]
    licence = _licence(fields) or _UNSAID.get(canonical_name(name), "")
    files = tuple(path for path in texts if path.is_file())
    files = files or tuple(_LICENCES / text for text in _LEFT_OUT.get(canonical_name(name), ())) or _general(licence)
    return Component(name, version, licence, next(iter(pages), ""), files)


def _general(licence: str) -> tuple[Path, ...]:
    return tuple(_LICENCES / name for prefix, names in _GENERAL.items() if licence.startswith(prefix) for name in names)


def _licence(fields: metadata.PackageMetadata) -> str:
    for field in ("License-Expression", "License"):
        first = "".join(_all(fields, field)[:1]).strip().partition("\n")[0]
        if first and len(first) <= _LONGEST:
            return first
    named = [line.rpartition("::")[2].strip() for line in _all(fields, "Classifier") if line.startswith("License ::")]
    return ", ".join(named)


def _all(fields: metadata.PackageMetadata, field: str) -> list[str]:
    return [str(line) for line in fields.get_all(field) or ()]


def _headstart() -> Component:
    dist = next(_needed(OWN, sys.path, set()), None)
    texts = _component(dist).texts if dist else ()
    beside = Path(__file__).parents[4] / "LICENSE"  # of a source tree
    return Component(
        "Headstart", __version__, "Apache-2.0", "", texts or tuple(path for path in (beside,) if path.is_file())
    )


def _python() -> Component:
    places = (Path(os.__file__).parent, _LICENCES)  # the second in a packaged Headstart
    texts = [text for place in places if (text := place / "LICENSE.txt").is_file()]
    return Component("Python", platform.python_version(), "PSF-2.0", "https://www.python.org", tuple(texts[:1]))


def canonical_name(name: str) -> str:
    """Return the name of a package as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()
