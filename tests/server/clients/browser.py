"""Chromium without a screen, as a test drives it: through its pipe for debugging."""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# The browser reads orders from descriptor 3 and writes replies to 4.
_START = """
import fcntl, os, sys
for place, pipe in enumerate([fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]], start=3):
    os.dup2(pipe, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
_LONGEST = 60.0  # seconds, for a loaded machine


class Browser:
    """A page of a phone's size. Use `open_browser`."""

    def __init__(self, orders: int, replies: int) -> None:
        self._orders, self._replies, self._rest = orders, replies, b""
        self._number, self._session = 0, ""
        self.log: list[str] = []  # the console, refused requests and violations of the policy
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")
        self._ask("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)

    def open(self, address: str) -> None:
        self._ask("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """Return the value of an expression on the page."""
        reply = self._ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + _LONGEST
        while not self.run(script):
            assert time.monotonic() < end, (script, self.run("document.body.innerText"), self.log)
            time.sleep(0.05)

    def write(self, text: str) -> None:
        """Type a message and press Enter."""
        self.run("document.getElementById('text').focus()")
        self._ask("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            self._ask("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)

    def set_scheme(self, scheme: str) -> None:
        """Let the device be "light" or "dark"."""
        self._ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def save(self, file: Path) -> None:
        """Save a picture of the page."""
        file.write_bytes(base64.b64decode(self._ask("Page.captureScreenshot")["data"]))

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        order = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._orders, json.dumps(order).encode() + b"\0")
        for message in self._messages():
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            if message.get("method") in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}:
                self.log.append(json.dumps(message["params"]))
        raise AssertionError("the browser has ended")

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            message, separator, rest = self._rest.partition(b"\0")
            if separator:
                self._rest = rest
                yield json.loads(message)
            else:
                piece = os.read(self._replies, 1 << 16)
                if not piece:
                    return
                self._rest += piece


@contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """Context manager with a browser, whose profile is in `folder`."""
    assert PROGRAM
    ours, its_orders = os.pipe()[::-1]
    its_replies, theirs = os.pipe()[::-1]
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
    pipe = ("--remote-debugging-pipe", f"--user-data-dir={folder}")
    process = subprocess.Popen(
        [sys.executable, "-c", _START, str(its_orders), str(its_replies), PROGRAM, *flags, *pipe],
        pass_fds=(its_orders, its_replies),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(its_orders)
    os.close(its_replies)
    try:
        yield Browser(ours, theirs)
    finally:
        process.terminate()
        process.wait(timeout=_LONGEST)
        os.close(ours)
        os.close(theirs)
