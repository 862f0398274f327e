"""The tokenizer and the chat template of a model folder."""

import itertools
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from headstart.engine.engine import ConversationRequest, GenerationRequest, Message, PromptRequest, Tool
from headstart.engine.hardware.runtime import openvino_genai
from headstart.engine.text import jinja
from headstart.engine.text.chat_template import (
    ABOUT_RESULTS,
    ChatTemplate,
    SpecialTokenEscaper,
    markers,
    well_formed,
    with_system,
)
from headstart.engine.text.detokenizer import TokenTexts
from headstart.engine.text.thinking import ThinkingTokens
from headstart.engine.text.tool_calls import MAX_CALLS
from headstart.engine.text.tool_formats.form import CallFormat
from headstart.engine.text.tool_formats.rewriter import Rewriter
from headstart.errors import BrokenModelError, ContextOverflowError, SettingsError
from headstart.library import vocabulary

# The tokens before the prefix, before the suffix and before the text that fills the gap.
_INFILL = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),  # Qwen2.5-Coder
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),  # StarCoder, Granite
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),  # DeepSeek-Coder
)
_INFILL_ENDS = ("<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<fim_pad>", "<repo_name>", "<file_sep>", "<filename>")
_FILES = tuple(f"openvino_{part}.{kind}" for part in ("tokenizer", "detokenizer") for kind in ("xml", "bin"))
_ANCHORS = ("\n", "|", ".", "a")


