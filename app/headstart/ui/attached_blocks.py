"""The files of a message as blocks: each name with its text below, as code. Pure: knows nothing of Qt."""

from collections.abc import Iterable
from pathlib import PurePath

from headstart.chat.conversation import Attachment
from headstart.ui.blocks import Block, Code, Paragraph, Span, Style


def attached_blocks(files: Iterable[Attachment], most: int | None = None) -> tuple[str, list[Block]]:
    """The text that the blocks refer to, and the blocks. At most `most` characters of each file, cut at a line."""
    source, blocks = "", list[Block]()
    for file in files:
        name = Span(file.name, len(source), len(source) + len(file.name), style=Style.BOLD)
        blocks.append(Paragraph((name,)))
        source += f"{file.name}\n"
        text = _beginning(file.text, most).strip("\n")
        if text:
            language = PurePath(file.name).suffix.removeprefix(".").lower()
            blocks.append(Code(text, language, ((0, len(source)),)))
            source += f"{text}\n"
    return source, blocks


def _beginning(text: str, most: int | None) -> str:
    if most is None or len(text) <= most:
        return text
    end = max(text.rfind("\n", 0, most), most // 2)
    return f"{text[:end]}\n…"
