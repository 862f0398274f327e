"""Which language the window speaks, and the translators that make it so."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QObject, QTranslator

from headstart.errors import HeadstartError, Translatable

LANGUAGES = ("en", "zh_CN", "zh_TW")
FOLDER = Path(__file__).parent / "i18n"

translate = QCoreApplication.translate  # of modules without a QObject: `translate("Context", "text")`, both literal


def translate_error(fault: Exception | str) -> str:
    """A text from outside the window in the window's language; one that cannot be translated stays."""
    text = fault.text if isinstance(fault, HeadstartError) else fault
    if not isinstance(text, Translatable):
        return str(text)
    template = translate("Faults", text.template)
    values = {name: translate_error(value) if isinstance(value, str) else value for name, value in text.values.items()}
    return template.format(**values) if values else template


@contextmanager
def showing_errors(tell: Callable[[str], object]) -> Iterator[None]:
    """Where a HeadstartError ends, with its sentence in the window's language for `tell`."""
    try:
        yield
    except HeadstartError as error:
        tell(translate_error(error))


class Translation(QObject):
    """The translators of an application; widgets made after `speak` have its language."""

    def __init__(self, application: QCoreApplication, folder: Path = FOLDER) -> None:
        """Installs nothing yet. `folder` has `headstart_zh_CN.qm` and the like."""
        super().__init__(application)
        self._application = application
        self._folder = folder
        self._installed: list[QTranslator] = []

    def install(self, language: str) -> QLocale:
        """Use a language, "" for the system's, also for dates, numbers and Chinese glyphs.

        English has a file too: errors that name flags of the terminal name the settings of the window instead.
        """
        self.remove()
        locale = choose_locale(language)
        QLocale.setDefault(locale)
        qt = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
        name = language_of(locale)
        for folder, catalogue in ((qt, "qtbase"), (self._folder, "headstart")):
            translator = QTranslator(self)
            if translator.load(str(folder / f"{catalogue}_{name}.qm")):
                self._application.installTranslator(translator)
                self._installed.append(translator)
        return locale

    def remove(self) -> None:
        """Remove the translators; the locale stays."""
        while self._installed:
            self._application.removeTranslator(self._installed.pop())


def choose_locale(language: str, system: QLocale | None = None) -> QLocale:
    """The locale for a setting; if no language of the system is among LANGUAGES, English as used in its territory."""
    if language:
        return QLocale(language)
    system = system or QLocale.system()
    for wanted in (QLocale(name) for name in system.uiLanguages()):
        if language_of(wanted):
            return system if language_of(wanted) == language_of(system) else wanted
    return QLocale(QLocale.Language.English, system.territory())


def language_of(locale: QLocale) -> str:
    """Which of LANGUAGES this is, or "". Chinese is told by its script: Hong Kong writes Traditional."""
    match locale.language():
        case QLocale.Language.Chinese:
            return "zh_TW" if locale.script() == QLocale.Script.TraditionalHanScript else "zh_CN"
        case QLocale.Language.English:
            return "en"
    return ""
