"""One answer from the engine to the screen; Ctrl+C stops the answer."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from headstart.cli.render import Screen
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Engine, Event, Finish, FinishReason, Prefill, Request, Stats, Step
from headstart.engine.tally import nothing
from headstart.errors import EngineLostError


@contextmanager
def on_ctrl_c(press: Callable[[], None]) -> Iterator[None]:
    """While inside, Ctrl+C calls `press` instead of raising. Python allows that on the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, lambda _number, _frame: press())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@dataclass(frozen=True)
class Answer:
    """A finished answer; partial when `reason` is CANCELLED, and when the engine was lost: then `fault` says how."""

    text: str
    token_ids: tuple[int, ...]
    reason: FinishReason
    stats: Stats
    fault: str = ""


def answer(engine: Engine, request: Request, screen: Screen) -> Answer:
    """Stream one answer to the screen. Ctrl+C ends it within one round, with what there is.

    Raises what the engine raises; EngineLostError only before the first word.
    """
    cancel = CancelEvent()
    try:
        with on_ctrl_c(cancel.set):
            return _followed(engine.generate(request, cancel), screen)
    finally:
        screen.end_answer()


def _followed(events: Iterator[Event], screen: Screen) -> Answer:
    text: list[str] = []
    try:
        return _whole(events, screen, text)
    except EngineLostError as error:
        if not any(text):
            raise
        return Answer("".join(text), (), FinishReason.CANCELLED, nothing(), str(error))


def _whole(events: Iterator[Event], screen: Screen, text: list[str]) -> Answer:
    for event in events:
        match event:
            case Prefill():
                screen.reading(event)
            case Step():
                screen.step(event)
                text.append(event.text)
            case Finish():
                return Answer("".join(text), event.token_ids, event.reason, event.stats)
    raise AssertionError("an engine ends every answer with Finish")
