"""Texts as tokens and back, by the names that llama.cpp's server and vLLM have for them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from headstart.engine.engine import Request, Tools
from headstart.server.refusal import invalid
from headstart.server.requests import ChatMessage, OfferedTool, TokenId, messages_of, tool_of


@dataclass(frozen=True, kw_only=True)
class TokenizeRequest:
    """Body of POST /tokenize: `content` (llama.cpp), `prompt` or `messages` (vLLM).

    What the model expects before any text comes with `add_special` or `add_special_tokens`. Default: as in the program
    whose name the text has, so it comes with a `prompt`.
    """

    model: str | None = None
    content: str | None = None
    prompt: str | None = None
    messages: Annotated[list[ChatMessage], Meta(min_length=1)] | None = None
    tools: list[OfferedTool] | None = None
    add_special: bool | None = None
    add_special_tokens: bool | None = None
    parse_special: Literal[True] | None = None
    with_pieces: Literal[False] | None = None
    return_token_strs: Literal[False] | None = None


@dataclass(frozen=True, kw_only=True)
class DetokenizeRequest:
    """Body of POST /detokenize."""

    tokens: Annotated[list[TokenId], Meta(min_length=1)]
    model: str | None = None


@dataclass(frozen=True)
class Tokenized:
    """Reply to POST /tokenize. `max_model_len`: of the context."""

    tokens: list[int]
    count: int
    max_model_len: int


@dataclass(frozen=True)
class Detokenized:
    """Reply to POST /detokenize: the text by both names."""

    content: str
    prompt: str


def tokens_order(asked: TokenizeRequest) -> Request:
    """The engine's request. Raises RefusedError."""
    given = [each for each in (asked.content, asked.prompt, asked.messages) if each]
    if len(given) != 1:
        raise invalid("Send one of `content`, `prompt` and `messages`, with something in it.", "prompt")
    if asked.messages:
        offered = tuple(tool_of(tool.function) for tool in asked.tools or ())
        return Request(messages_of(asked.messages), tools=Tools(offered) if offered else None, tokens_only=True)
    wanted = (asked.add_special, asked.add_special_tokens)
    add_special = next((each for each in wanted if each is not None), asked.prompt is not None)
    return Request((), prompt=asked.content or asked.prompt or "", add_special=add_special, tokens_only=True)
