"""What a server tells whoever runs it."""

import itertools
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headstart.engine.engine import Stats
from headstart.engine.protocol import Answered, Asked

STATS = "headstart.stats"  # where an answer puts its figures in the scope of its request
_LONGEST = 200  # characters of a path: strangers choose it


class Watched:
    """Tells of each request and its end; outermost, so that refusals and failures are told, too."""

    def __init__(self, app: ASGIApp, tell: Callable[[Asked | Answered], None]) -> None:
        """`app` answers."""
        self._app, self._tell = app, tell
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and listen."""
        assert scope["type"] == "http", "uvicorn was told of nothing else"
        number, started, status = next(self._numbers), time.monotonic(), 0

        async def listen(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._tell(Asked(number, scope["method"], scope["path"][:_LONGEST]))
        try:
            await self._app(scope, receive, listen)
        finally:
            stats: Stats | None = scope.get(STATS)
            tokens = (stats.prompt_tokens, stats.output_tokens) if stats else ()
            self._tell(Answered(number, time.monotonic() - started, status, *tokens))
