"""`headstart dev audit`: exit code 1 when a token is not what the target would have written."""

import dataclasses
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headstart import library
from headstart.cli.command import Load, flag, group
from headstart.cli.options import NUMBER, ModelFlags, load_options, writable_file, write_json
from headstart.cli.render import Screen, harmless
from headstart.engine.bench.prompts import USUAL_KINDS, read_kinds, read_prompts
from headstart.engine.engine import Engine
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from headstart.engine.audit import AuditResult
    from headstart.engine.comparison import Findings

_MOST_SHOWN = 10


def _temperature(text: str) -> float:
    try:
        value: float = NUMBER.read(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 100.0:
        raise SettingsError(f"temperature must be a number between 0 and 100, not {text!r}.")
    return value


@dataclass(frozen=True, kw_only=True)
class WorkFlags:
    """Which answers are audited."""

    classes: tuple[str, ...] = flag(
        USUAL_KINDS,
        f"classes of prompts, with commas between them, or all (default: {','.join(USUAL_KINDS)})",
        metavar="NAMES",
        read=read_kinds,
        listed=True,
    )
    tokens: int = flag(128, "longest answer (default: 128)", metavar="N")
    prompts: int = flag(
        5, "how many of the built-in prompts to answer, first one of each class (default: 5)", metavar="N"
    )
    temperature: float = flag(
        0.8, "of the sampled answers; 0: greedy answers only (default: 0.8)", metavar="X", read=_temperature
    )


@dataclass(frozen=True, kw_only=True)
class OutputFlags:
    """Where the figures go."""

    json: Path | None = flag(None, "write every figure to this file", metavar="FILE", read=writable_file)


@dataclass(frozen=True, kw_only=True)
class AuditFlags:
    """The flags of `headstart dev audit`."""

    model: ModelFlags = group(ModelFlags)
    audit: WorkFlags = group(WorkFlags)
    output: OutputFlags = group(OutputFlags)


def run(arguments: AuditFlags, load: Load) -> int:
    """Answer, score again, report. Returns the exit code."""
    options = load_options(arguments.model, library.choose(arguments.model.model, arguments.model.draft))
    screen = Screen()
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        result = _audit(arguments.audit, options.device, engine, screen)
    for line in report(result):
        print(harmless(line))
    if arguments.output.json:
        write_json(arguments.output.json, dataclasses.asdict(result) | {"outside": result.outside})
    return 1 if result.outside else 0


def report(result: "AuditResult") -> list[str]:
    """The findings in sentences."""
    lines = [f"{result.target} with draft {result.draft or 'none'}, {' and '.join(result.modes)}:"]
    for name, found in result.findings.items():
        lines += _finding(name, found)
    if result.outside:
        return [*lines, f"FAILED: {result.outside} tokens outside the noise floor."]
    return [*lines, "passed: 0 tokens outside the noise floor."]


def _finding(name: str, found: "Findings") -> list[str]:
    lines = [
        f"  {name}: {found.tokens} tokens checked, {found.mismatches_per_10k:.1f} mismatches per 10,000 "
        f"({found.mismatches}), largest gap {found.largest_gap:.4g}, noise floor {found.floor:.4g} "
        f"({found.floor_samples} samples), {len(found.outliers)} outside it"
    ]
    return lines + [
        f"    {outlier.text}, token {outlier.index}: {outlier.token} instead of {outlier.choice}, gap {outlier.gap:.4g}"
        for outlier in found.outliers[:_MOST_SHOWN]
    ]


def _audit(work: WorkFlags, device: str, engine: Engine, screen: Screen) -> "AuditResult":
    # Imported here: `headstart --help` need not wait for the engine.
    from headstart.engine.audit import AuditPlan, audit  # noqa: PLC0415
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    assert isinstance(engine, LocalEngine), "an audit needs the target itself"
    prompts = read_prompts(work.prompts, work.classes)[: work.prompts]
    plan = AuditPlan(prompts, work.tokens, work.temperature, device)
    return audit(
        engine, plan, lambda answer: screen.remark(f"scoring {len(answer.tokens)} tokens again: {answer.name}")
    )
