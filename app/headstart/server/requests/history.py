"""The messages of a request, with the results of tools behind their calls, in the order of the calls."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from headstart.engine.engine import Call, Message
from headstart.server.errors import RefusedError, invalid

# Takes the place of a result that was not sent, so that the others stay with their calls. It is written for the model.
NO_RESULT = "There is no result of this call."


@dataclass
class _Turn:
    """A message and the results of its calls."""

    message: Message
    ids: tuple[str, ...]  # of its calls; "": the client gave none
    results: dict[int, str] = field(default_factory=dict)  # by the number of the call

    def open_call(self, fits: Callable[[str, Call], bool]) -> int | None:
        """Return the number of the first call without a result that fits."""
        calls = enumerate(zip(self.ids, self.message.calls, strict=True))
        return next((number for number, call in calls if number not in self.results and fits(*call)), None)

    def has(self, fits: Callable[[str, Call], bool]) -> bool:
        return any(fits(id_, call) for id_, call in zip(self.ids, self.message.calls, strict=True))


class History:
    """The messages of a request. Results may come in any order after their calls."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._turns = [_Turn(message, ()) for message in messages]

    def add(self, message: Message, ids: Iterable[str | None] = ()) -> None:
        """Append a message whose calls have these ids."""
        self._turns.append(_Turn(message, tuple(id_ or "" for id_ in ids)))

    def add_result(self, text: str, place: str, id_: str | None, field_: str, name: str | None = None) -> None:
        """Give a result to its call: by its id, or else by the name of the tool, or else in order.

        `place` and `field_` name the result and the field of its id in errors. Raises RefusedError if no call before it
        can have the result.
        """

        def fits(call_id: str, call: Call) -> bool:
            return call_id == id_ if id_ and call_id else name in {None, "", call.name}

        for turn in reversed(self._turns):
            number = turn.open_call(fits)
            if number is not None:
                turn.results[number] = text
                return
        raise self._refusal(place, id_ or name, field_, is_known=any(turn.has(fits) for turn in self._turns))

    def _refusal(self, place: str, label: str | None, field_: str, *, is_known: bool) -> RefusedError:
        param = re.split(r"[.[]", place)[0]
        if not label:
            return invalid(f"`{place}` is the result of no call: send the call before it, or leave it out.", param)
        if is_known:
            sentence = f"`{place}` is another result of the call {label[:80]!r}: send one result for each call."
            return invalid(sentence, param)
        sentence = (
            f"`{field_}` of `{place}` is {label[:80]!r}, which no call before it has: correct it, or send the call."
        )
        return invalid(sentence, param)

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation. Calls without a result get a note as their result, unless they end it."""
        return tuple(self._messages())

    def _messages(self) -> Iterator[Message]:
        for turn in self._turns:
            yield turn.message
            if turn.results or turn is not self._turns[-1]:
                yield from (Message("tool", turn.results.get(n, NO_RESULT)) for n in range(len(turn.message.calls)))
