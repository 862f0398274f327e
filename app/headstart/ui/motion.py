"""Whether things may move by themselves: the settings may forbid it, and so may the desktop. Knows no page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import SLOT, QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QApplication

from headstart.settings import Settings
from headstart.ui.session_bus import session_bus

if TYPE_CHECKING:
    from PySide6.QtDBus import QDBusPendingCallWatcher

_SERVICE, _PATH = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
_PORTAL = "org.freedesktop.portal.Settings"
_WISH = ("org.gnome.desktop.interface", "enable-animations")  # where desktops keep it, KDE's portal included
_EFFECTS = (
    Qt.UIEffect.UI_AnimateMenu,
    Qt.UIEffect.UI_FadeMenu,
    Qt.UIEffect.UI_AnimateCombo,
    Qt.UIEffect.UI_AnimateTooltip,
    Qt.UIEffect.UI_FadeTooltip,
)


class Motion(QObject):
    """`changed` tells when `reduced` has become another. Systems without a portal leave it to the settings."""

    changed = Signal(bool)

    def __init__(self, application: QApplication, settings: Settings, parent: QObject) -> None:
        """Asks the desktop; its answer comes later."""
        super().__init__(parent)
        self._application = application
        self._flash = application.cursorFlashTime()
        self._effects = [effect for effect in _EFFECTS if application.isEffectEnabled(effect)]
        self._by_settings = settings.reduced_motion
        self._by_desktop = False
        self._apply()
        self._listen()

    @property
    def reduced(self) -> bool:
        """Nothing may move or blink by itself."""
        return self._by_settings or self._by_desktop

    @Slot(object)
    def set_settings(self, settings: Settings) -> None:
        """What the person wants here."""
        self._set(self._by_desktop, settings.reduced_motion)

    def restore(self) -> None:
        """Give the application back what it had."""
        self._set(by_desktop=False, by_settings=False)

    def _set(self, by_desktop: bool, by_settings: bool) -> None:
        before = self.reduced
        self._by_desktop, self._by_settings = by_desktop, by_settings
        if self.reduced != before:
            self._apply()
            self.changed.emit(self.reduced)

    def _apply(self) -> None:
        self._application.setCursorFlashTime(0 if self.reduced else self._flash)
        for effect in self._effects:
            self._application.setEffectEnabled(effect, not self.reduced)

    def _listen(self) -> None:
        bus = session_bus()
        if bus is None:
            return
        from PySide6.QtDBus import QDBusMessage, QDBusPendingCallWatcher  # noqa: PLC0415  its library may be missing

        slot: Any = SLOT("_note_change(QString,QString,QDBusVariant)")  # declared as bytes, taken as text
        bus.connect(_SERVICE, _PATH, _PORTAL, "SettingChanged", self, slot)
        question = QDBusMessage.createMethodCall(_SERVICE, _PATH, _PORTAL, "Read")
        question.setArguments(list(_WISH))
        watcher = QDBusPendingCallWatcher(bus.asyncCall(question), self)
        watcher.finished.connect(self._note_answer)

    @Slot(object)
    def _note_answer(self, watcher: QDBusPendingCallWatcher) -> None:
        told = watcher.reply().arguments()
        if not watcher.isError() and told:
            self._note(told[0])
        watcher.deleteLater()

    @Slot(str, str, "QDBusVariant")
    def _note_change(self, group: str, name: str, value: object) -> None:
        if (group, name) == _WISH:
            self._note(value)

    def _note(self, value: Any) -> None:
        while hasattr(value, "variant"):  # portals wrap once or twice
            value = value.variant()
        if isinstance(value, bool):
            self._set(not value, self._by_settings)
