"""The settings as a TOML file that people may edit: bad values are skipped, unknown keys kept."""

import logging
import tomllib
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstart import own_folder, paths
from headstart.errors import SettingsError
from headstart.settings import Settings, about, defaults, plain

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

FILE_NAME = "settings.toml"
VERSION = 1
WHOLE_TABLES = ("presets", "prompts")  # sections that are one setting each

_log = logging.getLogger(__name__)


def default_path() -> Path:
    """The default file of the settings."""
    return paths.config_folder() / FILE_NAME


def load(path: Path | None = None) -> Settings:
    """Read the settings of a file. Missing and bad values get their defaults; bad ones are logged."""
    path = path or default_path()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as error:
        _log.warning("%s cannot be read, so all settings have their defaults: %s", path, error)
        return Settings()
    if content.get("version", VERSION) != VERSION:
        _log.warning("%s is of another version (%r); what is known of it is used", path, content["version"])
    return Settings().with_values(_flat(content))


def save(settings: Settings, path: Path | None = None) -> None:
    """Write what differs from the defaults; comments and unknown keys stay.

    Raises SettingsError; the old file is then still there.
    """
    path = path or default_path()
    try:
        document = _document(path)
        for name, known in about().items():
            _put(document, known.section, name, getattr(settings, name))
        document.setdefault("version", VERSION)
        own_folder.write(path, document.as_string())
    except OSError as error:
        raise SettingsError(
            "The settings cannot be saved in {path} ({strerror}); make the folder writable and try again.",
            path=path,
            strerror=error.strerror,
        ) from error


def _flat(content: Mapping[str, Any]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, known in about().items():
        table = content if name in WHOLE_TABLES else content.get(known.section, {})
        if not isinstance(table, MutableMapping):
            _log.warning("%s must be a table, not %r.", known.section, table)
        elif name in table:
            found[name] = table[name]
    return found


def _document(path: Path) -> "TOMLDocument":
    """Return the content of the file. A file that is no TOML is renamed, so that its owner can repair it."""
    import tomlkit  # noqa: PLC0415 - only needed to write
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        return tomlkit.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (TOMLKitError, UnicodeDecodeError):
        aside = path.with_suffix(".damaged.toml")
        _log.warning("%s is no TOML; it is kept as %s", path, aside)
        path.replace(aside)
        return tomlkit.document()


def _put(document: "TOMLDocument", section: str, name: str, value: object) -> None:
    whole = name in WHOLE_TABLES
    table: Any = document if whole else document.get(section)
    if value == defaults()[name]:
        if isinstance(table, MutableMapping):
            table.pop(name, None)
        return
    if not isinstance(table, MutableMapping):
        document[section] = {}
        table = document[section]
    if table.get(name) != plain(value):  # an equal value keeps its spelling in the file
        table[name] = plain(value)
