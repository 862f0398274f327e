"""The conversation of one terminal session as a value. Knows no engine and no screen."""

from dataclasses import dataclass, replace

from headstart.engine.engine import Message


@dataclass(frozen=True)
class Dialogue:
    """A system prompt and turns that alternate user, assistant, user, ..."""

    system: str | None = None
    turns: tuple[Message, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """What a request carries."""
        system = (Message("system", self.system),) if self.system else ()
        return system + self.turns

    def asked(self, text: str) -> "Dialogue":
        """With a question at the end."""
        return replace(self, turns=(*self.turns, Message("user", text)))

    def answered(self, text: str) -> "Dialogue":
        """With an answer at the end."""
        return replace(self, turns=(*self.turns, Message("assistant", text)))

    def before_last_answer(self) -> "Dialogue | None":
        """Up to the last question, or None when nothing was answered yet."""
        return replace(self, turns=self.turns[:-1]) if self.turns else None

    def markdown(self, model: str) -> str:
        """The conversation as a Markdown document."""
        names = {"system": "System", "user": "You", "assistant": model}
        parts = [f"## {names[message.role]}\n\n{message.content.strip()}\n" for message in self.messages]
        return "\n".join([f"# Conversation with {model}\n", *parts])
