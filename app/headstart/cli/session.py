"""A conversation going on in a terminal: its state, and what asking does to it. Knows no input device."""

from dataclasses import dataclass

from headstart.cli import loaded, report
from headstart.cli.answer import Answer, answer
from headstart.cli.counting import count
from headstart.cli.dialogue import Dialogue
from headstart.cli.screen import Screen
from headstart.cli.settings import Settings
from headstart.engine.engine import Engine, FinishReason, Sampling
from headstart.errors import ContextOverflowError, EngineLostError

FRESH_START = "/new starts a fresh conversation."


@dataclass
class Session:
    """One loaded model and one conversation with it. `model` is the name shown to the user."""

    engine: Engine
    model: str
    screen: Screen
    settings: Settings
    dialogue: Dialogue
    show_stats: bool = False
    last: Answer | None = None
    failures: int = 0
    interrupted: bool = False  # Ctrl+C stopped the last answer
    finished: bool = False

    @property
    def own(self) -> Sampling | None:
        """What "auto" means for the model; None where only a server knows."""
        return loaded.sampling(self.engine)

    def ask(self, text: str) -> None:
        """Answer a message. Raises what the engine raises; the conversation is then as it was before.

        Where the engine was lost in the middle of an answer, the conversation has what came of it.
        """
        self._answer(self.dialogue.asked(text))

    def regenerate(self) -> None:
        """Answer the last question again; with the next seed where sampling makes that another answer."""
        question = self.dialogue.before_last_answer()
        if question is None:
            self.screen.remark("There is no answer yet to make again.")
            return
        if self.settings.settled(self.own).values["temperature"] == 0:
            self.screen.remark("At temperature 0 another try says much the same; try /set temperature 0.8.")
        else:
            self.settings = self.settings.with_values({"seed": self.settings.sampling.seed + 1})
            self.screen.remark(f"Using seed {self.settings.sampling.seed}.")
        self._answer(question)

    def start_anew(self) -> None:
        """Forget the turns; system prompt and settings stay."""
        self.dialogue = Dialogue(self.dialogue.system)
        self.last = None

    def _answer(self, question: Dialogue) -> None:
        try:
            self.last = answer(self.engine, self.settings.request(question.messages), self.screen)
        except ContextOverflowError as error:
            raise ContextOverflowError(f"{error} {FRESH_START}") from None
        if self.last.fault:
            self.dialogue = question.answered(self.last.text)
            raise EngineLostError(self.last.fault)
        self.interrupted = self.last.reason is FinishReason.CANCELLED
        if self.interrupted and not self.last.text:
            self.screen.remark("Stopped before the first word; the question was taken back.")
            return
        self.dialogue = question.answered(self.last.text)
        self.screen.remark(*remarks(self.last, self.settings))
        if self.show_stats:
            self.screen.remark(*report.lines(self.last.stats))


def remarks(given: Answer, settings: Settings) -> list[str]:
    """What the reader should know about how the answer ended."""
    if given.reason is FinishReason.LENGTH:
        return [f"The answer reached its longest length, max-new-tokens {settings.max_new_tokens}."]
    if given.reason is FinishReason.CONTEXT:
        return [f"The context of {given.stats.context_length} tokens is full, so the answer ends here."]
    if given.reason is FinishReason.CANCELLED:
        return ["Stopped."]
    if given.reason is FinishReason.REPETITION:
        return [
            f"The model repeats itself; stopped after {count(given.stats.repeats, 'repeat')}. Try again with a higher "
            "temperature, or with stop-on-repetition no to let it go on."
        ]
    return [] if given.text else ["The model ended its answer without a word."]
