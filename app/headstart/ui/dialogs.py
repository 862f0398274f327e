"""The windows beside the window: preferences, logs, keys, About. Opens each once and keeps it up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QMessageBox

from headstart import paths
from headstart.licences import components
from headstart.settings import defaults
from headstart.ui import actions, diary
from headstart.ui.about import AboutDialog
from headstart.ui.encryption_desk import EncryptionDesk
from headstart.ui.log_view import LogView
from headstart.ui.panel_desk import PanelDesk
from headstart.ui.settings.preferences import Preferences
from headstart.ui.shortcuts import Shortcuts
from headstart.ui.translation import chosen, spoken
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
        desk.changed.connect(lambda values: self._change(dialog, values))
        dialog.restore_requested.connect(lambda names: self._change(dialog, {name: defaults()[name] for name in names}))
        EncryptionDesk(dialog.encryption, program)
        program.settings_changed.connect(desk.show_settings)
        self._follow(dialog)
        desk.show_settings(program.settings)
        dialog.open()

    def _change(self, dialog: Preferences, values: dict[str, object]) -> None:
        program, before = self._program, self._program.settings.language
        program.change(**values)
        if spoken(chosen(program.settings.language)) != spoken(chosen(before)):
            self._offer_restart(dialog)

    def _offer_restart(self, dialog: Preferences) -> None:
        """What was built has its words; anew it has others."""
        question = self.tr(
            "The window speaks another language when it is opened anew. Do that now? The chat is shown again; an "
            "answer being written is stopped."
        )
        box = QMessageBox(QMessageBox.Icon.Question, self.tr("Another language"), question, parent=dialog)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        now = box.addButton(self.tr("Reopen now"), QMessageBox.ButtonRole.AcceptRole)
        box.addButton(self.tr("Later"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(now)
        box.accepted.connect(self._program.restart)
        box.open()

    @Slot()
    def show_shortcuts(self) -> None:
        """Every command that has a key."""
        groups = actions.groups(self._window.actions_by_name)
        dialog = Shortcuts(self._program.looks.theme, groups, self._window)
        self._follow(dialog)
        dialog.open()

    @Slot()
    def show_about(self) -> None:
        """What this is, and what it is made of."""
        dialog = AboutDialog(self._program.looks.theme, version_report(), components(), self._window)
        self._follow(dialog)
        dialog.open()

    @Slot()
    def show_logs(self) -> None:
        """What the window and the engine wrote down; the window can be used beside it."""
        files = {
            self.tr("Window"): paths.logs_folder() / diary.FILE_NAME,
            self.tr("Engine"): self._program.link.journal.path,
            self.tr("Local server"): self._program.server.journal.path,
        }
        view = LogView(self._program.looks.theme, files, self._window)
        self._follow(view)
        view.show()

    def _folders(self) -> dict[str, Path]:
        return {
            self.tr("Models"): paths.models_folder(),
            self.tr("Chats"): paths.history_folder(),
            self.tr("Settings"): paths.config_folder(),
            self.tr("Measurements"): paths.measurements_folder(),
            self.tr("Logs"): paths.logs_folder(),
            self.tr("Downloads"): paths.cache_folder(),
        }

    def _follow(self, dialog: AboutDialog | LogView | Preferences | Shortcuts) -> None:
        """Theme and font may change while it is open."""
        self._program.looks.changed.connect(dialog.set_looks)
