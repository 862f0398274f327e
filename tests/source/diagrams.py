"""`python -m tests.source.diagrams`: write app/docs/diagrams.md, three diagrams that are drawn from the sources.

The first has every import between the parts of the program. The walks of the others are listed here; that the functions
of a walk exist, where, and that each knows what leads on to the next one, is read from the sources.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.source.source_tree import ROOT, Module, modules

PAGE = ROOT / "app/docs/diagrams.md"
INTRODUCTION = """\
# Diagrams

`python -m tests.source.diagrams` draws this page from the sources; a test fails if it is stale.
[Architecture](architecture.md) has the map, the rules and the words.
"""
ROOMS_TEXT = """\
## Rooms

An arrow is an import. An arrow that follows from others is left out: where A imports B and B imports C, A may import C.
"""
ANSWER_TEXT = """\
## Life of a token

From the decoder to the window. A word at an arrow stands in both functions: a call, a signal, or what is handed on.
"""
ANSWER_WALK = """
Decoder._round --Round--> Decoder.run --run--> LocalEngine._decode --decode--> LocalEngine.generate
LocalEngine.generate --take--> AnswerWriter.take --step--> AnswerWriter._step
LocalEngine.generate --generate--> Host._generate --send--> Sender
Sender --report--> EngineProcess._read_reports --on_event--> EngineSession --take--> EngineLink._on_report
EngineLink._on_report --handle--> EngineLink._handle --steps--> EngineLink._flush --steps--> ChatSession._on_steps
ChatSession._on_steps --append--> ChatSession._append --text_appended--> ChatController._on_text_appended
ChatSession._append --grow--> LiveAnswer.grow
ChatController._on_text_appended --append--> MessageView.append --show--> DocumentWriter.show
"""
REQUEST_TEXT = """\
## Life of a request

