"""Many requests to a running `headstart serve`, in a row and at once: none may be lost. Prints JSON; loads no model.

HEADSTART_SERVE_KEY=hs-... PYTHONPATH=app python app/bench/many_requests.py http://127.0.0.1:8642/v1
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

from headstart.engine.devices import describe

_BUSY = 429
_PATIENCE = 600.0  # seconds
_MOST_TRIES = 100


@dataclass(frozen=True)
class Size:
    """How many requests, and tokens of each answer."""

    row: int = 200
    together: int = 16
    tokens: int = 24


@dataclass(frozen=True)
class Outcome:
    """What became of a request: `fault` says why there is no answer. One sent away for a while has asked again."""

    seconds: float
    tokens: int = 0
    sent_away: int = 0
    fault: str = ""


class Asker:
    """Asks one server for short greedy answers, each to a question of its own."""

    def __init__(self, url: str, key: str, tokens: int) -> None:
        """Finds out which model is served."""
        self._client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=_PATIENCE)
        self._tokens = tokens
        self.model: str = self._client.get("/models").raise_for_status().json()["data"][0]["id"]

    def ask(self, number: int) -> Outcome:
        """One question; asked again for as long as too many others wait."""
        started, sent_away = time.perf_counter(), 0
        question = f"Name three things that come in a set of {number + 2}."
        body = {"model": self.model, "messages": [{"role": "user", "content": question}], "max_tokens": self._tokens}
        try:
            while (reply := self._client.post("/chat/completions", json=body)).status_code == _BUSY:
                sent_away += 1
                if sent_away == _MOST_TRIES:
                    break
                time.sleep(float(reply.headers["retry-after"]))
            tokens = reply.raise_for_status().json()["usage"]["completion_tokens"]
        except (httpx.HTTPError, ValueError, KeyError) as error:
            return Outcome(time.perf_counter() - started, 0, sent_away, f"{type(error).__name__}: {error}")
        return Outcome(time.perf_counter() - started, tokens, sent_away)

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()


def measure(url: str, key: str, size: Size) -> dict[str, Any]:
    """Ask as many times as `size` says, first one after the other, then all together."""
    asker = Asker(url, key, size.tokens)
    try:
        return {
            "model": asker.model,
            "device": describe("CPU").device,
            "tokens_asked": size.tokens,
            "in_a_row": _asked(asker, size.row, together=1),
            "at_once": _asked(asker, size.together, together=size.together),
        }
    finally:
        asker.close()


def _asked(asker: Asker, count: int, together: int) -> dict[str, Any]:
    started = time.perf_counter()
    with ThreadPoolExecutor(together) as pool:
        outcomes = list(pool.map(asker.ask, range(count)))
    return _told(outcomes, time.perf_counter() - started)


def _told(outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    each = sorted(outcome.seconds for outcome in outcomes)
    faults = [outcome.fault for outcome in outcomes if outcome.fault]
    tokens = sum(outcome.tokens for outcome in outcomes)
    return {
        "requests": len(outcomes),
        "answered": len(outcomes) - len(faults),
        "lost": len(faults),
        "faults": faults[:5],
        "sent_away_and_back": sum(outcome.sent_away for outcome in outcomes),
        "seconds": round(seconds, 2),
        "seconds_median": round(statistics.median(each), 3),
        "seconds_longest": round(each[-1], 3),
        "tokens": tokens,
        "tokens_per_second": round(tokens / seconds, 1),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("url", help="the base URL that `headstart serve` names; its key: HEADSTART_SERVE_KEY")
    usual = Size()
    parser.add_argument("--row", type=int, default=usual.row, help="requests one after the other")
    parser.add_argument("--together", type=int, default=usual.together, help="requests at once")
    parser.add_argument("--tokens", type=int, default=usual.tokens, help="of each answer, at most")
    given = parser.parse_args()
    size = Size(given.row, given.together, given.tokens)
    print(json.dumps(measure(given.url, os.environ.get("HEADSTART_SERVE_KEY", ""), size), indent=1))


if __name__ == "__main__":
    main()
