"""What a model is given, and titles."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.chat.conversation import TITLE_COLUMNS, Attachment, Conversation, Outcome, fenced, propose_title, turns
from tests.chat.trees import CONVERSATIONS, PATIENT


def test_neighbours_of_one_role_become_one_turn() -> None:
    tree = Conversation().ask("a").begin_answer()
    tree = tree.finish(2, Outcome("b")).ask("c")
    assert turns(tree.path) == (("user", "a"), ("assistant", "b"), ("user", "c"))
    assert turns(tree.remove(2).path) == (("user", "a\n\nc"),)


def test_an_answer_being_begun_is_no_turn() -> None:
    assert turns(Conversation().ask("a").begin_answer().path) == (("user", "a"),)


def test_attachments_come_before_the_text() -> None:
    tree = Conversation().ask("what is it?", [Attachment("a.py", "x = 1\n"), Attachment("b.md", "```\ny\n```")])
    assert turns(tree.path)[0].content == "a.py:\n```\nx = 1\n```\n\nb.md:\n````\n```\ny\n```\n````\n\nwhat is it?"


def test_a_file_of_which_only_the_name_is_left_says_nothing() -> None:
    assert turns(Conversation().ask("look", [Attachment("a.png", "")]).path) == (("user", "look"),)


@PATIENT
@given(st.text(alphabet="`~\na", max_size=20))
def test_no_attachment_closes_its_own_fence(text: str) -> None:
    fence, *body, end = fenced(Attachment("n", text)).split("\n")
    assert fence == end
    assert not any(line.strip().startswith(fence) for line in body)


@PATIENT
@given(CONVERSATIONS)
def test_roles_alternate(conversation: Conversation) -> None:
    roles = [turn.role for turn in turns(conversation.path)]
    assert all(first != second for first, second in itertools.pairwise(roles))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# **Hello** [world](http://x)", "Hello world"),
        ("\n\n---\n- [ ] buy `milk`\nand more", "buy milk"),
        ("```python\nprint()\n```\nwhy?", "print()"),
        (
            "The quick brown fox jumps over the lazy dog and then sleeps",
            "The quick brown fox jumps over the lazy dog and…",
        ),
        ("请帮我写一个关于老虎和狮子在森林里面生活的故事，要很长", "请帮我写一个关于老虎和狮子在森林里面生活的故事…"),
        ("  \n???", ""),
        ("", ""),
    ],
)
def test_a_title_is_the_first_line_that_says_something(text: str, title: str) -> None:
    assert propose_title(text) == title


@PATIENT
@given(st.text())
def test_a_title_is_one_short_line(text: str) -> None:
    title = propose_title(text)
    assert len(title) <= TITLE_COLUMNS
    assert title == " ".join(title.split())
    assert title.isprintable()
