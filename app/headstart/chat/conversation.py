"""A chat, its conversation as a tree of message versions, and the turns and the title made of it."""

import re
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

Json = Mapping[str, object]  # plain JSON data
LONGEST_NAME = 40  # characters of a tag or project
TITLE_COLUMNS = 48  # a Chinese character takes two
_LEAD = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,9}[.)]\s+)+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"\*\*|__|~~|`+")
_TITLE = re.compile(r"^(?:title|标题|標題)\s*[:：]\s*", re.IGNORECASE)
_QUOTES = re.compile(r"^[\"'“”「『《]+|[\"'“”」』》]+[.。]?$")
HEAD_OF_SHEET = re.compile(r"^# .+\n\n(?P<columns>.+ \| .+)$", re.MULTILINE)  # of a spreadsheet as text
TABLE_ENDINGS = (".csv", ".tsv")  # of files whose first line has the names of the columns
_BACKTICKS = re.compile(r"`{3,}")
_GAP = "\n[…]\n"  # between two passages of a file
_LEAD_OF_EXCERPTS = "Passages of my files that may help. Say which file you use."


class Role(StrEnum):
    """The author of a message. The system prompt is a setting of the chat, not a message."""

    USER = "user"
    ASSISTANT = "assistant"


class State(StrEnum):
    """The progress of a message."""

    COMPLETE = "complete"
    STOPPED = "stopped"  # by you
    STREAMING = "streaming"  # in progress
    INTERRUPTED = "interrupted"  # engine or program ended before the message was complete


class Run(NamedTuple):
    """A stretch of `characters` code points of a text, and its origin: a value of the engine's Origin."""

    characters: int
    origin: str


@dataclass(frozen=True)
class Attachment:
    """A file that goes with a message, as text."""

    name: str
    text: str


BETWEEN_HEADINGS = " › "


class Excerpt(NamedTuple):
    """A passage of a file in a folder of the chat's project, as it was when the question was asked."""

    path: str  # of the file; empty if it was on another computer
    name: str  # its path in the folder, with the folder's name
    page: int  # from 1; 0 if the file has no pages
    line: int  # from 1; 0 if the file has no lines
    text: str
    heading: str = ""  # those that the passage stands under; of a table, the names of its columns

    @property
    def title(self) -> str:
        """The file's name and the place in it."""
        place = f", page {self.page}" if self.page else f", line {self.line}" if self.line else ""
        return f"{self.name}{place}"

    @property
    def label(self) -> str:
        """The title as a model reads it: with the headings, if the passage does not begin with the last of them."""
        last = self.heading.rpartition(BETWEEN_HEADINGS)[2]
        return self.title if self.text.lstrip("# ").startswith(last) else f"{self.title} ({self.heading})"


class Passage(NamedTuple):
    """Characters `start` to `end` of a file. `message` is the id of its message; `file` is its number there, from 0."""

    message: int
    file: int
    start: int
    end: int


@dataclass(frozen=True)
class ToolCall:
    at: int  # number of characters of the answer before the call
    name: str
    arguments: str  # a JSON object
    result: str
    failed: bool = False  # the result says why there is none; for instance, you refused the call
    thought_at: int = 0  # number of characters of the thinking before the call


