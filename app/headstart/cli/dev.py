"""`headstart dev`: audits, timed passes, the page of commands, and the text of a PDF file."""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headstart.cli.command import Command, Group, LazyCommand, Load, Option, argument, flag, group, load_measured
from headstart.cli.options import FiguresFlags, ModelFlags, chosen, writable_file, write_json
from headstart.cli.render import Screen, harmless
from headstart.engine.bench.prompts import USUAL_KINDS, read_kinds, read_prompts
from headstart.engine.engine import Sampling
from headstart.errors import AttachmentError, SettingsError
from headstart.pdf_text import open_pdf, pages

if TYPE_CHECKING:
    from headstart.engine.audit import AuditResult, Findings


def commands() -> Group:
    """`headstart dev` and its sub-commands."""
    return Group(
        {
            "audit": LazyCommand("Check that guessing changes no answer", lambda: Command(audit_pair)),
            "forward": LazyCommand("Time passes by number of tokens and by context", _forward),
            "reference": LazyCommand(
                "Write the page of the documentation that lists all commands", lambda: Command(write_reference)
            ),
            "text": LazyCommand(
                "Print the text of a PDF file, as it is attached to a message", lambda: Command(print_text)
            ),
        }
    )


def _forward() -> click.Command:
    from headstart.cli import bench  # noqa: PLC0415

    return Command(bench.time_passes, load_measured)


_MOST_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class AuditFlags:
    """The flags of `headstart dev audit`."""

    model: ModelFlags = group(ModelFlags)
    classes: tuple[str, ...] = flag(
        USUAL_KINDS,
        f"classes of prompts, with commas between them, or all (default: {','.join(USUAL_KINDS)})",
        metavar="NAMES",
        read=read_kinds,
        is_list=True,
        group="audit",
    )
    tokens: int = flag(128, "longest answer (default: 128)")
    prompts: int = flag(5, "how many of the built-in prompts to answer, first one of each class (default: 5)")
    temperature: float = flag(0.8, "of the sampled answers; 0: greedy answers only (default: 0.8)")
    output: FiguresFlags = group(FiguresFlags)


def audit_pair(arguments: AuditFlags, load: Load) -> int:
    """Check the answers of a pair. Returns the exit code."""
    from headstart.engine.audit import AuditPlan, audit  # noqa: PLC0415 - `headstart --help` need not wait for it
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    Sampling(temperature=arguments.temperature)  # refused before the models are loaded
    (_, options), screen = chosen(arguments.model), Screen()
    prompts = read_prompts(arguments.prompts, arguments.classes)[: arguments.prompts]
    plan = AuditPlan(prompts, arguments.tokens, arguments.temperature, options.device)
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        assert isinstance(engine, LocalEngine), "an audit needs the target itself"
        result = audit(
            engine, plan, lambda answer: screen.remark(f"scoring {len(answer.tokens)} tokens again: {answer.name}")
        )
    for line in _report(result):
        print(harmless(line))
    if arguments.output.json:
        write_json(arguments.output.json, dataclasses.asdict(result) | {"outside": result.outside})
    return 1 if result.outside else 0


def _report(result: "AuditResult") -> list[str]:
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


_HEAD = """# The command line

`headstart` without a command opens the window. `headstart COMMAND --help` shows the same as this page in a terminal.
Exit codes: 0 done, 1 failed, 2 wrong command line, 130 ended by Ctrl+C. An error is one sentence on standard error.

`headstart --completion bash` (or zsh, fish, powershell) prints a script that completes commands, flags and models.
For bash, add `eval "$(headstart --completion bash)"` to `~/.bashrc`; for zsh, the same with zsh to `~/.zshrc`;
for fish, `headstart --completion fish | source` to `config.fish`; for PowerShell,
`headstart --completion powershell | Out-String | Invoke-Expression` to your profile.

This page is written by `headstart dev reference --output app/docs/cli.md`."""


@dataclass(frozen=True, kw_only=True)
class ReferenceFlags:
    """The file of the page."""

    output: Path | None = flag(
        None, "write the page to this file (default: print it)", metavar="FILE", read=writable_file
    )


def write_reference(arguments: ReferenceFlags, _load: Load) -> int:
    """Print the page, or write it. Return the exit code."""
    program = click.get_current_context().find_root().command
    text = "\n\n".join([_HEAD, *_sections(program, "headstart", level=2)]) + "\n"
    if arguments.output is None:
        print(text, end="")
        return 0
    try:
        arguments.output.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise SettingsError(f"{arguments.output} cannot be written ({error.strerror}).") from None
    return 0


def _sections(command: click.Command, path: str, level: int) -> Iterator[str]:
    """Yield the section of a command, then the sections of its sub-commands."""
    context = click.Context(command)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    yield f"{'#' * level} {path}\n\n{(command.help or '').strip()}\n\n    {usage}"
    groups: dict[str, list[str]] = {}
    for param in command.params:
        group = param.group if isinstance(param, Option) and param.group else "options"
        groups.setdefault("arguments" if isinstance(param, click.Argument) else group, []).append(_line(param))
    for title, lines in groups.items():
        yield "\n".join([f"{title[:1].upper()}{title[1:]}:", "", *lines])
    if isinstance(command, Group):
        for name in command.entries:
            subcommand: Any = command.get_command(context, name)
            yield from _sections(subcommand, f"{path} {name}", min(level + 1, 4))
        if command.aliases:
            names = (f"- `{path} {name}`: the same as `{path} {words}`" for name, words in command.aliases.items())
            yield "\n".join(["Other names:", "", *names])


def _line(param: click.Parameter) -> str:
    context = click.Context(click.Command("reference"))
    if isinstance(param, click.Argument):
        return f"- `{param.make_metavar(context)}`: {param.help}"
    value = "" if isinstance(param, click.Option) and param.is_flag else f" {param.make_metavar(context)}"
    return f"- `{', '.join(param.opts)}{value}`: {getattr(param, 'help', '')}"


@dataclass(frozen=True, kw_only=True)
class TextFlags:
    """The flags of `headstart dev text`."""

    file: Path = argument("a PDF file", metavar="FILE")
    lines: bool = flag(default=False, help="as JSON lines with progress and errors, for other programs")


def print_text(arguments: TextFlags, _load: Load) -> int:
    """Print the text of a PDF file. Return the exit code. Raises AttachmentError."""
    if arguments.lines:
        return _run_for_programs(arguments.file)
    print(harmless("\n\n".join(pages(arguments.file, open_pdf(arguments.file)))))
    return 0


def _run_for_programs(path: Path) -> int:
    """Print `{"page", "pages"}` for each page, then `{"text"}` or `{"error"}`. Return the exit code.

    The lines are ASCII, so that they do not depend on the terminal.
    """
    try:
        reader = open_pdf(path)
        texts = []
        for number, text in enumerate(pages(path, reader), start=1):
            texts.append(text)
            print(json.dumps({"page": number, "pages": len(reader.pages)}), flush=True)
    except AttachmentError as error:
        print(json.dumps({"error": error.text.as_data()}), flush=True)
        return 1
    print(json.dumps({"text": "\n\n".join(texts)}), flush=True)
    return 0
