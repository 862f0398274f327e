"""Comparison of a model's drafted texts with its plain ones."""

from contextlib import closing
from dataclasses import replace

from msgspec import structs

from headstart.engine.engine import (
    ConversationRequest,
    Finish,
    LoadOptions,
    Message,
    Mode,
    Sampling,
    Speculation,
    Stats,
)
from headstart.engine.local import load
from headstart.engine.opening import resolve


def chats_as_without(options: LoadOptions, sampling: Sampling, speculation: Speculation) -> list[Stats]:
    """Answer several chats, and require the texts of plain decoding. Return the statistics."""
    first, second = (Message("user", f"Question {number}: what is new?") for number in (1, 2))
    chats = [(first,), (second,), (first, Message("assistant", "Nothing."), second), (first,)]
    took = []
    with closing(load(resolve(replace(options)))) as engine:
        for messages in chats:
            request = ConversationRequest(messages, max_new_tokens=40, sampling=sampling)
            *_, plain = engine.generate(structs.replace(request, speculation=Speculation(Mode.OFF)))
            *_, guessed = engine.generate(structs.replace(request, speculation=speculation))
            assert isinstance(plain, Finish)
            assert isinstance(guessed, Finish)
            assert guessed.token_ids == plain.token_ids
            took.append(guessed.stats)
    return took
