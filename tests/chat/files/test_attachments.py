"""Files in every encoding and of many kinds: what is read, and what is refused with the remedy."""

import csv
import io
import json
import os
import struct
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given

from headstart.chat.conversation import Attachment
from headstart.chat.files import attachments, document_text
from headstart.chat.files.attachments import DocumentKind, attach, document, read, ways_to_read
from headstart.chat.files.html_text import to_markdown
from headstart.chat.files.text_encoding import readings, unusable_share
from headstart.errors import AttachmentError, ModelMissingError
from tests.chat.files.office_files import (
    DRAWING,
    LINKS,
    RELATIONS,
    SHEET_XML,
    SLIDES,
    TYPES,
    WORKBOOK,
    W,
    packed,
    relations,
    word_file,
    word_paragraph,
)  # fmt: skip
from tests.support.junk import fuzz, scarred

RUSSIAN = "Привет! Это обычный русский текст, сохранённый старой программой на другом компьютере."
UKRAINIAN = "Привіт! Це звичайний український текст, збережений старою програмою. Ґанок її хати."
KOREAN = "안녕하세요. 이것은 오래된 프로그램으로 저장한 한국어 텍스트입니다."
JAPANESE = "こんにちは。これは古いプログラムで保存された日本語のテキストです。"
SIMPLIFIED = "你好。这是用旧程序保存的中文文本。我们需要判断它的编码。"
TRADITIONAL = "你好。這是用舊程式儲存的中文文字。我們需要判斷它的編碼。"
GERMAN = "Größe und Übermut: Die Äpfel fallen nicht weit vom Stamm, heißt es."
POLISH = (
    "Warszawa jest stolicą Polski i największym miastem kraju. Leży nad Wisłą, na Nizinie Mazowieckiej. Miasto było "
    "świadkiem wielu wydarzeń, które zmieniły życie jego mieszkańców."
)
GREEK = "Καλημέρα. Αυτό είναι ένα παλιό ελληνικό κείμενο."
HEBREW = (
    "ירושלים היא עיר הבירה של מדינת ישראל והעיר הגדולה ביותר בה. היא שוכנת בהרי יהודה, בין ים המלח לבין הים התיכון. "
    "העיר עתיקה מאוד, וקדושה לשלוש דתות."
)
ARABIC = "مرحبا. هذا نص عربي قديم محفوظ بترميز آخر."
THAI = "สวัสดี นี่คือข้อความภาษาไทยเก่าที่บันทึกด้วยรหัสอื่น"

ENCODED = [
    (RUSSIAN, "cp1251", "Windows-1251"),
    (RUSSIAN, "koi8-r", "KOI8-R"),
    (RUSSIAN, "cp866", "CP866"),
    (RUSSIAN, "iso8859-5", "ISO 8859-5"),
    (UKRAINIAN, "koi8-u", "KOI8-U"),
    (KOREAN, "euc-kr", "EUC-KR"),
    (KOREAN, "johab", "Johab"),
    (JAPANESE, "shift_jis", "Shift JIS"),
    (JAPANESE, "euc-jp", "EUC-JP"),
    (JAPANESE, "iso-2022-jp", "ISO 2022-JP"),
    (SIMPLIFIED, "gb18030", "GB18030"),
    (SIMPLIFIED, "gbk", "GB18030"),
    (TRADITIONAL, "big5", "Big5"),
    (GERMAN, "cp1252", "Windows-1252"),
    (GERMAN, "mac-roman", "Mac Roman"),
    (POLISH, "cp1250", "Windows-1250"),
    (POLISH, "iso8859-2", "ISO 8859-2"),
    (GREEK, "cp1253", "Windows-1253"),
    (HEBREW, "cp1255", "Windows-1255"),
    (ARABIC, "cp1256", "Windows-1256"),
    (THAI, "cp874", "Windows-874"),
    (RUSSIAN, "utf-16", "UTF-16"),
    (RUSSIAN, "utf-16-le", "UTF-16"),
    (JAPANESE, "utf-16-be", "UTF-16"),
    ("plain words", "utf-16-le", "UTF-16"),
    (KOREAN, "utf-32", "UTF-32"),
    (SIMPLIFIED, "utf-32-be", "UTF-32"),
    ("plain words", "utf-32-le", "UTF-32"),
    (RUSSIAN, "utf-8", ""),
    (RUSSIAN, "utf-8-sig", ""),
]


