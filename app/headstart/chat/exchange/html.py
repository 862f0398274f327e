"""A chat as one HTML page that fetches nothing and runs nothing. Knows no file."""

import html
import re
from collections.abc import Callable, Iterable, Iterator

from markdown_it import MarkdownIt

from headstart.chat.conversation import Conversation, Message
from headstart.chat.exchange.wording import Wording, listed, moment, speaker
from headstart.chat.record import Chat

_THINKING = re.compile(r"\A\s*<think>(.*?)(?:</think>|\Z)", re.DOTALL)
# The policy is a second lock: the page has no script and no address to fetch from in the first place.
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
pre {{ overflow-x: auto; padding: .7rem; border: 1px solid #8888; border-radius: .4rem; }}
table {{ border-collapse: collapse; }}
td, th {{ border: 1px solid #8888; padding: .2rem .6rem; }}
.made, .when, details {{ color: GrayText; font-size: .85rem; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def to_html(
    chat: Chat,
    conversation: Conversation,
    wording: Wording | None = None,
    *,
    render: Callable[[str], str] | None = None,
) -> str:
    """The messages shown. `render` turns Markdown into HTML that is safe; by default CommonMark with tables."""
    words = wording or Wording()
    body = _article(chat, conversation, words, render or safe_renderer())
    return _PAGE.format(title=_title(chat, words), body="\n".join(body))


def to_html_all(chats: Iterable[tuple[Chat, Conversation]], wording: Wording | None = None) -> str:
    """Several chats, one behind the other, under the title of the first."""
    words, render = wording or Wording(), safe_renderer()
    several = list(chats)
    bodies = ["\n".join(_article(chat, conversation, words, render)) for chat, conversation in several]
    title = _title(several[0][0], words) if several else words.untitled
    return _PAGE.format(title=title, body="\n<hr>\n".join(bodies))


def safe_renderer() -> Callable[[str], str]:
    """Markdown to HTML: HTML in it is shown, not obeyed; pictures become links, so that nothing is fetched."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")

    def render(text: str) -> str:
        return str(parser.render(text))

    return render


def _title(chat: Chat, words: Wording) -> str:
    return html.escape(" ".join(chat.title.split()) or words.untitled)


def _article(chat: Chat, conversation: Conversation, words: Wording, render: Callable[[str], str]) -> Iterator[str]:
    yield f"<h1>{_title(chat, words)}</h1>"
    yield f'<p class="when">{html.escape(moment(chat.created, words))}</p>'
    for message in conversation.path:
        yield from _message(message, words, render)


def _message(message: Message, words: Wording, render: Callable[[str], str]) -> Iterator[str]:
    yield f'<section class="{message.role.value}"><h2>{html.escape(speaker(message, words))}</h2>'
    for attachment in message.attachments:
        name = f"{words.attachment}: {attachment.name}"
        yield f"<details><summary>{html.escape(name)}</summary><pre>{html.escape(attachment.text)}</pre></details>"
    thought = _THINKING.match(message.text)
    if thought:
        yield f"<details><summary>{html.escape(words.thinking)}</summary>{render(thought[1].strip())}</details>"
    yield render(message.text[thought.end() :] if thought else message.text)
    for name, values in ((words.settings, message.settings), (words.statistics, message.stats)):
        line = listed(values)
        if line:
            yield f'<p class="made">{html.escape(f"{name}: {line}")}</p>'
    yield "</section>"
