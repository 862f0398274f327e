"""The folders that Headstart uses. Nothing is created here."""

import os
import re
import sys
from pathlib import Path

import platformdirs

from headstart import __version__

# The file of a package; its version is the first group. installer/ names them so.
_PACKAGES = {
    "linux": re.compile(r"headstart[_-](\d+\.\d+\.\d+)[_+-].*\.(?:deb|run)", re.ASCII),
    "win32": re.compile(r"headstart-(\d+\.\d+\.\d+)-windows.*\.(?:exe|msi)", re.ASCII),
}


def exists(path: Path) -> bool:
    """Return whether a file or folder exists; False also for an invalid name, and where nobody may look."""
    return os.path.exists(path)  # noqa: PTH110 - pathlib raises for a name that is too long, and in a closed folder


def is_file(path: Path) -> bool:
    """Return whether a file exists; False in the cases of `exists`."""
    return os.path.isfile(path)  # noqa: PTH113 - as above


def is_folder(path: Path) -> bool:
    """Return whether a folder exists; False in the cases of `exists`."""
    return os.path.isdir(path)  # noqa: PTH112 - as above


def models_folder() -> Path:
    """Folder of the installed models, one sub-folder each (`$HEADSTART_HOME/models` when that is set)."""
    return data_folder() / "models"


def bundled_program(name: str) -> Path | None:
    """Return the place of another program of a packaged Headstart; None if a Python environment runs this one."""
    window = Path(sys.executable)
    ending = window.suffix if window.suffix == ".exe" else ""
    return window.with_name(f"{name}{ending}") if getattr(sys, "frozen", False) else None


def bundled_models_folder() -> Path | None:
    """Folder of the models that came with an installed program, read-only; None if none came."""
    folder = Path(sys.executable).with_name("models")
    return folder if getattr(sys, "frozen", False) and folder.is_dir() else None


def bundled_wheel() -> Path | None:
    """The wheel that came with an installed program, for its exporter; None if none came."""
    folder = Path(sys.executable).with_name("exporter")
    return next(iter(sorted(folder.glob("*.whl"))), None) if getattr(sys, "frozen", False) else None


def exporter_folder() -> Path:
    """The Python environment of the exporter, beside an installed program."""
    return data_folder() / "exporter"


def data_folder() -> Path:
    """User data: models, history, results of tuning."""
    return _chosen_home() or platformdirs.user_data_path("headstart", appauthor=False)


def history_folder() -> Path:
    """The chats and their backups."""
    return data_folder() / "history"


def typed_lines() -> Path:
    """The input history of `headstart chat`, unless the history is encrypted."""
    return data_folder() / "chat-history"


def last_chat() -> Path:
    """The last conversation of the terminal, unless the history is encrypted."""
    return data_folder() / "last-chat.json"


def last_model() -> Path:
    """The name of the model that chatted in the terminal last."""
    return data_folder() / "last-model"


def config_folder() -> Path:
    """The folder of settings.toml."""
    return _chosen_home() or platformdirs.user_config_path("headstart", appauthor=False)


def cache_folder() -> Path:
    """Data that can be fetched or measured again: downloads."""
    home = _chosen_home()
    return home / "cache" if home else platformdirs.user_cache_path("headstart", appauthor=False)


def kept_prompts() -> Path:
    """Keys and values of chats, so that models need not read them again."""
    return cache_folder() / "prompts"


def workspaces_folder() -> Path:
    """Snapshots and logs of the folders that models work on."""
    return data_folder() / "workspaces"


def skills_folder() -> Path:
    """Your own skills, a folder each."""
    return config_folder() / "skills"


def logs_folder() -> Path:
    """Logs for bug reports."""
    home = _chosen_home()
    return home / "logs" if home else platformdirs.user_log_path("headstart", appauthor=False)


def measurements_folder() -> Path:
    """Measurements of this computer: precisions, cost tables, calibrations."""
    return data_folder() / "measured"


def server_key() -> Path:
    """The hash of the API key of `headstart serve`."""
    return data_folder() / "server-key"


def servers_folder() -> Path:
    """One file for each running server: its loaded models and requests."""
    return data_folder() / "servers"


def last_benchmark() -> Path:
    """The last result of the window's benchmark."""
    return measurements_folder() / "last-benchmark.json"


def newer_package() -> Path | None:
    """Return the newest package of Headstart in your downloads folder; None if none is newer than this one."""
    pattern = _PACKAGES.get(sys.platform)
    try:
        files = list(platformdirs.user_downloads_path().iterdir()) if pattern else []
    except OSError:
        return None
    packages = {file: match[1] for file in files if pattern and (match := pattern.fullmatch(file.name))}
    newest = max(packages, key=lambda file: _numbers(packages[file]), default=None)
    return newest if newest and _numbers(packages[newest]) > _numbers(__version__) else None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _chosen_home() -> Path | None:
    value = os.environ.get("HEADSTART_HOME")
    return Path(value).expanduser().absolute() if value else None
