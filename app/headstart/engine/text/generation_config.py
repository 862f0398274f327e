"""The author's sampling values of a model: `generation_config.json` in its folder, a file of the Hugging Face hub."""

import json
import logging
from pathlib import Path
from typing import Any

from headstart.engine.engine import Sampling
from headstart.errors import SettingsError
from headstart.parameters import declared

FILE_NAME = "generation_config.json"
USUAL = Sampling(0.7, 0.8)  # for a model without values of its author: a penalty would bend what it copies
_KINDS = {each.field: each.kind for each in declared(Sampling) if each.is_models_own}
_log = logging.getLogger(__name__)


def read(folder: Path) -> Sampling:
    """Return the author's values. A value that is missing in the file is neutral, as in the hub's libraries."""
    try:
        data: dict[str, Any] = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        values = {name: kind(data[name]) for name, kind in _KINDS.items() if data.get(name) is not None}
        if data.get("do_sample") is False:
            values["temperature"] = 0.0
        elif not values and not data.get("do_sample"):
            return USUAL
        return Sampling(**{"temperature": 1.0, **values})
    except FileNotFoundError:
        return USUAL
    except (OSError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, SettingsError) as error:
        _log.warning("%s in %s does not say how to sample: %s", FILE_NAME, folder.name, error)
        return USUAL
