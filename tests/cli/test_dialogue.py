"""The conversation as a value."""

from headstart.cli.chat import Dialogue
from headstart.engine.engine import Message


def test_messages_begin_with_the_system_prompt() -> None:
    dialogue = Dialogue("Be brief.").asked("Hi").answered("Hello")
    assert dialogue.messages == (
        Message("system", "Be brief."),
        Message("user", "Hi"),
        Message("assistant", "Hello"),
    )


def test_an_empty_system_prompt_is_none() -> None:
    assert Dialogue("").asked("Hi").messages == (Message("user", "Hi"),)


def test_the_last_answer_can_be_taken_back() -> None:
    question = Dialogue().asked("Hi")
    assert question.answered("Hello").before_last_answer() == question
    assert Dialogue("Be brief.").before_last_answer() is None


def test_markdown_names_the_speakers() -> None:
    dialogue = Dialogue("Be brief.").asked("Hi\n").answered("# Hello")
    assert dialogue.markdown("smol") == (
        "# Conversation with smol\n\n## System\n\nBe brief.\n\n## You\n\nHi\n\n## smol\n\n# Hello\n"
    )
