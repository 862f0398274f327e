"""The languages of the window: translators, locales and translated errors."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QObject, QTranslator

from headstart.errors import HeadstartError, Translatable

LANGUAGES = ("en", "zh_CN", "zh_TW")
FOLDER = Path(__file__).parent / "i18n"

translate = QCoreApplication.translate  # for modules without a QObject: `translate("Context", "text")`, both literals


def translate_error(error: Exception | str) -> str:
    """Translate an error, or a text from outside the window; text that has no translation is returned as it is."""
    text = error.text if isinstance(error, HeadstartError) else error
    if not isinstance(text, Translatable):
        return str(text)
    template = translate("Faults", text.template)
    values = {name: translate_error(value) if isinstance(value, str) else value for name, value in text.values.items()}
    return template.format(**values) if values else template


@contextmanager
def showing_errors(show: Callable[[str], object]) -> Iterator[None]:
    """Catch a HeadstartError and pass its translated sentence to `show`."""
    try:
        yield
    except HeadstartError as error:
        show(translate_error(error))


class Translation(QObject):
    """The translators of an application; only widgets made after `install` show its language."""

    def __init__(self, application: QCoreApplication, folder: Path = FOLDER) -> None:
        """`folder` holds files such as `headstart_zh_CN.qm`."""
        super().__init__(application)
        self._application = application
        self._folder = folder
        self._installed: list[QTranslator] = []

    def install(self, language: str) -> QLocale:
        """Install a language ("" is the system's), also for dates, numbers and Chinese glyphs.

        English has a file too: it replaces flags of the terminal in errors by settings of the window.
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
    """Return the locale for a setting; for a system without any of LANGUAGES, English as its territory writes it."""
    if language:
        return QLocale(language)
    system = system or QLocale.system()
    for candidate in (QLocale(name) for name in system.uiLanguages()):
        if language_of(candidate):
            return system if language_of(candidate) == language_of(system) else candidate
    return QLocale(QLocale.Language.English, system.territory())


def language_of(locale: QLocale) -> str:
    """Return which of LANGUAGES a locale is, or "". The script decides for Chinese: Hong Kong writes Traditional."""
    match locale.language():
        case QLocale.Language.Chinese:
            return "zh_TW" if locale.script() == QLocale.Script.TraditionalHanScript else "zh_CN"
        case QLocale.Language.English:
            return "en"
    return ""
