"""Chats as documents for readers: Markdown, and HTML pages that fetch and run nothing."""

import html
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from headstart import private_files
from headstart.chat.conversation import Attachment, Chat, ChatMessage, Conversation, Role, State, fenced
from headstart.errors import ExchangeError
from headstart.markdown.blocks import Block
from headstart.markdown.html import STYLE
from headstart.markdown.html import to_html as blocks_to_html
from headstart.markdown.parser import parse, parse_literal

# The policy is a second protection: the page has no script and no address to fetch from.
_PAGE = """<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif; }}
h2 {{ font-size: 1rem; margin-top: 2rem; }}
.made, .when, details {{ color: GrayText; font-size: .85rem; }}
.user > p {{ white-space: pre-wrap; }}
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def format_values(values: Mapping[str, object]) -> str:
    """Return settings or statistics on one line, with four digits for fractions and without nested values."""
    pairs = ((name, short(value)) for name, value in values.items())
    return ", ".join(f"{name} {value}" for name, value in pairs if value)


def short(value: object) -> str:
    """Return a number or a text; empty for anything else."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value) if isinstance(value, str | int) else ""


@dataclass(frozen=True)
class Wording:
    """The words around the messages, English by default; `zone` None is the local time zone."""

    user: str = "You"
    assistant: str = "Assistant"
    untitled: str = "Chat"
    attachment: str = "Attachment"
    settings: str = "Settings"
    statistics: str = "Statistics"
    thinking: str = "Thinking"
    tool: str = "Tool"
    stopped: str = "stopped"
    interrupted: str = "interrupted"
    zone: tzinfo | None = None
    list_settings: Callable[[Mapping[str, object]], str] = format_values
    list_statistics: Callable[[Mapping[str, object]], str] = format_values


def speaker(message: ChatMessage, wording: Wording) -> str:
    """Return the heading of a message: its author, and the reason for its end."""
    name = wording.user if message.role is Role.USER else message.model or wording.assistant
    ends = {State.STOPPED: wording.stopped, State.INTERRUPTED: wording.interrupted}
    end = ends.get(message.state)
    return f"{name} ({end})" if end else name


def moment(seconds: float, wording: Wording) -> str:
    """Return a time to the minute, with its offset."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(wording.zone).strftime("%Y-%m-%d %H:%M %z")


def remarks(message: ChatMessage, wording: Wording) -> Iterator[str]:
    """Return lines about how a message was generated."""
    lines = {
        wording.settings: wording.list_settings(message.settings),
        wording.statistics: wording.list_statistics(message.stats),
    }
    return (f"{title}: {_one_line(line)}" for title, line in lines.items() if line)


def message_blocks(message: ChatMessage) -> list[Block]:
    """Return a message's text as Markdown blocks. A question is shown as it was typed, an answer is parsed."""
    return parse(message.text) if message.role is Role.ASSISTANT else parse_literal(message.text)


def to_markdown(
    chat: Chat, conversation: Conversation, wording: Wording | None = None, *, with_remarks: bool = False
) -> str:
    """Return a chat as Markdown: title, time, and the messages shown, each under a heading with its author.

    `with_remarks` adds the settings and the statistics of each answer, here and in the other functions.
    """
    words = wording or Wording()
    parts = [f"# {_one_line(chat.title) or words.untitled}", moment(chat.created, words)]
    for message in conversation.path:
        parts += [f"## {_one_line(speaker(message, words))}", *_markdown_parts(message, words)]
        if with_remarks:
            parts += [f"> {line}" for line in remarks(message, words)]
    return "\n\n".join(parts) + "\n"


def to_markdown_all(
    chats: Iterable[tuple[Chat, Conversation]], wording: Wording | None = None, *, with_remarks: bool = False
) -> str:
    """Return several chats as Markdown, with rules between them."""
    return "\n---\n\n".join(to_markdown(*chat, wording, with_remarks=with_remarks) for chat in chats)


def _markdown_parts(message: ChatMessage, words: Wording) -> Iterator[str]:
    """Yield the attachments, the calls of tools, the thinking and the text of a message."""
    for attachment in message.attachments:
        yield f"{words.attachment}: {_one_line(attachment.name)}"
        if attachment.text:
            yield fenced(attachment)
    for call in message.calls:
        yield f"{words.tool}: {_one_line(call.name)} {_one_line(call.arguments)}"
        yield fenced(Attachment(call.name, call.result))
    if message.thinking.strip():
        yield f"{words.thinking}:"
        yield "\n".join(f"> {line}".rstrip() for line in message.thinking.strip().splitlines())
    if message.text.strip():
        yield message.text.strip("\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def to_html(
    chat: Chat, conversation: Conversation, wording: Wording | None = None, *, with_remarks: bool = False
) -> str:
    """Return a chat as an HTML page with the messages shown."""
    return to_html_all([(chat, conversation)], wording, with_remarks=with_remarks)


def to_html_all(
    chats: Iterable[tuple[Chat, Conversation]], wording: Wording | None = None, *, with_remarks: bool = False
) -> str:
    """Return several chats as one HTML page, under the title of the first."""
    words = wording or Wording()
    several = list(chats)
    bodies = ["\n".join(_article(*chat, words, with_remarks=with_remarks)) for chat in several]
    title = _title(several[0][0], words) if several else words.untitled
    return _PAGE.format(title=title, style=STYLE, body="\n<hr>\n".join(bodies))


def _title(chat: Chat, words: Wording) -> str:
    return html.escape(_one_line(chat.title) or words.untitled)


def _article(chat: Chat, conversation: Conversation, words: Wording, *, with_remarks: bool) -> Iterator[str]:
    yield f"<h1>{_title(chat, words)}</h1>"
    yield f'<p class="when">{html.escape(moment(chat.created, words))}</p>'
    for message in conversation.path:
        yield f'<section class="{message.role.value}"><h2>{html.escape(speaker(message, words))}</h2>'
        yield from _message(message, words)
        if with_remarks:
            yield from (f'<p class="made">{html.escape(line)}</p>' for line in remarks(message, words))
        yield "</section>"


def _message(message: ChatMessage, words: Wording) -> Iterator[str]:
    for attachment in message.attachments:
        yield _folded(f"{words.attachment}: {attachment.name}", f"<pre>{html.escape(attachment.text)}</pre>")
    for call in message.calls:
        yield _folded(f"{words.tool}: {call.name} {call.arguments}", f"<pre>{html.escape(call.result)}</pre>")
    if message.thinking.strip():
        yield _folded(words.thinking, blocks_to_html(parse(message.thinking)))
    yield blocks_to_html(message_blocks(message))


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{html.escape(summary)}</summary>{content}</details>"


def write_export(path: Path, content: str | bytes) -> None:
    """Write content to a file that only its owner can read. Replaces an older file. Raises ExchangeError."""
    try:
        path.parent.resolve(strict=True)  # a folder that you named is not created
        private_files.write(path, content if isinstance(content, bytes) else content.encode(errors="replace"))
    except OSError as error:
        raise ExchangeError(
            "{path} cannot be written ({strerror}); choose another folder or make room there.",
            path=path,
            strerror=error.strerror,
        ) from error
