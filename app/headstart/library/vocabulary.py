"""The vocabulary of a model folder, id by id, from its `tokenizer.json`."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import BrokenModelError, UnreadableModelError

FILE_NAME = "tokenizer.json"


@dataclass(frozen=True)
class Difference:
    """The first id on which two vocabularies disagree. None: a vocabulary has no such id."""

    id: int
    first: str | None
    second: str | None


def read(folder: Path) -> dict[int, str]:
    """Return the text of each id as the tokenizer writes it ("Ġthe"), added tokens included."""
    data = _load(folder / FILE_NAME)
    try:
        pieces = data["model"]["vocab"]
        # Unigram stores [piece, score] rows whose index is the id; BPE and WordPiece a mapping.
        tokens = (
            {index: str(row[0]) for index, row in enumerate(pieces)}
            if isinstance(pieces, list)
            else {int(index): piece for piece, index in pieces.items()}
        )
        tokens.update({int(token["id"]): str(token["content"]) for token in data.get("added_tokens", [])})
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BrokenModelError(
            "{path} is damaged ({error}); export the model again.", path=folder / FILE_NAME, error=repr(error)
        ) from None
    return tokens


@dataclass(frozen=True)
class Reading:
    """The way in which a tokenizer reads a text."""

    added: frozenset[str]  # texts that `encode` turns into control ids
    control: frozenset[str]  # the special ones among them: decoded text does not show them
    composes: bool  # letters and marks become one character first (NFC)


def reading(folder: Path) -> Reading:
    """Return how the tokenizer processes text, apart from its vocabulary."""
    data = _load(folder / FILE_NAME)
    added = data.get("added_tokens", [])
    if not isinstance(added, list) or not all(isinstance(token, dict) and "content" in token for token in added):
        raise BrokenModelError("{path} is damaged (its added tokens); export the model again.", path=folder / FILE_NAME)
    special = (token for token in added if token.get("special"))
    every, control = (frozenset(str(token["content"]) for token in tokens) for tokens in (added, special))
    return Reading(every, control, _composes(data.get("normalizer")))


def _composes(normalizer: Any) -> bool:
    """Return True if the tokenizer's first step is NFC. Any other step would have to come after it."""
    steps = normalizer.get("normalizers") if isinstance(normalizer, dict) else None
    first = steps[0] if isinstance(steps, list) and steps else normalizer
    return isinstance(first, dict) and first.get("type") == "NFC"


def fingerprint(folder: Path) -> str:
    """Return the SHA-256 over all (id, token) in order. It is equal exactly when two vocabularies agree."""
    digest = hashlib.sha256()
    for index, token in sorted(read(folder).items()):
        digest.update(f"{index}\0{token}\0".encode())
    return digest.hexdigest()


def first_difference(
    first: dict[int, str], second: dict[int, str], *, rows: tuple[int, int] = (0, 0)
) -> Difference | None:
    """Return the lowest id whose tokens differ, or None if all agree.

    An id that only one of the two names is no difference where it is a padding row of the other, that is past its
    last named id and within the `rows` of its output head (Qwen3 names ids that Qwen2.5 pads): it can be fed and
    scored there, and a guess need not be good. Beyond those rows there is nothing to feed: a difference.
    """
    padding = [range(max(tokens, default=-1) + 1, end) for tokens, end in zip((first, second), rows, strict=True)]
    for index in sorted(first.keys() | second.keys()):
        if first.get(index) != second.get(index) and not any(index in each for each in padding):
            return Difference(index, first.get(index), second.get(index))
    return None


def _load(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BrokenModelError("{path} is missing; export the model again.", path=path) from None
    except OSError as error:
        raise UnreadableModelError(error) from None
    except (ValueError, RecursionError) as error:
        raise BrokenModelError(
            "{path} cannot be read ({error}); export the model again.", path=path, error=error
        ) from None
    if not isinstance(data, dict):
        raise BrokenModelError("{path} is damaged; export the model again.", path=path)
    return data
