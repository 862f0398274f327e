"""`headstart doctor`: prints what the doctor finds, for people and for bug reports. Checks nothing itself."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from headstart.cli.command import Load, flag
from headstart.cli.render import count, harmless
from headstart.doctor import Finding, Level, examine, impersonal

_MARGIN = 9  # columns before a sentence


@dataclass(frozen=True, kw_only=True)
class DoctorFlags:
    """What may be asked."""

    json: bool = flag(default=False, help="print one object instead of sentences")


def run(arguments: DoctorFlags, _load: Load) -> int:
    """Examine and print. Returns 1 where something does not work."""
    findings = (impersonal(finding) for finding in examine())
    kept = _as_json(findings) if arguments.json else _as_text(findings)
    return int(any(finding.level is Level.PROBLEM for finding in kept))


def _as_text(findings: Iterable[Finding]) -> list[Finding]:
    """Each is printed when it is known: loading OpenVINO takes its time."""
    kept: list[Finding] = []
    for finding in findings:
        if not kept or kept[-1].section != finding.section:
            print(f"{finding.section}")
        print(harmless(f"  {finding.level:<{_MARGIN - 2}}{_one_line(finding.text)}"))
        if finding.remedy:
            print(harmless(f"{'':<{_MARGIN}}-> {_one_line(finding.remedy)}"), flush=True)
        kept.append(finding)
    counts = Counter(finding.level for finding in kept)
    print(f"{count(counts[Level.PROBLEM], 'problem')}, {count(counts[Level.NOTE], 'note')}.")
    return kept


def _as_json(findings: Iterable[Finding]) -> list[Finding]:
    kept = list(findings)
    counts = Counter(finding.level for finding in kept)
    fields = [
        {"section": found.section, "level": found.level, "text": found.text, "remedy": found.remedy} for found in kept
    ]
    print(json.dumps({"problems": counts[Level.PROBLEM], "notes": counts[Level.NOTE], "findings": fields}, indent=2))
    return kept


def _one_line(text: str) -> str:
    return " ".join(text.split())
