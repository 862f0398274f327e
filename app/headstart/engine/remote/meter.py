"""Times and counts one answer of a server, from what it tells and from what is seen here. Knows no connection."""

import time

from headstart.engine.engine import Origin, Stats
from headstart.engine.remote.reading import Chunk, Usage


class Meter:
    """Started when the request goes out; fed with every chunk.

    A server that does not tell how many tokens it wrote is taken to write one in a chunk, which is the least.
    """

    def __init__(self, context: int) -> None:
        """`context` is the model's, in tokens; 0 where the server does not tell."""
        self._context = context
        self._started = time.perf_counter()
        self._first = self._last = self._started
        self._chunks = 0
        self._usage: Usage | None = None

    def add(self, chunk: Chunk) -> None:
        """Count one chunk."""
        self._usage = chunk.usage or self._usage
        if chunk.text:
            self._last = time.perf_counter()
            self._first = self._first if self._chunks else self._last
            self._chunks += 1

    def stats(self) -> Stats:
        """What is known of the answer; whether guessing paid, only the server could tell."""
        told = self._usage or Usage(0, 0)
        written = told.completion or self._chunks
        accepted = told.accepted or 0
        return Stats(
            prompt_tokens=told.prompt,
            reused_tokens=told.cached,
            output_tokens=written,
            rounds=max(0, written - 1 - accepted) if accepted or told.rejected else 0,
            drafted=accepted + (told.rejected or 0),
            accepted=accepted,
            ttft_ms=(self._first - self._started) * 1000.0,
            decode_ms=(self._last - self._first) * 1000.0,
            by_origin={Origin.UNKNOWN.value: written} if written else {},
            by_part={},
            ledger_ms=0.0,
            plain_ms=None,
            context_used=told.prompt + written if told.prompt else 0,
            context_length=self._context,
        )