@pytest.mark.parametrize(("text", "encoding", "name"), ENCODED, ids=[f"{each[1]}-{each[0][:5]}" for each in ENCODED])
def test_text_is_read_in_its_encoding(tmp_path: Path, text: str, encoding: str, name: str) -> None:
    (tmp_path / "a.txt").write_bytes(f"{text}\r\n{text}\n".encode(encoding))
    ways = read(tmp_path / "a.txt")
    assert (ways[0].name, ways[0].attachment.text) == (name, f"{text}\n{text}\n")
    assert len({way.attachment for way in ways}) == len(ways)
    assert (len(ways) == 1) == (not name) or name.startswith("UTF")


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "utf-8", "shift_jis"])
def test_short_text_offers_its_encoding(encoding: str) -> None:
    text = "日本" if encoding == "shift_jis" else "Да"
    assert text in [reading.text for reading in readings(text.encode(encoding))]


@pytest.mark.parametrize(
    "head", [b'<html><head><meta charset="koi8-r">', b'<?xml version="1.0" encoding="KOI8-R"?>', b"# coding: koi8-r\n"]
)
def test_declared_encoding_is_taken(head: bytes) -> None:
    text = "Да"
    assert readings(head + text.encode("koi8-r"))[0].text.endswith(text)


def test_unknown_declared_encoding_is_passed_over() -> None:
    content = b'<meta charset="punycode">' + RUSSIAN.encode("cp1251")
    assert readings(content)[0].text.endswith(RUSSIAN)


def test_damaged_utf_8_stays_utf_8() -> None:
    (first, *_) = readings(RUSSIAN.encode()[:-2])
    assert first.encoding == "UTF-8"
    assert first.text.startswith(RUSSIAN[:-2])


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n", "\x85", "\u2028", "\u2029"])
def test_every_line_end_becomes_a_line_feed(tmp_path: Path, end: str) -> None:
    (tmp_path / "a.txt").write_bytes(f"one{end}two{end}{end}four".encode())
    assert read(tmp_path / "a.txt")[0].attachment.text == "one\ntwo\n\nfour"
    assert readings(b"\xff\xfe" + f"a{end}".encode("utf-16-le"))[0].text == "a\n"


def test_marks_around_a_text_are_no_text() -> None:
    assert readings(b"DIR\r\n\x1a")[0].text == "DIR\n"
    damaged = "\ufeffgrün, größer, äußerst übel: ".encode() * 2 + b"\xff"
    assert not readings(damaged)[0].text.startswith("\ufeff")


