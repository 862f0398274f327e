"""Every file that the program writes for itself: how it is written, how it is read again."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from headstart import keys, manifest, remotes, settings_file
from headstart.chat.backups import keep_up, list_backups, restore
from headstart.chat.conversation import Conversation, Outcome
from headstart.chat.database import FILE_NAME
from headstart.chat.store import open_store
from headstart.cli.chat import _history
from headstart.cli.options import write_json
from headstart.engine.engine import Remote
from headstart.engine.measurements import Measurements
from headstart.engine.supervision import Journal
from headstart.errors import DamagedHistoryError, HeadstartError
from headstart.server import keys as server_keys
from headstart.settings import Settings
from headstart.ui.performance import benchmark_page

if TYPE_CHECKING:
    from headstart.engine.bench.result import BenchResult

TITLE = "kept"
_FIGURES, _TYPED, _LOG = "bench.json", "chat-history", "logs/engine.log"
_BENCHMARK = "measured/last-benchmark.json"


@dataclass(frozen=True)
class Written:
    """A file of the program. `write` must work whatever is there, `read` must not raise but a HeadstartError."""

    name: str
    write: Callable[[Path], None]  # told the home
    read: Callable[[Path], object]
    refusals: tuple[type[Exception], ...] = (HeadstartError,)  # of `write` where there is no room

    def path(self, home: Path) -> Path:
        """Where it is."""
        return home / self.name


def _write_settings(home: Path) -> None:
    settings_file.save(Settings(theme="dark", system_prompt="Be brief. " * 20), home / "settings.toml")


def _read_settings(home: Path) -> object:
    return settings_file.load(home / "settings.toml").theme


def _write_remotes(home: Path) -> None:
    remotes.add(Remote("office", "https://office:8443/v1"), home / "remotes.toml")


def _read_remotes(home: Path) -> object:
    return remotes.configured(home / "remotes.toml")


def _write_measurements(home: Path) -> None:
    _measurements(home).put("cost", {"plain_ms": 50.0, "steps": list(range(40))})


def _measurements(home: Path) -> Measurements:
    return Measurements(home / "measured", "model-tuned", {"cores": 2})


def _write_manifest(home: Path) -> None:
    folder = home / "pair"
    folder.mkdir(exist_ok=True)
    manifest.write(folder, manifest.PairManifest("pair", 600, "2026-01-01T00:00:00+00:00"))


def _write_server_key(home: Path) -> None:
    server_keys.write(home / "server-key", "0" * 64)


def _write_key(home: Path) -> None:
    del home  # HEADSTART_HOME names it
    keys.keep("office", "secret-of-the-office")


def _write_history(home: Path) -> None:
    """A chat that a backup has too, and another."""
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
            store.save(chat.id, Conversation(), begun.finish(2, Outcome("answer " * 300)))
        keep_up(store.path.parent, store.key)
    store.close()


def _read_history(home: Path) -> object:
    store = open_store(home / "history")
    try:
        return [(chat.title, len(store.conversation(chat.id).path)) for chat in store.chats()]
    finally:
        store.close()


def _write_benchmark(home: Path) -> None:
    made = benchmark_page.BenchmarkRecord("2026-01-01", {"figures": list(range(50))}, cast("BenchResult", None))
    benchmark_page.keep(home / _BENCHMARK, made)


def _read_benchmark(home: Path) -> object:
    return benchmark_page.read(home / _BENCHMARK)


def _write_terminals_benchmark(home: Path) -> None:
    write_json(home / _FIGURES, {"figures": list(range(400))})


def _read_terminals_benchmark(home: Path) -> object:
    try:
        return json.loads((home / _FIGURES).read_text(encoding="utf-8"))  # by whoever asked for it
    except (OSError, ValueError):
        return None


def _write_typed(home: Path) -> None:
    _history(home / _TYPED).append_string("what was typed")


def _read_typed(home: Path) -> object:
    return "what was typed" in list(_history(home / _TYPED).load_history_strings())


def _write_log(home: Path) -> None:
    Journal(home / _LOG).write("what happened")


def _read_log(home: Path) -> object:
    try:
        return "what happened" in (home / _LOG).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def measurements_file(home: Path) -> str:
    """Its name has a hash in it."""
    _write_measurements(home)
    (path,) = (home / "measured").glob("model-*.json")
    return str(path.relative_to(home))


def files(home: Path) -> tuple[Written, ...]:
    """All of them, for a home that HEADSTART_HOME names."""
    return (
        Written("settings.toml", _write_settings, _read_settings),
        Written("remotes.toml", _write_remotes, _read_remotes),
        Written(measurements_file(home), _write_measurements, lambda at: _measurements(at).get("cost")),
        Written(f"pair/{manifest.FILE_NAME}", _write_manifest, lambda at: manifest.read(at / "pair").name, (OSError,)),
        Written("server-key", _write_server_key, lambda at: server_keys.read(at / "server-key")),
        Written("keys/office", _write_key, lambda at: keys.find("office")),
        Written(f"history/{FILE_NAME}", _write_history, _read_history),
        Written(_BENCHMARK, _write_benchmark, _read_benchmark),
        Written(_FIGURES, _write_terminals_benchmark, _read_terminals_benchmark),
        Written(_TYPED, _write_typed, _read_typed),
        Written(_LOG, _write_log, _read_log),
    )
