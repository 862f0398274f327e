"""Questions to folders: names, lists, the newest, follow-ups, and none that are put in where nothing fits."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import folders
from headstart.chat.folders.folder_index import FolderIndex
from headstart.chat.folders.folder_question import Question, understand
from tests.chat.folders.test_folders import DirectReader, TopicEmbedder, embed_all, update, write

PAIRS = tomllib.loads((folders.BENCH / "follow_ups.toml").read_text(encoding="utf-8"))["pair"]
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


def found(index: FolderIndex, folder: Path, question: Question | str) -> list[str]:
    """Return the names of the files with the passages that are found."""
    return [excerpt.name for excerpt in index.find([str(folder)], question)]


def test_file_is_found_by_its_name(index: FolderIndex, folder: Path) -> None:
    assert found(index, folder, understand("What is Jane Doe's number?"))[0] == "office/Jane Doe.md"


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


def test_new_subject_is_searched_alone(index: FolderIndex, folder: Path) -> None:
    text = "Which committee chose a treasurer after long talks?"
    question = understand(text, TALK)
    assert question == understand(text)
    assert not any("Prices" in name for name in found(index, folder, question))


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["ask"] for pair in PAIRS])
def test_subject_of_its_own_is_told_from_a_follow_up(pair: dict[str, Any]) -> None:
    question = understand(pair["ask"], ((pair["before"], pair["answer"]),))
    assert (pair["before"] in question.text) == pair["goes_on"]


def test_why_looks_for_what_was_asked_before() -> None:
    assert understand("Why?", TALK).parts[0].terms == understand(TALK[-1][0]).parts[0].terms


def test_thanks_are_not_searched() -> None:
    assert understand("Thanks!", TALK).searched == ""


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
