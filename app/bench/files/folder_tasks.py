"""Thirty tasks on small folders, done by a model with guessing on and off: how many, and whether by the same actions.

`python app/bench/files/folder_tasks.py --model NAME` prints a line for each task. Commands run only where bubblewrap
works.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Call, ConversationRequest, Engine, Message, Mode, Sampling, Speculation, Step
from headstart.tools import calls as tool_calls
from headstart.tools.loop import ToolLoop, ToolResult, offering, unknown
from headstart.workspace.tools import MAX_CALLS, Proposal, Workspace

_ADD = "def add(a, b):\n    return a - b\n"
_TEST = """import unittest
from calc import add


class Test(unittest.TestCase):
    def test(self):
        self.assertEqual(add(1, 2), 3)
"""
_RUN_TEST = "python3 -m unittest -q test_calc"
_NOTES = "Anna, 3 apples\nBen, 5 pears\nCleo, 2 plums\n"
Files = Mapping[str, str]


@dataclass(frozen=True)
class Task:
    """One task: the request, the files before, a perfect model's calls, and the files or words after."""

    prompt: str
    files: Files
    calls: tuple[Call, ...]
    after: Mapping[str, str | None]  # None: the file is gone
    answer: str = "Done."  # has these words


def _call(tool: str, /, **arguments: object) -> Call:
    return Call(tool, json.dumps(arguments))


def _edit(path: str, old: str, new: str, **more: object) -> Call:
    return _call("edit_file", path=path, old=old, new=new, **more)


def _read(path: str) -> Call:
    return _call("read_file", path=path)


def _write(path: str, content: str) -> Call:
    return _call("write_file", path=path, content=content)


def _move(source: str, target: str) -> Call:
    return _call("move_file", source=source, target=target)


def _run(command: str) -> Call:
    return _call("run_command", command=command)


_LIST = _call("list_files")