@pytest.mark.parametrize(
    "content", [os.urandom(20_000), b"\0" * 100, bytes(range(256)) * 20, b"\x7fELF\2\1\1\0\0\0" + os.urandom(500)]
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(AttachmentError, match=r"a\.bin is no text that can be read; attach"):
        read(tmp_path / "a.bin")


OTHERS = [
    ("photo.heic", b"\0\0\0\x18ftypheic\0\0\0\0", "is an image.*PNG or JPEG"),
    ("talk.webm", b"\x1aE\xdf\xa3", "is a recording.*save it as WAV"),
    ("film.mp4", b"\0\0\0\x20ftypisom\0\0\2\0", "is a recording"),
    ("a.zip", b"PK\3\4\x14\0", "is an archive; unpack it"),
    ("a.tar.gz", b"\x1f\x8b\x08\0", "is an archive; unpack it"),
    ("a.7z", b"7z\xbc\xaf\x27\x1c\0", "is an archive; unpack it"),
    ("t.numbers", b"PK\3\4\x14\0", "is a spreadsheet; save its sheet as CSV"),
    ("t.xlsx", b"PK\3\4\x14\0", "is damaged or not what its name says"),
    ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", "is damaged or not what its name says"),
    ("t.pptx", b"PK\3\4\x14\0", "is damaged or not what its name says"),
    ("t.ppt", b"\xd0\xcf\x11\xe0\xa1\xb1", "is a presentation; save it as PDF"),
    ("a.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\0", "is a mail of a kind that cannot be read here; save it as .eml"),
    ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\0", "cannot be read here; save it as .docx or PDF"),
    ("a.odt", b"PK\3\4\x14\0", "is damaged or not what its name says"),
    ("a.pages", b"PK\3\4\x14\0", "cannot be read here; save it as .docx or PDF"),
    ("a.rtf", b"{\\rtf1\\ansi }", "has no text"),
    ("a.mobi", b"BOOKMOBI\0\0\0", "convert it to EPUB or PDF"),
    ("empty.txt", b" \n", "is empty"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), OTHERS, ids=[each[0] for each in OTHERS])
def test_other_kind_of_file_is_refused_with_its_remedy(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AttachmentError, match=sentence) as refused:
        attach(tmp_path / name)
    assert str(refused.value).count("\n") == 0
    assert str(refused.value).startswith(name)


RECORDINGS = [("talk.mp3", b"\xff\xfb"), ("talk", b"ID3\3"), ("talk.wav", b"RIFF"), ("a.opus", b"OggS"), ("b", b"fLaC")]


@pytest.mark.parametrize(("name", "content"), RECORDINGS)
def test_recording_becomes_what_is_said_in_it(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    progress = list[tuple[int, int]]()

    def transcribe(path: Path, on_progress: Callable[[int, int], object]) -> str:
        on_progress(27, 90)
        return f"[0:00] {path.name}"

    attached = attach(tmp_path / name, lambda *done: progress.append(done), transcribe=transcribe)
    assert attached == Attachment(name, f"[0:00] {name}")
    assert progress == [(27, 90)]
    with pytest.raises(AttachmentError, match="no speech"):
        attach(tmp_path / name, transcribe=lambda _path, _on_progress: "")
    with pytest.raises(ModelMissingError) as caught:
        attach(tmp_path / name)
    assert caught.value.model == "Whisper"


def test_code_named_like_a_film_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_text("let x = 1", encoding="utf-8")
    assert attach(tmp_path / "a.ts").text == "let x = 1"
    (tmp_path / "a.svg").write_text("<svg/>", encoding="utf-8")
    assert attach(tmp_path / "a.svg").text == "<svg/>"


def test_huge_text_is_refused_at_once(tmp_path: Path) -> None:
    with (tmp_path / "a.log").open("wb") as file:
        file.write(b"0123456789abcde\n" * 625_000)
        file.truncate(10**13)  # nobody has the memory to read it
    with pytest.raises(AttachmentError, match=r"a\.log has 10000000\.0 MB, and 2 MB is the most"):
        attach(tmp_path / "a.log")


def test_table_is_text_or_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes('Name;Größe\nTiger;3 m\n"a|b\nc";2\n'.encode("cp1252"))
    ways = read(tmp_path / "a.csv")
    assert (ways[0].name, ways[0].attachment.text.splitlines()[0]) == ("Windows-1252", "Name;Größe")
    assert ways[-1].name == "as a table"
    assert ways[-1].attachment.text == "| Name | Größe |\n| --- | --- |\n| Tiger | 3 m |\n| a\\|b c | 2 |"
    (tmp_path / "b.csv").write_text("only one column\n", encoding="utf-8")
    assert len(read(tmp_path / "b.csv")) == 1


PAGE = """<!doctype html><html><head><title>Animals</title><style>p {color: red}</style>
<script>if (1 < 2) alert("x")</script></head><body>
<h1>Tigers &amp; lions</h1><p>They <b>sleep </b>by <i>day</i>,<br>see <a href="https://example.org/a">here</a>.</p>
<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul><ol><li>first<li>second</ol>
<table><tr><th>Animal</th><th>a|b</th></tr><tr><td>Tiger<p>cat</p></td><td>3</td></tr></table>
<pre><code class="language-py">x = 1
  y = 2</code></pre><blockquote><p>He said</p><p>so.</p></blockquote><img src="x.png" alt="A tiger"></body></html>"""
MARKDOWN = """# Tigers & lions

They **sleep** by *day*,
see [here](https://example.org/a).

- one
  - inner
- two

1. first
2. second

| Animal | a\\|b |
| --- | --- |
| Tiger cat | 3 |

```py
x = 1
  y = 2
```

> He said
>
> so.

[A tiger]"""


def test_web_page_becomes_markdown_or_stays_source(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(PAGE, encoding="utf-8")
    assert document(path) is DocumentKind.PAGE
    text, source = ways_to_read(path, attach(path))
    assert text.attachment.text == MARKDOWN
    assert (source.name, source.attachment.text) == ("source", PAGE)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("no markup & more", "no markup & more"),
        ("<p>open <b>bold", "open **bold**"),
        ("<title>Only</title>", "# Only"),
        ("<table><tr><td>laid</td></tr><tr><td>out</td></tr></table>", "laid\n\nout"),
        ("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"),
        ("a < b <!-- gone --> c", "a < b c"),
        ("<td>cell", "cell"),
        ("</ul></table></b>x", "x"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</ruby>です<p>a<rt>b<p>c", "漢字です\n\na\n\nc"),
        ("<input type=checkbox checked>milk<br><input type='checkbox'/>tea", "☒ milk\n☐ tea"),
    ],
)
def test_odd_page_is_read(page: str, text: str) -> None:
    assert to_markdown(page) == text


@pytest.mark.parametrize(
    "page",
    ["<b" * 300_000, "<div>" * 200_000, "<ul><li>x" * 50_000, "<b>" * 100_000 + "</i>" * 100_000, "<a href='" * 90_000],
    ids=["open", "deep", "lists", "marks", "quotes"],
)
def test_hostile_page_takes_seconds(page: str) -> None:
    began = time.thread_time()
    to_markdown(page)
    assert time.thread_time() - began < 30  # on the processor; most take a hundredth of that


@fuzz("web pages")
@given(scarred(PAGE.encode()))
def test_any_page_is_read(content: bytes) -> None:
    to_markdown(content.decode("utf-8", "replace"))


def test_word_document_becomes_markdown(tmp_path: Path) -> None:
    cells = "".join(f"<w:tc>{word_paragraph(text)}</w:tc>" for text in ("Größe", "虎"))
    body = f"{word_paragraph('Title', 'Heading1')}{word_paragraph('Tigers sleep.')}<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
    path = word_file(tmp_path / "a.docx", body)
    assert document(path) is DocumentKind.WORD
    assert attach(path).text == "# Title\n\nTigers sleep.\n\n| Größe | 虎 |\n| --- | --- |"
    path.rename(tmp_path / "renamed")
    assert document(tmp_path / "renamed") is DocumentKind.WORD


FORMULAS = [
    ("<m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>", "(a+b)/2"),
    ("<m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>n-1</m:t></m:r></m:sup></m:sSup>", "x^(n-1)"),
    ("<m:rad><m:deg/><m:e><m:r><m:t>16</m:t></m:r></m:e></m:rad>", "√16"),
    ('<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub><m:r><m:t>i=1</m:t></m:r></m:sub><m:sup><m:r><m:t>n</m:t>'
     "</m:r></m:sup><m:e><m:r><m:t>i</m:t></m:r></m:e></m:nary>", "∑_(i=1)^n i"),
    ('<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e><m:r><m:t>a&lt;b</m:t></m:r></m:e></m:d>',
     "[a<b]"),
]  # fmt: skip


def test_words_of_every_kind_in_a_word_document_are_read(tmp_path: Path) -> None:
    dear, ines, kan, base, agree = (
        f"<w:r><w:t>{text}</w:t></w:r>" for text in ("Dear ", "Ines", "kan", "漢", "I agree")
    )
    body = f"<w:p>{dear}<w:fldSimple w:instr='MERGEFIELD name'>{ines}</w:fldSimple></w:p>"
    body += f"<w:p><w:r><w:ruby><w:rt>{kan}</w:rt><w:rubyBase>{base}</w:rubyBase></w:ruby></w:r></w:p>"
    box = '<w14:checkbox xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"><w14:checked w14:val="{}"/>'
    for value in "10":
        properties = f"<w:sdtPr>{box.format(value)}</w14:checkbox></w:sdtPr>"
        body += f"<w:p><w:sdt>{properties}<w:sdtContent>{base}</w:sdtContent></w:sdt>{agree}</w:p>"
    assert attach(word_file(tmp_path / "a.docx", body)).text == "Dear Ines\n\n漢\n\n☒ I agree\n\n☐ I agree"


def test_picture_in_a_word_document_is_read_by_its_description(tmp_path: Path) -> None:
    word_drawing, picture = (
        f"http://schemas.openxmlformats.org/drawingml/2006/{name}" for name in ("wordprocessingDrawing", "picture")
    )
    fill = f'<pic:blipFill><a:blip xmlns:r="{LINKS}" r:embed="r1"/></pic:blipFill>'
    data = f'<a:graphicData><pic:pic xmlns:pic="{picture}">{fill}</pic:pic></a:graphicData>'
    graphic = f"<a:graphic {DRAWING}>{data}</a:graphic>"
    inline = f'<wp:inline xmlns:wp="{word_drawing}"><wp:docPr descr="A walrus"/>{graphic}</wp:inline>'
    path = word_file(tmp_path / "a.docx", f"<w:p><w:r><w:drawing>{inline}</w:drawing></w:r></w:p>")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/_rels/document.xml.rels", relations(r1=("image", "media/image1.png")))
        archive.writestr("word/media/image1.png", b"\x89PNG")
    assert attach(path).text == "[A walrus]"


@pytest.mark.parametrize(("formula", "text"), FORMULAS, ids=[text for _, text in FORMULAS])
def test_formula_of_a_word_document_is_read(tmp_path: Path, formula: str, text: str) -> None:
    math = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    body = f"<w:p><w:r><w:t>Area: </w:t></w:r><m:oMathPara {math}><m:oMath>{formula}</m:oMath></m:oMathPara></w:p>"
    assert attach(word_file(tmp_path / "a.docx", body)).text == f"Area: {text}"


BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/content.opf"/></rootfiles></container>',
    "OEBPS/content.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="b" href="two.xhtml"/>'
    '<item id="a" href="text/one%201.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/>'
    '<itemref idref="gone"/></spine></package>',
    "OEBPS/two.xhtml": "<html><body><p>The end.</p></body></html>",
    "OEBPS/text/one 1.xhtml": "<html><body><h1>One</h1><p>It began.</p></body></html>",
}


def test_book_is_read_in_its_order(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.epub", BOOK)
    assert document(path) is DocumentKind.BOOK
    assert attach(path).text == "# One\n\nIt began.\n\nThe end."


def test_book_without_a_list_of_contents_is_read(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.epub", {**BOOK, "OEBPS/content.opf": "broken"})
    assert set(attach(path).text.split("\n\n")) == {"# One", "It began.", "The end."}


def test_protected_book_is_refused(tmp_path: Path) -> None:
    encryption = '<encryption xmlns:e="x"><e:CipherReference URI="OEBPS/two.xhtml"/></encryption>'
    path = packed(tmp_path / "a.epub", {**BOOK, "META-INF/encryption.xml": encryption})
    with pytest.raises(AttachmentError, match="protected against copying"):
        attach(path)


NOTEBOOK = {
    "metadata": {"kernelspec": {"language": "julia"}},
    "cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "source": "1 + 1",
            "outputs": [
                {"output_type": "stream", "text": ["hello\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["2"], "text/html": ["<b>2</b>"]}},
                {"output_type": "display_data", "data": {"image/png": "AAAA"}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE\x1b[0m: v"]},
            ],
        },
        {"cell_type": "code", "source": [], "outputs": []},
    ],
}


def test_notebook_shows_cells_and_outputs(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    assert attach(path).text == (
        "# Title\ntext\n\n```julia\n1 + 1\n```\n\n```\nhello\n```\n\n```\n2\n```\n\n```\nE: v\n```"
    )
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": "x", "outputs": [{"text": ["y"]}]}]}]}
    path.write_text(json.dumps(old), encoding="utf-8")
    assert attach(path).text == "```python\nx\n```\n\n```\ny\n```"


BOMB = b"<w:p/>" * 5_000_000


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("a.docx", {"word/document.xml": BOMB}),
        ("a.epub", {**BOOK, "OEBPS/two.xhtml": BOMB}),
    ],
)
def test_bomb_is_refused_unopened(tmp_path: Path, name: str, files: Mapping[str, str | bytes]) -> None:
    path = packed(tmp_path / name, files)
    assert path.stat().st_size < 200_000
    with pytest.raises(AttachmentError, match="when it is unpacked, and 12 MB is the most"):
        attach(path)


def test_archive_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    path = word_file(tmp_path / "a.docx", BOMB.decode())
    content = bytearray(path.read_bytes())
    position = content.rindex(b"PK\1\2")
    content[position + 24 : position + 28] = struct.pack("<I", 1000)
    path.write_bytes(content)
    with pytest.raises(AttachmentError, match=r"a\.docx is damaged"):
        attach(path)


ENTITIES = (
    "<!DOCTYPE d [" + "<!ENTITY a0 'xxxxxxxxxx'>"
    + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12)) + "]>"
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.docx", b"no archive"),
        ("a.epub", b"PK\3\4 and nothing else"),
        ("a.ipynb", b"{"),
        ("a.ipynb", b"[" * 200_000),
        ("a.ipynb", b'{"cells": 5}'),
        ("a.html", b"\0\1\2" * 50),
    ],
)
def test_broken_document_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AttachmentError, match=f"^{name} is damaged or not what its name says"):
        attach(tmp_path / name)


