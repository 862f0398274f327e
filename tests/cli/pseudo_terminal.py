"""A program on a terminal of its own, typed at and read like a person would. Unix only."""

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

_ROOT = Path(__file__).resolve().parent.parent.parent
# The new session takes the terminal as its own, so that Ctrl+C becomes a signal there.
_PRELUDE = "import fcntl, termios\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
_PATIENCE_S = 60.0  # for a loaded machine


class PseudoTerminal:
    """Runs a Python script; `expect` waits for text that appears after what was expected before."""

    def __init__(self, script: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        """`environment` is added to the present one."""
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        # Cursor position requests would go unanswered: nobody draws this terminal.
        variables = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1", **environment}
        self._child = subprocess.Popen(
            [sys.executable, "-c", _PRELUDE + script, *arguments],
            cwd=_ROOT,
            env=variables,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.output = ""
        self._read_to = 0

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave no process behind."""
        self._child.kill()
        self._child.wait()
        os.close(self._master)

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._master, keys.encode())

    def expect(self, text: str) -> None:
        """Wait until `text` is shown. AssertionError with all that was shown, when it does not come."""
        deadline = time.monotonic() + _PATIENCE_S
        while (found := self.output.find(text, self._read_to)) < 0:
            assert time.monotonic() < deadline, f"{text!r} did not come:\n{self.output}"
            assert self._read_more(), f"the program ended before {text!r}:\n{self.output}"
        self._read_to = found + len(text)

    def exit_code(self) -> int:
        """Wait for the end, reading what is left."""
        deadline = time.monotonic() + _PATIENCE_S
        while self._read_more():
            assert time.monotonic() < deadline, f"the program did not end:\n{self.output}"
        return self._child.wait(_PATIENCE_S)

    def _read_more(self) -> bool:
        """False once the program is gone and everything was read."""
        if not select.select([self._master], [], [], 0.05)[0]:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says so where others return nothing
            return False
        self.output += data.decode(errors="replace")
        return bool(data)
