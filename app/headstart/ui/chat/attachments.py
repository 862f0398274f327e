"""Files attached to a message, and the process that reads the text of a PDF."""

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


def reader_command() -> tuple[str, ...]:
    """Return the command of `headstart` that prints the text of a PDF as JSON lines."""
    # -P: the current folder is the user's and may hold a file named like a module.
    start = (sys.executable,) if getattr(sys, "frozen", False) else (sys.executable, "-P", "-m", "headstart")
    return (*start, "dev", "text", "--lines")


class PdfTextReader(QObject):
    """Reader of one PDF. Emits `read` or `failed` once, and neither after `cancel`."""

    progressed = Signal(int, int)  # pages read, pages
    read = Signal(object)  # Attachment
    failed = Signal(str)  # a sentence

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.path = path
        self._outcome: dict[str, Any] = {}
        self._process = LineProcess(self)
        self._process.line_read.connect(self._on_line)
        self._process.ended.connect(self._finish)

    def start(self, program: tuple[str, ...] | None = None) -> None:
        """Start `program`, by default `reader_command()`, on the path."""
        self._process.start((*(program or reader_command()), str(self.path.absolute())), merged=False)

    def cancel(self) -> None:
        """End the process at once and emit nothing more."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._process.close()

    @Slot(str)
    def _on_line(self, line: str) -> None:
        report = json.loads(line)
        if "page" in report:
            self.progressed.emit(report["page"], report["pages"])
        else:
            self._outcome = report

    @Slot()
    def _finish(self) -> None:
        if "text" in self._outcome:
            self.read.emit(Attachment(self.path.name, self._outcome["text"]))
        elif "error" in self._outcome:
            self.failed.emit(translate_error(Translatable.from_data(self._outcome["error"])))
        else:
            unread = self.tr("{} could not be read to its end; save its text as a file and attach that.")
            self.failed.emit(unread.format(self.path.name))


MAX_FILES = 20  # in one message


def size_text(attachment: Attachment) -> str:
    """Return the size of the text in bytes or kB."""
    length = len(attachment.text.encode(errors="replace"))
    return f"{decimal(length / 1000, 1)} kB" if length >= 1000 else f"{length} B"


_MAX_NAME = 36  # characters


class AttachmentTray(QWidget):
    """The attached files; hidden while there are none. A PDF is attached after it has been read."""

    changed = Signal()
    error_occurred = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Attached files"))
        self._chips: dict[Attachment, AttachmentChip] = {}
        self._readers: dict[PdfTextReader, AttachmentChip] = {}
        self._flow = Flow(self, TINY)
        self.hide()

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """The attached files, except those that are still being read."""
        return tuple(self._chips)

    @property
    def is_reading(self) -> bool:
        """True while a PDF is read."""
        return bool(self._readers)

    def attach(self, files: Iterable[Path]) -> None:
        """Read and show files; report those that are refused after the others are shown."""
        errors: list[AttachmentError] = []
        for path in files:
            try:
                self._require_room(path)
                if is_pdf(path):
                    self._begin(path)
                else:
                    self._add(read(path))
            except AttachmentError as error:
                errors.append(error)
        self._update()
        for each in errors:
            self.error_occurred.emit(translate_error(each))

    def set_attached(self, files: Iterable[Attachment]) -> None:
        """Replace the attached files, and stop reading others."""
        for reader in list(self._readers):
            self._drop(reader)
        for attachment in list(self._chips):
            self._discard(self._chips.pop(attachment))
        for attachment in files:
            self._add(attachment)
        self.setVisible(bool(self._chips))

    def show_tokens(self, tokens: Mapping[Attachment, int]) -> None:
        """Show the tokens of each file that has been counted."""
        for attachment, chip in self._chips.items():
            if attachment in tokens:
                chip.show_remark(self.tr("{} tokens").format(whole(tokens[attachment])))

    def show_in_passages(self, files: Iterable[Attachment]) -> None:
        """Mark the files of which the model gets only passages."""
        cut = set(files)
        for attachment, chip in self._chips.items():
            chip.show_in_passages(attachment in cut)

    def _require_room(self, path: Path) -> None:
        if len(self._chips) + len(self._readers) >= MAX_FILES:
            raise AttachmentError(
                "{path} was not attached: {most} files is the most for one message.", path=path.name, most=MAX_FILES
            )

    def _add(self, attachment: Attachment) -> None:
        if attachment in self._chips:  # the same file again
            return
        chip = self._chip(attachment.name, self.tr("Remove {}").format(attachment.name))
        chip.show_remark(size_text(attachment))
        chip.remove.clicked.connect(partial(self._remove, attachment))
        self._chips[attachment] = chip

    def _begin(self, path: Path) -> None:
        reader = PdfTextReader(path, self)
        chip = self._readers[reader] = self._chip(path.name, self.tr("Stop reading {}").format(path.name))
        chip.show_remark(self.tr("reading…"))
        chip.remove.clicked.connect(partial(self._abandon, reader))
        reader.progressed.connect(partial(self._show_progress, chip))
        reader.read.connect(partial(self._finish, reader))
        reader.failed.connect(partial(self._fail, reader))
        reader.start()

    def _show_progress(self, chip: "AttachmentChip", page: int, pages: int) -> None:
        chip.show_remark(self.tr("page {page} of {pages}").format(page=page, pages=pages))

    def _finish(self, reader: PdfTextReader, attachment: Attachment) -> None:
        try:
            require_short(attachment)
        except AttachmentError as error:
            self._fail(reader, translate_error(error))
            return
        self._drop(reader)
        self._add(attachment)
        self._update()

    def _fail(self, reader: PdfTextReader, sentence: str) -> None:
        self._abandon(reader)
        self.error_occurred.emit(sentence)

    def _abandon(self, reader: PdfTextReader) -> None:
        self._drop(reader)
        self._update()

    def _remove(self, attachment: Attachment) -> None:
        self._discard(self._chips.pop(attachment))
        self._update()

    def _drop(self, reader: PdfTextReader) -> None:
        self._discard(self._readers.pop(reader))
        reader.cancel()
        reader.deleteLater()

    def _discard(self, chip: "AttachmentChip") -> None:
        self._flow.removeWidget(chip)
        chip.hide()
        chip.deleteLater()

    def _chip(self, name: str, remove: str) -> "AttachmentChip":
        chip = AttachmentChip(name, remove, self)
        self._flow.addWidget(chip)
        chip.show()
        return chip

    def _update(self) -> None:
        self.setVisible(bool(self._chips or self._readers))
        self.changed.emit()


class AttachmentChip(QFrame):
    """The name of a file with a remark and a button that removes it."""

    def __init__(self, name: str, remove: str, parent: QWidget) -> None:
        super().__init__(parent)
        set_style_class(self, "chip")
        self._name = QLabel(shorten_name(name), self)
        self._name.setToolTip(name)
        self._remark = QLabel(self)
        self._size, self._is_cut = "", False
        set_style_class(self._remark, "muted")
        self.remove = icon_button("close", remove, self)
        self._full_name = name
        set_margins(beside(self, self._name, self._remark, self.remove), start=SMALL, top=0, end=0, bottom=0)

    def show_remark(self, text: str) -> None:
        """Show a size, a count of tokens or the progress of reading."""
        self._size = text
        self._describe()

    def show_in_passages(self, is_cut: bool) -> None:
        """Show whether the model gets only passages of the file."""
        self._is_cut = is_cut
        self._describe()

    def _describe(self) -> None:
        remark = self.tr("{} · in passages").format(self._size) if self._is_cut else self._size
        self._remark.setText(remark)
        meaning = self.tr("The file does not fit the context, so the model gets the passages that fit your question.")
        self.setToolTip(meaning if self._is_cut else "")
        self.setAccessibleDescription(meaning if self._is_cut else "")
        self.setAccessibleName(f"{self._full_name}, {remark}")


def shorten_name(name: str) -> str:
    """Cut the middle out of a file name that is too long."""
    half = _MAX_NAME // 2
    return name if len(name) <= _MAX_NAME else f"{name[:half]}…{name[-half + 1 :]}"
