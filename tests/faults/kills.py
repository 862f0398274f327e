"""Rounds in which a process is killed, stopped or started twice at a moment drawn by lot. Raises Lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import psutil

from bench.toy import PROGRAM
from headstart.chat.conversation import Conversation
from headstart.chat.history.store import open_store
from headstart.library import import_folder, manifest
from headstart.ui.sidebar.chats_controller import LAST_CHAT
from tests.faults import keeping
from tests.faults.profile import ROOT, UNSAVED, Lost, Window, environment, require_kept
from tests.faults.window import EDITS, TAKEN
from tests.stand_ins.model_folders import write_model

_LONGEST = 3.0  # seconds from the first question to the kill
_GONE = 20.0  # seconds until an engine without a window must have ended
_EARLY = 0.15  # share of the kills that fall into the start
_STARTED = 120.0  # seconds until a window has an engine, at a low priority beside others
_STARVED = 25.0  # seconds in which an engine without memory notices
_LEAST_MB, _ENOUGH_MB = 100, 700  # of memory in which SmolLM2 is not loaded, and is
_GROWTH = 8 << 20  # bytes that an answer still gets
_PATIENCE = 5.0  # seconds of silence, where the engine is to hang
_ENGINES = {"headstart.engine_process", PROGRAM[-1]}  # by what stands in their command lines


@dataclass(frozen=True)
class Where:
    """The profile, and its engine: the toy at a pace, or the installed model."""

    home: Path
    pace: str = "0.01"


def kill_window(where: Where, chance: Random) -> None:
    """Kill the window; require that nothing is lost, no engine is left, and the next window opens the same chat."""
    before = _last_open(where)
    with _opened(where, chance) as window:
        if chance.random() < _EARLY:
            time.sleep(chance.uniform(0.0, 1.5))
        else:
            window.wait_for("shown")
            time.sleep(chance.uniform(0.0, _LONGEST))
        engines = _engines(window)
        killed = window.kill()
    require_kept(where.home, window.told, killed)
    _require_gone(engines)
    _note_open(where)
    known = {line.get("chat") for line in window.told.lines}
    if window.told.lines and window.told.lines[-1]["is"] == "leaving" and _last_open(where) in known:
        (where.home / "expected-chat").unlink()  # a chat was open that has no question yet
    if before and window.told.of("open") and window.told.of("open")[0]["chat"] != before:
        raise Lost("another chat was opened than the last one")


def kill_editor(where: Where, chance: Random) -> None:
    """Kill a window whose messages are edited; require all that was typed, and the open edit in the next window."""
    home = where.home / "edited"
    shutil.rmtree(home, ignore_errors=True)
    folder = home / "history"
    with closing(open_store(folder)) as store:
        for number in range(2):
            chat = store.create_chat(f"chat {number}")
            store.save(
                chat.id, Conversation(), Conversation().ask("first").begin_answer().edit(2, "second").ask("third")
            )
        store.remember(LAST_CHAT, chat.id)
    typed: dict[tuple[str, int], str] = {}
    shown: dict[str, str] = {}
    for _ in range(3):
        with _opened(Where(home, EDITS), chance) as window:
            opened = window.wait_for("open")
            window.wait_for("typed", chance.randrange(20, 200))
            killed = window.kill()
        if opened["text"] != shown.get(opened["chat"], "") or bool(opened["notice"]) != (opened["chat"] in shown):
            raise Lost(f"{opened} was opened, {shown} was typed")
        told = [line for line in window.told.of("typed") if line["at"] < killed - UNSAVED]
        typed |= {(line["chat"], line["message"]): line["text"] for line in told}
        with closing(open_store(folder)) as store:
            edits = {chat.id: store.edits(chat.id) for chat in store.chats()}
        for (chat_id, message), text in typed.items():
            if message not in edits[chat_id] or not edits[chat_id][message].text.startswith(text):
                raise Lost(f"{text!r} was typed, {edits[chat_id]} is kept")
        shown = {chat_id: edit.text for chat_id, each in edits.items() for edit in each.values() if edit.is_open}


def kill_engine(where: Where, chance: Random) -> None:
    """Kill the engine; require the answer so far, and another engine for the next question."""
    with _opened(where, chance) as window:
        window.wait_for("shown")
        time.sleep(chance.uniform(0.0, 1.0))
        _kill_once(window)
        crashed = window.wait_for("crashed")["at"]
        _wait_for_shown_after(window, crashed)
        killed = window.kill()
    require_kept(where.home, window.told, killed)
    before_crash = [line for line in window.told.of("shown") if line["at"] < crashed]
    window.told.lines = before_crash
    require_kept(where.home, window.told, killed, unsaved=0.0)
    _note_open(where)


def hang_engine(where: Where, chance: Random) -> None:
    """Let a call hang; require an error, the answer so far, and the next answer."""
    with _opened(where, chance, _PATIENCE) as window:
        window.wait_for("shown")
        time.sleep(chance.uniform(0.0, 1.0))
        hung = _engines(window)
        for pid in hung:
            os.kill(pid, signal.SIGSTOP)
        crashed = window.wait_for("crashed")
        if "no sign" not in crashed["sentence"]:
            raise Lost(f"it was told otherwise: {crashed['sentence']}")
        _wait_for_shown_after(window, crashed["at"])
        _require_gone(hung)
        killed = window.kill()
    require_kept(where.home, window.told, killed)
    window.told.lines = [line for line in window.told.of("shown") if line["at"] < crashed["at"]]
    require_kept(where.home, window.told, killed, unsaved=0.0)
    _note_open(where)


def starve_engine(where: Where, chance: Random) -> None:
    """Require a sentence and the next answer where the engine gets no more memory."""
    with _opened(where, chance) as window:
        if chance.random() < 0.5:
            _limit(_first_engine(window), chance.randrange(_LEAST_MB, _ENOUGH_MB) << 20)
        else:
            window.wait_for("shown")
            time.sleep(chance.uniform(0.0, 0.5))
            for pid in _engines(window):
                _limit(pid, _taken(pid) + chance.randrange(_GROWTH))
        ended = _first_trouble(window)
        if ended and "emory" not in ended["sentence"]:
            raise Lost(f"it was told otherwise: {ended['sentence']}")
        _wait_for_shown_after(window, ended["at"] if ended else time.monotonic())
        killed = window.kill()
    require_kept(where.home, window.told, killed)
    _note_open(where)


def stop_for_a_while(where: Where, chance: Random) -> None:
    """Stop engine and window as sleep does, maybe for longer than an engine may hang, and require that both go on."""
    with _opened(where, chance, _PATIENCE) as window:
        window.wait_for("shown", 3)
        processes = [window.process.pid, *_engines(window)]
        chance.shuffle(processes)
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(chance.uniform(0.5, 1.3 * _PATIENCE))
        chance.shuffle(processes)
        for pid in processes:
            os.kill(pid, signal.SIGCONT)
        _wait_for_shown_after(window, time.monotonic())
        if window.told.of("crashed"):
            raise Lost("the engine was ended")
        killed = window.kill()
    require_kept(where.home, window.told, killed)
    _note_open(where)


def start_twice(where: Where, chance: Random) -> None:
    """Open two windows on one profile at once; require that one of them stays."""
    seed = chance.randrange(10**6)
    windows = [Window(where.home, seed, where.pace)]
    time.sleep(chance.choice([0.0, 0.0, chance.uniform(0.0, 1.0)]))
    windows.append(Window(where.home, seed + 1, where.pace))
    try:
        stays = _the_one_that_stays(windows)
        stays.wait_for("shown")
        killed = stays.kill()
    finally:
        for window in windows:
            window.kill()
    require_kept(where.home, stays.told, killed)
    _note_open(where)


def kill_export(source: Path, home: Path, chance: Random) -> None:
    """Kill an export; require a whole model or none."""
    output = home / "models" / "exported"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.export.staged", "as it is"],
        cwd=ROOT,
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin
    process.stdin.write(json.dumps([[str(source), "--output", str(output), "--force"]]))
    process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=chance.uniform(1.0, 25.0))
    process.kill()
    process.wait()
    if output.exists() and manifest.damaged_files(output, manifest.read_model(output), hashes=True):
        raise Lost("a damaged model stands in its place")


def kill_keeper(home: Path, chance: Random) -> None:
    """Kill one or two processes that store prompt caches; require whole parts only."""
    root, other, seed = home / "prompts", home / "settings.toml", chance.randrange(10**6)
    shutil.rmtree(root, ignore_errors=True)
    other.write_text("mine", encoding="utf-8")
    command = [sys.executable, "-m", "tests.faults.keeping", str(root), str(seed)]
    keepers = [
        subprocess.Popen(command, cwd=ROOT, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(chance.choice([1, 1, 2]))
    ]
    for keeper in keepers:
        assert keeper.stdout
        keeper.stdout.readline()
    time.sleep(chance.uniform(0.0, 0.3))
    for keeper in keepers:
        keeper.kill()
    told = [keeper.communicate()[1].decode() for keeper in keepers]
    if any("cannot be kept" in errors or "Traceback" in errors for errors in told):
        raise Lost("\n".join(told))
    keeping.require_sound(root, seed)
    if sorted(path.name for path in home.iterdir()) != ["prompts", "settings.toml"]:
        raise Lost("something else was made")
    if other.read_text(encoding="utf-8") != "mine":
        raise Lost("something else was changed")


def kill_intake(home: Path, chance: Random) -> None:
    """Kill an import of a model; require the whole model or none, and a clean-up by the next program."""
    root, folder = home / "models", home / "stick" / "model"
    for each in (root, folder.parent):
        shutil.rmtree(each, ignore_errors=True)
    write_model(folder)
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom headstart.library import import_folder\n"
        "def slowly(done, total):\n    print(done, flush=True)\n    time.sleep(0.05)\n    return True\n"
        "import_folder.import_model(Path(sys.argv[1]), slowly)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], cwd=ROOT, env=environment(home), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        for _ in range(chance.randrange(1, 4)):
            process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.06))
        process.kill()
    import_folder.sweep(root)
    found = [path.name for path in root.iterdir()]
    if found not in ([], ["model"]):
        raise Lost(f"a part was left: {found}")
    if found and manifest.damaged_files(root / "model", manifest.read_model(root / "model"), hashes=True):
        raise Lost("a damaged model stands in its place")


@contextmanager
def _opened(where: Where, chance: Random, patience: float | None = None) -> Iterator[Window]:
    window = Window(where.home, chance.randrange(10**6), where.pace, patience)
    try:
        yield window
    finally:
        engines = _engines(window)
        window.kill()
        for pid in engines:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)  # one that a round had stopped would never notice


def _the_one_that_stays(windows: list[Window]) -> Window:
    ends = time.monotonic() + 60.0
    while all(window.process.poll() is None for window in windows):
        if time.monotonic() > ends:
            raise Lost("two windows have one profile")
        time.sleep(0.02)
    gone = next(window for window in windows if window.process.poll() is not None)
    if gone.process.returncode != TAKEN:
        gone.join()
        raise Lost(f"a window ended with {gone.process.returncode}: {gone.errors[-1000:]}")
    return next(window for window in windows if window is not gone)


def _wait_for_shown_after(window: Window, when: float) -> None:
    number = sum(line["at"] <= when for line in window.told.of("shown"))
    window.wait_for("shown", number + 1)


def _first_engine(window: Window) -> int:
    ends = time.monotonic() + _STARTED
    while time.monotonic() < ends:
        for pid in _engines(window):
            return pid
    raise Lost("no engine was started")


def _limit(pid: int, size: int) -> None:
    """Limit the writable memory of a process. Return the number of bytes."""
    with suppress(psutil.Error):
        psutil.Process(pid).rlimit(psutil.RLIMIT_DATA, (size, size))


def _taken(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:"))


def _first_trouble(window: Window) -> dict[str, Any] | None:
    """Return the first report about the engine within a while, if there is one."""
    ends = time.monotonic() + _STARVED
    while time.monotonic() < ends:
        for line in window.told.of("failed") + window.told.of("crashed"):
            return line
        time.sleep(0.02)
    return None


def _kill_once(window: Window) -> None:
    for pid in _engines(window):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _engines(window: Window) -> list[int]:
    try:
        children = psutil.Process(window.process.pid).children()
        return [child.pid for child in children if _ENGINES.intersection(child.cmdline())]
    except psutil.Error:
        return []


def _require_gone(pids: list[int]) -> None:
    _, left = psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=_GONE)
    if left:
        raise Lost("an engine outlives its window")


def _last_open(where: Where) -> str:
    """Return the chat that the next window must open, if it is known."""
    note = where.home / "expected-chat"
    return note.read_text(encoding="utf-8") if note.exists() else ""


def _note_open(where: Where) -> None:
    """Note the chat with the newest question as the open one."""
    store = open_store(where.home / "history")
    chats = store.chats()
    store.close()
    if chats:
        (where.home / "expected-chat").write_text(chats[0].id, encoding="utf-8")
