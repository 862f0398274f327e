"""Figures of the local server in Prometheus' text format."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from headstart.engine.engine import Stats

TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds
_TOTALS = {
    "prompt_tokens": "Tokens of prompts.",
    "reused_tokens": "Tokens of prompts that were in memory from an earlier request.",
    "output_tokens": "Tokens of answers.",
    "drafted": "Guessed tokens that the model checked.",
    "accepted": "Guessed tokens that held.",
}
_METRIC_NAMES = {
    "reused_tokens": "prompt_tokens_cached",
    "output_tokens": "generation_tokens",
    "drafted": "draft_tokens",
    "accepted": "draft_tokens_accepted",
}


class Metrics:
    """Counts since the start of the server. All calls come from the thread of its event loop."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._totals: Counter[str] = Counter()
        self._first_token_counts = [0] * (len(_BOUNDS) + 1)  # one for each bound, and one above
        self._first_token_seconds = 0.0

    def count_request(self, route: str, status: int) -> None:
        """Count a request that has ended; status 0: its client disconnected."""
        self._requests[route, status] += 1

    def count_answer(self, stats: Stats | None, first_seconds: float | None) -> None:
        """Count an answer that has ended.

        `first_seconds` is the time from its request to its first token; None if either is missing.
        """
        if stats:
            self._totals.update({name: getattr(stats, name) for name in _TOTALS})
        if first_seconds is not None:
            self._first_token_counts[bisect_left(_BOUNDS, first_seconds)] += 1
            self._first_token_seconds += first_seconds

    def text(self, waiting: int) -> str:
        """Return all figures. `waiting` is the number of requests in the queue."""
        return "\n".join([*self._lines(waiting), ""])

    def _lines(self, waiting: int) -> Iterable[str]:
        yield from _header("requests_total", "counter", "Requests by route and HTTP status.")
        for (route, status), count in sorted(self._requests.items()):
            yield f'headstart_requests_total{{route="{route}",status="{status}"}} {count}'
        for field, meaning in _TOTALS.items():
            name = f"{_METRIC_NAMES.get(field, field)}_total"
            yield from (*_header(name, "counter", meaning), f"headstart_{name} {self._totals[field]}")
        yield from (
            *_header("requests_waiting", "gauge", "Requests in the queue."),
            f"headstart_requests_waiting {waiting}",
        )
        name = "time_to_first_token_seconds"
        yield from _header(name, "histogram", "Seconds from a request to its first token.")
        below = 0
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self._first_token_counts, strict=True):
            below += count
            yield f'headstart_{name}_bucket{{le="{bound}"}} {below}'
        yield from (f"headstart_{name}_sum {self._first_token_seconds:.6f}", f"headstart_{name}_count {below}")


def _header(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP headstart_{name} {meaning}", f"# TYPE headstart_{name} {kind}"
