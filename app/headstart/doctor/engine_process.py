"""Whether the engine's process starts, answers and ends, tried with the engine that needs no model."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from headstart.doctor.finding import Finding, Section
from headstart.engine.client import EngineClient
from headstart.engine.engine import LoadOptions, Message, Request, Step
from headstart.engine.supervision import program
from headstart.errors import HeadstartError

_HERE = Section("engine")
_REMEDY = "Install Headstart again; where a virus scanner holds its programs, allow them."


def check(command: Sequence[str] | None = None) -> Iterator[Finding]:
    """`command` is that of the toy engine unless a test wants another."""
    started = time.perf_counter()
    try:
        with closing(EngineClient(command or program("--toy"))) as engine:
            engine.load(LoadOptions(Path("toy")))
            request = Request((Message("user", "Hello"),), max_new_tokens=8)
            text = "".join(event.text for event in engine.generate(request) if isinstance(event, Step))
    except HeadstartError as error:
        yield _HERE.problem(str(error), _REMEDY)
        return
    if not text:
        yield _HERE.problem("The engine's process starts but gives no answer.", _REMEDY)
        return
    yield _HERE.ok(f"Its process starts, answers without a model and ends ({time.perf_counter() - started:.1f} s).")