A message of the window and a request to the local server meet in the engine.
"""
REQUEST_WALK = """
Composer.submit --submitted--> ComposerController --prepare--> ChatSession.prepare
ComposerController --count_for_sending--> TokenCounter.count_for_sending
ComposerController --send--> ChatSession.send --start--> ChatSession._start --generate--> EngineLink.generate
EngineLink.generate --Generate--> EngineSession.send
EngineSession.send --deliver--> EngineSession._deliver --send--> EngineProcess.send
EngineProcess.send --orders--> EngineProcess._write_orders
EngineProcess._write_orders --order--> Host.receive --Generate--> Host._generate --generate--> LocalEngine.generate
Guard --Guard--> application --chat--> Api.chat --chat_to_requests--> chat_to_requests
Api.chat --answer--> Api._answer --take--> Worker.take --enqueue--> Worker._enqueue
Worker._enqueue --QueuedRequest--> Worker._answer --follow--> Answer.follow
Answer.follow --generate--> SharedEngine.generate --QueuedRequest--> Host._write_queued --write--> QueuedRequest.write
QueuedRequest.write --generate--> LocalEngine.generate --decode--> LocalEngine._decode --run--> Decoder.run
LocalEngine._decode --sequence--> AnswerWriter.sequence
"""
IMPORT = re.compile(r"^ *((?:from|import) headstart(?:[^(\n]*\([^)]*\)|.*))", re.MULTILINE)
LINK = re.compile(r"\s*--(\w+)-->\s*")  # a line of a walk: NAME --WORD--> NAME --WORD--> NAME

Node = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Definition:
    """A class or function of a walk, and the words in it."""

    name: str
    path: str
    words: frozenset[str]


def page() -> str:
    """Return the page as it should be."""
    walks = (ANSWER_TEXT, flowchart_of(ANSWER_WALK), REQUEST_TEXT, flowchart_of(REQUEST_WALK))
    return "\n".join([INTRODUCTION, ROOMS_TEXT, _flowchart(rooms()), *walks])


def rooms() -> list[str]:
    """Return the arrows between the parts of both packages, without those that follow from others."""
    imported: dict[str, set[str]] = {}
    for module in sources():
        imported.setdefault(_room(module.name), set()).update(map(_room, _imports(module.text)))
    for room, others in imported.items():
        others.intersection_update(imported.keys() - {room, "headstart"})  # the package itself has the version alone
    reached = {room: set[str]() for room in imported}

    def reach(room: str) -> set[str]:
        if not reached[room]:
            reached[room] = imported[room].union(*map(reach, imported[room]))
        return reached[room]

    return [
        f"{room} --> {other}"
        for room in sorted(imported)
        for other in sorted(imported[room])
        if not any(other in reach(third) for third in imported[room] - {other})
    ]


def sources() -> Iterator[Module]:
    """Yield each file of both packages. To parse them all takes seconds."""
    yield from modules("headstart")
    yield from modules("headstart_export")


def _imports(text: str) -> Iterator[str]:
    """Yield the dotted names of our own modules that a file imports."""
    for statement in IMPORT.findall(text):
        (node,) = ast.parse(statement).body
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _room(name: str) -> str:
    package, _, rest = name.partition(".")
    return package if package == "headstart_export" or not rest else rest.partition(".")[0]


def flowchart_of(text: str) -> str:
    """Draw the walk that `text` lists. Raises AssertionError, with its words, for an arrow that the sources deny."""
    names: dict[str, Definition] = {}
    arrows = []
    for line in text.strip().splitlines():
        first, *rest = LINK.split(line)
        for word, second in zip(rest[::2], rest[1::2], strict=True):
            names[first], names[second] = definition(first), definition(second)
            assert _is_shared(word, names[first], names[second]), f"{first} --{word}--> {second} is not in the sources"
            arrows.append(f"{_id(first)} -- {word} --> {_id(second)}")
            first = second
    boxes = [f'{_id(name)}["{found.name}<br>{found.path}"]' for name, found in names.items()]
    return _flowchart([*boxes, *arrows])


@cache
def definition(name: str) -> Definition:
    """Find a class, a function or a method. Raises AssertionError if it is not there exactly once."""
    found = [
        Definition(name, module.path.relative_to(ROOT).as_posix().removeprefix("app/headstart/"), _words(node))
        for module in sources()
        if all(re.search(rf"(class|def) {part}\b", module.text) for part in name.split("."))
        for each, node in _named(module.tree)
        if each == name
    ]
    assert len(found) == 1, f"{name} is defined {len(found)} times: {[each.path for each in found]}"
    return found[0]


def _named(tree: ast.Module) -> Iterator[tuple[str, Node]]:
    for node in tree.body:
        if isinstance(node, Node):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, Node))


def _words(tree: ast.AST) -> frozenset[str]:
    nodes = tuple(ast.walk(tree))
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    attributes = [node.attr for node in nodes if isinstance(node, ast.Attribute)]
    return frozenset(map(_bare, [*names, *attributes]))


@cache
def statements(module: Module) -> tuple[frozenset[str], ...]:
    """Return the words of each call and of each assignment: they connect signals, and pass functions on."""
    return tuple(_words(node) for node in ast.walk(module.tree) if isinstance(node, ast.Expr | ast.Assign))


def _in_one_statement(*words: str) -> bool:
    return any(
        statement.issuperset(words)
        for module in sources()
        if all(word in module.text for word in words)
        for statement in statements(module)
    )


def _is_shared(word: str, first: Definition, second: Definition) -> bool:
    """Return whether `word` stands in both, or a statement, such as one that connects a signal, names it with one."""

    def knows(end: Definition) -> bool:
        own = _bare(end.name.rpartition(".")[2])
        return word == own or word in end.words or _in_one_statement(word, own)

    return knows(first) and knows(second)


def _bare(name: str) -> str:
    return name.lstrip("_")


def _id(name: str) -> str:
    return name.replace(".", "_")


def _flowchart(lines: list[str]) -> str:
    return "\n".join(["```mermaid", "flowchart TD", *(f"    {line}" for line in lines), "```", ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
