"""Show the best setting for each class of text, from the file of a race.

`PYTHONPATH=app python app/bench/speed/advice.py FILE` reads what `headstart bench speed --sweep --json FILE` wrote.
"""

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from headstart.cli.command import Command, Load, argument, flag, writable_file
from headstart.cli.options import write_json
from headstart.cli.performance.bench import ratio_text, read_result
from headstart.cli.program import execute
from headstart.cli.render import harmless
from headstart.engine.bench.result import advice


@dataclass(frozen=True, kw_only=True)
class AdviceFlags:
    """The flags of this program."""

    file: str = argument("what `headstart bench speed --json FILE` wrote", metavar="FILE")
    json: Path | None = flag(None, "write the advice to this file", metavar="FILE", read=writable_file)


def advise(arguments: AdviceFlags, _load: Load) -> int:
    """Print the table. Return the exit code."""
    given = advice(read_result(Path(arguments.file).expanduser()))
    shown = Table("class", "best setting", box=None, padding=(0, 1, 0, 0))
    for title in ("its speedup", "auto's"):
        shown.add_column(title, justify="right")
    for each in given:
        shown.add_row(harmless(each.kind), each.words, ratio_text(each.speedup), ratio_text(each.auto))
    Console(highlight=False).print(shown)
    if arguments.json:
        write_json(arguments.json, {"advice": [dataclasses.asdict(each) for each in given]})
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program. Return the exit code."""
    command = Command(advise)
    command.help = __doc__
    return execute(command, "advice.py", arguments)


if __name__ == "__main__":
    sys.exit(main())
