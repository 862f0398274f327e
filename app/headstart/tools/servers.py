"""MCP servers on this computer: the entries of mcp.json, their processes, their tools, and calls of these."""

import asyncio
import json
import logging
import re
import sys
import tempfile
import threading
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import CancelledError
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from headstart import __version__, paths, private_files
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Tool
from headstart.errors import HeadstartError, ToolError, Translatable, UnwritablePlaceError
from headstart.tools.loop import STOPPED, ToolResult

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

FILE_NAME = "mcp.json"
START_SECONDS = 30.0  # npx and uvx may have to unpack a server first
CALL_SECONDS = 60.0
_STOP_SECONDS = 8.0  # a server gets two to end, then two more after a signal
_MAX_NAME_LENGTH = 64  # of a tool, as in OpenAI's API
_MIN_SECRET_LENGTH = 4  # shorter values are flags such as 1
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class ToolServer:
    """A program with tools. `env` may hold keys and passwords, so it is not in the repr."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None

    @property
    def line(self) -> str:
        return " ".join((self.command, *self.args))


@dataclass(frozen=True)
class ServerTool:
    """A tool of a server. Its effects are those that the server declares; they are not checked."""

    tool: Tool  # under the name that the model calls
    server: str
    name: str  # on the server
    reads_only: bool = False
    destroys: bool = True
    reaches_out: bool = True  # beyond the server, for instance into the network

    @property
    def key(self) -> tuple[str, str]:
        """The key of a permission: a tool of the same name on another server is another tool."""
        return self.server, self.name


def effects(offer: ServerTool) -> Translatable:
    """Return the possible effects of a tool in few words, as its server declares them."""
    if offer.reads_only:
        here, out = Translatable("only reads"), Translatable("only reads, perhaps from the network")
    elif offer.destroys:
        here, out = Translatable("may change and delete"), Translatable("may change, delete and use the network")
    else:
        here, out = Translatable("may change"), Translatable("may change and use the network")
    return out if offer.reaches_out else here


def default_path() -> Path:
    """Return the path of the file with your servers."""
    return paths.config_folder() / FILE_NAME


def configured(path: Path | None = None) -> tuple[tuple[ToolServer, ...], tuple[ToolError, ...]]:
    """Return the servers of the file, and the errors of its other entries. Raises ToolError if it cannot be read."""
    path = path or default_path()
    if not path.exists():
        raise ToolError(
            "There are no tools yet: write your MCP servers into {path}, as other programs have them under "
            "“mcpServers”.",
            path=path,
        )
    named = entries(path)
    if not named:
        raise _no_servers(path)
    servers, faults = list[ToolServer](), list[ToolError]()
    for name, entry in named.items():
        if isinstance(entry, dict) and entry.get("disabled") is True:
            continue
        try:
            servers.append(server_of(name, entry))
        except ToolError as error:
            faults.append(error)
    return tuple(servers), tuple(faults)


def entries(path: Path | None = None) -> dict[str, Any]:
    """Return the entries of the file by the names of their servers, as it has them; none without a file.

    Raises ToolError for a file that cannot be read.
    """
    found: dict[str, Any] = _content(path or default_path()).get("mcpServers", {})
    return found


def write_entries(changed: Mapping[str, Any]) -> None:
    """Replace the entries of the file, and keep what else it has. Raises ToolError and SettingsError."""
    path = default_path()
    content = {**_content(path), "mcpServers": dict(changed)}
    try:
        private_files.write(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    except OSError as error:
        raise UnwritablePlaceError(path, error) from error


def example() -> dict[str, Any]:
    """Return the entry of the clock that comes with Headstart."""
    if program := paths.bundled_program("headstart"):
        console = program.with_suffix(".com") if program.suffix == ".exe" else program
        return {"command": str(console), "args": ["dev", "clock"]}
    return {"command": sys.executable, "args": ["-P", str(Path(__file__).with_name("clock.py"))]}


def _content(path: Path) -> dict[str, Any]:
    """Return the parsed file; an empty object if there is no file. Raises ToolError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ToolError(
            "{path} cannot be read ({reason}); make it readable for you.", path=path, reason=error.strerror
        ) from error
    except (ValueError, RecursionError) as error:
        # The message of json holds no values of the file.
        raise ToolError("{path} is invalid JSON ({error}); mend it there.", path=path, error=error) from None
    if not isinstance(content, dict) or not isinstance(content.get("mcpServers", {}), dict):
        raise _no_servers(path)
    return content


