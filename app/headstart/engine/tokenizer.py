"""The tokenizer and the chat template of a model folder."""

import faulthandler
import itertools
import json
import re
import sys
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from headstart.engine.engine import (
    Call,
    Finish,
    FinishReason,
    Message,
    Origin,
    Request,
    Round,
    Step,
    Timing,
    Tool,
    no_stats,
    written_call,
)
from headstart.engine.runtime import openvino_genai
from headstart.errors import BrokenModelError, ChatTemplateError, ContextOverflowError, SettingsError
from headstart.library import vocabulary

_RENDERING = threading.Lock()  # a process has only one such timer
_MAX_RENDER_S = 60.0  # for one conversation; the longest ones that fit a context take less than a second
# Unicode reserves this character for internal use. It does no harm if a text has it all the same.
_NONCHARACTER = "\ufdd0"
_WORD = re.compile(r"[\w\s▁]*")
_PROBE = "headstart_probe"
_ABOUT_TOOLS = """# Tools

You may call one or more of these functions to help with what the user asks:
<tools>
{tools}
</tools>

To call a function, answer with its name and its arguments as a JSON object:
<tool_call>
{{"name": "the name", "arguments": {{"an argument": "its value"}}}}
</tool_call>
The results come back in <tool_response></tool_response>."""
_ABOUT_RESULTS = (
    "The results of the functions that you have called stand in <tool_response></tool_response>. Answer the user with "
    "them."
)


