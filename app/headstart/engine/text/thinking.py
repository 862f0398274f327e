"""The section in which a model thinks before it answers: its marks, its text and its limit."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from headstart.engine.engine import Message, ThinkingSupport
from headstart.engine.sampling import Allowed, Constraint

# Unicode reserves this character for internal use. It marks a token of the model, which typed text cannot give.
_NONCHARACTER = "\ufdd1"


@dataclass(frozen=True)
class Marks:
    """The texts around a section, and the white space that the model writes beside them."""

    begins: str
    ends: str
    skips: str = ""  # begins an answer without a section
    after_begin: str = "\n"
    before_end: str = "\n"
    after_end: str = "\n\n"
    before_channel: str = ""  # ends a section where the answer names its channel, as one that calls a tool does

    @property
    def opening(self) -> str:
        return self.begins + self.after_begin

    @property
    def closing(self) -> str:
        return self.before_end + self.ends + self.after_end


THINK = Marks("<think>", "</think>")  # Qwen3, DeepSeek-R1, GLM, SmolLM3 and most others
_GEMMA = Marks("<|channel>thought\n", "<channel|>", "", "", "", "")
_HARMONY = Marks(  # gpt-oss
    "<|channel|>analysis<|message|>",
    "<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "",
    "",
    "",
    "<|end|><|start|>assistant",
)
_KNOWN = (
    THINK,
    _GEMMA,
    _HARMONY,
    Marks("<seed:think>", "</seed:think>"),
    Marks("[THINK]", "[/THINK]"),
    Marks("<thought>", "</thought>"),
    Marks("<thinking>", "</thinking>"),
    Marks("<reasoning>", "</reasoning>"),
)


def marks_of(template: str, added: Collection[str]) -> Marks | None:
    """Return the marks that a chat template or the added tokens of a vocabulary name; None if it has none."""
    named = (marks for marks in _KNOWN if marks.begins.strip() in template or marks.ends in template)
    spelled = (marks for marks in _KNOWN if {marks.begins, marks.ends} <= set(added))
    return next(named, None) or next(spelled, None)


@dataclass
class ThinkingReader:
    """Reader that separates thinking from the answer, piece by piece. `replace` copies it.

    Only a section at the beginning counts: marks that are quoted later are text like any other.
    """

    begins: str
    ends: str
    skips: str = ""
    names: Mapping[int, str] = field(default_factory=dict)  # of tokens in the marks, by id: a reader marks their texts
    has_channels: bool = False  # these tokens belong to the answer, too, and sections follow one another
    place: Literal["start", "thinking", "answer"] = "start"  # where reading is; a prompt may end inside a section
    pending: str = ""  # not certain yet: it may belong to a mark, or to the white space before one
    is_bare: bool = True  # nothing of this part was returned yet; white space is skipped there
    is_plain: bool = False  # the answer began without a mark
    tokens: int = 0  # pieces of the section and its end mark

    def resume(self) -> None:
        """Go on within the section, if it is open, or within the answer proper: white space and marks there count."""
        self.is_bare = False
        if self.place == "start":
            self.place = "answer"

    @property
    def is_thinking(self) -> bool:
        return self.place == "thinking"

    @property
    def has_answer(self) -> bool:
        """True once the answer proper has begun."""
        return self.place == "answer"

    def push(self, text: str, token: int = -1) -> tuple[str, str]:
        """Add a piece, the text that `token` completed. Return the thinking and the answer that are certain now."""
        if self.place == "answer" and not self.is_bare:
            return "", text
        if token in self.names:
            text = marked(text, self.names[token])
        self.pending += text
        thinking = ""
        self.tokens += self.place == "thinking"
        if self.place == "start":
            self._begin()
        if self.place == "thinking":
            thinking = self._take_thinking()
        return thinking, self._take_answer() if self.place == "answer" else ""

    def finish(self, text: str = "") -> tuple[str, str]:
        """Add the last piece, and return the rest."""
        thinking, answer = self.push(text) if text else ("", "")
        pending, self.pending = self._without_marks(self.pending), ""
        if self.place == "thinking":
            return thinking + pending.rstrip(), answer
        return thinking, answer + ("" if self.has_answer else pending)

    def _begin(self) -> None:
        rest = self.pending.lstrip()
        if rest.startswith(self.begins):
            self.place, self.pending = "thinking", rest[len(self.begins) :]
        elif rest.startswith(self.ends):  # of a section that the prompt opened in a form of its own
            self.place, self.pending = "answer", rest[len(self.ends) :]
        elif self.skips and rest.startswith(self.skips):
            self.place, self.pending = "answer", rest[len(self.skips) :]
        elif not any(mark.startswith(rest) for mark in (self.begins, self.ends, self.skips)):
            self.place, self.is_bare, self.is_plain = "answer", self.has_channels, True  # its white space stays
            self.pending = self.pending if self.has_channels else self._without_marks(self.pending)

    def _take_thinking(self) -> str:
        if self.is_bare:  # some models open a section again
            self.pending = self.pending.lstrip().removeprefix(self.begins).lstrip()
            if self.begins.startswith(self.pending):
                return ""
        thinking, mark, rest = self.pending.partition(self.ends)
        if mark:
            self.place, self.pending = "answer", rest
            thinking = thinking.rstrip()
        else:
            beginning = next((n for n in range(len(self.ends) - 1, 0, -1) if thinking.endswith(self.ends[:n])), 0)
            certain = thinking[: len(thinking) - beginning].rstrip()
            thinking, self.pending = certain, thinking[len(certain) :]
        self.is_bare = bool(mark) or (self.is_bare and not thinking)
        return self._without_marks(thinking)

    def _without_marks(self, text: str) -> str:
        for name in self.names.values() if _NONCHARACTER in text else ():
            text = text.replace(marked("", name), "")
        return text

    def _take_answer(self) -> str:
        answer = self.pending.lstrip() if self.is_bare else self.pending
        if self.has_channels and self.is_bare:
            if answer.startswith(self.begins):
                self.place, self.pending = "thinking", answer.removeprefix(self.begins)
                return ""
            if self.begins.startswith(answer):
                return ""
            answer = answer.replace(_NONCHARACTER, "")
        self.pending = "" if answer else self.pending
        self.is_bare = self.is_bare and not answer
        return answer


@dataclass(frozen=True)
class ThinkingTokens:
    """The marks of a model as its tokens give them."""

    marks: Marks
    support: ThinkingSupport
    names: Mapping[int, str]  # names of the added tokens in the marks, by id
    begin_ids: tuple[int, ...]
    end_ids: tuple[int, ...]
    skip_ids: tuple[int, ...]
    closing_ids: tuple[int, ...]  # the end mark with the white space before it
    decode: Callable[[int], str]  # text of one token, for marks without tokens of their own
    before_channel_ids: tuple[int, ...] = ()
    has_channels: bool = False  # the answer names its channel

    def with_channels(self) -> "ThinkingTokens":
        """Return the marks for an answer that may call tools: a section ends before the name of the next channel."""
        if not self.before_channel_ids:
            return self
        ends = self.before_channel_ids
        return replace(self, end_ids=ends, closing_ids=ends, skip_ids=(), has_channels=True)

    def reader(self, *, is_open: bool) -> ThinkingReader:
        begins, ends, skips = ("".join(map(self._text, ids)) for ids in (self.begin_ids, self.end_ids, self.skip_ids))
        return ThinkingReader(begins, ends, skips, self.names, self.has_channels, "thinking" if is_open else "start")

    def reader_of(self, messages: Sequence[Message], prompt: Sequence[int]) -> ThinkingReader:
        """Return the reader of the answer to a conversation, which continues the last message if that is an answer."""
        reader, last = self.reader(is_open=self.is_open(prompt)), messages[-1]
        if last.role == "assistant" and (last.content or last.thinking) and not last.calls:
            reader.resume()
        return reader

    def _text(self, token: int) -> str:
        return marked("", self.names[token]) if token in self.names else self.decode(token)

    def is_open(self, prompt: Sequence[int]) -> bool:
        """Return whether a prompt ends inside a section."""
        if not self.names:
            end = "".join(map(self.decode, prompt[-2 * len(self.begin_ids) - 2 :]))
            return end.rstrip().endswith(self.marks.begins.rstrip())
        return _last_place(prompt, self.begin_ids) > _last_place(prompt, self.end_ids)


def marked(text: str, name: str) -> str:
    """Return the text that a mark's token completed, with a noncharacter before the token's own name."""
    return f"{text.removesuffix(name)}{_NONCHARACTER}{name}"


def _last_place(ids: Sequence[int], part: tuple[int, ...]) -> int:
    """Return the place of the last occurrence of `part`, or -1."""
    size, first = len(part), part[0]
    places = (at for at in range(len(ids) - size, -1, -1) if ids[at] == first and tuple(ids[at : at + size]) == part)
    return next(places, -1)


class ThinkingConstraint:
    """The tokens that may come next in an answer with a section; see sampling.Constraint.

    Inside the section everything may follow. A budget ends it by its end mark. After it, `inner` constrains the answer.
    """

    def __init__(
        self,
        tokens: ThinkingTokens,
        inner: Constraint | None,
        width: int,
        stop_ids: Iterable[int],
        reader: ThinkingReader,
        budget: int | None = None,
    ) -> None:
        """Constrain one answer, which `reader` reads.

        `width`: the size of the vocabulary; `budget`: the most tokens of the section.
        """
        self._tokens, self._inner, self._width, self._budget = tokens, inner, width, budget
        self._stop_ids, self._reader = list(stop_ids), reader
        self._written: list[int] = []  # tokens so far, until the answer proper begins

    def allowed(self, run: Sequence[int]) -> Allowed | None:
        reader, written = self._reader, self._written
        if not reader.has_answer:
            reader, written = replace(reader), list(written)
            run = self._read(reader, written, run)
        if reader.has_answer:
            return None if self._inner is None else self._inner.allowed(run)
        if not reader.is_thinking:
            return self._beginning(written)
        return self._inside(reader, written)

    @property
    def is_cut(self) -> bool:
        return self._inner is not None and self._inner.is_cut

    def settle(self, token: int, run: Sequence[int], room: int) -> int:
        reader = self._reader
        if not reader.has_answer:
            reader = replace(reader)
            run = self._read(reader, list(self._written), run)
        return self._inner.settle(token, run, room) if self._inner and reader.has_answer else token

    def commit(self, token: int) -> None:
        if self._reader.has_answer:
            rest: Sequence[int] = [token]
        else:
            rest = self._read(self._reader, self._written, [token])
        if self._inner is not None:
            for each in rest:
                self._inner.commit(each)

    def _read(self, reader: ThinkingReader, written: list[int], run: Sequence[int]) -> Sequence[int]:
        """Read tokens until the answer proper begins. Return those that belong to it."""
        for place, token in enumerate(run):
            reader.push(self._tokens.decode(token), token)
            written.append(token)
            if reader.has_answer:
                return [*(written if reader.is_plain else ()), *run[place + 1 :]]
        return []

    def _beginning(self, written: list[int]) -> Allowed | None:
        """Return the allowed tokens while it is unknown whether the answer begins with thinking."""
        count = len(written)
        begun = [ids for ids in (self._tokens.begin_ids, self._tokens.skip_ids) if list(ids[:count]) == written]
        following = [ids[count] for ids in begun if len(ids) > count and not self._tokens.has_channels]
        # Every answer of gpt-oss begins with a mark. A mark begun with a token of its own is written to its end.
        if following and (self._tokens.skip_ids or (written and written[0] in self._tokens.names)):
            return self._only(following)
        allowed = None if self._inner is None else self._inner.allowed(written)
        if allowed is not None and following:
            allowed = allowed.copy()
            allowed[following] = True
        return allowed

    def _inside(self, reader: ThinkingReader, written: list[int]) -> Allowed | None:
        ends, closing = self._tokens.end_ids, self._tokens.closing_ids
        over = -1 if self._budget is None else reader.tokens - self._budget
        if 0 <= over < len(closing):
            return self._only([closing[over]])
        if len(ends) > 1 and ends[0] in self._tokens.names:  # once begun, the end mark is written to its end
            begun = next((n for n in range(len(ends) - 1, 0, -1) if tuple(written[-n:]) == ends[:n]), 0)
            if begun:
                return self._only([ends[begun]])
        if self._inner is None or not self._stop_ids:
            return None
        allowed = np.ones(self._width, np.bool_)
        allowed[self._stop_ids] = False  # the answer still has to come
        return allowed

    def _only(self, ids: list[int]) -> Allowed:
        allowed = np.zeros(self._width, np.bool_)
        allowed[ids] = True
        return allowed
