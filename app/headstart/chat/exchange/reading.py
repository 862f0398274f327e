"""A file of chats, whoever wrote it, as chats. Knows which formats there are, not what is in them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from headstart.chat.exchange import chatgpt, own
from headstart.chat.exchange.limits import MOST_BYTES, MOST_CHATS, MOST_MESSAGES, Bundle, Malformed, require_few
from headstart.errors import ExchangeError


def read_chats(path: Path) -> tuple[Bundle, ...]:
    """The chats in a JSON file of Headstart or a conversations.json of ChatGPT, with ids of their own.

    Raises ExchangeError with one sentence.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise Malformed(f"it has {size >> 20:,} MB and at most {MOST_BYTES >> 20} MB are read")
        return parse_chats(path.read_bytes())
    except OSError as error:
        raise ExchangeError(
            f"{path.name} cannot be read ({error.strerror}); choose a file that you may open."
        ) from error
    except Malformed as error:
        raise ExchangeError(
            f"{path.name} was not imported because {error}; choose a JSON file exported by Headstart or the "
            "conversations.json from a ChatGPT export."
        ) from error


def parse_chats(data: bytes) -> tuple[Bundle, ...]:
    """The chats in the bytes of such a file. Raises Malformed."""
    content = _parse(data)
    if isinstance(content, Mapping) and content.get("format") == own.FORMAT:
        found = own.read_own(content)
    elif isinstance(content, list) and chatgpt.is_chatgpt(content):
        require_few(len(content), MOST_CHATS, "chats")
        found = chatgpt.read_chatgpt(content)
    else:
        raise Malformed("it is no export of chats")
    require_few(len(found), MOST_CHATS, "chats")
    for _, conversation in found:
        require_few(len(conversation.messages), MOST_MESSAGES, "messages in one chat")
    if not found:
        raise Malformed("there is no chat in it")
    return found


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise Malformed("it is not UTF-8 text") from error
    except RecursionError as error:
        raise Malformed("its parts are nested too deeply") from error
    except ValueError as error:
        raise Malformed(f"it is not JSON ({error})") from error


def _refuse(constant: str) -> NoReturn:
    raise Malformed(f"{constant} in it is no number")
