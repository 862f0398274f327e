"""Loads the models that a chat's settings ask for, and only when they differ from those loaded."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal, Slot

from headstart import remotes
from headstart.engine.engine import LoadOptions, Message, Phase, Request
from headstart.engine.protocol import Facts, Failed, Load, Loading
from headstart.errors import EngineBusyError, HeadstartError, MemoryBudgetError
from headstart.settings import Settings
from headstart.ui.engine_link import EngineLink
from headstart.ui.engine_request import Find, Loadable
from headstart.ui.formatting import titled, whole
from headstart.ui.translation import translate

_TICK = 1000  # ms: the seconds are shown


class LoadProgress(QObject):
    """One for each engine; says nothing while nothing is being loaded."""

    changed = Signal()  # the words differ: each second while something is being loaded

    def __init__(self, parent: QObject | None = None) -> None:
        """Nothing is being loaded."""
        super().__init__(parent)
        self._stage: Loading | None = None  # the last one reported
        self._clock = QElapsedTimer()  # valid while a model is being loaded
        self._tick = QTimer(self, interval=_TICK)
        self._tick.timeout.connect(self.changed)

    @property
    def step(self) -> str:
        """All that is known."""
        if not self._clock.isValid():
            return ""
        step = self._words(self._stage.phase if self._stage else None)
        if self._stage is None or self._stage.expected is None:
            return self.tr("{step} · {time}").format(step=step, time=self.seconds)
        return self.tr("{step} · {time}, usually about {expected} s").format(
            step=step, time=self.seconds, expected=whole(max(1, self._stage.expected))
        )

    @property
    def seconds(self) -> str:
        """The time alone."""
        return self.tr("{} s").format(whole(self._clock.elapsed() // 1000)) if self._clock.isValid() else ""

    def note(self, stage: Loading | None) -> None:
        """How far it is; None where it begins."""
        if stage is None or not self._clock.isValid():
            self._clock.start()
            self._tick.start()
        self._stage = stage

    def end(self) -> None:
        """Nothing is being loaded any more."""
        self._clock.invalidate()
        self._tick.stop()

    def _words(self, phase: Phase | None) -> str:
        match phase:
            case Phase.SERVER:
                return self.tr("asking the other computer")
            case Phase.RUNTIME:
                return self.tr("starting OpenVINO")
            case Phase.PROOF:
                return self.tr("trying the precision")
            case Phase.MODEL:
                return self.tr("checking and compiling the model")
            case Phase.DRAFT:
                return self.tr("checking and compiling the draft model")
            case Phase.WARM_UP:
                return self.tr("warming up")
            case None:
                return self.tr("starting the engine")


def no_model() -> str:
    """What is said where everything begins with a model."""
    return translate("ModelFacts", "No model is installed yet.")


class ModelLoader(QObject):
    """What is loaded, and how it goes with the loading."""

    changed = Signal()  # `progress`, `fault`, `occupation` or what is loaded differ
    refused = Signal(str, bool)  # why a model is not loaded, and whether `load_anyway` may do it

    def __init__(self, link: EngineLink, find: Find, parent: QObject | None = None) -> None:
        """Loads nothing yet. `find` knows the models."""
        super().__init__(parent)
        self.link = link
        self._find = find
        self.status = ""  # what is being loaded, in words
        self.fault = ""  # why nothing is loaded
        self.occupation = ""  # why chats wait, while a benchmark, a race or a tuning has the engine
        self._options: LoadOptions | None = None
        self._lost: LoadOptions | None = None
        self._insisted: LoadOptions | None = None  # to be loaded even if memory seems too small
        self.model = ""  # that was loaded last, by the name that was chosen
        self.settings = Settings()  # that were loaded for last
        self.loading = LoadProgress(self)
        self.loading.changed.connect(self.changed)
        link.loading.connect(self._note_loading)
        link.loaded.connect(self._note_loaded)
        link.unloaded.connect(self._note_unloaded)
        link.failed.connect(self._note_failure)
        link.crashed.connect(self._note_crash)

    @property
    def is_ready(self) -> bool:
        """Whether a model is loaded."""
        return self.link.facts is not None

    @property
    def progress(self) -> str:
        """What is being loaded, and how far that is; empty while nothing is."""
        return titled(self.status, self.loading.step) if self.status else ""

    def name(self, settings: Settings) -> str:
        """What an answer made with these settings is signed with; empty where no model can be found."""
        try:
            return self._find(settings).name
        except HeadstartError:
            return ""

    def wanted(self, settings: Settings) -> Loadable:
        """What these settings ask for. Raises a HeadstartError."""
        return self._find(settings)

    def holds(self, settings: Settings) -> bool:
        """Whether what these settings ask for is in memory."""
        try:
            wanted = self._find(settings).options
        except HeadstartError:
            return False
        return self.is_ready and self._options in (wanted, replace(wanted, ignore_memory=True))

    def obstacle(self, settings: Settings) -> str:
        """Why the engine cannot be had to measure with; empty where it can."""
        if self.occupation:
            return self.occupation
        if remotes.is_remote(settings.model):
            return self.tr("This measures models of this computer; choose one of them for the chat first.")
        if not self.name(settings):
            return no_model()
        if self.link.generation is not None:
            return self.tr("An answer is still being written; stop it or wait for its end.")
        return ""

    def occupy(self, sentence: str) -> None:
        """Keep chats from the engine until `release`; `sentence` says why."""
        self.occupation = sentence
        self.changed.emit()

    def release(self) -> None:
        """Chats may use the engine again."""
        self.occupation = ""
        self.changed.emit()

    def require(self, settings: Settings) -> None:
        """Load what these settings ask for, unless it is loaded or being loaded. Raises a HeadstartError."""
        if self.occupation:
            raise EngineBusyError(self.occupation)
        self.load(settings)

    def load(self, settings: Settings) -> None:
        """The same for the job that occupies the engine. Raises a HeadstartError."""
        wanted = self._find(settings)
        options = replace(wanted.options, ignore_memory=wanted.options == self._insisted)
        if options != self._options:
            self._options, self.model, self.settings = options, wanted.name, settings
            self.link.load(options)

    def reload(self, settings: Settings) -> None:
        """Load again what may have failed before. Raises a HeadstartError."""
        self._options = self._options if self.occupation else None
        self.require(settings)

    def load_anyway(self, settings: Settings) -> None:
        """Load what these settings ask for although the memory seems too small. Raises a HeadstartError."""
        self._insisted = self._find(settings).options
        self.reload(settings)

    def unload(self) -> None:
        """Free the memory; the next question loads again."""
        self._options = None
        self.link.unload()

    def close(self) -> None:
        """The window closes."""
        self.loading.end()

    @Slot(object)
    def _note_loading(self, stage: Loading | None) -> None:
        self.loading.note(stage)
        self.status, self.fault = self.tr("Loading {}").format(self.model), ""
        self.changed.emit()

    def _end(self, fault: str = "") -> None:
        """Nothing is being loaded any more."""
        self.status, self.fault = "", fault
        self.loading.end()

    @Slot(object)
    def _note_loaded(self, _facts: Facts) -> None:
        self._options = self._options or self._lost
        self._end()
        self.changed.emit()

    @Slot()
    def _note_unloaded(self) -> None:
        self._end()
        self.changed.emit()

    @Slot(str, object)
    def _note_failure(self, sentence: str, failed: Failed) -> None:
        if failed.order == Load.__name__:
            self._options = None
            self._end(sentence)
            self.changed.emit()
            self.refused.emit(sentence, failed.kind == MemoryBudgetError.__name__)

    @Slot(str, object)
    def _note_crash(self, sentence: str, _generation: int | None) -> None:
        self._end(sentence)
        self._lost, self._options = self._options, None  # asked for again unless the link restarts by itself
        self.changed.emit()


_QUESTION = Request((Message("user", "Hello"),), max_new_tokens=1)


class LoadTest(QObject):
    """Loads a model in an engine of its own and asks it for one token. Runs once."""

    ended = Signal(str)  # why it did not answer; empty where it did

    def __init__(
        self, options: LoadOptions, make_link: Callable[[], EngineLink], parent: QObject | None = None
    ) -> None:
        """`make_link` starts an engine for this test alone."""
        super().__init__(parent)
        self._options, self._make_link = options, make_link
        self.loading = LoadProgress(self)
        self._link: EngineLink | None = None

    def start(self) -> None:
        """`ended` follows, unless it is closed before."""
        self._link = link = self._make_link()
        link.setParent(self)
        link.loading.connect(self.loading.note)
        link.loaded.connect(self._ask)
        link.failed.connect(self._end)
        link.crashed.connect(self._end)
        link.finished.connect(self._pass)
        link.load(self._options)

    def close(self) -> None:
        """End it; `ended` does not follow."""
        self.loading.end()
        link, self._link = self._link, None
        if link:
            link.close()
            link.deleteLater()

    @Slot()
    def _ask(self) -> None:
        self.loading.end()
        if self._link:
            self._link.generate(_QUESTION)

    @Slot()
    def _pass(self) -> None:
        self._end("")

    @Slot(str)
    def _end(self, sentence: str) -> None:
        self.close()
        self.ended.emit(sentence)
