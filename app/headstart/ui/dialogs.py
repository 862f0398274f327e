"""The windows beside the window: preferences, logs, keys, About. Opens each once and keeps it up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMessageBox

from headstart import paths
from headstart.licences import components
from headstart.settings import defaults
from headstart.ui import actions, diary
from headstart.ui.about import AboutDialog
from headstart.ui.log_view import LogView
from headstart.ui.panel_desk import PanelDesk
from headstart.ui.preferences import Preferences
from headstart.ui.version_report import version_report

if TYPE_CHECKING:
    from headstart.ui.program import Program


class Dialogs(QObject):
    """One for the window."""

    def __init__(self, program: Program) -> None:
        """Opens nothing yet."""
        super().__init__(program)
        self._program = program
        self._window = program.window

    @Slot()
    def show_preferences(self) -> None:
        """The settings that hold everywhere; each change is saved and followed at once."""
        program = self._program
        dialog = Preferences(program.looks.theme, self._folders(), self._window)
        desk = PanelDesk(dialog, program.choices, dialog)
        desk.changed.connect(lambda values: program.change(**values))
        dialog.restore_requested.connect(lambda names: program.change(**{name: defaults()[name] for name in names}))
        program.settings_changed.connect(desk.show_settings)
        program.looks.changed.connect(dialog.set_theme)
        desk.show_settings(program.settings)
        dialog.open()

    @Slot()
    def show_shortcuts(self) -> None:
        """Every command that has a key."""
        rows = [
            f"<tr><td>{actions.title(action)}&nbsp;&nbsp;</td><td><b>{keys}</b></td></tr>"
            for action in self._window.actions_by_name.values()
            if (keys := action.shortcut().toString(QKeySequence.SequenceFormat.NativeText))
        ]
        self._show_text(self.tr("Keyboard shortcuts"), f"<table>{''.join(rows)}</table>")

    @Slot()
    def show_about(self) -> None:
        """What this is, and what it is made of."""
        dialog = AboutDialog(self._program.looks.theme, version_report(), components(), self._window)
        dialog.open()

    @Slot()
    def show_logs(self) -> None:
        """What the window and the engine wrote down; the window can be used beside it."""
        files = {
            self.tr("Window"): paths.logs_folder() / diary.FILE_NAME,
            self.tr("Engine"): self._program.link.journal.path,
        }
        LogView(self._program.looks.theme, files, self._window).show()

    def _folders(self) -> dict[str, Path]:
        return {
            self.tr("Models"): paths.models_folder(),
            self.tr("Chats"): paths.history_folder(),
            self.tr("Settings"): paths.config_folder(),
            self.tr("Measurements"): paths.measurements_folder(),
            self.tr("Logs"): paths.logs_folder(),
            self.tr("Downloads"): paths.cache_folder(),
        }

    def _show_text(self, title: str, text: str) -> None:
        box = QMessageBox(QMessageBox.Icon.NoIcon, title, text, parent=self._window)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()
