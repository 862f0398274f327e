"""The settings of the program as they are now."""

import dataclasses

from PySide6.QtCore import QObject, Signal

from headstart.errors import SettingsError
from headstart.settings_file import load, save
from headstart.ui.translation import said


class CurrentSettings(QObject):
    """What holds wherever a chat has no settings of its own."""

    changed = Signal(object)  # Settings
    refused = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        """Reads the file."""
        super().__init__(parent)
        self.now = load()

    def change(self, **values: object) -> None:
        """Change some and save them; everything follows `changed`."""
        try:
            changed = dataclasses.replace(self.now, **values)  # type: ignore[arg-type]
            save(changed)
        except SettingsError as error:
            self.refused.emit(said(error))
            return
        self.now = changed
        self.changed.emit(changed)
