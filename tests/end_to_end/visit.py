"""A person with an empty profile before a real window: starting, ending, typing, and looking."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil

from headstart.chat.conversation import ChatMessage, State
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.reader import Reader, open_reader
from headstart.settings import FILE_NAME as FILE_OF_SETTINGS
from headstart.settings import Settings, save
from headstart.ui.sidebar.chats_controller import LAST_CHAT
from headstart.ui.widgets.theme import LIGHT
from tests.end_to_end.screen import Screen, wait

ROOT = Path(__file__).resolve().parents[2]
_ENGINE = "headstart.engine_process"


class Visit:
    """A profile on a screen; `close` ends the window if it is open."""

    def __init__(self, screen: Screen, profile: Path, model: Path) -> None:
        """`model` is the result of an export."""
        self.screen = screen
        self.history = profile / "history"
        self._profile, self._model = profile, model
        self._window: subprocess.Popen[bytes] | None = None

    def prefer(self, settings: Settings) -> None:
        """Write settings for the next start."""
        save(settings, self._profile / FILE_OF_SETTINGS)

    def start(self) -> None:
        """Start `headstart`, and wait until it is shown and takes keys."""
        assert self._window is None
        command = [sys.executable, "-m", "tests.end_to_end.start", str(self._model), "--profile", str(self._profile)]
        self._window = subprocess.Popen(command, cwd=ROOT, env=self.screen.environment)
        process = self._window.pid
        wait(lambda: self.screen.count(LIGHT.surface) > 100_000, "a window in light colours")
        wait(lambda: self.screen.has_keyboard(process), "a window that has the keyboard")

    def quit(self) -> None:
        """Press Ctrl+Q, and wait until the program has ended."""
        assert self._window
        self.screen.keys("ctrl+q")
        assert self._window.wait(timeout=60) == 0
        self._window = None

    def kill(self) -> float:
        """Kill the window as the system does without memory. Return the time in seconds of the clock."""
        assert self._window
        self._window.send_signal(signal.SIGKILL)
        killed = time.time()
        self._window.wait(timeout=60)
        self._window = None
        return killed

    def engine(self) -> psutil.Process | None:
        """Return the process with the model."""
        assert self._window
        for child in psutil.Process(self._window.pid).children():
            with suppress(psutil.Error):  # one that has just ended
                if _ENGINE in child.cmdline():
                    return child
        return None

    def installed(self) -> list[str]:
        """Return the names of the models that the window got."""
        return sorted(folder.name for folder in (self._profile / "models").iterdir())

    def ask(self, question: str) -> None:
        """Type and press Enter, wherever the keyboard is."""
        self.screen.keys("ctrl+l")
        self.screen.type(question)
        self.screen.keys("Return")

    def messages(self) -> tuple[ChatMessage, ...]:
        """Return the messages of the chat last opened."""
        with self._reading() as reader:
            return reader.conversation(reader.recall(LAST_CHAT) or "").path if reader else ()

    def versions(self, id_: int) -> tuple[ChatMessage, ...]:
        """Return all versions of an answer in the chat last opened."""
        with self._reading() as reader:
            return reader.conversation(reader.recall(LAST_CHAT) or "").versions(id_) if reader else ()

    def open_title(self) -> str:
        """Return the title of the chat last opened."""
        with self._reading() as reader:
            chat = reader.chat(reader.recall(LAST_CHAT) or "") if reader else None
            return chat.title if chat else ""

    def wait_for_answer(self, number: int, state: State) -> ChatMessage:
        """Wait until the message of this number, from 0, is in this state and has text. Return it."""

        def is_there() -> bool:
            found = self.messages()
            return len(found) > number and found[number].state is state and bool(found[number].text.strip())

        wait(is_there, f"message {number} is {state}")
        return self.messages()[number]

    def close(self) -> None:
        """End the window and its processes."""
        if self._window:
            self._window.kill()
            self._window.wait(timeout=60)

    @contextmanager
    def _reading(self) -> Iterator[Reader | None]:
        if not (self.history / FILE_NAME).is_file():
            yield None
            return
        with closing(open_reader(self.history)) as reader:
            yield reader
