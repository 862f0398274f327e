"""What classes of prompts and ways to decode are called in the window. Knows no widget and no figures."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP

from headstart.engine.bench.race import DRAFT_ONLY, NGRAM_ONLY
from headstart.engine.bench.result import OFF, Advice
from headstart.ui.performance.bench_figures import ALL
from headstart.ui.spelling import listed
from headstart.ui.translation import translate

_KINDS: Mapping[str, Any] = {
    ALL: QT_TRANSLATE_NOOP("Benchmark", "all prompts"),
    "code": QT_TRANSLATE_NOOP("Benchmark", "code"),
    "edit": QT_TRANSLATE_NOOP("Benchmark", "edit"),
    "explanation": QT_TRANSLATE_NOOP("Benchmark", "explanation"),
    "summary": QT_TRANSLATE_NOOP("Benchmark", "summary"),
    "story": QT_TRANSLATE_NOOP("Benchmark", "story"),
    "translation": QT_TRANSLATE_NOOP("Benchmark", "translation"),
    "retrieval": QT_TRANSLATE_NOOP("Benchmark", "retrieval"),
    "math": QT_TRANSLATE_NOOP("Benchmark", "math"),
    "extraction": QT_TRANSLATE_NOOP("Benchmark", "extraction"),
    "roleplay": QT_TRANSLATE_NOOP("Benchmark", "roleplay"),
}
_WAYS: Mapping[str, Any] = {
    "plain": QT_TRANSLATE_NOOP("Benchmark", "plain"),
    "auto": QT_TRANSLATE_NOOP("Benchmark", "auto"),
    "draft": QT_TRANSLATE_NOOP("Benchmark", "draft"),
    "ngram": QT_TRANSLATE_NOOP("Benchmark", "ngram"),
    "fixed": QT_TRANSLATE_NOOP("Benchmark", "fixed"),
    "threshold": QT_TRANSLATE_NOOP("Benchmark", "threshold"),
}

_METHODS: Mapping[str, Any] = {
    OFF: QT_TRANSLATE_NOOP("Benchmark", "off"),
    DRAFT_ONLY: QT_TRANSLATE_NOOP("Benchmark", "draft"),
    NGRAM_ONLY: QT_TRANSLATE_NOOP("Benchmark", "n-gram"),
}


def kind_word(kind: str) -> str:
    """A class of prompts; one that is not known keeps its name."""
    return translate("Benchmark", _KINDS[kind]) if kind in _KINDS else kind


def contestant_word(name: str) -> str:
    """A way to decode, such as "fixed 3"; other programs keep their names."""
    way, _, figure = name.partition(" ")
    return " ".join(filter(None, (translate("Benchmark", _WAYS[way]), figure))) if way in _WAYS else name


def advice_word(given: Advice) -> str:
    """What to set for a class, such as "draft, 5–8"."""
    method = translate("Benchmark", _METHODS[given.method])
    if given.lengths is None:
        return method
    least, most = given.lengths
    return listed((method, f"{least}" if least == most else f"{least}–{most}"))
