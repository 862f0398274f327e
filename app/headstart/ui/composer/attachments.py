"""Files attached to a message, and the process that reads the text of a document."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTemporaryDir, QTimer, Signal, Slot
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFrame, QLabel, QToolButton, QWidget

from headstart.chat.conversation import Attachment
from headstart.chat.files.attachments import DocumentKind, ReadingOption, document, read, require_short, ways_to_read
from headstart.engine.speech.transcript import clock
from headstart.errors import AttachmentError, Translatable
from headstart.ui.formatting import decimal, whole
from headstart.ui.line_process import LineProcess
from headstart.ui.translation import translate_error
from headstart.ui.widgets.icons import icon_button
from headstart.ui.widgets.layouts import FlowLayout, beside, set_margins
from headstart.ui.widgets.menus import Menu
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import SMALL, TINY


def reader_command() -> tuple[str, ...]:
    """Return the command of `headstart` that prints the text of a document as JSON lines."""
    # -P: the current folder is the user's and may hold a file named like a module.
    start = (sys.executable,) if getattr(sys, "frozen", False) else (sys.executable, "-P", "-m", "headstart")
    return (*start, "dev", "text", "--lines")


MAX_SILENCE_S = 60  # of the process, before it is given up


class DocumentReader(QObject):
    """Reader of one document. Emits `read` or `failed` once, and neither after `cancel`."""

    progressed = Signal(int, int)  # pages read, pages of a PDF; pictures of other documents; seconds of a recording
    read = Signal(object)  # Attachment
    failed = Signal(str, str)  # a sentence, the model that is missing

    def __init__(self, path: Path, parent: QObject | None = None, folder: QTemporaryDir | None = None) -> None:
        """`folder`: the file's own, which is removed once it is read."""
        super().__init__(parent)
        self.path, self._folder = path, folder
        self._outcome: dict[str, Any] = {}
        self._process = LineProcess(self)
        self._process.line_read.connect(self._on_line)
        self._process.ended.connect(self._finish)
        self._silence = QTimer(self, singleShot=True, interval=MAX_SILENCE_S * 1000)
        self._silence.timeout.connect(self._process.kill)

    def start(self, program: tuple[str, ...] | None = None) -> None:
        """Start `program`, by default `reader_command()`, on the path."""
        self._process.start((*(program or reader_command()), str(self.path.absolute())), merged=False)
        self._silence.start()

    def cancel(self) -> None:
        """End the process at once and emit nothing more."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._process.close()
        if self._folder:
            self._folder.remove()

    @Slot(str)
    def _on_line(self, line: str) -> None:
        report = json.loads(line)
        self._silence.start()
        if "page" in report:
            self.progressed.emit(report["page"], report["pages"])
        else:
            self._outcome = report

    @Slot()
    def _finish(self) -> None:
        self._silence.stop()
        if "text" in self._outcome:
            self.read.emit(Attachment(self.path.name, self._outcome["text"]))
        elif "error" in self._outcome:
            sentence = translate_error(Translatable.from_data(self._outcome["error"]))
            self.failed.emit(sentence, self._outcome.get("model", ""))
        else:
            unread = self.tr("{} could not be read to its end; save its text as a file and attach that.")
            self.failed.emit(unread.format(self.path.name), "")


MAX_FILES = 20  # in one message


def size_text(attachment: Attachment) -> str:
    """Return the size of the text in bytes or kB."""
    length = len(attachment.text.encode(errors="replace"))
    return f"{decimal(length / 1000, 1)} kB" if length >= 1000 else f"{length} B"


_MAX_NAME = 36  # characters
_MAX_SAMPLE = 40  # characters


class AttachmentTray(QWidget):
    """The attached files; hidden while there are none. A document is attached after it has been read."""

    changed = Signal()
    error_occurred = Signal(str, str)  # sentences, the model that is missing

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Attached files"))
        self._chips: dict[Attachment, AttachmentChip] = {}
        self._readers: dict[DocumentReader, AttachmentChip] = {}
        self._refused: list[str] = []  # sentences on the files that were chosen with those that are being read
        self._missing_model = ""  # for the last of them
        self._flow = FlowLayout(self, TINY)
        self.hide()

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """The attached files, except those that are still being read."""
        return tuple(self._chips)

    @property
    def is_reading(self) -> bool:
        """True while a document is read."""
        return bool(self._readers)

    def attach(self, files: Iterable[Path]) -> None:
        """Read and show files; report those that are refused after the others are shown."""
        for path in files:
            try:
                self._require_room(path)
                if kind := document(path):
                    self._begin(path, kind)
                else:
                    self._add(read(path))
            except AttachmentError as error:
                self._refused.append(translate_error(error))
        self._update()

    def attach_picture(self, picture: QImage) -> None:
        """Read a picture that was pasted. It is on the disk only while it is read."""
        folder = QTemporaryDir()
        path = Path(folder.filePath(self.tr("Pasted picture") + ".png"))
        try:
            self._require_room(path)
            if not picture.save(str(path)):
                raise AttachmentError("The picture cannot be read here; save it as a file, and attach that.")
            self._begin(path, DocumentKind.PICTURE, folder)
        except AttachmentError as error:
            self._refused.append(translate_error(error))
        self._update()

    def set_attached(self, files: Iterable[Attachment]) -> None:
        """Replace the attached files, and stop reading others."""
        self._refused.clear()
        for reader in list(self._readers):
            self._drop(reader)
        for attachment in list(self._chips):
            self._discard(self._chips.pop(attachment))
        for attachment in files:
            self._add([ReadingOption("", attachment)])
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

    def _add(self, readings: Sequence[ReadingOption]) -> None:
        """Show a file, read in the first of these ways."""
        attachment = readings[0].attachment
        if attachment in self._chips:  # the same file again
            return
        chip = self._chip(attachment.name, self.tr("Remove {}").format(attachment.name))
        chip.show_remark(size_text(attachment))
        chip.offer(readings)
        chip.remove.clicked.connect(partial(self._remove, chip))
        chip.read_as.connect(partial(self._replace, chip))
        self._chips[attachment] = chip

    def _replace(self, chip: "AttachmentChip", way: str, attachment: Attachment) -> None:
        """Insert another reading of a chip's file in place of the current one."""
        try:
            require_short(attachment)
        except AttachmentError as error:
            self.error_occurred.emit(translate_error(error), "")
            return
        if self._chips.get(attachment, chip) is not chip:  # the same file again
            self._remove(chip)
            return
        self._chips = {attachment if each is chip else old: each for old, each in self._chips.items()}
        chip.show_remark(size_text(attachment))
        chip.show_way(way)
        self._update()

    def _begin(self, path: Path, kind: DocumentKind, folder: QTemporaryDir | None = None) -> None:
        reader = DocumentReader(path, self, folder)
        chip = self._readers[reader] = self._chip(path.name, self.tr("Stop reading {}").format(path.name))
        chip.show_remark(self.tr("reading…"))
        chip.remove.clicked.connect(partial(self._abandon, reader))
        reader.progressed.connect(partial(self._show_progress, chip, kind))
        reader.read.connect(partial(self._finish, reader))
        reader.failed.connect(partial(self._fail, reader))
        reader.start()

    def _show_progress(self, chip: "AttachmentChip", kind: DocumentKind, done: int, count: int) -> None:
        if kind is DocumentKind.RECORDING:
            chip.show_remark(self.tr("{time} of {length}").format(time=clock(done), length=clock(count)))
        elif kind in (DocumentKind.PDF, DocumentKind.PICTURE):
            chip.show_remark(self.tr("page {page} of {pages}").format(page=done, pages=count))
        else:
            chip.show_remark(self.tr("picture {number} of {count}").format(number=done, count=count))

    def _finish(self, reader: DocumentReader, attachment: Attachment) -> None:
        self._drop(reader)
        self._add(ways_to_read(reader.path, attachment))
        self._update()

    def _fail(self, reader: DocumentReader, sentence: str, model: str) -> None:
        self._refused.append(sentence)
        self._missing_model = model
        self._abandon(reader)

    def _abandon(self, reader: DocumentReader) -> None:
        self._drop(reader)
        self._update()

    def _remove(self, chip: "AttachmentChip") -> None:
        self._chips = {attachment: each for attachment, each in self._chips.items() if each is not chip}
        self._discard(chip)
        self._update()

    def _drop(self, reader: DocumentReader) -> None:
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
        self.changed.emit()  # hides the errors of before, of which some may belong to files chosen together
        if self._refused:
            self.error_occurred.emit("\n".join(self._refused), self._missing_model)
        if not self._readers:
            self._refused.clear()
            self._missing_model = ""


