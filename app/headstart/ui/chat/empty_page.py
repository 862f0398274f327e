"""The page of a chat without messages: examples that suit the model, prompts and presets."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from headstart.chat.conversation import Project
from headstart.settings import Settings
from headstart.ui.formatting import listed
from headstart.ui.models.catalogue import Strength, strength
from headstart.ui.settings.presets import PresetButton
from headstart.ui.translation import translate
from headstart.ui.widgets.labels import Heading, button, muted
from headstart.ui.widgets.layouts import FlowLayout, add, beside, row, scrolled, stacked
from headstart.ui.widgets.stylesheet import hide_idle_bar, set_style_class
from headstart.ui.widgets.theme import MEDIUM, SMALL, TEXT_WIDTH, TINY, scaled

_NARROW = 560  # pixels at the usual size of text; in less width, examples stand in one column


@dataclass(frozen=True)
class Example:
    """An example of a question, with a title."""

    title: str
    text: str


def examples(model_strength: Strength) -> tuple[Example, ...]:
    """Return four examples in the language of the window."""
    match model_strength:
        case Strength.CODE:
            return (
                Example(
                    translate("Examples", "Write a function"),
                    translate(
                        "Examples",
                        "Write a Python function that returns the ten most frequent words of a text, with two tests.",
                    ),
                ),
                Example(
                    translate("Examples", "Draw a picture"),
                    translate("Examples", "Draw a sailing boat at sunset as one SVG file of simple shapes."),
                ),
                Example(
                    translate("Examples", "Ask a database"),
                    translate(
                        "Examples",
                        "Write an SQL query for the ten customers with the highest sales of the last twelve months, "
                        "from the tables customers and orders.",
                    ),
                ),
                Example(
                    translate("Examples", "Understand code"),
                    translate(
                        "Examples",
                        "Explain this regular expression step by step, with three texts that it matches: "
                        "^(\\d{1,3})(?:\\.(\\d{2}))?$",
                    ),
                ),
            )
        case Strength.SMALL:
            return (
                Example(
                    translate("Examples", "Send good wishes"),
                    translate("Examples", "Write a birthday greeting for a good friend in four sentences."),
                ),
                Example(
                    translate("Examples", "Collect ideas"),
                    translate("Examples", "Give me five ideas for a rainy Sunday at home."),
                ),
                Example(
                    translate("Examples", "Write an e-mail"),
                    translate("Examples", "Write a short e-mail that moves a meeting from Tuesday to Thursday."),
                ),
                Example(
                    translate("Examples", "Explain something"),
                    translate("Examples", "Explain in three sentences why leaves change their colour in autumn."),
                ),
            )
        case Strength.GENERAL:
            return (
                Example(
                    translate("Examples", "Explain something"),
                    translate("Examples", "Explain how a refrigerator works, in simple words and four short steps."),
                ),
                Example(
                    translate("Examples", "Make a plan"),
                    translate(
                        "Examples",
                        "Plan three days in Vienna for two people who like museums and good food. Give a table.",
                    ),
                ),
                Example(
                    translate("Examples", "Write a letter"),
                    translate(
                        "Examples", "Write a friendly letter that asks my landlord to have the heating repaired."
                    ),
                ),
                Example(
                    translate("Examples", "Decide"),
                    translate(
                        "Examples",
                        "Compare renting and buying a flat in a table. Then name the three questions that decide it.",
                    ),
                ),
            )


class ExampleButton(QPushButton):
    """A button with a title above a text that wraps."""

    def __init__(self, example: Example, parent: QWidget) -> None:
        super().__init__(parent)
        set_style_class(self, "example")
        self.setAccessibleName(example.title)
        self.setAccessibleDescription(example.text)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        column = QVBoxLayout(self)
        column.setContentsMargins(MEDIUM, SMALL, MEDIUM, SMALL)
        column.setSpacing(TINY)
        title = QLabel(example.title, self)
        set_style_class(title, "section")
        for label in (title, muted(example.text, self)):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            column.addWidget(label)
        column.addStretch(1)

    def sizeHint(self) -> QSize:
        return self._column().totalSizeHint()

    def minimumSizeHint(self) -> QSize:
        return self._column().totalMinimumSize()

    def heightForWidth(self, width: int) -> int:
        return self._column().totalHeightForWidth(width)

    def _column(self) -> QVBoxLayout:
        column = self.layout()
        assert isinstance(column, QVBoxLayout)
        return column


class EmptyPage(QFrame):
    """The page of an empty chat, which emits what is clicked."""

    example_chosen = Signal(str)  # text
    prompt_chosen = Signal(str)  # name
    library_requested = Signal()
    project_edit_requested = Signal(str)  # name

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._strength: Strength | None = None
        self._examples: list[ExampleButton] = []
        self._names: list[str] = []  # of the prompts
        self._greeting = Heading(self.tr("What would you like to know?"), 1.5, self)
        self._greeting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._greeting.setWordWrap(True)
        self._project_name = ""
        self._project = muted("", self)
        self._project.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._edit_project = button(self.tr("Edit project…"), self, "link")
        self._edit_project.clicked.connect(lambda: self.project_edit_requested.emit(self._project_name))
        self.show_project(None)
        self.preset = PresetButton(self)
        self._prompts = QWidget(self)
        self._flow = FlowLayout(self._prompts, SMALL)
        self._lay_out()

    def show_model(self, name: str, parameters: int | None = None) -> None:
        """Show examples that suit a model."""
        model_strength = strength(name, parameters)
        if model_strength is self._strength:
            return
        self._strength = model_strength
        for old in self._examples:
            old.setParent(None)
            old.deleteLater()
        self._examples = [self._example(example) for example in examples(model_strength)]
        self._arrange()

    def show_project(self, project: Project | None) -> None:
        """Show what a chat in this project begins with; None for a chat in no project."""
        for part in (self._project, self._edit_project):
            part.setVisible(project is not None)
        if project is None:
            return
        files, folders = len(project.files), len(project.folders)
        parts = [self.tr("a system prompt")] if project.settings.get("system_prompt") else []
        parts += [self.tr("1 file") if files == 1 else self.tr("{} files").format(files)] if files else []
        parts += [self.tr("1 folder") if folders == 1 else self.tr("{} folders").format(folders)] if folders else []
        words = self.tr("A new chat in the project “{}”").format(project.name)
        self._project_name = project.name
        self._project.setText(
            self.tr("{chat}, with: {parts}").format(chat=words, parts=listed(parts)) if parts else words
        )

    def show_prompts(self, names: Collection[str]) -> None:
        """Show a button for each prompt and one for the library."""
        if list(names) == self._names:
            return
        self._names = list(names)
        while item := self._flow.takeAt(0):
            old = item.widget()
            assert old
            old.setParent(None)
            old.deleteLater()
        for name in names:
            self._add_prompt_button(f"/{name}", partial(self.prompt_chosen.emit, name))
        self._add_prompt_button(self.tr("Edit prompts…"), self.library_requested.emit)

    def show_settings(self, settings: Settings) -> None:
        """Show the presets and the system prompt of the open chat."""
        self.preset.show_presets(settings.presets)
        self.preset.show_prompt(settings.system_prompt)

    def event(self, event: QEvent) -> bool:
        is_handled = super().event(event)
        if event.type() in (QEvent.Type.Resize, QEvent.Type.FontChange):
            self._arrange()
        return is_handled

    def _example(self, example: Example) -> ExampleButton:
        button = ExampleButton(example, self._grid_widget)
        button.clicked.connect(partial(self.example_chosen.emit, example.text))
        return button

    def _add_prompt_button(self, text: str, act: Callable[[], None]) -> None:
        prompt = button(text.replace("&", "&&"), self._prompts)
        prompt.clicked.connect(act)
        self._flow.addWidget(prompt)
        prompt.show()

    def _arrange(self) -> None:
        """Put two examples in a row if there is room; the page is as wide as the messages."""
        side = max((self.width() - self._scroll.verticalScrollBar().sizeHint().width() - TEXT_WIDTH) // 2, SMALL)
        self._column.setContentsMargins(side, MEDIUM, side, MEDIUM)
        columns = 1 if self.width() < scaled(_NARROW, self.font()) else 2
        for place, example in enumerate(self._examples):
            self._grid.addWidget(example, place // columns, place % columns)
            example.show()
        self._grid.setColumnStretch(1, columns - 1)
        self._grid.setColumnStretch(0, 1)

    def _lay_out(self) -> None:
        self._grid_widget = QWidget(self)
        self._grid = QGridLayout(self._grid_widget)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(SMALL)
        inner = QWidget(self)
        self._column = QVBoxLayout(inner)
        self._column.setSpacing(MEDIUM)
        self._column.addStretch(1)
        self._column.addWidget(self._greeting)
        edit = beside(None, self._edit_project)
        edit.insertStretch(0, 1)
        edit.addStretch(1)
        add(self._column, self._project, edit, self._grid_widget, self._prompts)
        self._column.addLayout(row(self.preset))  # with its own direction it would stand on the other side
        self._column.addStretch(1)
        self._scroll = scrolled(inner, self)
        stacked(self, self._scroll)
        hide_idle_bar(self._scroll)
        self._scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)  # as in the transcript
