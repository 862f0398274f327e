"""A chat as blocks for paper: title, messages, files, and how each answer was made. Knows no page and no file."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from headstart.chat.conversation import Conversation, Message, Role
from headstart.chat.exchange.wording import Wording, listed, moment, speaker
from headstart.chat.record import Chat
from headstart.ui.chat.attached_blocks import attached_blocks
from headstart.ui.chat.thinking import split
from headstart.ui.markdown.blocks import Block, Paragraph, Place, Rule, Span, Style
from headstart.ui.markdown.markdown import parse, parse_literal

_LISTS = 1_000_000  # more than one message has: lists of two messages must not become one
_REMARK = Place(quotes=1)


def chat_sections(chat: Chat, conversation: Conversation, words: Wording) -> list[Iterable[Block]]:
    """The title and then each message shown, whose Markdown is read when its section is."""
    title = " ".join(chat.title.split()) or words.untitled
    head = (_line(title, heading=1), _line(moment(chat.created, words), _REMARK))
    return [head, *(_section(number, message, words) for number, message in enumerate(conversation.path))]


def _section(number: int, message: Message, words: Wording) -> Iterator[Block]:
    yield Rule()
    yield _line(" ".join(speaker(message, words).split()), heading=3)
    for block in _message(message, words):
        yield _apart(block, number)


def _message(message: Message, words: Wording) -> Iterator[Block]:
    if message.attachments:
        yield from attached_blocks(message.attachments)[1]
    yield from _answer(message.text, words) if message.role is Role.ASSISTANT else parse_literal(message.text)
    for name, values in ((words.settings, message.settings), (words.statistics, message.stats)):
        line = listed(values)
        if line:
            yield _line(f"{name}: {line}", _REMARK)


def _answer(text: str, words: Wording) -> Iterator[Block]:
    parts = split(text)
    if parts.thought:
        start, end = parts.thought
        yield _line(f"{words.thinking}:", _REMARK, Style.ITALIC)
        yield from _quoted(parse(text[start:end], start))
    yield from parse(text[parts.body :], parts.body)


def _quoted(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield replace(block, place=replace(block.place, quotes=block.place.quotes + 1))


def _apart(block: Block, message: int) -> Block:
    if not isinstance(block, Paragraph) or block.item is None:
        return block
    return replace(block, item=replace(block.item, list=message * _LISTS + block.item.list))


def _line(text: str, place: Place = Place(), style: Style = Style.PLAIN, *, heading: int = 0) -> Paragraph:  # noqa: B008
    return Paragraph((Span(text, 0, 0, exact=False, style=style),), place, heading)
