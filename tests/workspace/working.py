"""A scripted model that works on a folder, and somebody who answers its questions."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Call, Message, Request, Step, written_call
from headstart.tools.loop import Result, ToolLoop, offering, unknown
from headstart.workspace.tools import MAX_CALLS, Proposal, Workspace
from tests.fakes import ScriptedEngine


def call(tool: str, /, **arguments: object) -> Call:
    return Call(tool, json.dumps(arguments))


def allow(_proposal: Proposal) -> bool:
    return True


def refuse(_proposal: Proposal) -> bool:
    return False


@dataclass
class Work:
    """The results of an answer, and the questions that it asked."""

    results: list[Result] = field(default_factory=list)
    questions: list[Proposal] = field(default_factory=list)

    @property
    def failed(self) -> list[Result]:
        return [result for result in self.results if result.failed]


def work(workspace: Workspace, calls: Sequence[Call], decide: Callable[[Proposal], bool] = allow) -> Work:
    """Let a model make these calls in one answer, by the loop that every answer has."""
    engine = ScriptedEngine([*map(written_call, calls), "Done."], context=1_000_000)
    loop = ToolLoop(offering(Request((Message("user", "Do it."),)), workspace.tools), max_calls=MAX_CALLS)
    done, cancel = Work(), CancelEvent()
    workspace.record.begin_answer()
    while True:
        for event in engine.generate(loop.request):
            if isinstance(event, Step):
                loop.take(event)
        _, made = loop.end()
        if made is None:
            return done
        result = _result(workspace, made, decide, cancel, done) if workspace.has(made.name) else unknown(made)
        done.results.append(result)
        loop.give(made, result)


def _result(
    workspace: Workspace, made: Call, decide: Callable[[Proposal], bool], cancel: CancelEvent, done: Work
) -> Result:
    proposal = workspace.propose(made)
    if isinstance(proposal, Result):
        return proposal
    if proposal.needs_question:
        done.questions.append(proposal)
        if not decide(proposal):
            return workspace.refuse(proposal)
    return workspace.run(proposal, cancel)


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
