"""`headstart audit`: its flags and its report; exit code 1 when a token is not what the target would have written."""

import argparse
import dataclasses
from contextlib import closing
from typing import TYPE_CHECKING

from headstart import library
from headstart.cli.command import Command, Load
from headstart.cli.harmless import harmless
from headstart.cli.measuring import add_kinds, whole_number, writable_file, write_json
from headstart.cli.model_flags import add_model_arguments, load_options
from headstart.cli.screen import Screen
from headstart.cli.settings import NUMBER
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.engine import Engine
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from headstart.engine.audit import AuditResult
    from headstart.engine.comparison import Findings

_MOST_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart audit`."""
    add_model_arguments(parser)
    work = parser.add_argument_group("audit")
    add_kinds(work)
    work.add_argument(
        "--tokens",
        type=whole_number("tokens", 1),
        default=128,
        metavar="N",
        help="longest answer (default: 128)",
    )
    work.add_argument(
        "--prompts",
        type=whole_number("prompts", 1),
        default=5,
        metavar="N",
        help="how many of the built-in prompts to answer, first one of each class (default: 5)",
    )
    work.add_argument(
        "--temperature",
        type=_temperature,
        default=0.8,
        metavar="X",
        help="of the sampled answers; 0: greedy answers only (default: 0.8)",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--json", type=writable_file, metavar="FILE", help="write every figure to this file")


def run(arguments: argparse.Namespace, load: Load) -> int:
    """Answer, score again, report. Returns the exit code."""
    options = load_options(arguments, library.choose(arguments.model, arguments.draft))
    screen = Screen()
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        result = _audit(arguments, options.device, engine, screen)
    for line in report(result):
        print(harmless(line))
    if arguments.json:
        write_json(arguments.json, dataclasses.asdict(result) | {"outside": result.outside})
    return 1 if result.outside else 0


COMMAND = Command("audit", "check that guessing changes no answer", add_arguments, run)


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


def _audit(arguments: argparse.Namespace, device: str, engine: Engine, screen: Screen) -> "AuditResult":
    # Imported here: `headstart --help` need not wait for the engine.
    from headstart.engine.audit import AuditPlan, audit  # noqa: PLC0415
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    assert isinstance(engine, LocalEngine), "an audit needs the target itself"
    prompts = read_prompts(arguments.prompts, arguments.classes)[: arguments.prompts]
    plan = AuditPlan(prompts, arguments.tokens, arguments.temperature, device)
    return audit(
        engine, plan, lambda answer: screen.remark(f"scoring {len(answer.tokens)} tokens again: {answer.name}")
    )


def _temperature(text: str) -> float:
    try:
        value: float = NUMBER.read(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 100.0:
        raise SettingsError(f"temperature must be a number between 0 and 100, not {text!r}.")
    return value
