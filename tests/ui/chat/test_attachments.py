"""Stories of files that go with a message: texts and PDFs, what is refused, drafts, edits, and the context."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfReader, PdfWriter
from PySide6.QtCore import QMimeData, QSizeF, QUrl
from PySide6.QtGui import QGuiApplication, QImage, QPdfWriter, QTextDocument
from PySide6.QtWidgets import QAbstractButton, QFileDialog
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Attachment
from headstart.chat.files.attachments import require_short
from headstart.errors import AttachmentError
from headstart.ui.composer import attachments
from headstart.ui.composer.attachments import AttachmentChip, DocumentReader
from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageAction
from tests.ui.conftest import Speak
from tests.ui.person import WAIT, ask, chips, shown, texts, write

Open = Callable[..., Program]
Pdf = Callable[[str], Path]
SPEECH = Path(__file__).parents[2] / "engine" / "data" / "speech.opus"  # two sentences with a pause, by flite


@pytest.fixture
def pdf(qtbot: QtBot, tmp_path: Path) -> Pdf:
    """A function that makes a PDF file with a text."""

    def make(text: str, name: str = "report.pdf") -> Path:
        document, path = QTextDocument(), tmp_path / name
        document.setPlainText(text)
        document.setPageSize(QSizeF(400, 600))  # else the page gets a number
        document.print_(QPdfWriter(str(path)))
        return path

    return make


def notice(app: Program) -> str:
    """Return the sentence above the composer."""
    return app.window.chat.notice.text


def test_picture_without_a_model_is_refused(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    (tmp_path / "scan.jpg").write_bytes(b"\xff\xd8\xff")
    app.window.chat.files_dropped.emit([tmp_path / "scan.jpg"])
    qtbot.waitUntil(lambda: "PP-OCRv6" in notice(app), timeout=60_000)
    assert notice(app).startswith("scan.jpg is a picture,")


def test_recording_without_a_model_offers_it(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    (tmp_path / "talk.mp3").write_bytes(b"ID3")
    app.window.chat.files_dropped.emit([tmp_path / "talk.mp3"])
    qtbot.waitUntil(lambda: "Whisper" in notice(app), timeout=60_000)
    (button,) = [each for each in app.window.chat.notice.findChildren(QAbstractButton) if each.text() == "Get Whisper"]
    button.click()
    assert app.window.models.isVisible()
    assert app.window.models.catalogue.search.text() == "Whisper"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("talk.mp3", b"ID3", "0:27 of 1:30"),
        ("a.pdf", b"%PDF-", "page 27 of 90"),
        ("a.docx", b"PK", "picture 27 of 90"),
    ],
)
def test_long_reading_shows_how_far_it_is_and_can_be_stopped(
    qtbot: QtBot, app: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, words: str
) -> None:
    script = 'import sys; print(\'{"page": 27, "pages": 90}\', flush=True); sys.stdin.read()'
    monkeypatch.setattr(attachments, "reader_command", lambda: (sys.executable, "-c", script))
    (tmp_path / name).write_bytes(content)
    app.window.chat.files_dropped.emit([tmp_path / name])
    qtbot.waitUntil(lambda: chips(app) == [f"{name}, {words}"], timeout=WAIT)
    (chip,) = [each for each in app.window.chat.composer.findChildren(AttachmentChip) if not each.isHidden()]
    chip.remove.click()
    assert not chips(app)
    assert not app.window.chat.composer.is_reading


def test_recording_is_sent_as_a_transcript_with_times(
    qtbot: QtBot, app: Program, headstart_home: Path, real_whisper: Path
) -> None:
    (headstart_home / "models").mkdir(exist_ok=True)
    (headstart_home / "models" / real_whisper.name).symlink_to(real_whisper)
    app.window.chat.files_dropped.emit([SPEECH])
    qtbot.waitUntil(lambda: bool(app.window.chat.composer.attached), timeout=60_000)
    (attached,) = app.window.chat.composer.attached
    first, second = attached.text.splitlines()
    assert first == "[0:00] Please send me the report before Friday afternoon."
    assert second.startswith("[0:05] We will meet")


def test_pasted_picture_is_read_as_a_file(qtbot: QtBot, app: Program) -> None:
    picture = QImage(80, 40, QImage.Format.Format_RGB32)
    picture.fill(0xFFFFFF)
    clipboard = QMimeData()
    clipboard.setImageData(picture)
    edit = app.window.chat.composer.edit
    assert edit.canInsertFromMimeData(clipboard)
    edit.insertFromMimeData(clipboard)
    assert chips(app)
    qtbot.waitUntil(lambda: "PP-OCRv6" in notice(app), timeout=60_000)
    assert notice(app).startswith("Pasted picture.png is a picture,")
    assert not chips(app)


def test_file_is_sent_with_the_message(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nalpha beta", encoding="utf-8")
    (tmp_path / "picture.heic").write_bytes(b"\0\0")
    app.window.chat.files_dropped.emit([tmp_path / "notes.md", tmp_path / "picture.heic"])
    assert "picture.heic" in app.window.chat.notice.text
    ask(qtbot, app, "what is this?")
    assert [file.name for file in shown(app)[0].attached] == ["notes.md"]
    assert "alpha" in texts(app)[1]
    view = app.window.chat.transcript.view(0)
    assert view._fold.text() == "notes.md"
    view._fold.click()
    assert view._unfolded is not None
    assert "alpha beta" in view._unfolded.toPlainText()
    app.window.actions_by_name["copy_chat"].trigger()
    assert "notes.md:\n```\n# Notes\n\nalpha beta\n```\n\nwhat is this?" in QGuiApplication.clipboard().text()
    assert app.chat_controller.session.path[0].attachments[0].text.startswith("# Notes")


def test_count_includes_attachments(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("alpha beta gamma", encoding="utf-8")
    app.window.chat.files_dropped.emit([tmp_path / "notes.md"])
    app.window.chat.composer.set_text("one two")
    count = app.window.chat.composer._count
    qtbot.waitUntil(
        lambda: count.accessibleDescription() == "9 of 2,048 tokens", timeout=WAIT
    )  # role, name, fences, words
    qtbot.waitUntil(lambda: "notes.md, 3 tokens" in chips(app), timeout=WAIT)


def test_file_that_comes_while_a_message_is_counted_is_for_the_next(
    qtbot: QtBot, app: Program, pdf: Pdf, tmp_path: Path
) -> None:
    composer = app.window.chat.composer
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"in {name}", encoding="utf-8")
    composer.attach([tmp_path / "a.md"])
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        write(app, "what is this?")
        composer.attach([tmp_path / "b.md", pdf("Tigers")])
    assert [file.name for file in shown(app)[0].attached] == ["a.md"]
    assert [file.name for file in composer.attached] == ["b.md"]
    assert "still being read was not attached" in notice(app)


def test_pdf_is_sent_with_the_message(qtbot: QtBot, app: Program, pdf: Pdf) -> None:
    composer = app.window.chat.composer
    composer.attach([pdf("Tigers sleep by day.\nGröße")])
    assert composer.is_reading
    assert chips(app) == ["report.pdf, reading…"]
    composer.set_text("what do they do?")
    composer.submit()
    assert "still being read" in notice(app)
    qtbot.waitUntil(lambda: not composer.is_reading, timeout=WAIT)
    assert composer.attached[0].text.split() == ["Tigers", "sleep", "by", "day.", "Größe"]
    composer.set_text("")
    ask(qtbot, app, "what do they do?")
    assert "Tigers sleep" in texts(app)[1]
    assert not chips(app)


def test_restricted_pdf_is_read(qtbot: QtBot, app: Program, pdf: Pdf, tmp_path: Path) -> None:
    _encrypt(pdf("Tigers"), tmp_path / "open.pdf", password="")
    app.window.chat.composer.attach([tmp_path / "open.pdf"])
    qtbot.waitUntil(lambda: not app.window.chat.composer.is_reading, timeout=WAIT)
    assert app.window.chat.composer.attached[0].text == "Tigers"


def test_refusals_stay_while_other_files_are_read(qtbot: QtBot, app: Program, pdf: Pdf, tmp_path: Path) -> None:
    for name in ("a.zip", "b.numbers"):
        (tmp_path / name).write_bytes(b"PK\3\4")
    composer = app.window.chat.composer
    composer.attach([tmp_path / "a.zip", pdf("Tigers"), tmp_path / "b.numbers"])
    assert [line.partition(" ")[0] for line in notice(app).splitlines()] == ["a.zip", "b.numbers"]
    qtbot.waitUntil(lambda: not composer.is_reading, timeout=WAIT)
    assert [line.partition(" ")[0] for line in notice(app).splitlines()] == ["a.zip", "b.numbers"]
    composer.attach([tmp_path / "a.zip"])
    assert len(notice(app).splitlines()) == 1


def test_reading_a_pdf_can_be_cancelled(qtbot: QtBot, app: Program, pdf: Pdf) -> None:
    composer = app.window.chat.composer
    composer.attach([pdf("Tigers")])
    (chip,) = composer.findChildren(AttachmentChip)
    assert chip.remove.accessibleName() == "Stop reading report.pdf"
    chip.remove.click()
    assert not composer.is_reading
    assert not notice(app)


def test_pdf_in_progress_stays_in_its_chat(qtbot: QtBot, app: Program, pdf: Pdf) -> None:
    ask(qtbot, app, "first")
    app.window.chat.composer.attach([pdf("Tigers")])
    app.window.sidebar.new_requested.emit()
    assert "was not attached" in notice(app)
    assert not chips(app)


def test_encoding_is_shown_and_changed_at_the_chip(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    text = "Привет! Это обычный русский текст, сохранённый старой программой."
    (tmp_path / "a.txt").write_bytes(text.encode("cp1251"))
    (tmp_path / "b.txt").write_text("plain", encoding="utf-8")
    composer = app.window.chat.composer
    composer.attach([tmp_path / "a.txt", tmp_path / "b.txt"])
    chip, plain = composer.findChildren(AttachmentChip)
    assert plain.ways.isHidden()
    assert (chip.ways.text(), composer.attached[0].text) == ("Windows-1251 ▾", text)
    assert chip.ways.accessibleName() == "a.txt is read as Windows-1251"
    other = next(action for action in chip.ways.menu().actions() if action.text().startswith("KOI8-R: оПХБЕР"))
    other.trigger()
    assert (chip.ways.text(), composer.attached[0].text[:6]) == ("KOI8-R ▾", "оПХБЕР")
    assert [file.name for file in composer.attached] == ["a.txt", "b.txt"]
    chip.remove.click()
    assert [file.name for file in composer.attached] == ["b.txt"]


def test_same_file_read_in_two_ways_becomes_one(app: Program, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Привет! Это обычный русский текст.".encode("cp1251"))
    composer = app.window.chat.composer
    composer.attach([tmp_path / "a.txt"])
    (first,) = composer.findChildren(AttachmentChip)
    actions = {action.text().partition(":")[0]: action for action in first.ways.menu().actions()}
    actions["KOI8-R"].trigger()
    composer.attach([tmp_path / "a.txt"])
    assert len(composer.attached) == 2
    actions["Windows-1251"].trigger()
    assert len(composer.attached) == 1
    assert len(chips(app)) == 1


def test_web_page_is_read_as_text_or_source(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<h1>Tigers</h1><script>x</script>", encoding="utf-8")
    composer = app.window.chat.composer
    composer.attach([tmp_path / "a.html"])
    qtbot.waitUntil(lambda: not composer.is_reading, timeout=WAIT)
    assert composer.attached == (Attachment("a.html", "# Tigers"),)
    (chip,) = [chip for chip in composer.findChildren(AttachmentChip) if not chip.isHidden()]
    chip.ways.menu().actions()[1].trigger()
    assert composer.attached == (Attachment("a.html", "<h1>Tigers</h1><script>x</script>"),)


def test_silent_reader_is_ended(qtbot: QtBot, tmp_path: Path) -> None:
    reading = DocumentReader(tmp_path / "x.pdf")
    reading._silence.setInterval(100)
    with qtbot.waitSignal(reading.failed, timeout=WAIT) as failed:
        reading.start((sys.executable, "-c", "import time; time.sleep(600)"))
    assert failed.args
    assert "could not be read" in failed.args[0]


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ((sys.executable, "-c", 'print(\'{"error": "It is locked."}\')'), "It is locked."),
        ((sys.executable, "-c", "import os; os._exit(9)"), "x.pdf could not be read to its end"),
        (("/no/such/program",), "x.pdf could not be read to its end"),
    ],
)
def test_failed_pdf_reader_is_reported(qtbot: QtBot, tmp_path: Path, program: tuple[str, ...], sentence: str) -> None:
    reading = DocumentReader(tmp_path / "x.pdf")
    with qtbot.waitSignal(reading.failed, timeout=WAIT) as failed:
        reading.start(program)
    assert failed.args
    assert sentence in failed.args[0]


def test_refused_pdf_is_reported_in_the_language_of_the_window(
    qtbot: QtBot, app: Program, tmp_path: Path, speak: Speak
) -> None:
    (tmp_path / "x.pdf").write_bytes(b"%PDF-1.7 and nothing else")
    speak("zh_CN")
    app.window.chat.composer.attach([tmp_path / "x.pdf"])
    qtbot.waitUntil(lambda: "x.pdf 已损坏" in notice(app), timeout=WAIT)


def test_pdf_reader_starts_in_a_frozen_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert attachments.reader_command() == (sys.executable, "dev", "text", "--lines")


def test_number_of_attachments_is_bounded(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.txt" for number in range(attachments.MAX_FILES + 1)]
    for file in files:
        file.write_text(file.name)
    app.window.chat.composer.attach([*files[:1], *files])
    assert len(app.window.chat.composer.attached) == attachments.MAX_FILES  # the same file again is the same file
    assert ("20.txt" in notice(app), "20 files" in notice(app)) == (True, True)


def test_too_much_attached_text_is_refused_with_numbers() -> None:
    with pytest.raises(AttachmentError, match=r"2\.1 MB .* 2 MB"):
        require_short(Attachment("a.pdf", "x" * 2_100_000))


def test_files_are_picked_and_pasted(
    qtbot: QtBot, app: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.md").write_text("# B")
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(tmp_path / "a.py")], ""))
    app.window.actions_by_name["attach"].trigger()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "b.md"))])
    app.window.chat.composer.edit.insertFromMimeData(data)
    assert chips(app) == ["a.py, 5 B", "b.md, 3 B"]


def test_attachments_are_stored_with_the_draft(qtbot: QtBot, open_program: Open, tmp_path: Path) -> None:
    app = open_program()
    (tmp_path / "a.py").write_text("x = 1")
    app.window.chat.composer.attach([tmp_path / "a.py"])
    again = open_program()
    assert again.window.chat.composer.attached == (Attachment("a.py", "x = 1"),)
    ask(qtbot, again, "what is it?")
    (tmp_path / "b.py").write_text("y = 2")
    again.window.chat.composer.attach([tmp_path / "b.py"])
    again.window.sidebar.new_requested.emit()
    assert not chips(again)
    third = open_program()
    third.chats.open(third.store.chats()[0].id)
    assert [file.name for file in third.window.chat.composer.attached] == ["b.py"]


def test_edited_question_shows_its_attachments(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"in {name}")
    app.window.chat.composer.attach([tmp_path / "a.py"])
    ask(qtbot, app, "what is it?")
    app.window.chat.composer.attach([tmp_path / "b.py"])
    app.chat_controller.edit_last()
    assert [file.name for file in app.window.chat.composer.attached] == ["a.py"]
    app.window.chat.composer.findChildren(AttachmentChip)[-1].remove.click()
    app.window.chat.composer.set_text("")
    ask(qtbot, app, "and now?")
    assert app.chat_controller.session.path[0].attachments == ()
    assert [file.name for file in app.window.chat.composer.attached] == ["b.py"]  # the draft is there again


def test_edited_answer_takes_no_attachments(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    ask(qtbot, app, "first")
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, shown(app)[1].id)
    app.window.chat.composer.attach([tmp_path])
    assert notice(app)
    app.chat_controller.composing.cancel_edit()
    app.window.chat.composer.attach([tmp_path])
    assert "is a folder" in notice(app)


def test_too_long_message_is_not_sent_and_reported_with_numbers(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    ask(qtbot, app, "first")
    (tmp_path / "long.txt").write_text("w " * 2100)  # in few bytes: a longer file would go in passages
    app.window.chat.composer.attach([tmp_path / "long.txt"])
    write(app, "what is this?")
    qtbot.waitUntil(lambda: bool(notice(app)), timeout=WAIT)
    assert all(figure in notice(app) for figure in ("2,113", "2,048"))
    assert texts(app) == ["first", "You wrote: first"]
    assert app.window.chat.composer.text() == "what is this?"
    assert app.window.chat.composer._count.text() == "Too long for the model"
    app.window.chat.composer.set_attached(())
    count = app.window.chat.composer._count
    qtbot.waitUntil(lambda: count.accessibleDescription() == "10 of 2,048 tokens", timeout=WAIT)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.composer.submit()
    assert texts(app)[2] == "what is this?"


def test_typing_during_the_count_is_kept(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.chat_controller.composing.recount()
    composer = app.window.chat.composer
    composer.set_text("second")
    composer.submit()
    composer.set_text("second and")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        pass
    assert texts(app)[2] == "second"
    assert composer.text() == "and"


def test_uncounted_message_is_sent(qtbot: QtBot, app: Program) -> None:
    count = app.chat_controller.composing.count
    count._timeout.setInterval(1)
    app.link.counted.disconnect(count._on_counted)
    ask(qtbot, app, "first")
    assert texts(app)[0] == "first"
    assert app.window.chat.composer._count.text() == ""


def _encrypt(path: Path, into: Path, password: str) -> None:
    writer = PdfWriter()
    writer.append(PdfReader(path))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    writer.write(into)
