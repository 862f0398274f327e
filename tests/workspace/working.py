"""A scripted model that works on a folder, and the answers to its questions."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.files import folder_tasks
from headstart.engine.engine import Call, ConversationRequest, Message, written_call
from headstart.tools.loop import ToolResult
from headstart.workspace.tools import Proposal, Workspace
from tests.stand_ins.fakes import ScriptedEngine


def call(tool: str, /, **arguments: object) -> Call:
    return Call(tool, json.dumps(arguments))


def allow(_proposal: Proposal) -> bool:
    return True


def refuse(_proposal: Proposal) -> bool:
    return False


@dataclass
class Work:
    """The results of an answer, and its questions."""

    results: list[ToolResult] = field(default_factory=list)
    questions: list[Proposal] = field(default_factory=list)

    @property
    def failed(self) -> list[ToolResult]:
        return [result for result in self.results if result.failed]


def work(workspace: Workspace, calls: Sequence[Call], decide: Callable[[Proposal], bool] = allow) -> Work:
    """Let a model make these calls in one answer."""
    done = Work()

    def asked(proposal: Proposal) -> bool:
        done.questions.append(proposal)
        return decide(proposal)

    engine = ScriptedEngine([*map(written_call, calls), "Done."], context=1_000_000)
    for event in folder_tasks.work(engine, workspace, ConversationRequest((Message("user", "Do it."),)), asked):
        if not isinstance(event, str):
            done.results.append(event[1])
    return done


def tree(folder: Path) -> dict[str, bytes | str | None]:
    """Return everything below a folder: contents of files, targets of links, None for folders."""
    found = dict[str, bytes | str | None]()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found
