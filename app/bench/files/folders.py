"""The search in folders: how often the passage with the answer is found, and how often nothing is put in where none is.

PYTHONPATH=app python app/bench/files/folders.py [--words] [--half tuned|proved] [--misses] [--large N]

Three folders: English manuals (the topics of Python's reference, the GNU licence, a module's source, a story), mixed
office files (price lists, people, invoices, mail, Word, Excel, PowerPoint), and German and Chinese ones. The questions
are in folders.toml: of those with an answer, two fifths follow others in their chat, and a fifth ask for a file by its
name; 78 of 228 have none. The search was tuned with one half, and is proved with the other. Prints JSON: of how many
questions the best five passages hold the answer, or, without an answer, of how many there is none; and the milliseconds
that a search takes.
The installed model that turns texts into vectors is used, unless --words. --large adds N passages of other files.
"""

import argparse
import importlib.util
import json
import os
import pydoc_data.topics
import random
import shutil
import statistics
import tempfile
import time
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from headstart.chat.conversation import Excerpt
from headstart.chat.folders import folder_files
from headstart.chat.folders.folder_index import FolderIndex
from headstart.chat.folders.folder_question import understand
from headstart.ui.folders.embedder import EngineEmbedder, find_model

FOLDER = Path(__file__).parent
HEADSTART = FOLDER.parents[1] / "headstart"
LONG_TEXTS = FOLDER.with_name("long_texts")
MODELS = (
    "Corvo", "Lyra", "Pavo", "Altair", "Mistral", "Nimbus", "Solano", "Tundra", "Vesta", "Ursa", "Draco", "Cygnus",
)  # fmt: skip
PARTS = (
    "tyres", "windscreen", "exhaust", "battery", "clutch", "brake pads", "headlight", "door mirror", "radiator",
    "timing belt", "wiper blades", "roof box", "spare key", "cabin filter", "shock absorbers", "towing hitch",
)  # fmt: skip
FIRST = ("Jane", "Tom", "Ines", "Omar", "Lena", "Raj", "Vera", "Hugo", "Mina", "Carl")
LAST = ("Doe", "Okafor", "Lindqvist", "Pereira")
STREETS = ("Harbour Lane", "Mill Road", "Church Street", "Station Hill", "Orchard Close")
HALVES = {"tuned": ("first", "second", "more"), "proved": ("fresh", "proof")}
_DAY = 24 * 3600


def price(model: str, part: str) -> str:
    """Return the price of a part, which only one list has."""
    return f"{random.Random(f'{model} {part}').randrange(20_00, 900_00) / 100:.2f}"  # noqa: S311 - always the same


def phone(name: str) -> str:
    """Return the telephone number of a person."""
    return f"0{random.Random(name).randrange(10**9, 10**10)}"  # noqa: S311


def write_folders(home: Path) -> dict[str, str]:
    """Write the files; return the folders by their names."""
    for name, content in _files():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    for number, path in enumerate(sorted((home / "office").rglob("*.*"))):
        os.utime(path, (1_700_000_000 + number * _DAY,) * 2)
    return {name: str(home / name) for name in ("manuals", "office", "sprachen")}


def _files() -> Iterator[tuple[str, bytes]]:
    for name, text in pydoc_data.topics.topics.items():
        yield f"manuals/reference/{name}.txt", text.encode()
    turtle = importlib.util.find_spec("turtle")
    assert turtle
    assert turtle.origin
    yield "manuals/library/turtle.py", Path(turtle.origin).read_bytes()
    yield "manuals/licences/GPL-3.0.txt", (HEADSTART / "licence_texts" / "GPL-3.0.txt").read_bytes()
    yield "manuals/stories/A Year on Saltholm.txt", (LONG_TEXTS / "island.txt").read_bytes()
    yield "sprachen/自行车合作社.txt", (LONG_TEXTS / "workshop.txt").read_bytes()
    for file in tomllib.loads((FOLDER / "folder_texts.toml").read_text(encoding="utf-8"))["file"]:
        yield file["path"], _in_format(file["path"], file["text"].strip())
    for model in MODELS:
        rows = "\n".join(f"| {part} | {price(model, part)} |" for part in PARTS)
        yield f"office/Prices/{model}.md", f"# Parts and prices\n\n| part | pounds |\n| --- | --- |\n{rows}\n".encode()
    for number, (first, last) in enumerate((first, last) for last in LAST for first in FIRST):
        name = f"{first} {last}"
        street = f"{number + 3} {STREETS[number % 5]}"
        text = f"Number: {phone(name)}\nAddress: {street}\nBirthday: {number % 28 + 1}.{number % 12 + 1}.\n"
        yield f"office/People/{name}.md", text.encode()
    for number in range(12):
        total = f"{random.Random(number).randrange(100, 9000)}.50"  # noqa: S311
        text = f"Payable within {number + 10} days.\nTotal: {total} pounds, for {PARTS[number]} and labour.\n"
        yield f"office/Invoices/2025-{number + 1:02} invoice {4700 + number}.txt", text.encode()
    for number, (subject, body) in enumerate(MAILS):
        mail = EmailMessage()
        mail["From"], mail["To"] = "Ewan <ewan@heron.example>", "Rosie <rosie@heron.example>"
        mail["Subject"], mail["Date"] = subject, f"Tue, {number + 2} Sep 2025 09:00:00 +0000"
        mail.set_content(body)
        yield f"office/Mail/{number:03}.eml", mail.as_bytes()


