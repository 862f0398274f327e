"""Text to tokens and back for one model folder."""

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
    nothing,
    written_call,
)
from headstart.engine.runtime import openvino_genai
from headstart.errors import BrokenModelError, ChatTemplateError, ContextOverflowError, SettingsError
from headstart.library import vocabulary

_RENDERING = threading.Lock()  # a process has one timer to guard templates by
_LONGEST = 60.0  # seconds for one conversation; the longest that fit a context take less than one
# A character that Unicode reserves for a program's own use; no text should have it, and no harm is done if one does.
_SEAM = "\ufdd0"
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


class Seams:
    """Cuts every occurrence of some token texts after its first character.

    Encoded piece by piece, such a text cannot give these tokens, and the pieces still join to the same text.
    A token text of one character cannot be cut and is left alone.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        """`tokens` are the texts that must not be read as tokens."""
        self._tokens = frozenset(text for text in tokens if len(text) > 1)
        self._lengths = sorted({len(text) for text in self._tokens})
        self._beginnings = frozenset(text[0] for text in self._tokens)

    def mark(self, text: str, seam: str) -> str:
        """`text` with `seam` where it must be cut."""
        # One by one, because an occurrence may begin inside another; some models have thousands of such tokens.
        starts = [at for at, character in enumerate(text) if character in self._beginnings and self._at(text, at)]
        edges = [0, *(at + 1 for at in starts), len(text)]
        return seam.join(text[start:end] for start, end in itertools.pairwise(edges))

    def cut(self, text: str) -> list[str]:
        """The pieces of `text`, joined equal to it."""
        seam = unused_seam([text])
        return self.mark(text, seam).split(seam)

    def _at(self, text: str, start: int) -> bool:
        return any(text[start : start + length] in self._tokens for length in self._lengths)


class ChatTemplate:
    """Renders messages so that control tokens come from the template alone.

    The template runs in OpenVINO GenAI's own interpreter, which executes no Python and reads no files.
    """

    def __init__(self, native: Any, name: str, typed: Seams, generated: Seams) -> None:
        """`native` is a `openvino_genai.Tokenizer`, `name` what a user knows the model by.

        `typed` cuts what people wrote, `generated` what the model wrote: its own visible markers, such as those around
        its thoughts, are tokens again when its answer is read back.
        """
        self._native = native
        self._name = name
        self._typed = typed
        self._generated = generated

    def pieces(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), *, add_generation_prompt: bool = True
    ) -> list[str]:
        """The prompt, cut where a message contains the text of a control token: encode each piece by itself.

        Where an answer is the last message, the prompt ends with it, left open to be written on.
        Raises ChatTemplateError when there is no template, or it has no place for one of the messages.
        """
        begun = (
            add_generation_prompt and len(messages) > 1 and messages[-1].role == "assistant" and not messages[-1].calls
        )
        if (tools or any(message.calls or message.role == "tool" for message in messages)) and not self._knows_tools:
            messages, tools = without_tools(messages, tools), ()
        self._refuse_lost(messages)
        turns, offered = [_as_data(message) for message in messages], [_as_openai(tool) for tool in tools]
        seam = unused_seam([*_strings(turns), *_strings(offered)])
        turns = [_marked(turn, self._cut(turn["role"]), seam) for turn in turns]
        offered = _marked(offered, self._typed, seam)
        closed = len(turns) - begun
        prompt = self._render(turns[:closed], offered, add_generation_prompt=add_generation_prompt)
        return (prompt + turns[-1]["content"] if begun else prompt).split(seam)

    def _cut(self, role: str) -> Seams:
        return self._generated if role == "assistant" else self._typed

    @cached_property
    def _knows_tools(self) -> bool:
        """Whether it shows tools, their calls and their results, and the calls in the format that answers have."""
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

    def _refuse_lost(self, messages: Sequence[Message]) -> None:
        """Many templates leave out what they have no rule for; a probe with known contents shows it."""
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
        more = {"tools": tools} if tools else {}
        try:
            with _in_time():
                return str(
                    self._native.apply_chat_template(history, add_generation_prompt=add_generation_prompt, **more)
                )
        except RuntimeError as error:
            raise ChatTemplateError(
                "The chat template of {name} refused this conversation ({reason}); change the system "
                "prompt or the order of the messages, or start a new conversation.",
                name=self._name,
                reason=_reason(error),
            ) from None


def _as_data(message: Message) -> dict[str, Any]:
    """A message as a template reads it."""
    data: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        data["tool_calls"] = [
            {"type": "function", "function": {"name": call.name, "arguments": json.loads(_well_formed(call.arguments))}}
            for call in message.calls
        ]
    return data


def without_tools(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Message]:
    """The conversation for a template that knows no tools: they are named in the system prompt, as Hermes has it.

    Calls become part of their answer, and results what a user says.
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
    """The conversation, with more in its system prompt."""
    if turns and turns[0].role == "system":
        return [Message("system", f"{turns[0].content}\n\n{about}"), *turns[1:]]
    return [Message("system", about), *turns]


def _as_openai(tool: Tool) -> dict[str, Any]:
    """A tool as templates expect it."""
    about = {"description": tool.description} if tool.description else {}
    parameters = json.loads(_well_formed(tool.parameters))
    return {"type": "function", "function": {"name": tool.name, **about, "parameters": parameters}}


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)


def _marked(data: Any, seams: Seams, seam: str) -> Any:
    """JSON data with `seam` wherever a string in it must be cut."""
    match data:
        case str():
            return seams.mark(_well_formed(data), seam)
        case list():
            return [_marked(each, seams, seam) for each in data]
        case dict():
            return {seams.mark(_well_formed(key), seam): _marked(each, seams, seam) for key, each in data.items()}
        case _:
            return data