def _no_servers(path: Path) -> ToolError:
    return ToolError("{path} names no server: it needs an object “mcpServers” with one entry each.", path=path)


def server_of(name: str, entry: object) -> ToolServer:
    """Return the server of an entry. Raises ToolError."""
    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str) or not entry["command"].strip():
        if isinstance(entry, dict) and "url" in entry:
            raise ToolError(
                "The server {name} is reached by an address; only servers with a “command” are started.", name=name
            )
        raise ToolError("The server {name} has no “command”; name the program that it is.", name=name)
    args, env, cwd = entry.get("args") or [], entry.get("env") or {}, entry.get("cwd")
    if not isinstance(args, list) or not all(isinstance(argument, str) for argument in args):
        raise ToolError("The “args” of the server {name} must be a list of texts.", name=name)
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise ToolError("The “env” of the server {name} must be an object of texts.", name=name)
    return ToolServer(name, entry["command"], tuple(args), env, cwd if isinstance(cwd, str) else None)


class ToolServers:
    """The running servers of a file, from `start` to `close`. The methods block, so a window calls them in a thread."""

    def __init__(self, path: Path | None = None, *, start: float = START_SECONDS, call: float = CALL_SECONDS) -> None:
        """`start` and `call` are the seconds that a server has for each."""
        self._path, self._timeouts = path, (start, call)
        self._connections: dict[str, _Connection] = {}  # by the name of their server
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.faults: tuple[HeadstartError, ...] = ()  # of servers that did not start

    @property
    def offers(self) -> tuple[ServerTool, ...]:
        """The tools of all servers, with unique names."""
        return _with_unique_names(offer for connection in self._running for offer in connection.offers)

    @property
    def running(self) -> tuple[ToolServer, ...]:
        return tuple(connection.server for connection in self._running)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(server.name for server in self.running)

    def start(self, cancel: CancelEvent | None = None, *, failed: bool = True) -> None:
        """Start all servers of the file that do not run, at once, and end those that are no longer in it.

        `failed` includes servers that failed to start before.
        """
        try:
            servers, faults = configured(self._path)
        except ToolError as error:
            servers, faults = (), (error,)
        for connection in [each for each in self._connections.values() if each.server not in servers]:
            self._end(connection)
        # Another thread may be reading the old dictionary.
        current = {each.server.name: each for each in self._connections.values() if each.server in servers}
        settled = {name for name, each in current.items() if each.is_running or (each.fault and not failed)}
        starting = {each.name: _Connection(each, self._timeouts) for each in servers if each.name not in settled}
        self._connections = current | starting
        if starting:
            with suppress(CancelledError):
                self._run_on_loop(_all(each.start() for each in starting.values()), cancel)
        self.faults = (*faults, *(each.fault for each in self._connections.values() if each.fault))

    def probe(self, server: ToolServer, cancel: CancelEvent | None = None) -> tuple[ServerTool, ...]:
        """Start a server, end it again, and return its tools. Raises ToolError."""
        connection = _Connection(server, self._timeouts)
        try:
            with suppress(CancelledError):
                self._run_on_loop(connection.start(), cancel)
        finally:
            self._end(connection)
        if connection.fault:
            raise connection.fault
        return connection.offers

    def offer(self, name: str) -> ServerTool | None:
        """Return the tool with this name for the model; None if there is none."""
        return next((offer for offer in self.offers if offer.tool.name == name), None)

    def call(self, offer: ServerTool, arguments: str, cancel: CancelEvent | None = None) -> ToolResult:
        """Call a tool with a JSON object of arguments. A failure is a Result, too; `cancel` ends the call."""
        connection = self._connections.get(offer.server)
        if connection is None:  # it is no longer in the file
            return _failure(offer.server, "ended")
        try:
            return self._run_on_loop(connection.call(offer.name, json.loads(arguments)), cancel)
        except CancelledError:
            return STOPPED

    def close(self) -> None:
        """End every server; harmless twice."""
        if self._loop is None or self._thread is None:
            return
        self._run_on_loop(_end_all(self._connections.values()))
        self._connections = {}
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    @property
    def _running(self) -> tuple["_Connection", ...]:
        return tuple(connection for connection in self._connections.values() if connection.is_running)

    def _end(self, connection: "_Connection") -> None:
        self._run_on_loop(connection.close())

    def _run_on_loop(self, work: Coroutine[Any, Any, _Value], cancel: CancelEvent | None = None) -> _Value:
        """Run a coroutine on the loop of the servers; start its thread if need be."""
        if self._loop is None:
            logging.getLogger("mcp").addHandler(logging.NullHandler())
            logging.getLogger("mcp").propagate = False  # it quotes servers, and so your texts
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="mcp", daemon=True)
            self._thread.start()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        with (cancel or CancelEvent()).calling(future.cancel):
            return future.result()


