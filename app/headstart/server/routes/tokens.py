"""Translation of texts into tokens and back, under the names of llama.cpp's server and of vLLM."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from msgspec import Meta

from headstart.engine.engine import ConversationRequest, GenerationRequest, PromptRequest, Tools
from headstart.server.errors import invalid
from headstart.server.requests import fields
from headstart.server.requests.bodies import ModelName, OfferedTool, TokenId
from headstart.server.requests.fields import Unsupported
from headstart.server.requests.tools import functions_of
from headstart.server.routes.chat import ChatMessage, messages_of

_Special = Annotated[bool, Meta(description="Add the tokens that stand before any text. Default: with `prompt`.")]


@dataclass(frozen=True, kw_only=True)
class TokenizeRequest:
    """Body of POST /tokenize: `content` (llama.cpp), `prompt` or `messages` (vLLM).

    `add_special` or `add_special_tokens` adds the tokens that the model expects before any text. Default: as in the
    program whose name the text has, so `prompt` gets them and `content` does not.
    """

    unsupported: ClassVar[Unsupported] = fields.TOKENIZE

    model: ModelName | None = None
    content: Annotated[str, Meta(description="A text, as llama.cpp calls it.")] | None = None
    prompt: Annotated[str, Meta(description="A text, as vLLM calls it.")] | None = None
    messages: Annotated[list[ChatMessage], Meta(min_length=1, description="A conversation.")] | None = None
    tools: list[OfferedTool] | None = None
    add_special: _Special | None = None
    add_special_tokens: _Special | None = None


@dataclass(frozen=True, kw_only=True)
class DetokenizeRequest:
    """Body of POST /detokenize."""

    tokens: Annotated[list[TokenId], Meta(min_length=1, description="Ids of tokens.")]
    model: ModelName | None = None


@dataclass(frozen=True)
class Tokenized:
    """Reply to POST /tokenize. `max_model_len` is the context in tokens."""

    tokens: list[int]
    count: int
    max_model_len: int


@dataclass(frozen=True)
class Detokenized:
    """Reply to POST /detokenize: the text under both names."""

    content: str
    prompt: str


def tokenize_to_request(body: TokenizeRequest) -> GenerationRequest:
    """Translate a request for tokens. Raises RefusedError."""
    prompts = [prompt for prompt in (body.content, body.prompt, body.messages) if prompt]
    if len(prompts) != 1:
        raise invalid("Send one of `content`, `prompt` and `messages`, with something in it.", "prompt")
    if body.messages:
        tools = functions_of(body.tools or ())
        return ConversationRequest(messages_of(body.messages), tools=Tools(tools) if tools else None, tokens_only=True)
    options = (body.add_special, body.add_special_tokens)
    add_special = next((option for option in options if option is not None), body.prompt is not None)
    return PromptRequest(prompt=body.content or body.prompt or "", add_special=add_special, tokens_only=True)
