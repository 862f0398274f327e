"""Sets up an environment for the build, and builds the packages in it: `python installer/build.py`.

Any Python that Headstart runs on can start it; nothing else need be installed.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # started as a script, Python looks beside this file

from installer import environment  # noqa: E402
from installer.order import PackageOrder, Target, parser  # noqa: E402

PREPARED = {
    Target.MACOS: "The recipe for macOS is prepared and was not run; see installer/macos/README.md.",
}


def main(arguments: list[str]) -> int:
    """Build a package. Return the exit code."""
    order = PackageOrder.from_arguments(parser(__doc__ or "").parse_args(arguments))
    if order.target in PREPARED:
        print(PREPARED[order.target], file=sys.stderr)
        return 1
    try:
        python = environment.prepare(ROOT, order.work)
    except subprocess.CalledProcessError as error:
        print(f"The environment of the build could not be set up: exit code {error.returncode}.", file=sys.stderr)
        return 1
    command = [str(python), "-m", "installer.making", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment.variables(ROOT), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
