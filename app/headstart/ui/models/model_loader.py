"""The loading of the models that a chat's settings ask for, if others are loaded."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal, Slot

from headstart import remotes
from headstart.engine.engine import ConversationRequest, LoadOptions, Message, Phase
from headstart.engine.protocol import Failed, Load, Loading, ModelInfo
from headstart.errors import EngineBusyError, HeadstartError, MemoryBudgetError, UnreadableModelError
from headstart.library import library
from headstart.settings import Settings
from headstart.ui.engine_link import EngineLink
from headstart.ui.engine_request import Find, Loadable
from headstart.ui.formatting import titled, whole
from headstart.ui.translation import translate, translate_error

_TICK_MS = 1000  # the seconds that have passed are shown


class LoadProgress(QObject):
    """The progress of loading a model, in words."""

    changed = Signal()  # the words differ: each second while a model is being loaded

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._stage: Loading | None = None  # the last one reported
        self._clock = QElapsedTimer()  # valid while a model is being loaded
        self._tick = QTimer(self, interval=_TICK_MS)
        self._tick.timeout.connect(self.changed)

    @property
    def step(self) -> str:
        """The step with its time, and the time it usually takes; "" while nothing is being loaded."""
        return next(iter(self.texts), "")

    @property
    def texts(self) -> tuple[str, ...]:
        """The step and its time in texts from the longest to the shortest; none while nothing is being loaded."""
        if not self._clock.isValid():
            return ()
        time = self.tr("{} s").format(whole(self._clock.elapsed() // 1000))
        phase = self._stage.phase if self._stage else None
        steps = (self._words(phase), *((self.tr("only the first time"),) if phase is Phase.PROOF else ()))
        texts = [self.tr("{step} · {time}").format(step=step, time=time) for step in steps]
        if self._stage and self._stage.expected is not None:
            usual = self.tr("{step} · {time}, usually about {expected} s")
            texts.insert(0, usual.format(step=steps[0], time=time, expected=whole(max(1, self._stage.expected))))
        return (*texts, time)

    def note(self, stage: Loading | None) -> None:
        """Note a stage; None is the beginning."""
        if stage is None or not self._clock.isValid():
            self._clock.start()
            self._tick.start()
        self._stage = stage

    def end(self) -> None:
        """Stop the clock: nothing is being loaded any more."""
        self._clock.invalidate()
        self._tick.stop()

    def _words(self, phase: Phase | None) -> str:
        match phase:
            case Phase.SERVER:
                return self.tr("asking the other computer")
            case Phase.RUNTIME:
                return self.tr("starting OpenVINO")
            case Phase.PROOF:
                return self.tr("testing the fastest way to compute, only the first time")
            case Phase.MODEL:
                return self.tr("checking and compiling the model")
            case Phase.DRAFT:
                return self.tr("checking and compiling the draft model")
            case Phase.WARM_UP:
                return self.tr("warming up")
            case None:
                return self.tr("starting the engine")


def no_model() -> str:
    """Return the sentence for everything that needs a model while there is none."""
    return translate("ModelFacts", "No model is installed yet.")


class ModelLoader(QObject):
    """The model in memory, and its loading."""

    changed = Signal()  # `progress`, `fault`, `occupation`, what is loaded or `unavailable_reason` differ
    refused = Signal(str, bool)  # why a model is not loaded, and whether `load_anyway` may do it

    def __init__(self, link: EngineLink, find: Find, parent: QObject | None = None) -> None:
        """`find` finds the models of settings; nothing is loaded yet."""
        super().__init__(parent)
        self.link = link
        self._find = find
        self.status = ""  # what is being loaded, in words
        self.fault = ""  # why nothing is loaded
        self.occupation = ""  # why chats wait, while a benchmark, a race or a tuning has the engine
        self._options: LoadOptions | None = None
        self._forced: LoadOptions | None = None  # options to be loaded even if memory seems too small
        self.model = ""  # the chosen name of the model that was loaded last
        self.settings = Settings()  # settings that a model was loaded for last
        self.loading = LoadProgress(self)
        self.loading.changed.connect(self.changed)
        link.loading.connect(self._on_loading)
        link.loaded.connect(self._on_loaded)
        link.unloaded.connect(self._on_unloaded)
        link.finished.connect(self.changed)
        link.failed.connect(self._on_failed)
        link.crashed.connect(self._on_crashed)

    @property
    def is_ready(self) -> bool:
        return self.link.model_info is not None

    @property
    def progress(self) -> str:
        """The model that is being loaded and how far that is; "" while none is."""
        return titled(self.status, self.loading.step) if self.status else ""

    def name(self, settings: Settings) -> str:
        """Return the name that signs answers with these settings; "" if no model can be found."""
        try:
            return self._find(settings).name
        except HeadstartError:
            return ""

    def resolve(self, settings: Settings) -> Loadable:
        """Return the models that these settings choose. Raises a HeadstartError if there are none."""
        return self._find(settings)

    def has_loaded(self, settings: Settings) -> bool:
        try:
            loadable = self._find(settings).options
        except HeadstartError:
            return False
        return self.is_ready and self._options in (loadable, replace(loadable, ignore_memory=True))

    def uses(self, folder: Path) -> bool:
        """Return whether a model in this folder is loaded, being loaded or tuned."""
        options = self.link.options
        places = (options.target, options.draft) if options else ()
        return any(place.is_relative_to(folder) for place in places if place)

    def info(self, settings: Settings) -> ModelInfo | None:
        """Return the information about the loaded model; None unless these settings choose it."""
        return self.link.model_info if self.has_loaded(settings) else None

    def unavailable_reason(self, settings: Settings) -> str:
        """Return why the engine cannot be used for a measurement; "" if it can."""
        if self.occupation:
            return self.occupation
        if remotes.is_remote(settings.model):
            return self.tr("This measures models of this computer; choose one of them for the chat first.")
        if fault := self._fault(settings):
            return fault
        if self.link.generation is not None:
            return self.tr("An answer is still being written; stop it or wait for its end.")
        return ""

    def _fault(self, settings: Settings) -> str:
        """Return why no model can be found for these settings; "" if one can."""
        try:
            self._find(settings)
        except UnreadableModelError as error:
            return translate_error(error)
        except HeadstartError as error:
            return translate_error(error) if library.installed() else no_model()
        return ""

    def occupy(self, sentence: str) -> None:
        """Keep chats from the engine until `release`; `sentence` says why."""
        self.occupation = sentence
        self.changed.emit()

    def release(self) -> None:
        """Let chats use the engine again."""
        self.occupation = ""
        self.changed.emit()

    def require(self, settings: Settings) -> str:
        """Load the models of these settings, unless they are loaded or being loaded. Return their name.

        Raise a HeadstartError.
        """
        if self.occupation:
            raise EngineBusyError(self.occupation)
        return self.load(settings)

    def load(self, settings: Settings) -> str:
        """Load the models of these settings even while a job occupies the engine. Return their name.

        Raise a HeadstartError.
        """
        loadable = self._find(settings)
        options = replace(loadable.options, ignore_memory=loadable.options == self._forced)
        if options != self._options:
            self._options, self.model, self.settings = options, loadable.name, settings
            self.link.load(options)
        return loadable.name

    def reload(self, settings: Settings) -> None:
        """Load again after a failure. Raises a HeadstartError."""
        self._options = self._options if self.occupation else None
        self.require(settings)

    def expire(self) -> None:
        """Have the next message load its model again."""
        self._options = None
        self.changed.emit()

    def load_anyway(self, settings: Settings) -> None:
        """Load the models of these settings although memory seems too small. Raise a HeadstartError."""
        self._forced = self._find(settings).options
        self.reload(settings)

    def unload(self) -> None:
        """Free the memory; the next question loads again."""
        self._options = None
        self.link.unload()

    def close(self) -> None:
        self.loading.end()

    @Slot(object)
    def _on_loading(self, stage: Loading | None) -> None:
        self.loading.note(stage)
        self.status, self.fault = self.tr("Loading {}").format(self.model), ""
        self.changed.emit()

    def _end(self, fault: str = "") -> None:
        self.status, self.fault = "", fault
        self.loading.end()

    @Slot(object)
    def _on_loaded(self, _model_info: ModelInfo) -> None:
        self._end()
        self.changed.emit()

    @Slot()
    def _on_unloaded(self) -> None:
        self._end()
        self.changed.emit()

    @Slot(str, object)
    def _on_failed(self, sentence: str, failed: Failed) -> None:
        has_not_loaded = failed.order == Load.__name__
        if has_not_loaded:
            self._options = None
            self._end(sentence)
        self.changed.emit()
        if has_not_loaded:
            self.refused.emit(sentence, failed.kind == MemoryBudgetError.__name__)

    @Slot(str, object)
    def _on_crashed(self, sentence: str, _generation: int | None) -> None:
        self._end(sentence)
        if not self.link.is_restarting:
            self._options = None
        self.changed.emit()


_QUESTION = ConversationRequest((Message("user", "Hello"),), max_new_tokens=1)


class LoadTest(QObject):
    """A trial of a model, run once: an engine of its own loads it and asks it for one token."""

    ended = Signal(str)  # why it did not answer; "" if it did

    def __init__(
        self, options: LoadOptions, make_link: Callable[[], EngineLink], parent: QObject | None = None
    ) -> None:
        """`make_link` starts an engine for this test alone."""
        super().__init__(parent)
        self._options, self._make_link = options, make_link
        self.loading = LoadProgress(self)
        self._link: EngineLink | None = None

    def start(self) -> None:
        """Start the test; `ended` follows, unless `close` comes first."""
        self._link = link = self._make_link()
        link.setParent(self)
        link.loading.connect(self.loading.note)
        link.loaded.connect(self._on_loaded)
        link.failed.connect(self._end)
        link.crashed.connect(self._end)
        link.finished.connect(self._on_finished)
        link.load(self._options)

    def close(self) -> None:
        """End the test; `ended` does not follow."""
        self.loading.end()
        link, self._link = self._link, None
        if link:
            link.close()
            link.deleteLater()

    @Slot()
    def _on_loaded(self) -> None:
        self.loading.end()
        if self._link:
            self._link.generate(_QUESTION)

    @Slot()
    def _on_finished(self) -> None:
        self._end("")

    @Slot(str)
    def _end(self, sentence: str) -> None:
        self.close()
        self.ended.emit(sentence)
