"""The restart of a benchmark with large memory pages."""

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.speed import local_engine
from headstart.engine.process.huge_pages import SETTING, VARIABLE


def test_program_restarts_once_with_its_arguments(tmp_path: Path) -> None:
    state = tmp_path / "enabled"
    state.write_text("always [madvise] never\n")
    code = f"""
import json, os, sys
from pathlib import Path
from bench.speed import local_engine
from headstart.engine.process import huge_pages
known = huge_pages.tunables
huge_pages.tunables = lambda environment: known(environment, Path({str(state)!r}))
local_engine.restart()
print(json.dumps([sys.argv[1:], os.environ["GLIBC_TUNABLES"]]))
"""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment["PYTHONPATH"] = str(Path(local_engine.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, "chat", "--prompt", "a b"],
        env=environment,
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout) == [["chat", "--prompt", "a b"], SETTING]
