"""How a model's author recommends to sample it: `generation_config.json` of its folder, the hub's own file."""

import json
import logging
from pathlib import Path
from typing import Any

from headstart.engine.engine import Sampling
from headstart.errors import SettingsError
from headstart.parameters import declared

FILE_NAME = "generation_config.json"
USUAL = Sampling(0.7, 0.8, 20, repetition_penalty=1.1)  # of a model whose author says nothing
_KINDS = {each.field: each.kind for each in declared(Sampling) if each.is_models_own}
_log = logging.getLogger(__name__)


def read(folder: Path) -> Sampling:
    """The author's values. What the file leaves out changes nothing, as the hub's libraries have it."""
    try:
        found: dict[str, Any] = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        values = {name: kind(found[name]) for name, kind in _KINDS.items() if found.get(name) is not None}
        if found.get("do_sample") is False:
            values["temperature"] = 0.0
        elif not values and not found.get("do_sample"):
            return USUAL
        return Sampling(**{"temperature": 1.0, **values})
    except FileNotFoundError:
        return USUAL
    except (OSError, TypeError, ValueError, AttributeError, RecursionError, SettingsError) as error:
        _log.warning("%s in %s does not say how to sample: %s", FILE_NAME, folder.name, error)
        return USUAL
