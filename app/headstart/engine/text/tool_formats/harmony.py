"""Calls of gpt-oss: `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{...}<|call|>`.

An answer consists of parts, each in a channel: `final` and `commentary` are text, without their headers.
"""

from collections.abc import Sequence

from headstart.engine.engine import Tool
from headstart.engine.text.tool_formats.form import CallFormat, Found, call_of, expect_one, read_object, read_until

_START, _CHANNEL, _CONSTRAIN, _MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
_END, _CALL = "<|end|>", "<|call|>"
_TURN = f"{_START}assistant"
_RECIPIENT = "to=functions."  # before the channel or after it


def _read(text: str, tools: Sequence[Tool]) -> Found:
    mark, at = expect_one(text, 0, (_CHANNEL, _RECIPIENT, _TURN, _END, _CALL))
    if mark in (_END, _CALL):
        return Found((), at, is_last=mark == _CALL)
    if mark == _TURN:
        mark, at = expect_one(text, at, (_CHANNEL, _RECIPIENT))
    name = ""
    if mark == _RECIPIENT:
        name, at = _name(text, at, tools)
        _, at = expect_one(text, at, (_CHANNEL,))
    channel, at = expect_one(text, at, ("final", "commentary", "analysis"))
    while mark != _MESSAGE:
        mark, at = expect_one(text, at, (_MESSAGE, _CONSTRAIN, "json", "code", _RECIPIENT))
        if mark == _RECIPIENT:
            name, at = _name(text, at, tools)
    if name:
        arguments, at = read_object(text, at)
        return Found((call_of(name, arguments),), at)
    if channel == "analysis":  # the model thinks again
        _, at = read_until(text, at, _END)
    return Found((), at)


def _name(text: str, at: int, tools: Sequence[Tool]) -> tuple[str, int]:
    written, at = expect_one(text, at, [tool.name + end for tool in tools for end in (" ", "<|")])
    end = " " if written.endswith(" ") else "<|"
    return written.removesuffix(end), at - len(end)


FORMAT = CallFormat(
    "gpt-oss",
    (_CHANNEL, _TURN, _END, _CALL, _RECIPIENT),
    _read,
    inner=(_START, _CONSTRAIN, _MESSAGE),
)
