"""Conversations with calls, as clients of each route send them, and their prompts, written independently."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from tests.engine.text.family_templates import FAMILIES

TEMPLATE = FAMILIES["qwen-2.5"]
CITY = {"type": "object", "properties": {"at": {"type": "string"}}}
TOOLS = (("look", "Look around", CITY), ("time", "Tell the time", {"type": "object", "properties": {}}))
NO_RESULT = "There is no result of this call."
Call = tuple[str, str, dict[str, Any]]  # an id, the name of a tool, and arguments
Result = tuple[str, str]  # the id of a call, and a text


@dataclass(frozen=True)
class Turn:
    role: str
    texts: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = field(default=())  # as they are sent


def chat(turns: Sequence[Turn]) -> dict[str, Any]:
    messages = list[Any]()
    for turn in turns:
        message: dict[str, Any] = {"role": turn.role, "content": _parts(turn, "text")}
        if turn.calls:
            message["tool_calls"] = [
                {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for id_, name, arguments in turn.calls
            ]
        messages.append(message)
        messages += [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in turn.results]
    return {"messages": messages, "tools": _as_openai()}


def responses(turns: Sequence[Turn]) -> dict[str, Any]:
    items = list[Any]()
    for turn in turns:
        if turn.texts:
            kind = "output_text" if turn.role == "assistant" else "input_text"
            items.append({"role": turn.role, "content": _parts(turn, kind)})
        items += [
            {"type": "function_call", "call_id": id_, "name": name, "arguments": json.dumps(arguments)}
            for id_, name, arguments in turn.calls
        ]
        items += [{"type": "function_call_output", "call_id": id_, "output": text} for id_, text in turn.results]
    return {"input": items, "tools": [{"type": "function", **tool["function"]} for tool in _as_openai()]}


def messages(turns: Sequence[Turn]) -> dict[str, Any]:
    sent = list[Any]()
    for turn in turns:
        calls = [{"type": "tool_use", "id": id_, "name": name, "input": given} for id_, name, given in turn.calls]
        sent.append({"role": turn.role, "content": [*_parts(turn, "text"), *calls]})
        if turn.results:
            blocks = [{"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in turn.results]
            sent.append({"role": "user", "content": blocks})
    tools = [{"name": name, "description": about, "input_schema": form} for name, about, form in TOOLS]
    return {"messages": sent, "tools": tools, "max_tokens": 9}


def ollama(turns: Sequence[Turn]) -> dict[str, Any]:
    sent = list[Any]()
    for turn in turns:
        message: dict[str, Any] = {"role": turn.role, "content": "\n".join(turn.texts)}
        if turn.calls:
            message["tool_calls"] = [{"function": {"name": name, "arguments": given}} for _, name, given in turn.calls]
        names = {id_: name for id_, name, _ in turn.calls}
        sent.append(message)
        sent += [{"role": "tool", "tool_name": names.get(id_, id_), "content": text} for id_, text in turn.results]
    return {"messages": sent, "tools": _as_openai(), "stream": False}


ROUTES: dict[str, Callable[[Sequence[Turn]], dict[str, Any]]] = {
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
    "/v1/messages": messages,
    "/api/chat": ollama,
}


def _parts(turn: Turn, kind: str) -> list[dict[str, str]]:
    return [{"type": kind, "text": text} for text in turn.texts]


def _as_openai() -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": name, "description": about, "parameters": form}}
        for name, about, form in TOOLS
    ]


class Reference:
    """Prompts by jinja2 and the library `tokenizers`, as an independent reference."""

    def __init__(self, folder: Path) -> None:
        """`folder` has `tokenizer.json`."""
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        added = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]
        self._added = [token["content"] for token in added]
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = lambda data: json.dumps(data, ensure_ascii=False)
        self._template = environment.from_string(TEMPLATE)

    def prompt(self, turns: Sequence[Turn]) -> list[int]:
        """Return the tokens of the conversation. A text that spells a control token is text like any other."""
        rendered = self._template.render(
            messages=list(self._messages(turns)), tools=_as_openai(), add_generation_prompt=True
        )
        pieces = rendered.split(CUT)
        return [token for piece in pieces for token in self._tokenizer.encode(piece, add_special_tokens=False).ids]

    def _messages(self, turns: Sequence[Turn]) -> Any:
        for turn in turns:
            message = {"role": turn.role, "content": self._cut("\n".join(turn.texts))}
            if turn.calls:
                message["tool_calls"] = [
                    {"function": {"name": name, "arguments": self._cut(given)}} for _, name, given in turn.calls
                ]
            yield message
            results = dict(turn.results)
            for id_, _, _ in turn.calls if results or turn is not turns[-1] else ():
                yield {"role": "tool", "content": self._cut(results.get(id_, NO_RESULT))}

    def _cut(self, data: Any) -> Any:
        """Return JSON data with a cut inside each text of a control token; half characters are replaced."""
        if isinstance(data, dict):
            return {self._cut(key): self._cut(value) for key, value in data.items()}
        if isinstance(data, list):
            return [self._cut(item) for item in data]
        if not isinstance(data, str):
            return data
        text = data.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        for token in self._added:
            text = text.replace(token, token[0] + CUT + token[1:])
        return text


CUT = "\ue000"