TASKS = (
    Task("Add the line Butter at the end of shopping.txt.", {"shopping.txt": "Milk\nBread\n"},
         (_read("shopping.txt"), _edit("shopping.txt", "Bread\n", "Bread\nButter\n")),
         {"shopping.txt": "Milk\nBread\nButter\n"}),
    Task("Change Mlik to Milk in shopping.txt.", {"shopping.txt": "Mlik\nBread\n"},
         (_edit("shopping.txt", "Mlik", "Milk"),), {"shopping.txt": "Milk\nBread\n"}),
    Task("Rename the function old_name to new_name in all files.",
         {"a.py": "def old_name():\n    return 1\n", "b.py": "from a import old_name\nprint(old_name())\n"},
         (_call("search_files", text="old_name"), _edit("a.py", "old_name", "new_name"),
          _edit("b.py", "old_name", "new_name", all=True)),
         {"a.py": "def new_name():\n    return 1\n", "b.py": "from a import new_name\nprint(new_name())\n"}),
    Task("The test fails. Fix calc.py.", {"calc.py": _ADD, "test_calc.py": _TEST},
         (_run(_RUN_TEST), _read("calc.py"), _edit("calc.py", "a - b", "a + b"), _run(_RUN_TEST)),
         {"calc.py": "def add(a, b):\n    return a + b\n"}),
    Task("Write the names and counts of notes.txt into table.csv, with the first line name,count.",
         {"notes.txt": _NOTES},
         (_read("notes.txt"), _write("table.csv", "name,count\nAnna,3\nBen,5\nCleo,2\n")),
         {"table.csv": "name,count\nAnna,3\nBen,5\nCleo,2\n"}),
    Task("When is the meeting?", {"a.txt": "Nothing here.\n", "b.txt": "The meeting is on 4 May.\n"},
         (_call("search_files", text="meeting"),), {}, "4 May"),
    Task("Rename draft.txt to final.txt.", {"draft.txt": "x\n"}, (_move("draft.txt", "final.txt"),),
         {"draft.txt": None, "final.txt": "x\n"}),
    Task("Make a folder old and move a.txt into it.", {"a.txt": "x\n"},
         (_call("make_folder", path="old"), _move("a.txt", "old/a.txt")), {"a.txt": None, "old/a.txt": "x\n"}),
    Task("Make a folder named plans.", {"a.txt": "x\n"}, (_call("make_folder", path="plans"),), {"plans/": ""}),
    Task("Create hello.txt with the text Hello.", {}, (_write("hello.txt", "Hello."),), {"hello.txt": "Hello."}),
    Task("How many lines has notes.txt?", {"notes.txt": _NOTES}, (_read("notes.txt"),), {}, "3"),
    Task("Delete the second line of list.txt.", {"list.txt": "one\ntwo\nthree\n"},
         (_read("list.txt"), _edit("list.txt", "two\n", "")), {"list.txt": "one\nthree\n"}),
    Task("Sort the lines of list.txt.", {"list.txt": "pear\napple\nfig\n"},
         (_read("list.txt"), _write("list.txt", "apple\nfig\npear\n")), {"list.txt": "apple\nfig\npear\n"}),
    Task("Set the port in config.ini to 9000.", {"config.ini": "[server]\nport = 8000\nhost = a\n"},
         (_edit("config.ini", "port = 8000", "port = 9000"),), {"config.ini": "[server]\nport = 9000\nhost = a\n"}),
    Task("Set version to 2.0 in data.json.", {"data.json": '{"name": "a", "version": "1.0"}\n'},
         (_edit("data.json", "1.0", "2.0"),), {"data.json": '{"name": "a", "version": "2.0"}\n'}),
    Task("Which files are in the folder?", {"one.txt": "", "two.txt": ""}, (_LIST,), {}, "two.txt"),
    Task("Add a docstring \"Return the sum.\" to add in calc.py.", {"calc.py": "def add(a, b):\n    return a + b\n"},
         (_edit("calc.py", "def add(a, b):\n", 'def add(a, b):\n    """Return the sum."""\n'),),
         {"calc.py": 'def add(a, b):\n    """Return the sum."""\n    return a + b\n'}),
    Task("Translate hello.txt into German, into hallo.txt.", {"hello.txt": "Good morning\n"},
         (_read("hello.txt"), _write("hallo.txt", "Guten Morgen\n")), {"hallo.txt": "Guten Morgen\n"}),
    Task("Join a.txt and b.txt in this order into c.txt.", {"a.txt": "A\n", "b.txt": "B\n"},
         (_read("a.txt"), _read("b.txt"), _write("c.txt", "A\nB\n")), {"c.txt": "A\nB\n"}),
    Task("Move all .log files into the folder logs.", {"a.log": "1\n", "b.log": "2\n", "c.txt": "3\n"},
         (_LIST, _move("a.log", "logs/a.log"), _move("b.log", "logs/b.log")),
         {"a.log": None, "logs/a.log": "1\n", "logs/b.log": "2\n", "c.txt": "3\n"}),
    Task("What is the sum of the numbers in numbers.txt?", {"numbers.txt": "10\n20\n12\n"},
         (_run("awk '{s += $1} END {print s}' numbers.txt"),), {}, "42"),
    Task("Replace every tab in data.tsv by a comma, into data.csv.", {"data.tsv": "a\tb\n1\t2\n"},
         (_run("tr '\\t' , < data.tsv > data.csv"),), {"data.csv": "a,b\n1,2\n"}),
    Task("Write TODO.md with each line of the code that has TODO.",
         {"a.py": "x = 1  # TODO: name it\n", "b.py": "pass\n"},
         (_call("search_files", text="TODO"), _write("TODO.md", "- a.py: name it\n")),
         {"TODO.md": "- a.py: name it\n"}),
    Task("Remove the unused import os from main.py.", {"main.py": "import os\nimport sys\n\nprint(sys.argv)\n"},
         (_read("main.py"), _edit("main.py", "import os\n", "")), {"main.py": "import sys\n\nprint(sys.argv)\n"}),
    Task("Change the colour red to blue in all .css files.", {"a.css": "a {color: red}\n", "b.css": "b {color: red}\n"},
         (_call("search_files", text="red"), _edit("a.css", "red", "blue"), _edit("b.css", "red", "blue")),
         {"a.css": "a {color: blue}\n", "b.css": "b {color: blue}\n"}),
    Task("Who owes most in debts.txt?", {"debts.txt": "Anna 12\nBen 40\nCleo 7\n"}, (_read("debts.txt"),), {}, "Ben"),
    Task("Copy template.txt to letter.txt and put Anna in place of NAME.", {"template.txt": "Dear NAME,\n"},
         (_read("template.txt"), _write("letter.txt", "Dear Anna,\n")),
         {"letter.txt": "Dear Anna,\n", "template.txt": "Dear NAME,\n"}),
    Task("Print the Python version into version.txt by a command.", {"a.txt": ""},
         (_run("python3 -c 'print(3)' > version.txt"),), {"version.txt": "3\n"}),
    Task("Plan first, then write a.txt with A and b.txt with B.", {},
         (_call("plan", steps=[{"step": "write a.txt", "done": False}, {"step": "write b.txt", "done": False}]),
          _write("a.txt", "A"), _write("b.txt", "B"),
          _call("plan", steps=[{"step": "write a.txt", "done": True}, {"step": "write b.txt", "done": True}])),
         {"a.txt": "A", "b.txt": "B"}),
    Task("Put the whole folder src under lib.", {"src/a.py": "1\n", "src/b/c.py": "2\n"},
         (_move("src", "lib/src"),), {"src/a.py": None, "lib/src/a.py": "1\n", "lib/src/b/c.py": "2\n"}),
)  # fmt: skip


@dataclass
class Done:
    """The outcome of a task."""

    is_right: bool
    actions: tuple[tuple[str, str, str], ...]  # name, arguments and result of each call
    seconds: float