class Tokenizer:
    """The tokenizer of a model folder, run by OpenVINO GenAI, and its chat template.

    What people write is text, whatever it contains: control tokens come from the chat template alone.
    """

    def __init__(self, folder: Path) -> None:
        """Load and check the tokenizer. Raises BrokenModelError if a file is missing or damaged, or text is altered."""
        self.folder = folder
        tokens = vocabulary.reading(folder)
        self._user_escaper = SpecialTokenEscaper(markers(tokens.added, tokens.control))
        self._composes = tokens.composes
        self._added_tokens = tokens.added
        self._control_tokens = tokens.control
        self._native = _load(folder)
        self._starts_with_space = False
        self._beginning: list[int] = []  # tokens that the model expects before any text
        try:
            self._check(folder)
        except RuntimeError as error:  # OpenVINO has no other kind
            raise _broken(folder, error) from None
        self._template = ChatTemplate(folder.name, tokens.added, tokens.control, *jinja.read_sources(folder))

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a plain text; the name of a control token in it is text like any other."""
        return self._encode_pieces(self._user_escaper.split(well_formed(text)))

    def prompt(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        add_generation_prompt: bool = True,
        thinking: bool | None = None,
        effort: str = "",
        own_calls: bool = True,
    ) -> list[int]:
        """Return the tokens of a conversation in the model's chat format, ready for the answer.

        `own_calls`: calls may have a format of the model's own. Raises what `ChatTemplate.pieces` raises.
        """
        pieces = self._template.pieces(
            messages,
            tools,
            add_generation_prompt=add_generation_prompt,
            thinking=thinking,
            effort=effort,
            own_calls=own_calls,
        )
        return self._encode_pieces(pieces)

    @cached_property
    def texts(self) -> TokenTexts:
        """The text of each token. The first use takes a few tenths of a second."""
        return TokenTexts(self.decode_many, self._parse("a"), 1 + max(vocabulary.read(self.folder)))

    @cached_property
    def thinking(self) -> ThinkingTokens | None:
        """The marks of the model's thinking; None if it does not think."""
        marks, support = self._template.marks, self._template.support
        if marks is None or support is None:
            return None
        begin, end, skip, before_channel = (
            tuple(self._parse(text)) if text else ()
            for text in (marks.begins, marks.ends, marks.skips, marks.before_channel)
        )
        named = {token: self.decode([token], keep_special=True) for token in (*begin, *end, *skip)}
        return ThinkingTokens(
            marks,
            support,
            {token: name for token, name in named.items() if name in self._added_tokens},
            begin,
            end,
            skip,
            (*self._parse_further(marks.before_end), *end) if marks.before_end else end,
            lru_cache(maxsize=4096)(lambda token: self.decode([token])),
            before_channel,
        )

    def thinking_of(self, request: ConversationRequest) -> ThinkingTokens | None:
        """Return the marks of thinking in the answer to a request; None if there is none."""
        return self.thinking.with_channels() if self.thinking and self.tool_format(request) else self.thinking

    def raw_prompt(self, text: str, *, add_special: bool = True) -> list[int]:
        """Return the tokens of a text to continue, in which control tokens count.

        `add_special` puts the tokens before it that the model expects at a beginning.
        """
        ids = self._parse(well_formed(text))
        return ids if not add_special or ids[: len(self._beginning)] == self._beginning else [*self._beginning, *ids]

    def infill_prompt(self, prefix: str, suffix: str) -> list[int]:
        """Return the tokens of a gap in a text. Raises SettingsError if the model has no tokens for gaps."""
        marks = next((marks for marks in _INFILL if self._added_tokens.issuperset(marks)), None)
        if marks is None:
            raise SettingsError(
                "This model has no tokens that mark a gap in a text: leave out the suffix, or use a model for code "
                "such as qwen2.5-coder."
            )
        before, behind, middle = map(self._parse, marks)
        return [*self._beginning, *before, *self.encode(prefix), *behind, *self.encode(suffix), *middle]

    @cached_property
    def _size(self) -> int:
        return max(vocabulary.read(self.folder)) + 1

    @cached_property
    def infill_ends(self) -> frozenset[int]:
        """Tokens that end the text for a gap: the marks of the gap, and those of other files."""
        ends = self._added_tokens.intersection([*_INFILL_ENDS, *itertools.chain.from_iterable(_INFILL)])
        return frozenset(token for text in ends for token in self._parse(text))

    def prompt_of(self, request: GenerationRequest, room: int) -> list[int]:
        """Return the prompt of a request as tokens.

        Raises ContextOverflowError if it leaves no room for a token of the answer in `room` tokens, SettingsError for
        unknown tokens or a gap that the model cannot fill, and what `prompt` raises.
        """
        ids = self._text_prompt(request) if isinstance(request, PromptRequest) else self._chat_prompt(request)
        if len(ids) + min(1, request.max_new_tokens) > room:
            raise ContextOverflowError(
                "The conversation has {count} tokens, but the context holds {room} with the answer: start a new chat, "
                "shorten the text, or load the model with a longer --context.",
                count=len(ids),
                room=room,
            )
        return ids

    def _chat_prompt(self, request: ConversationRequest) -> list[int]:
        messages: Sequence[Message] = request.messages
        tools, own_calls = request.tools, request.tools is None or self.tool_format(request) is not None
        if tools and tools.hidden:
            messages = with_system(messages, ABOUT_RESULTS)
        offered = tools.offered if tools and not tools.hidden else ()
        return self.prompt(messages, offered, thinking=request.thinking, effort=request.effort, own_calls=own_calls)

    def _text_prompt(self, request: PromptRequest) -> list[int]:
        if isinstance(request.prompt, tuple):
            unknown = max(request.prompt)
            if unknown >= self._size:
                raise SettingsError("The model has no token {id}: leave it out of the prompt.", id=unknown)
            return list(request.prompt)
        if request.suffix:
            return self.infill_prompt(request.prompt, request.suffix)
        return self.raw_prompt(request.prompt, add_special=request.add_special)

    def tool_format(self, request: ConversationRequest) -> CallFormat | None:
        """Return the model's own format of tool calls, if the answer may have it; None: the format of Hermes.

        A grammar enforces that of Hermes alone, so required and strict calls have it.
        """
        tools = request.tools
        if tools is None or request.schema or tools.required or tools.only or tools.hidden:
            return None
        return None if any(tool.strict for tool in tools.callable) else self._template.tool_format

    def own_calls(self, request: ConversationRequest) -> Rewriter | None:
        """Return a converter of calls from the model's own format; None if the answer has none."""
        own = self.tool_format(request)
        if own is None or request.tools is None:
            return None
        return Rewriter(own, request.tools.callable, MAX_CALLS if request.tools.parallel else 1, self._marks_of(own))

    def _marks_of(self, format_: CallFormat) -> dict[int, str]:
        """Return the marks that are control tokens, which decoded text does not show, by id."""
        named = {text: self._parse(text) for text in (*format_.marks, *format_.inner) if text in self._control_tokens}
        return {ids[0]: text for text, ids in named.items() if len(ids) == 1}

    def decode(self, ids: Sequence[int], *, keep_special: bool = False) -> str:
        """Return the text of tokens, with U+FFFD for invalid UTF-8."""
        return str(self._native.decode(list(ids), skip_special_tokens=not keep_special))

    def decode_many(self, batch: list[list[int]]) -> list[str]:
        """Return the texts of several token sequences, much faster than one by one."""
        return list(self._native.decode(batch, skip_special_tokens=True))

    def _encode_pieces(self, pieces: Sequence[str]) -> list[int]:
        """Encode each piece of one text by itself. Control tokens in a piece keep their meaning."""
        ids = self._parse(pieces[0])
        for piece in pieces[1:]:
            ids += self._parse_further(piece)
        return ids

    def _parse(self, text: str, *, as_document: bool = False) -> list[int]:
        if self._composes:  # OpenVINO composes only letters with few marks
            text = unicodedata.normalize("NFC", text)
        ids: list[int] = self._native.encode(text, add_special_tokens=as_document).input_ids.data[0].tolist()
        return ids

    def _parse_further(self, text: str) -> list[int]:
        """Return the tokens of a text that continues another one: without the space that some tokenizers prepend."""
        if not self._starts_with_space:
            return self._parse(text)
        for anchor in _ANCHORS:
            head, ids = self._parse(anchor), self._parse(anchor + text)
            if ids[: len(head)] == head:
                return ids[len(head) :]
        return self._parse(text)

    def _check(self, folder: Path) -> None:
        plain, whole = self._parse("a"), self._parse("a", as_document=True)
        self._starts_with_space = " " in self.decode(plain + plain)
        self._beginning = whole[: whole.index(plain[0])] if plain and plain[0] in whole else []
        if self.decode(self._parse("a ,")) == "a,":
            raise BrokenModelError(
                "The tokenizer in {folder} swallows spaces before punctuation, which would damage code; "
                "export the model again with clean_up_tokenization_spaces off.",
                folder=folder,
            )


def read_tokenizer(folder: Path) -> Tokenizer:
    """Return a tokenizer that has its table of texts before the first answer. Raises BrokenModelError."""
    tokenizer = Tokenizer(folder)
    _ = tokenizer.texts
    return tokenizer


def _load(folder: Path) -> Any:
    # GenAI loads a folder without these files and fails at the first use.
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise BrokenModelError(
            "{folder} lacks {names}; export the model again.", folder=folder, names=", ".join(missing)
        )
    try:
        return openvino_genai().Tokenizer(str(folder))
    except RuntimeError as error:
        raise _broken(folder, error) from None


def _broken(folder: Path, error: RuntimeError) -> BrokenModelError:
    reason = str(error).strip().splitlines()[-1]
    return BrokenModelError(
        "The tokenizer in {folder} is damaged ({reason}); export the model again.", folder=folder, reason=reason
    )