MAILS = (
    ("Van on Friday", "The van goes to Falmouth on Friday at seven. Load the six touring boats the evening before."),
    ("New gate code", "The code of the gate is 5518 from Monday. Do not write it on the board again."),
    ("Complaint from Norway", "Mr. Haugen says that the skeg of his boat jams in the cold. Send him a new cable."),
    ("Lunch", "We eat together on the last Wednesday of each month. Rosie brings the soup, I bring the bread."),
    ("Dentist", "I am at the dentist on Thursday until eleven. Tamsin opens the shop."),
)
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def _in_format(path: str, text: str) -> bytes:
    """Return a text as a minimal file in the format of its name."""
    target = Path(tempfile.mkdtemp()) / "file"
    with zipfile.ZipFile(target, "w") as archive:
        match Path(path).suffix:
            case ".docx":
                parts = {"word/document.xml": _word(text)}
            case ".xlsx":
                parts = {"xl/worksheets/sheet1.xml": _sheet(text), "xl/workbook.xml": _workbook()}
            case ".pptx":
                slides = text.split("# ")[1:]
                parts = {f"ppt/slides/slide{place}.xml": _slide(slide) for place, slide in enumerate(slides, start=1)}
                parts["ppt/presentation.xml"] = _presentation(len(slides))
            case _:
                return text.encode()
        for name, content in {**parts, **_relations(parts)}.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    packed = target.read_bytes()
    shutil.rmtree(target.parent)
    return packed


def _word(text: str) -> str:
    heading = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
    body = "".join(
        f"<w:p>{heading if line.startswith('# ') else ''}<w:r><w:t>{escape(line.removeprefix('# '))}</w:t></w:r></w:p>"
        for line in filter(None, text.splitlines())
    )
    return f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'


def _sheet(text: str) -> str:
    rows = "".join(
        f'<row r="{row}">'
        + "".join(
            f'<c r="{chr(64 + column)}{row}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
            for column, cell in enumerate(line.split(";"), start=1)
        )
        + "</row>"
        for row, line in enumerate(text.splitlines(), start=1)
    )
    return f'<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData></worksheet>'


def _workbook() -> str:
    sheet = '<sheet name="Sheet 1" sheetId="1" r:id="rId1"/>'
    return f'<workbook xmlns="{_SHEET}" xmlns:r="{_LINK}"><sheets>{sheet}</sheets></workbook>'


def _slide(text: str) -> str:
    lines = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in text.splitlines() if line.strip())
    shape = f"<p:sp><p:txBody>{lines}</p:txBody></p:sp>"
    return f'<p:sld xmlns:p="{_SLIDE}" xmlns:a="{_DRAWING}"><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>'


def _presentation(count: int) -> str:
    ids = "".join(f'<p:sldId id="{255 + number}" r:id="rId{number}"/>' for number in range(1, count + 1))
    return f'<p:presentation xmlns:p="{_SLIDE}" xmlns:r="{_LINK}"><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>'


def _relations(parts: dict[str, str]) -> dict[str, str]:
    """Return the relations file that names the parts of a package and their kinds."""
    kinds = {
        "word/document.xml": ("officeDocument", "wordprocessingml.document.main"),
        "xl/workbook.xml": ("officeDocument", "spreadsheetml.sheet.main"),
        "ppt/presentation.xml": ("officeDocument", "presentationml.presentation.main"),
    }
    main = next(name for name in kinds if name in parts)
    others = [name for name in parts if name != main]
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.{kind}+xml"/>'
        for name, kind in [
            (main, kinds[main][1]),
            *((name, f"{name.split('/')[0]}ml.x") for name in others),
        ]
    )
    inside = "".join(
        f'<Relationship Id="rId{number}" Type="{_LINK}/{kind.rstrip("s")}" Target="{kind}/{name}"/>'
        for number, (_, kind, name) in enumerate((path.split("/") for path in others), start=1)
    )
    folder, _, name = main.rpartition("/")
    relations = f'<Relationships xmlns="{_PACKAGE}/relationships">'
    return {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>',
        "_rels/.rels": f'{relations}<Relationship Id="rId1" Type="{_LINK}/officeDocument" Target="{main}"/>'
        "</Relationships>",
        f"{folder}/_rels/{name}.rels": f"{relations}{inside}</Relationships>",
    }