def _strings(data: Any) -> Iterator[str]:
    """Every string in JSON data."""
    match data:
        case str():
            yield data
        case list():
            for each in data:
                yield from _strings(each)
        case dict():
            for key, each in data.items():
                yield key
                yield from _strings(each)


@contextmanager
def _in_time() -> Iterator[None]:
    """Native code cannot be interrupted: a template that does not end takes its process with it."""
    with _RENDERING:
        faulthandler.dump_traceback_later(_LONGEST, exit=True, file=2)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def _reason(error: RuntimeError) -> str:
    """The template's own words out of GenAI's several lines."""
    found = re.search(r"Minja's error: (.+?)(?: at row \d+|$)", str(error), re.MULTILINE)
    return found.group(1) if found else str(error).strip().splitlines()[-1]


def markers(added: Iterable[str], special: Iterable[str]) -> frozenset[str]:
    """The added tokens that a writer must not get by typing their text: all but plain words and white space.

    Some tokenizers keep runs of spaces or newlines as added tokens; these control nothing.
    """
    return frozenset(special) | {text for text in added if not _WORD.fullmatch(text)}


def unused_seam(texts: Sequence[str]) -> str:
    """A string that occurs in none of the texts, nor across a border with itself."""
    longest = max((len(run) for text in texts for run in re.findall(f"{_SEAM}+", text)), default=0)
    return _SEAM * (longest + 1)


# Tokens before the text in front of a gap, before the text behind it, and before what fills it.
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
        """Load and try. Raises BrokenModelError when a file is missing or damaged, or text does not survive."""
        self.folder = folder
        reading = vocabulary.reading(folder)
        self._typed = Seams(markers(reading.added, reading.control))
        self._composes = reading.composes
        self._added = reading.added
        self._native = _load(folder)
        self._starts_with_space = False
        self._beginning: list[int] = []  # what the model expects before any text
        try:
            self._try_out(folder)
        except RuntimeError as error:  # OpenVINO has no other kind
            raise _broken(folder, error) from None
        self._template = ChatTemplate(self._native, folder.name, self._typed, Seams(reading.control))

    def encode(self, text: str) -> list[int]:
        """The tokens of a plain text; the name of a control token in it is text like any other."""
        return self._encode_pieces(self._typed.cut(_well_formed(text)))

    def prompt(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), *, add_generation_prompt: bool = True
    ) -> list[int]:
        """The tokens of a conversation in the model's chat format, ready for the answer.

        Raises ChatTemplateError when there is no template, or it has no place for one of the messages.
        """
        plain = [replace(message, content=_well_formed(message.content)) for message in messages]
        return self._encode_pieces(self._template.pieces(plain, tools, add_generation_prompt=add_generation_prompt))

    def raw_prompt(self, text: str, *, add_special: bool = True) -> list[int]:
        """The tokens of a text to be written on as it is, control tokens in it included.

        `add_special`: begun as the model expects.
        """
        ids = self._parse(_well_formed(text))
        return ids if not add_special or ids[: len(self._beginning)] == self._beginning else [*self._beginning, *ids]

    def infill_prompt(self, prefix: str, suffix: str) -> list[int]:
        """The tokens of a gap in a text, ready for what fills it. Raises SettingsError where the model has no marks."""
        marks = next((marks for marks in _INFILL if self._added.issuperset(marks)), None)
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
        ends = self._added.intersection([*_INFILL_ENDS, *itertools.chain.from_iterable(_INFILL)])
        return frozenset(token for text in ends for token in self._parse(text))

    def prompt_of(self, request: Request, room: int) -> list[int]:
        """The tokens that a request asks to be continued.

        Raises ContextOverflowError where `room` tokens hold no answer to them, SettingsError for tokens or a gap that
        the model does not know, and what `prompt` raises.
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
        """The text of some tokens, U+FFFD for bytes that are no character; special tokens only if asked for."""
        return str(self._native.decode(list(ids), skip_special_tokens=not keep_special))

    def decode_many(self, batch: list[list[int]]) -> list[str]:
        """The texts of several token sequences, much faster than one by one."""
        return list(self._native.decode(batch, skip_special_tokens=True))

    def _encode_pieces(self, pieces: Sequence[str]) -> list[int]:
        """Pieces of one text, each encoded by itself; control tokens in a piece are read as such."""
        ids = self._parse(pieces[0])
        for piece in pieces[1:]:
            ids += self._parse_further(piece)
        return ids

    def _parse(self, text: str, *, as_document: bool = False) -> list[int]:
        if self._composes:  # OpenVINO does so only where few marks stand on one letter
            text = unicodedata.normalize("NFC", text)
        ids: list[int] = self._native.encode(text, add_special_tokens=as_document).input_ids.data[0].tolist()
        return ids

    def _parse_further(self, text: str) -> list[int]:
        """Tokens of a text that continues another: without the space some tokenizers put before a beginning."""
        if not self._starts_with_space:
            return self._parse(text)
        for anchor in _ANCHORS:
            head, ids = self._parse(anchor), self._parse(anchor + text)
            if ids[: len(head)] == head:
                return ids[len(head) :]
        return self._parse(text)

    def _try_out(self, folder: Path) -> None:
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
    """The events that a request for tokens alone is answered with. Raises what `prompt_of` raises."""
    ids = tokenizer.prompt_of(request, sys.maxsize)
    yield Step(tokenizer.decode(ids, keep_special=True), Round((), 0, 0, Origin.TARGET, Timing()))
    yield Finish(FinishReason.STOP, replace(nothing(), context_length=context), tuple(ids))


def _load(folder: Path) -> Any:
    # GenAI loads a folder without these and fails at the first use.
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
    """`text` with halves of surrogate pairs joined, or replaced where one stands alone: UTF-8 has none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
