"""The texts in the content of messages."""

import re
from collections.abc import Sequence
from typing import TypeVar

from headstart.server.errors import RefusedError, invalid
from headstart.server.requests.bodies import Content, ContentPart

_Value = TypeVar("_Value")
_TEXT_TYPES = {"text", "input_text", "output_text"}
_MEDIA = {"image": "images", "screenshot": "images", "audio": "audio", "video": "videos", "file": "files"}  # by type


def required(value: _Value | None, place: str, name: str) -> _Value:
    """Return a required field. Raises RefusedError if it is missing."""
    if value is None:
        raise invalid(f"`{place}` lacks `{name}`: add it.", place.partition("[")[0])
    return value


def texts_of(content: Content, place: str) -> list[str]:
    """Return the texts of a message. Raises RefusedError for a part that is not text."""
    if isinstance(content, str):
        return [content]
    return [_text_of_part(part, f"{place}[{number}]") for number, part in enumerate(content)]


def _text_of_part(part: ContentPart, place: str) -> str:
    if part.type == "refusal":
        return required(part.refusal, place, "refusal")
    if part.type in _TEXT_TYPES:
        return required(part.text, place, "text")
    raise unsupported_part(part.type, place)


def noted_texts(content: Content) -> list[str]:
    """Return the texts of a result or of an earlier answer. Notes replace parts that are not text."""
    if isinstance(content, str):
        return [content]
    texts = [part.text if part.type in _TEXT_TYPES else part.refusal or note_of(part.type) for part in content]
    return [*filter(None, texts)]


def noted_text(content: Content) -> str:
    return "\n".join(noted_texts(content))


def texts_or_tokens(values: str | Sequence[str | int | list[int]], name: str) -> list[str | tuple[int, ...]]:
    """Return the texts of a field that holds a text, its tokens, or several of either. Raises RefusedError."""
    values = [values] if isinstance(values, str) else values
    ids = tuple(value for value in values if isinstance(value, int))
    if ids and len(ids) < len(values):
        raise invalid(f"`{name}` mixes token ids with texts: send a list of one kind.", name)
    texts = [value if isinstance(value, str) else tuple(value) for value in values if not isinstance(value, int)]
    return [ids] if ids else [*texts]


def note_of(type_: str) -> str:
    """Return the note that takes the place of an image, audio or a file; empty for other types."""
    kind = _media(type_)
    return f"[{kind} left out: this model reads text only]" if kind else ""


def unsupported_part(type_: str, place: str) -> RefusedError:
    """Return the refusal of a part that is not text."""
    kind = _media(type_)
    if kind:
        sentence = f"This model reads text only: leave out the {kind} in `{place}`."
    else:
        sentence = f"`{place}` has the type {type_[:80]!r}, which is not read here: send its text."
    return invalid(sentence, re.split(r"[.[]", place)[0], "unsupported_value")


def _media(type_: str) -> str:
    return next((word for kind, word in _MEDIA.items() if kind in type_), "")
