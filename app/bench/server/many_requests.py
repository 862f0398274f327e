"""Many requests to a running `headstart serve`, in a row and at once: none may be lost. Prints JSON; loads no model.

HEADSTART_SERVE_KEY=hs-... PYTHONPATH=app python app/bench/server/many_requests.py http://127.0.0.1:8642/v1

With --clients 2,4,8 it measures instead how much faster so many clients get the same eight answers than one alone.
With --peer it asks another server in turns, such as llama.cpp's with `--parallel 8` and the same file.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NamedTuple

import httpx

from headstart.engine.hardware.devices import describe

_BUSY = 429
_PATIENCE = 600.0  # seconds
_MOST_TRIES = 100
_ANSWERS = 8  # of each run of `throughput`
_SHORT, _LONG = "Name three things that come in a set of {}.", "Tell a story about {} friends who meet again."


class RequestOutcome(NamedTuple):
    """The outcome of a request; `fault` says why there is no answer. A rejected request is sent again later."""

    seconds: float
    tokens: int
    sent_away: int
    fault: str


def measure(url: str, key: str, row: int = 200, together: int = 16, tokens: int = 24) -> dict[str, Any]:
    """Ask for short greedy answers: `row` one after the other, then some `together`."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=_PATIENCE) as client:
        model = client.get("/models").raise_for_status().json()["data"][0]["id"]
        return {
            "model": model,
            "device": describe("CPU").device,
            "tokens_asked": tokens,
            "in_a_row": _asked(client, model, tokens, row, together=1),
            "at_once": _asked(client, model, tokens, together, together=together),
        }


def throughput(
    urls: Sequence[str], key: str, clients: Sequence[int], tokens: int, repeats: int, question: str = _LONG
) -> dict[str, Any]:
    """Return the seconds for the same answers with one client and with several, in turns, and their ratios.

    The first address is measured. Each further one is a peer, with how much faster the first was.
    """
    headers = {"Authorization": f"Bearer {key}"}
    with ExitStack() as stack:
        opened = [stack.enter_context(httpx.Client(base_url=url, headers=headers, timeout=_PATIENCE)) for url in urls]
        servers = [(each, each.get("/models").raise_for_status().json()["data"][0]["id"]) for each in opened]
        runs: list[list[dict[int, dict[str, Any]]]] = []
        for _ in range(repeats + 1):  # the first warms up: what is read stays read
            order = (1, *clients) if len(runs) % 2 else (*reversed(clients), 1)
            run: list[dict[int, dict[str, Any]]] = [{} for _ in servers]
            for each in order:
                for (client, model), given in zip(servers, run, strict=True):
                    given[each] = _asked(client, model, tokens, _ANSWERS, each, question)
            runs.append(run)
    if lost := sum(given["lost"] for run in runs for server in run for given in server.values()):
        raise SystemExit(f"{lost} requests were lost, so the times say nothing.")
    found = {"device": describe("CPU").device, "tokens_asked": tokens}
    by_server = [[run[place] for run in runs[1:]] for place in range(len(servers))]
    reports: list[dict[str, Any]] = [
        {
            "model": model,
            "times_one_client": {
                each: _spread([run[1]["seconds"] / run[each]["seconds"] for run in own]) for each in clients
            },
            "runs": own,
        }
        for (_, model), own in zip(servers, by_server, strict=True)
    ]
    for report, peer in zip(reports[1:], by_server[1:], strict=True):
        pairs = list(zip(by_server[0], peer, strict=True))
        report["times_this_peer"] = {
            each: _spread([_rate(own, each) / _rate(other, each) for own, other in pairs]) for each in (1, *clients)
        }
    return {**found, **reports[0], **({"peers": reports[1:]} if reports[1:] else {})}


def _rate(run: dict[int, dict[str, Any]], clients: int) -> float:
    given = run[clients]
    return float(given["tokens"] / given["seconds"])


def _spread(ratios: Sequence[float]) -> dict[str, float]:
    mean = statistics.geometric_mean(ratios)
    return {"ratio": round(mean, 2), "from": round(min(ratios), 2), "to": round(max(ratios), 2)}


def _asked(
    client: httpx.Client, model: str, tokens: int, count: int, together: int, question: str = _SHORT
) -> dict[str, Any]:
    started = time.perf_counter()
    with ThreadPoolExecutor(together) as pool:
        outcomes = list(pool.map(lambda number: _ask(client, model, tokens, question.format(number + 2)), range(count)))
    seconds = time.perf_counter() - started
    each = sorted(outcome.seconds for outcome in outcomes)
    faults = [outcome.fault for outcome in outcomes if outcome.fault]
    written = sum(outcome.tokens for outcome in outcomes)
    return {
        "requests": len(outcomes),
        "answered": len(outcomes) - len(faults),
        "lost": len(faults),
        "faults": faults[:5],
        "sent_away_and_back": sum(outcome.sent_away for outcome in outcomes),
        "seconds": round(seconds, 2),
        "seconds_median": round(statistics.median(each), 3),
        "seconds_longest": round(each[-1], 3),
        "tokens": written,
        "tokens_per_second": round(written / seconds, 1),
    }


def _ask(client: httpx.Client, model: str, most: int, question: str) -> RequestOutcome:
    """Ask one unique question, and again as long as too many others wait."""
    started, sent_away, tokens, fault = time.perf_counter(), 0, 0, ""
    body = {"model": model, "messages": [{"role": "user", "content": question}], "max_tokens": most, "temperature": 0}
    try:
        while (reply := client.post("/chat/completions", json=body)).status_code == _BUSY:
            sent_away += 1
            if sent_away == _MOST_TRIES:
                break
            time.sleep(float(reply.headers["retry-after"]))
        tokens = reply.raise_for_status().json()["usage"]["completion_tokens"]
    except (httpx.HTTPError, ValueError, KeyError) as error:
        fault = f"{type(error).__name__}: {error}"
    return RequestOutcome(time.perf_counter() - started, tokens, sent_away, fault)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url", help="the base URL that `headstart serve` names; its key: HEADSTART_SERVE_KEY")
    parser.add_argument("--row", type=int, default=200, help="requests one after the other")
    parser.add_argument("--together", type=int, default=16, help="requests at once")
    parser.add_argument("--tokens", type=int, default=24, help="of each answer, at most")
    parser.add_argument("--clients", type=lambda text: [int(each) for each in text.split(",")], help="such as 2,4,8")
    parser.add_argument("--peer", action="append", default=[], help="with --clients: the base URL of another server")
    parser.add_argument("--repeats", type=int, default=3, help="with --clients")
    parser.add_argument("--question", default=_LONG, help="with --clients; {} stands for a number")
    given = parser.parse_args()
    key = os.environ.get("HEADSTART_SERVE_KEY", "")
    if given.clients:
        found = throughput([given.url, *given.peer], key, given.clients, given.tokens, given.repeats, given.question)
    else:
        found = measure(given.url, key, given.row, given.together, given.tokens)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
