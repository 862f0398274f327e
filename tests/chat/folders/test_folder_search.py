"""Questions to folders: names, lists, the newest, follow-ups, and none that are put in where nothing fits."""

import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QPainter, QPdfWriter
from PySide6.QtWidgets import QApplication

from bench.files import folders
from headstart.chat.folders.folder_index import FolderIndex
from headstart.chat.folders.folder_question import Question, understand
from tests.chat.folders.test_folders import DirectReader, TopicEmbedder, embed_all, update, write

PAIRS = tomllib.loads((folders.FOLDER / "follow_ups.toml").read_text(encoding="utf-8"))["pair"]
TALK = (("What do tyres for the Corvo cost?", "The tyres for the Corvo cost 412.50 pounds."),)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of prices, minutes and people."""
    folder = tmp_path / "office"
    for model in ("Corvo", "Lyra"):
        write(folder / "Prices" / f"{model}.md", "# Parts\n\n| tyres | 10 |\n| windscreen | 20 |")
    for month in ("2024-05", "2024-11"):
        write(folder / "Minutes" / f"{month} minutes.txt", "The committee met and chose a treasurer.")
    write(folder / "Jane Doe.md", "Number: 0123")
    return folder


@pytest.fixture
def index(tmp_path: Path, folder: Path) -> Iterator[FolderIndex]:
    """An index that has read the folder."""
    with FolderIndex(tmp_path / "home", None) as opened:
        opened.keep([str(folder)])
        update(opened, folder, DirectReader())
        yield opened


@pytest.fixture
def named(qapp: QApplication, tmp_path: Path) -> Iterator[tuple[FolderIndex, Path]]:
    """People, invoices, contracts, Chinese notes and modules that only their names tell apart; with their folder."""
    folder = tmp_path / "files"
    people = [f"{first} {last}" for first in folders.FIRST for last in folders.LAST]
    texts = {f"People/{name}.md": f"Number: {folders.phone(name)}\nAddress: 3 Mill Road\n" for name in people}
    texts |= {f"2025-0{number} invoice {4708 + number}.pdf": "Payable within 14 days." for number in range(1, 6)}
    contracts = ("2024/Müller GmbH", "2024/Schmidt AG", "2023/Weber KG", "2022/Müller & Sohn", "2022/Lang KG")
    texts |= {f"Verträge/{name}.pdf": "Kündigung drei Monate zum Jahresende." for name in contracts}
    texts |= {"会议/预算.md": "总额是五十万元。", "会议/名单.md": "王芳，李雷。"}
    texts |= {f"src/{name}/__init__.py": '"""A package."""' for name in ("engine", "server", "chat", "ui", "tools")}
    for name, text in texts.items():
        path = folder / name
        if path.suffix != ".pdf":
            write(path, text)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        writer = QPdfWriter(str(path))
        painter = QPainter(writer)
        painter.drawText(1000, 1000, text)
        painter.end()
    with FolderIndex(tmp_path / "home", None) as opened:
        opened.keep([str(folder)])
        update(opened, folder, DirectReader())
        yield opened, folder


@pytest.fixture
def prices(tmp_path: Path) -> Iterator[tuple[FolderIndex, Path]]:
    """Twelve price lists that differ in their names, and the opening hours; with their folder."""
    folder = tmp_path / "lists"
    for model in folders.MODELS:
        write(folder / f"{model}.md", "| tyres | 10 |\n| windscreen | 20 |\n| exhaust | 30 |")
    write(folder / "opening hours.txt", "We close at six.")
    with FolderIndex(tmp_path / "home", None) as opened:
        opened.keep([str(folder)])
        update(opened, folder, DirectReader())
        yield opened, folder


def found(index: FolderIndex, folder: Path, question: Question | str) -> list[str]:
    """Return the names of the files with the passages that are found."""
    return [excerpt.name for excerpt in index.find([str(folder)], question)]


def test_file_is_found_by_its_name(index: FolderIndex, folder: Path) -> None:
    assert found(index, folder, understand("What is Jane Doe's number?"))[0] == "office/Jane Doe.md"


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What is Jane Doe's number?", "People/Jane Doe.md"),
        ("What does invoice 4711 say?", "2025-03 invoice 4711.pdf"),
        ("How long does the contract with Müller GmbH run?", "Verträge/2024/Müller GmbH.pdf"),
        ("Was steht im Vertrag der Müller GmbH?", "Verträge/2024/Müller GmbH.pdf"),
        ("会议预算是多少？", "会议/预算.md"),
        ("预算.md 里写了什么？", "会议/预算.md"),
        ("What is in engine/__init__.py?", "src/engine/__init__.py"),
        ("What does the __init__.py of the server say?", "src/server/__init__.py"),
    ],
)
def test_named_file_is_first_among_its_kind(named: tuple[FolderIndex, Path], question: str, name: str) -> None:
    index, folder = named
    assert found(index, folder, understand(question))[0] == f"files/{name}"


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("which files are there", 57),
        ("What files can you see?", 57),
        ("有哪些文件？", 57),
        ("list the people", 40),
        ("List all invoices", 5),
        ("会议里有哪些文件？", 2),
        ("会议文件夹里有什么？", 2),
        ("What __init__.py files are there?", 5),
    ],
)
def test_list_has_the_files_that_are_asked_for(named: tuple[FolderIndex, Path], question: str, count: int) -> None:
    index, folder = named
    (listed, *_) = index.find([str(folder)], understand(question))
    assert listed.text.splitlines()[0] == f"{count} files:"


def test_long_question_is_parsed_at_once() -> None:
    began = time.thread_time()
    assert understand("word " * 20_000 + "in Paris").names == ("paris",)
    assert time.thread_time() - began < 5  # on the processor; usually a fiftieth of that


def test_list_names_the_files(index: FolderIndex, folder: Path) -> None:
    (listed, *_) = index.find([str(folder)], understand("Which files are about prices?"))
    assert "Prices/Corvo.md" in listed.text
    assert "Prices/Lyra.md" in listed.text
    assert "Jane Doe.md" not in listed.text


@pytest.mark.parametrize("question", ["Which treasurer is in the newest minutes?", "Who is in the latest minutes?"])
def test_newest_file_goes_first(index: FolderIndex, folder: Path, question: str) -> None:
    assert found(index, folder, understand(question))[0] == "office/Minutes/2024-11 minutes.txt"


def test_date_in_words_is_that_of_the_name(index: FolderIndex, folder: Path) -> None:
    question = understand("What do the minutes of May 2024 say?")
    assert found(index, folder, question)[0] == "office/Minutes/2024-05 minutes.txt"


def test_follow_up_takes_the_subject_along(index: FolderIndex, folder: Path) -> None:
    question = understand("and what about a windscreen?", TALK)
    assert found(index, folder, question)[0] == "office/Prices/Corvo.md"
    assert "windscreen" in question.searched
    assert "Corvo" in question.searched


def test_yes_looks_for_what_the_answer_offered(index: FolderIndex, folder: Path) -> None:
    offer = "They cost 412.50 pounds. Shall I look up the windscreen, too?"
    question = understand("yes", (("What do tyres for the Lyra cost?", offer),))
    assert found(index, folder, question)[0] == "office/Prices/Lyra.md"


@pytest.mark.parametrize(
    "offer",
    ["", "Shall I look up the exhaust, too?", "Do you want the price with labour?", "Would you like to know more?"],
)
@pytest.mark.parametrize("reply", ["yes", "Yes, please.", "sure, go ahead", "ja, gerne", "好的，请继续"])
def test_yes_keeps_the_subject_whatever_was_offered(prices: tuple[FolderIndex, Path], offer: str, reply: str) -> None:
    index, folder = prices
    for model in folders.MODELS:
        talk = [(f"What do tyres for the {model} cost?", f"Tyres for the {model} cost 10 pounds. {offer}")]
        parts = understand("and what about a windscreen?", talk)
        assert found(index, folder, parts)[0] == f"lists/{model}.md"
        talk.append(("and what about a windscreen?", f"A windscreen costs 20 pounds. {offer}"))
        assert f"lists/{model}.md" in found(index, folder, understand(reply, talk))
        assert found(index, folder, understand("When do you close?", talk)) == ["lists/opening hours.txt"]


@pytest.mark.parametrize("reply", ["ok", "Thanks!", "no, thank you", "nein danke", "谢谢"])
def test_reply_that_asks_for_nothing_is_not_searched(prices: tuple[FolderIndex, Path], reply: str) -> None:
    index, folder = prices
    assert found(index, folder, understand(reply, TALK)) == []


def test_subject_outlasts_replies_without_words(prices: tuple[FolderIndex, Path]) -> None:
    index, folder = prices
    talk = [*TALK, *[("yes", "Anything else?")] * 5]
    assert found(index, folder, understand("and the windscreen?", talk))[0] == "lists/Corvo.md"


def test_question_behind_one_without_words_is_searched_alone() -> None:
    question = understand("two", (("one", "You wrote: one"),))
    assert (question.searched, question.parts[0].terms) == ("two", ("two",))


def test_new_subject_is_searched_alone(index: FolderIndex, folder: Path) -> None:
    text = "Which committee chose a treasurer after long talks?"
    question = understand(text, TALK)
    assert question == understand(text)
    assert not any("Prices" in name for name in found(index, folder, question))


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["ask"] for pair in PAIRS])
def test_subject_of_its_own_is_told_from_a_follow_up(pair: dict[str, Any]) -> None:
    question = understand(pair["ask"], ((pair["before"], pair["answer"]),))
    assert (pair["before"] in question.texts[0]) == pair["goes_on"]


def test_addition_with_another_meaning_goes_before_what_was_talked_about(tmp_path: Path) -> None:
    folder, embedder = tmp_path / "notes", TopicEmbedder()
    write(folder / "a.md", "The motor of the airship is loud.")
    write(folder / "b.md", "The rain falls.")
    talk = (("Which motor has the airship?", "A loud one."),)
    with FolderIndex(tmp_path / "home", None) as index:
        index.keep([str(folder)])
        update(index, folder, DirectReader())
        embed_all(index, folder, embedder)
        question = understand("And which weather?", talk)
        (first, *_) = index.find([str(folder)], question, embedder)
    assert first.name == "notes/b.md"


def test_why_looks_for_what_was_asked_before() -> None:
    assert understand("Why?", TALK).parts[0].terms == understand(TALK[-1][0]).parts[0].terms


def test_thanks_are_not_searched() -> None:
    assert understand("Thanks!", TALK).searched == ""


@pytest.mark.parametrize(
    ("question", "is_answered"),
    [
        ("Summarise what my notes say about the walrus", True),
        ("How heavy is a walrus?", True),
        ("Who was the first emperor of Rome?", False),
    ],
)
def test_few_notes_on_one_subject_answer_questions_on_it(
    index: FolderIndex, tmp_path: Path, question: str, is_answered: bool
) -> None:
    notes = tmp_path / "notes"
    for number, verb in enumerate(("sleeps", "eats clams", "swims", "weighs 1,700 kg", "dives", "is old")):
        write(notes / f"{number}.txt", f"The walrus {verb}.")
    index.keep([str(notes)])
    update(index, notes, DirectReader())
    assert bool(index.find([str(notes)], question)) is is_answered


@pytest.mark.parametrize("has_model", [False, True])
def test_nothing_is_found_where_nothing_fits(index: FolderIndex, folder: Path, has_model: bool) -> None:
    embedder = TopicEmbedder()
    embed_all(index, folder, embedder)
    question = understand("Which motor has an airship?")
    assert index.find([str(folder)], question, embedder if has_model else None) == []


@pytest.mark.parametrize(
    ("question", "is_found"),
    [
        ("What parts, tyres and windscreen has the Volvo?", False),
        ("What parts, tyres and windscreen has the Corvo?", True),
        ("What parts, tyres and windscreen has the Corwo?", True),  # a slip
        ("I come from Volvo. What parts, tyres and windscreen has the Corvo?", True),
        ("Which Parts, Tyres And Windscreen Has The Volvo?", True),  # a title: its capitals say nothing
        ("What parts, tyres and windscreen are there on Monday?", True),
        ("Welche parts, tyres und windscreen hat der Volvo?", True),  # every noun has a capital there
        ("What parts, tyres and windscreen has type F21?", False),
    ],
)
def test_question_on_a_name_that_is_nowhere_finds_nothing(
    index: FolderIndex, folder: Path, question: str, is_found: bool
) -> None:
    assert bool(found(index, folder, understand(question))) == is_found


def test_name_that_is_nowhere_is_found_by_a_near_meaning(index: FolderIndex, folder: Path) -> None:
    embedder = TopicEmbedder()
    embed_all(index, folder, embedder)
    assert index.find([str(folder)], understand("What do tyres for the Volvo cost?"), embedder)


def test_name_in_another_project_is_not_known(index: FolderIndex, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "other" / "cars.md", "The Volvo is blue.")
    index.keep([str(folder), str(tmp_path / "other")])
    update(index, tmp_path / "other", DirectReader())
    assert found(index, folder, understand("What do tyres for the Volvo cost?")) == []


def test_renamed_file_is_found_by_its_new_name(index: FolderIndex, folder: Path) -> None:
    (folder / "Jane Doe.md").rename(folder / "Omar Pereira.md")
    update(index, folder, DirectReader())
    assert found(index, folder, understand("What is Omar Pereira's number?"))[0] == "office/Omar Pereira.md"
