"""Settings that `headstart launch` writes into files of agents, and takes back."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headstart import paths, private_files
from headstart.errors import SettingsError

_RECORD = "launched.json"  # in the data folder: what the files held before, by agent


@dataclass(frozen=True)
class FileSetting:
    """A value in a JSON file of an agent."""

    file: str
    names: tuple[str, ...]  # of the objects on the way, and of the value
    value: Any


@dataclass(frozen=True)
class _EarlierValue:
    """The state of a value before it was written."""

    file: str
    names: tuple[str, ...]
    value: Any  # None: there was none
    had_file: bool


def write(agent: str, settings: tuple[FileSetting, ...]) -> None:
    """Write settings, and note what was there before, unless that is noted already. Raises SettingsError."""
    record = _read(_record_file())
    noted = [tuple(each["names"]) for each in record.get(agent, [])]
    for setting in settings:
        path = Path(setting.file).resolve()
        content = _read(path)
        holder = _parent_object(content, setting.names)
        if setting.names not in noted:
            of_file = [each["had_file"] for each in record.get(agent, []) if each["file"] == str(path)]
            had_file = of_file[0] if of_file else path.exists()
            before = _EarlierValue(str(path), setting.names, holder.get(setting.names[-1]), had_file)
            record.setdefault(agent, []).append(asdict(before))
            _write(_record_file(), record)
        holder[setting.names[-1]] = setting.value
        _write(path, content)


def restore(agent: str) -> list[str]:
    """Restore the earlier values in the files of agents, and return their paths. Raises SettingsError."""
    record = _read(_record_file())
    entries = [_EarlierValue(**each) for each in record.pop(agent, [])]
    for before in entries:
        path = Path(before.file)
        content = _read(path)
        holder = _parent_object(content, before.names)
        holder.pop(before.names[-1], None)
        if before.value is not None:
            holder[before.names[-1]] = before.value
        if before.had_file or _has_values(content):
            _write(path, content)
        else:
            path.unlink(missing_ok=True)
    if entries:
        _write(_record_file(), record)
    return [before.file for before in entries]


def _record_file() -> Path:
    return paths.data_folder() / _RECORD


def _parent_object(content: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the object that holds a value; create the missing objects on the way."""
    for name in names[:-1]:
        inner = content.setdefault(name, {})
        content = inner if isinstance(inner, dict) else content
    return content


def _has_values(content: Mapping[str, Any]) -> bool:
    return any(_has_values(value) if isinstance(value, dict) else True for value in content.values())


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise SettingsError("{path} cannot be read ({reason}): correct it.", path=path, reason=error) from None
    if not isinstance(content, dict):
        raise SettingsError("{path} cannot be read ({reason}): correct it.", path=path, reason="it is no object")
    return content


def _write(path: Path, content: Mapping[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        private_files.write(path, json.dumps(content, indent=2).encode() + b"\n")
    except OSError as error:
        raise SettingsError("{path} cannot be written ({reason}).", path=path, reason=error.strerror) from None
