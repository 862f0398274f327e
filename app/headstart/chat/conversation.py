"""A chat, its conversation as a tree of message versions, and what a model and a title take from it."""

import re
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

Json = Mapping[str, object]  # plain JSON data
LONGEST_NAME = 40  # characters, of a tag or project
TITLE_COLUMNS = 48  # columns; a Chinese character takes two
_LEAD = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,9}[.)]\s+)+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"\*\*|__|~~|`+")
_TITLE = re.compile(r"^(?:title|标题|標題)\s*[:：]\s*", re.IGNORECASE)
_QUOTES = re.compile(r"^[\"'“”「『《]+|[\"'“”」』》]+[.。]?$")
_BACKTICKS = re.compile(r"`{3,}")
_GAP = "\n[…]\n"  # between two passages


class Role(StrEnum):
    """Who wrote a message. The system prompt is a setting of the chat, not a message."""

    USER = "user"
    ASSISTANT = "assistant"


class State(StrEnum):
    """How far a message came."""

    COMPLETE = "complete"
    STOPPED = "stopped"  # by the user
    STREAMING = "streaming"  # being written now
    INTERRUPTED = "interrupted"  # was being written when engine or program ended


class Run(NamedTuple):
    """A stretch of `characters` code points of a text and who proposed it: the value of an Origin of the engine."""

    characters: int
    origin: str


@dataclass(frozen=True)
class Attachment:
    """A file that goes with a message, as text."""

    name: str
    text: str


class Passage(NamedTuple):
    """Characters `start` to `end` of a file of the message with this id; `file` is its number there, from 0."""

    message: int
    file: int
    start: int
    end: int


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool in an answer, after so many characters of its text, and what came of it.

    `arguments` is a JSON object. `failed`: the result says why there is none, and perhaps that a person refused.
    """

    at: int
    name: str
    arguments: str
    result: str
    failed: bool = False


@dataclass(frozen=True)
class Message:
    """One version of one message. `id` is unique in its conversation and greater than `parent`."""

    id: int
    parent: int | None
    role: Role
    text: str
    created: float  # seconds since 1970, to the millisecond
    state: State = State.COMPLETE
    model: str = ""  # name of the model or pair that wrote it
    settings: Json = field(default_factory=dict)  # how it was generated
    stats: Json = field(default_factory=dict)  # what that cost and gave
    origins: tuple[Run, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    edited: bool = False  # a person wrote this version of an answer
    calls: tuple[ToolCall, ...] = ()  # of an answer, in their order
    passages: tuple[Passage, ...] = ()  # what the model gets of files too long for it, here or above

    @property
    def in_parts(self) -> frozenset[int]:
        """Numbers of its own files that the model gets in passages, and not whole."""
        return frozenset(passage.file for passage in self.passages if passage.message == self.id)


@dataclass(frozen=True)
class Outcome:
    """What an answer became: the whole text, also that from before a `resume`."""

    text: str
    state: State = State.COMPLETE
    origins: tuple[Run, ...] = ()
    stats: Json = field(default_factory=dict)
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class Chat:
    """A line of the sidebar. Times are seconds since 1970; `settings` are this chat's own, system prompt included."""

    id: str
    title: str
    created: float
    updated: float  # when a message was last written, edited or removed
    pinned: bool = False
    tags: tuple[str, ...] = ()  # by name
    archived: bool = False
    deleted: float | None = None  # when it was put in the bin
    draft: str = ""  # what stands unsent in the composer
    settings: Json = field(default_factory=dict)
    project: str = ""  # by name