def questions(half: str | None = None) -> list[dict[str, Any]]:
    """Return the questions of a half, or all."""
    found: list[dict[str, Any]] = tomllib.loads((FOLDER / "folders.toml").read_text(encoding="utf-8"))["question"]
    return [question for question in found if half is None or question["half"] in HALVES[half]]


def is_right(question: dict[str, Any], found: list[Excerpt]) -> bool:
    """Return whether the passages have the answer; for a question without one, whether there are none."""
    if question["kind"] == "none":
        return not found
    if "files" in question:
        names = "\n".join(f"{excerpt.name}\n{excerpt.text}" for excerpt in found)
        return all(name in names for name in question["files"])
    answer = _answer(question.get("answer", ""))
    return any(
        excerpt.name.endswith(question.get("file", "")) and answer in " ".join(excerpt.text.split())
        for excerpt in found
    )


def _answer(answer: str) -> str:
    """Return the words to look for."""
    kind, _, rest = answer.partition(" ")
    if kind == "price" and ", " in rest:
        model, part = rest.split(", ")
        return f"{part} | {price(model, part)}"
    return phone(rest) if kind == "phone" else answer


class _Direct:
    """A reader of files in this process."""

    def read(self, path: Path, start: int, _is_wanted: object) -> Iterator[folder_files.FileSection]:
        return folder_files.pieces(path, start)


def measure(half: str | None, embedder: EngineEmbedder | None, large: int) -> dict[str, Any]:
    """Return the shares of right answers by kind and folder, the time of a search, and the misses."""
    with tempfile.TemporaryDirectory() as name, FolderIndex(Path(name) / "index", None) as index:
        folders = write_folders(Path(name))
        for number in range(large):  # passages of 1,200 bytes, ten to a file
            if number % 10 == 0:
                path = Path(folders["manuals"]) / "large" / f"{number}.txt"
                path.parent.mkdir(exist_ok=True)
                words = (f"{draw:x}" for draw in random.Random(number).choices(range(50_000), k=2_000))  # noqa: S311
                path.write_text(" ".join(words), encoding="utf-8")
        index.keep(folders.values())
        for folder in folders.values():
            all(index.update(folder, _Direct()))
        while embedder and index.embed(folders.values(), embedder):
            pass
        counts: Counter[str] = Counter()
        right: Counter[str] = Counter()
        misses, times = [], []
        for question in questions(half):
            started = time.perf_counter()
            talk = question.get("talk", [])
            asked = understand(question["ask"], tuple(zip(talk[::2], talk[1::2], strict=True)))
            found = index.find([folders[question["folder"]]], asked, embedder)
            times.append((time.perf_counter() - started) * 1000)
            has_answer = [] if question["kind"] == "none" else ["answerable"]
            kinds = [question["kind"], question["folder"], *has_answer]
            counts.update(kinds)
            if is_right(question, found):
                right.update(kinds)
            else:
                misses.append([question["kind"], question["ask"], [f"{each.title}" for each in found]])
        return {
            "right": {kind: f"{right[kind]} of {count}" for kind, count in counts.items()},
            "passages": sum(index.state(folder).passages for folder in folders.values()),
            "search_ms": {"median": round(statistics.median(times)), "most": round(max(times))},
            "misses": misses,
        }


def main() -> None:
    """Search, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", action="store_true", help="by words alone, without a model")
    parser.add_argument("--half", choices=HALVES, help="only the questions of this half")
    parser.add_argument("--misses", action="store_true", help="name what was not found")
    parser.add_argument("--large", type=int, default=0, metavar="N", help="passages of other files to be added")
    given = parser.parse_args()
    model = None if given.words else find_model()
    embedder = EngineEmbedder(model, in_background=False) if model else None
    found = measure(given.half, embedder, given.large)
    if embedder:
        embedder.close()
    if not given.misses:
        del found["misses"]
    print(json.dumps({"model": embedder.name if embedder else "", **found}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
