"""Why the exporter could not be set up, in a sentence with the remedy. Knows what pip and Python say, runs neither."""

from collections.abc import Sequence

from headstart.ui.line_child import Ending
from headstart.ui.models import python_search
from headstart.ui.models.python_search import Python
from headstart.ui.spelling import amount
from headstart.ui.translation import translate

_FULL = ("no space left on device", "[errno 28]", "[errno 122]", "not enough space on the disk", "winerror 112")
_NO_NETWORK = (
    "failed to establish a new connection",
    "connection broken by",
    "connecttimeouterror",
    "read timed out",
    "max retries exceeded",
    "nameresolutionerror",
    "connection error",
    "connection aborted",
    "connection reset",
    "incompleteread",
    "incomplete-download",
    "cannot connect to proxy",
    "certificate_verify_failed",
)
_NOT_PUBLISHED = ("no matching distribution found", "could not find a version that satisfies")
_NO_VENV = ("ensurepip is not available", "no module named venv", "no module named ensurepip")


def lacking(python: Python | None) -> str:
    """Where no Python will do; `python` is the one that comes nearest."""
    if python is None:
        return translate(
            "SetupFaults",
            "No Python was found on this computer; install Python 3.11 or newer, of 64 bits (Debian and Ubuntu: "
            "apt install python3 python3-venv), and try again.",
        )
    if not python_search.is_new_enough(python):
        return translate(
            "SetupFaults", "The Python found here is {}, and 3.11 or newer is needed; install one and try again."
        ).format(python.name)
    return _no_venv(python)


def no_room(needed: int, free: int) -> str:
    """Where the disk could not hold it; in bytes."""
    return translate(
        "SetupFaults",
        "The exporter needs {} on the disk while it is set up, and {} are free; make room and try again.",
    ).format(amount(needed), amount(free))


def reason(python: Python, ending: Ending, lines: Sequence[str]) -> str:
    """Where a process did not do what it was for; `lines` are the last ones that the processes said."""
    text = "\n".join(lines).lower()
    if ending.fault:
        return other(ending.fault)
    if _has(text, _FULL):
        return translate("SetupFaults", "The disk is full; make room and try again.")
    if ending.crashed:
        return translate("SetupFaults", "The set-up was ended from outside, perhaps for want of memory; try again.")
    if _has(text, _NO_VENV):
        return _no_venv(python)
    return _of_the_index(python, text) or other(_last_error(lines))


def other(words: str) -> str:
    """What nobody foresaw, in the words of whoever noticed."""
    return translate("SetupFaults", "The exporter could not be set up: {}").format(words)


def _of_the_index(python: Python, text: str) -> str:
    if _has(text, _NO_NETWORK):
        return translate(
            "SetupFaults",
            "The package index cannot be reached; check this computer's network and try again. What was fetched to its "
            "end is not fetched again.",
        )
    if _has(text, _NOT_PUBLISHED):
        return translate(
            "SetupFaults",
            "The package index lacks something for Python {}; the log names it. Another Python, 3.11 or newer, may "
            "have all: install one and try again.",
        ).format(python.name)
    return ""


def _no_venv(python: Python) -> str:
    return translate(
        "SetupFaults",
        "Python {} can make no environments here, as its module venv is missing; on Debian and Ubuntu, apt install "
        "python3-venv brings it. Then try again.",
    ).format(python.name)


def _has(text: str, signs: Sequence[str]) -> bool:
    return any(sign in text for sign in signs)


def _last_error(lines: Sequence[str]) -> str:
    """The line in which pip says it, or else the last one."""
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return next(reversed(errors or list(lines)), "").strip()