@dataclass(frozen=True)
class ChatMessage:
    """One version of one message. `id` is unique in its conversation and greater than `parent`."""

    id: int
    parent: int | None
    role: Role
    text: str
    created: float  # seconds since 1970, to the millisecond
    state: State = State.COMPLETE
    model: str = ""  # name of the model or pair that wrote it
    settings: Json = field(default_factory=dict)  # of the generation
    stats: Json = field(default_factory=dict)  # speed and cost of the generation
    origins: tuple[Run, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    edited: bool = False  # you wrote this version of an answer
    calls: tuple[ToolCall, ...] = ()  # of an answer, in order
    passages: tuple[Passage, ...] = ()  # of files too long for the model, in this message or before it
    excerpts: tuple[Excerpt, ...] = ()  # of files in the folders of the project, found for this question
    searched: str = ""  # what was looked for in these folders; empty if nothing was
    thinking: str = ""  # of a model, before its text; `origins` and `calls` do not count it

    @property
    def in_parts(self) -> frozenset[int]:
        """Numbers of this message's files that the model gets as passages instead of whole."""
        return frozenset(passage.file for passage in self.passages if passage.message == self.id)


@dataclass(frozen=True)
class Edit:
    """A new version of a message that is not sent yet."""

    text: str
    files: tuple[Attachment, ...] = ()
    is_open: bool = True  # in the composer, whenever the chat is open


@dataclass(frozen=True)
class AnswerOutcome:
    """The result of an answer: its whole text, including the text before a `resume`."""

    text: str
    state: State = State.COMPLETE
    origins: tuple[Run, ...] = ()
    stats: Json = field(default_factory=dict)
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""


@dataclass(frozen=True)
class Chat:
    """A line of the sidebar. Times are in seconds since 1970; `settings` are the chat's own, with the system prompt."""

    id: str
    title: str
    created: float
    updated: float  # time of the last change to a message
    pinned: bool = False
    tags: tuple[str, ...] = ()  # names
    archived: bool = False
    deleted: float | None = None  # time at which it was put in the bin
    draft: str = ""  # unsent text in the composer
    settings: Json = field(default_factory=dict)
    project: str = ""  # name
    source: str = field(default="", compare=False)  # program and id of an imported chat; not stored


@dataclass(frozen=True)
class Project:
    """A folder of chats. A new chat in it begins with its settings, its system prompt and its files."""

    name: str
    settings: Json = field(default_factory=dict)
    files: tuple[Attachment, ...] = ()
    folders: tuple[str, ...] = ()  # paths on this computer, whose files are searched for each question


@dataclass(frozen=True)
class Conversation:
    """Messages by id in the order of writing. Children of one parent are versions of one place.

    `chosen` has the version shown below each parent (None: at the top). Every operation returns a new value, in which
    the added message is `last`; to undo is to return to the old value.
    """

    messages: Mapping[int, ChatMessage] = field(default_factory=dict)
    chosen: Mapping[int | None, int] = field(default_factory=dict)

    @cached_property
    def path(self) -> tuple[ChatMessage, ...]:
        """The messages shown, from first to last."""
        shown: list[ChatMessage] = []
        parent: int | None = None
        while parent in self.chosen:
            parent = self.chosen[parent]
            shown.append(self.messages[parent])
        return tuple(shown)

    @property
    def last(self) -> ChatMessage | None:
        """The last message shown; None if there is none."""
        return self.path[-1] if self.path else None

    def path_to(self, id_: int) -> tuple[ChatMessage, ...]:
        """Return the messages from the first to this one, whether they are shown or not."""
        path = [self.messages[id_]]
        while path[-1].parent is not None:
            path.append(self.messages[path[-1].parent])
        return tuple(reversed(path))

    def versions(self, id_: int) -> tuple[ChatMessage, ...]:
        """Return all versions of this message's place, with itself, oldest first."""
        return tuple(self.messages[sibling] for sibling in self._children[self.messages[id_].parent])

    def version(self, id_: int) -> tuple[int, int]:
        """Return the number of this version and how many there are: (2, 3) is the second of three."""
        siblings = self._children[self.messages[id_].parent]
        return siblings.index(id_) + 1, len(siblings)

    def branch(self, id_: int) -> frozenset[int]:
        """Return the ids of this message and of all messages below it, in any version."""
        ids = {id_}
        for message in self.messages.values():  # parents come first
            if message.parent in ids:
                ids.add(message.id)
        return frozenset(ids)

    @property
    def next_id(self) -> int:
        return max(self.messages, default=0) + 1

    def ask(
        self,
        text: str,
        attachments: Iterable[Attachment] = (),
        passages: Iterable[Passage] = (),
        excerpts: Iterable[Excerpt] = (),
        searched: str = "",
    ) -> "Conversation":
        """Add a question at the end."""
        question = self._new(Role.USER, text, self._last_id, attachments=tuple(attachments))
        found = replace(question, passages=tuple(passages), excerpts=tuple(excerpts), searched=searched)
        return self._with_added(found)

    def begin_answer(self, model: str = "", settings: Json | None = None) -> "Conversation":
        """Add an empty answer at the end, to be filled by `write` and `finish`."""
        return self._begin_answer(self._last_id, model, settings)

    def regenerate(self, id_: int, model: str = "", settings: Json | None = None) -> "Conversation":
        """Add an empty version of this answer, to be filled by `write` and `finish`."""
        assert self.messages[id_].role is Role.ASSISTANT, "only answers are generated"
        return self._begin_answer(self.messages[id_].parent, model, settings)

    def resume(self, id_: int, *untrue: str) -> "Conversation":
        """Continue an answer at its end. It stays the same version, because its text only grows.

        `untrue` names statistics that describe the old end.
        """
        message = self.messages[id_]
        assert message.role is Role.ASSISTANT, "only answers are generated"
        stats = {name: value for name, value in message.stats.items() if name not in untrue}
        return self._with_replaced(replace(message, state=State.STREAMING, stats=stats)).show(id_)

    def write(self, id_: int, text: str, origins: Iterable[Run] = (), thinking: str = "") -> "Conversation":
        """Set the whole text and thinking so far of an answer in progress."""
        message = self.messages[id_]
        assert message.state is State.STREAMING, "the answer is finished"
        return self._with_replaced(replace(message, text=text, origins=tuple(origins), thinking=thinking))

    def finish(self, id_: int, outcome: AnswerOutcome) -> "Conversation":
        assert outcome.state is not State.STREAMING, "an end is not a state on the way"
        message = self.messages[id_]
        assert message.state is State.STREAMING, "the answer is finished"
        finished = replace(
            message, text=outcome.text, state=outcome.state, origins=outcome.origins, stats=outcome.stats
        )
        return self._with_replaced(replace(finished, calls=outcome.calls, thinking=outcome.thinking))

    def call(self, id_: int, call: ToolCall) -> "Conversation":
        """Add a call to an answer in progress."""
        message = self.messages[id_]
        assert message.state is State.STREAMING, "the answer is finished"
        return self._with_replaced(replace(message, calls=(*message.calls, call)))

    def edit(
        self,
        id_: int,
        text: str,
        attachments: Iterable[Attachment] | None = None,
        passages: Iterable[Passage] = (),
        excerpts: Iterable[Excerpt] = (),
        searched: str = "",
    ) -> "Conversation":
        """Add a version of this message with another text and the same thinking, and nothing below it.

        None keeps the attachments.
        """
        old = self.messages[id_]
        files = old.attachments if attachments is None else tuple(attachments)
        new = self._new(old.role, text, old.parent, attachments=files)
        written_by_model = old.role is Role.ASSISTANT
        new = replace(new, model=old.model, settings=old.settings, edited=written_by_model, thinking=old.thinking)
        found = replace(new, passages=tuple(passages), excerpts=tuple(excerpts), searched=searched)
        return self._with_added(found)

    def questions_and_answers(self, before: int | None = None) -> tuple[tuple[str, str], ...]:
        """Return the questions above a message, or all that are shown, each with its answer."""
        path = self.path if before is None else self.path_to(before)[:-1]
        return tuple(
            (question.text, answer.text)
            for question, answer in pairwise(path)
            if question.role is Role.USER and answer.role is Role.ASSISTANT
        )

    def show(self, id_: int) -> "Conversation":
        """Choose this version and the versions above it. The choices below it stay."""
        lead = {message.parent: message.id for message in self.path_to(id_)}
        return replace(self, chosen={**self.chosen, **lead})

    def switch_version(self, id_: int, by: int) -> "Conversation":
        """Show the version `by` steps from this one; stop at the first and the last."""
        siblings = self._children[self.messages[id_].parent]
        place = min(max(siblings.index(id_) + by, 0), len(siblings) - 1)
        return self.show(siblings[place])

    def fork(self, id_: int) -> "Conversation":
        """Return a conversation of its own with the messages up to this one, without other versions."""
        ids = {message.id: number for number, message in enumerate(self.path_to(id_), start=1)}
        copies = [
            replace(
                message,
                id=ids[message.id],
                parent=ids[message.parent] if message.parent is not None else None,
                passages=tuple(
                    item._replace(message=ids[item.message]) for item in message.passages if item.message in ids
                ),
            )
            for message in self.path_to(id_)
        ]
        return Conversation({copy.id: copy for copy in copies}, {copy.parent: copy.id for copy in copies})

    def remove(self, id_: int) -> "Conversation":
        """Remove this message.

        If it is the only version of its place, the messages below move up. Otherwise they answer this version and go
        with it, and a neighbouring version is shown.
        """
        return self._with_lifted(id_) if len(self.versions(id_)) == 1 else self.remove_branch(id_)

    def remove_branch(self, id_: int) -> "Conversation":
        """Remove this message and all below it, and show a neighbouring version, if there is one."""
        removed = self.branch(id_)
        parent = self.messages[id_].parent
        chosen = {above: below for above, below in self.chosen.items() if above not in removed and below not in removed}
        siblings = self._children[parent]
        if parent not in chosen and len(siblings) > 1:
            place = siblings.index(id_)
            chosen[parent] = siblings[place - 1] if place else siblings[1]
        return Conversation({key: value for key, value in self.messages.items() if key not in removed}, chosen)

    @property
    def _last_id(self) -> int | None:
        return self.last.id if self.last else None

    @cached_property
    def _children(self) -> Mapping[int | None, tuple[int, ...]]:
        children: dict[int | None, tuple[int, ...]] = {}
        for message in self.messages.values():
            children[message.parent] = (*children.get(message.parent, ()), message.id)
        return children

    def _new(
        self, role: Role, text: str, parent: int | None, *, attachments: tuple[Attachment, ...] = ()
    ) -> ChatMessage:
        return ChatMessage(self.next_id, parent, role, text, round(time.time(), 3), attachments=attachments)

    def _begin_answer(self, parent: int | None, model: str, settings: Json | None) -> "Conversation":
        empty = self._new(Role.ASSISTANT, "", parent)
        return self._with_added(replace(empty, state=State.STREAMING, model=model, settings=settings or {}))

    def _with_added(self, message: ChatMessage) -> "Conversation":
        return Conversation({**self.messages, message.id: message}, self.chosen).show(message.id)

    def _with_replaced(self, message: ChatMessage) -> "Conversation":
        return replace(self, messages={**self.messages, message.id: message})

    def _with_lifted(self, id_: int) -> "Conversation":
        parent = self.messages[id_].parent
        messages = {
            key: replace(value, parent=parent) if value.parent == id_ else value
            for key, value in self.messages.items()
            if key != id_
        }
        chosen = {above: below for above, below in self.chosen.items() if above not in (parent, id_)}
        if id_ in self.chosen:
            chosen[parent] = self.chosen[id_]
        return Conversation(messages, chosen)


def extended(runs: tuple[Run, ...], characters: int, origin: str) -> tuple[Run, ...]:
    """Return `runs` with one more stretch, joined to the last one if the origin is the same."""
    if not characters:
        return runs
    if runs and runs[-1].origin == origin:
        return (*runs[:-1], Run(runs[-1].characters + characters, origin))
    return (*runs, Run(characters, origin))


class Turn(NamedTuple):
    """One turn for a model; `role` is "user", "assistant" or "tool". An assistant may end its turn with a call."""

    role: str
    content: str
    call: ToolCall | None = None
    thinking: str = ""


def turns(messages: Iterable[ChatMessage]) -> tuple[Turn, ...]:
    """Return the turns of these messages. Attachments stand before the text of their message.

    Neighbours of one role become one turn, because removing a message can bring them together and chat templates need
    roles that alternate. Empty answers are left out. Calls come with their results.
    """
    result: list[Turn] = []
    messages_by_id: dict[int, ChatMessage] = {}
    shown: set[Passage | Excerpt] = set()
    for message in messages:
        messages_by_id[message.id] = message
        new = [passage for passage in message.passages if passage not in shown]
        excerpts = [excerpt for excerpt in message.excerpts if excerpt not in shown]
        shown.update(new, excerpts)
        for turn in _turns_of(message, _prompt_text(message, new, excerpts, messages_by_id)):
            if result and turn.role != "tool" and result[-1].role == turn.role and not result[-1].call:
                content = "\n\n".join(filter(None, (result[-1].content, turn.content)))
                result[-1] = turn._replace(content=content, thinking=turn.thinking or result[-1].thinking)
            else:
                result.append(turn)
    return tuple(result)


def _turns_of(message: ChatMessage, content: str) -> Iterator[Turn]:
    role, start, thought = message.role.value, 0, 0
    for call in message.calls:
        yield Turn(
            role, content[start : call.at].strip("\n"), call, message.thinking[thought : call.thought_at].strip("\n")
        )
        yield Turn("tool", call.result)
        start, thought = call.at, call.thought_at
    rest = content[start:].lstrip("\n") if start else content[start:]
    thinking = message.thinking[thought:].lstrip("\n") if thought else message.thinking
    if rest or thinking or message.role is Role.USER:
        yield Turn(role, rest, thinking=thinking)


def _prompt_text(
    message: ChatMessage,
    passages: Iterable[Passage],
    excerpts: Sequence[Excerpt],
    messages_by_id: Mapping[int, ChatMessage],
) -> str:
    """Return the files in fences under their names, the passages of long files and of folders, and the text.

    An imported file may have only a name.
    """
    files = enumerate(message.attachments)
    parts = [titled(file) for number, file in files if file.text and number not in message.in_parts]
    chosen: dict[Attachment, list[str]] = {}
    for passage in passages:
        file = file_of(passage, messages_by_id)
        if file:
            texts, head = chosen.setdefault(file, []), _head_of_table(file, passage.start)
            if head and not any(text.startswith(head) for text in texts):
                texts.append(head)
            texts.append(file.text[passage.start : passage.end])
    parts += [titled(Attachment(f"Passages of {file.name}", _GAP.join(texts))) for file, texts in chosen.items()]
    parts += [_LEAD_OF_EXCERPTS] if excerpts else []
    parts += [titled(Attachment(excerpt.label, excerpt.text)) for excerpt in excerpts]
    return "\n\n".join([*parts, message.text] if message.text else parts)


def _head_of_table(file: Attachment, start: int) -> str:
    """Return the names of the columns above a passage of a table; of a spreadsheet, with the name of the sheet."""
    if file.name.lower().endswith(TABLE_ENDINGS):
        return file.text.partition("\n")[0] if start else ""
    heads = [] if file.text.startswith("# ", start) else [*HEAD_OF_SHEET.finditer(file.text, 0, start)]
    is_above = bool(heads) and heads[-1].start() > file.text.rfind("\n# ", 0, start)  # not of a sheet before
    return heads[-1][0] if is_above else ""


def file_of(passage: Passage, messages: Mapping[int, ChatMessage]) -> Attachment | None:
    """Return the file of a passage; None if it is gone."""
    files = messages[passage.message].attachments if passage.message in messages else ()
    return files[passage.file] if passage.file < len(files) else None


def titled(attachment: Attachment) -> str:
    """Return the text in a fence under its name."""
    return f"{attachment.name}:\n{fenced(attachment)}"


def fenced(attachment: Attachment) -> str:
    """Return the text in a fence that is longer than any fence in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(attachment.text)), default=2)
    fence = "`" * (longest + 1)
    text = attachment.text if attachment.text.endswith("\n") else f"{attachment.text}\n"
    return f"{fence}\n{text}{fence}"


def propose_title(text: str) -> str:
    """Return the first line with a letter or digit, without Markdown and cut at a word; empty if there is none."""
    lines = (_plain(line) for line in text.splitlines() if not line.lstrip().startswith(("```", "~~~")))
    return next((_cut(line) for line in lines if any(character.isalnum() for character in line)), "")


def first_title(conversation: Conversation) -> str:
    """Return the first title of a chat, from its first message or the names of the files in it."""
    first = conversation.path[0]
    return propose_title(first.text or ", ".join(file.name for file in first.attachments))


def title_of(answer: str, question: str) -> str:
    """Return the title in a model's answer; empty if there is none in the question's script."""
    lines = _TITLE.sub("", _MARKS.sub("", answer).strip()).splitlines()
    text = "\n".join(line for line in lines if not line.rstrip().endswith((":", "：")))  # "Here is a title:"
    title = propose_title(_QUOTES.sub("", text.strip())).rstrip("。.")
    letters = [letter for letter in question if letter.isalpha()]
    is_foreign = title.isascii() and sum(map(str.isascii, letters)) < len(letters) / 2
    return "" if is_foreign else title


def _plain(line: str) -> str:
    words = _MARKS.sub("", _LINK.sub(r"\1", _LEAD.sub("", line)))
    printable = "".join(character if character.isprintable() else " " for character in words)
    return " ".join(printable.split())


def _cut(line: str) -> str:
    if _columns(line) <= TITLE_COLUMNS:
        return line
    end, columns = 0, 1  # one column for the ellipsis
    while columns + _columns(line[end]) <= TITLE_COLUMNS:
        columns += _columns(line[end])
        end += 1
    space = line.rfind(" ", 0, end + 1)
    return line[: space if space > end // 2 else end].rstrip(" ,;:.-") + "…"


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def clean_name(name: str) -> str:
    """Return the name of a tag or project as it is stored: on one line, and not too long."""
    return " ".join(storable(name).split())[:LONGEST_NAME].rstrip()


def storable(text: str) -> str:
    """Join surrogate pairs, and replace lone surrogates."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
