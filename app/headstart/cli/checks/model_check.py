"""The check of an imported model while you chat in the terminal."""

import subprocess
from contextlib import suppress

from headstart.cli.render import Screen
from headstart.errors import HeadstartError
from headstart.library import exporter, library


class BackgroundModelCheck:
    """A process that checks a model at leisure. It begins after the first answer and ends with the command."""

    def __init__(self, name: str = "", screen: Screen | None = None) -> None:
        """`name`: a model; one that is checked, or on another computer, needs no process."""
        self._name, self._screen = name, screen or Screen()
        self._process: subprocess.Popen[str] | None = None
        self._is_over = not name

    def go_on(self) -> str:
        """Begin the check if the model needs one, or tell its outcome. Return why the model must not be used."""
        if self._is_over:
            return ""
        if self._process is None:
            self._start()
        elif self._process.poll() is not None:
            self._is_over = True
            return self._outcome(self._process)
        return ""

    def close(self) -> None:
        """End the check; the next time it begins anew."""
        if self._process and self._process.poll() is None:
            exporter.kill(self._process.pid)
            self._process.wait()
            exporter.sweep_checks()

    def _start(self) -> None:
        command = exporter.check_command(self._name)
        with suppress(HeadstartError):  # the model is not in the library
            if command and not library.find(self._name).is_checked:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
                )
                self._screen.remark(f"{self._name} is being checked in the background: its tokenizer and its quality.")
        self._is_over = self._process is None

    def _outcome(self, process: subprocess.Popen[str]) -> str:
        for line in process.communicate()[0].splitlines():
            if fault := exporter.failed_check(line):
                return fault
        if process.returncode:
            self._screen.remark(f"{self._name} could not be checked; `headstart models check {self._name}` says why.")
        else:
            self._screen.remark(f"{self._name} is checked: its tokenizer reads and writes as its file says.")
        return ""