def _failure(server: str, what: str) -> ToolResult:
    return ToolResult(f"The server {server} {what}.", failed=True)


async def _all(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    await asyncio.gather(*coroutines)


async def _end_all(connections: Iterable["_Connection"]) -> None:
    """End servers, and wait for those that were given up and replaced before."""
    await _all(each.close() for each in connections)
    given_up = asyncio.all_tasks() - {asyncio.current_task()}
    if given_up:
        await asyncio.wait(given_up, timeout=_STOP_SECONDS)


class _Connection:
    """The process of a server and the connection to it. Everything happens on one loop."""

    def __init__(self, server: ToolServer, timeouts: tuple[float, float]) -> None:
        self.server = server
        self._timeouts = timeouts
        self.offers: tuple[ServerTool, ...] = ()
        self.fault: ToolError | None = None
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._started, self._ending = asyncio.Event(), asyncio.Event()

    @property
    def is_running(self) -> bool:
        return self._client is not None

    async def start(self) -> None:
        """Start the server, and wait until it has listed its tools or has failed."""
        self._task = asyncio.create_task(self._run())
        await self._started.wait()

    async def close(self) -> None:
        """End the server, by force if need be."""
        self._client = None
        self._ending.set()
        if self._task:
            if not self._started.is_set():
                self._task.cancel()
            await asyncio.wait([self._task], timeout=_STOP_SECONDS)

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        from mcp import MCPError  # noqa: PLC0415 - only needed for tools
        from mcp.types import CONNECTION_CLOSED  # noqa: PLC0415

        if self._client is None:
            return _failure(self.server.name, "ended")
        try:
            async with asyncio.timeout(self._timeouts[1]):
                return _result(await self._client.call_tool(name, arguments))
        except TimeoutError:
            return self._disconnect(f"did not answer within {self._timeouts[1]:.0f} seconds and was ended")
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                return self._disconnect("ended while it was called")
            return ToolResult(f"The tool {name} failed: {error.message}", failed=True)
        except (ValueError, RuntimeError, OSError):  # raised by the package for an invalid result, which they quote
            return ToolResult(f"The server {self.server.name} sent no valid result for {name}.", failed=True)

    def _disconnect(self, what: str) -> ToolResult:
        """Give up the server. The next answer starts it again."""
        self._client = None
        self._ending.set()
        return _failure(self.server.name, what)

    async def _run(self) -> None:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            try:
                async with AsyncExitStack() as stack:
                    async with asyncio.timeout(self._timeouts[0]):
                        client = await stack.enter_async_context(self._connect(errors))
                        self.offers = await _offers(client, self.server.name)
                    self._client = client
                    self._started.set()
                    await self._ending.wait()
            except TimeoutError:
                template = Translatable(
                    "The server {name} did not answer within {seconds} s{said}; “{line}” may be no MCP server."
                )
                self.fault = self._fault(template, errors, seconds=f"{self._timeouts[0]:.0f}")
            except FileNotFoundError:
                self.fault = ToolError(
                    "The server {name} cannot be started: there is no program {program}.",
                    name=self.server.name,
                    program=self.server.command,
                )
            except Exception as error:  # noqa: BLE001 - a foreign program: the chat continues after any fault
                logging.getLogger(__name__).warning("the server %s ended: %s", self.server.name, type(error).__name__)
                template = Translatable("The server {name} did not start{said}; try “{line}” in a terminal.")
                self.fault = None if self._started.is_set() else self._fault(template, errors)
            finally:
                self._client = None
                self._started.set()

    def _connect(self, errors: IO[str]) -> "Client":
        from mcp import Client, StdioServerParameters  # noqa: PLC0415 - it takes a second
        from mcp.client.stdio import stdio_client  # noqa: PLC0415
        from mcp.types import Implementation  # noqa: PLC0415

        server = self.server
        parameters = StdioServerParameters(
            command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
        )
        client_info = Implementation(name="headstart", version=__version__)
        return Client(stdio_client(parameters, errlog=errors), client_info=client_info)  # type: ignore[arg-type]

    def _fault(self, template: str, errors: IO[str], **values: object) -> ToolError:
        """Return an error with the last line that the server wrote, without its secrets."""
        errors.seek(0)
        last = next((line.strip() for line in reversed(errors.read()[-4000:].splitlines()) if line.strip()), "")
        for secret in self.server.env.values():
            last = last.replace(secret, "…") if len(secret) >= _MIN_SECRET_LENGTH else last
        quote = f" ({last[:200]})" if last else ""
        return ToolError(template, name=self.server.name, said=quote, line=self.server.line, **values)


async def _offers(client: "Client", server: str) -> tuple[ServerTool, ...]:
    offers, cursor = list[ServerTool](), None
    while True:
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            hints = tool.annotations
            schema = json.dumps(tool.input_schema, ensure_ascii=False)
            reads_only = bool(hints and hints.read_only_hint)
            offers.append(
                ServerTool(
                    Tool(tool.name, schema, tool.description or ""),
                    server,
                    tool.name,
                    reads_only=reads_only,
                    destroys=not reads_only and (hints is None or hints.destructive_hint is not False),
                    reaches_out=hints is None or hints.open_world_hint is not False,
                )
            )
        cursor = page.next_cursor
        if not cursor:
            return tuple(offers)


def _with_unique_names(offers: Iterable[ServerTool]) -> tuple[ServerTool, ...]:
    """Return the tools under names that every model and server accepts.

    If two names are equal, the later one begins with its server's name.
    """
    by_name: dict[str, ServerTool] = {}
    for offer in offers:
        name, number = _plain(offer.name), 2
        if name in by_name:
            name = _plain(f"{offer.server}_{offer.name}")
        while name in by_name:
            name, number = f"{name[:60]}_{number}", number + 1
        tool = Tool(name, offer.tool.parameters, offer.tool.description)
        by_name[name] = ServerTool(tool, offer.server, offer.name, offer.reads_only, offer.destroys, offer.reaches_out)
    return tuple(by_name.values())


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_MAX_NAME_LENGTH] or "_"


def _result(result: "CallToolResult") -> ToolResult:
    """Return the texts of a result; images and sounds are only named."""
    texts = [block.text if block.type == "text" else f"(a part of the kind {block.type})" for block in result.content]
    if not texts and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = "\n".join(texts).strip()
    return ToolResult(text or "(no text)", failed=bool(result.is_error))