class AttachmentChip(QFrame):
    """The name of a file with a remark, a button that removes it, and one with the other ways to read it."""

    read_as = Signal(str, object)  # name of the way, Attachment

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
        self.ways = QToolButton(self)
        self.ways.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.ways.setToolTip(self.tr("How the file is read; click to change it"))
        set_style_class(self.ways, "way")
        self.ways.hide()
        set_margins(beside(self, self._name, self._remark, self.ways, self.remove), start=SMALL, top=0, end=0, bottom=0)

    def offer(self, readings: Sequence[ReadingOption]) -> None:
        """Show how the file was read, and a menu with the other ways; nothing for the usual and only one."""
        if len(readings) == 1 and not readings[0].name:
            return
        menu = Menu(self.ways)
        for reading in readings:
            name = translate_error(reading.name) or self.tr("as text")
            action = menu.addAction(self.tr("{way}: {beginning}").format(way=name, beginning=_sample(reading)))
            action.triggered.connect(partial(self._choose, name, reading.attachment))
        self.ways.setMenu(menu)
        self.show_way(translate_error(readings[0].name) or self.tr("as text"))
        self.ways.show()

    def _choose(self, name: str, attachment: Attachment) -> None:
        self.read_as.emit(name, attachment)

    def show_way(self, name: str) -> None:
        """Show how the file was read."""
        self.ways.setText(f"{name} ▾")
        self.ways.setAccessibleName(self.tr("{file} is read as {way}").format(file=self._full_name, way=name))

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


def _sample(reading: ReadingOption) -> str:
    """Return the beginning of the first line in which a reading differs from the others."""
    lines = [" ".join(line.split()) for line in reading.attachment.text[:20_000].splitlines()]
    line = next((line for line in lines if not line.isascii()), next(filter(None, lines), ""))
    return line[:_MAX_SAMPLE].replace("&", "&&")


def shorten_name(name: str) -> str:
    """Cut the middle out of a file name that is too long."""
    half = _MAX_NAME // 2
    return name if len(name) <= _MAX_NAME else f"{name[:half]}…{name[-half + 1 :]}"
