"""The check of an imported model in the background."""

import re

from PySide6.QtCore import QObject, Signal, Slot

from headstart.library import exporter
from headstart.library.library import Model, Pair
from headstart.ui.line_process import Ending, LineProcess
from headstart.ui.translation import translate_error

_STEP = re.compile(r"(\d+) of (\d+): ")  # the beginning of a line about the next step


class ModelCheck(QObject):
    """A process that checks one model at a time. A check that cannot be made is not begun again in this session."""

    progressed = Signal(str, int, int)  # name, step, steps; 0 of 0 when it begins
    ended = Signal(str, str)  # name, what is wrong with it; empty: nothing, or the check could not be made

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.name = ""  # of the model that is being checked
        self._begun: set[str] = set()
        self._fault, self._is_forgotten = "", False
        self._child = LineProcess(self)
        self._child.line_read.connect(self._on_line)
        self._child.ended.connect(self._on_ended)

    def start(self, entry: Model | Pair) -> None:
        """Check an installed model, unless that is done or under way."""
        command = exporter.check_command(entry.name)
        if command and not entry.is_checked and not self.name and entry.name not in self._begun:
            self._begun.add(entry.name)
            self.name, self._fault, self._is_forgotten = entry.name, "", False
            self._child.start(command)
            self.progressed.emit(self.name, 0, 0)

    def forget(self, name: str) -> None:
        """End the check of a model that is being removed; one that comes under the same name is another one."""
        self._begun.discard(name)
        if name == self.name:
            self._is_forgotten = True
            self._child.kill()

    def close(self) -> None:
        if self._child.is_running:
            self._child.close()
            exporter.sweep_checks()

    @Slot(str)
    def _on_line(self, line: str) -> None:
        if fault := exporter.failed_check(line):
            self._fault = translate_error(fault)
        elif step := _STEP.match(line):
            self.progressed.emit(self.name, int(step[1]), int(step[2]))

    @Slot(object)
    def _on_ended(self, _ending: Ending) -> None:
        name, self.name = self.name, ""
        if self._is_forgotten:
            exporter.sweep_checks()
        self.ended.emit(name, "" if self._is_forgotten else self._fault)
