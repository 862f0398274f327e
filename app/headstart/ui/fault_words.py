"""What went wrong, said in the window's language: parts without a window say it in English."""

import re
from collections.abc import Iterable
from functools import cache

from headstart.ui.fault_sentences import DETAILS, SENTENCES
from headstart.ui.spelling import set_apart
from headstart.ui.translation import translate

_HOLE = re.compile(r"\{(\w*)\}")
_BETWEEN = "; "  # what is wrong with a model may be several things

Form = tuple[str, re.Pattern[str]]


def said(fault: Exception | str) -> str:
    """A sentence in the window's language; as it is where no translation is known."""
    return _rendered(str(fault), _sentences())


def detailed(detail: str) -> str:
    """Likewise a part of a sentence, such as why a draft does not fit."""
    return set_apart(_rendered(part, _details()) for part in detail.split(_BETWEEN))


def _rendered(text: str, forms: Iterable[Form]) -> str:
    for words, form in forms:
        found = form.fullmatch(text)
        if found:
            named = {name: detailed(part) for name, part in found.groupdict().items()}
            plain = [part for place, part in enumerate(found.groups(), 1) if place not in form.groupindex.values()]
            return translate("Faults", words).format(*plain, **named)
    return text


@cache
def _sentences() -> tuple[Form, ...]:
    return _forms(map(str, SENTENCES))


@cache
def _details() -> tuple[Form, ...]:
    return _forms(map(str, DETAILS))


def _forms(known: Iterable[str]) -> tuple[Form, ...]:
    """The more letters a text has of its own, the earlier it is tried."""
    return tuple((words, _form(words)) for words in sorted(known, key=_own_letters, reverse=True))


def _own_letters(words: str) -> int:
    return len(_HOLE.sub("", words))


def _form(words: str) -> re.Pattern[str]:
    pieces = _HOLE.split(words)  # text, name of a hole, text, ...
    holes = [f"(?P<{name}>.*?)" if name else "(.*?)" for name in pieces[1::2]]
    texts = [re.escape(piece) for piece in pieces[::2]]
    return re.compile("".join(a + b for a, b in zip(texts, [*holes, ""], strict=True)), re.DOTALL)
