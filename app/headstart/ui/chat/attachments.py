"""Files attached to a message: their chips, and the reading of a PDF."""

import json
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from headstart.chat.attachments import is_pdf, read, require_short
from headstart.chat.conversation import Attachment
from headstart.errors import AttachmentError, Translatable
from headstart.ui.formatting import decimal, whole
from headstart.ui.line_process import LineProcess
from headstart.ui.translation import translate_error
from headstart.ui.widgets.icons import icon_button
from headstart.ui.widgets.layouts import Flow, beside, set_margins
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import SMALL, TINY


def command() -> tuple[str, ...]:
    """The command that prints the text of a PDF as JSON lines: `headstart` itself."""
    # -P: the current folder is the user's, and may hold a file named like a module.
    start = (sys.executable,) if getattr(sys, "frozen", False) else (sys.executable, "-P", "-m", "headstart")
    return (*start, "dev", "text", "--lines")


class PdfReading(QObject):
    """Reads one PDF. Emits `read` or `failed` once, and neither after `cancel`."""

    progressed = Signal(int, int)  # pages read, pages
    read = Signal(object)  # Attachment
    failed = Signal(str)  # a sentence

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        """Nothing runs before `start`."""
        super().__init__(parent)
        self.path = path
        self._outcome: dict[str, Any] = {}
        self._process = LineProcess(self)
        self._process.line_read.connect(self._note)
        self._process.ended.connect(self._finish)

    def start(self, program: tuple[str, ...] | None = None) -> None:
        """Begin. Tests give another `program`."""
        self._process.start((*(program or command()), str(self.path.absolute())), merged=False)

    def cancel(self) -> None:
        """End it at once and say nothing more."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._process.close()

    @Slot(str)
    def _note(self, line: str) -> None:
        found = json.loads(line)
        if "page" in found:
            self.progressed.emit(found["page"], found["pages"])
        else:
            self._outcome = found

    @Slot()
    def _finish(self) -> None:
        if "text" in self._outcome:
            self.read.emit(Attachment(self.path.name, self._outcome["text"]))
        elif "error" in self._outcome:
            self.failed.emit(translate_error(Translatable.from_data(self._outcome["error"])))
        else:
            unread = self.tr("{} could not be read to its end; save its text as a file and attach that.")
            self.failed.emit(unread.format(self.path.name))


MOST = 20  # files with one message


def size(attachment: Attachment) -> str:
    """The size of the text, as shown."""
    length = len(attachment.text.encode(errors="replace"))
    return f"{decimal(length / 1000, 1)} kB" if length >= 1000 else f"{length} B"


_LONGEST_NAME = 36  # characters


class AttachmentTray(QWidget):
    """The attached files, hidden while there are none. A PDF is attached when it has been read."""

    changed = Signal()
    error_occurred = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Attached files"))
        self._chips: dict[Attachment, Chip] = {}
        self._readings: dict[PdfReading, Chip] = {}
        self._flow = Flow(self, TINY)
        self.hide()

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """The attached files, without those still being read."""
        return tuple(self._chips)

    @property
    def is_reading(self) -> bool:
        """Whether a PDF file is still being read."""
        return bool(self._readings)

    def attach(self, files: Iterable[Path]) -> None:
        """Read and show files. Refusals are reported after the others are shown."""
        refused: list[AttachmentError] = []
        for path in files:
            try:
                self._require_room(path)
                if is_pdf(path):
                    self._begin(path)
                else:
                    self._add(read(path))
            except AttachmentError as error:
                refused.append(error)
        self._note_change()
        for refusal in refused:
            self.error_occurred.emit(translate_error(refusal))

    def set_attached(self, files: Iterable[Attachment]) -> None:
        """Show these and no others."""
        for reading in list(self._readings):
            self._drop(reading)
        for attachment in list(self._chips):
            self._discard(self._chips.pop(attachment))
        for attachment in files:
            self._add(attachment)
        self.setVisible(bool(self._chips))

    def show_tokens(self, tokens: Mapping[Attachment, int]) -> None:
        """How many tokens each has, as far as they are counted."""
        for attachment, chip in self._chips.items():
            if attachment in tokens:
                chip.show_remark(self.tr("{} tokens").format(whole(tokens[attachment])))

    def show_in_passages(self, files: Iterable[Attachment]) -> None:
        """Say of which files the model gets passages."""
        cut = set(files)
        for attachment, chip in self._chips.items():
            chip.show_in_passages(attachment in cut)

    def _require_room(self, path: Path) -> None:
        if len(self._chips) + len(self._readings) >= MOST:
            raise AttachmentError(
                "{path} was not attached: {most} files is the most for one message.", path=path.name, most=MOST
            )

    def _add(self, attachment: Attachment) -> None:
        if attachment in self._chips:  # the same file again
            return
        chip = self._chip(attachment.name, self.tr("Remove {}").format(attachment.name))
        chip.show_remark(size(attachment))
        chip.remove.clicked.connect(partial(self._remove, attachment))
        self._chips[attachment] = chip

    def _begin(self, path: Path) -> None:
        reading = PdfReading(path, self)
        chip = self._readings[reading] = self._chip(path.name, self.tr("Stop reading {}").format(path.name))
        chip.show_remark(self.tr("reading…"))
        chip.remove.clicked.connect(partial(self._abandon, reading))
        reading.progressed.connect(partial(self._show_progress, chip))
        reading.read.connect(partial(self._finish, reading))
        reading.failed.connect(partial(self._fail, reading))
        reading.start()

    def _show_progress(self, chip: "Chip", page: int, pages: int) -> None:
        chip.show_remark(self.tr("page {page} of {pages}").format(page=page, pages=pages))

    def _finish(self, reading: PdfReading, attachment: Attachment) -> None:
        try:
            require_short(attachment)
        except AttachmentError as error:
            self._fail(reading, translate_error(error))
            return
        self._drop(reading)
        self._add(attachment)
        self._note_change()

    def _fail(self, reading: PdfReading, sentence: str) -> None:
        self._abandon(reading)
        self.error_occurred.emit(sentence)

    def _abandon(self, reading: PdfReading) -> None:
        self._drop(reading)
        self._note_change()

    def _remove(self, attachment: Attachment) -> None:
        self._discard(self._chips.pop(attachment))
        self._note_change()

    def _drop(self, reading: PdfReading) -> None:
        self._discard(self._readings.pop(reading))
        reading.cancel()
        reading.deleteLater()

    def _discard(self, chip: "Chip") -> None:
        self._flow.removeWidget(chip)
        chip.hide()
        chip.deleteLater()

    def _chip(self, name: str, remove: str) -> "Chip":
        chip = Chip(name, remove, self)
        self._flow.addWidget(chip)
        chip.show()
        return chip

    def _note_change(self) -> None:
        self.setVisible(bool(self._chips or self._readings))
        self.changed.emit()


class Chip(QFrame):
    """A file's name with a remark, and a button."""

    def __init__(self, name: str, remove: str, parent: QWidget) -> None:
        super().__init__(parent)
        set_style_class(self, "chip")
        self._name = QLabel(shortened(name), self)
        self._name.setToolTip(name)
        self._remark = QLabel(self)
        self._size, self._is_cut = "", False
        set_style_class(self._remark, "muted")
        self.remove = icon_button("close", remove, self)
        self._full_name = name
        set_margins(beside(self, self._name, self._remark, self.remove), start=SMALL, top=0, end=0, bottom=0)

    def show_remark(self, text: str) -> None:
        """Size, tokens or progress."""
        self._size = text
        self._describe()

    def show_in_passages(self, is_cut: bool) -> None:
        """Whether the model gets passages of the file, and not the whole."""
        self._is_cut = is_cut
        self._describe()

    def _describe(self) -> None:
        remark = self.tr("{} · in passages").format(self._size) if self._is_cut else self._size
        self._remark.setText(remark)
        meaning = self.tr("The file does not fit the context, so the model gets the passages that fit your question.")
        self.setToolTip(meaning if self._is_cut else "")
        self.setAccessibleDescription(meaning if self._is_cut else "")
        self.setAccessibleName(f"{self._full_name}, {remark}")


def shortened(name: str) -> str:
    """A file's name without its middle, if it is long."""
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[-half + 1 :]}"