def prepare(task: Task, folder: Path) -> None:
    """Write the files of a task."""
    folder.mkdir(parents=True)
    for name, text in task.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def is_done(task: Task, folder: Path, answer: str) -> bool:
    """Return whether the folder and the answer are right. Line ends at the end of a file do not count."""
    if not task.after and task.answer not in answer:
        return False
    for name, text in task.after.items():
        path = folder / name
        if name.endswith("/"):
            right = path.is_dir()
        elif text is None:
            right = not path.exists()
        else:
            right = path.is_file() and path.read_text(encoding="utf-8").rstrip() == text.rstrip()
        if not right:
            return False
    return True


def work(
    engine: Engine,
    workspace: Workspace,
    request: ConversationRequest,
    decide: Callable[[Proposal], bool] = lambda _proposal: True,
    max_calls: int = MAX_CALLS,
) -> Iterator[tuple[Call, ToolResult] | str]:
    """Yield the calls of an answer with their results, then its text, in the loop of window and terminal."""
    loop = ToolLoop(offering(request, workspace.tools), max_calls=max_calls)
    workspace.record.begin_answer()
    while True:
        for event in tool_calls.events(lambda request: engine.generate(request, CancelEvent()), loop.request):
            if isinstance(event, Step):
                loop.take(event)
        _, call = loop.end()
        if call is None:
            yield loop.text
            return
        result = _result(workspace, call, decide) if workspace.has(call.name) else unknown(call)
        loop.give(call, result)
        yield call, result


def _result(workspace: Workspace, call: Call, decide: Callable[[Proposal], bool]) -> ToolResult:
    proposal = workspace.propose(call)
    if isinstance(proposal, ToolResult):
        return proposal
    if proposal.needs_question and not decide(proposal):
        return workspace.refuse(proposal)
    return workspace.run(proposal, CancelEvent())


def perform(engine: Engine, task: Task, folder: Path, request: ConversationRequest, max_calls: int = MAX_CALLS) -> Done:
    """Let a model do a task in a folder that does not exist yet."""
    prepare(task, folder)
    workspace = Workspace(folder, record=folder.with_name(f"{folder.name}-record"))
    started, actions, text = time.perf_counter(), list[tuple[str, str, str]](), ""
    with closing(workspace):
        for event in work(engine, workspace, request, max_calls=max_calls):
            if isinstance(event, str):
                text = event
            else:
                actions.append((event[0].name, event[0].arguments, event[1].text))
    actions.append(("", "", text))
    return Done(is_done(task, folder, text), tuple(actions), time.perf_counter() - started)


def _requests(task: Task, max_tokens: int) -> Sequence[ConversationRequest]:
    """Return the request with guessing and without it."""
    speculations = (Speculation(Mode.AUTO), Speculation(Mode.OFF))
    messages = (Message("user", task.prompt),)
    return [
        ConversationRequest(messages, max_new_tokens=max_tokens, sampling=Sampling(temperature=0.0), speculation=each)
        for each in speculations
    ]


def main() -> int:
    """Return 0 if guessing has changed no action."""
    from headstart.engine.engine import LoadOptions
    from headstart.engine.local import load
    from headstart.engine.opening import resolve
    from headstart.library import library

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--first", type=int, default=0, help="number of the first task")
    parser.add_argument("--tasks", type=int, default=len(TASKS))
    parser.add_argument("--max-tokens", type=int, default=300, help="of each part of an answer")
    parser.add_argument("--max-calls", type=int, default=8)
    arguments = parser.parse_args()
    choice = library.choose(arguments.model, None)
    right, same, chosen = [0, 0], 0, TASKS[arguments.first : arguments.first + arguments.tasks]
    with (
        tempfile.TemporaryDirectory() as place,
        closing(load(resolve(LoadOptions(choice.target.folder, choice.draft_folder)))) as engine,
    ):
        for number, task in enumerate(chosen, start=arguments.first):
            both = list[Done]()
            for way, request in enumerate(_requests(task, arguments.max_tokens)):
                folder = Path(place) / str(way) / "work"  # the model sees no difference
                both.append(perform(engine, task, folder, request, arguments.max_calls))
                folder.parent.rename(Path(place) / f"{number}-{way}")
                right[way] += both[-1].is_right
            same += both[0].actions == both[1].actions
            line = {"task": number, "prompt": task.prompt, "right": [done.is_right for done in both]}
            line |= {"same": both[0].actions == both[1].actions, "seconds": [round(done.seconds, 1) for done in both]}
            print(json.dumps(line | {"calls": [name for name, *_ in both[0].actions[:-1]]}), flush=True)
    print(json.dumps({"tasks": len(chosen), "right with guessing": right[0], "without": right[1], "same": same}))
    return 0 if same == len(chosen) else 1


if __name__ == "__main__":
    raise SystemExit(main())
