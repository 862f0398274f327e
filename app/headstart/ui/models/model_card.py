"""The cards of models and servers."""

from collections.abc import Iterable, Iterator

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from headstart import paths, remotes
from headstart.engine.engine import Remote
from headstart.engine.hardware.measurements import measured_ms
from headstart.library import catalogue, forms
from headstart.library.library import Broken, Entry, Model, Pair
from headstart.library.manifest import Precision
from headstart.ui.formatting import decimal, format_size, whole
from headstart.ui.models import model_choices
from headstart.ui.translation import translate, translate_error
from headstart.ui.widgets.labels import ElidedLabel, StatusLine, button, label, muted
from headstart.ui.widgets.layouts import Card, add, beside, flowing
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import SMALL, TINY

_TITLE = 1.15  # size of a title, times the usual size of text


class NamedCard(Card):
    """A card with a name, which its buttons pass on."""

    _check: QPushButton
    _is_usable = True
    action_requested = Signal(str, str)  # "use", "check", "folder" or "remove", and the name

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, spacing=TINY)
        self.name = name
        self.setAccessibleName(name)
        self._title = ElidedLabel(self)
        self._state = StatusLine(self)
        self._use = self.button(self.tr("Use"), self.tr("Use {}"), "use", "primary")
        self._remove = self.button(self.tr("Remove…"), self.tr("Remove {}"), "remove")
        self._badge = QLabel(self.tr("in use"), self)
        set_style_class(self._badge, "badge-accent")
        self._badge.hide()
        self._scale()

    def show_chosen(self, is_chosen: bool) -> None:
        """Show whether new chats use it."""
        self._badge.setVisible(is_chosen)
        self._use.setVisible(self._is_usable and not is_chosen)

    def show_state(self, text: str, *, bad: bool = False) -> None:
        """Show the progress or the outcome of a check."""
        self._state.say(text, bad=bad)

    def set_busy(self, busy: bool) -> None:
        self._check.setEnabled(not busy)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._scale()

    def heading(self) -> QHBoxLayout:
        """Return a row with the name, and at its end whether it is in use."""
        self._title.show_text(self.name)
        return beside(None, self._title, self._badge, growing=self._title)

    def _scale(self) -> None:
        """Set the title's font. It has a size of its own, so it does not inherit changes."""
        font = self.font()
        font.setPointSizeF(font.pointSizeF() * _TITLE)
        font.setBold(True)
        self._title.setFont(font)

    def badges(self, texts: Iterable[str]) -> QWidget:
        labels = [QLabel(text, self) for text in texts]
        for badge in labels:
            set_style_class(badge, "badge")
        line = flowing(labels, self, SMALL)
        line.setContentsMargins(0, 0, 0, TINY)
        return line

    def add_buttons(self, *buttons: QPushButton) -> None:
        below = flowing(buttons, self, SMALL)
        below.setContentsMargins(0, SMALL, 0, 0)
        add(self.column, below, self._state)  # the state is below the buttons, so that it does not move them

    def button(self, text: str, accessible_name: str, action: str, kind: str = "plain") -> QPushButton:
        """Return a button that requests `action`; `accessible_name` has {} for the card's name."""
        widget = button(text, self, kind)
        widget.setAccessibleName(accessible_name.format(self.name))
        widget.clicked.connect(lambda: self.action_requested.emit(action, self.name))
        return widget


class RemoteServerCard(NamedCard):
    """A server on another computer."""

    def __init__(self, server: Remote, parent: QWidget | None = None) -> None:
        super().__init__(server.name, parent)
        self._key = StatusLine(self)
        self._check = self.button(self.tr("Check"), self.tr("Check {}"), "check")
        self._lay_out(server)

    def show_key(self, text: str, *, bad: bool = False) -> None:
        self._key.say(text, bad=bad)

    def _lay_out(self, server: Remote) -> None:
        badges = self.badges([model_choices.location_word(server), server.model or self.tr("default model")])
        add(self.column, self.heading(), badges, muted(server.url, self))
        if remotes.is_exposed(server):
            readable = self.tr("http does not encrypt: others can read the messages and the key on the way.")
            self.column.addWidget(label(readable, self, "danger"))
        if server.certificate:
            trusted = self.tr("Trusts the authority in {} too.").format(server.certificate)
            self.column.addWidget(muted(trusted, self))
        self.column.addWidget(self._key)
        self.add_buttons(self._use, self._check, self._remove)


