"""Every file that the program writes for itself: how it is written, how it is read again."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from headstart import api_keys, private_files, remotes
from headstart.chat.conversation import AnswerOutcome, Conversation
from headstart.chat.history.backups import keep_up, list_backups, restore
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.store import open_store
from headstart.chat.json_chats import Bundle, new_chat, to_json
from headstart.cli.chat import read_last_chat
from headstart.cli.editor import history_file
from headstart.cli.options import write_json
from headstart.engine.engine import Remote
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.supervision import Journal
from headstart.errors import DamagedHistoryError, HeadstartError
from headstart.library import manifest
from headstart.server import keys as server_keys
from headstart.settings import Settings, load, save
from headstart.ui.performance import benchmark_page

if TYPE_CHECKING:
    from headstart.engine.bench.result import BenchResult

TITLE = "kept"
_FIGURES, _TYPED, _LOG = "bench.json", "chat-history", "logs/engine.log"
_LAST_CHAT = "last-chat.json"
_BENCHMARK = "measured/last-benchmark.json"


@dataclass(frozen=True)
class Written:
    """A file of the program. `write` must always work, `read` may raise only a HeadstartError."""

    name: str
    write: Callable[[Path], object]  # gets the home
    read: Callable[[Path], object]
    refusals: tuple[type[Exception], ...] = (HeadstartError,)  # of `write` where there is no room

    def path(self, home: Path) -> Path:
        """Return its path."""
        return home / self.name


def _measurements(home: Path) -> Measurements:
    return Measurements(home / "measured", "model-tuned", {"cores": 2})


def _write_measurements(home: Path) -> None:
    _measurements(home).put("cost", {"plain_ms": 50.0, "steps": list(range(40))})


def _write_manifest(home: Path) -> None:
    folder = home / "pair"
    folder.mkdir(exist_ok=True)
    manifest.write(folder, manifest.PairManifest("pair", 600, "2026-01-01T00:00:00+00:00"))


def _write_history(home: Path) -> None:
    """Save a chat that a backup has, too, and another one."""
    folder = home / "history"
    try:
        _read_history(home)
    except DamagedHistoryError:
        restore(folder, next(iter(list_backups(folder)), None))  # what the window's one button does
    store = open_store(folder)
    for title in (TITLE, "later"):
        if title not in [chat.title for chat in store.chats()]:
            chat = store.create_chat(title)
            begun = Conversation().ask("question " * 300).begin_answer("pair")
            store.save(chat.id, Conversation(), begun.finish(2, AnswerOutcome("answer " * 300)))
        keep_up(store.path.parent, store.key)
    store.close()


def _read_history(home: Path) -> object:
    with closing(open_store(home / "history")) as store:
        return [(chat.title, len(store.conversation(chat.id).path)) for chat in store.chats()]


def _read_text(path: Path) -> str:
    """Read a file as a person does, who notices a torn one."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _chat() -> Bundle:
    return new_chat(TITLE, created=0.0, updated=0.0), Conversation().ask("question " * 300)


def files(home: Path) -> tuple[Written, ...]:
    """Return all files, for a home that HEADSTART_HOME names."""
    _write_measurements(home)
    (measured,) = (home / "measured").glob("model-*.json")  # its name has a hash in it
    settings = Settings(theme="dark", system_prompt="Be brief. " * 20)
    benchmark = benchmark_page.BenchmarkRecord("2026-01-01", {"figures": list(range(50))}, cast("BenchResult", None))
    return (
        Written(
            "settings.toml",
            lambda at: save(settings, at / "settings.toml"),
            lambda at: load(at / "settings.toml").theme,
        ),
        Written(
            "remotes.toml",
            lambda at: remotes.add(Remote("office", "https://office:8443/v1"), at / "remotes.toml"),
            lambda at: remotes.configured(at / "remotes.toml"),
        ),
        Written(str(measured.relative_to(home)), _write_measurements, lambda at: _measurements(at).get("cost")),
        Written(f"pair/{manifest.FILE_NAME}", _write_manifest, lambda at: manifest.read(at / "pair").name, (OSError,)),
        Written(
            "server-key",
            lambda at: server_keys.write(at / "server-key", "0" * 64),
            lambda at: server_keys.read(at / "server-key"),
        ),
        Written(
            "keys/office", lambda _: api_keys.keep("office", "secret-of-the-office"), lambda _: api_keys.find("office")
        ),
        Written(f"history/{FILE_NAME}", _write_history, _read_history),
        Written(
            _BENCHMARK,
            lambda at: benchmark_page.save(at / _BENCHMARK, benchmark),
            lambda at: benchmark_page.read(at / _BENCHMARK),
        ),
        Written(
            _FIGURES,
            lambda at: write_json(at / _FIGURES, {"figures": list(range(400))}),
            lambda at: _read_text(at / _FIGURES),
        ),
        Written(
            _TYPED,
            lambda at: history_file(at / _TYPED).append_string("what was typed"),
            lambda at: "what was typed" in list(history_file(at / _TYPED).load_history_strings()),
        ),
        Written(
            _LAST_CHAT,
            lambda at: private_files.write(at / _LAST_CHAT, to_json([_chat()])),
            lambda at: read_last_chat(at / _LAST_CHAT),
        ),
        Written(
            _LOG,
            lambda at: Journal(at / _LOG).write("what happened"),
            lambda at: "what happened" in (at / _LOG).read_text(encoding="utf-8", errors="replace"),
        ),
    )
