"""What opens beside the window: preferences, About, the command palette, the folder of logs."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from headstart import own_folder, paths
from headstart.chat import database, encryption
from headstart.chat.store import Store
from headstart.errors import HistoryError
from headstart.licences import components
from headstart.settings import defaults
from headstart.ui.about import AboutDialog, version_report
from headstart.ui.background_task import BackgroundTask
from headstart.ui.command_palette import CommandPalette
from headstart.ui.current_settings import CurrentSettings
from headstart.ui.history.encryption_work import Order
from headstart.ui.main_window import MainWindow
from headstart.ui.models.model_choices import ModelChoices
from headstart.ui.settings.passphrase_form import PassphraseForm
from headstart.ui.settings.preferences_dialog import EncryptionPage, PreferencesDialog
from headstart.ui.settings_controller import SettingsController
from headstart.ui.translation import chosen, said, spoken


class EncryptionController(QObject):
    """One for each page that is shown; a child of it."""

    def __init__(self, page: EncryptionPage, store: Store, reopen: Callable[[Order], None]) -> None:
        """Shows what the history is. `reopen` has an order carried out between two windows."""
        super().__init__(page)
        self._page, self._store, self._reopen = page, store, reopen
        self._form = page.encrypting
        self._task: BackgroundTask | None = None
        self._then: Callable[[], None] = self._tell_changed
        page.show_state(encrypted=store.key is not None, missing=_missing())
        page.encrypt_requested.connect(self._encrypt)
        page.decrypt_requested.connect(self._decrypt)
        page.change_requested.connect(self._change)

    @Slot(str)
    def _encrypt(self, passphrase: str) -> None:
        self._reopen(Order(encrypts=True, passphrase=passphrase))

    @Slot(str)
    def _decrypt(self, passphrase: str) -> None:
        """Only with the right passphrase: a window is not closed for nothing."""
        order = Order(encrypts=False, passphrase=passphrase)
        self._begin(self._page.decrypting, lambda folder: encryption.unlock(folder, passphrase))
        self._then = lambda: self._reopen(order)

    @Slot(str, str)
    def _change(self, old: str, new: str) -> None:
        self._begin(self._page.changing, lambda folder: encryption.change_passphrase(folder, old, new))
        self._then = self._tell_changed

    def _begin(self, form: PassphraseForm, work: Callable[[Path], object]) -> None:
        folder = self._store.path.parent
        self._form = form
        form.set_busy(busy=True)
        self._task = BackgroundTask(lambda _: work(folder), self)
        self._task.done.connect(self._end)
        self._task.failed.connect(form.refuse)
        self._task.start()

    @Slot(object)
    def _end(self, _: object) -> None:
        self._form.set_busy(busy=False)
        self._form.clear()
        self._then()

    def _tell_changed(self) -> None:
        self._form.say(self.tr("From now on the new passphrase is asked for."))


def _missing() -> str:
    try:
        database.require_cipher()
    except HistoryError as error:
        return said(error)
    return ""


class Dialogs(QObject):
    """One for the window."""

    def __init__(
        self,
        window: MainWindow,
        settings: CurrentSettings,
        choices: ModelChoices,
        store: Store,
        restart: Callable[[Order | None], None],
    ) -> None:
        """Opens nothing yet."""
        super().__init__(window)
        self._window, self._settings, self._choices = window, settings, choices
        self._store, self._restart = store, restart
        for name, show in (
            ("preferences", self._show_preferences),
            ("logs", self._show_logs),
            ("about", self._show_about),
            ("palette", self._show_palette),
        ):
            window.actions_by_name[name].triggered.connect(show)

    @Slot()
    def _show_preferences(self) -> None:
        """The settings that hold everywhere; each change is saved and followed at once."""
        dialog = PreferencesDialog(self._folders(), self._window)
        controller = SettingsController(dialog, self._choices, dialog)
        controller.changed.connect(lambda values: self._change(dialog, values))
        dialog.restore_requested.connect(lambda names: self._change(dialog, {name: defaults()[name] for name in names}))
        EncryptionController(dialog.encryption, self._store, self._restart)
        self._settings.changed.connect(controller.show_settings)
        controller.show_settings(self._settings.now)
        dialog.open()

    def _change(self, dialog: PreferencesDialog, values: dict[str, object]) -> None:
        before = self._settings.now.language
        self._settings.change(**values)
        if spoken(chosen(self._settings.now.language)) != spoken(chosen(before)):
            self._offer_restart(dialog)

    def _offer_restart(self, dialog: PreferencesDialog) -> None:
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
        box.accepted.connect(lambda: self._restart(None))
        box.open()

    @Slot()
    def _show_palette(self) -> None:
        """Every command and chat by its name."""
        commands = self._window.actions_by_name.values()
        palette = CommandPalette(commands, self._store.titles(), self._window)
        palette.chat_chosen.connect(lambda chat: self._window.sidebar.list.chosen.emit(chat, None))
        palette.open()

    @Slot()
    def _show_about(self) -> None:
        """What this is, and what it is made of."""
        dialog = AboutDialog(version_report(), components(), self._window)
        dialog.open()

    @Slot()
    def _show_logs(self) -> None:
        """The folder where window, engine and local server write down what they do."""
        own_folder.make(paths.logs_folder())
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(paths.logs_folder())))

    def _folders(self) -> dict[str, Path]:
        return {
            self.tr("Models"): paths.models_folder(),
            self.tr("Chats"): paths.history_folder(),
            self.tr("Settings"): paths.config_folder(),
            self.tr("Measurements"): paths.measurements_folder(),
            self.tr("Logs"): paths.logs_folder(),
            self.tr("Downloads"): paths.cache_folder(),
        }
