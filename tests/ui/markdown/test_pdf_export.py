"""A chat on paper: everything is there once, pages are numbered, and nothing is torn apart."""

import io
import re
from pathlib import Path

import pytest
from pypdf import PdfReader
from PySide6.QtCore import QLocale, QTimer
from PySide6.QtWidgets import QApplication, QCheckBox, QFileDialog
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import AnswerOutcome, Attachment, Chat, Conversation
from headstart.chat.documents import Wording
from headstart.markdown.blocks import Block, Paragraph
from headstart.markdown.parser import parse
from headstart.ui.formatting import short_path
from headstart.ui.import_export import chat_sections, generate_pdf
from headstart.ui.program import Program
from tests.chat.history.trees import QUOTING
from tests.ui.corpus import EVERYTHING
from tests.ui.person import WAIT, ask, button, shown

GERMAN, AMERICAN = QLocale("de_DE"), QLocale("en_US")
WORDS = Wording()


def _pdf(blocks: list[Block], locale: QLocale) -> bytes:
    work = generate_pdf("Tigers", [blocks], locale)
    while True:
        try:
            next(work)
        except StopIteration as end:
            return bytes(end.value)


def _pages(blocks: list[Block], locale: QLocale = GERMAN) -> list[str]:
    """Return the text of each page, without white space."""
    reader = PdfReader(io.BytesIO(_pdf(blocks, locale)))
    return [re.sub(r"\s", "", page.extract_text().replace("ﬁ", "fi")) for page in reader.pages]


def _chat() -> tuple[Chat, Conversation]:
    answer = "1. one\n\n```python\nprint('Größe')\n```\n\n| a | b |\n|---|---|\n| x | y |"
    tree = Conversation().ask("**why**?", [Attachment("notes.md", "# Notes")])
    outcome = AnswerOutcome(answer, stats={"tokens": 12}, thinking="hm hm")
    tree = tree.begin_answer("Qwen", {"temperature": 0.5, "seed": 3}).finish(2, outcome)
    tree = tree.ask("and?").begin_answer("Qwen").finish(4, AnswerOutcome("1. again"))
    return Chat("x", "On\ntigers", 1.7e9, 1.7e9), tree


def _blocks() -> list[Block]:
    return [block for section in chat_sections(*_chat(), WORDS, with_remarks=True) for block in section]


