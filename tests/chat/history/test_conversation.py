"""The tree of versions: what each operation shows, what none may break; what a model is given of it; titles."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.chat.conversation import (
    TITLE_COLUMNS,
    AnswerOutcome,
    Attachment,
    ChatMessage,
    Conversation,
    Role,
    Run,
    State,
    ToolCall,
    Turn,
    extended,
    fenced,
    first_title,
    propose_title,
    title_of,
    turns,
)
from tests.chat.history.trees import CONVERSATIONS, PATIENT, histories


def _answered(conversation: Conversation, text: str) -> Conversation:
    begun = conversation.begin_answer("pair")
    assert begun.last is not None
    return begun.finish(begun.last.id, AnswerOutcome(text))


def _talk(*texts: str) -> Conversation:
    """Return a conversation of questions and answers."""
    conversation = Conversation()
    for number, text in enumerate(texts):
        conversation = _answered(conversation, text) if number % 2 else conversation.ask(text)
    return conversation


def _texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.path]


def _last(conversation: Conversation) -> ChatMessage:
    assert conversation.last is not None
    return conversation.last


def test_answer_grows_and_ends() -> None:
    begun = _talk("why").begin_answer("pair", {"temperature": 0.5})
    id_ = _last(begun).id
    part = begun.write(id_, "be", [Run(2, "draft")])
    done = part.finish(id_, AnswerOutcome("because", State.STOPPED, (Run(7, "draft"),), {"rounds": 3}))
    assert [_last(step).state for step in (begun, part, done)] == [State.STREAMING, State.STREAMING, State.STOPPED]
    assert (_last(part).text, _last(done).text) == ("be", "because")
    assert _last(done).settings == {"temperature": 0.5}
    assert _last(done).stats == {"rounds": 3}


def test_finished_answer_takes_no_more_text() -> None:
    done = _talk("why", "because")
    with pytest.raises(AssertionError):
        done.write(_last(done).id, "late")


def test_regenerate_adds_a_version() -> None:
    first = _talk("why", "because")
    again = first.regenerate(_last(first).id, "other")
    again = again.finish(_last(again).id, AnswerOutcome("so"))
    assert _texts(again) == ["why", "so"]
    assert again.version(_last(again).id) == (2, 2)
    assert _texts(again.switch_version(_last(again).id, -1)) == ["why", "because"]


def test_switch_of_versions_stops_at_the_ends_and_remembers_the_path() -> None:
    first = _talk("a", "b", "c", "d")
    edited = first.edit(1, "A")
    assert _texts(edited) == ["A"]
    back = edited.switch_version(_last(edited).id, -1)
    assert _texts(back) == ["a", "b", "c", "d"]
    assert _texts(back.switch_version(1, -1)) == ["a", "b", "c", "d"]


def test_edited_answer_is_marked_and_keeps_its_model() -> None:
    edited = _talk("why", "because").edit(2, "no")
    assert (_last(edited).edited, _last(edited).model, _last(edited).origins) == (True, "pair", ())
    assert not _last(_talk("why").edit(1, "how")).edited


def test_edited_question_keeps_its_attachments() -> None:
    files = (Attachment("a.txt", "A"),)
    asked = Conversation().ask("read", files)
    assert _last(asked.edit(1, "read again")).attachments == files
    assert _last(asked.edit(1, "read nothing", ())).attachments == ()


def test_continue_extends_the_same_version() -> None:
    stopped = _talk("why", "be")
    resumed = stopped.resume(2)
    assert (_last(resumed).text, _last(resumed).state) == ("be", State.STREAMING)
    done = resumed.finish(2, AnswerOutcome("because"))
    assert _texts(done) == ["why", "because"]
    assert done.version(2) == (1, 1)


def test_continue_removes_the_ending() -> None:
    stopped = _talk("why").begin_answer("pair", {})
    stopped = stopped.finish(
        2, AnswerOutcome("be", State.INTERRUPTED, stats={"notice": "the engine died", "rounds": 3})
    )
    assert _last(stopped.resume(2, "notice")).stats == {"rounds": 3}


def test_show_selects_the_branch_of_a_hit() -> None:
    tree = _talk("a", "b", "c", "d").edit(1, "A")
    assert _texts(tree.show(3)) == ["a", "b", "c", "d"]


def test_fork_has_the_path_to_the_message() -> None:
    tree = _talk("a", "b", "c", "d").edit(1, "A")
    fork = tree.fork(3)
    assert _texts(fork) == ["a", "b", "c"]
    assert len(fork.messages) == 3
    assert list(fork.messages) == [1, 2, 3]


def test_remove_of_the_only_version_moves_up_its_replies() -> None:
    assert _texts(_talk("a", "b", "c", "d").remove(2)) == ["a", "c", "d"]
    assert _texts(_talk("a", "b", "c", "d").remove(1)) == ["b", "c", "d"]
    assert _texts(_talk("a", "b", "c", "d").remove(4)) == ["a", "b", "c"]


def test_remove_of_a_version_removes_its_branch() -> None:
    tree = _talk("a", "b", "c").edit(1, "A")
    assert _texts(tree.remove(1)) == ["A"]
    assert _texts(tree.remove(_last(tree).id)) == ["a", "b", "c"]
    assert tree.branch(1) == {1, 2, 3}


def test_remove_branch_removes_all_below() -> None:
    assert _texts(_talk("a", "b", "c", "d").remove_branch(2)) == ["a"]
    assert _talk("a", "b").remove_branch(1) == Conversation()


def test_operations_leave_the_old_tree_unchanged() -> None:
    tree = _talk("a", "b", "c", "d")
    before = dict(tree.messages), dict(tree.chosen), tree.path
    tree.edit(1, "x"), tree.remove(2), tree.regenerate(2), tree.fork(3)
    assert (dict(tree.messages), dict(tree.chosen), tree.path) == before


def test_runs_of_one_origin_join() -> None:
    runs = extended(extended(extended((), 2, "draft"), 3, "draft"), 1, "target")
    assert extended(runs, 0, "n-gram") == runs == (Run(5, "draft"), Run(1, "target"))


@PATIENT
@given(histories())
def test_operations_keep_the_tree_valid(history: list[Conversation]) -> None:
    for conversation in history:
        messages, chosen = conversation.messages, conversation.chosen
        assert list(messages) == sorted(messages)
        assert all(key == message.id for key, message in messages.items())
        assert all(message.parent is None or message.parent in messages for message in messages.values())
        assert all(message.parent is None or message.parent < message.id for message in messages.values())
        assert set(chosen) == {message.parent for message in messages.values()}
        assert all(messages[below].parent == above for above, below in chosen.items())
        _every_message_can_be_shown(conversation)
        assert _last(conversation.ask("next")).role is Role.USER
    for before, after in itertools.pairwise(history):
        if len(after.messages) > len(before.messages):
            assert after.messages.keys() - before.messages.keys() == {_last(after).id}


def _every_message_can_be_shown(conversation: Conversation) -> None:
    for id_ in conversation.messages:
        shown = conversation.show(id_)
        assert conversation.messages[id_] in shown.path
        place, count = shown.version(id_)
        assert 1 <= place <= count == len(shown.versions(id_))


def test_neighbours_of_one_role_become_one_turn() -> None:
    tree = Conversation().ask("a").begin_answer()
    tree = tree.finish(2, AnswerOutcome("b")).ask("c")
    assert turns(tree.path) == (Turn("user", "a"), Turn("assistant", "b"), Turn("user", "c"))
    assert turns(tree.remove(2).path) == (Turn("user", "a\n\nc"),)
    assert turns(Conversation().ask("a").begin_answer().path) == (Turn("user", "a"),)


def test_thinking_is_handed_on_apart() -> None:
    tree = Conversation().ask("a").begin_answer().write(2, "Yes", thinking="hm")
    assert turns(tree.path) == (Turn("user", "a"), Turn("assistant", "Yes", thinking="hm"))
    tree = tree.write(2, "", thinking="hm")
    assert turns(tree.path)[1] == Turn("assistant", "", thinking="hm")
    edited = tree.finish(2, AnswerOutcome("No", thinking="so")).edit(2, "Yes").last
    assert edited
    assert (edited.text, edited.thinking, edited.edited) == ("Yes", "so", True)


def test_thinking_stands_before_its_call() -> None:
    first = ToolCall(3, "add", "{}", "2", thought_at=4)
    second = ToolCall(3, "add", "{}", "3", thought_at=4)
    tree = Conversation().ask("a").begin_answer()
    tree = tree.finish(2, AnswerOutcome("See\n\nIt is.", calls=(first, second), thinking="Look\n\nGood"))
    assert turns(tree.path)[1:] == (
        Turn("assistant", "See", first, "Look"),
        Turn("tool", "2"),
        Turn("assistant", "", second),
        Turn("tool", "3"),
        Turn("assistant", "It is.", thinking="Good"),
    )


def test_attachments_come_before_the_text() -> None:
    tree = Conversation().ask("what is it?", [Attachment("a.py", "x = 1\n"), Attachment("b.md", "```\ny\n```")])
    assert turns(tree.path)[0].content == "a.py:\n```\nx = 1\n```\n\nb.md:\n````\n```\ny\n```\n````\n\nwhat is it?"
    assert turns(Conversation().ask("look", [Attachment("a.png", "")]).path) == (Turn("user", "look"),)


@PATIENT
@given(st.text(alphabet="`~\na", max_size=20))
def test_attachment_cannot_close_its_fence(text: str) -> None:
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
def test_title_is_the_first_line_with_words(text: str, title: str) -> None:
    assert propose_title(text) == title


@pytest.mark.parametrize(
    ("answer", "question", "title"),
    [
        ('"Autumn Leaves Change Color"', "Why do leaves change?", "Autumn Leaves Change Color"),
        ("**Title: Lighthouses.**", "Tell me", "Lighthouses"),
        (" 标题：《天空的颜色》。", "天空为什么是蓝色的？", "天空的颜色"),
        ("The Color of the Sky", "用三句话解释天空为什么是蓝色的", ""),
        ("Python sort", "Explain `sorted` 排序", "Python sort"),
        ("Here's a possible title for the conversation:\n\n**Adding Numbers**", "Add two", "Adding Numbers"),
        ("Here's a possible title for the conversation:", "Add two", ""),
        (" ", "x", ""),
    ],
)
def test_title_is_read_from_an_answer(answer: str, question: str, title: str) -> None:
    assert title_of(answer, question) == title


def test_chat_is_named_after_its_first_message_or_files() -> None:
    assert first_title(Conversation().ask("# Hello\nworld")) == "Hello"
    assert first_title(Conversation().ask("", [Attachment("a.txt", "x"), Attachment("b.txt", "y")])) == "a.txt, b.txt"


@PATIENT
@given(st.text())
def test_title_is_one_short_line(text: str) -> None:
    title = propose_title(text)
    assert len(title) <= TITLE_COLUMNS
    assert title == " ".join(title.split())
    assert title.isprintable()
