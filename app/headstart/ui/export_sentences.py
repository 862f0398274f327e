"""The sentences with which the exporter ends and that speak of its command line, as it writes them to its window.

The rest of what it says is shown as it comes.
"""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP

# {} is whatever stands there. A test finds each where it is said.
EXPORTS: Sequence[Any] = (
    QT_TRANSLATE_NOOP("Faults", "{} exists already; add --force to replace it, or choose another --output."),
    QT_TRANSLATE_NOOP(
        "Faults", "{} exists and is not an exported model, so it is not replaced; choose another --output."
    ),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be written to ({}); choose another --output."),
    QT_TRANSLATE_NOOP("Faults", "{} is in use; close what uses it and run the command again."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "Exporting {} needs {} of disk space at {}, but only {} is free; make room, or choose another --output.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The disk at {} became full; nothing half done was left. Make room and run the command again: what was fetched "
        "is kept.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} wants to run Python code of its own ({} in {}), which is refused; if you have read that code and trust it, "
        "add --trust-remote-code.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "Something unexpected happened ({}: {}); nothing half done was left. Add --verbose to see where, and report "
        "it.",
    ),
    QT_TRANSLATE_NOOP("Faults", "These weights cannot be compressed to {} ({}); try another --weights."),
    QT_TRANSLATE_NOOP("Faults", "{} is an EAGLE-3 head, no model by itself: name its target, and it with --draft."),
    QT_TRANSLATE_NOOP("Faults", "{} is the recipe of a pair: it names both models, so --draft does not fit."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The target cannot write the texts whose tokens are counted ({}); --draft-vocab full does without.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} did not arrive within {} minutes; run the command again to go on from here."),
    QT_TRANSLATE_NOOP(
        "Faults", "The package {} is damaged ({}) and was deleted; run the command again to fetch it anew."
    ),
    QT_TRANSLATE_NOOP("Faults", "{} is not what was expected: {}. It was deleted; run the command again."),
)
