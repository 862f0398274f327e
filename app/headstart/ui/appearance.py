"""Theme, fonts and zoom of the running application, changed live."""

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from headstart.settings import Settings
from headstart.ui.widgets import theme
from headstart.ui.widgets.theme import Theme, ThemeChoice


class Appearance(QObject):
    """What everything is drawn with."""

    changed = Signal(object, object)  # Theme, QFont

    def __init__(self, application: QApplication, settings: Settings, parent: QObject | None = None) -> None:
        """Dresses the application at once."""
        super().__init__(parent)
        self._application = application
        self._settings = settings
        self.theme: Theme = theme.LIGHT
        self.font = QFont()
        self._dress()
        hints = application.styleHints()
        hints.colorSchemeChanged.connect(self._follow)
        hints.accessibility().contrastPreferenceChanged.connect(self._follow)

    def set_settings(self, settings: Settings) -> None:
        """Theme, font size or zoom may have changed."""
        before, self._settings = self._settings, settings
        if _relevant(before) != _relevant(settings):
            self._dress()
            self.changed.emit(self.theme, self.font)

    @Slot()
    def _follow(self) -> None:
        """The desktop went dark or light, or wants another contrast."""
        if theme.wanted(self._application, ThemeChoice(self._settings.theme)) != self.theme:
            self._dress()
            self.changed.emit(self.theme, self.font)

    def _dress(self) -> None:
        self.theme = theme.apply(self._application, ThemeChoice(self._settings.theme))
        self.font = theme.text_font(self._settings.font_size * self._settings.zoom / 100)
        self._application.setFont(self.font)


def _relevant(settings: Settings) -> tuple[object, ...]:
    return (settings.theme, settings.font_size, settings.zoom)