@pytest.mark.parametrize("body", ["<w:p>" * 20_000 + "</w:p>" * 20_000, "<w:p>&a11;</w:p>"], ids=["deep", "entities"])
def test_hostile_word_document_is_refused(tmp_path: Path, body: str) -> None:
    document_xml = f"{ENTITIES}<w:document {W}><w:body>{body}</w:body></w:document>"
    files = {"[Content_Types].xml": TYPES, "_rels/.rels": RELATIONS, "word/document.xml": document_xml}
    with pytest.raises(AttachmentError, match=r"a\.docx (is damaged|has no text)"):
        attach(packed(tmp_path / "a.docx", files))


def test_document_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AttachmentError, match="has no text"):
        attach(word_file(tmp_path / "a.docx", "<w:p/>"))


def test_large_document_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_text, "LARGEST_PAGE", 10)
    (tmp_path / "a.html").write_text("<p>hello world</p>", encoding="utf-8")
    with pytest.raises(AttachmentError, match="is the most"):
        attach(tmp_path / "a.html")


def test_missing_file_is_refused(tmp_path: Path) -> None:
    for name in ("a.txt", "a.docx", "a.html", "a.pdf"):
        with pytest.raises(AttachmentError, match="cannot be read"):
            attach(tmp_path / name)


@fuzz("Word documents", 40)
@given(scarred(b"".join(BOOK[name].encode() for name in sorted(BOOK))))
def test_any_content_of_a_book_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    with suppress(AttachmentError):
        attach(packed(tmp_path / "a.epub", {**BOOK, "OEBPS/content.opf": content, "OEBPS/two.xhtml": content}))


