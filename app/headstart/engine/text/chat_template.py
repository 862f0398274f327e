"""The chat template of a model: a conversation in the form that the model was trained on."""

import faulthandler
import itertools
import json
import logging
import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

from headstart.engine.engine import Call, Message, ThinkingSupport, Tool, written_call
from headstart.engine.text import jinja
from headstart.engine.text.thinking import marks_of
from headstart.engine.text.tool_formats.form import CallFormat
from headstart.engine.text.tool_formats.registry import format_of
from headstart.errors import ChatTemplateError

_log = logging.getLogger(__name__)
_RENDERING = threading.Lock()  # a process has only one such timer
_MAX_RENDER_S = 60.0  # for one conversation, if none of the template's own limits ends it
# Unicode reserves this character for internal use. It does no harm if a text has it all the same.
_NONCHARACTER = "\ufdd0"
_WORD = re.compile(r"[\w\s▁]*")
_PROBE = "headstart_probe"
_PROBE_ARGUMENTS, _PROBE_RESULT = '{"a": "b"}', f"{_PROBE} result"
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
ABOUT_RESULTS = (
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

    Jinja's sandbox runs the template; it executes no Python and reads no files.
    """

    def __init__(
        self,
        name: str,
        added: Iterable[str],
        control: Iterable[str],
        sources: Mapping[str, str],
        tokens: Mapping[str, str],
    ) -> None:
        """Prepare the templates of a model.

        `name` is the model's name in errors; `added` and `control` are added tokens of its vocabulary; `sources` and
        `tokens` are what `jinja.read_sources` returns.
        """
        self._name = name
        self._sources = sources
        self._tokens = tokens
        self.marks = marks_of(sources.get(jinja.DEFAULT, ""), frozenset(added))
        # Templates look for the marks in earlier answers. What only quotes them must not be taken for a section.
        spelled = (self.marks.begins.strip(), self.marks.ends) if self.marks else ()
        self._escaper = SpecialTokenEscaper({*markers(added, control), *spelled})

    def pieces(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        add_generation_prompt: bool = True,
        thinking: bool | None = None,
        effort: str = "",
        own_calls: bool = True,
    ) -> list[str]:
        """Return the prompt, split where a message contains a control token's text. Encode each piece by itself.

        If the last message is an answer, the prompt ends inside it, so that it is continued. Raises
        ChatTemplateError without a template, if the template has no place for a message, or if the model cannot think
        as asked. `own_calls`: calls may have a format of the template's own, not that of Hermes.
        """
        is_continued = (
            add_generation_prompt and len(messages) > 1 and messages[-1].role == "assistant" and not messages[-1].calls
        )
        messages = [self._with_parts_joined(message) for message in messages]
        separator = unused_separator([*_strings(_data(messages)), *_strings([_as_openai(tool) for tool in tools])])
        messages = [self._escaped(message, separator) for message in messages]
        offered = [_escaped(_as_openai(tool), self._escaper, separator) for tool in tools]
        needs_tools = tools or any(message.calls or message.role == "tool" for message in messages)
        if needs_tools and not (self._supports_tools or (own_calls and self.tool_format)):
            messages, offered = without_tools(messages, offered), []
        messages = self._arranged(messages, offered)
        if thinking is None and effort and self.support and self.support.can_switch:
            thinking = True
        values = self._values(thinking, effort)
        closed = messages[: len(messages) - is_continued]
        prompt = self._render(closed, offered, add_generation_prompt=add_generation_prompt, values=values)
        if add_generation_prompt:
            prompt += self._beginning(prompt, messages[-1] if is_continued else None, thinking)
        return prompt.split(separator)

    def _with_parts_joined(self, message: Message) -> Message:
        content = self._between_parts.join(message.parts) if message.parts else message.content
        return replace(message, content=content, parts=())

    @cached_property
    def _between_parts(self) -> str:
        """The blanks that the template puts between the texts of a message; a line break if it takes one text alone."""
        parts = [{"type": "text", "text": f"headstart{number}probe"} for number in range(2)]
        try:
            prompt = self._rendered([{"role": "user", "content": parts}], [], add_generation_prompt=False)
        except ChatTemplateError:
            return "\n"
        first, *others = prompt.partition(parts[0]["text"])[2].partition(parts[1]["text"])
        return first if any(others) and not first.strip() else "\n"

    @cached_property
    def support(self) -> ThinkingSupport | None:
        """The abilities of the model to think; None if it does not think."""
        if self.marks is None or jinja.DEFAULT not in self._sources:
            return None
        try:
            on, off, default = (self._probe(self._values(value, "")) for value in (True, False, None))
            low, high = (self._probe(self._values(None, effort)) for effort in ("low", "high"))
        except ChatTemplateError as error:
            _log.warning("It is not known how %s is asked to think (%s).", self._name, _reason(error))
            return None
        can_switch, takes_effort = on != off, low != high
        by_default = default == on if can_switch else self._ends_in_section(default)
        return ThinkingSupport(by_default or takes_effort, can_switch, takes_effort)

    def _probe(self, values: Mapping[str, Any]) -> str:
        return self._render([Message("user", "?")], [], add_generation_prompt=True, values=values)

    def _values(self, thinking: bool | None, effort: str) -> dict[str, Any]:
        """Return the values by which templates switch thinking."""
        switch = {} if thinking is None else {"enable_thinking": thinking, "thinking": thinking}
        return switch | ({"reasoning_effort": effort} if effort else {})

    def _ends_in_section(self, prompt: str) -> bool:
        """Return whether a prompt ends within an open thinking section."""
        return self.marks is not None and prompt.rstrip().endswith(self.marks.begins.rstrip())

    def _beginning(self, prompt: str, continued: Message | None, thinking: bool | None) -> str:
        """Return the prefilled beginning of the answer: an empty thinking section, or the text to be continued."""
        marks, is_open, text = self.marks, self._ends_in_section(prompt), continued.content if continued else ""
        if continued and continued.thinking and marks:
            opening = "" if is_open else marks.opening
            return f"{opening}{continued.thinking}{marks.closing if text else ''}{text}"
        if thinking and not (self.support and (self.support.can_switch or self.support.by_default)):
            raise ChatTemplateError("{name} has no switch for thinking: leave the choice to it.", name=self._name)
        if marks and self.support and thinking is False and marks.skips:
            raise ChatTemplateError(
                "{name} always thinks before it answers: ask for less of it, with the effort `low`.", name=self._name
            )
        return (marks.closing if marks and is_open and (text or thinking is False) else "") + text

    def _arranged(self, messages: Sequence[Message], tools: list[dict[str, Any]]) -> Sequence[Message]:
        """Return the conversation in a form that the template supports. Raises ChatTemplateError if there is none.

        System messages stand at the front, or in the turn of the user; turns of one role in a row are joined.
        """
        refusal = None
        for arrange in (_unchanged, _calls_apart, _joined, _system_in_turns, _without_system):
            arranged = arrange(messages)
            try:
                self._check_roles(arranged, tools)
            except ChatTemplateError as error:
                refusal = refusal or error
            else:
                return arranged
        assert refusal
        raise refusal

    @cached_property
    def tool_format(self) -> CallFormat | None:
        """The format of calls that the template uses instead of that of Hermes; None if that is not a known one."""
        rendered = self._rendered_tools
        if not rendered or self._supports_tools or _PROBE_RESULT not in rendered or f"{_PROBE} does" not in rendered:
            return None
        found = format_of(rendered, Tool(_PROBE, "{}"), _PROBE_ARGUMENTS)
        if found is None:
            _log.warning(
                "The chat template of %s writes calls in a format that is not known: the system prompt lists the "
                "tools, and asks for calls in the format of Hermes.",
                self._name,
            )
        return found

    @cached_property
    def _supports_tools(self) -> bool:
        """True if it shows tools, their calls and results, and calls in the format that answers have."""
        call = written_call(Call(_PROBE, _PROBE_ARGUMENTS))
        return all(text in self._rendered_tools for text in (call, f"{_PROBE} does", _PROBE_RESULT))

    @cached_property
    def _rendered_tools(self) -> str:
        """A tool, a call of it and its result; empty if the template has no place for them."""
        call, tool = Call(_PROBE, _PROBE_ARGUMENTS), _as_openai(Tool(_PROBE, "{}", f"{_PROBE} does"))
        turns = [Message("user", "?"), Message("assistant", "", (call,)), Message("tool", _PROBE_RESULT)]
        try:
            return self._render(turns, [tool], add_generation_prompt=True)
        except ChatTemplateError as error:
            _log.warning(
                "The chat template of %s has no place for tools (%s): the system prompt lists them.",
                self._name,
                _reason(error),
            )
            return ""

    @cached_property
    def _takes_parts(self) -> bool:
        """True if the template reads only lists of parts, as some templates of vision models do."""
        return not self._shows_content(as_parts=False) and self._shows_content(as_parts=True)

    def _shows_content(self, *, as_parts: bool) -> bool:
        history = _data([Message("user", _PROBE)], as_parts=as_parts)
        try:
            return _PROBE in self._rendered(history, [], add_generation_prompt=False)
        except ChatTemplateError:
            return False

    def _check_roles(self, messages: Sequence[Message], tools: list[dict[str, Any]]) -> None:
        """Raise ChatTemplateError if the template drops a message.

        Many templates leave out a message that they have no rule for; a probe with known contents shows it.
        """
        if jinja.DEFAULT not in self._sources:
            raise ChatTemplateError(
                "{name} has no chat template, so it cannot hold a conversation; export the instruct or "
                "chat version of this model.",
                name=self._name,
            )
        probes = [f"headstart{index}probe" for index in range(len(messages))]
        turns = [_probe_message(message, probe) for message, probe in zip(messages, probes, strict=True)]
        rendered = self._render(turns, tools, add_generation_prompt=False)
        for message, turn, probe in zip(messages, turns, probes, strict=True):
            shown = [call.name for call in turn.calls] or [probe]
            if not all(text in rendered for text in shown) or not message.role.isidentifier():
                raise ChatTemplateError(
                    'The chat template of {name} has no place for a message of role "{role}" here; leave it '
                    "out, or use the roles system, user and assistant in their usual order.",
                    name=self._name,
                    role=message.role,
                )

    def _escaped(self, message: Message, separator: str) -> Message:
        """Return a message with `separator` wherever its texts must be split."""
        content, thinking = (_escaped(text, self._escaper, separator) for text in (message.content, message.thinking))
        calls = tuple(
            Call(
                _escaped(call.name, self._escaper, separator),
                _json(_escaped(json.loads(well_formed(call.arguments)), self._escaper, separator)),
            )
            for call in message.calls
        )
        return replace(message, content=content, thinking=thinking, calls=calls)

    def _render(
        self,
        messages: Sequence[Message],
        tools: list[dict[str, Any]],
        *,
        add_generation_prompt: bool,
        values: Mapping[str, Any] | None = None,
    ) -> str:
        history = _data(messages, as_parts=self._takes_parts)
        return self._rendered(history, tools, add_generation_prompt=add_generation_prompt, values=values)

    def _rendered(
        self,
        history: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        *,
        add_generation_prompt: bool,
        values: Mapping[str, Any] | None = None,
    ) -> str:
        given = {**self._tokens, "documents": None, "add_generation_prompt": add_generation_prompt, **(values or {})}
        template = self._compiled[jinja.FOR_TOOLS if tools and jinja.FOR_TOOLS in self._compiled else jinja.DEFAULT]
        try:
            with _time_limit():
                return template.render(messages=history, tools=tools or None, **given)
        except jinja.RenderError as error:
            raise ChatTemplateError(
                "The chat template of {name} refused this conversation ({reason}); change the system "
                "prompt or the order of the messages, or start a new conversation.",
                name=self._name,
                reason=str(error),
            ) from None

    @cached_property
    def _compiled(self) -> dict[str, jinja.Template]:
        try:
            with _time_limit():
                return {
                    name: jinja.Template(self._sources[name])
                    for name in (jinja.DEFAULT, jinja.FOR_TOOLS)
                    if name in self._sources
                }
        except jinja.RenderError as error:
            raise ChatTemplateError(
                "The chat template of {name} cannot be used ({reason}); choose another version of the model.",
                name=self._name,
                reason=str(error),
            ) from None


def _reason(error: ChatTemplateError) -> object:
    return error.text.values["reason"]


def _unchanged(messages: Sequence[Message]) -> Sequence[Message]:
    return messages


def _probe_message(message: Message, probe: str) -> Message:
    """Return a copy of a message that is easy to find in a rendered conversation.

    It has no content if it has calls and had no content, as many templates show only the calls then.
    """
    calls = tuple(replace(call, name=f"{probe}{number}") for number, call in enumerate(message.calls))
    return replace(message, content=probe if message.content or not calls else "", calls=calls, thinking="")


def _calls_apart(messages: Sequence[Message]) -> Sequence[Message]:
    """Make one turn for each call and its result, for templates that allow one call in a turn."""
    turns, waiting = list[Message](), deque[Message]()
    for message in messages:
        if message.role != "tool":
            turns += waiting
            waiting.clear()
        elif waiting and turns[-1].role == "tool":
            turns.append(waiting.popleft())
        first, *others = [replace(message, calls=(call,)) for call in message.calls] or [message]
        turns.append(first)
        waiting.extend(replace(other, content="", thinking="") for other in others)
    return [*turns, *waiting]


def _joined(messages: Sequence[Message]) -> Sequence[Message]:
    """Join neighbours of one role, except results of tools."""
    turns = list[Message]()
    for message in messages:
        last = turns[-1] if turns else None
        if last and last.role == message.role and message.role != "tool" and not last.calls:
            content = "\n\n".join(filter(None, (last.content, message.content)))
            turns[-1] = replace(message, content=content, thinking=last.thinking or message.thinking)
        else:
            turns.append(message)
    return turns


def _system_in_turns(messages: Sequence[Message]) -> Sequence[Message]:
    """Keep the system messages at the front, and turn later ones into turns of the user."""
    begun = list(itertools.takewhile(lambda message: message.role == "system", messages))
    return _joined([*begun, *(_as_user(message) for message in messages[len(begun) :])])


def _without_system(messages: Sequence[Message]) -> Sequence[Message]:
    """Turn all system messages into turns of the user."""
    return _joined([_as_user(message) for message in messages])


def _as_user(message: Message) -> Message:
    return replace(message, role="user") if message.role == "system" else message


def _data(messages: Sequence[Message], *, as_parts: bool = False) -> list[dict[str, Any]]:
    """Return a conversation as templates read it, with contents as texts or as lists of parts.

    Results have the ids and names of their calls, in order.
    """
    data = [_as_data(message, as_parts=as_parts) for message in messages]
    numbers, open_calls = itertools.count(), deque[dict[str, Any]]()
    for turn in data:
        for call in turn.get("tool_calls", ()):
            call["id"] = f"call{next(numbers):05}"  # Mistral requires nine characters
            open_calls.append(call)
        if turn["role"] == "tool" and open_calls:
            call = open_calls.popleft()
            turn |= {"tool_call_id": call["id"], "name": call["function"]["name"]}
    return data


def _as_data(message: Message, *, as_parts: bool) -> dict[str, Any]:
    content = [{"type": "text", "text": message.content}] if as_parts else message.content
    data: dict[str, Any] = {"role": message.role, "content": content}
    if message.thinking:
        data["reasoning_content"] = message.thinking
        if not (message.calls and message.content):  # gpt-oss takes one of them beside a call
            data["thinking"] = message.thinking
    if message.calls:
        data["tool_calls"] = [
            {"type": "function", "function": {"name": call.name, "arguments": json.loads(well_formed(call.arguments))}}
            for call in message.calls
        ]
    return data


def without_tools(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the conversation for a template without tools: the system prompt lists them, as Hermes does.

    Calls become a part of their answer, and results become a message of the user.
    """
    turns = list[Message]()
    for message in messages:
        text = "\n".join([message.content] * bool(message.content) + [written_call(call) for call in message.calls])
        if message.role != "tool":
            turns.append(replace(message, content=text, calls=()))
            continue
        result = f"<tool_response>\n{message.content}\n</tool_response>"
        if turns and turns[-1].content.endswith("</tool_response>") and turns[-1].role == "user":
            turns[-1] = replace(turns[-1], content=f"{turns[-1].content}\n{result}")
        else:
            turns.append(Message("user", result))
    about = _ABOUT_TOOLS.format(tools="\n".join(map(_json, tools)))
    return with_system(turns, about) if tools else turns


def with_system(turns: Sequence[Message], about: str) -> list[Message]:
    """Return the conversation with `about` added to its system prompt."""
    if turns and turns[0].role == "system":
        return [Message("system", f"{turns[0].content}\n\n{about}"), *turns[1:]]
    return [Message("system", about), *turns]


def _as_openai(tool: Tool) -> dict[str, Any]:
    about = {"description": tool.description} if tool.description else {}
    parameters = json.loads(well_formed(tool.parameters))
    return {"type": "function", "function": {"name": tool.name, **about, "parameters": parameters}}


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)


