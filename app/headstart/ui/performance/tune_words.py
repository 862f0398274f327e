"""What tuning tries, times and decides, in the window's words. Knows no widget and measures nothing."""

import re
from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP

from headstart.engine.tuning.messages import DEFAULT, DRAFT, DRAFTS, LEAST_GAIN, TARGET, Row, Stage, Trying
from headstart.ui.fault_words import said
from headstart.ui.spelling import decimal, listed, titled
from headstart.ui.translation import translate

_SUBJECTS: Mapping[str, Any] = {
    TARGET: QT_TRANSLATE_NOOP("Tuning", "Model"),
    DRAFTS: QT_TRANSLATE_NOOP("Tuning", "Guessing ahead"),
    DRAFT: QT_TRANSLATE_NOOP("Tuning", "Draft model"),
}
_LOADING: Mapping[str, Any] = {
    TARGET: QT_TRANSLATE_NOOP("Tuning", "Loading the model…"),
    DRAFTS: QT_TRANSLATE_NOOP("Tuning", "Loading the draft models…"),
    DRAFT: QT_TRANSLATE_NOOP("Tuning", "Loading the draft model…"),
}
# As `engine.tuning.candidates` and `findings` name them; {} is a number or a name.
_SETTINGS: tuple[Any, ...] = (
    QT_TRANSLATE_NOOP("Tuning", "as it is"),
    QT_TRANSLATE_NOOP("Tuning", "no draft model"),
    QT_TRANSLATE_NOOP("Tuning", "the draft with all rows"),
    QT_TRANSLATE_NOOP("Tuning", "the draft with {} rows"),
    QT_TRANSLATE_NOOP("Tuning", "the draft {}"),
    QT_TRANSLATE_NOOP("Tuning", "threads not tied to cores"),
    QT_TRANSLATE_NOOP("Tuning", "1 thread"),
    QT_TRANSLATE_NOOP("Tuning", "{} threads, two a core"),
    QT_TRANSLATE_NOOP("Tuning", "{} threads"),
    QT_TRANSLATE_NOOP("Tuning", "on {}"),
    QT_TRANSLATE_NOOP("Tuning", "in {}"),
)
_TIMED: tuple[Any, ...] = (
    QT_TRANSLATE_NOOP("Tuning", "token of an answer"),
    QT_TRANSLATE_NOOP("Tuning", "1 token"),
    QT_TRANSLATE_NOOP("Tuning", "{} tokens"),
)


def subject_word(subject: str) -> str:
    """What is decided."""
    return translate("Tuning", _SUBJECTS[subject])


def setting_word(name: str) -> str:
    """A setting that is tried; one that is not known keeps its name."""
    return _worded(name, _SETTINGS)


def timed_word(name: str) -> str:
    """What was timed."""
    return _worded(name, _TIMED)


def doing(trying: Trying) -> str:
    """What a tuning does now."""
    if trying.against is None:
        return translate("Tuning", _LOADING[trying.subject])
    others = listed(setting_word(name) for name in trying.against) or translate("Tuning", "nothing else")
    default = setting_word(DEFAULT) + (f" ({trying.hint})" if trying.hint else "")
    against = translate("Tuning", "{default} against {others}").format(default=default, others=others)
    return titled(subject_word(trying.subject), against)


def outcome(row: Row) -> str:
    """What became of a setting, if there is anything to say."""
    if row.chosen:
        return translate("Tuning", "chosen")
    if row.failure:
        return said(row.failure)
    return translate("Tuning", "no time left") if row.untimed and row.name != DEFAULT else ""


def reason(stage: Stage) -> str:
    """Why what was chosen was chosen."""
    default, *tried = stage.rows
    chosen = stage.chosen
    if chosen is not default:
        told = translate("Tuning", "{setting}, because it was {gain} ({figures}).")
        why = told.format(setting=setting_word(chosen.name), gain=_gain(chosen), figures=_figures(chosen, default))
        return titled(subject_word(stage.subject), why)
    return titled(subject_word(stage.subject), _why_default(stage, default, tried))


def _why_default(stage: Stage, default: Row, tried: list[Row]) -> str:
    if not tried:
        return translate("Tuning", "as it is ({}), as there is nothing else to try here.").format(_ms(default))
    timed = [row for row in tried if row.ratio is not None and not row.failure]
    if not timed and stage.cut_short:
        return translate("Tuning", "as it is, as the time was over before anything else was timed; give it more.")
    if not timed:
        return translate("Tuning", "as it is, as nothing else runs here.")
    best = max(timed, key=lambda row: row.ratio.median if row.ratio else 0.0)
    told = translate("Tuning", "as it is, because the best of the others, {setting}, {shortfall}.")
    if stage.cut_short:
        told = translate(
            "Tuning", "as it is, because the best of the others, {setting}, {shortfall}; not all were timed."
        )
    return told.format(setting=setting_word(best.name), shortfall=_shortfall(best))


def _shortfall(best: Row) -> str:
    assert best.ratio is not None
    if best.ratio.median <= 1.0:
        told = translate("Tuning", "was not faster: {}")
    elif best.ratio.median < LEAST_GAIN:
        told = translate("Tuning", "gained too little to tell: {}")
    else:
        told = translate("Tuning", "was not faster often enough to rule out chance: {}")
    return told.format(_gain(best))


def _gain(row: Row) -> str:
    assert row.ratio is not None
    return translate(
        "Tuning", "{median}× as fast as the default ({low}–{high}), ahead in {better} of {pairs} runs"
    ).format(
        median=decimal(row.ratio.median, 2),
        low=decimal(row.ratio.low, 2),
        high=decimal(row.ratio.high, 2),
        better=row.better,
        pairs=row.pairs,
    )


def _figures(row: Row, default: Row) -> str:
    told = translate("Tuning", "{what}: {mine} instead of {before} ms")
    return listed(
        told.format(what=timed_word(name), mine=decimal(ms, 1), before=decimal(default.ms[name], 1))
        for name, ms in row.ms.items()
        if name in default.ms
    )


def _ms(row: Row) -> str:
    told = translate("Tuning", "{what}: {mine} ms")
    return listed(told.format(what=timed_word(name), mine=decimal(ms, 1)) for name, ms in row.ms.items())


def _worded(name: str, known: tuple[Any, ...]) -> str:
    for words in known:
        found = re.fullmatch(re.escape(str(words)).replace(r"\{\}", "(.+)"), name)
        if found:
            return translate("Tuning", words).format(*found.groups())
    return name
