"""The tools of a chat in the terminal: MCP servers, a working folder, and the questions before a call."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import localtime, strftime
from typing import TYPE_CHECKING

import click

from headstart.cli.render import Screen, count, harmless, on_ctrl_c
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Call, Tool
from headstart.errors import SettingsError
from headstart.tools.loop import MAX_CALLS, REFUSED, ToolResult, unknown
from headstart.tools.servers import ServerTool, ToolServers, effects

if TYPE_CHECKING:
    from headstart.workspace.tools import Proposal, Workspace

_MAX_RESULT_CHARS = 200  # of a tool's result, on the screen
_FOLDER_NAMES = {"folder/read": ("folder", "read"), "folder/edit": ("folder", "edit")}
_YES, _ALWAYS, _EDIT = {"y", "yes"}, {"a", "always"}, {"e", "edit"}


@dataclass
class ChatTools:
    may_ask: bool  # standard input is free for questions
    servers: ToolServers | None = None
    workspace: "Workspace | None" = None
    allowed: set[tuple[str, str]] = field(default_factory=set)  # keys of tools that may be called without asking

    def close(self) -> None:
        if self.servers:
            self.servers.close()
        if self.workspace:
            self.workspace.close()

    def begin_answer(self) -> tuple[tuple[Tool, ...], int]:
        """Return the tools that the next answer may call, and how often."""
        own = self.workspace.tools if self.workspace else ()
        if self.servers:
            self.servers.start(failed=False)  # start again those that ended
        names = {tool.name for tool in own}
        others = (
            tuple(offer.tool for offer in self.servers.offers if offer.tool.name not in names) if self.servers else ()
        )
        if self.workspace is None:
            return others, MAX_CALLS
        from headstart.workspace import tools as workspace_tools

        self.workspace.record.begin_answer()
        return (*own, *others), workspace_tools.MAX_CALLS

    @property
    def has_changes(self) -> bool:
        """The last answer has changed the working folder."""
        return self.workspace is not None and self.workspace.record.has_changes

    def run(self, call: Call, screen: Screen, cancel: CancelEvent) -> ToolResult:
        """Return the result of a call. `cancel` is set if you want no more of the answer."""
        if self.workspace and self.workspace.has(call.name):
            result = self._run_on_folder(self.workspace, call, screen, cancel)
        else:
            result = self._run_on_server(call, screen, cancel)
        if result is not REFUSED and call.name != "plan":
            lines = result.text.splitlines() or [""]
            more = f" … ({count(len(lines), 'line')})" if len(lines) > 1 else ""
            screen.remark(f"{'It failed: ' if result.failed else 'It gave: '}{lines[0][:_MAX_RESULT_CHARS]}{more}")
        return result

    def show(self, screen: Screen) -> None:
        """Show the tools, and what they may do."""
        if self.workspace:
            screen.remark(f"The model works on {self.workspace.folder.path}:")
            for tool in self.workspace.tools:
                screen.remark(f"{tool.name}: {' '.join(tool.description.split())}")
        for offer in self.servers.offers if self.servers else ():
            permission = "allowed" if offer.key in self.allowed else "asked for"
            description = " ".join(offer.tool.description.split())
            screen.remark(f"{offer.tool.name} ({offer.server}; {effects(offer)}; {permission}): {description}")
        for fault in self.servers.faults if self.servers else ():
            screen.complain(str(fault))

    def _run_on_server(self, call: Call, screen: Screen, cancel: CancelEvent) -> ToolResult:
        offer = self.servers.offer(call.name) if self.servers else None
        if offer is None or self.servers is None:
            return unknown(call)
        text = f"{call.name} {call.arguments}"
        if offer.key not in self.allowed and not self._is_allowed(text, offer, screen, cancel):
            return REFUSED
        screen.remark(f"Calling {text}")
        with on_ctrl_c(cancel.set):
            return self.servers.call(offer, call.arguments, cancel)

    def _is_allowed(self, text: str, offer: ServerTool, screen: Screen, cancel: CancelEvent) -> bool:
        name = offer.tool.name
        if not self.may_ask:
            screen.remark(f"{text} was not called, as nobody can be asked here: allow it with --allow-tool {name}.")
            return False
        screen.remark(f"The model wants to call {text}")
        tool_name = harmless(f"{name} of {offer.server}")
        reply = _reply(f"Call {tool_name}? [y]es, [a]lways in this chat, [N]o: ", cancel)
        if reply in _ALWAYS:
            self.allowed.add(offer.key)
        return reply in _YES | _ALWAYS

    def _run_on_folder(self, workspace: "Workspace", call: Call, screen: Screen, cancel: CancelEvent) -> ToolResult:
        proposal = workspace.propose(call)
        if isinstance(proposal, ToolResult):
            return proposal
        approved = self._approved(workspace, proposal, screen, cancel) if proposal.needs_question else proposal
        if approved is None:
            return workspace.refuse(proposal)
        if not proposal.needs_question:
            screen.remark(proposal.sentence)
            screen.diff(proposal.diff)
        with on_ctrl_c(cancel.set):
            return workspace.run(approved, cancel)

    def _approved(
        self, workspace: "Workspace", proposal: "Proposal", screen: Screen, cancel: CancelEvent
    ) -> "Proposal | None":
        """Show the effect of a call, and return the approved proposal; None if you refuse."""
        screen.remark(f"The model wants to: {proposal.sentence}")
        screen.remark(*proposal.warnings)
        if not self.may_ask:
            names = [name for name, key in _FOLDER_NAMES.items() if key == proposal.permission]
            remedy = f"allow it with --allow-tool {names[0]}" if names else "start the chat on a terminal"
            screen.remark(f"It was not done, as nobody can be asked here: {remedy}.")
            return None
        choices = ["[y]es"]
        if proposal.permission:
            scope = (
                {"read": "reading", "edit": "changes"}.get(proposal.permission[1])
                if proposal.permission[0] == "folder"
                else None
            )
            choices.append(f"[a]lways {scope or 'this command'} in this chat")
        choices += ["[e]dit first"] if proposal.new_text is not None else []
        while True:
            screen.diff(proposal.diff)
            reply = _reply(f"Allow it? {', '.join(choices)}, [N]o: ", cancel)
            if reply in _EDIT and proposal.new_text is not None:
                proposal = _edited(proposal, screen)
                continue
            if reply in _ALWAYS:
                workspace.allow(proposal)
            return proposal if reply in _YES | _ALWAYS else None


def open_tools(screen: Screen, *, servers: bool, folder: Path | None, allowed: tuple[str, ...]) -> ChatTools | None:
    """Start the servers and open the folder; None without both. Raises SettingsError and WorkspaceError."""
    if not servers and folder is None:
        if allowed:
            raise SettingsError("--allow-tool is about tools: add --tools or --folder.")
        return None
    tools = ChatTools(sys.stdin.isatty())
    with ExitStack() as stack:
        stack.callback(tools.close)
        if folder is not None:
            from headstart.workspace.tools import Workspace

            tools.workspace = workspace = Workspace(folder)
            workspace.allowed |= {_FOLDER_NAMES[name] for name in allowed if name in _FOLDER_NAMES}
            allowed = tuple(name for name in allowed if name not in _FOLDER_NAMES)
            screen.remark(f"The model may work on {workspace.folder.path}; you are asked before each change.")
        if servers:
            tools.servers = ToolServers()
            _start(tools.servers, screen)
        tools.allowed = _keys(tools, allowed)
        stack.pop_all()
    return tools


def _start(servers: ToolServers, screen: Screen) -> None:
    servers.start()
    for fault in servers.faults:
        screen.complain(str(fault))
    if servers.offers:
        tools = f"{count(len(servers.offers), 'tool')} of {', '.join(servers.names)}"
        screen.remark(f"The model may call {tools}; /tools lists them. Headstart cannot see if they use the network.")


def _keys(tools: ChatTools, names: tuple[str, ...]) -> set[tuple[str, str]]:
    """Return the keys of the tools of servers with these names. Raises SettingsError."""
    offers = tools.servers.offers if tools.servers else ()
    keys = {name: offer.key for offer in offers for name in ("/".join(offer.key), offer.tool.name)}
    missing = [name for name in names if name not in keys]
    if missing and not (tools.servers and tools.servers.faults):
        own = _FOLDER_NAMES if tools.workspace else ()
        known = ", ".join((*own, *(offer.tool.name for offer in offers)))
        raise SettingsError(f"There is no tool {missing[0]}; there are {known}.")
    return {keys[name] for name in names if name in keys}


def show_undo(workspace: "Workspace", screen: Screen) -> None:
    """Undo the changes of the last answer, and print which files are restored. Raises WorkspaceError."""
    restored, kept = workspace.record.undo()
    if restored:
        screen.remark(f"As before: {', '.join(restored)}")
    if kept:
        screen.remark(f"Changed since, and left as it is: {', '.join(kept)}")


def show_log(workspace: "Workspace", screen: Screen) -> None:
    """Show what was done, with the time."""
    lines = workspace.record.lines()
    for line in lines:
        when = strftime("%Y-%m-%d %H:%M:%S", localtime(float(str(line.get("time", 0)))))
        what = line.get("what") or line.get("tool") or line.get("action")
        question = f", {line['question']}" if "question" in line else ""
        screen.remark(f"{when}  {what}: {line.get('result')}{question}")
    if not lines:
        screen.remark("Nothing was done in this folder yet.")


def show_skills(workspace: "Workspace", screen: Screen) -> None:
    """Show the skills, and which are on."""
    on = {skill.name for skill in workspace.skills.on}
    for skill in workspace.skills.found:
        scripts = ", has scripts" if skill.has_scripts else ""
        state = "on" if skill.name in on else "off"
        screen.remark(f"{skill.name} ({state}; {skill.source}{scripts}): {skill.description}")


def _reply(question: str, cancel: CancelEvent) -> str:
    try:
        return input(question).strip().lower()
    except (EOFError, KeyboardInterrupt):
        cancel.set()
        return ""


def _edited(proposal: "Proposal", screen: Screen) -> "Proposal":
    """Let you change the new text in your editor."""
    try:
        text = click.edit(proposal.new_text)
    except click.ClickException as error:
        screen.complain(f"No editor could be started: {error.message}")
        return proposal
    return proposal if text is None else proposal.edited(text)