class ModelCard(NamedCard):
    """An installed model or pair."""

    def __init__(self, entry: Entry, parent: QWidget | None = None) -> None:
        super().__init__(entry.name, parent)
        self._memory, self._slowness = StatusLine(self), StatusLine(self)
        self._writes = isinstance(entry, Pair) or (isinstance(entry, Model) and entry.manifest.writes)
        self._check = self.button(self.tr("Verify"), self.tr("Verify {}"), "check")
        self._lay_out(entry)

    def show_memory(self, needed: int, free: int) -> None:
        """Show the bytes that it takes when loaded beside those that are free."""
        words = model_choices.memory_words(needed, free, writes=self._writes)
        self._memory.say(words, bad=needed > free)

    def show_slowness(self, sentence: str) -> None:
        """Show why its answers are slower than they could be."""
        self._slowness.say(sentence, bad=True)

    def _lay_out(self, entry: Entry) -> None:
        add(self.column, self.heading(), self.badges(_badges(entry)))
        for text, kind, tooltip in _lines(entry):
            line = label(text, self, kind)
            line.setToolTip(tooltip)
            self.column.addWidget(line)
        add(self.column, self._memory, self._slowness)
        self._add_buttons(usable=not isinstance(entry, Broken))

    def _add_buttons(self, *, usable: bool) -> None:
        self._is_usable = usable
        self._use.setVisible(usable)
        self._check.setVisible(usable)
        folder = self.button(self.tr("Show folder"), self.tr("Show the folder of {}"), "folder")
        self.add_buttons(self._use, self._check, folder, self._remove)


def _badges(entry: Entry) -> list[str]:
    if isinstance(entry, Broken):
        return [translate("ModelCard", "cannot be used")]
    licences = dict.fromkeys(model.manifest.licence for model in model_choices.models_of(entry))
    size = translate("ModelCard", "{} on the disk").format(format_size(model_choices.size_of(entry)))
    facts = [_precision(entry), size, ", ".join(licences)]
    return [translate("ModelCard", "with a small helper"), *facts] if isinstance(entry, Pair) else facts


def _lines(entry: Entry) -> list[tuple[str, str, str]]:
    """Return text, kind of label and tooltip for each line."""
    if isinstance(entry, Broken):
        return [(translate_error(entry.reason), "danger", "")]
    models = model_choices.models_of(entry)
    lines = [(_part_line(model, entry), "muted", _quality_details(model)) for model in models]
    recipe = catalogue.find(models[0].manifest)
    tasks = [translate_error(recipe.tasks_done)] if recipe and recipe.tasks_done else []
    return [*lines, *((line, "muted", "") for line in (*tasks, *_other_form(entry)))]


def _other_form(entry: Model | Pair) -> Iterator[str]:
    """Yield a line about the form of this model that is installed beside it, with its measured speed."""
    other = forms.other_form(entry.name)
    if other is None or other.target is None:
        return
    words = translate("ModelCard", "Its fast form") if other.is_fast else translate("ModelCard", "Its precise form")
    theirs, ours = (_speed_here(model) for model in (other.target, model_choices.models_of(entry)[0]))
    speed = translate("ModelCard", "not timed here yet")
    if theirs and ours:
        speed = translate("ModelCard", "{theirs} tokens/s here without speed-up, this one {ours}").format(
            theirs=decimal(theirs, 1), ours=decimal(ours, 1)
        )
    yield f"{words}: {other.name} · {speed}"


def _speed_here(model: Model) -> float | None:
    ms = measured_ms(paths.measurements_folder(), model.manifest.files["openvino_model.bin"].sha256)
    return 1000.0 / ms if ms else None


def _part_line(model: Model, entry: Model | Pair) -> str:
    role = ""
    if isinstance(entry, Pair):
        role = translate("ModelCard", "Model: ") if model is entry.target else translate("ModelCard", "Small helper: ")
    words = role + translate("ModelCard", "{} parameters").format(_parameters(model))
    quality = model.manifest.quality
    if quality is None:
        return words
    kept = translate("ModelFacts", "quality {} % of the original").format(decimal(quality.top1_agreement * 100, 1))
    return f"{words} · {kept}"


def _precision(entry: Model | Pair) -> str:
    words = (_weights_word(model.manifest.precision) for model in model_choices.models_of(entry))
    return " + ".join(dict.fromkeys(words))


def _quality_details(model: Model) -> str:
    quality = model.manifest.quality
    if quality is None:
        return ""
    words = translate(
        "ModelFacts",
        "Chooses the same next token as its source on {share} % of {tokens} tokens · KL {kl} · perplexity ×{ratio}",
    )
    return words.format(
        share=decimal(quality.top1_agreement * 100, 1),
        tokens=whole(quality.tokens),
        kl=decimal(quality.mean_kl, 4),
        ratio=decimal(quality.perplexity_ratio, 3),
    )


def _parameters(model: Model) -> str:
    """Format the number of parameters, such as "135 M"."""
    count = model.manifest.parameters
    return f"{decimal(count / 1e9, 2)} B" if count >= 1e9 else f"{decimal(count / 1e6, 0)} M"


def _weights_word(precision: Precision) -> str:
    bits = {"int4": 4, "int8": 8, "fp16": 16}.get(precision.weights.removesuffix("-sym"))
    return translate("ModelCard", "{} bits").format(bits) if bits else precision.weights.upper()