@dataclass(frozen=True)
class Project:
    """A folder of chats. What a new chat in it begins with: settings, system prompt included, and files."""

    name: str
    settings: Json = field(default_factory=dict)
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True)
class Conversation:
    """Messages by id in the order of writing; children of one parent are versions of one place.

    `chosen` names the version shown below each parent (None: at the top). Every operation returns a new value, and what
    it adds is `last`; undoing is going back to the old value.
    """

    messages: Mapping[int, Message] = field(default_factory=dict)
    chosen: Mapping[int | None, int] = field(default_factory=dict)

    @cached_property
    def path(self) -> tuple[Message, ...]:
        """The messages shown, first to last."""
        shown: list[Message] = []
        parent: int | None = None
        while parent in self.chosen:
            parent = self.chosen[parent]
            shown.append(self.messages[parent])
        return tuple(shown)

    @property
    def last(self) -> Message | None:
        """The message shown at the end."""
        return self.path[-1] if self.path else None

    def upto(self, id_: int) -> tuple[Message, ...]:
        """From the first message to this one, whatever is shown."""
        found = [self.messages[id_]]
        while found[-1].parent is not None:
            found.append(self.messages[found[-1].parent])
        return tuple(reversed(found))

    def versions(self, id_: int) -> tuple[Message, ...]:
        """All versions of this message's place, itself included, oldest first."""
        return tuple(self.messages[sibling] for sibling in self._children[self.messages[id_].parent])

    def version(self, id_: int) -> tuple[int, int]:
        """(2, 3) for the second of three versions."""
        siblings = self._children[self.messages[id_].parent]
        return siblings.index(id_) + 1, len(siblings)

    def branch(self, id_: int) -> frozenset[int]:
        """Ids of this message and of all that follow it in any version."""
        found = {id_}
        for message in self.messages.values():  # parents come first
            if message.parent in found:
                found.add(message.id)
        return frozenset(found)

    @property
    def next_id(self) -> int:
        """The id of the message that comes next."""
        return max(self.messages, default=0) + 1

    def ask(
        self, text: str, attachments: Iterable[Attachment] = (), passages: Iterable[Passage] = ()
    ) -> "Conversation":
        """With a question at the end."""
        asked = self._new(Role.USER, text, self._last_id, attachments=tuple(attachments))
        return self._added(replace(asked, passages=tuple(passages)))

    def begin_answer(self, model: str = "", settings: Json | None = None) -> "Conversation":
        """With an empty answer at the end, to be filled by `write` and `finish`."""
        return self._begun(self._last_id, model, settings)

    def regenerate(self, id_: int, model: str = "", settings: Json | None = None) -> "Conversation":
        """With an empty new version of this answer, to be filled by `write` and `finish`."""
        assert self.messages[id_].role is Role.ASSISTANT, "only answers are generated"
        return self._begun(self.messages[id_].parent, model, settings)

    def resume(self, id_: int, *untrue: str) -> "Conversation":
        """With this answer being written again where it ended: the same version, because its text only grows.

        `untrue`: names of statistics that say how it had ended.
        """
        message = self.messages[id_]
        assert message.role is Role.ASSISTANT, "only answers are generated"
        stats = {name: value for name, value in message.stats.items() if name not in untrue}
        return self._replaced(replace(message, state=State.STREAMING, stats=stats)).show(id_)

    def write(self, id_: int, text: str, origins: Iterable[Run] = ()) -> "Conversation":
        """With the whole text so far of an answer being written."""
        message = self.messages[id_]
        assert message.state is State.STREAMING, "the answer is finished"
        return self._replaced(replace(message, text=text, origins=tuple(origins)))

    def finish(self, id_: int, outcome: Outcome) -> "Conversation":
        """With an answer that came to its end."""
        assert outcome.state is not State.STREAMING, "an end is not a state on the way"
        message = self.messages[id_]
        assert message.state is State.STREAMING, "the answer is finished"
        done = replace(message, text=outcome.text, state=outcome.state, origins=outcome.origins, stats=outcome.stats)
        return self._replaced(replace(done, calls=outcome.calls))

    def call(self, id_: int, call: ToolCall) -> "Conversation":
        """With one more call in an answer being written."""
        message = self.messages[id_]
        assert message.state is State.STREAMING, "the answer is finished"
        return self._replaced(replace(message, calls=(*message.calls, call)))

    def edit(
        self,
        id_: int,
        text: str,
        attachments: Iterable[Attachment] | None = None,
        passages: Iterable[Passage] = (),
    ) -> "Conversation":
        """With a version of this message in other words, and nothing after it; None keeps the attachments."""
        old = self.messages[id_]
        kept = old.attachments if attachments is None else tuple(attachments)
        new = self._new(old.role, text, old.parent, attachments=kept)
        written_by_model = old.role is Role.ASSISTANT
        new = replace(new, model=old.model, settings=old.settings, edited=written_by_model, passages=tuple(passages))
        return self._added(new)

    def show(self, id_: int) -> "Conversation":
        """Choosing this version and those that lead to it; what was chosen below it stays."""
        lead = {message.parent: message.id for message in self.upto(id_)}
        return replace(self, chosen={**self.chosen, **lead})

    def walk(self, id_: int, by: int) -> "Conversation":
        """Showing the version `by` steps from this one; the first and the last are ends."""
        siblings = self._children[self.messages[id_].parent]
        place = min(max(siblings.index(id_) + by, 0), len(siblings) - 1)
        return self.show(siblings[place])

    def fork(self, id_: int) -> "Conversation":
        """A conversation of its own that begins like this one up to this message, without other versions."""
        ids = {message.id: number for number, message in enumerate(self.upto(id_), start=1)}
        copies = [
            replace(
                message,
                id=ids[message.id],
                parent=ids[message.parent] if message.parent is not None else None,
                passages=tuple(
                    item._replace(message=ids[item.message]) for item in message.passages if item.message in ids
                ),
            )
            for message in self.upto(id_)
        ]
        return Conversation({copy.id: copy for copy in copies}, {copy.parent: copy.id for copy in copies})

    def remove(self, id_: int) -> "Conversation":
        """Without this message.

        If it is the only version of its place, what follows moves up. If there are other versions, what follows was
        said to this one and goes with it, and a neighbouring version is shown.
        """
        return self._lifted(id_) if len(self.versions(id_)) == 1 else self.remove_branch(id_)

    def remove_branch(self, id_: int) -> "Conversation":
        """Without this message and all that follows it; a neighbouring version is shown, if there is one."""
        gone = self.branch(id_)
        parent = self.messages[id_].parent
        chosen = {above: below for above, below in self.chosen.items() if above not in gone and below not in gone}
        siblings = self._children[parent]
        if parent not in chosen and len(siblings) > 1:
            place = siblings.index(id_)
            chosen[parent] = siblings[place - 1] if place else siblings[1]
        return Conversation({key: value for key, value in self.messages.items() if key not in gone}, chosen)

    @property
    def _last_id(self) -> int | None:
        return self.last.id if self.last else None

    @cached_property
    def _children(self) -> Mapping[int | None, tuple[int, ...]]:
        found: dict[int | None, tuple[int, ...]] = {}
        for message in self.messages.values():
            found[message.parent] = (*found.get(message.parent, ()), message.id)
        return found

    def _new(self, role: Role, text: str, parent: int | None, *, attachments: tuple[Attachment, ...] = ()) -> Message:
        return Message(self.next_id, parent, role, text, round(time.time(), 3), attachments=attachments)

    def _begun(self, parent: int | None, model: str, settings: Json | None) -> "Conversation":
        empty = self._new(Role.ASSISTANT, "", parent)
        return self._added(replace(empty, state=State.STREAMING, model=model, settings=settings or {}))

    def _added(self, message: Message) -> "Conversation":
        return Conversation({**self.messages, message.id: message}, self.chosen).show(message.id)

    def _replaced(self, message: Message) -> "Conversation":
        return replace(self, messages={**self.messages, message.id: message})

    def _lifted(self, id_: int) -> "Conversation":
        parent = self.messages[id_].parent
        kept = {
            key: replace(value, parent=parent) if value.parent == id_ else value
            for key, value in self.messages.items()
            if key != id_
        }
        chosen = {above: below for above, below in self.chosen.items() if above not in (parent, id_)}
        if id_ in self.chosen:
            chosen[parent] = self.chosen[id_]
        return Conversation(kept, chosen)


