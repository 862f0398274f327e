"""What the settings of a chat mean to `headstart serve`: its flags, and the memory it takes. Starts nothing."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from headstart.engine import budget
from headstart.library import Model, Pair
from headstart.settings import Settings, defaults
from headstart.ui import model_facts
from headstart.ui.asking import Loadable

# Settings that `headstart serve` has flags for, by the same names.
_PASSED = (
    "draft", "device", "draft_device", "numerics", "context", "engine", "kv_precision", "speculation",
    "num_assistant_tokens", "assistant_confidence_threshold", "acceptance_threshold", "temperature", "top_p", "top_k",
    "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "seed",
)  # fmt: skip
_HERE = ("", "CPU")  # devices that use the memory of this computer
_NO_KEY = "KEY"


@dataclass(frozen=True)
class Offer:
    """What would be served. `needed`: bytes of memory; None where only the engine can tell."""

    model: str
    flags: tuple[str, ...]
    needed: int | None


def offer(wanted: Loadable, settings: Settings, entries: Iterable[Model | Pair]) -> Offer:
    """What these settings ask for, of what is installed."""
    usual = defaults()
    values = {name: getattr(settings, name) for name in _PASSED}
    # With "=": a value may begin with a minus.
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if value != usual[name]]
    return Offer(wanted.name, (f"--model={wanted.name}", *flags), _needed(wanted, settings, entries))


def url(port: int) -> str:
    """Where a server that is started with this port will answer."""
    return f"http://127.0.0.1:{port}/v1"


def curl(url: str, model: str, key: str) -> str:
    """A line for a terminal that asks the server something."""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello"}]}, ensure_ascii=False)
    quoted = '"{}"'.format(body.replace('"', '\\"')) if sys.platform == "win32" else f"'{body}'"
    head = f'-H "Authorization: Bearer {key or _NO_KEY}" -H "Content-Type: application/json"'
    return f"curl {url}/chat/completions {head} -d {quoted}"


def _needed(wanted: Loadable, settings: Settings, entries: Iterable[Model | Pair]) -> int | None:
    known = {model.folder: model.manifest for entry in entries for model in model_facts.models(entry)}
    options = wanted.options
    folders = [folder for folder in (options.target, options.draft) if folder]
    if settings.device not in _HERE or settings.draft_device not in _HERE or not all(map(known.get, folders)):
        return None
    return budget.need((known[folder] for folder in folders), options.context, options.kv_precision).total
