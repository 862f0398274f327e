"""Passages of long files: how they are cut and found, what the model gets of them, and that they are kept."""

from itertools import pairwise
from pathlib import Path

import pytest

from headstart.chat.conversation import AnswerOutcome, Attachment, Conversation, Passage, file_of, turns
from headstart.chat.files.passages import SIZE, PassageIndex, cut, is_long
from headstart.chat.history.store import open_store
from headstart.chat.imports.files import parse
from headstart.chat.json_chats import MalformedError, to_json

FILLER = "Nothing of interest happens in this paragraph, and the next is like it.\n\n" * 60
BOOK = Attachment(
    "book.txt", f"{FILLER}The walrus sleeps by day.\n\n{FILLER}The tigers were charged in pounds.\n\n{FILLER}"
)
CHINESE = Attachment(
    "书.txt", "这里没有什么特别的内容。\n" * 150 + "老虎白天睡觉。\n" + "这里没有什么特别的内容。\n" * 150
)


def texts(file: Attachment, passages: tuple[Passage, ...] | list[Passage]) -> list[str]:
    """Return the texts of passages."""
    return [file.text[place.start : place.end] for place in passages]


@pytest.mark.parametrize("text", [BOOK.text, CHINESE.text, "x" * 5000, "one line " * 900, "🐯" * 2000, "\n\n  \n", ""])
def test_passages_cover_the_text_and_are_bounded(text: str) -> None:
    found = cut(text)
    assert "".join("".join(text[start:end].split()) for start, end in found) == "".join(text.split())
    assert all(len(text[start:end].encode()) <= SIZE for start, end in found)
    assert all(before[1] <= after[0] for before, after in pairwise(found))


def test_texts_are_cut_between_paragraphs_and_words() -> None:
    assert all(BOOK.text[end : end + 1] in ("\n", "") for _, end in cut(BOOK.text))
    words = "these are words " * 300
    assert all(words[start:end].rsplit(maxsplit=1)[-1] in ("these", "are", "words") for start, end in cut(words))


def test_passage_for_a_question_is_found() -> None:
    index = PassageIndex([(1, 0, BOOK)])
    assert "walrus" in texts(BOOK, index.best("When does the walrus sleep?", 1))[0]
    assert "tigers" in texts(BOOK, index.best("Who charges a tiger?", 1))[0]  # by the stems of the words
    assert not index.best("?!", 3)
    assert not index.best("zebra", 3)


def test_passage_in_chinese_is_found() -> None:
    index = PassageIndex([(1, 0, CHINESE)])
    assert "老虎" in texts(CHINESE, index.best("老虎什么时候睡觉？", 1))[0]


def test_passages_without_a_match_are_the_first_ones() -> None:
    index = PassageIndex([(1, 0, BOOK), (3, 1, CHINESE)])
    assert index.find("zebra", 2) == tuple(Passage(1, 0, *place) for place in cut(BOOK.text)[:2])
    found = index.find("老虎 or walrus", 4)
    assert list(found) == sorted(found)
    assert {place.message for place in found} == {1, 3}


def test_file_of_a_few_passages_is_not_long() -> None:
    assert is_long(BOOK)
    assert not is_long(Attachment("a.txt", "x" * 5 * SIZE))


def asked() -> Conversation:
    """A question on a long file and a short one, its answer, and another question."""
    index = PassageIndex([(1, 0, BOOK)])
    first = Conversation().ask("walrus?", [BOOK, Attachment("a.txt", "short")], index.best("walrus", 1))
    answered = first.begin_answer("pair").finish(2, AnswerOutcome("By day."))
    return answered.ask("tigers?", (), [*index.best("tigers", 1), *index.best("walrus", 1)])


def test_request_has_each_passage_once_and_short_files_whole() -> None:
    first, _, second = (turn.content for turn in turns(asked().path))
    assert first.startswith("a.txt:\n```\nshort\n```\n\nPassages of book.txt:\n```\nNothing")
    assert "walrus sleeps" in first
    assert len(first) < 2 * SIZE
    assert second.startswith("Passages of book.txt:\n```\n")
    assert "tigers were charged" in second
    assert "walrus" not in second


def test_passages_of_one_file_are_told_apart() -> None:
    places = [Passage(1, 0, 0, 7), Passage(1, 0, 31, 35)]
    (turn,) = turns(Conversation().ask("", [BOOK], places).path)
    assert turn.content == "Passages of book.txt:\n```\nNothing\n[…]\nthis\n```"


@pytest.mark.parametrize(
    ("name", "text", "row", "expected"),
    [
        ("a.csv", "part,price\ntyre,80\nbrake,95", "brake,95", "part,price\n[…]\nbrake,95"),
        ("a.csv", "part,price\ntyre,80\nbrake,95", "part,price\ntyre,80", "part,price\ntyre,80"),
        ("a.xlsx", "# Parts\n\npart | price\ntyre | 80", "tyre | 80", "# Parts\n\npart | price\n[…]\ntyre | 80"),
        ("a.xlsx", "# Parts\n\npart | price\n\n# Staff\n\nname | desk", "# Staff", "# Staff"),
        ("a.xlsx", "# Parts\n\npart | price\n\n# Notes\n\nCall Bo\nCall Ines", "Call Ines", "Call Ines"),
        ("a.md", "# Parts\n\nThey are many.", "They are", "They are"),
    ],
)
def test_rows_of_a_table_come_with_the_names_of_their_columns(name: str, text: str, row: str, expected: str) -> None:
    start = text.index(row)
    places = [Passage(1, 0, start, start + len(row))]
    (turn,) = turns(Conversation().ask("", [Attachment(name, text)], places).path)
    assert turn.content == f"Passages of {name}:\n```\n{expected}\n```"


def test_passage_without_its_file_is_left_out() -> None:
    tree = asked()
    assert turns(tree.remove(1).path)[-1].content == "tigers?"
    assert file_of(Passage(1, 7, 0, 1), tree.messages) is None


def test_fork_has_passages_of_its_own_files() -> None:
    tree = Conversation().ask("other").edit(1, "walrus?", [BOOK], [Passage(2, 0, 0, 7)])
    (forked,) = tree.fork(2).path
    assert forked.passages == (Passage(1, 0, 0, 7),)
    assert forked.in_parts == {0}


def test_passages_are_stored_and_exported(tmp_path: Path) -> None:
    store, tree = open_store(tmp_path), asked()
    chat = store.create_chat()
    store.save(chat.id, Conversation(), tree)
    assert store.conversation(chat.id) == tree
    store.close()
    ((_, read),) = parse(to_json([(chat, tree)]).encode()).chats
    assert read == tree
    with pytest.raises(MalformedError, match="instead of a number from 0"):
        parse(to_json([(chat, tree)]).replace('"file": 0', '"file": -1').encode())