def test_share_of_unusable_characters_counts_what_is_visible() -> None:
    assert unusable_share("  \n") == 0
    assert unusable_share("ab \x01\ue000") == 0.5


def test_table_is_as_csv_reads_it(tmp_path: Path) -> None:
    rows = [["a", "b"], ["1,5", 'say "x"']]
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    (tmp_path / "a.csv").write_text(out.getvalue(), encoding="utf-8")
    (_, table) = attachments.read(tmp_path / "a.csv")
    assert table.attachment.text.splitlines()[2] == '| 1,5 | say "x" |'


def test_table_has_quotes_that_its_beginning_has_not(tmp_path: Path) -> None:
    lines = ["name,said,times", *(f'bob,"hi, {number}",2' for number in range(400)), 'eve,"say ""a, b"" now",3']
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    (_, table) = attachments.read(tmp_path / "a.csv")
    assert table.attachment.text.splitlines()[-1] == '| eve | say "a, b" now | 3 |'


def test_one_wide_row_makes_no_large_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",".join("a" * 2000) + "\n" + "a,b\n" * 20_000, encoding="utf-8")
    assert len(attachments.read(tmp_path / "a.csv")) == 1, "only the text"


@pytest.mark.parametrize("name", ["a.epub", "a.docx"])
def test_archive_with_a_password_is_refused(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / name, BOOK | {"word/document.xml": "<a/>", "[Content_Types].xml": "<a/>"})
    content = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # of a file, and of its line in the list
        at = content.find(mark)
        while at >= 0:
            content[at + flags] |= 1
            at = content.find(mark, at + 1)
    path.write_bytes(content)
    with pytest.raises(AttachmentError):
        attach(path)


