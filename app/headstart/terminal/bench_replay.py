"""`headstart bench replay`: plays rules of drafting on recorded answers, without a model."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from headstart.engine.bench.ratios import geometric_mean
from headstart.terminal.command import Command, Load
from headstart.terminal.harmless import harmless
from headstart.terminal.measuring import writable_file, write_json

_ALL = "geometric mean"
Speedups = Mapping[str, Mapping[str, float]]  # by answer, by rule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench replay`."""
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE", help="a file written with --trace-depth")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write every figure to this file")


def run(arguments: argparse.Namespace, _load: Load) -> int:
    """Replay, print a line for each rule, write the file. Returns the exit code."""
    # Imported here: `headstart --help` need not wait for numpy.
    from headstart.engine.bench.contest import speedups  # noqa: PLC0415
    from headstart.engine.bench.traces import read_recordings  # noqa: PLC0415

    figures: dict[str, dict[str, float]] = {}
    for trace in arguments.traces:
        for recording in read_recordings(trace):
            figures[recording.name] = speedups(recording)
    for line in lines(figures):
        print(harmless(line))
    if arguments.json:
        write_json(arguments.json, {"speedups": figures, "means": means(figures)})
    return 0


COMMAND = Command("replay", "play rules of drafting on recorded answers, without a model", add_arguments, run)


def lines(figures: Speedups) -> list[str]:
    """Each rule over plain decoding: the mean of all answers, the worst and the best of them."""
    if not figures:
        return ["The traces hold no finished answer."]
    width = max(map(len, _rules(figures)))
    head = f"{len(figures)} answers, times plain decoding: {_ALL} (worst to best)"
    return [head, *(f"  {rule:<{width}}  {_spread(figures, rule)}" for rule in _rules(figures))]


def means(figures: Speedups) -> dict[str, float | None]:
    """The geometric mean of every rule over the answers that it could write."""
    return {rule: geometric_mean(_values(figures, rule)) for rule in _rules(figures)}


def _spread(figures: Speedups, rule: str) -> str:
    values = _values(figures, rule)
    mean = geometric_mean(values)
    assert mean is not None, "a rule is listed because it wrote an answer"
    return f"{mean:.2f}x ({min(values):.2f} to {max(values):.2f})"


def _rules(figures: Speedups) -> list[str]:
    return list(dict.fromkeys(rule for by_rule in figures.values() for rule in by_rule))


def _values(figures: Speedups, rule: str) -> Sequence[float]:
    return [by_rule[rule] for by_rule in figures.values() if rule in by_rule]
