"""MCP servers as processes: what they offer, what calls give, and what happens when they go wrong."""

import json
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from headstart.engine.cancelling import CancelEvent
from headstart.errors import ToolError
from headstart.tools.loop import STOPPED, ToolResult
from headstart.tools.servers import ToolServers, configured

CLOCK = {
    "command": sys.executable,
    "args": ["-IS", str(Path(__file__).with_name("plain_server.py"))],
    "env": {"API_KEY": "hunter2"},
}
PACKAGED_CLOCK = {**CLOCK, "args": [str(Path(__file__).with_name("clock_server.py"))]}


def write(path: Path, **servers: Any) -> Path:
    """Write a file of servers in the form of other programs."""
    file = path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return file


def call(servers: ToolServers, name: str, arguments: str = "{}", cancel: CancelEvent | None = None) -> ToolResult:
    """Call an offered tool."""
    offer = servers.offer(name)
    assert offer
    return servers.call(offer, arguments, cancel)


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolServers]:
    """The MCP server of these tests."""
    with closing(ToolServers(write(tmp_path_factory.mktemp("tools"), clock=PACKAGED_CLOCK), call=3)) as servers:
        servers.start()
        yield servers


def test_server_lists_its_tools(clock: ToolServers) -> None:
    assert clock.names == ("clock",)
    assert not clock.faults
    offers = {offer.tool.name: offer for offer in clock.offers}
    assert {"get_time", "add"} < offers.keys()
    assert offers["add"].tool.description == "Add two numbers."
    assert json.loads(offers["add"].tool.parameters)["required"] == ["a", "b"]
    time_, add = offers["get_time"], offers["add"]
    assert (time_.reads_only, time_.destroys, time_.reaches_out) == (True, False, False)
    assert (add.reads_only, add.destroys, add.reaches_out) == (False, True, True)  # it says nothing of itself


def test_tool_call_gives_its_result(clock: ToolServers) -> None:
    assert call(clock, "add", '{"a": 1, "b": 2}') == ToolResult("3.0")


def test_server_has_its_own_environment(clock: ToolServers, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        assert call(clock, "secret") == ToolResult("hunter2 None")
        call(clock, "babble")
    assert "hunter2" not in caplog.text


def test_server_may_print_garbage(clock: ToolServers, caplog: pytest.LogCaptureFixture) -> None:
    assert call(clock, "babble") == ToolResult("done")
    assert "not JSON" not in caplog.text  # a log holds nothing that people or tools wrote


@pytest.mark.parametrize(("name", "arguments"), [("fail", "{}"), ("add", '{"a": "x"}')])
def test_tool_error_is_a_result(clock: ToolServers, name: str, arguments: str) -> None:
    found = call(clock, name, arguments)
    assert found.failed
    assert name in found.text


def test_tool_call_can_be_cancelled(clock: ToolServers) -> None:
    cancel = CancelEvent()
    threading.Timer(0.2, cancel.set).start()
    assert call(clock, "hang", "{}", cancel) == STOPPED


@pytest.mark.slow
def test_failed_server_is_reported_and_restarted(tmp_path: Path) -> None:
    before = psutil.Process().children(recursive=True)
    with closing(ToolServers(write(tmp_path, clock=CLOCK), call=3)) as servers:
        servers.start()
        for name, sentence in (
            ("die", "The server clock ended while it was called."),
            ("hang", "The server clock did not answer within 3 seconds and was ended."),
        ):
            assert call(servers, name) == ToolResult(sentence, failed=True)
            assert not servers.offers
            servers.start()
            assert call(servers, "add", '{"a": 1, "b": 2}') == ToolResult("3.0")
    assert psutil.Process().children(recursive=True) == before  # the one that did not answer, too


def test_close_leaves_no_process(tmp_path: Path) -> None:
    servers = ToolServers(write(tmp_path, clock=CLOCK))
    before = psutil.Process().children(recursive=True)
    servers.start()
    assert len(psutil.Process().children(recursive=True)) == len(before) + 1
    servers.close()
    servers.close()
    assert len(psutil.Process().children(recursive=True)) == len(before)


def test_removed_server_is_ended(tmp_path: Path) -> None:
    file = write(tmp_path, clock=CLOCK)
    with closing(ToolServers(file)) as servers:
        servers.start()
        write(tmp_path, clock={**CLOCK, "disabled": True})
        servers.start()
        assert not servers.names


@pytest.mark.slow
def test_failed_starts_are_reported_and_other_servers_run(tmp_path: Path) -> None:
    broken = {"command": sys.executable, "args": ["-c", "raise SystemExit('no key: hunter2')"], "env": CLOCK["env"]}
    missing = {"command": "no-such-program"}
    starts = tmp_path / "starts"
    mute = f"import time; open({str(starts)!r}, 'a').write('once '); time.sleep(60)"
    silent = {"command": sys.executable, "args": ["-c", mute]}
    file = write(tmp_path, clock=CLOCK, broken=broken, missing=missing, silent=silent, odd={"args": []})
    with closing(ToolServers(file, start=20)) as servers:
        servers.start()
        assert servers.names == ("clock",)
        odd, broke, miss, still = map(str, servers.faults)
        servers.start(failed=False)  # nobody waits for them again
        assert starts.read_text(encoding="utf-8") == "once "
    assert ("odd" in odd, "command" in odd) == (True, True)
    assert ("broken" in broke, "no key: …" in broke) == (True, True)
    assert ("missing" in miss, "no-such-program" in miss) == (True, True)
    assert ("silent" in still, "20 s" in still) == (True, True)


def test_equal_tool_names_get_a_prefix(tmp_path: Path) -> None:
    with closing(ToolServers(write(tmp_path, a=CLOCK, b=CLOCK))) as servers:
        servers.start()
        names = [offer.tool.name for offer in servers.offers]
        assert len(names) == len(set(names))
        assert {"add", "b_add"} < set(names)
        mine, other = servers.offer("add"), servers.offer("b_add")
        assert mine
        assert other
        assert mine.key != other.key
        assert call(servers, "b_add", '{"a": 1, "b": 2}') == ToolResult("3.0")
        write(tmp_path, b=CLOCK)
        servers.start()
        assert servers.offer("add") == replace(other, tool=mine.tool)  # the name is free
        assert servers.call(mine, '{"a": 1, "b": 2}') == ToolResult("The server a ended.", failed=True)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is invalid JSON"),
        ("[]", "names no server"),
        ('{"mcpServers": {}}', "names no server"),
    ],
)
def test_file_without_servers_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(content, encoding="utf-8")
    servers = ToolServers(file)
    servers.start()
    assert sentence in str(servers.faults[0])
    servers.close()


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"There are no tools yet: write your MCP servers into .*mcp\.json"):
        configured(tmp_path / "mcp.json")


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"url": "https://example.org/mcp"}, "is reached by an address; only servers with a “command” are started."),
        ({"command": "x", "args": "y"}, "must be a list of texts"),
        ({"command": "x", "env": {"A": 1}}, "must be an object of texts"),
        ("x", "has no “command”"),
    ],
)
def test_malformed_entry_is_reported(tmp_path: Path, entry: object, sentence: str) -> None:
    servers, (fault,) = configured(write(tmp_path, bad=entry, good={"command": "x", "env": {"KEY": "hunter2"}}))
    assert sentence in str(fault)
    assert [server.name for server in servers] == ["good"]
    assert "hunter2" not in repr(servers)
