"""A remote model as the engine's process opens it: what only a model of this computer can do is refused."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from headstart.engine.engine import LoadOptions, Message
from headstart.engine.opening import Opened, Tell
from headstart.engine.protocol import Bench, BenchReport, Facts, Loading, Phase
from headstart.engine.remote.engine import load
from headstart.errors import RemoteError


def open_remote(options: LoadOptions, tell: Tell) -> Opened:
    """See Models.open."""
    tell(Loading(Phase.SERVER))
    engine = load(options)
    name = engine.remote.name
    facts = Facts(engine.model.name, None, "", options.numerics.value, engine.model.context, name)

    def count(_messages: tuple[Message, ...], _text: str) -> int:
        raise RemoteError(f"{name} does not count tokens beforehand; ask, and it says what is too long.")

    def bench(_order: Bench, _tell: Callable[[BenchReport], None], _stop: threading.Event) -> Mapping[str, Any]:
        raise RemoteError(
            f"A benchmark measures this computer, but {name} is another one: choose a model that is here."
        )

    return Opened(engine, facts, count, bench)
