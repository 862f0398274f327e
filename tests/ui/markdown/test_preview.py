"""Code of an answer as a file, and a look at HTML and SVG that reaches nothing outside itself."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QColor, QFont, QImage
from PySide6.QtWidgets import QFileDialog, QLabel, QMessageBox, QTextBrowser, QToolTip
from pytestqt.qtbot import QtBot

from headstart.markdown import parser as markdown
from headstart.markdown.blocks import Code, Preview
from headstart.ui.formatting import short_path
from headstart.ui.markdown.preview import PreviewDialog, file_suffix, sanitize_svg
from headstart.ui.transcript.text_view import TextView
from headstart.ui.widgets.layouts import initial_path
from headstart.ui.widgets.theme import LIGHT

Show = Callable[[str], TextView]
RED = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8" fill="red"/></svg>'


@pytest.fixture
def show(qtbot: QtBot) -> Show:
    """A function that shows an answer."""
    made: list[TextView] = []

    def shown(text: str) -> TextView:
        view = TextView(LIGHT, QFont("DejaVu Sans", 11))
        qtbot.addWidget(view)
        view.writer.show(markdown.parse(text), source=text)
        made.append(view)
        return view

    return shown


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "", ".py"),
        ("Rust", "", ".rs"),
        ("c++", "", ".cpp"),
        ("r", "", ".r"),
        ("json", "", ".json"),
        ("html", "<p>x</p>", ".html"),
        ("html", RED, ".svg"),
        ("xml", "<?xml version='1.0'?>\n<!-- a boat -->\n<svg/>", ".svg"),
        ("xml", "<note/>", ".xml"),
        ("zig2", "", ".zig2"),
        ("../../etc", "", ".txt"),
        ("", "", ".txt"),
    ],
)
def test_file_suffix_follows_the_language(language: str, text: str, expected: str) -> None:
    assert file_suffix(Code(text, language, ())) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("svg", "", Preview.SVG),
        ("html", "<!doctype html><p>x", Preview.HTML),
        ("HTML", RED, Preview.SVG),
        ("xml", "<note/>", None),
        ("python", RED, None),
    ],
)
def test_pages_and_pictures_have_a_preview(language: str, text: str, expected: Preview | None) -> None:
    assert Code(text, language, ()).preview is expected


def test_code_is_saved_to_a_chosen_file(show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    told: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda _place, words, _widget: told.append(words))

    def choose(_parent: object, _title: str, proposal: str) -> tuple[str, str]:
        asked.append(Path(proposal).name)
        return str(tmp_path / "mine.py"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    show("```py\nprint('é')\n```").anchorClicked.emit(QUrl("save:0"))
    assert asked == ["code.py"]
    assert told == [f"Saved to {short_path(tmp_path / 'mine.py')}"]
    assert initial_path() == str(tmp_path)
    assert (tmp_path / "mine.py").read_text(encoding="utf-8") == "print('é')\n"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    show("```py\nx\n```").anchorClicked.emit(QUrl("save:0"))
    assert [file.name for file in tmp_path.iterdir()] == ["mine.py"]


def test_unwritable_file_is_reported(show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "none" / "x.py"), ""))
    monkeypatch.setattr(QMessageBox, "warning", lambda _parent, _title, text: told.append(text))
    show("```py\nx\n```").anchorClicked.emit(QUrl("save:0"))
    assert "choose another folder" in told[0]


def test_preview_is_offered_once_code_is_a_picture(show: Show) -> None:
    view = show("```xml\n<?xml version='1.0'?>\n```")
    assert "Preview" not in view.toPlainText()
    text = f"```xml\n<?xml version='1.0'?>\n{RED}\n```"
    view.writer.show(markdown.parse(text), source=text)
    assert view.toPlainText() == show(text).toPlainText()
    assert view.toPlainText().startswith("\nxml\tCopy   Save as file…   Preview")


def test_picture_is_drawn(show: Show) -> None:
    view = show(f"```svg\n{RED}\n```")
    view.anchorClicked.emit(QUrl("preview:0"))
    dialog = view.window().findChildren(PreviewDialog)[-1]
    picture = dialog.view.grab().toImage()
    assert picture.pixelColor(picture.width() // 2, picture.height() // 2) == QColor("red")
    dialog.close()


def test_invalid_picture_is_reported(qtbot: QtBot) -> None:
    dialog = PreviewDialog(Preview.SVG, "<svg><g></svg>")
    qtbot.addWidget(dialog)
    assert "not a complete SVG picture" in "".join(label.text() for label in dialog.findChildren(QLabel))


def test_picture_reads_no_file(qtbot: QtBot, tmp_path: Path) -> None:
    secret = QImage(8, 8, QImage.Format.Format_RGB32)
    secret.fill(QColor("blue"))
    assert secret.save(str(tmp_path / "secret.png"))
    (tmp_path / "secret.css").write_text("rect { fill: blue }")
    for outside in (
        f'<svg viewBox="0 0 8 8"><image width="8" height="8" href="{tmp_path}/secret.png"/></svg>',
        f'<?xml-stylesheet type="text/css" href="{tmp_path}/secret.css"?>{RED}',
    ):
        dialog = PreviewDialog(Preview.SVG, outside)
        qtbot.addWidget(dialog)
        picture = dialog.view.grab().toImage()
        assert picture.pixelColor(picture.width() // 2, picture.height() // 2) != QColor("blue")


def test_picture_loses_external_references() -> None:
    kept = '<defs><g id="a"/></defs><use href="#a"/><text>a &amp; b</text>'
    lost = '<script>x</script><image href="https://e.org/a.png"/><foreignObject><p/></foreignObject>'
    assert sanitize_svg(f"<!DOCTYPE svg><svg>{lost}{kept}</svg>").strip().endswith(f"<svg>{kept}</svg>")


def test_page_is_shown_without_scripts_pictures_and_links(qtbot: QtBot, tmp_path: Path) -> None:
    image = QImage(8, 8, QImage.Format.Format_RGB32)
    image.fill(QColor("orange"))
    assert image.save(str(tmp_path / "a.png"))
    (tmp_path / "a.css").write_text("h1 { color: orange }")
    head = f'<link rel="stylesheet" href="{tmp_path}/a.css"><script>document.write("no")</script>'
    picture = f'<img width="90" height="90" src="{tmp_path}/a.png">'
    body = f'<h1>Title</h1>{picture}<p><a href="file:///">go</a></p>'
    page = f'<html><head>{head}</head><body background="{tmp_path}/a.png">{body}</body></html>'
    dialog = PreviewDialog(Preview.HTML, page)
    qtbot.addWidget(dialog)
    view = dialog.view
    assert isinstance(view, QTextBrowser)
    assert "Title" in view.toPlainText()
    assert "no" not in view.toPlainText()
    view.anchorClicked.emit(QUrl("file:///"))
    assert "Title" in view.toPlainText()
    shown = view.grab().toImage()
    colours = {shown.pixelColor(x, y).name() for x in range(0, 200, 4) for y in range(0, 200, 4)}
    assert QColor("orange").name() not in colours