def _escaped(data: Any, escaper: SpecialTokenEscaper, separator: str) -> Any:
    """Return JSON data with `separator` wherever a string in it must be split."""
    match data:
        case str():
            return escaper.insert_separators(well_formed(data), separator)
        case list():
            return [_escaped(item, escaper, separator) for item in data]
        case dict():
            return {
                escaper.insert_separators(well_formed(key), separator): _escaped(item, escaper, separator)
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
    """End the process if one step of a template does not end: nothing else can interrupt it."""
    with _RENDERING:
        faulthandler.dump_traceback_later(_MAX_RENDER_S, exit=True, file=2)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def markers(added: Iterable[str], special: Iterable[str]) -> frozenset[str]:
    """Return the added tokens that must not come from typed text: all except plain words and white space.

    Some tokenizers have runs of spaces or newlines as added tokens; these control nothing.
    """
    return frozenset(special) | {text for text in added if not _WORD.fullmatch(text)}


def unused_separator(texts: Sequence[str]) -> str:
    """Return a string that occurs in none of the texts, nor across a border with itself."""
    longest = max((len(run) for text in texts for run in re.findall(f"{_NONCHARACTER}+", text)), default=0)
    return _NONCHARACTER * (longest + 1)


def well_formed(text: str) -> str:
    """Return `text` with surrogate pairs joined and lone surrogates replaced: UTF-8 has none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