def test_pdf_has_the_whole_chat(qtbot: QtBot) -> None:
    (page,) = _pages(_blocks())
    parts = (
        "Ontigers", "2023-11-14", "You", "notes.md", "#Notes", "**why**?", "Qwen", "Thinking:", "hmhm", "1.one",
        "python", "print('Größe')", "abxy", "temperature0.5,seed3", "tokens12", "1.again", "Tigers", "1/1",
    )  # fmt: skip
    places = [page.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert "Copy" not in page


@pytest.mark.parametrize("text", QUOTING)
def test_quoted_marks_are_printed(qtbot: QtBot, text: str) -> None:
    tree = Conversation().ask("?").begin_answer().finish(2, AnswerOutcome(text))
    blocks = [block for section in chat_sections(Chat("x", "y", 1.7e9, 1.7e9), tree, WORDS) for block in section]
    (page,) = _pages(blocks)
    assert "".join(text.split()) in page
    assert "Thinking:" not in page


def test_lists_of_two_messages_are_separate() -> None:
    blocks = _blocks()
    items = [block.item for block in blocks if isinstance(block, Paragraph) and block.item]
    assert len({item.list for item in items}) == len(items) == 2


def test_pages_are_numbered_and_split_no_line(qtbot: QtBot) -> None:
    text = "\n\n".join(
        f"## Head{n}e\n\nText{n}e\n\n| a |\n|---|\n| Cell{n}e |\n\n```\nCode{n}e\n```" for n in range(60)
    )
    pages = _pages(parse(text))
    assert len(pages) > 5
    for kind in ("Head", "Text", "Cell", "Code"):
        assert [len(re.findall(f"{kind}{n}e", "".join(pages))) for n in range(60)] == [1] * 60
    for number, page in enumerate(pages, start=1):
        assert page.endswith(f"{number}/{len(pages)}")
        assert all(f"Text{n}e" in page for n in re.findall(r"Head(\d+)e", page))  # a heading is not left behind


def test_long_code_is_wrapped_and_paginated(qtbot: QtBot) -> None:
    lines = "\n".join(f"line{n}e = {n}" for n in range(400))
    pages = _pages(parse(f"```python\n{'z' * 300}end\n{lines}\n```\n\nafter"))
    text = "".join(pages)
    assert len(pages) > 4
    assert [text.count(part) for part in ("z", "end", "python", "after")] == [300, 1, 1, 1]
    assert [text.count(f"line{n}e={n}") for n in range(400)] == [1] * 400


def test_heading_stays_with_its_text(qtbot: QtBot) -> None:
    places = set()
    for lines in range(22, 34):
        pages = _pages(parse("x\n\n" * lines + "---\n\n## Head\n\n```\ncode\n```"))
        (number,) = (n for n, page in enumerate(pages) if "Head" in page)
        assert "code" in pages[number]
        places.add(number)
    assert places == {0, 1}


@pytest.mark.parametrize(("locale", "width"), [(GERMAN, 595), (AMERICAN, 612)])
def test_paper_size_follows_the_locale(qtbot: QtBot, locale: QLocale, width: int) -> None:
    reader = PdfReader(io.BytesIO(_pdf(parse("x"), locale)))
    assert round(reader.pages[0].mediabox.width) == width
    assert reader.metadata is not None
    assert reader.metadata.title == "Tigers"


def test_chosen_format_sets_the_suffix(
    qtbot: QtBot, app: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ask(qtbot, app, "tigers")
    app.window.actions_by_name["export"].trigger()
    dialog = app.window.findChildren(QFileDialog)[-1]
    kinds = dialog.nameFilters()
    assert [kind.partition(" ")[0] for kind in kinds] == ["Markdown", "Web", "PDF", "JSON"]
    dialog.filterSelected.emit(kinds[2])
    assert Path(dialog.selectedFiles()[0]).name == "tigers.pdf"
    dialog.fileSelected.emit(str(tmp_path / "tigers.pdf"))
    qtbot.waitUntil((tmp_path / "tigers.pdf").exists, timeout=WAIT)
    (page,) = [page.extract_text() for page in PdfReader(tmp_path / "tigers.pdf").pages]
    assert "You" in page
    dialog.close()


def test_missing_folder_is_reported(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    ask(qtbot, app, "tigers")
    notice, chat = app.window.chat.notice, app.chat_controller.session.chat.id
    exchange = app.commands._import_export
    exchange.write(chat, tmp_path / "gone" / "a.pdf")
    qtbot.waitUntil(lambda: "cannot be written" in notice.text, timeout=WAIT)
    exchange.write(chat, tmp_path / "a.md")
    assert notice.text == f"Saved to {short_path(tmp_path / 'a.md')}"
    assert button(notice, "Show in folder")


@pytest.mark.parametrize("ending", [".md", ".html"])
def test_settings_and_figures_are_in_the_words_of_the_window(
    qtbot: QtBot, app: Program, tmp_path: Path, ending: str
) -> None:
    app.settings.change(temperature=0.5)
    ask(qtbot, app, "toy: words 30")
    app.window.actions_by_name["export"].trigger()
    dialog = app.window.findChildren(QFileDialog)[-1]
    (box,) = (box for box in dialog.findChildren(QCheckBox) if "statistics" in box.text())
    assert box.isVisible()
    dialog.fileSelected.emit(str(tmp_path / f"a{ending}"))
    plain = (tmp_path / f"a{ending}").read_text(encoding="utf-8")
    box.setChecked(True)
    dialog.fileSelected.emit(str(tmp_path / f"a{ending}"))
    written = (tmp_path / f"a{ending}").read_text(encoding="utf-8")
    assert "Temperature: 0.5" in written
    assert shown(app)[-1].stats.splitlines()[0] in written
    assert "ttft_ms" not in written
    assert "System" not in written  # the word for a language that follows the system
    assert "Temperature" not in plain
    assert shown(app)[-1].stats.splitlines()[0] not in plain
    dialog.filterSelected.emit("JSON with all versions (*.json)")
    assert not box.isEnabled()
    dialog.close()


def test_file_dialog_remembers_its_folder(
    qtbot: QtBot, app: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    application = QApplication.instance()
    assert application
    application.setProperty("last folder", None)
    ask(qtbot, app, "tigers")
    for folder in (Path.home(), tmp_path / "elsewhere"):
        app.window.actions_by_name["export"].trigger()
        dialog = app.window.findChildren(QFileDialog)[-1]
        assert Path(dialog.directory().path()) == folder
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        dialog.fileSelected.emit(str(tmp_path / "elsewhere" / "tigers.md"))
        dialog.close()
    assert (tmp_path / "elsewhere" / "tigers.md").is_file()


def _long_chat(app: Program, messages: int) -> str:
    tree = Conversation()
    for _ in range(messages):
        tree = tree.ask(EVERYTHING)
    chat = app.store.create_chat("long")
    app.store.save(chat.id, Conversation(), tree)
    return chat.id


def test_window_works_during_a_long_export(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    chat, path, turns = _long_chat(app, 30), tmp_path / "long.pdf", list[int]()
    exchange, bar = app.commands._import_export, app.window.chat.work
    beat = QTimer(app)
    beat.timeout.connect(lambda: turns.append(bar._bar.value()))
    beat.start(0)
    exchange.write(chat, path)
    assert bar.text == "Writing long.pdf"
    qtbot.waitUntil(lambda: not exchange.is_busy, timeout=WAIT)
    beat.stop()
    assert len(set(turns)) > 3, "the window has its turn between the moments of the work"
    assert turns == sorted(turns)
    assert len(PdfReader(path).pages) > 10
    assert not bar.text


def test_pdf_export_can_be_cancelled_and_runs_once(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    chat = _long_chat(app, 30)
    exchange = app.commands._import_export
    exchange.write(chat, tmp_path / "a.pdf")
    exchange.write(chat, tmp_path / "b.pdf")
    assert "Another chat is being written" in app.window.chat.notice.text
    qtbot.waitUntil(lambda: app.window.chat.work._bar.value() > 0, timeout=WAIT)
    app.window.chat.work.cancel_requested.emit()
    assert not exchange.is_busy
    assert list(tmp_path.glob("*.pdf")) == []
