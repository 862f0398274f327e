"""Takes names of people out of a report that will be shown to others. Knows no check."""

import getpass
import re
from dataclasses import replace
from pathlib import Path

from headstart.doctor.finding import Finding


def impersonal(finding: Finding) -> Finding:
    """The same without the home folder and without the user's name as part of another path."""
    return replace(finding, text=_impersonal(finding.text), remedy=_impersonal(finding.remedy))


def _impersonal(text: str) -> str:
    home = str(Path.home())
    if len(home) > 1:  # a container's home may be the root itself
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
    name = _user()
    return re.sub(rf"(?<=[/\\]){re.escape(name)}(?=[/\\]|\b)", "USER", text) if name else text


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in containers
        return ""
