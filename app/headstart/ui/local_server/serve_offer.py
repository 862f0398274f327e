"""What the settings of a chat mean to the local server. Starts nothing."""

import json
import sys
from dataclasses import dataclass

from headstart.engine.engine import Sampling, Speculation
from headstart.settings import Settings

_NO_KEY = "KEY"


@dataclass(frozen=True)
class Offer:
    """What is served, and how an answer is written as far as a request leaves that open."""

    model: str
    sampling: Sampling
    speculation: Speculation
    seed: int | None


def offer(model: str, settings: Settings) -> Offer:
    """What these settings ask for."""
    sampling = settings.sampling
    return Offer(model, sampling, settings.guessing, sampling.seed or None)


def url(port: int) -> str:
    """Where a server that is started with this port will answer."""
    return f"http://127.0.0.1:{port}/v1"


def curl(url: str, model: str, key: str) -> str:
    """A line for a terminal that asks the server something."""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello"}]}, ensure_ascii=False)
    quoted = '"{}"'.format(body.replace('"', '\\"')) if sys.platform == "win32" else f"'{body}'"
    head = f'-H "Authorization: Bearer {key or _NO_KEY}" -H "Content-Type: application/json"'
    return f"curl {url}/chat/completions {head} -d {quoted}"
