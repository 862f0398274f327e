"""Markdown as spoken sentences, with their places in the source."""

import pytest

from headstart.markdown.parser import parse
from headstart.ui.speech.sentences import SentenceStream, sentences

TEXTS = {
    "Use e.g. this one. It costs 3.5 euro! Really?": ["Use e.g. this one.", "It costs 3.5 euro!", "Really?"],
    "你好。再见！": ["你好。", "再见！"],
    "Hi 😀 there. Bye.": ["Hi 😀 there.", "Bye."],
    "# A *title*\n\nSome **bold** text\nthat wraps.": ["A title", "Some bold text that wraps."],
    "```python\na\nb\n```": ["Code, 2 lines."],
    "```\na\n```": ["Code, 1 line."],
    "Use `ls` here.": ["Use ls here."],
    "Area $a^2$ is\n\n$$b$$": ["Area formula is", "formula"],
    "See [the page](https://example.com/a/b?c=d).": ["See the page."],
    "See https://example.com/a/b?c=d today.": ["See example.com today."],
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 |  |": ["a, b", "1, 2", "3"],
    "1. one. Two.\n2. three\n\n- [x] tea\n- [ ] milk\n- bread": [
        "1. one.", "Two.", "2. three", "Done: tea", "To do: milk", "bread",
    ],
    "---\n\n![a cat](cat.png)": ["a cat"],
    "": [],
}  # fmt: skip


@pytest.mark.parametrize("source", TEXTS)
def test_markdown_is_spoken_as_sentences(source: str) -> None:
    assert [sentence.text for sentence in sentences(parse(source))] == TEXTS[source]


@pytest.mark.parametrize("source", TEXTS)
def test_sentences_stand_in_order_in_the_source(source: str) -> None:
    places = [place for sentence in sentences(parse(source)) for place in sentence[1:]]
    assert places == sorted(places)
    assert all(0 <= place <= len(source) for place in places)


def test_place_of_a_sentence_is_its_text() -> None:
    source = "One **two**. Three 😀 four. Five."
    assert [source[each.start : each.end] for each in sentences(parse(source))] == [
        "One **two**.", "Three 😀 four.", "Five.",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("source", TEXTS)
def test_growing_answer_is_spoken_once(source: str, size: int) -> None:
    stream = SentenceStream()
    taken = []
    for at in range(0, len(source), size):
        stream.append(source[at : at + size])
        taken += stream.take()
    taken += stream.take(is_complete=True)
    assert [sentence.text for sentence in taken] == TEXTS[source]


def test_sentence_is_taken_when_the_next_one_has_begun() -> None:
    stream = SentenceStream("Before. ", len("Before. "))
    stream.append("One. ")
    assert not stream.take()
    stream.append("T")
    assert [sentence.text for sentence in stream.take()] == ["One."]
    stream.append("wo")
    assert not stream.take()
    assert [sentence.text for sentence in stream.take(is_complete=True)] == ["Two"]