OPEN_XML = """<o xmlns:text="urn:t" xmlns:table="urn:b"><text:h text:outline-level="2">Rent</text:h>
<text:p>It is<text:s/>due<text:annotation><text:p>when?</text:p></text:annotation><text:line-break/>monthly<text:note>
<text:note-citation>1</text:note-citation><text:note-body><text:p>In cash.</text:p></text:note-body>
</text:note>.</text:p>
<table:table><table:table-row><table:table-cell>
<text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row>
</table:table></o>"""
MAIL = b"""From: Ann <ann@example.org>
To: Bob <bob@example.org>
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
Date: Tue, 2 Sep 2025 09:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/html; charset=utf-8

<p>The gate code is <b>5518</b>.</p>
--x
Content-Type: application/pdf
Content-Disposition: attachment; filename="plan.pdf"

%PDF
--x--
"""
MAIL_TEXT = (
    "# Grüße\n\nFrom: Ann <ann@example.org>\nTo: Bob <bob@example.org>\nDate: Tue, 02 Sep 2025 09:00:00 +0000\n\n"
)
MAIL_TEXT += "The gate code is **5518**.\nAttached: plan.pdf"
PACKED = [
    ("stock.xlsx", WORKBOOK, "# Stock\n\nPart | Count\nPaddle | 31 | 0.3"),
    ("stock", WORKBOOK, "# Stock\n\nPart | Count\nPaddle | 31 | 0.3"),
    ("plan.pptx", SLIDES, "# Slide 1: Launch\n\nIn May\nShip\nSell\n\n# Slide 2: Risks\n\nSmile"),
    ("bare.pptx", {name: SLIDES[name] for name in SLIDES if "rels" not in name},
     "# Slide 1: Risks\n\n\n# Slide 2: Launch\n\nIn May"),
    ("a.odt", {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": OPEN_XML},
     "## Rent\n\nIt is due\nmonthly [In cash.].\n\na | b"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "files", "text"), PACKED, ids=[each[0] for each in PACKED])
def test_office_file_is_read_as_text(tmp_path: Path, name: str, files: Mapping[str, str], text: str) -> None:
    assert attach(packed(tmp_path / name, files)).text.strip() == text


def test_formulas_without_values_are_named(tmp_path: Path) -> None:
    formulas = '<row r="3"><c r="B3"><f>SUM(B1:B2)</f><v></v></c><c r="C3"><f>B3</f></c>'
    formulas += '<c r="D3"><f>B2</f><v>31</v></c><c r="E3" t="str"><f>A9</f><v></v></c></row>'
    sheet = SHEET_XML.replace("</sheetData>", f"{formulas}</sheetData>")
    path = packed(tmp_path / "a.xlsx", {**WORKBOOK, "xl/worksheets/sheet1.xml": sheet})
    assert attach(path).text.endswith("31\n\n[2 cells hold formulas whose values are not in this file.]")


def test_mail_is_read_with_its_heads(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(MAIL)
    assert attach(tmp_path / "a.eml").text == MAIL_TEXT
    (tmp_path / "a.mbox").write_bytes(b"From ann Tue Sep  2 09:00:00 2025\n" + MAIL + b"\nFrom bob\n" + MAIL)
    assert attach(tmp_path / "a.mbox").text == f"{MAIL_TEXT}\n\n{MAIL_TEXT}"


FORWARD = b"""Subject: Fwd
Content-Type: multipart/mixed; boundary=y

--y
Content-Type: text/plain; charset=x-nobody

See below: caf\xc3\xa9.
--y
Content-Type: image/png

picture
--y
Content-Type: text/plain

And this.
--y
Content-Type: message/rfc822

Subject: Keys

The keys are in the blue box.
--y--
"""


def test_mail_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(FORWARD)
    expected = "# Fwd\n\n\nSee below: café.\n\nAnd this.\n\n# Keys\n\n\nThe keys are in the blue box."
    assert attach(tmp_path / "a.eml").text == expected


SAVED_PAGE = b"""From: <Saved by Blink>
Subject: Tides
Content-Type: multipart/related; type="text/html"; boundary=z

--z
Content-Type: text/html
Content-Transfer-Encoding: quoted-printable

<h1>Tides</h1><p>High=20at 4 =E2=80=93 low at 10.</p>
--z
Content-Type: text/css

p { color: red }
--z--
"""


def test_page_that_a_browser_saved_in_one_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.mhtml").write_bytes(SAVED_PAGE)
    text = attach(tmp_path / "a.mhtml").text
    assert text == '# Tides\n\nFrom: "Saved by Blink"\n\n# Tides\n\nHigh at 4 – low at 10.'


def test_message_without_text_does_not_hide_the_others(tmp_path: Path) -> None:
    junk = (
        b"From ann Tue Sep  2 09:00:00 2025\nSubject: Junk\nContent-Type: text/plain; charset=x-nobody\n\n\0\1\2\xff\n"
    )
    (tmp_path / "a.mbox").write_bytes(junk + b"\nFrom bob Tue Sep  2 09:00:00 2025\n" + MAIL)
    assert attach(tmp_path / "a.mbox").text.endswith(MAIL_TEXT)


def test_rich_text_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.rtf").write_bytes(b"{\\rtf1\\ansi Caf\\'e9 {\\b Hello}\\par again}")
    assert attach(tmp_path / "a.rtf").text == "Café Hello\nagain"
