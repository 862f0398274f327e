"""The folders of this computer that Headstart uses. Creates none of them."""

import os
import sys
from pathlib import Path

import platformdirs


def models_folder() -> Path:
    """Folder of the installed models, one sub-folder each (`$HEADSTART_HOME/models` when that is set)."""
    return data_folder() / "models"


def bundled_models_folder() -> Path | None:
    """Folder of the models that came with an installed program, never written to; None where none came."""
    folder = Path(sys.executable).with_name("models")
    return folder if getattr(sys, "frozen", False) and folder.is_dir() else None


def bundled_wheel() -> Path | None:
    """Headstart as a package for pip, as it came with an installed program, for its exporter; None where none came."""
    folder = Path(sys.executable).with_name("exporter")
    return next(iter(sorted(folder.glob("*.whl"))), None) if getattr(sys, "frozen", False) else None


def exporter_folder() -> Path:
    """The Python environment of the exporter, where people set one up beside an installed program."""
    return data_folder() / "exporter"


def data_folder() -> Path:
    """What the user would miss: models, history, settings of tuning."""
    return _chosen_home() or platformdirs.user_data_path("headstart", appauthor=False)


def history_folder() -> Path:
    """The chats and their backups."""
    return data_folder() / "history"


def typed_lines() -> Path:
    """What was typed into `headstart chat`, unless the history is encrypted."""
    return data_folder() / "chat-history"


def last_chat() -> Path:
    """The last conversation of the terminal, unless the history is encrypted."""
    return data_folder() / "last-chat.json"


def last_model() -> Path:
    """The name of the model that chatted in the terminal last."""
    return data_folder() / "last-model"


def config_folder() -> Path:
    """What people set and may edit: settings.toml."""
    return _chosen_home() or platformdirs.user_config_path("headstart", appauthor=False)


def cache_folder() -> Path:
    """What can be fetched or measured again: downloads."""
    home = _chosen_home()
    return home / "cache" if home else platformdirs.user_cache_path("headstart", appauthor=False)


def kept_prompts() -> Path:
    """Keys and values of chats: what models have read of them, so that they need not read it again."""
    return cache_folder() / "prompts"


def logs_folder() -> Path:
    """What happened, for bug reports."""
    home = _chosen_home()
    return home / "logs" if home else platformdirs.user_log_path("headstart", appauthor=False)


def measurements_folder() -> Path:
    """What was measured on this machine: precision choice, cost tables, calibrations."""
    return data_folder() / "measured"


def server_key() -> Path:
    """The hash of the key that programs show to `headstart serve`."""
    return data_folder() / "server-key"


def servers_folder() -> Path:
    """What each server that runs has loaded and answers, one file each."""
    return data_folder() / "servers"


def last_benchmark() -> Path:
    """What the window's benchmark measured last."""
    return measurements_folder() / "last-benchmark.json"


def _chosen_home() -> Path | None:
    value = os.environ.get("HEADSTART_HOME")
    return Path(value).expanduser().absolute() if value else None
