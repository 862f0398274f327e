"""Times one client of each route at two servers in turns: plain, with tools, with a schema.

`HEADSTART_SERVE_KEY=KEY PYTHONPATH=app python app/bench/server/routes.py OLD_URL NEW_URL` prints JSON; the URLs have no
path. Both servers run on this computer, with the same key and the same model. A ratio above 1 says how many times as
fast NEW writes a token, with an interval of 95 %. `--resend TOKENS` times the first token of a long conversation
instead, and that of its next request, whose system prompt has another billing line, as agents send it.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx

from headstart.engine.bench.result import bootstrap_interval, geometric_mean

_PATIENCE = 600.0  # seconds
_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_ANSWER = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}}}
_QUESTIONS = (
    "Name three things that come in a set of {}.",
    "Write a Python function that returns {} times its argument.",
    "Tell a story about {} friends who meet again.",
)
PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "ollama": "/api/chat",
}
KINDS = ("plain", "calls", "schema")


def body_of(route: str, kind: str, text: str, model: str, tokens: int) -> dict[str, Any]:
    """Return a greedy request for a question. By `kind`, its answer may call a tool, or follows a schema."""
    turns = [{"role": "user", "content": text}]
    function = {"name": "get_weather", "description": "Get the weather of a city", "parameters": _CITY}
    if route == "responses":
        body: dict[str, Any] = {"input": turns, "max_output_tokens": tokens, "temperature": 0}
        tools: Any = [{"type": "function", **function}]
        form: dict[str, Any] = {"text": {"format": {"type": "json_schema", "name": "list", "schema": _ANSWER}}}
    elif route == "messages":
        body = {"messages": turns, "max_tokens": tokens, "temperature": 0}
        tools = [{"name": function["name"], "description": function["description"], "input_schema": _CITY}]
        form = {"guided_json": _ANSWER}
    elif route == "ollama":
        body = {"messages": turns, "stream": False, "options": {"temperature": 0, "num_predict": tokens}}
        tools, form = [{"type": "function", "function": function}], {"format": _ANSWER}
    else:
        body = {"messages": turns, "max_tokens": tokens, "temperature": 0}
        tools = [{"type": "function", "function": function}]
        form = {"response_format": {"type": "json_schema", "json_schema": {"name": "list", "schema": _ANSWER}}}
    return {
        "model": model,
        **body,
        **({"tools": tools} if kind == "calls" else {}),
        **(form if kind == "schema" else {}),
    }


def num_tokens(reply: dict[str, Any]) -> int:
    usage = reply.get("usage") or {"output_tokens": reply.get("eval_count", 0)}
    return max(1, int(usage.get("completion_tokens") or usage.get("output_tokens") or 0))


def ms_per_token(client: httpx.Client, url: str, path: str, body: dict[str, Any]) -> float:
    started = time.perf_counter()
    reply = client.post(f"{url}{path}", json=body).raise_for_status().json()
    return (time.perf_counter() - started) * 1000 / num_tokens(reply)


def race(
    client: httpx.Client, urls: tuple[str, str], routes: list[str], rounds: int, tokens: int
) -> dict[str, dict[str, object]]:
    """Return how many times as fast the second server is, by route and kind."""
    models = [client.get(f"{url}/v1/models").raise_for_status().json()["data"][0]["id"] for url in urls]
    results = dict[str, dict[str, object]]()
    for route in routes:
        path = PATHS[route]
        for kind in KINDS:
            ratios, times = list[float](), list[float]()
            for number in range(rounds + 1):
                text = _QUESTIONS[number % len(_QUESTIONS)].format(number + 2)
                order = (0, 1) if number % 2 else (1, 0)  # what drifts hits both alike
                found = {
                    at: ms_per_token(client, urls[at], path, body_of(route, kind, text, models[at], tokens))
                    for at in order
                }
                if number:  # the first one warms up
                    ratios.append(found[0] / found[1])
                    times.append(found[1])
            interval = bootstrap_interval(ratios)
            results[f"{route} {kind}"] = {
                "times as fast": round(geometric_mean(ratios) or 0, 3),
                "from": interval and round(interval.low, 3),
                "to": interval and round(interval.high, 3),
                "ms a token": round(statistics.median(times), 2),
            }
            print(route, kind, results[f"{route} {kind}"], file=sys.stderr, flush=True)
    return results


def resends(client: httpx.Client, url: str, tokens: int, repeats: int) -> dict[str, object]:
    """Return the seconds to the first token for conversations of about so many tokens, and for their next requests."""
    model = client.get(f"{url}/v1/models").raise_for_status().json()["data"][0]["id"]
    times = [tuple(_first_tokens(client, url, model, tokens, number)) for number in range(repeats)]
    firsts, seconds = ([each[at] for each in times] for at in (0, 1))
    return {
        "first": round(statistics.median(firsts), 3),
        "second": round(statistics.median(seconds), 3),
        "share": round(statistics.median(second / first for first, second in zip(firsts, seconds, strict=True)), 4),
    }


def _first_tokens(client: httpx.Client, url: str, model: str, tokens: int, number: int) -> Iterator[float]:
    about = " ".join(f"Rule {number}.{line}: keep file {line} as it is." for line in range(tokens // 15))
    turns: list[dict[str, str]] = [{"role": "user", "content": "Hello!"}]
    for request in range(2):
        billing = f"x-anthropic-billing-header: cc_version=2.1.{request}; cch={hash((number, request)) & 0xFFFFF:05x};"
        system = [{"type": "text", "text": billing}, {"type": "text", "text": about}]
        body = {"model": model, "system": system, "messages": turns, "max_tokens": 4, "stream": True, "temperature": 0}
        started = time.perf_counter()
        with client.stream("POST", f"{url}/v1/messages", json=body) as reply:
            reply.raise_for_status()
            times = [time.perf_counter() - started for line in reply.iter_lines() if "text_delta" in line]
        yield times[0]
        turns += [{"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Go on."}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--routes", nargs="+", choices=PATHS, default=list(PATHS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--resend", type=int, default=0, help="tokens of a long conversation; the race is left out")
    arguments = parser.parse_args()
    headers = {"Authorization": f"Bearer {os.environ['HEADSTART_SERVE_KEY']}"}
    with httpx.Client(headers=headers, timeout=_PATIENCE) as client:
        urls = (arguments.old, arguments.new)
        if arguments.resend:
            found: object = {url: resends(client, url, arguments.resend, 3) for url in urls}
        else:
            found = race(client, urls, arguments.routes, arguments.rounds, arguments.tokens)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
