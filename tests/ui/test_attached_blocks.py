"""Files as blocks: their language, their length, and where in the text they stand."""

from headstart.chat.conversation import Attachment
from headstart.ui.attached_blocks import attached_blocks
from headstart.ui.blocks import Code, spans


def test_each_file_is_a_name_and_code_in_its_language() -> None:
    files = [Attachment("a.py", "x = 1\n```\n"), Attachment("notes", "\nhello"), Attachment("lost.png", "")]
    source, blocks = attached_blocks(files)
    codes = [block for block in blocks if isinstance(block, Code)]
    assert [(code.text, code.language) for code in codes] == [("x = 1\n```", "py"), ("hello", "")]
    assert [source[span.start : span.end] for block in blocks for span in spans(block)] == [
        "a.py", "x = 1\n```", "notes", "hello", "lost.png",
    ]  # fmt: skip


def test_a_long_file_ends_at_a_line() -> None:
    _, (_, code) = attached_blocks([Attachment("a.txt", "12345\n67890\nabc")], most=14)
    assert isinstance(code, Code)
    assert code.text == "12345\n67890\n…"
    _, (_, code) = attached_blocks([Attachment("a.txt", "1" * 100)], most=14)
    assert isinstance(code, Code)
    assert len(code.text) == 9