class SpecialTokenEscaper:
    """Splits a text inside every occurrence of a special token's text, after the first character.

    Encoded piece by piece, the text cannot give these tokens, and the pieces still join to the same text. A special
    token of one character cannot be split and is left alone.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self._tokens = frozenset(text for text in tokens if len(text) > 1)
        self._lengths = sorted({len(text) for text in self._tokens})
        self._beginnings = frozenset(text[0] for text in self._tokens)

    def insert_separators(self, text: str, separator: str) -> str:
        """Return `text` with `separator` wherever it must be split."""
        # An occurrence may begin inside another, and some models have thousands of such tokens.
        starts = [
            at for at, character in enumerate(text) if character in self._beginnings and self._has_token_at(text, at)
        ]
        edges = [0, *(at + 1 for at in starts), len(text)]
        return separator.join(text[start:end] for start, end in itertools.pairwise(edges))

    def split(self, text: str) -> list[str]:
        separator = unused_separator([text])
        return self.insert_separators(text, separator).split(separator)

    def _has_token_at(self, text: str, start: int) -> bool:
        return any(text[start : start + length] in self._tokens for length in self._lengths)


class ChatTemplate:
    """Renders messages so that control tokens come from the template alone.

    OpenVINO GenAI's own interpreter runs the template; it executes no Python and reads no files.
    """

    def __init__(
        self, native: Any, name: str, user_escaper: SpecialTokenEscaper, model_escaper: SpecialTokenEscaper
    ) -> None:
        """Prepare a template. `native` is an `openvino_genai.Tokenizer`; `name` is the model's name in errors.

        `user_escaper` is for texts that people wrote, `model_escaper` for those of the model: its own visible
        markers, such as those around its thoughts, become tokens again when its answer is read back.
        """
        self._native = native
        self._name = name
        self._user_escaper = user_escaper
        self._model_escaper = model_escaper

    def pieces(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), *, add_generation_prompt: bool = True
    ) -> list[str]:
        """Return the prompt, split where a message contains a control token's text. Encode each piece by itself.

        If the last message is an answer, the prompt ends inside it, so that it is continued. Raises
        ChatTemplateError without a template, or if the template has no place for a message.
        """
        has_prefix = (
            add_generation_prompt and len(messages) > 1 and messages[-1].role == "assistant" and not messages[-1].calls
        )
        if (tools or any(message.calls or message.role == "tool" for message in messages)) and not self._supports_tools:
            messages, tools = without_tools(messages, tools), ()
        self._check_roles(messages)
        turns, offered = [_as_data(message) for message in messages], [_as_openai(tool) for tool in tools]
        separator = unused_separator([*_strings(turns), *_strings(offered)])
        turns = [_escaped(turn, self._escaper(turn["role"]), separator) for turn in turns]
        offered = _escaped(offered, self._user_escaper, separator)
        closed = len(turns) - has_prefix
        prompt = self._render(turns[:closed], offered, add_generation_prompt=add_generation_prompt)
        return (prompt + turns[-1]["content"] if has_prefix else prompt).split(separator)

    def _escaper(self, role: str) -> SpecialTokenEscaper:
        return self._model_escaper if role == "assistant" else self._user_escaper

    @cached_property
    def _supports_tools(self) -> bool:
        """True if it shows tools, their calls and results, and calls in the format that answers have."""
        call = Call(_PROBE, '{"a": "b"}')
        turns = [Message("user", "?"), Message("assistant", "", (call,)), Message("tool", f"{_PROBE} result")]
        try:
            rendered = self._render(
                [_as_data(turn) for turn in turns],
                [_as_openai(Tool(_PROBE, "{}", f"{_PROBE} does"))],
                add_generation_prompt=True,
            )
        except ChatTemplateError:
            return False
        return all(text in rendered for text in (written_call(call), f"{_PROBE} does", f"{_PROBE} result"))

    def _check_roles(self, messages: Sequence[Message]) -> None:
        """Raise ChatTemplateError if the template drops a message.

        Many templates leave out a message that they have no rule for; a probe with known contents shows it.
        """
        if not self._native.chat_template:
            raise ChatTemplateError(
                "{name} has no chat template, so it cannot hold a conversation; export the instruct or "
                "chat version of this model.",
                name=self._name,
            )
        probes = [f"headstart{index}probe" for index in range(len(messages))]
        turns = [_as_data(message) | {"content": probe} for message, probe in zip(messages, probes, strict=True)]
        rendered = self._render(turns, [], add_generation_prompt=False)
        for message, probe in zip(messages, probes, strict=True):
            if probe not in rendered or not message.role.isidentifier():
                raise ChatTemplateError(
                    'The chat template of {name} has no place for a message of role "{role}" here; leave it '
                    "out, or use the roles system, user and assistant in their usual order.",
                    name=self._name,
                    role=message.role,
                )

    def _render(
        self, history: list[dict[str, Any]], tools: list[dict[str, Any]], *, add_generation_prompt: bool
    ) -> str:
        extra = {"tools": tools} if tools else {}
        try:
            with _time_limit():
                return str(
                    self._native.apply_chat_template(history, add_generation_prompt=add_generation_prompt, **extra)
                )
        except RuntimeError as error:
            raise ChatTemplateError(
                "The chat template of {name} refused this conversation ({reason}); change the system "
                "prompt or the order of the messages, or start a new conversation.",
                name=self._name,
                reason=_reason(error),
            ) from None


def _as_data(message: Message) -> dict[str, Any]:
    """Return a message as a template reads it."""
    data: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        data["tool_calls"] = [
            {"type": "function", "function": {"name": call.name, "arguments": json.loads(_well_formed(call.arguments))}}
            for call in message.calls
        ]
    return data


def without_tools(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Message]:
    """Return the conversation for a template without tools: the system prompt lists them, as Hermes does.

    Calls become a part of their answer, and results become a message of the user.
    """
    turns = list[Message]()
    for message in messages:
        text = "\n".join([message.content] * bool(message.content) + [written_call(call) for call in message.calls])
        if message.role != "tool":
            turns.append(Message(message.role, text))
            continue
        result = f"<tool_response>\n{message.content}\n</tool_response>"
        if turns and turns[-1].content.endswith("</tool_response>") and turns[-1].role == "user":
            turns[-1] = replace(turns[-1], content=f"{turns[-1].content}\n{result}")
        else:
            turns.append(Message("user", result))
    about = _ABOUT_TOOLS.format(tools="\n".join(_json(_as_openai(tool)) for tool in tools))
    return _with_system(turns, about) if tools else turns


def _with_system(turns: Sequence[Message], about: str) -> list[Message]:
    """Return the conversation with `about` added to its system prompt."""
    if turns and turns[0].role == "system":
        return [Message("system", f"{turns[0].content}\n\n{about}"), *turns[1:]]
    return [Message("system", about), *turns]


def _as_openai(tool: Tool) -> dict[str, Any]:
    about = {"description": tool.description} if tool.description else {}
    parameters = json.loads(_well_formed(tool.parameters))
    return {"type": "function", "function": {"name": tool.name, **about, "parameters": parameters}}


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)


def _escaped(data: Any, escaper: SpecialTokenEscaper, separator: str) -> Any:
    """Return JSON data with `separator` wherever a string in it must be split."""
    match data:
        case str():
            return escaper.insert_separators(_well_formed(data), separator)
        case list():
            return [_escaped(item, escaper, separator) for item in data]
        case dict():
            return {
                escaper.insert_separators(_well_formed(key), separator): _escaped(item, escaper, separator)
                for key, item in data.items()
            }
        case _:
            return data


def _strings(data: Any) -> Iterator[str]:
    """Yield every string in JSON data."""
    match data:
        case str():
            yield data
        case list():
            for item in data:
                yield from _strings(item)
        case dict():
            for key, item in data.items():
                yield key
                yield from _strings(item)


@contextmanager
def _time_limit() -> Iterator[None]:
    """End the process if a template does not end: native code cannot be interrupted."""
    with _RENDERING:
        faulthandler.dump_traceback_later(_MAX_RENDER_S, exit=True, file=2)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def _reason(error: RuntimeError) -> str:
    """Return the template's own message out of GenAI's several lines."""
    match = re.search(r"Minja's error: (.+?)(?: at row \d+|$)", str(error), re.MULTILINE)
    return match.group(1) if match else str(error).strip().splitlines()[-1]


def markers(added: Iterable[str], special: Iterable[str]) -> frozenset[str]:
    """Return the added tokens that must not come from typed text: all except plain words and white space.

    Some tokenizers have runs of spaces or newlines as added tokens; these control nothing.
    """
    return frozenset(special) | {text for text in added if not _WORD.fullmatch(text)}


def unused_separator(texts: Sequence[str]) -> str:
    """Return a string that occurs in none of the texts, nor across a border with itself."""
    longest = max((len(run) for text in texts for run in re.findall(f"{_NONCHARACTER}+", text)), default=0)
    return _NONCHARACTER * (longest + 1)


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
    """The tokenizer and chat template of a model folder, run by OpenVINO GenAI.

    What people write is text, whatever it contains: control tokens come from the chat template alone.
    """

    def __init__(self, folder: Path) -> None:
        """Load and check the tokenizer. Raises BrokenModelError if a file is missing or damaged, or text is altered."""
        self.folder = folder
        tokens = vocabulary.reading(folder)
        self._user_escaper = SpecialTokenEscaper(markers(tokens.added, tokens.control))
        self._composes = tokens.composes
        self._added_tokens = tokens.added
        self._native = _load(folder)
        self._starts_with_space = False
        self._beginning: list[int] = []  # tokens that the model expects before any text
        try:
            self._check(folder)
        except RuntimeError as error:  # OpenVINO has no other kind
            raise _broken(folder, error) from None
        self._template = ChatTemplate(
            self._native, folder.name, self._user_escaper, SpecialTokenEscaper(tokens.control)
        )

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a plain text; the name of a control token in it is text like any other."""
        return self._encode_pieces(self._user_escaper.split(_well_formed(text)))

    def prompt(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), *, add_generation_prompt: bool = True
    ) -> list[int]:
        """Return the tokens of a conversation in the model's chat format, ready for the answer.

        Raises ChatTemplateError without a template, or if the template has no place for a message.
        """
        plain = [replace(message, content=_well_formed(message.content)) for message in messages]
        return self._encode_pieces(self._template.pieces(plain, tools, add_generation_prompt=add_generation_prompt))

    def raw_prompt(self, text: str, *, add_special: bool = True) -> list[int]:
        """Return the tokens of a text to continue, in which control tokens count.

        `add_special` puts the tokens before it that the model expects at a beginning.
        """
        ids = self._parse(_well_formed(text))
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
        """Tokens that end what fills a gap: the marks, and those of other files."""
        ends = self._added_tokens.intersection([*_INFILL_ENDS, *itertools.chain.from_iterable(_INFILL)])
        return frozenset(token for text in ends for token in self._parse(text))

    def prompt_of(self, request: Request, room: int) -> list[int]:
        """Return the prompt of a request as tokens.

        Raises ContextOverflowError if it leaves no room for an answer in `room` tokens, SettingsError for
        unknown tokens or a gap that the model cannot fill, and what `prompt` raises.
        """
        messages: Sequence[Message] = request.messages
        offered = request.tools.offered if request.tools else ()
        if request.tools and request.tools.hidden:
            messages, offered = _with_system(messages, _ABOUT_RESULTS), ()
        if request.prompt_ids:
            ids = list(request.prompt_ids)
            if max(ids) >= self._size:
                raise SettingsError("The model has no token {id}: leave it out of the prompt.", id=max(ids))
        elif request.suffix:
            ids = self.infill_prompt(request.prompt, request.suffix)
        else:
            raw = self.raw_prompt(request.prompt, add_special=request.add_special) if request.prompt else None
            ids = self.prompt(messages, offered) if raw is None else raw
        if len(ids) >= room:
            raise ContextOverflowError(
                "The conversation has {count} tokens, but the context holds {room}: start a new chat, "
                "shorten the text, or load the model with a longer --context.",
                count=len(ids),
                room=room,
            )
        return ids

    def decode(self, ids: Sequence[int], *, keep_special: bool = False) -> str:
        """Return the text of tokens, with U+FFFD for invalid UTF-8."""
        return str(self._native.decode(list(ids), skip_special_tokens=not keep_special))

    def decode_many(self, batch: list[list[int]]) -> list[str]:
        """Return the texts of several token sequences, much faster than one by one."""
        return list(self._native.decode(batch, skip_special_tokens=True))

    def _encode_pieces(self, pieces: Sequence[str]) -> list[int]:
        """Encode each piece of one text by itself; control tokens in a piece count."""
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
        """Return the tokens of a text that continues another: without the space that some tokenizers prepend."""
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


def tokens_of(request: Request, tokenizer: Tokenizer, context: int) -> Iterator[Step | Finish]:
    """Yield the events that answer a request for tokens alone. Raises what `prompt_of` raises."""
    ids = tokenizer.prompt_of(request, sys.maxsize)
    yield Step(tokenizer.decode(ids, keep_special=True), Round((), 0, 0, Origin.TARGET, Timing()))
    yield Finish(FinishReason.STOP, replace(no_stats(), context_length=context), tuple(ids))


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


def _well_formed(text: str) -> str:
    """Return `text` with surrogate pairs joined and lone surrogates replaced: UTF-8 has none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
