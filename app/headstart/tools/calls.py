"""Calls of tools in the text of an answer, as far as it has come."""

import re
import secrets
from dataclasses import dataclass

from headstart.engine.engine import CALL_BEGINS

_HEAD = re.compile(r'\s*\{"name": "([^"]*)", "arguments": ')
_BLOCK = "```json\n"  # models that are bad at the format put the JSON of a call in one


@dataclass(frozen=True)
class CallPart:
    """Some of a call: its name at first, then its arguments in pieces."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class CallReader:
    """Takes an answer in pieces and tells the text apart from the calls.

    The grammar of the answer has made sure that calls have their format; see engine.grammar.
    """

    bare: bool = True  # the answer may begin with the JSON of a call
    calls: int = 0
    _held: str = ""  # what may belong to a mark that is not whole yet
    _place: str = "start"
    _depth: int = 0
    _quoted: bool = False
    _escaped: bool = False

    def push(self, piece: str) -> tuple[str, list[CallPart]]:
        """The text and the parts of calls that are certain now."""
        self._held += piece
        text, parts = "", list[CallPart]()
        while True:
            before = self._place, self._held
            match self._place:
                case "start":
                    self._begin()
                case "text":
                    text += self._take_text()
                case "head":
                    parts += self._take_head()
                case "arguments":
                    parts += self._take_arguments()
            if before == (self._place, self._held):
                return text, parts

    def flush(self) -> str:
        """The rest of the text, once the answer has ended."""
        held, self._held = self._held, ""
        return held if self._place != "arguments" and not self.calls else ""

    def _begin(self) -> None:
        """An answer may begin with a call that has no mark."""
        stripped = self._held.lstrip()
        if self.bare and stripped.startswith(("{", f"{_BLOCK}{{")):
            self._held, self._place = stripped.removeprefix(_BLOCK), "head"
        elif not self.bare or (stripped and not f"{_BLOCK}{{".startswith(stripped)):
            self._place = "text"

    def _take_text(self) -> str:
        text, mark, rest = self._held.partition(CALL_BEGINS)
        if mark:
            self._held, self._place = rest, "head"
        else:
            kept = next((n for n in range(len(CALL_BEGINS) - 1, 0, -1) if text.endswith(CALL_BEGINS[:n])), 0)
            text, self._held = text[: len(text) - kept], text[len(text) - kept :]
        return "" if self.calls else text  # between calls stands nothing but marks

    def _take_head(self) -> list[CallPart]:
        found = _HEAD.match(self._held)
        if found is None:
            return []
        self._held, self._place = self._held[found.end() :], "arguments"
        self.calls += 1
        return [CallPart(self.calls - 1, f"call_{secrets.token_hex(12)}", found.group(1))]

    def _take_arguments(self) -> list[CallPart]:
        """Up to the end of the JSON object."""
        for at, character in enumerate(self._held):
            self._count(character)
            if not self._depth and not self._quoted:
                arguments, self._held, self._place = self._held[: at + 1], self._held[at + 1 :], "text"
                return [CallPart(self.calls - 1, arguments=arguments)]
        arguments, self._held = self._held, ""
        return [CallPart(self.calls - 1, arguments=arguments)] if arguments else []

    def _count(self, character: str) -> None:
        if self._escaped:
            self._escaped = False
        elif self._quoted:
            self._escaped, self._quoted = character == "\\", character != '"'
        elif character == '"':
            self._quoted = True
        else:
            self._depth += (character in "{[") - (character in "}]")
