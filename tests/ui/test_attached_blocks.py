"""Files as blocks: their language, their length, and where in the text they stand."""

from headstart.chat.conversation import Attachment
from headstart.ui.chat.message import attached_blocks
from headstart.ui.markdown.blocks import Code, spans


def test_each_file_is_a_name_and_code_in_its_language() -> None:
    files = [Attachment("a.py", "x = 1\n```\n"), Attachment("notes", "\nhello"), Attachment("lost.png", "")]
    source, blocks, _ = attached_blocks(files)
    codes = [block for block in blocks if isinstance(block, Code)]
    assert [(code.text, code.language) for code in codes] == [("x = 1\n```", "py"), ("hello", "")]
    assert [source[span.start : span.end] for block in blocks for span in spans(block)] == [
        "a.py", "x = 1\n```", "notes", "hello", "lost.png",
    ]  # fmt: skip


def test_a_long_file_ends_at_a_line() -> None:
    _, (_, code), _ = attached_blocks([Attachment("a.txt", "12345\n67890\nabc")], most=14)
    assert isinstance(code, Code)
    assert code.text == "12345\n67890\n…"
    _, (_, code), _ = attached_blocks([Attachment("a.txt", "1" * 100)], most=14)
    assert isinstance(code, Code)
    assert len(code.text) == 9


def test_what_stands_far_down_a_long_file_is_shown_with_its_surroundings() -> None:
    lines = "".join(f"line {number}\n" for number in range(1000))
    at = lines.index("line 700")
    shown = attached_blocks([Attachment("b", "short"), Attachment("a.txt", lines)], 200, (1, at))
    code = shown.blocks[-1]
    assert isinstance(code, Code)
    assert code.text.startswith("…\nline 6")
    assert code.text.endswith("\n…")
    assert len(code.text) < 300
    place = shown.place(1, at, at + 8)
    assert place
    assert shown.source[slice(*place)] == "line 700"
    assert shown.place(1, 0, 4) is None
    assert shown.source[slice(*(shown.place(0, 1, 4) or (0, 0)))] == "hor"