def extended(runs: tuple[Run, ...], characters: int, origin: str) -> tuple[Run, ...]:
    """Runs with one more stretch, joined to the last one where the origin is the same."""
    if not characters:
        return runs
    if runs and runs[-1].origin == origin:
        return (*runs[:-1], Run(runs[-1].characters + characters, origin))
    return (*runs, Run(characters, origin))


class Turn(NamedTuple):
    """One turn; `role` is "user", "assistant" or "tool". An assistant may end its turn with a call."""

    role: str
    content: str
    call: ToolCall | None = None


def turns(messages: Iterable[Message]) -> tuple[Turn, ...]:
    """The turns for these messages, attachments written out before their text.

    Neighbours of one role become one turn, because removing a message can bring them together and chat templates want
    roles that alternate; an answer without a word says nothing and is left out. Its calls come with their results.
    """
    found: list[Turn] = []
    known: dict[int, Message] = {}
    told: set[Passage] = set()
    for message in messages:
        known[message.id] = message
        new = [passage for passage in message.passages if passage not in told]
        told.update(new)
        for turn in _turns_of(message, _prompt_text(message, new, known)):
            if found and turn.role != "tool" and found[-1].role == turn.role and not found[-1].call:
                found[-1] = turn._replace(content=f"{found[-1].content}\n\n{turn.content}")
            else:
                found.append(turn)
    return tuple(found)


def _turns_of(message: Message, content: str) -> Iterator[Turn]:
    role, begun = message.role.value, 0
    for call in message.calls:
        yield Turn(role, content[begun : call.at].strip("\n"), call)
        yield Turn("tool", call.result)
        begun = call.at
    rest = content[begun:].lstrip("\n") if begun else content[begun:]
    if rest or message.role is Role.USER:
        yield Turn(role, rest)


def _prompt_text(message: Message, passages: Iterable[Passage], known: Mapping[int, Message]) -> str:
    """Files, each fenced under its name, passages of long ones, and the text. An imported file may be only a name."""
    files = enumerate(message.attachments)
    parts = [titled(file) for number, file in files if file.text and number not in message.in_parts]
    chosen: dict[Attachment, list[str]] = {}
    for passage in passages:
        file = file_of(passage, known)
        if file:
            chosen.setdefault(file, []).append(file.text[passage.start : passage.end])
    parts += [titled(Attachment(f"Passages of {file.name}", _GAP.join(texts))) for file, texts in chosen.items()]
    return "\n\n".join([*parts, message.text] if message.text else parts)


def file_of(passage: Passage, messages: Mapping[int, Message]) -> Attachment | None:
    """The file that a passage is of; None if it is gone."""
    files = messages[passage.message].attachments if passage.message in messages else ()
    return files[passage.file] if passage.file < len(files) else None


def titled(attachment: Attachment) -> str:
    """The text, fenced under its name."""
    return f"{attachment.name}:\n{fenced(attachment)}"


def fenced(attachment: Attachment) -> str:
    """The text between fences longer than any fence in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(attachment.text)), default=2)
    fence = "`" * (longest + 1)
    text = attachment.text if attachment.text.endswith("\n") else f"{attachment.text}\n"
    return f"{fence}\n{text}{fence}"


def propose_title(text: str) -> str:
    """The first line that says something, without Markdown and cut at a word; empty if no line does."""
    lines = (_plain(line) for line in text.splitlines() if not line.lstrip().startswith(("```", "~~~")))
    return next((_cut(line) for line in lines if any(character.isalnum() for character in line)), "")


def first_title(conversation: Conversation) -> str:
    """What a chat is called until somebody gives it another title."""
    first = conversation.path[0]
    return propose_title(first.text or ", ".join(file.name for file in first.attachments))


def title_of(answer: str, question: str) -> str:
    """The title in what a model answered when it was asked for one; "" if it holds none in the question's script."""
    title = propose_title(_QUOTES.sub("", _TITLE.sub("", _MARKS.sub("", answer).strip()))).rstrip("。.")
    letters = [letter for letter in question if letter.isalpha()]
    is_foreign = title.isascii() and sum(map(str.isascii, letters)) < len(letters) / 2
    return "" if is_foreign else title


def _plain(line: str) -> str:
    words = _MARKS.sub("", _LINK.sub(r"\1", _LEAD.sub("", line)))
    shown = "".join(character if character.isprintable() else " " for character in words)
    return " ".join(shown.split())


def _cut(line: str) -> str:
    if _columns(line) <= TITLE_COLUMNS:
        return line
    end, columns = 0, 1  # one column is for the ellipsis
    while columns + _columns(line[end]) <= TITLE_COLUMNS:
        columns += _columns(line[end])
        end += 1
    space = line.rfind(" ", 0, end + 1)
    return line[: space if space > end // 2 else end].rstrip(" ,;:.-") + "…"


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def kept_name(name: str) -> str:
    """The name of a tag or project as it is kept: one line, not too long."""
    return " ".join(storable(name).split())[:LONGEST_NAME].rstrip()


def storable(text: str) -> str:
    """`text` with halves of UTF-16 pairs joined, and those without their other half replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
